//! What deadlock detection is told by the locks. `crate::track` is the same where it is off.

use super::registry::{self, Waiting};
use crate::raw::{Key, Mode, Wait};

/// Whether anybody listens.
pub(crate) const ON: bool = true;

/// Takes the lock by `take`.
pub(crate) fn take<T>(
    key: Key,
    mode: Mode,
    wait: Wait,
    take: impl Fn(Wait) -> Option<T>,
) -> Option<T> {
    let mut got = take(Wait::Not);
    if got.is_none() && wait != Wait::Not {
        let _waiting = registry::wait(Waiting::to_take(key, mode, wait));
        got = take(wait);
    }
    if got.is_some() {
        registry::hold(key, mode);
    }
    got
}

/// The lock is about to be given back.
pub(crate) fn give_back(key: Key, mode: Mode) {
    registry::release(key, mode);
}

/// Turns a hold into another by `change`.
pub(crate) fn change(
    key: Key,
    (from, to): (Mode, Mode),
    wait: Wait,
    change: impl Fn(Wait) -> bool,
) -> bool {
    let mut got = change(Wait::Not);
    if !got && wait != Wait::Not {
        let _waiting = registry::wait(Waiting::to_upgrade(key, wait));
        got = change(wait);
    }
    if got {
        changed(key, (from, to));
    }
    got
}

/// A hold is about to be turned into a weaker one, or has become a stronger one.
pub(crate) fn changed(key: Key, (from, to): (Mode, Mode)) {
    registry::release(key, from);
    registry::hold(key, to);
}

/// Runs `wait`, which gives the mutex back for a while.
pub(crate) fn wait<T>(key: Key, wait: impl FnOnce() -> T) -> T {
    registry::release(key, Mode::Write);
    let got = wait();
    registry::hold(key, Mode::Write);
    got
}

/// Begins the attempt of something that is to be done once.
pub(crate) fn begin_once<T, E>(key: Key, begin: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let got = await_once(key, begin);
    if got.is_ok() {
        registry::hold(key, Mode::Write);
    }
    got
}

/// Waits for such an attempt of another thread.
pub(crate) fn await_once<T>(key: Key, wait: impl FnOnce() -> T) -> T {
    let _waiting = registry::wait(Waiting::to_take(key, Mode::Write, Wait::Always));
    wait()
}
