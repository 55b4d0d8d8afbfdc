//! Reader-writer locks to measure against.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::sync;
use std::sync::atomic::AtomicU64;

use lockwright_workloads::rw_bench::{BenchRwLock, LockApiRw};

macro_rules! peer {
    ($(#[doc = $doc:literal])+ $name:ident, $lock:ty, $read:expr, $write:expr) => {
        $(#[doc = $doc])+
        pub struct $name($lock);

        impl BenchRwLock for $name {
            fn new() -> Self {
                $name(<$lock>::new(AtomicU64::new(0)))
            }

            #[inline]
            fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
                section(&$read(&self.0))
            }

            #[inline]
            fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
                section(&$write(&self.0))
            }
        }
    };
}

peer!(
    /// `std::sync::RwLock`.
    StdRw,
    sync::RwLock<AtomicU64>,
    // As nearly everybody calls it; the poison check is part of what std users pay.
    |lock| sync::RwLock::read(lock).unwrap(),
    |lock| sync::RwLock::write(lock).unwrap()
);
peer!(
    /// `usync::RwLock`, 0.2.
    UsyncRw,
    usync::RwLock<AtomicU64>,
    usync::RwLock::read,
    usync::RwLock::write
);
peer!(
    /// `crossbeam_utils::sync::ShardedLock`: a lock for each of eight shards, a writer takes all.
    Sharded,
    crossbeam_utils::sync::ShardedLock<AtomicU64>,
    |lock| crossbeam_utils::sync::ShardedLock::read(lock).unwrap(),
    |lock| crossbeam_utils::sync::ShardedLock::write(lock).unwrap()
);

/// `parking_lot::RwLock`, 0.13.
pub type ParkingLotRw = LockApiRw<parking_lot::RawRwLock>;

/// `pthread_rwlock_t` with default attributes: readers come first.
pub type PthreadRw = Posix<ReadersFirst>;

/// `pthread_rwlock_t` of kind `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
#[cfg(target_env = "gnu")]
pub type PthreadRwWriters = Posix<WritersFirst>;

/// Marker of [`PthreadRw`].
pub struct ReadersFirst;
/// Marker of [`PthreadRwWriters`].
#[cfg(target_env = "gnu")]
pub struct WritersFirst;

/// Whom the lock prefers.
pub trait Preference: 'static {
    /// Makes the preference that of an initialised attribute object.
    fn prefer(attributes: &mut libc::pthread_rwlockattr_t);
}

impl Preference for ReadersFirst {
    fn prefer(_attributes: &mut libc::pthread_rwlockattr_t) {}
}

#[cfg(target_env = "gnu")]
impl Preference for WritersFirst {
    fn prefer(attributes: &mut libc::pthread_rwlockattr_t) {
        unsafe extern "C" {
            fn pthread_rwlockattr_setkind_np(
                attributes: *mut libc::pthread_rwlockattr_t,
                kind: libc::c_int,
            ) -> libc::c_int;
        }
        /// glibc's `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
        const PREFER_WRITER_NONRECURSIVE: libc::c_int = 2;
        // SAFETY: the attribute object is initialised (contract of the trait).
        let error =
            unsafe { pthread_rwlockattr_setkind_np(attributes, PREFER_WRITER_NONRECURSIVE) };
        assert_eq!(error, 0, "glibc knows this kind");
    }
}

/// A `pthread_rwlock_t` with its counter.
pub struct Posix<K> {
    // Boxed: it must not move once it is initialised.
    object: Box<UnsafeCell<libc::pthread_rwlock_t>>,
    counter: AtomicU64,
    _kind: PhantomData<K>,
}

// SAFETY: the object is made to be shared between threads, and its box may be dropped by any.
unsafe impl<K> Sync for Posix<K> {}
// SAFETY: as above.
unsafe impl<K> Send for Posix<K> {}

impl<K: Preference> BenchRwLock for Posix<K> {
    fn new() -> Self {
        let object = Box::new(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER));
        // SAFETY: all-zero bytes are a place for pthread_rwlockattr_init to write to; the lock is
        // initialised once, by pthread_rwlock_init, before anybody knows it.
        unsafe {
            let mut attributes: libc::pthread_rwlockattr_t = std::mem::zeroed();
            assert_eq!(libc::pthread_rwlockattr_init(&mut attributes), 0);
            K::prefer(&mut attributes);
            assert_eq!(libc::pthread_rwlock_init(object.get(), &attributes), 0);
            libc::pthread_rwlockattr_destroy(&mut attributes);
        }
        Posix { object, counter: AtomicU64::new(0), _kind: PhantomData }
    }

    #[inline]
    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        // SAFETY: initialised in `new`, destroyed in `drop`, unlocked below by this thread.
        let error = unsafe { libc::pthread_rwlock_rdlock(self.object.get()) };
        debug_assert_eq!(error, 0);
        let result = section(&self.counter);
        // SAFETY: locked above by this thread.
        unsafe { libc::pthread_rwlock_unlock(self.object.get()) };
        result
    }

    #[inline]
    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        // SAFETY: initialised in `new`, destroyed in `drop`, unlocked below by this thread.
        let error = unsafe { libc::pthread_rwlock_wrlock(self.object.get()) };
        debug_assert_eq!(error, 0);
        let result = section(&self.counter);
        // SAFETY: locked above by this thread.
        unsafe { libc::pthread_rwlock_unlock(self.object.get()) };
        result
    }
}

impl<K> Drop for Posix<K> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody holds or will use the object.
        unsafe { libc::pthread_rwlock_destroy(self.object.get()) };
    }
}
