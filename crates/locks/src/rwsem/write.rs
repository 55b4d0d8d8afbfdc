//! The slow path of writers. Edges: see the parent module.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Word};

use super::count::{HANDOFF, LOCKED, WAITERS, WRITER};
use super::policy::NEVER;
use super::wake::{WakeList, handoff_at, knows_it_is_first};
use super::{Policy, RawRwLock, kind, owner};
use crate::events::{Event, inc};
use crate::record::{HeldRecord, Record, attach, my_state, node, state};

/// How often the sleep of a first writer doubles at most.
const DOUBLINGS: u32 = 2;

impl<P: Platform, W: Policy> RawRwLock<P, W> {
    #[cold]
    pub(super) fn write_slow(&self, deadline: Option<u64>) -> bool {
        inc::<P>(Event::RwsemWriteSlow);
        let got = self.spin_or_queue(deadline);
        if got {
            P::ask_for_time();
        }
        got
    }

    fn spin_or_queue(&self, deadline: Option<u64>) -> bool {
        let guest = self.arrive_as_guest();
        if Self::S.user.eager_polls > 0 && self.poll_eagerly(Self::try_write_unqueued, false, guest)
        {
            inc::<P>(Event::RwsemOptLock);
            return true;
        }
        let Some(me) = P::enter() else {
            return self.without_node(Self::try_write, Event::RwsemWlockFail, deadline);
        };
        P::check_in(&me);
        if Self::S.waits.writers_spin {
            let spun = self.may_spin(false)
                && self.spin_in_turn(&me, Self::try_write_unqueued, false) == Some(true);
            if spun {
                inc::<P>(Event::RwsemOptLock);
                return true;
            }
            inc::<P>(Event::RwsemOptFail);
        }
        // Ordering: Relaxed, hint (what the policy goes by)
        let seen_owner = self.owner.load(Relaxed);
        let Some(held) = attach(self.anchor(), Some(&me)) else {
            drop(me);
            return self.without_node(Self::try_write, Event::RwsemWlockFail, deadline);
        };
        self.queued(|| self.queue_writer(&me, held, seen_owner, guest, deadline))
    }

    fn queue_writer(
        &self,
        me: &Me<P>,
        held: HeldRecord<P>,
        seen_owner: u32,
        guest: bool,
        deadline: Option<u64>,
    ) -> bool {
        let record = held.record();
        self.clear_leftovers(&held);
        self.describe(me, kind::WRITER, seen_owner, guest);
        let mut list = WakeList::new();
        // While it waits for readers alone it is awake: they need not wake it.
        let mut draining = false;
        if self.push(&held, me, guest) {
            draining = P::spinner_cap() > 0 && self.may_drain();
            if !draining {
                self.ask_for_wake();
            }
        } else {
            // Ordering: Acquire, [rwsem.write], [rwsem.read]: what is granted below was released
            // before
            let now = self.count.load(Acquire);
            self.wake_as_newcomer(&held, now, None, &mut list);
        }
        let (mut held, mut sleeps, mut looks) = (held, 0, 0);
        // Ordering: Relaxed, owner-only (if granted, then by this thread)
        if my_state(me).load(Relaxed) == state::GRANTED {
            drop(held);
            list.wake();
            return self.write_granted(me);
        }
        loop {
            if self.try_write_queued(me, &held, draining) {
                held.remove(me.slot());
                self.ask_for_guest(&held);
                held.leave(self.anchor());
                list.wake();
                self.note_writer();
                self.stay_forbidden(me);
                inc::<P>(Event::RwsemWlock);
                return true;
            }
            let first = held.first() == Some(me.slot());
            knows_it_is_first::<P>(me.slot(), first);
            let doze_ns = if first { self.begin_doze(sleeps) } else { NEVER };
            drop(held);
            core::mem::replace(&mut list, WakeList::new()).wake();
            if deadline.is_some_and(|at| P::now() >= at) {
                return self.cancel(me, record, Event::RwsemWlock, Event::RwsemWlockFail);
            }
            let retry_awake = first && (self.spin_for_handoff() || self.spin_as_first(&mut looks));
            if !retry_awake && !draining {
                loop {
                    self.sleep_as_writer(me, first, doze_ns, deadline);
                    sleeps += 1;
                    if !Self::S.waits.recheck_before_wait_lock
                        || self.has_a_chance(me, record, first, deadline)
                    {
                        break;
                    }
                }
            }
            held = record.acquire(Some(me));
            // Once it is granted, the record is not this lock's for the caller's sake any more.
            // Ordering: Acquire, [rwsem.grant]: pairs with the store in mark_wake()
            if my_state(me).load(Acquire) == state::GRANTED {
                drop(held);
                return self.write_granted(me);
            }
            if !retry_awake && draining {
                // Before it sleeps it looks once more: an unlock that comes first is seen then.
                draining = false;
                self.ask_for_wake();
            }
        }
    }

    pub(super) fn ask_for_wake(&self) {
        // Ordering: Release, [rwsem.queue]: publishes the record to the unlock that sees it
        self.count.fetch_or(WAITERS, Release);
    }

