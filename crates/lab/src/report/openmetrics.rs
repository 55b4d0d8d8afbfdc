//! The figures as OpenMetrics text: a gauge for each metric, for whoever collects results over time (the
//! textfile collector of Prometheus' node_exporter reads such files).
//!
//! Labels are the arm, the kind of cell and its setting. Figures that were not had are not there.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::analysis::summary::{Block, Row, blocks};
use crate::record::Record;
use crate::record::metric::Metric;

/// The record's figures.
pub fn render(record: &Record) -> String {
    let blocks = blocks(record);
    let mut families: BTreeMap<&str, (&'static Metric, Vec<String>)> = BTreeMap::new();
    for block in &blocks {
        for row in &block.rows {
            for metric in block.view.metrics() {
                let Some(figure) = row.of(metric) else { continue };
                let labels = labels(record, block, row);
                let line = format!("lockwright_{}{{{labels}}} {figure}", metric.key);
                families.entry(metric.key).or_insert((metric, Vec::new())).1.push(line);
            }
        }
    }
    let mut text = String::new();
    for (key, (metric, lines)) in families {
        let _ = writeln!(text, "# TYPE lockwright_{key} gauge");
        let _ = writeln!(text, "# HELP lockwright_{key} {}.", escape(metric.about));
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
    }
    let _ = writeln!(text, "# TYPE lockwright_started_seconds gauge");
    let _ = writeln!(text, "# UNIT lockwright_started_seconds seconds");
    let _ = writeln!(text, "# HELP lockwright_started_seconds When the run began, since 1970.");
    let _ = writeln!(text, "lockwright_started_seconds {}", record.header.started_unix_s);
    text + "# EOF\n"
}

fn labels(record: &Record, block: &Block, row: &Row) -> String {
    let mut all = vec![
        ("record", record.header.record.clone()),
        ("measurement", block.cell.kind.name().to_owned()),
        ("arm", row.arm.name.clone()),
    ];
    let params = block.cell.params.iter().map(|(name, param)| (name.as_str(), param.to_string()));
    // What a setting calls as one of the three is theirs already.
    let taken = ["record", "measurement", "arm"];
    all.extend(params.filter(|(name, _)| !taken.contains(name)));
    let label = |(name, value): (&str, String)| format!("{}=\"{}\"", name_of(name), escape(&value));
    all.into_iter().map(label).collect::<Vec<_>>().join(",")
}

/// A label's name may have letters, digits and underscores only.
fn name_of(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = text.chars().map(allowed).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::example;

    #[test]
    fn every_figure_is_a_sample_of_a_family_that_stands_together() {
        let text = render(&example::record());
        assert!(text.ends_with("# EOF\n"));
        let wanted = "lockwright_kops_per_s{record=\"bench-mutex\",measurement=\"throughput\",\
                      arm=\"std\",load_pauses=\"20\",outside_pauses=\"0\",threads=\"2\"} 500\n";
        assert!(text.contains(wanted), "{text}");
        let mut seen: Vec<&str> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let family = &line[..line.find(['{', ' ']).unwrap()];
            if seen.last() != Some(&family) {
                assert!(!seen.contains(&family), "{family} is in two places");
                assert!(text.contains(&format!("# TYPE {family} gauge\n")), "{family}");
                seen.push(family);
            }
        }
        assert!(seen.len() > 5, "{seen:?}");
    }

    #[test]
    fn labels_are_escaped() {
        let mut record = example::record();
        record.arms[0].name = "a\"b\\c\nd".to_owned();
        assert!(render(&record).contains("arm=\"a\\\"b\\\\c\\nd\""));
        assert_eq!(name_of("9 lives-x"), "_9_lives_x");
    }
}
