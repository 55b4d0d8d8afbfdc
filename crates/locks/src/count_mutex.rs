//! The count-word mutex of 2013, with and without its three tests: the study object.
//!
//! *Algorithm*: the Linux kernel's mutex of v3.8 to v3.10 with commit 0dc8c730c9, written anew
//! from its description. `count` is 1 unlocked, 0 locked, negative locked with waiters perhaps.
//! Ownership is decided by the word: whoever reaches it first wins, queued or not. The commit's
//! lesson is the [`Tests`] switches: look before each atomic exchange, because an exchange that
//! cannot succeed still takes the line from the owner.
//!
//! *Differs from the kernel in*: the owner word holds a sequence number and a CPU, not a task;
//! spinning ends after 25 us, which stands for "reschedule pending" where the platform cannot
//! tell; who waits long for the wait lock, a ticket lock as the kernel's was, yields, since in user
//! space a holder may be preempted. As there, all of it is on one line, and the unlock that finds
//! waiters keeps the mutex until its ticket's turn: in a crowd that is what makes a section long.
//!
//! *Guarantees*: mutual exclusion. *Does not guarantee*: any order or bound (starvation is
//! possible), safe destruction by the next owner. *Cost*: 20 bytes; atomic operations on `count`
//! as in the table below. *Waiting*: spin on the owner, then sleep in a FIFO. *Checked by*:
//! `tests/count_mutex.rs` (the table, exactly), `tests/loom_count_mutex.rs`. *Use when*: you
//! study it; use [`mutex`](crate::mutex) otherwise.
//!
//! | path | before | after |
//! |---|---|---|
//! | uncontended lock, unlock | 1, 1 | 1, 1 |
//! | spin attempt, lock not free | 1 | 0 |
//! | spin success | 1 | 1 |
//! | first check after queueing | 1 | 0 if the word shows waiters, else 1 |
//! | first turn of the wait loop | 1 | 0 or 1, same test |
//! | each later wake-up | 1 | 0 if the word shows waiters, else 1 |
//! | slow unlock | 1 and a plain store | same |
//!
//! Invariant: when the list is not empty and the first waiter is going to sleep, `count < 0`.
//!
//! ```text
//! Edges
//!  [count.wait]  Turn::drop: turn store Release -> wait_lock: turn load Acquire  publishes the wait list
//!  [count.lock]  unlock: count add Release, unlock_slow: count store Release -> lock, spin, acquire_slow: count decrement, exchange, swap Acquire  publishes the critical section
//! ```

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{
    Holder, Me, Pace, Platform, SignalGuard, Slot, Spin, Until, Word, ZeroWord, is_cpu,
};

use crate::osq;
use crate::record::{Defer, Queue};

/// The three switches of commit 0dc8c730c9.
pub trait Tests: 'static {
    /// Look at the word before the spinner's compare-exchange.
    const BEFORE_SPIN_CAS: bool;
    /// Look at the word before the slow path's exchange.
    const BEFORE_SLOW_XCHG: bool;
    /// Any negative count shows waiters, not only -1.
    const ANY_NEGATIVE: bool;
}

