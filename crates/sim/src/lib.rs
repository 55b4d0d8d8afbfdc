//! A simulated NUMA machine that runs lock code unmodified.
//!
//! A [`Machine`] is a data file: topology, latencies, costs of the scheduler. [`run`] starts
//! threads on it, which are ordinary closures; whatever they do through the platform [`Sim`]
//! takes the time that the machine says. The code under test is generic over
//! [`Platform`](lockwright_platform::Platform) and cannot tell. This crate knows no lock.
//!
//! *Models*: for each cache line an owner, copies, a home node that requests pass, requests served in
//! order, a window in which a core keeps what it got, latency by distance, copies that a write has to drop; PAUSE and the
//! instructions around each operation; run queues, slices, preemption by whoever wakes, context
//! switches, wake-ups, new threads, ways out of idleness, timer interrupts; a lock that is on one line, as a
//! kernel's, though its code keeps part of it elsewhere ([`Setup::one_line`]). *Does not model*:
//! store buffers (a store waits for its line), memory ordering (histories are sequentially
//! consistent; `loom` is for the others), caches of finite size, bandwidth, other interrupts,
//! frequency, siblings that slow each other down, priorities.
//! *Deterministic*: the same machine, threads and seed give the same run, see [`Outcome::trace`]
//! — if words that are shared lie at the same offsets in their lines, so give locks lines of their
//! own. *Checked by*: `tests/`, and the audits named in `engine`.

#![deny(unsafe_code)]

mod engine;
mod layout;
mod lines;
pub mod machine;
#[allow(unsafe_code)]
mod platform;

use std::time::Duration;

use lockwright_platform::COUNTERS;
use lockwright_platform::fiber::Fiber;

use engine::{Engine, Next};
use layout::Layout;
pub use layout::{Distance, Placement};
pub use lines::Traffic;
pub use machine::{BadMachine, Machine};
pub use platform::{Sim, SimWord, set_numa, set_slice_extension};

/// Stack of a simulated thread in bytes.
const STACK_BYTES: usize = 64 * 1024;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Where threads begin.
    pub placement: Placement,
    /// They stay there.
    pub bound: bool,
    /// The NUMA node in whose memory everything lies; `None`: each line in that of the CPU that touches
    /// it first.
    pub home: Option<usize>,
    /// Decides jitter and start times.
    pub seed: u64,
    /// Simulated time after which a run that has not ended is stuck.
    pub limit: Duration,
    /// The address of the only lock, if its contention record is to lie on its line, as a kernel's
    /// lock has its queue and the queue's lock beside its count.
    pub one_line: Option<usize>,
    /// Asked every 16,384 operations; true: the run ends, as stuck.
    pub stop: fn() -> bool,
    /// After so many operations of threads without a [`turn`] of any loop the run ends, as stuck: what a
    /// storm in which nobody gets on looks like, long before `limit`.
    pub patience: Option<u64>,
}

impl Default for Setup {
    /// A node after the other, seed 1, ten simulated seconds at most, nothing else.
    fn default() -> Self {
        Setup {
            placement: Placement::NodeByNode,
            bound: false,
            home: None,
            seed: 1,
            limit: Duration::from_secs(10),
            one_line: None,
            stop: || false,
            patience: None,
        }
    }
}

/// What a simulation yielded.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Simulated time until the last thread ended.
    pub time: Duration,
    /// Lock events, by [`Platform::count`](lockwright_platform::Platform::count)'s index.
    pub counters: [u64; COUNTERS],
    /// What lines did.
    pub traffic: Traffic,
    /// Times a thread gave its CPU up.
    pub voluntary_switches: u64,
    /// Times a thread lost its CPU at the end of its slice.
    pub involuntary_switches: u64,
    /// Wake-ups by other threads.
    pub wakes: u64,
    /// Processor time of all threads.
    pub cpu_time: Duration,
    /// Time that CPUs stood idle, summed.
    pub idle: Duration,
    /// Time that CPUs stood idle while threads slept (as many as slept).
    pub idle_contended: Duration,
    /// A hash over time and thread of every switch between threads.
    pub trace: u64,
    /// Events handled.
    pub events: u64,
}

