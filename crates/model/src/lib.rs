//! The loom model checker as a platform.
//!
//! Empty unless compiled with `--cfg loom`. A crate of its own, so that whoever uses the locks does not
//! get the checker into a lock file.
//!
//! Waiting is one operation, so that loom need not explore every number of polls: after the first
//! failed poll the branch is pruned (`loom::skip_branch`). Sleeping is loom's own park, which
//! makes a lost wake-up a reported deadlock. Time stands still: a wait that has a deadline ends
//! by it after one failed poll, at every point of every other thread's progress, which is what
//! cancellation needs; the tick counter never reaches a deadline.
//!
//! Both halves of the asymmetric fence are sequentially consistent fences.
//!
//! ```text
//! Edges
//!  [model.pool]  return_lock_record: pool RMW Release -> claim_lock_record: pool RMW Acquire  publishes the record as it was left
//! ```

#![cfg(loom)]

use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use lockwright_platform::{
    Heavy, LockRecord, Me, Numa, Platform, QueueEntry, RecordId, Scalar, Slot, Spin, Spin2,
    ThreadRecord, Until, Wake, Word,
};
use loom::sync::atomic::{AtomicU64, fence};

/// An atomic word of any width, in the upper bits of loom's 64, where it wraps as it should.
pub struct ModelWord<T>(AtomicU64, PhantomData<fn() -> T>);

impl<T: Scalar> ModelWord<T> {
    const UNUSED: u32 = 64 - 8 * size_of::<T>() as u32;

    fn up(value: T) -> u64 {
        value.widen() << Self::UNUSED
    }

    fn down(value: u64) -> T {
        T::narrow(value >> Self::UNUSED)
    }
}

// SAFETY: each operation is one of loom's, on the value times a power of two (1); so is `new` (2).
unsafe impl<T: Scalar> Word<T> for ModelWord<T> {
    fn new(value: T) -> Self {
        ModelWord(AtomicU64::new(Self::up(value)), PhantomData)
    }
    fn load(&self, order: Ordering) -> T {
        Self::down(self.0.load(order))
    }
    fn store(&self, value: T, order: Ordering) {
        self.0.store(Self::up(value), order);
    }
    fn swap(&self, value: T, order: Ordering) -> T {
        Self::down(self.0.swap(Self::up(value), order))
    }
    fn compare_exchange(&self, old: T, new: T, ok: Ordering, err: Ordering) -> Result<T, T> {
        let result = self.0.compare_exchange(Self::up(old), Self::up(new), ok, err);
        result.map(Self::down).map_err(Self::down)
    }
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        Self::down(self.0.fetch_add(Self::up(value), order))
    }
    fn fetch_sub(&self, value: T, order: Ordering) -> T {
        Self::down(self.0.fetch_sub(Self::up(value), order))
    }
    fn fetch_and(&self, value: T, order: Ordering) -> T {
        Self::down(self.0.fetch_and(Self::up(value), order))
    }
    fn fetch_or(&self, value: T, order: Ordering) -> T {
        Self::down(self.0.fetch_or(Self::up(value), order))
    }
}

/// The model checker; only inside `loom::model`.
#[derive(Copy, Clone, Debug)]
pub struct Model;

const THREADS: usize = 4;
const LOCKS: usize = 3;
const ENTRIES: usize = 2;
/// Events that are counted.
const COUNTS_MOST: usize = 96;

struct Tables {
    threads: [ThreadRecord<Model>; THREADS],
    /// Park tokens, by index of the slot less one.
    tokens: [ModelWord<u32>; THREADS],
    /// Orders what was done to a lock record before it was returned before what is done after it is claimed.
    pool: ModelWord<u32>,
    /// Timed sleeps of the thread so far: what its clock says.
    sleeps: [ModelWord<u32>; THREADS],
    locks: [LockRecord<Model>; LOCKS],
    /// Not part of the model: who has which slot, and which lock records are free.
    state: Mutex<State>,
}

struct State {
    handles: Vec<loom::thread::Thread>,
    free: Vec<u16>,
    free_entries: Vec<u16>,
    /// The latest of [`Platform::unique_id`].
    number: u64,
    /// Indexed by slot.
    asleep: [bool; THREADS + 1],
}

std::thread_local! {
    /// Not part of the model: what [`Platform::spinner_cap`] says.
    static SPINNERS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    /// Not part of the model: what [`Platform::numa`] says.
    static NUMA: std::cell::Cell<Numa> = const { std::cell::Cell::new(Numa::OFF) };
    /// Not part of the model: what [`Platform::domains`] says.
    static DOMAINS: std::cell::Cell<u16> = const { std::cell::Cell::new(2) };
    /// Not part of the model: counts over all executions of this test, to see that a model
    /// reaches what it is there for.
    static COUNTS: [std::cell::Cell<u64>; COUNTS_MOST] = const { [const { std::cell::Cell::new(0) }; COUNTS_MOST] };
}

