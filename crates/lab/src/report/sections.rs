//! From a file of results to what the page says of it.

use std::path::Path;
use std::slice;
use std::time::{Duration, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::compare;
use super::html::Section;
use super::layout::{self, Page, Table};
use super::number::fixed;
use super::picture::of_published::Published;
use super::picture::of_record;
use super::picture::of_simulation::Sweep;
use crate::analysis::compare::{Limits, judge, within};
use crate::environment::machine::Machine;
use crate::record::{Record, Unreadable, parse};
use crate::sim::published;
use crate::sim::published::claims::Verdict;
use crate::sim::report::{conclusion, count, in_words};

/// What the page says of the file.
///
/// # Errors
///
/// See [`Unreadable`].
pub fn of_file(path: &Path) -> Result<Section, Unreadable> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    of_text(&name, &std::fs::read(path)?)
}

/// The same of the file's text.
///
/// # Errors
///
/// See [`Unreadable`].
pub fn of_text(name: &str, text: &[u8]) -> Result<Section, Unreadable> {
    let foreign = |why: serde_json::Error| Unreadable::Foreign(why.to_string());
    let value: Value = serde_json::from_slice(text).map_err(foreign)?;
    match value.get("record").and_then(Value::as_str) {
        Some("sim-published") => Ok(of_published(name, read_as(value)?)),
        Some("sim") => {
            let facts = facts_of(&value, &["workload", "settings"]);
            let sweep: Sweep = read_as(value)?;
            let title = format!("{name}: simulated");
            Ok(Section { title, pictures: sweep.pictures(), facts, ..Section::default() })
        }
        Some("comparison") => Err(Unreadable::Foreign(
            "it is a comparison of result files; give those files".to_owned(),
        )),
        _ => Ok(of_record(name, &parse(text)?, verdicts_base(&value))),
    }
}

fn read_as<T: DeserializeOwned>(value: Value) -> Result<T, Unreadable> {
    serde_json::from_value(value).map_err(|why| Unreadable::Foreign(why.to_string()))
}

/// What arms were compared with, if a comparison wrote the record.
fn verdicts_base(value: &Value) -> Option<&str> {
    value.get("verdicts")?.get(0)?.get("base")?.as_str()
}

fn of_record(name: &str, record: &Record, base: Option<&str>) -> Section {
    let header = &record.header;
    let page = match base.and_then(|base| bases(record, base)) {
        Some(bases) => compared(record, &bases),
        None => layout::page(record, &layout::Shown::default()),
    };
    let Page { heading, tables, conclusion, legend } = page;
    let began = UNIX_EPOCH.checked_add(Duration::from_secs(header.started_unix_s));
    let mut facts = vec![
        ("command".to_owned(), header.command_line.join(" ")),
        ("lockwright".to_owned(), header.tool.version.clone()),
    ];
    // Dates after the year 9999 have no such form; no run began there.
    let known = began.filter(|_| header.started_unix_s < 250_000_000_000);
    let began = known.map(|time| humantime::format_rfc3339_seconds(time).to_string());
    facts.extend(began.map(|time| ("began".to_owned(), time)));
    facts.extend(header.tool.commit.clone().map(|commit| ("commit".to_owned(), commit)));
    facts.extend(machine(&header.machine));
    Section {
        title: format!("{name}: {}", header.record),
        lead: heading,
        warnings: header.warnings.clone(),
        conclusion,
        pictures: of_record::pictures(record),
        tables,
        legend,
        facts,
    }
}

/// The arms whose names make up the base: the first ones of a comparison's record.
fn bases(record: &Record, base: &str) -> Option<Vec<usize>> {
    let named = |count: &usize| {
        let names: Vec<&str> = record.arms[..*count].iter().map(|arm| arm.name.as_str()).collect();
        names.join(" + ") == base
    };
    let count = (1..record.arms.len()).find(named)?;
    Some((0..count).collect())
}

fn compared(record: &Record, bases: &[usize]) -> Page {
    let seed = record.plan.seed;
    let limits = Limits::default();
    let judged = judge(within(record, bases), None, limits, seed);
    let shown = compare::Shown { all: false, limits, seed };
    compare::page(&judged, layout::heading(record), shown)
}

/// What of the machine a figure depends on.
fn machine(machine: &Machine) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> =
        machine.identity().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    facts.push(("PAUSE".to_owned(), format!("{:.1} ns", machine.pause_ns)));
    let other = [
        ("cache line transfer", machine.line_transfer_ns, "ns"),
        ("heavy fence", machine.facts.heavy_fence_ns, "ns"),
        ("clock read", machine.facts.clock_read_ns, "ns"),
        ("timer slack", machine.facts.timer_slack_ns.map(|ns| ns as f64), "ns"),
        ("memory nodes", machine.facts.numa_nodes.map(|nodes| nodes as f64), ""),
    ];
    let text = |value: f64, unit: &str| format!("{} {unit}", fixed(Some(value), 0));
    facts.extend(
        other
            .into_iter()
            .filter_map(|(name, value, unit)| Some((name.to_owned(), text(value?, unit)))),
    );
    facts
}

