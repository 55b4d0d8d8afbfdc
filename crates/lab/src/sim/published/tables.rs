//! The published tables that are simulated: which column is which lock, and on which machine.

use std::time::Duration;

use lockwright_sim::{Machine, Placement};
use lockwright_workloads::rw_bench::Mix;

use super::super::batch::Task;
use super::super::forks::Turn;
use super::super::job::Job;
use super::super::subjects::{SimSubject, subject};
use super::super::window::Length;
use super::super::workload::Workload;
use super::settle::{Effort, length};
use super::sheet::{FITTED, Metric, Point, Rows, Sheet};
use super::{aim7, by_domain};

/// A published table.
pub(super) struct Source {
    pub name: &'static str,
    pub csv: &'static str,
    /// What stands for the machine and the program that were measured, and what is assumed.
    pub about: &'static str,
    pub sheet: fn(&Rows, Effort) -> Sheet,
}

pub(super) fn machine(name: &str) -> Machine {
    Machine::named(name).expect("built in")
}

fn lock(name: &str) -> &'static SimSubject {
    subject(name).expect("a lock of this project")
}

/// Where threads begin, and whether they stay there.
type Where = (Placement, bool);

/// A CPU for each, in the order of their numbers.
pub(super) const BOUND: Where = (Placement::Numbered, true);

pub(super) fn task(
    lock_name: &str,
    machine: &Machine,
    (placement, bound): Where,
    workload: Workload,
    threads: usize,
    length: Length,
) -> Task {
    let job = Job {
        machine: machine.clone(),
        placement,
        bound,
        home: None,
        workload,
        kernel: true,
        lines: 0,
        threads,
        length,
        seed: 0,
        stop: || false,
    };
    Task { subject: lock(lock_name), job }
}

/// How long published runs took, as far as it is known: those of the 2019 series 5 s, later ones of the same
/// benchmark 10 or 15; AIM7, locktorture and will-it-scale minutes. No run is simulated for longer.
pub(super) const TOOK: Duration = Duration::from_secs(5);

/// Sections of Long's threads before they begin again with reads.
const BLOCKS: Mix = Mix::Blocks(50);

/// PAUSEs between a thread's sections. What the benchmark does there is not published; one PAUSE and next to
/// nothing else goes with its rates by one thread.
const OUTSIDE: u32 = 1;

/// Half of all sections are reads.
fn halves(load: u32, mix: Mix) -> Workload {
    Workload::Rw { readers_percent: 50, mix, load, outside: OUTSIDE, sleep_ns: 0 }
}

/// Batches in which a hand-off after 4 ms happens several times.
pub(super) fn micro(effort: Effort) -> Length {
    length(Duration::from_millis(25), TOOK, effort)
}

/// One column per policy, one row per number of threads.
fn by_policy(
    rows: &Rows,
    machine_name: &str,
    columns: &[(&'static str, &str)],
    workload: impl Fn(usize) -> Workload,
    label: impl Fn(usize) -> String,
    metric: Metric,
    length: Length,
) -> Sheet {
    let machine = machine(machine_name);
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let threads = rows.number(row, "threads").expect("threads") as usize;
        let base = rows.number(row, columns[0].0);
        let mut first = None;
        for &(column, policy) in columns {
            let Some(published) = rows.number(row, column) else { continue };
            let task = task(policy, &machine, BOUND, workload(row), threads, length);
            let run = sheet.run(task, TOOK);
            let is_first = first.is_none();
            let first = *first.get_or_insert(run);
            let relative = metric == Metric::Ratio;
            if relative && is_first {
                continue;
            }
            let published = if relative { published / base.unwrap_or(1.0) } else { published };
            let (row, aside) = (label(row), None);
            sheet.points.push(Point { row, column, published, metric, run, first, aside });
        }
    }
    sheet
}

fn threads_of(rows: &Rows) -> impl Fn(usize) -> String {
    |row| format!("{} threads", rows.text(row, "threads"))
}

fn ivybridge(rows: &Rows, effort: Effort) -> Sheet {
    let columns = [
        ("before_readers_spin", "wake-all"),
        ("readers_spin_on_writer", "reader-spin"),
        ("time_based_spinning", "timed-spin"),
    ];
    let (workload, label) = (|_| halves(1, BLOCKS), threads_of(rows));
    by_policy(rows, "ivybridge-ex-8s", &columns, workload, label, Metric::Kops, micro(effort))
}

fn cascadelake(rows: &Rows, effort: Effort) -> Sheet {
    let columns = [
        ("vanilla", "v5.4"),
        ("before", "reader-steal"),
        ("limit_rspin", "limit-rspin"),
        ("no_rspin", "v5.11"),
    ];
    let load = |row| rows.number(row, "cs_load").expect("a load") as u32;
    let label = |row| format!("load {}, {} threads", load(row), rows.text(row, "threads"));
    let workload = |row| halves(load(row), BLOCKS);
    by_policy(rows, "cascadelake-2s", &columns, workload, label, Metric::Kops, micro(effort))
        // What a PAUSE takes.
        .fitted_to(|point| point.row == "load 20, 2 threads")
}

fn adaptive(rows: &Rows, effort: Effort) -> Sheet {
    let columns = [("pre_patch", "timed-spin"), ("post_patch", "v5.3")];
    let (workload, label) = (|_| halves(1, BLOCKS), threads_of(rows));
    by_policy(rows, "skylake-2s", &columns, workload, label, Metric::Kops, micro(effort))
}

fn page_fault(rows: &Rows, effort: Effort) -> Sheet {
    let columns = [
        ("before_reader_spin", "wake-all"),
        ("before_patch", "timed-spin"),
        ("after_patch", "v5.3"),
    ];
    let workload = |_| Workload::PAGE_FAULT1;
    let label = threads_of(rows);
    // A thread's turn, faults and mapping, takes 120 to 600 ms.
    let length = super::settle::length(Duration::from_millis(50), TOOK, effort);
    by_policy(rows, "skylake-2s", &columns, workload, label, Metric::Ratio, length)
}

fn fairness(rows: &Rows, effort: Effort) -> Sheet {
    let machine = machine("skylake-2s");
    let workload = halves(1, Mix::Dedicated);
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let (patch, state) = (rows.text(row, "patch"), rows.text(row, "state"));
        let policy = match (patch, state) {
            ("adaptive", "before") => "timed-spin",
            ("adaptive", _) => "v5.3",
            (_, "after_4ms") => "handoff",
            _ => "handoff-at-once",
        };
        let run = sheet.run(task(policy, &machine, BOUND, workload, 80, micro(effort)), TOOK);
        for (column, metric) in
            [("reader_mean", Metric::ReaderMean(5)), ("writer_mean", Metric::WriterMean(5))]
        {
            let published = rows.number(row, column).expect("a number");
            let (row, first, aside) = (format!("{patch} {state}"), run, None);
            sheet.points.push(Point { row, column, published, metric, run, first, aside });
        }
    }
    sheet
}

