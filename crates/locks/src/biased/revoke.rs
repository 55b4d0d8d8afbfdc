//! The writers' side: turning the bias off, waiting for biased readers, and what a revocation
//! costs. Edges: see the parent module.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use lockwright_platform::{CELL_IN_USE, Me, Platform, Spin, Until, Word};

use super::{ENDING, ON, PERIOD, RawBiasedRwLock, Reading};
use crate::events::{Event, inc, note_fence};
use crate::rwsem::Policy;

/// Longest spin for one reader. Source: assumed; a short section is over by then, and a reader that
/// is not may have lost its CPU.
const SPIN_NS: u64 = 5_000;
/// The sleep of a writer without a slot, whom nobody can wake.
const NO_NODE_SLEEP_NS: u64 = 50_000;
/// Bounds of the gate, binary logarithms.
const GATES: (u32, u32) = (6, 20);

/// What the cells say of a period.
pub(super) struct Survey {
    /// Reads published.
    reads: u64,
    /// A reader is in a cell.
    pub(super) held: bool,
}

/// How long a writer waits for biased readers.
#[derive(Copy, Clone)]
enum Patience {
    /// Not at all.
    Try,
    /// Until `Platform::now()` reaches this.
    Until(u64),
    /// As long as it takes.
    Endless,
}

impl<P: Platform, W: Policy, const FIRST: u32> RawBiasedRwLock<P, W, FIRST> {
    /// Acquires the lock for writing, waiting as long as it takes.
    #[inline]
    pub fn write(&self) {
        if !self.base.try_write() {
            self.end_bias();
            self.base.write();
        }
        self.alone(Patience::Endless);
    }

    /// Acquires the lock for writing unless `Platform::now()` reaches `deadline` first.
    #[inline]
    pub fn write_until(&self, deadline: u64) -> bool {
        let got = self.base.try_write() || {
            self.end_bias();
            self.base.write_until(deadline)
        };
        got && self.alone_or_out(Patience::Until(deadline))
    }

    /// Acquires the lock for writing if nobody holds it and the policy lets the caller overtake
    /// those who wait.
    #[inline]
    pub fn try_write(&self) -> bool {
        self.base.try_write() && self.alone_or_out(Patience::Try)
    }

    #[inline(always)]
    fn alone_or_out(&self, patience: Patience) -> bool {
        let alone = self.alone(patience);
        if !alone {
            // SAFETY: the caller has just acquired the semaphore for writing (1); `self` lives (2).
            unsafe { self.base.unlock_write() };
        }
        alone
    }

    /// Releases the writer's hold.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock for writing.
    /// 2. The lock outlives this call.
    #[inline]
    pub unsafe fn unlock_write(&self) {
        // SAFETY: who holds this lock for writing holds the semaphore so; passes the contract on.
        unsafe { self.base.unlock_write() }
    }

    /// The same; if somebody waits, the first waiter gets the lock.
    ///
    /// # Safety
    ///
    /// As for [`unlock_write`](Self::unlock_write).
    pub unsafe fn unlock_write_fair(&self) {
        // SAFETY: as in unlock_write().
        unsafe { self.base.unlock_write_fair() }
    }

    /// Turns the writer's hold into a reader's, letting other readers in.
    ///
    /// # Safety
    ///
    /// As for [`unlock_write`](Self::unlock_write).
    pub unsafe fn downgrade(&self) -> Reading<P> {
        // SAFETY: as in unlock_write().
        unsafe { self.base.downgrade() };
        Reading::COUNTED
    }

    /// Acquires the lock for upgradable reading.
    pub fn read_upgradable(&self) {
        self.base.read_upgradable();
    }

    /// The same, unless `Platform::now()` reaches `deadline` first.
    pub fn read_upgradable_until(&self, deadline: u64) -> bool {
        self.base.read_upgradable_until(deadline)
    }

    /// Acquires the lock for upgradable reading if that needs no wait.
    pub fn try_read_upgradable(&self) -> bool {
        self.base.try_read_upgradable()
    }

    /// Releases an upgradable reader's hold.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock for upgradable reading.
    /// 2. The lock outlives this call.
    pub unsafe fn unlock_upgradable(&self) {
        // SAFETY: an upgradable hold is the semaphore's; passes the contract on.
        unsafe { self.base.unlock_upgradable() }
    }

