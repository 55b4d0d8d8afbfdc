//! Condition variable in parking_lot's shape, whose `notify_all` makes no herd.
//!
//! *Algorithm*: waiters queue FIFO in a contention record (module `record`) of the condition
//! variable. A notification moves them to the wait queue of the mutex that each will return with ("wait
//! morphing"), where each is woken as the mutex comes to it, at once if it is free. The condition variable
//! itself never needs to know the mutex. A notification of one that finds others in that queue wakes its waiter
//! instead: woken one after another, each late by a wake-up, they would keep the mutex idle in between.
//!
//! *Guarantees*: a waiter that released the mutex before a notification is notified by it; each
//! notification ends one wait, and is counted exactly; no spurious return; waiters that have a thread slot
//! are notified in FIFO order, and may return in another; abortable by deadline, until notified. Two mutexes may be used with one condition
//! variable, also at a time: each waiter returns with its own. A waiter that has returned, the last, may free
//! the condition variable while the notifier still runs. *Does not guarantee*: order and promptness for a
//! thread that has no slot (table exhausted, or in a signal handler): it looks for its notification every
//! millisecond; more than 65,535 such waiters at a time panic. Notifying from a signal handler that
//! interrupted an operation on the same condition variable hangs.
//! *Cost*: 8 bytes; notify without waiters is two loads. *Waiting*: sleeping, no spinning.
//! *Checked by*: `tests/loom_condvar.rs`, the contract suite of `lockwright-contract`.
//!
//! ```text
//! State   ctl      index of the record, see `record::ctl`; the flags there are unused
//!         strays   0..15 waiters without a slot | 16..31 those of them that have been notified
//! A waiter's node: COND -> WAITING : notify (then as any waiter of the mutex)
//!                  COND -> NOTIFIED : notify (one whose lock is of another kind, or who had to queue there)
//! ```
//!
//! ```text
//! Edges
//!  [condvar.notify]  notify, Arrivals::push: state store Release -> wait: state load Acquire  publishes what the notifier did
//!  [condvar.stray]   notify_strays: strays exchange Release -> take_permit: strays exchange Acquire  publishes what the notifier did
//! ```

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, SignalGuard, Slot, Word, ZeroWord};

use crate::events::{Event, inc};
use crate::mutex::{Destination, Policy, RawMutex};
use crate::record::{Anchor, Control, Record, attach, my_state, state, waiter_state};

/// The sleeps of a waiter that has no queue node.
const NO_NODE_SLEEP_NS: u64 = 1_000_000;

/// A waiter without a node, in the word of those.
const STRAY: u32 = 1;
const STRAYS: u32 = 0xffff;
/// One of them that has been notified.
const PERMIT: u32 = 1 << 16;

/// How a waiter will acquire its lock again: the record of our mutex, of which it is a user; `None` for a
/// lock of another kind.
#[doc(hidden)]
pub struct Return<P: Platform>(Option<Record<P>>);

/// The lock that a condition waiter releases and acquires again: our mutex, or [`Foreign`].
pub trait Companion<P: Platform> {
    /// Releases the lock.
    ///
    /// # Safety
    ///
    /// The caller holds it.
    unsafe fn unlock(&self);

    /// Acquires the lock.
    fn lock(&self);

    /// Makes the caller a waiter that will return with the lock. `None`: it cannot be one.
    #[doc(hidden)]
    fn expect_return(&self, me: &Me<P>) -> Option<Return<P>>;

    /// Takes that back.
    #[doc(hidden)]
    fn expect_no_return(&self, me: &Me<P>, by: Return<P>);

    /// Acquires the lock at the end of a wait that a notification has ended, or not.
    #[doc(hidden)]
    fn come_back(&self, me: Me<P>, by: Return<P>, notified: bool, deadline: Option<u64>);
}

