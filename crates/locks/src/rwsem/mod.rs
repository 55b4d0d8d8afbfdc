//! The reader-writer semaphore: count word with bit fields, FIFO of waiters, every policy of the
//! kernel's series as a switch.
//!
//! *Algorithm*: the Linux kernel's rwsem in the layout of 5.3, written anew from its description;
//! what the stages of 2012 to 2023 did differently are [switches](policy::Switches). *Differs
//! from the kernel in*: the owner is known by the CPU it took the lock on (a reader-owned word by
//! the CPU of the reader that wrote it last); no spin outlasts `spin_ns`; a first writer wakes by
//! itself to forbid stealing, since steady readers may leave no unlock to wake it (race 16); who comes
//! now and then stands before who uses the lock all the time (`guest_ns`, see `share`); the
//! stages before 5.3 run on this layout, so a reader that backs out is visible in the count, which
//! the old one did not tell from a holder either; an upgradable reader, which the kernel has not.
//!
//! *Guarantees*: writers exclude everybody, an upgradable reader excludes writers and its like;
//! with `handoff_ns`, nobody overtakes the first waiter once it has asked, which it does at the
//! first look at the lock after that time (guests go before it for as long again, then ask in its
//! place: it waits for twice `handoff_ns`, and for the sections of those before it); a reader that holds the lock may take it again by
//! [`RawRwLock::read_recursive`] whoever waits; more than 2^55 - 1 readers are refused, not miscounted;
//! abortable by deadline. *Does not guarantee*: order among runners; a bound for a thread without
//! a slot; use in signal handlers (an unlock may have to wait for the queue's wait lock); priority
//! inheritance; use across processes. *Fork*: as the
//! mutex; where readers count themselves in first (`counts_first`, the kernel's stages), a reader of another
//! thread that was just backing out stays in the child's count. *Poisoning*: none.
//! *Cost*: 16 bytes; one atomic operation to lock and one to unlock, for readers and writers.
//! *Waiting*: as the policy says; then asleep in the queue of the lock's `record`.
//! *Checked by*: `tests/loom_rwsem.rs`, the reader-writer contract of `lockwright-contract`.
//!
//! ```text
//! State   count   bit 0 WRITER | 1 WAITERS | 2 HANDOFF | 3 UPGRADABLE | 8..62 readers | 63 too many readers
//!         owner   bit 0 READER_OWNED | 1 RD_NONSPINNABLE | 2 WR_NONSPINNABLE | 8.. CPU + 1; a hint only
//!         ctl     index of the record, see `record::ctl`; the flags there are unused
//! ```
//!
//! With `counts_first` the reader count includes readers that are about to back out. WAITERS, HANDOFF and the queue
//! change under the record's wait lock only. Whoever takes a reader's count back does what an unlock
//! does, since an unlock that saw it has left the wake-up to it; or, if it goes on to spin, sees to it
//! that somebody will (`back_out`). WAITERS may be down while the
//! first waiter is a writer that has been woken, dozes with a timer of its own (`doze_ns`), or
//! waits awake for readers to leave (`handoff_from_readers`).
//!
//! ```text
//! Edges
//!  [rwsem.write] unlock_write, downgrade: count RMW Release -> read, try_read, write, queued attempts, mark_wake: count RMW Acquire  publishes the writer's section
//!  [rwsem.read]  unlock_read: count RMW Release -> write, queued attempts: count RMW Acquire  publishes the end of the readers' sections
//!  [rwsem.grant] mark_wake: state store Release -> wait_read, wait_write, cancel: state load Acquire  publishes the section to the waiter it is granted to
//!  [rwsem.queue] queue: count RMW Release -> wake: count load Acquire  publishes the index of the record to the unlock that saw WAITERS
//! ```

mod guest;
pub mod policy;
mod read;
mod spin;
mod upgrade;
mod wake;
mod write;

pub use policy::{Policy, Recursive, Standard};

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{NO_CPU, Platform, Word, ZeroWord};

use crate::record::{Control, Defer};
use policy::Switches;
use wake::Wakers;

