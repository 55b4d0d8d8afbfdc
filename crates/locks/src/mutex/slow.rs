//! The slow path of locking: queue and sleep, after `arrival`. Edges: see the parent module.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use lockwright_platform::{Me, Pace, Platform, Until, Word};

use super::arrival::Arrival;
use super::handoff::kind;
use super::policy::NEVER;
use super::spin::Spun;
use super::{Policy, RawMutex};
use crate::events::{Event, inc, note_fence};
use crate::record::{HeldRecord, Record, attach, ctl, my_state, node, state, try_in_turn};
use crate::share::Standing;

/// How much of the memory of idle dozes one more adds, and its limit.
const IDLE_PLUS: u32 = 4;
const IDLE_MAX: u32 = 64;

/// A slice that has no more left than this, in leads, is slept through at once.
const NO_DOZE_LEADS: u64 = 3;

/// A waiter at the head of the queue, between sleeps.
pub(super) struct First {
    /// Its own time to ask for a hand-off, in ticks.
    handoff_at: u64,
    /// Length of the next doze.
    doze_ns: u64,
    /// It need not wait for the end of a slice.
    guest: bool,
    /// It has asked.
    pub(super) asked: bool,
    /// It has slept to the end of a slice, or nearly.
    slept_through: bool,
    /// How often it saw the lock free and was late.
    lost: u32,
}

impl<P: Platform, W: Policy> RawMutex<P, W> {
    #[cold]
    pub(super) fn lock_slow(&self, deadline: Option<u64>) -> bool {
        let last = self.last();
        if self.take_eagerly(last) {
            return true;
        }
        let mut arrival = self.arrive(last, deadline);
        if self.spin_unqueued(&mut arrival) {
            return true;
        }
        if deadline.is_some_and(|at| P::now() >= at) {
            inc::<P>(Event::MutexLockFail);
            return false;
        }
        let Some(me) = P::enter() else {
            return self.lock_without_node(deadline);
        };
        P::check_in(&me);
        if !Self::one_spinner() && self.may_spin(&arrival) && self.spin_in_turn(&me, &mut arrival) {
            return true;
        }
        let Some(held) = attach(self.anchor(), Some(&me)) else {
            drop(me);
            return self.lock_without_node(deadline);
        };
        let record = held.record();
        self.queue_up(&me, held, &arrival);
        self.wait_queued(&me, record, deadline)
    }

    /// Takes a place in the queue: before all that are not guests, if the caller is one and has reason
    /// to ask at once.
    fn queue_up(&self, me: &Me<P>, held: HeldRecord<P>, arrival: &Arrival) {
        let record = held.record();
        // Ordering: Relaxed, owner-only (published by the wait lock, [record.wait_lock]) (block)
        let words = node::words(me.record());
        words[node::KIND].store(0, Relaxed);
        words[node::TIMER].store(0, Relaxed);

        if !Self::S.slices {
            held.push_back(me.slot(), state::WAITING);
            return;
        }
        // Ordering: Relaxed, sequence (inside the wait lock, [record.wait_lock])
        let room = record.guests().load(Relaxed) < Self::S.guests;
        let reason = Self::in_slices(Some(record)) || arrival.crowded_out;
        let kind = match arrival.standing {
            Standing::Lender => kind::GUEST | kind::LENDER,
            Standing::Guest if reason && room => kind::GUEST,
            _ if P::is_realtime() => kind::GUEST,
            _ => 0,
        };
        if kind == 0 {
            // A hog leaves the CPU to an owner that needs it.
            let leaves = arrival.standing == Standing::Hog && arrival.crowded_out;
            if arrival.retaken || leaves {
                Self::begin_slice(&held, false);
            }
            held.push_back(me.slot(), state::WAITING);
            return;
        }
        // Ordering: Relaxed, owner-only (as above)
        words[node::KIND].store(kind, Relaxed);
        if held.push_guest(me.slot(), state::WAITING) {
            // Ordering: Release, [mutex.ask]: publishes the queue to the unlock that sees it
            self.words.ctl.fetch_or(ctl::HANDOFF, Release);
            inc::<P>(Event::MutexHandoffAsked);
        }
    }

