//! A platform that counts what is done to each word, on one OS thread.
//!
//! Other threads are played by a script: whenever the code under test would wait (spin, park,
//! yield, sleep), the [script](on_wait) is called and acts for them, as another [actor](act_as).
//! So every count is exact and repeatable. A lock is for the OS thread that used it first: where another
//! waits for it, it panics.

use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU16, Ordering};
use std::vec::Vec;

use crate::{
    Heavy, LockRecord, Me, Platform, RecordId, Scalar, Slot, Spin, Spin2, ThreadRecord, Until,
    Wake, Word,
};

/// Counts operations; see the [module documentation](self).
#[derive(Copy, Clone, Debug)]
pub struct Counting;

/// What was done to a word.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Ops {
    /// Plain loads.
    pub loads: u64,
    /// Plain stores.
    pub stores: u64,
    /// Atomic read-modify-writes, failed compare-exchanges included.
    pub rmws: u64,
}

type Script = Box<dyn FnMut()>;

const ACTORS: usize = 8;

/// Of one OS thread.
struct Tables {
    threads: [ThreadRecord<Counting>; ACTORS],
    /// Whether the actor is inside a lock operation.
    busy: [Cell<bool>; ACTORS],
    locks: RefCell<HashMap<u16, &'static LockRecord<Counting>>>,
    free: RefCell<Vec<u16>>,
}

/// The latest lock record's index: no two OS threads have the same.
static LOCKS: AtomicU16 = AtomicU16::new(0);

std::thread_local! {
    static OPS: RefCell<HashMap<usize, Ops>> = RefCell::default();
    static SCRIPT: RefCell<Option<Script>> = const { RefCell::new(None) };
    static ACTOR: Cell<u16> = const { Cell::new(1) };
    static CPUS: Cell<u32> = const { Cell::new(2) };
    static REALTIME: Cell<bool> = const { Cell::new(false) };
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static TABLES: &'static Tables = Box::leak(Box::new(Tables {
        threads: std::array::from_fn(|_| ThreadRecord::new()),
        busy: Default::default(),
        locks: RefCell::default(),
        free: RefCell::default(),
    }));
}

/// Runs `f` and returns what it did to `word`.
pub fn ops_on<T: Scalar>(word: &CountingWord<T>, f: impl FnOnce()) -> Ops {
    let address = std::ptr::from_ref(word).addr();
    OPS.with_borrow_mut(|ops| ops.remove(&address));
    f();
    OPS.with_borrow_mut(|ops| ops.remove(&address)).unwrap_or_default()
}

/// Runs `f` and returns what it did to all words together. (Claiming and returning a lock record is not
/// counted: natively a thread keeps the last one, and writes no shared word.)
pub fn ops_on_all(f: impl FnOnce()) -> Ops {
    OPS.take();
    f();
    OPS.take().into_values().fold(Ops::default(), |sum, ops| Ops {
        loads: sum.loads + ops.loads,
        stores: sum.stores + ops.stores,
        rmws: sum.rmws + ops.rmws,
    })
}

/// Runs `f` on a machine of so many CPUs.
pub fn with_cpus<R>(cpus: u32, f: impl FnOnce() -> R) -> R {
    let before = CPUS.replace(cpus);
    let result = f();
    CPUS.set(before);
    result
}

/// Runs `f` with `script` acting for the other threads whenever `f` waits. The script is not
/// called again while it runs.
pub fn on_wait<R>(script: impl FnMut() + 'static, f: impl FnOnce() -> R) -> R {
    SCRIPT.set(Some(Box::new(script)));
    let result = f();
    SCRIPT.set(None);
    result
}

/// Runs `f` as another thread; what it does to words is not counted.
pub fn act_as(actor: u16, f: impl FnOnce()) {
    let before = ACTOR.replace(actor);
    let (ops, realtime) = (OPS.take(), REALTIME.replace(false));
    f();
    OPS.set(ops);
    REALTIME.set(realtime);
    ACTOR.set(before);
}

/// Runs `f` as a real-time thread; the other actors are none.
pub fn as_realtime<R>(f: impl FnOnce() -> R) -> R {
    REALTIME.set(true);
    let result = f();
    REALTIME.set(false);
    result
}

/// Lets the others act.
fn wait() {
    let script = SCRIPT.take();
    let mut script = script.expect("the code under test waits, and nobody is there to end it");
    script();
    SCRIPT.set(Some(script));
}

fn count(address: usize, what: impl FnOnce(&mut Ops)) {
    OPS.with_borrow_mut(|ops| what(ops.entry(address).or_default()));
}

/// A word that counts.
#[repr(transparent)]
pub struct CountingWord<T: Scalar>(T::Native);

impl<T: Scalar> CountingWord<T> {
    fn rmw(&self) -> &T::Native {
        count(std::ptr::from_ref(self).addr(), |ops| ops.rmws += 1);
        &self.0
    }
}

