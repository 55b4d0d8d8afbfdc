//! Where a thread runs, and what was last seen of each CPU.

use core::ffi::CStr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use super::environment;
use super::hot::HOT;
use crate::{NO_CPU, Slot, is_cpu};

/// CPUs with a stamp of their own; higher numbers share (which ends a wait early, no more).
const CPUS: usize = 1024;

#[repr(align(64))]
struct Stamp(AtomicU32);

/// Per CPU: sequence number in the high half, slot last seen in the low half.
static STAMPS: [Stamp; CPUS] = [const { Stamp(AtomicU32::new(0)) }; CPUS];

#[inline]
pub(super) fn stamp(cpu: u16) -> &'static AtomicU32 {
    &STAMPS[cpu as usize % CPUS].0
}

/// Notes that the thread in `slot` is on `cpu` and in a slow path.
pub(super) fn check_in(cpu: u16, slot: Slot) {
    if !is_cpu(cpu) {
        return;
    }
    let stamp = stamp(cpu);
    // Ordering: Relaxed, hint (two threads on one CPU take turns; a lost update is one of two
    // changes, and either ends the waits that look here) (block)
    let seen = stamp.load(Relaxed);
    stamp.store((seen.wrapping_add(1 << 16) & 0xffff_0000) | u32::from(slot.get()), Relaxed);
}

/// The slot last seen on `cpu`.
pub(super) fn last_seen(cpu: u16) -> u16 {
    // Ordering: Relaxed, hint (a stale answer is a wait that ends too early or at its deadline)
    stamp(cpu).load(Relaxed) as u16
}

/// The current CPU from the rseq area that glibc (2.35 and later) registers for each thread:
/// two loads. Without it the answer is [`NO_CPU`] or another number that [`is_cpu`] rejects: an area that
/// is not registered, or not any more, holds -1 or -2.
#[inline(always)]
pub(super) fn current() -> u16 {
    // Ordering: Relaxed, hint (set once before main; 0 means that there is no such area)
    match HOT.rseq_offset.load(Relaxed) {
        0 => NO_CPU,
        offset => rseq_cpu(offset),
    }
}

/// The calling thread's `struct rseq`, if one is registered.
pub(super) fn rseq_area() -> Option<*mut u8> {
    // Ordering: Relaxed, hint (set once before main; 0 means that there is no such area)
    match HOT.rseq_offset.load(Relaxed) {
        0 => None,
        offset => Some(thread_pointer()?.wrapping_offset(offset)),
    }
}

/// How much of it the C library has registered.
pub(super) fn rseq_bytes() -> usize {
    // SAFETY: an unsigned int constant of the C library.
    unsafe { constant::<u32>(c"__rseq_size") as usize }
}

/// A constant of the C library, by name at run time; 0 where it has none of this name.
///
/// # Safety
///
/// 1. The constant, where it exists, is a `T`.
unsafe fn constant<T: Copy + Default>(name: &CStr) -> T {
    // SAFETY: the name is a C string; the contract (1).
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        if symbol.is_null() { T::default() } else { *symbol.cast::<T>() }
    }
}

/// What the offsets of thread-local storage count from.
#[cfg(not(miri))]
fn thread_pointer() -> Option<*mut u8> {
    #[cfg(target_arch = "x86_64")]
    {
        let pointer: *mut u8;
        // SAFETY: the first word there is its own address, by the ABI of thread-local storage.
        unsafe {
            core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) pointer,
                options(nostack, readonly, preserves_flags));
        }
        Some(pointer)
    }
    #[cfg(target_arch = "aarch64")]
    {
        let pointer: *mut u8;
        // SAFETY: reads a register that user space may read.
        unsafe {
            core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer,
                options(nostack, nomem, preserves_flags));
        }
        Some(pointer)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

#[cfg(miri)]
fn thread_pointer() -> Option<*mut u8> {
    None
}

