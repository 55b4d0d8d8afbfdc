//! `lockwright bench seq`: plan, run, report.

use std::process::ExitCode;

use lockwright_lab::machine::Machine;
use lockwright_lab::plan::Step;
use lockwright_lab::report::{self, Shown};
use lockwright_lab::results::Header;
use lockwright_lab::run::RunError;
use lockwright_lab::seq::plan::{SeqCell, SeqMeasure, SeqPlan};
use lockwright_lab::seq::registry::{self, SeqSubject};
use lockwright_lab::seq::results::{BENCH_SEQ, SeqBenchResult};
use lockwright_lab::seq::run::{SeqSamples, run as carry_out};
use lockwright_lab::seq::summary::SeqSummary;

use crate::args::SeqArgs;
use crate::conduct::{Bench, INTERRUPT, conduct};
use crate::failure::Failure;
use crate::output::{Form, Target};
use crate::progress::Progress;
use crate::select::{baseline, chosen, listing, round_time};

/// What ratios refer to where it is measured.
const BASELINE: &str = "seqlock-crate";

/// Runs the command.
pub fn run(args: &SeqArgs) -> Result<ExitCode, Failure> {
    if args.list {
        Target::Stdout.write(listing(registry::listed()).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = plan(args)?;
    conduct(&SeqRun { args, plan }, BENCH_SEQ, &args.reports)
}

fn plan(args: &SeqArgs) -> Result<SeqPlan, Failure> {
    let known: Vec<&'static SeqSubject> = registry::listed().collect();
    let mut subjects = match &args.locks {
        Some(names) => chosen(&known, names)?,
        None => known.clone(),
    };
    let mut base = match &args.baseline {
        Some(name) => Some(baseline(&known, name, &mut subjects)?),
        None => subjects.iter().position(|subject| subject.name == BASELINE),
    };
    if args.no_reads {
        subjects.clear();
        base = None;
    }
    let mut plan = SeqPlan {
        baseline: base,
        subjects,
        protections: if args.no_faults { Vec::new() } else { registry::protections().collect() },
        cells: cells(args),
        rounds: args.rounds,
        warmup: args.warmup,
        round_time: args.secs.unwrap_or_default(),
        seed: args.seed,
    };
    if args.secs.is_none() {
        plan.round_time = round_time(plan.step_count());
    }
    Ok(plan)
}

fn cells(args: &SeqArgs) -> Vec<SeqCell> {
    let mut cells = Vec::new();
    for &write_every in &args.write_every {
        for &readers in &args.readers {
            let cell = SeqCell { readers, write_every };
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}

struct SeqRun<'a> {
    args: &'a SeqArgs,
    plan: SeqPlan,
}

impl Bench for SeqRun<'_> {
    type Samples = SeqSamples;
    type Result = SeqBenchResult;

    fn measure(&self, _machine: &Machine) -> Result<SeqSamples, RunError> {
        let plan = &self.plan;
        let quiet = self.args.reports.quiet;
        let progress = Progress::begin(&announcement(plan), plan.step_count(), quiet);
        let samples = carry_out(plan, &INTERRUPT, &mut |done, step| {
            progress.step(done, || describe(plan, step));
        });
        progress.end();
        samples
    }

    fn record(&self, samples: &SeqSamples, header: Header) -> Option<SeqBenchResult> {
        let summary = SeqSummary { plan: &self.plan, samples };
        let violations = summary.violations();
        if samples.is_empty() && violations.is_empty() {
            return None;
        }
        let mut result = SeqBenchResult {
            header,
            plan: summary.plan_record(),
            violations,
            cells: summary.cells(),
            faults: summary.faults(),
        };
        report::seq::sort(&mut result, self.args.sort.into());
        Some(result)
    }

    fn complete(&self, samples: &SeqSamples) -> bool {
        samples.complete
    }

    fn render(&self, result: &SeqBenchResult, form: Form) -> Result<Vec<u8>, String> {
        let shown = Shown { interval: self.args.ci, events: false };
        let mut bytes = Vec::new();
        match form {
            Form::Table => bytes = report::seq::table(result, shown).into_bytes(),
            Form::Markdown => bytes = report::seq::markdown(result, shown).into_bytes(),
            Form::Json => report::json::write(result, &mut bytes).map_err(|e| e.to_string())?,
            Form::Csv => report::seq::csv(result, &mut bytes).map_err(|e| e.to_string())?,
        }
        Ok(bytes)
    }

    fn condemn(&self, result: &SeqBenchResult) -> bool {
        for violation in &result.violations {
            say!(
                "lockwright: wrong answers: {} gave {} ({}) with {} readers",
                violation.lock,
                violation.count,
                violation.what,
                violation.readers
            );
        }
        !result.violations.is_empty()
    }
}

fn announcement(plan: &SeqPlan) -> String {
    format!(
        "measuring {} ways to read and {} protections in {} cells, {} rounds of {} ms: about {:.0} s",
        plan.subjects.len(),
        plan.protections.len(),
        plan.cells.len(),
        plan.rounds,
        plan.round_time.as_millis(),
        plan.expected_s().ceil()
    )
}

fn describe(plan: &SeqPlan, step: &Step<SeqMeasure>) -> String {
    match step.measure {
        SeqMeasure::Read(cell) => {
            format!("{}, {} readers", plan.subjects[step.lock].name, plan.cells[cell].readers)
        }
        SeqMeasure::Faults(cell) => {
            let protection = plan.protections[step.lock].name;
            format!("faults, {protection}, {} clients", plan.cells[cell].readers)
        }
    }
}
