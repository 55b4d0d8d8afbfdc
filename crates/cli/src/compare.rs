//! `lockwright compare`: locks, result files or commands against a base.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lockwright_lab::analysis::compare::{
    DEFAULT_RUNS, Judged, Limits, Pair, Verdict, between, hidden_differences, judge,
    machines_differ, within,
};
use lockwright_lab::arms::choose::Family;
use lockwright_lab::arms::commands::{Command, Sampled};
use lockwright_lab::experiment::plan::Order;
use lockwright_lab::experiment::{Arm, Cell, Experiment};
use lockwright_lab::loads::command::command;
use lockwright_lab::loads::mutex::{self, Pace};
use lockwright_lab::loads::patterns::{Name, Options};
use lockwright_lab::loads::rwlock;
use lockwright_lab::record::{Record, read};
use lockwright_lab::report::compare::{Shown, csv, page, verdict_records};
use lockwright_lab::report::layout::heading;
use lockwright_lab::report::{json, markdown, others, table};
use lockwright_workloads::rw_bench::{Mix, Percent};

use crate::args::{ReportArgs, help};
use crate::failure::{Failure, exit};
use crate::output::{self, Form, Target, target_of};
use crate::session::{Conducted, Reports, conduct_to, machine, unrenderable};
use crate::values::{Numbers, pauses, seconds, share, thread_counts};

pub const HELP: &str = help!(
    "\
What is compared is a file if its name ends in .json, else a command. Commands and
locks run in turns, A B B A, so that what drifts in time hits all alike. Runnable
threads of each CPU are sampled from /proc meanwhile, without root.

Verdicts are corrected over all comparisons together: better, worse, same, the
same with a wider spread, or too noisy to say. With --fail-on the exit code is 4
if anything is worse by at least so much.",
    "\
  lockwright compare './old --bench' './new --bench'
  lockwright compare -w 2 -r 20 --prepare 'sync' 'make -j2' 'make -j4'
  lockwright compare --locks rwsem-steal,rwsem-fifo --workload forks --threads 32
  lockwright compare old.json new.json --fail-on 5%
  lockwright compare --base 6.1.json --base 6.2.json new.json --layout lkp
  lockwright compare './a' './b' --layout hyperfine --json ab.json"
);

/// `lockwright compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Result files or commands; the first is the base unless --base names it
    #[arg(value_name = "FILE.json|COMMAND")]
    pub what: Vec<String>,

    /// What others are compared with; several are taken together, so that the luck of one build
    /// is in the base's spread
    #[arg(short, long, value_name = "FILE.json|COMMAND|LOCK")]
    pub base: Vec<String>,

    /// Locks to compare on a workload
    #[arg(short, long, value_name = "LOCK,..", value_delimiter = ',', conflicts_with = "what")]
    pub locks: Vec<String>,

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

    /// Runs of each
    #[arg(short, long, visible_alias = "rounds", value_name = "N", default_value_t = DEFAULT_RUNS,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: u32,

    /// Runs of each before, whose figures do not count
    #[arg(short, long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,

    /// Command to run before each run of a command, not timed
    #[arg(short, long, value_name = "COMMAND")]
    pub prepare: Option<String>,

    /// Command to run after each run of a command, not timed
    #[arg(short, long, value_name = "COMMAND")]
    pub cleanup: Option<String>,

    /// Names for the commands, in their order
    #[arg(short = 'n', long, value_name = "NAME")]
    pub command_name: Vec<String>,

    /// Exit codes other than 0 are results too
    #[arg(short, long)]
    pub ignore_failure: bool,

    /// Show what the commands print
    #[arg(long)]
    pub show_output: bool,

    /// How the comparison is laid out
    #[arg(long, value_name = "LAYOUT", default_value = "own")]
    pub layout: Layout,

    /// Every figure of every comparison, not only those that are judged
    #[arg(short, long)]
    pub all: bool,

    /// Changes smaller than this do not matter, such as 2%
    #[arg(long, value_name = "SHARE", default_value = "0.5%", value_parser = share)]
    pub min_effect: f64,

    /// Chance of a false alarm in all comparisons together
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
    pub alpha: f64,

    /// Exit with code 4 if anything is worse, by at least this much
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_on: Option<f64>,

    /// Compare results of different machines
    #[arg(long)]
    pub force: bool,

    /// Seed of what is left to chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Write each run as benchstat reads it; - is stdout
    #[arg(long, value_name = "FILE")]
    pub benchstat: Option<PathBuf>,

    /// Write figures as Bencher reads them (BMF); - is stdout
    #[arg(long, value_name = "FILE")]
    pub bmf: Option<PathBuf>,

    /// Write each run as Apache Otava reads it (CSV); - is stdout
    #[arg(long, value_name = "FILE")]
    pub otava: Option<PathBuf>,

    /// Where the reports go.
    #[command(flatten)]
    pub reports: ReportArgs,
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

