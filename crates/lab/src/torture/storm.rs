//! The storm: workers, and what watches them.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockwright_contract::os::ThreadId;
use lockwright_workloads::harness::{Draw, Interrupt};

use super::troubles::{Counts, Troubles};
use super::victim::{Abilities, Torturable};
use super::{Outcome, Plan, Stats};

/// The lock, what it protects, and who is there.
pub(super) struct Scene {
    pub lock: Box<dyn Torturable>,
    /// Locks taken before it, in order.
    pub nested: Vec<Box<dyn Torturable>>,
    /// A lock that handlers take, and nobody who may be interrupted.
    pub handlers: Box<dyn Torturable>,
    /// One more, and what all of them can do.
    pub another: fn() -> Box<dyn Torturable>,
    pub can: Abilities,
    pub plan: Plan,
    guarded: Guarded,
    pub workers: Mutex<Vec<Arc<Worker>>>,
    pub over: AtomicBool,
    pause: AtomicBool,
    began: Instant,
}

/// What only the lock keeps whole. All accesses but those of the flags are relaxed: the order
/// comes from the lock.
#[derive(Default)]
struct Guarded {
    writers: AtomicUsize,
    readers: AtomicUsize,
    pair: [AtomicU64; 2],
    /// Writes that were done, counted beside the lock.
    written: AtomicU64,
}

/// One thread, as others see it.
pub(super) struct Worker {
    pub writes: bool,
    /// It comes and goes; the others stay.
    pub brief: bool,
    pub id: Mutex<Option<ThreadId>>,
    ops: AtomicU64,
    fails: AtomicU64,
    /// When it asked for what it waits for, in nanoseconds since the begin; 0: it does not.
    asked_ns: AtomicU64,
    longest_ns: AtomicU64,
    paused: AtomicBool,
    pub gone: AtomicBool,
}

impl Worker {
    pub fn new(writes: bool, brief: bool) -> Arc<Self> {
        Arc::new(Worker {
            writes,
            brief,
            id: Mutex::new(None),
            ops: AtomicU64::new(0),
            fails: AtomicU64::new(0),
            asked_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            paused: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        })
    }
}

impl Scene {
    fn new(plan: Plan, can: Abilities, another: fn() -> Box<dyn Torturable>) -> Arc<Self> {
        Arc::new(Scene {
            lock: another(),
            nested: (0..plan.nested).map(|_| another()).collect(),
            handlers: another(),
            another,
            can,
            plan,
            guarded: Guarded::default(),
            workers: Mutex::new(Vec::new()),
            over: AtomicBool::new(false),
            pause: AtomicBool::new(false),
            began: Instant::now(),
        })
    }

    fn now_ns(&self) -> u64 {
        // Never 0, which means that nobody waits.
        self.began.elapsed().as_nanos() as u64 + 1
    }

    // Ordering: SeqCst for the flags: a look must not be early; Relaxed for what the lock orders.
    /// A writer's section; whether it was alone.
    fn write_section(&self, hold: impl FnOnce()) -> bool {
        let guarded = &self.guarded;
        let alone = guarded.writers.fetch_add(1, SeqCst) == 0 && guarded.readers.load(SeqCst) == 0;
        let before = guarded.pair.each_ref().map(|word| word.load(Relaxed));
        guarded.pair[0].store(before[0] + 1, Relaxed);
        hold();
        guarded.pair[1].store(before[1] + 1, Relaxed);
        guarded.written.fetch_add(1, Relaxed);
        guarded.writers.fetch_sub(1, SeqCst);
        alone && before[0] == before[1]
    }

    /// A reader's section; whether no writer was there.
    fn read_section(&self, hold: impl FnOnce()) -> bool {
        let guarded = &self.guarded;
        guarded.readers.fetch_add(1, SeqCst);
        let pair = || guarded.pair.each_ref().map(|word| word.load(Relaxed));
        let before = pair();
        let alone = guarded.writers.load(SeqCst) == 0;
        hold();
        let whole = before[0] == before[1] && pair() == before;
        guarded.readers.fetch_sub(1, SeqCst);
        alone && whole
    }

