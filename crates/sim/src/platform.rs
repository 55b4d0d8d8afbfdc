//! The simulated machine as a [`Platform`]: every operation asks the engine how long it takes.
//!
//! Past 500 lines, since all of this crate's unsafe code stands here: words, records and the trait.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

use lockwright_platform::{
    Heavy, LockRecord, Me, NO_CPU, Numa, Pace, Platform, QueueEntry, RecordId, Scalar, Slot, Spin,
    Spin2, ThreadRecord, Until, Wake, Word, Work, ZeroWord, fiber,
};

use crate::engine::{Engine, WakeReason, Watch};
use crate::layout::Ps;
use crate::lines::Access;

/// Nanoseconds in picoseconds.
const NS: u64 = 1_000;

/// A polling loop looks at the clock at least so often, in picoseconds.
const TURNS: Ps = 10_000_000;

/// A simulated machine; which one is known to the OS thread that runs it.
#[derive(Copy, Clone, Debug)]
pub struct Sim;

std::thread_local! {
    static ENGINE: RefCell<Option<Box<Engine>>> = const { RefCell::new(None) };
    /// Records outlive simulations: a machine is built on the records of the last one.
    static RECORDS: RefCell<Records> = const { RefCell::new(Records::NONE) };
    static NUMA: Cell<Numa> = const { Cell::new(Numa::OFF) };
    static EXTENSION: Cell<Ps> = const { Cell::new(0) };
}

/// Sets when queues of spinners are parted in the simulations that follow on this OS thread.
pub fn set_numa(numa: Numa) {
    NUMA.set(numa);
}

/// Sets how much longer a thread that asks for it keeps its CPU in the simulations that follow on this OS thread, at
/// most once for each request; 0, as at first: not at all, as a kernel before Linux 7.0.
pub fn set_slice_extension(ns: u32) {
    EXTENSION.set(u64::from(ns) * NS);
}

/// That, for a machine that is set up.
pub(crate) fn slice_extension() -> Ps {
    EXTENSION.get()
}

struct Records {
    threads: Vec<&'static ThreadRecord<Sim>>,
    locks: Vec<&'static LockRecord<Sim>>,
    free_locks: Vec<u16>,
    entries: Vec<&'static QueueEntry<Sim>>,
    free_entries: Vec<u16>,
}

impl Records {
    const NONE: Self = Records {
        threads: Vec::new(),
        locks: Vec::new(),
        free_locks: Vec::new(),
        entries: Vec::new(),
        free_entries: Vec::new(),
    };
}

/// Makes `engine` the machine of this OS thread while `f` runs; gives it back.
///
/// # Panics
///
/// If a machine runs on this OS thread already.
pub(crate) fn install<R>(engine: Engine, f: impl FnOnce() -> R) -> (R, Box<Engine>) {
    struct Removal;
    impl Drop for Removal {
        fn drop(&mut self) {
            ENGINE.take();
        }
    }
    let threads = engine.threads.len();
    ENGINE.with_borrow_mut(|slot| {
        assert!(slot.is_none(), "a simulation inside a simulation");
        *slot = Some(Box::new(engine));
    });
    let removal = Removal;
    RECORDS.with_borrow_mut(|records| {
        records.reset();
        records.grow(threads);
    });
    let result = f();
    let engine = ENGINE.take().expect("installed above");
    drop(removal);
    (result, engine)
}

/// See [`spawn`](crate::spawn).
pub(crate) fn spawn(body: Box<dyn FnOnce()>) {
    step(|engine| {
        let (thread, suspend) = engine.spawn();
        engine.bodies.insert(thread, body);
        RECORDS.with_borrow_mut(|records| records.grow(engine.threads.len()));
        suspend
    });
}

impl Records {
    /// One for each slot of so many threads; slots count from one.
    fn grow(&mut self, threads: usize) {
        while self.threads.len() <= threads {
            self.threads.push(Box::leak(Box::default()));
        }
    }

