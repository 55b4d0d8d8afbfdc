//! What the locks of one or more processes did, under names: the rows of reports.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use lockwright_locks::events::Event;
use lockwright_statfile::read::{Lock, Snapshot, quantile_ns};
use lockwright_statfile::{BUCKETS, Kind, Role};

use super::names::{Frame, Names, Place};

/// A call path and what it stands for.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// The functions, the innermost first.
    pub frames: Vec<Frame>,
    /// Waits, or releases while others waited.
    pub count: u64,
    /// Time.
    pub ns: u64,
}

/// One lock, or all that were made at one place.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How many locks.
    pub instances: u64,
    /// The sums and maxima.
    pub sum: Lock,
    /// The histogram of waits.
    pub histogram: [u64; BUCKETS],
    /// Who waited; their times add up to the wait.
    pub waiters: Vec<Path>,
    /// Who made others wait, by the release of the lock: for all who waited together.
    pub holders: Vec<Path>,
}

/// How long a thread has waited.
#[derive(Clone, Debug, Default)]
pub struct ThreadRow {
    /// Its name and number.
    pub name: String,
    /// Its waits.
    pub waits: u64,
    /// Their time.
    pub ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl ThreadRow {
    fn add(&mut self, other: &ThreadRow) {
        self.waits = self.waits.saturating_add(other.waits);
        self.ns = self.ns.saturating_add(other.ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// What the locks of a run did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Locks, by name.
    pub rows: Vec<Row>,
    /// Threads.
    pub threads: Vec<ThreadRow>,
    /// Lock events: name and count.
    pub events: Vec<(&'static str, u64)>,
    /// Processes with statistics.
    pub processes: usize,
    /// Their programs.
    pub programs: Vec<String>,
    /// Their policies.
    pub policy: String,
    /// One in so many holds was timed; 0: none.
    pub hold_every: u32,
    /// Waits that are missing because tables were full: of locks, sites, stacks, threads.
    pub lost: [u64; 4],
}

/// What locks are put together by.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Group {
    /// A variable.
    Variable(Place, u32),
    /// The call that made it.
    Made(Place, u32),
    /// The function that waits for it most.
    Used(String, u32),
    /// Nothing is known.
    Address(u32, u64),
}

impl Report {
    /// Puts the snapshots of all processes of a run together. Condition variables are left out
    /// unless `conds`: who waits for one does not wait for a lock.
    pub fn of(snapshots: &[Snapshot], names: &Names, conds: bool) -> Self {
        let mut report = Report { processes: snapshots.len(), ..Report::default() };
        let mut groups: BTreeMap<Group, Row> = BTreeMap::new();
        let mut events = vec![0_u64; Event::ALL.len()];
        for snapshot in snapshots {
            for (sum, count) in events.iter_mut().zip(&snapshot.events) {
                *sum = sum.saturating_add(*count);
            }
            for (sum, lost) in report.lost.iter_mut().zip(snapshot.lost) {
                *sum = sum.saturating_add(lost);
            }
            let program = snapshot.program_name();
            if !report.programs.contains(&program) {
                report.programs.push(program);
            }
            report.policy.clone_from(&snapshot.policy);
            report.hold_every = snapshot.hold_every;
            report.add_threads(snapshot, snapshots.len() > 1);
            add_locks(snapshot, names, conds, &mut groups);
        }
        report.rows = groups.into_values().collect();
        let named = Event::ALL.iter().map(|event| event.name()).zip(events);
        report.events = named.filter(|(_, count)| *count > 0).collect();
        report
    }

    fn add_threads(&mut self, snapshot: &Snapshot, several: bool) {
        for thread in snapshot.threads.iter().filter(|thread| thread.waits > 0) {
            let process =
                if several { format!(" of {}", snapshot.program_name()) } else { String::new() };
            let name = format!("{} [{}]{process}", thread.name, thread.tid);
            self.threads.push(ThreadRow {
                name,
                waits: thread.waits,
                ns: thread.ns,
                max_ns: thread.max_ns,
            });
        }
    }

    /// Adds what another run of the same command did.
    pub fn add(&mut self, other: Report) {
        for row in other.rows {
            match self.rows.iter_mut().find(|own| (&own.name, own.kind) == (&row.name, row.kind)) {
                Some(own) => own.merge(row),
                None => self.rows.push(row),
            }
        }
        for thread in other.threads {
            match self.threads.iter_mut().find(|own| own.name == thread.name) {
                Some(own) => own.add(&thread),
                None => self.threads.push(thread),
            }
        }
        for (name, count) in other.events {
            match self.events.iter_mut().find(|(own, _)| *own == name) {
                Some((_, own)) => *own = own.saturating_add(count),
                None => self.events.push((name, count)),
            }
        }
        for program in other.programs {
            if !self.programs.contains(&program) {
                self.programs.push(program);
            }
        }
        self.processes += other.processes;
        for (own, lost) in self.lost.iter_mut().zip(other.lost) {
            *own = own.saturating_add(lost);
        }
    }

    /// Makes sums of several runs their means; the longest waits stay.
    pub fn divide(&mut self, runs: usize) {
        let runs = runs.max(1) as u64;
        let mean = |sum: &mut u64| *sum = (*sum + runs / 2) / runs;
        self.rows.iter_mut().for_each(|row| row.each_sum(mean));
        for thread in &mut self.threads {
            [&mut thread.waits, &mut thread.ns].into_iter().for_each(mean);
        }
        self.events.iter_mut().for_each(|(_, count)| mean(count));
        self.lost.iter_mut().for_each(mean);
    }

    /// Threads without their numbers, which differ from run to run.
    pub fn drop_thread_numbers(&mut self) {
        for thread in std::mem::take(&mut self.threads) {
            let name = thread.name.split(" [").next().unwrap_or_default().to_owned();
            let thread = ThreadRow { name, ..thread };
            match self.threads.iter_mut().find(|own| own.name == thread.name) {
                Some(own) => own.add(&thread),
                None => self.threads.push(thread),
            }
        }
    }

    /// The longest wait for any lock.
    pub fn wait_max_ns(&self) -> u64 {
        self.rows.iter().map(|row| row.sum.wait_max_ns).max().unwrap_or(0)
    }

    /// Time waited for all locks.
    pub fn wait_ns(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.sum.wait_ns))
    }
}

/// The calls at one lock, as they stand in its process.
#[derive(Default)]
struct Calls {
    waiters: Vec<Path>,
    holders: Vec<Path>,
}

fn add_locks(snapshot: &Snapshot, names: &Names, conds: bool, groups: &mut BTreeMap<Group, Row>) {
    let mut calls = calls_by_lock(snapshot, names);
    for (index, lock) in snapshot.locks.iter().enumerate() {
        let Some(lock) = lock else { continue };
        let waited = lock.contended > 0 || lock.failed > 0;
        if !waited || (lock.kind == Kind::Cond && !conds) {
            continue;
        }
        let calls = calls.remove(&index).unwrap_or_default();
        let (group, name) = identify(snapshot, names, lock, &calls);
        let row = groups.entry(group).or_insert_with(|| Row::new(name, lock.kind));
        row.add(lock, calls);
    }
}

fn calls_by_lock(snapshot: &Snapshot, names: &Names) -> HashMap<usize, Calls> {
    // What no stack stands for is at its site alone.
    let mut of_stacks: HashMap<usize, (u64, u64)> = HashMap::new();
    let mut calls: HashMap<usize, Calls> = HashMap::new();
    let mut put = |site: usize, frames: Vec<Frame>, count: u64, ns: u64| {
        let Some(at) = snapshot.sites.get(site).and_then(Option::as_ref) else { return };
        let calls = calls.entry(at.lock).or_default();
        let side = match at.role {
            Role::MakesWait => &mut calls.holders,
            Role::Waits | Role::WaitsToRead => &mut calls.waiters,
        };
        side.push(Path { frames, count, ns });
    };
    for stack in &snapshot.stacks {
        let sum = of_stacks.entry(stack.site).or_default();
        *sum = (sum.0.saturating_add(stack.count), sum.1.saturating_add(stack.ns));
        let frames = stack.frames.iter().flat_map(|&frame| names.call(snapshot, frame).to_vec());
        put(stack.site, frames.collect(), stack.count, stack.ns);
    }
    for (index, site) in snapshot.sites.iter().enumerate() {
        let Some(site) = site else { continue };
        let (count, ns) = of_stacks.get(&index).copied().unwrap_or_default();
        let (count, ns) = (site.count.saturating_sub(count), site.ns.saturating_sub(ns));
        if count > 0 || ns > 0 {
            put(index, names.call(snapshot, site.address).to_vec(), count, ns);
        }
    }
    calls
}

/// What a lock is put together with, and what that is called.
fn identify(snapshot: &Snapshot, names: &Names, lock: &Lock, calls: &Calls) -> (Group, String) {
    let kind = lock.kind as u32;
    if let Some(place) = Place::of(snapshot, lock.address) {
        let name = names.variable(&place).unwrap_or_else(|| place.plain());
        return (Group::Variable(place, kind), name);
    }
    if let Some(place) = Place::of(snapshot, lock.made_at) {
        let made = names.call(snapshot, lock.made_at);
        return (Group::Made(place, kind), format!("made in {}", frame_of_user(&made)));
    }
    let most = calls.waiters.iter().max_by_key(|path| path.ns);
    match most.map(|path| frame_of_user(&path.frames)) {
        Some(user) => (Group::Used(user.function.clone(), kind), format!("used in {user}")),
        None => (Group::Address(snapshot.pid, lock.address), format!("{:#x}", lock.address)),
    }
}

/// The first frame that is not of a lock's own wrapper.
pub fn frame_of_user(frames: &[Frame]) -> Frame {
    let first = frames.iter().find(|frame| !is_wrapper(&frame.function));
    first.or(frames.last()).cloned().unwrap_or(Frame { function: "?".to_owned(), line: None })
}

/// Functions that do nothing but lock, of the C library, the standard library of C++ and others.
pub fn is_wrapper(function: &str) -> bool {
    const WRAPPERS: &[&str] = &[
        "pthread_",
        "__pthread",
        "mtx_",
        "cnd_",
        "__gthread",
        "std::mutex::",
        "std::__mutex_base",
        "std::recursive_mutex::",
        "std::timed_mutex::",
        "std::__timed_mutex",
        "std::shared_mutex::",
        "std::__shared_mutex",
        "std::shared_timed_mutex::",
        "std::lock_guard<",
        "std::unique_lock<",
        "std::shared_lock<",
        "std::scoped_lock<",
        "std::lock<",
        "std::__lock",
        "std::condition_variable::",
        "std::__condvar",
        "std::_V2::condition_variable_any::",
        "std::__glibcxx_rwlock",
    ];
    WRAPPERS.iter().any(|wrapper| function.starts_with(wrapper))
}

impl Row {
    /// A lock that nobody has waited for.
    pub fn new(name: String, kind: Kind) -> Self {
        let sum = Lock {
            address: 0,
            kind,
            most_waiters: 0,
            destroyed: 0,
            made_at: 0,
            acquisitions: 0,
            owner_changes: 0,
            contended: 0,
            slept: 0,
            failed: 0,
            wait_ns: 0,
            wait_max_ns: 0,
            holds: 0,
            hold_ns: 0,
            hold_max_ns: 0,
            histogram: [0; BUCKETS],
        };
        let histogram = [0; BUCKETS];
        Row { name, kind, instances: 0, sum, histogram, waiters: Vec::new(), holders: Vec::new() }
    }

