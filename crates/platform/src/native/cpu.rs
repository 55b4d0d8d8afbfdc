//! Where a thread runs, and what was last seen of each CPU.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use crate::{NO_CPU, Slot};

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
    if cpu == NO_CPU {
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
/// one load. Without it the answer is [`NO_CPU`].
#[inline(always)]
pub(super) fn current() -> u16 {
    rseq::cpu()
}

#[cfg(all(target_arch = "x86_64", target_env = "gnu", not(miri)))]
mod rseq {
    unsafe extern "C" {
        static __rseq_offset: isize;
    }

    /// `cpu_id` of `struct rseq`: the second 32-bit word. Negative while unregistered, which
    /// becomes `NO_CPU` or a number that no thread stores; both are only hints.
    #[inline(always)]
    pub(super) fn cpu() -> u16 {
        let cpu: u32;
        // SAFETY: glibc keeps `struct rseq` at thread pointer + __rseq_offset in every thread's
        // static TLS, registered or not; the load reads 4 bytes of it.
        unsafe {
            core::arch::asm!(
                "mov {cpu:e}, dword ptr fs:[{offset} + 4]",
                offset = in(reg) __rseq_offset,
                cpu = out(reg) cpu,
                options(nostack, readonly, preserves_flags)
            );
        }
        cpu as u16
    }
}

#[cfg(all(target_arch = "aarch64", target_env = "gnu", not(miri)))]
mod rseq {
    unsafe extern "C" {
        static __rseq_offset: isize;
    }

    /// As on x86-64, from the thread pointer in TPIDR_EL0.
    #[inline(always)]
    pub(super) fn cpu() -> u16 {
        let cpu: u32;
        // SAFETY: as on x86-64.
        unsafe {
            core::arch::asm!(
                "mrs {tp}, tpidr_el0",
                "add {tp}, {tp}, {offset}",
                "ldr {cpu:w}, [{tp}, #4]",
                tp = out(reg) _,
                offset = in(reg) __rseq_offset,
                cpu = lateout(reg) cpu,
                options(nostack, readonly, preserves_flags)
            );
        }
        cpu as u16
    }
}

#[cfg(any(
    miri,
    not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_env = "gnu"))
))]
mod rseq {
    pub(super) fn cpu() -> u16 {
        crate::NO_CPU
    }
}

/// CPUs this process may use: the affinity mask, and the cgroup's CPU quota rounded up. Looked
/// up once: a mask that shrinks later costs spinning that ends by its deadline.
pub(super) fn usable() -> u32 {
    static USABLE: AtomicU32 = AtomicU32::new(0);
    // Ordering: Relaxed, hint (looked up twice at worst)
    match USABLE.load(Relaxed) {
        0 => {
            // std reads sched_getaffinity and the cgroup quotas (v1 and v2).
            let n = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
            // Ordering: Relaxed, hint (looked up twice at worst)
            USABLE.store(n, Relaxed);
            n
        }
        n => n,
    }
}

/// The NUMA node of `cpu`, 0 where the system does not tell. One directory look-up per CPU and
/// process.
pub(super) fn node(cpu: u16) -> u16 {
    static NODES: [AtomicU32; CPUS] = [const { AtomicU32::new(0) }; CPUS];
    let known = &NODES[cpu as usize % CPUS];
    // Ordering: Relaxed, hint (looked up twice at worst; 0 is "unknown", node n is n + 1)
    match known.load(Relaxed) {
        0 => {
            let node = look_up_node(cpu).unwrap_or(0);
            // Ordering: Relaxed, hint (looked up twice at worst)
            known.store(u32::from(node) + 1, Relaxed);
            node
        }
        n => (n - 1) as u16,
    }
}

fn look_up_node(cpu: u16) -> Option<u16> {
    let dir = std::fs::read_dir(std::format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    dir.filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("node")?.parse().ok())
        .next()
}
