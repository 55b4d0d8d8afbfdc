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
/// `object`; that is the program, if it is empty.
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

/// A loaded object.
pub struct Loaded<'a> {
    /// What its addresses are ahead of those in its file.
    pub base: usize,
    /// Its first address, and the end of its addresses.
    pub start: usize,
    pub end: usize,
    /// Its file; empty for the program.
    pub name: &'a CStr,
}

/// Calls `see` with every object that is loaded.
pub fn each_object(mut see: impl FnMut(Loaded<'_>)) {
    // SAFETY: as in find().
    let mut at = unsafe { (&raw const _r_debug.map).read_volatile() };
    while !at.is_null() {
        // SAFETY: an element of the list, as in find().
        let map = unsafe { &*at };
        at = map.next;
        if map.name.is_null() {
            continue;
        }
        // SAFETY: the dynamic linker keeps the name, a C string, as long as the element.
        let name = unsafe { CStr::from_ptr(map.name) };
        let range = if name.is_empty() { of_program() } else { of_library(map.address) };
        if let Some((start, end)) = range {
            see(Loaded {
                base: map.address,
                start: map.address + start,
                end: map.address + end,
                name,
            });
        }
    }
}

#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: usize,
    address: usize,
    physical: usize,
    in_file: usize,
    in_memory: usize,
    alignment: usize,
}

const PT_LOAD: u32 = 1;

/// Where the segments that are loaded begin and end, before the object's base is added.
///
/// # Safety
///
/// 1. `segments` points to so many.
unsafe fn range(segments: *const Segment, count: usize) -> Option<(usize, usize)> {
    let (mut start, mut end) = (usize::MAX, 0);
    for i in 0..count {
        // SAFETY: the caller's contract (1).
        let segment = unsafe { &*segments.add(i) };
        if segment.kind == PT_LOAD {
            start = start.min(segment.address);
            end = end.max(segment.address + segment.in_memory);
        }
    }
    (start < end).then_some((start, end))
}

/// The program's segments, of which the system told the dynamic linker.
fn of_program() -> Option<(usize, usize)> {
    // SAFETY: getauxval has no preconditions; the program's table is loaded.
    unsafe {
        let segments = libc::getauxval(libc::AT_PHDR) as usize;
        let count = libc::getauxval(libc::AT_PHNUM) as usize;
        let segments: *const Segment = core::ptr::with_exposed_provenance(segments);
        if segments.is_null() { None } else { range(segments, count) }
    }
}

/// A library's segments, by the header at its base; `None` if there is none, as in few that were
/// linked to a fixed place.
fn of_library(base: usize) -> Option<(usize, usize)> {
    const MAGIC: [u8; 4] = *b"\x7fELF";
    if base == 0 {
        return None;
    }
    let header: *const u8 = core::ptr::with_exposed_provenance(base);
    // SAFETY: the first page of a library, as all but exotic ones are laid out: the file's header,
    // with the place and number of the segments at offsets 32 and 56.
    unsafe {
        if header.cast::<[u8; 4]>().read() != MAGIC {
            return None;
        }
        let place = header.add(32).cast::<usize>().read();
        let count = header.add(56).cast::<u16>().read();
        range(header.add(place).cast(), count.into())
    }
}

/// Whether an object is loaded whose file name begins so.
pub fn is_loaded(object: &[u8]) -> bool {
    let mut found = false;
    each_object(|loaded| {
        let name = loaded.name.to_bytes();
        found |= name.rsplit(|&byte| byte == b'/').next().is_some_and(|n| n.starts_with(object));
    });
    found
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
        // and bits of the filter; the filter; the buckets; a hash for each symbol, whose lowest bit
        // ends a chain.
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
        // SAFETY: the caller's index is from the object's hash table, so it is one of its symbols;
        // their names are offsets in its string table.
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
