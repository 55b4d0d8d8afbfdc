//! A lock of another language with the counter it protects.

use std::cell::UnsafeCell;

use lockwright_workloads::mutex_bench::BenchMutex;

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
