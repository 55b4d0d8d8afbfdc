//! The contract suite on the default reader-writer lock, its writers' side included. Miri runs
//! this file too; `policies_rwlock.rs` holds the presets of the series.
#![cfg(not(loom))]

use lockwright::RawRwLock;
use lockwright_contract::{WriteSide, fork_contract, mutex_contract, rwlock_contract};

rwlock_contract!(standard, RawRwLock);
mutex_contract!(standard_writers, WriteSide<RawRwLock>, timed, fair);
fork_contract!(fork, WriteSide<RawRwLock>);

mod own {
    use lockwright::{RecursiveRead, RecursiveRwLock, RwLock};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Runs `again` while this thread reads and another waits to write, then lets that go on.
    fn beside_a_waiting_writer<R: lock_api::RawRwLock + Send + Sync>(
        lock: &lock_api::RwLock<R, u32>,
        again: impl FnOnce(),
    ) {
        let asking = AtomicBool::new(false);
        let first = lock.read();
        thread::scope(|s| {
            s.spawn(|| {
                asking.store(true, SeqCst);
                *lock.write() = 2;
            });
            while !asking.load(SeqCst) {
                thread::yield_now();
            }
            let wait = if cfg!(miri) { 0 } else { 20 };
            thread::sleep(Duration::from_millis(wait));
            again();
            assert_eq!(*first, 1);
            drop(first);
        });
        assert_eq!(*lock.read(), 2);
    }

    /// A holder's second read does not wait behind a writer that waits for the first.
    #[test]
    fn a_recursive_read_passes_a_waiting_writer() {
        let lock = Arc::new(RwLock::new(1_u32));
        let long = Duration::from_secs(3600);
        beside_a_waiting_writer(&lock, || {
            assert_eq!(*lock.read_recursive(), 1);
            drop(lock.try_read_recursive().expect("readers hold the lock"));
            drop(lock.try_read_recursive_for(long).expect("readers hold the lock"));
            drop(lock.try_read_recursive_until(Instant::now()).expect("readers hold the lock"));
            assert_eq!(*lock.read_arc_recursive(), 1);
            drop(lock.try_read_arc_recursive().expect("readers hold the lock"));
            drop(lock.try_read_arc_recursive_for(long).expect("readers hold the lock"));
            drop(lock.try_read_arc_recursive_until(Instant::now()).expect("readers hold the lock"));
        });
    }

    /// All reads of the recursive lock are like that.
    #[test]
    fn a_recursive_lock_is_read_past_a_waiting_writer() {
        let lock = RecursiveRwLock::new(1_u32);
        beside_a_waiting_writer(&lock, || {
            assert_eq!(*lock.read(), 1);
            drop(lock.try_read().expect("readers hold the lock"));
            drop(lock.try_read_for(Duration::ZERO).expect("readers hold the lock"));
        });
    }

    #[test]
    fn sizes_are_the_data_s_and_16_bytes() {
        assert_eq!(size_of::<RwLock<()>>(), 16);
        static LOCK: RwLock<u64> = RwLock::new(3);
        assert_eq!(*LOCK.read(), 3);
    }
}
