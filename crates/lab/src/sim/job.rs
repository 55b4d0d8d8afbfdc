//! One simulated run: a workload on a machine with one lock, one number of threads and one seed.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use lockwright_locks::events::Event;
use lockwright_locks::seqcount::SeqCount;
use lockwright_platform::{Platform, Word, Work};
use lockwright_sim::{
    Distance, Failure, Machine, Outcome, Placement, Setup, Sim, cpu_time, run, without_preemption,
};
use lockwright_workloads::directory::{Operation, Pattern};
use lockwright_workloads::locktorture::Torture;
use lockwright_workloads::mutex_bench::{self, BenchMutex, Rhythm};
use lockwright_workloads::rw_bench::{self, BenchRwLock, Mix, Percent, RwBody, RwSpec, RwThread};
use serde::Serialize;

use super::forks::User;
use super::tally::{SlowShare, Tally};
use super::workload::Workload;

/// One run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where.
    pub machine: Machine,
    /// Where threads begin.
    pub placement: Placement,
    /// They stay there.
    pub bound: bool,
    /// The NUMA node in whose memory everything lies; `None`: where it is touched first.
    pub home: Option<usize>,
    /// What they do.
    pub workload: Workload,
    /// From the attempt to take a lock to its release they are not preempted, as in a kernel.
    pub kernel: bool,
    /// How many they are.
    pub threads: usize,
    /// Simulated time that is not counted.
    pub warmup: Duration,
    /// Simulated time that is.
    pub time: Duration,
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// When it says so, the run ends early, as one that is stuck.
    pub stop: fn() -> bool,
}

/// Least, mean and greatest of the threads of a role; operations in the counted time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Threads.
    pub threads: usize,
    /// Of the thread that did least.
    pub min: u64,
    /// On average.
    pub mean: f64,
    /// Of the thread that did most.
    pub max: u64,
}

impl Spread {
    fn over(counts: &[u64]) -> Self {
        let sum: u64 = counts.iter().sum();
        Spread {
            threads: counts.len(),
            min: counts.iter().copied().min().unwrap_or(0),
            mean: if counts.is_empty() { 0.0 } else { sum as f64 / counts.len() as f64 },
            max: counts.iter().copied().max().unwrap_or(0),
        }
    }
}

/// What one run yielded. Rates are of simulated time.
#[derive(Clone, Debug, Serialize)]
pub struct SimSample {
    /// The seed.
    pub seed: u64,
    /// Thousand acquisitions a second.
    pub kops: f64,
    /// Acquisitions per thread that reads (those that do both count here, with all they did).
    pub readers: Spread,
    /// Acquisitions per thread that only writes.
    pub writers: Spread,
    /// Acquisitions in the whole run, warm-up and end included: what the next are shares of.
    pub acquisitions: u64,
    /// Lines that travelled, per acquisition, by distance.
    pub transfers: Vec<(&'static str, f64)>,
    /// Read-modify-writes per acquisition.
    pub rmws: f64,
    /// Voluntary and involuntary switches per acquisition.
    pub switches: (f64, f64),
    /// Share of the CPUs' time that was idle while as many threads slept.
    pub idle_contended: f64,
    /// Share that was idle.
    pub idle: f64,
    /// Share of the threads' processor time that went into slow acquisitions (of those that fork only).
    pub slow: Option<f64>,
    /// Lock events that occurred.
    pub events: Vec<(&'static str, u64)>,
    /// Hash of the run.
    pub trace: String,
    /// Engine events, for the speed of the simulator.
    pub engine_events: u64,
    /// Operations of the locks and workloads on memory.
    pub accesses: u64,
}

/// A lock as the job's threads use it.
struct Used<L> {
    lock: L,
    kernel: bool,
}

impl<L> Used<L> {
    fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.kernel { without_preemption(f) } else { f() }
    }
}

impl<L: BenchRwLock> BenchRwLock for Used<L> {
    fn new() -> Self {
        Used { lock: L::new(), kernel: false }
    }
    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        self.run(|| self.lock.read(section))
    }
    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        self.run(|| self.lock.write(section))
    }
    fn write_then_read(&self, write: impl FnOnce(&AtomicU64), read: impl FnOnce(&AtomicU64)) {
        self.run(|| self.lock.write_then_read(write, read));
    }
}

impl<L: BenchMutex> BenchMutex for Used<L> {
    fn new() -> Self {
        Used { lock: L::new(), kernel: false }
    }
    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        self.run(|| self.lock.with(section))
    }
}

