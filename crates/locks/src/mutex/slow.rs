//! The slow path of locking: spin, queue, sleep. Edges: see the parent module.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use lockwright_platform::{Me, Pace, Platform, Until, Word};

use super::policy::NEVER;
use super::spin::Spun;
use super::{Policy, RawMutex};
use crate::events::{Event, inc, note_fence};
use crate::record::{Anchor, Record, Spinner, attach, ctl, my_state, node, state, try_in_turn};

/// How much of the memory of idle dozes one more adds, and its limit.
const LURK_PLUS: u32 = 4;
const LURK_MAX: u32 = 64;

/// A waiter at the head of the queue, between sleeps.
pub(super) struct First {
    /// Its own time to ask for a hand-off, in ticks.
    handoff_at: u64,
    /// Length of the next doze.
    doze_ns: u64,
    /// It has asked.
    pub(super) asked: bool,
}

impl<P: Platform, W: Policy> RawMutex<P, W> {
    /// Whether there is but one CPU beside the owner's: then the scheduler admits one spinner, and
    /// no queue is needed for that.
    fn one_spinner() -> bool {
        P::cpus() <= 2
    }

    #[cold]
    pub(super) fn lock_slow(&self, deadline: Option<u64>) -> bool {
        let record = self.anchor().index().map(Record::<P>::at);
        let mut retaken = false;
        // Ordering: Relaxed, hint (a slice that runs is only a reason not to spin)
        if record.is_none_or(|r| Self::one_spinner() && r.slice_end().load(Relaxed) == 0) {
            // Nobody waits yet, or nobody else can run: no need to tell anybody that we do, if it
            // is short. With more CPUs it must be short.
            let spun = match self.spin_eagerly() {
                true => Spun::Acquired,
                false if Self::one_spinner() => self.spin(),
                false => Spun::GaveUp,
            };
            if spun == Spun::Acquired {
                self.acquired();
                inc::<P>(Event::MutexOptLock);
                return true;
            }
            retaken = spun == Spun::Retaken;
            if deadline.is_some_and(|at| P::now() >= at) {
                inc::<P>(Event::MutexLockFail);
                return false;
            }
            if Self::one_spinner() && !retaken && self.yield_to_owner() {
                return true;
            }
        }
        let Some(me) = P::enter() else {
            return self.lock_without_node(deadline);
        };
        P::check_in(&me);
        if !retaken && !Self::one_spinner() {
            match self.spin_in_turn(&me) {
                Spun::Acquired => {
                    inc::<P>(Event::MutexOptLock);
                    return true;
                }
                spun => retaken = spun == Spun::Retaken,
            }
        }
        let Some(held) = attach(self.anchor(), Some(&me)) else {
            drop(me);
            return self.lock_without_node(deadline);
        };
        if retaken && W::SLICES {
            Self::begin_slice(&held, false);
        }
        held.push_back(me.slot(), state::WAITING);
        let record = held.record();
        drop(held);
        self.wait_queued(&me, record, deadline)
    }

    /// The owner does not run, as far as we know: lets it. A thread that yields stays runnable,
    /// so no CPU is left idle behind it, and nobody has to wake it.
    fn yield_to_owner(&self) -> bool {
        for _ in 0..W::YIELDS {
            P::yield_now();
            if self.try_acquire() {
                inc::<P>(Event::MutexYieldLock);
                self.acquired();
                return true;
            }
        }
        false
    }

    /// Spins as the one that may, if the caller comes to be that one.
    fn spin_in_turn(&self, me: &Me<P>) -> Spun {
        let record = self.anchor().index().map(Record::<P>::at);
        // Ordering: Relaxed, hint (a slice that runs is only a reason not to spin)
        if record.is_some_and(|r| r.slice_end().load(Relaxed) != 0) {
            return Spun::GaveUp;
        }
        let until = Until { resched: true, ..Until::CHANGED.deadline(Self::spin_end()) };
        let Some(spinner) = Spinner::join(self.anchor(), me, until, P::spinner_cap()) else {
            return Spun::GaveUp;
        };
        let end = if self.try_acquire() { Spun::Acquired } else { self.spin() };
        if end == Spun::Acquired {
            self.acquired();
        }
        spinner.leave(self.anchor());
        end
    }