fn facts_of(value: &Value, names: &[&str]) -> Vec<(String, String)> {
    let fact = |name: &&str| Some(((*name).to_owned(), value.get(*name)?.to_string()));
    names.iter().filter_map(fact).collect()
}

fn of_published(name: &str, published: Published) -> Section {
    let table = |title: &str, head: &[&str], rows: Vec<Vec<String>>| Table {
        title: title.to_owned(),
        head: head.iter().map(|&word| word.to_owned()).collect(),
        rows,
        notes: Vec::new(),
    };
    let errors = published.tables.iter().map(|table| {
        let error = table.mean_error.map(|error| 100.0 * error);
        vec![
            table.name.to_string(),
            table.cells.len().to_string(),
            fixed(error, 1),
            fixed(table.rank_correlation, 2),
            count(slice::from_ref(table)).map(|claims| claims.to_string()).join(", "),
        ]
    });
    let claim = |own: &published::Table| -> Vec<Vec<String>> {
        let row = |verdict: &Verdict| {
            let word = in_words(verdict.ruling).to_lowercase();
            vec![verdict.claim.to_string(), verdict.seen.clone(), word]
        };
        own.verdicts.iter().map(row).collect()
    };
    let head = [
        "table",
        "figures",
        "mean error %",
        "rank correlation",
        "claims: hold, fail, not sure, all",
    ];
    let mut tables = vec![table("simulated and published", &head, errors.collect())];
    tables.extend(
        published.tables.iter().filter(|own| !own.verdicts.is_empty()).map(|own| {
            table(&format!("claims of {}", own.name), &["claim", "seen", ""], claim(own))
        }),
    );
    let facts = published.tables.iter().map(|own| (own.name.to_string(), own.source.join(" ")));
    Section {
        title: format!("{name}: simulated beside published results"),
        conclusion: vec![conclusion(&published.tables)],
        facts: facts.collect(),
        pictures: published.pictures(),
        tables,
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::example;
    use crate::report::{html, json};

    fn text(record: &Record) -> Vec<u8> {
        let mut bytes = Vec::new();
        json::write(record, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn hostile_labels_are_harmless() {
        let mut record = example::record();
        let hostile = "</style></svg><script>alert(1)</script><img src=x onerror=alert(1)>";
        record.arms.iter_mut().for_each(|arm| arm.name.push_str(hostile));
        record.cells.iter_mut().for_each(|cell| cell.title = hostile.to_owned());
        record.header.record = hostile.to_owned();
        record.header.warnings = vec![hostile.to_owned()];
        record.header.command_line = vec![hostile.to_owned()];
        record.header.machine.cpu_model = Some(hostile.to_owned());
        let section = of_text(hostile, &text(&record)).unwrap();
        let page = html::page(hostile, &[section]);
        assert!(!page.contains("<script") && !page.contains("<img"), "a label became markup");
        assert_eq!(page.matches("</style>").count(), 1);
        assert!(page.contains("&lt;script&gt;"));
    }

    #[test]
    fn a_page_needs_nothing_from_elsewhere() {
        let section = of_text("a.json", &text(&example::record())).unwrap();
        let page = html::page("results", &[section]);
        for word in [" src=", "@import", "url(", "<link", "<script"] {
            assert!(!page.contains(word), "{word}");
        }
        // The name of SVG is no address that anybody asks.
        let addresses = page.matches("http").count() - page.matches("http-equiv").count();
        assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count());
    }

    #[test]
    fn every_figure_and_warning_is_on_the_page() {
        let section = of_text("a.json", &text(&example::record())).unwrap();
        let page = html::page("results", &[section]);
        for word in ["Example CPU", "a warning", "parking_lot", "kops/s", "1970-01-01T00:00:01Z"] {
            assert!(page.contains(word), "{word} is missing");
        }
    }

    #[test]
    fn what_is_no_result_is_refused_in_words() {
        let refused = |text: &str| of_text("x", text.as_bytes()).err().unwrap().to_string();
        assert!(refused("{").contains("no result of lockwright"));
        assert!(refused("{\"schema_version\": 1}").contains("schema version 1"));
        assert!(refused("{\"record\": \"sim\"}").contains("no result of lockwright"));
    }
}
