//! Text in a buffer of its own: nothing is allocated.

use core::fmt::{self, Write};

/// At most `N` bytes; what does not fit is an error.
pub(super) struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// What was written.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Appends bytes that need not be text; `None` if they do not fit.
    pub(super) fn append(&mut self, more: &[u8]) -> Option<()> {
        let end = self.len + more.len();
        self.bytes.get_mut(self.len..end)?.copy_from_slice(more);
        self.len = end;
        Some(())
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Text { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.append(text.as_bytes()).ok_or(fmt::Error)
    }
}
