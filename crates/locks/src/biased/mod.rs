//! A reader-writer lock biased towards readers: while the bias is on, a reader writes nothing
//! that another reader writes.
//!
//! *Algorithm*: BRAVO (Dice and Kogan, "BRAVO: Biased Locking for Reader-Writer Locks", USENIX
//! ATC 2019) over the [reader-writer semaphore](crate::rwsem). A reader publishes in a cell of its
//! own thread's record and looks again whether the bias is on. A writer takes the semaphore, turns
//! the bias off, makes every thread pass a fence, and waits for the readers it finds in the cells.
//! *Differs from the paper in*: cells lie in the threads' records, not in a table that all share, so
//! a reader needs no atomic exchange; a membarrier on the writers' side instead of a fence on the
//! readers'; a cell names the *period* for which the bias was on, a number used once, so that a
//! guard that was forgotten bars nobody from another lock at the same address; a writer sleeps, and
//! the readers it waits for wake it; the bias returns after a run of reads, not after a time (below).
//!
//! *Guarantees*: those of the semaphore, for timed, fair, upgradable and repeated reads as well. A
//! try to read or to write fails also beside a try to write that is about to fail. *Does not
//! guarantee*: in signal handlers, [`RawBiasedRwLock::read_recursive`]; a guard taken in a handler must
//! be dropped in it. A reader that cannot publish (no slot, a line full of cells in use) takes the
//! semaphore. *Fork*: the child forgets the biased readers of other threads, which do not exist
//! there; the caller's own holds stay. *Thread exit*: a hold that outlives its thread stays, and so
//! does the thread's slot. *Poisoning*: none.
//! *Cost*: 128 bytes, two lines: readers poll the first, which changes with the bias only; one line
//! for each thread. A biased read: two stores to the thread's own line, no atomic operation. Where
//! the kernel has no membarrier, two full fences. A revocation: a heavy fence, and a line transfer
//! for each thread slot in use. A reader of the semaphore: a plain store to the thread's own line more; a
//! writer: two loads.
//! *Waiting*: a writer that must wait for the semaphore ends the bias first, or readers in cells would run on
//! where one that it waits for has no CPU (seen: 4 ms, a tick, beside four readers on two CPUs). A revoking
//! writer spins for `SPIN_NS`, then sleeps until a reader that leaves sees the bias off. Everybody else waits
//! as the semaphore's policy says.
//!
//! *When the bias is on*: after a run of 2^g reads without a writer, g being 10 at first. A
//! revocation is timed, and the reads of the period are counted in the cells, which the writer has
//! to look at anyway. If they have saved more than the revocation cost, g goes down by one, else up
//! by one: a lock that is written every hundredth time soon has a g that no run reaches. What a read
//! saves is taken to be an eighth of a line transfer (assumed; an atomic pair without contention).
//! *Checked by*: `tests/loom_biased.rs`, the reader-writer contract of `lockwright-contract`.
//!
//! ```text
//! State   bias     0 off, no reader in a cell | period + ON | period + ENDING: off for new readers, a writer
//!                  waits for the semaphore | period: off, its readers may be in cells
//!         run      reads of the semaphore since the last writer, about: a sample of them
//!         gate     g - FIRST
//!         revoker  slot of the writer that waits for readers, or 0
//!         cell     bits 0..6 holds of the thread in the period | 6.. period
//!         tally    reads of the thread in the period, if the cell names it still
//! ```
//!
//! `bias` is turned on under the semaphore's read lock, from ON to ENDING by anybody, and changed otherwise
//! under the semaphore's write lock only, so whoever holds either knows the period. A cell is written by its
//! thread alone.
//!
//! ```text
//! Edges
//!  [biased.dekker] publish: cell store, fence_light, look at bias <-> expel: bias store, fence_heavy, look at cells  a reader goes back or the writer waits for it
//!  [biased.sleep]  leave: cell store, fence_light, look at bias and revoker <-> expel: revoker and bias store, fence_heavy, look at cells  the writer sees that the reader left or is woken
//!  [biased.on]     turn_on: bias exchange Release -> publish: bias load Acquire  publishes the last writer's section to biased readers
//!  [biased.left]   leave, publish, nested: cell store Release -> survey, wait_for: cell load Acquire  publishes the end of the sections before it
//! ```

mod revoke;

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{
    CELL_IN_USE, CELLS, Cells, Platform, Slot, ThreadRecord, Word, ZeroWord,
};

use crate::events::{Event, inc};
use crate::record::node;
use crate::rwsem::{Policy, RawRwLock, count};

/// The policy's name, as the command line knows it.
pub const NAME: &str = "reader-biased";
/// What it is.
pub const STAGE: &str =
    "the default, with readers that write no shared line where writers are rare";

