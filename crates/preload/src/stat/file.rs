//! Making the file, and when it is used.
//!
//! It is made in the directory that the environment names, under a number that cannot be guessed,
//! by its owner alone to be read; nothing that is there already is used. Its space is taken from
//! the system before it is written to, since a full disk would kill the program otherwise.
//! Statistics that are asked for from the start are in a file that the first contended wait makes;
//! so processes without contention have none, nor short-lived children. For readers that may come
//! later a file with nothing but its header is made before `main`, and removed at exit. A forked
//! child makes its own.
//!
//! ```text
//! Edges
//!  [stat.file]  make: FILE store Release -> open: FILE load Acquire  publishes the header
//! ```

use core::fmt::Write;
use core::mem::size_of;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64};

use lockwright_locks::events::Event;
use lockwright_platform::{Native, Platform};
use lockwright_statfile::{COLLECT, ENDED, File, Header, Kind, MAGIC, RUNNING, VERSION};

use super::{note_counts, stack, words};
use crate::objects::{Mutex, RwLock};
use crate::{cancel, settings};

/// The file, mapped; null while there is none.
static FILE: AtomicPtr<File> = AtomicPtr::new(null_mut());

/// Where files are made, ended by a 0; empty: nowhere.
static FOLDER: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];
/// The number in the file's name.
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// A thread is making the file, or nobody is to try again.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Statistics are to be collected from the start, and the file is to stay.
static FROM_START: AtomicBool = AtomicBool::new(false);
/// One in so many acquisitions has its hold timed; 0: none.
static HOLD_EVERY: AtomicU32 = AtomicU32::new(0);
/// Why there is no file: an error number.
static ERROR: AtomicU32 = AtomicU32::new(0);

/// Looks at the environment; before `main`.
pub fn start() {
    let Some(folder) = settings::variable(c"LOCKWRIGHT_STAT_DIR").filter(|v| v.len() < 200) else {
        return;
    };
    for (place, &byte) in FOLDER.iter().zip(folder) {
        // Ordering: Relaxed, hint (set once before main)
        place.store(byte, Relaxed);
    }
    let how = settings::variable(c"LOCKWRIGHT_STAT").unwrap_or_default();
    for word in how.split(|&byte| byte == b',') {
        if word == b"collect" {
            // Ordering: Relaxed, hint (set once before main)
            FROM_START.store(true, Relaxed);
        } else if let Some(every) = word.strip_prefix(b"hold=") {
            let every = core::str::from_utf8(every).ok().and_then(|text| text.parse().ok());
            // Ordering: Relaxed, hint (set once before main)
            HOLD_EVERY.store(every.unwrap_or(0), Relaxed);
        }
    }
    lockwright_platform::set_park_hook(super::about_to_sleep);
    // Ordering: Relaxed, hint (set once before main)
    if FROM_START.load(Relaxed) {
        stack::prepare();
        settings::count(true);
    } else {
        if crate::elf::is_loaded(b"libgcc_s.so.") {
            stack::prepare();
        }
        make();
    }
}

/// The file, if there is one.
#[inline]
pub fn open() -> Option<&'static File> {
    // Ordering: Acquire, [stat.file]: pairs with the store in make()
    let file = FILE.load(Acquire);
    // SAFETY: null, or mapped and never unmapped but in a forked child, which has forgotten it.
    unsafe { file.as_ref() }
}

/// The file, made if need be, if statistics are collected.
pub fn collecting() -> Option<&'static File> {
    if !settings::counts() {
        return None;
    }
    open().or_else(make)
}

/// How many acquisitions there are to one whose hold is timed; 0: none is.
#[inline]
pub fn hold_every() -> u32 {
    // Ordering: Relaxed, hint (set once before main)
    HOLD_EVERY.load(Relaxed)
}

/// Whether a reader has asked for statistics meanwhile: then they begin. Asked by whoever waits.
#[cold]
pub fn asked() -> bool {
    // Ordering: Relaxed, hint (set once before main)
    if FOLDER[0].load(Relaxed) == 0 {
        return false;
    }
    let Some(file) = open().or_else(make) else { return false };
    // Ordering: Relaxed, hint (looked at again at the next wait)
    if file.header.control.load(Relaxed) & COLLECT == 0 {
        return false;
    }
    if !has_room(file) {
        // Ordering: Relaxed, hint (the reader sees that it is refused)
        file.header.control.store(0, Relaxed);
        return false;
    }
    // Ordering: Relaxed, stat
    file.header.collects_since.store(Native::now(), Relaxed);
    settings::count(true);
    true
}

