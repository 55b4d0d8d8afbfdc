//! Where deadlock detection listens, without it: what it is told goes nowhere and costs nothing.

use crate::raw::{Key, Mode, Wait};

/// Whether anybody listens. Where nobody does, locks are taken without a closure in between, which
/// the compiler would not always inline.
pub(crate) const ON: bool = false;

/// Takes the lock by `take`.
#[inline(always)]
pub(crate) fn take<T>(
    _key: Key,
    _mode: Mode,
    wait: Wait,
    take: impl Fn(Wait) -> Option<T>,
) -> Option<T> {
    take(wait)
}

/// The lock is about to be given back.
#[inline(always)]
pub(crate) fn give_back(_key: Key, _mode: Mode) {}

/// Turns a hold into another by `change`.
#[inline(always)]
pub(crate) fn change(
    _key: Key,
    _modes: (Mode, Mode),
    wait: Wait,
    change: impl Fn(Wait) -> bool,
) -> bool {
    change(wait)
}

/// A hold is about to be turned into a weaker one.
#[inline(always)]
pub(crate) fn changed(_key: Key, _modes: (Mode, Mode)) {}

/// Runs `wait`, which gives the mutex back for a while.
#[inline(always)]
pub(crate) fn wait<T>(_key: Key, wait: impl FnOnce() -> T) -> T {
    wait()
}

/// Begins the attempt of something that is to be done once.
#[inline(always)]
pub(crate) fn begin_once<T, E>(_key: Key, begin: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    begin()
}

/// Waits for such an attempt of another thread.
#[inline(always)]
pub(crate) fn await_once(_key: Key, wait: impl FnOnce() -> bool) -> bool {
    wait()
}
