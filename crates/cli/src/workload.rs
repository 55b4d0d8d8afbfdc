//! Workloads of locks and commands, on the command lines of `compare` and `bisect`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use lockwright_lab::arms::choose::Family;
use lockwright_lab::arms::commands::{Command, Sampled};
use lockwright_lab::experiment::{Arm, Cell};
use lockwright_lab::loads::mutex::{self, Pace};
use lockwright_lab::loads::patterns::{Name, Options};
use lockwright_lab::loads::rwlock;
use lockwright_workloads::rw_bench::{Mix, Percent};

use crate::failure::Failure;
use crate::session::machine;
use crate::values::{Numbers, pauses, seconds, thread_counts};

/// What locks are put through.
#[derive(Debug, Args)]
pub struct WorkloadArgs {
    /// What the locks are put through
    #[arg(long, value_name = "KIND", default_value = "mutex")]
    pub workload: Workload,

    /// Threads of the workload
    #[arg(short, long, value_name = "N,..", value_parser = thread_counts)]
    pub threads: Option<Numbers>,

    /// Work inside the section, in PAUSE instructions
    #[arg(long, value_name = "PAUSES,..", value_parser = pauses)]
    pub load: Option<Numbers>,

    /// Work outside, in PAUSE instructions
    #[arg(long, value_name = "PAUSES,..", value_parser = pauses)]
    pub outside: Option<Numbers>,

    /// Percentages of reads, for --workload rwlock
    #[arg(long, value_name = "PERCENT,..", value_delimiter = ',')]
    pub readers: Vec<Percent>,

    /// Seconds of each run of a lock [default: 0.5]
    #[arg(long, visible_alias = "time", value_name = "S", value_parser = seconds)]
    pub secs: Option<Duration>,
}

/// Workloads of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Sections of one mutex, as 'bench mutex' has them
    Mutex,
    /// Read and write sections, as 'bench rwlock' has them
    Rwlock,
    /// As 'bench patterns guest'
    Guest,
    /// As 'bench patterns turns'
    Turns,
    /// As 'bench patterns queue'
    Queue,
    /// As 'bench patterns pool'
    Pool,
    /// As 'bench patterns burst'
    Burst,
    /// As 'bench patterns map'
    Map,
    /// As 'bench patterns stall'
    Stall,
    /// As 'bench patterns crowd'
    Crowd,
    /// As 'bench patterns forks'
    Forks,
}

impl Workload {
    /// The pattern, if it is one.
    fn pattern(self) -> Option<Name> {
        match self {
            Workload::Mutex | Workload::Rwlock => None,
            Workload::Guest => Some(Name::Guest),
            Workload::Turns => Some(Name::Turns),
            Workload::Queue => Some(Name::Queue),
            Workload::Pool => Some(Name::Pool),
            Workload::Burst => Some(Name::Burst),
            Workload::Map => Some(Name::Map),
            Workload::Stall => Some(Name::Stall),
            Workload::Crowd => Some(Name::Crowd),
            Workload::Forks => Some(Name::Forks),
        }
    }

    fn family(self) -> Family {
        match self {
            Workload::Mutex => Family::Mutexes,
            Workload::Rwlock => Family::RwLocks,
            _ => Family::Patterns,
        }
    }
}

impl WorkloadArgs {
    /// The locks of these names as arms whose run queues are sampled.
    pub fn arms(&self, names: &[String], cells: &[Cell]) -> Result<Vec<Arm>, Failure> {
        let wrong = |why| Failure::Usage(format!("--locks: {why}"));
        let locks = self.workload.family().choose(names, false).map_err(wrong)?;
        let sampled = |arm: Arm| Arm { record: arm.record, run: Box::new(Sampled(arm.run)) };
        let arms: Vec<Arm> = locks.into_iter().map(|lock| sampled(Arm::from(*lock))).collect();
        let fits = |arm: &&Arm| cells.iter().any(|cell| arm.run.fits(&cell.load));
        match arms.iter().find(|arm| !fits(arm)) {
            Some(idle) => {
                let why = format!("--locks: {} does not fit the workload", idle.record.name);
                Err(Failure::Usage(why))
            }
            None => Ok(arms),
        }
    }

    /// The cells of the workload.
    pub fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let window = Some(self.secs.unwrap_or(Duration::from_millis(500)));
        let Some(name) = self.workload.pattern() else { return Ok(self.sections(window)) };
        if !self.readers.is_empty() {
            return Err(Failure::Usage("--readers is for --workload rwlock".to_owned()));
        }
        let list = |numbers: &Option<Numbers>| numbers.iter().flat_map(Numbers::pauses).collect();
        let options = Options {
            window,
            threads: self.threads.iter().flat_map(Numbers::threads).collect(),
            load: list(&self.load),
            outside: list(&self.outside),
            every: Vec::new(),
            cpus: machine().cpus_allowed.unwrap_or(1),
            pause_ns: machine().pause_ns,
        };
        Ok(options.cells(name))
    }

    /// Cells of the mutex's or the reader-writer lock's benchmark.
    fn sections(&self, window: Option<Duration>) -> Vec<Cell> {
        let pause_ns = machine().pause_ns;
        let of = |numbers: &Option<Numbers>, default: u64| {
            numbers.clone().unwrap_or(Numbers(vec![default]))
        };
        let (threads, loads, outsides) =
            (of(&self.threads, 8), of(&self.load, 20), of(&self.outside, 0));
        let mut settings = Vec::new();
        for threads in threads.threads() {
            for load in loads.pauses() {
                settings.extend(outsides.pauses().map(|outside| (threads, load, outside)));
            }
        }
        if self.workload == Workload::Mutex {
            let setting = |&(threads, load, outside): &(usize, u32, u32)| mutex::Setting {
                threads,
                load,
                pace: Pace::Steady { outside },
            };
            let options = mutex::Options { window, uncontended: false, waits: false, pause_ns };
            return mutex::cells(&settings.iter().map(setting).collect::<Vec<_>>(), options);
        }
        let default = [Percent::whole(50)];
        let readers = if self.readers.is_empty() { &default[..] } else { &self.readers };
        let mut all = Vec::new();
        for &readers in readers {
            all.extend(settings.iter().map(|&(threads, load, outside)| rwlock::Setting {
                threads,
                readers,
                mix: Mix::Drawn,
                load,
                outside,
            }));
        }
        rwlock::cells(&all, window, false, pause_ns)
    }
}

/// What is done around each run of a command.
#[derive(Debug, Args)]
pub struct CommandArgs {
    /// Command to run before each run of a command, not timed
    #[arg(short, long, value_name = "COMMAND")]
    pub prepare: Option<String>,

    /// Command to run after each run of a command, not timed
    #[arg(short, long, value_name = "COMMAND")]
    pub cleanup: Option<String>,

    /// Exit codes other than 0 are results too
    #[arg(short, long)]
    pub ignore_failure: bool,

    /// Show what the commands print
    #[arg(long)]
    pub show_output: bool,
}

impl CommandArgs {
    /// The command of this text.
    pub fn command(&self, text: &str) -> Command {
        Command {
            prepare: self.prepare.clone(),
            cleanup: self.cleanup.clone(),
            ignore_failure: self.ignore_failure,
            show_output: self.show_output,
            ..Command::new(text)
        }
    }
}
