//! The contract's oracles, asked before the storm: each is a scene in which a fault of one kind shows
//! every time.

use std::time::Duration;

use lockwright_contract::oracle::{self, Violation};
use lockwright_contract::os::{Ended, in_child};
use lockwright_contract::reference::Futex;
use lockwright_contract::{AnyCondvar, AnyMutex, FairMutex, TimedMutex};

/// Questions about one lock.
#[derive(Clone, Copy, Default)]
pub struct Oracles(&'static [Question]);

type Question = fn(Duration) -> Result<(), String>;

fn words(verdict: Result<(), Violation>) -> Result<(), String> {
    verdict.map_err(|violation| violation.to_string())
}

fn progress<R: AnyMutex>(limit: Duration) -> Result<(), String> {
    words(oracle::progress::<R>(limit))
}

fn baton<R: TimedMutex>(limit: Duration) -> Result<(), String> {
    words(oracle::baton::<R>(limit))
}

/// Acquisitions that a hand-off may be late by: what a fair unlock promises is none, but a waiter
/// that is descheduled before it queues is nobody's fault.
const FAIR_BYPASS: u64 = 1_000;

fn bypass<R: FairMutex>(_limit: Duration) -> Result<(), String> {
    words(oracle::bounded_bypass_fair::<R>(FAIR_BYPASS).map(|_| ()))
}

impl Oracles {
    /// Nothing is asked.
    pub const NONE: Self = Oracles(&[]);

    /// Does a release serve whoever waits?
    pub const fn progress<R: AnyMutex>() -> Self {
        Oracles(const { &[progress::<R>] })
    }

    /// And does one who gives up pass on what it got?
    pub const fn timed<R: TimedMutex>() -> Self {
        Oracles(const { &[progress::<R>, baton::<R>] })
    }

    /// And does a fair unlock hand the lock on?
    pub const fn fair<R: FairMutex>() -> Self {
        Oracles(const { &[progress::<R>, bypass::<R>] })
    }

    /// All of them.
    pub const fn all<R: TimedMutex + FairMutex>() -> Self {
        Oracles(const { &[progress::<R>, baton::<R>, bypass::<R>] })
    }

    /// Other questions.
    pub const fn of(questions: &'static [Question]) -> Self {
        Oracles(questions)
    }

    /// What the answers complain of, up to the first that does.
    pub fn complaints(&self, limit: Duration) -> Option<String> {
        self.0.iter().find_map(|question| question(limit).err())
    }
}

/// Does a condition variable of [`Futex`] count every notification that it takes?
pub fn condvar_counts<C: AnyCondvar<Futex>>(_limit: Duration) -> Result<(), String> {
    use lockwright_contract::contract::condvar_exact as exact;
    let asked = std::panic::catch_unwind(
        exact::timeouts_racing_with_notify_one_conserve_the_count::<C, Futex>,
    );
    asked.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map_or("it panicked", String::as_str);
        format!("condition variable: {}", text.lines().next().unwrap_or(text))
    })
}

/// May the next owner unmap the lock? In a child, which a late access kills.
pub fn unmapped_by_the_next_owner<R: AnyMutex>(limit: Duration) -> Result<(), String> {
    use lockwright_contract::contract::unmap;
    let ended = in_child(2 * limit, || {
        unmap::a_blocked_next_owner_may_release_and_unmap::<R>();
        0
    });
    match ended {
        Ended::Code(0) => Ok(()),
        Ended::Signal(signal) => {
            Err(format!("use after release: signal {signal}, the next owner had unmapped the lock"))
        }
        Ended::Code(_) | Ended::Hung => {
            Err(format!("use after release: the child ended so: {ended:?}"))
        }
    }
}
