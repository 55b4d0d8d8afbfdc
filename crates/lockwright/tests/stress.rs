//! Everything at once, for long enough that schedules vary; ThreadSanitizer runs this file.
#![cfg(not(any(loom, miri)))]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lock_api::{Condvar, Mutex};
use lockwright::events::{self, Event};
use lockwright::stages::Kernel;
use lockwright::{Latency, MutexPolicy, RawCondvarWith, RawMutexWith, Slice, SliceAtomic};

const THREADS: u64 = 8;
const ROUNDS: u64 = if cfg!(debug_assertions) { 100_000 } else { 300_000 };

/// All ways to acquire and release, mixed; two plain counters must agree at every look.
fn mixed<W: MutexPolicy + Sync + Send>() {
    let mutex = Mutex::<RawMutexWith<W>, (u64, u64)>::new((0, 0));
    let condvar = Condvar::<RawCondvarWith<W>>::new();
    let entered = AtomicU64::new(0);
    thread::scope(|s| {
        for t in 0..THREADS {
            let (mutex, condvar, entered) = (&mutex, &condvar, &entered);
            s.spawn(move || {
                for i in 0..ROUNDS {
                    let guard = match (i * 7 + t) % 16 {
                        0 => mutex.try_lock_for(Duration::from_micros(20)),
                        1 => mutex.try_lock(),
                        _ => Some(mutex.lock()),
                    };
                    let Some(mut guard) = guard else { continue };
                    assert_eq!(guard.0, guard.1, "two threads inside");
                    guard.0 += 1;
                    if i % 64 == 0 {
                        std::hint::black_box(&mut guard.0);
                        thread::yield_now();
                    }
                    guard.1 += 1;
                    entered.fetch_add(1, Relaxed);
                    match (i * 5 + t) % 64 {
                        0 => {
                            let _ = condvar.wait_for(&mut guard, Duration::from_micros(100));
                        }
                        1 => _ = condvar.notify_one(),
                        2 => _ = condvar.notify_all(),
                        3 => lock_api::MutexGuard::unlock_fair(guard),
                        _ => {}
                    }
                }
            });
        }
    });
    let found = *mutex.lock();
    assert_eq!(found, (entered.load(Relaxed), entered.load(Relaxed)));
    assert!(mutex.try_lock().is_some(), "left locked");
}

#[test]
fn slice_survives_everything_at_once() {
    mixed::<Slice>();
}

#[test]
fn slice_atomic_survives_everything_at_once() {
    mixed::<SliceAtomic>();
}

#[test]
fn kernel_survives_everything_at_once() {
    mixed::<Kernel>();
}

#[test]
fn latency_survives_everything_at_once() {
    mixed::<Latency>();
}

/// What must hold between counts whatever the schedule was, over all locks of the process.
#[test]
fn events_agree_with_each_other() {
    mixed::<Slice>();
    mixed::<Kernel>();
    let counts = events::snapshot();
    let get = |event| counts.get(event);
    assert!(get(Event::MutexQlock) + get(Event::MutexOptLock) > 0, "the stress never waited");
    assert!(get(Event::MutexHandoff) <= get(Event::MutexQlock) + get(Event::CondRequeue) + THREADS);
    assert!(get(Event::MutexOptRetaken) <= get(Event::MutexOptFail));
    assert!(get(Event::CondTimeout) <= get(Event::CondWait));
    assert!(get(Event::CondWait) > 0 && get(Event::CondTimeout) > 0);
}
