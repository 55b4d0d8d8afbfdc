//! The published tables that are simulated: which column is which lock, and on which machine.

use std::time::Duration;

use lockwright_sim::{Machine, Placement};
use lockwright_workloads::directory::Pattern;
use lockwright_workloads::rw_bench::Mix;

use super::aim7;
use super::batch::Task;
use super::forks::Turn;
use super::job::Job;
use super::sheet::{Figure, Plan, Rows, Sheet};
use super::subjects::{SimSubject, subject};
use super::workload::Workload;

/// A published table.
pub(super) struct Source {
    pub name: &'static str,
    pub csv: &'static str,
    /// What stands for the machine and the program that were measured, and what is assumed.
    pub about: &'static str,
    pub plans: fn(&Rows, bool) -> Sheet,
}

pub(super) fn machine(name: &str) -> Machine {
    Machine::built_in().into_iter().find(|machine| machine.name == name).expect("built in")
}

fn lock(name: &str) -> &'static SimSubject {
    subject(name).expect("a lock of this project")
}

pub(super) fn task(
    lock_name: &str,
    machine: &Machine,
    placement: Placement,
    workload: Workload,
    threads: usize,
    ms: u64,
) -> Task {
    let time = Duration::from_millis(ms);
    let job = Job {
        machine: machine.clone(),
        placement,
        bound: placement != Placement::Spread,
        home: None,
        workload,
        kernel: true,
        threads,
        warmup: time / 2,
        time,
        seed: 0,
        stop: || false,
    };
    Task { subject: lock(lock_name), job, seeds_times: 1 }
}

/// Sections of Long's threads before they begin again with reads: see docs/simulator.md.
const BLOCKS: Mix = Mix::Blocks(50);

/// PAUSEs between a thread's sections. What the benchmark does there is not published; one PAUSE and next to
/// nothing else goes with its rates by one thread: see docs/simulator.md.
const OUTSIDE: u32 = 1;

/// Warm-up under the lightest load, in times of the run. There is a plateau to lose, and one that is lost for
/// good is lost by then: the published runs took seconds.
const PLATEAU: u32 = 8;

/// Half of all sections are reads.
fn halves(load: u32, mix: Mix) -> Workload {
    Workload::Rw { readers_percent: 50, mix, load, outside: OUTSIDE, sleep_ns: 0 }
}

