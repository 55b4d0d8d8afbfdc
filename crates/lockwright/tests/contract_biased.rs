//! The contract suite on the reader-biased lock: as it is, where writers are so frequent that the
//! bias stays off, and with the bias back after every second read. Miri runs this file too.
#![cfg(not(loom))]

use lockwright::{RawBiasedRwLock, RawBiasedRwLockWith, Standard};
use lockwright_contract::{WriteSide, fork_contract, mutex_contract, rwlock_contract};

/// Biased as often as can be.
type Eager = RawBiasedRwLockWith<Standard, 0>;

rwlock_contract!(standard, RawBiasedRwLock);
rwlock_contract!(eager, Eager);
mutex_contract!(eager_writers, WriteSide<Eager>, timed, fair);
fork_contract!(fork, WriteSide<Eager>);

mod own {
    use super::Eager;
    use lockwright::events::{Event, snapshot};
    use lockwright::{BiasedRwLock, RecursiveRead};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::thread;
    use std::time::Duration;

    type Lock<T> = lock_api::RwLock<Eager, T>;

    /// A lock that is biased.
    fn biased<T>(value: T) -> Lock<T> {
        let lock = Lock::new(value);
        drop(lock.read());
        lock
    }

    fn wait_until(ready: &AtomicBool) {
        while !ready.load(SeqCst) {
            thread::yield_now();
        }
        let wait = if cfg!(miri) { 0 } else { 20 };
        thread::sleep(Duration::from_millis(wait));
    }

    /// A holder's second read does not wait behind a writer that waits for the first.
    #[test]
    fn a_recursive_read_passes_a_waiting_writer() {
        let (lock, asking) = (biased(1), AtomicBool::new(false));
        let first = lock.read();
        thread::scope(|s| {
            s.spawn(|| {
                asking.store(true, SeqCst);
                *lock.write() = 2;
            });
            wait_until(&asking);
            let second = lock.read_recursive();
            assert_eq!((*first, *second), (1, 1));
            let third = lock.try_read_recursive().expect("a reader holds the lock");
            drop(first);
            assert!(lock.try_write().is_none());
            drop((second, third));
        });
        assert_eq!(*lock.read(), 2);
    }

    /// More locks than a line has cells, and each of them more than once.
    #[test]
    fn who_finds_no_cell_reads_all_the_same() {
        let locks: Vec<_> = (0..20).map(biased).collect();
        let guards: Vec<_> = locks.iter().chain(&locks).map(|lock| lock.read()).collect();
        for (i, lock) in locks.iter().enumerate() {
            assert!(lock.is_locked() && lock.try_write().is_none(), "{i}");
        }
        drop(guards);
        for lock in &locks {
            *lock.try_write().expect("nobody reads") += 1;
            assert!(!lock.is_locked());
        }
    }

    /// A writer that gives up leaves the reader in, for the next writer to find.
    #[test]
    fn a_timed_writer_behind_a_biased_reader_gives_up() {
        let lock = biased(3);
        let reading = lock.read();
        thread::scope(|s| {
            s.spawn(|| {
                assert!(lock.try_write_for(Duration::from_millis(2)).is_none());
                assert!(lock.try_write().is_none());
                // The lock is free for others still, and the bias may come back.
                (0..4).for_each(|_| assert_eq!(*lock.try_read().expect("readers only"), 3));
                assert!(lock.try_write().is_none());
            });
        });
        drop(reading);
        *lock.try_write().expect("nobody reads") = 4;
    }

    /// A guard that was forgotten holds its lock, wherever that lies, and no other.
    #[test]
    fn a_forgotten_guard_bars_nobody_from_another_lock_there() {
        let mut place = biased(0);
        std::mem::forget(place.read());
        assert!(place.try_write().is_none());
        place = biased(1);
        assert_eq!(*place.try_write().expect("a lock of its own"), 1);
    }

    /// A hold outlives its thread, and so does the slot that it is published in.
    #[test]
    fn a_hold_outlives_its_thread() {
        let lock = biased(());
        thread::scope(|s| {
            s.spawn(|| std::mem::forget(lock.read()));
        });
        for _ in 0..3 {
            // If one of these had the slot, its own read would end the other's hold.
            thread::scope(|s| {
                s.spawn(|| drop(lock.read_recursive()));
            });
            assert!(lock.try_write().is_none());
        }
    }

    #[test]
    fn an_upgrade_waits_for_biased_readers() {
        let (lock, asking) = (biased(1), AtomicBool::new(false));
        let reading = lock.read();
        thread::scope(|s| {
            s.spawn(|| {
                let looking = lock.upgradable_read();
                let looking = lock_api::RwLockUpgradableReadGuard::try_upgrade(looking)
                    .expect_err("a reader is there");
                asking.store(true, SeqCst);
                *lock_api::RwLockUpgradableReadGuard::upgrade(looking) = 2;
            });
            wait_until(&asking);
            assert_eq!(*reading, 1);
            drop(reading);
        });
        assert_eq!(*lock.read(), 2);
    }

    /// Events are counted per process.
    static ALONE: Mutex<()> = Mutex::new(());

    /// The default takes thousands of reads to turn the bias on, a write turns it off.
    #[test]
    fn the_bias_comes_after_a_run_of_reads_and_goes_with_a_write() {
        let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let raw = lockwright::stages::rwlock_bias::RawBiasedRwLock::<
            lockwright_platform::Native,
            lockwright::Standard,
            5,
        >::new();
        let read = |times| {
            for _ in 0..times {
                let reading = raw.read();
                // SAFETY: `reading` is of this lock, on the line above.
                unsafe { raw.unlock_read(reading) };
            }
        };
        read(31);
        assert!(!raw.is_biased());
        read(1);
        assert!(raw.is_biased());
        let before = snapshot();
        raw.write();
        assert!(!raw.is_biased());
        // SAFETY: acquired above.
        unsafe { raw.unlock_write() };
        let counts = snapshot().since(&before);
        assert!(counts.get(Event::RwsemBiasOff) >= 1);
        // No read was published in between: it has not paid, and the next run must be longer.
        read(63);
        assert!(!raw.is_biased());
        read(1);
        assert!(raw.is_biased());
    }

    #[test]
    fn sizes_and_statics() {
        assert_eq!(size_of::<BiasedRwLock<()>>(), 128);
        static LOCK: BiasedRwLock<u64> = BiasedRwLock::new(3);
        assert_eq!(*LOCK.read(), 3);
    }
}
