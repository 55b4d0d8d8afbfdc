//! A lock that may be spun for long on a machine of many CPUs is given up in time all the same: on a simulated
//! machine, where times can be told to the nanosecond.

use std::cell::Cell;
use std::rc::Rc;

use lockwright_locks::mutex::{Policy, RawMutex, Slice, SliceAtomic};
use lockwright_platform::Platform;
use lockwright_sim::{Machine, Placement, Setup, Sim, run};

/// The first few polls, which look at no clock: here each lasts until the lock's line changes, or for 10 us.
const LATE_NS: u64 = 70_000;

/// When the call gives up, counted from its deadline, beside an owner that runs for a millisecond.
fn late_by<W: Policy + Send + Sync>(deadline_ns: u64) -> u64 {
    let machine = Machine::built_in().into_iter().find(|m| m.name == "ivybridge-ex-8s").unwrap();
    let lock = Rc::new(RawMutex::<Sim, W>::new());
    let late = Rc::new(Cell::new(0));
    let owner = {
        let lock = Rc::clone(&lock);
        move || lock.while_locked(|| Sim::busy_wait_ns(1_000_000))
    };
    let caller = {
        let late = Rc::clone(&late);
        move || {
            Sim::busy_wait_ns(100_000);
            let deadline = Sim::now() + deadline_ns;
            assert!(!lock.lock_until(deadline), "the owner holds it for longer");
            late.set(Sim::now() - deadline);
        }
    };
    let setup = Setup { placement: Placement::Numbered, bound: true, ..Setup::default() };
    run(&machine, setup, vec![Box::new(owner), Box::new(caller)]).unwrap();
    late.get()
}

#[test]
fn no_spin_outlasts_a_deadline() {
    for deadline_ns in [0, 1_000, 30_000, 150_000] {
        for late in [late_by::<Slice>(deadline_ns), late_by::<SliceAtomic>(deadline_ns)] {
            assert!(late <= LATE_NS, "{late} ns after a deadline {deadline_ns} ns away");
        }
    }
}
