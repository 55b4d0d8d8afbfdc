//! `bench patterns`: how programs use locks.

use std::time::Duration;

use lockwright_workloads::patterns::{
    BurstSpec, Cpus, GuestSpec, LockPattern, MapSpec, MonitorPattern, QueueSpec, SectionsSpec,
    Stall, TurnsSpec,
};

use super::{Load, Takes, cell};
use crate::experiment::Cell;
use crate::experiment::view::View;
use crate::record::metric::{self, Metric};
use crate::record::{Kind, Param, Params};
use crate::report::layout::counted;
use crate::report::number::duration_ns;

/// What every pattern shows beside its headline.
const REST: [&Metric; 3] = [&metric::WAIT_MAX, &metric::CPU, &metric::VOLUNTARY];
/// What files have of every pattern as well.
const MORE: [&Metric; 6] = [
    &metric::WAITS,
    &metric::WAIT_MEAN,
    &metric::WAIT_P90,
    &metric::WAIT_BY_TIME,
    &metric::WAIT_BY_TIME_P99,
    &metric::INVOLUNTARY,
];
const PERCENTILES: &str = "p50, p99: medians of the rounds; p99.9, max: of all rounds together. \
     CPU-us: CPU microseconds an operation of all threads. vol/Mop: times a thread gave up the CPU \
     in a million of them.";

/// A thread that comes now and then.
pub static GUEST: View = View {
    headline: &metric::WAIT_P50,
    columns: &[&metric::WAIT_P99, &metric::WAIT_P999, REST[0], &metric::RATE, REST[1], REST[2]],
    more: &MORE,
    notes: &[
        "guest: waits are the guest's, kops/s are sections of all, nearly all of them hogs'.",
        PERCENTILES,
    ],
};

/// A turn passed to and fro.
pub static TURNS: View = View {
    headline: &metric::OP_TIME,
    columns: &[&metric::WAIT_P50, &metric::WAIT_P99, &metric::WAIT_P999, REST[0], REST[1], REST[2]],
    more: &MORE,
    notes: &[
        "turns: time/op is that of a turn, waits are from the pass until it is taken.",
        PERCENTILES,
    ],
};

/// A bounded queue.
pub static QUEUE: View = View {
    headline: &metric::ITEMS,
    columns: &[&metric::WAIT_P50, &metric::WAIT_P99, &metric::WAIT_P999, REST[0], REST[1], REST[2]],
    more: &MORE,
    notes: &["queue: waits are from an item's push until its pop.", PERCENTILES],
};

/// All at once.
pub static BURST: View = View {
    headline: &metric::WAIT_P50,
    columns: &[&metric::WAIT_P99, REST[0], &metric::WAITS, REST[1], REST[2]],
    more: &MORE,
    notes: &[
        "burst: one holds the lock until all others have come; waits are from its release until the \
         last of them is through; an operation is one section.",
        PERCENTILES,
    ],
};

/// Operations that are timed.
pub static OPERATIONS: View = View {
    headline: &metric::RATE,
    columns: &[&metric::WAIT_P50, &metric::WAIT_P99, &metric::WAIT_P999, REST[0], REST[1], REST[2]],
    more: &[MORE[0], MORE[1], MORE[2], MORE[3], MORE[4], MORE[5], &metric::JAIN, &metric::LEAST],
    notes: &["map: waits are whole operations; stall, crowd: until the lock is held.", PERCENTILES],
};

/// The patterns, by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// One thread comes every so often to a lock that others take again and again.
    Guest,
    /// Two threads pass a turn to and fro through a condition variable.
    Turns,
    /// Producers and consumers of a bounded queue.
    Queue,
    /// One producer, many workers.
    Pool,
    /// All threads want the lock at once, then nobody does.
    Burst,
    /// Threads read and write a map of shards.
    Map,
    /// Holders sleep, or fault pages in, now and then.
    Stall,
    /// From fewer threads than CPUs to many more.
    Crowd,
    /// Threads work, then take one lock for writing some times in a row, as processes that fork
    /// take those of their memory; mutexes and reader-writer locks.
    Forks,
}

