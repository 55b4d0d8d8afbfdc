//! Runs something once; everybody else waits for it.
//!
//! *Algorithm*: three flags in the control word that also names the contention record (see `record`),
//! so that the attempt that ends an execution learns in the same atomic operation whether anybody
//! waits. *Guarantees*: at most one execution at a time, and none after one that succeeded; what it
//! wrote is seen by whoever finds it done; a waiter is woken by the end of the execution that it waits
//! for, in the order of arrival. *Does not guarantee*: progress if the closure waits for its own end
//! (deadlock). *Fork*: an execution of another thread never ends in the child. *Poisoning*: an
//! execution that fails leaves a mark for the next. *Cost*: 4 bytes; done is one load.
//! *Waiting*: a short spin, then asleep in the record's queue; a thread without a slot sleeps and looks
//! in turn. *Checked by*: `tests/loom_once.rs`, `tests/once.rs` of `lockwright`.
//!
//! ```text
//! State   ctl   bit 4 RUNNING | 5 DONE | 6 POISONED; the record's index, see `record::ctl`
//! ```
//!
//! Transitions: `0 or POISONED -> RUNNING : begin`, `RUNNING -> DONE or POISONED : end`.
//!
//! ```text
//! Edges
//!  [once.end]  end: ctl RMW Release -> state, is_done, begin: ctl load Acquire  publishes what the execution wrote
//!  [once.wake] end: state store Release -> sleep: state load Acquire  publishes that the waiter is off the queue
//! ```

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, SignalGuard, Until, Word, ZeroWord};

use crate::record::{
    Anchor, Control, Record, attach, ctl, my_state, state, try_in_turn, waiter_state,
};

const RUNNING: u32 = 16;
const DONE: u32 = 32;
const POISONED: u32 = 64;

/// How long a waiter spins: initialisers are short or take long. An assumption.
const SPIN_NS: u64 = 5_000;

/// What has come of it so far.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum OnceState {
    /// Nobody has tried.
    New,
    /// The last attempt failed.
    Poisoned,
    /// An attempt is under way.
    InProgress,
    /// An attempt succeeded.
    Done,
}

impl OnceState {
    /// Whether the last attempt failed.
    #[inline]
    pub const fn is_poisoned(self) -> bool {
        matches!(self, OnceState::Poisoned)
    }

    /// Another name of [`is_poisoned`](Self::is_poisoned).
    #[inline]
    pub const fn poisoned(self) -> bool {
        self.is_poisoned()
    }

    /// Whether an attempt has succeeded.
    #[inline]
    pub const fn is_completed(self) -> bool {
        matches!(self, OnceState::Done)
    }

    /// Another name of [`is_completed`](Self::is_completed).
    #[inline]
    pub const fn done(self) -> bool {
        self.is_completed()
    }
}

/// The flags of something that is to be done once.
#[repr(transparent)]
pub struct RawOnce<P: Platform> {
    ctl: P::Word<u32>,
}

impl<P: Platform> RawOnce<P>
where
    P::Word<u32>: ZeroWord,
{
    /// Nobody has tried.
    #[allow(clippy::declare_interior_mutable_const)]
    pub const INIT: Self = RawOnce { ctl: ZeroWord::ZERO };
}

impl<P: Platform> RawOnce<P> {
    /// The word of something that is done.
    pub const DONE: u32 = DONE;

    /// With this word: 0 or [`DONE`](Self::DONE).
    pub const fn with_word(ctl: P::Word<u32>) -> Self {
        RawOnce { ctl }
    }
}

fn state_of(word: u32) -> OnceState {
    match () {
        () if word & DONE != 0 => OnceState::Done,
        () if word & RUNNING != 0 => OnceState::InProgress,
        () if word & POISONED != 0 => OnceState::Poisoned,
        () => OnceState::New,
    }
}

impl<P: Platform> Default for RawOnce<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> RawOnce<P> {
    /// Nobody has tried; where a constant cannot be had (the model checker).
    pub fn new() -> Self {
        RawOnce { ctl: Word::new(0) }
    }

