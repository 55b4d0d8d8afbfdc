//! What the C library and the kernel say about themselves, where that takes a C call.

use std::ffi::CStr;

/// Name and version of the C library that the pthread locks are of, where it can say.
pub fn c_library() -> Option<String> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: returns a static string.
        let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
        Some(format!("glibc {}", version.to_string_lossy()))
    }
    #[cfg(not(target_env = "gnu"))]
    {
        None
    }
}

/// Slots of this process's own hash of futexes; 0: it uses the one that all processes share.
/// `None` before Linux 6.16, which has no such hash.
pub fn futex_hash_slots() -> Option<u32> {
    // linux/prctl.h; the C library's headers may be older than the kernel.
    const PR_FUTEX_HASH: libc::c_int = 78;
    const PR_FUTEX_HASH_GET_SLOTS: libc::c_ulong = 2;
    // SAFETY: the call only returns a number.
    let slots = unsafe { libc::prctl(PR_FUTEX_HASH, PR_FUTEX_HASH_GET_SLOTS, 0, 0, 0) };
    u32::try_from(slots).ok()
}

/// Bytes of `struct rseq` that the C library has registered for each thread; `None`: none, so
/// that a thread learns its CPU by a system call.
pub fn rseq_bytes() -> Option<u32> {
    // SAFETY: looks a name up; what is found is an unsigned int that never changes (glibc 2.35).
    let size = unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr());
        symbol.cast::<libc::c_uint>().as_ref().copied()
    };
    size.filter(|&bytes| bytes > 0)
}

/// How a child process ended, and what it and the descendants that it waited for used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reaped {
    /// As `waitpid` gives it; `std::process::ExitStatus::from_raw` reads it.
    pub status: i32,
    /// CPU time in user mode, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// Times a thread gave the CPU up.
    pub voluntary_switches: u64,
    /// Times a thread lost the CPU.
    pub involuntary_switches: u64,
    /// Page faults served without reading anything.
    pub minor_faults: u64,
    /// Page faults for which something was read.
    pub major_faults: u64,
    /// Peak memory of the largest process, in bytes.
    pub peak_bytes: u64,
}

/// Waits for a child of this process to end.
///
/// # Errors
///
/// It is no child, or somebody else has waited for it.
pub fn reap(child: u32) -> std::io::Result<Reaped> {
    let pid = libc::pid_t::try_from(child).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid rusage: it consists of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both places are ours to write.
        let ended = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
        if ended == pid {
            break;
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
    Ok(Reaped {
        status,
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        peak_bytes: count(usage.ru_maxrss) * 1024,
    })
}