// SAFETY: each operation is the atomic's own (1), and so is `new` (2).
unsafe impl<T: Scalar> Word<T> for CountingWord<T> {
    fn new(value: T) -> Self {
        CountingWord(Word::new(value))
    }
    fn load(&self, order: Ordering) -> T {
        count(std::ptr::from_ref(self).addr(), |ops| ops.loads += 1);
        self.0.load(order)
    }
    fn store(&self, value: T, order: Ordering) {
        count(std::ptr::from_ref(self).addr(), |ops| ops.stores += 1);
        self.0.store(value, order);
    }
    fn swap(&self, value: T, order: Ordering) -> T {
        self.rmw().swap(value, order)
    }
    fn compare_exchange(&self, old: T, new: T, ok: Ordering, err: Ordering) -> Result<T, T> {
        self.rmw().compare_exchange(old, new, ok, err)
    }
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        self.rmw().fetch_add(value, order)
    }
    fn fetch_sub(&self, value: T, order: Ordering) -> T {
        self.rmw().fetch_sub(value, order)
    }
    fn fetch_and(&self, value: T, order: Ordering) -> T {
        self.rmw().fetch_and(value, order)
    }
    fn fetch_or(&self, value: T, order: Ordering) -> T {
        self.rmw().fetch_or(value, order)
    }
}

// SAFETY: words are the standard library's atomics (1); one OS thread plays all actors, each in a slot
// of its own, where a flag admits one operation (2); the tables are leaked, and a lock record of another
// OS thread's is not found (3); the free list is a list (4); the busy-waits load the words (5).
unsafe impl Platform for Counting {
    type Word<T: Scalar> = CountingWord<T>;

    fn fence(_order: Ordering) {}
    fn fence_light() {}
    fn fence_heavy() -> Heavy {
        Heavy::default()
    }

    fn spin_while<T: Scalar>(
        word: &CountingWord<T>,
        mask: T,
        value: T,
        order: Ordering,
        _until: Until,
    ) -> Spin<T> {
        let mut now = word.load(order);
        if now & mask == value {
            wait();
            now = word.load(order);
        }
        if now & mask == value { Spin::Deadline } else { Spin::Changed(now) }
    }

    fn spin_while2<A: Scalar, B: Scalar>(
        a: (&CountingWord<A>, A, A),
        b: (&CountingWord<B>, B, B),
        order: Ordering,
        _until: Until,
    ) -> Spin2<A, B> {
        let same = |now: (A, B)| now.0 & a.1 == a.2 && now.1 & b.1 == b.2;
        let mut now = (a.0.load(order), b.0.load(order));
        if same(now) {
            wait();
            now = (a.0.load(order), b.0.load(order));
        }
        if same(now) { Spin2::Deadline } else { Spin2::Changed(now.0, now.1) }
    }

    fn busy_wait_ns(_ns: u32) {
        wait();
    }
    fn yield_now() {
        wait();
    }
    fn sleep(_ns: u64) {
        wait();
    }
    fn park(_me: &Me<Self>, _deadline: Option<u64>) -> Wake {
        wait();
        Wake::Notified
    }
    fn unpark(_slot: Slot) -> bool {
        false
    }
    fn now() -> u64 {
        0
    }
    fn ticks() -> u64 {
        0
    }
    fn ticks_of(ns: u64) -> u64 {
        ns
    }
    fn line_ns() -> u32 {
        1
    }
    fn enter() -> Option<Me<Self>> {
        let actor = ACTOR.get();
        if TABLES.with(|t| t.busy[usize::from(actor)].replace(true)) {
            return None;
        }
        // SAFETY: the actor's own slot, and the flag was down: no operation has it (1, 2).
        Slot::new(actor).map(|slot| unsafe { Me::new(slot, Self::thread_record(slot), false) })
    }
    unsafe fn leave(slot: Slot, _borrowed: bool) {
        TABLES.with(|t| t.busy[usize::from(slot.get())].set(false));
    }
    fn my_record() -> Option<&'static ThreadRecord<Self>> {
        Slot::new(ACTOR.get()).map(Self::thread_record)
    }
    fn slots() -> impl Iterator<Item = Slot> {
        (1..ACTORS as u16).filter_map(Slot::new)
    }
    fn unique_id() -> u64 {
        NUMBER.set(NUMBER.get() + 1);
        NUMBER.get()
    }
    fn is_realtime() -> bool {
        REALTIME.get()
    }
    fn cpu() -> u16 {
        ACTOR.get()
    }
    fn domain(me: &Me<Self>) -> u16 {
        (me.slot().get() - 1) % Self::domains()
    }
    fn domains() -> u16 {
        2
    }
    fn cpu_stamp(_cpu: u16) -> u32 {
        0
    }
    fn check_in(_me: &Me<Self>) -> u16 {
        ACTOR.get()
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
        CPUS.get()
    }
    fn spinner_cap() -> u32 {
        Self::cpus() - 1
    }
    fn thread_record(slot: Slot) -> &'static ThreadRecord<Self> {
        TABLES.with(|t| &t.threads[slot.get() as usize])
    }
    fn lock_record(id: RecordId) -> &'static LockRecord<Self> {
        let record = TABLES.with(|t| t.locks.borrow().get(&id.get()).copied());
        record.expect("a lock that another OS thread waits for or has waited for")
    }
    fn claim_lock_record() -> Option<RecordId> {
        let id = TABLES.with(|t| t.free.borrow_mut().pop()).unwrap_or_else(|| {
            // Ordering: Relaxed, hint (numbers differ; nothing else is told by them)
            let id = LOCKS.fetch_add(1, Ordering::Relaxed).checked_add(1).expect("indices left");
            TABLES.with(|t| t.locks.borrow_mut().insert(id, Box::leak(Box::default())));
            id
        });
        Slot::new(id)
    }
    unsafe fn return_lock_record(id: RecordId) {
        TABLES.with(|t| t.free.borrow_mut().push(id.get()));
    }
    fn count(_index: usize, _n: u64) {}
    fn counted(_index: usize) -> u64 {
        0
    }
}
