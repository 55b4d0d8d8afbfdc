//! `--vary`: machines with some numbers changed down and up.

use lockwright_sim::Machine;

use crate::failure::Failure;

/// Which numbers are changed, by how much.
pub struct Vary {
    text: String,
    name: String,
    numbers: Vec<&'static str>,
    percent: f64,
}

impl Vary {
    /// Reads NAME=PERCENT, where all numbers of `example` that begin so are meant.
    pub fn parse(text: &str, example: &Machine) -> Result<Self, Failure> {
        let wrong = || {
            Failure::Usage(format!(
                "--vary {text}: expected NAME=PERCENT, such as latency=20, up to 90"
            ))
        };
        let (name, percent) = text.split_once('=').ok_or_else(wrong)?;
        let percent = percent.trim_start_matches("+-").trim_end_matches('%');
        let percent =
            percent.parse::<f64>().ok().filter(|p| (0.1..=90.0).contains(p)).ok_or_else(wrong)?;
        let known = example.numbers().into_iter().map(|(name, _)| name);
        let known: Vec<_> = known.filter(|name| !name.starts_with("topology.")).collect();
        let whole = |full: &&&str| {
            **full == name || full.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
        };
        let numbers: Vec<_> = known.iter().filter(whole).copied().collect();
        if numbers.is_empty() {
            let known = known.join(", ");
            return Err(Failure::Usage(format!(
                "--vary {text}: unknown number '{name}'; known: latency, core, scheduler, {known}"
            )));
        }
        Ok(Vary { text: text.to_owned(), name: name.to_owned(), numbers, percent })
    }

    /// What the changed machines are called, and by which factor their numbers are changed.
    pub fn variants(&self) -> [(String, f64); 2] {
        [("-", -1.0), ("+", 1.0)].map(|(sign, way)| {
            let label = format!("{} {sign}{} %", self.name, self.percent);
            (label, 1.0 + way * self.percent / 100.0)
        })
    }

    /// The machine with its numbers changed by the factor.
    pub fn changed(&self, machine: &Machine, factor: f64) -> Result<Machine, Failure> {
        let mut varied = machine.clone();
        for name in &self.numbers {
            if let Some(given) = varied.number_mut(name) {
                given.value *= factor;
            }
        }
        let (text, name) = (&self.text, &machine.name);
        match varied.verify() {
            Ok(()) => Ok(varied),
            Err(why) => {
                let why =
                    format!("--vary {text}: {name}: {why}; vary it by less, or other numbers");
                Err(Failure::Usage(why))
            }
        }
    }
}
