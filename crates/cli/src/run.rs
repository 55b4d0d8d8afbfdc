//! `lockwright run`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::launch::Launch;

/// The end of the help text.
pub const HELP: &str = "\
The command's locks (mutexes, reader-writer locks, condition variables and
spin locks of POSIX and C11) are lockwright's; what is shared between
processes, robust, or has a priority protocol stays the C library's. Programs
that are static, setuid or written in Go have nothing to take over: a line says so,
and they run as they are.

Exit codes:
  that of the command; 128 and the signal's number if one killed it
  126  the command cannot be started
  127  there is no such command
  2    wrong usage of lockwright; nothing was run
  3    liblockwright_preload.so was not found

Examples:
  lockwright run -- ./server --port 8080
  lockwright run --policy latency -- make test
  lockwright run --policy 'mutex=kernel;rwlock=fair' -- ./server";

/// `lockwright run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// How locks wait: default, latency, kernel, fair or libc for all, or one for each family, as
    /// 'mutex=latency;rwlock=fair'
    #[arg(long, value_name = "POLICY", value_parser = policy)]
    pub policy: Option<String>,

    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let mut launch = Launch::default();
    if let Some(policy) = &args.policy {
        launch.environment.push(("LOCKWRIGHT_POLICY", policy.into()));
    }
    launch.run(&args.command).map(ExitCode::from)
}

/// The policies that the interposer knows, by family.
const POLICIES: [(&str, &[&str]); 2] = [
    ("mutex", &["default", "latency", "kernel", "fair", "libc"]),
    ("rwlock", &["default", "kernel", "fair", "libc"]),
];

/// Refuses what the interposer would ignore with a warning.
fn policy(text: &str) -> Result<String, String> {
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
