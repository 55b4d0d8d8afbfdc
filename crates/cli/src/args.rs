//! The command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::styling::Styles;
use clap::{Args, Parser, Subcommand, ValueEnum};
use lockwright_workloads::rw_bench::Percent;
use lockwright_workloads::seq_bench::WriteEvery;

use crate::mix_args::MixArgs;

/// Kernel-grade locks for ordinary programs, and the laboratory that proves them.
#[derive(Debug, Parser)]
#[command(name = "lockwright", version, after_help = EXIT_CODES, styles = Styles::plain())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare locks on this machine (mutexes, unless said otherwise)
    #[command(after_help = BENCH_HELP)]
    Bench(Box<BenchArgs>),
    /// List the policies of the reader-writer lock, and what each switch means
    Policies {
        /// As Markdown, with a table of all: the project's docs/policies.md
        #[arg(long)]
        markdown: bool,
    },
    /// Run locks on a simulated NUMA machine
    #[command(after_help = crate::sim_args::SIM_HELP)]
    Sim(Box<crate::sim_args::SimArgs>),
    /// List the simulated machines, or show one with the source of every number
    Machines(crate::sim_args::MachinesArgs),
}

/// `lockwright bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchArgs {
    /// What to compare.
    #[command(subcommand)]
    pub what: Option<BenchCommand>,
    /// Without a subcommand: mutexes.
    #[command(flatten)]
    pub mutex: MutexArgs,
}

/// What can be compared.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Compare mutexes: throughput, fairness, CPU time, context switches, waits
    #[command(after_help = BENCH_HELP)]
    Mutex(MutexArgs),
    /// Compare reader-writer locks, and the policies of this project's
    #[command(after_help = RW_HELP)]
    Rwlock(RwArgs),
    /// Compare ways to read what is seldom written, and the protections of a node mask
    #[command(after_help = SEQ_HELP)]
    Seq(SeqArgs),
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    a check failed: a lock let two threads in
  2    wrong usage; nothing was measured or written
  3    the system refused something, such as starting a thread
  130  interrupted; what was measured until then is shown and written";

const BENCH_HELP: &str = "\
Each round runs every lock of a cell once, in a random order; the cells are all
combinations of threads, load, and outside work or bursts. Loads are counted in
PAUSE instructions. Each round checks mutual exclusion with a plain counter.

Exit codes:
  0    done
  1    a check failed: a lock let two threads in
  2    wrong usage; nothing was measured or written
  3    the system refused something, such as starting a thread
  130  interrupted; what was measured until then is shown and written

Examples:
  lockwright bench                                  the default cells, under a minute
  lockwright bench --locks std,parking_lot --threads 1,2,8 --load 20
  lockwright bench --threads 32 --latency           waits as well: p50, p99, p99.9, max
  lockwright bench --burst 64:10000 --threads 8     64 sections, then 10 us outside
  lockwright bench --secs 0.25 --rounds 15 --ci --json result.json
  lockwright bench --baseline std --csv - > result.csv";

const RW_HELP: &str = "\
Each thread reads or writes under the lock over and over, drawing anew each
time; with --blocks it reads, then writes, many times each, with --dedicated
it only reads or only writes. A writer adds one to a counter, a reader looks whether it changes: each round checks exclusion.

Exit codes:
  0    done
  1    a check failed: a lock let a writer in beside others
  2    wrong usage; nothing was measured or written
  3    the system refused something, such as starting a thread
  130  interrupted; what was measured until then is shown and written

Examples:
  lockwright bench rwlock                           the default cells, under a minute
  lockwright bench rwlock --readers 50 --threads 8 --policy v5.2,v5.3,v5.11,default
  lockwright bench rwlock --dedicated --readers 50 --threads 80 --load 1
  lockwright bench rwlock --locks lockwright,std --events";

const SEQ_HELP: &str = "\
Readers copy four words over and over while one more thread replaces them; a
reader checks that they belong together. Then an allocator goes through eight
memory nodes by a mask that is replaced meanwhile, under each protection.

Exit codes:
  0    done
  1    a check failed: a torn value, or a false report of no node
  2    wrong usage; nothing was measured or written
  3    the system refused something, such as starting a thread
  130  interrupted; what was measured until then is shown and written

Examples:
  lockwright bench seq                              everything, under a minute
  lockwright bench seq --locks 'seq*' --readers 1,2 --write-every never,1us
  lockwright bench seq --no-reads --secs 0.25       the allocator run alone
  lockwright bench seq --rounds 15 --ci --json result.json";

/// `lockwright bench mutex`.
#[derive(Debug, Args)]
pub struct MutexArgs {
    /// Locks to compare; NAME* takes all that begin so [default: all]
    #[arg(short, long, value_name = "LOCK,..", value_delimiter = ',')]
    pub locks: Option<Vec<String>>,

