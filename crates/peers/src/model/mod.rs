//! What other people's mutexes do, written anew on a [`Platform`](lockwright_platform::Platform), so that
//! it can be put on a simulated machine. Named for what they do; after their documentation, not from
//! their sources.
//!
//! | model | does as | differs in |
//! |---|---|---|
//! | [`Barging`] | `std::sync::Mutex` on Linux, a futex: spins a hundred times, sleeps, is woken, and then competes with whoever comes | threads asleep at this lock only share its bucket in the kernel |
//! | [`FairAfter`] | `parking_lot::Mutex`: as that, but after half a millisecond on average an unlock hands the lock to who has slept longest | the same for the bucket of its own table |
//!
//! *Guarantees*: mutual exclusion, no lost wake-up. *Waiting*: as the table says. *Node lifetime*: a waiter's
//! is its lock's.
//! *Checked by*: `tests.rs`, on threads and in the simulator.

mod barging;
mod fair_after;
mod waiters;

pub use barging::Barging;
pub use fair_after::FairAfter;