    /// The wait of a queued thread, wherever in the queue it stands.
    pub(crate) fn wait_queued(&self, me: &Me<P>, record: Record<P>, deadline: Option<u64>) -> bool {
        let granted = my_state(me);
        let mut first = First {
            handoff_at: match W::HANDOFF_NS {
                NEVER => NEVER,
                ns => P::ticks().saturating_add(P::ticks_of(ns)),
            },
            doze_ns: W::DOZE_NS,
            asked: false,
        };
        loop {
            // Ordering: Acquire, [mutex.grant]: pairs with the store in hand_off()
            if granted.load(Acquire) == state::GRANTED {
                return self.take_over(me);
            }
            if record.first() != Some(me.slot()) {
                P::park(me, deadline);
                inc::<P>(Event::MutexSleep);
                P::check_in(me);
            } else if self.try_as_first(me, record, &mut first)
                || self.sleep_first(me, record, &mut first, deadline)
            {
                return true;
            }
            if deadline.is_some_and(|at| P::now() >= at) {
                return self.cancel(me, record);
            }
        }
    }

    /// The first waiter's attempts while it is awake; true with the lock and out of the queue.
    fn try_as_first(&self, me: &Me<P>, record: Record<P>, first: &mut First) -> bool {
        self.forget_wake();
        // Ordering: Relaxed, hint (what the policy goes by)
        let slice_end = record.slice_end().load(Relaxed);
        if Self::slice_left(slice_end).is_some() {
            return self.try_in_slice(me, record, first);
        }
        if !self.is_locked() && self.take_queued(me, record) {
            return true;
        }
        if (W::SLICES && slice_end != 0) || P::ticks() >= first.handoff_at {
            self.ask(first);
        }
        if first.asked {
            return self.await_grant(me, record);
        }
        match self.await_release() {
            Spun::Acquired => return self.take_queued(me, record),
            Spun::Retaken if W::SLICES => {
                let held = record.acquire(Some(me));
                Self::begin_slice(&held, false);
                drop(held);
                first.doze_ns = W::DOZE_NS;
            }
            _ => {}
        }
        false
    }

    /// In a slice the first waiter takes the lock only if its owner left it alone.
    fn try_in_slice(&self, me: &Me<P>, record: Record<P>, first: &mut First) -> bool {
        let lurk = &node::words(me.record())[node::LURK];
        // Ordering: Relaxed, owner-only (the waiter's own word) (block)
        let memory = lurk.load(Relaxed);
        let idle = first.doze_ns != W::DOZE_NS && !self.is_locked();
        if idle {
            lurk.store((memory + LURK_PLUS).min(LURK_MAX), Relaxed);
        }

        if !(self.stays_free() || (memory > 0 && self.poll_slowly(lurk))) {
            return false;
        }
        let taken = self.take_queued(me, record);
        if taken {
            // Ordering: Relaxed, hint (success ends the regime)
            record.slice_end().store(0, Relaxed);
        }
        taken
    }

    /// Whether the lock is free and stays so for longer than a re-take by the owner needs.
    fn stays_free(&self) -> bool {
        // Ordering: Relaxed, hint (try_acquire decides) (block)
        let count = self.words.count.load(Relaxed);
        if self.is_locked() {
            return false;
        }
        P::relax(W::POLITE_LINES * P::line_ns());
        self.words.count.load(Relaxed) == count && !self.is_locked()
    }

    /// Polls slowly: dozes have found the lock idle lately, so its owners come and go.
    fn poll_slowly(&self, memory: &P::Word<u32>) -> bool {
        let end = P::ticks() + P::ticks_of(W::LURK_NS);
        while P::ticks() < end {
            let until = Until { pace: Pace::Every(W::LURK_LINES * P::line_ns()), ..Until::CHANGED };
            // Ordering: Relaxed, hint (stays_free decides)
            let count = self.words.count.load(Relaxed);
            if let Some((true, _)) = self.await_change(count, until.deadline(end))
                && self.stays_free()
            {
                return true;
            }
        }
        // Ordering: Relaxed, owner-only (the waiter's own word) (block)
        memory.store(memory.load(Relaxed).saturating_sub(1), Relaxed);
        false
    }

