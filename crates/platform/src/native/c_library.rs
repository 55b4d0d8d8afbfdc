//! What a library for C programs needs in place of the standard library.

/// To be invoked once in the root of a library for C programs, which is `no_std` where panics abort.
///
/// A panic there is a broken invariant of the locks: the program's data cannot be trusted any more, and
/// it is aborted. Where panics unwind (in tests) the standard library is linked, which says how; and so
/// where one command builds the library and, with features of this crate that need it, the laboratory.
#[cfg(any(feature = "counting", feature = "fiber"))]
#[macro_export]
macro_rules! c_library {
    () => {
        extern crate std;
    };
}

/// To be invoked once in the root of a library for C programs, which is `no_std` where panics abort.
///
/// A panic there is a broken invariant of the locks: the program's data cannot be trusted any more, and
/// it is aborted. Where panics unwind (in tests) the standard library is linked, which says how.
#[cfg(not(any(feature = "counting", feature = "fiber")))]
#[macro_export]
macro_rules! c_library {
    () => {
        #[cfg(not(panic = "abort"))]
        extern crate std;

        #[cfg(panic = "abort")]
        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
            unsafe extern "C" {
                safe fn abort() -> !;
            }
            abort()
        }

        // What the unwind tables of the library and of the core library (which was compiled to unwind)
        // name as the function that knows what a frame has to clean up when a cancelled thread or an
        // exception leaves it: nothing, go on. Hidden, since as an export it would replace that of programs in
        // Rust; and weak, for programs that are linked with such a library and with Rust.
        #[cfg(panic = "abort")]
        core::arch::global_asm!(
            ".pushsection .text.rust_eh_personality,\"ax\",%progbits",
            ".weak rust_eh_personality",
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
    };
}