fn torture(rows: &Rows, effort: Effort) -> Sheet {
    let machine = machine("epyc-7551-2s");
    // 300 ns outside is what the first row leaves for the loop: 60 s / 21.0 M, less the long holds'
    // 2.5 us and a section. The holds, which a short run would miss, are added by calculation.
    let workload = Workload::Torture { long_hold_ms: 0, outside_ns: 300 };
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let writers = rows.number(row, "writers").expect("writers") as usize;
        let published = |column: &str| rows.number(row, column).expect("a number");
        // Which CPUs the writers were bound to is not published: the stock queue in a column for each of two
        // ways, of which the first is judged.
        for (column, of, lock, placement) in [
            ("osq4", "osq4", "mutex-kernel", BOUND),
            ("osq4, spread", "osq4", "mutex-kernel", (Placement::Spread, true)),
            ("osq2_on", "osq2_on", "mutex-kernel+dynamic", BOUND),
        ] {
            let task = task(lock, &machine, placement, workload, writers, micro(effort));
            let run = sheet.run(task, TOOK);
            let (row, metric) = (format!("{writers} writers"), Metric::Torture);
            let published = published(of);
            let other = (column == "osq4, spread").then_some("another way");
            let aside = other.or(FITTED.filter(|_| writers == 1));
            sheet.points.push(Point { row, column, published, metric, run, first: run, aside });
        }
    }
    sheet
}

fn lkp(rows: &Rows, effort: Effort) -> Sheet {
    let mut machine = machine("westmere-ex-8s").restricted(2, 1);
    if let Some(cores) = machine.number_mut("topology.cores") {
        cores.value = 8.0;
    }
    // 105 runnable threads on each of 16 CPUs in mid-run: one of each family.
    let threads = 105 * 16;
    let workload = Workload::Forks(Turn {
        work_ns: 40_000,
        locks: 1,
        sections: 5,
        inside_ns: 500,
        outside_ns: 0,
    });
    let length = super::settle::length(Duration::from_millis(50), TOOK, effort);
    let mut sheet = Sheet::default();
    let [first, run] = ["v5.2", "fifo"].map(|lock| {
        let free = (Placement::Spread, false);
        sheet.run(task(lock, &machine, free, workload, threads, length), TOOK)
    });
    for row in 0..rows.rows.len() {
        let metric = match rows.text(row, "metric") {
            "voluntary_context_switches" => Metric::Switches,
            "cpu_percent" => Metric::Busy,
            _ => continue,
        };
        let number = |column| rows.number(row, column).expect("a number");
        let (published, column) = (number("rwsem") / number("mutex"), "rwsem/mutex");
        let (row, aside) = (rows.text(row, "metric").to_owned(), None);
        sheet.points.push(Point { row, column, published, metric, run, first, aside });
    }
    sheet
}

/// A table as it was published.
macro_rules! csv {
    ($name:literal) => {
        include_str!(concat!("../../../published/", $name, ".csv"))
    };
}

