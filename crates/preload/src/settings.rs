//! What the environment asks for, read once: at the first lock operation, or before `main`.
//!
//! `LOCKWRIGHT_POLICY=mutex=latency;rwlock=fair`. A value that makes no sense costs a line on
//! standard error, and the defaults are used. Each family of locks has a byte that says how its
//! calls go, so that the usual case is one comparison.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU8};

use crate::{elf, stat};

/// How a mutex waits; which is also how calls go.
pub mod mutex {
    pub const DEFAULT: u8 = 1;
    pub const LATENCY: u8 = 2;
    pub const KERNEL: u8 = 3;
    /// Every unlock passes the mutex on.
    pub const FAIR: u8 = 4;
    /// All of them are the C library's.
    pub const LIBC: u8 = 5;
    pub const NAMES: [(&str, u8); 5] = [
        ("default", DEFAULT),
        ("latency", LATENCY),
        ("kernel", KERNEL),
        ("fair", FAIR),
        ("libc", LIBC),
    ];
}

/// How a reader-writer lock waits.
pub mod rwlock {
    pub const DEFAULT: u8 = 1;
    pub const KERNEL: u8 = 2;
    /// As the default, without the preference for readers: a thread that reads must not begin to
    /// again.
    pub const FAIR: u8 = 3;
    pub const LIBC: u8 = 4;
    pub const NAMES: [(&str, u8); 4] =
        [("default", DEFAULT), ("kernel", KERNEL), ("fair", FAIR), ("libc", LIBC)];
}

/// Not known yet.
const UNKNOWN: u8 = 0;
/// Beside a policy: statistics are collected.
const COUNTS: u8 = 0x80;

static MUTEX: AtomicU8 = AtomicU8::new(UNKNOWN);
static RWLOCK: AtomicU8 = AtomicU8::new(UNKNOWN);

/// How calls for mutexes go, if they do not go the usual way.
#[inline(always)]
pub fn mutex_is_default() -> bool {
    // Ordering: Relaxed, hint (set once; a thread that does not see it sets the same)
    MUTEX.load(Relaxed) == mutex::DEFAULT
}

/// The same with statistics.
#[inline(always)]
pub fn mutex_is_default_and_counts() -> bool {
    // Ordering: Relaxed, hint (as above)
    MUTEX.load(Relaxed) == mutex::DEFAULT | COUNTS
}

/// Whether statistics are collected.
#[inline(always)]
pub fn counts() -> bool {
    // Ordering: Relaxed, hint (a call that does not see it goes uncounted)
    MUTEX.load(Relaxed) & COUNTS != 0
}

/// Begins or ends statistics.
pub fn count(on: bool) {
    mutex();
    // Ordering: Relaxed, hint (as above) (block)
    if on {
        MUTEX.fetch_or(COUNTS, Relaxed);
    } else {
        MUTEX.fetch_and(!COUNTS, Relaxed);
    }
}

/// Where the C library says that the process has one thread (since 2.32), or a place that never
/// does.
static ALONE: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const NEVER_ALONE).cast_mut());
static NEVER_ALONE: AtomicU8 = AtomicU8::new(0);

/// Whether the process has no other thread than the caller.
#[inline(always)]
pub fn is_alone() -> bool {
    // Ordering: Relaxed, hint (set once) (block)
    let alone = ALONE.load(Relaxed);
    // SAFETY: one of the two places, which are there for ever; a thread changes the C library's
    // before it creates the second thread.
    unsafe { &*alone }.load(Relaxed) != 0
}

/// The policy of mutexes; condition variables go with them.
pub fn mutex() -> u8 {
    // Ordering: Relaxed, hint (as above)
    match MUTEX.load(Relaxed) & !COUNTS {
        UNKNOWN => read().0,
        known => known,
    }
}

/// The policy of reader-writer locks.
#[inline(always)]
pub fn rwlock() -> u8 {
    // Ordering: Relaxed, hint (as above)
    match RWLOCK.load(Relaxed) {
        UNKNOWN => read().1,
        known => known,
    }
}

