//! The condition variable under the model checker: no lost notification, conservation.
#![cfg(loom)]

mod support;

use lockwright_locks::condvar::RawCondvar;
use lockwright_locks::mutex::{Kernel, NEVER, Policy, RawMutex, Switches};
use lockwright_model::Model;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::model;

struct Steal;
impl Policy for Steal {
    const NAME: &'static str = "steal";
    const SWITCHES: Switches = Switches { handoff_ns: NEVER, ..Kernel::SWITCHES };
}

struct Shared {
    mutex: RawMutex<Model, Steal>,
    condvar: RawCondvar<Model>,
    ready: UnsafeCell<u32>,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Shared {
            mutex: RawMutex::new(),
            condvar: RawCondvar::new(),
            ready: UnsafeCell::new(0),
        })
    }

    fn wait_for_one(&self) {
        self.mutex.lock();
        while self.ready.with(|n| unsafe { *n }) == 0 {
            unsafe { self.condvar.wait(&self.mutex, None) };
        }
        self.ready.with_mut(|n| unsafe { *n -= 1 });
        unsafe { self.mutex.unlock() };
    }

    fn give(&self, n: u32) {
        self.mutex.lock();
        self.ready.with_mut(|ready| unsafe { *ready += n });
        unsafe { self.mutex.unlock() };
    }
}

#[test]
fn notification_is_not_lost() {
    model(Some(3), || {
        let shared = Shared::new();
        let other = shared.clone();
        let waiter = thread::spawn(move || other.wait_for_one());
        shared.give(1);
        shared.condvar.notify_one();
        waiter.join().unwrap();
    });
}

#[test]
fn notify_all_reaches_both() {
    model(Some(2), || {
        let shared = Shared::new();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let other = shared.clone();
                thread::spawn(move || other.wait_for_one())
            })
            .collect();
        shared.give(2);
        shared.condvar.notify_all();
        waiters.into_iter().for_each(|t| t.join().unwrap());
    });
}

/// The notifier holds the mutex and releases it while the first waiter moves the second.
#[test]
fn notify_all_under_the_mutex_reaches_both() {
    notified_under_the_mutex(|condvar| {
        condvar.notify_all();
    });
}

/// The second finds the first in the mutex's queue, and is woken beside it.
#[test]
fn two_notifications_under_the_mutex_reach_both() {
    notified_under_the_mutex(|condvar| {
        condvar.notify_one();
        condvar.notify_one();
    });
}

fn notified_under_the_mutex(notify: fn(&RawCondvar<Model>)) {
    model(Some(2), move || {
        let shared = Shared::new();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let other = shared.clone();
                thread::spawn(move || other.wait_for_one())
            })
            .collect();
        shared.mutex.lock();
        shared.ready.with_mut(|ready| unsafe { *ready += 2 });
        notify(&shared.condvar);
        unsafe { shared.mutex.unlock() };
        waiters.into_iter().for_each(|t| t.join().unwrap());
    });
}

/// A notification that is counted ends a wait that says so, and the other way round.
#[test]
fn timeout_races_with_notify() {
    model(Some(3), || {
        let shared = Shared::new();
        let other = shared.clone();
        let waiter = thread::spawn(move || {
            other.mutex.lock();
            let notified = unsafe { other.condvar.wait(&other.mutex, Some(1)) };
            unsafe { other.mutex.unlock() };
            notified
        });
        let sent = shared.condvar.notify_one();
        assert_eq!(sent, waiter.join().unwrap());
    });
}