impl Name {
    /// Those that are measured unless others are asked for.
    pub const DEFAULT: [Name; 8] = [
        Name::Guest,
        Name::Turns,
        Name::Queue,
        Name::Pool,
        Name::Burst,
        Name::Map,
        Name::Stall,
        Name::Crowd,
    ];
}

/// What may be asked for; `None` and empty: each pattern's own.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Wall time of each run.
    pub window: Option<Duration>,
    /// Threads: hogs, consumers, or all.
    pub threads: Vec<usize>,
    /// PAUSE units in each section, or of each task.
    pub load: Vec<u32>,
    /// PAUSE units outside.
    pub outside: Vec<u32>,
    /// From one visit of the guest to the next.
    pub every: Vec<Duration>,
    /// CPUs that the process may use.
    pub cpus: usize,
    /// Length of a PAUSE unit in nanoseconds.
    pub pause_ns: f64,
}

/// How long a run lasts unless it is said otherwise: a guest that comes every 2 ms is then seen
/// 150 times.
const WINDOW: Duration = Duration::from_millis(300);

/// What patterns are called with, as the cell's parameters.
struct Described {
    kind: Kind,
    title: String,
    load: Load,
    params: Vec<(&'static str, Param)>,
}

impl Options {
    /// The cells of a pattern.
    pub fn cells(&self, name: Name) -> Vec<Cell> {
        let all = match name {
            Name::Guest => self.guests(),
            Name::Turns => turns(),
            Name::Queue => self.queues(),
            Name::Pool => self.pools(),
            Name::Burst => self.bursts(),
            Name::Map => self.maps(),
            Name::Stall => self.stalls(),
            Name::Crowd => self.crowds(),
            Name::Forks => self.forks(),
        };
        all.into_iter().map(|described| self.cell(described)).collect()
    }

    fn cell(&self, Described { kind, title, load, params }: Described) -> Cell {
        let params: Params =
            params.into_iter().map(|(name, param)| (name.to_owned(), param)).collect();
        cell(kind, title, params, self.window.unwrap_or(WINDOW), load)
    }

    fn units(&self, units: u32) -> String {
        format!("{units} ({})", duration_ns(f64::from(units) * self.pause_ns))
    }

    fn guests(&self) -> Vec<Described> {
        let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        let mut all = Vec::new();
        for &load in or(&self.load, &[20]) {
            for &hogs in or(&self.threads, &[1, 4]) {
                // One hog shows how the rhythm counts; with several one rhythm will do.
                let rhythms: &[Duration] =
                    if hogs == 1 { &[ms(0.2), ms(2.0), ms(20.0)] } else { &[ms(2.0)] };
                for &every in or(&self.every, rhythms) {
                    all.push(self.guest(hogs, every, load, false, (true, true)));
                }
                let every = or(&self.every, &[ms(2.0)])[0];
                if hogs > 1 || !self.threads.is_empty() {
                    for roles in [(false, true), (true, false)] {
                        all.push(self.guest(hogs, every, load, true, roles));
                    }
                }
            }
        }
        all
    }

    fn guest(
        &self,
        hogs: usize,
        every: Duration,
        load: u32,
        rwlock: bool,
        (hogs_write, guest_writes): (bool, bool),
    ) -> Described {
        let every_ns = every.as_nanos() as u64;
        let spec = GuestSpec { hogs, every_ns, load, hogs_write, guest_writes };
        let role = |writes: bool| if writes { "writer" } else { "reader" };
        let words = match rwlock {
            false => format!(
                "a mutex, one comes every {} among {}",
                duration_ns(every_ns as f64),
                counted(hogs, "hog")
            ),
            true => format!(
                "a {} comes every {} among {}",
                role(guest_writes),
                duration_ns(every_ns as f64),
                counted(hogs, role(hogs_write))
            ),
        };
        Described {
            kind: Kind::Guest,
            title: format!("guest: {words}, load {}", self.units(load)),
            load: Load::Pattern { pattern: LockPattern::Guest(spec), takes: takes(rwlock) },
            params: vec![
                ("pattern", "guest".into()),
                ("lock", lock_word(rwlock)),
                ("hogs", hogs.into()),
                ("every_ns", every_ns.into()),
                ("load_pauses", load.into()),
                ("hogs_are", role(hogs_write).into()),
                ("guest_is", role(guest_writes).into()),
            ],
        }
    }

