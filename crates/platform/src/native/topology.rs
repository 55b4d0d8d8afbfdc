//! Which CPUs share a last-level cache, and what a test may say instead.
//!
//! *Read from* sysfs, once, when somebody first asks: NUMA nodes, and within each the groups of CPUs
//! that share the last cache. A cache that a single core has to itself makes no domain (some Arm
//! servers and virtual machines report no other): its node counts then. CPUs that the asking thread
//! may not use are left out, so that a process confined to one cache has one domain.
//! *Cost*: a load once known; the look-up opens some ten files a domain. It allocates nothing and
//! takes no lock, for it may happen inside a lock operation. *Approximation*: a process that is
//! given other CPUs later keeps what it saw; a wrong domain costs locality, never correctness.
//!
//! `LOCKWRIGHT_TOPOLOGY` replaces what is read: CPU lists divided by slashes, a domain each
//! (`0-3,8-11/4-7`), or `threads:N`, by which the threads themselves take turns to belong to `N`
//! domains, whatever CPU they run on: for tests on small machines. A value that makes no sense costs
//! a line on standard error, and the machine's own topology is used. *Checked by* the tests beside
//! this file.

use core::ffi::{CStr, c_char};
use core::fmt::{self, Write};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32};

use super::environment;
use super::file::File;
use super::text::Text;
use crate::Slot;

/// CPUs with an entry of their own; higher numbers share.
const CPUS: usize = 1024;

/// A number of domains, and [`BY_THREAD`]; 0: nobody has asked yet.
static KNOWN: AtomicU32 = AtomicU32::new(0);
const BY_THREAD: u32 = 1 << 16;

/// The domain of each CPU, 0 until it is known.
static DOMAIN_OF: [AtomicU16; CPUS] = [const { AtomicU16::new(0) }; CPUS];

/// See [`Platform::domain`](crate::Platform::domain).
pub(super) fn domain(cpu: u16, slot: Slot) -> u16 {
    let known = known();
    if known & BY_THREAD != 0 {
        return ((u32::from(slot.get()) - 1) % (known & 0xffff)) as u16;
    }
    // Ordering: Relaxed, hint (a stale 0 is a domain too, and costs locality only)
    DOMAIN_OF[usize::from(cpu) % CPUS].load(Relaxed)
}

/// See [`Platform::domains`](crate::Platform::domains).
pub(super) fn domains() -> u16 {
    known() as u16
}

fn known() -> u32 {
    // Ordering: Relaxed, hint (looked up twice at worst, with the same result)
    match KNOWN.load(Relaxed) {
        0 => look_up(),
        known => known,
    }
}

#[cold]
fn look_up() -> u32 {
    let usable = usable();
    let domains = asked(&usable).unwrap_or_else(|| of_machine("/sys/devices/system", &usable));
    let known = domains.publish();
    // Ordering: Relaxed, hint (looked up twice at worst, with the same result)
    KNOWN.store(known, Relaxed);
    known
}

/// The value of `LOCKWRIGHT_TOPOLOGY` as it was before `main`: later another thread might be changing
/// the environment.
static ASKED: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Called before `main`.
pub(super) fn note_environment() {
    let value = environment::value(c"LOCKWRIGHT_TOPOLOGY").map_or(ptr::null(), CStr::as_ptr);
    // Ordering: Relaxed, hint (set once before main)
    ASKED.store(value.cast_mut(), Relaxed);
}

/// What `LOCKWRIGHT_TOPOLOGY` asks for, if it makes sense.
fn asked(usable: &CpuSet) -> Option<Domains> {
    // Ordering: Relaxed, hint (set once before main)
    let value = ASKED.load(Relaxed);
    if value.is_null() {
        return None;
    }
    // SAFETY: a string of the environment, which the C library keeps even if it is replaced there.
    let value = unsafe { CStr::from_ptr(value) }.to_bytes();
    match Domains::parse(value, usable) {
        Ok(asked) => Some(asked),
        Err(why) => {
            environment::complain(
                "LOCKWRIGHT_TOPOLOGY",
                value,
                why,
                "using the machine's own topology",
            );
            None
        }
    }
}

/// The CPUs that the calling thread may use.
fn usable() -> CpuSet {
    let mut cpus = CpuSet::EMPTY;
    // SAFETY: the set is valid for its size, and any bits are a valid value.
    let read = unsafe { libc::sched_getaffinity(0, size_of::<CpuSet>(), (&raw mut cpus).cast()) };
    // More CPUs than fit, or no such call: all count.
    if read == 0 && cpus.first().is_some() { cpus } else { CpuSet([u64::MAX; CPUS / 64]) }
}

/// CPUs, each in a domain.
struct Domains {
    of: [u16; CPUS],
    count: u16,
    /// The threads are in them, in turn, not the CPUs.
    by_thread: bool,
}

impl Domains {
    const NONE: Domains = Domains { of: [0; CPUS], count: 0, by_thread: false };

