//! `lockwright policies`: the reader-writer lock's policies and their switches.

use std::fmt::Write;
use std::process::ExitCode;

use lockwright_lab::rw::registry::bias;
use lockwright_lab::rw::registry::policy::{PRESETS, Switches};

use crate::failure::Failure;
use crate::output::Target;

/// Runs the command.
pub fn run() -> Result<ExitCode, Failure> {
    Target::Stdout.write(listing().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The presets, then the switches, then what each preset has on.
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
        let _ = writeln!(text, "\n{}\n  {}\n  {}", preset.name, preset.stage, on.join(", "));
    }
    let _ =
        writeln!(text, "\n{}\n  {}\n  a type of its own, BiasedRwLock", bias::NAME, bias::STAGE);
    text += "\nSwitches (numbers as in the kernel's series):\n\n";
    for (id, name, meaning, _) in Switches::OFF.list() {
        let _ = writeln!(text, "{name} ({id})\n  {meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_and_switch_is_listed() {
        let text = listing();
        for preset in PRESETS {
            assert!(text.contains(&format!("\n{}\n", preset.name)), "{text}");
        }
        for (_, name, meaning, _) in Switches::OFF.list() {
            assert!(text.contains(name) && text.contains(meaning), "{name}");
        }
    }
}
