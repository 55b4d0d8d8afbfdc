//! Asking the kernel for a little more time, where it can be asked: the time-slice extension of Linux 7.0.
//!
//! A thread that is to lose its CPU keeps it for some microseconds (5 unless the machine is set otherwise) if the
//! byte `request` of its `struct rseq` is 1 then. The kernel then clears that byte and sets `granted`; who finds
//! it set gives the CPU up by a call of its own. Any other system call ends the grant, and the CPU is gone before
//! it is carried out. Documentation/userspace-api/rseq.rst of the kernel has the protocol.
//!
//! `LOCKWRIGHT_SLICE_EXT` is `off` (the default: no kernel that has it has been at hand), `auto`, or `require`,
//! which says in one line on standard error if it is not to be had. Whether it is, is looked up before `main`; a thread
//! enables it for itself at its first contended acquisition, by one system call.
//!
//! *Cost*: none to locks that nobody waits for. *Checked by* the tests below, which play the kernel, and by the
//! simulator's `+slice-ext` locks.

use core::sync::atomic::AtomicBool;
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
const SYS_RSEQ_SLICE_YIELD: libc::c_long = 471;
const AT_RSEQ_FEATURE_SIZE: u64 = 27;

/// Whether it is asked for, and to be had.
static ON: AtomicBool = AtomicBool::new(false);

/// What a thread knows of it: nothing yet, that it may ask, that it may not.
const MAY: u8 = 1;
const MAY_NOT: u8 = 2;

/// Called before `main`, when the rseq area has been looked for.
#[cfg_attr(miri, allow(dead_code, reason = "no function runs before main there"))]
pub(super) fn note_environment() {
    const NAME: &str = "LOCKWRIGHT_SLICE_EXT";
    let asked = environment::value(c"LOCKWRIGHT_SLICE_EXT").map(core::ffi::CStr::to_bytes);
    let on = match asked {
        None | Some(b"off" | b"") => false,
        Some(b"auto") => available().is_ok(),
        Some(b"require") => {
            available().inspect_err(|why| complain(NAME, b"require", why, "off is assumed")).is_ok()
        }
        Some(other) => {
            complain(NAME, other, "expected off, auto or require", "off is assumed");
            false
        }
    };
    // Ordering: Relaxed, hint (set once before main)
    ON.store(on, Relaxed);
}

/// Whether the calling thread may ask; why not.
fn available() -> Result<(), &'static str> {
    // SAFETY: getauxval takes a number, and answers 0 to one that it does not know.
    if (unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) } as usize) < AREA_BYTES {
        return Err("the kernel's struct rseq has no such bytes (Linux 7.0 has)");
    }
    if cpu::rseq_area().is_none() || cpu::rseq_bytes() < AREA_BYTES {
        return Err("the C library registers no struct rseq that has such bytes (glibc 2.41 does)");
    }
    if enable() { Ok(()) } else { Err("the kernel refuses it") }
}

/// Asks the kernel to heed the calling thread's requests.
#[cold]
fn enable() -> bool {
    // SAFETY: this prctl takes numbers.
    let result = unsafe {
        syscall!(
            libc::SYS_prctl,
            PR_RSEQ_SLICE_EXTENSION,
            PR_RSEQ_SLICE_EXTENSION_SET,
            PR_RSEQ_SLICE_EXT_ENABLE,
            0u32,
            0u32
        )
    };
    tls::here(|here| here.extension.set(if result == 0 { MAY } else { MAY_NOT }));
    result == 0
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
    if !ON.load(Relaxed) {
        return None;
    }
    let may = match tls::here(|here| here.extension.get()) {
        0 => enable(),
        known => known == MAY,
    };
    // SAFETY: the area is at least AREA_BYTES long, or it would not be ON, and lives as long as the thread (1).
    cpu::rseq_area().filter(|_| may).map(|area| unsafe { Control::at(area) })
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
        // SAFETY: as in available().
        if (unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) } as usize) < AREA_BYTES {
            assert!(available().unwrap_err().contains("Linux 7.0"));
            // As if it were to be had: a thread is refused once, and knows it.
            ON.store(true, Relaxed);
            ask();
            assert!(!give_back());
            assert_eq!(tls::here(|here| here.extension.get()), MAY_NOT, "it is asked for anew");
            ON.store(false, Relaxed);
        }
    }
}
