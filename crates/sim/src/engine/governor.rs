//! How deep an idle CPU sleeps.
//!
//! The kernel's `menu` governor asks for the state that pays if the CPU is idle for as long as it was
//! before, on average (Documentation/admin-guide/pm/cpuidle.rst), and looks again when a timer interrupt
//! finds the CPU idle still. The processor grants that only where a core was idle for most of the time of
//! late, and lets it sleep deeper when that has lasted (demotion and promotion of idle states, in the data
//! sheets of Intel's processors). Both begin with long idle times, as before a run. A core whose threads
//! ask for different states is in the shallowest of them, and awake while one of them runs (the same data
//! sheets: "core C-state resolution"). *Checked by* `tests/scheduler.rs`.
//!
//! Not modelled: due timers; that the governor leaves out outliers, and takes a CPU that the interrupt
//! finds idle for one that is idle for long; the way into a state, which must be gone to its end.

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

    /// How long it was idle in the window that ends now, where it has been idle since `since`, but for that.
    fn idle_before(&self, since: Ps) -> Ps {
        let busy = (since - self.woke).min(WINDOW);
        self.idle - self.idle * busy / WINDOW
    }

    /// How deep a CPU may sleep that has been idle since `since`.
    pub fn depth(&self, layout: &Layout, since: Ps, now: Ps) -> Depth {
        let slept = now - since;
        let granted = self.idle_before(since) > WINDOW / 2;
        let asked = if slept < layout.tick_every { self.mean } else { self.mean.max(slept) };
        match if granted { asked } else { slept } {
            _ if slept < layout.polls => Depth::Awake,
            length if length < layout.middle_after => Depth::Shallow,
            length if length < layout.deep_after => Depth::Middle,
            _ => Depth::Deep,
        }
    }

    /// The CPU, idle since `since`, is idle no more.
    pub fn woke(&mut self, since: Ps, now: Ps) {
        let slept = now - since;
        self.idle = self.idle_before(since);
        self.idle += (WINDOW - self.idle) * slept.min(WINDOW) / WINDOW;
        self.mean = self.mean - self.mean / 8 + slept.min(LONGEST) / 8;
        self.woke = now;
    }
}

/// How deep a CPU sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Depth {
    /// Its idle loop polls.
    Awake,
    Shallow,
    Middle,
    Deep,
}

impl Depth {
    /// How long the way out takes.
    pub fn exit(self, layout: &Layout) -> Ps {
        match self {
            Depth::Awake => 0,
            Depth::Shallow => layout.interrupt + layout.exit_shallow,
            Depth::Middle => layout.interrupt + layout.exit_middle,
            Depth::Deep => layout.interrupt + layout.exit_deep,
        }
    }
}
