//! Locks to measure against.
//!
//! This crate is the exception to the rule that unsafe code lives only where the project's own
//! locks do: the C library's mutex and the C++ libraries' mutexes can be called in no other way.
//! It is used by the laboratory and by nothing that a user links.
//!
//! Each peer is a [`BenchMutex`](lockwright_workloads::mutex_bench::BenchMutex): the lock with
//! its counter beside it, called as its users call it.

mod foreign;
pub mod model;
mod monitor;
mod posix;
mod rust;
mod rwlock;
mod seq;
mod system;

#[cfg(feature = "peers-cxx")]
mod cxx;

#[cfg(feature = "peers-cxx")]
pub use cxx::{Absl, AbslRw, Nsync, NsyncRw, TbbMutex, TbbRwMutex};
pub use monitor::{ParkingLotMonitor, PthreadMonitor, StdMonitor, UsyncMonitor};
pub use posix::Pthread;
#[cfg(target_env = "gnu")]
pub use posix::PthreadAdaptive;
pub use rust::{ParkingLot, Std, Usync};
#[cfg(target_env = "gnu")]
pub use rwlock::PthreadRwWriters;
pub use rwlock::{ParkingLotRw, PthreadRw, Sharded, StdRw, UsyncRw};
pub use seq::{ArcSwapped, ParkingLotRwLock, SeqlockCrate, StdRwLock};
pub use system::{Reaped, c_library, futex_hash_slots, reap, rseq_bytes};

#[cfg(test)]
mod tests;
