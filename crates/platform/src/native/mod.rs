//! Real threads on Linux.
//!
//! | what | how | approximation |
//! |---|---|---|
//! | sleeping | futex on the token in the thread's record | none |
//! | who am I | slot table, claimed at the first contended wait (`slots`) | none |
//! | where am I | rseq area that glibc registers (`cpu`) | stale after migration |
//! | which CPUs share a cache | sysfs, or `LOCKWRIGHT_TOPOLOGY` (`topology`) | as the first who asked saw it |
//! | does the holder run | stamp per CPU ([`Native::cpu_stamp`]) | a preemption by a thread that never entered a slow path is not seen: then the deadline ends the wait |
//! | asymmetric fence | `membarrier` (`membarrier`) | none; full fences where the kernel has none |
//! | time | clock_gettime, time-stamp counter (`clock`) | counter calibrated to about 1 % |

mod c_library;
mod clock;
mod cpu;
mod environment;
mod extension;
mod file;
mod fork;
mod futex;
mod hot;
mod initial_exec;
mod membarrier;
mod memory;
mod numa;
#[cfg(all(target_env = "gnu", not(any(miri, target_feature = "crt-static"))))]
mod pin;
mod quota;
mod slots;
#[cfg(not(miri))]
mod start;
mod syscall;
mod text;
mod timeout;
mod tls;
mod topology;

pub use membarrier::{barrier_in_use, heavy_calls, longest_heavy_call_ns};
pub use numa::set_numa;
pub use timeout::Timeout;

