//! How deep an idle CPU sleeps.
//!
//! The kernel's `menu` governor asks for the state that pays if the CPU is idle for as long as it was
//! before, on average (Documentation/admin-guide/pm/cpuidle.rst), and looks again when a timer interrupt
//! finds the CPU idle still. The processor grants that only where a core was idle for most of the time of
//! late, and lets it sleep deeper when that has lasted (demotion and promotion of idle states, in the data
//! sheets of Intel's processors). Both begin with long idle times, as before a run.
//!
//! Not modelled: due timers; that the governor leaves out outliers, and takes a CPU that the interrupt
//! finds idle for one that is idle for long.

use crate::layout::{Layout, Ps};

/// Longer idle times count as this, in the kernel too.
const LONGEST: Ps = 50_000_000_000;
/// How long a CPU is taken to have been idle, time after time, before the run.
const FIRST: Ps = LONGEST / 10;
/// How long "of late" is: assumed, the data sheets do not tell.
const WINDOW: Ps = 1_000_000_000;

/// What is known of one CPU's past.
pub(super) struct Governor {
    /// The mean of its idle times, the last of which weighs an eighth.
    mean: Ps,
    /// How much of the last `WINDOW` it was idle.
    idle: Ps,
    /// When it last ceased to be idle.
    woke: Ps,
}

impl Governor {
    pub fn new() -> Self {
        Governor { mean: FIRST, idle: WINDOW, woke: 0 }
    }

    /// How long a CPU takes to get going that was idle from `since` to `now`. Each such time is told once.
    pub fn leave(&mut self, layout: &Layout, since: Ps, now: Ps) -> Ps {
        let (busy, slept) = ((since - self.woke).min(WINDOW), now - since);
        self.woke = now;
        self.idle -= self.idle * busy / WINDOW;
        let granted = self.idle > WINDOW / 2;
        let asked = if slept < layout.tick_every { self.mean } else { self.mean.max(slept) };
        let length = if granted { asked } else { slept };
        self.idle += (WINDOW - self.idle) * slept.min(WINDOW) / WINDOW;
        self.mean = self.mean - self.mean / 8 + slept.min(LONGEST) / 8;
        match length {
            _ if slept < layout.polls => 0,
            _ if length < layout.middle_after => layout.interrupt + layout.exit_shallow,
            _ if length < layout.deep_after => layout.interrupt + layout.exit_middle,
            _ => layout.interrupt + layout.exit_deep,
        }
    }
}
