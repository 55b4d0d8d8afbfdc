//! The product mutex: an 8-byte lock word, stealing by runners, FIFO waiters, hand-off.
//!
//! *Algorithm*: the Linux kernel's owner-word mutex (since 4.10) with spinning through an OSQ and
//! a FIFO of waiters, written anew; waiting policies `kernel` and, as in lock slices (Patel et
//! al., EuroSys 2020), `slice`: only where an owner comes back sooner than the next of a crowd would have had its
//! turn. *Differs from the kernel in*: the owner is known by the CPU it
//! took the lock on; a hand-off is completed by the unlocking thread under the queue's wait lock, so
//! there is no pick-up state; unlock is a plain store paired with a heavy fence of the waiter
//! (policy [`Switches::atomic_unlock`]: one atomic operation); what only a contended lock needs
//! lives in a contention record (module `record`).
//!
//! *Guarantees*: mutual exclusion; a first waiter asks for a hand-off [`Switches::handoff_ns`] after
//! it began to wait, or at the end of a slice, and gets the lock from the first unlock that begins
//! after its request and finds the queue's guard free within 2 us; try_lock never fails spuriously
//! on a free lock; abortable by deadline, which ends spins too. *Does not guarantee*: a bound for a
//! thread that has no slot (it only tries in turn); FIFO among runners; re-entry (deadlock);
//! priority inheritance; use across processes. *Fork*: the child may use locks that were free or
//! its own; locks held by other threads stay held. *Poisoning*: none.
//! *Cost*: 8 bytes; one atomic operation for an uncontended lock and unlock (two with atomic
//! unlock); 64 bytes of static memory per contended lock.
//! *Waiting*: spin while the owner is believed to run (see `Platform::cpu_stamp`), then sleep in
//! the queue. A thread without a slot, or in a signal handler that interrupted a lock operation,
//! sleeps and tries in turn.
//! *Checked by*: `tests/loom_mutex.rs`, the contract suite of `lockwright-contract`.
//!
//! ```text
//! State   locked  1 held, 0 free                    (unused with atomic unlock: see ctl)
//!         count   acquisitions modulo 256           owner writes; a stale reading ends a spin early
//!         cpu     CPU of the last acquisition       owner writes; hint
//!         ctl     LOCKED | WAKE | HANDOFF | index   see `record::ctl`; waiters and the owner write
//! ```
//!
//! Transitions (plain unlock): `locked 0 -> 1 : try_acquire`, `1 -> 0 : unlock, release`;
//! with `HANDOFF`, `locked` stays 1 and `state WAITING -> GRANTED : hand_off`.
//!
//! ```text
//! Edges
//!  [mutex.lock]    unlock, release: locked or ctl Release -> try_fast, try_acquire: locked or ctl exchange Acquire  publishes the critical section
//!  [mutex.grant]   hand_off: state store Release -> wait_queued: state load Acquire  publishes the critical section to the waiter it passes the lock to
//!  [mutex.dekker]  sleep_first: ctl WAKE, fence_heavy, look at locked <-> unlock: locked store, fence_light, look at ctl  one of the two sees the other
//!  [mutex.cond]    arrive: ctl WAKE, fence SeqCst, look at locked <-> release_plainly: locked store, fence SeqCst, look at ctl  one of the two sees the other, where the owner has seen FENCE
//!  [mutex.asks]    ask, ask_for_wake: ctl fetch_or Release -> pass_requests: ctl fetch_and Acquire  publishes that the first waiter has asked to whoever takes its request down
//!  [mutex.ask]     sleep_first, ask, arrive: ctl fetch_or Release -> unlock: ctl load Acquire  publishes the queue's first waiter to the thread that wakes it
//! ```

mod arrival;
mod handoff;
pub mod policy;
mod requeue;
mod slice;
mod slow;
mod spin;

pub use policy::{Atomic, Fair, Kernel, Latency, NEVER, Policy, Slice, SliceAtomic, Switches};
pub(crate) use requeue::Destination;

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use lockwright_platform::{Platform, Word, ZeroWord};

use crate::events::{Event, give_time_back, inc};
use crate::record::{Control, Defer, Record, ctl};

