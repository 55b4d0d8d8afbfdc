//! Families that fork: what AIM7's fork_test does to one lock.
//!
//! A parent sets up a child, takes the lock for each area of memory that the child inherits, wakes
//! it and sleeps until it has ended; the child does the same work to let go of the areas. Whatever
//! the lock does, a family sleeps twice a turn; one of the two can run. The child is the same
//! simulated thread each time, asleep in between.

use std::cell::Cell;
use std::rc::Rc;

use lockwright_platform::{Platform, Slot};
use lockwright_sim::Sim;

use super::tally::Tally;

/// What one member does in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub sections: u32,
    pub inside_ns: u32,
    pub outside_ns: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Alone,
    Forked,
    Over,
}

/// What a parent and its child share.
#[derive(Default)]
pub(super) struct Family {
    state: Cell<State>,
    /// Parent, child.
    members: [Cell<Option<Slot>>; 2],
}

impl Family {
    /// Sleeps while `condition` does not hold; the other member wakes who sleeps here.
    fn wait(&self, member: usize, condition: impl Fn(State) -> bool) {
        let me = Sim::enter().expect("a simulated thread has a node");
        // Before the look: whoever changes the state later leaves a token.
        self.members[member].set(Some(me.slot()));
        while !condition(self.state.get()) {
            Sim::park(&me, None);
        }
    }

    fn tell(&self, member: usize, state: State) {
        self.state.set(state);
        if let Some(slot) = self.members[member].get() {
            Sim::unpark(slot);
        }
    }
}

/// One member's life: the parent if `is_parent`. `section` runs a section of so many nanoseconds
/// under the lock; returns how many it ran.
pub(super) fn live(
    family: &Rc<Family>,
    is_parent: bool,
    turn: Turn,
    mut rng: fastrand::Rng,
    tally: &Tally,
    section: impl Fn(u32),
) -> u64 {
    let own = Cell::new(0);
    let mut work = || {
        Sim::relax(rng.u32(turn.outside_ns / 2..=turn.outside_ns * 3 / 2));
        for _ in 0..turn.sections {
            section(rng.u32(turn.inside_ns / 2..=turn.inside_ns * 3 / 2));
        }
        own.set(own.get() + u64::from(turn.sections));
        tally.over(own.get())
    };
    if is_parent {
        while !work() {
            family.tell(1, State::Forked);
            family.wait(0, |state| state == State::Alone);
        }
        family.tell(1, State::Over);
    } else {
        loop {
            family.wait(1, |state| state != State::Alone);
            if family.state.get() == State::Over {
                // The child's time is over as well: it is told here if not before.
                tally.over(own.get());
                break;
            }
            work();
            family.tell(0, State::Alone);
        }
    }
    own.get()
}
