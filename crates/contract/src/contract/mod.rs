//! The contract as generic test bodies. Each is named for the property it demands, runs under
//! a watchdog, and panics if the lock breaks its word. The macros of the crate instantiate
//! them; a body may also be called directly: `contract::mutex::<body>::<RawType>()`.

pub mod condvar;
pub mod condvar_exact;
pub mod fair;
#[cfg(not(miri))]
pub mod fork;
pub mod mutex;
pub mod rwlock;
#[cfg(not(miri))]
pub mod signal;
pub mod threads;
pub mod timed;
#[cfg(not(miri))]
pub mod unmap;

use crate::{AnyMutex, oracle::Violation, watchdog::guarded};
use std::any::type_name;

/// Runs an oracle as a contract body: a violation fails the test.
fn demand<R: AnyMutex, T>(test: &str, verdict: Result<T, Violation>) -> T {
    verdict.unwrap_or_else(|found| panic!("{test} on {}: {found}", type_name::<R>()))
}

/// Names the body in which it stands, for messages.
macro_rules! body {
    () => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        let name = name.strip_suffix("::here").unwrap_or(name);
        name.strip_prefix("lockwright_contract::contract::").unwrap_or(name)
    }};
}
use body;
