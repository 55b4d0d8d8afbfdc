//! Contention records under the model checker: spinners join and leave without the guard, while the
//! record is detached and given to another lock.
#![cfg(loom)]

mod support;

use std::sync::atomic::Ordering::Relaxed;

use lockwright_locks::record::{Record, attach, ctl, join_spinners};
use lockwright_model::Model;
use lockwright_platform::{Platform, Word};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::{model, together};

type Control = <Model as Platform>::Word<u32>;

/// The control words of two locks.
type Locks = [Control; 2];

/// The first lock has a record when the others begin, and the first body ends its use.
fn run(preemptions: usize, bodies: &'static [fn(&Locks)]) {
    model(Some(preemptions), move || {
        let locks: Arc<Locks> = Arc::new([Word::new(0), Word::new(0)]);
        let first = attach::<Model>(&locks[0], None).unwrap().record();
        first.acquire(None).leave(&locks[0]);
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
        let guarded = record.acquire(None);
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
    let record = attach::<Model>(&locks[1], None).unwrap().record();
    record.acquire(None).leave(&locks[1]);
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

/// Threads that stand in line for the guard, or leave the line, or come from outside it: one at a
/// time has it, and the line is empty afterwards (a node of a line that is not can be found by the
/// next to queue).
fn stand_in_line(preemptions: usize, in_line: &'static [bool]) {
    lockwright_model::set_spinner_cap(2);
    model(Some(preemptions), move || {
        let shared = Arc::new((Word::new(0), UnsafeCell::new(0usize)));
        // The record stays attached: a user that never leaves.
        let record = attach::<Model>(&shared.0, None).unwrap().record();
        let visit = move |section: &UnsafeCell<usize>, in_line: bool| {
            let me = Model::enter().unwrap();
            for _ in 0..2 {
                let guarded = record.acquire(in_line.then_some(&me));
                // SAFETY: the guard is held; loom sees to it that nobody else is here.
                section.with_mut(|n| unsafe { *n += 1 });
                drop(guarded);
            }
        };
        let others: Vec<_> = in_line[1..]
            .iter()
            .map(|&in_line| {
                let shared = shared.clone();
                thread::spawn(move || visit(&shared.1, in_line))
            })
            .collect();
        visit(&shared.1, in_line[0]);
        for other in others {
            other.join().unwrap();
        }
        // SAFETY: the other threads have ended.
        assert_eq!(shared.1.with(|n| unsafe { *n }), 2 * in_line.len());
        assert_eq!(record.line().load(Relaxed), 0, "somebody still stands in the line");
        record.acquire(None).leave(&shared.0);
    });
}

#[test]
fn two_in_line_for_the_guard() {
    stand_in_line(4, &[true, true]);
}

#[test]
fn three_in_line_for_the_guard() {
    stand_in_line(2, &[true, true, true]);
}

#[test]
fn one_in_line_for_the_guard_and_one_outside() {
    stand_in_line(4, &[true, false]);
}
