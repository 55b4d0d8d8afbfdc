//! `lockwright bisect`: the step of a series at which it got worse.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use lockwright_lab::analysis::bisect::{Answer, Found, Side, Stop, Wanted, search, side_of};
use lockwright_lab::arms::revisions::{self, Repository};
use lockwright_lab::experiment::plan::Order;
use lockwright_lab::experiment::view;
use lockwright_lab::experiment::{Arm, Cell, Experiment, Run, RunError, Turn};
use lockwright_lab::loads::command::command;
use lockwright_lab::record::metric::{Better, Metric};
use lockwright_lab::record::{Header, Record, Sample, read};
use lockwright_lab::report::json;
use lockwright_lab::report::number::show;

use crate::failure::{Failure, exit};
use crate::output::{Target, target_of};
use crate::progress::Progress;
use crate::session::{INTERRUPT, catch_signals, header};
use crate::values::{judged_by, share};
use crate::workload::{CommandArgs, WorkloadArgs};

pub const HELP: &str = "\
The steps are commands or locks in their order, or the revisions of a git range,
each built in a folder of its own. First the ends are measured in turns: they must
be stable and differ. Then ranges are halved, each middle measured in turns with
the range's ends for as long as the wanted certainty takes; so several bad steps
are found. Each is measured again with the step before it, in fresh runs.

With --state FILE everything that was measured is kept there, and the same command
goes on from it after an interruption.

With --good and --bad, results of 'lockwright compare --json', one command is told
from both, as 'git bisect run' wants it: exit code 0 good, 1 bad, 125 cannot say.

Exit codes:
  0    a bad step was found, and showed again
  1    none was found, the ends vary too much, or what was found did not show again
  2    wrong usage; nothing was measured
  3    the system refused something, or a command failed
  130  interrupted; with --state nothing is lost

Examples:
  lockwright bisect --locks 'rwsem-steal,rwsem-v5.2,rwsem-handoff' --workload forks
  lockwright bisect './v1 --bench' './v2 --bench' './v3 --bench' './v4 --bench'
  lockwright bisect --git v1.2..main --build 'make -j2' './bench' --state b.json
  git bisect run lockwright bisect --good good.json --bad bad.json --build make ./bench";

/// `lockwright bisect`.
#[derive(Debug, Args)]
pub struct BisectArgs {
    /// Commands in the order of the steps; with --git, --good: the one that is run for each
    #[arg(value_name = "COMMAND")]
    pub what: Vec<String>,

    /// Locks in the order of the steps
    #[arg(short, long, value_name = "LOCK,..", value_delimiter = ',', conflicts_with_all = ["what", "git"])]
    pub locks: Vec<String>,

    /// What the locks are put through.
    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// Revisions of the repository at hand, along first parents
    #[arg(long, value_name = "GOOD..BAD")]
    pub git: Option<String>,

    /// Command that builds a revision
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,

    /// A result that is good, to tell one command from
    #[arg(long, value_name = "FILE.json", requires = "bad", conflicts_with = "git")]
    pub good: Option<PathBuf>,

    /// A result that is bad
    #[arg(long, value_name = "FILE.json", requires = "good")]
    pub bad: Option<PathBuf>,

    /// The figure that got worse, such as voluntary_switches [default: the workload's own]
    #[arg(long, value_name = "METRIC", value_parser = judged_by)]
    pub metric: Option<&'static Metric>,

    /// Chance that all answers are right
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = share)]
    pub certainty: f64,

    /// Changes smaller than this do not matter
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
    pub min_effect: f64,

    /// Spread above which an end is not stable
    #[arg(long, value_name = "SHARE", default_value = "20%", value_parser = share)]
    pub stable: f64,

    /// Runs of each step for one question at most
    #[arg(long, value_name = "N", default_value_t = 40,
          value_parser = clap::value_parser!(u32).range(5..=100_000))]
    pub max_runs: u32,

    /// Keep what is measured in FILE, and go on from it
    #[arg(long, value_name = "FILE.json")]
    pub state: Option<PathBuf>,

    /// What is done around each run of a command.
    #[command(flatten)]
    pub commands: CommandArgs,

    /// Write the answer to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// No progress on stderr
    #[arg(short, long)]
    pub quiet: bool,
}