/// Layouts of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// Verdicts, and what explains them
    Own,
    /// As lkp-tests' compare
    Lkp,
    /// As Go's benchstat
    Benchstat,
    /// As hyperfine (commands only)
    Hyperfine,
}

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let is_file = |name: &String| name.ends_with(".json");
    let exports = exports(args)?;
    let all: Vec<&String> = args.base.iter().chain(&args.what).collect();
    if !args.locks.is_empty() {
        return measured(args, of_locks(args)?, &exports);
    }
    if all.len() < 2 {
        let why = "what is to be compared? Two or more files, commands, or --locks A,B";
        return Err(Failure::Usage(why.to_owned()));
    }
    match all.iter().filter(|name| is_file(name)).count() {
        0 => measured(args, of_commands(args)?, &exports),
        files if files == all.len() => of_files(args, &exports),
        _ => {
            Err(Failure::Usage("files and commands cannot be compared with each other".to_owned()))
        }
    }
}

impl CompareArgs {
    fn shown(&self) -> Shown {
        let limits = Limits { alpha: self.alpha, min_effect: self.min_effect, ..Limits::default() };
        Shown { all: self.all, limits, seed: self.seed }
    }

    fn judge<'a>(&self, pairs: Vec<Pair<'a>>) -> Vec<Judged<'a>> {
        judge(pairs, self.shown().limits, self.seed)
    }

    /// The exit code that verdicts ask for.
    fn code(&self, judged: &[Judged]) -> u8 {
        let Some(limit) = self.fail_on else { return exit::OK };
        let worse = |one: &&Judged| {
            one.verdict == Verdict::Worse && one.headline.change.is_some_and(|by| by.abs() >= limit)
        };
        let count = judged.iter().filter(worse).count();
        if count > 0 {
            say!("lockwright: {count} worse by at least {:.1} %", 100.0 * limit);
            return exit::WORSE;
        }
        exit::OK
    }

    /// The comparison as text; `record` is what hyperfine's layout is of.
    fn text(&self, judged: &[Judged], heading: Vec<String>, record: Option<&Record>) -> String {
        match (self.layout, record) {
            (Layout::Lkp, _) => others::lkp(judged, self.seed),
            (Layout::Benchstat, _) => others::benchstat(judged),
            (Layout::Hyperfine, Some(record)) => others::hyperfine(record),
            _ => table::render(&page(judged, heading, self.shown())),
        }
    }
}

