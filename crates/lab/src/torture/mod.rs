//! Torture: every lock under everything at once, with the words and options of the kernel's
//! locktorture, and what user space adds to it.
//!
//! | trouble | what is done |
//! |---|---|
//! | writers, readers | lock, look who else is inside, hold briefly or very long, unlock |
//! | nested | other locks of the same kind taken before, in order |
//! | time-outs, try-locks | calls that may fail, and must leave nothing behind when they do |
//! | conversions | downgrade and upgrade |
//! | shuffle, on-off | threads bound to random CPUs, or all to one, and freed |
//! | stutter | everybody pauses: whoever was not woken stands out |
//! | signals | handlers that try the lock and take another, at any instruction |
//! | stops | threads stopped by a handler that sleeps, with the lock held or not |
//! | births | threads that live for a few operations, and lock once more when they exit |
//! | forks | children that lock what nobody held |
//!
//! Oracles: *exclusion* (flags, a pair of words that only the lock keeps equal, and no write between
//! the two halves of a conversion), *lost wake-ups* (nobody gets on though the lock is free or being handed on), *starvation* (a wait
//! beyond the bound), *event identities* of this project's locks; and before the storm the
//! contract's own oracles of progress, batons and bounded bypass. All are one-sided: a complaint is
//! certain, up to the stated bounds.

mod identities;
pub mod oracles;
mod stats;
mod storm;
mod troubles;
pub mod victim;

use std::time::Duration;

use lockwright_workloads::harness::Interrupt;

pub use oracles::Oracles;
pub use stats::{Stats, line};
pub use victim::Victim;

/// What a lock is put through.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads that write.
    pub writers: usize,
    /// Threads that read, of a reader-writer lock.
    pub readers: usize,
    /// How long.
    pub time: Duration,
    /// From one line of statistics to the next.
    pub stat_interval: Duration,
    /// How long threads run before they all pause; zero: they do not.
    pub stutter: Duration,
    /// From one new binding of the threads to the next; zero: they are free.
    pub shuffle: Duration,
    /// From one crowding of all threads on one CPU to the next; zero: never.
    pub onoff: Duration,
    /// A fifth of the longest hold; zero: none is long.
    pub long_hold: Duration,
    /// Locks taken before, at most.
    pub nested: usize,
    /// Calls that may run out of time.
    pub timeouts: bool,
    /// Calls that do not wait.
    pub trylocks: bool,
    /// Downgrade and upgrade.
    pub converts: bool,
    /// Handlers that lock, where the lock allows it.
    pub signals: bool,
    /// Handlers that sleep.
    pub stops: bool,
    /// Threads that come and go.
    pub births: bool,
    /// Children, where the lock allows it.
    pub forks: bool,
    /// Nobody may get on for so long.
    pub stall: Duration,
    /// Nobody may wait for longer, while others do not.
    pub starvation: Duration,
    /// Decides what is left to chance.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What the lock did wrong; none: it passed.
    pub complaints: Vec<String>,
    /// What the system refused, so that nothing can be said of the lock.
    pub refused: Option<String>,
    /// What was done.
    pub stats: Stats,
    /// How often each trouble was made, by its name.
    pub troubles: Vec<(&'static str, u64)>,
    /// It was interrupted.
    pub cut_short: bool,
}

/// Tortures one lock: the oracles first, then the storm. `report` is told every
/// [`Plan::stat_interval`]. Threads that are stuck are left behind.
pub fn torture(
    victim: &dyn Victim,
    oracles: &Oracles,
    plan: &Plan,
    own: bool,
    stop: &Interrupt,
    report: &mut dyn FnMut(&Stats),
) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.complaints.extend(oracles.complaints(plan.stall));
    // A lock that hangs on an oracle may hang the storm's threads too; it has been condemned.
    if outcome.complaints.is_empty() && !stop.is_raised() {
        let before = lockwright::events::snapshot();
        outcome = victim.storm(plan, stop, report);
        if own && outcome.complaints.is_empty() && outcome.refused.is_none() {
            let counts = lockwright::events::snapshot().since(&before);
            outcome.complaints.extend(identities::broken(&counts));
            let parted = counts.get(lockwright::events::Event::NumaPart);
            outcome.troubles.push(("partings of queues", parted));
        }
    }
    outcome
}
