//! Starting a command under the interposer, and ending as it ends.

pub mod program;

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::signal::*;
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

use crate::failure::Failure;
use program::Program;

/// The interposer's file name.
const LIBRARY: &str = "liblockwright_preload.so";

/// As of `env` and `timeout`: the command was found, but could not be started.
const CANNOT_START: u8 = 126;
/// As of `env` and `timeout`: there is no such command.
const NOT_FOUND: u8 = 127;

/// What a command is to be started with.
#[derive(Default)]
pub struct Launch {
    /// More variables of the environment.
    pub environment: Vec<(&'static str, OsString)>,
}

impl Launch {
    /// Runs the command to its end and returns its exit code, 128 and the number of the signal that killed
    /// it, or 127 or 126 if it cannot be started.
    ///
    /// # Errors
    ///
    /// If the interposer cannot be found.
    pub fn run(&self, command: &[OsString]) -> Result<u8, Failure> {
        let signals = forwarded_signals()?;
        match self.start(command)? {
            Err(code) => Ok(code),
            Ok(mut child) => {
                let status = wait(&mut child, signals)?;
                Ok(code_of(status))
            }
        }
    }

    /// Starts the command; the inner error is the exit code if that fails.
    ///
    /// # Errors
    ///
    /// If the interposer cannot be found.
    pub fn start(&self, command: &[OsString]) -> Result<Result<Child, u8>, Failure> {
        let library = library()?;
        let (name, arguments) = command.split_first().expect("a command has a name");
        let mut child = Command::new(name);
        child.args(arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        match program::find(name).map(|file| Program::read(&file)) {
            Some(program) => {
                if let Some(why) = program.passes_by() {
                    say!("lockwright: {}: {why}; it runs as without lockwright", name.display());
                } else {
                    child.env("LD_PRELOAD", preload(&library, &program));
                }
            }
            None => {
                say!("lockwright: {}: command not found", name.display());
                return Ok(Err(NOT_FOUND));
            }
        }
        Ok(child.spawn().map_err(|error| {
            say!("lockwright: cannot start {}: {error}", name.display());
            if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_START }
        }))
    }
}

/// What the dynamic linker is to load first. A sanitizer's library insists on being the very first.
fn preload(library: &Path, program: &Program) -> OsString {
    let mut list = OsString::new();
    let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let parts = program.sanitizers().map(OsStr::new).chain([library.as_os_str(), &before]);
    for part in parts.filter(|part| !part.is_empty()) {
        if !list.is_empty() {
            list.push(":");
        }
        list.push(part);
    }
    list
}

/// The interposer: where `LOCKWRIGHT_PRELOAD` says, beside this program, or where it is installed to.
fn library() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os("LOCKWRIGHT_PRELOAD").filter(|name| !name.is_empty()) {
        let named = PathBuf::from(named);
        return usable(&named).ok_or_else(|| {
            let why =
                "no such library, or its path has a space or colon, which LD_PRELOAD cannot hold";
            Failure::Environment(format!("LOCKWRIGHT_PRELOAD={}: {why}", named.display()))
        });
    }
    let program = std::env::current_exe().and_then(std::fs::canonicalize).unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("/")).to_owned();
    let places = [beside.join(LIBRARY), beside.join("../lib").join(LIBRARY)];
    places.iter().find_map(|place| usable(place)).ok_or_else(|| {
        Failure::Environment(format!(
            "{LIBRARY} is neither beside {} nor in ../lib: build it (cargo build --release), \
             or name it in LOCKWRIGHT_PRELOAD",
            program.display()
        ))
    })
}

fn usable(place: &Path) -> Option<PathBuf> {
    let place = std::fs::canonicalize(place).ok()?;
    let text = place.to_str()?;
    (place.is_file() && !text.contains([' ', ':'])).then_some(place)
}

/// Signals that are meant for the command. Those of a terminal reach it by themselves.
fn forwarded_signals() -> Result<SignalsInfo<WithOrigin>, Failure> {
    let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGCHLD];
    SignalsInfo::new(all)
        .map_err(|error| Failure::Environment(format!("cannot handle signals: {error}")))
}

/// Waits for the command, passing signals on to it.
fn wait(child: &mut Child, mut signals: SignalsInfo<WithOrigin>) -> Result<ExitStatus, Failure> {
    let failed = |error| Failure::Environment(format!("cannot wait for the command: {error}"));
    let id = Pid::from_raw(child.id().cast_signed());
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status);
        }
        for origin in signals.wait() {
            // A terminal's signal has no sender, and goes to the command too.
            let sender = origin.process.filter(|sender| sender.pid != 0);
            if origin.signal != SIGCHLD
                && sender.is_some()
                && let Ok(signal) = Signal::try_from(origin.signal)
            {
                // The command may have ended meanwhile.
                let _ = kill(id, signal);
            }
        }
    }
}

/// As a shell has it.
fn code_of(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
