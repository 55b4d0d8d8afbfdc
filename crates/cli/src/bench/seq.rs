//! `lockwright bench seq`.

use std::time::Duration;

use clap::Args;
use lockwright_lab::analysis::summary::blocks;
use lockwright_lab::arms::choose::Family;
use lockwright_lab::arms::locks::Lock;
use lockwright_lab::experiment::{Arm, Experiment};
use lockwright_lab::loads::seq::{Setting, conclusion};
use lockwright_lab::record::Record;
use lockwright_lab::report::layout::Page;
use lockwright_workloads::seq_bench::WriteEvery;

use super::arms;
use crate::args::{RunArgs, help};
use crate::failure::Failure;
use crate::values::{Numbers, thread_counts, write_every};

pub const HELP: &str = help!(
    "\
Readers copy four words over and over while one more thread replaces them; a
reader checks that they belong together. Then an allocator goes through eight
memory nodes by a mask that is replaced meanwhile, under each protection.",
    "\
  lockwright bench seq                              everything, in a minute
  lockwright bench seq --locks 'seq*' --readers 1,2 --write-every never,1us
  lockwright bench seq --no-reads --secs 0.25       the allocator run alone
  lockwright bench seq --rounds 15 --ci --json result.json"
);

/// What ratios refer to where it is measured.
const BASELINE: &str = "seqlock-crate";

/// How long a run lasts unless it is said otherwise: there are many, and reads are quick.
const WINDOW: Duration = Duration::from_millis(40);

/// `lockwright bench seq`.
#[derive(Debug, Args)]
pub struct SeqArgs {
    /// Numbers of reading threads, and of clients of the allocator run
    #[arg(long, value_name = "N,..", value_parser = thread_counts, default_value = "1,2,4,8")]
    pub readers: Numbers,

    /// Times between two writes, such as 1us or 10ms; 0 is back to back, never is no writer
    #[arg(long, value_name = "TIME,..", value_delimiter = ',', value_parser = write_every,
          default_value = "never,10ms,100us,1us")]
    pub write_every: Vec<WriteEvery>,

    /// Do not measure reads, only the allocator run
    #[arg(long, conflicts_with = "no_faults")]
    pub no_reads: bool,

    /// Do not run the allocator, only measure reads
    #[arg(long)]
    pub no_faults: bool,

    /// What all benchmarks have.
    #[command(flatten)]
    pub run: RunArgs,
}

impl SeqArgs {
    /// What was asked for.
    pub fn experiment(&self) -> Result<Experiment, Failure> {
        let mut arms = arms(&self.run, Family::Sequences, |lock| lock.read_mostly.is_some())?;
        if self.run.baseline_lock().is_none() {
            arms.baseline = arms.arms.iter().position(|arm| arm.record.name == BASELINE);
        }
        if !self.no_faults {
            // The allocator runs under every protection, whatever is read.
            for lock in Family::Sequences.locks(false) {
                if lock.node_mask.is_some()
                    && arms.arms.iter().all(|arm| arm.record.name != lock.name)
                {
                    arms.arms.push(Arm::from(Lock { read_mostly: None, ..*lock }));
                }
            }
        }
        let time = self.run.secs.unwrap_or(WINDOW);
        let reads = self.settings().into_iter().filter(|_| !self.no_reads);
        let faults = self.settings().into_iter().filter(|_| !self.no_faults);
        let cells = reads.map(|setting| setting.read_cell(time));
        let cells = cells.chain(faults.map(|setting| setting.fault_cell(time))).collect();
        Ok(self.run.experiment("bench-seq", arms, cells))
    }

    fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for &write_every in &self.write_every {
            for readers in self.readers.threads() {
                let setting = Setting { readers, write_every };
                if !settings.contains(&setting) {
                    settings.push(setting);
                }
            }
        }
        settings
    }
}

/// Adds what the protections of the node mask cost.
pub fn finish(record: &Record, page: &mut Page) {
    page.conclusion.extend(conclusion(&blocks(record)));
}
