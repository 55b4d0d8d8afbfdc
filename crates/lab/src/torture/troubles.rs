//! Threads that make trouble for the workers.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use lockwright_contract::os::{Ended, ThreadId, in_child, with_naps, with_usr1};
use lockwright_contract::scene::at_thread_exit;
use lockwright_workloads::harness::Draw;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::storm::{Scene, Worker};
use crate::environment::machine::allowed_cpus;

/// How often each trouble was made, and what went wrong with it.
#[derive(Default)]
pub(super) struct Counts {
    shuffles: AtomicU64,
    crowdings: AtomicU64,
    signals: AtomicU64,
    stops: AtomicU64,
    births: AtomicU64,
    forks: AtomicU64,
    hung_children: AtomicU64,
    lost_children: AtomicU64,
}

impl Counts {
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("shuffles", &self.shuffles),
            ("crowdings", &self.crowdings),
            ("signals", &self.signals),
            ("stops", &self.stops),
            ("births", &self.births),
            ("forks", &self.forks),
        ];
        all.into_iter().map(|(name, count)| (name, count.load(Relaxed))).collect()
    }

    pub fn complaints(&self) -> Vec<String> {
        let (hung, lost) = (self.hung_children.load(Relaxed), self.lost_children.load(Relaxed));
        let mut complaints = Vec::new();
        if hung > 0 {
            complaints.push(format!("fork: {hung} children hung on a lock that nobody held"));
        }
        if lost > 0 {
            complaints.push(format!("fork: {lost} children were killed, or lost updates"));
        }
        complaints
    }
}

/// Those who make trouble, at work.
pub(super) struct Troubles {
    /// How many there are, and where each tells that it has ended.
    count: usize,
    ended: Receiver<()>,
}

impl Troubles {
    pub fn start(scene: &Arc<Scene>, counts: &Arc<Counts>) -> Self {
        let (plan, can) = (&scene.plan, scene.can);
        let (tell, ended) = channel();
        let mut all = Troubles { count: 0, ended };
        let mut add = |wanted: bool, trouble: fn(&Arc<Scene>, &Counts)| {
            if wanted {
                all.count += usize::from(spawn(scene, counts, &tell, trouble));
            }
        };
        add(!plan.shuffle.is_zero(), shuffle);
        add(!plan.onoff.is_zero(), crowd);
        add(plan.signals && can.in_handlers, signal);
        add(plan.signals && can.in_handlers, contend_with_handlers);
        add(plan.stops, stop);
        add(plan.births, bear);
        add(plan.forks && can.in_children, fork);
        all
    }

    /// Waits until all have ended, but not for ever.
    pub fn finish(&self, limit: Duration) -> bool {
        let began = Instant::now();
        (0..self.count)
            .all(|_| self.ended.recv_timeout(limit.saturating_sub(began.elapsed()) + limit).is_ok())
    }
}

fn spawn(
    scene: &Arc<Scene>,
    counts: &Arc<Counts>,
    tell: &Sender<()>,
    trouble: fn(&Arc<Scene>, &Counts),
) -> bool {
    let (scene, counts, tell) = (Arc::clone(scene), Arc::clone(counts), tell.clone());
    let body = move || {
        trouble(&scene, &counts);
        // Whoever waited may have given up.
        let _ = tell.send(());
    };
    thread::Builder::new().spawn(body).is_ok()
}

