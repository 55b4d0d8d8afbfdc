//! The command line of `lockwright sim` and `lockwright machines`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use lockwright_sim::Placement;

use crate::args::{help, threads};
use crate::mix_args::MixArgs;

pub const SIM_HELP: &str = "\
The locks' own code runs on a simulated machine: the figures are simulated time,
and the same wherever it runs (but those of --machine host, which is measured).
The machine is one of 'lockwright machines' or a file of that form.
'sim published' puts published results beside simulated ones.

Exit codes:
  0    done
  1    a check failed: a lock let two threads in, threads wait for each other, or
       nobody gets on; the other runs are shown
  2    wrong usage; nothing was simulated or written
  3    the system refused something
  130  interrupted; what had ended is shown and written

Examples:
  lockwright sim --machine epyc-9754-2s --workload mutex --threads 8,64,256 \\
             --policy mutex,peer-barging,peer-fair-after-0.5ms
  lockwright sim --machine ivybridge-ex-8s --policy reader-spin,timed-spin
  lockwright sim --workload guest --policy mutex,peer-barging --threads 9
  lockwright sim --readers 100 --policy default,seqcount --threads 1,60,240
  lockwright sim --vary latency=20 --policy v5.11 --threads 96
  lockwright sim --machine host --set core.rmw=4 --threads 2
  lockwright sim published --quick
  lockwright machines ivybridge-ex-8s > mine.toml";

pub const MACHINES_HELP: &str = help!(
    "A file of that form may begin with based_on = \"NAME\" and say only what is different.",
    "\
  lockwright machines
  lockwright machines epyc-9754-2s > mine.toml
  lockwright machines host                          this machine, measured"
);

pub const PUBLISHED_HELP: &str = help!(
    "\
The tables are compiled in. Each cell is run until it is sure, or as long as the
published run; what was fitted, or chosen in view of a table, stands out of every
stated error, and 'sim published --choices' lists it.",
    "\
  lockwright sim published --quick                  in a minute or two
  lockwright sim published rwsem-skylake-adaptive --long
  lockwright sim published --json published.json --markdown published.md
  lockwright sim published --commands               the command of each run"
);

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
    #[command(after_help = PUBLISHED_HELP)]
    Published(PublishedArgs),
}

/// A sweep.
#[derive(Clone, Debug, Args)]
pub struct SweepArgs {
    /// A machine's name, or a file
    #[arg(short, long, value_name = "MACHINE", default_value = "ivybridge-ex-8s")]
    pub machine: String,

    /// Numbers of the machine that are to be others, such as topology.sockets=4
    #[arg(long, value_name = "NAME=VALUE,..", value_delimiter = ',')]
    pub set: Vec<String>,

    /// What the threads do
    #[arg(short, long, value_name = "KIND", default_value = "rwlock")]
    pub workload: Kind,

    /// Locks: a policy of 'lockwright policies', a mutex (mutex, mutex-latency, mutex-atomic, mutex-kernel,
    /// mutex-2013-before, mutex-2013-after, peer-barging, peer-fair-after-0.5ms) where nobody reads, or
    /// seqcount where everybody does; or what begins with NAME, by NAME*
    /// [default: v5.2,v5.3,v5.11,default or mutex,mutex-kernel,peer-*]
    #[arg(short, long, visible_alias = "locks", value_name = "LOCK,..", value_delimiter = ',')]
    pub policy: Option<Vec<String>>,

    /// Numbers of threads
    #[arg(short, long, value_name = "N,..", value_delimiter = ',', value_parser = threads,
          default_value = "2,8,32,64,128,240")]
    pub threads: Vec<usize>,

    /// What the workload is made of.
    #[command(flatten)]
    pub work: WorkArgs,

    /// How reads and writes are mixed.
    #[command(flatten)]
    pub mix: MixArgs,

    /// Cache lines that each lock guards beside its counter: the section of a writer begins by changing them, that
    /// of a reader by reading them
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub lines: u32,

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

    /// Simulated milliseconds that count
    #[arg(long, value_name = "MS", default_value_t = 40,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub ms: u64,

    /// Simulated milliseconds before [default: half of --ms]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=100_000))]
    pub warmup: Option<u64>,

    /// End a run before --ms are over as soon as its rate is known to this percentage of itself, by means
    /// over batches
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=50))]
    pub sure: Option<u32>,

    /// Simulated milliseconds of a batch [default: a twentieth of --ms]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub batch: Option<u64>,

    /// Seeds: runs of each lock in each cell
    #[arg(short, long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: u64,

    /// Sensitivity: all again with a number of the machine, or those of a section, changed by this
    /// percentage, down and up, such as latency=20 or scheduler.wake=50
    #[arg(long, value_name = "NAME=PERCENT")]
    pub vary: Option<String>,

    /// Show the lock events, and what lines did
    #[arg(short, long)]
    pub events: bool,

    /// Where the report goes.
    #[command(flatten)]
    pub out: OutArgs,

    /// Write a line for each result as CSV; - is stdout, in place of the table
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// What a workload is made of; each is for some workloads only.
#[derive(Clone, Debug, Default, Args)]
pub struct WorkArgs {
    /// Percentage of reads (with --dedicated, of threads that read) [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub readers: Option<u32>,

