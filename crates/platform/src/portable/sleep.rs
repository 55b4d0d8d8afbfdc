//! Sleeping on a word by mutexes and condition variables of the standard library.
//!
//! A word belongs to one of a few pairs of them. Whoever changes a word and then locks and unlocks its mutex has
//! been seen by a sleeper that looks at the word under it, or wakes the sleeper; a wake-up that was for another
//! word of the pair ends in a second look.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Portable;
use crate::Platform;

const PAIRS: usize = 64;

struct Pair(Mutex<()>, Condvar);

static SLEEPERS: [Pair; PAIRS] = [const { Pair(Mutex::new(()), Condvar::new()) }; PAIRS];

impl Pair {
    fn of(word: &AtomicU32) -> &'static Self {
        // Words of neighbouring records are as far apart as records are long.
        let record = core::ptr::from_ref(word).addr() / size_of::<crate::ThreadRecord<Portable>>();
        &SLEEPERS[record % PAIRS]
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sleeps while `word` holds `value`, until woken or `Platform::now()` reaches `deadline`. Returns
/// whether the deadline ended it.
pub(super) fn wait(word: &AtomicU32, value: u32, deadline: Option<u64>) -> bool {
    let pair = Pair::of(word);
    let mut locked = pair.lock();
    // Ordering: Relaxed, hint (the caller acquires what it finds)
    while word.load(Relaxed) == value {
        let left = deadline.map(|at| at.saturating_sub(Portable::now()));
        locked = match left {
            Some(0) => return true,
            Some(ns) => {
                let waited = pair.1.wait_timeout(locked, Duration::from_nanos(ns));
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => pair.1.wait(locked).unwrap_or_else(PoisonError::into_inner),
        };
    }
    false
}

/// Wakes who sleeps on `word`, which the caller has changed.
pub(super) fn wake(word: &AtomicU32) {
    let pair = Pair::of(word);
    drop(pair.lock());
    pair.1.notify_all();
}
