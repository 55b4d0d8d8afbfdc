//! The threads of a simulated run, and what they find out about the lock at the end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use lockwright_platform::{Platform, Word};
use lockwright_sim::{Sim, cpu_time};
use lockwright_workloads::directory::{Operation, Pattern as Directory};
use lockwright_workloads::locktorture::Torture;
use lockwright_workloads::patterns::{Burst, Did, Guest, Map, Pattern, Sections};
use lockwright_workloads::rw_bench::{self, BenchRwLock, Mix, Percent, RwBody, RwSpec, RwThread};

use super::epoll::{self, Events};
use super::forks::{Turn, User};
use super::held::Held;
use super::job::Job;
use super::window::{Operations, Role, Tally, add_waits};
use super::workload::Workload;

/// One simulated thread.
pub(super) type Thread = Box<dyn FnOnce()>;

/// The threads of a run.
pub(super) struct Team {
    pub threads: Vec<Thread>,
    /// Role and operations of each.
    pub tallies: Vec<(Role, Rc<Cell<Operations>>)>,
    /// What the last of them finds.
    pub check: Rc<Check>,
    /// Where the lock lies, if it is the only one.
    pub only: Option<usize>,
}

/// Writes and sections that are not as they must be.
#[derive(Default)]
pub(super) struct Check {
    left: Cell<usize>,
    added: Cell<u64>,
    found: Cell<u64>,
    failed: Cell<u64>,
}

impl Check {
    /// A thread ends that has added so much and seen so many sections fail; the last one looks what there
    /// is, on the machine like all others.
    fn end(&self, added: u64, failed: u64, look: impl FnOnce() -> u64) {
        self.added.set(self.added.get() + added);
        self.failed.set(self.failed.get() + failed);
        self.left.set(self.left.get() - 1);
        if self.left.get() == 0 {
            self.found.set(look());
        }
    }

    /// What is wrong, if anything is.
    pub fn complaint(&self) -> Option<String> {
        let (lost, failed) = (self.added.get().abs_diff(self.found.get()), self.failed.get());
        let what = "the lock let others in beside a writer";
        (lost + failed > 0)
            .then(|| format!("{what}: {failed} sections with company, {lost} lost writes"))
    }
}

/// The threads that a job asks for.
pub(super) fn team<L: BenchRwLock + 'static>(job: &Job) -> Team {
    let roles = roles(job);
    let tallies: Vec<(Role, Rc<Cell<Operations>>)> =
        roles.into_iter().map(|role| (role, Rc::default())).collect();
    let check = Rc::new(Check { left: Cell::new(job.threads), ..Check::default() });
    let threads = job.threads;
    let (workload, mut only) = (job.workload, None);
    let tally = |number: usize| {
        let (role, operations) = &tallies[number];
        Tally::new(*role, Rc::clone(operations))
    };
    let threads = if let Some(spec) = workload.guest(threads) {
        pattern(Guest::<Held<L>>::new(spec), &check, tally)
    } else if let Some(spec) = workload.stall(threads) {
        pattern(Sections::<Held<L>>::new(spec, |_| {}), &check, tally)
    } else if let Some(spec) = workload.map(threads) {
        pattern(Map::<Held<L>, Sim>::new(spec), &check, tally)
    } else if let Some(spec) = workload.burst(threads) {
        pattern(Burst::<Held<L>>::new(spec), &check, tally)
    } else {
        let locks: Rc<Vec<CachePadded<Held<L>>>> =
            Rc::new((0..locks(job)).map(|_| CachePadded::new(Held::new())).collect());
        only = (locks.len() == 1).then(|| &raw const locks[0].lock as usize);
        let inside = Rc::new(CachePadded::new(<Sim as Platform>::Word::<u32>::new(0)));
        let events = Rc::<Events>::default();
        let body = |number| {
            let (locks, check) = (Rc::clone(&locks), Rc::clone(&check));
            let (inside, events) = (Rc::clone(&inside), Rc::clone(&events));
            let one = One { locks, check, inside, events, tally: tally(number) };
            one.body(job, number)
        };
        (0..job.threads).map(body).collect()
    };
    Team { threads, tallies, check, only }
}