    fn queues(&self) -> Vec<Described> {
        let tasks = or(&self.load, &[20, 200, 2_000]);
        let mut all = Vec::new();
        for &task in tasks {
            for &each in or(&self.threads, &[2]) {
                all.push(self.queue(
                    "queue",
                    QueueSpec { producers: each, consumers: each, capacity: 64, task },
                ));
            }
        }
        all
    }

    fn pools(&self) -> Vec<Described> {
        let mut all = Vec::new();
        for &task in or(&self.load, &[20, 200]) {
            for &consumers in or(&self.threads, &[8]) {
                all.push(
                    self.queue("pool", QueueSpec { producers: 1, consumers, capacity: 256, task }),
                );
            }
        }
        all
    }

    fn queue(&self, name: &'static str, spec: QueueSpec) -> Described {
        let QueueSpec { producers, consumers, capacity, task } = spec;
        let (producing, consuming) =
            (counted(producers, "producer"), counted(consumers, "consumer"));
        Described {
            kind: Kind::Queue,
            title: format!(
                "{name}: {producing}, {consuming}, {capacity} places, task {}",
                self.units(task)
            ),
            load: Load::Monitor(MonitorPattern::Queue(spec)),
            params: vec![
                ("pattern", name.into()),
                ("producers", producers.into()),
                ("consumers", consumers.into()),
                ("capacity", capacity.into()),
                ("task_pauses", task.into()),
            ],
        }
    }

    fn bursts(&self) -> Vec<Described> {
        let mut all = Vec::new();
        for &load in or(&self.load, &[20]) {
            for &threads in or(&self.threads, &[8, 32]) {
                let spec = BurstSpec { threads: threads.max(2), load, quiet_ns: 500_000 };
                all.push(Described {
                    kind: Kind::Burst,
                    title: format!(
                        "burst: {} at once, load {}",
                        counted(spec.threads, "thread"),
                        self.units(load)
                    ),
                    load: Load::Pattern {
                        pattern: LockPattern::Burst(spec),
                        takes: Takes::Mutexes,
                    },
                    params: vec![
                        ("pattern", "burst".into()),
                        ("threads", spec.threads.into()),
                        ("load_pauses", load.into()),
                    ],
                });
            }
        }
        all
    }

    fn maps(&self) -> Vec<Described> {
        let mut all = Vec::new();
        for rwlock in [false, true] {
            for &threads in or(&self.threads, &[16]) {
                for &outside in or(&self.outside, &[0]) {
                    let spec = MapSpec { threads, shards: 4, reads_percent: 90, outside };
                    let lock = if rwlock { "reader-writer locks" } else { "mutexes" };
                    let beside = if outside > 0 {
                        format!(", outside {}", self.units(outside))
                    } else {
                        String::new()
                    };
                    all.push(Described {
                        kind: Kind::Operations,
                        title: format!(
                            "map: {}, 4 shards under {lock}, 90 % reads{beside}",
                            counted(threads, "thread")
                        ),
                        load: Load::Pattern {
                            pattern: LockPattern::Map(spec),
                            takes: takes(rwlock),
                        },
                        params: vec![
                            ("pattern", "map".into()),
                            ("lock", lock_word(rwlock)),
                            ("threads", threads.into()),
                            ("shards", 4_usize.into()),
                            ("readers_percent", 90_usize.into()),
                            ("outside_pauses", outside.into()),
                        ],
                    });
                }
            }
        }
        all
    }

    fn stalls(&self) -> Vec<Described> {
        let stalls = [
            (Stall::Sleep { every: 1_000, ns: 200_000 }, "one in 1000 sleeps 200us"),
            (Stall::Fault { every: 1_000, pages: 64 }, "one in 1000 faults 64 pages in"),
        ];
        let mut all = Vec::new();
        for (stall, words) in stalls {
            for &threads in or(&self.threads, &[8]) {
                all.extend(self.sections("stall", threads, Some((stall, words))));
            }
        }
        all
    }

