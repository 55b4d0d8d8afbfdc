//! The C API. Its documentation is `include/lockwright.h`, generated from here by cbindgen.
//!
//! An object of C is plain words whose meaning is in Rust: each function looks at them as the lock
//! that they are. Sizes and offsets are asserted on both sides. Mutexes unlock atomically, since C
//! frees objects under their own locks. As shipped, the library needs no standard library, and
//! aborts where an invariant is broken: nothing unwinds into a C program.

#![no_std]
// Names and contracts are C's; the header says them once for all functions.
#![allow(non_camel_case_types, clippy::missing_safety_doc)]

lockwright_platform::c_library!();

mod cond;
mod events;
mod mutex;
mod numa;
mod once;
mod rwlock;
mod seqcount;
mod time;
