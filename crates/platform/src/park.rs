//! Park tokens: one word per thread record, on which its thread sleeps.
//!
//! State of `token`: 0 no token; 1 token; 2 the owner sleeps (or is about to).
//!
//! Transitions: `0 -> 2 -> 0 : park` (sleep), `1 -> 0 : park` (consume),
//! `0 -> 1`, `2 -> 1 : unpark`. Only the owner leaves 1 or enters 2.
//!
//! ```text
//! Edges
//!  [park.token]  unpark: token swap Release -> park: token swap Acquire  publishes what the waker did before
//! ```

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::{Platform, ThreadRecord, Wake, Word};

const EMPTY: u32 = 0;
const TOKEN: u32 = 1;
const ASLEEP: u32 = 2;

/// How a platform puts threads to sleep.
pub(crate) trait Sleeper: Platform {
    /// Sleeps while `word` holds `value`, until woken or `Platform::now()` reaches `deadline`; may end
    /// without reason. Returns whether the deadline ended it.
    fn wait(word: &Self::Word<u32>, value: u32, deadline: Option<u64>) -> bool;

    /// Wakes the thread that sleeps on `word`, if there is one.
    fn wake(word: &Self::Word<u32>);
}

pub(crate) fn park<P: Sleeper>(record: &ThreadRecord<P>, deadline: Option<u64>) -> Wake {
    // At the next park after a token that was for this: whoever left it has said before what it is for.
    #[cfg(feature = "park_hook")]
    crate::hook::run();
    // Ordering: Acquire, [park.token]: pairs with the swap in unpark(); Relaxed, hint (re-checked
    // by the swap below)
    if record.token.compare_exchange(EMPTY, ASLEEP, Acquire, Relaxed).is_err() {
        // Ordering: Acquire, [park.token]: consumes the token that the exchange found
        record.token.swap(EMPTY, Acquire);
        return Wake::Notified;
    }
    // Ordering: Relaxed, hint (a spinner that misses it ends by its deadline) (block)
    record.parked.store(1, Relaxed);
    let timed_out = P::wait(&record.token, ASLEEP, deadline);
    record.parked.store(0, Relaxed);
    // Ordering: Acquire, [park.token]: pairs with the swap in unpark()
    let found = record.token.swap(EMPTY, Acquire);
    if timed_out && found != TOKEN { Wake::TimedOut } else { Wake::Notified }
}

pub(crate) fn unpark<P: Sleeper>(record: &ThreadRecord<P>) -> bool {
    // Ordering: AcqRel, [park.token]: releases what the waker did before; the acquire half orders
    // repeated tokens, so that the last waker's release carries the earlier ones
    if record.token.swap(TOKEN, AcqRel) == ASLEEP {
        P::wake(&record.token);
        return true;
    }
    false
}