/// Ends statistics that no reader asks for any more.
pub fn heed_control() {
    // Ordering: Relaxed, hint (looked at again later) (block)
    let from_start = FROM_START.load(Relaxed);
    let asked = open().is_some_and(|file| file.header.control.load(Relaxed) & COLLECT != 0);
    if !from_start && !asked {
        settings::count(false);
    }
}

/// Takes the space of the whole file from the system, which a wait may take a millisecond for,
/// once.
fn has_room(file: &File) -> bool {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    let errno = errno();
    let at = (&raw const *file).cast_mut().cast();
    // SAFETY: the whole mapping, whose contents do not change.
    let populated = unsafe { libc::madvise(at, size_of::<File>(), MADV_POPULATE_WRITE) } == 0;
    set_errno(errno);
    populated
}

/// Makes the file; `None` if that fails, or another thread is at it.
#[cold]
fn make() -> Option<&'static File> {
    // Ordering: Relaxed, hint (set once before main) (block)
    if FOLDER[0].load(Relaxed) == 0 || TAKEN.swap(true, Relaxed) {
        return open();
    }
    let errno = errno();
    // What follows are cancellation points.
    let state = cancel::disable();
    let made = map_new();
    cancel::restore(state);
    set_errno(errno);
    match made {
        Ok(file) => {
            fill(file);
            // Ordering: Release, [stat.file]: pairs with the load in open()
            FILE.store((&raw const *file).cast_mut(), Release);
            Some(file)
        }
        Err(error) => {
            // Ordering: Relaxed, hint (said at the end)
            ERROR.store(error as u32, Relaxed);
            settings::count(false);
            None
        }
    }
}

fn map_new() -> Result<&'static File, i32> {
    let size = size_of::<File>() as libc::off_t;
    if !may_be_so_large(size) {
        return Err(libc::EFBIG);
    }
    let mut number = [0_u8; 8];
    // SAFETY: eight bytes of room.
    if unsafe { libc::getrandom(number.as_mut_ptr().cast(), 8, 0) } != 8 {
        number = (Native::ticks() ^ Native::now() << 20).to_le_bytes();
    }
    // Ordering: Relaxed, hint (one thread makes the file)
    NUMBER.store(u64::from_le_bytes(number), Relaxed);
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let name = Name::new();
    // SAFETY: the name ends with a 0.
    let fd = unsafe { libc::open(name.as_ptr(), flags, 0o600) };
    if fd < 0 {
        return Err(errno());
    }
    // Ordering: Relaxed, hint (set once before main)
    let taken = if FROM_START.load(Relaxed) { size } else { size_of::<Header>() as libc::off_t };
    // SAFETY: the descriptor is ours; the mapping is new.
    unsafe {
        let mut error = 0;
        if libc::ftruncate(fd, size) != 0 {
            error = errno();
        }
        if error == 0 {
            error = libc::posix_fallocate(fd, 0, taken);
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let mut at = libc::MAP_FAILED;
        if error == 0 {
            at = libc::mmap(null_mut(), size as usize, protection, libc::MAP_SHARED, fd, 0);
            if at == libc::MAP_FAILED {
                error = errno();
            }
        }
        libc::close(fd);
        if error != 0 {
            libc::unlink(name.as_ptr());
            return Err(error);
        }
        Ok(&*at.cast::<File>())
    }
}

/// Whether the process may have files of a size: beyond it a signal would kill it.
fn may_be_so_large(size: libc::off_t) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the result.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    known && limit.rlim_cur >= size as libc::rlim_t
}

fn fill(file: &File) {
    let header = &file.header;
    // SAFETY: getpid has no preconditions.
    let pid = unsafe { libc::getpid() };
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut now) };
    let mut program = [0_u8; 512];
    // SAFETY: room for so many bytes; the result is cut, not ended by a 0, which stays.
    unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), program.as_mut_ptr().cast(), 511) };
    // Ordering: Relaxed, init (published by [stat.file]; a reader looks for the magic number) (block)
    for (place, byte) in header.program.iter().zip(program) {
        place.store(byte, Relaxed);
    }
    for (place, &byte) in header.policy.iter().zip(settings::names().bytes()) {
        place.store(byte, Relaxed);
    }
    header.version.store(VERSION, Relaxed);
    header.pid.store(pid as u32, Relaxed);
    header.size.store(size_of::<File>() as u64, Relaxed);
    header.state.store(RUNNING, Relaxed);
    header.made_at.store(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64, Relaxed);
    header.event_count.store(Event::ALL.len() as u32, Relaxed);
    header.hold_every.store(hold_every(), Relaxed);
    if FROM_START.load(Relaxed) {
        header.collects_since.store(Native::now(), Relaxed);
        header.control.store(COLLECT, Relaxed);
    }

    // Ordering: Release, [stat.file]: a reader that sees it sees the rest, as far as a copy can
    header.magic.store(MAGIC, Release);
}