/// Sets what [`Platform::numa`] says in the models of this test; off until set.
pub fn set_numa(numa: Numa) {
    NUMA.set(numa);
}

/// Sets how many domains the threads are in, in turn, in the models of this test; 2 until set.
pub fn set_domains(n: u16) {
    DOMAINS.set(n);
}

/// Queue entries that are not in use.
pub fn free_entries() -> usize {
    state().free_entries.len()
}

/// How many there are.
pub const ALL_ENTRIES: usize = ENTRIES;

/// Sets how many threads may spin in the models of this test; 0 until set.
pub fn set_spinner_cap(n: u32) {
    SPINNERS.set(n);
}

loom::lazy_static! {
    /// Apart, so that a model without them does not pay for them.
    static ref QUEUE_ENTRIES: [QueueEntry<Model>; ENTRIES] =
        std::array::from_fn(|_| QueueEntry::new());
    static ref TABLES: Tables = Tables {
        threads: std::array::from_fn(|_| ThreadRecord::new()),
        tokens: std::array::from_fn(|_| Word::new(0)),
        pool: Word::new(0),
        sleeps: std::array::from_fn(|_| Word::new(0)),
        locks: std::array::from_fn(|_| LockRecord::new()),
        state: Mutex::new(State {
            handles: Vec::new(),
            free: (1..=LOCKS as u16).rev().collect(),
            free_entries: (1..=ENTRIES as u16).rev().collect(),
            number: 0,
            asleep: [false; THREADS + 1],
        }),
    };
}

fn index(slot: Slot) -> usize {
    usize::from(slot.get()) - 1
}

fn state() -> std::sync::MutexGuard<'static, State> {
    TABLES.state.lock().unwrap_or_else(|broken| broken.into_inner())
}

fn my_slot() -> Slot {
    let me = loom::thread::current();
    let handles = &mut state().handles;
    let index = handles.iter().position(|t| t.id() == me.id()).unwrap_or_else(|| {
        handles.push(me);
        handles.len() - 1
    });
    Slot::new(index as u16 + 1).unwrap()
}

/// One failed poll: ends the wait if it may end by itself, else prunes and lets others run.
fn failed(until: &Until) -> bool {
    if until.deadline.is_some() {
        return true;
    }
    loom::skip_branch();
    loom::thread::yield_now();
    false
}

// SAFETY: words and fences are loom's (1); a slot is the position of the thread's handle, and models
// have no signal handlers (2); the tables live as long as the execution (3); the free list is under a
// lock outside the model, which orders nothing, and a word of the model orders its uses (4); the busy-waits
// load the words (5).
unsafe impl Platform for Model {
    type Word<T: Scalar> = ModelWord<T>;

    fn fence(order: Ordering) {
        fence(order);
    }

    fn fence_light() {
        fence(SeqCst);
    }

    fn fence_heavy() -> Heavy {
        fence(SeqCst);
        Heavy::default()
    }

    fn spin_while<T: Scalar>(
        word: &ModelWord<T>,
        mask: T,
        value: T,
        order: Ordering,
        until: Until,
    ) -> Spin<T> {
        loop {
            let now = word.load(order);
            if now & mask != value {
                return Spin::Changed(now);
            }
            if failed(&until) {
                return Spin::Deadline;
            }
        }
    }

    fn spin_while2<A: Scalar, B: Scalar>(
        a: (&ModelWord<A>, A, A),
        b: (&ModelWord<B>, B, B),
        order: Ordering,
        until: Until,
    ) -> Spin2<A, B> {
        loop {
            let (now_a, now_b) = (a.0.load(order), b.0.load(order));
            if now_a & a.1 != a.2 || now_b & b.1 != b.2 {
                return Spin2::Changed(now_a, now_b);
            }
            if failed(&until) {
                return Spin2::Deadline;
            }
        }
    }

    fn busy_wait_ns(_ns: u32) {
        loom::thread::yield_now();
    }

    fn yield_now() {
        loom::skip_branch();
        loom::thread::yield_now();
    }

    fn sleep(_ns: u64) {
        Self::yield_now();
    }