    /// Reads a value of `LOCKWRIGHT_TOPOLOGY`.
    fn parse(value: &[u8], usable: &CpuSet) -> Result<Self, &'static str> {
        let mut domains = Domains::NONE;
        if let Some(count) = value.strip_prefix(b"threads:") {
            let count = core::str::from_utf8(count).ok().and_then(|text| text.parse().ok());
            let count = count.filter(|count| (1..=CPUS as u16).contains(count));
            domains.count = count.ok_or("expected threads:N with N from 1 to 1024")?;
            domains.by_thread = true;
            return Ok(domains);
        }
        let mut taken = CpuSet::EMPTY;
        for group in value.split(|&byte| byte == b'/') {
            let mut list = List::default();
            let read = group.iter().try_for_each(|&byte| list.take(byte)).and_then(|()| list.end());
            let cpus = read.filter(|cpus| cpus.first().is_some() && !list.beyond);
            let cpus = cpus.ok_or(
                "expected CPU lists below 1024 divided by slashes, as 0-3/4-7, or threads:N",
            )?;
            if cpus.and(&taken).first().is_some() {
                return Err("a CPU is in two domains");
            }
            taken = taken.or(&cpus);
            domains.add(&cpus);
        }
        match usable.without(&taken).first() {
            Some(_) => Err("a CPU that this process may use is in no domain"),
            None => Ok(domains),
        }
    }

    fn add(&mut self, cpus: &CpuSet) {
        cpus.iter().for_each(|cpu| self.of[cpu] = self.count);
        self.count += 1;
    }

    /// Makes them those of the process; the value for [`KNOWN`].
    fn publish(&self) -> u32 {
        for (known, &domain) in DOMAIN_OF.iter().zip(&self.of) {
            // Ordering: Relaxed, hint (a stale 0 is a domain too, and costs locality only)
            known.store(domain, Relaxed);
        }
        u32::from(self.count) | if self.by_thread { BY_THREAD } else { 0 }
    }

    /// CPUs of one node: a domain for each cache that several cores share, or one for all.
    fn split(&mut self, root: &str, mut cpus: CpuSet) {
        while let Some(cpu) = cpus.first() {
            let group = shared_cache(root, cpu).map_or(cpus, |shared| shared.and(&cpus));
            self.add(&group);
            cpus = cpus.without(&group);
        }
    }
}

/// What sysfs, mounted with `root` as its `devices/system`, says of these CPUs.
fn of_machine(root: &str, usable: &CpuSet) -> Domains {
    let mut domains = Domains::NONE;
    let mut left = *usable;
    let nodes = read_list(root, format_args!("node/online")).unwrap_or(CpuSet::EMPTY);
    for node in nodes.iter() {
        let cpus = read_list(root, format_args!("node/node{node}/cpulist"));
        let cpus = cpus.unwrap_or(CpuSet::EMPTY).and(&left);
        left = left.without(&cpus);
        domains.split(root, cpus);
    }
    // What belongs to no node: all, where the kernel knows none.
    domains.split(root, left);
    domains
}

/// The CPUs, this one among them, that share its last cache; `None` if its core has that to itself or
/// nothing is known.
fn shared_cache(root: &str, cpu: usize) -> Option<CpuSet> {
    // Caches are numbered from the nearest to the last.
    let cache =
        |index| read_list(root, format_args!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"));
    let mut shared = (0..8).rev().find_map(cache)?;
    shared.add(cpu);
    let core = read_list(root, format_args!("cpu/cpu{cpu}/topology/thread_siblings_list"));
    let mut core = core.unwrap_or(CpuSet::EMPTY);
    core.add(cpu);
    (shared != core).then_some(shared)
}

/// A list of numbers from a file of sysfs; `None` if there is none, or it is something else.
fn read_list(root: &str, path: fmt::Arguments<'_>) -> Option<CpuSet> {
    let mut name = Text::<256>::default();
    write!(name, "{root}/{path}\0").ok()?;
    let file = File::open(&name)?;
    let mut list = List::default();
    loop {
        let mut chunk = [0u8; 256];
        match file.read(&mut chunk)? {
            0 => return list.end(),
            got => chunk[..got].iter().try_for_each(|&byte| list.take(byte))?,
        }
    }
}

/// A list as the kernel writes it, "0-3,8", byte by byte. Numbers that are too high are left out.
#[derive(Default)]
struct List {
    set: CpuSet,
    /// Where the range began that the number will end.
    from: Option<usize>,
    number: Option<usize>,
    /// A comma or a dash wants a number.
    wanting: bool,
    /// A number was too high.
    beyond: bool,
}

impl List {
    fn take(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'0'..=b'9' => {
                let number = self.number.unwrap_or(0) * 10 + usize::from(byte - b'0');
                self.number = Some(number.min(1 << 20));
                self.wanting = false;
            }
            b'-' if self.from.is_none() => {
                self.from = Some(self.number.take()?);
                self.wanting = true;
            }
            b',' => {
                self.number?;
                self.flush()?;
                self.wanting = true;
            }
            b'\n' => {}
            _ => return None,
        }
        Some(())
    }

    fn flush(&mut self) -> Option<()> {
        let Some(last) = self.number.take() else { return Some(()) };
        let first = self.from.take().unwrap_or(last);
        self.beyond |= last >= CPUS;
        (first..=last.min(CPUS - 1)).for_each(|number| self.set.add(number));
        (first <= last).then_some(())
    }

    fn end(&mut self) -> Option<CpuSet> {
        self.flush()?;
        (!self.wanting).then_some(self.set)
    }
}

/// A set of CPUs, laid out as the kernel's.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct CpuSet([u64; CPUS / 64]);

impl CpuSet {
    const EMPTY: CpuSet = CpuSet([0; CPUS / 64]);

    fn add(&mut self, cpu: usize) {
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        (0..CPUS).filter(|cpu| self.0[cpu / 64] >> (cpu % 64) & 1 != 0)
    }

    fn with(&self, other: &Self, how: impl Fn(u64, u64) -> u64) -> Self {
        CpuSet(core::array::from_fn(|i| how(self.0[i], other.0[i])))
    }

    fn and(&self, other: &Self) -> Self {
        self.with(other, |a, b| a & b)
    }

    fn or(&self, other: &Self) -> Self {
        self.with(other, |a, b| a | b)
    }

    fn without(&self, other: &Self) -> Self {
        self.with(other, |a, b| a & !b)
    }
}

#[cfg(all(test, not(miri)))]
mod tests;
