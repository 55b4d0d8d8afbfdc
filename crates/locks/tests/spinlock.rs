//! The four-byte lock on real threads.
#![cfg(not(loom))]

use std::cell::UnsafeCell;
use std::sync::Barrier;

use lockwright_locks::spinlock::RawSpinLock;
use lockwright_platform::Native;

const FREE: u32 = 1 << 30;

struct Counted {
    lock: RawSpinLock<Native, FREE>,
    sections: UnsafeCell<u64>,
}

// SAFETY: the counter is touched under the lock only.
unsafe impl Sync for Counted {}

impl Counted {
    fn new() -> Self {
        Counted { lock: RawSpinLock::new(), sections: UnsafeCell::new(0) }
    }

    fn section(&self) {
        // SAFETY: the lock is held, by this thread, until the unlock below.
        unsafe {
            *self.sections.get() += 1;
            self.lock.unlock();
        }
    }
}

#[test]
fn more_threads_than_cpus_exclude_each_other() {
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    let (counted, start) = (Counted::new(), Barrier::new(6));
    std::thread::scope(|s| {
        for i in 0..6 {
            let (counted, start) = (&counted, &start);
            s.spawn(move || {
                start.wait();
                for round in 0..rounds {
                    if (round + i) % 3 == 0 {
                        while !counted.lock.try_lock() {
                            std::thread::yield_now();
                        }
                    } else {
                        counted.lock.lock();
                    }
                    counted.section();
                }
            });
        }
    });
    assert_eq!(counted.sections.into_inner(), 6 * rounds);
}

#[test]
fn a_held_lock_is_not_taken_and_its_word_is_told_from_others() {
    let lock = RawSpinLock::<Native, FREE>::new();
    assert!(lock.try_lock());
    assert!(lock.is_locked() && !lock.try_lock());
    // SAFETY: held by this thread, and the lock is one word.
    let word = unsafe { *(&raw const lock).cast::<u32>() };
    assert!(RawSpinLock::<Native, FREE>::is_word(word) && word != FREE);
    // SAFETY: held by this thread.
    unsafe { lock.unlock() };
    assert!(!lock.is_locked());
    for of_another in [0, 1, u32::MAX, FREE << 1] {
        assert!(!RawSpinLock::<Native, FREE>::is_word(of_another));
    }
}

#[test]
fn a_waiter_lets_a_holder_on_its_own_cpu_run() {
    let counted = Counted::new();
    counted.lock.lock();
    std::thread::scope(|s| {
        s.spawn(|| {
            counted.lock.lock();
            counted.section();
        });
        for _ in 0..50 {
            std::thread::yield_now();
        }
        counted.section();
    });
    assert_eq!(counted.sections.into_inner(), 2);
}
