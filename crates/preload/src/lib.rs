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
//! *In a lock operation* it allocates nothing, prints nothing, takes no lock of the C library's and
//! asks the dynamic linker nothing: an allocator, a sanitizer or a signal handler may be the caller. The C library's
//! own functions are found by reading its symbol table. *Thread-local storage* is in the
//! initial-exec model. *Errors* are those of the C library: `tests/` holds each function against it.
//! *Fork*: see `lockwright_locks::mutex`. *Does not see*: calls inside the C library, static
//! programs, plug-ins loaded with `RTLD_DEEPBIND`.

#![no_std]
// Without this, what a C program never calls would need documentation.
#![allow(missing_docs, clippy::missing_safety_doc)]

// Where panics unwind, the standard library must say how; as it is shipped, they end the program.
#[cfg(not(panic = "abort"))]
extern crate std;

mod aliases;
mod c11;
mod cancel;
mod condvar;
mod elf;
mod mutex;
mod objects;
mod real;
mod rwlock;
mod settings;
mod spin;
mod time;

// What the unwind tables of this library and of the core library (which was compiled to unwind) name
// as the function that knows what a frame has to clean up when a cancelled thread leaves it: nothing, go on.
// Hidden: as an export it would replace that of programs in Rust.
#[cfg(panic = "abort")]
core::arch::global_asm!(
    ".pushsection .text.rust_eh_personality,\"ax\",%progbits",
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    ".type rust_eh_personality,%function",
    "rust_eh_personality:",
    // _URC_CONTINUE_UNWIND
    #[cfg(target_arch = "x86_64")]
    "mov eax, 8",
    #[cfg(target_arch = "aarch64")]
    "mov w0, 8",
    "ret",
    ".popsection",
);

/// A broken invariant of these locks: the program's data cannot be trusted any more.
#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort has no preconditions.
    unsafe { libc::abort() }
}