/// In the bias word: readers may publish. One hold in a cell, too, so a reader publishes the word.
const ON: u64 = 1;
/// In the bias word: readers may publish no more, but no writer has made them pass a fence yet.
const ENDING: u64 = 2;
/// Where the period begins, in the bias word and in cells.
const PERIOD_SHIFT: u32 = CELL_IN_USE.count_ones();
const PERIOD: u64 = !CELL_IN_USE;

/// Reads without a writer before the bias is turned on first, binary logarithm. Source: measured on
/// two CPUs, a revocation takes the writer 0.4 to 1.4 us, and a read saves 10 ns alone and up to 140
/// ns beside another: at one write in a thousand the bias pays (+20 % on one CPU), at one in a hundred
/// a run of 1024 reads comes once in 30,000 writes.
pub const FIRST_GATE: u32 = 10;

/// A reader's hold on a [`RawBiasedRwLock`].
#[must_use]
pub struct Reading<P: Platform> {
    /// Where it is published; `None`: in the semaphore's count.
    cell: Option<&'static P::Word<u64>>,
    /// A cell is written by its own thread.
    _here: PhantomData<*mut ()>,
}

// SAFETY: a shared reference to it gives access to nothing.
unsafe impl<P: Platform> Sync for Reading<P> {}

impl<P: Platform> Reading<P> {
    const COUNTED: Self = Reading { cell: None, _here: PhantomData };

    #[inline(always)]
    fn published(cell: &'static P::Word<u64>) -> Self {
        Reading { cell: Some(cell), _here: PhantomData }
    }
}

/// A thread's cells.
#[inline(always)]
fn cells<P: Platform>(record: &'static ThreadRecord<P>) -> &'static Cells<P> {
    // SAFETY: this module alone reaches them; a writer reads others' and changes none (1).
    unsafe { record.cells() }
}

/// On a line of its own.
#[repr(align(64))]
struct Line<T>(T);

/// A reader-writer lock without data, biased towards readers, first after a run of 2^`FIRST` reads.
/// With 0 that run is never found too short: the bias comes as often as it can, for tests. More than 31
/// does not compile:
///
/// ```compile_fail,E0080
/// use lockwright_locks::biased::RawBiasedRwLock;
/// use lockwright_locks::rwsem::Standard;
/// use lockwright_platform::Native;
///
/// static LOCK: RawBiasedRwLock<Native, Standard, 32> = RawBiasedRwLock::INIT;
/// LOCK.read();
/// ```
#[repr(C)]
pub struct RawBiasedRwLock<P: Platform, W: Policy, const FIRST: u32 = FIRST_GATE> {
    /// On a line of its own: readers poll it.
    bias: Line<P::Word<u64>>,
    base: RawRwLock<P, W>,
    run: P::Word<u32>,
    gate: P::Word<u32>,
    revoker: P::Word<u32>,
}

impl<P: Platform, W: Policy, const FIRST: u32> RawBiasedRwLock<P, W, FIRST>
where
    P::Word<u64>: ZeroWord,
    P::Word<u32>: ZeroWord,
{
    /// An unlocked lock.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawBiasedRwLock {
        bias: Line(ZeroWord::ZERO),
        base: RawRwLock::INIT,
        run: ZeroWord::ZERO,
        gate: ZeroWord::ZERO,
        revoker: ZeroWord::ZERO,
    };
}

impl<P: Platform, W: Policy, const FIRST: u32> Default for RawBiasedRwLock<P, W, FIRST> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, W: Policy, const FIRST: u32> RawBiasedRwLock<P, W, FIRST> {
    /// A prime, so that a thread that reads several locks in turn counts reads of all.
    const SAMPLE: u32 = {
        assert!(FIRST < u32::BITS, "a run of 2^FIRST reads is counted in 32 bits");
        if FIRST < 6 { 1 } else { 61 }
    };

    /// An unlocked lock, where a constant cannot be had (the model checker).
    pub fn new() -> Self {
        RawBiasedRwLock {
            bias: Line(Word::new(0)),
            base: RawRwLock::new(),
            run: Word::new(0),
            gate: Word::new(0),
            revoker: Word::new(0),
        }
    }

    /// The semaphore below, for tests and tools.
    #[doc(hidden)]
    pub fn base(&self) -> &RawRwLock<P, W> {
        &self.base
    }

    /// Whether readers may publish now, for tests and tools.
    #[doc(hidden)]
    pub fn is_biased(&self) -> bool {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        self.bias.0.load(Relaxed) & ON != 0
    }

    /// Whether somebody holds the lock now.
    pub fn is_locked(&self) -> bool {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        let bias = self.bias.0.load(Relaxed);
        self.base.is_locked() || (bias != 0 && self.survey(bias).held)
    }

    /// Whether a writer holds the lock now, or waits for nobody but readers.
    pub fn is_locked_exclusive(&self) -> bool {
        self.base.is_locked_exclusive()
    }

