//! Waiting policies of the mutex: how those who must wait do so.
//!
//! A policy is a type whose associated constant is a record of [`Switches`]; what is switched off is
//! compiled away. Times are nanoseconds, short ones multiples of the measured cost of a cache-line
//! transfer. Each value was measured on two CPUs unless it says otherwise.

/// A time that does not come.
pub const NEVER: u64 = u64::MAX;

/// The longest time that a policy may ask for, but for [`NEVER`]: about 18 minutes.
const LONGEST_NS: u64 = 1 << 40;

macro_rules! switches {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty = $kernel:expr;)*) => {
        /// How a mutex waits and unlocks.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub struct Switches {
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        /// The kernel's: spin on a running owner through the OSQ, steal when running, hand off to
        /// the first waiter after 4 ms.
        const KERNEL: Switches = Switches { $($field: $kernel,)* };
    };
}

switches! {
    /// Unlock is one atomic operation and touches nothing of the lock after it, so the lock may
    /// be freed by its next owner while the unlocking thread still runs `unlock`. Off: unlock is a plain
    /// store and a look at the control word after it.
    atomic_unlock: bool = false;
    /// Every unlock passes the mutex to the first waiter, if there is one.
    fair_unlock: bool = false;
    /// How long a spinner spins at most, on a machine of up to ten CPUs; on one of more, 2 us for each, up to 200 us.
    spin_ns: u64 = 20_000;
    /// A spin ends when the scheduler wants the CPU, if the platform can tell, and not after `spin_ns`.
    until_resched: bool = true;
    /// Polls before a spinner looks at the clock and the owner.
    eager_polls: u32 = 0;
    /// How often a thread that found the owner not running, but not on its own CPU, yields the CPU before it
    /// queues.
    yields: u32 = 0;
    /// How long the first waiter lets others steal before it asks for a hand-off, counted from
    /// its request (the kernel's rwsem: 4 ms). [`NEVER`]: it does not ask.
    handoff_ns: u64 = 4_000_000;
    /// So many polls that saw a new acquisition and the lock held make a spinner give up: the owner takes
    /// the lock again and again.
    retakes: u32 = u32::MAX;
    /// Two regimes: *alternate* while owners have other work between sections, *slice* where an
    /// owner takes the lock again at once: then everybody else sleeps and the lock changes
    /// hands once a slice, but for guests. Off: all below is without meaning.
    slices: bool = false;
    /// How long a slice lasts at most.
    slice_ns: u64 = 0;
    /// The sum of the slices of all waiters: with many waiters a slice is this over their
    /// number, which bounds the longest wait.
    round_ns: u64 = 0;
    /// A slice is never shorter than this.
    slice_min_ns: u64 = 0;
    /// The next waiter sets its timer so long before the end of the slice: timers are late by as much
    /// (the timer slack of an ordinary Linux thread).
    lead_ns: u64 = 50_000;
    /// The owner wakes the first waiter this long after the end of its slice, and asks for the
    /// hand-off in its place after twice that. The waiter's own timer normally gets there first.
    grace_ns: u64 = 50_000;
    /// The owner looks at its slice at every acquisition whose number has these bits clear.
    check_mask: u8 = 127;
    /// A thread that has got the lock as a guest is none for this long.
    guest_ns: u64 = 20_000;
    /// Guests in a slice; whoever comes then waits for its turn.
    guests: u32 = 8;
    /// The longest that a thread counts as one that has used up its share.
    share_ns: u64 = 50_000_000;
    /// In the slice regime, a waiter takes a free lock only after it stayed free this long, in
    /// line transfers: a re-take by the owner needs less.
    polite_lines: u32 = 1;
    /// The same for a waiter that has asked: its owner, which may have looked for requests just before it
    /// released the lock, takes it once more and passes it on then.
    asked_lines: u32 = 4;
    /// First timed sleep of the first waiter in a long slice; doubles.
    doze_ns: u64 = 50_000;
    /// After dozes that found the lock idle, a waiter first polls slowly for this long. (20 us lost bursts of
    /// 26 us: 0.95 of the best peer, with 40 us 1.19.)
    poll_ns: u64 = 40_000;
    /// Distance of those slow polls, in line transfers.
    poll_lines: u32 = 8;
}

