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

use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;

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

/// The two bytes by which a thread and the kernel talk, which looks at them between two instructions of the thread:
/// volatile accesses, which the compiler leaves in order.
struct Control {
    request: *mut u8,
    granted: *const u8,
}

impl Control {
    /// # Safety
    ///
    /// 1. The calling thread's `struct rseq` is at `area` as long as this is used, and has both bytes.
    unsafe fn at(area: *mut u8) -> Self {
        Control { request: area.wrapping_add(REQUEST), granted: area.wrapping_add(GRANTED) }
    }

    fn ask(&self) {
        // SAFETY: the byte is there (1), and only this thread and the kernel change it.
        unsafe { self.request.write_volatile(1) };
    }

    /// Whether time was given.
    fn give_back(&self) -> bool {
        // SAFETY: as above; the kernel clears the one before it sets the other.
        unsafe {
            self.request.write_volatile(0);
            self.granted.read_volatile() != 0
        }
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
fn mine() -> Option<Control> {
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
    // SAFETY: the area is at least AREA_BYTES long, looked at in enable(), and lives as long as the thread (1).
    cpu::rseq_area().map(|area| unsafe { Control::at(area) })
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
    fn wants_the_cpu(area: &mut [u8; AREA_BYTES]) -> bool {
        area[GRANTED] = core::mem::take(&mut area[REQUEST]);
        area[GRANTED] != 0
    }

    #[test]
    fn who_asks_is_given_time_once_and_knows_it() {
        let mut area = [0; AREA_BYTES];
        let area = &mut area;
        // SAFETY: the area lives beyond this function (1).
        let control = |area: &mut [u8; AREA_BYTES]| unsafe { Control::at(area.as_mut_ptr()) };
        assert!(!wants_the_cpu(area), "nobody has asked");
        control(area).ask();
        assert!(!control(area).give_back(), "nobody wanted the CPU");
        assert!(!wants_the_cpu(area), "it has been taken back");
        control(area).ask();
        assert!(wants_the_cpu(area));
        assert!(control(area).give_back(), "the CPU is to be given up");
        control(area).ask();
        assert!(wants_the_cpu(area));
        assert!(!wants_the_cpu(area), "once, and the kernel has it");
        assert!(!control(area).give_back(), "it ran again since: there is nothing to give up");
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
