//! What a lock needs of the world, and nothing of what a lock is.
//!
//! The algorithms of `lockwright-locks` are generic over [`Platform`]: words with memory
//! orderings, one busy-wait operation that says why it stopped, a park token per thread, an
//! asymmetric pair of fences, a clock, and the answers to "who am I" and "where do I run".
//! No algorithm knows which platform it runs on.
//!
//! | platform | what it is |
//! |---|---|
//! | [`Native`] | real threads: on 64-bit Linux by futex, rseq and membarrier (`native`), elsewhere by the standard library alone (`portable`) |
//! | `Model` (crate `lockwright-model`) | the loom model checker |
//! | `counting::Counting` (feature `counting`) | one thread and a script, every operation counted |
//!
//! What user space cannot know exactly is approximated; [`Native`] states each approximation
//! beside the function that makes it.

#![no_std]

#[cfg(any(all(feature = "native", target_os = "none"), not(target_has_atomic = "64")))]
compile_error!(
    "lockwright needs threads of the standard library and 64-bit atomic operations, which this target has \
     not: choose std::sync's locks there, or a spin lock where there is no standard library \
     (`[target.'cfg(target_has_atomic = \"64\")'.dependencies]` in Cargo.toml asks for lockwright elsewhere only)"
);

// The native platform needs it only where `native::initial_exec` does.
#[cfg(any(
    test,
    feature = "counting",
    feature = "fiber",
    all(
        feature = "native",
        not(target_os = "none"),
        any(
            miri,
            lockwright_portable,
            not(all(target_os = "linux", target_env = "gnu")),
            not(any(target_arch = "x86_64", target_arch = "aarch64"))
        )
    )
))]
extern crate std;

#[cfg(feature = "park_hook")]
mod hook;
mod numa;
#[cfg(all(feature = "native", not(target_os = "none")))]
mod park;
mod record;
#[cfg(all(feature = "native", not(target_os = "none")))]
mod spin;
#[cfg(all(feature = "native", not(target_os = "none")))]
mod table;
#[cfg(all(feature = "native", not(target_os = "none")))]
pub mod threads;
mod until;
mod word;

#[cfg(feature = "park_hook")]
pub use hook::set_park_hook;
pub use numa::{Mode as NumaMode, Numa};
pub use record::{
    CELL_IN_USE, CELLS, Cells, LOCK_WORDS, LockRecord, LockWords, NOTES, QUEUES, QueueEntry,
    THREAD_WORDS, ThreadRecord,
};
pub use until::{Holder, Pace, Spin, Spin2, Until, Wake};
pub use word::{Scalar, Word, ZeroWord};

use core::sync::atomic::Ordering;

#[cfg(feature = "counting")]
pub mod counting;
#[cfg(feature = "fiber")]
pub mod fiber;

// Which of them is `Native`: these four conditions alone say so.
#[cfg(all(
    feature = "native",
    all(target_os = "linux", target_pointer_width = "64", not(lockwright_portable))
))]
pub mod native;
#[cfg(all(
    feature = "native",
    not(target_os = "none"),
    not(all(target_os = "linux", target_pointer_width = "64", not(lockwright_portable)))
))]
pub mod portable;
#[cfg(all(
    feature = "native",
    all(target_os = "linux", target_pointer_width = "64", not(lockwright_portable))
))]
pub use native::{Native, set_numa};
#[cfg(all(
    feature = "native",
    not(target_os = "none"),
    not(all(target_os = "linux", target_pointer_width = "64", not(lockwright_portable)))
))]
pub use portable::{Portable as Native, set_numa};

/// Number of counters in each thread's counter bank.
pub const COUNTERS: usize = if cfg!(loom) { 0 } else { 70 };

/// Index of a thread record: 1..=65,535, so that a queue tail fits 16 bits and 0 means "none".
///
/// A record is type-stable: a stale `Slot` always names memory that is still a thread record,
/// though perhaps another thread's by now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Slot(core::num::NonZeroU16);

impl Slot {
    /// The slot with this index; `None` for 0.
    #[inline]
    pub const fn new(index: u16) -> Option<Self> {
        match core::num::NonZeroU16::new(index) {
            Some(n) => Some(Slot(n)),
            None => None,
        }
    }

