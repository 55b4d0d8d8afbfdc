//! A lock of four bytes whose waiters spin while the holder runs, and let it run otherwise.
//!
//! *Algorithm*: test and test-and-set; the word holds the holder's CPU, by which a waiter judges
//! whether it runs (see `Platform::cpu_stamp`). A waiter spins for at most 20 us at a time,
//! then yields, then sleeps, longer each time. Nobody is woken: the release is one store.
//! *Guarantees*: mutual exclusion; the release touches nothing of the lock after its store, so the
//! next holder may free it; progress of the holder whatever the waiters' number and priority.
//! *Does not guarantee*: order, a bound for any waiter. *Fork*: a lock that another thread held stays held.
//! *Cost*: 4 bytes; one exchange to lock, one store to unlock. *Waiting*: see above.
//! *Checked by*: `tests/spinlock.rs`. *Use when*: it must be four bytes and needs no queue (C's
//! `pthread_spinlock_t`); otherwise the mutex waits better.
//!
//! ```text
//! State   FREE              the user's constant
//!         FREE | HELD | cpu the holder's CPU in the low 16 bits, NO_CPU if unknown
//! ```
//!
//! ```text
//! Edges
//!  [spinlock.word]  unlock: word store Release -> try_lock: word exchange Acquire  publishes the critical section
//! ```

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Holder, Pace, Platform, Spin, Until, Word};

/// How long a waiter spins before it looks whether it should yield.
const SPIN_NS: u64 = 20_000;
/// How often a waiter yields before it sleeps.
const YIELDS: u32 = 8;
/// Its sleeps, from the first to the longest.
const SLEEP_NS: (u64, u64) = (20_000, 1_000_000);

const HELD: u32 = 1 << 16;

/// A spin lock. `FREE` is the value of its word when nobody holds it; its low 17 bits are 0.
#[repr(transparent)]
pub struct RawSpinLock<P: Platform, const FREE: u32> {
    word: P::Word<u32>,
}

impl<P: Platform, const FREE: u32> Default for RawSpinLock<P, FREE> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, const FREE: u32> RawSpinLock<P, FREE> {
    const SOUND: () = assert!(FREE.is_multiple_of(HELD << 1));

    /// A lock that nobody holds.
    pub fn new() -> Self {
        const { Self::SOUND }
        RawSpinLock { word: Word::new(FREE) }
    }

    /// Whether a word is that of a lock of this kind.
    #[inline]
    pub const fn is_word(word: u32) -> bool {
        word & !(HELD | 0xffff) == FREE
    }

    /// Whether somebody holds the lock now.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // Ordering: Relaxed, hint (the answer is old when it is given)
        self.word.load(Relaxed) != FREE
    }

    /// Acquires the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let held = FREE | HELD | u32::from(P::cpu());
        // Ordering: Acquire, [spinlock.word]: pairs with the store in unlock(); Relaxed, hint
        // (the caller looks again)
        self.word.compare_exchange(FREE, held, Acquire, Relaxed).is_ok()
    }

    /// Acquires the lock, waiting as long as it takes.
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    #[cold]
    fn lock_slow(&self) {
        let (mut rounds, mut sleep_ns) = (0, SLEEP_NS.0);
        loop {
            // Ordering: Relaxed, hint (try_lock decides)
            let word = self.word.load(Relaxed);
            if word == FREE {
                if self.try_lock() {
                    return;
                }
                continue;
            }
            if self.spin_while_held(word) {
                continue;
            }
            rounds += 1;
            if rounds <= YIELDS {
                P::yield_now();
            } else {
                P::sleep(sleep_ns);
                sleep_ns = (sleep_ns * 2).min(SLEEP_NS.1);
            }
        }
    }

    /// Waits for a change while the holder is believed to run. False: it does not, or is slow.
    fn spin_while_held(&self, word: u32) -> bool {
        let cpu = word as u16;
        if P::spinner_cap() == 0 || cpu == P::cpu() {
            return false;
        }
        let until = Until {
            deadline: Some(P::ticks() + P::ticks_of(SPIN_NS)),
            holder: Some(Holder { cpu, stamp: P::cpu_stamp(cpu) }),
            running: None,
            resched: true,
            pace: Pace::Tight,
        };
        // Ordering: Relaxed, hint (try_lock decides)
        matches!(P::spin_while(&self.word, u32::MAX, word, Relaxed, until), Spin::Changed(_))
    }

    /// Releases the lock.
    ///
    /// # Safety
    ///
    /// 1. The caller holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Ordering: Release, [spinlock.word]: pairs with the exchange in try_lock()
        self.word.store(FREE, Release);
    }
}
