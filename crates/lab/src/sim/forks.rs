//! Users that fork, as AIM7's do: work under locks that all share, then a child that does as much, then
//! the same again.
//!
//! What a process and its children have in common is kept in lists, one for each file that is mapped and
//! each area of memory, whose locks all relatives share: a fork enters the child into them, the child's
//! end takes it out. The parent sleeps until the child has ended. The child is a fresh thread, on the CPU
//! that has the fewest, behind those.

use std::cell::Cell;
use std::rc::Rc;

use lockwright_platform::Platform;
use lockwright_sim::{Sim, cpu_time, spawn};
use serde::Serialize;

use super::window::{Tally, note};

/// What a user does between two forks, and each of its children. Times are means; each is between half and
/// one and a half of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// Nanoseconds of work at first.
    pub work_ns: u32,
    /// Locks that all users share.
    pub locks: u32,
    /// Sections under each, one after the other.
    pub sections: u32,
    /// Nanoseconds inside.
    pub inside_ns: u32,
    /// Nanoseconds before each section.
    pub outside_ns: u32,
}

/// A user, and its child of the moment.
pub(super) struct User<S> {
    pub turn: Turn,
    pub tally: Tally,
    /// Runs a section under the lock of this number for so many nanoseconds; returns the processor time
    /// that the thread had had when it got the lock.
    pub section: S,
    /// Sections so far.
    pub done: Cell<u64>,
}

impl<S: Fn(usize, u32) -> u64 + 'static> User<S> {
    /// Its life; returns how many sections there were.
    pub fn live(self: Rc<Self>, mut rng: fastrand::Rng) -> u64 {
        while !self.turn(&mut rng) {
            let me = Sim::enter().expect("a simulated thread has a node");
            let ended = Rc::new(Cell::new(false));
            let (user, child, slot) = (Rc::clone(&self), Rc::clone(&ended), me.slot());
            let mut rng = rng.fork();
            spawn(Box::new(move || {
                user.turn(&mut rng);
                child.set(true);
                Sim::unpark(slot);
            }));
            while !ended.get() {
                Sim::park(&me, None);
            }
        }
        self.done.get()
    }

    /// Whether time is over.
    fn turn(&self, rng: &mut fastrand::Rng) -> bool {
        let Turn { work_ns, locks, sections, inside_ns, outside_ns } = self.turn;
        let mut around = |ns: u32| rng.u32(ns / 2..=ns / 2 + ns);
        let begun = cpu_time();
        Sim::busy_wait_ns(around(work_ns));
        note(0, cpu_time() - begun);
        for lock in (0..locks).flat_map(|lock| (0..sections).map(move |_| lock)) {
            let begun = cpu_time();
            Sim::busy_wait_ns(around(outside_ns));
            let asked = cpu_time();
            let got = (self.section)(lock as usize, around(inside_ns));
            note(got - asked, cpu_time() - begun);
            self.done.set(self.done.get() + 1);
            if self.tally.over() {
                return true;
            }
        }
        false
    }
}