impl Switches {
    /// Refuses, when compiled, what would overflow.
    pub(super) const fn checked(self) -> Self {
        const fn is_sane(ns: u64) -> bool {
            ns <= LONGEST_NS
        }
        assert!(is_sane(self.spin_ns) && (self.handoff_ns == NEVER || is_sane(self.handoff_ns)));
        assert!(is_sane(self.slice_ns) && is_sane(self.round_ns) && is_sane(self.slice_min_ns));
        assert!(is_sane(self.lead_ns) && is_sane(self.grace_ns) && is_sane(self.guest_ns));
        assert!(is_sane(self.share_ns) && is_sane(self.doze_ns) && is_sane(self.poll_ns));
        assert!(self.guest_ns <= self.share_ns || !self.slices);
        assert!(
            self.polite_lines <= 1_000 && self.asked_lines <= 1_000 && self.poll_lines <= 1_000
        );
        self
    }
}

/// How a mutex waits and unlocks.
pub trait Policy: 'static {
    /// The policy's name, as the command line knows it.
    const NAME: &'static str;
    /// Its switches.
    const SWITCHES: Switches;
}

/// The kernel's policy: spin on a running owner through the OSQ, steal when running, hand off to
/// the first waiter after 4 ms.
#[derive(Copy, Clone, Debug)]
pub struct Kernel;

impl Policy for Kernel {
    const NAME: &'static str = "kernel";
    const SWITCHES: Switches = KERNEL;
}

/// The default: two regimes, alternate and slice, and guests.
#[derive(Copy, Clone, Debug)]
pub struct Slice;

impl Policy for Slice {
    const NAME: &'static str = "slice";
    const SWITCHES: Switches = Switches {
        until_resched: false,
        eager_polls: 8,
        yields: 4,
        retakes: 4,
        slices: true,
        slice_ns: 500_000,
        round_ns: 4_000_000,
        slice_min_ns: 100_000,
        ..KERNEL
    };
}

/// The default with shorter slices, for callers who need a short longest wait more
/// than throughput.
#[derive(Copy, Clone, Debug)]
pub struct Latency;

impl Policy for Latency {
    const NAME: &'static str = "latency";
    const SWITCHES: Switches = Switches {
        slice_ns: 250_000,
        round_ns: 1_000_000,
        slice_min_ns: 30_000,
        grace_ns: 10_000,
        check_mask: 15,
        ..Slice::SWITCHES
    };
}

/// Another policy with an atomic unlock, for locks that may be freed under their own lock (C, raw
/// pointers). The words mean the same under all of these.
#[derive(Copy, Clone, Debug)]
pub struct Atomic<W: Policy>(core::marker::PhantomData<W>);

impl<W: Policy> Policy for Atomic<W> {
    const NAME: &'static str = W::NAME;
    const SWITCHES: Switches = Switches { atomic_unlock: true, ..W::SWITCHES };
}

/// The default with an atomic unlock.
#[derive(Copy, Clone, Debug)]
pub struct SliceAtomic;

impl Policy for SliceAtomic {
    const NAME: &'static str = "slice-atomic";
    const SWITCHES: Switches = Switches { atomic_unlock: true, ..Slice::SWITCHES };
}

/// Every unlock passes the mutex to the thread that has waited longest, for callers to whom an
/// equal share of acquisitions is worth a change of threads at each of them.
#[derive(Copy, Clone, Debug)]
pub struct Fair;

impl Policy for Fair {
    const NAME: &'static str = "fair";
    const SWITCHES: Switches =
        Switches { fair_unlock: true, until_resched: false, eager_polls: 8, retakes: 4, ..KERNEL };
}
