//! Atomic words: one trait over the standard library's atomics and those of other platforms.

use core::fmt::Debug;
use core::ops::{BitAnd, BitOr, Not};
use core::sync::atomic::Ordering;

mod sealed {
    /// [`Scalar`](super::Scalar) is this crate's to implement: its words must be atomic.
    pub trait Sealed {}
}

/// An unsigned integer that can live in a [`Word`].
pub trait Scalar:
    sealed::Sealed
    + Copy
    + Eq
    + Debug
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + 'static
{
    /// The standard library's atomic over this type.
    type Native: Word<Self> + ZeroWord;
    /// 0.
    const ZERO: Self;
    /// The value in 64 bits (zero-extended).
    fn widen(self) -> u64;
    /// The value in the low bits.
    fn narrow(wide: u64) -> Self;
}

/// A word that can stand in a `const` and is 0 there.
pub trait ZeroWord {
    /// A word holding 0.
    // An interior-mutable constant is what `const INIT` of lock_api needs; each use is a fresh
    // word, never a shared one.
    #[allow(clippy::declare_interior_mutable_const)]
    const ZERO: Self;
}

/// An atomic word. The operations are those of `core::sync::atomic`.
///
/// # Safety
///
/// 1. Every operation is atomic, with at least the ordering asked for.
/// 2. What [`new`](Self::new) makes holds the value given.
#[allow(missing_docs)]
pub unsafe trait Word<T: Scalar>: Send + Sync {
    fn new(value: T) -> Self;
    fn load(&self, order: Ordering) -> T;
    fn store(&self, value: T, order: Ordering);
    fn swap(&self, value: T, order: Ordering) -> T;
    fn compare_exchange(
        &self,
        old: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T>;
    fn fetch_add(&self, value: T, order: Ordering) -> T;
    fn fetch_sub(&self, value: T, order: Ordering) -> T;
    fn fetch_and(&self, value: T, order: Ordering) -> T;
    fn fetch_or(&self, value: T, order: Ordering) -> T;
}

macro_rules! word {
    ($scalar:ty, $atomic:path) => {
        // SAFETY: each operation is the atomic's own (1), and so is `new` (2).
        unsafe impl Word<$scalar> for $atomic {
            #[inline(always)]
            fn new(value: $scalar) -> Self {
                <$atomic>::new(value)
            }
            #[inline(always)]
            fn load(&self, order: Ordering) -> $scalar {
                self.load(order)
            }
            #[inline(always)]
            fn store(&self, value: $scalar, order: Ordering) {
                self.store(value, order)
            }
            #[inline(always)]
            fn swap(&self, value: $scalar, order: Ordering) -> $scalar {
                self.swap(value, order)
            }
            #[inline(always)]
            fn compare_exchange(
                &self,
                old: $scalar,
                new: $scalar,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$scalar, $scalar> {
                self.compare_exchange(old, new, success, failure)
            }
            #[inline(always)]
            fn fetch_add(&self, value: $scalar, order: Ordering) -> $scalar {
                self.fetch_add(value, order)
            }
            #[inline(always)]
            fn fetch_sub(&self, value: $scalar, order: Ordering) -> $scalar {
                self.fetch_sub(value, order)
            }
            #[inline(always)]
            fn fetch_and(&self, value: $scalar, order: Ordering) -> $scalar {
                self.fetch_and(value, order)
            }
            #[inline(always)]
            fn fetch_or(&self, value: $scalar, order: Ordering) -> $scalar {
                self.fetch_or(value, order)
            }
        }
    };
}

macro_rules! scalar {
    ($($scalar:ty => $atomic:ident),*) => {$(
        word!($scalar, core::sync::atomic::$atomic);
        impl ZeroWord for core::sync::atomic::$atomic {
            #[allow(clippy::declare_interior_mutable_const)]
            const ZERO: Self = Self::new(0);
        }
        impl sealed::Sealed for $scalar {}
        impl Scalar for $scalar {
            type Native = core::sync::atomic::$atomic;
            const ZERO: Self = 0;
            #[inline(always)]
            fn widen(self) -> u64 {
                self.into()
            }
            #[inline(always)]
            fn narrow(wide: u64) -> Self {
                wide as $scalar
            }
        }
    )*};
}

scalar!(u8 => AtomicU8, u16 => AtomicU16, u32 => AtomicU32, u64 => AtomicU64);