/// Runs the command.
pub fn run(args: &BisectArgs) -> Result<ExitCode, Failure> {
    if let (Some(good), Some(bad)) = (&args.good, &args.bad) {
        return tell(args, good, bad);
    }
    let (arms, cell) = steps(args)?;
    let target = target_of(args.output.as_deref().unwrap_or(Path::new("-")))?;
    let metric = args.metric.unwrap_or(view::of(cell.record.kind).headline);
    catch_signals()?;
    let experiment = Experiment {
        name: "bisect",
        arms,
        cells: vec![cell],
        rounds: args.max_runs,
        warmup: 0,
        seed: 1,
        baseline: None,
        order: Order::Abba,
    };
    let mut journal = Journal::open(args, &experiment)?;
    let progress = Progress::begin("bisecting", u64::from(args.max_runs), args.quiet);
    let wanted = Wanted {
        certainty: args.certainty,
        min_effect: args.min_effect,
        stable_cv: 100.0 * args.stable,
        most: args.max_runs as usize,
        ..Wanted::default()
    };
    let count = experiment.arms.len();
    let answer = search(count, metric.better == Better::Lower, wanted, &mut |steps| {
        let measured = steps.iter().map(|&step| {
            progress.step(0, || experiment.arms[step].record.name.clone());
            journal.figure(&experiment, step, metric)
        });
        measured.collect()
    });
    progress.end();
    let answer = match answer {
        Ok(answer) => answer,
        Err(Ended::Interrupted) => {
            say!("lockwright: interrupted; {}", journal.kept());
            return Ok(ExitCode::from(exit::INTERRUPTED));
        }
        Err(Ended::Failed(failure)) => return Err(failure),
    };
    let record = journal.record(&experiment, true);
    target.write(report(&answer, &record, metric).as_bytes())?;
    let found = matches!(&answer, Answer::Steps(all) if all.iter().any(|one| one.confirmed));
    Ok(ExitCode::from(if found { exit::OK } else { exit::CHECK_FAILED }))
}

/// The steps as arms, and the cell in which they are measured.
fn steps(args: &BisectArgs) -> Result<(Vec<Arm>, Cell), Failure> {
    let usage = |why: String| Failure::Usage(why);
    let (arms, cell) = if let Some(range) = &args.git {
        let [text] = &args.what[..] else {
            return Err(usage("--git takes one command, which is run in each revision".to_owned()));
        };
        let here =
            std::env::current_dir().map_err(|error| Failure::Environment(error.to_string()))?;
        let wrong = |why: String| Failure::Usage(format!("--git {range}: {why}"));
        let repository = Repository::new(&here, args.build.clone(), args.commands.show_output);
        let repository = Arc::new(repository.map_err(wrong)?);
        let revisions = repository.revisions(range).map_err(wrong)?;
        let arm = |(hash, subject): &(String, String)| {
            revisions::arm(&repository, hash, subject, args.commands.command(text))
        };
        (revisions.iter().map(arm).collect(), command())
    } else if args.locks.is_empty() {
        let arm = |(at, text): (usize, &String)| {
            args.commands.command(text).arm(format!("{}: {text}", at + 1))
        };
        (args.what.iter().enumerate().map(arm).collect::<Vec<_>>(), command())
    } else {
        let cells = args.workload.cells()?;
        let arms = args.workload.arms(&args.locks, &cells)?;
        let many = cells.len();
        let mut fitting =
            cells.into_iter().filter(|cell| arms.iter().all(|arm| arm.run.fits(&cell.load)));
        match (fitting.next(), fitting.next()) {
            (Some(cell), None) => (arms, cell),
            (None, _) => {
                return Err(usage(
                    "--locks: no setting of the workload fits all of them".to_owned(),
                ));
            }
            (Some(_), Some(_)) => {
                let why = format!(
                    "the workload has {many} settings; narrow it down to one, such as by --threads 32"
                );
                return Err(usage(why));
            }
        }
    };
    if arms.len() < 2 {
        return Err(usage("a series takes two steps or more".to_owned()));
    }
    Ok((arms, cell))
}

/// Why the search ended without an answer.
enum Ended {
    Interrupted,
    Failed(Failure),
}

/// What was measured: from an earlier run first, then anew.
struct Journal {
    header: Header,
    /// All runs, in the order of time.
    samples: Vec<Sample>,
    /// How many of them have been asked for again.
    replayed: usize,
    state: Option<Target>,
}

impl Journal {
    /// In a sample: the step cannot be measured.
    const UNTESTABLE: &str = "untestable";

