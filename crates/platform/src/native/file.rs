//! Reading files by system calls, see `syscall`.

use super::syscall::syscall;
use super::text::Text;

/// An open file.
pub(super) struct File(libc::c_int);

impl File {
    /// Opens a file for reading; its name ends with a zero byte.
    pub(super) fn open<const N: usize>(name: &Text<N>) -> Option<Self> {
        // Miri knows no files by system calls.
        if name.bytes().last() != Some(&0) || cfg!(miri) {
            return None;
        }
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let name = name.bytes().as_ptr();
        // SAFETY: the name ends with a zero byte; the flags need no mode.
        let file = unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, name, flags) };
        (file >= 0).then_some(File(file as libc::c_int))
    }

    /// Reads some bytes: 0 at the end, `None` for an error.
    pub(super) fn read(&self, into: &mut [u8]) -> Option<usize> {
        // SAFETY: `into` is writable memory of this length.
        let read = unsafe { syscall!(libc::SYS_read, self.0, into.as_mut_ptr(), into.len()) };
        usize::try_from(read).ok()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: opened by this value, and nobody else's.
        unsafe { syscall!(libc::SYS_close, self.0) };
    }
}