/// How many locks the threads of a job share.
fn locks(job: &Job) -> usize {
    match job.workload {
        Workload::Directory { pattern, .. } => pattern.directories(job.threads),
        Workload::Forks(turn) => turn.locks as usize,
        _ => 1,
    }
}

/// The role of each thread.
fn roles(job: &Job) -> Vec<Role> {
    let firsts = match job.workload {
        Workload::Rw { mix: Mix::Dedicated, .. } => spec_of(job).reading_threads(),
        Workload::Rw { readers_percent: 0, .. } | Workload::Forks(_) | Workload::Torture { .. } => {
            0
        }
        Workload::Directory { pattern, .. } if pattern != Directory::SharedRead => 0,
        Workload::Stall { .. } | Workload::Burst { .. } => 0,
        Workload::Guest { .. } => 1,
        Workload::Epoll { waits, .. } => usize::from(waits),
        _ => job.threads,
    };
    (0..job.threads).map(|i| if i < firsts { Role::First } else { Role::Second }).collect()
}

/// The round that the threads of a reader-writer workload take part in.
fn spec_of(job: &Job) -> RwSpec {
    let (readers_percent, mix) = match job.workload {
        Workload::Rw { readers_percent, mix, .. } => (readers_percent, mix),
        _ => (100, Mix::Drawn),
    };
    let (threads, readers) = (job.threads, Percent::whole(readers_percent));
    RwSpec { threads, readers, mix, load: 0, outside: 0, time: Duration::ZERO }
}

/// Threads of a pattern that `bench patterns` has too.
fn pattern<P: Pattern + 'static>(
    pattern: P,
    check: &Rc<Check>,
    tally: impl Fn(usize) -> Tally,
) -> Vec<Thread> {
    let pattern = Rc::new(pattern);
    let all: Rc<RefCell<Vec<Did>>> = Rc::default();
    let body = |number| {
        let (pattern, all, check) = (Rc::clone(&pattern), Rc::clone(&all), Rc::clone(check));
        let tally = tally(number);
        Box::new(move || {
            let did = pattern.body::<Sim>(number, |_| tally.over());
            add_waits(&did.waits);
            let failed = did.wrong;
            all.borrow_mut().push(did);
            // What is missing counts as found too much: the sum of what was added is not known here.
            check.end(0, failed, || pattern.wrong(&all.borrow()));
        }) as Thread
    };
    (0..pattern.threads()).map(body).collect()
}

/// What one thread of the other workloads has to do with.
struct One<L> {
    locks: Rc<Vec<CachePadded<Held<L>>>>,
    check: Rc<Check>,
    inside: Rc<CachePadded<<Sim as Platform>::Word<u32>>>,
    events: Rc<Events>,
    tally: Tally,
}

/// Pages of a page table, after each of which a thread that frees them may lose its CPU.
const PAGES: u32 = 512;

