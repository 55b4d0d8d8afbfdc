//! Fault B5: two threads got into one section without a word of unsafe code, by way of records. Each of
//! these must not compile.
//!
//! ```compile_fail,E0133
//! use lockwright_platform::{Native, Platform, Slot, Word};
//! let record = Native::thread_record(Slot::new(1).unwrap());
//! record.words()[0].store(1, std::sync::atomic::Ordering::Relaxed);
//! ```
//! ```compile_fail,E0133
//! use lockwright_platform::{Native, Platform, Slot, Word};
//! let record = Native::lock_record(Slot::new(1).unwrap());
//! record.words().words[0].store(0, std::sync::atomic::Ordering::Relaxed);
//! ```
//! ```compile_fail,E0133
//! use lockwright_platform::{Me, Native, Slot};
//! let slot = Slot::new(1).unwrap();
//! let me = Me::<Native>::new(slot, Native::thread_record(slot), false);
//! ```
//! ```compile_fail,E0133
//! use lockwright_platform::{Native, Platform, Slot};
//! Native::leave(Slot::new(1).unwrap(), true);
//! ```
//! ```compile_fail,E0133
//! use lockwright_platform::{Native, Platform, Slot};
//! Native::return_lock_record(Slot::new(1).unwrap());
//! ```
//! ```compile_fail,E0133
//! use lockwright_platform::{Native, Platform};
//! Native::lower_signal_guard();
//! ```
//! ```compile_fail,E0200
//! struct Never;
//! impl lockwright_platform::Word<u8> for Never {}
//! ```
//! ```compile_fail,E0603
//! struct Mine;
//! impl lockwright_platform::word::sealed::Sealed for Mine {}
//! ```