    /// Everything as if never used.
    fn reset(&mut self) {
        // Ordering: Relaxed throughout: one OS thread.
        for record in &self.threads {
            // SAFETY: no machine is installed, so nobody waits for anything, and the records are those of
            // no thread (1, 1, 1).
            let (words, notes, cells) = unsafe { (record.words(), record.notes(), record.cells()) };
            words.iter().for_each(|word| word.0.store(0, Ordering::Relaxed));
            notes.iter().for_each(|word| word.0.store(0, Ordering::Relaxed));
            let cells = cells.held.iter().chain(&cells.tallies);
            cells.for_each(|word| word.0.store(0, Ordering::Relaxed));
        }
        // SAFETY: as above (1).
        let locks = self.locks.iter().map(|record| unsafe { record.words() });
        // SAFETY: as above (1).
        let entries = self.entries.iter().flat_map(|entry| unsafe { entry.lines() });
        for words in locks.chain(entries) {
            words.halves.iter().for_each(|word| word.0.store(0, Ordering::Relaxed));
            words.words.iter().for_each(|word| word.0.store(0, Ordering::Relaxed));
            words.wides.iter().for_each(|word| word.0.store(0, Ordering::Relaxed));
        }
        self.free_locks = (1..=self.locks.len() as u16).rev().collect();
        self.free_entries = (1..=self.entries.len() as u16).rev().collect();
    }
}

/// A free record, or a new one if there may be more.
fn claim<T: Default>(
    free: &mut Vec<u16>,
    all: &mut Vec<&'static T>,
    most: u16,
) -> Option<RecordId> {
    let id = free.pop().or_else(|| {
        let id = u16::try_from(all.len() + 1).ok().filter(|id| *id <= most)?;
        all.push(Box::leak(Box::default()));
        Some(id)
    });
    id.and_then(Slot::new)
}

/// The engine, for one operation.
///
/// # Panics
///
/// Outside of a simulation.
pub(crate) fn with<R>(f: impl FnOnce(&mut Engine) -> R) -> R {
    ENGINE.with_borrow_mut(|engine| f(engine.as_mut().expect("no simulation runs here")))
}

pub(crate) fn step(f: impl FnOnce(&mut Engine) -> bool) {
    if with(f) {
        fiber::suspend();
    }
}

/// An access by the running thread, of which `effect` is what happens at the instant when it ends. Where no
/// machine runs on this OS thread words are words, for set-up and checks.
///
/// Nearly all accesses end before anything else is due: those take one borrow of the engine.
fn access<R>(address: usize, access: Access, effect: impl Effect<R>) -> R {
    let mut left = Some(effect);
    let mut apply = |engine: Option<(&mut Engine, u32)>| {
        left.take().map(|effect| effect.apply(engine)).expect("an access takes effect once")
    };
    let begun = ENGINE.with_borrow_mut(|engine| {
        let Some(engine) = engine else { return Ok(apply(None)) };
        let (line, suspend) = engine.issue(address, access);
        if suspend { Err(line) } else { Ok(apply(Some((engine, line)))) }
    });
    begun.unwrap_or_else(|line| {
        fiber::suspend();
        with(|engine| apply(Some((engine, line))))
    })
}

/// What happens to a word, and what the machine is told of it.
trait Effect<R> {
    fn apply(self, engine: Option<(&mut Engine, u32)>) -> R;
}

/// A load.
struct Read<'a, T: Scalar>(&'a SimWord<T>, Ordering);

impl<T: Scalar> Effect<T> for Read<'_, T> {
    fn apply(self, engine: Option<(&mut Engine, u32)>) -> T {
        let value = self.0.0.load(self.1);
        if let Some((engine, _)) = engine {
            engine.turn().note(self.0.address(), value.widen());
        }
        value
    }
}

/// Anything that may change the word.
struct Change<'a, T: Scalar, F>(&'a T::Native, F);

impl<T: Scalar, R, F: FnOnce(&T::Native) -> R> Effect<R> for Change<'_, T, F> {
    fn apply(self, engine: Option<(&mut Engine, u32)>) -> R {
        let result = (self.1)(self.0);
        if let Some((engine, line)) = engine {
            engine.turn().spoil();
            // Apart, for the audit holds the one against the other.
            engine.lines.note_write(line);
            engine.written(line);
        }
        result
    }
}

/// An access that has no effect but the time it takes.
struct Nothing;

impl Effect<()> for Nothing {
    fn apply(self, _: Option<(&mut Engine, u32)>) {}
}

fn touch(address: usize) {
    access(address, Access::Rmw, Nothing);
}

