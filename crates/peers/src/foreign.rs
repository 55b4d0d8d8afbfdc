//! A lock of another language with the counter it protects.

use std::cell::UnsafeCell;
#[cfg(feature = "peers-cxx")]
use std::sync::atomic::AtomicU64;

use lockwright_workloads::mutex_bench::BenchMutex;
#[cfg(feature = "peers-cxx")]
use lockwright_workloads::rw_bench::BenchRwLock;

/// A mutex that is called through its address.
///
/// # Safety
///
/// 1. `lock` returns holding the mutex, `unlock` releases it; between the two no other thread's
///    `lock` returns, and what was written before `unlock` is visible after the next `lock`.
/// 2. What `init` returns may be moved until it is first locked.
pub unsafe trait Foreign {
    /// The mutex object.
    type Object;

    /// An unlocked mutex.
    fn init() -> Self::Object;

    /// Locks.
    ///
    /// # Safety
    ///
    /// `object` came from [`Foreign::init`], is not destroyed, is not held by the caller, and has
    /// not moved since it was first locked.
    unsafe fn lock(object: *mut Self::Object);

    /// Unlocks.
    ///
    /// # Safety
    ///
    /// `object` is held by the calling thread.
    unsafe fn unlock(object: *mut Self::Object);

    /// Ends the mutex.
    ///
    /// # Safety
    ///
    /// `object` came from [`Foreign::init`]; nobody holds it or will use it again.
    unsafe fn destroy(object: *mut Self::Object);
}

/// A [`Foreign`] lock that several threads may share.
///
/// # Safety
///
/// 1. `lock_shared` returns holding the lock beside others that share it, and not beside one whose
///    `lock` has returned; what was written before `unlock` is visible then.
#[cfg(feature = "peers-cxx")]
pub unsafe trait Shareable: Foreign {
    /// Locks for reading.
    ///
    /// # Safety
    ///
    /// As for [`Foreign::lock`].
    unsafe fn lock_shared(object: *mut Self::Object);

    /// Unlocks what [`Shareable::lock_shared`] has locked.
    ///
    /// # Safety
    ///
    /// `object` is held so by the calling thread.
    unsafe fn unlock_shared(object: *mut Self::Object);
}

/// [`BenchRwLock`] for a foreign lock.
#[cfg(feature = "peers-cxx")]
pub struct Shared<F: Foreign> {
    object: UnsafeCell<F::Object>,
    counter: AtomicU64,
}

// SAFETY: the object is made to be shared and sent before first use (contract 2).
#[cfg(feature = "peers-cxx")]
unsafe impl<F: Foreign> Sync for Shared<F> {}
// SAFETY: as above; to send it one must own it, so nobody holds it.
#[cfg(feature = "peers-cxx")]
unsafe impl<F: Foreign> Send for Shared<F> {}

#[cfg(feature = "peers-cxx")]
impl<F: Shareable> BenchRwLock for Shared<F> {
    fn new() -> Self {
        Shared { object: UnsafeCell::new(F::init()), counter: AtomicU64::new(0) }
    }

    #[inline]
    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        // SAFETY: the object is initialised since `new` and borrowed, so it neither moves nor ends.
        unsafe { F::lock_shared(self.object.get()) };
        let result = section(&self.counter);
        // SAFETY: locked above by this thread.
        unsafe { F::unlock_shared(self.object.get()) };
        result
    }

    #[inline]
    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        // SAFETY: as in `read`.
        unsafe { F::lock(self.object.get()) };
        let result = section(&self.counter);
        // SAFETY: locked above by this thread.
        unsafe { F::unlock(self.object.get()) };
        result
    }
}

#[cfg(feature = "peers-cxx")]
impl<F: Foreign> Drop for Shared<F> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody holds or will use the object.
        unsafe { F::destroy(self.object.get()) };
    }
}

/// [`BenchMutex`] for a foreign mutex: the object and the counter side by side.
pub struct Guarded<F: Foreign> {
    object: UnsafeCell<F::Object>,
    counter: UnsafeCell<u64>,
}

// SAFETY: the object is made to be shared and sent before first use (contract 2); the counter is
// reached only with the mutex held (contract 1).
unsafe impl<F: Foreign> Sync for Guarded<F> {}
// SAFETY: as above; to send it one must own it, so nobody holds it.
unsafe impl<F: Foreign> Send for Guarded<F> {}

impl<F: Foreign> BenchMutex for Guarded<F> {
    fn new() -> Self {
        Guarded { object: UnsafeCell::new(F::init()), counter: UnsafeCell::new(0) }
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        // SAFETY: the object is initialised since `new` and borrowed, so it neither moves nor
        // ends; `section` cannot lock it again as it has no way to reach it but through `self`,
        // and none of the workloads' sections does.
        unsafe { F::lock(self.object.get()) };
        // SAFETY: the mutex is held until after the last use of the reference (contract 1).
        let result = section(unsafe { &mut *self.counter.get() });
        // A section that panics leaves the mutex locked, which is safe; sections do not panic.
        // SAFETY: locked above by this thread.
        unsafe { F::unlock(self.object.get()) };
        result
    }
}

impl<F: Foreign> Drop for Guarded<F> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody holds or will use the object.
        unsafe { F::destroy(self.object.get()) };
    }
}