/// A mutex without data. The protocol of [`lock`](Self::lock) and [`unlock`](Self::unlock) is the
/// caller's.
#[repr(C)]
pub struct RawMutex<P: Platform, W: Policy> {
    words: Words<P>,
    _policy: PhantomData<W>,
}

/// The words of a mutex, whatever its policy.
#[repr(C)]
struct Words<P: Platform> {
    locked: P::Word<u8>,
    count: P::Word<u8>,
    cpu: P::Word<u16>,
    ctl: P::Word<u32>,
}

impl<P: Platform, W: Policy> RawMutex<P, W>
where
    P::Word<u8>: ZeroWord,
    P::Word<u16>: ZeroWord,
    P::Word<u32>: ZeroWord,
{
    /// An unlocked mutex.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawMutex {
        words: Words {
            locked: ZeroWord::ZERO,
            count: ZeroWord::ZERO,
            cpu: ZeroWord::ZERO,
            ctl: ZeroWord::ZERO,
        },
        _policy: PhantomData,
    };
}

impl<P: Platform, W: Policy> Default for RawMutex<P, W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, W: Policy> RawMutex<P, W> {
    const S: Switches = W::SWITCHES.checked();

    /// An unlocked mutex, where a constant cannot be had (the model checker).
    pub fn new() -> Self {
        let words = Words {
            locked: Word::new(0),
            count: Word::new(0),
            cpu: Word::new(0),
            ctl: Word::new(0),
        };
        RawMutex { words, _policy: PhantomData }
    }

    /// Acquires the mutex, waiting as long as it takes.
    #[inline]
    pub fn lock(&self) {
        self.lock_by(None);
    }