/// Lets the running thread stand still for as long as the engine says; why it goes on.
fn wait(f: impl FnOnce(&mut Engine) -> Option<WakeReason>) -> WakeReason {
    with(f).unwrap_or_else(|| {
        fiber::suspend();
        with(|engine| engine.why())
    })
}

/// A word in the simulated memory; its line is its address.
#[repr(transparent)]
pub struct SimWord<T: Scalar>(T::Native);

impl<T: Scalar> SimWord<T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn changed<R>(&self, how: Access, f: impl FnOnce(&T::Native) -> R) -> R {
        access(self.address(), how, Change::<T, _>(&self.0, f))
    }
}

impl<T: Scalar> ZeroWord for SimWord<T>
where
    T::Native: ZeroWord,
{
    #[allow(clippy::declare_interior_mutable_const)]
    const ZERO: Self = SimWord(<T::Native as ZeroWord>::ZERO);
}

// SAFETY: each operation is the atomic's own, done when the engine says (1); so is `new` (2).
unsafe impl<T: Scalar> Word<T> for SimWord<T> {
    fn new(value: T) -> Self {
        SimWord(Word::new(value))
    }
    fn load(&self, order: Ordering) -> T {
        access(self.address(), Access::Load, Read(self, order))
    }
    fn store(&self, value: T, order: Ordering) {
        self.changed(Access::Store, |word| word.store(value, order));
    }
    fn swap(&self, value: T, order: Ordering) -> T {
        self.changed(Access::Rmw, |word| word.swap(value, order))
    }
    fn compare_exchange(&self, old: T, new: T, ok: Ordering, err: Ordering) -> Result<T, T> {
        self.changed(Access::Rmw, |word| word.compare_exchange(old, new, ok, err))
    }
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        self.changed(Access::Rmw, |word| word.fetch_add(value, order))
    }
    fn fetch_sub(&self, value: T, order: Ordering) -> T {
        self.changed(Access::Rmw, |word| word.fetch_sub(value, order))
    }
    fn fetch_and(&self, value: T, order: Ordering) -> T {
        self.changed(Access::Rmw, |word| word.fetch_and(value, order))
    }
    fn fetch_or(&self, value: T, order: Ordering) -> T {
        self.changed(Access::Rmw, |word| word.fetch_or(value, order))
    }
}

/// `until` in the engine's terms, on these lines.
fn watch(engine: &mut Engine, lines: [Option<usize>; 2], until: &Until) -> Watch {
    let mut lines = lines.map(|address| address.map(|address| engine.lines.of(address)));
    if lines[0] == lines[1] {
        lines[1] = None;
    }
    Watch {
        lines,
        seen: [0; 2],
        deadline: until.deadline.filter(|&ns| ns != u64::MAX).map(|ns| ns.saturating_mul(NS)),
        holder: until.holder.filter(|h| h.cpu != NO_CPU).map(|h| (h.cpu, h.stamp)),
        running: until.running.map(index),
        resched: until.resched,
        pace: match until.pace {
            Pace::Tight => engine.layout.poll,
            Pace::Every(ns) => u64::from(ns) * NS,
        },
    }
}

/// Where the thread's wake-up token lies: at an address that no word of the program has.
fn token(slot: Slot) -> usize {
    1 << (usize::BITS - 1) | usize::from(slot.get()) << 6
}

/// Index of the thread in a slot.
fn index(slot: Slot) -> u16 {
    slot.get() - 1
}

// SAFETY: words are the standard library's atomics, and one OS thread plays all threads (1); a slot is the
// thread's number, and a flag admits one operation (2); records are leaked, and kept in tables by number
// (3); the free list is a list (4); the busy-waits load the words (5).
unsafe impl Platform for Sim {
    type Word<T: Scalar> = SimWord<T>;

    const TELLS_RESCHED: bool = true;

    fn fence(_order: Ordering) {
        step(|engine| engine.spend(engine.layout.fence));
    }

    fn fence_light() {}

    fn fence_heavy() -> Heavy {
        step(Engine::heavy_fence);
        Heavy { calls: 1, ..Heavy::default() }
    }