    /// PAUSEs inside each section [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub load: Option<u32>,

    /// PAUSEs outside after each section [default: as many as --outside-ns take]
    #[arg(long, value_name = "N", conflicts_with = "outside_ns",
          value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub outside: Option<u32>,

    /// Nanoseconds outside of each section; where the unit is PAUSEs, so many of them
    /// [default: 1000, of directories 2000, of epoll 300, of users 110000, of torture and forks 0]
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    pub outside_ns: Option<u32>,

    /// Nanoseconds inside each section, of directories, epoll, users and forks
    /// [default: 2000, 100, 250, 500]
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    pub inside_ns: Option<u32>,

    /// Microseconds of sleep inside each section, of rwlock; inside one of --every, of stall
    /// [default: 0; 1000]
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub sleep_us: Option<u32>,

    /// One holder in so many sleeps, of stall; microseconds between two visits, of guest; between two
    /// bursts, of burst [default: 1000; 2000; 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    pub every: Option<u32>,

    /// What the guest does, and the hogs, of guest [default: writer-among-writers]
    #[arg(long, value_name = "WHO")]
    pub guest: Option<GuestIs>,

    /// Milliseconds: the rare long holds of torture last five times this, and are as much rarer; 0: there
    /// are none [default: 100]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(0..=800))]
    pub long_hold: Option<u32>,

    /// Locks that all take in turn, of users and forks; shards, of map [default: 1; 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub shards: Option<u32>,

    /// Sections between two forks, of users and forks [default: 33, 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sections: Option<u32>,

    /// Nanoseconds of work after each fork, of users and forks [default: 0, 40000]
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    pub work_ns: Option<u32>,
}

/// `lockwright sim published`.
#[derive(Debug, Args)]
pub struct PublishedArgs {
    /// Tables [default: all that can be simulated]
    #[arg(value_name = "TABLE")]
    pub tables: Vec<String>,

    /// A fifth of the simulated time at least needed, and no more; one run of each cell
    #[arg(long)]
    pub quick: bool,

    /// Every run as long as the published one, up to 5 s, however sure it is before
    #[arg(long, conflicts_with = "quick")]
    pub long: bool,

    /// Sensitivity: all again with a number of the machines, or those of a section, changed by this
    /// percentage, down and up, such as latency=20: which verdicts depend on them (three times as long)
    #[arg(long, value_name = "NAME=PERCENT")]
    pub vary: Option<String>,

    /// All with numbers of a machine that are others, such as skylake-2s:latency.near=141.4
    #[arg(long, value_name = "MACHINE:NAME=VALUE,..", value_delimiter = ',')]
    pub set: Vec<String>,

    /// All with Long's benchmark mixing its reads and writes another way: drawn, dedicated, or in blocks of
    /// N sections
    #[arg(long, value_name = "HOW")]
    pub mix: Option<String>,

    /// All with so many PAUSEs between the sections of Long's benchmark
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub outside: Option<u32>,

    /// All with threads bound in another order
    #[arg(long, value_name = "HOW")]
    pub placement: Option<Place>,

    /// Show the commands that repeat each run, and run nothing
    #[arg(long, conflicts_with_all = ["choices", "vary"])]
    pub commands: bool,

    /// Show what was fitted or chosen in view of the tables, and run nothing
    #[arg(long)]
    pub choices: bool,

    /// Write errors and verdicts as Markdown; - is stdout, in place of the tables
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

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
#[derive(Clone, Debug, Args)]
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
    /// perf bench epoll ctl: all add, change and remove in one set of event counters, under its mutex
    EpollControl,
    /// perf bench epoll wait: one thread posts events, all others take them from one set, under its mutex
    EpollWait,
    /// One thread comes every so often to a lock that all others take again and again
    Guest,
    /// Sections whose holders sleep now and then
    Stall,
    /// Reads and writes of a map of shards, each under its lock
    Map,
    /// All threads want the lock at once, then nobody does
    Burst,
}

/// What a guest does, and the hogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GuestIs {
    /// All write
    WriterAmongWriters,
    /// The guest writes, hogs read
    WriterAmongReaders,
    /// The guest reads, hogs write
    ReaderAmongWriters,
}

/// Where threads begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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

impl From<Placement> for Place {
    fn from(placement: Placement) -> Self {
        match placement {
            Placement::Numbered => Place::Numbered,
            Placement::Filled => Place::Filled,
            Placement::Spread => Place::Spread,
            Placement::NodeByNode => Place::Nodes,
        }
    }
}
