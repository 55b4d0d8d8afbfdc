//! What the model cannot show of the OSQ: leaving a predecessor that does not run.
extern crate std;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;

use lockwright_platform::{Me, Native, Platform, Until};

use super::Osq;
use crate::mcs::{Turn, script};
use crate::record::Record;

/// The queue of a record that no lock has, nor will have.
fn queue() -> Osq<Native> {
    Record::at(Native::claim_lock_record().unwrap()).osq()
}

fn enter() -> Me<Native> {
    let me = Native::enter().unwrap();
    Native::check_in(&me);
    me
}

/// Joins, though the slot's last thread may have left its node to another test's queue.
fn join_patiently(osq: &Osq<Native>, me: &Me<Native>) {
    while osq.join(me, Until::CHANGED, u32::MAX, || true) != Turn::Mine {
        Native::yield_now();
    }
}

fn leave(osq: &Osq<Native>, me: &Me<Native>) {
    if osq.leave(me) {
        osq.open();
    }
}

/// Race 4: a FIFO of spinners stalls behind one that is not running.
#[test]
fn race_04_waiter_leaves_a_predecessor_that_does_not_run() {
    let osq = queue();
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let (osq, done) = (&osq, &done);
        let head = s.spawn(move || {
            let me = enter();
            join_patiently(osq, &me);
            // Asleep with the queue in its hands: certainly not running.
            while !done.load(Relaxed) {
                Native::park(&me, Some(Native::now() + 1_000_000));
            }
            leave(osq, &me);
        });
        while !osq.has_spinner() {
            Native::yield_now();
        }
        let me = enter();
        let turn = osq.join(&me, Until::CHANGED, u32::MAX, || true);
        assert!(matches!(turn, Turn::Gone | Turn::Lent), "waited for a sleeper");
        done.store(true, Relaxed);
        head.join().unwrap();
    });
    assert!(!osq.has_spinner());
}

/// The section between `lock` and `unlock` is exclusive on real threads, whoever gives up.
#[test]
fn heads_exclude_each_other() {
    let osq = queue();
    let inside = AtomicBool::new(false);
    thread::scope(|s| {
        for t in 0..4 {
            let (osq, inside) = (&osq, &inside);
            s.spawn(move || {
                for i in 0..5_000u64 {
                    let me = enter();
                    let patience = Native::ticks_of((i + t) % 3 * 2_000);
                    let until = Until::CHANGED.deadline(Native::ticks() + patience);
                    if osq.join(&me, until, u32::MAX, || true) == Turn::Mine {
                        assert!(!inside.swap(true, Relaxed), "two heads");
                        inside.store(false, Relaxed);
                        leave(osq, &me);
                    }
                }
            });
        }
    });
    assert!(!osq.has_spinner());
}

/// Fault B4: the head, which may hold the lock, waited for a newcomer that had lost its CPU between joining
/// and linking.
#[test]
fn b04_a_head_leaves_beside_a_newcomer_that_does_not_run() {
    let osq = queue();
    let (stalled, until_stalled) = mpsc::channel();
    let (go_on, until_told) = mpsc::channel::<()>();
    thread::scope(|s| {
        let me = enter();
        join_patiently(&osq, &me);
        let osq = &osq;
        let newcomer = s.spawn(move || {
            let me = enter();
            script::at_the_link(move || {
                stalled.send(()).unwrap();
                until_told.recv().unwrap();
            });
            join_patiently(osq, &me);
            leave(osq, &me);
        });
        until_stalled.recv().unwrap();
        // Returns, although the newcomer stands still; and the node cannot be used meanwhile.
        leave(osq, &me);
        assert_eq!(osq.join(&me, Until::CHANGED, u32::MAX, || true), Turn::Lent);
        assert!(!newcomer.is_finished());
        go_on.send(()).unwrap();
        newcomer.join().unwrap();
        join_patiently(osq, &me);
        leave(osq, &me);
    });
    assert!(!osq.has_spinner());
}
