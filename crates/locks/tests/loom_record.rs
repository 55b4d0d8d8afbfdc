//! Contention records under the model checker: spinners join and leave without the guard, while the
//! record is detached and given to another lock.
#![cfg(loom)]

mod support;

use std::sync::atomic::Ordering::Relaxed;

use lockwright_locks::record::{Record, attach, ctl, join_spinners};
use lockwright_platform::{Model, Platform, Word};
use loom::sync::Arc;
use support::{model, together};

type Control = <Model as Platform>::Word<u32>;

/// The control words of two locks.
type Locks = [Control; 2];

/// The first lock has a record when the others begin, and the first body ends its use.
fn run(preemptions: usize, bodies: &'static [fn(&Locks)]) {
    model(Some(preemptions), move || {
        let locks: Arc<Locks> = Arc::new([Word::new(0), Word::new(0)]);
        let first = attach::<Model>(&locks[0]).unwrap().record();
        first.acquire().leave(&locks[0]);
        together(&locks, bodies);
        for lock in locks.iter() {
            assert_eq!(lock.load(Relaxed), 0, "a record that nobody uses is still attached");
        }
    });
}

/// Comes as a spinner; while it is one, the record must not be taken from the lock. Leaves as one,
/// or as a waiter.
fn spin_on(lock: &Control, stays: bool) {
    let Some(record) = join_spinners::<Model>(lock, 2) else {
        return;
    };
    if stays {
        record.stop_spinning();
        let guarded = record.acquire();
        assert!(ctl::record(lock.load(Relaxed)).map(Record::at).is_some_and(|now| now == record));
        return guarded.leave(lock);
    }
    record.leave_spinning(lock);
}

fn spin(locks: &Locks) {
    spin_on(&locks[0], false);
}

fn spin_and_wait(locks: &Locks) {
    spin_on(&locks[0], true);
}

/// Uses a record with the second lock: the same, if nobody keeps it.
fn use_other(locks: &Locks) {
    let record = attach::<Model>(&locks[1]).unwrap().record();
    record.acquire().leave(&locks[1]);
}

#[test]
fn two_spinners() {
    run(5, &[spin, spin]);
}

#[test]
fn a_spinner_meets_the_end_of_its_record() {
    run(5, &[use_other, spin]);
}

#[test]
fn a_waiter_meets_the_end_of_its_record() {
    run(5, &[use_other, spin_and_wait]);
}