/// Looks for the rseq area. By name at run time, so that the library loads with a C library that
/// has none. Where the C library did not register it (GLIBC_TUNABLES, an old kernel, a library that
/// wants it for itself) there is none.
#[cfg_attr(miri, allow(dead_code, reason = "no function runs before main there"))]
pub(super) fn find_rseq() {
    // SAFETY: a ptrdiff_t constant of the C library.
    let offset = unsafe { constant::<isize>(c"__rseq_offset") };
    let registered = offset != 0 && is_cpu(rseq_cpu(offset));
    // Ordering: Relaxed, hint (set once before main)
    HOT.rseq_offset.store(if registered { offset } else { 0 }, Relaxed);
}

/// `cpu_id` of `struct rseq`, its second 32-bit word.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn rseq_cpu(offset: isize) -> u16 {
    let cpu: u32;
    // SAFETY: glibc keeps `struct rseq` at thread pointer + __rseq_offset in every thread's
    // static TLS, registered or not; the load reads 4 bytes of it.
    unsafe {
        core::arch::asm!(
            "mov {cpu:e}, dword ptr fs:[{offset} + 4]",
            offset = in(reg) offset,
            cpu = out(reg) cpu,
            options(nostack, readonly, preserves_flags)
        );
    }
    cpu as u16
}

/// As on x86-64, from the thread pointer in TPIDR_EL0.
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn rseq_cpu(offset: isize) -> u16 {
    let cpu: u32;
    // SAFETY: as on x86-64.
    unsafe {
        core::arch::asm!(
            "mrs {tp}, tpidr_el0",
            "add {tp}, {tp}, {offset}",
            "ldr {cpu:w}, [{tp}, #4]",
            tp = out(reg) _,
            offset = in(reg) offset,
            cpu = lateout(reg) cpu,
            options(nostack, readonly, preserves_flags)
        );
    }
    cpu as u16
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn rseq_cpu(_offset: isize) -> u16 {
    NO_CPU
}

/// CPUs in the affinity mask, and what the cgroup's quota leaves of them, or what `LOCKWRIGHT_CPUS` says
/// of both. Looked up at the first contended wait, once: a mask that shrinks later costs spinning that
/// ends by its deadline.
static CPUS_ALLOWED: AtomicU32 = AtomicU32::new(0);
static CPUS_PAID: AtomicU32 = AtomicU32::new(0);

pub(super) fn allowed() -> u32 {
    // Ordering: Relaxed, hint (looked up twice at worst)
    match CPUS_ALLOWED.load(Relaxed) {
        0 => count().0,
        n => n,
    }
}

pub(super) fn usable() -> u32 {
    // Ordering: Relaxed, hint (looked up twice at worst)
    match CPUS_PAID.load(Relaxed) {
        0 => count().1,
        n => n,
    }
}

/// What `LOCKWRIGHT_CPUS` says, or 0.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// Called before `main`.
#[cfg_attr(miri, allow(dead_code, reason = "no function runs before main there"))]
pub(super) fn note_environment() {
    // Ordering: Relaxed, hint (set once before main)
    ASKED.store(environment::cpus().unwrap_or(0), Relaxed);
}

/// Counts both; allocates nothing and takes no lock.
#[cold]
fn count() -> (u32, u32) {
    // Ordering: Relaxed, hint (set once before main)
    let asked = ASKED.load(Relaxed);
    let (allowed, paid) = if asked != 0 { (asked, asked) } else { of_machine() };
    // Ordering: Relaxed, hint (looked up twice at worst) (block)
    CPUS_ALLOWED.store(allowed, Relaxed);
    CPUS_PAID.store(paid, Relaxed);
    (allowed, paid)
}

fn of_machine() -> (u32, u32) {
    let allowed = affinity().unwrap_or(1).max(1);
    (allowed, super::quota::cpus().map_or(allowed, |granted| granted.min(allowed)))
}

fn affinity() -> Option<u32> {
    // SAFETY: an all-zero cpu_set_t is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: `set` is valid and its size is given.
    let r = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    // SAFETY: CPU_COUNT reads the set.
    (r == 0).then(|| unsafe { libc::CPU_COUNT(&set) } as u32)
}
