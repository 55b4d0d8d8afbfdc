//! What happens when no thread slot is left: locks do without their queue, nothing aborts.
//! A process of its own, since it takes every slot there is.
#![cfg(not(any(loom, miri)))]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::events::{self, Event};
use lockwright::{Condvar, Mutex};
use lockwright_platform::native::{CAPACITY, SlotHoard};

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

    // A condition wait without a slot ends by itself: wait_while is right all the same.
    let ready = AtomicBool::new(false);
    let condvar = Condvar::new();
    thread::scope(|s| {
        s.spawn(|| {
            let mut guard = mutex.lock();
            condvar.wait_while(&mut guard, |_| !ready.load(Relaxed));
        });
        thread::sleep(Duration::from_millis(5));
        ready.store(true, Relaxed);
        condvar.notify_all();
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
