//! What happens when no thread slot is left: locks do without their queue, nothing aborts.
//! A process of its own, since it takes every slot there is.
#![cfg(not(any(loom, miri)))]

use std::thread;
use std::time::Duration;

use lockwright::events::{self, Event};
use lockwright::{Condvar, Mutex};
use lockwright_contract::scene::{Tally, until};
use lockwright_platform::threads::{CAPACITY, SlotHoard};

#[test]
fn locks_work_without_slots() {
    let hoard = SlotHoard::take(CAPACITY);
    assert!(hoard.len() > CAPACITY / 2, "took {} slots", hoard.len());
    let mutex = Mutex::new((0u32, 0u32));
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                for i in 0..200 {
                    let mut guard = mutex.lock();
                    guard.0 += 1;
                    if i % 20 == 0 {
                        thread::sleep(Duration::from_micros(200));
                    }
                    guard.1 += 1;
                }
            });
        }
    });
    assert_eq!(*mutex.lock(), (1_600, 1_600));
    assert!(events::snapshot().get(Event::MutexNoNode) > 0, "nobody had to do without");

    // Condition waits without slots end by notifications, each counted, and by time (fault B9).
    let (condvar, ended) = (Condvar::new(), Tally::new());
    thread::scope(|s| {
        let before = mutex.lock().0;
        for _ in 0..4 {
            s.spawn(|| {
                let mut guard = mutex.lock();
                guard.0 += 1;
                condvar.wait(&mut guard);
                ended.add();
            });
        }
        until(|| mutex.lock().0 == before + 4);
        assert!(condvar.notify_one());
        ended.wait_for(1);
        thread::sleep(Duration::from_millis(5));
        assert_eq!(ended.get(), 1, "nobody else woke");
        assert_eq!(condvar.notify_all(), 3);
        ended.wait_for(4);
        assert_eq!((condvar.notify_one(), condvar.notify_all()), (false, 0));
        let mut guard = mutex.lock();
        assert!(condvar.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
    });
    // A held lock times out there too.
    let guard = mutex.lock();
    thread::scope(|s| {
        s.spawn(|| assert!(mutex.try_lock_for(Duration::from_millis(2)).is_none()));
    });
    drop(guard);
    drop(hoard);
    assert!(mutex.try_lock().is_some());
}