/// Bits of the count word.
pub mod count {
    /// A writer holds the lock.
    pub const WRITER: u64 = 1;
    /// The queue is not empty.
    pub const WAITERS: u64 = 2;
    /// The first waiter forbids stealing.
    pub const HANDOFF: u64 = 4;
    /// One of the readers may upgrade.
    pub const UPGRADABLE: u64 = 8;
    /// One reader.
    pub const READER: u64 = 1 << 8;
    /// Too many readers.
    pub const READ_FAIL: u64 = 1 << 63;
    /// All readers.
    pub const READERS: u64 = !(READER - 1) & !READ_FAIL;
    /// Held, or about to be.
    pub const LOCKED: u64 = WRITER | READERS | READ_FAIL;
    /// Any of these sends a reader to its slow path.
    pub const READ_FAILED: u64 = WRITER | WAITERS | HANDOFF | READ_FAIL;
}

use count::{HANDOFF, LOCKED, READ_FAIL, READ_FAILED, READER, WAITERS, WRITER};

/// Bits of the owner word.
mod owner {
    pub const READER_OWNED: u32 = 1;
    pub const RD_NONSPINNABLE: u32 = 2;
    pub const WR_NONSPINNABLE: u32 = 4;
    pub const NONSPINNABLE: u32 = RD_NONSPINNABLE | WR_NONSPINNABLE;
    pub const CPU_SHIFT: u32 = 8;
}

/// What a waiter waits for; in its node.
mod kind {
    pub const READER: u32 = 0;
    pub const WRITER: u32 = 1;
    pub const UPGRADABLE: u32 = 2;
    /// The upgradable reader, waiting for the others to leave.
    pub const UPGRADING: u32 = 3;
}

/// A reader-writer lock without data. Who may unlock what is the caller's to know.
#[repr(C)]
pub struct RawRwLock<P: Platform, W: Policy> {
    count: P::Word<u64>,
    owner: P::Word<u32>,
    ctl: P::Word<u32>,
    _policy: PhantomData<W>,
}

impl<P: Platform, W: Policy> RawRwLock<P, W>
where
    P::Word<u64>: ZeroWord,
    P::Word<u32>: ZeroWord,
{
    /// An unlocked lock.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawRwLock {
        count: ZeroWord::ZERO,
        owner: ZeroWord::ZERO,
        ctl: ZeroWord::ZERO,
        _policy: PhantomData,
    };
}

impl<P: Platform, W: Policy> Default for RawRwLock<P, W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, W: Policy> RawRwLock<P, W> {
    const S: Switches = {
        // A doze takes WAITERS down; a writer that sleeps again without the wait lock leaves it so.
        assert!(
            !W::SWITCHES.waits.recheck_before_wait_lock
                || W::SWITCHES.user.doze_ns == policy::NEVER
        );
        // A guest forbids stealing.
        assert!(
            W::SWITCHES.user.guest_ns == policy::NEVER
                || W::SWITCHES.admission.handoff_ns != policy::NEVER
        );
        W::SWITCHES
    };
    /// Whether anything asks who holds the lock.
    const HINTS: bool = Self::S.waits.writers_spin
        || Self::S.waits.readers_spin
        || Self::S.admission.anti_starvation;

    /// An unlocked lock, where a constant cannot be had (the model checker).
    pub fn new() -> Self {
        // SAFETY: nobody holds it (1).
        unsafe { Self::with_count(0) }
    }

    /// For tests: a lock whose count word begins as `count`.
    ///
    /// # Safety
    ///
    /// 1. What the word says is true: so many hold the lock.
    #[doc(hidden)]
    pub unsafe fn with_count(count: u64) -> Self {
        RawRwLock {
            count: Word::new(count),
            owner: Word::new(0),
            ctl: Word::new(0),
            _policy: PhantomData,
        }
    }

    /// The count word (see [`count`]), for tests and tools.
    #[doc(hidden)]
    pub fn count(&self) -> u64 {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        self.count.load(Relaxed)
    }

    /// The control word (see `record::ctl`), for tests and tools.
    #[doc(hidden)]
    pub fn control(&self) -> u32 {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        self.ctl.load(Relaxed)
    }