/// Commands, as an experiment.
fn of_commands(args: &CompareArgs) -> Result<Experiment, Failure> {
    let all: Vec<&String> = args.base.iter().chain(&args.what).collect();
    if args.command_name.len() > all.len() {
        return Err(Failure::Usage("--command-name: more names than commands".to_owned()));
    }
    let arm = |(at, text): (usize, &&String)| {
        let command = Command {
            prepare: args.prepare.clone(),
            cleanup: args.cleanup.clone(),
            ignore_failure: args.ignore_failure,
            show_output: args.show_output,
            ..Command::new(text)
        };
        command.arm(args.command_name.get(at).unwrap_or(text).clone())
    };
    let arms: Vec<Arm> = all.iter().enumerate().map(arm).collect();
    let named = |at: usize| &arms[at].record.name;
    if let Some(twice) = (1..arms.len()).find(|&at| (0..at).any(|other| named(at) == named(other)))
    {
        let why = format!("'{}' is there twice; give the commands names with -n", named(twice));
        return Err(Failure::Usage(why));
    }
    Ok(experiment(args, arms, vec![command()]))
}

/// Locks on a workload, as an experiment.
fn of_locks(args: &CompareArgs) -> Result<Experiment, Failure> {
    let family = match args.workload {
        Workload::Mutex => Family::Mutexes,
        Workload::Rwlock => Family::RwLocks,
        _ => Family::Patterns,
    };
    let names: Vec<String> = args.base.iter().chain(&args.locks).cloned().collect();
    let wrong = |why| Failure::Usage(format!("--locks: {why}"));
    let locks = family.choose(&names, false).map_err(wrong)?;
    let cells = cells(args)?;
    let mut arms: Vec<Arm> = locks.into_iter().map(|lock| Arm::from(*lock)).collect();
    for arm in &mut arms {
        if !cells.iter().any(|cell| arm.run.fits(&cell.load)) {
            return Err(Failure::Usage(format!(
                "--locks: {} does not fit the workload",
                arm.record.name
            )));
        }
        let inner = std::mem::replace(&mut arm.run, Box::new(Command::new("true")));
        arm.run = Box::new(Sampled(inner));
    }
    if arms.len() < 2 {
        return Err(Failure::Usage("--locks: a comparison takes two locks or more".to_owned()));
    }
    Ok(experiment(args, arms, cells))
}

fn experiment(args: &CompareArgs, arms: Vec<Arm>, cells: Vec<Cell>) -> Experiment {
    Experiment {
        name: "compare",
        arms,
        cells,
        rounds: args.runs,
        warmup: args.warmup,
        seed: args.seed,
        baseline: None,
        order: Order::Abba,
    }
}

/// The cells of the workload.
fn cells(args: &CompareArgs) -> Result<Vec<Cell>, Failure> {
    let threads: Vec<usize> = args.threads.iter().flat_map(Numbers::threads).collect();
    let of = |numbers: &Option<Numbers>, default: u32| -> Vec<u32> {
        numbers.as_ref().map_or_else(|| vec![default], |numbers| numbers.pauses().collect())
    };
    let window = Some(args.secs.unwrap_or(Duration::from_millis(500)));
    let pause_ns = machine().pause_ns;
    let name = match args.workload {
        Workload::Mutex | Workload::Rwlock => {
            let threads = if threads.is_empty() { vec![8] } else { threads };
            return Ok(sections(
                args,
                &threads,
                &of(&args.load, 20),
                &of(&args.outside, 0),
                window,
                pause_ns,
            ));
        }
        Workload::Guest => Name::Guest,
        Workload::Turns => Name::Turns,
        Workload::Queue => Name::Queue,
        Workload::Pool => Name::Pool,
        Workload::Burst => Name::Burst,
        Workload::Map => Name::Map,
        Workload::Stall => Name::Stall,
        Workload::Crowd => Name::Crowd,
        Workload::Forks => Name::Forks,
    };
    if !args.readers.is_empty() {
        return Err(Failure::Usage("--readers is for --workload rwlock".to_owned()));
    }
    let list = |numbers: &Option<Numbers>| numbers.iter().flat_map(Numbers::pauses).collect();
    let options = Options {
        window,
        threads,
        load: list(&args.load),
        outside: list(&args.outside),
        every: Vec::new(),
        cpus: machine().cpus_allowed.unwrap_or(1),
        pause_ns,
    };
    Ok(options.cells(name))
}

