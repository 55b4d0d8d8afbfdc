//! Lock events: what the slow paths did, counted always.
//!
//! One list generates the enum, the names and the documentation. The kernel counts events of its
//! rwsem and has none for mutexes; mutex events are named after the rwsem's. A count goes to a
//! line that only the counting thread writes (see `Platform::count`), fast paths count nothing.
//! Reading sums over threads and is not a snapshot of one instant; resetting takes a baseline, so
//! no increment is lost to it. Without the feature `events` counting compiles to nothing.

use lockwright_platform::{COUNTERS, Heavy, Platform};

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)*) => {
        /// A lock event.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Event {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Event {
            /// All events, in order of their numbers.
            pub const ALL: &'static [Event] = &[$(Event::$variant),*];

            /// The name, in the kernel's manner.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Event::$variant => $name,)*
                }
            }

            /// When it is counted.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Event::$variant => concat!($($doc),+).trim_ascii_start(),)*
                }
            }
        }
    };
}

events! {
    /// Mutex acquired while spinning, without having queued.
    MutexOptLock = "mutex_opt_lock";
    /// Mutex acquired after yielding to an owner that did not run.
    MutexYieldLock = "mutex_yield_lock";
    /// A spin ended without the lock.
    MutexOptFail = "mutex_opt_fail";
    /// A spin was not begun: nobody may spin, or the holder does not run.
    MutexOptNospin = "mutex_opt_nospin";
    /// A spin ended because the lock was taken again and again before the spinner could.
    MutexOptRetaken = "mutex_opt_retaken";
    /// A spin ended because the holder stopped running.
    MutexOptStopped = "mutex_opt_stopped";
    /// Mutex acquired through the wait queue, hand-offs included.
    MutexQlock = "mutex_qlock";
    /// Returns from sleeping in the wait queue.
    MutexSleep = "mutex_sleep";
    /// Timed sleeps of the first waiter that no unlock is asked to end.
    MutexDoze = "mutex_doze";
    /// An unlock woke the first waiter.
    MutexWake = "mutex_wake";
    /// The first waiter, or the holder at the end of its slice, asked for a hand-off.
    MutexHandoffAsked = "mutex_handoff_asked";
    /// An unlock passed the lock to the first waiter.
    MutexHandoff = "mutex_handoff";
    /// Mutex acquired by a guest, who need not wait for the end of a slice.
    MutexGuest = "mutex_guest";
    /// A guest interrupted a slice, whose owner will have the rest of it.
    MutexLent = "mutex_lent";
    /// A timed lock call gave up.
    MutexLockFail = "mutex_lock_fail";
    /// A lock call did without the queue: no thread slot, or its thread was inside another.
    MutexNoNode = "mutex_no_node";
    /// A spinner became head of an OSQ.
    OsqHead = "osq_head";
    /// A spinner left an OSQ before it became head.
    OsqUnqueue = "osq_unqueue";
    /// A thread did not spin: as many as may were in the OSQ.
    OsqFull = "osq_full";
    /// A thread did not spin: its node was still lent to the OSQ that it left last.
    OsqLent = "osq_lent";
    /// A crowd parted an OSQ by domain.
    NumaPart = "numa_part";
    /// The parted queues of an OSQ, idle, became one again.
    NumaJoin = "numa_join";
    /// An entry of parted queues was given back; those in use are as many as were parted less these.
    NumaEntryFree = "numa_entry_free";
    /// An OSQ was not parted: all entries are in use.
    NumaFull = "numa_full";
    /// The turn to spin stayed in its domain.
    NumaLocal = "numa_local";
    /// The turn to spin came to a domain that did not have it.
    NumaRemote = "numa_remote";
    /// A domain gave the turn up after as many as it may have in a row.
    NumaBatchCount = "numa_batch_count";
    /// A domain gave the turn up after as long as it may have it.
    NumaBatchTime = "numa_batch_time";
    /// Heavy fences, before a sleep and when a bias is turned off.
    FenceHeavy = "fence_heavy";
    /// System calls that they made.
    FenceCall = "fence_call";
    /// Nanoseconds spent in those calls.
    FenceNs = "fence_ns";
    /// Heavy fences that a call of another thread served as well.
    FenceShared = "fence_shared";
    /// Times that the calls had become too dear, and unlocks began to fence by themselves for a while.
    FenceRest = "fence_rest";
    /// Calls to read, upgradable ones included, that the fast path refused.
    RwsemReadSlow = "rwsem_read_slow";
    /// Calls to write, and to upgrade, that the fast path refused.
    RwsemWriteSlow = "rwsem_write_slow";
    /// Returns of readers from sleeping in the wait queue.
    RwsemSleepReader = "rwsem_sleep_reader";
    /// Returns of writers from sleeping in the wait queue.
    RwsemSleepWriter = "rwsem_sleep_writer";
    /// Wake-ups that granted the lock to at least one queued reader.
    RwsemWakeReader = "rwsem_wake_reader";
    /// Wake-ups that found a writer first in the queue.
    RwsemWakeWriter = "rwsem_wake_writer";
    /// Reader acquired without having queued, after spinning or by the phase's second try.
    RwsemOptRlock = "rwsem_opt_rlock";
    /// Those of them that were the phase's second try.
    RwsemOptRlock2 = "rwsem_opt_rlock2";
    /// Writer acquired without having queued, in its slow path.
    RwsemOptLock = "rwsem_opt_lock";
    /// Attempts to get the lock without queueing that were refused or in vain.
    RwsemOptFail = "rwsem_opt_fail";
    /// A spinner's time on a reader-owned lock was up, and spinning was forbidden.
    RwsemOptNospin = "rwsem_opt_nospin";
    /// Readers stayed forbidden to spin past a writer or a grant that saw it.
    RwsemOptNorspin = "rwsem_opt_norspin";
    /// Reader acquired through the wait queue.
    RwsemRlock = "rwsem_rlock";
    /// Reader acquired at the queue, which was empty, with no writer there.
    RwsemRlockFast = "rwsem_rlock_fast";
    /// Reader refused only because others waited kept the lock.
    RwsemRlockSteal = "rwsem_rlock_steal";
    /// A timed reader gave up.
    RwsemRlockFail = "rwsem_rlock_fail";
    /// A first reader forbade stealing.
    RwsemRlockHandoff = "rwsem_rlock_handoff";
    /// Writer acquired through the wait queue.
    RwsemWlock = "rwsem_wlock";
    /// A timed writer gave up.
    RwsemWlockFail = "rwsem_wlock_fail";
    /// A first writer forbade stealing.
    RwsemWlockHandoff = "rwsem_wlock_handoff";
    /// Reader-writer lock: a guest took a place before a waiter that is none.
    RwsemGuest = "rwsem_guest";
    /// A call that did without the queue: no thread slot, or its thread was inside another.
    RwsemNoNode = "rwsem_no_node";
    /// Readers turned the bias of a reader-writer lock on.
    RwsemBiasOn = "rwsem_bias_on";
    /// Writers turned it off.
    RwsemBiasOff = "rwsem_bias_off";
    /// Those times of them that the reads in between had paid for.
    RwsemBiasPaid = "rwsem_bias_paid";
    /// Returns of writers from sleeping until biased readers left.
    RwsemBiasSleep = "rwsem_bias_sleep";
    /// Writers, timed or trying, gave up because of biased readers.
    RwsemBiasFail = "rwsem_bias_fail";
    /// Readers had no cell left to publish in.
    RwsemBiasNoCell = "rwsem_bias_no_cell";
    /// Condition waits.
    CondWait = "cond_wait";
    /// Condition waits that timed out.
    CondTimeout = "cond_timeout";
    /// Waiters moved from a condition variable to its mutex without waking.
    CondRequeue = "cond_requeue";
    /// Owners that others waited for kept their CPU a little longer (`LOCKWRIGHT_SLICE_EXT`).
    TimeGranted = "time_granted";
}