    fn anchor(&self) -> Control<'_, P> {
        Control(&self.ctl)
    }

    /// What has come of it so far; what a successful attempt wrote is seen after `Done`.
    pub fn state(&self) -> OnceState {
        // Ordering: Acquire, [once.end]: pairs with the exchange in end()
        state_of(self.ctl.load(Acquire))
    }

    /// Whether an attempt has succeeded; what it wrote is seen then.
    #[inline]
    pub fn is_done(&self) -> bool {
        // Ordering: Acquire, [once.end]: pairs with the exchange in end()
        self.ctl.load(Acquire) & DONE != 0
    }

    /// The right to make the attempt: returns `New`, or `Poisoned` if the last one failed and
    /// `despite_poison`. The caller then calls [`end`](Self::end). Else why not: `Done` or `Poisoned`.
    /// Waits for the end of an attempt that is under way.
    pub fn begin(&self, despite_poison: bool) -> Result<OnceState, OnceState> {
        loop {
            // Ordering: Acquire, [once.end]: pairs with the exchange in end()
            let word = self.ctl.load(Acquire);
            let state = state_of(word);
            match state {
                OnceState::Done => return Err(state),
                OnceState::Poisoned if !despite_poison => return Err(state),
                OnceState::InProgress => self.sleep_while(RUNNING),
                _ => {
                    let new = word & !POISONED | RUNNING;
                    // Ordering: Acquire, [once.end]: what a failed attempt wrote; Relaxed, hint
                    // (looked at again)
                    if self.ctl.compare_exchange(word, new, Acquire, Relaxed).is_ok() {
                        return Ok(state);
                    }
                }
            }
        }
    }

    /// Ends the attempt, and every wait for it.
    ///
    /// # Safety
    ///
    /// 1. The caller has the right to the attempt, by [`begin`](Self::begin), and gives it up.
    pub unsafe fn end(&self, succeeded: bool) {
        // RUNNING is set and neither of the others, so adding the difference turns one into the other.
        let difference = if succeeded { DONE } else { POISONED } - RUNNING;
        // Ordering: Release, [once.end]: pairs with the loads in state() and begin()
        let before = self.ctl.fetch_add(difference, Release);
        if ctl::record(before).is_some() {
            self.wake_all();
        }
    }

    /// Waits until an attempt has succeeded. False: the last one failed, and not `despite_poison`.
    pub fn wait(&self, despite_poison: bool) -> bool {
        loop {
            match self.state() {
                OnceState::Done => return true,
                OnceState::Poisoned if !despite_poison => return false,
                OnceState::Poisoned => self.sleep_while(POISONED),
                OnceState::InProgress => self.sleep_while(RUNNING),
                OnceState::New => self.sleep_while(0),
            }
        }
    }

    /// Sleeps while the flags are exactly these, or until an attempt has ended.
    #[cold]
    fn sleep_while(&self, flags: u32) {
        const FLAGS: u32 = RUNNING | DONE | POISONED;
        if flags == RUNNING && P::spinner_cap() > 0 {
            let until = Until::CHANGED.deadline(P::ticks() + P::ticks_of(SPIN_NS));
            // Ordering: Relaxed, hint (looked at again below)
            P::spin_while(&self.ctl, FLAGS, flags, Relaxed, until);
        }
        // Ordering: Relaxed, hint (callers look again)
        let stands = || self.ctl.load(Relaxed) & FLAGS == flags;
        if !stands() {
            return;
        }
        let Some(me) = P::enter() else {
            try_in_turn::<P>(None, || !stands());
            return;
        };
        let Some(held) = attach(self.anchor(), Some(&me)) else {
            drop(me);
            try_in_turn::<P>(None, || !stands());
            return;
        };
        // The word has named the record since before this look, so an end that it does not see
        // finds the record, and in it the caller.
        if !stands() {
            return held.leave(self.anchor());
        }
        held.push_back(me.slot(), state::WAITING);
        drop(held);
        Self::sleep(&me);
    }

    fn sleep(me: &Me<P>) {
        // Ordering: Acquire, [once.wake]: pairs with the store in wake_all()
        while my_state(me).load(Acquire) == state::WAITING {
            P::park(me, None);
        }
    }

    /// Wakes who waits, one after the other.
    #[cold]
    fn wake_all(&self) {
        // A signal handler that finds the wait lock taken by its own thread must not wait for it.
        let _guard = SignalGuard::<P>::up();
        while let Some(id) = self.anchor().index() {
            let held = Record::<P>::at(id).acquire(None);
            if self.anchor().index() != Some(id) {
                continue;
            }
            let Some(first) = held.first() else {
                // Users that have not queued yet look at the flags before they do.
                return;
            };
            held.remove(first);
            // Before the last is let go, which may free what is done.
            let detached = held.end_use(self.anchor());
            // Ordering: Release, [once.wake]: pairs with the load in sleep()
            waiter_state::<P>(first).store(state::IDLE, Release);
            drop(held);
            let last = detached.is_some();
            if let Some(detached) = detached {
                detached.give_back();
            }
            P::unpark(first);
            if last {
                return;
            }
        }
    }
}