    fn add(&mut self, lock: &Lock, calls: Calls) {
        let mut more = Row::new(String::new(), self.kind);
        more.instances = u64::from(lock.destroyed.max(1));
        more.sum = lock.clone();
        for (sum, count) in more.histogram.iter_mut().zip(lock.histogram) {
            *sum = count.into();
        }
        merge(&mut more.waiters, calls.waiters);
        merge(&mut more.holders, calls.holders);
        self.merge(more);
    }

    fn merge(&mut self, mut other: Row) {
        let mut more = Vec::new();
        other.each_sum(|count| more.push(*count));
        let mut more = more.into_iter();
        // The paths are put together by their functions, below.
        let paths = (std::mem::take(&mut self.waiters), std::mem::take(&mut self.holders));
        self.each_sum(|sum| *sum = sum.saturating_add(more.next().unwrap_or(0)));
        (self.waiters, self.holders) = paths;
        merge(&mut self.waiters, other.waiters);
        merge(&mut self.holders, other.holders);
        let sum = &mut self.sum;
        sum.most_waiters = sum.most_waiters.max(other.sum.most_waiters);
        sum.wait_max_ns = sum.wait_max_ns.max(other.sum.wait_max_ns);
        sum.hold_max_ns = sum.hold_max_ns.max(other.sum.hold_max_ns);
    }

