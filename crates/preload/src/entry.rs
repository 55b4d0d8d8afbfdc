//! How functions are exported: under the C library's names, and where need be with the address that
//! they return to, by which statistics know a caller without walking its stack.

/// Exports functions under the names that they have.
macro_rules! export {
    ($($abi:literal fn $name:ident($($arg:ident: $type:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn $name($($arg: $type),*) -> c_int $body
    )*};
}
pub(crate) use export;

/// The same for functions whose body gets one argument more, after a semicolon: where the call
/// returns to. The exported function adds it and jumps to the body, `name::body`.
macro_rules! export_from {
    ($($abi:literal fn $name:ident($($arg:ident: $type:ty),*; $from:ident) $body:block)*) => {$(
        pub mod $name {
            use super::*;

            #[allow(clippy::missing_safety_doc)]
            pub unsafe extern $abi fn body($($arg: $type,)* $from: usize) -> c_int $body
        }

        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn $name($($arg: $type),*) -> c_int {
            $crate::entry::jump!($name::body, $($arg),*)
        }
    )*};
}
pub(crate) use export_from;

/// Jumps to a function with the address that this one returns to behind its arguments, of which
/// there are as many as names.
macro_rules! jump {
    ($body:path, $a:ident) => {
        $crate::entry::jump!(@ $body, "mov rsi, [rsp]", "mov x1, x30")
    };
    ($body:path, $a:ident, $b:ident) => {
        $crate::entry::jump!(@ $body, "mov rdx, [rsp]", "mov x2, x30")
    };
    ($body:path, $a:ident, $b:ident, $c:ident) => {
        $crate::entry::jump!(@ $body, "mov rcx, [rsp]", "mov x3, x30")
    };
    ($body:path, $a:ident, $b:ident, $c:ident, $d:ident) => {
        $crate::entry::jump!(@ $body, "mov r8, [rsp]", "mov x4, x30")
    };
    (@ $body:path, $x86:literal, $arm:literal) => {
        core::arch::naked_asm!(
            #[cfg(target_arch = "x86_64")]
            $x86,
            #[cfg(target_arch = "x86_64")]
            "jmp {body}",
            #[cfg(target_arch = "aarch64")]
            $arm,
            #[cfg(target_arch = "aarch64")]
            "b {body}",
            body = sym $body,
        )
    };
}
pub(crate) use jump;
