//! Machine files: what is read, and what is said of a file that is none.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Machine, NUMBERS, check};

/// What stands in a file, beside the numbers.
const TEXTS: [&str; 3] = ["name", "about", "based_on"];

/// Reads a file, or says which line is wrong and why.
pub(super) fn read(text: &str) -> Result<Machine, String> {
    let file = File { text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        file.at(at, error.message().replace('\n', " "))
    })?;
    let table = table.get_ref();
    let base = file.string(table, "based_on")?;
    let mut machine = match &base {
        Some((name, at)) => Machine::named(name).ok_or_else(|| {
            let known = Machine::built_in_names().join(", ");
            file.at(*at, format!("based_on: there is no machine '{name}' built in; known: {known}"))
        })?,
        None => Machine::blank(),
    };
    let needed = |key: &str| format!("the file does not say its {key}");
    machine.name = file.string(table, "name")?.ok_or_else(|| needed("name"))?.0;
    if let Some((about, _)) = file.string(table, "about")? {
        machine.about = about;
    } else if base.is_none() {
        return Err(needed("about"));
    }
    let lines = file.numbers(table, &mut machine)?;
    let missing = machine.numbers().into_iter().find(|(_, given)| given.value.is_nan());
    if let Some((name, _)) = missing.filter(|(name, _)| lines.iter().all(|line| line.0 != *name)) {
        return Err(format!(
            "{name} is not given; a file that is not based_on a built-in machine gives every number"
        ));
    }
    check::check(&machine).map_err(|fault| {
        // The first of the numbers involved that this file gives.
        let line = fault.names.iter().find_map(|name| lines.iter().find(|line| line.0 == *name));
        line.map_or_else(|| fault.to_string(), |(_, at)| file.at(*at, &fault))
    })?;
    Ok(machine)
}

/// The name of the machine in a file that can be read so far.
pub(super) fn name_of(text: &str) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    Some(table.get_ref().get("name")?.get_ref().as_str()?.to_owned())
}

struct File<'a> {
    text: &'a str,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl File<'_> {
    /// Something is to be said of a place.
    fn at(&self, place: usize, what: impl std::fmt::Display) -> String {
        format!("line {}: {what}", 1 + self.text[..place].matches('\n').count())
    }

    /// One of the texts, and where it stands.
    fn string(&self, table: &DeTable, key: &str) -> Result<Option<(String, usize)>, String> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let at = value.span().start;
        match value.get_ref().as_str() {
            Some(text) => Ok(Some((text.to_owned(), at))),
            None => Err(self.at(at, format!("{key} is not a text in quotes"))),
        }
    }

    /// Takes over every number that the file gives; their names and places.
    fn numbers(
        &self,
        table: &DeTable,
        machine: &mut Machine,
    ) -> Result<Vec<(&'static str, usize)>, String> {
        let mut lines = Vec::new();
        for (section, value) in table {
            let (section, at) = (section.get_ref().as_ref(), section.span().start);
            if TEXTS.contains(&section) {
                continue;
            }
            let of_section: Vec<_> = fields(section).collect();
            if of_section.is_empty() {
                let what = "known are name, about, based_on, topology, latency, core, scheduler";
                return Err(self.at(at, format!("{section}: no such section; {what}")));
            }
            let expected =
                || format!("{section}: expected numbers, as [{section}.{}]", of_section[0]);
            let table = value.get_ref().as_table().ok_or_else(|| self.at(at, expected()))?;
            for (field, value) in table {
                let (field, at) = (field.get_ref().as_ref(), field.span().start);
                let name = NUMBERS.iter().map(|number| number.name);
                let mut name = name.filter(|name| name.split_once('.') == Some((section, field)));
                let Some(name) = name.next() else {
                    let known = of_section.join(", ");
                    let what = format!("{section}.{field}: no such number; known are {known}");
                    return Err(self.at(at, what));
                };
                let given = machine.number_mut(name).expect("a number of every machine");
                (given.value, given.source) = self.given(name, at, value)?;
                lines.push((name, at));
            }
        }
        Ok(lines)
    }

    /// A number and its source.
    fn given(&self, name: &str, at: usize, value: &Value) -> Result<(f64, String), String> {
        let expected = || self.at(at, format!("{name}: expected a value and a source"));
        let table = value.get_ref().as_table().ok_or_else(expected)?;
        for key in table.keys() {
            if !["value", "source"].contains(&key.get_ref().as_ref()) {
                let what =
                    format!("{name}: a number has a value and a source, no '{}'", key.get_ref());
                return Err(self.at(key.span().start, what));
            }
        }
        let value = table.get("value").ok_or_else(expected)?;
        let place = value.span().start;
        let number = match value.get_ref() {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        let number: f64 =
            number.ok_or_else(|| self.at(place, format!("{name}: the value is not a number")))?;
        let source = table.get("source").ok_or_else(expected)?;
        let source = source.get_ref().as_str().ok_or_else(|| {
            self.at(source.span().start, format!("{name}: the source is not a text in quotes"))
        })?;
        Ok((number, source.to_owned()))
    }
}

/// The numbers of a section, without its name.
fn fields(section: &str) -> impl Iterator<Item = &'static str> {
    NUMBERS.iter().filter_map(move |number| {
        number.name.strip_prefix(section).and_then(|rest| rest.strip_prefix('.'))
    })
}