/// The program ends: what is not in the file yet goes there, and a file that nobody will read goes.
pub fn end() {
    // Ordering: Relaxed, hint (set once) (block)
    let error = ERROR.load(Relaxed);
    let from_start = FROM_START.load(Relaxed);
    if error != 0 && from_start {
        complain(error as i32);
    }
    let Some(file) = open() else { return };
    super::settle();
    super::write_events_now(file);
    for lock in &file.locks {
        // Ordering: Relaxed, stat (block)
        let (address, kind) = (lock.address.load(Relaxed) as usize, lock.kind.load(Relaxed));
        let made_at = lock.made_at.load(Relaxed);
        let counts = match Kind::ALL.into_iter().find(|known| *known as u32 == kind) {
            _ if address == 0 => None,
            Some(Kind::RwLock) => {
                peek::<RwLock>(address).and_then(|l| l.counts_of(made_at as usize))
            }
            Some(Kind::Mutex | Kind::Recursive | Kind::ErrorCheck | Kind::Adaptive) => {
                peek::<Mutex>(address).and_then(|m| m.counts_of(kind, made_at as usize))
            }
            _ => None,
        };
        if let Some((acquisitions, changes)) = counts {
            note_counts(lock, acquisitions, changes);
        }
    }
    // Ordering: Relaxed, stat (block)
    file.header.ended_at.store(Native::now(), Relaxed);
    file.header.state.store(ENDED, Relaxed);
    if !from_start {
        // SAFETY: the name ends with a 0.
        unsafe { libc::unlink(Name::new().as_ptr()) };
    }
}

/// A copy of an object, if there is still memory at its address.
fn peek<T>(address: usize) -> Option<T> {
    let mut copy = core::mem::MaybeUninit::<T>::uninit();
    let mine = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: size_of::<T>() };
    let there = libc::iovec {
        iov_base: core::ptr::with_exposed_provenance_mut(address),
        iov_len: size_of::<T>(),
    };
    // SAFETY: reads memory of this process, if it is there, into `copy`.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &mine, 1, &there, 1, 0) };
    // SAFETY: written whole; objects are words, of which all values are valid.
    (read == size_of::<T>() as isize).then(|| unsafe { copy.assume_init() })
}

/// In a forked child: the parent's file is not its own.
pub extern "C" fn fork_in_child() {
    // Ordering: Relaxed, owner-only (a forked child has one thread) (block)
    let file = FILE.swap(null_mut(), Relaxed);
    TAKEN.store(false, Relaxed);
    ERROR.store(0, Relaxed);
    words::words(|w| {
        w.state.set(words::IDLE);
        w.busy.set(false);
    });
    if !file.is_null() {
        // SAFETY: the mapping of the whole file, which nobody uses in this process any more.
        unsafe { libc::munmap(file.cast(), size_of::<File>()) };
    }
    // Ordering: Relaxed, hint (set once before main)
    settings::count(FROM_START.load(Relaxed));
}

/// The file's name.
struct Name {
    bytes: [u8; 256],
    length: usize,
}

impl Name {
    fn new() -> Self {
        let mut name = Name { bytes: [0; 256], length: 0 };
        for place in &FOLDER {
            // Ordering: Relaxed, hint (set once before main)
            match place.load(Relaxed) {
                0 => break,
                byte => {
                    name.bytes[name.length] = byte;
                    name.length += 1;
                }
            }
        }
        // SAFETY: getpid has no preconditions.
        let pid = unsafe { libc::getpid() };
        // Ordering: Relaxed, hint (one thread makes the file)
        let _ = write!(name, "/{pid}-{:016x}", NUMBER.load(Relaxed));
        name
    }

    fn as_ptr(&self) -> *const libc::c_char {
        self.bytes.as_ptr().cast()
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let end = self.length + text.len();
        // One byte stays 0.
        let place = self.bytes.get_mut(self.length..end).filter(|_| end < 256);
        place.ok_or(core::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// One line: why there are no statistics.
fn complain(error: i32) {
    let mut line = Name { bytes: [0; 256], length: 0 };
    // SAFETY: strerror's text is of the C library, and the program has ended but for its
    // destructors.
    let why = unsafe { core::ffi::CStr::from_ptr(libc::strerror(error)) };
    let why = why.to_str().unwrap_or("unknown error");
    let _ =
        writeln!(line, "lockwright: no statistics of this process: cannot make their file: {why}");
    // SAFETY: the buffer is valid for its length.
    unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.length) };
}

fn errno() -> i32 {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: i32) {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = value };
}