const COUNT: usize = Event::ALL.len();

// The platform's counter bank must hold every event (it holds none under the model checker).
const _: () = assert!(COUNT <= COUNTERS || COUNTERS == 0);

/// Counts one event. Slow paths only.
#[inline]
pub fn inc<P: Platform>(event: Event) {
    if cfg!(feature = "events") {
        P::count(event as usize, 1);
    }
}

/// The caller has released a lock that others wait for, which it had [asked](Platform::ask_for_time) for time for. Before it
/// wakes anybody: a system call takes from it what it was given, and the CPU with it, before it does anything else.
pub(crate) fn give_time_back<P: Platform>() {
    if P::give_time_back() {
        inc::<P>(Event::TimeGranted);
    }
}

/// Counts a heavy fence, and what it took.
pub(crate) fn note_fence<P: Platform>(took: Heavy) {
    inc::<P>(Event::FenceHeavy);
    if cfg!(feature = "events") {
        P::count(Event::FenceCall as usize, took.calls.into());
        P::count(Event::FenceNs as usize, took.ns);
        P::count(Event::FenceShared as usize, took.shared.into());
        P::count(Event::FenceRest as usize, took.rests.into());
    }
}

/// Counts of all events of the process, from its start or as a difference.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Counts([u64; COUNT]);

impl Counts {
    /// The counts now. All 0 without the feature `events`.
    pub fn now<P: Platform>() -> Self {
        let mut counts = [0; COUNT];
        if cfg!(feature = "events") && COUNTERS > 0 {
            for (i, count) in counts.iter_mut().enumerate() {
                *count = P::counted(i);
            }
        }
        Counts(counts)
    }

    /// The count of one event.
    pub fn get(&self, event: Event) -> u64 {
        self.0[event as usize]
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Counts) -> Counts {
        let mut counts = self.0;
        for (count, before) in counts.iter_mut().zip(earlier.0) {
            *count = count.wrapping_sub(before);
        }
        Counts(counts)
    }

    /// Names and counts, in order of the list.
    pub fn iter(&self) -> impl Iterator<Item = (Event, u64)> + '_ {
        Event::ALL.iter().map(|&e| (e, self.get(e)))
    }
}
