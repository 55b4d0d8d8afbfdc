//! `lockwright compare`: locks, result files or commands against a base.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use lockwright_lab::analysis::compare::{
    DEFAULT_RUNS, Judged, Limits, Pair, Verdict, between, hidden_differences, judge,
    machines_differ, within,
};
use lockwright_lab::experiment::plan::Order;
use lockwright_lab::experiment::{Arm, Cell, Experiment};
use lockwright_lab::loads::command::command;
use lockwright_lab::record::metric::Metric;
use lockwright_lab::record::{Record, read};
use lockwright_lab::report::compare::{Shown, csv, page, verdict_records};
use lockwright_lab::report::layout::heading;
use lockwright_lab::report::{json, markdown, openmetrics, others, table};

use crate::args::{ReportArgs, help};
use crate::failure::{Failure, exit};
use crate::output::{self, Form, Target, target_of};
use crate::session::{Reports, Session, session_to, unrenderable};
use crate::values::{judged_by, share};
use crate::workload::{CommandArgs, WorkloadArgs};

pub const HELP: &str = help!(
    "\
What is compared is a file if its name ends in .json, else a command; of one file
alone, its own arms. Files may be those of sim. Commands and
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
  lockwright compare result.json --base std         the locks of one result
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

    /// What the locks are put through.
    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// Runs of each
    #[arg(short, long, visible_alias = "rounds", value_name = "N", default_value_t = DEFAULT_RUNS,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: u32,

    /// Runs of each before, whose figures do not count
    #[arg(short, long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmup: u32,

    /// Names for the commands, in their order
    #[arg(short = 'n', long, value_name = "NAME")]
    pub command_name: Vec<String>,

    /// What is done around each run of a command.
    #[command(flatten)]
    pub commands: CommandArgs,

    /// How the comparison is laid out
    #[arg(long, value_name = "LAYOUT", default_value = "own")]
    pub layout: Layout,

    /// The figure to judge by, such as voluntary_switches [default: each table's first]
    #[arg(long, value_name = "METRIC", value_parser = judged_by)]
    pub metric: Option<&'static Metric>,

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
    if let [file] = args.what.as_slice()
        && is_file(file)
        && !args.base.iter().any(is_file)
    {
        return of_one_file(args, file, &exports);
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
        judge(pairs, self.metric, self.shown().limits, self.seed)
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
        args.commands.command(text).arm(args.command_name.get(at).unwrap_or(text).clone())
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
    let names: Vec<String> = args.base.iter().chain(&args.locks).cloned().collect();
    let cells = args.workload.cells()?;
    let arms = args.workload.arms(&names, &cells)?;
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
            Form::OpenMetrics => bytes = openmetrics::render(record).into_bytes(),
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
    let Session { record, code } =
        session_to(&experiment, args.reports.quiet, targets, &comparison)?;
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

/// The arms of one result file against each other: those named by `--base`, or else the first,
/// against all others.
fn of_one_file(
    args: &CompareArgs,
    name: &str,
    exports: &[(Export, Target)],
) -> Result<ExitCode, Failure> {
    let targets = targets(args, exports)?;
    let record = read(Path::new(name)).map_err(|why| Failure::Usage(format!("{name}: {why}")))?;
    let known = || record.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", ");
    let place = |base: &String| {
        record.arms.iter().position(|arm| arm.name == *base).ok_or_else(|| {
            Failure::Usage(format!("--base: {name} has no '{base}'; it has: {}", known()))
        })
    };
    let bases: Vec<usize> = match args.base.as_slice() {
        [] => vec![0],
        bases => bases.iter().map(place).collect::<Result<_, _>>()?,
    };
    let pairs = within(&record, &bases);
    if pairs.is_empty() {
        let why = format!("{name}: there is nothing to compare; it has: {}", known());
        return Err(Failure::Usage(why));
    }
    let judged = args.judge(pairs);
    let all = [(name, &record)];
    hidden_differences(&all).iter().for_each(|one| say!("lockwright: warning: {one}"));
    for (form, target) in targets {
        target.write(&render_files(args, &judged, &all, form)?)?;
    }
    write_exports(&record, exports)?;
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
        Form::OpenMetrics => {
            bytes = all.last().map_or_else(Vec::new, |(_, last)| openmetrics::render(last).into());
        }
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
