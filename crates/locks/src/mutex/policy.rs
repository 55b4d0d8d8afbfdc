//! Waiting policies of the mutex: how those who must wait do so.
//!
//! A policy is a type with associated constants; what it switches off costs nothing. Times are
//! nanoseconds, short ones multiples of the measured cost of a cache-line transfer. Each value
//! is from `waiting-study`'s measurements on two CPUs unless it says otherwise.

/// A time that does not come.
pub const NEVER: u64 = u64::MAX;

/// How a mutex waits and unlocks.
pub trait Policy: 'static {
    /// The policy's name, as the command line knows it.
    const NAME: &'static str;

    /// Unlock is one atomic operation and touches nothing of the lock after it, so the lock may
    /// be freed by its next owner while the unlocking thread still runs `unlock`. Otherwise
    /// unlock is a plain store and a look at the control word after it.
    const ATOMIC_UNLOCK: bool = false;

    /// Every unlock passes the mutex to the first waiter, if there is one.
    const FAIR_UNLOCK: bool = false;

    /// Two regimes: *alternate* while owners have other work between sections, *slice* where an
    /// owner takes the lock again at once: then everybody else sleeps and the lock changes
    /// hands once a slice.
    const SLICES: bool = false;

    /// How long a spinner spins at most.
    const SPIN_NS: u64 = 20_000;

    /// A spin ends when the scheduler wants the CPU, if the platform can tell, and not after
    /// [`SPIN_NS`](Self::SPIN_NS).
    const UNTIL_RESCHED: bool = false;

    /// Polls before a spinner looks at the clock and the owner.
    const EAGER_POLLS: u32 = 8;

    /// How often a thread that found the owner not running yields the CPU before it queues.
    const YIELDS: u32 = 0;

    /// How long the first waiter lets others steal before it asks for a hand-off, counted from
    /// its request (the kernel's rwsem: 4 ms). [`NEVER`]: it does not ask.
    const HANDOFF_NS: u64 = 4_000_000;

    /// How long a slice lasts.
    const SLICE_NS: u64 = 1_000_000;

    /// The sum of the slices of all waiters: with many waiters a slice is this over their
    /// number, which bounds the longest wait. At least [`SLICE_MIN_NS`](Self::SLICE_MIN_NS).
    const ROUND_NS: u64 = 32_000_000;

    /// A slice is never shorter than this.
    const SLICE_MIN_NS: u64 = 400_000;

    /// The owner wakes the first waiter this long after the end of its slice, and asks for the
    /// hand-off in its place after twice that. The waiter's own timer normally gets there first.
    const SLICE_GRACE_NS: u64 = 50_000;

    /// The owner looks at its slice at every acquisition whose number has these bits clear.
    const SLICE_CHECK_MASK: u8 = 127;

    /// So many polls that saw a new acquisition and the lock held make a spinner give up
    /// (slice regime begins).
    const RETAKES: u32 = 4;

    /// In the slice regime, a waiter takes a free lock only after it stayed free this long, in
    /// line transfers: a re-take by the owner needs less.
    const POLITE_LINES: u32 = 1;

    /// First timed sleep of the first waiter in a slice; doubles.
    const DOZE_NS: u64 = 50_000;

    /// After dozes that found the lock idle, a waiter first polls slowly for this long. (The
    /// study's 20 us lost bursts of 26 us: 0.95 of the best peer, with 40 us 1.19.)
    const LURK_NS: u64 = 40_000;

    /// Distance of those slow polls, in line transfers.
    const LURK_LINES: u32 = 8;
}

/// The kernel's policy: spin on a running owner through the OSQ, steal when running, hand off to
/// the first waiter after 4 ms.
#[derive(Copy, Clone, Debug)]
pub struct Kernel;

impl Policy for Kernel {
    const NAME: &'static str = "kernel";
    // A change of owner is no reason to stop.
    const RETAKES: u32 = u32::MAX;
    const UNTIL_RESCHED: bool = true;
    const EAGER_POLLS: u32 = 0;
}

/// The default: two regimes, alternate and slice.
#[derive(Copy, Clone, Debug)]
pub struct Slice;

impl Policy for Slice {
    const NAME: &'static str = "slice";
    const SLICES: bool = true;
    const YIELDS: u32 = 4;
}

/// The default with slices that share a round, for callers who need a short longest wait more
/// than throughput.
#[derive(Copy, Clone, Debug)]
pub struct Latency;

impl Policy for Latency {
    const NAME: &'static str = "latency";
    const SLICES: bool = true;
    const YIELDS: u32 = 4;
    const SLICE_NS: u64 = 250_000;
    const ROUND_NS: u64 = 1_000_000;
    const SLICE_MIN_NS: u64 = 30_000;
    const SLICE_GRACE_NS: u64 = 10_000;
    const SLICE_CHECK_MASK: u8 = 15;
}

/// Another policy with an atomic unlock, for locks that may be freed under their own lock (C, raw
/// pointers). The words mean the same under all of these.
#[derive(Copy, Clone, Debug)]
pub struct Atomic<W: Policy>(core::marker::PhantomData<W>);

impl<W: Policy> Policy for Atomic<W> {
    const NAME: &'static str = W::NAME;
    const ATOMIC_UNLOCK: bool = true;
    const FAIR_UNLOCK: bool = W::FAIR_UNLOCK;
    const SLICES: bool = W::SLICES;
    const SPIN_NS: u64 = W::SPIN_NS;
    const UNTIL_RESCHED: bool = W::UNTIL_RESCHED;
    const EAGER_POLLS: u32 = W::EAGER_POLLS;
    const YIELDS: u32 = W::YIELDS;
    const HANDOFF_NS: u64 = W::HANDOFF_NS;
    const SLICE_NS: u64 = W::SLICE_NS;
    const ROUND_NS: u64 = W::ROUND_NS;
    const SLICE_MIN_NS: u64 = W::SLICE_MIN_NS;
    const SLICE_GRACE_NS: u64 = W::SLICE_GRACE_NS;
    const SLICE_CHECK_MASK: u8 = W::SLICE_CHECK_MASK;
    const RETAKES: u32 = W::RETAKES;
    const POLITE_LINES: u32 = W::POLITE_LINES;
    const DOZE_NS: u64 = W::DOZE_NS;
    const LURK_NS: u64 = W::LURK_NS;
    const LURK_LINES: u32 = W::LURK_LINES;
}

/// The default with an atomic unlock.
#[derive(Copy, Clone, Debug)]
pub struct SliceAtomic;

impl Policy for SliceAtomic {
    const NAME: &'static str = "slice-atomic";
    const SLICES: bool = true;
    const YIELDS: u32 = 4;
    const ATOMIC_UNLOCK: bool = true;
}

/// Every unlock passes the mutex to the thread that has waited longest, for callers to whom an
/// equal share of acquisitions is worth a change of threads at each of them.
#[derive(Copy, Clone, Debug)]
pub struct Fair;

impl Policy for Fair {
    const NAME: &'static str = "fair";
    const FAIR_UNLOCK: bool = true;
}
