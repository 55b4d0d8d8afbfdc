//! `lockwright report` as a user meets it.

mod support;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

use support::{files, refused, stdout};

fn lockwright() -> Command {
    Command::cargo_bin("lockwright").unwrap()
}

/// Results of two locks and two numbers of threads.
fn results(folder: &Path) -> String {
    let file = folder.join("results.json");
    lockwright()
        .args(["bench", "mutex", "--locks", "lockwright,std", "--threads", "1,2"])
        .args(["--rounds", "2", "--secs", "0.02", "-q", "--json"])
        .arg(&file)
        .assert()
        .success();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_page_and_its_pictures_are_made_of_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = results(folder.path());
    let page = lockwright().args(["report", &file, "--title", "A <day>"]).assert().success();
    let page = stdout(page.get_output());
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<h1>A &lt;day&gt;</h1>"));
    assert!(page.contains("results.json") && page.contains("<svg"));

    let pictures = folder.path().join("pictures");
    let svg = ["report", &file, "--svg", pictures.to_str().unwrap()];
    lockwright().args(svg).assert().success().stdout("");
    let names = files(&pictures);
    assert!(!names.is_empty());
    assert_eq!(names.len(), page.matches("<svg").count(), "a file for each picture: {names:?}");
    for name in names {
        let text = fs::read_to_string(pictures.join(&name)).unwrap();
        assert!(name.ends_with(".svg") && text.starts_with("<svg"), "{name}: {text:.60}");
    }
}

#[test]
fn what_is_no_result_file_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    refused(lockwright().args(["report", "/no/such/file.json"]), "/no/such/file.json");
    refused(lockwright().args(["report", &file("text", "no JSON")]), "text: ");
    refused(lockwright().args(["report", &file("list", "[1, 2]")]), "list: ");
    refused(lockwright().args(["report", &file("odd", r#"{"record":"sim"}"#)]), "odd: ");
    refused(lockwright().arg("report"), "FILE.json");
    lockwright().args(["report", "--help"]).assert().success().stdout(contains("Examples:"));
}

#[test]
fn a_page_that_cannot_be_written_is_one_line_and_code_3() {
    let folder = tempfile::tempdir().unwrap();
    let file = results(folder.path());
    let full = lockwright().args(["report", &file, "-o", "/dev/full"]).assert().code(3);
    full.stderr(
        contains("/dev/full").and(predicate::function(|text: &str| support::one_line(text))),
    );
}
