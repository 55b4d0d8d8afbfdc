//! When a busy-wait ends, and what it reports.

/// A lock holder as a waiter knows it: the CPU it took the lock on, and what that CPU's stamp
/// was when the waiter first looked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The CPU stored at acquisition ([`NO_CPU`](crate::NO_CPU) if unknown: then only the
    /// deadline ends a wait on it).
    pub cpu: u16,
    /// [`Platform::cpu_stamp`](crate::Platform::cpu_stamp) of that CPU at the start of the wait.
    pub stamp: u32,
}

/// How far polls lie apart.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as politeness allows: one pause. A poll of a line that has not changed stays in
    /// the poller's own cache.
    Tight,
    /// This many nanoseconds between polls.
    Every(u32),
}

/// The reasons other than a change of the word for which a busy-wait ends.
#[derive(Copy, Clone, Debug)]
pub struct Until {
    /// End when [`Platform::ticks`](crate::Platform::ticks) reaches this.
    pub deadline: Option<u64>,
    /// End when this holder does not run any more.
    pub holder: Option<Holder>,
    /// End when the thread in this slot does not run any more.
    pub running: Option<crate::Slot>,
    /// End when the scheduler wants the CPU.
    pub resched: bool,
    /// How far polls lie apart.
    pub pace: Pace,
}

impl Until {
    /// Wait for the word alone.
    pub const CHANGED: Until =
        Until { deadline: None, holder: None, running: None, resched: false, pace: Pace::Tight };

    /// As it is, but with this deadline in ticks.
    #[must_use]
    pub const fn deadline(mut self, ticks: u64) -> Self {
        self.deadline = Some(ticks);
        self
    }
}

/// Why [`spin_while`](crate::Platform::spin_while) ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Spin<T> {
    /// The word changed to this.
    Changed(T),
    /// The deadline passed.
    Deadline,
    /// The holder, or the thread waited on, is not running.
    Stopped,
    /// The scheduler wants the CPU.
    Resched,
}

/// Why [`spin_while2`](crate::Platform::spin_while2) ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Spin2<A, B> {
    /// One of the words changed; these are the values read last.
    Changed(A, B),
    /// The deadline passed.
    Deadline,
    /// The holder, or the thread waited on, is not running.
    Stopped,
    /// The scheduler wants the CPU.
    Resched,
}

/// How [`park`](crate::Platform::park) returned.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// A token was consumed, or the sleep ended without reason.
    Notified,
    /// The deadline passed and no token was there.
    TimedOut,
}
