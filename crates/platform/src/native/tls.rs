//! What a thread keeps for itself, in thread-local storage that is reached without a call.
//!
//! A shared library reaches thread-local storage through a function of the C library, which may
//! allocate and lock: not in a lock operation of a program whose allocator uses these locks. In
//! the *initial-exec* model it takes two instructions, but the compiler cannot be asked for that
//! model. So the words are declared here in assembly; in a program the linker makes it one instruction.
//! Elsewhere than on x86-64 and aarch64 with glibc (or under Miri) it is std's thread-local storage.

use core::cell::Cell;

use super::Native;
use crate::ThreadRecord;

/// The words of one thread; all 0 when it begins.
#[repr(C)]
pub(super) struct Here {
    /// The record of the thread's slot; null before its first contended wait.
    pub record: Cell<*const ThreadRecord<Native>>,
    /// The thread's number in the system; 0 before it has been asked for.
    pub tid: Cell<u32>,
    /// The thread's slot; 0 before its first contended wait.
    pub slot: Cell<u16>,
    /// How many lock operations are under way on this thread: more than one in signal handlers.
    pub depth: Cell<u8>,
}

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_env = "gnu", not(miri)))]
mod words {
    use super::Here;

    // The name ends with the crate's version: two versions in one program have two sets of words.
    macro_rules! symbol {
        () => {
            concat!(
                "lockwright_here_",
                env!("CARGO_PKG_VERSION_MAJOR"),
                "_",
                env!("CARGO_PKG_VERSION_MINOR"),
                "_",
                env!("CARGO_PKG_VERSION_PATCH")
            )
        };
    }

    core::arch::global_asm!(
        ".pushsection .tbss,\"awT\",%nobits",
        ".p2align 3",
        concat!(".globl ", symbol!()),
        concat!(".hidden ", symbol!()),
        concat!(".type ", symbol!(), ",%object"),
        concat!(".size ", symbol!(), ",16"),
        concat!(symbol!(), ":"),
        ".zero 16",
        ".popsection",
    );

    const _: () = assert!(size_of::<Here>() == 16 && align_of::<Here>() <= 8);

    #[inline(always)]
    pub(in crate::native) fn here<T>(f: impl FnOnce(&Here) -> T) -> T {
        let at: *const Here;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the linker fills in the words' distance from the thread pointer; fs:0 holds the
        // thread pointer itself. Neither changes while the thread lives.
        unsafe {
            core::arch::asm!(
                concat!("mov {at}, qword ptr [rip + ", symbol!(), "@GOTTPOFF]"),
                "add {at}, qword ptr fs:[0]",
                at = out(reg) at,
                options(pure, readonly, nostack)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as on x86-64; the thread pointer is in TPIDR_EL0.
        unsafe {
            core::arch::asm!(
                concat!("adrp {at}, :gottprel:", symbol!()),
                concat!("ldr {at}, [{at}, :gottprel_lo12:", symbol!(), "]"),
                "mrs {tp}, tpidr_el0",
                "add {at}, {at}, {tp}",
                at = out(reg) at,
                tp = out(reg) _,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        // SAFETY: sixteen bytes of this thread's storage, aligned and zero at its start, where zero
        // is a value of each field; only this thread uses them, through cells.
        f(unsafe { &*at })
    }
}

#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_env = "gnu",
    not(miri)
)))]
mod words {
    use super::{Cell, Here};

    std::thread_local! {
        // No destructor: it must work in other destructors and in signal handlers.
        static HERE: Here = const {
            Here {
                record: Cell::new(core::ptr::null()),
                tid: Cell::new(0),
                slot: Cell::new(0),
                depth: Cell::new(0),
            }
        };
    }

    #[inline]
    pub(in crate::native) fn here<T>(f: impl FnOnce(&Here) -> T) -> T {
        HERE.with(f)
    }
}

pub(super) use words::here;

/// The calling thread's number in the system. A forked child forgets what it was in the parent.
#[inline]
pub(super) fn tid() -> u32 {
    match here(|here| here.tid.get()) {
        0 => ask_for_tid(),
        tid => tid,
    }
}

#[cold]
fn ask_for_tid() -> u32 {
    // SAFETY: gettid takes nothing.
    let tid = unsafe { super::syscall::syscall!(libc::SYS_gettid) } as u32;
    here(|here| here.tid.set(tid));
    tid
}

/// In a forked child, whose thread has another number.
pub(super) fn forget_tid() {
    here(|here| here.tid.set(0));
}