    fn write_granted(&self, me: &Me<P>) -> bool {
        self.note_writer();
        self.granted(me, Event::RwsemWlock)
    }

    /// A first writer that has been woken in vain takes the request to be woken down: as long as
    /// the lock changes hands without it, neither side pays for wake-ups that come to nothing.
    /// Returns how long it may sleep so.
    fn begin_doze(&self, sleeps: u32) -> u64 {
        let dozes = Self::S.user.doze_ns != NEVER && Self::S.admission.writers_steal;
        // Ordering: Relaxed, sequence (HANDOFF changes inside the wait lock, [record.wait_lock])
        if !dozes || sleeps == 0 || self.count.load(Relaxed) & HANDOFF != 0 {
            return NEVER;
        }
        // Ordering: Relaxed, hint (an unlock that has seen the flag wakes this thread; one that
        // has not leaves it to the timer)
        self.count.fetch_and(!WAITERS, Relaxed);
        Self::S.user.doze_ns << (sleeps - 1).min(DOUBLINGS)
    }

    fn sleep_as_writer(&self, me: &Me<P>, first: bool, doze_ns: u64, deadline: Option<u64>) {
        let mut until = deadline;
        // Ordering: Relaxed, hint (only the first waiter raises the flag)
        if first && self.count.load(Relaxed) & HANDOFF == 0 {
            // Steady readers may leave no unlock to wake this thread to its right (race 16).
            let until_handoff_ns = match Self::S.admission.handoff_ns {
                NEVER => NEVER,
                _ => P::ns_of(handoff_at::<P>(me.slot()).saturating_sub(P::ticks())),
            };
            let ns = until_handoff_ns.min(doze_ns);
            if ns != NEVER {
                let at = P::now() + ns;
                until = Some(until.map_or(at, |deadline| deadline.min(at)));
            }
        }
        P::park(me, until);
        inc::<P>(Event::RwsemSleepWriter);
        P::check_in(me);
    }

    /// Whether a woken writer should do more than sleep again; without the wait lock, which others need
    /// to wake it.
    fn has_a_chance(
        &self,
        me: &Me<P>,
        record: Record<P>,
        first: bool,
        deadline: Option<u64>,
    ) -> bool {
        // Ordering: Relaxed, hint (looked at again inside the wait lock) (block)
        let now = self.count.load(Relaxed);
        if my_state(me).load(Relaxed) == state::GRANTED || now & LOCKED == 0 {
            return true;
        }

        let asks = first && (now & HANDOFF != 0 || self.may_ask(me, now));
        let moved_up = !first && record.first() == Some(me.slot());
        asks || moved_up || deadline.is_some_and(|at| P::now() >= at)
    }

    /// A queued writer's attempt. The first one, if it has waited long enough and the lock is
    /// held, forbids stealing; while that holds, no other gets the lock here.
    fn try_write_queued(&self, me: &Me<P>, held: &HeldRecord<P>, draining: bool) -> bool {
        let first = held.first() == Some(me.slot());
        let alone = first && held.next(me.slot()).is_none();
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = self.count.load(Relaxed);
        loop {
            if !first && (now & HANDOFF != 0 || !Self::S.admission.writers_steal) {
                return false;
            }
            let new = if now & LOCKED == 0 {
                // A doze may have taken the flag down for the others too.
                let flag = if alone {
                    0
                } else if first {
                    WAITERS
                } else {
                    now & WAITERS
                };
                now & !HANDOFF & !WAITERS | flag | WRITER
            } else if first && (now & HANDOFF != 0 || self.may_ask(me, now)) {
                // WAITERS as well: whoever woke the caller may have taken it down.
                now | HANDOFF | if draining { 0 } else { WAITERS }
            } else {
                return false;
            };
            if new == now {
                return false;
            }
            // Ordering: Acquire, [rwsem.write], [rwsem.read]: pairs with the releases; Relaxed,
            // hint (retried)
            match self.count.compare_exchange(now, new, Acquire, Relaxed) {
                Ok(_) if new & HANDOFF != 0 => {
                    if now & HANDOFF == 0 {
                        inc::<P>(Event::RwsemWlockHandoff);
                    }
                    return false;
                }
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
    }

    /// Whether the first writer may forbid stealing now.
    fn may_ask(&self, me: &Me<P>, now: u64) -> bool {
        (Self::S.user.handoff_from_readers && now & WRITER == 0)
            || (Self::S.admission.handoff_ns != NEVER && P::ticks() >= handoff_at::<P>(me.slot()))
    }

    /// A writer that found spinning forbidden keeps it so for readers (P11).
    fn stay_forbidden(&self, me: &Me<P>) {
        // Ordering: Relaxed, owner-only (the caller's own word)
        let saw = node::words(me.record())[node::RW_SAW_BIT].load(Relaxed);
        if Self::S.waits.sticky_reader_bit && saw != 0 {
            // Ordering: Relaxed, hint (an update may be lost, race 17)
            self.owner.fetch_or(owner::RD_NONSPINNABLE, Relaxed);
            inc::<P>(Event::RwsemOptNorspin);
        }
    }
}
