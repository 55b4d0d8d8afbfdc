//! `lockwright bench mutex`: plan, run, report.

use std::process::ExitCode;

use lockwright_lab::machine::Machine;
use lockwright_lab::plan::{Measure, Plan, Step};
use lockwright_lab::registry;
use lockwright_lab::report::{self, Shown, order};
use lockwright_lab::results::{BENCH_MUTEX, Header, MutexBenchResult};
use lockwright_lab::run::{RunError, Samples, run as carry_out};
use lockwright_lab::summary::Summary;

use crate::args::{MutexArgs, Sort};
use crate::conduct::{Bench, INTERRUPT, conduct};
use crate::failure::Failure;
use crate::output::{Form, Target};
use crate::progress::Progress;
use crate::select;

/// Runs the command.
pub fn run(args: &MutexArgs) -> Result<ExitCode, Failure> {
    if args.list {
        Target::Stdout.write(select::listing(registry::listed()).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (plan, baseline) = select::plan(args)?;
    conduct(&MutexBench { args, plan, baseline }, BENCH_MUTEX, &args.reports)
}

struct MutexBench<'a> {
    args: &'a MutexArgs,
    plan: Plan,
    baseline: Option<usize>,
}

impl Bench for MutexBench<'_> {
    type Samples = Samples;
    type Result = MutexBenchResult;

    fn measure(&self, machine: &Machine) -> Result<Samples, RunError> {
        let plan = &self.plan;
        let quiet = self.args.reports.quiet;
        let progress = Progress::begin(&announcement(plan), plan.step_count(), quiet);
        let samples = carry_out(plan, machine.pause_ns, &INTERRUPT, &mut |done, step| {
            progress.step(done, || describe(plan, step));
        });
        progress.end();
        samples
    }

    fn record(&self, samples: &Samples, header: Header) -> Option<MutexBenchResult> {
        let pause_ns = header.machine.pause_ns;
        let summary = Summary { plan: &self.plan, samples, pause_ns, baseline: self.baseline };
        let violations = summary.violations();
        if samples.is_empty() && violations.is_empty() {
            return None;
        }
        let mut result = MutexBenchResult {
            schema_version: header.schema_version,
            record: header.record,
            tool: header.tool,
            command_line: header.command_line,
            started_unix_s: header.started_unix_s,
            machine: header.machine,
            plan: summary.plan_record(),
            complete: header.complete,
            warnings: header.warnings,
            violations,
            uncontended: summary.uncontended(),
            cells: summary.cells(),
        };
        order::sort(&mut result, self.args.sort.into());
        Some(result)
    }

    fn complete(&self, samples: &Samples) -> bool {
        samples.complete
    }

    fn render(&self, result: &MutexBenchResult, form: Form) -> Result<Vec<u8>, String> {
        let shown = Shown { interval: self.args.ci, events: self.args.events };
        let mut bytes = Vec::new();
        match form {
            Form::Table => bytes = report::table::render(result, shown).into_bytes(),
            Form::Markdown => bytes = report::markdown::render(result, shown).into_bytes(),
            Form::Json => report::json::write(result, &mut bytes).map_err(|e| e.to_string())?,
            Form::Csv => report::csv::write(result, &mut bytes).map_err(|e| e.to_string())?,
        }
        Ok(bytes)
    }

    fn condemn(&self, result: &MutexBenchResult) -> bool {
        for violation in &result.violations {
            say!(
                "lockwright: mutual exclusion violated: {} lost {} updates with {} threads, load {}",
                violation.lock,
                violation.lost_updates,
                violation.threads,
                violation.load_pauses
            );
        }
        !result.violations.is_empty()
    }
}

fn announcement(plan: &Plan) -> String {
    format!(
        "measuring {} locks in {} cells, {} rounds of {} ms: about {:.0} s",
        plan.locks.len(),
        plan.cells.len(),
        plan.rounds,
        plan.round_time.as_millis(),
        plan.expected_s().ceil()
    )
}

fn describe(plan: &Plan, step: &Step) -> String {
    let lock = plan.locks[step.lock].name;
    let setting = |cell: usize| {
        let cell = &plan.cells[cell];
        format!("{lock}, {} threads, load {}", cell.threads, cell.load)
    };
    match step.measure {
        Measure::Uncontended => format!("{lock}, uncontended"),
        Measure::Throughput(cell) => setting(cell),
        Measure::Latency(cell) => format!("{}, waits", setting(cell)),
    }
}

impl From<Sort> for order::Order {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Speed => order::Order::Speed,
            Sort::Name => order::Order::Name,
            Sort::Plan => order::Order::Plan,
        }
    }
}
