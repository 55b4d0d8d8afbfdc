//! Finds threads that wait for each other.
//!
//! With the feature `deadlock_detection` each thread notes which locks it holds and which one it waits
//! for. [`check_deadlock`] looks for threads none of which can go on before another of them has, and
//! takes a backtrace on each: it shows where the thread waits.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! std::thread::spawn(|| loop {
//!     std::thread::sleep(Duration::from_secs(10));
//!     for (number, threads) in lockwright::deadlock::check_deadlock().iter().enumerate() {
//!         eprintln!("deadlock {number} of {} threads", threads.len());
//!         for thread in threads {
//!             eprintln!("{thread}\n{:?}", thread.backtrace());
//!         }
//!     }
//! });
//! ```
//!
//! *Guarantees*: no report of threads that can go on. Each deadlock is reported once, and its threads go on
//! waiting, undisturbed but for their backtraces. *Does not guarantee*: that a deadlock is found in which
//! threads wait by other means too (a join, a channel), or until a deadline, which ends the wait; or
//! in which a thread waits for a condition; that a lock is forgotten that was freed while held (a new one at its address
//! seems to be held then). Not for signal handlers, nor for a child that was forked while others run.
//! Not together with `send_guard`: a guard that is given back elsewhere would be looked for here.
//!
//! *Cost*: each acquisition is entered in a list of its thread, and each release struck out; without the feature: none.
//!
//! Which locks: mutexes of every policy, reader-writer locks of every kind, and [`Once`](crate::Once).

mod graph;
mod registry;
pub(crate) mod track;

use std::fmt;
use std::thread::ThreadId;

pub use backtrace::Backtrace;

use registry::{Hold, Waiting};

#[cfg(feature = "send_guard")]
compile_error!(
    "the features `send_guard` and `deadlock_detection` exclude each other: choose one of them"
);

/// A thread that waits for others which wait for it.
pub struct DeadlockedThread {
    thread_id: ThreadId,
    name: Option<String>,
    waiting: Option<Waiting>,
    holds: Vec<Hold>,
    backtrace: Backtrace,
}

impl DeadlockedThread {
    /// The thread.
    pub fn thread_id(&self) -> ThreadId {
        self.thread_id
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where it waits. Empty if the thread did not answer within a second: it is stopped, or it does
    /// without a thread slot.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
    }
}

/// Who it is, which lock it waits for, and which ones it holds, by their addresses.
impl fmt::Display for DeadlockedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name().unwrap_or("without a name");
        write!(f, "thread {name} ({:?})", self.thread_id)?;
        if let Some(waiting) = &self.waiting {
            write!(f, " waits {waiting}")?;
        }
        for (number, hold) in self.holds.iter().enumerate() {
            write!(f, "{}{hold}", if number == 0 { "; holds " } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for DeadlockedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}\n{:?}", self.backtrace)
    }
}

/// The deadlocks that have come about since the last call: for each, the threads that wait for each
/// other in it.
pub fn check_deadlock() -> Vec<Vec<DeadlockedThread>> {
    registry::check()
}
