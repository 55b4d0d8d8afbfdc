//! What every measuring command does around its experiment: signals, warnings, the record's
//! header, files that hold what was measured so far, exit codes.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lockwright_lab::environment::interference::{self, Mark};
use lockwright_lab::environment::machine::Machine;
use lockwright_lab::experiment::Experiment;
use lockwright_lab::experiment::plan::Step;
use lockwright_lab::experiment::run::{Event, Outcome, run};
use lockwright_lab::record::{Header, Record, SCHEMA_VERSION, Sample, Tool};
use lockwright_lab::report::json;
use lockwright_lab::report::layout::counted;
use lockwright_workloads::harness::Interrupt;

use crate::args::ReportArgs;
use crate::failure::{Failure, exit};
use crate::output::{self, Form, Target};
use crate::progress::Progress;

/// How long to look whether the machine is at rest.
const LOOK: Duration = Duration::from_millis(200);

/// Raised by the first SIGINT, SIGTERM or SIGHUP.
pub static INTERRUPT: Interrupt = Interrupt::new();

/// The machine, measured once: what titles say of it is what the header says.
pub fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(Machine::here)
}

/// How a record is shown.
pub trait Reports {
    /// The record in one form.
    ///
    /// # Errors
    ///
    /// What a form cannot hold.
    fn render(&self, record: &Record, form: Form) -> Result<Vec<u8>, Failure>;
}

/// That a report cannot be made.
pub fn unrenderable(why: impl std::fmt::Display) -> Failure {
    Failure::Environment(format!("cannot render a report: {why}"))
}

/// What came of an experiment: its record, unless nothing was measured, and the exit code.
pub struct Session {
    /// The record.
    pub record: Option<Record>,
    /// 0, or what went wrong.
    pub code: u8,
}

/// Carries an experiment out and writes its reports.
pub fn session(
    experiment: &Experiment,
    args: &ReportArgs,
    reports: &impl Reports,
) -> Result<Session, Failure> {
    // Before anything is measured, so that no run is lost to a bad path.
    session_to(experiment, args.quiet, output::targets(args)?, reports)
}

/// The same with the reports' targets given.
pub fn session_to(
    experiment: &Experiment,
    quiet: bool,
    targets: Vec<(Form, Target)>,
    reports: &impl Reports,
) -> Result<Session, Failure> {
    catch_signals()?;
    let mut warnings = Warnings::default();
    warnings.add(debug_build());
    warnings.add(interference::governor_varies(machine().governor.as_deref()));
    warnings.add(interference::before_run(LOOK, &INTERRUPT));
    let mut header = header(experiment.name);
    header.warnings.clone_from(&warnings.0);
    let mark = Mark::now();
    let outcome = measure(experiment, &header, &targets, quiet);
    warnings.add(interference::after_run(mark));
    warnings.add(interference::speed_changed(machine().pause_ns));
    header.complete = outcome.complete;
    header.warnings = warnings.0;
    let (complete, nothing, error) = (outcome.complete, outcome.is_empty(), outcome.error);
    let failed = error.map(|error| Failure::Environment(error.to_string()));
    if nothing {
        return match failed {
            Some(failure) => Err(failure),
            None => {
                say!("lockwright: interrupted before anything was measured; nothing written");
                Ok(Session { record: None, code: exit::INTERRUPTED })
            }
        };
    }
    let record = experiment.record(header, outcome.samples);
    for (form, target) in targets {
        target.write(&reports.render(&record, form)?)?;
    }
    let faults = report_faults(&record);
    let code = match failed {
        _ if faults => exit::CHECK_FAILED,
        Some(failure) => return Err(failure),
        None if !complete => exit::INTERRUPTED,
        None => exit::OK,
    };
    Ok(Session { record: Some(record), code })
}

/// Runs the experiment with progress; the JSON file has what was measured so far.
fn measure(
    experiment: &Experiment,
    header: &Header,
    targets: &[(Form, Target)],
    quiet: bool,
) -> Outcome {
    let what = announcement(experiment);
    let progress = Progress::begin(&what, experiment.step_count(), quiet);
    let mut so_far = SoFar::new(targets);
    let outcome = run(experiment, &INTERRUPT, &mut |event| match event {
        Event::Begins(done, step) => progress.step(done, || describe(experiment, step)),
        Event::Ended(samples) => so_far.keep(samples, || {
            let header = Header { complete: false, ..header.clone() };
            experiment.record(header, samples.to_vec())
        }),
    });
    progress.end();
    outcome
}

/// What was measured so far, in the JSON file: whoever kills the run keeps it.
struct SoFar<'a> {
    file: Option<&'a Target>,
    written: Instant,
    took: Duration,
}

impl<'a> SoFar<'a> {
    /// Writing takes at most one part in so many of the time.
    const SHARE: u32 = 20;

    fn new(targets: &'a [(Form, Target)]) -> Self {
        let file = |(form, target): &&(Form, Target)| {
            *form == Form::Json && matches!(target, Target::File(_))
        };
        let file = targets.iter().find(file).map(|(_, target)| target);
        SoFar { file, written: Instant::now(), took: Duration::ZERO }
    }

    fn keep(&mut self, samples: &[Sample], record: impl FnOnce() -> Record) {
        let Some(file) = self.file else { return };
        let measured = samples.last().is_some_and(Sample::is_measured);
        if !measured || self.written.elapsed() < Self::SHARE * self.took {
            return;
        }
        let began = Instant::now();
        let mut bytes = Vec::new();
        if json::write(&record(), &mut bytes).is_ok() {
            // If it cannot be written now, it is said at the end, when it cannot be either.
            let _ = file.write_soon(&bytes);
        }
        self.took = began.elapsed();
        self.written = Instant::now();
    }
}

/// Says what locks did wrong, and whether any did.
fn report_faults(record: &Record) -> bool {
    let faults = record.faults();
    for fault in &faults {
        let (name, title) = (&fault.arm.name, &fault.cell.title);
        say!("lockwright: {name} is broken: {}, {} times ({title})", fault.what, fault.count);
    }
    !faults.is_empty()
}

fn announcement(experiment: &Experiment) -> String {
    let mut what = format!(
        "measuring {} in {}, {}",
        counted(experiment.arms.len(), "arm"),
        counted(experiment.cells.len(), "cell"),
        counted(experiment.rounds as usize, "round"),
    );
    // How long a command takes is not known.
    let expected_s = experiment.expected_s();
    if expected_s > 0.0 {
        what += &format!(": about {:.0} s", expected_s.ceil());
    }
    what
}

fn describe(experiment: &Experiment, step: Step) -> String {
    let (arm, cell) = (&experiment.arms[step.arm].record, &experiment.cells[step.cell].record);
    format!("{}: {}", arm.name, cell.title)
}

/// Warnings on standard error, quiet or not: they say how far the figures are to be trusted.
#[derive(Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn add(&mut self, warning: Option<String>) {
        if let Some(warning) = warning {
            say!("lockwright: warning: {warning}");
            self.0.push(warning);
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

/// The head of a record that begins now and here.
pub fn header(name: &str) -> Header {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    header_of(name, machine().clone(), started.as_secs())
}

/// The head of a record of this machine.
pub fn header_of(name: &str, machine: Machine, started_unix_s: u64) -> Header {
    Header {
        schema_version: SCHEMA_VERSION,
        record: name.to_owned(),
        tool: Tool {
            name: "lockwright".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("LOCKWRIGHT_COMMIT").map(str::to_owned),
        },
        command_line: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        started_unix_s,
        machine,
        complete: false,
        warnings: Vec::new(),
    }
}
