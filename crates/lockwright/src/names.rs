//! The macros that name a lock and its guards, over either version of `lock_api`.

/// Names a mutex and its guards.
macro_rules! mutex_names {
    ($(#[$doc:meta])* $mutex:ident, $guard:ident, $mapped:ident<$($policy:ident)?>: $api:ident, $raw:ty) => {
        $(#[$doc])*
        pub type $mutex<T $(, $policy)?> = $api::Mutex<$raw, T>;
        #[doc = concat!("The guard of a [`", stringify!($mutex), "`].")]
        pub type $guard<'a, T $(, $policy)?> = $api::MutexGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a part of what a [`", stringify!($mutex), "`] protects.")]
        pub type $mapped<'a, T $(, $policy)?> = $api::MappedMutexGuard<'a, $raw, T>;
    };
}

/// Names a reader-writer lock and its guards: of a reader, a writer, an upgradable reader, and of
/// parts of what the first two protect.
macro_rules! rwlock_names {
    (
        $(#[$doc:meta])*
        $lock:ident, $read:ident, $write:ident, $upgradable:ident, $mapped_read:ident, $mapped_write:ident
            <$($policy:ident)?>: $api:ident, $raw:ty
    ) => {
        $(#[$doc])*
        pub type $lock<T $(, $policy)?> = $api::RwLock<$raw, T>;
        #[doc = concat!("The guard of a reader of a [`", stringify!($lock), "`].")]
        pub type $read<'a, T $(, $policy)?> = $api::RwLockReadGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a writer of a [`", stringify!($lock), "`].")]
        pub type $write<'a, T $(, $policy)?> = $api::RwLockWriteGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a reader of a [`", stringify!($lock), "`] that may become its writer.")]
        pub type $upgradable<'a, T $(, $policy)?> =
            $api::RwLockUpgradableReadGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a reader of a part of what a [`", stringify!($lock), "`] protects.")]
        pub type $mapped_read<'a, T $(, $policy)?> = $api::MappedRwLockReadGuard<'a, $raw, T>;
        #[doc = concat!("The guard of a writer of a part of what a [`", stringify!($lock), "`] protects.")]
        pub type $mapped_write<'a, T $(, $policy)?> = $api::MappedRwLockWriteGuard<'a, $raw, T>;
    };
}

/// Names a mutex that its holder may lock again, and its guards.
macro_rules! reentrant_names {
    ($(#[$doc:meta])* $mutex:ident, $guard:ident, $mapped:ident: $api:ident, $raw:ty) => {
        $(#[$doc])*
        pub type $mutex<T> = $api::ReentrantMutex<$raw, crate::raw::RawThreadId, T>;
        #[doc = concat!("The guard of a [`", stringify!($mutex), "`].")]
        pub type $guard<'a, T> =
            $api::ReentrantMutexGuard<'a, $raw, crate::raw::RawThreadId, T>;
        #[doc = concat!("The guard of a part of what a [`", stringify!($mutex), "`] protects.")]
        pub type $mapped<'a, T> =
            $api::MappedReentrantMutexGuard<'a, $raw, crate::raw::RawThreadId, T>;
    };
}
