//! `lw_event*`.

use core::ffi::{CStr, c_char};

use lockwright_locks::events::{Counts, Event};
use lockwright_platform::Native;

/// The names, each ended by a 0.
static NAMES: [u8; names_length()] = {
    let (mut names, mut at, mut event) = ([0; names_length()], 0, 0);
    while event < Event::ALL.len() {
        let name = Event::ALL[event].name().as_bytes();
        let mut i = 0;
        while i < name.len() {
            names[at + i] = name[i];
            i += 1;
        }
        at += name.len() + 1;
        event += 1;
    }
    names
};

const fn names_length() -> usize {
    let (mut length, mut event) = (0, 0);
    while event < Event::ALL.len() {
        length += Event::ALL[event].name().len() + 1;
        event += 1;
    }
    length
}

/// How many lock events there are. Their order may change from one version of the library to
/// another; their names do not.
#[unsafe(no_mangle)]
pub extern "C" fn lw_event_count() -> usize {
    Event::ALL.len()
}

/// The name of an event by its index; NULL beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn lw_event_name(event: usize) -> *const c_char {
    if event >= Event::ALL.len() {
        return core::ptr::null();
    }
    let at = Event::ALL[..event].iter().map(|event| event.name().len() + 1).sum::<usize>();
    CStr::from_bytes_until_nul(&NAMES[at..]).map_or(core::ptr::null(), CStr::as_ptr)
}

/// Writes how often each event has happened in this process, at most `length` numbers; returns how
/// many it wrote. Counters only grow: what happened in between is the difference of two calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_events(counts: *mut u64, length: usize) -> usize {
    let written = length.min(Event::ALL.len());
    for (i, (_, count)) in Counts::now::<Native>().iter().take(written).enumerate() {
        // SAFETY: C programs pass room for `length` numbers.
        unsafe { counts.add(i).write(count) };
    }
    written
}

/// The library's version, as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn lw_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
