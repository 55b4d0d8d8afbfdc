//! The forms of a made-up record.

use super::layout::{Order, Shown, page};
use super::{csv, json, markdown, table};
use crate::experiment::example::record;
use crate::record::metric;
use crate::record::{Record, SCHEMA_VERSION, parse};

fn text(record: &Record, shown: &Shown) -> String {
    table::render(&page(record, shown))
}

fn written(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    json::write(record, &mut bytes).unwrap();
    bytes
}

#[test]
fn all_figures_are_there_and_no_line_is_wider_than_a_terminal() {
    let text = text(&record(), &Shown::default());
    for word in [
        "ns/pair",
        "gross",
        "kops/s",
        "CV%",
        "ratio",
        "Jain",
        "least",
        "CPU-us",
        "vol/Mop",
        "inv/Mop",
        "p50",
        "p99",
        "p99.9",
        "max",
        "by time",
        "std",
        "parking_lot",
        "lockwright",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn tables_of_a_kind_align() {
    let text = text(&record(), &Shown::default());
    let mut heads = text.lines().filter(|line| line.contains("kops/s ") && line.contains("CV%"));
    let first = heads.next().unwrap();
    assert!(heads.next().is_some_and(|next| next == first));
}

#[test]
fn intervals_events_and_metrics_are_shown_where_asked() {
    let plain = text(&record(), &Shown::default());
    assert!(!plain.contains("95%-interval") && !plain.contains("mutex_sleep"));
    let shown = Shown { interval: true, events: true, ..Shown::default() };
    let more = text(&record(), &shown);
    assert!(
        more.contains("95%-interval") && more.contains("lockwright: mutex_sleep 51\n"),
        "{more}"
    );
    let shown = Shown { metrics: vec![&metric::THREAD_MIN], ..Shown::default() };
    let own = text(&record(), &shown);
    assert!(own.contains("min/thr") && !own.contains("inv/Mop"), "{own}");
}

#[test]
fn an_interrupted_run_says_so() {
    let mut record = record();
    record.header.complete = false;
    assert!(text(&record, &Shown::default()).contains("INTERRUPTED"));
}

#[test]
fn rows_follow_the_order() {
    let names = |order| {
        let page = page(&record(), &Shown { order, ..Shown::default() });
        let names =
            |table: usize| page.tables[table].rows.iter().map(|row| row[0].clone()).collect();
        [names(0), names(1)]
    };
    let (std, pl, own) = ("std", "parking_lot", "lockwright");
    assert_eq!(
        names(Order::Listed),
        [[std, pl, own]; 2].map(|names| names.map(str::to_owned).to_vec())
    );
    assert_eq!(
        names(Order::Name),
        [[own, pl, std]; 2].map(|names| names.map(str::to_owned).to_vec())
    );
    let best: [Vec<String>; 2] = names(Order::Best);
    assert_eq!((&*best[0][0], &*best[1][0]), (std, own), "nanoseconds: least first; rates: most");
}

#[test]
fn every_table_is_a_markdown_table() {
    let record = record();
    let text = markdown::render(&page(&record, &Shown::default()), &record.header.command_line);
    assert_eq!(text.lines().filter(|line| line.starts_with("|--")).count(), 5, "{text}");
    assert!(text.contains("### 2 threads, load 20"));
}

#[test]
fn csv_has_a_line_for_each_row_with_its_reference_and_interval() {
    let mut text = Vec::new();
    csv::write(&record(), &mut text).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_slice());
    let head = reader.headers().unwrap().clone();
    let at = |name: &str| head.iter().position(|column| column == name).unwrap();
    let lines = reader.records().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(lines.len(), 5 * 3);
    let line = lines.iter().find(|l| &l[0] == "throughput" && &l[1] == "lockwright").unwrap();
    assert_eq!(&line[at("reference")], "parking_lot");
    assert_eq!((&line[at("ratio")], &line[at("ratio_ci95_low")]), ("1.5", "1.5"));
    assert_eq!(&line[at("threads")], "2");
    assert_eq!(&line[at("ns_per_pair")], "");
}

#[test]
fn what_is_written_is_what_is_read() {
    let record = record();
    assert_eq!(parse(&written(&record)).unwrap(), record);
    let value: serde_json::Value = serde_json::from_slice(&written(&record)).unwrap();
    assert_eq!(value["schema_version"], SCHEMA_VERSION);
    assert_eq!(value["arms"][0]["role"], "blocking-peer");
    assert!(value["tool"]["commit"].is_null());
    assert_eq!(value["figures"][3]["kops_per_s"], 500.0);
}

#[test]
fn a_record_without_samples_is_one() {
    let empty = Record { samples: Vec::new(), ..record() };
    assert_eq!(parse(&written(&empty)).unwrap(), empty);
}

#[test]
fn what_is_no_record_of_this_version_is_refused_in_words() {
    let refused = |text: &[u8]| parse(text).unwrap_err().to_string();
    assert!(refused(b"{").starts_with("no result of lockwright"));
    assert!(refused(b"[1]").contains("no schema_version"));
    assert!(refused(b"{\"schema_version\": 1}").contains("measure again"));
    assert!(refused(b"{\"schema_version\": 2}").starts_with("no result of lockwright"));
    let mut astray: serde_json::Value = serde_json::from_slice(&written(&record())).unwrap();
    astray["samples"][0]["arm"] = 3.into();
    assert!(refused(&serde_json::to_vec(&astray).unwrap()).contains("not there"));
}
