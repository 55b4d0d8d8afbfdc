//! Values that may be copied as words: no padding, no pointers.
//!
//! A sequence lock copies its value word by word with atomic loads and stores, and an atomic load
//! of bytes that were never written, such as the padding of a struct, is undefined behaviour in
//! Rust. Nothing in the standard library can ask whether a type has padding. So a type says it
//! itself, by [`Plain`], and [`plain!`](crate::plain!) lets the compiler check what it says: that
//! the sizes of the fields add up to the size of the struct. A struct that fails the check gets a
//! field for its padding, such as `_pad: [u8; 4]`.

/// A type whose values are copied as words.
///
/// Implemented for numbers, `bool`, `char`, `()`, `NonZero` and its `Option`, arrays, and tuples
/// without padding (with padding: an error when the code is compiled). For structs use
/// [`plain!`](crate::plain!).
///
/// ```compile_fail
/// // Four bytes of padding:
/// lockwright_locks::seqlock::Overlay::new((1_u64, 2_u32));
/// ```
///
/// # Safety
///
/// If [`CHECKED`](Self::CHECKED) can be evaluated:
///
/// 1. No value of the type has a byte that is not initialised: no padding, no unions with gaps,
///    no `MaybeUninit`.
/// 2. No value has a pointer in it, references and functions included: as words they would lose
///    their provenance.
/// 3. A value may be used in another thread, and after the borrow it came from.
pub unsafe trait Plain: Copy + Send + Sync + 'static {
    /// Evaluated for each type that is used; does not compile where the type has padding.
    const CHECKED: () = ();
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        // SAFETY: a primitive: all bytes are value (1), none is of a pointer (2), Copy data (3).
        unsafe impl Plain for $type {}
    )*};
}

numbers!((), bool, char, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

macro_rules! non_zero {
    ($($type:ty),*) => {$(
        // SAFETY: the layout of the integer; all bytes are value (1, 2, 3).
        unsafe impl Plain for core::num::NonZero<$type> {}
        // SAFETY: documented to have the layout of the integer, `None` being 0 (1, 2, 3).
        unsafe impl Plain for Option<core::num::NonZero<$type>> {}
    )*};
}

non_zero!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

// SAFETY: arrays have no padding between elements (1); 2 and 3 as for the elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const CHECKED: () = T::CHECKED;
}

macro_rules! tuples {
    ($(($($part:ident),+))*) => {$(
        // SAFETY: CHECKED can be evaluated only if the parts fill the tuple and each is checked
        // (1); 2 and 3 as for the parts.
        unsafe impl<$($part: Plain),+> Plain for ($($part,)+) {
            const CHECKED: () = {
                $(let () = $part::CHECKED;)+
                assert!(size_of::<Self>() == 0 $(+ size_of::<$part>())+, "the tuple has padding");
            };
        }
    )*};
}

tuples! { (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) }

/// Implements [`Plain`] for structs with named fields, all of which are named here again with
/// their types. Padding, a missing field or a wrong type is an error when the code is compiled.
///
/// ```
/// #[derive(Clone, Copy)]
/// struct Sample {
///     at_ns: u64,
///     value: f32,
///     _pad: [u8; 4],
/// }
/// lockwright_locks::plain!(Sample { at_ns: u64, value: f32, _pad: [u8; 4] });
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy)]
/// struct Padded { at_ns: u64, value: f32 }
/// lockwright_locks::plain!(Padded { at_ns: u64, value: f32 });
/// const _: () = <Padded as lockwright_locks::plain::Plain>::CHECKED;
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy)]
/// struct Sample { at_ns: u64, value: u64 }
/// lockwright_locks::plain!(Sample { at_ns: u64 });
/// ```
#[macro_export]
macro_rules! plain {
    ($($type:ident { $($field:ident: $kind:ty),* $(,)? })+) => {$(
        const _: () = {
            // Names every field with its exact type, or does not compile.
            #[allow(dead_code)]
            fn all_fields($type { $($field),* }: $type) {
                $(let _: $kind = $field;)*
            }
            assert!(
                ::core::mem::size_of::<$type>() == 0 $(+ ::core::mem::size_of::<$kind>())*,
                "the struct has padding"
            );
        };
        // SAFETY: the fields are all there (the function above), each is Plain and checked, and
        // they leave no room for padding (1); 2 and 3 as for the fields.
        unsafe impl $crate::plain::Plain for $type {
            const CHECKED: () = {
                $(let () = <$kind as $crate::plain::Plain>::CHECKED;)*
            };
        }
    )+};
}
