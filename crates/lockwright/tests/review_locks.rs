//! What a hostile reading proved against the locks, a test each; those of whole processes are in
//! `review_process.rs`.
#![cfg(all(target_os = "linux", not(any(loom, miri))))]

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use lockwright::{Condvar, Mutex};
use lockwright_contract::os::{ThreadId, with_usr1};
use lockwright_contract::scene::{Flag, Tally, until};
use lockwright_contract::within;

/// A waiter's deadline holds whatever the one before it does: it was notified by one that is in a signal
/// handler and will be for long.
#[test]
fn b02_a_deadline_holds_beside_a_first_waiter_that_does_not_run() {
    static IN_HANDLER: Flag = Flag::new();
    static LEAVE: Flag = Flag::new();
    static MUTEX: Mutex<usize> = Mutex::new(0);
    static CONDVAR: Condvar = Condvar::new();
    static FIRST: OnceLock<ThreadId> = OnceLock::new();
    let body = || {
        let first = thread::spawn(|| {
            FIRST.get_or_init(ThreadId::here);
            let mut waiting = MUTEX.lock();
            *waiting += 1;
            CONDVAR.wait(&mut waiting);
        });
        until(|| *MUTEX.lock() == 1);
        let second = thread::spawn(|| {
            let mut waiting = MUTEX.lock();
            *waiting += 1;
            CONDVAR.wait_for(&mut waiting, Duration::from_millis(200));
        });
        until(|| *MUTEX.lock() == 2);
        FIRST.wait().interrupt();
        IN_HANDLER.wait();
        CONDVAR.notify_all();
        // It comes back, and the first is still where it was.
        second.join().unwrap();
        LEAVE.raise();
        first.join().unwrap();
    };
    let in_handler = || {
        IN_HANDLER.raise();
        LEAVE.wait();
    };
    with_usr1(in_handler, || within(Duration::from_secs(60), "the second waiter returns", body));
}

/// Notifiers count waiters exactly.
#[test]
fn b09_a_notification_is_counted_when_it_ends_a_wait() {
    let (mutex, condvar, ended) = (Mutex::new(0), Condvar::new(), Tally::new());
    thread::scope(|s| {
        for _ in 0..5 {
            s.spawn(|| {
                let mut waiting = mutex.lock();
                *waiting += 1;
                condvar.wait(&mut waiting);
                ended.add();
            });
        }
        until(|| *mutex.lock() == 5);
        assert!(condvar.notify_one());
        ended.wait_for(1);
        assert_eq!(condvar.notify_all(), 4);
        ended.wait_for(5);
        assert_eq!(condvar.notify_all(), 0);
        assert!(!condvar.notify_one());
    });
}