/// One column per policy, one row per number of threads.
fn by_policy(
    rows: &Rows,
    machine_name: &str,
    columns: &[(&'static str, &str)],
    workload: impl Fn(usize) -> Workload,
    label: impl Fn(usize) -> String,
    figure: Figure,
    ms: u64,
) -> Sheet {
    let machine = machine(machine_name);
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let threads = rows.number(row, "threads").expect("threads") as usize;
        let base = rows.number(row, columns[0].0);
        let mut first = None;
        for &(column, policy) in columns {
            let Some(published) = rows.number(row, column) else { continue };
            let task = task(policy, &machine, Placement::Numbered, workload(row), threads, ms);
            let task = sheet.run(task);
            let is_first = first.is_none();
            let first = *first.get_or_insert(task);
            let relative = figure == Figure::Ratio;
            if relative && is_first {
                continue;
            }
            let published = if relative { published / base.unwrap_or(1.0) } else { published };
            sheet.plans.push(Plan { row: label(row), column, published, figure, task, first });
        }
    }
    sheet
}

pub(super) fn ms(quick: bool, full: u64) -> u64 {
    if quick { full / 5 } else { full }
}

fn threads_of(rows: &Rows) -> impl Fn(usize) -> String {
    |row| format!("{} threads", rows.text(row, "threads"))
}

fn ivybridge(rows: &Rows, quick: bool) -> Sheet {
    let columns = [
        ("before_readers_spin", "wake-all"),
        ("readers_spin_on_writer", "reader-spin"),
        ("time_based_spinning", "timed-spin"),
    ];
    let (workload, label) = (|_| halves(1, BLOCKS), threads_of(rows));
    by_policy(rows, "ivybridge-ex-8s", &columns, workload, label, Figure::Kops, ms(quick, 150))
        .with(|task| {
            // Right behind the plateau's end it is lost by chance, once in a second or less.
            let late = task.subject.name == "timed-spin" && task.job.threads == 64;
            task.job.warmup = if late { 20 } else { PLATEAU } * task.job.time;
        })
}

fn cascadelake(rows: &Rows, quick: bool) -> Sheet {
    let columns = [
        ("vanilla", "v5.4"),
        ("before", "reader-steal"),
        ("limit_rspin", "limit-rspin"),
        ("no_rspin", "v5.11"),
    ];
    let load = |row| rows.number(row, "cs_load").expect("a load") as u32;
    let label = |row| format!("load {}, {} threads", load(row), rows.text(row, "threads"));
    let workload = |row| halves(load(row), BLOCKS);
    let sheet =
        by_policy(rows, "cascadelake-2s", &columns, workload, label, Figure::Kops, ms(quick, 50));
    sheet.with(|task| {
        let job = &mut task.job;
        // Under the greater load many threads take a tenth of a second to settle, and some seeds of readers
        // that spin longer.
        let unsettled = !quick && task.subject.name == "v5.4" && job.threads >= 32;
        let (warmup, seeds) = if job.workload == halves(1, BLOCKS) {
            (PLATEAU, 1)
        } else if unsettled {
            (6, 3)
        } else {
            (2, 1)
        };
        job.warmup = warmup * job.time;
        task.seeds_times = seeds;
    })
}

fn adaptive(rows: &Rows, quick: bool) -> Sheet {
    let columns = [("pre_patch", "timed-spin"), ("post_patch", "v5.3")];
    let (workload, label) = (|_| halves(1, BLOCKS), threads_of(rows));
    by_policy(rows, "skylake-2s", &columns, workload, label, Figure::Kops, ms(quick, 50)).with(
        |task| {
            task.job.warmup = PLATEAU * task.job.time;
            // Whether a plateau of `timed-spin` is lost by then is chance: two seeds would tell little.
            task.seeds_times = if !quick && task.job.threads >= 64 { 6 } else { 1 };
        },
    )
}

fn page_fault(rows: &Rows, quick: bool) -> Sheet {
    let columns = [
        ("before_reader_spin", "wake-all"),
        ("before_patch", "timed-spin"),
        ("after_patch", "v5.3"),
    ];
    let workload = |_| Workload::PAGE_FAULT1;
    let label = threads_of(rows);
    // A thread's turn, faults and mapping, takes 120 to 600 ms.
    by_policy(rows, "skylake-2s", &columns, workload, label, Figure::Ratio, ms(quick, 300))
}

fn fairness(rows: &Rows, quick: bool) -> Sheet {
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
        let mut run = task(policy, &machine, Placement::Numbered, workload, 80, ms(quick, 200));
        // The share of the readers that spin comes and goes.
        run.seeds_times = if quick { 1 } else { 3 };
        let run = sheet.run(run);
        for (column, figure) in
            [("reader_mean", Figure::ReaderMean(5)), ("writer_mean", Figure::WriterMean(5))]
        {
            sheet.plans.push(Plan {
                row: format!("{patch} {state}"),
                column,
                published: rows.number(row, column).expect("a number"),
                figure,
                task: run,
                first: run,
            });
        }
    }
    sheet
}

fn torture(rows: &Rows, quick: bool) -> Sheet {
    let machine = machine("epyc-7551-2s");
    // 300 ns outside is what the first row leaves for the loop: 60 s / 21.0 M, less the long holds'
    // 2.5 us and a section. The holds, which a short run would miss, are added by calculation.
    let workload = Workload::Torture { long_hold_ms: 0, outside_ns: 300 };
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let writers = rows.number(row, "writers").expect("writers") as usize;
        let bound = Placement::Numbered;
        let run = task("mutex-kernel", &machine, bound, workload, writers, ms(quick, 40));
        let run = sheet.run(run);
        sheet.plans.push(Plan {
            row: format!("{writers} writers"),
            column: "osq4",
            published: rows.number(row, "osq4").expect("a number"),
            figure: Figure::Torture,
            task: run,
            first: run,
        });
    }
    sheet
}

/// FxMark's overwriting of one file by all: what an operation takes alone follows from the row in
/// which each has its own.
fn fxmark(rows: &Rows, quick: bool) -> Sheet {
    let before = |item: &str| {
        let row = (0..rows.rows.len()).find(|&row| rows.text(row, "item") == item);
        row.and_then(|row| rows.number(row, "before_64")).expect("a row of the table")
    };
    let alone = 64e9 / before("DWOL");
    let inside_ns = (alone * 0.8) as u32;
    let outside_ns = alone as u32 - inside_ns;
    let workload = Workload::Directory { pattern: Pattern::SharedWrite, inside_ns, outside_ns };
    let bound = Placement::Numbered;
    let run = task("v5.11", &machine("epyc-7551-2s"), bound, workload, 64, ms(quick, 60));
    let mut sheet = Sheet::default();
    let run = sheet.run(run);
    sheet.plans.push(Plan {
        row: "64 cores, DWOM".to_owned(),
        column: "before_64",
        published: before("DWOM") / 1e3,
        figure: Figure::Kops,
        task: run,
        first: run,
    });
    sheet
}

