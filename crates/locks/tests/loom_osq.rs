//! The OSQ under the model checker. Invariant I7: one head at a time, nobody is lost.
#![cfg(loom)]

mod support;

use lockwright_locks::osq;
use lockwright_model::Model;
use lockwright_platform::{Platform, Until, Word};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::model;

struct Shared {
    tail: <Model as Platform>::Word<u16>,
    /// Only the head of the queue touches it: loom reports a second head as a race.
    section: UnsafeCell<u32>,
}

/// One visit; `patient` waits for its turn, otherwise it leaves after one look.
fn visit(shared: &Shared, patient: bool) -> bool {
    let me = Model::enter().unwrap();
    let until = if patient { Until::CHANGED } else { Until::CHANGED.deadline(0) };
    if !osq::lock(&shared.tail, &me, until) {
        assert!(!patient, "a waiter without deadline left");
        return false;
    }
    shared.section.with_mut(|n| unsafe { *n += 1 });
    osq::unlock(&shared.tail, &me);
    true
}

fn visits(preemptions: Option<usize>, patience: &'static [&'static [bool]]) {
    model(preemptions, move || {
        let shared = Arc::new(Shared { tail: Word::new(0), section: UnsafeCell::new(0) });
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
        assert_eq!(shared.tail.load(std::sync::atomic::Ordering::Relaxed), 0, "queue left behind");
    });
}

#[test]
fn two_threads_take_turns() {
    visits(None, &[&[true, true], &[true]]);
}

#[test]
fn two_threads_one_cancels() {
    visits(None, &[&[true], &[false]]);
}

#[test]
fn two_threads_cancel_and_return() {
    visits(Some(3), &[&[false, false], &[false, true]]);
}

#[test]
fn race_02_node_is_initialised_before_it_is_found() {
    visits(Some(3), &[&[true], &[true], &[true]]);
}

/// Races 1 and 2: a middle waiter unlinks itself while its neighbours queue up and leave.
#[test]
fn race_01_unqueue_races_with_lock() {
    visits(Some(3), &[&[true], &[false], &[true]]);
}

#[test]
fn three_threads_two_cancel() {
    visits(Some(3), &[&[true], &[false], &[false]]);
}

#[test]
fn three_threads_last_cancels_and_returns() {
    visits(Some(2), &[&[true], &[true], &[false, true]]);
}
