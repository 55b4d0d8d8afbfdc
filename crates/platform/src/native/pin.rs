//! A library that threads will come back to must not be unloaded.
//!
//! When a thread ends, the C library calls the destructor of its slot, which lies in this library; so
//! `dlclose` must leave it where it is, as it does what the program is linked with. Other C libraries never
//! unload (musl), and a static program has nothing to unload: this module is for the others.

use core::ffi::c_void;

/// Of `struct link_map`, which the C library shows as far as this.
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const libc::c_char,
}

unsafe extern "C" {
    fn dladdr1(
        address: *const c_void,
        info: *mut libc::Dl_info,
        extra: *mut *mut c_void,
        flags: libc::c_int,
    ) -> libc::c_int;
}

/// Makes the library that this code lies in stay, if it was loaded and not linked.
pub(super) fn stay_loaded() {
    const RTLD_DL_LINKMAP: libc::c_int = 2;
    let here = stay_loaded as fn() as *const c_void;
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
    let mut map = core::ptr::null_mut();
    // SAFETY: both places are valid; with this flag the C library stores a `struct link_map *`.
    let found = unsafe { dladdr1(here, info.as_mut_ptr(), &mut map, RTLD_DL_LINKMAP) };
    if found == 0 || map.is_null() {
        return;
    }
    // SAFETY: the entry of a loaded object, whose name is a C string while it is loaded.
    let name = unsafe { (*map.cast::<LinkMap>()).name };
    // The program itself has no name, and stays.
    // SAFETY: as above.
    if name.is_null() || unsafe { *name } == 0 {
        return;
    }
    // SAFETY: the name is that of a loaded object, so nothing is loaded; the handle is not wanted.
    unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
}
