//! The command line: the commands, and what several of them have.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use lockwright_lab::record::metric::Metric;
use lockwright_lab::report::layout::{Order, Shown};

use crate::values::{metric, seconds};

/// The end of each help text: what the command does, the exit codes, examples.
macro_rules! help {
    ($about:literal, $examples:literal) => {
        concat!(
            $about,
            "\n\n\
Exit codes:
  0    done
  1    a check failed: a lock did what no lock may do
  2    wrong usage; nothing was measured or written
  3    the system refused something, such as starting a thread
  130  interrupted; what was measured until then is shown and written

Examples:
  ",
            $examples
        )
    };
}
pub(crate) use help;

const HELP: &str = help!(
    "'lockwright COMMAND --help' has the options and examples of each.",
    "\
  lockwright bench                  mutexes of this machine side by side
  lockwright bench rwlock           reader-writer locks
  lockwright run -- ./server        a program as it is, with these locks
  lockwright stat -- ./server       which of its locks are waited for, and who held them
  lockwright top 4711               the same of a running program, live
  lockwright doctor                 what this machine offers to locks
  lockwright sim published --quick  published results beside simulated ones"
);

/// Kernel-grade locks for ordinary programs, and the laboratory that proves them.
#[derive(Debug, Parser)]
#[command(name = "lockwright", version, after_help = HELP, styles = Styles::plain())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare locks on this machine (mutexes, unless said otherwise)
    #[command(after_help = crate::bench::HELP)]
    Bench(Box<crate::bench::BenchArgs>),
    /// Compare locks, result files or commands with a base, and say what is better or worse
    #[command(after_help = crate::compare::HELP)]
    Compare(Box<crate::compare::CompareArgs>),
    /// Run a command with lockwright's locks in place of the C library's
    #[command(after_help = crate::run::HELP)]
    Run(crate::run::RunArgs),
    /// Run a command, or attach to one, and show which of its locks are waited for, from where, who held them
    #[command(after_help = crate::stat::HELP)]
    Stat(Box<crate::stat::StatArgs>),
    /// Show the locks of a program that 'lockwright run' has started, live
    #[command(after_help = crate::top::HELP)]
    Top(crate::top::TopArgs),
    /// Make one page of result files: pictures, tables, the machine
    #[command(after_help = crate::report::HELP)]
    Report(crate::report::ReportArgs),
    /// Find the step of a series at which it got worse: locks, commands, or revisions
    #[command(after_help = crate::bisect::HELP)]
    Bisect(Box<crate::bisect::BisectArgs>),
    /// Say what this machine offers to locks, and what each absence costs
    #[command(after_help = crate::doctor::HELP)]
    Doctor {
        /// The machine and the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Put locks under everything at once, and say SUCCESS or FAILURE
    #[command(after_help = crate::torture::HELP)]
    Torture(Box<crate::torture::TortureArgs>),
    /// List the policies of the reader-writer lock, and what each switch means
    #[command(after_help = crate::policies::HELP)]
    Policies {
        /// As Markdown, with a table of all: the project's docs/policies.md
        #[arg(long)]
        markdown: bool,
    },
    /// Run locks on a simulated NUMA machine
    #[command(after_help = crate::sim::args::SIM_HELP)]
    Sim(Box<crate::sim::args::SimArgs>),
    /// List the simulated machines, or show one with the source of every number
    #[command(after_help = crate::sim::args::MACHINES_HELP)]
    Machines(crate::sim::args::MachinesArgs),
    /// Write the manual's pages
    #[command(after_help = crate::manual::MAN_HELP)]
    Man(crate::manual::ManArgs),
    /// Print what completes the command line in a shell
    #[command(after_help = crate::manual::COMPLETIONS_HELP)]
    Completions(crate::manual::CompletionsArgs),
}

/// What all benchmarks have.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Locks to compare; NAME* takes all that begin so [default: ours and the peers]
    #[arg(short, long, value_name = "LOCK,..", value_delimiter = ',')]
    pub locks: Option<Vec<String>>,

    /// Rounds
    #[arg(short, long, visible_alias = "runs", value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: u32,

    /// Seconds of each lock in each cell in each round
    /// [default: 8 ms for each thread of the cell, at least 0.06, at most 1]
    #[arg(short, long, visible_alias = "time", value_name = "S", value_parser = seconds)]
    pub secs: Option<Duration>,

    /// Rounds run before and thrown away
    #[arg(short, long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,

    /// Seed of the order of the locks
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Show ratios to this lock instead of the best blocking peer; or, of a result file (its name
    /// has a / or ends in .json), compare every figure with the same in it
    #[arg(long, value_name = "LOCK|FILE")]
    pub baseline: Option<String>,

    /// Show the lock events of this project's locks
    #[arg(long)]
    pub events: bool,

    /// Show the 95 % bootstrap interval of each ratio
    #[arg(long)]
    pub ci: bool,

    /// Show these figures in place of each table's own, such as wait_p99_ns
    #[arg(long, value_name = "METRIC,..", value_delimiter = ',', value_parser = metric)]
    pub metrics: Vec<&'static Metric>,

    /// Order of the rows
    #[arg(long, value_name = "BY", default_value = "best")]
    pub sort: Sort,

    /// List what can be compared and exit
    #[arg(long)]
    pub list: bool,

    /// Where the reports go.
    #[command(flatten)]
    pub reports: ReportArgs,

    /// Let locks that are broken on purpose be chosen by name.
    #[arg(long, hide = true)]
    pub include_broken: bool,
}

impl RunArgs {
    /// The lock that ratios refer to.
    pub fn baseline_lock(&self) -> Option<&str> {
        self.baseline.as_deref().filter(|name| !is_file(name))
    }

    /// The older result that this one is compared with.
    pub fn baseline_file(&self) -> Option<&Path> {
        self.baseline.as_deref().filter(|name| is_file(name)).map(Path::new)
    }

    /// What the tables show.
    pub fn shown(&self) -> Shown {
        Shown {
            interval: self.ci,
            events: self.events,
            metrics: self.metrics.clone(),
            order: self.sort.into(),
            ..Shown::default()
        }
    }
}

/// No lock is called so.
fn is_file(name: &str) -> bool {
    name.ends_with(".json") || name.contains('/')
}

/// Where the reports go.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Write the table to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write everything, raw samples included, as JSON; - is stdout
    #[arg(long, visible_alias = "export-json", value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the figures as CSV; - is stdout
    #[arg(long, visible_alias = "export-csv", value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write the figures as OpenMetrics, of compared files those of the last; - is stdout
    #[arg(long, value_name = "FILE")]
    pub openmetrics: Option<PathBuf>,

    /// Write the tables as markdown; - is stdout
    #[arg(long, visible_alias = "export-markdown", value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// No progress on stderr
    #[arg(short, long)]
    pub quiet: bool,
}

/// Order of the rows within each table.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Sort {
    /// The best first
    Best,
    /// By name
    Name,
    /// As listed
    Listed,
}

impl From<Sort> for Order {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Best => Order::Best,
            Sort::Name => Order::Name,
            Sort::Listed => Order::Listed,
        }
    }
}

/// A number of threads of a simulated machine.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("a cell needs at least 1 thread".to_owned()),
        Ok(threads) => Ok(threads as usize),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