    fn crowds(&self) -> Vec<Described> {
        // 0.5 to 64 times the CPUs.
        let cpus = self.cpus.max(1);
        let mut counts: Vec<usize> = vec![(cpus / 2).max(1)];
        counts.extend([1, 2, 4, 16, 64].map(|times| times * cpus));
        counts.dedup();
        let counts = or(&self.threads, &counts).to_vec();
        counts.iter().flat_map(|&threads| self.sections("crowd", threads, None)).collect()
    }

    fn forks(&self) -> Vec<Described> {
        const SECTIONS: u32 = 5;
        let units = |ns: f64| (ns / self.pause_ns).round().max(1.0) as u32;
        let (loads, outsides) = ([units(500.0)], [units(20_000.0)]);
        let mut all = Vec::new();
        for &threads in or(&self.threads, &[32]) {
            for &load in or(&self.load, &loads) {
                for &outside in or(&self.outside, &outsides) {
                    let spec =
                        SectionsSpec { threads, load, outside, burst: SECTIONS, stall: None };
                    all.push(Described {
                        kind: Kind::Operations,
                        title: format!(
                            "forks: {} of work {}, then {SECTIONS} sections of {}",
                            counted(threads, "thread"),
                            self.units(outside),
                            self.units(load)
                        ),
                        load: Load::Pattern {
                            pattern: LockPattern::Sections(spec),
                            takes: Takes::Both,
                        },
                        // Lengths in time, not in units of a machine.
                        params: vec![("pattern", "forks".into()), ("threads", threads.into())],
                    });
                }
            }
        }
        all
    }

    fn sections(
        &self,
        name: &'static str,
        threads: usize,
        stall: Option<(Stall, &'static str)>,
    ) -> Vec<Described> {
        let mut all = Vec::new();
        for &load in or(&self.load, &[20]) {
            for &outside in or(&self.outside, &[20]) {
                let stalls = stall.map(|(stall, _)| stall);
                let spec = SectionsSpec { threads, load, outside, burst: 1, stall: stalls };
                let beside = stall.map_or_else(String::new, |(_, words)| format!(", {words}"));
                let mut params = vec![
                    ("pattern", name.into()),
                    ("threads", threads.into()),
                    ("load_pauses", load.into()),
                    ("outside_pauses", outside.into()),
                ];
                params.extend(stall.map(|(_, words)| ("stall", words.into())));
                all.push(Described {
                    kind: Kind::Operations,
                    title: format!(
                        "{name}: {}, load {}, outside {}{beside}",
                        counted(threads, "thread"),
                        self.units(load),
                        self.units(outside)
                    ),
                    load: Load::Pattern {
                        pattern: LockPattern::Sections(spec),
                        takes: Takes::Mutexes,
                    },
                    params,
                });
            }
        }
        all
    }
}

fn turns() -> Vec<Described> {
    let case = |cpus: Cpus, where_: &'static str, notify_held: bool| {
        let how = if notify_held { "with the mutex held" } else { "after it is released" };
        Described {
            kind: Kind::Turns,
            title: format!("turns: two threads {where_}, notified {how}"),
            load: Load::Monitor(MonitorPattern::Turns(TurnsSpec { notify_held }, cpus)),
            params: vec![
                ("pattern", "turns".into()),
                ("cpus", where_.into()),
                ("notify", if notify_held { "held" } else { "released" }.into()),
            ],
        }
    };
    vec![
        case(Cpus::One, "on one CPU", true),
        case(Cpus::Two, "on a CPU each", true),
        case(Cpus::Free, "free to move", true),
        case(Cpus::Free, "free to move", false),
    ]
}

fn takes(rwlock: bool) -> Takes {
    if rwlock { Takes::RwLocks } else { Takes::Mutexes }
}

fn lock_word(rwlock: bool) -> Param {
    if rwlock { "rwlock".into() } else { "mutex".into() }
}

/// What was asked for, or else the defaults.
fn or<'a, T>(asked: &'a [T], defaults: &'a [T]) -> &'a [T] {
    if asked.is_empty() { defaults } else { asked }
}
