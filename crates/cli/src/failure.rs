//! Why the command did not do what it was asked to, and the exit codes.

use std::fmt;
use std::process::ExitCode;

/// The program's exit codes.
pub mod exit {
    /// Done.
    pub const OK: u8 = 0;
    /// A check failed: a lock let two threads in.
    pub const CHECK_FAILED: u8 = 1;
    /// The command line is wrong; nothing was done.
    pub const USAGE: u8 = 2;
    /// The system did not give what was needed.
    pub const ENVIRONMENT: u8 = 3;
    /// A comparison found something worse than `--fail-on` allows.
    pub const WORSE: u8 = 4;
    /// Interrupted: 128 + SIGINT.
    pub const INTERRUPTED: u8 = 130;
}

/// A failure, said in one line.
#[derive(Debug)]
pub enum Failure {
    /// The user can mend it by another command line.
    Usage(String),
    /// The system refused something.
    Environment(String),
}

impl Failure {
    /// The exit code that goes with it.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) => exit::USAGE,
            Failure::Environment(_) => exit::ENVIRONMENT,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let (Failure::Usage(why) | Failure::Environment(why)) = self;
        // Whatever the cause had to say, a failure is one line.
        write!(out, "error: {}", why.replace('\n', "; "))
    }
}
