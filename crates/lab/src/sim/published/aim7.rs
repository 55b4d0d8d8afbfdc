//! AIM7's high_systime of commit 0dc8c730c9: rates, and shares of time in a mutex's slow path.

use std::time::Duration;

use lockwright_sim::{Machine, Placement};

use super::super::forks::Turn;
use super::super::workload::Workload;
use super::settle::{Effort, length};
use super::sheet::{FITTED, Metric, Point, Rows, Sheet};
use super::tables::{TOOK, machine, task};

/// The table of rates.
pub(super) static RATES: &str = include_str!("../../../published/mutex-aim7-high-systime.csv");

/// Forks of a job, on average. The mix has 260 jobs: 10 fork_test of 100 forks each, 20 exec_test of 5, and
/// 40 shell_rtns, whose scripts are not in the workfile, of one at least.
const FORKS_PER_JOB: f64 = (10.0 * 100.0 + 20.0 * 5.0 + 40.0) / 260.0;

/// AIM7's high_systime on some nodes of the machine: 1,500 users, whose only contended mutex is that of
/// the memory areas which all of them inherit from one parent. A user forks as often as its jobs do, and
/// shares its work with its child evenly.
///
/// How much processor time a job takes there follows from the published rate after the commit, when hardly
/// anybody waits; how often it takes the mutex, and for how long, is fitted to the two published shares of
/// time in the slow path on four nodes. All else that comes out is a prediction.
fn job(nodes: f64, threads: usize) -> (Machine, Workload) {
    const ACQUISITIONS_PER_JOB: f64 = 290.0;
    const INSIDE_NS: u32 = 250;
    let rates = Rows::read(RATES);
    let threading = if threads == 2 { "on" } else { "off" };
    let row = (0..rates.rows.len()).find(|&row| {
        rates.number(row, "nodes") == Some(nodes) && rates.text(row, "hyperthreading") == threading
    });
    let per_minute =
        rates.number(row.expect("a row for these nodes"), "jpm_after").expect("a rate");
    let machine = machine("westmere-ex-8s").restricted(nodes as usize, threads);
    let job_ns = machine.cpus() as f64 * 60e9 / per_minute;
    let turn = Turn {
        work_ns: 0,
        sections: (ACQUISITIONS_PER_JOB / FORKS_PER_JOB / 2.0) as u32,
        outside_ns: (job_ns / ACQUISITIONS_PER_JOB) as u32,
        inside_ns: INSIDE_NS,
        locks: 1,
    };
    (machine, Workload::Forks(turn))
}

/// Runs it with the mutex before and after the commit.
fn runs(sheet: &mut Sheet, nodes: f64, threads: usize, effort: Effort) -> [usize; 2] {
    let (machine, workload) = job(nodes, threads);
    ["mutex-2013-before", "mutex-2013-after"].map(|lock| {
        let length = length(Duration::from_millis(25), TOOK, effort);
        // Free to move, as AIM7's users are.
        let task = task(lock, &machine, (Placement::Spread, false), workload, 1_500, length);
        sheet.run(task, TOOK)
    })
}

/// What the commit gains, by nodes and hyper-threading.
pub(super) fn rates(rows: &Rows, effort: Effort) -> Sheet {
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let number = |column| rows.number(row, column).expect("a number");
        let threading = rows.text(row, "hyperthreading");
        let threads = if threading == "on" { 2 } else { 1 };
        let [first, run] = runs(&mut sheet, number("nodes"), threads, effort);
        sheet.points.push(Point {
            row: format!("{} nodes, hyper-threading {threading}", rows.text(row, "nodes")),
            column: "after/before",
            published: number("jpm_after") / number("jpm_before"),
            metric: Metric::Ratio,
            run,
            first,
            aside: None,
        });
    }
    sheet
}

/// Time in the slow path before and after it, by nodes.
pub(super) fn slow_path(rows: &Rows, effort: Effort) -> Sheet {
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let nodes = rows.number(row, "nodes").expect("a number");
        let runs = runs(&mut sheet, nodes, 1, effort);
        for (column, run) in ["before_percent", "after_percent"].into_iter().zip(runs) {
            sheet.points.push(Point {
                row: format!("{nodes} nodes"),
                column,
                published: rows.number(row, column).expect("a number"),
                metric: Metric::Slow,
                run,
                first: run,
                // The acquisitions of a job, and their length.
                aside: FITTED.filter(|_| nodes == 4.0),
            });
        }
    }
    sheet
}