impl<L: BenchRwLock + 'static> One<L> {
    fn body(self, job: &Job, number: usize) -> Thread {
        let workload = job.workload;
        let seed = job.seed.wrapping_mul(0x1_0001).wrapping_add(number as u64);
        let (readers, threads) = (spec_of(job).percent_of(number), job.threads);
        Box::new(move || {
            match workload {
                Workload::Rw { mix, load, outside, sleep_ns, .. } => {
                    let block = mix.block();
                    self.sections(RwBody { readers, block, load, outside, sleep_ns, seed });
                }
                Workload::PageFault { faults, fault_ns, map_ns, zap_ns } => {
                    self.page_faults(seed, faults, [fault_ns, map_ns, zap_ns]);
                }
                Workload::Forks(turn) => self.forks(seed, turn),
                Workload::Epoll { waits, inside_ns, outside_ns } => {
                    let posts = waits && number == 0;
                    self.epoll(waits.then_some(posts), threads, inside_ns, outside_ns);
                }
                Workload::Directory { pattern, inside_ns, outside_ns } => {
                    let operation = Operation { pattern, inside_ns, outside_ns };
                    let own = &self.locks[number % self.locks.len()];
                    let all = operation.repeat::<_, Sim>(&**own, seed, |_| self.tally.over());
                    self.end(all.written, all.torn);
                }
                Workload::Torture { long_hold_ms, outside_ns } => {
                    let long_hold = Duration::from_millis(u64::from(long_hold_ms));
                    let (writers, jiffy) = (threads as u32, Duration::from_millis(1));
                    let torture = Torture { writers, long_hold, jiffy, outside_ns };
                    let (lock, over) = (&*self.locks[0], |_| self.tally.over());
                    let all = torture.write::<_, Sim>(lock, &self.inside, seed, over);
                    self.end(all.writes, all.failed);
                }
                // Patterns have bodies of their own.
                _ => self.end(0, 0),
            }
        })
    }

    fn end(&self, writes: u64, failed: u64) {
        let value = |lock: &CachePadded<Held<L>>| lock.read(|counter| counter.load(Relaxed));
        self.check.end(writes, failed, || self.locks.iter().map(value).sum());
    }

    fn sections(&self, body: RwBody) {
        let over = |_: &RwThread| self.tally.over();
        let done = rw_bench::sections::<_, Sim>(&*self.locks[0], body, over);
        self.end(done.writes, done.torn());
    }

    /// `[fault, map, zap]`: nanoseconds of a fault, of mapping, and of freeing a page.
    fn page_faults(&self, seed: u64, faults: u32, [fault, map, zap]: [u32; 3]) {
        let (lock, mut writes) = (&self.locks[0], 0);
        // Threads are anywhere in their rounds.
        let mut until_map = fastrand::Rng::with_seed(seed).u32(..faults);
        loop {
            if until_map == 0 {
                // Unmap: the pages go with the lock held for reading. Then map anew.
                let table = |_| Sim::busy_wait_ns(zap * PAGES);
                let free = |_: &AtomicU64| (0..faults / PAGES).for_each(table);
                lock.write_then_read(|counter| count(counter, map), free);
                lock.write(|counter| count(counter, map));
                writes += 2;
                until_map = faults;
            }
            lock.read(|_| Sim::busy_wait_ns(fault));
            until_map -= 1;
            if self.tally.over() {
                break;
            }
        }
        self.end(writes, 0);
    }

    /// `posts`: this thread posts events, or takes them; `None`: it adds, changes and removes.
    fn epoll(&self, posts: Option<bool>, threads: usize, inside: u32, outside: u32) {
        let writes = Cell::new(0);
        let section = |then: &dyn Fn() -> bool| {
            self.locks[0].write(|counter| {
                count(counter, inside);
                writes.set(writes.get() + 1);
                then()
            })
        };
        let (tally, events) = (&self.tally, &self.events);
        match posts {
            None => epoll::control(tally, outside, || {
                section(&|| true);
            }),
            Some(true) => events.post(tally, threads - 1, outside),
            Some(false) => events.take(tally, outside, section),
        }
        self.end(writes.get(), 0);
    }

    fn forks(self, seed: u64, turn: Turn) {
        let (locks, check) = (Rc::clone(&self.locks), Rc::clone(&self.check));
        let section = move |lock: usize, ns| {
            locks[lock].write(|counter| {
                let got = cpu_time();
                count(counter, ns);
                got
            })
        };
        let (tally, locks) = (self.tally, self.locks);
        let user = User { turn, tally, section, done: Cell::new(0) };
        let writes = Rc::new(user).live(fastrand::Rng::with_seed(seed));
        let value = |lock: &CachePadded<Held<L>>| lock.read(|counter| counter.load(Relaxed));
        check.end(writes, 0, || locks.iter().map(value).sum());
    }
}

fn count(counter: &AtomicU64, ns: u32) {
    // Ordering: Relaxed throughout: the lock orders the counter, if it does.
    let before = counter.load(Relaxed);
    Sim::busy_wait_ns(ns);
    counter.store(before + 1, Relaxed);
}
