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
