//! The contract that every lock must keep, and locks that break it.
//!
//! Three things, all of them for tests only:
//!
//! - [`contract`]: generic test bodies over the traits of `lock_api`, which the macros below
//!   turn into `#[test]` functions for one lock;
//! - [`oracle`]: the three judgements that the bodies rest on (exclusion, progress, bounded
//!   bypass) as functions that return what they found instead of panicking;
//! - [`broken`]: locks with one deliberate defect each. The tests of this crate fail unless an
//!   oracle condemns every one of them, so that a green contract means something.
//!
//! ```
//! mod contract {
//!     lockwright_contract::mutex_contract!(futex, lockwright_contract::reference::Futex, timed);
//! }
//! ```
//!
//! | macro | claims |
//! |---|---|
//! | [`mutex_contract!`] | a mutex; sections `timed` and `fair` where it has them |
//! | [`rwlock_contract!`] | a reader-writer lock with timeouts, upgrade and downgrade, fair unlock |
//! | [`condvar_contract!`] | a condition variable with timeouts; `exact` if it counts its wake-ups |
//! | [`unmap_contract!`] | unlock touches nothing of the lock after letting another thread in |
//! | [`fork_contract!`] | a child of `fork` can lock what no other thread held |
//! | [`signal_contract!`] | a signal handler may lock while its thread waits |
//! | [`process_life_contract!`] | 70,000 contending threads over the life of a process |
//!
//! # Knobs (environment)
//!
//! - `LOCKWRIGHT_ROUNDS`: rounds of the unmap contract (default 20,000).
//! - `LOCKWRIGHT_SEED`: seed of the random pauses; every watchdog failure prints the one in use.
//! - `LOCKWRIGHT_WATCHDOG_SECS`: how long a body may take before it counts as hung (default 60).
//!
//! # Unsafe code
//!
//! The project allows `unsafe` in few crates. This one is an exception because it is never
//! linked into a product: it must implement `lock_api`'s unsafe traits wrongly on purpose, and
//! must map memory, fork and install signal handlers, to test what safe code cannot reach.

pub mod broken;
pub mod contract;
mod macros;
pub mod oracle;
#[cfg(not(miri))]
pub mod os;
pub mod reference;
pub mod scale;
pub mod scene;
pub mod watchdog;
mod write_side;

#[doc(hidden)]
pub use lock_api;
pub use watchdog::within;
pub use write_side::WriteSide;

use lock_api::{
    RawCondvarTimed, RawMutex, RawMutexFair, RawMutexTimed, RawRwLockFair,
    RawRwLockUpgradeDowngrade, RawRwLockUpgradeTimed,
};
use std::time::{Duration, Instant};

/// A lock that the contract can be asked of; implemented for every suitable type.
pub trait AnyMutex: RawMutex + Send + Sync + 'static {}
impl<R: RawMutex + Send + Sync + 'static> AnyMutex for R {}

/// A lock with timeouts in `std::time`'s types.
pub trait TimedMutex: AnyMutex + RawMutexTimed<Duration = Duration, Instant = Instant> {}
impl<R: AnyMutex + RawMutexTimed<Duration = Duration, Instant = Instant>> TimedMutex for R {}

/// A lock with fair unlock.
pub trait FairMutex: AnyMutex + RawMutexFair {}
impl<R: AnyMutex + RawMutexFair> FairMutex for R {}

/// A reader-writer lock with everything that the contract asks about.
pub trait AnyRwLock:
    RawRwLockUpgradeTimed<Duration = Duration, Instant = Instant>
    + RawRwLockUpgradeDowngrade
    + RawRwLockFair
    + Send
    + Sync
    + 'static
{
}
impl<R> AnyRwLock for R where
    R: RawRwLockUpgradeTimed<Duration = Duration, Instant = Instant>
        + RawRwLockUpgradeDowngrade
        + RawRwLockFair
        + Send
        + Sync
        + 'static
{
}

/// A condition variable for mutex `R`.
pub trait AnyCondvar<R: TimedMutex>: RawCondvarTimed<RawMutex = R> + Send + Sync + 'static {}
impl<R: TimedMutex, C: RawCondvarTimed<RawMutex = R> + Send + Sync + 'static> AnyCondvar<R> for C {}