    /// Acquires the lock for reading, waiting as long as it takes.
    #[inline(always)]
    pub fn read(&self) -> Reading<P> {
        match self.read_biased() {
            Some(reading) => reading,
            None => self.read_base(),
        }
    }

    #[inline(always)]
    fn read_base(&self) -> Reading<P> {
        self.base.read();
        self.counted()
    }

    /// Acquires the lock for reading unless `Platform::now()` reaches `deadline` first.
    #[inline]
    pub fn read_until(&self, deadline: u64) -> Option<Reading<P>> {
        self.read_biased().or_else(|| self.base.read_until(deadline).then(|| self.counted()))
    }

    /// Acquires the lock for reading if no writer holds it and nobody waits.
    #[inline]
    pub fn try_read(&self) -> Option<Reading<P>> {
        self.read_biased().or_else(|| self.base.try_read().then(|| self.counted()))
    }

    /// As [`read`](Self::read), for a thread that may hold the lock for reading already.
    pub fn read_recursive(&self) -> Reading<P> {
        self.try_read_recursive().unwrap_or_else(|| self.read())
    }

    /// The same if it needs no wait; see [`RawRwLock::try_read_recursive`]. A reader in a cell that a
    /// writer waits for joins itself there.
    pub fn try_read_recursive(&self) -> Option<Reading<P>> {
        let joined = self.read_biased().or_else(|| self.nested());
        joined.or_else(|| self.base.try_read_recursive().then(|| self.counted()))
    }

    #[inline(always)]
    fn read_biased(&self) -> Option<Reading<P>> {
        // Ordering: Relaxed, hint (re-checked by publish)
        let bias = self.bias.0.load(Relaxed);
        if bias & ON == 0 {
            return None;
        }
        match P::my_record() {
            Some(record) => self.publish(bias, cells(record)),
            None => self.first_read(bias),
        }
    }

    /// A thread without a slot claims one; if it cannot keep it, it cannot publish.
    #[cold]
    #[inline(never)]
    fn first_read(&self, bias: u64) -> Option<Reading<P>> {
        drop(P::enter());
        self.publish(bias, cells(P::my_record()?))
    }

    #[inline(always)]
    fn publish(&self, bias: u64, cells: &'static Cells<P>) -> Option<Reading<P>> {
        // Locks that are read in turn mostly have different cells, so each keeps its tally.
        let index = (bias >> PERIOD_SHIFT) as usize % CELLS;
        let (cell, tally) = (&cells.held[index], &cells.tallies[index]);
        // Ordering: Relaxed, owner-only (the caller's own cell)
        if cell.load(Relaxed) != bias - ON {
            return self.publish_first(bias, cells);
        }
        // Ordering: Relaxed, owner-only (the caller's own tally) (block)
        tally.store(tally.load(Relaxed) + 1, Relaxed);

        self.publish_in(bias, cell)
    }

    /// The thread's first read in the period, or its cell is in use: by another lock, or by the
    /// same one.
    #[cold]
    #[inline(never)]
    fn publish_first(&self, bias: u64, cells: &'static Cells<P>) -> Option<Reading<P>> {
        // Ordering: Relaxed, owner-only (the caller's own cells)
        let free = |index: &usize| cells.held[*index].load(Relaxed) & CELL_IN_USE == 0;
        let own = (bias >> PERIOD_SHIFT) as usize;
        let Some(index) = (own..own + CELLS).map(|i| i % CELLS).find(free) else {
            inc::<P>(Event::RwsemBiasNoCell);
            return None;
        };
        // Ordering: Relaxed, owner-only (the caller's own tally)
        cells.tallies[index].store(1, Relaxed);
        self.publish_in(bias, &cells.held[index])
    }

    #[inline(always)]
    fn publish_in(&self, bias: u64, cell: &'static P::Word<u64>) -> Option<Reading<P>> {
        // Ordering: Release, [biased.left]: what the cell said before has ended
        cell.store(bias, Release);
        // Ordering: fence_light, [biased.dekker]: store-load, the cell against the look at the bias
        P::fence_light();
        // Ordering: Acquire, [biased.on]: pairs with the exchange in turn_on()
        if self.bias.0.load(Acquire) == bias {
            return Some(Reading::published(cell));
        }
        self.too_late(cell);
        None
    }

    /// The bias was turned off meanwhile.
    #[cold]
    #[inline(never)]
    fn too_late(&self, cell: &P::Word<u64>) {
        self.leave(cell);
    }