    fn open(args: &BisectArgs, experiment: &Experiment) -> Result<Self, Failure> {
        let mut journal =
            Journal { header: header("bisect"), samples: Vec::new(), replayed: 0, state: None };
        let Some(path) = &args.state else { return Ok(journal) };
        let name = path.display();
        journal.state = Some(target_of(path)?);
        if fs::metadata(path).is_ok_and(|meta| meta.len() > 0) {
            let wrong = |why: String| Failure::Usage(format!("--state {name}: {why}"));
            let record = read(path).map_err(|why| wrong(why.to_string()))?;
            let names = |record: &Record| -> Vec<String> {
                record.arms.iter().map(|arm| arm.name.clone()).collect()
            };
            let own = experiment.record(journal.header.clone(), Vec::new());
            if record.header.record != "bisect"
                || names(&record) != names(&own)
                || record.cells != own.cells
            {
                return Err(wrong(
                    "it is of another bisection; name another file, or remove it".to_owned(),
                ));
            }
            journal.samples = record.samples;
            let runs = journal.samples.len();
            say!("lockwright: going on from {runs} runs in {name}");
        }
        Ok(journal)
    }

    /// The figure of one run of a step.
    fn figure(
        &mut self,
        experiment: &Experiment,
        step: usize,
        metric: &'static Metric,
    ) -> Result<f64, Stop<Ended>> {
        let failed = |failure| Stop::Failed(Ended::Failed(failure));
        let sample = match self.samples.get(self.replayed).filter(|sample| sample.arm == step) {
            Some(sample) => sample.clone(),
            None => {
                // What was asked for in another order is of other options; it is measured anew.
                self.samples.truncate(self.replayed);
                let sample = self.measure(experiment, step)?;
                self.samples.push(sample.clone());
                self.save(experiment);
                sample
            }
        };
        self.replayed += 1;
        if sample.values.contains_key(Self::UNTESTABLE) {
            return Err(Stop::Untestable(step));
        }
        metric.of(&sample).filter(|&figure| figure > 0.0).ok_or_else(|| {
            let name = &experiment.arms[step].record.name;
            failed(Failure::Environment(format!("{name} has no {} above 0", metric.key)))
        })
    }

    fn measure(&self, experiment: &Experiment, step: usize) -> Result<Sample, Stop<Ended>> {
        let cell = &experiment.cells[0];
        let round = self.samples.len() as u32;
        let turn =
            Turn { window: Duration::from_secs_f64(cell.record.window_s), seed: u64::from(round) };
        let place = Sample { arm: step, round: Some(round), ..Sample::default() };
        let run: &dyn Run = &*experiment.arms[step].run;
        let sample = match run.run(&cell.load, turn, &INTERRUPT) {
            Ok(sample) => Sample { arm: step, round: Some(round), ..sample },
            Err(error @ RunError::Build { .. }) => {
                say!("lockwright: warning: {error}; going around it");
                Sample { round: None, values: [(Self::UNTESTABLE.to_owned(), 1.0)].into(), ..place }
            }
            Err(error) => {
                return Err(Stop::Failed(Ended::Failed(Failure::Environment(error.to_string()))));
            }
        };
        if INTERRUPT.is_raised() {
            return Err(Stop::Failed(Ended::Interrupted));
        }
        if let Some(fault) = sample.faults.first() {
            let name = &experiment.arms[step].record.name;
            say!("lockwright: warning: {name} is broken: {}, {} times", fault.what, fault.count);
        }
        Ok(sample)
    }

    fn record(&self, experiment: &Experiment, complete: bool) -> Record {
        let header = Header { complete, ..self.header.clone() };
        experiment.record(header, self.samples.clone())
    }

    fn save(&self, experiment: &Experiment) {
        let Some(state) = &self.state else { return };
        let mut bytes = Vec::new();
        let written = json::write(&self.record(experiment, false), &mut bytes)
            .and_then(|()| state.write_soon(&bytes));
        if let Err(error) = written {
            say!("lockwright: warning: cannot keep what was measured: {error}");
        }
    }

    fn kept(&self) -> String {
        match &self.state {
            Some(_) => {
                format!("{} runs are kept, the same command goes on from them", self.samples.len())
            }
            None => "nothing is kept without --state FILE".to_owned(),
        }
    }
}