    /// What names the record.
    fn anchor(&self) -> Control<'_, P> {
        Control(&self.ctl)
    }

    /// Whether somebody holds the lock now.
    pub fn is_locked(&self) -> bool {
        self.count() & LOCKED != 0
    }

    /// Whether a writer holds the lock now.
    pub fn is_locked_exclusive(&self) -> bool {
        self.count() & WRITER != 0
    }

    /// Acquires the lock for reading, waiting as long as it takes.
    #[inline]
    pub fn read(&self) {
        self.read_by(None);
    }

    /// Acquires the lock for reading unless `Platform::now()` reaches `deadline` first.
    #[inline]
    pub fn read_until(&self, deadline: u64) -> bool {
        self.read_by(Some(deadline))
    }

    #[inline(always)]
    fn read_by(&self, deadline: Option<u64>) -> bool {
        if W::RECURSIVE_READS && self.try_read_recursive() {
            return true;
        }
        if !Self::S.user.counts_first {
            return self.try_read_unless(|_| READ_FAILED) || self.read_slow(None, deadline);
        }
        // Ordering: Acquire, [rwsem.write]: pairs with the release in unlock_write()
        let now = self.count.fetch_add(READER, Acquire).wrapping_add(READER);
        if now & READ_FAILED == 0 {
            self.note_reader();
            return true;
        }
        self.read_slow(Some(now), deadline)
    }

    /// Acquires the lock for reading if no writer holds it and nobody waits.
    #[inline]
    pub fn try_read(&self) -> bool {
        if W::RECURSIVE_READS {
            return self.try_read_recursive();
        }
        self.try_read_unless(|_| READ_FAILED)
    }

    /// The same for a thread that reads already, perhaps: if there are readers and no writer, it
    /// joins them whoever waits. Never waits for a writer that waits for the caller. (A reader that
    /// is about to back out cannot be told from a holder, and lets the caller in as well.)
    pub fn try_read_recursive(&self) -> bool {
        self.try_read_unless(|now| {
            if now & count::READERS != 0 { WRITER | READ_FAIL } else { READ_FAILED }
        })
    }

    /// As [`read`](Self::read), for a thread that may hold the lock for reading already.
    pub fn read_recursive(&self) {
        if !self.try_read_recursive() {
            self.read();
        }
    }

    #[inline(always)]
    fn try_read_unless(&self, refused: impl Fn(u64) -> u64) -> bool {
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = self.count.load(Relaxed);
        while now & refused(now) == 0 {
            let new = now.wrapping_add(READER);
            if new & READ_FAIL != 0 {
                return false;
            }
            // Ordering: Acquire, [rwsem.write]: pairs with the release in unlock_write();
            // Relaxed, hint (retried)
            match self.count.compare_exchange(now, new, Acquire, Relaxed) {
                Ok(_) => {
                    self.note_reader();
                    return true;
                }
                Err(other) => now = other,
            }
        }
        false
    }

    /// Acquires the lock for writing, waiting as long as it takes.
    #[inline]
    pub fn write(&self) {
        if self.write_fast() {
            self.note_writer();
        } else {
            self.write_slow(None);
        }
    }

    /// Acquires the lock for writing unless `Platform::now()` reaches `deadline` first.
    #[inline]
    pub fn write_until(&self, deadline: u64) -> bool {
        if self.write_fast() {
            self.note_writer();
            return true;
        }
        self.write_slow(Some(deadline))
    }

    /// Acquires the lock for writing if nobody holds it and the policy lets the caller overtake
    /// those who wait.
    #[inline]
    pub fn try_write(&self) -> bool {
        if self.write_fast() {
            self.note_writer();
            return true;
        }
        self.try_write_unqueued()
    }

    #[inline(always)]
    fn write_fast(&self) -> bool {
        // Ordering: Acquire, [rwsem.write], [rwsem.read]: pairs with the releases in
        // unlock_write() and unlock_read(); Relaxed, hint (failure goes to the slow path)
        self.count.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok()
    }

    /// Releases a reader's hold.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock for reading, and does not upgrade.
    /// 2. The lock outlives this call.
    #[inline]
    pub unsafe fn unlock_read(&self) {
        self.give_back(READER);
    }

    /// Takes `what` a reader holds, or was about to, out of the count, and wakes if need be.
    #[inline(always)]
    fn give_back(&self, what: u64) {
        // Ordering: Release, [rwsem.read]: pairs with the writers' acquisitions
        let now = self.count.fetch_sub(what, Release).wrapping_sub(what);
        if now & WAITERS != 0 {
            self.reader_left(now, what);
        }
    }

    /// Releases the writer's hold.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock for writing.
    /// 2. The lock outlives this call.
    #[inline]
    pub unsafe fn unlock_write(&self) {
        if Self::HINTS {
            // Ordering: Relaxed, hint (a spinner that sees it looks at the count)
            self.owner.store(0, Relaxed);
        }
        // Ordering: Release, [rwsem.write]: pairs with the acquisitions of readers and writers
        let now = self.count.fetch_sub(WRITER, Release);
        if now & WAITERS != 0 {
            self.writer_left(now);
        }
    }

    /// Runs `section` with the lock held for reading. For callers that have no guards.
    #[inline]
    pub fn while_reading<T>(&self, section: impl FnOnce() -> T) -> T {
        self.read();
        // SAFETY: acquired above and released once; `self` is borrowed beyond this call.
        let _held = Defer(|| unsafe { self.unlock_read() });
        section()
    }

    /// Runs `section` with the lock held for writing. For callers that have no guards.
    #[inline]
    pub fn while_writing<T>(&self, section: impl FnOnce() -> T) -> T {
        self.write();
        // SAFETY: acquired above and released once; `self` is borrowed beyond this call.
        let _held = Defer(|| unsafe { self.unlock_write() });
        section()
    }

    /// Runs `write` with the lock held for writing, then `read` with the hold turned into a reader's. For
    /// callers that have no guards.
    pub fn while_writing_then_reading<T>(
        &self,
        write: impl FnOnce(),
        read: impl FnOnce() -> T,
    ) -> T {
        self.write();
        // SAFETY: acquired above and released once, here or below; `self` is borrowed beyond this call.
        let written = Defer(|| unsafe { self.unlock_write() });
        write();
        core::mem::forget(written);
        // SAFETY: held for writing, for the release above did not run.
        unsafe { self.downgrade() };
        // SAFETY: held for reading by the line above, and released once.
        let _held = Defer(|| unsafe { self.unlock_read() });
        read()
    }

    /// Turns the writer's hold into a reader's, letting other readers in.
    ///
    /// # Safety
    ///
    /// As for [`unlock_write`](Self::unlock_write).
    pub unsafe fn downgrade(&self) {
        // Ordering: Release, [rwsem.write]: pairs with the acquisitions of readers
        let before = self.count.fetch_add(READER - WRITER, Release);
        self.note_reader();
        if before & WAITERS != 0 {
            self.wake(Wakers::ReadOwned);
        }
    }

    /// What a writer notes when it has the lock. Clears what forbade spinning.
    #[inline(always)]
    fn note_writer(&self) {
        if Self::HINTS {
            // Ordering: Relaxed, hint (spinners read it as such)
            self.owner.store(Self::me_as_owner(), Relaxed);
        }
    }

    /// What a reader notes when it has the lock. What forbids writers to spin does not stay: there is
    /// a new reader to wait for. What forbids readers to does from P11 on (commit 5cfd92e12e), or
    /// where one bit forbids both.
    #[inline(always)]
    fn note_reader(&self) {
        if !Self::HINTS {
            return;
        }
        // Ordering: Relaxed, hint (read and written as such; an update may be lost, race 17) (block)
        let old = self.owner.load(Relaxed);
        let goes = Self::S.waits.split_bits && !Self::S.waits.sticky_reader_bit;
        let stays = if goes { 0 } else { Self::forbidding(true) };
        let new = Self::me_as_owner() | owner::READER_OWNED | old & stays;
        if !Self::S.user.owner_write_on_change || new != old {
            self.owner.store(new, Relaxed);
        }
    }

    #[inline(always)]
    fn me_as_owner() -> u32 {
        (u32::from(P::cpu()) + 1) << owner::CPU_SHIFT
    }

    /// The CPU in an owner word.
    fn cpu_of(word: u32) -> u16 {
        u16::try_from((word >> owner::CPU_SHIFT).wrapping_sub(1)).unwrap_or(NO_CPU)
    }

    /// What refuses the lock to a caller that is not queued.
    fn refused(reader: bool) -> u64 {
        match (reader, Self::S.admission.writers_steal) {
            (true, _) => WRITER | HANDOFF | READ_FAIL,
            (false, true) => LOCKED | HANDOFF,
            (false, false) => LOCKED | HANDOFF | WAITERS,
        }
    }

    /// One attempt of a writer that is not queued: steals from those who are, if it may.
    fn try_write_unqueued(&self) -> bool {
        let refused = Self::refused(false);
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = self.count.load(Relaxed);
        while now & refused == 0 {
            // Ordering: Acquire, [rwsem.write], [rwsem.read]: pairs with the releases; Relaxed,
            // hint (retried)
            match self.count.compare_exchange(now, now | WRITER, Acquire, Relaxed) {
                Ok(_) => {
                    self.note_writer();
                    return true;
                }
                Err(other) => now = other,
            }
        }
        false
    }
}
