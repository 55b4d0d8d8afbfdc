//! Peers with their condition variables.

use std::cell::UnsafeCell;
use std::sync::{Condvar, Mutex};

use lockwright_workloads::patterns::{BenchMonitor, LockApiMonitor, Side};

/// `parking_lot::Mutex` and `Condvar`, 0.13.
pub type ParkingLotMonitor = LockApiMonitor<parking_lot::RawCondvar>;

/// `std::sync::Mutex` and `Condvar`.
pub struct StdMonitor {
    mutex: Mutex<()>,
    condvars: [Condvar; 2],
}

impl BenchMonitor for StdMonitor {
    fn new() -> Self {
        StdMonitor { mutex: Mutex::new(()), condvars: Default::default() }
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce() -> T) -> T {
        let _held = self.mutex.lock().unwrap();
        section()
    }

    #[inline]
    fn wait_until<T>(&self, condvar: Side, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut held = self.mutex.lock().unwrap();
        loop {
            if let Some(result) = ready() {
                return result;
            }
            held = self.condvars[condvar as usize].wait(held).unwrap();
        }
    }

    fn notify_one(&self, condvar: Side) {
        self.condvars[condvar as usize].notify_one();
    }

    fn notify_all(&self, condvar: Side) {
        self.condvars[condvar as usize].notify_all();
    }
}

/// `usync::Mutex` and `Condvar`, 0.2.
pub struct UsyncMonitor {
    mutex: usync::Mutex<()>,
    condvars: [usync::Condvar; 2],
}

impl BenchMonitor for UsyncMonitor {
    fn new() -> Self {
        let condvars = [usync::Condvar::new(), usync::Condvar::new()];
        UsyncMonitor { mutex: usync::Mutex::new(()), condvars }
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce() -> T) -> T {
        let _held = self.mutex.lock();
        section()
    }

    #[inline]
    fn wait_until<T>(&self, condvar: Side, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut held = self.mutex.lock();
        loop {
            if let Some(result) = ready() {
                return result;
            }
            self.condvars[condvar as usize].wait(&mut held);
        }
    }

    fn notify_one(&self, condvar: Side) {
        self.condvars[condvar as usize].notify_one();
    }

    fn notify_all(&self, condvar: Side) {
        self.condvars[condvar as usize].notify_all();
    }
}

/// `pthread_mutex_t` and `pthread_cond_t` with default attributes.
pub struct PthreadMonitor(Box<PthreadObjects>);

/// Boxed: they must not move once they are used.
struct PthreadObjects {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condvars: [UnsafeCell<libc::pthread_cond_t>; 2],
}

// SAFETY: the objects are made to be shared between threads.
unsafe impl Sync for PthreadMonitor {}
// SAFETY: the box may be dropped by any thread; who drops it owns it, so nobody uses it.
unsafe impl Send for PthreadMonitor {}

impl PthreadMonitor {
    #[inline]
    fn lock(&self) {
        // SAFETY: initialised in `new`, destroyed in `drop`; every caller unlocks.
        let error = unsafe { libc::pthread_mutex_lock(self.0.mutex.get()) };
        debug_assert_eq!(error, 0);
    }

    #[inline]
    fn unlock(&self) {
        // SAFETY: every caller has locked it in the same thread.
        let error = unsafe { libc::pthread_mutex_unlock(self.0.mutex.get()) };
        debug_assert_eq!(error, 0);
    }
}

impl BenchMonitor for PthreadMonitor {
    fn new() -> Self {
        let condvar = || UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER);
        PthreadMonitor(Box::new(PthreadObjects {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condvars: [condvar(), condvar()],
        }))
    }

    #[inline]
    fn with<T>(&self, section: impl FnOnce() -> T) -> T {
        self.lock();
        let result = section();
        self.unlock();
        result
    }

    #[inline]
    fn wait_until<T>(&self, condvar: Side, mut ready: impl FnMut() -> Option<T>) -> T {
        self.lock();
        let result = loop {
            if let Some(result) = ready() {
                break result;
            }
            let condvar = self.0.condvars[condvar as usize].get();
            // SAFETY: both are initialised in `new`, and this thread holds the mutex.
            let error = unsafe { libc::pthread_cond_wait(condvar, self.0.mutex.get()) };
            debug_assert_eq!(error, 0);
        };
        self.unlock();
        result
    }

    fn notify_one(&self, condvar: Side) {
        // SAFETY: initialised in `new`, destroyed in `drop`.
        unsafe { libc::pthread_cond_signal(self.0.condvars[condvar as usize].get()) };
    }

    fn notify_all(&self, condvar: Side) {
        // SAFETY: initialised in `new`, destroyed in `drop`.
        unsafe { libc::pthread_cond_broadcast(self.0.condvars[condvar as usize].get()) };
    }
}

impl Drop for PthreadMonitor {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody holds, waits for or will use the objects.
        unsafe {
            self.0
                .condvars
                .iter()
                .for_each(|condvar| _ = libc::pthread_cond_destroy(condvar.get()));
            libc::pthread_mutex_destroy(self.0.mutex.get());
        }
    }
}
