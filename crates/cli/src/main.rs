//! The `lockwright` command.
//!
//! Data go to stdout or to the files asked for, talk goes to stderr.

#![forbid(unsafe_code)]

/// A line on standard error; if that cannot be written, there is nobody to tell.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod args;
mod bench;
mod bisect;
mod compare;
mod doctor;
mod failure;
mod launch;
mod manual;
mod mix_args;
mod order;
mod output;
mod policies;
mod progress;
mod report;
mod run;
mod session;
mod sim;
mod stat;
mod top;
mod torture;
mod values;
mod workload;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(order::commands_first(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    let done = match cli.command {
        Command::Policies { markdown } => policies::run(markdown),
        Command::Sim(args) => sim::run(&args),
        Command::Machines(args) => sim::machines(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Torture(args) => torture::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Stat(args) => stat::run(&args),
        Command::Man(args) => manual::man(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Top(args) => top::run(&args),
        Command::Doctor { json } => doctor::run(json),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            say!("lockwright: {failure}");
            failure.exit_code()
        }
    }
}

/// Help and version as clap prints them; everything else as one line.
fn refused(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {
            let failure = Failure::Usage(one_line(&error.to_string()));
            say!("lockwright: {failure}");
            failure.exit_code()
        }
    }
}

/// The message of a clap error, and its tip, without the usage that follows.
fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let kept: Vec<_> = lines
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .map(|line| line.strip_prefix("error: ").unwrap_or(line))
        .collect();
    kept.join("; ")
}
