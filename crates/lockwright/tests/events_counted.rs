//! Events that are counted when what they are named for happens. Only these tests use locks
//! in this process, one at a time, so that what is counted is theirs.
#![cfg(all(target_os = "linux", target_env = "gnu", not(any(loom, miri, lockwright_portable))))]

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use lockwright::events::{self, Event};
use lockwright::stages::Kernel;
use lockwright::{BiasedRwLock, MutexWith};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn count(event: Event) -> u64 {
    events::snapshot().get(event)
}

#[test]
fn a_first_waiter_asks_for_a_hand_off() {
    let _alone = ONE_AT_A_TIME.lock();
    let lock = MutexWith::<u32, Kernel>::new(0);
    // Each takes the mutex again at once, so that the other wakes up in vain.
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                for _ in 0..100_000 {
                    if count(Event::MutexHandoffAsked) > 0 {
                        break;
                    }
                    let mut held = lock.lock();
                    thread::sleep(Duration::from_micros(100));
                    *held += 1;
                }
            });
        }
    });
    assert!(count(Event::MutexHandoffAsked) > 0, "in {} sections", *lock.lock());
    // The waiter slept for it, and so passed a fence.
    assert!(count(Event::FenceHeavy) > 0);
    let (calls, ns) = (count(Event::FenceCall), count(Event::FenceNs));
    assert_eq!(calls > 0, ns > 0, "{calls} calls in {ns} ns");
    assert!(count(Event::FenceShared) <= count(Event::FenceHeavy));
    assert!(count(Event::FenceRest) <= count(Event::FenceHeavy));
    assert!(count(Event::MutexOptStopped) <= count(Event::MutexOptFail));
}

#[test]
fn a_reader_of_too_many_biased_locks_has_no_cell_left() {
    let _alone = ONE_AT_A_TIME.lock();
    let locks: Vec<_> = (0..200_u32).map(BiasedRwLock::new).collect();
    for lock in &locks {
        (0..3_000).for_each(|_| drop(std::hint::black_box(lock.read())));
    }
    let held: Vec<_> = locks.iter().map(BiasedRwLock::read).collect();
    assert_eq!(held.iter().map(|guard| **guard).sum::<u32>(), (0..200).sum());
    assert!(count(Event::RwsemBiasNoCell) > 0);
}