    /// The index, never 0.
    #[inline]
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

/// Index of a lock record: 1..=65,535. Type-stable like [`Slot`].
pub type RecordId = Slot;

/// The calling thread's hold on a slot, from [`Platform::enter`] until it is dropped.
///
/// While it lives, the thread's queue node belongs to the one lock operation that entered.
#[must_use]
pub struct Me<P: Platform> {
    slot: Slot,
    record: &'static ThreadRecord<P>,
    /// The slot was claimed for this operation only and goes back when it ends.
    borrowed: bool,
    _here: core::marker::PhantomData<(P, *mut ())>,
}

impl<P: Platform> Me<P> {
    /// For platform implementations: wraps a slot that [`Platform::leave`] will get back.
    ///
    /// # Safety
    ///
    /// 1. The slot is the calling thread's, and no other `Me` of it exists.
    /// 2. The record is the slot's.
    pub unsafe fn new(slot: Slot, record: &'static ThreadRecord<P>, borrowed: bool) -> Self {
        Me { slot, record, borrowed, _here: core::marker::PhantomData }
    }

    /// The slot in use.
    #[inline]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The record of the slot in use.
    #[inline]
    pub fn record(&self) -> &'static ThreadRecord<P> {
        self.record
    }
}

impl<P: Platform> Drop for Me<P> {
    fn drop(&mut self) {
        // SAFETY: ends the one operation that this value stands for (1).
        unsafe { P::leave(self.slot, self.borrowed) };
    }
}

/// While it lives, a signal handler of this thread does without queues: it must not wait for
/// what the interrupted operation holds. For operations that need no slot.
#[must_use]
pub struct SignalGuard<P: Platform>(core::marker::PhantomData<(P, *mut ())>);

impl<P: Platform> SignalGuard<P> {
    /// Puts it up.
    #[inline]
    pub fn up() -> Self {
        P::raise_signal_guard();
        SignalGuard(core::marker::PhantomData)
    }
}

impl<P: Platform> Drop for SignalGuard<P> {
    fn drop(&mut self) {
        // SAFETY: raised in `up`, for what ends here (1).
        unsafe { P::lower_signal_guard() };
    }
}