/// Runs the lock `L` through a reader-writer workload; if `ONE_LINE`, as a kernel has it where the job is
/// one in a kernel: all of it is on one line.
///
/// # Errors
///
/// The run did not end, or the lock let somebody in beside a writer: what is known.
///
/// # Panics
///
/// If the workload is one of mutexes.
pub fn rw<L: BenchRwLock + 'static, const ONE_LINE: bool>(job: &Job) -> Result<SimSample, Failure> {
    let many = match job.workload {
        Workload::Directory { pattern, .. } => pattern.directories(job.threads),
        Workload::Forks(turn) => turn.locks as usize,
        _ => 1,
    };
    let used = |_| Used { lock: L::new(), kernel: job.kernel };
    let locks: Rc<Vec<Used<L>>> = Rc::new((0..many).map(used).collect());
    let check = Rc::new(Check { left: Cell::new(job.threads), ..Check::default() });
    let spec = spec_of(job);
    let slow = Rc::new(SlowShare::new(job.warmup.as_nanos() as u64));
    let bodies = |id: usize, tally: Tally| {
        let (locks, check, slow) = (Rc::clone(&locks), Rc::clone(&check), Rc::clone(&slow));
        let workload = job.workload;
        let seed = job.seed.wrapping_mul(0x1_0001).wrapping_add(id as u64);
        let body: Box<dyn FnOnce()> = match workload {
            Workload::Rw { mix, load, outside, sleep_ns, .. } => {
                let readers = spec.percent_of(id);
                let block = mix.block();
                Box::new(move || {
                    let body = RwBody { readers, block, load, outside, sleep_ns, seed };
                    let over = |done: &RwThread| tally.over(done.reads + done.writes);
                    let done = rw_bench::sections::<_, Sim>(&locks[0], body, over);
                    check.fail(done.torn());
                    check.end(done.writes, || found(&locks));
                })
            }
            Workload::PageFault { faults, fault_ns, map_ns, zap_ns } => Box::new(move || {
                let (mut done, mut writes) = (0, 0);
                // Threads are anywhere in their rounds.
                let mut until_map = fastrand::Rng::with_seed(seed).u32(..faults);
                loop {
                    if until_map == 0 {
                        // Unmap: the pages go with the lock held for reading. Then map anew.
                        let table = |_| Sim::relax(zap_ns * PAGES);
                        let zap = |_: &AtomicU64| (0..faults / PAGES).for_each(table);
                        locks[0].write_then_read(|counter| count(counter, map_ns), zap);
                        locks[0].write(|counter| count(counter, map_ns));
                        writes += 2;
                        until_map = faults;
                    }
                    locks[0].read(|_| Sim::relax(fault_ns));
                    until_map -= 1;
                    done += 1;
                    if tally.over(done) {
                        break;
                    }
                }
                check.end(writes, || found(&locks));
            }),
            Workload::Forks(turn) => Box::new(move || {
                let rng = fastrand::Rng::with_seed(seed);
                let own = Rc::clone(&locks);
                let section = move |lock: usize, ns| {
                    own[lock].write(|counter| {
                        let got = cpu_time();
                        count(counter, ns);
                        got
                    })
                };
                let user = User { turn, tally, slow, section, done: Cell::new(0) };
                let writes = Rc::new(user).live(rng);
                check.end(writes, || found(&locks));
            }),
            Workload::Directory { pattern, inside_ns, outside_ns } => Box::new(move || {
                let operation = Operation { pattern, inside_ns, outside_ns };
                let own = &locks[id % locks.len()];
                let all = operation.repeat::<_, Sim>(own, seed, |done| tally.over(done));
                check.fail(all.torn);
                check.end(all.written, || found(&locks));
            }),
            Workload::Mutex { .. } | Workload::Torture { .. } => {
                unreachable!("a workload of mutexes")
            }
        };
        body
    };
    let only = (ONE_LINE && job.kernel && many == 1).then(|| &raw const locks[0].lock as usize);
    let (outcome, counts) = go(job, only, bodies)?;
    let (lost, torn) = (check.lost(), check.failed.get());
    if lost + torn > 0 {
        return Err(Failure::Stuck(format!(
            "the lock let others in beside a writer: {torn} torn reads, {lost} lost writes"
        )));
    }
    let split = match job.workload {
        Workload::Rw { mix: Mix::Dedicated, .. } => spec.reading_threads(),
        Workload::Rw { readers_percent: 0, .. } | Workload::Forks(_) => 0,
        Workload::Directory { pattern, .. } if pattern != Pattern::SharedRead => 0,
        _ => counts.len(),
    };
    Ok(SimSample { slow: slow.share(), ..sample(job, &outcome, &counts, split) })
}

