//! Condition variable in parking_lot's shape, whose `notify_all` makes no herd.
//!
//! *Algorithm*: waiters queue FIFO in a contention record (module `record`) of the condition
//! variable. `notify_all` wakes only the first and hands it the rest as a chain; that thread
//! moves them to the wait queue of the mutex ("wait morphing"), where each is woken as the mutex
//! comes to it. The condition variable itself never needs to know the mutex.
//!
//! *Guarantees*: a waiter that released the mutex before a notification is notified by it; each
//! notification ends at most one wait; no spurious return except with a deadline that is reached
//! while it is notified (then it reports the notification); order FIFO; abortable by deadline.
//! Two mutexes may be used with one condition variable, also at a time: each waiter returns with
//! its own. *Does not guarantee*: absence of spurious returns for a thread that has no slot (table
//! exhausted, or in a signal handler): it returns after a millisecond as if notified. Notifying
//! from a signal handler that interrupted an operation on the same condition variable hangs.
//! *Cost*: 4 bytes; notify without waiters is one load. *Waiting*: sleeping, no spinning.
//! *Checked by*: `tests/loom_condvar.rs`, the contract suite of `lockwright-contract`.
//!
//! ```text
//! State of a waiter   COND -> NOTIFIED : notify (first of its batch; holds the chain)
//!                     COND -> CHAINED  : notify_all (the others)
//!                     CHAINED -> WAITING : Mutex::requeue (then as any waiter of the mutex)
//! ```
//!
//! ```text
//! Edges
//!  [condvar.notify]  notify_one, notify_all: state store Release -> wait: state load Acquire  publishes what the notifier did, and the chain
//! ```

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Shield, Slot, Word, ZeroWord};

use crate::events::{Event, inc};
use crate::mutex::{Policy, RawMutex, note_address};
use crate::record::{Guarded, Record, attach, ctl, my_state, node, state, waiter_state, word};

/// Sleeps of a waiter that has no queue node: it returns, spuriously, after this.
const NO_NODE_SLEEP_NS: u64 = 1_000_000;

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

    /// Notes in a waiter's node what it will return with.
    #[doc(hidden)]
    fn note_in(&self, me: &Me<P>);

    /// Moves notified waiters to the lock's queue; returns those that it cannot take.
    #[doc(hidden)]
    fn requeue(&self, first: Slot) -> Option<Slot>;

    /// The rest of the wait of a thread that was moved so.
    #[doc(hidden)]
    fn wait_requeued(&self, me: Me<P>);
}

impl<P: Platform, W: Policy> Companion<P> for RawMutex<P, W> {
    unsafe fn unlock(&self) {
        // SAFETY: the caller's contract.
        unsafe { RawMutex::unlock(self) }
    }

    fn lock(&self) {
        RawMutex::lock(self);
    }

    fn note_in(&self, me: &Me<P>) {
        RawMutex::note_in(self, me);
    }

    fn requeue(&self, first: Slot) -> Option<Slot> {
        RawMutex::requeue(self, first)
    }