    fn spin_while<T: Scalar>(
        word: &SimWord<T>,
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
            let lines = [Some(word.address()), None];
            let why = wait(|engine| {
                let watch = watch(engine, lines, &until);
                engine.spin(watch)
            });
            match why {
                WakeReason::Deadline => return Spin::Deadline,
                WakeReason::Stopped => return Spin::Stopped,
                WakeReason::Resched => return Spin::Resched,
                WakeReason::Line | WakeReason::Done | WakeReason::Token => {}
            }
        }
    }

    fn spin_while2<A: Scalar, B: Scalar>(
        a: (&SimWord<A>, A, A),
        b: (&SimWord<B>, B, B),
        order: Ordering,
        until: Until,
    ) -> Spin2<A, B> {
        loop {
            // The second read may take its time, in which the first word may change.
            let (first, second) = (a.0.load(order), b.0.load(order));
            let unchanged = a.0.0.load(order) == first;
            if first & a.1 != a.2 || second & b.1 != b.2 {
                return Spin2::Changed(first, second);
            }
            if !unchanged {
                continue;
            }
            let lines = [Some(a.0.address()), Some(b.0.address())];
            let why = wait(|engine| {
                let watch = watch(engine, lines, &until);
                engine.spin(watch)
            });
            match why {
                WakeReason::Deadline => return Spin2::Deadline,
                WakeReason::Stopped => return Spin2::Stopped,
                WakeReason::Resched => return Spin2::Resched,
                WakeReason::Line | WakeReason::Done | WakeReason::Token => {}
            }
        }
    }

    fn busy_wait_ns(ns: u32) {
        // A second turn of a polling loop that saw what the first saw: sleep until that changes.
        let idle = with(|engine| engine.turn().ends());
        if let Some(addresses) = idle {
            let until = Until {
                resched: true,
                deadline: Some(with(|engine| (engine.now + TURNS) / NS)),
                ..Until::CHANGED
            };
            wait(|engine| {
                let watch = watch(engine, addresses, &until);
                engine.spin(watch)
            });
            return;
        }
        step(|engine| engine.spend((u64::from(ns) * NS).max(engine.layout.pause)));
    }

    fn yield_now() {
        // The call itself costs about what leaving and entering a queue does.
        step(|engine| engine.spend(engine.layout.wake));
        step(|engine| engine.yield_now());
    }

    fn ask_for_time() {
        with(|engine| engine.ask_for_time());
    }

    fn give_time_back() -> bool {
        let granted = with(|engine| engine.give_time_back());
        if granted {
            Self::yield_now();
        }
        granted
    }

    fn sleep(ns: u64) {
        wait(|engine| engine.park(false, Some(engine.now + ns.saturating_mul(NS))));
    }

    fn park(me: &Me<Self>, deadline: Option<u64>) -> Wake {
        touch(token(me.slot()));
        // On its way to sleep a thread can still be told to stay.
        step(|engine| engine.spend(engine.layout.switch / 2));
        let why = wait(|engine| engine.park(true, deadline.map(|ns| ns.saturating_mul(NS))));
        let token = with(|engine| {
            let me = usize::from(engine.current);
            std::mem::take(&mut engine.threads[me].token)
        });
        if why == WakeReason::Deadline && !token { Wake::TimedOut } else { Wake::Notified }
    }

    fn unpark(slot: Slot) -> bool {
        touch(token(slot));
        // A system call ends a grant, and the CPU is gone before it is carried out.
        if with(|engine| engine.is_parked(index(slot))) {
            Self::give_time_back();
        }
        let (slept, suspend) = with(|engine| engine.unpark(index(slot)));
        if suspend {
            fiber::suspend();
        }
        slept
    }

    fn now() -> u64 {
        step(|engine| engine.spend(engine.layout.clock));
        with(|engine| engine.now / NS)
    }

    fn ticks() -> u64 {
        Self::now()
    }

    fn ticks_of(ns: u64) -> u64 {
        ns
    }

    fn line_ns() -> u32 {
        with(|engine| (engine.layout.latency[1] / NS) as u32)
    }

    fn enter() -> Option<Me<Self>> {
        with(|engine| {
            let id = engine.current;
            let me = &mut engine.threads[usize::from(id)];
            let free = !me.inside && me.signal_guards == 0;
            me.inside |= free;
            free.then(|| Slot::new(id + 1)).flatten().map(|slot| {
                // SAFETY: the running thread's own slot, inside no operation until now (1, 2).
                unsafe { Me::new(slot, Self::thread_record(slot), false) }
            })
        })
    }

    unsafe fn leave(slot: Slot, _borrowed: bool) {
        with(|engine| engine.threads[usize::from(index(slot))].inside = false);
    }

    fn my_record() -> Option<&'static ThreadRecord<Self>> {
        with(|engine| Slot::new(engine.current + 1)).map(Self::thread_record)
    }

    fn slots() -> impl Iterator<Item = Slot> {
        (1..=with(|engine| engine.threads.len() as u16)).filter_map(Slot::new)
    }

    fn unique_id() -> u64 {
        with(|engine| {
            engine.numbers += 1;
            engine.numbers
        })
    }

    fn cpu() -> u16 {
        with(|engine| engine.cpu())
    }

    fn domain(_me: &Me<Self>) -> u16 {
        with(|engine| {
            let core = engine.layout.core(usize::from(engine.cpu()));
            engine.layout.cluster(core) as u16
        })
    }

    fn domains() -> u16 {
        with(|engine| engine.layout.clusters() as u16)
    }

    fn cpu_stamp(cpu: u16) -> u32 {
        with(|engine| engine.stamp(cpu))
    }

    fn check_in(_me: &Me<Self>) -> u16 {
        Self::cpu()
    }

    fn last_cpu(slot: Slot) -> u16 {
        with(|engine| engine.cpu_of(index(slot)))
    }

    fn is_running(slot: Slot) -> bool {
        with(|engine| engine.is_running(index(slot)))
    }

    fn should_yield() -> bool {
        with(|engine| engine.should_yield())
    }

    fn raise_signal_guard() {
        with(|engine| engine.threads[usize::from(engine.current)].signal_guards += 1);
    }

    unsafe fn lower_signal_guard() {
        with(|engine| engine.threads[usize::from(engine.current)].signal_guards -= 1);
    }

    fn cpus() -> u32 {
        with(|engine| engine.layout.cpus as u32)
    }

    fn spinner_cap() -> u32 {
        // A kernel has no limit: a spinner there gives way to an owner that waits for its CPU.
        let in_kernel = with(|engine| engine.threads[usize::from(engine.current)].nonpreemptible);
        if in_kernel { u32::MAX } else { Self::cpus().saturating_sub(1) }
    }

    fn thread_record(slot: Slot) -> &'static ThreadRecord<Self> {
        RECORDS.with_borrow(|records| records.threads[usize::from(slot.get())])
    }

    fn lock_record(id: RecordId) -> &'static LockRecord<Self> {
        RECORDS.with_borrow(|records| records.locks[usize::from(id.get()) - 1])
    }

    fn claim_lock_record() -> Option<RecordId> {
        let claimed = RECORDS.with_borrow_mut(|r| claim(&mut r.free_locks, &mut r.locks, u16::MAX));
        if let Some(id) = claimed {
            let record = &raw const *Self::lock_record(id) as usize;
            with(|engine| {
                if let Some(lock) = engine.one_line {
                    engine.lines.join(record, lock);
                }
            });
        }
        claimed
    }

    unsafe fn return_lock_record(id: RecordId) {
        RECORDS.with_borrow_mut(|records| records.free_locks.push(id.get()));
    }

    fn numa() -> Numa {
        NUMA.get()
    }

    fn queue_entry(id: RecordId) -> &'static QueueEntry<Self> {
        RECORDS.with_borrow(|records| records.entries[usize::from(id.get()) - 1])
    }

    fn claim_queue_entry() -> Option<RecordId> {
        RECORDS.with_borrow_mut(|r| claim(&mut r.free_entries, &mut r.entries, u8::MAX.into()))
    }

    unsafe fn return_queue_entry(id: RecordId) {
        RECORDS.with_borrow_mut(|records| records.free_entries.push(id.get()));
    }

    fn count(index: usize, n: u64) {
        with(|engine| {
            let count = &mut engine.counters[index];
            *count = count.wrapping_add(n);
        });
    }

    fn counted(index: usize) -> u64 {
        with(|engine| engine.counters[index])
    }
}

impl Work for Sim {
    fn pause(units: u32) {
        let (mut left, chunk) =
            with(|engine| (u64::from(units) * engine.layout.pause, engine.layout.slice.max(1)));
        while left > 0 {
            let now: Ps = left.min(chunk);
            step(|engine| engine.spend(now));
            left -= now;
        }
    }
}