    fn park(me: &Me<Self>, deadline: Option<u64>) -> Wake {
        let index = index(me.slot());
        let token = &TABLES.tokens[index];
        while token.swap(0, Acquire) == 0 {
            if deadline.is_some() {
                // Once at any point of the others' progress; a sleep that is repeated waits for
                // them, or it would be repeated for ever.
                if TABLES.sleeps[index].fetch_add(1, Relaxed) != 0 {
                    loom::skip_branch();
                    loom::thread::yield_now();
                }
                return Wake::TimedOut;
            }
            state().asleep[me.slot().get() as usize] = true;
            loom::thread::park();
            state().asleep[me.slot().get() as usize] = false;
        }
        Wake::Notified
    }

    fn unpark(slot: Slot) -> bool {
        TABLES.tokens[index(slot)].swap(1, AcqRel);
        // Only a thread that is in park(): loom would also end its wait for something else.
        let asleep = state().asleep[slot.get() as usize];
        let handle = state().handles.get(slot.get() as usize - 1).cloned();
        if let Some(thread) = handle
            && asleep
        {
            thread.unpark();
        }
        false
    }

    fn now() -> u64 {
        // The number of timed sleeps of this thread: a deadline of 1 is over after the first.
        TABLES.sleeps[index(my_slot())].load(Relaxed).into()
    }

    fn ticks() -> u64 {
        // Not 0, which stands for "no slice".
        1
    }

    fn ticks_of(ns: u64) -> u64 {
        ns
    }

    fn line_ns() -> u32 {
        1
    }

    fn enter() -> Option<Me<Self>> {
        let slot = my_slot();
        // SAFETY: the slot is this thread's, and its operations do not nest (1, 2).
        Some(unsafe { Me::new(slot, Self::thread_record(slot), false) })
    }

    unsafe fn leave(_slot: Slot, _borrowed: bool) {}

    fn my_record() -> Option<&'static ThreadRecord<Self>> {
        Some(Self::thread_record(my_slot()))
    }

    fn slots() -> impl Iterator<Item = Slot> {
        (1..=state().handles.len() as u16).filter_map(Slot::new)
    }

    fn unique_id() -> u64 {
        let mut state = state();
        state.number += 1;
        state.number
    }

    fn cpu() -> u16 {
        my_slot().get()
    }

    fn domain(me: &Me<Self>) -> u16 {
        (me.slot().get() - 1) % Self::domains()
    }

    fn domains() -> u16 {
        DOMAINS.get()
    }

    fn cpu_stamp(_cpu: u16) -> u32 {
        0
    }

    fn check_in(me: &Me<Self>) -> u16 {
        me.slot().get()
    }

    fn last_cpu(slot: Slot) -> u16 {
        slot.get()
    }

    fn is_running(_slot: Slot) -> bool {
        true
    }

    fn should_yield() -> bool {
        false
    }

    fn raise_signal_guard() {}

    unsafe fn lower_signal_guard() {}

    fn cpus() -> u32 {
        SPINNERS.get() + 1
    }

    fn spinner_cap() -> u32 {
        SPINNERS.get()
    }

    fn thread_record(slot: Slot) -> &'static ThreadRecord<Self> {
        &TABLES.threads[index(slot)]
    }

    fn lock_record(id: RecordId) -> &'static LockRecord<Self> {
        &TABLES.locks[index(id)]
    }

    fn numa() -> Numa {
        NUMA.get()
    }

    fn queue_entry(id: RecordId) -> &'static QueueEntry<Self> {
        &QUEUE_ENTRIES[index(id)]
    }

    fn claim_queue_entry() -> Option<RecordId> {
        // Ordering: Acquire, [model.pool]: pairs with the exchange in return_queue_entry()
        TABLES.pool.fetch_add(0, Acquire);
        state().free_entries.pop().and_then(Slot::new)
    }

    unsafe fn return_queue_entry(id: RecordId) {
        // Ordering: Release, [model.pool]: pairs with the exchange in claim_queue_entry()
        TABLES.pool.fetch_add(0, Release);
        state().free_entries.push(id.get());
    }

    fn claim_lock_record() -> Option<RecordId> {
        // Ordering: Acquire, [model.pool]: pairs with the exchange in return_lock_record()
        TABLES.pool.fetch_add(0, Acquire);
        state().free.pop().and_then(Slot::new)
    }

    unsafe fn return_lock_record(id: RecordId) {
        // Ordering: Release, [model.pool]: pairs with the exchange in claim_lock_record()
        TABLES.pool.fetch_add(0, Release);
        // Nobody runs between the two.
        state().free.push(id.get());
    }

    fn count(index: usize, n: u64) {
        COUNTS.with(|counts| counts[index].set(counts[index].get() + n));
    }

    fn counted(index: usize) -> u64 {
        COUNTS.with(|counts| counts[index].get())
    }
}
