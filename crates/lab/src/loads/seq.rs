//! `bench seq`: what a read-side section costs, and the allocator run of the node-mask study.

use std::time::Duration;

use lockwright_workloads::node_mask::FaultSpec;
use lockwright_workloads::seq_bench::{SeqSpec, WriteEvery};

use super::{Load, cell};
use crate::analysis::summary::Block;
use crate::experiment::Cell;
use crate::experiment::view::View;
use crate::record::{Kind, Params, metric, params};
use crate::report::layout::counted;
use crate::report::number::{duration_ns, fixed};

/// Reads of what is seldom written.
pub static READS: View = View {
    headline: &metric::READ_COST,
    columns: &[
        &metric::READ_RATE,
        &metric::RETRIES,
        &metric::TORN,
        &metric::WRITES,
        &metric::WRITE_P50,
        &metric::WRITE_MAX,
    ],
    more: &[&metric::WRITE_P99],
    notes: &[
        "ns/read: wall time per read of one reader, its loop included. retries: failed attempts \
         per read. torn: values of no single write, which only none and full-barriers may have. \
         w-: time of a write.",
    ],
};

/// Page faults beside changes of the node masks.
pub static FAULTS: View = View {
    headline: &metric::FAULT_RATE,
    columns: &[
        &metric::FAULT_CPU,
        &metric::SECTION,
        &metric::PROTECTION,
        &metric::PROTECTION_SHARE,
        &metric::FALSE_FAILURES,
    ],
    more: &[&metric::RESCANS, &metric::CHANGES],
    notes: &[
        "section-ns: the protection alone, in a loop of one thread; more-ns: than without; share%: \
         more-ns of the CPU time of a fault. false: reports of no node though there was one.",
    ],
};

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Readers, or clients of the allocator; at least 1.
    pub readers: usize,
    /// How often one more thread writes.
    pub write_every: WriteEvery,
}

impl Setting {
    /// The round that measures reads.
    pub fn reads(&self, time: Duration) -> SeqSpec {
        SeqSpec { readers: self.readers, write_every: self.write_every, time }
    }

    /// The allocator's round.
    pub fn faults(&self, time: Duration) -> FaultSpec {
        FaultSpec { clients: self.readers, write_every: self.write_every, time }
    }

    /// Threads of either, the one that writes included.
    pub fn threads(&self) -> usize {
        self.readers + usize::from(self.write_every != WriteEvery::Never)
    }

    fn params(&self, who: &str) -> Params {
        let every = match self.write_every {
            WriteEvery::Never => "never".into(),
            WriteEvery::Time(time) => (time.as_nanos() as f64).into(),
        };
        params([(who, self.readers.into()), ("write_every_ns", every)])
    }

    fn title(&self, who: &str) -> String {
        let writer = match self.write_every {
            WriteEvery::Never => "no writer".to_owned(),
            WriteEvery::Time(time) if time.is_zero() => "writes back to back".to_owned(),
            WriteEvery::Time(time) => {
                format!("a write every {}", duration_ns(time.as_nanos() as f64))
            }
        };
        format!("{}, {writer}", counted(self.readers, who))
    }

    /// The cell in which reads are measured.
    pub fn read_cell(&self, time: Duration) -> Cell {
        cell(Kind::Reads, self.title("reader"), self.params("readers"), time, Load::Reads(*self))
    }

    /// The cell of the allocator run.
    pub fn fault_cell(&self, time: Duration) -> Cell {
        let title = format!("faults per second: {}", self.title("client"));
        cell(Kind::Faults, title, self.params("clients"), time, Load::Faults(*self))
    }
}

/// What the study found on a machine of its time: the line about shares at the head of its table.
fn published() -> &'static str {
    let table = include_str!("../../published/seqcount-mems-allowed.csv");
    table
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .find(|line| line.contains("share"))
        .unwrap_or("")
}

/// What full barriers cost beside the sequence, a line for each cell that has both.
pub fn conclusion(blocks: &[Block]) -> Vec<String> {
    let mut lines: Vec<String> = blocks.iter().filter_map(comparison).collect();
    if !lines.is_empty() {
        lines.push(format!("published: {}", published()));
    }
    lines
}

fn comparison(block: &Block) -> Option<String> {
    let row = |name: &str| block.rows.iter().find(|row| row.arm.name == name);
    let (old, new) = (row("full-barriers")?, row("seqcount-2012")?);
    let times = old.of(&metric::SECTION)? / new.of(&metric::SECTION)?;
    Some(format!(
        "{}: a section with full barriers takes {times:.1} times one with the sequence; share {} % \
         against {} %",
        block.cell.title.trim_start_matches("faults per second: "),
        fixed(old.of(&metric::PROTECTION_SHARE), 2),
        fixed(new.of(&metric::PROTECTION_SHARE), 2),
    ))
}