use core::sync::atomic::Ordering::{self, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::threads::{self, Threads};
use crate::{
    Heavy, LockRecord, Me, Numa, Platform, QueueEntry, RecordId, Scalar, Slot, Spin, Spin2,
    ThreadRecord, Until, Wake, Work,
};
use crate::{park, spin};

/// Real threads on Linux; see the [module documentation](self).
#[derive(Copy, Clone, Debug)]
pub struct Native;

impl Native {
    /// The calling thread's number in the system, as `gettid` tells it; asked for once.
    #[inline]
    pub fn tid() -> u32 {
        tls::tid()
    }
}

// SAFETY: words are the standard library's atomics, fences its fences and membarrier (1); slots are
// claimed from a pool and kept in thread-local storage, where a flag admits one operation (2); the
// tables are static (3), the pool of lock records gives each out once and publishes its words
// ([slots.free], 4); the busy-waits load the words (5).
unsafe impl Platform for Native {
    type Word<T: Scalar> = T::Native;

    #[inline(always)]
    fn fence(order: Ordering) {
        core::sync::atomic::fence(order);
    }

    #[inline(always)]
    fn fence_light() {
        membarrier::light();
    }

    fn fence_heavy() -> Heavy {
        membarrier::heavy()
    }

    #[inline]
    fn spin_while<T: Scalar>(
        word: &T::Native,
        mask: T,
        value: T,
        order: Ordering,
        until: Until,
    ) -> Spin<T> {
        spin::spin_while::<Self, T>(word, mask, value, order, until)
    }

    #[inline]
    fn spin_while2<A: Scalar, B: Scalar>(
        a: (&A::Native, A, A),
        b: (&B::Native, B, B),
        order: Ordering,
        until: Until,
    ) -> Spin2<A, B> {
        // One wait in 64 measures what a line transfer costs here.
        let sample = clock::LineSample::begin(until.deadline.is_some());
        spin::spin_while2::<Self, A, B>(a, b, order, until, sample)
    }

    fn busy_wait_ns(ns: u32) {
        for _ in 0..(ns / clock::pause_ns()).max(1) {
            core::hint::spin_loop();
        }
    }

    fn yield_now() {
        futex::yield_now();
    }

    fn sleep(ns: u64) {
        #[cfg(feature = "park_hook")]
        crate::hook::run();
        futex::sleep(ns);
    }

    fn park(me: &Me<Self>, deadline: Option<u64>) -> Wake {
        park::park(me.record(), deadline)
    }

    fn unpark(slot: Slot) -> bool {
        park::unpark(Self::threads().get(slot))
    }

    fn now() -> u64 {
        clock::now()
    }

    #[inline]
    fn ticks() -> u64 {
        clock::ticks()
    }

    #[inline]
    fn ticks_of(ns: u64) -> u64 {
        clock::ticks_of(ns)
    }

    #[inline]
    fn line_ns() -> u32 {
        clock::line_ns()
    }

    fn enter() -> Option<Me<Self>> {
        threads::enter()
    }

    unsafe fn leave(slot: Slot, borrowed: bool) {
        threads::leave::<Self>(slot, borrowed);
    }

    #[inline(always)]
    fn my_record() -> Option<&'static ThreadRecord<Self>> {
        threads::my_record()
    }

    fn slots() -> impl Iterator<Item = Slot> {
        Self::threads().taken()
    }

    fn unique_id() -> u64 {
        static LATEST: AtomicU64 = AtomicU64::new(0);
        // Ordering: Relaxed, hint (numbers differ; nothing else is told by them)
        LATEST.fetch_add(1, Relaxed) + 1
    }

    #[inline(always)]
    fn cpu() -> u16 {
        cpu::current()
    }

    fn domain(me: &Me<Self>) -> u16 {
        topology::domain(cpu::current(), me.slot())
    }

    fn domains() -> u16 {
        topology::domains()
    }

    #[inline]
    fn cpu_stamp(cpu: u16) -> u32 {
        // Ordering: Relaxed, hint (a stale stamp is a wait that ends at its deadline)
        cpu::stamp(cpu).load(Relaxed)
    }

    fn check_in(me: &Me<Self>) -> u16 {
        let cpu = cpu::current();
        // Ordering: Relaxed, owner-only (others read it as a hint)
        me.record().cpu.store(cpu, Relaxed);
        cpu::check_in(cpu, me.slot());
        cpu
    }

    fn last_cpu(slot: Slot) -> u16 {
        // Ordering: Relaxed, hint (stale after migration)
        Self::thread_record(slot).cpu.load(Relaxed)
    }

    fn is_realtime() -> bool {
        tls::is_realtime()
    }

    fn is_running(slot: Slot) -> bool {
        let record = Self::thread_record(slot);
        // Ordering: Relaxed, hint (a wrong answer is a wait that ends early or at its deadline) (block)
        if record.parked.load(Relaxed) != 0 {
            return false;
        }
        let its = record.cpu.load(Relaxed);
        !crate::is_cpu(its) || (its != cpu::current() && cpu::last_seen(its) == slot.get())
    }

    #[inline]
    fn should_yield() -> bool {
        // Linux tells a thread nothing of the kind; the deadline of each wait stands in for it.
        false
    }

    #[inline]
    fn cpus() -> u32 {
        cpu::allowed()
    }

    #[inline]
    fn ask_for_time() {
        extension::ask();
    }

    #[inline]
    fn give_time_back() -> bool {
        extension::give_back()
    }

    fn raise_signal_guard() {
        threads::signal_guard::<Self>(1);
    }

    unsafe fn lower_signal_guard() {
        threads::drop_signal_guard::<Self>();
    }

    #[inline]
    fn spinner_cap() -> u32 {
        cpu::usable().saturating_sub(1)
    }

    #[inline]
    fn thread_record(slot: Slot) -> &'static ThreadRecord<Self> {
        Self::threads().get(slot)
    }

    #[inline]
    fn lock_record(id: RecordId) -> &'static LockRecord<Self> {
        Self::locks().get(id)
    }

    fn claim_lock_record() -> Option<RecordId> {
        threads::claim_lock_record::<Self>()
    }

    unsafe fn return_lock_record(id: RecordId) {
        threads::return_lock_record::<Self>(id);
    }

    fn numa() -> Numa {
        numa::settings()
    }

    fn queue_entry(id: RecordId) -> &'static QueueEntry<Self> {
        slots::entries().get(id)
    }

    fn claim_queue_entry() -> Option<RecordId> {
        let id = slots::entries().claim()?;
        if id.get() > numa::MOST_ENTRIES {
            slots::entries().release(id);
            return None;
        }
        Some(id)
    }

    unsafe fn return_queue_entry(id: RecordId) {
        slots::entries().release(id);
    }

    fn count(index: usize, n: u64) {
        threads::count::<Self>(index, n);
    }

    fn counted(index: usize) -> u64 {
        threads::counted::<Self>(index)
    }
}

impl park::Sleeper for Native {
    fn wait(word: &AtomicU32, value: u32, deadline: Option<u64>) -> bool {
        futex::wait(word, value, deadline)
    }

    fn wake(word: &AtomicU32) {
        futex::wake_one(word);
    }
}

impl Work for Native {
    #[inline(always)]
    fn pause(units: u32) {
        for _ in 0..units {
            core::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests;