/// Cells of the mutex's or the reader-writer lock's benchmark.
fn sections(
    args: &CompareArgs,
    threads: &[usize],
    loads: &[u32],
    outsides: &[u32],
    window: Option<Duration>,
    pause_ns: f64,
) -> Vec<Cell> {
    let mut settings = Vec::new();
    for &threads in threads {
        for &load in loads {
            settings.extend(outsides.iter().map(|&outside| (threads, load, outside)));
        }
    }
    if args.workload == Workload::Mutex {
        let setting = |&(threads, load, outside): &(usize, u32, u32)| mutex::Setting {
            threads,
            load,
            pace: Pace::Steady { outside },
        };
        let options = mutex::Options { window, uncontended: false, waits: false, pause_ns };
        return mutex::cells(&settings.iter().map(setting).collect::<Vec<_>>(), options);
    }
    let default = [Percent::whole(50)];
    let readers = if args.readers.is_empty() { &default[..] } else { &args.readers };
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

/// How a comparison that was measured is shown.
struct Comparison<'a> {
    args: &'a CompareArgs,
    /// Arms that make up the base.
    bases: Vec<usize>,
}

impl Comparison<'_> {
    fn judged<'a>(&self, record: &'a Record) -> Vec<Judged<'a>> {
        self.args.judge(within(record, &self.bases))
    }
}

impl Reports for Comparison<'_> {
    fn render(&self, record: &Record, form: Form) -> Result<Vec<u8>, Failure> {
        let judged = self.judged(record);
        let mut bytes = Vec::new();
        match form {
            Form::Table => {
                bytes = self.args.text(&judged, heading(record), Some(record)).into_bytes()
            }
            Form::Markdown => {
                let page = page(&judged, heading(record), self.args.shown());
                bytes = markdown::render(&page, &record.header.command_line).into_bytes();
            }
            Form::Json => {
                json::write_judged(record, &judged, &mut bytes).map_err(unrenderable)?;
            }
            Form::Csv => csv(&judged, &mut bytes).map_err(unrenderable)?,
        }
        Ok(bytes)
    }
}

fn measured(
    args: &CompareArgs,
    experiment: Experiment,
    exports: &[(Export, Target)],
) -> Result<ExitCode, Failure> {
    let comparison = Comparison { args, bases: (0..args.base.len().max(1)).collect() };
    if comparison.bases.len() >= experiment.arms.len() {
        return Err(Failure::Usage("nothing is left to be compared with the base".to_owned()));
    }
    let targets = targets(args, exports)?;
    let Conducted { record, code } =
        conduct_to(&experiment, args.reports.quiet, targets, &comparison)?;
    let Some(record) = record else { return Ok(ExitCode::from(code)) };
    write_exports(&record, exports)?;
    let code = if code == exit::OK { args.code(&comparison.judged(&record)) } else { code };
    Ok(ExitCode::from(code))
}

/// Result files.
fn of_files(args: &CompareArgs, exports: &[(Export, Target)]) -> Result<ExitCode, Failure> {
    let targets = targets(args, exports)?;
    let (bases, rest) = match args.base.as_slice() {
        [] => args.what.split_at(1),
        bases => (bases, args.what.as_slice()),
    };
    if rest.is_empty() {
        return Err(Failure::Usage("nothing is left to be compared with the base".to_owned()));
    }
    let load = |name: &String| -> Result<(String, Record), Failure> {
        let record =
            read(Path::new(name)).map_err(|why| Failure::Usage(format!("{name}: {why}")))?;
        Ok((name.clone(), record))
    };
    let bases: Vec<_> = bases.iter().map(load).collect::<Result<_, _>>()?;
    let rest: Vec<_> = rest.iter().map(load).collect::<Result<_, _>>()?;
    let named = |all: &'_ [(String, Record)]| -> Vec<(String, Record)> { all.to_vec() };
    let everything: Vec<(String, Record)> = named(&bases).into_iter().chain(named(&rest)).collect();
    let all: Vec<(&str, &Record)> =
        everything.iter().map(|(name, record)| (name.as_str(), record)).collect();
    check_machines(args, &all)?;
    let (base, others) = all.split_at(bases.len());
    let mut pairs = Vec::new();
    for &other in others {
        pairs.extend(between(base, other));
    }
    if pairs.is_empty() {
        let why = "the files have no arm and setting in common";
        return Err(Failure::Usage(why.to_owned()));
    }
    let judged = args.judge(pairs);
    for (form, target) in targets {
        target.write(&render_files(args, &judged, &all, form)?)?;
    }
    for (_, record) in others {
        write_exports(record, exports)?;
    }
    Ok(ExitCode::from(args.code(&judged)))
}

