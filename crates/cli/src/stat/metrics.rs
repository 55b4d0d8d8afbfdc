//! The OpenMetrics text format, for a node exporter's textfile collector and the like.

use std::fmt::Write;

use super::model::{Report, Row};

/// A metric of each lock.
struct Metric {
    name: &'static str,
    kind: &'static str,
    unit: &'static str,
    help: &'static str,
    value: fn(&Row) -> Option<f64>,
}

const SECOND: f64 = 1e9;

const METRICS: [Metric; 8] = [
    Metric {
        name: "lockwright_lock_acquisitions",
        kind: "counter",
        unit: "",
        help: "Acquisitions, contended or not.",
        value: |row| row.counts_acquisitions().then_some(row.sum.acquisitions as f64),
    },
    Metric {
        name: "lockwright_lock_contended_acquisitions",
        kind: "counter",
        unit: "",
        help: "Acquisitions that had to wait.",
        value: |row| Some(row.sum.contended as f64),
    },
    Metric {
        name: "lockwright_lock_slept_acquisitions",
        kind: "counter",
        unit: "",
        help: "Contended acquisitions that slept.",
        value: |row| Some(row.sum.slept as f64),
    },
    Metric {
        name: "lockwright_lock_timed_out_waits",
        kind: "counter",
        unit: "",
        help: "Waits that ended without the lock.",
        value: |row| Some(row.sum.failed as f64),
    },
    Metric {
        name: "lockwright_lock_wait_seconds",
        kind: "counter",
        unit: "seconds",
        help: "Time waited, of all threads together.",
        value: |row| Some(row.sum.wait_ns as f64 / SECOND),
    },
    Metric {
        name: "lockwright_lock_longest_wait_seconds",
        kind: "gauge",
        unit: "seconds",
        help: "The longest wait.",
        value: |row| Some(row.sum.wait_max_ns as f64 / SECOND),
    },
    Metric {
        name: "lockwright_lock_most_waiters",
        kind: "gauge",
        unit: "",
        help: "Most threads that waited at a time.",
        value: |row| Some(f64::from(row.sum.most_waiters)),
    },
    Metric {
        name: "lockwright_lock_instances",
        kind: "gauge",
        unit: "",
        help: "Locks that go by the name.",
        value: |row| Some(row.instances as f64),
    },
];

/// The report in that format.
pub fn open_metrics(report: &Report) -> String {
    let mut text = String::new();
    for metric in METRICS {
        head(&mut text, metric.name, metric.kind, metric.unit, metric.help);
        let suffix = if metric.kind == "counter" { "_total" } else { "" };
        for row in &report.rows {
            if let Some(value) = (metric.value)(row) {
                let (lock, kind) = (escaped(&row.name), row.kind.name());
                let name = metric.name;
                let _ = writeln!(text, "{name}{suffix}{{lock=\"{lock}\",kind=\"{kind}\"}} {value}");
            }
        }
    }
    head(&mut text, "lockwright_event", "counter", "", "Lock events of the process.");
    for (name, count) in &report.events {
        let _ = writeln!(text, "lockwright_event_total{{event=\"{name}\"}} {count}");
    }
    text.push_str("# EOF\n");
    text
}

fn head(text: &mut String, name: &str, kind: &str, unit: &str, help: &str) {
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
