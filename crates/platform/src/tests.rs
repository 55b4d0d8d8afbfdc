//! What both platforms of real threads promise, on the one that is chosen.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::mpsc;

use crate::*;

#[test]
fn token_left_before_park_ends_it_at_once() {
    let me = Native::enter().unwrap();
    assert!(!Native::unpark(me.slot()));
    assert_eq!(Native::park(&me, None), Wake::Notified);
}

#[test]
fn park_times_out_and_leaves_no_token() {
    let me = Native::enter().unwrap();
    assert_eq!(Native::park(&me, Some(Native::now() + 1_000_000)), Wake::TimedOut);
    assert_eq!(me.record().token.load(Relaxed), 0);
    assert_eq!(me.record().parked.load(Relaxed), 0);
}

#[test]
fn unpark_publishes_what_came_before() {
    static DATA: AtomicU32 = AtomicU32::new(0);
    let (tx, rx) = mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let me = Native::enter().unwrap();
        tx.send(me.slot()).unwrap();
        while Native::park(&me, None) != Wake::Notified || DATA.load(Relaxed) == 0 {}
    });
    let slot = rx.recv().unwrap();
    DATA.store(1, Relaxed);
    Native::unpark(slot);
    waiter.join().unwrap();
}

#[test]
fn slot_returns_at_thread_exit() {
    let (slot, again) = std::thread::spawn(|| {
        let first = Native::enter().unwrap().slot();
        (first, Native::enter().unwrap().slot())
    })
    .join()
    .unwrap();
    assert_eq!(slot, again, "a thread keeps its slot");
}

#[test]
fn nested_operation_gets_no_slot() {
    let outer = Native::enter().unwrap();
    assert!(Native::enter().is_none(), "the node is in use");
    drop(outer);
    assert!(Native::enter().is_some());
}

#[test]
fn spin_reports_change_and_deadline() {
    let word = AtomicU32::new(5);
    let until = Until::CHANGED.deadline(Native::ticks() + Native::ticks_of(20_000));
    assert_eq!(Native::spin_while(&word, 1u32, 1, Acquire, until), Spin::Deadline);
    assert_eq!(Native::spin_while(&word, 1u32, 0, Acquire, until), Spin::Changed(5));
    std::thread::scope(|s| {
        s.spawn(|| word.store(4, Release));
        assert_eq!(
            Native::spin_while(&word, u32::MAX, 5, Acquire, Until::CHANGED),
            Spin::Changed(4)
        );
    });
}

#[test]
fn parked_thread_is_not_running() {
    let (tx, rx) = mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let me = Native::enter().unwrap();
        Native::check_in(&me);
        tx.send(me.slot()).unwrap();
        Native::park(&me, None);
    });
    let slot = rx.recv().unwrap();
    while Native::thread_record(slot).parked.load(Relaxed) == 0 {
        Native::yield_now();
    }
    assert!(!Native::is_running(slot));
    Native::unpark(slot);
    waiter.join().unwrap();
}

#[test]
fn ticks_agree_with_the_clock() {
    let (t, n) = (Native::ticks(), Native::now());
    Native::sleep(5_000_000);
    let (ticks, ns) = (Native::ticks() - t, Native::now() - n);
    let expected = Native::ticks_of(ns);
    assert!(ticks.abs_diff(expected) < expected / 4, "{ticks} ticks, expected {expected}");
}

#[test]
fn counters_sum_over_threads_that_have_gone() {
    let before = Native::counted(COUNTERS_TEST);
    for _ in 0..3 {
        std::thread::spawn(|| {
            Native::count(COUNTERS_TEST, 1);
            drop(Native::enter());
            Native::count(COUNTERS_TEST, 2);
        })
        .join()
        .unwrap();
    }
    assert_eq!(Native::counted(COUNTERS_TEST) - before, 9);
}

const COUNTERS_TEST: usize = crate::COUNTERS - 1;

#[test]
fn lock_records_recycle() {
    let a = Native::claim_lock_record().unwrap();
    // SAFETY: claimed above, and nobody else knows it (1).
    unsafe { Native::return_lock_record(a) };
    let b = Native::claim_lock_record().unwrap();
    // SAFETY: as above.
    unsafe { Native::return_lock_record(b) };
    assert_eq!(a, b);
}

#[test]
fn line_transfer_is_measured_within_its_bounds() {
    let word = AtomicU32::new(0);
    let gate = AtomicU32::new(0);
    std::thread::scope(|s| {
        s.spawn(|| {
            while gate.load(Acquire) == 0 {
                word.fetch_add(1, Release);
                std::hint::spin_loop();
            }
        });
        for _ in 0..2_000 {
            let seen = word.load(Acquire);
            let until = Until::CHANGED.deadline(Native::ticks() + Native::ticks_of(50_000));
            let _ =
                Native::spin_while2((&word, u32::MAX, seen), (&gate, u32::MAX, 0), Acquire, until);
        }
        gate.store(1, Release);
    });
    assert!((10..=1_000).contains(&Native::line_ns()), "{} ns", Native::line_ns());
}