fn check_machines(args: &CompareArgs, all: &[(&str, &Record)]) -> Result<(), Failure> {
    let differences = machines_differ(all);
    if !differences.is_empty() && !args.force {
        let all = differences.join("; ");
        return Err(Failure::Usage(format!(
            "the results are of different machines ({all}); --force compares them nevertheless"
        )));
    }
    for difference in differences.iter().chain(&hidden_differences(all)) {
        say!("lockwright: warning: {difference}");
    }
    Ok(())
}

fn render_files(
    args: &CompareArgs,
    judged: &[Judged],
    all: &[(&str, &Record)],
    form: Form,
) -> Result<Vec<u8>, Failure> {
    let heading = || {
        all.iter()
            .map(|(name, record)| format!("{name}: {}", record.header.command_line.join(" ")))
            .collect()
    };
    let mut bytes = Vec::new();
    match form {
        Form::Table => bytes = args.text(judged, heading(), None).into_bytes(),
        Form::Markdown => {
            let command: Vec<String> = std::env::args().collect();
            bytes = markdown::render(&page(judged, heading(), args.shown()), &command).into_bytes();
        }
        Form::Json => {
            let value = serde_json::json!({
                "schema_version": lockwright_lab::record::SCHEMA_VERSION,
                "record": "comparison",
                "files": all.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                "verdicts": verdict_records(judged),
            });
            bytes = serde_json::to_vec_pretty(&value).map_err(unrenderable)?;
            bytes.push(b'\n');
        }
        Form::Csv => csv(judged, &mut bytes).map_err(unrenderable)?,
    }
    Ok(bytes)
}

/// A format that another tool reads.
#[derive(Clone, Copy, Debug)]
enum Export {
    Benchstat,
    Bmf,
    Otava,
}

fn exports(args: &CompareArgs) -> Result<Vec<(Export, Target)>, Failure> {
    let asked = [
        (Export::Benchstat, &args.benchstat),
        (Export::Bmf, &args.bmf),
        (Export::Otava, &args.otava),
    ];
    let asked = asked.into_iter().filter_map(|(export, path)| Some((export, path.as_ref()?)));
    asked.map(|(export, path)| Ok((export, target_of(path)?))).collect()
}

/// Where the reports go, whose exports have theirs already.
fn targets(
    args: &CompareArgs,
    exports: &[(Export, Target)],
) -> Result<Vec<(Form, Target)>, Failure> {
    let taken: Vec<Target> = exports.iter().map(|(_, target)| target.clone()).collect();
    output::targets_beside(&args.reports, &taken)
}

fn write_exports(record: &Record, exports: &[(Export, Target)]) -> Result<(), Failure> {
    for (export, target) in exports {
        let bytes = match export {
            Export::Benchstat => others::go_benchmarks(record).into_bytes(),
            Export::Bmf => serde_json::to_vec_pretty(&others::bmf(record)).map_err(unrenderable)?,
            Export::Otava => others::otava(record).map_err(unrenderable)?,
        };
        target.write(&bytes)?;
    }
    Ok(())
}
