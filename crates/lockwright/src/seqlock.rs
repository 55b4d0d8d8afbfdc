//! The sequence lock with the product mutex for its writers.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use lockwright_locks::plain::Plain;
use lockwright_locks::seqlock::{Overlay, RawSeqLock};
use lockwright_platform::Native;

use crate::{Mutex, MutexGuard};

/// Attempts of [`SeqLock::read`] before it takes the lock. An assumption: a reader that has lost
/// so many races in a row waits less in the writers' queue.
const TRIES: u32 = 16;

/// A small value that is read much more often than written.
///
/// Readers copy the value out and store nothing in shared memory, so any number of them scale.
/// They may have to copy it again when a writer comes in between; after some failures
/// [`read`](Self::read) takes the writers' lock, so that no stream of writers starves it.
///
/// The value must be [`Plain`]: without padding or pointers. Use [`plain!`](crate::plain!) for
/// structs.
///
/// Writers change a copy of their own and publish it as a whole. A writer that panics publishes
/// nothing: readers go on with the old value, and nobody is stuck.
///
/// A signal handler must not `read` or write, since it may have interrupted a writer that it then
/// waits for; [`try_read`](Self::try_read) it may call, and [`SeqLatch`](crate::SeqLatch) always
/// has an answer.
///
/// ```
/// use lockwright::SeqLock;
///
/// static POSITION: SeqLock<[f64; 3]> = SeqLock::new([0.0; 3]);
///
/// POSITION.write()[0] = 1.5;
/// POSITION.set([1.0, 2.0, 3.0]);
/// assert_eq!(POSITION.read(), [1.0, 2.0, 3.0]);
/// ```
#[doc = include_str!("../docs/seqlock.md")]
pub struct SeqLock<T: Plain> {
    writers: Mutex<()>,
    raw: RawSeqLock<Native, Overlay<T>>,
}

impl<T: Plain> SeqLock<T> {
    /// Protects `value`.
    pub const fn new(value: T) -> Self {
        SeqLock { writers: Mutex::new(()), raw: RawSeqLock::new(Overlay::new(value)) }
    }

    /// The value.
    #[inline]
    pub fn read(&self) -> T {
        self.read_counted().0
    }

    /// The value, and how many attempts to read it failed.
    #[inline]
    pub fn read_counted(&self) -> (T, u32) {
        match self.raw.read(TRIES) {
            Some(read) => read,
            None => (self.read_locked(), TRIES),
        }
    }

    /// The value, unless a writer is at it or comes in between. Never waits.
    #[inline]
    pub fn try_read(&self) -> Option<T> {
        self.raw.try_read()
    }

    #[cold]
    fn read_locked(&self) -> T {
        let _guard = self.writers.lock();
        // SAFETY: all stores are made under `writers` (1).
        unsafe { self.raw.read_exclusive() }
    }

    /// Replaces the value.
    #[inline]
    pub fn set(&self, value: T) {
        let guard = self.writers.lock();
        self.publish(&guard, value);
    }

    #[inline]
    fn publish(&self, _guard: &MutexGuard<'_, ()>, value: T) {
        // SAFETY: the caller holds `writers`, as all callers do (1); no other function of this
        // type hands out a guard of it.
        unsafe { self.raw.store(value) }
    }

    /// Changes the value by `change`, which works on a copy; readers see the old value until it
    /// has returned. If it panics nothing has changed.
    #[inline]
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let guard = self.writers.lock();
        // SAFETY: all stores are made under `writers` (1).
        let mut value = unsafe { self.raw.read_exclusive() };
        let result = change(&mut value);
        self.publish(&guard, value);
        result
    }

    /// Locks other writers out. What is written to the guard is published when it is dropped.
    #[inline]
    pub fn write(&self) -> SeqLockGuard<'_, T> {
        SeqLockGuard::new(self, self.writers.lock())
    }

    /// As [`write`](Self::write), if no other writer is there.
    #[inline]
    pub fn try_write(&self) -> Option<SeqLockGuard<'_, T>> {
        Some(SeqLockGuard::new(self, self.writers.try_lock()?))
    }

    /// The value, to the only one who can see it.
    pub fn get_mut(&mut self) -> &mut T {
        self.raw.body_mut().get_mut()
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.raw.into_body().into_inner()
    }
}

impl<T: Plain + Default> Default for SeqLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Plain> From<T> for SeqLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for SeqLock<T> {
    /// Shows the value if it can be read without waiting.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("SeqLock");
        match self.try_read() {
            Some(value) => text.field("value", &value),
            None => text.field("value", &format_args!("<being written>")),
        };
        text.finish()
    }
}

#[cfg(feature = "serde")]
impl<T: Plain + serde::Serialize> serde::Serialize for SeqLock<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de, T: Plain + serde::Deserialize<'de>> serde::Deserialize<'de> for SeqLock<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

/// A writer's copy of the value in a [`SeqLock`]; published when dropped, unless by a panic.
#[must_use = "the lock is released when this is dropped"]
pub struct SeqLockGuard<'a, T: Plain> {
    lock: &'a SeqLock<T>,
    value: T,
    /// The thread was unwinding already when it took the lock.
    unwinding: bool,
    guard: MutexGuard<'a, ()>,
    _not_send: PhantomData<*mut ()>,
}

impl<'a, T: Plain> SeqLockGuard<'a, T> {
    #[inline]
    fn new(lock: &'a SeqLock<T>, guard: MutexGuard<'a, ()>) -> Self {
        // SAFETY: all stores are made under `writers`, which `guard` holds (1).
        let value = unsafe { lock.raw.read_exclusive() };
        let unwinding = std::thread::panicking();
        SeqLockGuard { lock, value, unwinding, guard, _not_send: PhantomData }
    }
}

impl<T: Plain> Deref for SeqLockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Plain> DerefMut for SeqLockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Plain> Drop for SeqLockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.unwinding || !std::thread::panicking() {
            self.lock.publish(&self.guard, self.value);
        }
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for SeqLockGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