/// The answer in words.
fn report(answer: &Answer, record: &Record, metric: &'static Metric) -> String {
    let name = |step: usize| record.arms[step].name.as_str();
    let mut text = String::from("steps measured\n");
    for (step, arm) in record.arms.iter().enumerate() {
        let samples = record.measured(step, 0);
        if samples.is_empty() {
            continue;
        }
        let figures: Vec<f64> = samples.iter().filter_map(|sample| metric.of(sample)).collect();
        let middle = lockwright_lab::stats::median(&figures);
        let spread = lockwright_lab::stats::cv_percent(&figures).unwrap_or(0.0);
        let about =
            if arm.about == arm.name || arm.name.ends_with(&arm.about) { "" } else { &arm.about };
        let shown = show(metric.unit, middle);
        text += &format!(
            "  {:<24} {} {shown} ±{spread:.0}%, {} runs  {about}\n",
            arm.name,
            metric.head,
            samples.len()
        );
    }
    text.push('\n');
    match answer {
        Answer::Unstable { step, cv_percent } => {
            text += &format!(
                "{} varies by {cv_percent:.0} %: too much to find a step by. Make its runs longer, the \
                 machine quieter, or raise --stable.\n",
                name(*step)
            );
        }
        Answer::NoChange { change } => {
            text += &format!(
                "no step: {} is not worse than {} ({:+.1} %).\n",
                name(record.arms.len() - 1),
                name(0),
                100.0 * change
            );
        }
        Answer::Steps(all) => all.iter().for_each(|found| text += &sentence(found, record, metric)),
    }
    text
}

fn sentence(found: &Found, record: &Record, metric: &Metric) -> String {
    let name = |step: usize| record.arms[step].name.as_str();
    let [low, high] = found.interval.map(|end| 100.0 * end);
    let change =
        format!("{} {:+.1} % (95 %: {low:+.1} to {high:+.1})", metric.head, 100.0 * found.change);
    let between = match found.step - found.before {
        1 => String::new(),
        gap => format!(" or one of the {} before it that could not be measured", gap - 1),
    };
    if found.confirmed {
        format!(
            "first bad step: {}{between}, with probability {:.3}\n  against {}, measured again: {change}\n",
            name(found.step),
            found.probability,
            name(found.before)
        )
    } else {
        format!("{}{between} looked bad and did not show again: {change}\n", name(found.step))
    }
}

/// Tells one command from a good and a bad result.
fn tell(args: &BisectArgs, good: &Path, bad: &Path) -> Result<ExitCode, Failure> {
    const GOOD: u8 = 0;
    const BAD: u8 = 1;
    const CANNOT_SAY: u8 = 125;
    let [text] = &args.what[..] else {
        return Err(Failure::Usage("--good and --bad take one command".to_owned()));
    };
    let cell = command();
    let metric = args.metric.unwrap_or(view::of(cell.record.kind).headline);
    let [good, bad] = [("--good", good), ("--bad", bad)].map(|(option, path)| {
        let wrong = |why: String| Failure::Usage(format!("{option} {}: {why}", path.display()));
        let record = read(path).map_err(|why| wrong(why.to_string()))?;
        let measured = record.samples.iter().filter(|sample| sample.is_measured());
        let figures: Vec<f64> = measured.filter_map(|sample| metric.of(sample)).collect();
        if figures.len() < 2 {
            Err(wrong(format!("it has no two runs with {}", metric.key)))
        } else {
            Ok(figures)
        }
    });
    let (good, bad) = (good?, bad?);
    catch_signals()?;
    if let Some(build) = &args.build {
        let status = std::process::Command::new("sh").args(["-c", build]).status();
        if !status.is_ok_and(|status| status.success()) {
            say!("lockwright: '{build}' failed: cannot say");
            return Ok(ExitCode::from(CANNOT_SAY));
        }
    }
    let arm = args.commands.command(text).arm(text.clone());
    let mut figures = Vec::new();
    for run in 0..args.max_runs {
        let turn = Turn { window: Duration::ZERO, seed: u64::from(run) };
        let sample = match arm.run.run(&cell.load, turn, &INTERRUPT) {
            Ok(sample) => sample,
            Err(error) => {
                say!("lockwright: {error}: cannot say");
                return Ok(ExitCode::from(CANNOT_SAY));
            }
        };
        if INTERRUPT.is_raised() {
            return Ok(ExitCode::from(exit::INTERRUPTED));
        }
        figures.extend(metric.of(&sample));
        let side =
            (figures.len() >= 3).then(|| side_of(&good, &bad, &figures, args.certainty)).flatten();
        if let Some(side) = side {
            let (word, code) = if side == Side::Good { ("good", GOOD) } else { ("bad", BAD) };
            let middle = show(metric.unit, lockwright_lab::stats::median(&figures));
            say!("lockwright: {word}: {} {middle} in {} runs", metric.head, figures.len());
            return Ok(ExitCode::from(code));
        }
    }
    say!("lockwright: between good and bad after {} runs: cannot say", args.max_runs);
    Ok(ExitCode::from(CANNOT_SAY))
}
