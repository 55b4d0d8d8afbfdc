//! Running something once.

use std::fmt;
use std::sync::atomic::AtomicU32;

pub use lockwright_locks::once::OnceState;
use lockwright_locks::once::RawOnce;
use lockwright_platform::Native;

use crate::raw::{Key, Mode};
use crate::track;

/// Runs a closure once, however many threads call; the others wait until it has run.
///
/// ```
/// use lockwright::Once;
///
/// static START: Once = Once::new();
///
/// START.call_once(|| println!("set up"));
/// START.call_once(|| unreachable!("it has run"));
/// ```
#[doc = include_str!("../docs/once.md")]
pub struct Once(RawOnce<Native>);

impl Once {
    /// Nothing has run yet.
    #[inline]
    pub const fn new() -> Once {
        Once(RawOnce::INIT)
    }

    /// As if something had run: [`call_once`](Self::call_once) calls nothing.
    #[inline]
    pub const fn new_completed() -> Once {
        Once(RawOnce::with_word(AtomicU32::new(RawOnce::<Native>::DONE)))
    }

    /// What has come of it at this moment.
    #[inline]
    pub fn state(&self) -> OnceState {
        self.0.state()
    }

    /// Whether a closure has run without a panic. What it wrote is seen then.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.0.is_done()
    }

    /// Calls `f` unless a call of `call_once` has returned already; waits while another thread runs
    /// its closure. After the return some closure has run, and what it wrote is seen.
    ///
    /// # Panics
    ///
    /// If the last closure panicked; so does the caller whose closure it is.
    ///
    /// Deadlocks if `f` calls this on the same `Once`.
    #[inline]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        if !self.is_completed() {
            let mut f = Some(f);
            self.call_slow(false, &mut |_| f.take().expect("called once")());
        }
    }

    /// As [`call_once`](Self::call_once), though the last closure panicked; `f` is told whether.
    #[inline]
    pub fn call_once_force<F: FnOnce(OnceState)>(&self, f: F) {
        if !self.is_completed() {
            let mut f = Some(f);
            self.call_slow(true, &mut |state| f.take().expect("called once")(state));
        }
    }

    /// Waits until a closure has run; runs none.
    ///
    /// # Panics
    ///
    /// If the last closure panicked.
    #[inline]
    pub fn wait(&self) {
        if !self.is_completed() {
            self.wait_slow(false);
        }
    }

    /// As [`wait`](Self::wait), though closures have panicked.
    #[inline]
    pub fn wait_force(&self) {
        if !self.is_completed() {
            self.wait_slow(true);
        }
    }

    #[cold]
    fn wait_slow(&self, despite_poison: bool) {
        let done = track::await_once(Key::of(self), || self.0.wait(despite_poison));
        assert!(done, "{POISONED}");
    }

    #[cold]
    fn call_slow(&self, despite_poison: bool, f: &mut dyn FnMut(OnceState)) {
        /// Ends the attempt in any case: without success if the closure panics.
        struct Attempt<'a>(&'a Once, bool);
        impl Drop for Attempt<'_> {
            fn drop(&mut self) {
                track::give_back(Key::of(self.0), Mode::Write);
                // SAFETY: begun by the caller of the closure, and ended once (1).
                unsafe { self.0.0.end(self.1) };
            }
        }

        match track::begin_once(Key::of(self), || self.0.begin(despite_poison)) {
            Ok(state) => {
                let mut attempt = Attempt(self, false);
                f(state);
                attempt.1 = true;
            }
            Err(OnceState::Poisoned) => panic!("{POISONED}"),
            Err(_) => {}
        }
    }
}

const POISONED: &str = "Once instance has previously been poisoned";

impl Default for Once {
    #[inline]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("state", &self.state()).finish()
    }
}
