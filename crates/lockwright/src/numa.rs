//! Queues of spinners that part by NUMA domain in a crowd.
//!
//! Threads that wait for a contended lock spin one at a time, in a queue. Where a lock's crowd is spread over NUMA nodes or
//! caches, each hand-over costs a transfer between them. A queue that is parted keeps the turn in a domain for a batch of
//! turns: [`Numa::batch`] of them, or [`Numa::batch_ns`]. A domain is a NUMA node, or where a node has several
//! last-level caches, each of these.
//!
//! Off unless the program asks, or the environment: `LOCKWRIGHT_NUMA=dynamic` (or `on`, `off`), with settings after
//! commas: `LOCKWRIGHT_NUMA=dynamic,batch=64,batch_us=500`. Events whose names begin with `numa_` tell what came of it.
//! The idea is that of the dynamic NUMA-aware spin queue proposed for the Linux kernel in September 2024.
//!
//! ```
//! use lockwright::numa::{self, Mode, Numa};
//!
//! match numa::enable(Numa { mode: Mode::Dynamic, ..Numa::OFF }) {
//!     Ok(()) => println!("queues part in a crowd"),
//!     // Where the CPUs are one domain, for example.
//!     Err(why) => println!("not here: {why}"),
//! }
//! numa::disable();
//! ```

use lockwright_platform::{Native, Platform};

pub use lockwright_platform::{Numa, NumaMode as Mode};

/// Why the settings were refused, in words.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Refused(&'static str);

impl core::fmt::Display for Refused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

/// Changes the settings of all locks of the process, at any time; those that are waited for follow by and by.
///
/// # Errors
///
/// A setting is out of its range, or the CPUs that the process may use are one domain, or the platform does not
/// know its domains. Nothing changes then.
pub fn enable(numa: Numa) -> Result<(), Refused> {
    lockwright_platform::set_numa(numa).map_err(Refused)
}

/// One queue for each lock from now on.
pub fn disable() {
    // Never refused.
    let _ = enable(Numa::OFF);
}

/// The settings in force: [`Numa::OFF`] too where there is one domain.
pub fn settings() -> Numa {
    Native::numa()
}

/// How many domains the CPUs that the process may use make up.
pub fn domains() -> u16 {
    Native::domains()
}
