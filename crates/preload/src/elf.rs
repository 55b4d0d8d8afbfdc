//! Finds functions and variables in the shared objects of the process by reading their symbol
//! tables.
//!
//! `dlsym` allocates and locks, and before glibc 2.36 returned the oldest version of a name. This
//! does neither: it takes the version that a program linked today would get. It may be called at
//! any moment, a lock operation before any constructor included. The list of objects is read
//! without the dynamic linker's lock: the C library is near its beginning and never leaves.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;

/// `struct link_map` of `<link.h>`.
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const Dyn,
    next: *const LinkMap,
}

/// `struct r_debug` of `<link.h>`, its beginning.
#[repr(C)]
struct Debug {
    version: c_int,
    map: *const LinkMap,
}

#[repr(C)]
struct Dyn {
    tag: isize,
    value: usize,
}

#[repr(C)]
struct Sym {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

unsafe extern "C" {
    static _r_debug: Debug;
}

const DT_STRTAB: isize = 5;
const DT_SYMTAB: isize = 6;
const DT_GNU_HASH: isize = 0x6fff_fef5;
const DT_VERSYM: isize = 0x6fff_fff0;
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
/// In a version number: not what programs are linked with any more.
const HIDDEN: u16 = 0x8000;

/// The function or variable of this name in the first loaded object whose file name begins with
/// `object`.
pub fn find(object: &[u8], name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the dynamic linker's list of the objects that it has loaded; it only grows at its end
    // but for objects that are unloaded, of which the C library is none.
    let mut at = unsafe { (&raw const _r_debug.map).read_volatile() };
    while !at.is_null() {
        // SAFETY: an element of the list, see above.
        let map = unsafe { &*at };
        if is_called(map, object) {
            return Object::new(map)?.find(name);
        }
        at = map.next;
    }
    None
}

fn is_called(map: &LinkMap, object: &[u8]) -> bool {
    if map.name.is_null() {
        return false;
    }
    // SAFETY: the dynamic linker keeps the name, a C string, as long as the element.
    let name = unsafe { CStr::from_ptr(map.name) }.to_bytes();
    let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
    file.starts_with(object)
}

/// The tables of an object.
struct Object {
    address: usize,
    strings: *const c_char,
    symbols: *const Sym,
    hash: *const u32,
    versions: *const u16,
}

impl Object {
    fn new(map: &LinkMap) -> Option<Self> {
        let table = |tag| {
            let mut entry = map.dynamic;
            // SAFETY: the dynamic section of a loaded object, which ends with a tag 0.
            unsafe {
                while (*entry).tag != 0 {
                    if (*entry).tag == tag {
                        return Some((*entry).value);
                    }
                    entry = entry.add(1);
                }
            }
            None
        };
        // The dynamic linker has relocated these in place, unless the section is read-only.
        let place = |at: usize| if at < map.address { at.wrapping_add(map.address) } else { at };
        Some(Object {
            address: map.address,
            strings: core::ptr::with_exposed_provenance(place(table(DT_STRTAB)?)),
            symbols: core::ptr::with_exposed_provenance(place(table(DT_SYMTAB)?)),
            hash: core::ptr::with_exposed_provenance(place(table(DT_GNU_HASH)?)),
            versions: core::ptr::with_exposed_provenance(table(DT_VERSYM).map_or(0, place)),
        })
    }

    fn find(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let wanted = name
            .to_bytes()
            .iter()
            .fold(5381u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)));
        // SAFETY: the object's hash table: numbers of buckets, of the first symbol in it, of words
        // and bits of the filter; the filter; the buckets; a hash for each symbol, whose lowest bit ends a chain.
        unsafe {
            let [buckets, first, words] = [0, 1, 2].map(|i| *self.hash.add(i) as usize);
            let bucket = self.hash.add(4 + words * (usize::BITS as usize / 32));
            let chains = bucket.add(buckets);
            let mut symbol = *bucket.add(wanted as usize % buckets.max(1)) as usize;
            if symbol < first {
                return None;
            }
            loop {
                let hash = *chains.add(symbol - first);
                if hash | 1 == wanted | 1 && self.is(symbol, name) {
                    let at = self.address.wrapping_add((*self.symbols.add(symbol)).value);
                    return NonNull::new(core::ptr::with_exposed_provenance_mut(at));
                }
                if hash & 1 != 0 {
                    return None;
                }
                symbol += 1;
            }
        }
    }

    /// Whether the symbol of this index is the default version of a function or variable of this
    /// name.
    unsafe fn is(&self, index: usize, name: &CStr) -> bool {
        // SAFETY: the caller's index is from the object's hash table, so it is one of its symbols; their names are
        // offsets in its string table.
        unsafe {
            let symbol = &*self.symbols.add(index);
            let hidden = !self.versions.is_null() && *self.versions.add(index) & HIDDEN != 0;
            symbol.section != 0
                && matches!(symbol.info & 0xf, STT_FUNC | STT_OBJECT)
                && !hidden
                && CStr::from_ptr(self.strings.add(symbol.name as usize)) == name
        }
    }
}
