//! The mutexes by name.

use lockwright_locks::mutex::{Latency, SliceAtomic};

use crate::raw::{RawFairMutex, RawMutex, RawMutexWith};

mutex_names! {
    /// A mutex: the first choice.
    ///
    /// ```
    /// use lockwright::{Mutex, MutexGuard};
    ///
    /// static TOTAL: Mutex<u64> = Mutex::new(0);
    ///
    /// std::thread::scope(|s| {
    ///     for n in 1..=3 {
    ///         s.spawn(move || *TOTAL.lock() += n);
    ///     }
    /// });
    /// let total: MutexGuard<u64> = TOTAL.lock();
    /// assert_eq!(*total, 6);
    /// ```
    ///
    /// *Cost*: 8 bytes beside the data; one atomic operation for a lock and an unlock that nobody disturbs (std's: two)
    /// (`lockwright bench mutex --threads 1` measures both). A waiter that goes to sleep has every CPU of the process pass a fence
    /// ([`AtomicMutex`] does not).
    ///
    /// *Waiting*: spins for up to 20 us (with more than ten CPUs 2 us for each, up to 200 us) while the holder is seen running, then sleeps in a queue. Where one
    /// thread takes the mutex again and again, or comes back before the others' turns, the others sleep and the mutex changes hands once a *slice*: of 0.5 ms, with
    /// many waiters of 4 ms over their number, at least 0.1 ms. A thread that comes now and then, and has not used up
    /// its share lately, does not wait for the end of a slice: an unlock soon after lets it in. Where nobody
    /// retakes the mutex, a first waiter that has slept for 4 ms is handed it by the next unlock.
    ///
    /// *Take another* if the longest wait matters more than the rate ([`LatencyMutex`]), if each waiter shall have
    /// its turn ([`FairMutex`]), if data are mostly read ([`RwLock`](crate::RwLock), [`SeqLock`](crate::SeqLock)).
    ///
    #[doc = include_str!("../docs/mutex.md")]
    Mutex, MutexGuard, MappedMutexGuard<>: lock_api, RawMutex
}

mutex_names! {
    /// A [`Mutex`] whose longest wait is short.
    ///
    /// *Cost*: that of a [`Mutex`] when nobody waits; under contention the mutex changes hands more
    /// often, each time with a wake-up.
    ///
    /// *Waiting*: as a [`Mutex`], with slices of 0.25 ms, with many waiters of 1 ms over their number, at least
    /// 0.03 ms.
    ///
    /// *Take another* if the rate matters more than the longest wait ([`Mutex`]), or an equal share of
    /// acquisitions more than either ([`FairMutex`]).
    ///
    #[doc = include_str!("../docs/mutex.md")]
    LatencyMutex, LatencyMutexGuard, MappedLatencyMutexGuard<>: lock_api, RawMutexWith<Latency>
}

mutex_names! {
    /// A [`Mutex`] that its next owner may free while the last one still runs its unlock, and that never
    /// interrupts other CPUs.
    ///
    /// The unlock's last step on the mutex is one atomic operation, and nothing of the mutex is touched after it. So
    /// a thread that locks it, sees that it is the last user, unlocks and frees the memory does no harm
    /// to the thread that unlocked before, even if only raw pointers lead to the mutex. (With an `Arc` or a
    /// scope every mutex may be freed so.)
    ///
    /// *Cost*: 8 bytes beside the data; two atomic operations for a lock and an unlock that nobody disturbs; no
    /// fence on other CPUs (`membarrier`), which programs with hard deadlines do not want.
    ///
    /// *Waiting*: as a [`Mutex`].
    ///
    /// *Take another* if it is none of both that you need: [`Mutex`] is faster.
    ///
    #[doc = include_str!("../docs/mutex.md")]
    AtomicMutex, AtomicMutexGuard, MappedAtomicMutexGuard<>: lock_api, RawMutexWith<SliceAtomic>
}

mutex_names! {
    /// A mutex that each unlock hands to the thread that has waited longest.
    ///
    /// *Cost*: that of a [`Mutex`] when nobody waits. Under contention each change of hands is a change of threads, in which the
    /// mutex is held and nobody is in the section: where sections are short, most of the time goes there.
    ///
    /// *Waiting*: spins for up to 20 us (with more than ten CPUs 2 us for each, up to 200 us) while the holder is seen running, then sleeps in a queue. Threads that
    /// still spin are not in the queue: those that sleep come before them.
    ///
    /// *Take another* if shares may be equal over a tenth of a second rather than from one acquisition to the next
    /// ([`Mutex`]), or over some milliseconds ([`LatencyMutex`]).
    ///
    #[doc = include_str!("../docs/mutex.md")]
    FairMutex, FairMutexGuard, MappedFairMutexGuard<>: lock_api, RawFairMutex
}

mutex_names! {
    /// A mutex with the policy `W`, one of [`Slice`](crate::Slice), [`Latency`](crate::Latency),
    /// [`SliceAtomic`](crate::SliceAtomic) and [`Fair`](crate::Fair): for code that is generic over it. The names without
    /// `With` are the same types.
    ///
    /// *Cost* and *waiting*: as the policy says; 8 bytes beside the data.
    ///
    #[doc = include_str!("../docs/mutex.md")]
    MutexWith, MutexGuardWith, MappedMutexGuardWith<W>: lock_api, RawMutexWith<W>
}

reentrant_names! {
    /// A mutex that its holder may lock again.
    ///
    /// Its guards give shared access only, since there may be several of one thread; put a
    /// [`Cell`](std::cell::Cell) or [`RefCell`](std::cell::RefCell) inside.
    ///
    /// ```
    /// use std::cell::Cell;
    /// use lockwright::ReentrantMutex;
    ///
    /// let depth = ReentrantMutex::new(Cell::new(0));
    /// let outer = depth.lock();
    /// let inner = depth.lock(); // the same thread
    /// inner.set(inner.get() + 1);
    /// assert_eq!(outer.get(), 1);
    /// ```
    ///
    /// *Cost*: 24 bytes beside the data; a [`Mutex`]'s atomic operation for a lock and an unlock that nobody disturbs, none for
    /// one within another.
    ///
    /// *Waiting*: as a [`Mutex`].
    ///
    /// *Take another* if it is only for convenience: code that locks what it holds cannot tell whether what it
    /// relies on holds at that moment.
    ///
    /// The list below is that of a [`Mutex`]; only its *re-entry* does not apply.
    ///
    #[doc = include_str!("../docs/mutex.md")]
    ReentrantMutex, ReentrantMutexGuard, MappedReentrantMutexGuard: lock_api, RawMutex
}

/// A new [`Mutex`]; `Mutex::new` is a constant too.
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::new(value)
}

/// A new [`FairMutex`]; `FairMutex::new` is a constant too.
pub const fn const_fair_mutex<T>(value: T) -> FairMutex<T> {
    FairMutex::new(value)
}

/// A new [`ReentrantMutex`]; `ReentrantMutex::new` is a constant too.
pub const fn const_reentrant_mutex<T>(value: T) -> ReentrantMutex<T> {
    ReentrantMutex::new(value)
}
