//! `lockwright bench mutex`: plan, run, report.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lockwright_lab::disturbance::{self, Mark};
use lockwright_lab::machine::Machine;
use lockwright_lab::plan::Plan;
use lockwright_lab::report::{self, Shown, order};
use lockwright_lab::results::{BENCH_MUTEX, MutexBenchResult, SCHEMA_VERSION, Tool};
use lockwright_lab::run::{Samples, run as carry_out};
use lockwright_lab::summary::Summary;
use lockwright_workloads::mutex_bench::Interrupt;

use crate::args::{MutexArgs, Sort};
use crate::failure::{Failure, exit};
use crate::output::{self, Form, Target};
use crate::progress::Progress;
use crate::select;

/// How long to look whether the machine is at rest.
const LOOK: Duration = Duration::from_millis(200);

/// Raised by the first SIGINT, SIGTERM or SIGHUP.
static INTERRUPT: Interrupt = Interrupt::new();

/// Runs the command.
pub fn run(args: &MutexArgs) -> Result<ExitCode, Failure> {
    if args.list {
        Target::Stdout.write(select::listing().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (plan, baseline) = select::plan(args)?;
    let targets = output::targets(args)?;
    catch_signals()?;
    let result = measure(args, &plan, baseline)?;
    let Some(result) = result else {
        eprintln!("lockwright: interrupted before anything was measured; nothing written");
        return Ok(ExitCode::from(exit::INTERRUPTED));
    };
    for (form, target) in targets {
        target.write(&rendered(&result, form, args)?)?;
    }
    Ok(verdict(&result))
}

/// The first signal ends the measuring, the second the program.
fn catch_signals() -> Result<(), Failure> {
    let handler = || {
        if INTERRUPT.raise() {
            std::process::exit(exit::INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Environment(format!("cannot handle signals: {error}")))
}

/// Carries out the plan; `None` if nothing was measured before the interrupt.
fn measure(
    args: &MutexArgs,
    plan: &Plan,
    baseline: Option<usize>,
) -> Result<Option<MutexBenchResult>, Failure> {
    let mut warnings = Vec::new();
    let mut warn = |warning: Option<String>| {
        if let Some(warning) = warning {
            if !args.quiet {
                eprintln!("lockwright: warning: {warning}");
            }
            warnings.push(warning);
        }
    };
    warn(debug_build());
    warn(disturbance::before_run(LOOK, &INTERRUPT));
    let machine = Machine::here();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mark = Mark::now();
    let progress = Progress::begin(plan, args.quiet);
    let samples = carry_out(plan, machine.pause_ns, &INTERRUPT, &mut |done, step| {
        progress.step(plan, done, step);
    });
    progress.end();
    let samples = samples.map_err(|error| Failure::Environment(error.to_string()))?;
    warn(disturbance::after_run(mark));
    let summary = Summary { plan, samples: &samples, pause_ns: machine.pause_ns, baseline };
    let mut result = record(&summary, &samples, machine.clone(), started);
    if samples.is_empty() && result.violations.is_empty() {
        return Ok(None);
    }
    result.warnings = warnings;
    order::sort(&mut result, args.sort.into());
    Ok(Some(result))
}

fn record(
    summary: &Summary,
    samples: &Samples,
    machine: Machine,
    started: Duration,
) -> MutexBenchResult {
    MutexBenchResult {
        schema_version: SCHEMA_VERSION,
        record: BENCH_MUTEX.to_owned(),
        tool: Tool {
            name: "lockwright".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("LOCKWRIGHT_COMMIT").map(str::to_owned),
        },
        command_line: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        started_unix_s: started.as_secs(),
        machine,
        plan: summary.plan_record(),
        complete: samples.complete,
        warnings: Vec::new(),
        violations: summary.violations(),
        uncontended: summary.uncontended(),
        cells: summary.cells(),
    }
}

fn debug_build() -> Option<String> {
    cfg!(debug_assertions).then(|| {
        "this is a debug build: its figures say nothing about release builds; \
         build with --release"
            .to_owned()
    })
}

fn rendered(result: &MutexBenchResult, form: Form, args: &MutexArgs) -> Result<Vec<u8>, Failure> {
    let shown = Shown { interval: args.ci };
    let mut bytes = Vec::new();
    let failed = |error: String| Failure::Environment(format!("cannot render a report: {error}"));
    match form {
        Form::Table => bytes = report::table::render(result, shown).into_bytes(),
        Form::Markdown => bytes = report::markdown::render(result, shown).into_bytes(),
        Form::Json => {
            report::json::write(result, &mut bytes).map_err(|error| failed(error.to_string()))?;
        }
        Form::Csv => {
            report::csv::write(result, &mut bytes).map_err(|error| failed(error.to_string()))?;
        }
    }
    Ok(bytes)
}

/// Says what went wrong with the locks, and the exit code.
fn verdict(result: &MutexBenchResult) -> ExitCode {
    for violation in &result.violations {
        eprintln!(
            "lockwright: mutual exclusion violated: {} lost {} updates with {} threads, load {}",
            violation.lock, violation.lost_updates, violation.threads, violation.load_pauses
        );
    }
    if !result.violations.is_empty() {
        ExitCode::from(exit::CHECK_FAILED)
    } else if !result.complete {
        ExitCode::from(exit::INTERRUPTED)
    } else {
        ExitCode::SUCCESS
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