macro_rules! stages {
    ($($(#[doc = $doc:literal])+ $name:ident = $spin:literal, $slow:literal, $any:literal;)*) => {$(
        $(#[doc = $doc])+
        #[derive(Copy, Clone, Debug)]
        pub struct $name;
        impl Tests for $name {
            const BEFORE_SPIN_CAS: bool = $spin;
            const BEFORE_SLOW_XCHG: bool = $slow;
            const ANY_NEGATIVE: bool = $any;
        }
    )*};
}

stages! {
    /// Before the commit (41fcb9f230).
    Before = false, false, false;
    /// After it, where only -1 shows waiters.
    AfterDefault = true, true, false;
    /// After it, as x86 chose.
    AfterX86 = true, true, true;
}

const UNLOCKED: u32 = 1;
const LOCKED: u32 = 0;
const WAITED_FOR: u32 = -1i32 as u32;

/// Stands for the end of the time slice (see the header).
const SPIN_NS: u64 = 25_000;
/// Sleep of a waiter without a queue node.
const NO_NODE_SLEEP_NS: u64 = 100_000;
/// How long one waits for the wait lock, for each CPU on which somebody may stand before it, until it
/// seems that a holder is preempted; how it waits then.
const TURN_SPIN_NS: u64 = 2_000;
const TURN_YIELDS: u32 = 10;
const TURN_SLEEP_NS: u64 = 50_000;

/// The count-word mutex. The protocol of `lock` and `unlock` is the caller's.
pub struct CountMutex<P: Platform, T: Tests> {
    count: P::Word<u32>,
    /// 0 none; else CPU + 1 in the low half, acquisitions in the high half.
    owner: P::Word<u32>,
    sequence: P::Word<u32>,
    /// The wait lock: the ticket of who comes next, and whose turn it is.
    next: P::Word<u16>,
    turn: P::Word<u16>,
    /// The wait list.
    head: P::Word<u16>,
    tail: P::Word<u16>,
    _tests: PhantomData<T>,
}

impl<P: Platform, T: Tests> Default for CountMutex<P, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, T: Tests> CountMutex<P, T> {
    /// An unlocked mutex.
    pub fn new() -> Self {
        CountMutex {
            count: Word::new(UNLOCKED),
            owner: Word::new(0),
            sequence: Word::new(0),
            next: Word::new(0),
            turn: Word::new(0),
            head: Word::new(0),
            tail: Word::new(0),
            _tests: PhantomData,
        }
    }

    /// The word that decides who owns the mutex; for counting what is done to it.
    pub fn count(&self) -> &P::Word<u32> {
        &self.count
    }

    /// Takes the owner's note away, as if it had been preempted before making it. For tests.
    #[doc(hidden)]
    pub fn forget_owner(&self) {
        // Ordering: Relaxed, hint (no decision depends on it)
        self.owner.store(0, Relaxed);
    }

    /// Decrements the count as a locker does on its way to the slow path. For tests.
    #[doc(hidden)]
    pub fn lower(&self) {
        // Ordering: Relaxed, hint (acquires nothing)
        self.count.fetch_sub(1, Relaxed);
    }

    /// Acquires the mutex.
    #[inline]
    pub fn lock(&self) {
        // Ordering: Acquire, [count.lock]: pairs with the releases in unlock()
        if self.count.fetch_sub(1, Acquire) == UNLOCKED {
            self.set_owner();
        } else {
            self.lock_slow();
        }
    }

    /// Acquires the mutex if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Ordering: Acquire, [count.lock]: pairs with the releases in unlock(); Relaxed,
        // hint (failure gives up)
        let got = self.count.compare_exchange(UNLOCKED, LOCKED, Acquire, Relaxed).is_ok();
        if got {
            self.set_owner();
        }
        got
    }

    /// Whether somebody holds the mutex now.
    pub fn is_locked(&self) -> bool {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        self.count.load(Relaxed) != UNLOCKED
    }

    /// Runs `section` with the mutex held. For callers that have no guards.
    #[inline]
    pub fn while_locked<R>(&self, section: impl FnOnce() -> R) -> R {
        self.lock();
        // SAFETY: acquired above and released once; `self` is borrowed beyond this call.
        let _held = Defer(|| unsafe { self.unlock() });
        section()
    }

    /// Releases the mutex.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the mutex. 2. The mutex outlives this call.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Ordering: Relaxed, owner-only (spinners read it as a hint)
        self.owner.store(0, Relaxed);
        // Ordering: Release, [count.lock]: pairs with the acquisitions
        if self.count.fetch_add(1, Release) != LOCKED {
            self.unlock_slow();
        }
    }

    #[inline]
    fn set_owner(&self) {
        // Ordering: Relaxed, owner-only (spinners read it as a hint) (block)
        let sequence = self.sequence.load(Relaxed).wrapping_add(1);
        self.sequence.store(sequence, Relaxed);
        self.owner.store(sequence << 16 | u32::from(P::cpu().wrapping_add(1)) | 1 << 15, Relaxed);
    }

    fn shows_waiters(count: u32) -> bool {
        if T::ANY_NEGATIVE { (count as i32) < 0 } else { count == WAITED_FOR }
    }

    #[cold]
    fn lock_slow(&self) {
        if self.spin() {
            return self.set_owner();
        }
        match P::enter() {
            Some(me) => self.acquire_queued(&me),
            // No node: the unlock that sees the negative count restores it, so a retry is safe.
            None => {
                while !self.try_lock() {
                    P::sleep(NO_NODE_SLEEP_NS);
                }
            }
        }
    }

    /// Spins while one owner runs. A change to another owner ends it: heavy contention.
    fn spin(&self) -> bool {
        if P::spinner_cap() == 0 {
            return false;
        }
        let end = osq::spin_end::<P>(SPIN_NS, true);
        loop {
            // Ordering: Relaxed, hint (the exchange decides)
            let owner = self.owner.load(Relaxed);
            if owner != 0 && !self.await_owner(owner, end) {
                return false;
            }
            // Ordering: Relaxed, hint (re-checked by the exchange)
            if !T::BEFORE_SPIN_CAS || self.count.load(Relaxed) == UNLOCKED {
                // Ordering: Acquire, [count.lock]: pairs with the releases in unlock(); Relaxed,
                // hint (retried or given up)
                if self.count.compare_exchange(UNLOCKED, LOCKED, Acquire, Relaxed).is_ok() {
                    return true;
                }
            }
            // No owner is known: it is between the exchange and its note, or preempted there.
            if P::should_yield() || P::ticks() >= end {
                return false;
            }
            P::busy_wait_ns(1);
        }
    }

    /// Waits for the owner to let go; false if it stopped running or another took over.
    fn await_owner(&self, owner: u32, end: u64) -> bool {
        let cpu = (owner & 0x7fff).wrapping_sub(1) as u16;
        if is_cpu(cpu) && cpu == P::cpu() {
            return false;
        }
        let until = Until {
            deadline: Some(end),
            holder: Some(Holder { cpu, stamp: P::cpu_stamp(cpu) }),
            running: None,
            resched: true,
            pace: Pace::Tight,
        };
        // Ordering: Relaxed, hint (the exchange on the count decides)
        P::spin_while(&self.owner, u32::MAX, owner, Relaxed, until) == Spin::Changed(0)
    }

    /// One attempt under the wait lock: acquire if the word says 1, else publish "waiters exist".
    /// Both jobs are void where the word shows waiters already.
    fn acquire_slow(&self) -> bool {
        // Ordering: Relaxed, hint (a count that shows waiters is not 1; under the wait lock nobody
        // but an unlock can raise it, which then wakes the first waiter)
        if T::BEFORE_SLOW_XCHG && Self::shows_waiters(self.count.load(Relaxed)) {
            return false;
        }
        // Ordering: Acquire, [count.lock]: pairs with the releases in unlock()
        self.count.swap(WAITED_FOR, Acquire) == UNLOCKED
    }

    fn acquire_queued(&self, me: &Me<P>) {
        let mut turn = self.wait_lock();
        turn.queue().push_back(me.slot());
        let mut acquired = self.acquire_slow();
        while !acquired {
            acquired = self.acquire_slow();
            if !acquired {
                drop(turn);
                P::park(me, None);
                turn = self.wait_lock();
            }
        }
        turn.queue().remove(me.slot());
        self.set_owner();
        if turn.first().is_none() {
            // May erase a decrement of a locker that is on its way to the wait lock (race 24): that
            // one reads 0 under it, and publishes -1 again.
            // Ordering: Relaxed, owner-only (no release: the section has just begun)
            self.set_count(LOCKED, Relaxed);
        }
    }

    /// Wakes the first waiter but leaves it in the queue: anybody may take the lock before it.
    #[cold]
    fn unlock_slow(&self) {
        let _guard = SignalGuard::<P>::up();
        let turn = self.wait_lock();
        // Ordering: Release, [count.lock]: pairs with the acquisitions
        self.set_count(UNLOCKED, Release);
        // Under the wait lock, as in the kernel: the waiter cannot go before it is woken.
        if let Some(first) = turn.first() {
            P::unpark(first);
        }
    }

    /// A plain store. In the model it is an exchange: loom does not know that an exchange which read what
    /// a store overwrites comes before that store, and would find deadlocks that cannot be.
    fn set_count(&self, count: u32, order: core::sync::atomic::Ordering) {
        if cfg!(loom) {
            self.count.swap(count, order);
        } else {
            self.count.store(count, order);
        }
    }

    fn wait_lock(&self) -> Turn<'_, P, T> {
        // Ordering: Relaxed, sequence (decides nothing but the ticket: [count.wait] acquires)
        let ticket = self.next.fetch_add(1, Relaxed);
        for look in 0u32.. {
            // Ordering: Acquire, [count.wait]: pairs with the store in Turn::drop()
            let turn = self.turn.load(Acquire);
            if turn == ticket {
                return Turn { mutex: self, ticket };
            }
            if !self.await_turn(turn) {
                if look < TURN_YIELDS { P::yield_now() } else { P::sleep(TURN_SLEEP_NS) }
            }
        }
        unreachable!("the loop has no end")
    }

    /// Waits while it is this ticket's turn; false if that lasts too long.
    fn await_turn(&self, turn: u16) -> bool {
        let mut until = Until::CHANGED;
        // A kernel's spinlock is never given up: its holder is not preempted.
        if !P::TELLS_RESCHED {
            let ns = TURN_SPIN_NS * (u64::from(P::spinner_cap()) + 1);
            until = until.deadline(P::ticks() + P::ticks_of(ns));
        }
        // Ordering: Relaxed, hint (re-checked by wait_lock)
        matches!(P::spin_while(&self.turn, u16::MAX, turn, Relaxed, until), Spin::Changed(_))
    }
}

