//! `lockwright policies`: the reader-writer lock's policies and their switches.

use std::fmt::Write;
use std::process::ExitCode;

use lockwright_lab::arms::locks::policy::{PRESETS, Switches};
use lockwright_lab::arms::locks::{bias, name_of_policy};

use crate::args::help;
use crate::failure::Failure;
use crate::output::Target;

pub const HELP: &str = help!(
    "The policies are names of --policy in 'sim', and of LOCKWRIGHT_POLICY.",
    "\
  lockwright policies
  lockwright policies --markdown > docs/policies.md"
);

/// Runs the command.
pub fn run(as_markdown: bool) -> Result<ExitCode, Failure> {
    let text = if as_markdown { markdown() } else { listing() };
    Target::Stdout.write(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The presets with what each has on, then the switches.
fn listing() -> String {
    let mut text = String::from("Policies of the reader-writer lock:\n");
    for preset in PRESETS {
        let on: Vec<_> = preset
            .switches
            .list()
            .zip(Switches::OFF.list())
            .filter(|(own, off)| own.3 != off.3)
            .map(|((_, name, _, value), _)| match value.to_string().as_str() {
                "on" => name.to_owned(),
                "-" => format!("no {name}"),
                value => format!("{name} {value}"),
            })
            .collect();
        let name = name_of_policy(preset.name);
        let _ = writeln!(text, "\n{name}\n  {}\n  {}", preset.stage, on.join(", "));
    }
    let _ = writeln!(
        text,
        "\n{}\n  {}\n  a type of its own, BiasedRwLock",
        name_of_policy(bias::NAME),
        bias::STAGE
    );
    text += "\nSwitches (numbers as in the kernel's series):\n\n";
    for (id, name, meaning, _) in Switches::OFF.list() {
        let _ = writeln!(text, "{name} ({id})\n  {meaning}");
    }
    text
}

/// The same for the documentation: all switches of all presets in one table.
fn markdown() -> String {
    let mut text = String::from(
        "# Policies of the reader-writer lock\n\n\
         Made by `lockwright policies --markdown`; a test compares. Numbers as in the kernel's series.\n\n\
         | policy | what it stands for |\n|---|---|\n",
    );
    let stages = PRESETS.iter().map(|preset| (preset.name, preset.stage));
    for (name, stage) in stages.chain([(bias::NAME, bias::STAGE)]) {
        let _ = writeln!(text, "| `{}` | {stage} |", name_of_policy(name));
    }
    let names: Vec<_> = PRESETS.iter().map(|preset| name_of_policy(preset.name)).collect();
    let _ = writeln!(text, "\n| switch | number | {} |", names.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(PRESETS.len()));
    for (row, (id, name, _, _)) in Switches::OFF.list().enumerate() {
        let values = PRESETS.iter().filter_map(|preset| preset.switches.list().nth(row));
        let values: Vec<_> = values.map(|(_, _, _, value)| value.to_string()).collect();
        let _ = writeln!(text, "| `{name}` | {id} | {} |", values.join(" | "));
    }
    text += "\n| switch | meaning |\n|---|---|\n";
    for (_, name, meaning, _) in Switches::OFF.list() {
        let _ = writeln!(text, "| `{name}` | {meaning} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_what_the_code_has() {
        let written = include_str!("../../../docs/policies.md");
        assert_eq!(written, markdown(), "lockwright policies --markdown > docs/policies.md");
    }

    #[test]
    fn every_preset_and_switch_is_listed() {
        let text = listing();
        for preset in PRESETS {
            assert!(text.contains(&format!("\n{}\n", name_of_policy(preset.name))), "{text}");
        }
        for (_, name, meaning, _) in Switches::OFF.list() {
            assert!(text.contains(name) && text.contains(meaning), "{name}");
        }
    }
}