    /// Takes down a request to be woken that was not honoured or came too late: while the first
    /// waiter is awake it needs no wake-up.
    fn forget_wake(&self) {
        // Ordering: Relaxed, hint (only the first waiter and the owner lower the flag)
        if self.words.ctl.load(Relaxed) & ctl::WAKE != 0 {
            // Ordering: Relaxed, hint (a wake-up too many is harmless, and sleep_first raises it)
            self.words.ctl.fetch_and(!ctl::WAKE, Relaxed);
        }
    }

    /// The first waiter's sleep. True: it got the lock instead.
    fn sleep_first(
        &self,
        me: &Me<P>,
        record: Record<P>,
        first: &mut First,
        deadline: Option<u64>,
    ) -> bool {
        // Ordering: Relaxed, hint (what the policy goes by)
        let slice_end = record.slice_end().load(Relaxed);
        let soonest = |at: u64| Some(deadline.map_or(at, |d| d.min(at)));
        if let Some(left) = Self::slice_left(slice_end) {
            // A doze: no unlock is asked to end it, so the owner makes no system calls.
            inc::<P>(Event::MutexDoze);
            P::park(me, soonest(P::now() + first.doze_ns.min(P::ns_of(left))));
            first.doze_ns = first.doze_ns.saturating_mul(2);
            P::check_in(me);
            return false;
        }
        first.doze_ns = W::DOZE_NS;
        if self.ask_for_wake() && self.take_queued(me, record) {
            return true;
        }
        let at = if first.asked || first.handoff_at == NEVER {
            deadline
        } else {
            soonest(P::now() + P::ns_of(first.handoff_at.saturating_sub(P::ticks())))
        };
        P::park(me, at);
        inc::<P>(Event::MutexSleep);
        P::check_in(me);
        false
    }

    /// Has the next unlock wake the first waiter; true if the lock is free already.
    fn ask_for_wake(&self) -> bool {
        // Ordering: Release, [mutex.ask]: publishes the queue to the unlock that sees it
        let word = self.words.ctl.fetch_or(ctl::WAKE, Release);
        if W::ATOMIC_UNLOCK {
            // One word: an unlock that came before it is seen in it, any other sees it.
            return word & ctl::LOCKED == 0;
        }
        if word & ctl::FENCE != 0 {
            // Ordering: SeqCst, [mutex.cond]: store-load, the request against the look at the lock
            P::fence(SeqCst);
        } else {
            // Ordering: fence_heavy, [mutex.dekker]: store-load, the request against the look at the
            // lock; pairs with unlock(), which releases and then looks at ctl
            note_fence::<P>(P::fence_heavy());
        }
        !self.is_locked()
    }

    /// A timed waiter gives up, unless the lock has been passed to it meanwhile.
    fn cancel(&self, me: &Me<P>, record: Record<P>) -> bool {
        let held = record.acquire(Some(me));
        // Ordering: Acquire, [mutex.grant]: pairs with the store in hand_off()
        if my_state(me).load(Acquire) == state::GRANTED {
            drop(held);
            return self.take_over(me);
        }
        let was_first = held.first() == Some(me.slot());
        held.remove(me.slot());
        let mut next = None;
        if was_first {
            // The request was this waiter's: its heir has not asked (race 12), and must be woken
            // to look after itself (race 11).
            // Ordering: Relaxed, hint (requests only)
            self.words.ctl.fetch_and(!ctl::HANDOFF, Relaxed);
            next = held.first();
        }
        held.leave(self.anchor());
        if let Some(next) = next {
            P::unpark(next);
        }
        inc::<P>(Event::MutexLockFail);
        false
    }

    /// Locking without a queue node: sleeps and tries in turn.
    #[cold]
    fn lock_without_node(&self, deadline: Option<u64>) -> bool {
        inc::<P>(Event::MutexNoNode);
        let got = try_in_turn::<P>(deadline, || self.try_acquire());
        if got {
            self.acquired();
        } else {
            inc::<P>(Event::MutexLockFail);
        }
        got
    }
}
