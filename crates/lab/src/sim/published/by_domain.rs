//! Programs under a kernel whose spinners queue up by domain in a crowd, beside the same without.

use lockwright_workloads::directory::Pattern;

use super::super::workload::Workload;
use super::settle::Effort;
use super::sheet::{Metric, Point, Rows, Sheet};
use super::tables::{BOUND, TOOK, machine, micro, task};

/// Lines that a lock guards: of an inode, a directory or a set of events, the words that each operation changes.
const LINES: u32 = 2;

/// Of a turn in parted queues, what the hand-over takes, in nanoseconds; the rest is the section's.
const HAND_OVER: f64 = 100.0;

/// A program on a machine, and both kernels' locks.
struct Pairing<'a> {
    machine: &'a str,
    locks: [&'static str; 2],
    workload: Workload,
    threads: usize,
    effort: Effort,
}

const RWSEM: [&str; 2] = ["v5.11", "v5.11+dynamic"];
const MUTEX: [&str; 2] = ["mutex-kernel", "mutex-kernel+dynamic"];

impl Pairing<'_> {
    /// The runs of both, before and after.
    fn run(&self, sheet: &mut Sheet) -> [usize; 2] {
        let machine = machine(self.machine);
        self.locks.map(|lock| {
            let length = micro(self.effort);
            let mut task = task(lock, &machine, BOUND, self.workload, self.threads, length);
            task.job.lines = LINES;
            sheet.run(task, TOOK)
        })
    }
}

/// The gain of the second run over the first.
fn gain(sheet: &mut Sheet, row: &str, [first, run]: [usize; 2], published: f64, metric: Metric) {
    let (row, column, aside) = (row.to_owned(), "after/before", None);
    sheet.points.push(Point { row, column, published, metric, run, first, aside });
}

/// All write under one lock, of which a turn takes so long, in nanoseconds, and as long outside.
fn turns_of(turn: f64) -> Workload {
    let ns = (turn - HAND_OVER) as u32;
    Workload::Directory { pattern: Pattern::SharedWrite, inside_ns: ns, outside_ns: ns }
}

/// What an overwriting takes alone follows from the row in which each thread has its own file.
pub(super) fn fxmark(rows: &Rows, effort: Effort) -> Sheet {
    let of = |item: &str, column: &str| {
        let row = (0..rows.rows.len()).find(|&row| rows.text(row, "item") == item);
        row.and_then(|row| rows.number(row, column)).expect("a row of the table")
    };
    let alone = 64e9 / of("DWOL", "before_64");
    let inside_ns = (alone * 0.8) as u32;
    let outside_ns = alone as u32 - inside_ns;
    let overwrite = |pattern| Workload::Directory { pattern, inside_ns, outside_ns };
    let mut sheet = Sheet::default();
    for item in ["DWOM", "DWOL", "MWCM", "MWUM", "MWRM"] {
        let workload = match item {
            "DWOM" => overwrite(Pattern::SharedWrite),
            "DWOL" => overwrite(Pattern::PrivateWrite),
            _ => turns_of(1e9 / of(item, "after_64")),
        };
        let epyc = "epyc-7551-2s";
        let both =
            Pairing { machine: epyc, locks: RWSEM, workload, threads: 64, effort }.run(&mut sheet);
        gain(&mut sheet, item, both, 1.0 + of(item, "change_64") / 100.0, Metric::Ratio);
        if item == "DWOM" {
            let (before, one) = (of(item, "before_64") / 1e3, 1e6 / alone);
            let [run, _] = both;
            let shares = [
                ("before_64", before, Metric::Kops),
                ("to one core's", before / one, Metric::KopsOver(one)),
            ];
            for (column, published, metric) in shares {
                let (row, first, aside) = (item.to_owned(), run, None);
                sheet.points.push(Point { row, column, published, metric, run, first, aside });
            }
        }
    }
    sheet
}

pub(super) fn epoll(rows: &Rows, effort: Effort) -> Sheet {
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let number = |column| rows.number(row, column).expect("a number");
        let (machine, threads) = match rows.text(row, "machine") {
            "KH40000-32" => ("kh40000-2s", 32),
            _ => ("epyc-7551-2s", 64),
        };
        let waits = rows.text(row, "item") == "WAIT";
        let inside_ns = if waits { 500 } else { 50 };
        let workload = Workload::Epoll { waits, inside_ns, outside_ns: 300 };
        let both = Pairing { machine, locks: MUTEX, workload, threads, effort }.run(&mut sheet);
        let label = format!("{}, {}", rows.text(row, "machine"), rows.text(row, "item"));
        let metric = if waits { Metric::RatioOfWriters } else { Metric::Ratio };
        gain(&mut sheet, &label, both, number("after") / number("before"), metric);
    }
    sheet
}

/// Kilobytes a second of the machine whose index is 10, by the size of a buffer.
const FILE_COPIES: [(&str, f64, f64); 3] = [
    ("File Copy 256 bufsize", 1_655.0, 0.25),
    ("File Copy 1024 bufsize", 3_960.0, 1.0),
    ("File Copy 4096 bufsize", 5_800.0, 4.0),
];

pub(super) fn file_copy(rows: &Rows, effort: Effort) -> Sheet {
    let mut sheet = Sheet::default();
    for row in 0..rows.rows.len() {
        let item = rows.text(row, "item");
        let Some((_, ten, buffer)) = FILE_COPIES.into_iter().find(|known| known.0 == item) else {
            continue;
        };
        let size = item.trim_end_matches(" bufsize");
        for (name, machine, before, after) in [
            ("KH40000", "kh40000-2s", "kh40000_before", "kh40000_after"),
            ("EPYC", "epyc-7551-2s", "epyc_before", "epyc_after"),
        ] {
            let number = |column| rows.number(row, column).expect("a number");
            let workload = turns_of(1e9 / (number(after) / 10.0 * ten / buffer));
            let pairing = Pairing { machine, locks: RWSEM, workload, threads: 64, effort };
            let both = pairing.run(&mut sheet);
            let (label, published) = (format!("{size}, {name}"), number(after) / number(before));
            gain(&mut sheet, &label, both, published, Metric::Ratio);
        }
    }
    sheet
}
