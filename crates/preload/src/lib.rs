//! The interposer: programs that are loaded with it take lockwright's locks for the C library's.
//!
//! It exports the functions of POSIX mutexes, reader-writer locks, condition variables and spin
//! locks, and those of C11, under the C library's names. Their state is inside the C library's
//! objects, so a static initialiser is all that an object needs, and nothing is allocated for any.
//!
//! | what | who does it |
//! |---|---|
//! | normal, recursive, error-checking and adaptive mutexes; reader-writer locks; condition variables; spin locks | lockwright |
//! | what is shared between processes; robust mutexes; priority inheritance and protection | the C library, called on |
//!
//! *Versions*: the exported names carry none, so the dynamic linker binds a reference of any
//! version to them, of programs linked long ago too (before 2.34; condition variables of 2.2.5).
//! *In a lock operation* it allocates nothing, prints nothing, takes no lock of the C library's
//! and asks the dynamic linker nothing: an allocator, a sanitizer or a signal handler may be the
//! caller. The C library's own functions are found by reading its symbol table. *Thread-local
//! storage* is in the initial-exec model. *Errors* are those of the C library: `tests/` holds each
//! function against it. *Fork*: see `lockwright_locks::mutex`. *Does not see*: calls inside the C
//! library, static programs, plug-ins loaded with `RTLD_DEEPBIND`.

#![no_std]
// Without this, what a C program never calls would need documentation.
#![allow(missing_docs, clippy::missing_safety_doc)]

lockwright_platform::c_library!();

mod aliases;
mod c11;
mod cancel;
mod condvar;
mod elf;
mod entry;
mod mutex;
mod objects;
mod real;
mod rwlock;
mod settings;
mod spin;
mod stat;
