//! `lockwright man` and `lockwright completions`: made from the definitions of the arguments, so
//! that they cannot say anything else than the program does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::{Cli, help};
use crate::failure::Failure;
use crate::output::Target;

pub const MAN_HELP: &str = help!(
    "A page for the program and one for each command, such as lockwright-bench-mutex.1.",
    "\
  lockwright man ~/.local/share/man/man1"
);

pub const COMPLETIONS_HELP: &str = help!(
    "The script goes to stdout; where it belongs is the shell's business.",
    "\
  lockwright completions bash > ~/.local/share/bash-completion/completions/lockwright
  lockwright completions zsh > ~/.zfunc/_lockwright
  lockwright completions fish > ~/.config/fish/completions/lockwright.fish"
);

/// `lockwright man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages; made if it is not there
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// `lockwright completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// For which shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Writes the pages.
pub fn man(args: &ManArgs) -> Result<ExitCode, Failure> {
    let refused = |path: &Path, why: std::io::Error| {
        Failure::Environment(format!("cannot write {}: {why}", path.display()))
    };
    fs::create_dir_all(&args.dir).map_err(|why| refused(&args.dir, why))?;
    for (name, page) in pages() {
        let path = args.dir.join(name);
        fs::write(&path, page).map_err(|why| refused(&path, why))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the script.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lockwright", &mut script);
    Target::Stdout.write(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Every page by its file's name.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages);
    pages
}

fn add(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) {
    let source = concat!("lockwright ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).manual("Lockwright").source(source);
    let mut page = Vec::new();
    man.render(&mut page).expect("a Vec takes everything");
    pages.push((man.get_filename(), page));
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.for_each(|command| add(command, pages));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command but the program itself, by the name of its page.
    fn commands(command: &Command, name: &str, all: &mut Vec<(String, Command)>) {
        all.push((format!("{name}.1"), command.clone()));
        for own in command.get_subcommands() {
            commands(own, &format!("{name}-{}", own.get_name()), all);
        }
    }

    fn all() -> Vec<(String, Command)> {
        let mut all = Vec::new();
        commands(&Cli::command(), "lockwright", &mut all);
        all
    }

    #[test]
    fn every_command_has_a_page_and_every_option_is_on_it() {
        let pages = pages();
        for (name, command) in all() {
            let page = pages.iter().find(|page| page.0 == name);
            let (_, page) = page.unwrap_or_else(|| panic!("no {name}"));
            // A hyphen is a minus sign in a page's source.
            let page = String::from_utf8(page.clone()).unwrap().replace("\\-", "-");
            let title = page.lines().find(|line| line.starts_with(".TH"));
            assert!(title.is_some_and(|line| line.ends_with("Lockwright")), "{title:?}");
            for option in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let long = option.get_long().map(|long| format!("--{long}"));
                assert!(long.is_none_or(|long| page.contains(&long)), "{name}: {option:?}");
            }
            assert!(page.contains("Examples:"), "{name} has no examples");
        }
    }

    #[test]
    fn every_help_has_examples_and_exit_codes_within_80_columns() {
        for (name, mut command) in all() {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Examples:\n  lockwright"), "{name}: {help}");
            assert!(help.contains("Exit codes:"), "{name}: {help}");
            let after = help.find("Exit codes:").unwrap();
            for line in help[after..].lines() {
                assert!(line.chars().count() <= 96, "{name}: {line}");
            }
        }
    }

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lockwright", &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