    /// What a worker does until the storm is over, or `most` times.
    pub fn work(&self, worker: &Worker, seed: u64, most: u64) {
        *worker.id.lock().unwrap_or_else(PoisonError::into_inner) = Some(ThreadId::here());
        let mut draw = Draw::new(seed);
        let mut done = 0;
        while !self.over.load(Relaxed) && done < most {
            if self.pause.load(Relaxed) {
                worker.paused.store(true, SeqCst);
                while self.pause.load(Relaxed) && !self.over.load(Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
                worker.paused.store(false, SeqCst);
            }
            self.operate(worker, &mut draw);
            done += 1;
        }
        worker.gone.store(true, SeqCst);
    }

    /// One operation, of a kind that is drawn.
    pub fn operate(&self, worker: &Worker, draw: &mut Draw) {
        worker.asked_ns.store(self.now_ns(), Relaxed);
        let depth =
            if self.nested.is_empty() { 0 } else { draw.below(self.nested.len() as u32 + 1) };
        let got = self.nest(worker, draw, depth as usize, 0);
        self.waited(worker);
        worker.ops.fetch_add(u64::from(got), Relaxed);
    }

    /// Notes the end of a wait.
    fn waited(&self, worker: &Worker) {
        let asked = worker.asked_ns.swap(0, Relaxed);
        if asked > 0 {
            worker.longest_ns.fetch_max(self.now_ns().saturating_sub(asked), Relaxed);
        }
    }

    /// Takes `depth` nested locks, then does what the worker is for.
    fn nest(&self, worker: &Worker, draw: &mut Draw, depth: usize, at: usize) -> bool {
        if at == depth {
            return self.acquire(worker, draw);
        }
        let mut got = false;
        self.nested[at].write(&mut || got = self.nest(worker, draw, depth, at + 1));
        got
    }

    fn acquire(&self, worker: &Worker, draw: &mut Draw) -> bool {
        let (plan, can) = (&self.plan, self.can);
        let time = Duration::from_micros(draw.below(300).into());
        let kind = draw.below(100);
        let hold = Hold::drawn(plan, draw);
        // Between the two sections of a conversion nobody may have written.
        let written_before = Cell::new(None);
        let section = |alone: &dyn Fn() -> bool| {
            self.waited(worker);
            let written = || self.guarded.written.load(Relaxed);
            let kept = written_before.get().is_none_or(|before| before == written());
            let alone = alone();
            written_before.set(Some(written()));
            worker.fails.fetch_add(u64::from(!alone || !kept), Relaxed);
        };
        let mut writing = || section(&|| self.write_section(|| hold.pass()));
        let mut reading = || section(&|| self.read_section(|| hold.pass()));
        let (lock, tries) = (&self.lock, plan.trylocks && can.tries);
        let (times, converts) = (plan.timeouts && can.times_out, plan.converts && can.converts);
        match (worker.writes, kind) {
            (true, 0..10) if tries => return lock.try_write(&mut writing),
            (true, 10..25) if times => return lock.write_for(time, &mut writing),
            (true, 25..30) if converts => lock.downgrade(&mut writing, &mut reading),
            (true, 30..35) if converts => lock.upgrade(&mut reading, &mut writing),
            (true, 35..40) => lock.write_fair(&mut writing),
            (true, _) => lock.write(&mut writing),
            (false, 0..10) if tries => return lock.try_read(&mut reading),
            (false, 10..25) if times => return lock.read_for(time, &mut reading),
            (false, _) => lock.read(&mut reading),
        }
        true
    }

    pub fn stats(&self) -> Stats {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stats = Stats::default();
        for worker in workers.iter() {
            let role = if worker.writes { &mut stats.writes } else { &mut stats.reads };
            if !worker.brief {
                role.each.push(worker.ops.load(Relaxed));
            }
            role.fail += worker.fails.load(Relaxed);
            role.longest_ns = role.longest_ns.max(worker.longest_ns.load(Relaxed));
        }
        stats
    }

    /// All operations so far, those of brief threads included.
    fn progress(&self) -> u64 {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.iter().map(|worker| worker.ops.load(Relaxed)).sum()
    }

    /// Those who wait, and for how long.
    fn waiting(&self) -> Vec<Duration> {
        let now = self.now_ns();
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = workers.iter().map(|worker| worker.asked_ns.load(Relaxed));
        asked.filter(|&at| at > 0).map(|at| Duration::from_nanos(now.saturating_sub(at))).collect()
    }
}

/// How long a section lasts.
enum Hold {
    Short(u32),
    Yield,
    Sleep,
    Long(Duration),
}

impl Hold {
    /// As locktorture's: mostly nothing, now and then very long.
    fn drawn(plan: &Plan, draw: &mut Draw) -> Self {
        let threads = (plan.writers + plan.readers).max(1) as u32;
        let long = u32::try_from(plan.long_hold.as_millis()).unwrap_or(u32::MAX);
        if long > 0 && draw.below(threads.saturating_mul(2_000).saturating_mul(long)) == 0 {
            return Hold::Long(5 * plan.long_hold);
        }
        match draw.below(threads.saturating_mul(200)) {
            0 => Hold::Yield,
            1 => Hold::Sleep,
            _ => Hold::Short(draw.below(100)),
        }
    }

