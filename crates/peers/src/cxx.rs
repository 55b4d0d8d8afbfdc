//! Peers of the C++ world: abseil, nsync (which is C), oneTBB.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use crate::foreign::{Foreign, Guarded, Shareable, Shared};

/// `absl::Mutex`.
pub type Absl = Guarded<AbslMarker>;
/// `nsync_mu`.
pub type Nsync = Guarded<NsyncMarker>;
/// `oneapi::tbb::mutex`.
pub type TbbMutex = Guarded<TbbMarker>;

/// `absl::Mutex`, with its readers' side.
pub type AbslRw = Shared<AbslMarker>;
/// `nsync_mu`, with its readers' side.
pub type NsyncRw = Shared<NsyncMarker>;
/// `oneapi::tbb::rw_mutex`.
pub type TbbRwMutex = Shared<TbbRwMarker>;

/// Marker of [`Absl`].
pub struct AbslMarker;
/// Marker of [`Nsync`].
pub struct NsyncMarker;
/// Marker of [`TbbMutex`].
pub struct TbbMarker;
/// Marker of [`TbbRwMutex`].
pub struct TbbRwMarker;

/// Room for any of the mutexes; the shim asserts that it is enough.
#[repr(C, align(16))]
pub struct Storage(MaybeUninit<[u8; 16]>);

unsafe extern "C" {
    fn lockwright_absl_init(at: *mut c_void);
    fn lockwright_absl_lock(mutex: *mut Storage);
    fn lockwright_absl_unlock(mutex: *mut Storage);
    fn lockwright_absl_destroy(mutex: *mut Storage);
    fn lockwright_tbb_init(at: *mut c_void);
    fn lockwright_tbb_lock(mutex: *mut Storage);
    fn lockwright_tbb_unlock(mutex: *mut Storage);
    fn lockwright_tbb_destroy(mutex: *mut Storage);
    fn lockwright_absl_lock_shared(mutex: *mut Storage);
    fn lockwright_absl_unlock_shared(mutex: *mut Storage);
    fn lockwright_tbb_rw_init(at: *mut c_void);
    fn lockwright_tbb_rw_lock(mutex: *mut Storage);
    fn lockwright_tbb_rw_unlock(mutex: *mut Storage);
    fn lockwright_tbb_rw_destroy(mutex: *mut Storage);
    fn lockwright_tbb_rw_lock_shared(mutex: *mut Storage);
    fn lockwright_tbb_rw_unlock_shared(mutex: *mut Storage);
    fn nsync_mu_rlock(mutex: *mut Storage);
    fn nsync_mu_runlock(mutex: *mut Storage);
    fn nsync_mu_init(mutex: *mut Storage);
    fn nsync_mu_lock(mutex: *mut Storage);
    fn nsync_mu_unlock(mutex: *mut Storage);
}

/// A mutex constructed in a local and moved out: only for types whose constructor stores
/// constants and no address.
fn constructed(init: impl FnOnce(*mut Storage)) -> Storage {
    let mut storage = Storage(MaybeUninit::zeroed());
    init(&raw mut storage);
    storage
}

macro_rules! foreign {
    ($marker:ty, $init:expr, $lock:expr, $unlock:expr, $destroy:expr) => {
        // SAFETY: 1. is what the library promises of a mutex. 2. All of the types may be
        // initialised statically to constants (`absl::kConstInit`, `NSYNC_MU_INIT`, an atomic
        // flag), so before their first use they hold no address of their own.
        unsafe impl Foreign for $marker {
            type Object = Storage;

            fn init() -> Storage {
                constructed($init)
            }

            #[inline]
            unsafe fn lock(object: *mut Storage) {
                // SAFETY: the caller's.
                unsafe { $lock(object) }
            }

            #[inline]
            unsafe fn unlock(object: *mut Storage) {
                // SAFETY: the caller's.
                unsafe { $unlock(object) }
            }

            unsafe fn destroy(object: *mut Storage) {
                $destroy(object)
            }
        }
    };
}

foreign!(
    AbslMarker,
    // SAFETY: the storage is large enough and aligned, which the shim asserts.
    |at| unsafe { lockwright_absl_init(at.cast()) },
    lockwright_absl_lock,
    lockwright_absl_unlock,
    // SAFETY: the caller of `destroy` vouches for the object.
    |object| unsafe { lockwright_absl_destroy(object) }
);
foreign!(
    TbbMarker,
    // SAFETY: the storage is large enough and aligned, which the shim asserts.
    |at| unsafe { lockwright_tbb_init(at.cast()) },
    lockwright_tbb_lock,
    lockwright_tbb_unlock,
    // SAFETY: the caller of `destroy` vouches for the object.
    |object| unsafe { lockwright_tbb_destroy(object) }
);
foreign!(
    NsyncMarker,
    // SAFETY: the storage is large enough and aligned, which the shim asserts.
    |at| unsafe { nsync_mu_init(at) },
    nsync_mu_lock,
    nsync_mu_unlock,
    // An nsync_mu needs no destruction.
    |_object| ()
);
foreign!(
    TbbRwMarker,
    // SAFETY: the storage is large enough and aligned, which the shim asserts.
    |at| unsafe { lockwright_tbb_rw_init(at.cast()) },
    lockwright_tbb_rw_lock,
    lockwright_tbb_rw_unlock,
    // SAFETY: the caller of `destroy` vouches for the object.
    |object| unsafe { lockwright_tbb_rw_destroy(object) }
);

macro_rules! shareable {
    ($marker:ty, $lock:expr, $unlock:expr) => {
        // SAFETY: what the library promises of its readers' side.
        unsafe impl Shareable for $marker {
            #[inline]
            unsafe fn lock_shared(object: *mut Storage) {
                // SAFETY: the caller's.
                unsafe { $lock(object) }
            }

            #[inline]
            unsafe fn unlock_shared(object: *mut Storage) {
                // SAFETY: the caller's.
                unsafe { $unlock(object) }
            }
        }
    };
}

shareable!(AbslMarker, lockwright_absl_lock_shared, lockwright_absl_unlock_shared);
shareable!(NsyncMarker, nsync_mu_rlock, nsync_mu_runlock);
shareable!(TbbRwMarker, lockwright_tbb_rw_lock_shared, lockwright_tbb_rw_unlock_shared);