    /// Acquires the mutex if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Only the word with index and flags can fail by itself: try_acquire tries again.
        let got = self.try_fast() || (Self::S.atomic_unlock && self.try_acquire());
        if got {
            self.acquired();
        }
        got
    }

    /// Acquires the mutex unless `Platform::now()` reaches `deadline` first.
    #[inline]
    pub fn lock_until(&self, deadline: u64) -> bool {
        self.lock_by(Some(deadline))
    }

    #[inline(always)]
    fn lock_by(&self, deadline: Option<u64>) -> bool {
        if !self.try_fast() {
            return self.lock_slow(deadline);
        }
        self.acquired();
        true
    }

    /// The control word (see `record::ctl`), for tests and tools.
    #[doc(hidden)]
    pub fn control(&self) -> u32 {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        self.words.ctl.load(Relaxed)
    }

    /// Whether somebody holds the mutex now.
    #[inline]
    pub fn is_locked(&self) -> bool {
        if Self::S.atomic_unlock {
            // Ordering: Relaxed, hint (the answer is old when it is given)
            self.words.ctl.load(Relaxed) & ctl::LOCKED != 0
        } else {
            // Ordering: Relaxed, hint (the answer is old when it is given)
            self.words.locked.load(Relaxed) != 0
        }
    }

    /// Runs `section` with the mutex held. For callers that have no guards.
    #[inline]
    pub fn while_locked<T>(&self, section: impl FnOnce() -> T) -> T {
        self.lock();
        // SAFETY: acquired above and released once; `self` is borrowed beyond this call.
        let _held = Defer(|| unsafe { self.unlock() });
        section()
    }

    /// Releases the mutex.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the mutex: acquired by it, or by a thread that passed on the right.
    /// 2. Without [`Switches::atomic_unlock`], the mutex outlives this call.
    #[inline]
    pub unsafe fn unlock(&self) {
        if Self::S.fair_unlock && self.hand_off_if_queued() {
            return;
        }
        if Self::S.atomic_unlock {
            // Ordering: Release, [mutex.lock]: pairs with try_fast() and try_acquire(); Relaxed,
            // hint (re-checked by the slow path)
            if self.words.ctl.compare_exchange(ctl::LOCKED, 0, Release, Relaxed).is_err() {
                self.unlock_slow();
            }
            return;
        }
        // Ordering: Relaxed, hint (a request that this misses is seen by the look after the store)
        if self.words.ctl.load(Relaxed) & (ctl::ASKED | ctl::FENCE) != 0 {
            return self.unlock_slow();
        }
        // Ordering: Release, [mutex.lock]: pairs with try_fast() and try_acquire()
        self.words.locked.store(0, Release);
        // Ordering: fence_light, [mutex.dekker]: store-load, the release against the look at ctl;
        // pairs with sleep_first(), which raises WAKE and looks at `locked`
        P::fence_light();
        // Ordering: Acquire, [mutex.ask]: pairs with the request in sleep_first()
        let word = self.words.ctl.load(Acquire);
        if word & ctl::ASKED != 0 {
            self.wake(word);
        }
    }

    /// As [`try_lock`](Self::try_lock) where there is no second thread, without an atomic operation:
    /// for C programs, whose C library spares them those too. A signal handler may come in between,
    /// if it releases what it locks. Needs [`Switches::atomic_unlock`].
    ///
    /// # Safety
    ///
    /// 1. No other thread of the process runs, nor another process with this memory.
    #[inline(always)]
    pub unsafe fn try_lock_alone(&self) -> bool {
        const { assert!(Self::S.atomic_unlock) };
        // Ordering: Relaxed, owner-only (there is one thread) (block)
        let free = self.words.ctl.load(Relaxed) == 0;
        if free {
            self.words.ctl.store(ctl::LOCKED, Relaxed);
        }

        free
    }

    /// As [`unlock`](Self::unlock) where there is no second thread. False: somebody had asked for
    /// something, and the mutex is still held.
    ///
    /// # Safety
    ///
    /// 1. As for [`try_lock_alone`](Self::try_lock_alone).
    /// 2. As for [`unlock`](Self::unlock).
    #[inline(always)]
    pub unsafe fn unlock_alone(&self) -> bool {
        const { assert!(Self::S.atomic_unlock) };
        // Ordering: Relaxed, owner-only (there is one thread) (block)
        let alone = self.words.ctl.load(Relaxed) == ctl::LOCKED;
        if alone {
            self.words.ctl.store(0, Relaxed);
        }

        alone
    }

    /// Releases the mutex to the first waiter, if there is one.
    ///
    /// # Safety
    ///
    /// As for [`unlock`](Self::unlock).
    pub unsafe fn unlock_fair(&self) {
        if !self.hand_off_if_queued() {
            // SAFETY: passes on this function's contract.
            unsafe { self.unlock() }
        }
    }

    #[inline]
    fn hand_off_if_queued(&self) -> bool {
        // Ordering: Relaxed, hint (re-checked by hand_off; who queues later comes too late for this
        // unlock)
        ctl::record(self.words.ctl.load(Relaxed)).is_some() && self.hand_off()
    }

    #[inline(always)]
    fn try_fast(&self) -> bool {
        if Self::S.atomic_unlock {
            // No test before it here: a load of the word that the last unlock has just exchanged
            // costs an uncontended lock more than it saves.
            // Ordering: Acquire, [mutex.lock]: pairs with the release in unlock(); Relaxed,
            // hint (re-checked below)
            return match self.words.ctl.compare_exchange(0, ctl::LOCKED, Acquire, Relaxed) {
                Ok(_) => true,
                Err(word) => word & ctl::LOCKED == 0 && self.try_from(word),
            };
        }
        // No test before it: where owners alternate, the line is another CPU's and the lock free,
        // and a load would fetch the line twice, first to read and then to write it (measured:
        // 1,550 against 1,960 kops/s at two threads with as much work outside as inside).
        // Ordering: Acquire, [mutex.lock]: pairs with the release in unlock(); Relaxed, hint
        // (failure goes to the slow path)
        self.words.locked.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    /// What names the record.
    fn anchor(&self) -> Control<'_, P> {
        Control(&self.words.ctl)
    }

    /// What an owner notes at each acquisition, inside the section.
    #[inline(always)]
    fn acquired(&self) {
        // Ordering: Relaxed, owner-only (spinners read both as hints) (block)
        self.words.cpu.store(P::cpu(), Relaxed);
        let count = self.words.count.load(Relaxed).wrapping_add(1);
        self.words.count.store(count, Relaxed);

        if Self::S.slices && count & Self::S.check_mask == 0 {
            self.check_slice();
        }
    }

    /// The same on the slow path: others want the lock, and wait for whoever loses its CPU with it.
    fn acquired_slowly(&self) {
        self.acquired();
        P::ask_for_time();
    }

    /// One attempt for those on the slow path: no atomic write unless the lock looks free.
    fn try_acquire(&self) -> bool {
        if !Self::S.atomic_unlock {
            // Tests before it writes: a failed exchange would take the line from the owner.
            // Ordering: Relaxed, hint (re-checked by the exchange)
            return self.words.locked.load(Relaxed) == 0 && self.try_fast();
        }
        loop {
            // Ordering: Relaxed, hint (re-checked by the exchange)
            let word = self.words.ctl.load(Relaxed);
            if word & ctl::LOCKED != 0 {
                return false;
            }
            if self.try_from(word) {
                return true;
            }
        }
    }

    /// Acquires if the control word is still `word`, whose flags and index stay.
    #[inline(always)]
    fn try_from(&self, word: u32) -> bool {
        // Ordering: Acquire, [mutex.lock]: pairs with the release in unlock(); Relaxed, hint
        // (the caller looks again)
        self.words.ctl.compare_exchange(word, word | ctl::LOCKED, Acquire, Relaxed).is_ok()
    }

    /// Unlock where somebody asked for something, or may have.
    #[cold]
    fn unlock_slow(&self) {
        // Ordering: Relaxed, hint (a later request is seen by the release below)
        if self.words.ctl.load(Relaxed) & ctl::HANDOFF != 0 && self.hand_off() {
            return;
        }
        if Self::S.atomic_unlock { self.release_atomically() } else { self.release_plainly() }
    }

    /// Releases without hand-off and wakes the first waiter if asked to. `WAKE` is taken down
    /// by the release: after it, nothing of the lock may be written.
    fn release_atomically(&self) {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut word = self.words.ctl.load(Relaxed);
        loop {
            let new = word & !(ctl::LOCKED | ctl::WAKE);
            // Ordering: AcqRel, [mutex.lock], [mutex.ask]: releases the section, acquires the
            // request; Relaxed, hint (retried)
            match self.words.ctl.compare_exchange(word, new, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if word & ctl::ASKED != 0 {
            self.wake(word);
        }
    }

    /// The same where a store releases. With `FENCE` up whoever raised `WAKE` relies on a full fence here and
    /// passed none of the dear ones.
    fn release_plainly(&self) {
        // Ordering: Acquire, [mutex.ask]: pairs with the request in sleep_first()
        let mut before = self.words.ctl.load(Acquire);
        if before & ctl::WAKE != 0 {
            // Ordering: Acquire, [mutex.ask]: as above
            before = self.words.ctl.fetch_and(!ctl::WAKE, Acquire);
        }
        // Ordering: Release, [mutex.lock]: pairs with try_fast() and try_acquire()
        self.words.locked.store(0, Release);
        if before & ctl::FENCE != 0 {
            // Ordering: SeqCst, [mutex.cond]: store-load, the release against the look at ctl
            P::fence(SeqCst);
        } else {
            // Ordering: fence_light, [mutex.dekker]: store-load, as in unlock()
            P::fence_light();
        }
        // Ordering: Acquire, [mutex.ask]: pairs with the request in sleep_first()
        let after = self.words.ctl.load(Acquire);
        // If the record changed in between, nobody waits in the old one.
        let word = if after & ctl::ASKED != 0 { after } else { before };
        if word & ctl::ASKED != 0 {
            self.wake(word);
        }
    }

    /// Wakes the first waiter of the record named in `word`. The record may serve another lock
    /// by now: then this is a spurious wake-up there, and nobody waits here.
    #[cold]
    fn wake(&self, word: u32) {
        give_time_back::<P>();
        if let Some(first) = ctl::record(word).and_then(|id| Record::<P>::at(id).first()) {
            inc::<P>(Event::MutexWake);
            P::unpark(first);
        }
    }
}
