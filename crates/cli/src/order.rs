//! Options before a subcommand: `lockwright bench --rounds 3 rwlock` means
//! `lockwright bench rwlock --rounds 3`.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;

/// The arguments with each command before its options.
pub fn commands_first(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.collect();
    let mut command = Cli::command();
    command.build();
    let mut at = 1;
    while let Some(found) = next_command(&command, &all, at) {
        let name = all.remove(found);
        let Some(next) = command.find_subcommand(&name).cloned() else { break };
        all.insert(at, name);
        command = next;
        at += 1;
    }
    all
}

/// Where the next word is that names a subcommand of `command` and is no option's value.
fn next_command(command: &Command, all: &[OsString], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = all.get(at) {
        let text = word.to_str()?;
        if text == "--" {
            return None;
        }
        if text.starts_with('-') {
            at += if takes_next(command, text) { 2 } else { 1 };
        } else if command.find_subcommand(text).is_some() {
            return Some(at);
        } else {
            return None;
        }
    }
    None
}

/// Whether an option of the command, or of one of its subcommands, has its value in the next word.
fn takes_next(command: &Command, option: &str) -> bool {
    let own = |command: &Command| command.get_arguments().find(|arg| is(arg, option)).cloned();
    let arg = own(command).or_else(|| command.get_subcommands().find_map(own));
    arg.is_some_and(|arg| {
        let values = arg.get_num_args().is_some_and(|range| range.takes_values());
        values && !arg.is_require_equals_set()
    })
}

/// Whether this word is the option by itself, without a value.
fn is(arg: &Arg, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => {
            arg.get_long() == Some(long)
                || arg.get_all_aliases().is_some_and(|names| names.contains(&long))
        }
        None => arg.get_short().is_some_and(|short| option == format!("-{short}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(line: &str) -> String {
        let words = line.split(' ').map(OsString::from);
        let words = commands_first(words).into_iter().map(|word| word.into_string().unwrap());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_may_stand_before_their_command() {
        assert_eq!(
            ordered("lockwright bench --rounds 3 rwlock --secs 1"),
            "lockwright bench rwlock --rounds 3 --secs 1"
        );
        assert_eq!(ordered("lockwright -q bench seq -r 2"), "lockwright bench seq -q -r 2");
        assert_eq!(
            ordered("lockwright sim --quick published osq"),
            "lockwright sim published --quick osq"
        );
    }

    #[test]
    fn a_value_is_no_command() {
        let line = "lockwright bench --locks seq --rounds=3";
        assert_eq!(ordered(line), line);
        let line = "lockwright bench rwlock -- seq";
        assert_eq!(ordered(line), line);
    }
}
