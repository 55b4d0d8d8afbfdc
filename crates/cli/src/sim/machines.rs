//! `lockwright machines`, and which machine is meant.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::process::ExitCode;

use lockwright_lab::sim::host::host;
use lockwright_sim::Machine;

use super::args::MachinesArgs;
use crate::failure::Failure;
use crate::output::Target;

/// Runs `lockwright machines`.
pub fn machines(args: &MachinesArgs) -> Result<ExitCode, Failure> {
    let mut text = String::new();
    match &args.machine {
        Some(name) => {
            let machine = built_in(name)?;
            let _ = writeln!(text, "name = {:?}\nabout = {:?}", machine.name, machine.about);
            for (name, given) in machine.numbers() {
                let (value, source) = (given.value, &given.source);
                let _ = writeln!(text, "\n[{name}]\nvalue = {value:?}\nsource = {source:?}");
            }
        }
        None => {
            for machine in Machine::built_in() {
                let (name, cpus) = (&machine.name, machine.cpus());
                let _ = writeln!(text, "{name:<20} {cpus:>5} CPUs  {}", machine.about);
            }
            text += "host                       this machine, measured when it is asked for\n";
        }
    }
    Target::Stdout.write(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn built_in(name: &str) -> Result<Machine, Failure> {
    if name == "host" {
        return host().map_err(Failure::Environment);
    }
    Machine::named(name).ok_or_else(|| {
        Failure::Usage(format!(
            "unknown machine '{name}'; known: host, {}; a file for --machine has a '/' or '.' in its path",
            Machine::built_in_names().join(", ")
        ))
    })
}

/// More bytes no machine file has.
const LONGEST_FILE: u64 = 1 << 20;

/// A built-in machine, or one from a file.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    if !name.contains(['/', '.']) {
        return built_in(name);
    }
    let mut text = String::new();
    fs::File::open(name)
        .and_then(|file| file.take(LONGEST_FILE + 1).read_to_string(&mut text))
        .map_err(|error| Failure::Usage(format!("cannot read {name}: {error}")))?;
    if text.len() as u64 > LONGEST_FILE {
        let why = format!("{name}: no machine file: longer than {LONGEST_FILE} bytes");
        return Err(Failure::Usage(why));
    }
    Machine::parse(&text).map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

/// One number of a machine that is to be another.
#[derive(Clone, Debug)]
pub struct Change {
    text: String,
    /// Which machine; none: any.
    machine: Option<String>,
    name: String,
    value: f64,
}

impl Change {
    /// Reads `[MACHINE:]NAME=VALUE`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            Failure::Usage(format!("--set {text}: expected NAME=VALUE, such as latency.near=120"))
        };
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let value =
            value.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(wrong)?;
        let (machine, name) = match name.split_once(':') {
            Some((machine, name)) => (Some(machine.to_owned()), name),
            None => (None, name),
        };
        Ok(Change { text: text.to_owned(), machine, name: name.to_owned(), value })
    }

    /// Whether it is meant for this machine.
    pub fn is_for(&self, machine: &str) -> bool {
        self.machine.as_ref().is_none_or(|name| *name == machine)
    }

    /// Makes the change, without asking whether the machine is still one.
    fn make(&self, machine: &mut Machine) -> Result<(), Failure> {
        let given = machine.number_mut(&self.name).ok_or_else(|| {
            let (text, name) = (&self.text, &self.name);
            Failure::Usage(format!(
                "--set {text}: there is no number '{name}'; 'lockwright machines NAME' shows all"
            ))
        })?;
        given.value = self.value;
        given.source = format!("given on the command line in place of: {}", given.source);
        Ok(())
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The machine with those of the changes that are meant for it.
pub fn changed(mut machine: Machine, changes: &[Change]) -> Result<Machine, Failure> {
    let name = machine.name.clone();
    for change in changes.iter().filter(|change| change.is_for(&name)) {
        change.make(&mut machine)?;
    }
    machine.verify().map(|()| machine).map_err(|why| Failure::Usage(format!("--set: {why}")))
}