impl<P: Platform, W: Policy> Companion<P> for RawMutex<P, W> {
    unsafe fn unlock(&self) {
        // SAFETY: the caller's contract.
        unsafe { RawMutex::unlock(self) }
    }

    fn lock(&self) {
        RawMutex::lock(self);
    }

    fn expect_return(&self, me: &Me<P>) -> Option<Return<P>> {
        RawMutex::expect_return(self, me).map(|record| Return(Some(record)))
    }

    fn expect_no_return(&self, me: &Me<P>, by: Return<P>) {
        by.0.inspect(|&record| RawMutex::expect_no_return(self, me, record));
    }

    fn come_back(&self, me: Me<P>, by: Return<P>, notified: bool, deadline: Option<u64>) {
        let record = by.0.expect("expect_return() gave one");
        // Ordering: Relaxed, sequence (read when the wait ended, [condvar.notify])
        let moved = notified && my_state(&me).load(Relaxed) != state::NOTIFIED;
        if !moved {
            self.expect_no_return(&me, record);
        } else if self.wait_queued(&me, record, deadline) {
            return;
        }
        // In no queue; or those before it in the mutex's may not run, though the mutex is free.
        drop(me);
        RawMutex::lock(self);
    }
}

/// A lock that is not ours, by how it is released and acquired: its waiters are woken, not moved.
pub struct Foreign<U: Fn(), L: Fn()> {
    /// Releases it.
    pub unlock: U,
    /// Acquires it.
    pub lock: L,
}

impl<P: Platform, U: Fn(), L: Fn()> Companion<P> for Foreign<U, L> {
    unsafe fn unlock(&self) {
        (self.unlock)();
    }

    fn lock(&self) {
        (self.lock)();
    }

    fn expect_return(&self, me: &Me<P>) -> Option<Return<P>> {
        Destination::note_none(me);
        Some(Return(None))
    }

    fn expect_no_return(&self, _me: &Me<P>, _by: Return<P>) {}

    fn come_back(&self, me: Me<P>, _by: Return<P>, _notified: bool, _deadline: Option<u64>) {
        drop(me);
        (self.lock)();
    }
}

/// What may end a wait beside a notification and a deadline. Whoever makes it so must
/// then [unpark](Platform::unpark) the waiter's slot.
pub trait Stop {
    /// The thread in this slot has queued, and will look at [`is_stopped`](Self::is_stopped)
    /// before it sleeps. It holds its lock still.
    fn waits(&self, slot: Slot);

    /// Whether the wait shall end.
    fn is_stopped(&self) -> bool;
}

struct NeverStops;

impl Stop for NeverStops {
    fn waits(&self, _slot: Slot) {}

    fn is_stopped(&self) -> bool {
        false
    }
}

/// A condition variable.
#[repr(C)]
pub struct RawCondvar<P: Platform> {
    ctl: P::Word<u32>,
    strays: P::Word<u32>,
}

impl<P: Platform> RawCondvar<P>
where
    P::Word<u32>: ZeroWord,
{
    /// A condition variable without waiters.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawCondvar { ctl: ZeroWord::ZERO, strays: ZeroWord::ZERO };
}

impl<P: Platform> Default for RawCondvar<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> RawCondvar<P> {
    /// A condition variable without waiters, where a constant cannot be had.
    pub fn new() -> Self {
        RawCondvar { ctl: Word::new(0), strays: Word::new(0) }
    }

