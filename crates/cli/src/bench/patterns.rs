//! `lockwright bench patterns`.

use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use lockwright_lab::arms::choose::Family;
use lockwright_lab::arms::locks::Lock;
use lockwright_lab::experiment::{Cell, Experiment};
use lockwright_lab::loads::patterns::{Name, Options};
use lockwright_lab::record::Role;

use super::arms;
use crate::args::{RunArgs, help};
use crate::failure::Failure;
use crate::session::machine;
use crate::values::{Numbers, pauses, thread_counts, time};

pub const HELP: &str = help!(
    "\
How programs use locks, each lock in turn: rates, waits in clock time (p50, p99,
p99.9, the longest) and CPU time for each operation. Names are those of mutexes
(std) and of reader-writer locks (std-rw); each pattern takes the locks that fit.",
    "\
  lockwright bench patterns                         all of them, some minutes
  lockwright bench patterns guest turns --locks lockwright,std,parking_lot
  lockwright bench patterns guest --threads 1,4 --every 2ms --secs 1
  lockwright bench patterns crowd --threads 1-128*2 --json crowd.json
  lockwright bench patterns map --locks '*-rw' --metrics wait_p99_ns,jain_index"
);

/// `lockwright bench patterns`.
#[derive(Debug, Args)]
pub struct PatternArgs {
    /// Patterns to measure [default: all]
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<Pattern>,

    /// Threads: hogs of guest, producers and consumers of queue, workers of pool, all of the others
    #[arg(short, long, value_name = "N,..", value_parser = thread_counts)]
    pub threads: Option<Numbers>,

    /// Work inside the section, or of a task, in PAUSE instructions
    #[arg(long, value_name = "PAUSES,..", value_parser = pauses)]
    pub load: Option<Numbers>,

    /// Work outside after each section, in PAUSE instructions (map, stall, crowd)
    #[arg(long, value_name = "PAUSES,..", value_parser = pauses)]
    pub outside: Option<Numbers>,

    /// From one visit of the guest to the next, such as 200us,2ms
    #[arg(long, value_name = "TIME,..", value_delimiter = ',', value_parser = every)]
    pub every: Vec<Duration>,

    /// What all benchmarks have.
    #[command(flatten)]
    pub run: RunArgs,
}

/// A pattern's name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern(pub Name);

impl ValueEnum for Pattern {
    fn value_variants<'a>() -> &'a [Self] {
        use Name::{Burst, Crowd, Forks, Guest, Map, Pool, Queue, Stall, Turns};
        const {
            &[
                Pattern(Guest),
                Pattern(Turns),
                Pattern(Queue),
                Pattern(Pool),
                Pattern(Burst),
                Pattern(Map),
                Pattern(Stall),
                Pattern(Crowd),
                Pattern(Forks),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = match self.0 {
            Name::Guest => {
                ("guest", "One comes now and then to a lock that others take again at once")
            }
            Name::Turns => ("turns", "Two pass a turn to and fro through a condition variable"),
            Name::Queue => ("queue", "Producers and consumers of a bounded queue"),
            Name::Pool => ("pool", "One producer, many workers"),
            Name::Burst => ("burst", "All want the lock at once, then nobody does"),
            Name::Map => ("map", "A map of shards, some keys more than others"),
            Name::Stall => ("stall", "Holders sleep, or fault pages in, now and then"),
            Name::Crowd => ("crowd", "Threads from half to 64 times the CPUs"),
            Name::Forks => (
                "forks",
                "Work, then some sections in a row, as processes that fork (if asked for)",
            ),
        };
        Some(PossibleValue::new(name).help(about))
    }
}

fn every(text: &str) -> Result<Duration, String> {
    time(text)
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("'{text}' is no time; expected such as 200us, 2ms or 1s"))
}

impl PatternArgs {
    /// What was asked for.
    pub fn experiment(&self) -> Result<Experiment, Failure> {
        let names: Vec<Name> = match self.patterns.as_slice() {
            [] => Name::DEFAULT.to_vec(),
            asked => asked.iter().map(|pattern| pattern.0).collect(),
        };
        self.check(&names)?;
        let mut arms = arms(&self.run, Family::Patterns, is_default)?;
        let cells = self.cells(&names);
        // A lock that fits nowhere was asked for in vain.
        let fits = |arm: &lockwright_lab::experiment::Arm| {
            cells.iter().any(|cell| arm.run.fits(&cell.load))
        };
        if let (Some(_), Some(idle)) = (&self.run.locks, arms.arms.iter().find(|arm| !fits(arm))) {
            let why = format!("--locks: {} fits none of these patterns", idle.record.name);
            return Err(Failure::Usage(why));
        }
        if arms.baseline.is_none() {
            arms.arms.retain(fits);
        }
        Ok(self.run.experiment("bench-patterns", arms, cells))
    }

    fn cells(&self, names: &[Name]) -> Vec<Cell> {
        let list = |numbers: &Option<Numbers>| {
            numbers.as_ref().map_or_else(Vec::new, |n| n.pauses().collect())
        };
        let options = Options {
            window: self.run.secs,
            threads: self.threads.as_ref().map_or_else(Vec::new, |n| n.threads().collect()),
            load: list(&self.load),
            outside: list(&self.outside),
            every: self.every.clone(),
            cpus: machine().cpus_allowed.unwrap_or(1),
            pause_ns: machine().pause_ns,
        };
        let mut seen = Vec::new();
        for name in names {
            if !seen.contains(name) {
                seen.push(*name);
            }
        }
        seen.iter().flat_map(|&name| options.cells(name)).collect()
    }

    /// # Errors
    ///
    /// An option is given that none of the patterns uses.
    fn check(&self, names: &[Name]) -> Result<(), Failure> {
        use Name::{Burst, Crowd, Forks, Guest, Map, Pool, Queue, Stall};
        let given: [(_, _, &[Name]); 4] = [
            (
                "--threads",
                self.threads.is_some(),
                &[Guest, Queue, Pool, Burst, Map, Stall, Crowd, Forks],
            ),
            ("--load", self.load.is_some(), &[Guest, Queue, Pool, Burst, Stall, Crowd, Forks]),
            ("--outside", self.outside.is_some(), &[Map, Stall, Crowd, Forks]),
            ("--every", !self.every.is_empty(), &[Guest]),
        ];
        let unused = given
            .iter()
            .find(|(_, given, used)| *given && !used.iter().any(|name| names.contains(name)));
        match unused {
            Some((option, ..)) => {
                Err(Failure::Usage(format!("{option}: none of these patterns uses it")))
            }
            None => Ok(()),
        }
    }
}

fn is_default(lock: &Lock) -> bool {
    ["lockwright", "lockwright-rw", "lockwright-biased"].contains(&lock.name)
        || lock.role == Role::BlockingPeer
}