/// The world as a lock sees it. See the crate documentation for the implementations.
///
/// All functions are static, so that a lock carries no handle and everything inlines.
///
/// # Safety
///
/// Exclusion rests on an implementation, which promises:
///
/// 1. [`Word`](Self::Word) is atomic, with at least the orderings asked for; so are
///    [`fence`](Self::fence), and the pair [`fence_light`](Self::fence_light) and
///    [`fence_heavy`](Self::fence_heavy) as they say.
/// 2. [`enter`](Self::enter) and [`my_record`](Self::my_record) name a slot that no other thread has;
///    `enter` gives it to one operation at a time.
/// 3. [`thread_record`](Self::thread_record) and [`lock_record`](Self::lock_record) name the same memory
///    for the same index at all times, and other memory for another index. Only its owner's words of a
///    thread record that was never used, or is used again, may be other than the last owner left them:
///    then they are 0.
/// 4. [`claim_lock_record`](Self::claim_lock_record) gives out no record that has not been
///    [returned](Self::return_lock_record), and what happened to it before the return happens before.
/// 5. The [busy-waits](Self::spin_while) return values that the words had, with the order asked for.
pub unsafe trait Platform: Sized + Copy + Send + Sync + 'static {
    /// An atomic word over `T`, transparent over the value.
    type Word<T: Scalar>: Word<T>;

    /// A fence of the given ordering.
    fn fence(order: Ordering);

    /// The cheap half of the asymmetric fence pair: stops the compiler always, the processor
    /// only where [`fence_heavy`](Self::fence_heavy) could not do it alone.
    ///
    /// Contract of the pair: if thread A executes `store x; fence_light; load y` and thread B
    /// `store y; fence_heavy; load x`, at least one of them sees the other's store.
    fn fence_light();

    /// The dear half of the pair: natively `membarrier`, which costs a system call and an
    /// interrupt on each CPU that runs a thread of this process (1 to 3 us on two CPUs).
    /// One thread of the process makes the call at a time; others that come meanwhile share the next.
    fn fence_heavy() -> Heavy;

    /// Busy-waits while `word & mask == value`; says why it stopped.
    ///
    /// `order` is the ordering of the loads, so also of the load that ended the wait.
    fn spin_while<T: Scalar>(
        word: &Self::Word<T>,
        mask: T,
        value: T,
        order: Ordering,
        until: Until,
    ) -> Spin<T>;

    /// Busy-waits while `a & mask_a == value_a` and `b & mask_b == value_b`.
    ///
    /// Both words are read each turn, `a` first; the values returned are the last ones read.
    fn spin_while2<A: Scalar, B: Scalar>(
        a: (&Self::Word<A>, A, A),
        b: (&Self::Word<B>, B, B),
        order: Ordering,
        until: Until,
    ) -> Spin2<A, B>;

    /// Lets `ns` nanoseconds pass without touching memory (at least one polite pause).
    fn busy_wait_ns(ns: u32);

    /// Offers the CPU to another runnable thread.
    fn yield_now();

    /// Sleeps for `ns` nanoseconds; the fallback of a thread that has no slot to park on.
    fn sleep(ns: u64);

    /// Sleeps until a token arrives or [`now`](Self::now) reaches `deadline`; may also return
    /// early without reason. Consumes the token.
    ///
    /// The unpark whose token is consumed happens before the return.
    fn park(me: &Me<Self>, deadline: Option<u64>) -> Wake;

    /// Leaves a token for `slot` and wakes its thread if it is parked. A token for a thread
    /// that has gone is harmless: it is a spurious wake-up for the slot's next user.
    ///
    /// Returns whether a sleeping thread was woken (a system call was needed).
    fn unpark(slot: Slot) -> bool;

    /// Monotonic time in nanoseconds; the clock of [`park`](Self::park) deadlines (20 to 45 ns
    /// to read natively).
    fn now() -> u64;

    /// A cheap cycle counter, comparable between CPUs, for deadlines of spinning and slices.
    fn ticks() -> u64;

    /// How many [`ticks`](Self::ticks) make up `ns` nanoseconds (calibrated, about 1 %).
    fn ticks_of(ns: u64) -> u64;

    /// How many nanoseconds `ticks` take: the inverse of [`ticks_of`](Self::ticks_of).
    fn ns_of(ticks: u64) -> u64 {
        ticks.saturating_mul(1_000) / Self::ticks_of(1_000).max(1)
    }

    /// The cost of moving a cache line between two CPUs, in nanoseconds: the unit of policy
    /// parameters. Natively measured as locks are waited for (see `native`), 80 ns
    /// until then.
    fn line_ns() -> u32;

    /// Claims the calling thread's record for one lock operation.
    ///
    /// `None`: the table is exhausted, or the thread is inside an operation already (a signal
    /// handler that locks while its thread waits). The caller then does without a queue.
    fn enter() -> Option<Me<Self>>;

    /// Ends [`enter`](Self::enter); called by [`Me`] when dropped.
    ///
    /// # Safety
    ///
    /// 1. The caller gives up the one `Me` of this slot, made with `borrowed`.
    unsafe fn leave(slot: Slot, borrowed: bool);

    /// The record of the caller's slot, if it has one that it keeps until it ends; claims none. In a
    /// signal handler the answer is the interrupted thread's.
    fn my_record() -> Option<&'static ThreadRecord<Self>>;

    /// The slots that threads have now. A thread that got one and then passed
    /// [`fence_light`](Self::fence_light) is among them for whoever asks after
    /// [`fence_heavy`](Self::fence_heavy), or sees what was stored before that fence.
    fn slots() -> impl Iterator<Item = Slot>;

    /// A number above 0 that no other call returns; counts up.
    fn unique_id() -> u64;

    /// The CPU the caller runs on, as far as it can be told cheaply; [`NO_CPU`] if it cannot.
    fn cpu() -> u16;

    /// The domain that the caller runs in: CPUs of one NUMA node that share their last-level cache,
    /// so that a line moves between them several times faster than to or from others. Below
    /// [`domains`](Self::domains).
    ///
    /// The next call may say another: the caller moves. Who needs the same twice keeps it. Where a
    /// CPU is not known, the answer is 0. Costs two loads natively.
    fn domain(me: &Me<Self>) -> u16;

    /// How many domains the CPUs make up that the process may use; never 0, always the same.
    fn domains() -> u16;

    /// What was last seen of `cpu`: changes whenever a thread of this process enters a slow
    /// path on it. A holder of a lock that took it on `cpu` does not run (or does not get on)
    /// once this has changed.
    fn cpu_stamp(cpu: u16) -> u32;

    /// Says "I am here, in a slow path": updates the stamp of the caller's CPU, and the CPU
    /// number in its record. Returns the CPU.
    fn check_in(me: &Me<Self>) -> u16;

    /// The CPU that the thread in a slot was on at its last [`check_in`](Self::check_in); a hint.
    fn last_cpu(slot: Slot) -> u16;

    /// Whether the caller is scheduled as a real-time thread, as it was a moment ago.
    fn is_realtime() -> bool {
        false
    }

    /// Whether the thread in a slot is on a CPU, as far as can be told: not if it is parked,
    /// nor if its last known CPU is the caller's, nor if that CPU was last seen running another.
    fn is_running(slot: Slot) -> bool;

    /// Whether the scheduler wants the CPU back.
    fn should_yield() -> bool;

    /// Whether [`should_yield`](Self::should_yield) and [`Until::resched`] mean anything. Where they
    /// do not, waits that should end so need a time limit.
    const TELLS_RESCHED: bool = false;

    /// Says that the caller has a lock that others wait for: a scheduler that is about to take the CPU from it may
    /// leave it some microseconds more, once. Holds until [`give_time_back`](Self::give_time_back), or until the
    /// caller has lost the CPU. It costs nobody anything if that is called late or not at all.
    fn ask_for_time() {}

    /// Takes [`ask_for_time`](Self::ask_for_time) back. Whether time was given: then the caller has given its CPU
    /// up by now.
    fn give_time_back() -> bool {
        false
    }

    /// Tells signal handlers of this thread that it is inside a lock operation, one more if it is inside
    /// another already. [`enter`](Self::enter) does it too; see [`SignalGuard`].
    fn raise_signal_guard();

    /// Takes back what [`raise_signal_guard`](Self::raise_signal_guard) has told them once.
    ///
    /// # Safety
    ///
    /// 1. The caller raised it, and the operation that it was raised for is over.
    unsafe fn lower_signal_guard();

    /// CPUs in the affinity mask.
    fn cpus() -> u32;

    /// How many threads may spin at a time: usable CPUs (affinity mask and cgroup quota) less
    /// one. 0 on a single CPU: then nobody spins.
    fn spinner_cap() -> u32;

    /// The record of a slot.
    fn thread_record(slot: Slot) -> &'static ThreadRecord<Self>;

    /// The lock record with this index.
    fn lock_record(id: RecordId) -> &'static LockRecord<Self>;

    /// Takes a lock record out of the pool; its words are as its last user left them, all 0 the
    /// first time. `None` when the pool is empty, which needs more contended locks than slots.
    fn claim_lock_record() -> Option<RecordId>;

    /// Gives a lock record back.
    ///
    /// # Safety
    ///
    /// 1. The caller claimed it, and nobody changes its words any more as long as it is free.
    unsafe fn return_lock_record(id: RecordId);

    /// When queues of spinners are parted by domain; cheap to ask.
    fn numa() -> Numa {
        Numa::OFF
    }

    /// The queue entry with this index, 1 to 255.
    fn queue_entry(_id: RecordId) -> &'static QueueEntry<Self> {
        unreachable!("no entry was claimed")
    }

    /// Takes a queue entry out of the pool; its words are as its last user left them, all 0 the first time.
    /// `None`: all are in use.
    fn claim_queue_entry() -> Option<RecordId> {
        None
    }

    /// Gives a queue entry back.
    ///
    /// # Safety
    ///
    /// 1. As for [`return_lock_record`](Self::return_lock_record).
    unsafe fn return_queue_entry(_id: RecordId) {}

    /// Adds to one of the caller's counters; `index < COUNTERS`. Never a shared line.
    fn count(index: usize, n: u64);

    /// Sum of a counter over all threads there have been.
    fn counted(index: usize) -> u64;
}

/// What programs that use locks do beside locking. No lock needs it.
pub trait Work: Platform {
    /// Keeps the CPU busy for so many spin-loop hints (PAUSE on x86-64), the unit in which lock
    /// studies count loads.
    fn pause(units: u32);
}

/// The value of [`Platform::cpu`] where the CPU is unknown.
pub const NO_CPU: u16 = u16::MAX;

/// Whether this is the number of a CPU: [`Platform::cpu`] may say "unknown" by more values than
/// [`NO_CPU`].
#[inline(always)]
pub const fn is_cpu(cpu: u16) -> bool {
    cpu < 0xff00
}

/// What a [heavy fence](Platform::fence_heavy) took.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Heavy {
    /// System calls made, 0 or 1.
    pub calls: u32,
    /// What they took, in nanoseconds.
    pub ns: u64,
    /// A call of another thread served this one as well.
    pub shared: bool,
    /// Calls have become too dear: from now on, for a while, light sides fence by themselves.
    pub rests: bool,
}

#[cfg(doctest)]
mod b05_safe_code_reaches_no_record;

#[cfg(all(test, feature = "native", not(loom)))]
mod tests;
