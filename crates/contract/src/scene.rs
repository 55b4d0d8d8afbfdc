//! Scenes that many tests share: "a holder, and a thread that surely asks".

use crate::AnyMutex;
use lock_api::{Mutex, MutexGuard};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// Waits until `condition` holds, politely. The watchdog ends a wait that is in vain.
pub fn until(mut condition: impl FnMut() -> bool) {
    let mut turns = 0_u32;
    while !condition() {
        turns += 1;
        if turns < 100 || cfg!(miri) {
            thread::yield_now();
        } else {
            thread::sleep(Duration::from_micros(20));
        }
    }
}

/// Lets `time` pass while offering the CPU, so that an announced waiter gets to its wait.
///
/// Without timer slack, which makes the shortest sleep about 60 us.
pub fn linger(time: Duration) {
    if cfg!(miri) {
        for _ in 0..4 {
            thread::yield_now();
        }
        return;
    }
    let start = Instant::now();
    while start.elapsed() < time {
        thread::yield_now();
    }
}

/// A flag that is raised once.
#[derive(Debug, Default)]
pub struct Flag(AtomicBool);

impl Flag {
    /// A lowered flag.
    pub const fn new() -> Self {
        Flag(AtomicBool::new(false))
    }

    /// Raises the flag.
    pub fn raise(&self) {
        self.0.store(true, SeqCst);
    }

    /// Whether the flag was raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(SeqCst)
    }

    /// Waits until the flag is raised.
    pub fn wait(&self) {
        until(|| self.is_raised());
    }
}

/// A count that other threads wait for.
#[derive(Debug, Default)]
pub struct Tally(AtomicUsize);

impl Tally {
    /// A count of 0.
    pub const fn new() -> Self {
        Tally(AtomicUsize::new(0))
    }

    /// Adds one.
    pub fn add(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    /// The count so far.
    pub fn get(&self) -> usize {
        self.0.load(SeqCst)
    }

    /// Waits until the count is at least `n`.
    pub fn wait_for(&self, n: usize) {
        until(|| self.get() >= n);
    }
}

/// Takes `lock` in the calling thread, after announcing on `asking` that it will.
pub fn announce_and_lock<'a, R: AnyMutex, T>(
    asking: &Tally,
    lock: &'a Mutex<R, T>,
) -> MutexGuard<'a, R, T> {
    asking.add();
    lock.lock()
}

/// Holds `lock` until `waiters` threads announced themselves on `asking` and had `time` to
/// queue, then releases it.
pub fn hold_until_asked<R: AnyMutex, T>(
    held: MutexGuard<'_, R, T>,
    asking: &Tally,
    waiters: usize,
    time: Duration,
) {
    asking.wait_for(waiters);
    linger(time);
    drop(held);
}

/// Asserts that `lock` is free and works: what every test may demand at its end.
pub fn assert_usable<R: AnyMutex, T: Send>(lock: &Mutex<R, T>) {
    drop(lock.try_lock().expect("the lock must be free when everybody has gone"));
    drop(lock.lock());
    thread::scope(|s| {
        s.spawn(|| drop(lock.lock()));
    });
    assert!(!lock.is_locked(), "a released lock must not look locked");
}

/// Whether `try_lock` of another thread fails, as it must while the lock is held.
pub fn is_barred<R: AnyMutex, T: Send>(lock: &Mutex<R, T>) -> bool {
    thread::scope(|s| s.spawn(|| lock.try_lock().is_none()).join().expect("try_lock panicked"))
}

/// Runs `job` when the calling thread's thread-local values are destroyed.
pub fn at_thread_exit(job: impl FnOnce() + 'static) {
    struct Jobs(RefCell<Vec<Box<dyn FnOnce()>>>);
    impl Drop for Jobs {
        fn drop(&mut self) {
            for job in self.0.take() {
                job();
            }
        }
    }
    thread_local!(static JOBS: Jobs = const { Jobs(RefCell::new(Vec::new())) });
    JOBS.with(|jobs| jobs.0.borrow_mut().push(Box::new(job)));
}
