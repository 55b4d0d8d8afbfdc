//! Real threads by the standard library alone: where [`native`](crate) is not, and on Linux with
//! `--cfg lockwright_portable`, for tests.
//!
//! | what | how | what that costs |
//! |---|---|---|
//! | sleeping | a mutex and a condition variable of the standard library for every 64th thread (`sleep`) | a wake-up may wake a neighbour too |
//! | who am I | slot table, claimed at the first contended wait | none |
//! | where am I, does the holder run | not known | spinners spin until their deadline, 20 us, though the holder does not run |
//! | asymmetric fence | a full fence on both sides | each unlock of a mutex and each biased read has one |
//! | time | `std::time::Instant` | 20 to 40 ns a look |
//!
//! *Does not support*: locks in signal handlers, in a forked child, or in a global allocator (the standard
//! library's locks are taken in waits, and memory is asked for when more than 31 threads have waited).

mod sleep;

use core::sync::atomic::Ordering::{self, Relaxed, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::table::{FIRST, Table};
use crate::threads::{self, Here, Threads};
use crate::{
    Heavy, LockRecord, Me, NO_CPU, Platform, RecordId, Scalar, Slot, Spin, Spin2, ThreadRecord,
    Until, Wake, Work, park, spin,
};

/// Real threads by the standard library; see the [module documentation](self).
#[derive(Copy, Clone, Debug)]
pub struct Portable;

/// Assumed cost of a line transfer between two cores, of which nothing is measured here.
const LINE_NS: u32 = 80;
/// Assumed cost of a spin-loop hint: 10 to 140 cycles.
const PAUSE_NS: u32 = 20;

// SAFETY: a record is atomic words, for which 0 is a value (1); the memory is never given back (2).
static THREADS: Table<ThreadRecord<Portable>> =
    unsafe { Table::new([const { ThreadRecord::ZERO }; FIRST], zeroed) };
// SAFETY: as above.
static LOCKS: Table<LockRecord<Portable>> =
    unsafe { Table::new([const { LockRecord::ZERO }; FIRST], zeroed) };

/// So many zeroed `T`s that are never given back; null if there is no memory.
fn zeroed<T>(count: usize) -> *mut T {
    let Ok(layout) = std::alloc::Layout::array::<T>(count) else { return core::ptr::null_mut() };
    // SAFETY: a table asks for chunks of records, which are not empty.
    unsafe { std::alloc::alloc_zeroed(layout) }.cast()
}

/// Gives the thread's slot back when its thread-local values are destroyed. What uses a lock later
/// borrows a slot for each wait.
struct AtExit;

impl Drop for AtExit {
    fn drop(&mut self) {
        threads::exit::<Portable>();
    }
}

std::thread_local! {
    // No destructor: it must work in other destructors.
    static HERE: Here<Portable> = const { Here::ZERO };
    static AT_EXIT: AtExit = const { AtExit };
}

// SAFETY: thread-local storage, zeroes at first (1).
unsafe impl Threads for Portable {
    #[inline]
    fn here<T>(f: impl FnOnce(&Here<Self>) -> T) -> T {
        HERE.with(f)
    }

    #[inline(always)]
    fn threads() -> &'static Table<ThreadRecord<Self>> {
        &THREADS
    }

    #[inline(always)]
    fn locks() -> &'static Table<LockRecord<Self>> {
        &LOCKS
    }

    fn run_at_exit() -> bool {
        AT_EXIT.try_with(|_| ()).is_ok()
    }
}

/// As natively. This platform knows of one domain.
///
/// # Errors
///
/// Always, if queues should be parted.
pub fn set_numa(numa: crate::Numa) -> Result<(), &'static str> {
    match numa.mode {
        crate::NumaMode::Off => Ok(()),
        _ => Err("this platform does not know which CPUs share a node or a cache"),
    }
}

/// Usable CPUs, or what `LOCKWRIGHT_CPUS` says.
fn cpus() -> u32 {
    static CPUS: OnceLock<u32> = OnceLock::new();
    *CPUS.get_or_init(|| {
        let said = std::env::var("LOCKWRIGHT_CPUS").ok().filter(|text| !text.is_empty());
        let counted = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let Some(said) = said else { return counted() };
        match said.parse() {
            Ok(number @ 1..=4096) => number,
            _ => {
                std::eprintln!(
                    "lockwright: LOCKWRIGHT_CPUS={said}: expected a number from 1 to 4096; \
                     the machine's CPUs are counted"
                );
                counted()
            }
        }
    })
}

// SAFETY: words are the standard library's atomics, fences its fences, both sides of the pair full ones
// (1); slots are claimed from a table and kept in thread-local storage, where a depth admits one operation
// (2); the tables are static, their chunks never given back (3), and the one of lock records gives each
// out once and publishes its words ([table.free], 4); the busy-waits load the words (5).
unsafe impl Platform for Portable {
    type Word<T: Scalar> = T::Native;