    fn pass(&self) {
        match self {
            Hold::Short(units) => lockwright_workloads::work::pause(*units),
            Hold::Yield => thread::yield_now(),
            Hold::Sleep => thread::sleep(Duration::from_micros(200)),
            Hold::Long(time) => {
                let began = Instant::now();
                while began.elapsed() < *time {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// Everything at once for the plan's time.
pub(super) fn storm(
    can: Abilities,
    another: fn() -> Box<dyn Torturable>,
    plan: &Plan,
    stop: &Interrupt,
    report: &mut dyn FnMut(&Stats),
) -> Outcome {
    let readers = if can.reads { plan.readers } else { 0 };
    let scene = Scene::new(Plan { readers, ..*plan }, can, another);
    let mut threads = Vec::new();
    for number in 0..plan.writers + readers {
        let worker = Worker::new(number < plan.writers, false);
        scene.workers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&worker));
        let seed = plan.seed.wrapping_mul(0x1_0001).wrapping_add(number as u64);
        let own = Arc::clone(&scene);
        match thread::Builder::new().spawn(move || own.work(&worker, seed, u64::MAX)) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                scene.over.store(true, SeqCst);
                let refused = format!("cannot start {} threads: {error}", plan.writers + readers);
                return Outcome { refused: Some(refused), ..Outcome::default() };
            }
        }
    }
    let counts = Arc::new(Counts::default());
    let troubles = Troubles::start(&scene, &counts);
    let mut complaints = watch(&scene, stop, report);
    complaints.extend(counts.complaints());
    scene.over.store(true, SeqCst);
    complaints.extend(end(&scene, threads, troubles, complaints.is_empty()));
    Outcome {
        complaints,
        refused: None,
        stats: scene.stats(),
        troubles: counts.list(),
        cut_short: stop.is_raised(),
    }
}

/// Watches until time is over or something is wrong.
fn watch(scene: &Scene, stop: &Interrupt, report: &mut dyn FnMut(&Stats)) -> Vec<String> {
    const LOOK: Duration = Duration::from_millis(50);
    let plan = &scene.plan;
    let began = Instant::now();
    let (mut reported, mut turned) = (began, began);
    let (mut seen, mut seen_at) = (0, began);
    let mut pausing = false;
    while began.elapsed() < plan.time && !stop.sleep(LOOK) {
        let now = Instant::now();
        if now - reported >= plan.stat_interval && !plan.stat_interval.is_zero() {
            report(&scene.stats());
            reported = now;
        }
        let failed = complaints_of(&scene.stats());
        if !failed.is_empty() {
            return failed;
        }
        // Who pauses gets nothing done; that everybody does is looked at when the pause ends.
        let done = scene.progress();
        if done != seen || pausing {
            (seen, seen_at) = (done, now);
        } else if now - seen_at > plan.stall {
            return vec![format!(
                "lost wake-up: nobody got on for {:?} while {} threads waited",
                plan.stall,
                scene.waiting().len()
            )];
        }
        if let Some(longest) =
            scene.waiting().into_iter().max().filter(|&wait| wait > plan.starvation)
        {
            return vec![format!(
                "starvation: a thread has waited for {longest:.1?} while others did {done} operations"
            )];
        }
        if !plan.stutter.is_zero()
            && now - turned >= if pausing { plan.stutter / 4 } else { plan.stutter }
        {
            pausing = !pausing;
            scene.pause.store(pausing, SeqCst);
            turned = now;
            if pausing && let Some(complaint) = everybody_pauses(scene) {
                return vec![complaint];
            }
        }
    }
    scene.pause.store(false, SeqCst);
    complaints_of(&scene.stats())
}

/// With nobody asking anew, every wait must end: who is left was not woken.
fn everybody_pauses(scene: &Scene) -> Option<String> {
    let began = Instant::now();
    loop {
        let workers = scene.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = |worker: &&Arc<Worker>| !worker.paused.load(SeqCst) && !worker.gone.load(SeqCst);
        let left = workers.iter().filter(busy).count();
        drop(workers);
        if left == 0 {
            return None;
        }
        if began.elapsed() > scene.plan.stall {
            return Some(format!(
                "lost wake-up: {left} threads were still not through {:?} after the others paused",
                scene.plan.stall
            ));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn complaints_of(stats: &Stats) -> Vec<String> {
    let fails = stats.writes.fail + stats.reads.fail;
    match fails {
        0 => Vec::new(),
        fails => vec![format!("exclusion: {fails} times somebody was inside who must not be")],
    }
}

/// Threads that a lock already found broken may hold for good are waited for no longer than this.
const FAILED_GRACE: Duration = Duration::from_millis(250);

/// Ends the storm; what stands out at the end.
fn end(
    scene: &Scene,
    threads: Vec<JoinHandle<()>>,
    troubles: Troubles,
    passed: bool,
) -> Vec<String> {
    let began = Instant::now();
    let mut complaints = Vec::new();
    let limit = if passed { scene.plan.stall } else { FAILED_GRACE };
    if !troubles.finish(limit) && passed {
        complaints.push("a thread that made trouble did not end".to_owned());
    }
    while threads.iter().any(|thread| !thread.is_finished()) {
        if began.elapsed() > 2 * limit {
            let left = threads.iter().filter(|thread| !thread.is_finished()).count();
            if passed {
                complaints
                    .push(format!("lost wake-up: {left} threads did not end with the others"));
            }
            return complaints;
        }
        thread::sleep(Duration::from_millis(5));
    }
    for thread in threads {
        if thread.join().is_err() {
            complaints.push("a thread panicked".to_owned());
        }
    }
    let guarded = &scene.guarded;
    let pair = guarded.pair.each_ref().map(|word| word.load(Relaxed));
    let written = guarded.written.load(Relaxed);
    if pair != [written; 2] {
        complaints.push(format!("exclusion: {written} writes left {pair:?}"));
    }
    complaints
}