    /// One hold more in a cell where the caller has one, which bars writers already.
    #[cold]
    fn nested(&self) -> Option<Reading<P>> {
        // Ordering: Relaxed, hint (a period does not end while the caller is in a cell with it)
        let bias = self.bias.0.load(Relaxed);
        cells(P::my_record()?).held.iter().find_map(|cell| {
            // Ordering: Relaxed, owner-only (the caller's own cell)
            let old = cell.load(Relaxed);
            let holds = old & CELL_IN_USE;
            if (old ^ bias) & PERIOD != 0 || holds == 0 || holds == CELL_IN_USE {
                return None;
            }
            // Ordering: Release, [biased.left]: what the cell said before its period has ended
            cell.store(old + 1, Release);
            Some(Reading::published(cell))
        })
    }

    /// What a reader of the semaphore notes when it has it: one in [`Self::SAMPLE`] adds that number
    /// to the run. More often would cost a few percent where the lock's line is contended.
    #[inline(always)]
    fn counted(&self) -> Reading<P> {
        let Some(record) = P::my_record() else {
            return self.first_counted();
        };
        let uncounted = &node::words(record)[node::UNCOUNTED];
        // Ordering: Relaxed, owner-only (the caller's own word) (block)
        match uncounted.load(Relaxed) {
            0 => self.sampled(uncounted),
            left => uncounted.store(left - 1, Relaxed),
        }

        Reading::COUNTED
    }

    /// A thread without a slot claims one; if it cannot keep it, its reads do not count.
    #[cold]
    #[inline(never)]
    fn first_counted(&self) -> Reading<P> {
        drop(P::enter());
        if let Some(record) = P::my_record() {
            self.sampled(&node::words(record)[node::UNCOUNTED]);
        }
        Reading::COUNTED
    }

    #[cold]
    #[inline(never)]
    fn sampled(&self, uncounted: &P::Word<u32>) {
        // Ordering: Relaxed, owner-only (the caller's own word)
        uncounted.store(Self::SAMPLE - 1, Relaxed);
        // Ordering: Relaxed, hint (a lost update makes the run a little longer) (block)
        let run = self.run.load(Relaxed).saturating_add(Self::SAMPLE);
        self.run.store(run, Relaxed);
        let gate = FIRST.wrapping_add(self.gate.load(Relaxed));

        if run >> gate != 0 {
            self.turn_on();
        }
    }

    /// Turns the bias on. The caller holds the semaphore for reading.
    #[cold]
    fn turn_on(&self) {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let old = self.bias.0.load(Relaxed);
        if old & ON != 0 || self.base.count() & (count::WAITERS | count::HANDOFF) != 0 {
            return;
        }
        let period = match old {
            0 => P::unique_id() << PERIOD_SHIFT,
            // A writer has given up: the readers that it did not wait for are in cells still.
            same => same & PERIOD,
        };
        // Ordering: Release, [biased.on]: pairs with the load in publish(); Relaxed, hint (another
        // reader has done it)
        let on = self.bias.0.compare_exchange(old, period | ON, Release, Relaxed).is_ok();
        // From ENDING nothing that counts has ended it.
        if on && old & ENDING == 0 {
            inc::<P>(Event::RwsemBiasOn);
        }
    }

    /// Releases a reader's hold.
    ///
    /// # Safety
    ///
    /// 1. `reading` is the caller's, of this lock.
    /// 2. The lock outlives this call.
    #[inline(always)]
    pub unsafe fn unlock_read(&self, reading: Reading<P>) {
        match reading.cell {
            Some(cell) => self.leave(cell),
            // SAFETY: the hold is not published, so it is in the semaphore's count (1); 2 is 2.
            None => unsafe { self.base.unlock_read() },
        }
    }

    /// The same; if it is the last reader in the semaphore, the first waiters get the lock.
    ///
    /// # Safety
    ///
    /// As for [`unlock_read`](Self::unlock_read).
    pub unsafe fn unlock_read_fair(&self, reading: Reading<P>) {
        match reading.cell {
            Some(cell) => self.leave(cell),
            // SAFETY: as in unlock_read().
            None => unsafe { self.base.unlock_read_fair() },
        }
    }

    #[inline(always)]
    fn leave(&self, cell: &P::Word<u64>) {
        // Ordering: Relaxed, owner-only (the caller's own cell)
        let now = cell.load(Relaxed);
        // Ordering: Release, [biased.left]: pairs with the loads in survey() and wait_for()
        cell.store(now - 1, Release);
        // Ordering: fence_light, [biased.sleep]: store-load, the cell against the look at the bias
        P::fence_light();
        // Ordering: Relaxed, fenced (by the fence above: a writer that does not see the cell free is
        // seen to have turned the bias off)
        if self.bias.0.load(Relaxed) & ON == 0 {
            self.wake_revoker();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_revoker(&self) {
        // Ordering: Relaxed, fenced (by the fence in leave(): the writer sees that the cell is free,
        // or this is its slot; one that is not waiting any more wakes up once for nothing)
        if let Some(slot) = Slot::new(self.revoker.load(Relaxed) as u16) {
            P::unpark(slot);
        }
    }
}