/// WakeReason a simulation has no outcome.
#[derive(Clone, Debug)]
pub enum Failure {
    /// It got stuck, or was wrong: which threads wait for what, or what was wrong.
    Stuck(String),
    /// The system has no memory for a thread.
    System(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Failure::Stuck(why) | Failure::System(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for Failure {}

/// The simulated time since the start, in nanoseconds; costs nothing. For workloads.
///
/// # Panics
///
/// Outside of a simulated thread.
pub fn clock() -> u64 {
    platform::with(|engine| engine.now / 1_000)
}

/// Nanoseconds that the running thread has spent on CPUs so far, spinning included.
///
/// # Panics
///
/// Outside of a simulated thread.
pub fn cpu_time() -> u64 {
    platform::with(|engine| engine.cpu_time() / 1_000)
}

/// A turn of a workload's loop: the machine's `core.turn`, and now and then `core.hitch` more; the simulated
/// time afterwards, in nanoseconds. The loop gets on: see [`Setup::patience`].
///
/// # Panics
///
/// Outside of a simulated thread.
pub fn turn() -> u64 {
    platform::step(|engine| {
        let time = engine.about(engine.layout.turn);
        let hitch = engine.hitch();
        engine.got_on();
        engine.spend(time + hitch)
    });
    clock()
}

/// What the simulation has yielded so far.
///
/// # Panics
///
/// Outside of a simulated thread.
pub fn so_far() -> Outcome {
    platform::with(Outcome::of)
}

/// Starts one more thread, as fork does: on the CPU that has the fewest, behind those that wait there.
///
/// # Panics
///
/// Outside of a simulated thread; if there are 65,535 threads.
pub fn spawn(body: Box<dyn FnOnce()>) {
    platform::spawn(body);
}

/// Runs `f` as a kernel without preemption runs a system call: the calling thread gives up its CPU
/// when it sleeps or yields, and not before. Spinners still learn that somebody wants the CPU, and as
/// many may spin as there are threads.
///
/// # Panics
///
/// Outside of a simulated thread.
pub fn without_preemption<R>(f: impl FnOnce() -> R) -> R {
    let set = |nonpreemptible| {
        platform::with(|engine| {
            let me = usize::from(engine.current);
            std::mem::replace(&mut engine.threads[me].nonpreemptible, nonpreemptible)
        })
    };
    let before = set(true);
    let result = f();
    set(before);
    result
}

/// Runs `threads` on `machine` until all have ended.
///
/// # Errors
///
/// Threads wait for each other, the time limit has passed, or `setup.stop` said so; or the system has
/// no memory for a thread.
///
/// # Panics
///
/// With a thread's panic; inside a simulated thread; if the machine has no such `home`.
pub fn run(
    machine: &Machine,
    setup: Setup,
    threads: Vec<Box<dyn FnOnce()>>,
) -> Result<Outcome, Failure> {
    let layout = Layout::new(machine);
    let cpus = layout.order(setup.placement);
    let limit = setup.limit.as_nanos() as u64 * 1_000;
    assert!(setup.home.is_none_or(|home| home < layout.nodes()), "no such home: {:?}", setup.home);
    let mut engine = Engine::new(layout, setup.seed, limit);
    engine.lines.home = setup.home;
    engine.one_line = setup.one_line;
    engine.stop = setup.stop;
    engine.patience = setup.patience;
    engine.extension = platform::slice_extension();
    for id in 0..threads.len() {
        // Nobody starts in step.
        let at = engine.rng.u64(0..500_000);
        engine.add_thread(cpus[id % cpus.len()], setup.bound, at);
    }
    let (result, mut engine) = platform::install(engine, || drive(threads));
    result?;
    Ok(Outcome::of(&mut engine))
}

impl Outcome {
    fn of(engine: &mut Engine) -> Self {
        let (idle, idle_contended) = engine.idle();
        let (voluntary_switches, involuntary_switches, ran) = engine.spent();
        let time = |ps: u64| Duration::from_nanos(ps / 1_000);
        Outcome {
            time: time(engine.now),
            counters: engine.counters,
            traffic: engine.lines.traffic.clone(),
            voluntary_switches,
            involuntary_switches,
            wakes: engine.wakes,
            cpu_time: time(ran),
            idle: time(idle),
            idle_contended: time(idle_contended),
            trace: engine.hash,
            events: engine.handled,
        }
    }
}

fn drive(threads: Vec<Box<dyn FnOnce()>>) -> Result<(), Failure> {
    let fiber = |body| {
        let why = |error| Failure::System(format!("cannot start a simulated thread: {error}"));
        Fiber::new(STACK_BYTES, body).map_err(why)
    };
    // None: it has ended.
    let fibers: Result<Vec<_>, _> = threads.into_iter().map(|body| fiber(body).map(Some)).collect();
    let mut fibers = fibers?;
    loop {
        let id = match platform::with(|engine| engine.next()) {
            Ok(Next::Thread(id)) => id,
            Ok(Next::End) => return Ok(()),
            Err(why) => return Err(Failure::Stuck(why)),
        };
        let index = usize::from(id);
        if index >= fibers.len() {
            fibers.resize_with(index + 1, || None);
        }
        let running = match &mut fibers[index] {
            Some(running) => running,
            new => {
                let body = platform::with(|engine| engine.bodies.remove(&id));
                new.insert(fiber(body.expect("a thread that has not begun has a body"))?)
            }
        };
        if running.resume() {
            fibers[index] = None;
            platform::with(Engine::end);
        }
    }
}
