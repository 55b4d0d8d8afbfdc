//! A watchdog: a hung test must fail and name itself, not stop the whole run.

use crate::scale;
use std::any::type_name;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Runs `body` in a thread of its own and returns its result; a panic in `body` is passed on.
///
/// The thread of a body that hangs is left behind: it cannot be stopped from outside.
///
/// Under Miri `body` runs directly, since Miri reports a deadlock itself and its clock does
/// not measure how long a test takes.
///
/// # Panics
///
/// If `body` panics, or has not finished after `limit`; the message contains `what`.
pub fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> T {
    if cfg!(miri) {
        return body();
    }
    finished_within(limit, body).unwrap_or_else(|| {
        panic!(
            "{what}: not finished after {limit:?}, so a thread is stuck \
             (to repeat: LOCKWRIGHT_SEED={} and the same test filter)",
            scale::seed(),
        )
    })
}

/// As [`within`], but gives `None` for a body that hangs; for oracles, which expect that.
///
/// # Panics
///
/// If `body` panics.
pub fn finished_within<T: Send + 'static>(
    limit: Duration,
    body: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        // A receiver that gave up is gone; nobody is left to tell.
        let _ = done.send(body());
    });
    match finished.recv_timeout(limit) {
        Ok(result) => {
            worker.join().expect("a body that returned cannot panic afterwards");
            Some(result)
        }
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Err(payload) => resume_unwind(payload),
            Ok(()) => unreachable!("the body ended without a result and without a panic"),
        },
    }
}

/// [`within`] the crate's liveness bound, for a contract body `test` of lock `R`.
pub(crate) fn guarded<R: 'static, T: Send + 'static>(
    test: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> T {
    guarded_for::<R, T>(scale::liveness(), test, body)
}

/// [`guarded`] with a bound of its own.
pub(crate) fn guarded_for<R: 'static, T: Send + 'static>(
    limit: Duration,
    test: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> T {
    within(limit, &format!("{test} on {}", type_name::<R>()), body)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "sleeper: not finished after 10ms")]
    fn a_hanging_body_fails_and_is_named() {
        within(Duration::from_millis(10), "sleeper", || thread::sleep(Duration::from_secs(3_600)));
    }

    #[test]
    #[should_panic(expected = "from the body")]
    fn a_panic_in_the_body_is_passed_on() {
        within(Duration::from_secs(60), "panicker", || panic!("from the body"));
    }

    #[test]
    fn the_result_of_the_body_is_returned() {
        assert_eq!(within(Duration::from_secs(60), "adder", || 1 + 1), 2);
    }
}