    /// Numbers of threads [default: 2,8,32]
    #[arg(short, long, value_name = "N,..", value_delimiter = ',', value_parser = threads)]
    pub threads: Option<Vec<usize>>,

    /// Work inside the section, in PAUSE instructions [default: 1,20,100]
    #[arg(long, value_name = "PAUSES,..", value_delimiter = ',')]
    pub load: Option<Vec<u32>>,

    /// Work outside after each section, in PAUSE instructions [default: 0]
    #[arg(long, value_name = "PAUSES,..", value_delimiter = ',')]
    pub outside: Option<Vec<u32>>,

    /// Sections back to back, then busy outside for NS nanoseconds
    #[arg(long, value_name = "OPS:NS,..", value_delimiter = ',')]
    pub burst: Option<Vec<Burst>>,

    /// Rounds
    #[arg(short, long, visible_alias = "runs", value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: u32,

    /// Seconds of each lock in each cell in each round
    /// [default: what lets the run end in about 40 s, at most 0.25]
    #[arg(short, long, visible_alias = "time", value_name = "S", value_parser = seconds)]
    pub secs: Option<Duration>,

    /// Rounds run before and thrown away
    #[arg(short, long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,

    /// Seed of the order of the locks
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Measure waits too, in rounds of their own
    #[arg(long)]
    pub latency: bool,

    /// Do not measure the cost without contention
    #[arg(long)]
    pub no_uncontended: bool,

    /// Show ratios to this lock instead of the best blocking peer
    #[arg(long, value_name = "LOCK")]
    pub baseline: Option<String>,

    /// Show the lock events of this project's locks
    #[arg(long)]
    pub events: bool,

    /// Show the 95 % bootstrap interval of each ratio
    #[arg(long)]
    pub ci: bool,

    /// Order of the rows
    #[arg(long, value_name = "BY", default_value = "speed")]
    pub sort: Sort,

    /// List the locks and exit
    #[arg(long)]
    pub list: bool,

    /// Where the reports go.
    #[command(flatten)]
    pub reports: ReportArgs,

    /// Let locks that are broken on purpose be chosen by name.
    #[arg(long, hide = true)]
    pub include_broken: bool,
}

/// Where the reports of a benchmark go.
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

    /// Write the tables as markdown; - is stdout
    #[arg(long, visible_alias = "export-markdown", value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// No progress and no warnings on stderr
    #[arg(short, long)]
    pub quiet: bool,
}

/// `lockwright bench rwlock`.
#[derive(Debug, Args)]
pub struct RwArgs {
    /// Locks to compare; NAME* takes all that begin so
    /// [default: lockwright and the peers, or with --policy those alone]
    #[arg(short, long, value_name = "LOCK,..", value_delimiter = ',')]
    pub locks: Option<Vec<String>>,

    /// Policies of this project's lock to compare; see 'lockwright policies'
    #[arg(short, long, value_name = "POLICY,..", value_delimiter = ',')]
    pub policy: Option<Vec<String>>,

    /// Percentages of reads (with --dedicated, of threads that read), such as 99.99
    #[arg(long, value_name = "PERCENT,..", value_delimiter = ',', default_value = "0,50,90,99")]
    pub readers: Vec<Percent>,

    /// How they are mixed.
    #[command(flatten)]
    pub mix: MixArgs,

    /// Numbers of threads
    #[arg(short, long, value_name = "N,..", value_delimiter = ',', value_parser = threads,
          default_value = "2,8,32")]
    pub threads: Vec<usize>,

    /// Work inside the section, in PAUSE instructions
    #[arg(long, value_name = "PAUSES,..", value_delimiter = ',', default_value = "20")]
    pub load: Vec<u32>,

    /// Work outside after each section, in PAUSE instructions
    #[arg(long, value_name = "PAUSES,..", value_delimiter = ',', default_value = "0")]
    pub outside: Vec<u32>,

    /// Rounds
    #[arg(short, long, visible_alias = "runs", value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: u32,

    /// Seconds of each lock in each cell in each round
    /// [default: what lets the run end in about 40 s, at most 0.25]
    #[arg(short, long, visible_alias = "time", value_name = "S", value_parser = seconds)]
    pub secs: Option<Duration>,

    /// Rounds run before and thrown away
    #[arg(short, long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,

    /// Seed of the order of the locks
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Do not measure the cost without contention
    #[arg(long)]
    pub no_uncontended: bool,

    /// Show ratios to this lock instead of the best blocking peer
    #[arg(long, value_name = "LOCK")]
    pub baseline: Option<String>,

    /// Show the lock events of this project's locks
    #[arg(long)]
    pub events: bool,

    /// Show the 95 % bootstrap interval of each ratio
    #[arg(long)]
    pub ci: bool,

    /// Order of the rows
    #[arg(long, value_name = "BY", default_value = "speed")]
    pub sort: Sort,

    /// List the locks and exit
    #[arg(long)]
    pub list: bool,

    /// Where the reports go.
    #[command(flatten)]
    pub reports: ReportArgs,

    /// Let locks that are broken on purpose be chosen by name.
    #[arg(long, hide = true)]
    pub include_broken: bool,
}

