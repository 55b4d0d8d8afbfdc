//! `lockwright bench mutex`.

use std::str::FromStr;

use clap::Args;
use lockwright_lab::arms::choose::Family;
use lockwright_lab::arms::locks::Lock;
use lockwright_lab::experiment::Experiment;
use lockwright_lab::loads::mutex::{Options, Pace, Setting, cells};
use lockwright_lab::record::Role;

use super::arms;
use crate::args::{RunArgs, help};
use crate::failure::Failure;
use crate::session::machine;
use crate::values::{Numbers, pauses, thread_counts};

pub const HELP: &str = help!(
    "\
Each round runs every lock of a cell once, in a random order; the cells are all
combinations of threads, load, and outside work or bursts. Loads are counted in
PAUSE instructions. Each round checks mutual exclusion with a plain counter.",
    "\
  lockwright bench                                  the default cells, in a minute
  lockwright bench --locks std,parking_lot --threads 1,2,8 --load 20
  lockwright bench --threads 1-64*2 --load 20       1, 2, 4, .. 64 threads
  lockwright bench --threads 32 --latency           waits as well: p50, p99, p99.9, max
  lockwright bench --burst 64:10000 --threads 8     64 sections, then 10 us outside
  lockwright bench --rounds 15 --ci --json result.json
  lockwright bench --baseline std --csv - > result.csv
  lockwright bench --baseline result.json           what changed since"
);

/// `lockwright bench mutex`.
#[derive(Debug, Args)]
pub struct MutexArgs {
    /// Numbers of threads, such as 8, 1,2,8, 1-8 or 1-64*2 [default: 2,8,32]
    #[arg(short, long, value_name = "N,..", value_parser = thread_counts)]
    pub threads: Option<Numbers>,

    /// Work inside the section, in PAUSE instructions [default: 1,20,100]
    #[arg(long, value_name = "PAUSES,..", value_parser = pauses)]
    pub load: Option<Numbers>,

    /// Work outside after each section, in PAUSE instructions [default: 0]
    #[arg(long, value_name = "PAUSES,..", value_parser = pauses)]
    pub outside: Option<Numbers>,

    /// Sections back to back, then busy outside for NS nanoseconds
    #[arg(long, value_name = "OPS:NS,..", value_delimiter = ',')]
    pub burst: Option<Vec<Burst>>,

    /// Measure waits too, in rounds of their own
    #[arg(long)]
    pub latency: bool,

    /// Do not measure the cost without contention
    #[arg(long)]
    pub no_uncontended: bool,

    /// What all benchmarks have.
    #[command(flatten)]
    pub run: RunArgs,
}

impl MutexArgs {
    /// What was asked for.
    pub fn experiment(&self) -> Result<Experiment, Failure> {
        let arms = arms(&self.run, Family::Mutexes, is_default)?;
        let options = Options {
            window: self.run.secs,
            uncontended: !self.no_uncontended,
            waits: self.latency,
            pause_ns: machine().pause_ns,
        };
        Ok(self.run.experiment("bench-mutex", arms, cells(&self.settings(), options)))
    }

    /// All combinations of what was asked for; the default cells if nothing was.
    fn settings(&self) -> Vec<Setting> {
        let asked = self.threads.is_some()
            || self.load.is_some()
            || self.outside.is_some()
            || self.burst.is_some();
        let threads = self.threads.clone().unwrap_or(Numbers(vec![2, 8, 32]));
        let load = self.load.clone().unwrap_or(Numbers(vec![1, 20, 100]));
        let mut settings = Vec::new();
        for pace in self.paces() {
            for threads in threads.threads() {
                settings.extend(load.pauses().map(|load| Setting { threads, load, pace }));
            }
        }
        if !asked {
            // One cell where the lock is not saturated: winners of the others often lose here.
            settings.push(Setting { threads: 8, load: 20, pace: Pace::Steady { outside: 20 } });
        }
        settings
    }

    fn paces(&self) -> Vec<Pace> {
        let none = Numbers(if self.burst.is_some() { Vec::new() } else { vec![0] });
        let outside = self.outside.as_ref().unwrap_or(&none);
        let mut paces: Vec<Pace> =
            outside.pauses().map(|outside| Pace::Steady { outside }).collect();
        for &Burst { ops, gap_ns } in self.burst.iter().flatten() {
            let pace = Pace::Burst { ops, gap_ns };
            if !paces.contains(&pace) {
                paces.push(pace);
            }
        }
        paces
    }
}

/// Ours as a user has it, and what he has else; variants and study objects are for those who ask.
fn is_default(lock: &Lock) -> bool {
    lock.name == "lockwright" || lock.role == Role::BlockingPeer
}

/// A burst: sections back to back, then a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Sections.
    pub ops: u32,
    /// Gap in nanoseconds.
    pub gap_ns: u64,
}

impl FromStr for Burst {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is no burst; expected OPS:NS, such as 64:10000, with at least 1 section"
            )
        };
        let (ops, gap_ns) = text.split_once(':').ok_or_else(wrong)?;
        let ops = ops.parse().ok().filter(|&ops| ops > 0).ok_or_else(wrong)?;
        let gap_ns = gap_ns.parse().map_err(|_| wrong())?;
        Ok(Burst { ops, gap_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_read() {
        assert_eq!("64:10000".parse(), Ok(Burst { ops: 64, gap_ns: 10_000 }));
        for wrong in ["", "64", "0:5", "x:5", "5:x", "1:2:3", "-1:2"] {
            assert!(wrong.parse::<Burst>().is_err(), "{wrong}");
        }
    }
}
