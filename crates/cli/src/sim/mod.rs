//! `lockwright sim` and `lockwright machines`.

pub mod args;
mod command;
mod machines;
mod published;
mod sweep;
mod vary;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use self::args::{SimArgs, SimCommand};
pub use self::machines::machines;
use crate::failure::{Failure, exit};
use crate::output::{Form, Target, target_of};
use crate::progress::Progress;
use crate::session::INTERRUPT;

/// Runs `lockwright sim`.
pub fn run(args: &SimArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        Some(SimCommand::Published(args)) => published::run(args),
        None => sweep::sweep(&args.sweep),
    }
}

/// What came out, in every form.
struct Report {
    table: String,
    json: serde_json::Value,
    csv: Vec<u8>,
    markdown: String,
}

impl Report {
    fn render(&self, form: Form) -> Result<Vec<u8>, Failure> {
        Ok(match form {
            Form::Json => {
                let mut json = serde_json::to_vec_pretty(&self.json).map_err(|error| {
                    Failure::Environment(format!("cannot render a report: {error}"))
                })?;
                json.push(b'\n');
                json
            }
            Form::Csv => self.csv.clone(),
            Form::Markdown => self.markdown.clone().into_bytes(),
            _ => self.table.clone().into_bytes(),
        })
    }
}

/// What goes where; the table goes to stdout unless something else does. Checked before anything is
/// simulated, so that no run is lost to a bad path.
fn targets(asked: &[(Form, &Option<PathBuf>)]) -> Result<Vec<(Form, Target)>, Failure> {
    let mut targets: Vec<(Form, Target)> = Vec::new();
    for (form, path) in asked {
        let Some(path) = path else { continue };
        let target = target_of(path)?;
        if targets.iter().any(|(_, other)| *other == target) {
            let path = path.display();
            return Err(Failure::Usage(format!("two reports cannot both go to {path}")));
        }
        targets.push((*form, target));
    }
    if targets.iter().all(|(_, target)| *target != Target::Stdout) {
        targets.push((Form::Table, Target::Stdout));
    }
    Ok(targets)
}

/// A file that could not be written costs no other report.
fn deliver(targets: Vec<(Form, Target)>, report: &Report) -> Result<(), Failure> {
    let write = |(form, target): &(Form, Target)| target.write(&report.render(*form)?);
    let written: Vec<_> = targets.iter().map(write).collect();
    written.into_iter().collect()
}

/// Runs `work` with progress.
fn watched<R>(
    what: &str,
    runs: u64,
    quiet: bool,
    work: impl FnOnce(fn() -> bool, &(dyn Fn() + Sync)) -> Result<R, String>,
) -> Result<R, Failure> {
    let progress = Progress::begin(what, runs, quiet);
    let done = AtomicU64::new(0);
    let step = || {
        // Ordering: Relaxed: a number to show.
        let done = done.fetch_add(1, Relaxed) + 1;
        progress.step(done, || format!("run {done} of {}", runs.max(done)));
    };
    let result = work(|| INTERRUPT.is_raised(), &step);
    progress.end();
    result.map_err(Failure::Environment)
}

/// Shows what there is, and says what is missing; the exit code. Where nothing has ended there is nothing
/// to show.
fn ended(
    interrupted: bool,
    failed: &[String],
    shown: Option<impl FnOnce() -> Result<(), Failure>>,
) -> Result<ExitCode, Failure> {
    let is_shown = shown.is_some();
    shown.map_or(Ok(()), |show| show())?;
    for why in failed {
        say!("lockwright: check failed: {}", why.replace('\n', "; "));
    }
    if interrupted {
        let what = if is_shown { "what had ended is shown" } else { "nothing is shown" };
        say!("lockwright: interrupted; {what}");
    }
    Ok(ExitCode::from(match (failed.is_empty(), interrupted) {
        (false, _) => exit::CHECK_FAILED,
        (true, true) => exit::INTERRUPTED,
        (true, false) => exit::OK,
    }))
}