    /// The wait of a queued thread, wherever in the queue it stands.
    pub(crate) fn wait_queued(&self, me: &Me<P>, record: Record<P>, deadline: Option<u64>) -> bool {
        let granted = my_state(me);
        // Ordering: Relaxed, owner-only (the waiter's own word; only a mark of others' choice comes to it)
        let guest = node::words(me.record())[node::KIND].load(Relaxed) & kind::GUEST != 0;
        let mut first = First {
            handoff_at: match Self::S.handoff_ns {
                NEVER => NEVER,
                _ if P::is_realtime() => P::ticks(),
                ns => P::ticks().saturating_add(P::ticks_of(ns)),
            },
            doze_ns: Self::S.doze_ns,
            guest,
            asked: guest,
            slept_through: false,
            lost: 0,
        };
        loop {
            // Ordering: Acquire, [mutex.grant]: pairs with the store in hand_off()
            if granted.load(Acquire) == state::GRANTED {
                return self.take_over(me);
            }
            if record.first() != Some(me.slot()) {
                self.sleep_behind(me, record, deadline);
            } else if self.try_as_first(me, record, &mut first, deadline)
                || self.sleep_first(me, record, &mut first, deadline)
            {
                return true;
            }
            if deadline.is_some_and(|at| P::now() >= at) {
                return self.cancel(me, record);
            }
        }
    }

    /// The sleep of a waiter that is not first. One that was first before a guest came keeps a timer, since
    /// those who leave rely on that.
    fn sleep_behind(&self, me: &Me<P>, record: Record<P>, deadline: Option<u64>) {
        let mut until = deadline;
        // Ordering: Relaxed, owner-only (the waiter's own word)
        if Self::S.slices && node::words(me.record())[node::TIMER].load(Relaxed) != 0 {
            // Ordering: Relaxed, hint (what the policy goes by)
            let left = Self::slice_left(record.slice_end().load(Relaxed));
            let ns = left.map_or(0, P::ns_of).max(Self::S.lead_ns);
            let at = P::now() + ns;
            until = Some(deadline.map_or(at, |deadline| deadline.min(at)));
        }
        P::park(me, until);
        inc::<P>(Event::MutexSleep);
        P::check_in(me);
    }

    /// The first waiter's attempts while it is awake; true with the lock and out of the queue.
    fn try_as_first(
        &self,
        me: &Me<P>,
        record: Record<P>,
        first: &mut First,
        deadline: Option<u64>,
    ) -> bool {
        self.forget_wake();
        // Ordering: Relaxed, hint (what the policy goes by)
        let slice_end = record.slice_end().load(Relaxed);
        if !first.guest && !first.slept_through && Self::slice_left(slice_end).is_some() {
            return self.try_in_slice(me, record, first);
        }
        // An owner that finds the request at its next unlock must not be robbed before that.
        let free = if Self::S.slices && slice_end != 0 {
            self.stays_free(Self::S.asked_lines)
        } else {
            !self.is_locked()
        };
        if free && self.take_queued(me, record) {
            return true;
        }
        if (Self::S.slices && slice_end != 0) || P::ticks() >= first.handoff_at {
            self.ask(me, first);
        }
        if first.asked {
            self.ask(me, first);
            first.slept_through = false;
            // An owner that needs this CPU gets no further while the caller spins.
            return !self.owner_is_here() && self.await_grant(me, record);
        }
        let retaken = match self.await_release(deadline) {
            Spun::Acquired if self.take_queued(me, record) => return true,
            // With one spinner it was lost to the owner, which came back.
            Spun::Acquired => {
                first.lost += u32::from(Self::one_spinner());
                first.lost >= Self::S.retakes
            }
            spun => spun == Spun::Retaken,
        };
        if Self::S.slices && retaken {
            let held = record.acquire(Some(me));
            Self::begin_slice(&held, false);
            drop(held);
            first.doze_ns = Self::S.doze_ns;
        }
        false
    }