/// Runs readers of a sequence counter through a reader-writer workload without writers.
///
/// # Errors
///
/// The workload has writers, or the run did not end.
pub fn seqcount(job: &Job) -> Result<SimSample, Failure> {
    let Workload::Rw { readers_percent: 100, load, outside, .. } = job.workload else {
        return Err(Failure::Stuck("seqcount is for workloads of 100 % reads".to_owned()));
    };
    let count = Rc::new(Alone(SeqCount::<Sim>::new()));
    let bodies = |_: usize, tally: Tally| {
        let count = Rc::clone(&count);
        let body: Box<dyn FnOnce()> = Box::new(move || {
            let mut done = 0;
            loop {
                // Nobody writes: no section is ever broken.
                let _ = count.0.read(|| Sim::pause(load));
                done += 1;
                if tally.over(done) {
                    break;
                }
                Sim::pause(outside);
            }
        });
        body
    };
    let (outcome, counts) = go(job, None, bodies)?;
    Ok(sample(job, &outcome, &counts, counts.len()))
}

/// Pages of a page table, after each of which a thread that frees them may lose its CPU.
const PAGES: u32 = 512;

/// A value on a line of its own.
#[repr(align(64))]
struct Alone<T>(T);

/// What the threads say they added to counters, and what the last of them found there.
#[derive(Default)]
struct Check {
    left: Cell<usize>,
    added: Cell<u64>,
    found: Cell<u64>,
    /// Sections that saw a writer's work half done, or its flag.
    failed: Cell<u64>,
}

impl Check {
    /// A thread ends that has added so much; the last one looks, on the machine like all others.
    fn end(&self, added: u64, look: impl FnOnce() -> u64) {
        self.added.set(self.added.get() + added);
        self.left.set(self.left.get() - 1);
        if self.left.get() == 0 {
            self.found.set(look());
        }
    }

    fn fail(&self, sections: u64) {
        self.failed.set(self.failed.get() + sections);
    }

    fn lost(&self) -> u64 {
        self.added.get().abs_diff(self.found.get())
    }
}

/// What the counters of all of them hold.
fn found<L: BenchRwLock>(locks: &[L]) -> u64 {
    let value = |counter: &AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    locks.iter().map(|lock| lock.read(value)).sum()
}

fn count(counter: &AtomicU64, ns: u32) {
    use std::sync::atomic::Ordering::Relaxed;
    let before = counter.load(Relaxed);
    Sim::relax(ns);
    counter.store(before + 1, Relaxed);
}

/// The round that the threads of a reader-writer workload take part in.
fn spec_of(job: &Job) -> RwSpec {
    let (readers_percent, mix) = match job.workload {
        Workload::Rw { readers_percent, mix, .. } => (readers_percent, mix),
        _ => (100, Mix::Drawn),
    };
    let (load, outside, time) = (0, 0, Duration::ZERO);
    RwSpec {
        threads: job.threads,
        readers: Percent::whole(readers_percent),
        mix,
        load,
        outside,
        time,
    }
}

/// Runs the lock `M` through a workload of mutexes; `ONE_LINE` as in [`rw`].
///
/// # Errors
///
/// The run did not end, or the lock let two threads in: what is known.
///
/// # Panics
///
/// If the workload is one of reader-writer locks.
pub fn mutex<M: BenchMutex + 'static, const ONE_LINE: bool>(
    job: &Job,
) -> Result<SimSample, Failure> {
    let many = match job.workload {
        Workload::Forks(turn) => turn.locks as usize,
        _ => 1,
    };
    let used = |_| Used { lock: M::new(), kernel: job.kernel };
    let locks: Rc<Vec<Used<M>>> = Rc::new((0..many).map(used).collect());
    let slow = Rc::new(SlowShare::new(job.warmup.as_nanos() as u64));
    let check = Rc::new(Check { left: Cell::new(job.threads), ..Check::default() });
    let inside = Rc::new(Alone(<Sim as Platform>::Word::<u32>::new(0)));
    let bodies = |id: usize, tally: Tally| {
        let (locks, check, slow) = (Rc::clone(&locks), Rc::clone(&check), Rc::clone(&slow));
        let workload = job.workload;
        let mut rng = fastrand::Rng::with_seed(job.seed << 16 | id as u64);
        let body: Box<dyn FnOnce()> = match workload {
            Workload::Mutex { load, outside } => Box::new(move || {
                let rhythm = Rhythm::steady(load, outside);
                let own =
                    mutex_bench::sections::<_, Sim>(&locks[0], rhythm, |done| tally.over(done));
                check.end(own, || sum(&locks));
            }),
            Workload::Torture { long_hold_ms, outside_ns } => {
                let writers = job.threads as u32;
                let long_hold = Duration::from_millis(u64::from(long_hold_ms));
                let jiffy = Duration::from_millis(1);
                let torture = Torture { writers, long_hold, jiffy, outside_ns };
                let inside = Rc::clone(&inside);
                Box::new(move || {
                    let (seed, over) = (rng.u64(..1 << 32), |done| tally.over(done));
                    let all = torture.write::<_, Sim>(&locks[0], &inside.0, seed, over);
                    check.fail(all.failed);
                    check.end(all.writes, || sum(&locks));
                })
            }
            Workload::Forks(turn) => Box::new(move || {
                let own = Rc::clone(&locks);
                let section = move |lock: usize, ns| {
                    own[lock].with(|counter| {
                        let (got, before) = (cpu_time(), *counter);
                        Sim::relax(ns);
                        *counter = before + 1;
                        got
                    })
                };
                let user = User { turn, tally, slow, section, done: Cell::new(0) };
                let own = Rc::new(user).live(rng);
                check.end(own, || sum(&locks));
            }),
            Workload::Rw { .. } | Workload::PageFault { .. } | Workload::Directory { .. } => {
                unreachable!("a workload of reader-writer locks")
            }
        };
        body
    };
    let only = (ONE_LINE && job.kernel && many == 1).then(|| &raw const locks[0].lock as usize);
    let (outcome, counts) = go(job, only, bodies)?;
    let (lost, failed) = (check.lost(), check.failed.get());
    if lost + failed > 0 {
        return Err(Failure::Stuck(format!(
            "the lock let two threads in: {lost} lost updates, {failed} sections with company"
        )));
    }
    Ok(SimSample { slow: slow.share(), ..sample(job, &outcome, &counts, 0) })
}

