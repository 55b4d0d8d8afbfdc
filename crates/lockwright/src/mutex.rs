//! The mutexes by name.

use lockwright_locks::mutex::{Latency, SliceAtomic};

use crate::raw::{RawMutex, RawMutexWith};

/// Names a mutex and its guards.
macro_rules! mutex_names {
    ($(#[$doc:meta])* $mutex:ident, $guard:ident, $mapped:ident<$($policy:ident)?>: $raw:ty) => {
        $(#[$doc])*
        pub type $mutex<T $(, $policy)?> = lock_api::Mutex<$raw, T>;
        #[doc = concat!("The guard of a [`", stringify!($mutex), "`].")]
        pub type $guard<'a, T $(, $policy)?> = lock_api::MutexGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a part of what a [`", stringify!($mutex), "`] protects.")]
        pub type $mapped<'a, T $(, $policy)?> = lock_api::MappedMutexGuard<'a, $raw, T>;
    };
}

mutex_names! {
    /// A mutex with the default policy, [`Slice`](crate::Slice).
    Mutex, MutexGuard, MappedMutexGuard<>: RawMutex
}

mutex_names! {
    /// A mutex whose longest wait is short.
    LatencyMutex, LatencyMutexGuard, MappedLatencyMutexGuard<>: RawMutexWith<Latency>
}

mutex_names! {
    /// A mutex that may be freed under its own lock.
    AtomicMutex, AtomicMutexGuard, MappedAtomicMutexGuard<>: RawMutexWith<SliceAtomic>
}

mutex_names! {
    /// A mutex with the policy `W`.
    MutexWith, MutexGuardWith, MappedMutexGuardWith<W>: RawMutexWith<W>
}