impl Scene {
    /// Calls `act` every `period`, until the storm is over.
    fn every(&self, period: Duration, mut act: impl FnMut(&mut Draw)) {
        const LOOK: Duration = Duration::from_millis(10);
        let mut draw = Draw::new(self.plan.seed ^ period.as_nanos() as u64);
        let mut due = Instant::now() + period;
        while !self.over.load(Relaxed) {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                act(&mut draw);
                due = Instant::now() + period;
            } else {
                thread::sleep(left.min(LOOK));
            }
        }
    }

    /// The kernel's number of a worker that is alive, at random.
    fn someone(&self, draw: &mut Draw) -> Option<ThreadId> {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = workers.get(draw.below(workers.len() as u32) as usize)?;
        let gone = worker.brief || worker.gone.load(Relaxed);
        if gone { None } else { *worker.id.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    fn ids(&self) -> Vec<ThreadId> {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let own = workers.iter().filter(|worker| !worker.brief && !worker.gone.load(Relaxed));
        own.filter_map(|worker| *worker.id.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

fn bind(thread: ThreadId, cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| _ = set.set(cpu));
    // A thread that has gone needs no binding.
    let _ = sched_setaffinity(Pid::from_raw(thread.number()), &set);
}

/// Threads bound to random CPUs.
fn shuffle(scene: &Arc<Scene>, counts: &Counts) {
    let cpus = allowed_cpus();
    scene.every(scene.plan.shuffle, |draw| {
        for thread in scene.ids() {
            bind(thread, &[cpus[draw.below(cpus.len() as u32) as usize]]);
        }
        counts.shuffles.fetch_add(1, Relaxed);
    });
}

/// All threads on one CPU, as if the others had gone, and then free again.
fn crowd(scene: &Arc<Scene>, counts: &Counts) {
    let cpus = allowed_cpus();
    let mut crowded = false;
    scene.every(scene.plan.onoff, |draw| {
        crowded = !crowded;
        let one = [cpus[draw.below(cpus.len() as u32) as usize]];
        let allowed: &[usize] = if crowded { &one } else { &cpus };
        scene.ids().into_iter().for_each(|thread| bind(thread, allowed));
        counts.crowdings.fetch_add(1, Relaxed);
    });
}

/// Signals whose handler tries the lock and takes another.
fn signal(scene: &Arc<Scene>, counts: &Counts) {
    let handled = Arc::clone(scene);
    let handler = move || {
        // Its own thread may hold the lock: only a try is allowed. What is inside is left alone.
        handled.lock.try_write(&mut || ());
        handled.handlers.write(&mut || ());
    };
    with_usr1(handler, || {
        scene.every(Duration::from_micros(500), |draw| {
            if let Some(thread) = scene.someone(draw) {
                thread.interrupt();
                counts.signals.fetch_add(1, Relaxed);
            }
        });
        // A handler may still be at work when the next lock's is installed.
        thread::sleep(Duration::from_millis(20));
    });
}

/// Keeps the lock that handlers take contended; nobody interrupts this thread.
fn contend_with_handlers(scene: &Arc<Scene>, _counts: &Counts) {
    let mut draw = Draw::new(scene.plan.seed ^ 0xfeed);
    while !scene.over.load(Relaxed) {
        scene.handlers.write(&mut || lockwright_workloads::work::pause(draw.below(500)));
        thread::sleep(Duration::from_micros(50));
    }
}

/// Threads stopped for a while wherever they are.
fn stop(scene: &Arc<Scene>, counts: &Counts) {
    with_naps(Duration::from_millis(3), || {
        scene.every(Duration::from_millis(10), |draw| {
            if let Some(thread) = scene.someone(draw) {
                thread.nap();
                counts.stops.fetch_add(1, Relaxed);
            }
        });
        thread::sleep(Duration::from_millis(20));
    });
}

/// Threads that live for a few operations, and lock once more as they exit.
fn bear(scene: &Arc<Scene>, counts: &Counts) {
    let mut last: Option<thread::JoinHandle<()>> = None;
    let readers = scene.plan.readers > 0;
    scene.every(Duration::from_millis(5), |draw| {
        let worker = Worker::new(!readers || draw.below(2) == 0, true);
        let (own, seed) = (Arc::clone(&worker), draw.below(u32::MAX).into());
        let body = {
            let scene = Arc::clone(scene);
            move || {
                let (leaving, at_exit) = (Arc::clone(&own), Arc::clone(&scene));
                at_thread_exit(move || at_exit.operate(&leaving, &mut Draw::new(seed)));
                scene.work(&own, seed, 20);
            }
        };
        // The one before must have ended: a storm of births would be another test.
        if last.as_ref().is_none_or(thread::JoinHandle::is_finished) {
            let mut workers = scene.workers.lock().unwrap_or_else(PoisonError::into_inner);
            workers.retain(|worker| !worker.brief || !worker.gone.load(Relaxed));
            workers.push(Arc::clone(&worker));
            drop(workers);
            last = thread::Builder::new().spawn(body).ok();
            if last.is_none() {
                worker.gone.store(true, Relaxed);
            }
            counts.births.fetch_add(1, Relaxed);
        }
    });
}

/// Children that lock what nobody held, alone and with threads of their own.
fn fork(scene: &Arc<Scene>, counts: &Counts) {
    let free = (scene.another)();
    let limit = scene.plan.stall.max(Duration::from_secs(5));
    scene.every(Duration::from_millis(50), |_| {
        let ended = in_child(limit, || {
            let count = AtomicU64::new(0);
            let many = || {
                for _ in 0..50 {
                    free.write(&mut || {
                        let before = count.load(Relaxed);
                        thread::yield_now();
                        count.store(before + 1, Relaxed);
                    });
                }
            };
            lockwright_contract::os::with_bare_threads(2, &many, many);
            i32::from(count.load(Relaxed) != 150)
        });
        counts.forks.fetch_add(1, Relaxed);
        match ended {
            Ended::Code(0) => {}
            Ended::Hung => _ = counts.hung_children.fetch_add(1, Relaxed),
            Ended::Code(_) | Ended::Signal(_) => _ = counts.lost_children.fetch_add(1, Relaxed),
        }
    });
}