    #[inline(always)]
    fn fence(order: Ordering) {
        core::sync::atomic::fence(order);
    }

    // Edges
    //  [fence.full]  fence_light: fence SeqCst <-> fence_heavy: fence SeqCst  forbids that each side misses the store before the other's fence
    #[inline(always)]
    fn fence_light() {
        // Ordering: SeqCst, [fence.full]: store-load of the caller
        core::sync::atomic::fence(SeqCst);
    }

    fn fence_heavy() -> Heavy {
        // Ordering: SeqCst, [fence.full]: store-load of the caller
        core::sync::atomic::fence(SeqCst);
        Heavy::default()
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
        spin::spin_while2::<Self, A, B>(a, b, order, until, ())
    }

    fn busy_wait_ns(ns: u32) {
        for _ in 0..(ns / PAUSE_NS).max(1) {
            core::hint::spin_loop();
        }
    }

    fn yield_now() {
        std::thread::yield_now();
    }

    fn sleep(ns: u64) {
        #[cfg(feature = "park_hook")]
        crate::hook::run();
        std::thread::sleep(Duration::from_nanos(ns));
    }

    fn park(me: &Me<Self>, deadline: Option<u64>) -> Wake {
        park::park(me.record(), deadline)
    }

    fn unpark(slot: Slot) -> bool {
        park::unpark(THREADS.get(slot))
    }

    fn now() -> u64 {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        // Not 0, which means that there is no time.
        BEGAN.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
    }

    fn ticks() -> u64 {
        Self::now()
    }

    #[inline]
    fn ticks_of(ns: u64) -> u64 {
        ns
    }

    #[inline]
    fn line_ns() -> u32 {
        LINE_NS
    }

    fn enter() -> Option<Me<Self>> {
        threads::enter()
    }

    unsafe fn leave(slot: Slot, borrowed: bool) {
        threads::leave::<Self>(slot, borrowed);
    }

    #[inline]
    fn my_record() -> Option<&'static ThreadRecord<Self>> {
        threads::my_record()
    }

    fn slots() -> impl Iterator<Item = Slot> {
        THREADS.taken()
    }

    fn unique_id() -> u64 {
        static LATEST: AtomicU64 = AtomicU64::new(0);
        // Ordering: Relaxed, hint (numbers differ; nothing else is told by them)
        LATEST.fetch_add(1, Relaxed) + 1
    }

    #[inline(always)]
    fn cpu() -> u16 {
        NO_CPU
    }

    fn domain(_me: &Me<Self>) -> u16 {
        0
    }

    fn domains() -> u16 {
        1
    }

    #[inline]
    fn cpu_stamp(_cpu: u16) -> u32 {
        0
    }

    fn check_in(me: &Me<Self>) -> u16 {
        // Ordering: Relaxed, owner-only (others read it as a hint)
        me.record().cpu.store(NO_CPU, Relaxed);
        NO_CPU
    }

    fn last_cpu(_slot: Slot) -> u16 {
        NO_CPU
    }

    fn is_running(slot: Slot) -> bool {
        // Ordering: Relaxed, hint (a wrong answer is a wait that ends early or at its deadline)
        THREADS.get(slot).parked.load(Relaxed) == 0
    }

    #[inline]
    fn should_yield() -> bool {
        false
    }

    fn raise_signal_guard() {
        threads::signal_guard::<Self>(1);
    }

    unsafe fn lower_signal_guard() {
        threads::drop_signal_guard::<Self>();
    }

    fn cpus() -> u32 {
        cpus()
    }

    fn spinner_cap() -> u32 {
        cpus().saturating_sub(1)
    }

    #[inline]
    fn thread_record(slot: Slot) -> &'static ThreadRecord<Self> {
        THREADS.get(slot)
    }

    #[inline]
    fn lock_record(id: RecordId) -> &'static LockRecord<Self> {
        LOCKS.get(id)
    }

    fn claim_lock_record() -> Option<RecordId> {
        threads::claim_lock_record::<Self>()
    }

    unsafe fn return_lock_record(id: RecordId) {
        threads::return_lock_record::<Self>(id);
    }

    fn count(index: usize, n: u64) {
        threads::count::<Self>(index, n);
    }

    fn counted(index: usize) -> u64 {
        threads::counted::<Self>(index)
    }
}

impl park::Sleeper for Portable {
    fn wait(word: &AtomicU32, value: u32, deadline: Option<u64>) -> bool {
        sleep::wait(word, value, deadline)
    }

    fn wake(word: &AtomicU32) {
        sleep::wake(word);
    }
}

impl Work for Portable {
    #[inline(always)]
    fn pause(units: u32) {
        for _ in 0..units {
            core::hint::spin_loop();
        }
    }
}