    fn anchor(&self) -> Control<'_, P> {
        Control(&self.ctl)
    }

    /// Releases `mutex`, waits for a notification or until `Platform::now()` reaches `deadline`,
    /// and acquires `mutex` again. Returns whether a notification ended the wait.
    ///
    /// # Safety
    ///
    /// The caller holds `mutex`, as for [`RawMutex::unlock`].
    pub unsafe fn wait<W: Policy>(&self, mutex: &RawMutex<P, W>, deadline: Option<u64>) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.wait_with(mutex, deadline, &NeverStops) }
    }

    /// As [`wait`](Self::wait), with another lock than our mutex, and a wait that may be stopped.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, which is its to release.
    pub unsafe fn wait_with<L: Companion<P>>(
        &self,
        lock: &L,
        deadline: Option<u64>,
        stop: &impl Stop,
    ) -> bool {
        inc::<P>(Event::CondWait);
        let Some(me) = P::enter() else {
            // SAFETY: the caller's contract.
            return unsafe { self.wait_as_stray(lock, deadline, stop) };
        };
        let Some(by) = lock.expect_return(&me) else {
            drop(me);
            // SAFETY: the caller's contract.
            return unsafe { self.wait_as_stray(lock, deadline, stop) };
        };
        let Some(held) = attach(self.anchor(), Some(&me)) else {
            lock.expect_no_return(&me, by);
            drop(me);
            // SAFETY: the caller's contract.
            return unsafe { self.wait_as_stray(lock, deadline, stop) };
        };
        let record = held.record();
        held.push_back(me.slot(), state::COND);
        drop(held);
        stop.waits(me.slot());
        // SAFETY: the caller's contract.
        unsafe { lock.unlock() };

        let notified = self.sleep(&me, record, deadline, stop);
        lock.come_back(me, by, notified, deadline);
        notified
    }

    /// Sleeps until notified, or until the deadline or the stop: then false, and out of the queue.
    fn sleep(
        &self,
        me: &Me<P>,
        record: Record<P>,
        deadline: Option<u64>,
        stop: &impl Stop,
    ) -> bool {
        // Ordering: Acquire, [condvar.notify]: pairs with the stores in notify_queued() and Arrivals::push()
        let waits = || my_state(me).load(Acquire) == state::COND;
        while waits() {
            if stop.is_stopped() || deadline.is_some_and(|at| P::now() >= at) {
                let held = record.acquire(Some(me));
                if !waits() {
                    break;
                }
                held.remove(me.slot());
                held.leave(self.anchor());
                inc::<P>(Event::CondTimeout);
                return false;
            }
            P::park(me, deadline);
            P::check_in(me);
        }
        true
    }

    /// Ends the first wait; returns whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        self.notify(1) == 1
    }

    /// Ends all waits; returns how many there were.
    #[inline]
    pub fn notify_all(&self) -> usize {
        self.notify(usize::MAX)
    }

    #[inline(always)]
    fn notify(&self, most: usize) -> usize {
        // Ordering: Relaxed, hint (a waiter that released the mutex before we took it is seen through the
        // mutex)
        if self.anchor().index().is_none() && self.strays.load(Relaxed) == 0 {
            return 0;
        }
        self.notify_slow(most)
    }

    #[cold]
    fn notify_slow(&self, most: usize) -> usize {
        let me = P::enter();
        // A signal handler that finds the wait lock taken by its own thread must not wait for it.
        let _guard = SignalGuard::<P>::up();
        let strays = if most > 1 { self.notify_strays(most) } else { 0 };
        let queued = loop {
            let Some(id) = self.anchor().index() else { break 0 };
            // Detached meanwhile: its waiters have gone. Another may have been attached.
            if let Some(moved) = self.notify_queued(Record::at(id), me.as_ref(), most) {
                break moved;
            }
        };
        if most == 1 && queued == 0 { self.notify_strays(1) } else { strays + queued }
    }

    /// Moves up to `most` waiters to their mutexes. `None`: the record is another lock's.
    fn notify_queued(&self, record: Record<P>, me: Option<&Me<P>>, most: usize) -> Option<usize> {
        let held = record.acquire(me);
        if self.anchor().index().map(Record::at) != Some(record) {
            return None;
        }
        let (mut moved, mut detached, mut wake) = (0, None, None);
        while moved < most
            && let Some(first) = held.first()
        {
            // SAFETY: `first` stays in its queue, which changes under the wait lock that is held here, until
            // it is in the mutex's, which changes under the one that `arrivals` holds (1).
            let arrivals = Destination::<P>::of(first).map(|to| (unsafe { to.hold(None) }, to));
            let Some((mut arrivals, to)) = arrivals.filter(|(to, _)| most > 1 || to.is_first())
            else {
                // Its lock has no queue of ours, or others are being woken there, behind whom it would be late.
                held.remove(first);
                detached = held.end_use(self.anchor());
                // Ordering: Release, [condvar.notify]: pairs with the load in sleep()
                waiter_state::<P>(first).store(state::NOTIFIED, Release);
                if let Some(slot) = wake.replace(first) {
                    P::unpark(slot);
                }
                moved += 1;
                continue;
            };
            while moved < most
                && let Some(slot) = held.first()
                && Destination::of(slot).as_ref() == Some(&to)
            {
                held.remove(slot);
                // Before the last is let go, which may free the condition variable.
                detached = held.end_use(self.anchor());
                arrivals.push(slot);
                moved += 1;
            }
            // SAFETY: as above (1).
            if let Some(first) = unsafe { arrivals.settle() }
                && let Some(slot) = wake.replace(first)
            {
                P::unpark(slot);
            }
        }
        drop(held);
        if let Some(detached) = detached {
            detached.give_back();
        }
        if let Some(slot) = wake {
            P::unpark(slot);
        }
        Some(moved)
    }

    /// Notifies up to `most` waiters that have no node.
    fn notify_strays(&self, most: usize) -> usize {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut word = self.strays.load(Relaxed);
        loop {
            let sleeping = (word & STRAYS) - word / PERMIT;
            let notified = sleeping.min(u32::try_from(most).unwrap_or(u32::MAX));
            if notified == 0 {
                return 0;
            }
            let new = word + notified * PERMIT;
            // Ordering: Release, [condvar.stray]: pairs with the exchange in take_permit(); Relaxed, hint
            // (retried)
            match self.strays.compare_exchange(word, new, Release, Relaxed) {
                Ok(_) => return notified as usize,
                Err(now) => word = now,
            }
        }
    }

    /// The wait of a thread that cannot queue: looks for its notification again and again.
    ///
    /// # Safety
    ///
    /// As for [`wait`](Self::wait).
    #[cold]
    unsafe fn wait_as_stray<L: Companion<P>>(
        &self,
        lock: &L,
        deadline: Option<u64>,
        stop: &impl Stop,
    ) -> bool {
        // Ordering: Relaxed, owner-only (of the lock, which publishes it to notifiers)
        let before = self.strays.fetch_add(STRAY, Relaxed);
        assert!(before & STRAYS < STRAYS, "65,535 threads without a slot wait already");
        // SAFETY: the caller's contract.
        unsafe { lock.unlock() };
        let notified = loop {
            let ends = stop.is_stopped() || deadline.is_some_and(|at| P::now() >= at);
            if let Some(notified) = self.take_permit(ends) {
                break notified;
            }
            let left = deadline.map_or(u64::MAX, |at| at.saturating_sub(P::now()));
            P::sleep(left.min(NO_NODE_SLEEP_NS));
        };
        lock.lock();
        notified
    }

    /// A waiter without a node goes, if one of those has been notified, or if its wait ends so.
    fn take_permit(&self, ends: bool) -> Option<bool> {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut word = self.strays.load(Relaxed);
        loop {
            let notified = word >= PERMIT;
            if !notified && !ends {
                return None;
            }
            let new = word - STRAY - if notified { PERMIT } else { 0 };
            // Ordering: Acquire, [condvar.stray]: pairs with the exchange in notify_strays(); Relaxed, hint
            // (retried)
            match self.strays.compare_exchange(word, new, Acquire, Relaxed) {
                Ok(_) => return Some(notified),
                Err(now) => word = now,
            }
        }
    }
}
