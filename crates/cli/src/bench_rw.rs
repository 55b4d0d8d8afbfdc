//! `lockwright bench rwlock`: plan, run, report.

use std::process::ExitCode;

use lockwright_lab::machine::Machine;
use lockwright_lab::plan::Step;
use lockwright_lab::report::{self, Shown};
use lockwright_lab::results::Header;
use lockwright_lab::run::RunError;
use lockwright_lab::rw::plan::{RwCell, RwMeasure, RwPlan};
use lockwright_lab::rw::registry::{self, RwSubject};
use lockwright_lab::rw::results::{BENCH_RWLOCK, RwBenchResult};
use lockwright_lab::rw::run::{RwSamples, run as carry_out};
use lockwright_lab::rw::summary::RwSummary;

use crate::args::RwArgs;
use crate::conduct::{Bench, INTERRUPT, conduct};
use crate::failure::Failure;
use crate::output::{Form, Target};
use crate::progress::Progress;
use crate::select::{baseline, chosen, listing, round_time};

/// Runs the command.
pub fn run(args: &RwArgs) -> Result<ExitCode, Failure> {
    if args.list {
        Target::Stdout.write(listing(registry::listed()).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = plan(args)?;
    conduct(&RwRun { args, plan }, BENCH_RWLOCK, &args.reports)
}

fn plan(args: &RwArgs) -> Result<RwPlan, Failure> {
    let broken = registry::broken().filter(|_| args.include_broken);
    let known: Vec<&'static RwSubject> = registry::listed().chain(broken).collect();
    let mut locks = match (&args.locks, &args.policy) {
        (Some(names), _) => chosen(&known, names)?,
        (None, Some(_)) => Vec::new(),
        // The stages of the series are for those who ask: fifteen locks bury the comparison.
        (None, None) => known
            .iter()
            .copied()
            .filter(|lock| lock.name == "lockwright" || lock.policy.is_none())
            .collect(),
    };
    for name in args.policy.iter().flatten() {
        let lock = of_policy(name)?;
        if locks.iter().all(|have| have.name != lock.name) {
            locks.push(lock);
        }
    }
    args.mix.check(&args.readers)?;
    let baseline = match &args.baseline {
        Some(name) => Some(baseline(&known, name, &mut locks)?),
        None => None,
    };
    let mut plan = RwPlan {
        locks,
        cells: cells(args),
        baseline,
        rounds: args.rounds,
        warmup: args.warmup,
        round_time: args.secs.unwrap_or_default(),
        seed: args.seed,
        uncontended: !args.no_uncontended,
    };
    if args.secs.is_none() {
        plan.round_time = round_time(plan.step_count());
    }
    Ok(plan)
}

/// The lock with the policy of this name.
fn of_policy(name: &str) -> Result<&'static RwSubject, Failure> {
    registry::listed().find(|lock| lock.policy == Some(name.trim())).ok_or_else(|| {
        let known: Vec<_> = registry::listed().filter_map(|lock| lock.policy).collect();
        Failure::Usage(format!("unknown policy '{name}'; known: {}", known.join(", ")))
    })
}

fn cells(args: &RwArgs) -> Vec<RwCell> {
    let mut cells = Vec::new();
    for &readers in &args.readers {
        for &threads in &args.threads {
            for &load in &args.load {
                for &outside in &args.outside {
                    let mix = args.mix.mix();
                    let cell = RwCell { threads, readers, mix, load, outside };
                    if !cells.contains(&cell) {
                        cells.push(cell);
                    }
                }
            }
        }
    }
    cells
}

struct RwRun<'a> {
    args: &'a RwArgs,
    plan: RwPlan,
}

impl Bench for RwRun<'_> {
    type Samples = RwSamples;
    type Result = RwBenchResult;

    fn measure(&self, _machine: &Machine) -> Result<RwSamples, RunError> {
        let plan = &self.plan;
        let quiet = self.args.reports.quiet;
        let progress = Progress::begin(&announcement(plan), plan.step_count(), quiet);
        let samples = carry_out(plan, &INTERRUPT, &mut |done, step| {
            progress.step(done, || describe(plan, step));
        });
        progress.end();
        samples
    }

    fn record(&self, samples: &RwSamples, header: Header) -> Option<RwBenchResult> {
        let pause_ns = header.machine.pause_ns;
        let summary = RwSummary { plan: &self.plan, samples, pause_ns };
        let violations = summary.violations();
        if samples.is_empty() && violations.is_empty() {
            return None;
        }
        let mut result = RwBenchResult {
            header,
            plan: summary.plan_record(),
            violations,
            uncontended: summary.uncontended(),
            cells: summary.cells(),
        };
        report::rw::sort(&mut result, self.args.sort.into());
        Some(result)
    }

    fn complete(&self, samples: &RwSamples) -> bool {
        samples.complete
    }

    fn render(&self, result: &RwBenchResult, form: Form) -> Result<Vec<u8>, String> {
        let shown = Shown { interval: self.args.ci, events: self.args.events };
        let mut bytes = Vec::new();
        match form {
            Form::Table => bytes = report::rw::table(result, shown).into_bytes(),
            Form::Markdown => bytes = report::rw::markdown(result, shown).into_bytes(),
            Form::Json => report::json::write(result, &mut bytes).map_err(|e| e.to_string())?,
            Form::Csv => report::rw::csv(result, &mut bytes).map_err(|e| e.to_string())?,
        }
        Ok(bytes)
    }

    fn condemn(&self, result: &RwBenchResult) -> bool {
        for violation in &result.violations {
            say!(
                "lockwright: exclusion violated: {} let a writer in beside others {} times with {} threads",
                violation.lock,
                violation.intrusions,
                violation.threads
            );
        }
        !result.violations.is_empty()
    }
}

fn announcement(plan: &RwPlan) -> String {
    format!(
        "measuring {} locks in {} cells, {} rounds of {} ms: about {:.0} s",
        plan.locks.len(),
        plan.cells.len(),
        plan.rounds,
        plan.round_time.as_millis(),
        plan.expected_s().ceil()
    )
}

fn describe(plan: &RwPlan, step: &Step<RwMeasure>) -> String {
    let lock = plan.locks[step.lock].name;
    match step.measure {
        RwMeasure::Uncontended => format!("{lock}, uncontended"),
        RwMeasure::Round(cell) => {
            let cell = &plan.cells[cell];
            format!("{lock}, {} threads, {} % reads", cell.threads, cell.readers)
        }
    }
}
