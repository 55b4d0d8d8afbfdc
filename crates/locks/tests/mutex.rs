//! The mutex, operation by operation, on the counting platform.
#![cfg(not(any(loom, miri)))]

use std::rc::Rc;

use lockwright_locks::mutex::{Fair, Kernel, Latency, Policy, RawMutex, Slice, SliceAtomic};
use lockwright_platform::counting::{Counting, act_as, on_wait, ops_on_all, with_cpus};

/// Read-modify-writes of an acquisition that spins while another thread ends its section, and of the release.
fn a_spin_acquisition<W: Policy>() -> [u64; 2] {
    let lock = Rc::new(RawMutex::<Counting, W>::new());
    act_as(2, || lock.lock());
    let holder = Rc::clone(&lock);
    let mut holds = true;
    let script = move || {
        if std::mem::take(&mut holds) {
            // SAFETY: locked above, once.
            act_as(2, || unsafe { holder.unlock() });
        }
    };
    let locks = ops_on_all(|| on_wait(script, || lock.lock()));
    // SAFETY: locked just now.
    let unlocks = ops_on_all(|| unsafe { lock.unlock() });
    [locks.rmws, unlocks.rmws]
}

/// To look in vain, to attach a record and take the turn to spin, to take the lock, to detach the record.
#[test]
fn a_spin_acquisition_is_five_read_modify_writes_at_most() {
    fn check<W: Policy>() {
        for cpus in [2, 3, 16, 240] {
            let [locks, unlocks] = with_cpus(cpus, a_spin_acquisition::<W>);
            let atomic = u64::from(W::SWITCHES.atomic_unlock);
            assert!((2..=5).contains(&locks), "{}: {locks} on {cpus} CPUs", W::NAME);
            assert_eq!(unlocks, atomic, "{}, {cpus} CPUs", W::NAME);
        }
    }
    check::<Slice>();
    check::<SliceAtomic>();
    check::<Kernel>();
    check::<Latency>();
    check::<Fair>();
}
