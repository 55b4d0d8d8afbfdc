//! What the environment of the process asks for.
//!
//! | variable | values | else |
//! |---|---|---|
//! | `LOCKWRIGHT_MEMBARRIER` | `on`, `off`: never call membarrier, fence at each unlock instead | `on` |
//! | `LOCKWRIGHT_CPUS` | a number from 1 to 4096 of CPUs to reckon with, whatever the machine has: for tests | the machine's |
//! | `LOCKWRIGHT_TOPOLOGY` | see `topology` | the machine's |
//! | `LOCKWRIGHT_NUMA` | see `numa` | `off` |
//! | `LOCKWRIGHT_SLICE_EXT` | `off`, `auto`, `require`: see `extension` | `off` |
//!
//! Read before `main`: later another thread might be changing the environment. A value that makes no
//! sense costs one line on standard error, and what the table says is used.

use core::ffi::CStr;
use core::fmt::Write;

use super::text::Text;

/// The value of a variable; before `main` only.
pub(super) fn value(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name is a C string; no other thread runs yet.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a string of the environment, which the C library keeps even if it is replaced there.
    Some(unsafe { CStr::from_ptr(value) })
}

/// Whether membarrier may be called.
pub(super) fn membarrier() -> bool {
    if cfg!(feature = "no_membarrier") {
        return false;
    }
    match value(c"LOCKWRIGHT_MEMBARRIER").map(CStr::to_bytes) {
        None | Some(b"on" | b"") => true,
        Some(b"off") => false,
        Some(other) => {
            complain("LOCKWRIGHT_MEMBARRIER", other, "expected on or off", "on is assumed");
            true
        }
    }
}

/// How many CPUs to reckon with, if somebody says so.
pub(super) fn cpus() -> Option<u32> {
    let value = value(c"LOCKWRIGHT_CPUS").map(CStr::to_bytes).filter(|v| !v.is_empty())?;
    let number = core::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    let number = number.filter(|n| (1..=4096).contains(n));
    if number.is_none() {
        let why = "expected a number from 1 to 4096";
        complain("LOCKWRIGHT_CPUS", value, why, "the machine's CPUs are counted");
    }
    number
}

/// One line on standard error, in one piece and without the standard library's locks.
pub(super) fn complain(name: &str, value: &[u8], why: &str, instead: &str) {
    let mut line = Text::<256>::default();
    let shown = core::str::from_utf8(value).unwrap_or("(not text)");
    let shown = &shown[..shown.floor_char_boundary(80)];
    let _ = writeln!(line, "lockwright: {name}={shown}: {why}; {instead}");
    // SAFETY: the buffer is valid for its length.
    let _ = unsafe { libc::write(2, line.bytes().as_ptr().cast(), line.bytes().len()) };
}