/// The tables that are simulated.
pub(super) static TABLES: &[Source] = &[
    Source {
        name: "mutex-aim7-high-systime",
        csv: aim7::RATES,
        about: "westmere-ex-8s less some of its nodes, 1,500 users of one mutex, each of which forks 4.4 times \
                a job (the mix's numbers) and waits for the child, which does half of the work; a job takes the \
                time that it took after the commit, and the mutex 290 times for 250 ns (fitted to the next \
                table's row of four nodes), no preemption inside; ratios are compared",
        sheet: aim7::rates,
    },
    Source {
        name: "mutex-slowpath-time",
        csv: csv!("mutex-slowpath-time"),
        about: "as mutex-aim7-high-systime, no hyper-threading; the processor time that goes into acquisitions of \
                over 1 us; four nodes are fitted",
        sheet: aim7::slow_path,
    },
    Source {
        name: "rwsem-ivybridge-ex-mixed",
        csv: csv!("rwsem-ivybridge-ex-mixed"),
        about: "ivybridge-ex-8s, each thread's sections are 25 reads, then 25 writes, load 1, one PAUSE outside; \
                a thread on each CPU in the order of their numbers: cores socket by socket, then siblings",
        sheet: ivybridge,
    },
    Source {
        name: "rwsem-cascadelake-cs-load",
        csv: csv!("rwsem-cascadelake-cs-load"),
        about: "cascadelake-2s; else as rwsem-ivybridge-ex-mixed",
        sheet: cascadelake,
    },
    Source {
        name: "rwsem-skylake-adaptive",
        csv: csv!("rwsem-skylake-adaptive"),
        about: "skylake-2s; else as rwsem-ivybridge-ex-mixed",
        sheet: adaptive,
    },
    Source {
        name: "rwsem-skylake-fairness",
        csv: csv!("rwsem-skylake-fairness"),
        about: "skylake-2s, 40 readers and 40 writers, load 1; scaled to 5 s",
        sheet: fairness,
    },
    Source {
        name: "rwsem-skylake-page-fault1",
        csv: csv!("rwsem-skylake-page-fault1"),
        about: "skylake-2s, 32,768 faults with the lock held for reading, then a write lock that becomes a read \
                lock while the pages are freed, then a write lock; work per fault is fitted to the rate of the \
                first column's 20 threads, which is not compared: ratios to that column are",
        sheet: page_fault,
    },
    Source {
        name: "osq-epyc7551-locktorture",
        csv: csv!("osq-epyc7551-locktorture"),
        about: "epyc-7551-2s, one bound writer a core, in the order of the cores' numbers, or spread over the \
                nodes (not judged: which it was is not published); the stock queue only; 300 ns outside is \
                fitted to the row of one writer; long holds by calculation",
        sheet: torture,
    },
    Source {
        name: "osq-fxmark-64",
        csv: csv!("osq-fxmark-64"),
        about: "epyc-7551-2s, v5.11, all write to one file, or make, move and remove entries of one directory; an \
                overwriting takes what it takes in the row of private files (0.74 us), four fifths of it under the \
                lock (assumed), other operations what a turn took after the change, less 0.1 us (fitted), and \
                as long outside; a lock guards two lines (assumed); ratios are compared, and kops/s",
        sheet: by_domain::fxmark,
    },
    Source {
        name: "osq-perf-bench-epoll",
        csv: csv!("osq-perf-bench-epoll"),
        about: "kh40000-2s (32 threads) and epyc-7551-2s (64), mutex-kernel; a section of the set's mutex takes \
                50 ns where counters are added, changed and removed, 500 ns where an event is taken, and changes two \
                lines; 300 ns outside (all assumed)",
        sheet: by_domain::epoll,
    },
    Source {
        name: "osq-unixbench",
        csv: csv!("osq-unixbench"),
        about: "64 copies of a file copy on kh40000-2s and epyc-7551-2s, v5.11; one lock of all, held for writing \
                for what a turn took after the change, less 0.1 us (fitted), and as long outside; it guards two \
                lines (assumed); the other rows are not modelled",
        sheet: by_domain::file_copy,
    },
    Source {
        name: "lkp-mutex-vs-rwsem",
        csv: csv!("lkp-mutex-vs-rwsem"),
        about: "16 cores of westmere-ex-8s, 1,680 parents that fork and wait, five write sections of 0.5 us \
                and 40 us of work of each parent and child (assumed), rwsem fifo against v5.2, which spins and steals as \
                that mutex did; ratios are compared",
        sheet: lkp,
    },
];

/// The tables that are not, and why.
pub(super) static LEFT_OUT: &[(&str, &str)] = &[
    ("mutex-aim7-workloads", "the mixes of file-system jobs are not modelled"),
    ("rwsem-boot-events", "booting and building a kernel are not modelled"),
    ("rwsem-ivybridge-ex-events", "counts of a run of unknown length"),
    ("rwsem-spin-loop-cost", "an input: the machines' core.poll"),
    ("seqcount-mems-allowed", "native: lockwright bench seq"),
];
