//! Taking the calling thread's stack.
//!
//! By the C library's `backtrace`, which walks the unwind tables: it neither allocates nor locks
//! where the C library has `_dl_find_object` (2.35), once it has been called before; there alone it
//! is used. Elsewhere the stack is that of the frame pointers, as far as they lead.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_statfile::FRAMES;

use crate::elf;

/// Frames of this library that may lie before those of the program.
const OWN: usize = 12;
/// Bytes of stack that the walk may need.
const ROOM: usize = 12 * 1024;

type Backtrace = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;

/// `backtrace`, or 0.
static BACKTRACE: AtomicUsize = AtomicUsize::new(0);

/// Gets ready; before `main`, since the first call loads a library.
pub fn prepare() {
    if elf::find(b"ld-linux", c"_dl_find_object").is_none() {
        return;
    }
    if let Some(found) = elf::find(b"libc.so.", c"backtrace") {
        // SAFETY: the C library's function has this type.
        let backtrace: Backtrace = unsafe { core::mem::transmute(found) };
        let mut frames = [core::ptr::null_mut(); 4];
        // SAFETY: room for so many frames.
        unsafe { backtrace(frames.as_mut_ptr(), frames.len() as c_int) };
        // Ordering: Relaxed, hint (set once before main)
        BACKTRACE.store(found.as_ptr() as usize, Relaxed);
    }
}

/// Writes the addresses that calls return to, from the call of this library on, which returns to `from`;
/// returns how many. A walk that does not pass there went astray: then there is that one address.
#[inline(never)]
pub fn take(into: &[Cell<usize>; FRAMES], from: usize) -> u32 {
    let mut all = [core::ptr::null_mut(); FRAMES + OWN];
    // Ordering: Relaxed, hint (set once before main)
    let found = match BACKTRACE.load(Relaxed) {
        0 => by_frame_pointers(&mut all),
        _ if !has_room() => 0,
        backtrace => {
            // SAFETY: stored by prepare(), of this type; room for so many frames.
            unsafe {
                let backtrace: Backtrace = core::mem::transmute(backtrace);
                backtrace(all.as_mut_ptr(), all.len() as c_int) as usize
            }
        }
    };
    let frames = all[..found.min(all.len())].iter().map(|frame| *frame as usize);
    let mut depth = 0;
    for (place, frame) in into.iter().zip(frames.skip_while(|&frame| frame != from)) {
        place.set(frame);
        depth += 1;
    }
    if depth == 0 {
        into[0].set(from);
        depth = 1;
    }
    depth
}

/// Whether the walk will not run into the end of the stack, which is small in some threads.
fn has_room() -> bool {
    let mut byte = 0_u8;
    let here = &raw const byte as usize;
    let mine = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let far = libc::iovec { iov_base: (here - ROOM) as *mut c_void, iov_len: 1 };
    // SAFETY: reads a byte of this process's memory, if there is one, into `byte`.
    unsafe { libc::process_vm_readv(libc::getpid(), &mine, 1, &far, 1, 0) == 1 }
}

/// Each frame pointer points to the caller's, and the address to return to lies behind it. A walk
/// that leaves the next few pages or goes down is none.
fn by_frame_pointers(into: &mut [*mut c_void]) -> usize {
    let mut at: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, rbp", out(reg) at, options(nomem, nostack, preserves_flags))
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, x29", out(reg) at, options(nomem, nostack, preserves_flags))
    };
    let mut below = &raw const at as usize;
    let mut found = 0;
    while found < into.len() && at > below && at - below < 64 * 1024 && at.is_multiple_of(8) {
        let mut pair = [0_usize; 2];
        let mine = libc::iovec { iov_base: pair.as_mut_ptr().cast(), iov_len: 16 };
        let there = libc::iovec { iov_base: at as *mut c_void, iov_len: 16 };
        // SAFETY: reads memory of this process, if it is there, into `pair`.
        if unsafe { libc::process_vm_readv(libc::getpid(), &mine, 1, &there, 1, 0) } != 16 {
            break;
        }
        into[found] = pair[1] as *mut c_void;
        found += 1;
        below = at;
        at = pair[0];
    }
    found
}