/// The wait lock, held.
struct Turn<'a, P: Platform, T: Tests> {
    mutex: &'a CountMutex<P, T>,
    ticket: u16,
}

impl<P: Platform, T: Tests> Turn<'_, P, T> {
    fn queue(&self) -> Queue<'_, P> {
        Queue { head: &self.mutex.head, tail: &self.mutex.tail }
    }

    fn first(&self) -> Option<Slot> {
        // Ordering: Relaxed, sequence (inside the wait lock, [count.wait])
        Slot::new(self.mutex.head.load(Relaxed))
    }
}

impl<P: Platform, T: Tests> Drop for Turn<'_, P, T> {
    fn drop(&mut self) {
        // Ordering: Release, [count.wait]: pairs with the load in wait_lock()
        self.mutex.turn.store(self.ticket.wrapping_add(1), Release);
    }
}

impl<P: Platform, T: Tests> CountMutex<P, T>
where
    P::Word<u32>: ZeroWord + HasOne,
    P::Word<u16>: ZeroWord,
{
    /// An unlocked mutex, as a constant.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = CountMutex {
        count: HasOne::ONE,
        owner: ZeroWord::ZERO,
        sequence: ZeroWord::ZERO,
        next: ZeroWord::ZERO,
        turn: ZeroWord::ZERO,
        head: ZeroWord::ZERO,
        tail: ZeroWord::ZERO,
        _tests: PhantomData,
    };
}

/// A word that can stand in a `const` and is 1 there.
pub trait HasOne {
    /// A word holding 1.
    #[allow(clippy::declare_interior_mutable_const)]
    const ONE: Self;
}

impl HasOne for core::sync::atomic::AtomicU32 {
    #[allow(clippy::declare_interior_mutable_const)]
    const ONE: Self = core::sync::atomic::AtomicU32::new(1);
}