    /// Releases an upgradable reader's hold; the last reader passes the lock to the first waiter.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: as in unlock_upgradable().
        unsafe { self.base.unlock_upgradable_fair() }
    }

    /// Turns the upgradable hold into a reader's; another may have the right then.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn downgrade_upgradable(&self) -> Reading<P> {
        // SAFETY: as in unlock_upgradable().
        unsafe { self.base.downgrade_upgradable() };
        Reading::COUNTED
    }

    /// Turns a writer's hold into an upgradable reader's.
    ///
    /// # Safety
    ///
    /// As for [`unlock_write`](Self::unlock_write).
    pub unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: as in unlock_write().
        unsafe { self.base.downgrade_to_upgradable() }
    }

    /// Turns the upgradable hold into a writer's if there are no other readers.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: as in unlock_upgradable().
        unsafe { self.base.try_upgrade() && self.alone_or_upgradable(Patience::Try) }
    }

    /// Turns the upgradable hold into a writer's, waiting for the other readers to leave.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn upgrade(&self) {
        // SAFETY: as in unlock_upgradable().
        unsafe { self.base.upgrade() };
        self.alone(Patience::Endless);
    }

    /// The same, unless `Platform::now()` reaches `deadline` first: then the caller still holds
    /// the lock for upgradable reading.
    ///
    /// # Safety
    ///
    /// As for [`unlock_upgradable`](Self::unlock_upgradable).
    pub unsafe fn upgrade_until(&self, deadline: u64) -> bool {
        let patience = Patience::Until(deadline);
        // SAFETY: as in unlock_upgradable().
        unsafe { self.base.upgrade_until(deadline) && self.alone_or_upgradable(patience) }
    }

    /// # Safety
    ///
    /// The caller has just upgraded in the semaphore.
    unsafe fn alone_or_upgradable(&self, patience: Patience) -> bool {
        let alone = self.alone(patience);
        if !alone {
            // SAFETY: the caller holds the semaphore for writing (1); `self` lives (2).
            unsafe { self.base.downgrade_to_upgradable() };
        }
        alone
    }

    /// A writer that has to wait for the semaphore lets readers take no more than that: else those in cells,
    /// who know nothing of it, run on while one that it waits for has no CPU.
    #[cold]
    fn end_bias(&self) {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let bias = self.bias.0.load(Relaxed);
        if bias & ON != 0 {
            // Ordering: Relaxed, hint (whoever has the semaphore passes the heavy fence, as if it were on);
            // failure Relaxed, hint (somebody else has ended it)
            let _ = self.bias.0.compare_exchange(bias, bias & PERIOD | ENDING, Relaxed, Relaxed);
        }
    }

    /// What a writer does when it has the semaphore: the run of reads is over, and biased readers
    /// must leave. False if they have not.
    #[inline(always)]
    fn alone(&self, patience: Patience) -> bool {
        // Ordering: Relaxed, owner-only (the semaphore is held for writing) (block)
        if self.run.load(Relaxed) != 0 {
            self.run.store(0, Relaxed);
        }
        self.bias.0.load(Relaxed) == 0 || self.expel(patience)
    }

    /// Turns the bias off and waits for its readers. If they outlast the caller's patience the
    /// bias word keeps their period, so that the next writer knows of them.
    #[cold]
    fn expel(&self, patience: Patience) -> bool {
        // Ordering: Relaxed, hint (under the semaphore's write lock it changes from ON to ENDING at most, and
        // both are the same here)
        let bias = self.bias.0.load(Relaxed);
        let (was_on, waits) = (bias & (ON | ENDING) != 0, !matches!(patience, Patience::Try));
        let began = P::ticks();
        let me = if waits { P::enter() } else { None };
        let slot = me.as_ref().map_or(0, |me| me.slot().get());
        // Ordering: Relaxed, fenced (by the heavy fence below; without it the caller waits for nobody,
        // and the bias is off already) (block)
        self.revoker.store(slot.into(), Relaxed);
        self.bias.0.store(bias & PERIOD, Relaxed);

        if was_on || waits {
            // Ordering: fence_heavy, [biased.dekker], [biased.sleep]: store-load, the bias and the
            // revoker against the look at the cells
            note_fence::<P>(P::fence_heavy());
        }
        let survey = self.survey(bias);
        if was_on {
            inc::<P>(Event::RwsemBiasOff);
            self.judge(survey.reads, P::ticks().wrapping_sub(began));
        }
        let alone = !survey.held || (waits && self.wait_for_all(bias, me.as_ref(), patience));
        // Ordering: Relaxed, hint (whom a late reader wakes for nothing)
        self.revoker.store(0, Relaxed);
        if alone {
            // Ordering: Relaxed, hint (whoever sees the old value goes to the semaphore as well)
            self.bias.0.store(0, Relaxed);
        } else {
            inc::<P>(Event::RwsemBiasFail);
        }
        alone
    }

    /// Every thread's cells, with their tallies.
    fn cells() -> impl Iterator<Item = (&'static P::Word<u64>, &'static P::Word<u64>)> {
        let cells = P::slots().map(|slot| super::cells(P::thread_record(slot)));
        cells.flat_map(|cells| cells.held.iter().zip(&cells.tallies))
    }

    /// Looks at every cell.
    pub(super) fn survey(&self, bias: u64) -> Survey {
        let mut survey = Survey { reads: 0, held: false };
        for (cell, tally) in Self::cells() {
            // Ordering: Acquire, [biased.left]: pairs with the stores in leave() and publish()
            let now = cell.load(Acquire);
            if (now ^ bias) & PERIOD == 0 {
                // Ordering: Relaxed, hint (what the gate goes by)
                survey.reads += tally.load(Relaxed);
                survey.held |= now & CELL_IN_USE != 0;
            }
        }
        survey
    }

    /// Whether the reads of the period have paid for its end: if not, the next must be longer.
    fn judge(&self, reads: u64, ticks: u64) {
        // A line transfer is hundreds of cycles, so an eighth of it is 1 ns at least. The other CPUs
        // were interrupted as well, for about as long as the caller waited.
        let saved_ns = reads * u64::from(P::line_ns() / 8).max(1);
        let paid = saved_ns >= 2 * P::ns_of(ticks);
        if paid {
            inc::<P>(Event::RwsemBiasPaid);
        }
        if FIRST == 0 {
            return;
        }
        // Ordering: Relaxed, owner-only (the semaphore is held for writing) (block)
        let gate = FIRST.wrapping_add(self.gate.load(Relaxed));
        let next = if paid { gate.saturating_sub(1).max(GATES.0) } else { (gate + 1).min(GATES.1) };
        self.gate.store(next.wrapping_sub(FIRST), Relaxed);
    }

    fn wait_for_all(&self, bias: u64, me: Option<&Me<P>>, patience: Patience) -> bool {
        Self::cells().all(|(cell, _)| self.wait_for(cell, bias, me, patience))
    }

    /// Waits until the period's reader in `cell` has left.
    fn wait_for(
        &self,
        cell: &P::Word<u64>,
        bias: u64,
        me: Option<&Me<P>>,
        patience: Patience,
    ) -> bool {
        loop {
            // Ordering: Acquire, [biased.left]: pairs with the stores in leave() and publish()
            let now = cell.load(Acquire);
            if (now ^ bias) & PERIOD != 0 || now & CELL_IN_USE == 0 {
                return true;
            }
            let mask = PERIOD | CELL_IN_USE;
            let until = Until::CHANGED.deadline(P::ticks() + P::ticks_of(SPIN_NS));
            // Ordering: Relaxed, hint (re-checked by the load above)
            if let Spin::Changed(_) = P::spin_while(cell, mask, now & mask, Relaxed, until) {
                continue;
            }
            let deadline = match patience {
                Patience::Until(at) if P::now() >= at => return false,
                Patience::Until(at) => Some(at),
                _ => None,
            };
            match me {
                Some(me) => {
                    P::park(me, deadline);
                    P::check_in(me);
                    inc::<P>(Event::RwsemBiasSleep);
                }
                None => P::sleep(NO_NODE_SLEEP_NS),
            }
        }
    }
}
