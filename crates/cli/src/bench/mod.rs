//! `lockwright bench`: locks compared on this machine, a file for each benchmark.

mod mutex;
mod older;
pub mod patterns;
mod rwlock;
mod seq;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use lockwright_lab::arms::choose::Family;
use lockwright_lab::arms::locks::Lock;
use lockwright_lab::experiment::plan::Order;
use lockwright_lab::experiment::{Arm, Cell, Experiment};
use lockwright_lab::record::Record;
use lockwright_lab::report::layout::{Page, Shown, page};
use lockwright_lab::report::{csv, json, markdown, openmetrics, table};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{Form, Target};
use crate::session::{Reports, session, unrenderable};
use older::Older;

/// `lockwright bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchArgs {
    /// What to compare.
    #[command(subcommand)]
    pub what: Option<BenchCommand>,
    /// Without a subcommand: mutexes.
    #[command(flatten)]
    pub mutex: mutex::MutexArgs,
}

/// What can be compared.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Compare mutexes: throughput, fairness, CPU time, context switches, waits
    #[command(after_help = mutex::HELP)]
    Mutex(mutex::MutexArgs),
    /// Compare reader-writer locks, and the policies of this project's
    #[command(after_help = rwlock::HELP)]
    Rwlock(rwlock::RwArgs),
    /// Compare locks as programs use them: guests, turns, queues, bursts, maps, crowds
    #[command(after_help = patterns::HELP)]
    Patterns(patterns::PatternArgs),
    /// Compare ways to read what is seldom written, and the protections of a node mask
    #[command(after_help = seq::HELP)]
    Seq(seq::SeqArgs),
}

pub use mutex::HELP;

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        None => bench(&args.mutex.run, Family::Mutexes, || args.mutex.experiment(), nothing_more),
        Some(BenchCommand::Mutex(args)) => {
            bench(&args.run, Family::Mutexes, || args.experiment(), nothing_more)
        }
        Some(BenchCommand::Rwlock(args)) => {
            bench(&args.run, Family::RwLocks, || args.experiment(), nothing_more)
        }
        Some(BenchCommand::Patterns(args)) => {
            bench(&args.run, Family::Patterns, || args.experiment(), nothing_more)
        }
        Some(BenchCommand::Seq(args)) => {
            bench(&args.run, Family::Sequences, || args.experiment(), seq::finish)
        }
    }
}

fn bench(
    args: &RunArgs,
    family: Family,
    experiment: impl FnOnce() -> Result<Experiment, Failure>,
    finish: impl Fn(&Record, &mut Page),
) -> Result<ExitCode, Failure> {
    if args.list {
        Target::Stdout.write(listing(&family.locks(false)).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let older = args.baseline_file().map(Older::read).transpose()?;
    let experiment = experiment()?;
    let mut shown = args.shown();
    if let Some(older) = &older {
        older.check(&experiment)?;
        shown.references = older.references(&experiment);
    }
    let reports = Tables { shown, finish, older, seed: args.seed };
    let done = session(&experiment, &args.reports, &reports)?;
    Ok(ExitCode::from(done.code))
}

/// A record as tables, to whose page `finish` may add.
struct Tables<F> {
    shown: Shown,
    finish: F,
    older: Option<Older>,
    seed: u64,
}

impl<F: Fn(&Record, &mut Page)> Reports for Tables<F> {
    fn render(&self, record: &Record, form: Form) -> Result<Vec<u8>, Failure> {
        let judged =
            self.older.as_ref().map_or_else(Vec::new, |older| older.judge(record, self.seed));
        let finished = || {
            let mut page = page(record, &self.shown);
            (self.finish)(record, &mut page);
            if let Some(older) = &self.older {
                older.add(&mut page, &judged, self.seed);
            }
            page
        };
        let mut bytes = Vec::new();
        match form {
            Form::Table => bytes = table::render(&finished()).into_bytes(),
            Form::Markdown => {
                bytes = markdown::render(&finished(), &record.header.command_line).into_bytes();
            }
            Form::Json => {
                json::write_judged(record, &judged, &mut bytes).map_err(unrenderable)?;
            }
            Form::Csv => csv::write(record, &mut bytes).map_err(unrenderable)?,
            Form::OpenMetrics => bytes = openmetrics::render(record).into_bytes(),
        }
        Ok(bytes)
    }
}

fn nothing_more(_: &Record, _: &mut Page) {}

/// What can be chosen, as a table for people.
fn listing(known: &[&'static Lock]) -> String {
    let width = known.iter().map(|lock| lock.name.len()).max().unwrap_or(0);
    let line =
        |lock: &&Lock| format!("{:width$}  {:13}  {}\n", lock.name, lock.role.name(), lock.about);
    known.iter().map(line).collect()
}

/// The arms that a command line asks for, and which of them is the baseline.
struct Arms {
    arms: Vec<Arm>,
    baseline: Option<usize>,
}

/// The locks that were asked for, or else the defaults; a baseline is measured too if it was not
/// among them.
fn arms(args: &RunArgs, family: Family, defaults: fn(&Lock) -> bool) -> Result<Arms, Failure> {
    let wrong = |option: &'static str| move |why| Failure::Usage(format!("{option}: {why}"));
    let broken = args.include_broken;
    let mut locks = match &args.locks {
        Some(names) => family.choose(names, broken).map_err(wrong("--locks"))?,
        None => family.locks(false).into_iter().filter(|lock| defaults(lock)).collect(),
    };
    let baseline = match args.baseline_lock() {
        None => None,
        Some(name) => {
            let found = family.choose(&[name.to_owned()], broken).map_err(wrong("--baseline"))?;
            let [lock] = found[..] else {
                return Err(Failure::Usage(format!(
                    "--baseline takes one lock, '{name}' is several"
                )));
            };
            Some(locks.iter().position(|have| have.name == lock.name).unwrap_or_else(|| {
                locks.push(lock);
                locks.len() - 1
            }))
        }
    };
    Ok(Arms { arms: locks.into_iter().map(|lock| Arm::from(*lock)).collect(), baseline })
}

impl RunArgs {
    fn experiment(&self, name: &'static str, arms: Arms, cells: Vec<Cell>) -> Experiment {
        Experiment {
            name,
            arms: arms.arms,
            baseline: arms.baseline,
            cells,
            rounds: self.rounds,
            warmup: self.warmup,
            seed: self.seed,
            order: Order::Shuffled,
        }
    }
}
