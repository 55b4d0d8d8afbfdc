//! Starting a command under the interposer, and ending as it ends.

pub mod program;

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

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

/// How a command ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its exit code, 128 and the number of the signal that killed it, or 127 or 126 if it could not
    /// be started.
    pub code: u8,
    /// How long it ran.
    pub took: Duration,
    /// Somebody wanted it to end.
    pub interrupted: bool,
}

/// What is done from time to time while a command runs.
pub type Tick<'t> = (Duration, &'t mut dyn FnMut());

impl Launch {
    /// Under these policies.
    pub fn set_policy(&mut self, policy: Option<&str>) {
        if let Some(policy) = policy {
            self.environment.push(("LOCKWRIGHT_POLICY", policy.into()));
        }
    }

    /// Runs the command to its end.
    ///
    /// # Errors
    ///
    /// If the interposer cannot be found.
    pub fn run(&self, command: &[OsString], tick: Option<Tick<'_>>) -> Result<Ended, Failure> {
        let mut signals = forwarded_signals()?;
        let began = Instant::now();
        let (code, interrupted) = match self.start(command)? {
            Err(code) => (code, false),
            Ok(mut child) => {
                let (status, interrupted) = wait(&mut child, &mut signals, tick)?;
                (code_of(status), interrupted)
            }
        };
        Ok(Ended { code, took: began.elapsed(), interrupted })
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

/// The interposer: where `LOCKWRIGHT_PRELOAD` says, beside this program, or where it is installed
/// to.
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

/// How often is looked at a command while something is done from time to time.
const LOOK: Duration = Duration::from_millis(5);

/// Waits for the command, passing signals on to it; whether one of them was to end it.
fn wait(
    child: &mut Child,
    signals: &mut SignalsInfo<WithOrigin>,
    mut tick: Option<Tick<'_>>,
) -> Result<(ExitStatus, bool), Failure> {
    let failed = |error| Failure::Environment(format!("cannot wait for the command: {error}"));
    let id = Pid::from_raw(child.id().cast_signed());
    let mut interrupted = false;
    let mut next = tick.as_ref().map(|(every, _)| Instant::now() + *every);
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok((status, interrupted));
        }
        let origins: Vec<_> = match (&mut tick, &mut next) {
            (Some((every, tick)), Some(next)) => {
                if Instant::now() >= *next {
                    tick();
                    *next += *every;
                }
                std::thread::sleep(LOOK.min(next.saturating_duration_since(Instant::now())));
                signals.pending().collect()
            }
            _ => signals.wait().collect(),
        };
        for origin in origins {
            interrupted |= [SIGHUP, SIGINT, SIGQUIT, SIGTERM].contains(&origin.signal);
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

/// The policies that the interposer knows, by family.
const POLICIES: [(&str, &[&str]); 2] = [
    ("mutex", &["default", "latency", "kernel", "fair", "libc"]),
    ("rwlock", &["default", "kernel", "fair", "libc"]),
];

/// Refuses what the interposer would ignore with a warning.
pub fn policy(text: &str) -> Result<String, String> {
    for part in text.split([';', ',']).filter(|part| !part.is_empty()) {
        let (family, name) = part.split_once('=').unwrap_or(("", part));
        let knows = |(of, names): &(&str, &[&str])| {
            (family.is_empty() || family == *of) && names.contains(&name)
        };
        if !POLICIES.iter().any(knows) {
            let all = POLICIES.map(|(family, names)| format!("{family}={}", names.join("|")));
            return Err(format!("no policy {part}; there are {}", all.join(" and ")));
        }
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_that_the_interposer_does_not_know_are_refused() {
        for good in ["latency", "mutex=kernel", "mutex=fair;rwlock=libc", "libc"] {
            assert_eq!(policy(good).as_deref(), Ok(good));
        }
        for bad in ["slow", "rwlock=latency", "spin=fair", "mutex="] {
            assert!(policy(bad).unwrap_err().contains(bad), "{bad}");
        }
    }
}
