//! What every benchmark does around its measuring: signals, warnings, the record's header, files.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lockwright_lab::disturbance::{self, Mark};
use lockwright_lab::machine::Machine;
use lockwright_lab::results::{Header, SCHEMA_VERSION, Tool};
use lockwright_lab::run::RunError;
use lockwright_workloads::harness::Interrupt;

use crate::args::ReportArgs;
use crate::failure::{Failure, exit};
use crate::output::{self, Form};

/// How long to look whether the machine is at rest.
const LOOK: Duration = Duration::from_millis(200);

/// Raised by the first SIGINT, SIGTERM or SIGHUP.
pub static INTERRUPT: Interrupt = Interrupt::new();

/// A benchmark between its plan and its exit code.
pub trait Bench {
    /// What is measured.
    type Samples;
    /// What is written.
    type Result;

    /// Measures, until done or [`INTERRUPT`] is raised.
    fn measure(&self, machine: &Machine) -> Result<Self::Samples, RunError>;

    /// The record; `None` if nothing was measured.
    fn record(&self, samples: &Self::Samples, header: Header) -> Option<Self::Result>;

    /// Whether every step was carried out.
    fn complete(&self, samples: &Self::Samples) -> bool;

    /// The record in one form.
    fn render(&self, result: &Self::Result, form: Form) -> Result<Vec<u8>, String>;

    /// Says what went wrong with what was measured, and whether anything did.
    fn condemn(&self, result: &Self::Result) -> bool;
}

/// Carries a benchmark out and writes its reports. `name` is the kind of record.
pub fn conduct<B: Bench>(bench: &B, name: &str, args: &ReportArgs) -> Result<ExitCode, Failure> {
    // Before anything is measured, so that no run is lost to a bad path.
    let targets = output::targets(args)?;
    catch_signals()?;
    let mut warnings = Warnings { quiet: args.quiet, all: Vec::new() };
    warnings.add(debug_build());
    warnings.add(disturbance::before_run(LOOK, &INTERRUPT));
    let machine = Machine::here();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mark = Mark::now();
    let samples = bench.measure(&machine).map_err(|e| Failure::Environment(e.to_string()))?;
    warnings.add(disturbance::after_run(mark));
    let complete = bench.complete(&samples);
    let header = header(name, machine, started, complete, warnings.all);
    let Some(result) = bench.record(&samples, header) else {
        say!("lockwright: interrupted before anything was measured; nothing written");
        return Ok(ExitCode::from(exit::INTERRUPTED));
    };
    for (form, target) in targets {
        let report = bench.render(&result, form);
        let failed = |error| Failure::Environment(format!("cannot render a report: {error}"));
        target.write(&report.map_err(failed)?)?;
    }
    Ok(if bench.condemn(&result) {
        ExitCode::from(exit::CHECK_FAILED)
    } else if !complete {
        ExitCode::from(exit::INTERRUPTED)
    } else {
        ExitCode::SUCCESS
    })
}

struct Warnings {
    quiet: bool,
    all: Vec<String>,
}

impl Warnings {
    fn add(&mut self, warning: Option<String>) {
        if let Some(warning) = warning {
            if !self.quiet {
                say!("lockwright: warning: {warning}");
            }
            self.all.push(warning);
        }
    }
}

/// The first signal ends the measuring, the second the program.
pub fn catch_signals() -> Result<(), Failure> {
    let handler = || {
        if INTERRUPT.raise() {
            std::process::exit(exit::INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Environment(format!("cannot handle signals: {error}")))
}

fn debug_build() -> Option<String> {
    cfg!(debug_assertions).then(|| {
        "this is a debug build: its figures say nothing about release builds; \
         build with --release"
            .to_owned()
    })
}

fn header(
    name: &str,
    machine: Machine,
    started: Duration,
    complete: bool,
    warnings: Vec<String>,
) -> Header {
    Header {
        schema_version: SCHEMA_VERSION,
        record: name.to_owned(),
        tool: Tool {
            name: "lockwright".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("LOCKWRIGHT_COMMIT").map(str::to_owned),
        },
        command_line: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        started_unix_s: started.as_secs(),
        machine,
        complete,
        warnings,
    }
}
