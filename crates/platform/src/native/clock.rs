//! Time: the monotonic clock, the cycle counter, and what PAUSE and a line transfer cost.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub(super) fn now() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for the result; CLOCK_MONOTONIC always exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The cycle counter: TSC on x86-64, the generic timer on aarch64, [`now`] elsewhere.
#[inline]
pub(super) fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: RDTSC exists on every x86-64 processor and has no memory operand.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let t: u64;
        // SAFETY: reading the virtual counter is permitted to user space on Linux and touches
        // no memory.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) t, options(nomem, nostack)) };
        t
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        now()
    }
}

/// Ticks per 1024 ns; 0 until calibrated.
static RATE: AtomicU32 = AtomicU32::new(0);
/// Nanoseconds of one PAUSE, at least 1; 0 until calibrated.
static PAUSE: AtomicU32 = AtomicU32::new(0);

/// Assumed cost of a line transfer between two cores of a socket. Source: measured hand-over on
/// a two-CPU Sapphire Rapids guest, 76 ns; 25 to 160 ns on other machines.
const LINE_NS: u32 = 80;

#[inline]
pub(super) fn ticks_of(ns: u64) -> u64 {
    // Ordering: Relaxed, hint (a missing or doubled calibration changes a policy parameter only)
    let mut rate = RATE.load(Relaxed);
    if rate == 0 {
        rate = calibrate();
    }
    ns.saturating_mul(rate.into()) >> 10
}

#[inline]
pub(super) fn pause_ns() -> u32 {
    // Ordering: Relaxed, hint (a missing or doubled calibration changes a policy parameter only)
    match PAUSE.load(Relaxed) {
        0 => {
            calibrate();
            // Ordering: Relaxed, hint (the thread's own store, or another's)
            PAUSE.load(Relaxed).max(1)
        }
        ns => ns,
    }
}

/// Moving average of measured transfers; 0 before the first.
static LINE: AtomicU32 = AtomicU32::new(0);

pub(super) fn line_ns() -> u32 {
    // Ordering: Relaxed, hint (policy parameter only)
    match LINE.load(Relaxed) {
        0 => LINE_NS,
        ns => ns,
    }
}

/// Measures a line transfer in a wait that happens anyway: a poll that sees a change has fetched
/// the line from the CPU that made it, one that sees none has it in its own cache. The difference
/// of their durations is the transfer.
pub(super) struct LineSample {
    on: bool,
    hit: u64,
    last: u64,
}

impl LineSample {
    /// Starts one in 64 of the waits that are `eligible`, by the counter's middle bits.
    #[inline(always)]
    pub(super) fn begin(eligible: bool) -> Self {
        let on = eligible && (ticks() >> 4).is_multiple_of(64);
        LineSample { on, hit: u64::MAX, last: 0 }
    }

    #[cold]
    fn note(&self) {
        let ns = (((self.last - self.hit) << 10) / ticks_of(1 << 10).max(1)).clamp(10, 1_000);
        let old = line_ns();
        // Ordering: Relaxed, hint (policy parameter only; a lost sample is one of many)
        LINE.store(old - old / 8 + ns as u32 / 8, Relaxed);
    }
}

impl crate::spin::Sample for LineSample {
    /// Does a poll, and times it if this wait is a sample.
    #[inline(always)]
    fn around<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        if !self.on {
            return poll();
        }
        let start = ordered_ticks();
        let result = poll();
        self.hit = self.hit.min(if self.last == 0 { u64::MAX } else { self.last });
        self.last = ordered_ticks().wrapping_sub(start);
        result
    }

    /// The last poll saw a change.
    #[inline(always)]
    fn end(&self) {
        if self.on && self.hit < self.last {
            self.note();
        }
    }
}

/// The counter, read neither before earlier loads are done nor after later ones begin.
#[inline]
fn ordered_ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: LFENCE is part of every x86-64 processor and has no operands.
        unsafe { core::arch::x86_64::_mm_lfence() };
        let now = ticks();
        // SAFETY: as above.
        unsafe { core::arch::x86_64::_mm_lfence() };
        now
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        ticks()
    }
}

/// PAUSEs that are timed.
const PAUSES: u64 = 64;

/// What a run of the calibration took.
#[derive(Copy, Clone)]
struct Run {
    /// Nanoseconds of the PAUSEs.
    paused: u64,
    /// Nanoseconds of the whole.
    ns: u64,
    /// Ticks of the whole.
    ticks: u64,
}

impl Run {
    fn time() -> Self {
        let (ns, t) = (now(), ticks());
        for _ in 0..PAUSES {
            core::hint::spin_loop();
        }
        // At least 4 us, or the clock's own 20 to 45 ns would distort the rate by over 1 %.
        let paused = now() - ns;
        let mut whole = paused;
        while whole < 4_000 {
            whole = now() - ns;
        }
        Run { paused, ns: whole, ticks: ticks().wrapping_sub(t) }
    }

    /// A PAUSE in nanoseconds, and ticks per 1024 ns: each of the shortest of the runs, so that an interrupt in one
    /// of them does no harm.
    fn best(runs: [Run; 3]) -> (u32, u32) {
        let paused = runs.iter().map(|run| run.paused).min().unwrap_or(0);
        let pause = (paused / PAUSES).clamp(1, 1_000) as u32;
        let rate = runs.iter().min_by_key(|run| run.ns).map_or(1, |run| (run.ticks << 10) / run.ns);
        (pause, rate.clamp(1, u32::MAX.into()) as u32)
    }
}

/// Measures both once, in about 15 us.
#[cold]
pub(super) fn calibrate() -> u32 {
    let (pause, rate) = Run::best([Run::time(), Run::time(), Run::time()]);
    // Ordering: Relaxed, hint (policy parameter only)
    PAUSE.store(pause, Relaxed);
    // Ordering: Relaxed, hint (policy parameter only)
    RATE.store(rate, Relaxed);
    rate
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Row B8 of the review: the last of the runs counted, whatever had happened in it.
    #[test]
    fn an_interrupt_in_one_run_of_the_calibration_does_no_harm() {
        let good = Run { paused: 2_560, ns: 4_000, ticks: 10_000 };
        let interrupted = Run { paused: 9_999, ns: 50_000, ticks: 125_500 };
        let expected = (40, 2_560);
        assert_eq!(Run::best([good, interrupted, interrupted]), expected);
        assert_eq!(Run::best([interrupted, good, interrupted]), expected);
        assert_eq!(Run::best([interrupted, interrupted, good]), expected);
        // Where the interrupt comes after the PAUSEs, these count still.
        let late = Run { paused: 1_280, ..interrupted };
        assert_eq!(Run::best([late, good, good]), (20, 2_560));
    }
}
