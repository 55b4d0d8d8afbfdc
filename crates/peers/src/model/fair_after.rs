//! A mutex that hands itself over now and then, as `parking_lot::Mutex` does.
//!
//! *State*: bit 0, held; bit 1, somebody sleeps. *Cost*: one read-modify-write to lock and one to unlock,
//! as long as nobody sleeps. Who wakes competes with whoever comes, as in `Barging`; but an unlock that
//! comes later than a point in time, drawn anew each time between now and a millisecond on, gives the lock
//! to who has slept longest.
//!
//! ```text
//! Edges
//!  [fair]  unlock: state Release -> lock: state Acquire  publishes the critical section
//! ```

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Word, Work};
use lockwright_workloads::harness::Draw;
use lockwright_workloads::mutex_bench::BenchMutex;

use super::waiters::Waiters;

const HELD: u32 = 1;
const ASLEEP: u32 = 2;
/// What a waker says: compete, or the lock is yours.
const COMPETE: u32 = 0;
const YOURS: u32 = 1;
/// The latest point in time, from now, at which the lock is handed over next.
const LATEST_NS: u32 = 1_000_000;
/// Of the ten times that a thread waits before it sleeps, so many it does not give up the CPU.
const BUSY: u32 = 3;
const TIMES: u32 = 10;

#[repr(C, align(64))]
struct State<K: Work>(K::Word<u32>);

/// See the beginning of this file.
#[repr(C)]
pub struct FairAfter<K: Work> {
    state: State<K>,
    waiters: Waiters<K>,
    /// When the lock is handed over next, in ticks; with the queue to oneself.
    fair_at: K::Word<u64>,
    counter: AtomicU64,
}

impl<K: Work> FairAfter<K> {
    fn lock(&self) {
        // Ordering: Acquire, [fair]: pairs with unlock(); failure Relaxed, hint (looked at below)
        if self.state.0.compare_exchange(0, HELD, Acquire, Relaxed).is_err() {
            self.lock_slow();
        }
    }

    fn lock_slow(&self) {
        let state = &self.state.0;
        let mut times = 0;
        // Ordering: Relaxed, hint (taken by an exchange)
        let mut seen = state.load(Relaxed);
        loop {
            if seen & HELD == 0 {
                // Ordering: Acquire, [fair]: pairs with unlock(); failure Relaxed, hint (seen again)
                match state.compare_exchange(seen, seen | HELD, Acquire, Relaxed) {
                    Ok(_) => return,
                    Err(now) => seen = now,
                }
                continue;
            }
            if seen & ASLEEP == 0 && times < TIMES {
                times += 1;
                if times <= BUSY {
                    K::pause(1 << times)
                } else {
                    K::yield_now()
                }
                // Ordering: Relaxed, hint (taken by an exchange)
                seen = state.load(Relaxed);
                continue;
            }
            if seen & ASLEEP == 0 {
                // Ordering: Relaxed, hint (looked at with the queue to oneself); failure Relaxed, hint (seen again)
                if let Err(now) = state.compare_exchange(seen, seen | ASLEEP, Relaxed, Relaxed) {
                    seen = now;
                    continue;
                }
            }
            // Ordering: Relaxed, hint (an unlock that saw who sleeps must pass the queue)
            let woken = self.waiters.sleep_if(|| state.load(Relaxed) == HELD | ASLEEP);
            if woken == Some(YOURS) {
                return;
            }
            times = 0;
            // Ordering: Relaxed, hint (taken by an exchange)
            seen = state.load(Relaxed);
        }
    }

    fn unlock(&self) {
        // Ordering: Release, [fair]: pairs with lock(); failure Relaxed, hint (somebody sleeps)
        if self.state.0.compare_exchange(HELD, 0, Release, Relaxed).is_err() {
            self.waiters.wake_one(|found, more| self.pass(found, more));
        }
    }

    /// Lets go of the lock, or gives it to who is woken; with the queue to itself.
    fn pass(&self, found: bool, more: bool) -> u32 {
        let asleep = if more { ASLEEP } else { 0 };
        if found && self.is_fair_now() {
            // Ordering: Relaxed, hint (it stays held; what the owner did is published with the wake-up)
            self.state.0.store(HELD | asleep, Relaxed);
            return YOURS;
        }
        // Ordering: Release, [fair]: pairs with lock()
        self.state.0.store(asleep, Release);
        COMPETE
    }

    /// Whether it is time to hand over; the next time is drawn then.
    fn is_fair_now(&self) -> bool {
        let now = K::ticks();
        // Ordering: Relaxed, owner-only (with the queue to itself) (block)
        let fair = now > self.fair_at.load(Relaxed);
        if fair {
            let next = u64::from(Draw::new(now).below(LATEST_NS));
            self.fair_at.store(now + K::ticks_of(next), Relaxed);
        }

        fair
    }
}

impl<K: Work> BenchMutex for FairAfter<K> {
    fn new() -> Self {
        FairAfter {
            state: State(Word::new(0)),
            waiters: Waiters::new(),
            fair_at: Word::new(0),
            counter: AtomicU64::new(0),
        }
    }

    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        self.lock();
        // Ordering: Relaxed, fenced (by the lock) (block)
        let mut value = self.counter.load(Relaxed);
        let result = section(&mut value);
        self.counter.store(value, Relaxed);

        self.unlock();
        result
    }
}