/// Reads the environment: no lock is taken for that, and nothing allocated.
#[cold]
fn read() -> (u8, u8) {
    let mut policies = (mutex::DEFAULT, rwlock::DEFAULT);
    if let Some(value) = variable(c"LOCKWRIGHT_POLICY") {
        match parse(value) {
            Some(asked) => policies = asked,
            None => complain(),
        }
    }
    // The program has it if it uses it, before libraries that do.
    let name = c"__libc_single_threaded";
    if let Some(alone) = elf::find(b"", name).or_else(|| elf::find(b"libc.so.", name)) {
        // Ordering: Relaxed, hint (whoever does not see it does without)
        ALONE.store(alone.as_ptr().cast(), Relaxed);
    }
    // Ordering: Relaxed, hint (whoever does not see it reads the same) (block)
    RWLOCK.store(policies.1, Relaxed);
    MUTEX.fetch_or(policies.0, Relaxed);
    policies
}

/// A variable of the environment, of programs that run with no more rights than their caller.
pub fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: the name is a C string. The environment is the program's; nobody changes it before
    // the first lock operation of a program, or it has no threads yet.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a string of the environment.
    Some(unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// The policies of the process, as text.
pub fn names() -> Names {
    let name = |names: &[(&'static str, u8)], policy| {
        names.iter().find(|(_, known)| *known == policy).map_or("", |(name, _)| name)
    };
    Names(["mutex=", name(&mutex::NAMES, mutex()), ";rwlock=", name(&rwlock::NAMES, rwlock())])
}

/// Text in parts.
pub struct Names([&'static str; 4]);

impl Names {
    /// Its bytes.
    pub fn bytes(&self) -> impl Iterator<Item = &u8> {
        self.0.iter().flat_map(|part| part.as_bytes())
    }
}

/// `mutex=NAME`, `rwlock=NAME` divided by semicolons; a name alone is for all that know it.
fn parse(value: &[u8]) -> Option<(u8, u8)> {
    let mut policies = (mutex::DEFAULT, rwlock::DEFAULT);
    for part in value.split(|&byte| byte == b';' || byte == b',').filter(|part| !part.is_empty()) {
        let (family, name) = match part.iter().position(|&byte| byte == b'=') {
            Some(at) => (&part[..at], &part[at + 1..]),
            None => (&b""[..], part),
        };
        let of_mutex = find(&mutex::NAMES, name);
        let of_rwlock = find(&rwlock::NAMES, name);
        match family {
            b"mutex" => policies.0 = of_mutex?,
            b"rwlock" => policies.1 = of_rwlock?,
            b"" if of_mutex.is_some() || of_rwlock.is_some() => {
                policies = (of_mutex.unwrap_or(policies.0), of_rwlock.unwrap_or(policies.1));
            }
            _ => return None,
        }
    }
    Some(policies)
}

fn find(names: &[(&str, u8)], name: &[u8]) -> Option<u8> {
    names.iter().find(|(known, _)| known.as_bytes() == name).map(|&(_, policy)| policy)
}

/// One line, in one piece, without the standard library's buffers.
#[cold]
fn complain() {
    const LINE: &str = "lockwright: LOCKWRIGHT_POLICY: expected mutex=default|latency|kernel|fair|libc and \
         rwlock=default|kernel|fair|libc, divided by semicolons; using the defaults\n";
    // By the system call: the C library's function is a cancellation point.
    // SAFETY: the text is valid for its length.
    unsafe { libc::syscall(libc::SYS_write, 2, LINE.as_ptr(), LINE.len()) };
}

unsafe extern "C" {
    /// `getenv`, but in programs that run with more rights than their caller.
    fn secure_getenv(name: *const c_char) -> *const c_char;

    fn __register_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
        library: *const c_void,
    ) -> c_int;
}

extern "C" fn constructor() {
    mutex();
    // SAFETY: a handler of this type, which does what a forked child may do.
    unsafe { __register_atfork(None, None, Some(stat::fork_in_child), core::ptr::null()) };
    stat::start();
}

extern "C" fn destructor() {
    stat::end();
}

#[used]
// SAFETY: .init_array holds pointers to functions of this signature.
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

#[used]
// SAFETY: .fini_array holds pointers to functions of this signature.
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;
