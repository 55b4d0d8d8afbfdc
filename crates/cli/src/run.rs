//! `lockwright run`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::launch::{Launch, policy};
use crate::stat::folder;

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
    launch.set_policy(args.policy.as_deref());
    // For whoever asks later, with `stat -p` or `top`; without a place for statistics nobody can.
    if let Some(folder) = folder::of_user() {
        folder::remove_stale(&folder);
        launch.environment.push(("LOCKWRIGHT_STAT_DIR", folder.into()));
    }
    Ok(ExitCode::from(launch.run(&args.command, None)?.code))
}
