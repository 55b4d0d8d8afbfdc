//! The statistics file of a running program: its layout, and a reader that trusts nothing in it.
//!
//! The interposer maps the file and writes counters into it; `lockwright stat` and `top` read it,
//! while the program runs and after it. All of it is words that change one by one, so a reading is
//! not one instant: a count may be in that its neighbour lacks. Tables are open-addressed: an entry
//! whose key is 0 is free, and an entry that has a key keeps it.
//!
//! ```text
//! Header    who, when, lock events, what did not fit
//! Lock      one lock: acquisitions, waits, histogram of waits, holds
//! Site      a lock, a role (who waits, who makes wait) and the address of a call: exact
//! Stack     a site and a stack of it: sampled, with the time that it stands for
//! Thread    how long a thread has waited
//! Module    what is loaded where, so that addresses can be named when the program has gone
//! ```

#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "read")]
extern crate std;

pub mod key;
pub mod layout;
#[cfg(feature = "read")]
pub mod read;

pub use layout::*;
