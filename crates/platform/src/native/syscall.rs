//! System calls without the C library's functions, which write `errno` and may be cancellation points.
//!
//! C programs rely on a lock operation leaving `errno` alone, though no standard says so. Elsewhere than on
//! x86-64 and aarch64 (or under Miri) the C library's `syscall` is called.

/// The result of a system call by its number and arguments (integers and pointers, at most six):
/// not negative, or an error number, negative.
macro_rules! syscall {
    ($number:expr $(, $argument:expr)* $(,)?) => {{
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        {
            let arguments: &[usize] = &[$($crate::native::syscall::Argument::word($argument)),*];
            $crate::native::syscall::call($number as usize, arguments)
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        {
            match libc::syscall($number $(, $argument)*) {
                -1 => -(*libc::__errno_location() as isize),
                result => result as isize,
            }
        }
    }};
}
pub(super) use syscall;

/// What may be an argument.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(super) trait Argument {
    /// As the kernel takes it.
    fn word(self) -> usize;
}

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod arguments {
    use super::Argument;

    macro_rules! integers {
        ($($type:ty),*) => {$(
            impl Argument for $type {
                #[inline(always)]
                fn word(self) -> usize {
                    self as usize
                }
            }
        )*};
    }
    integers!(i32, u32, usize);

    impl<T> Argument for *const T {
        #[inline(always)]
        fn word(self) -> usize {
            self.expose_provenance()
        }
    }

    impl<T> Argument for *mut T {
        #[inline(always)]
        fn word(self) -> usize {
            self.expose_provenance()
        }
    }
}

/// # Safety
///
/// 1. The system call may be made with these arguments.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
pub(super) unsafe fn call(number: usize, arguments: &[usize]) -> isize {
    let argument = |i: usize| arguments.get(i).copied().unwrap_or(0);
    let result: isize;
    // SAFETY: the caller's contract (1); the kernel preserves all registers but those named.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") argument(0),
            in("rsi") argument(1),
            in("rdx") argument(2),
            in("r10") argument(3),
            in("r8") argument(4),
            in("r9") argument(5),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    // SAFETY: as on x86-64.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") argument(0) => result,
            in("x1") argument(1),
            in("x2") argument(2),
            in("x3") argument(3),
            in("x4") argument(4),
            in("x5") argument(5),
            options(nostack)
        );
    }
    result
}

#[cfg(all(test, not(miri)))]
mod tests {
    #[test]
    fn results_and_errors_are_the_kernels_and_errno_is_left_alone() {
        // SAFETY: errno is the thread's own; the calls have no effect.
        unsafe {
            *libc::__errno_location() = 77;
            assert_eq!(syscall!(libc::SYS_getpid), libc::getpid() as isize);
            assert_eq!(syscall!(libc::SYS_close, -1i32), -libc::EBADF as isize);
            assert_eq!(*libc::__errno_location(), 77);
        }
    }
}
