//! Memory for the tables: pages of the system, since a lock operation must not call an allocator that
//! may use locks.

/// So many zeroed `T`s that are never given back; null if there is no memory.
#[cfg(not(miri))]
pub(super) fn zeroed<T>(count: usize) -> *mut T {
    const { assert!(align_of::<T>() <= 4096) };
    // SAFETY: a new private mapping, at an address that the system chooses.
    let at = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            count * size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED { core::ptr::null_mut() } else { at.cast() }
}

/// Under Miri, which knows allocations better than mappings.
#[cfg(miri)]
pub(super) fn zeroed<T>(count: usize) -> *mut T {
    let layout = core::alloc::Layout::array::<T>(count).expect("a chunk is small");
    // SAFETY: the layout is not empty.
    unsafe { std::alloc::alloc_zeroed(layout) }.cast()
}