    /// Every number that is a sum: first those of the lock, then those of its paths.
    fn each_sum(&mut self, mut what: impl FnMut(&mut u64)) {
        let sum = &mut self.sum;
        for count in [
            &mut self.instances,
            &mut sum.acquisitions,
            &mut sum.owner_changes,
            &mut sum.contended,
            &mut sum.slept,
            &mut sum.failed,
            &mut sum.wait_ns,
            &mut sum.holds,
            &mut sum.hold_ns,
        ] {
            what(count);
        }
        self.histogram.iter_mut().for_each(&mut what);
        for path in self.waiters.iter_mut().chain(&mut self.holders) {
            what(&mut path.count);
            what(&mut path.ns);
        }
    }

    /// Waits, with the lock and without.
    pub fn waits(&self) -> u64 {
        self.sum.contended.saturating_add(self.sum.failed)
    }

    /// The mean wait.
    pub fn wait_avg_ns(&self) -> u64 {
        self.sum.wait_ns / self.waits().max(1)
    }

    /// The wait that so much of all waits is not longer than.
    pub fn quantile_ns(&self, part: f64) -> u64 {
        quantile_ns(&self.histogram, self.sum.wait_max_ns, part)
    }

    /// Whether both are locks of one type to a program, whoever's they are under a policy.
    pub fn is_same_family(&self, other: &Row) -> bool {
        let family = |kind| match kind {
            Kind::RwLock | Kind::LibcRwLock => Kind::RwLock,
            Kind::Spin => Kind::Spin,
            Kind::Cond => Kind::Cond,
            Kind::Mutex | Kind::Recursive | Kind::ErrorCheck | Kind::Adaptive | Kind::LibcMutex => {
                Kind::Mutex
            }
        };
        family(self.kind) == family(other.kind)
    }

