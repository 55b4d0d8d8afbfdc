//! The command line of `lockwright sim` and `lockwright machines`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use lockwright_sim::Placement;

use crate::args::threads;
use crate::mix_args::MixArgs;

pub const SIM_HELP: &str = "\
The locks' own code runs on a simulated machine: the figures are simulated time,
and the same wherever it runs (but those of --machine host, which is measured).
The machine is one of 'lockwright machines' or a file of that form.
'sim published' puts published results beside simulated ones.

Exit codes:
  0    done
  1    a check failed: a lock let two threads in, or threads wait for each other
  2    wrong usage; nothing was simulated or written
  3    the system refused something
  130  interrupted; nothing is shown

Examples:
  lockwright sim --machine ivybridge-ex-8s --policy reader-spin,timed-spin
  lockwright sim --workload mutex --policy mutex,mutex-kernel --threads 1,16,240
  lockwright sim --readers 100 --policy default,seqcount --threads 1,60,240
  lockwright sim --vary latency=20 --policy v5.11 --threads 96
  lockwright sim published --quick
  lockwright machines ivybridge-ex-8s > mine.toml";

/// `lockwright sim`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SimArgs {
    /// What to do instead of a sweep.
    #[command(subcommand)]
    pub what: Option<SimCommand>,
    /// A sweep.
    #[command(flatten)]
    pub sweep: SweepArgs,
}

/// What can be done instead of a sweep.
#[derive(Debug, Subcommand)]
pub enum SimCommand {
    /// Put published results beside simulated ones, with a verdict per claim
    Published(PublishedArgs),
}

/// A sweep.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// A machine's name, or a file
    #[arg(short, long, value_name = "MACHINE", default_value = "ivybridge-ex-8s")]
    pub machine: String,

    /// What the threads do
    #[arg(short, long, value_name = "KIND", default_value = "rwlock")]
    pub workload: Kind,

    /// Locks; for mutex and torture those of the last line, for users and forks both, for the others a
    /// policy of 'lockwright policies' (or seqcount):
    /// mutex, mutex-kernel, mutex-latency, mutex-atomic, mutex-2013-before, mutex-2013-after
    /// [default: v5.2,v5.3,v5.11,default or mutex,mutex-kernel]
    #[arg(short, long, value_name = "LOCK,..", value_delimiter = ',')]
    pub policy: Option<Vec<String>>,

    /// Numbers of threads
    #[arg(short, long, value_name = "N,..", value_delimiter = ',', value_parser = threads,
          default_value = "2,8,32,64,128,240")]
    pub threads: Vec<usize>,

    /// Percentage of reads (with --dedicated, of threads that read); of rwlock only, as are --dedicated,
    /// --blocks and --sleep-us [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub readers: Option<u32>,

    /// How they are mixed.
    #[command(flatten)]
    pub mix: MixArgs,

    /// PAUSEs inside each section, of rwlock and mutex [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub load: Option<u32>,

    /// PAUSEs outside after each section, of the same [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub outside: Option<u32>,

    /// Microseconds of sleep inside each section [default: 0]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub sleep_us: Option<u32>,

    /// Milliseconds: the rare long holds of torture last five times this, and are as much rarer
    /// [default: 100]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=800))]
    pub long_hold: Option<u32>,

    /// Locks that all take in turn, of users and forks [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub locks: Option<u32>,

    /// As in a kernel: from the attempt to take a lock to its release threads are not preempted, and a
    /// lock of the kernel's stages has its queue on its own line
    #[arg(long)]
    pub kernel: bool,

    /// Where threads begin
    #[arg(long, value_name = "HOW", default_value = "nodes")]
    pub placement: Place,

    /// They stay there
    #[arg(long)]
    pub bound: bool,

    /// The NUMA node in whose memory all that threads share lies
    /// [default: that of the thread that touches it first]
    #[arg(long, value_name = "NODE")]
    pub home: Option<usize>,

    /// Simulated milliseconds that count; half as many more come before
    #[arg(long, value_name = "MS", default_value_t = 40,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub ms: u64,

    /// Seeds: runs of each lock in each cell
    #[arg(short, long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: u64,

    /// Sensitivity: all again with a number of the machine, or those of a section, changed by this
    /// percentage, down and up, such as latency=20 or scheduler.wake=50
    #[arg(long, value_name = "NAME=PERCENT")]
    pub vary: Option<String>,

    /// Show the lock events
    #[arg(short, long)]
    pub events: bool,

    /// Where the report goes.
    #[command(flatten)]
    pub out: OutArgs,
}

/// `lockwright sim published`.
#[derive(Debug, Args)]
pub struct PublishedArgs {
    /// Tables [default: all that can be simulated]
    #[arg(value_name = "TABLE")]
    pub tables: Vec<String>,

    /// A fifth of the simulated time, one seed
    #[arg(long)]
    pub quick: bool,

    /// Seeds: runs of each cell [default: 2, or 1 with --quick]; without --quick six times as many of
    /// those of rwsem-skylake-adaptive with 64 threads and more, which are a matter of chance
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub seeds: Option<u64>,

    /// Sensitivity: all again with a number of the machines, or those of a section, changed by this
    /// percentage, down and up, such as latency=20: which verdicts depend on them (three times as long)
    #[arg(long, value_name = "NAME=PERCENT")]
    pub vary: Option<String>,

    /// Where the report goes.
    #[command(flatten)]
    pub out: OutArgs,
}

/// `lockwright machines`.
#[derive(Debug, Args)]
pub struct MachinesArgs {
    /// Show this one, as a file that --machine reads
    #[arg(value_name = "MACHINE")]
    pub machine: Option<String>,
}

/// Where a simulation's report goes.
#[derive(Debug, Args)]
pub struct OutArgs {
    /// Write everything as JSON; - is stdout, in place of the table
    #[arg(long, visible_alias = "export-json", value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No progress on stderr
    #[arg(short, long)]
    pub quiet: bool,
}

/// Workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Reads and writes under one lock
    Rwlock,
    /// Sections under one mutex
    Mutex,
    /// The kernel's locktorture: nothing but sections; now and then a long one (--long-hold)
    Torture,
    /// 32,768 short reads, then a write that becomes a long read, then a write, of each thread: page faults
    /// of 128 MiB that are mapped and unmapped
    PageFault,
    /// Users that fork children and wait for them; each has 33 sections of 0.25 us under a lock that all
    /// share, 110 us apart
    Users,
    /// The same, but 40 us of work, then five sections of 0.5 us
    Forks,
    /// Operations of 2 us before and 2 us under the write lock of one directory
    CreateShared,
    /// The same, each thread in a directory of its own
    CreatePrivate,
    /// The same under the read lock of one directory
    ListShared,
}

/// Where threads begin.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Place {
    /// By the numbers of the CPUs
    Numbered,
    /// On all cores, node after node, then on their siblings likewise
    Filled,
    /// Each next one in another NUMA node, and there in another cache; siblings last
    Spread,
    /// On all CPUs of a NUMA node, cores before siblings, then on those of the next
    Nodes,
}

impl From<Place> for Placement {
    fn from(place: Place) -> Self {
        match place {
            Place::Numbered => Placement::Numbered,
            Place::Filled => Placement::Filled,
            Place::Spread => Placement::Spread,
            Place::Nodes => Placement::NodeByNode,
        }
    }
}