/// `lockwright bench seq`.
#[derive(Debug, Args)]
pub struct SeqArgs {
    /// What to compare; NAME* takes all that begin so [default: all]
    #[arg(short, long, value_name = "NAME,..", value_delimiter = ',')]
    pub locks: Option<Vec<String>>,

    /// Numbers of reading threads, and of clients of the allocator run
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = threads,
          default_value = "1,2,4,8")]
    pub readers: Vec<usize>,

    /// Times between two writes, such as 1us or 10ms; 0 is back to back, never is no writer
    #[arg(short, long, value_name = "TIME,..", value_delimiter = ',', value_parser = write_every,
          default_value = "never,10ms,100us,1us")]
    pub write_every: Vec<WriteEvery>,

    /// Rounds
    #[arg(short, long, visible_alias = "runs", value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: u32,

    /// Seconds of each measurement in each round
    /// [default: what lets the run end in about 40 s, at most 0.25]
    #[arg(short, long, visible_alias = "time", value_name = "S", value_parser = seconds)]
    pub secs: Option<Duration>,

    /// Rounds run before and thrown away
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,

    /// Seed of the order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Do not measure reads, only the allocator run
    #[arg(long, conflicts_with = "no_faults")]
    pub no_reads: bool,

    /// Do not run the allocator, only measure reads
    #[arg(long)]
    pub no_faults: bool,

    /// What ratios refer to [default: seqlock-crate, if it is measured]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Show the 95 % bootstrap interval of each ratio
    #[arg(long)]
    pub ci: bool,

    /// Order of the rows
    #[arg(long, value_name = "BY", default_value = "speed")]
    pub sort: Sort,

    /// List what can be compared and exit
    #[arg(long)]
    pub list: bool,

    /// Where the reports go.
    #[command(flatten)]
    pub reports: ReportArgs,
}

/// Order of the rows within each table.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Sort {
    /// The fastest first
    Speed,
    /// By name
    Name,
    /// As listed
    Plan,
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
        let wrong = || "expected OPS:NS, such as 64:10000, with at least 1 section".to_owned();
        let (ops, gap_ns) = text.split_once(':').ok_or_else(wrong)?;
        let ops = ops.parse().ok().filter(|&ops| ops > 0).ok_or_else(wrong)?;
        let gap_ns = gap_ns.parse().map_err(|_| wrong())?;
        Ok(Burst { ops, gap_ns })
    }
}

pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("a cell needs at least 1 thread".to_owned()),
        Ok(threads) => Ok(threads as usize),
        Err(error) => Err(error.to_string()),
    }
}

fn write_every(text: &str) -> Result<WriteEvery, String> {
    let wrong = || "expected never, 0, or a time such as 500ns, 1us, 10ms or 2s".to_owned();
    match text {
        "never" => return Ok(WriteEvery::Never),
        "0" => return Ok(WriteEvery::Time(Duration::ZERO)),
        _ => {}
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let number: u32 = number.parse().map_err(|_| wrong())?;
    let unit = match unit {
        "ns" => Duration::from_nanos(1),
        "us" => Duration::from_micros(1),
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        _ => return Err(wrong()),
    };
    Ok(WriteEvery::Time(unit * number))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "expected seconds, from 0.001 to 3600".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.001..=3_600.0).contains(&seconds) {
        return Err(wrong());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn bursts_are_read() {
        assert_eq!("64:10000".parse(), Ok(Burst { ops: 64, gap_ns: 10_000 }));
        for wrong in ["", "64", "0:5", "x:5", "5:x", "1:2:3", "-1:2"] {
            assert!(wrong.parse::<Burst>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_between_writes_are_read() {
        let time = |text| match write_every(text) {
            Ok(WriteEvery::Time(time)) => Some(time.as_nanos()),
            _ => None,
        };
        assert_eq!(write_every("never"), Ok(WriteEvery::Never));
        assert_eq!(time("0"), Some(0));
        assert_eq!(time("7ns"), Some(7));
        assert_eq!(time("100us"), Some(100_000));
        assert_eq!(time("10ms"), Some(10_000_000));
        for wrong in ["", "5", "us", "-1us", "1.5us", "1min", "99999999999s", "Never"] {
            assert!(write_every(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_have_bounds() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["0", "-1", "nan", "inf", "1e9", "x", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
