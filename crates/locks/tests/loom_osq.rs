//! The OSQ under the model checker. Invariant I7: one head at a time, nobody is lost.
#![cfg(loom)]

mod support;

use lockwright_locks::mcs::Missed;
use lockwright_locks::osq::Osq;
use lockwright_locks::record::Record;
use lockwright_model::Model;
use lockwright_platform::{Platform, Until};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::{at_night, model};

struct Shared {
    osq: Osq<Model>,
    /// Only the head of the queue touches it: loom reports a second head as a race.
    section: UnsafeCell<u32>,
}

impl Shared {
    /// The queue of a record that no lock has: nobody else uses it.
    fn new() -> Self {
        let record = Record::<Model>::at(Model::claim_lock_record().unwrap());
        Shared { osq: record.osq(), section: UnsafeCell::new(0) }
    }
}

/// What a thread does with the queue.
#[derive(Copy, Clone, PartialEq)]
enum Visit {
    /// Waits for its turn.
    Patient,
    /// Leaves after one look.
    Hasty,
}
use Visit::{Hasty, Patient};

/// Whether the thread had the turn.
fn visit(shared: &Shared, visit: Visit) -> bool {
    let me = Model::enter().unwrap();
    let until = if visit == Hasty { Until::CHANGED.deadline(0) } else { Until::CHANGED };
    let seat = match shared.osq.join(&me, until, u32::MAX, || true) {
        Ok(seat) => seat,
        Err(missed) => {
            assert!(missed != Missed::Gone || visit == Hasty, "a waiter without deadline left");
            return false;
        }
    };
    shared.section.with_mut(|n| unsafe { *n += 1 });
    if shared.osq.leave(&me, seat) {
        // Nobody gets in while it is closed.
        shared.section.with_mut(|_| ());
        shared.osq.open();
    }
    true
}

fn visits(preemptions: Option<usize>, patience: &'static [&'static [Visit]]) {
    model(preemptions, move || {
        let shared = Arc::new(Shared::new());
        let others: Vec<_> = patience[1..]
            .iter()
            .map(|mine| {
                let shared = shared.clone();
                thread::spawn(move || mine.iter().filter(|p| visit(&shared, **p)).count())
            })
            .collect();
        let mut heads = patience[0].iter().filter(|p| visit(&shared, **p)).count();
        heads += others.into_iter().map(|t| t.join().unwrap()).sum::<usize>();
        assert_eq!(shared.section.with(|n| unsafe { *n }) as usize, heads);
        assert!(!shared.osq.has_spinner() && !shared.osq.is_closed(), "queue left behind");
        // Every node is free again: whoever was late has given it back.
        assert!(visit(&shared, Patient), "the node is lent to a queue that is empty");
    });
}

#[test]
fn two_threads_take_turns() {
    visits(at_night(None, 4), &[&[Patient, Patient], &[Patient]]);
}

#[test]
fn two_threads_one_cancels() {
    visits(None, &[&[Patient], &[Hasty]]);
}

#[test]
fn two_threads_cancel_and_return() {
    visits(Some(3), &[&[Hasty, Hasty], &[Hasty, Patient]]);
}

#[test]
fn race_02_node_is_initialised_before_it_is_found() {
    visits(Some(3), &[&[Patient], &[Patient], &[Patient]]);
}

/// Race 1: a middle waiter goes while its neighbours queue up and leave.
#[test]
fn race_01_a_waiter_goes_beside_its_neighbours() {
    visits(Some(3), &[&[Patient], &[Hasty], &[Patient]]);
}

#[test]
fn three_threads_two_cancel() {
    visits(at_night(3, 2), &[&[Patient], &[Hasty], &[Hasty]]);
}

#[test]
fn three_threads_last_cancels_and_returns() {
    visits(Some(2), &[&[Patient], &[Patient], &[Hasty, Patient]]);
}

/// The head passes its turn on while its successor has joined and not linked yet, and comes back.
#[test]
fn b04_a_late_link_finds_the_turn() {
    visits(at_night(None, 4), &[&[Patient, Patient], &[Patient]]);
}
