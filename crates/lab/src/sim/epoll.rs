//! `perf bench epoll`: threads that share one set of event counters, under the set's mutex.
//!
//! *Control*: each thread adds its 64 counters to the set, changes and removes them, a section each, and sleeps
//! for a moment. *Wait*: one thread posts events, one after the other; each of the others takes one at
//! a time, and sleeps while there is none. A post wakes one sleeper, as an exclusive waiter is woken.
//! *Left out*: the spin lock of the list of what is ready, and that whoever takes an event puts it back to look again.
//! *Checked by* `tests/sim.rs` of the command: none is taken twice.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use lockwright_platform::{Platform, Slot};
use lockwright_sim::Sim;

use super::window::Tally;

/// Event counters of a thread.
const COUNTERS: u32 = 64;

/// A sleep of a quarter or half of a microsecond lasts until the timer's slack is over (50 us, the default of Linux).
const SLEEP_NS: u64 = 50_250;

/// Who has nothing to take.
#[derive(Default)]
pub(super) struct Events {
    posted: Cell<u64>,
    over: Cell<bool>,
    asleep: RefCell<VecDeque<Slot>>,
}

/// Adds, changes and removes until time is over.
pub(super) fn control(tally: &Tally, outside_ns: u32, mut section: impl FnMut()) {
    loop {
        for _ in 0..3 * COUNTERS {
            Sim::busy_wait_ns(outside_ns);
            section();
            if tally.over() {
                return;
            }
        }
        Sim::sleep(SLEEP_NS);
    }
}

impl Events {
    /// One thread posts to all counters, then sleeps for a moment, until time is over.
    pub fn post(&self, tally: &Tally, threads: usize, outside_ns: u32) {
        let all = threads as u64 * u64::from(COUNTERS);
        'all: loop {
            for _ in 0..all {
                Sim::busy_wait_ns(outside_ns);
                // A counter that is full stays full.
                self.posted.set((self.posted.get() + 1).min(all));
                self.wake();
                if tally.over() {
                    break 'all;
                }
            }
            Sim::sleep(SLEEP_NS);
        }
        self.over.set(true);
        while self.wake() {}
    }

    /// The others take them, one at a time: `section` runs what it is given under the lock, and returns what that returns.
    pub fn take(
        &self,
        tally: &Tally,
        outside_ns: u32,
        mut section: impl FnMut(&dyn Fn() -> bool) -> bool,
    ) {
        let one = || {
            let left = self.posted.get().checked_sub(1);
            self.posted.set(left.unwrap_or(0));
            left.is_some()
        };
        while self.wait() {
            if section(&one) {
                Sim::busy_wait_ns(outside_ns);
                if tally.over() {
                    return;
                }
            }
        }
    }

    /// Until there is an event, or time is over: then `false`.
    fn wait(&self) -> bool {
        let nothing = || self.posted.get() == 0 && !self.over.get();
        while nothing() {
            let me = Sim::enter().expect("a simulated thread has a node");
            self.asleep.borrow_mut().push_back(me.slot());
            // Looks again: a post may have come on the way.
            if nothing() {
                Sim::park(&me, None);
            }
            self.asleep.borrow_mut().retain(|&slot| slot != me.slot());
        }
        !self.over.get()
    }

    /// Wakes one that sleeps, if any does.
    fn wake(&self) -> bool {
        let one = self.asleep.borrow_mut().pop_front();
        one.map(Sim::unpark).is_some()
    }
}
