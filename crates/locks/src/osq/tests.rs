//! What the model cannot show of the OSQ: leaving a predecessor that does not run.
extern crate std;

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};
use std::thread;

use lockwright_platform::{Native, Platform, Until};

use crate::osq;

/// Race 4: a FIFO of spinners stalls behind one that is not running.
#[test]
fn race_04_waiter_leaves_a_predecessor_that_does_not_run() {
    let tail = AtomicU16::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let (tail, done) = (&tail, &done);
        let head = s.spawn(move || {
            let me = Native::enter().unwrap();
            Native::check_in(&me);
            assert!(osq::lock(tail, &me, Until::CHANGED));
            // Asleep with the queue in its hands: certainly not running.
            while !done.load(Relaxed) {
                Native::park(&me, Some(Native::now() + 1_000_000));
            }
            osq::unlock(tail, &me);
        });
        while tail.load(Relaxed) == 0 {
            Native::yield_now();
        }
        let me = Native::enter().unwrap();
        Native::check_in(&me);
        assert!(!osq::lock(tail, &me, Until::CHANGED), "waited for a sleeper");
        done.store(true, Relaxed);
        head.join().unwrap();
    });
    assert_eq!(tail.load(Relaxed), 0);
}

/// The section between `lock` and `unlock` is exclusive on real threads, whoever gives up.
#[test]
fn heads_exclude_each_other() {
    let tail = AtomicU16::new(0);
    let inside = AtomicBool::new(false);
    thread::scope(|s| {
        for t in 0..4 {
            let (tail, inside) = (&tail, &inside);
            s.spawn(move || {
                for i in 0..5_000u64 {
                    let me = Native::enter().unwrap();
                    Native::check_in(&me);
                    let patience = Native::ticks_of((i + t) % 3 * 2_000);
                    let until = Until::CHANGED.deadline(Native::ticks() + patience);
                    if osq::lock(tail, &me, until) {
                        assert!(!inside.swap(true, Relaxed), "two heads");
                        inside.store(false, Relaxed);
                        osq::unlock(tail, &me);
                    }
                }
            });
        }
    });
    assert_eq!(tail.load(Relaxed), 0);
}
