//! Asking the kernel for a little more time, where it can be asked: the time-slice extension of Linux 7.0.
//!
//! A thread that is to lose its CPU keeps it for some microseconds (5 unless the machine is set otherwise) if the
//! byte `request` of its `struct rseq` is 1 then. The kernel then clears that byte and sets `granted`; who finds
//! it set gives the CPU up by a call of its own. Any other system call ends the grant, and the CPU is gone before
//! it is carried out. Documentation/userspace-api/rseq.rst of the kernel has the protocol.
//!
//! `LOCKWRIGHT_SLICE_EXT` is `off` (the default: no kernel that has it has been at hand), `auto`, or `require`,
//! which says in one line on standard error if it is not to be had. A thread enables it for itself at its first contended acquisition.
//!
//! *Cost*: none to locks that nobody waits for. *Checked by* the tests below, which play the kernel, and by the
//! simulator's `+slice-ext` locks.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU8, compiler_fence};

use super::environment::{self, complain};
use super::{cpu, syscall::syscall, tls};

/// Where `request` and `granted` lie in `struct rseq`.
const REQUEST: usize = 28;
const GRANTED: usize = 29;
/// The area must have both bytes, with two more that are reserved.
const AREA_BYTES: usize = 32;

/// Constants of the kernel's interface, which the C library's headers lack yet.
const PR_RSEQ_SLICE_EXTENSION: i32 = 79;
const PR_RSEQ_SLICE_EXTENSION_SET: u32 = 2;
const PR_RSEQ_SLICE_EXT_ENABLE: u32 = 1;
const SYS_RSEQ_SLICE_YIELD: i32 = 471;
const AT_RSEQ_FEATURE_SIZE: u64 = 27;

const OFF: u8 = 0;
const AUTO: u8 = 1;
const REQUIRE: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(OFF);

/// What a thread knows of it: nothing yet, that it may ask, that it may not.
const MAY: u8 = 1;
const MAY_NOT: u8 = 2;

/// Called before `main`.
#[cfg_attr(miri, allow(dead_code, reason = "no function runs before main there"))]
pub(super) fn note_environment() {
    let mode = match environment::value(c"LOCKWRIGHT_SLICE_EXT").map(core::ffi::CStr::to_bytes) {
        None | Some(b"off" | b"") => OFF,
        Some(b"auto") => AUTO,
        Some(b"require") => REQUIRE,
        Some(other) => {
            complain(
                "LOCKWRIGHT_SLICE_EXT",
                other,
                "expected off, auto or require",
                "off is assumed",
            );
            OFF
        }
    };
    // Ordering: Relaxed, hint (set once before main)
    MODE.store(mode, Relaxed);
}

/// The two bytes by which a thread and the kernel talk.
struct Control<'a> {
    request: &'a AtomicU8,
    granted: &'a AtomicU8,
}

impl Control<'_> {
    fn ask(&self) {
        // Ordering: Relaxed, owner-only (the kernel reads it when this thread is interrupted)
        self.request.store(1, Relaxed);
        compiler_fence(SeqCst);
    }

    /// Whether time was given.
    fn give_back(&self) -> bool {
        compiler_fence(SeqCst);
        // Ordering: Relaxed, owner-only (as above; the kernel clears it before it sets the other) (block)
        self.request.store(0, Relaxed);
        compiler_fence(SeqCst);
        self.granted.load(Relaxed) != 0
    }
}

/// See [`Platform::ask_for_time`](crate::Platform::ask_for_time).
#[inline]
pub(super) fn ask() {
    if let Some(control) = mine() {
        control.ask();
    }
}

/// See [`Platform::give_time_back`](crate::Platform::give_time_back).
#[inline]
pub(super) fn give_back() -> bool {
    let granted = mine().is_some_and(|control| control.give_back());
    if granted {
        // SAFETY: rseq_slice_yield takes nothing.
        unsafe { syscall!(SYS_RSEQ_SLICE_YIELD) };
    }
    granted
}

/// The calling thread's, if it may ask.
#[inline]
fn mine() -> Option<Control<'static>> {
    // Ordering: Relaxed, hint (set once before main)
    if MODE.load(Relaxed) == OFF || tls::here(|here| here.extension.get()) == MAY_NOT {
        return None;
    }
    if tls::here(|here| here.extension.get()) != MAY {
        let may = enable();
        tls::here(|here| here.extension.set(if may { MAY } else { MAY_NOT }));
        if !may {
            return None;
        }
    }
    let area = cpu::rseq_area()?;
    // SAFETY: the area is at least AREA_BYTES long, looked at in enable(), and lives as long as the thread,
    // which does not give these away; the kernel changes them between two instructions of this thread only.
    unsafe {
        Some(Control {
            request: AtomicU8::from_ptr(area.add(REQUEST)),
            granted: AtomicU8::from_ptr(area.add(GRANTED)),
        })
    }
}

/// Asks the kernel to heed the calling thread's requests.
#[cold]
fn enable() -> bool {
    // SAFETY: getauxval takes a number, and answers 0 to one that it does not know.
    let kernel = unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) } as usize;
    let mut why = "the kernel's struct rseq has no such bytes (Linux 7.0 has)";
    if kernel >= AREA_BYTES {
        why = "the C library registers no struct rseq that has such bytes (glibc 2.41 does)";
        if cpu::rseq_bytes() >= AREA_BYTES && cpu::rseq_area().is_some() {
            why = "the kernel refuses it";
            // SAFETY: this prctl takes numbers.
            let refused = unsafe {
                syscall!(
                    libc::SYS_prctl,
                    PR_RSEQ_SLICE_EXTENSION,
                    PR_RSEQ_SLICE_EXTENSION_SET,
                    PR_RSEQ_SLICE_EXT_ENABLE,
                    0u32,
                    0u32
                )
            };
            if refused == 0 {
                return true;
            }
        }
    }
    // Ordering: Relaxed, hint (said once; a second line does no harm)
    if MODE.swap(OFF, Relaxed) == REQUIRE {
        complain("LOCKWRIGHT_SLICE_EXT", b"require", why, "off is assumed");
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays the kernel, at a moment when it wants the CPU: whether the thread keeps it.
    fn wants_the_cpu(control: &Control<'_>) -> bool {
        let granted = control.request.swap(0, Relaxed) != 0;
        control.granted.store(granted.into(), Relaxed);
        granted
    }

    #[test]
    fn who_asks_is_given_time_once_and_knows_it() {
        let [request, granted] = [const { AtomicU8::new(0) }; 2];
        let control = Control { request: &request, granted: &granted };
        assert!(!wants_the_cpu(&control), "nobody has asked");
        control.ask();
        assert!(!control.give_back(), "nobody wanted the CPU");
        assert!(!wants_the_cpu(&control), "it has been taken back");
        control.ask();
        assert!(wants_the_cpu(&control));
        assert!(control.give_back(), "the CPU is to be given up");
        control.ask();
        assert!(wants_the_cpu(&control));
        assert!(!wants_the_cpu(&control), "once, and the kernel has it");
        assert!(!control.give_back(), "it ran again since: there is nothing to give up");
    }

    #[test]
    fn off_or_without_a_kernel_that_has_it_nothing_is_asked() {
        ask();
        assert!(!give_back());
        MODE.store(AUTO, Relaxed);
        // SAFETY: as in enable().
        if (unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) } as usize) < AREA_BYTES {
            ask();
            assert!(!give_back());
            assert_eq!(MODE.load(Relaxed), OFF, "it is not asked for by every thread anew");
        }
        MODE.store(OFF, Relaxed);
    }
}
