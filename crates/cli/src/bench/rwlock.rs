//! `lockwright bench rwlock`.

use clap::Args;
use lockwright_lab::arms::choose::Family;
use lockwright_lab::arms::locks::{self, Lock};
use lockwright_lab::experiment::{Arm, Experiment};
use lockwright_lab::loads::rwlock::{Setting, cells};
use lockwright_lab::record::Role;
use lockwright_workloads::rw_bench::Percent;

use super::arms;
use crate::args::{RunArgs, help};
use crate::failure::Failure;
use crate::mix_args::MixArgs;
use crate::session::machine;
use crate::values::{Numbers, pauses, thread_counts};

pub const HELP: &str = help!(
    "\
Each thread reads or writes under the lock over and over, drawing anew each
time; with --blocks it reads, then writes, many times each, with --dedicated
it only reads or only writes. A writer adds one to a counter, a reader looks
whether it changes: each round checks exclusion. Names are those of reader-writer
locks: std is std-rw, and mutex:std is the mutex in the place of one.",
    "\
  lockwright bench rwlock                           the default cells, in a minute
  lockwright bench rwlock --readers 50 --threads 8 --locks 'rwsem-v5.*,lockwright'
  lockwright bench rwlock --dedicated --readers 50 --threads 80 --load 1
  lockwright bench rwlock --locks lockwright,std,mutex:std --events"
);

/// `lockwright bench rwlock`.
#[derive(Debug, Args)]
pub struct RwArgs {
    /// Percentages of reads (with --dedicated, of threads that read), such as 99.99
    #[arg(long, value_name = "PERCENT,..", value_delimiter = ',', default_value = "0,50,90,99")]
    pub readers: Vec<Percent>,

    /// How they are mixed.
    #[command(flatten)]
    pub mix: MixArgs,

    /// Numbers of threads, such as 8, 1,2,8, 1-8 or 1-64*2
    #[arg(short, long, value_name = "N,..", value_parser = thread_counts, default_value = "2,8,32")]
    pub threads: Numbers,

    /// Work inside the section, in PAUSE instructions
    #[arg(long, value_name = "PAUSES,..", value_parser = pauses, default_value = "20")]
    pub load: Numbers,

    /// Work outside after each section, in PAUSE instructions
    #[arg(long, value_name = "PAUSES,..", value_parser = pauses, default_value = "0")]
    pub outside: Numbers,

    /// Do not measure the cost without contention
    #[arg(long)]
    pub no_uncontended: bool,

    /// What all benchmarks have.
    #[command(flatten)]
    pub run: RunArgs,
}

impl RwArgs {
    /// What was asked for.
    pub fn experiment(&self) -> Result<Experiment, Failure> {
        let mut arms = arms(&self.run, Family::RwLocks, is_default)?;
        if self.run.locks.is_none() {
            // No reader-writer lock should lose against the mutex it could be replaced by.
            let mutex = locks::all().find(|lock| lock.name == "lockwright");
            arms.arms.extend(mutex.map(|lock| Arm::from(*lock)));
        }
        self.mix.check(&self.readers)?;
        let cells =
            cells(&self.settings(), self.run.secs, !self.no_uncontended, machine().pause_ns);
        Ok(self.run.experiment("bench-rwlock", arms, cells))
    }

    fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for &readers in &self.readers {
            for threads in self.threads.threads() {
                for load in self.load.pauses() {
                    for outside in self.outside.pauses() {
                        let mix = self.mix.mix();
                        let setting = Setting { threads, readers, mix, load, outside };
                        if !settings.contains(&setting) {
                            settings.push(setting);
                        }
                    }
                }
            }
        }
        settings
    }
}

/// The stages of the kernel's lock are for those who ask: fifteen bury the comparison.
fn is_default(lock: &Lock) -> bool {
    lock.role == Role::Own || lock.role == Role::BlockingPeer
}
