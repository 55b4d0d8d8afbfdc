//! Contention records under the model checker: users and spinners come and go while the record is detached
//! and given to another lock; the wait lock and its line.
#![cfg(loom)]

mod support;

use std::sync::atomic::Ordering::Relaxed;

use lockwright_locks::record::{Anchor, Control, Record, Spinner, attach};
use lockwright_model::Model;
use lockwright_platform::{Platform, Until, Word};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::{at_night, model, together};

type Words = <Model as Platform>::Word<u32>;

/// The control words of two locks, and what only the spinner of each touches.
struct Locks {
    control: [Words; 2],
    spinner: [UnsafeCell<u32>; 2],
}

impl Locks {
    fn anchor(&self, lock: usize) -> Control<'_, Model> {
        Control(&self.control[lock])
    }

    /// Comes as a spinner; while it is one, the record must not be taken from the lock.
    fn spin(&self, lock: usize, patient: bool) {
        let me = Model::enter().unwrap();
        let until = if patient { Until::CHANGED } else { Until::CHANGED.deadline(0) };
        let Some(spinner) = Spinner::join(self.anchor(lock), &me, until, 3) else {
            return;
        };
        self.spinner[lock].with_mut(|n| unsafe { *n += 1 });
        let attached = self.anchor(lock).index().map(Record::at);
        assert!(attached.is_some_and(|now| now == spinner.record()), "detached under a spinner");
        spinner.leave(self.anchor(lock));
    }

    /// Comes as a user.
    fn use_it(&self, lock: usize) {
        let me = Model::enter().unwrap();
        let held = attach::<Model>(self.anchor(lock), Some(&me)).unwrap();
        let record = held.record();
        drop(held);
        let attached = self.anchor(lock).index().map(Record::at);
        assert!(attached.is_some_and(|now| now == record), "detached under a user");
        record.acquire(Some(&me)).leave(self.anchor(lock));
    }
}

fn run(preemptions: impl Into<Option<usize>>, bodies: &'static [fn(&Locks)]) {
    model(preemptions.into(), move || {
        let locks = Arc::new(Locks {
            control: [Word::new(0), Word::new(0)],
            spinner: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        together(&locks, bodies);
        for control in &locks.control {
            assert_eq!(control.load(Relaxed), 0, "a record that nobody uses is still attached");
        }
        // All records of the model are free again.
        let records: Vec<_> = std::iter::from_fn(Model::claim_lock_record).collect();
        assert_eq!(records.len(), 3, "a record was lost");
    });
}

fn spin(locks: &Locks) {
    locks.spin(0, true);
}

fn spin_briefly(locks: &Locks) {
    locks.spin(0, false);
}

fn spin_twice(locks: &Locks) {
    locks.spin(0, true);
    locks.spin(0, true);
}

fn use_one(locks: &Locks) {
    locks.use_it(0);
}

fn use_both(locks: &Locks) {
    locks.use_it(0);
    locks.use_it(1);
}

fn spin_then_use_other(locks: &Locks) {
    locks.spin(0, true);
    locks.use_it(1);
}

#[test]
fn two_spinners() {
    run(at_night(4, 3), &[spin_twice, spin]);
}

#[test]
fn a_spinner_and_a_user_leave_together() {
    run(4, &[spin, use_one]);
}

#[test]
fn a_spinner_meets_the_end_of_its_record() {
    run(3, &[use_both, spin]);
}

#[test]
fn a_user_meets_the_end_of_its_record() {
    run(3, &[spin_then_use_other, use_one]);
}

#[test]
fn two_users() {
    run(4, &[use_both, use_one]);
}

#[test]
fn two_spinners_and_a_user() {
    run(at_night(2, 1), &[spin, spin_briefly, use_one]);
}

/// Threads that stand in line for the wait lock, or leave the line, or come from outside it: one at a
/// time has it, and nobody's node stays lent to the line.
fn stand_in_line(preemptions: usize, in_line: &'static [bool]) {
    lockwright_model::set_spinner_cap(2);
    model(Some(preemptions), move || {
        let shared = Arc::new((Word::new(0), UnsafeCell::new(0usize)));
        // The record stays attached: a user that never leaves.
        let record = attach::<Model>(Control(&shared.0), None).unwrap().record();
        let visit = move |section: &UnsafeCell<usize>, in_line: bool| {
            let me = Model::enter().unwrap();
            for _ in 0..2 {
                let held = record.acquire(in_line.then_some(&me));
                // SAFETY: the wait lock is held; loom sees to it that nobody else is here.
                section.with_mut(|n| unsafe { *n += 1 });
                drop(held);
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
        record.acquire(None).leave(Control(&shared.0));
    });
}

#[test]
fn two_in_line_for_the_wait_lock() {
    stand_in_line(4, &[true, true]);
}

#[test]
fn three_in_line_for_the_wait_lock() {
    stand_in_line(2, &[true, true, true]);
}

#[test]
fn one_in_line_for_the_wait_lock_and_one_outside() {
    stand_in_line(4, &[true, false]);
}