    /// Whether acquisitions are counted: in the object's own bytes, which some have no room for.
    pub fn counts_acquisitions(&self) -> bool {
        !matches!(self.kind, Kind::Spin | Kind::Cond | Kind::LibcMutex | Kind::LibcRwLock)
    }

    /// How much of the acquisitions had to wait.
    pub fn contended_percent(&self) -> Option<f64> {
        let all = self.sum.acquisitions;
        (self.counts_acquisitions() && all > 0)
            .then(|| 100.0 * self.sum.contended as f64 / all as f64)
    }

    /// How much of the contended acquisitions did without sleep.
    pub fn spin_percent(&self) -> f64 {
        let spun = self.sum.contended.saturating_sub(self.sum.slept);
        100.0 * spun as f64 / self.sum.contended.max(1) as f64
    }
}

/// Adds paths to others, those of the same functions to each other; the longest first.
fn merge(paths: &mut Vec<Path>, more: Vec<Path>) {
    let mut at: HashMap<Rc<[Frame]>, usize> =
        paths.iter().enumerate().map(|(i, path)| (path.frames.clone().into(), i)).collect();
    for path in more {
        let key: Rc<[Frame]> = path.frames.clone().into();
        match at.get(&key) {
            Some(&i) => {
                paths[i].count = paths[i].count.saturating_add(path.count);
                paths[i].ns = paths[i].ns.saturating_add(path.ns);
            }
            None => {
                at.insert(key, paths.len());
                paths.push(path);
            }
        }
    }
    paths.sort_by_key(|path| std::cmp::Reverse((path.ns, path.count)));
}