/// What all of them hold.
fn sum<M: BenchMutex>(locks: &[Used<M>]) -> u64 {
    locks.iter().map(|lock| lock.with(|counter| *counter)).sum()
}

/// `one_line`: see [`Setup`].
fn go(
    job: &Job,
    one_line: Option<usize>,
    body: impl Fn(usize, Tally) -> Box<dyn FnOnce()>,
) -> Result<(Outcome, Vec<(u64, u64)>), Failure> {
    let (warm, time) = (job.warmup.as_nanos() as u64, job.time.as_nanos() as u64);
    let results: Vec<Rc<Cell<(u64, u64)>>> = (0..job.threads).map(|_| Rc::default()).collect();
    let threads = results.iter().enumerate().map(|(id, result)| {
        let result = Rc::clone(result);
        body(id, Tally::new(warm, warm + time, result))
    });
    // After the time of a run all who wait must get their lock once more; in a storm that lasts.
    let sleeps_ns = match job.workload {
        Workload::Rw { sleep_ns, .. } => sleep_ns,
        _ => 0,
    };
    let each = sleeps_ns as f64 + job.machine.scheduler.exit_deep.value;
    let turn = Duration::from_millis(50) + Duration::from_nanos(2 * each as u64);
    let limit = (job.warmup + job.time) * 4 + Duration::from_secs(30) + turn * job.threads as u32;
    let Job { placement, bound, home, seed, stop, .. } = *job;
    let setup = Setup { placement, bound, home, seed, limit, one_line, stop };
    let outcome = run(&job.machine, setup, threads.collect())?;
    Ok((outcome, results.iter().map(|result| result.get()).collect()))
}

fn sample(job: &Job, outcome: &Outcome, counts: &[(u64, u64)], split: usize) -> SimSample {
    let counted: Vec<u64> = counts.iter().map(|count| count.0).collect();
    let acquisitions: u64 = counts.iter().map(|count| count.1).sum();
    let each = |n: u64| n as f64 / acquisitions.max(1) as f64;
    let all = outcome.time.as_secs_f64() * job.machine.cpus() as f64;
    let transfers = Distance::ALL.iter().zip(outcome.traffic.transfers);
    let events = Event::ALL.iter().map(|&event| (event.name(), outcome.counters[event as usize]));
    SimSample {
        seed: job.seed,
        kops: counted.iter().sum::<u64>() as f64 / job.time.as_secs_f64() / 1e3,
        readers: Spread::over(&counted[..split]),
        writers: Spread::over(&counted[split..]),
        acquisitions,
        transfers: transfers.map(|(distance, n)| (distance.name(), each(n))).collect(),
        rmws: each(outcome.traffic.rmws),
        switches: (each(outcome.voluntary_switches), each(outcome.involuntary_switches)),
        idle_contended: outcome.idle_contended.as_secs_f64() / all,
        idle: outcome.idle.as_secs_f64() / all,
        slow: None,
        events: events.filter(|event| event.1 > 0).collect(),
        trace: format!("{:016x}", outcome.trace),
        engine_events: outcome.events,
        accesses: outcome.traffic.accesses,
    }
}