    fn wait_requeued(&self, me: Me<P>) {
        RawMutex::wait_requeued(self, me);
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

    fn note_in(&self, me: &Me<P>) {
        note_address(me, 0);
    }

    fn requeue(&self, first: Slot) -> Option<Slot> {
        Some(first)
    }

    fn wait_requeued(&self, me: Me<P>) {
        debug_assert!(false, "nobody moves it");
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
#[repr(transparent)]
pub struct RawCondvar<P: Platform> {
    ctl: P::Word<u32>,
}

impl<P: Platform> RawCondvar<P>
where
    P::Word<u32>: ZeroWord,
{
    /// A condition variable without waiters.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawCondvar { ctl: ZeroWord::ZERO };
}

impl<P: Platform> Default for RawCondvar<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> RawCondvar<P> {
    /// A condition variable without waiters, where a constant cannot be had.
    pub fn new() -> Self {
        RawCondvar { ctl: Word::new(0) }
    }

    /// Releases `mutex`, waits for a notification or until `Platform::now()` reaches `deadline`,
    /// and acquires `mutex` again. Returns whether a notification ended the wait.
    ///
    /// Without a thread slot (table exhausted, or called in a signal handler that interrupted a
    /// lock operation) it returns after a millisecond as if notified.
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
        let queued = P::enter().and_then(|me| Some((attach(&self.ctl, None)?, me)));
        let Some((guarded, me)) = queued else {
            // SAFETY: the caller's contract.
            unsafe { lock.unlock() };
            let left = deadline.map_or(u64::MAX, |at| at.saturating_sub(P::now()));
            P::sleep(left.min(NO_NODE_SLEEP_NS));
            lock.lock();
            return deadline.is_none_or(|at| P::now() < at);
        };
        let record = guarded.record();
        lock.note_in(&me);
        guarded.push_back(me.slot(), state::COND);
        drop(guarded);
        stop.waits(me.slot());
        // SAFETY: the caller's contract.
        unsafe { lock.unlock() };

        let notified = self.sleep(&me, record, deadline, stop);
        match notified {
            state::WAITING | state::GRANTED => {
                lock.wait_requeued(me);
                return true;
            }
            state::NOTIFIED => self.move_chain(&me, lock),
            _ => {}
        }
        drop(me);
        lock.lock();
        notified == state::NOTIFIED
    }

    /// Sleeps until notified, and moved if part of a batch; returns the state that ended it,
    /// `COND` for the deadline or the stop.
    fn sleep(&self, me: &Me<P>, record: Record<P>, deadline: Option<u64>, stop: &impl Stop) -> u32 {
        let my = my_state(me);
        let mut deadline = deadline;
        loop {
            // Ordering: Acquire, [condvar.notify]: pairs with the stores in notify()
            let mut now = my.load(Acquire);
            let ends = || stop.is_stopped() || deadline.is_some_and(|at| P::now() >= at);
            if now == state::COND && ends() {
                let guarded = record.acquire(Some(me));
                // Ordering: Acquire, [condvar.notify]: under the guard it is final
                now = my.load(Acquire);
                if now == state::COND {
                    guarded.remove(me.slot());
                    guarded.leave(&self.ctl);
                    inc::<P>(Event::CondTimeout);
                    return now;
                }
            }
            match now {
                state::COND => {}
                // Somebody is about to move us to the mutex; the deadline is void.
                state::CHAINED => deadline = None,
                _ => return now,
            }
            P::park(me, deadline);
        }
    }

    /// First of a batch: moves the others to the mutex, to be woken one by one.
    fn move_chain(&self, me: &Me<P>, lock: &impl Companion<P>) {
        // Ordering: Relaxed, sequence (written before the state, [condvar.notify]) (block)
        let chain = &node::words(me.record())[node::CHAIN];
        let mut rest = Slot::new(chain.load(Relaxed) as u16).and_then(|first| lock.requeue(first));
        // No record for them, or they will return with another mutex: then wake them all.
        while let Some(slot) = rest {
            // Ordering: Relaxed, sequence (written before the first one's state, [condvar.notify])
            rest = Slot::new(word::<P>(slot, node::CHAIN).load(Relaxed) as u16);
            // Ordering: Relaxed, init (published by the state, [condvar.notify])
            word::<P>(slot, node::CHAIN).store(0, Relaxed);
            // Ordering: Release, [condvar.notify]: pairs with the loads in sleep()
            waiter_state::<P>(slot).store(state::NOTIFIED, Release);
            P::unpark(slot);
        }
    }

    /// Ends the first wait; returns whether there was one.
    pub fn notify_one(&self) -> bool {
        self.notify(1) == 1
    }

    /// Ends all waits; returns how many there were.
    pub fn notify_all(&self) -> usize {
        self.notify(usize::MAX)
    }

    #[inline]
    fn notify(&self, most: usize) -> usize {
        // Ordering: Acquire, [record.attach]: a waiter that released the mutex before we took it
        // is seen through the mutex
        match ctl::record(self.ctl.load(Acquire)) {
            None => 0,
            Some(id) => self.notify_slow(Record::at(id), most),
        }
    }

    #[cold]
    fn notify_slow(&self, record: Record<P>, most: usize) -> usize {
        // A signal handler that finds the guard taken by its own thread must not wait for it.
        let _shield = Shield::<P>::up();
        let guarded = record.acquire(None);
        // Ordering: Relaxed, sequence (inside the guard, [record.guard])
        let attached = ctl::record(self.ctl.load(Relaxed)).map(Record::<P>::at);
        if attached.is_none_or(|now| now != record) {
            drop(guarded);
            // Detached since: its waiters have gone. Another may have been attached.
            return self.notify(most);
        }
        let Some(first) = guarded.first() else {
            return 0;
        };
        let count = self.take_batch(&guarded, first, most);
        // Ordering: Release, [condvar.notify]: pairs with the loads in sleep()
        waiter_state::<P>(first).store(state::NOTIFIED, Release);
        for _ in 1..count {
            guarded.drop_user();
        }
        guarded.leave(&self.ctl);
        P::unpark(first);
        count
    }

    /// Unlinks up to `most` waiters and chains them behind `first`.
    fn take_batch(&self, guarded: &Guarded<P>, first: Slot, most: usize) -> usize {
        let chain = |slot: Slot| word::<P>(slot, node::CHAIN);
        let (mut last, mut count) = (first, 1);
        guarded.remove(first);
        while count < most
            && let Some(next) = guarded.first()
        {
            guarded.remove(next);
            // Ordering: Relaxed, init (published by the first one's state, [condvar.notify])
            chain(last).store(u32::from(next.get()), Relaxed);
            // Ordering: Release, [condvar.notify]: pairs with the loads in sleep()
            waiter_state::<P>(next).store(state::CHAINED, Release);
            last = next;
            count += 1;
        }
        // Ordering: Relaxed, init (published by the first one's state, [condvar.notify])
        chain(last).store(0, Relaxed);
        count
    }
}