fn lkp(rows: &Rows, quick: bool) -> Sheet {
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
    let mut sheet = Sheet::default();
    let [first, run] = ["v5.2", "fifo"].map(|lock| {
        sheet.run(task(lock, &machine, Placement::Spread, workload, threads, ms(quick, 1_000)))
    });
    for row in 0..rows.rows.len() {
        let figure = match rows.text(row, "metric") {
            "voluntary_context_switches" => Figure::Switches,
            "cpu_percent" => Figure::Busy,
            _ => continue,
        };
        let number = |column| rows.number(row, column).expect("a number");
        sheet.plans.push(Plan {
            row: rows.text(row, "metric").to_owned(),
            column: "rwsem/mutex",
            published: number("rwsem") / number("mutex"),
            figure,
            task: run,
            first,
        });
    }
    sheet
}

/// A table as it was published.
macro_rules! csv {
    ($name:literal) => {
        include_str!(concat!("../../published/", $name, ".csv"))
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
        plans: aim7::rates,
    },
    Source {
        name: "mutex-slowpath-time",
        csv: csv!("mutex-slowpath-time"),
        about: "as above, no hyper-threading; the processor time that goes into acquisitions of over 1 us; \
                four nodes are fitted",
        plans: aim7::slow_path,
    },
    Source {
        name: "rwsem-ivybridge-ex-mixed",
        csv: csv!("rwsem-ivybridge-ex-mixed"),
        about: "ivybridge-ex-8s, each thread's sections are 25 reads, then 25 writes, load 1, one PAUSE outside; \
                a thread on each CPU in the order of their numbers: cores socket by socket, then siblings",
        plans: ivybridge,
    },
    Source {
        name: "rwsem-cascadelake-cs-load",
        csv: csv!("rwsem-cascadelake-cs-load"),
        about: "cascadelake-2s; else as above",
        plans: cascadelake,
    },
    Source {
        name: "rwsem-skylake-adaptive",
        csv: csv!("rwsem-skylake-adaptive"),
        about: "skylake-2s; else as above",
        plans: adaptive,
    },
    Source {
        name: "rwsem-skylake-fairness",
        csv: csv!("rwsem-skylake-fairness"),
        about: "skylake-2s, 40 readers and 40 writers, load 1; scaled to 5 s",
        plans: fairness,
    },
    Source {
        name: "rwsem-skylake-page-fault1",
        csv: csv!("rwsem-skylake-page-fault1"),
        about: "skylake-2s, 32,768 faults with the lock held for reading, then a write lock that becomes a read \
                lock while the pages are freed, then a write lock; work per fault is fitted to the rate of the \
                first cell, so ratios to the row's first column are compared",
        plans: page_fault,
    },
    Source {
        name: "osq-epyc7551-locktorture",
        csv: csv!("osq-epyc7551-locktorture"),
        about: "epyc-7551-2s, one bound writer a core; the stock queue only; long holds by calculation",
        plans: torture,
    },
    Source {
        name: "osq-fxmark-64",
        csv: csv!("osq-fxmark-64"),
        about: "epyc-7551-2s, all write to one file, v5.11; an operation alone takes what it takes in the \
                row of private files (0.74 us), four fifths of it under the lock (assumed); kops/s; the \
                stock queue only",
        plans: fxmark,
    },
    Source {
        name: "lkp-mutex-vs-rwsem",
        csv: csv!("lkp-mutex-vs-rwsem"),
        about: "16 cores of westmere-ex-8s, 1,680 parents that fork and wait, five write sections of 0.5 us \
                and 40 us of work of each parent and child (assumed), rwsem fifo against v5.2, which spins and steals as \
                that mutex did; ratios are compared",
        plans: lkp,
    },
];

/// The tables that are not, and why.
pub(super) static LEFT_OUT: &[(&str, &str)] = &[
    ("mutex-aim7-workloads", "the mixes of file-system jobs are not modelled"),
    ("osq-perf-bench-epoll", "the NUMA-aware queue is not built yet"),
    ("osq-unixbench", "the NUMA-aware queue is not built yet"),
    ("rwsem-boot-events", "booting and building a kernel are not modelled"),
    ("rwsem-ivybridge-ex-events", "counts of a run of unknown length"),
    ("rwsem-spin-loop-cost", "an input: the machines' core.poll"),
    ("seqcount-mems-allowed", "native: lockwright bench seq"),
];
