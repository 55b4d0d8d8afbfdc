//! The store-load race of an unlock without a read-modify-write, with and without its fence.
//!
//! The owner stores "free" and then looks for sleepers; the waiter stores "I sleep" and then
//! looks at the lock once more. Each needs its store to be visible before it looks, or both
//! look too early: the owner sees nobody, the waiter sees the lock held and sleeps for ever.
//! The owner's side costs nothing if the waiter executes a *heavy* fence (`membarrier`) between
//! its two steps, which makes the owner's pending store visible too.
//!
//! A processor delays a store by nanoseconds, so stress does not show a missing fence. Here
//! the delay is injected: [`DELAY`] passes between the early look and the store, in the order
//! in which the other side would see the two. The heavy fence is then "wait until the delayed
//! store has arrived". With the fence the lock keeps the contract even so; without it the
//! progress oracle catches it with certainty. `tests/loom_heavy_fence.rs` shows the same race
//! to the model checker without delays.

use lock_api::{GuardNoSend, RawMutex};
use std::sync::Mutex;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use std::thread::{self, Thread};
use std::time::Duration;

/// How long an injected fault delays a store.
const DELAY: Duration = Duration::from_millis(5);

/// How long a waiter takes from its first look to its "I sleep": less than [`DELAY`], and more
/// than the shorter hold times of the progress oracle, so that it lands in the delay.
const APPROACH: Duration = Duration::from_millis(2);

/// The owner's unlocking store is delayed, the waiter has no fence: must be caught.
pub type MissingHeavyFenceAtUnlock = HeavyFence<false, true>;
/// The waiter's "I sleep" is delayed past its second look, for want of a fence: must be caught.
pub type MissingHeavyFenceAtWait = HeavyFence<false, false>;
/// The owner's unlocking store is delayed, and the waiter's fence waits for it: correct.
pub type WithHeavyFenceAtUnlock = HeavyFence<true, true>;
/// The waiter's fence keeps its store before its look: correct.
pub type WithHeavyFenceAtWait = HeavyFence<true, false>;

/// A lock unlocked by a plain store. `FENCE`: the waiter executes the heavy fence;
/// `AT_UNLOCK`: the fault is injected into the unlock, else into the wait.
#[derive(Debug)]
pub struct HeavyFence<const FENCE: bool, const AT_UNLOCK: bool> {
    held: AtomicBool,
    /// Somebody sleeps or is about to.
    asleep: AtomicBool,
    /// An unlocking store has been issued and is not yet visible.
    pending: AtomicBool,
    sleeper: Mutex<Option<Thread>>,
}

impl<const FENCE: bool, const AT_UNLOCK: bool> HeavyFence<FENCE, AT_UNLOCK> {
    /// The unlocking store and the look for sleepers, as the other side sees their order.
    fn release_and_look(&self) -> bool {
        if !AT_UNLOCK {
            self.held.store(false, SeqCst);
            return self.asleep.load(SeqCst);
        }
        self.pending.store(true, SeqCst);
        let asleep = self.asleep.load(SeqCst);
        thread::sleep(DELAY);
        self.held.store(false, SeqCst);
        self.pending.store(false, SeqCst);
        asleep
    }

    /// The store "I sleep" and the second look at the lock.
    fn announce_and_look(&self) -> bool {
        if FENCE {
            self.asleep.store(true, SeqCst);
            self.heavy_fence();
            return self.held.load(SeqCst);
        }
        if AT_UNLOCK {
            self.asleep.store(true, SeqCst);
            return self.held.load(SeqCst);
        }
        let held = self.held.load(SeqCst);
        thread::sleep(DELAY);
        self.asleep.store(true, SeqCst);
        held
    }

    /// What `membarrier` does to a store that waits in another processor's buffer.
    fn heavy_fence(&self) {
        fence(SeqCst);
        while self.pending.load(SeqCst) {
            thread::yield_now();
        }
    }

    fn sleeper(&self) -> std::sync::MutexGuard<'_, Option<Thread>> {
        self.sleeper.lock().expect("no panic under it")
    }
}

// SAFETY: exclusive by the compare-exchange, released with at least release order by its holder
// alone; what may be broken on purpose is progress. One waiter at a time, as in the oracle.
unsafe impl<const FENCE: bool, const AT_UNLOCK: bool> RawMutex for HeavyFence<FENCE, AT_UNLOCK> {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = HeavyFence {
        held: AtomicBool::new(false),
        asleep: AtomicBool::new(false),
        pending: AtomicBool::new(false),
        sleeper: Mutex::new(None),
    };
    type Guard = GuardNoSend;

    fn lock(&self) -> GuardNoSend {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            *self.sleeper() = Some(thread::current());
            thread::sleep(APPROACH);
            if self.announce_and_look() {
                thread::park();
            }
            self.asleep.store(false, Release);
        }
    }

    fn try_lock(&self) -> Option<GuardNoSend> {
        let taken = self.held.compare_exchange(false, true, Acquire, Relaxed);
        taken.is_ok().then(GuardNoSend::new)
    }

    unsafe fn unlock(&self, _: GuardNoSend) {
        if self.release_and_look()
            && let Some(sleeper) = self.sleeper().take()
        {
            sleeper.unpark();
        }
    }

    fn is_locked(&self) -> bool {
        self.held.load(Relaxed)
    }
}
