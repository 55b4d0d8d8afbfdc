//! Thread-local words that are reached without a call.
//!
//! A shared library reaches thread-local storage through a function of the C library, which may
//! allocate and lock: not in a lock operation of a program whose allocator uses these locks. In
//! the *initial-exec* model it takes two instructions, but the compiler cannot be asked for that
//! model. So the words are declared in assembly; in a program the linker makes it one instruction.
//! Elsewhere than on x86-64 and aarch64 with glibc (or under Miri) it is std's thread-local storage.

/// Declares a function that runs a closure on this thread's own words:
/// `initial_exec!(fn here: Here = zero(), 16 bytes, "symbol")`. All bytes are 0 when a thread begins, which
/// must be a value of the type, and `zero()` be that value; the type holds cells, and has no
/// destructor (the words work in destructors and signal handlers). The symbol is the words' name in the program.
#[macro_export]
macro_rules! initial_exec {
    ($(#[$meta:meta])* $visible:vis fn $here:ident: $type:ty = $zero:expr, $bytes:literal bytes, $($symbol:tt)+) => {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_env = "gnu", not(miri)))]
        core::arch::global_asm!(
            ".pushsection .tbss,\"awT\",%nobits",
            ".p2align 4",
            concat!(".globl ", $($symbol)+),
            concat!(".hidden ", $($symbol)+),
            concat!(".type ", $($symbol)+, ",%object"),
            concat!(".size ", $($symbol)+, ",", $bytes),
            concat!($($symbol)+, ":"),
            concat!(".zero ", $bytes),
            ".popsection",
        );

        $(#[$meta])*
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_env = "gnu", not(miri)))]
        #[inline(always)]
        $visible fn $here<T>(f: impl FnOnce(&$type) -> T) -> T {
            const { assert!(size_of::<$type>() == $bytes && align_of::<$type>() <= 16) };
            let at: *const $type;
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the linker fills in the words' distance from the thread pointer; fs:0 holds the
            // thread pointer itself. Neither changes while the thread lives.
            unsafe {
                core::arch::asm!(
                    concat!("mov {at}, qword ptr [rip + ", $($symbol)+, "@GOTTPOFF]"),
                    "add {at}, qword ptr fs:[0]",
                    at = out(reg) at,
                    options(pure, readonly, nostack)
                );
            }
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as on x86-64; the thread pointer is in TPIDR_EL0.
            unsafe {
                core::arch::asm!(
                    concat!("adrp {at}, :gottprel:", $($symbol)+),
                    concat!("ldr {at}, [{at}, :gottprel_lo12:", $($symbol)+, "]"),
                    "mrs {tp}, tpidr_el0",
                    "add {at}, {at}, {tp}",
                    at = out(reg) at,
                    tp = out(reg) _,
                    options(pure, readonly, nostack, preserves_flags)
                );
            }
            // SAFETY: so many bytes of this thread's storage, aligned and zero at its start, where zero
            // is a value of the type; only this thread uses them, through cells.
            f(unsafe { &*at })
        }

        $(#[$meta])*
        #[cfg(not(all(
            any(target_arch = "x86_64", target_arch = "aarch64"),
            target_env = "gnu",
            not(miri)
        )))]
        #[inline]
        $visible fn $here<T>(f: impl FnOnce(&$type) -> T) -> T {
            std::thread_local! {
                static WORDS: $type = const { $zero };
            }
            WORDS.with(f)
        }
    };
}