    /// In a slice the first waiter takes the lock only if its owner left it alone.
    fn try_in_slice(&self, me: &Me<P>, record: Record<P>, first: &mut First) -> bool {
        let idles = &node::words(me.record())[node::IDLES];
        // Ordering: Relaxed, owner-only (the waiter's own word) (block)
        let memory = idles.load(Relaxed);
        let idle = first.doze_ns != Self::S.doze_ns && !self.is_locked();
        if idle {
            idles.store((memory + IDLE_PLUS).min(IDLE_MAX), Relaxed);
        }

        (self.stays_free(Self::S.polite_lines) || (memory > 0 && self.poll_slowly(idles)))
            && self.take_queued(me, record)
    }

    /// Whether the lock is free and stays so for as long as so many line transfers take.
    pub(super) fn stays_free(&self, lines: u32) -> bool {
        // Ordering: Relaxed, hint (try_acquire decides) (block)
        let count = self.words.count.load(Relaxed);
        if self.is_locked() {
            return false;
        }
        P::busy_wait_ns(lines * P::line_ns());
        self.words.count.load(Relaxed) == count && !self.is_locked()
    }

    /// Polls slowly: dozes have found the lock idle lately, so its owners come and go.
    fn poll_slowly(&self, memory: &P::Word<u32>) -> bool {
        let end = P::ticks() + P::ticks_of(Self::S.poll_ns);
        while P::ticks() < end {
            let pace = Pace::Every(Self::S.poll_lines * P::line_ns());
            let until = Until { pace, ..Until::CHANGED.deadline(end) };
            // Ordering: Relaxed, hint (stays_free decides)
            let count = self.words.count.load(Relaxed);
            if let Some((true, _)) = self.await_change(count, until)
                && self.stays_free(Self::S.polite_lines)
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
        if !first.asked
            && let Some(left) = Self::slice_left(slice_end)
        {
            // Ordering: Relaxed, hint (whoever misses it wakes this waiter once for nothing; it stays up
            // as long as the waiter is queued, and from now on that never sleeps without a timer)
            node::words(me.record())[node::TIMER].store(1, Relaxed);
            // A doze: no unlock is asked to end it, so the owner makes no system calls.
            inc::<P>(Event::MutexDoze);
            P::park(me, soonest(P::now() + self.doze(first, P::ns_of(left))));
            P::check_in(me);
            return false;
        }
        first.doze_ns = Self::S.doze_ns;
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

    /// How long the first waiter sleeps in a slice that has `left_ns` left: until shortly before its end, in a
    /// long one less at first, to see whether its owner has left the lock alone.
    fn doze(&self, first: &mut First, left_ns: u64) -> u64 {
        let lead = Self::S.lead_ns;
        if left_ns > NO_DOZE_LEADS * lead && first.doze_ns < left_ns - lead {
            let ns = first.doze_ns;
            first.doze_ns = ns.saturating_mul(2);
            return ns;
        }
        first.slept_through = true;
        left_ns.saturating_sub(lead).max(1)
    }

    /// Has the next unlock wake the first waiter; true if the lock is free already.
    fn ask_for_wake(&self) -> bool {
        // Ordering: Release, [mutex.ask], [mutex.asks]: publishes the queue to the unlock that sees it
        let word = self.words.ctl.fetch_or(ctl::WAKE, Release);
        if Self::S.atomic_unlock {
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
            // The request was this waiter's: the next first one has not asked (race 12), and must be woken
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
            self.acquired_slowly();
        } else {
            inc::<P>(Event::MutexLockFail);
        }
        got
    }
}
