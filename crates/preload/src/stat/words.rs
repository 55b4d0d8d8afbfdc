//! What a thread keeps of its own statistics until they are entered into the tables.
//!
//! A wait that ended with the lock is entered after the lock's release, so that no section gets
//! longer by more than a look at the counter and a few stores to the thread's own lines.

use core::cell::Cell;

use lockwright_platform::initial_exec;
use lockwright_statfile::{FRAMES, Lock};

/// Nothing is under way.
pub const IDLE: u8 = 0;
/// The thread waits.
pub const WAITING: u8 = 1;
/// The thread has waited, and the wait is not in the tables yet.
pub const WAITED: u8 = 2;

/// One thread's words; all 0 when it begins.
#[repr(C)]
pub struct Words {
    /// The lock's entry.
    pub lock: Cell<*const Lock>,
    /// Where the call returns to.
    pub from: Cell<usize>,
    /// When the wait began and ended, in ticks.
    pub start: Cell<u64>,
    pub end: Cell<u64>,
    /// Which lock by its index, and a `Role`.
    pub index: Cell<u32>,
    pub role: Cell<u32>,
    /// What the object counted when the wait had ended.
    pub acquisitions: Cell<u32>,
    pub changes: Cell<u32>,
    /// One of the above.
    pub state: Cell<u8>,
    /// The tables are being changed by this thread: a signal handler keeps away from them.
    pub busy: Cell<bool>,
    /// The wait ended with the lock.
    pub got: Cell<bool>,
    /// The thread has slept in it.
    pub slept: Cell<bool>,
    /// How many of the frames are there.
    pub depth: Cell<u32>,
    /// When the next stack may be taken, in ticks: of a wait, of a hold.
    pub next_wait_stack: Cell<u64>,
    pub next_hold_stack: Cell<u64>,
    /// The hold that is being timed: which lock, since when.
    pub held: Cell<usize>,
    pub held_since: Cell<u64>,
    /// Index of the thread's entry, plus 1.
    pub thread: Cell<u32>,
    pub thread_tid: Cell<u32>,
    /// The stack of the wait.
    pub frames: [Cell<usize>; FRAMES],
    /// The lock whose release the thread was blamed for last, and when, in ticks.
    pub charged: Cell<usize>,
    pub charged_at: Cell<u64>,
    unused: Cell<usize>,
}

initial_exec!(
    /// The calling thread's words.
    pub fn words: Words = unreachable!("this library is for glibc alone"), 336 bytes,
    "lockwright_preload_words"
);
