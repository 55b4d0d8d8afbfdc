//! The latch with the product mutex for its writers.

use std::fmt;

use lockwright_locks::plain::Plain;
use lockwright_locks::seqlatch::RawSeqLatch;
use lockwright_locks::seqlock::Overlay;
use lockwright_platform::Native;

use crate::Mutex;

/// A small value that may be read anywhere, in a signal handler that interrupted its writer too.
///
/// There are two copies, one of which is whole at any moment. Readers store nothing in shared
/// memory and never wait for a writer, not even for one that was stopped in the middle; they
/// start again only when a writer got on meanwhile. Writers pay for two copies, and must not be
/// signal handlers: a handler that writes may wait for the writer that it interrupted.
///
/// The value must be [`Plain`]; a writer that panics has published nothing, as with
/// [`SeqLock`](crate::SeqLock).
///
/// ```
/// use lockwright::SeqLatch;
///
/// static CLOCK: SeqLatch<(u64, u64)> = SeqLatch::new((0, 1));
///
/// CLOCK.set((1_000, 3));
/// assert_eq!(CLOCK.read(), (1_000, 3)); // in a signal handler, too
/// ```
#[doc = include_str!("../docs/seqlatch.md")]
pub struct SeqLatch<T: Plain> {
    writers: Mutex<()>,
    raw: RawSeqLatch<Native, Overlay<T>>,
}

impl<T: Plain> SeqLatch<T> {
    /// Holds `value`.
    pub const fn new(value: T) -> Self {
        let copies = [Overlay::new(value), Overlay::new(value)];
        SeqLatch { writers: Mutex::new(()), raw: RawSeqLatch::new(copies) }
    }

    /// The value.
    #[inline]
    pub fn read(&self) -> T {
        self.raw.read().0
    }

    /// The value, unless a writer gets on meanwhile. In a handler that interrupted the only
    /// writer it always succeeds.
    #[inline]
    pub fn try_read(&self) -> Option<T> {
        self.raw.try_read()
    }

    /// Replaces the value.
    #[inline]
    pub fn set(&self, value: T) {
        self.update(|now| *now = value);
    }

    /// Changes the value by `change`, which works on a copy; readers see the old value until it
    /// has returned. If it panics nothing has changed.
    #[inline]
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let _guard = self.writers.lock();
        let mut value = self.read();
        let result = change(&mut value);
        // SAFETY: all stores are made under `writers` (1).
        unsafe { self.raw.store(value) };
        result
    }

    /// The value.
    pub fn into_inner(mut self) -> T {
        *self.raw.copies_mut()[0].get_mut()
    }
}

impl<T: Plain + Default> Default for SeqLatch<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Plain> From<T> for SeqLatch<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for SeqLatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeqLatch").field("value", &self.read()).finish()
    }
}

#[cfg(feature = "serde")]
impl<T: Plain + serde::Serialize> serde::Serialize for SeqLatch<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de, T: Plain + serde::Deserialize<'de>> serde::Deserialize<'de> for SeqLatch<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}
