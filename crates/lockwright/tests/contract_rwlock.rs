//! The contract suite on the default reader-writer lock, its writers' side included. Miri runs
//! this file too; `policies_rwlock.rs` holds the presets of the series.
#![cfg(not(loom))]

use lockwright::RawRwLock;
use lockwright_contract::{WriteSide, fork_contract, mutex_contract, rwlock_contract};

rwlock_contract!(standard, RawRwLock);
mutex_contract!(standard_writers, WriteSide<RawRwLock>, timed, fair);
fork_contract!(fork, WriteSide<RawRwLock>);

mod own {
    use lockwright::{RecursiveRead, RwLock};
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::thread;
    use std::time::Duration;

    /// A holder's second read does not wait behind a writer that waits for the first.
    #[test]
    fn a_recursive_read_passes_a_waiting_writer() {
        let (lock, asking) = (RwLock::new(1_u32), AtomicBool::new(false));
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
            let second = lock.read_recursive();
            assert_eq!((*first, *second), (1, 1));
            drop(lock.try_read_recursive().expect("readers hold the lock"));
            drop((first, second));
        });
        assert_eq!(*lock.read(), 2);
    }

    #[test]
    fn sizes_are_the_data_s_and_16_bytes() {
        assert_eq!(size_of::<RwLock<()>>(), 16);
        static LOCK: RwLock<u64> = RwLock::new(3);
        assert_eq!(*LOCK.read(), 3);
    }
}
