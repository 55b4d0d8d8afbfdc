//! `lockwright doctor`: what this machine offers to locks, and what each absence costs.

use std::fmt::Write;
use std::process::ExitCode;

use lockwright_lab::environment::checkup::{Finding, Grade, findings};
use lockwright_lab::environment::machine::Machine;

use crate::failure::Failure;
use crate::output::Target;

/// The end of the help text.
pub const HELP: &str = "\
An entry for each thing that the locks use: what was found, and what it means;
'costs' says that something is missing or slow. Takes a moment of measuring,
and changes nothing.

Exit codes:
  0    done, whatever was found
  2    wrong usage
  3    the output could not be written

Examples:
  lockwright doctor
  lockwright doctor --json          the machine and the findings, for a program";

/// Columns of a terminal.
const WIDTH: usize = 80;
const INDENT: usize = 6;

/// Runs the command.
pub fn run(json: bool) -> Result<ExitCode, Failure> {
    let machine = Machine::here();
    let findings = findings(&machine);
    let text = if json {
        format!("{:#}\n", serde_json::json!({ "machine": machine, "findings": findings }))
    } else {
        listing(&machine, &findings)
    };
    Target::Stdout.write(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn listing(machine: &Machine, findings: &[Finding]) -> String {
    let mut text = format!("{}\n", machine.summary());
    for finding in findings {
        let mark = finding.grade.name();
        let _ = writeln!(text, "\n{mark:<6}{:<13}{}", finding.name, finding.found);
        for line in wrapped(&finding.meaning, WIDTH - INDENT) {
            let _ = writeln!(text, "{:INDENT$}{line}", "");
        }
    }
    let costs = findings.iter().filter(|finding| finding.grade == Grade::Costs).count();
    let _ = match costs {
        0 => writeln!(text, "\nNothing is missing that the locks could use."),
        1 => writeln!(text, "\n1 thing costs something."),
        _ => writeln!(text, "\n{costs} things cost something."),
    };
    text
}

/// Lines of at most so many columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_wide_and_no_word_is_lost() {
        let machine = Machine::here();
        let text = listing(&machine, &findings(&machine));
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        for finding in findings(&machine) {
            let lines = wrapped(&finding.meaning, WIDTH - INDENT);
            let words: Vec<_> = finding.meaning.split_whitespace().collect();
            assert_eq!(lines.join(" "), words.join(" "));
        }
    }
}
