//! `lockwright sim` and `lockwright machines` as their users meet them.

mod support;

use std::fs;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use predicates::str::contains;
use support::{files, interrupted, refused, stdout};

fn lockwright(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("lockwright"));
    command.args(arguments);
    command
}

/// A sweep that takes a moment.
const SMALL: [&str; 6] = ["sim", "--seeds", "1", "--threads", "4,20", "--quiet"];

fn sweep(arguments: &[&str]) -> Command {
    let mut command = lockwright(&SMALL);
    command.args(arguments);
    command
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let output = sweep(arguments).args(["--json", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn machines_are_listed_and_shown_in_the_form_that_is_read() {
    lockwright(&["machines"]).assert().success().stdout(contains("ivybridge-ex-8s"));
    let output = lockwright(&["machines", "skylake-2s"]).output().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, &output.stdout).unwrap();
    let mine = json(&["--machine", file.to_str().unwrap(), "--ms", "1", "--policy", "v5.3"]);
    let theirs = json(&["--machine", "skylake-2s", "--ms", "1", "--policy", "v5.3"]);
    assert_eq!(mine["variants"], theirs["variants"]);
    assert_eq!(mine["settings"]["warmup_ms"], 0.5);
    assert_eq!(mine["settings"]["placement"], "nodes");
    let host = lockwright(&["machines", "host"]).output().unwrap();
    // One CPU has no line to pass on.
    assert!(stdout(&host).contains("measured here") || host.status.code() == Some(3), "{host:?}");
    refused(&mut lockwright(&["machines", "nobody"]), "unknown machine 'nobody'");
}

/// Every lock on every workload, and the same in another process.
#[test]
fn every_lock_runs_and_a_run_can_be_repeated() {
    let rwlocks = "fifo,steal,v5.2,handoff,handoff-at-once,wake-all,reader-spin,timed-spin,v5.3,\
                   v5.4,anti-starvation,reader-steal,limit-rspin,v5.11,early-transfer,default";
    let mutexes = "mutex,mutex-latency,mutex-atomic,mutex-kernel,mutex-2013-before,mutex-2013-after,\
                   peer-barging,peer-fair-after-0.5ms";
    let both = format!("{rwlocks},{mutexes}");
    for (workload, locks, ms) in [
        ("rwlock", rwlocks, "4"),
        // One unmapping takes 5 ms.
        ("page-fault", rwlocks, "30"),
        ("mutex", mutexes, "4"),
        ("users", &both, "4"),
        ("torture", "mutex-kernel", "4"),
        ("create-shared", "v5.11", "4"),
        ("create-private", "default", "4"),
        ("list-shared", "v5.11", "4"),
        ("forks", &both, "4"),
        ("guest", &both, "4"),
        ("stall", &both, "4"),
        ("map", rwlocks, "4"),
        ("burst", &both, "4"),
        ("epoll-control", &both, "4"),
        ("epoll-wait", &both, "4"),
    ] {
        let arguments = ["--workload", workload, "--policy", locks, "--ms", ms];
        let value = json(&arguments);
        assert_eq!(value, json(&arguments), "{workload}: another process, another run");
        for result in value["variants"][0]["results"].as_array().unwrap() {
            let (lock, kops) = (&result["lock"], result["kops"].as_f64().unwrap());
            assert!(kops > 0.0, "{workload}: {lock} did nothing");
        }
    }
    let seqcount = json(&["--ms", "1", "--readers", "100", "--policy", "seqcount"]);
    assert!(seqcount["variants"][0]["results"][0]["kops"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_sweep_shows_what_it_is_asked_for() {
    let output = sweep(&["--ms", "1", "--dedicated", "--events", "--vary", "latency=+-20%"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    for word in
        ["20 threads", "v5.11", "p99.9", "lines from", "rwsem_", "latency - 20 %", "latency + 20 %"]
    {
        assert!(
            text.replace("-20", "- 20").replace("+20", "+ 20").contains(word),
            "{word}:\n{text}"
        );
    }
}

/// Four threads of 4 us, half of it under the lock: of their own a million operations a second, of
/// one directory half of that at most, and readers do not wait for each other.
#[test]
fn directories_are_shared_or_not() {
    let kops = |workload| {
        let value = json(&["--workload", workload, "--policy", "v5.11", "--ms", "10"]);
        value["variants"][0]["results"][0]["kops"].as_f64().unwrap()
    };
    let [shared, private, listed] = ["create-shared", "create-private", "list-shared"].map(kops);
    assert!((900.0..=1_010.0).contains(&private), "{private}");
    assert!((200.0..=500.0).contains(&shared), "{shared}");
    assert!((700.0..=private).contains(&listed), "{listed}");
}

/// What a lock guards comes with it, from core to core: the more lines, the fewer sections.
#[test]
fn guarded_lines_are_fetched() {
    let kops = |lines| {
        let value = json(&["--workload", "mutex", "--policy", "mutex-kernel", "--lines", lines]);
        value["variants"][0]["results"][0]["kops"].as_f64().unwrap()
    };
    let [none, four] = ["0", "4"].map(kops);
    assert!(four < 0.8 * none, "{none} -> {four}");
}

/// More threads than CPUs: owners lose theirs inside sections, and where slices are extended some keep it.
#[test]
fn owners_that_are_waited_for_get_time_where_slices_are_extended() {
    let events = |policy: &str| {
        let output = lockwright(&["sim", "--set", "topology.sockets=1,topology.cores=2"])
            .args(["--workload", "mutex", "--outside-ns", "300", "--load", "100"])
            .args(["--threads", "16", "--ms", "40", "--seeds", "1", "--events"])
            .args(["--policy", policy])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        stdout(&output)
    };
    assert!(events("mutex-kernel+slice-ext").contains("time_granted "));
    assert!(!events("mutex-kernel").contains("time_granted "));
}

/// A first waiter that asks shortly before its slice is over sleeps until it gets the lock: a guest that came
/// before it and takes a free lock must leave it what it has asked. In 3 of 480 such runs (40 seeds) it did not.
#[test]
fn race_29_a_guest_leaves_the_first_waiter_its_request() {
    let policies = "mutex,mutex-atomic,mutex-latency";
    let output = lockwright(&["sim", "--quiet", "--workload", "guest", "--ms", "4"])
        .args(["--threads", "3,4,5,9", "--seeds", "16", "--policy", policies])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Readers that are hogs, or one that is a guest.
#[test]
fn guests_and_hogs_read_if_asked_to() {
    for who in ["writer-among-readers", "reader-among-writers"] {
        let value = json(&["--workload", "guest", "--guest", who, "--ms", "10"]);
        let results = value["variants"][0]["results"].as_array().unwrap();
        assert_eq!(results[0]["lock"], "v5.2", "reader-writer locks by default");
        for result in results {
            let sample = &result["samples"][0];
            let done = ["readers", "writers"].map(|role| sample[role]["mean"].as_f64().unwrap());
            assert!(
                done[0] >= 1.0 && done[1] > 10.0 * done[0],
                "{who}, {}: {done:?}",
                result["lock"]
            );
        }
    }
}

/// Events are posted by one thread and taken by the others, none twice.
#[test]
fn events_are_taken_as_they_are_posted() {
    let arguments =
        ["--workload", "epoll-wait", "--policy", "mutex", "--inside-ns", "200", "--ms", "20"];
    let value = json(&arguments);
    let sample = &value["variants"][0]["results"][0]["samples"][0];
    let threads = [&sample["readers"]["threads"], &sample["writers"]["threads"]];
    assert_eq!(threads, [1, 3]);
    let mean = |role: &str| sample[role]["mean"].as_f64().unwrap();
    let (posted, taken) = (mean("readers"), 3.0 * mean("writers"));
    // Some may have been posted before what counts began, at most as many as there are counters.
    assert!(taken > 0.0 && taken <= posted + 3.0 * 64.0, "{posted} posted, {taken} taken");
}

#[test]
fn wrong_arguments_are_refused() {
    refused(&mut sweep(&["--machine", "nobody"]), "unknown machine 'nobody'");
    refused(&mut sweep(&["--ms", "0"]), "--ms");
    refused(&mut sweep(&["--machine", "./missing.toml"]), "cannot read ./missing.toml");
    refused(&mut sweep(&["--policy", "mutex"]), "unknown lock 'mutex' for this workload");
    refused(&mut sweep(&["--policy", "seqcount"]), "100 % reads");
    let sleeping = ["--policy", "seqcount", "--readers", "100", "--sleep-us", "1"];
    refused(&mut sweep(&sleeping), "that do not sleep");
    refused(&mut sweep(&["--machine", "/dev/zero"]), "no machine file");
    refused(&mut sweep(&["--readers", "101"]), "--readers");
    refused(&mut sweep(&["--threads", "0"]), "at least 1 thread");
    let unused = ["--workload", "forks", "--sleep-us", "3"];
    refused(
        &mut sweep(&unused),
        "--sleep-us is for --workload rwlock, mutex and stall, and has no effect on forks",
    );
    refused(&mut sweep(&["--shards", "2"]), "--shards is for --workload users, forks and map");
    refused(&mut sweep(&["--outside", "1", "--outside-ns", "1"]), "cannot be used with");
    refused(&mut sweep(&["--batch", "50"]), "--batch 50: a batch is not longer than --ms, 40");
    refused(&mut sweep(&["--set", "topology.sockets"]), "expected NAME=VALUE");
    refused(&mut sweep(&["--set", "topology.sokets=4"]), "there is no number 'topology.sokets'");
    refused(&mut sweep(&["--set", "latency.far=1"]), "--set: ");
    refused(&mut sweep(&["--workload", "burst", "--threads", "1"]), "at least 2");
    refused(&mut sweep(&["--guest", "reader-among-writers"]), "--guest is for --workload guest");
    let reads = ["--workload", "guest", "--guest", "writer-among-readers", "--policy", "mutex"];
    refused(&mut sweep(&reads), "unknown lock 'mutex' for this workload");
    refused(&mut sweep(&["--blocks", "--dedicated"]), "cannot be used with");
    refused(&mut sweep(&["--home", "8"]), "--home 8: ivybridge-ex-8s has 8 nodes, counted from 0");
    refused(&mut sweep(&["--threads", "20001"]), "at most 20000");
    refused(&mut sweep(&["--vary", "latency"]), "NAME=PERCENT");
    refused(&mut sweep(&["--vary", "lat=5"]), "unknown number 'lat'");
    refused(&mut sweep(&["--vary", "topology=5"]), "unknown number 'topology'");
    refused(&mut sweep(&["--json", "/missing/x.json"]), "cannot write");
    refused(&mut lockwright(&["sim", "published", "nobody"]), "unknown table 'nobody'");
    refused(&mut lockwright(&["sim", "published", "rwsem-boot-events"]), "is not simulated");
}

#[test]
fn a_bad_machine_file_is_refused_with_line_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    let good = lockwright(&["machines", "skylake-2s"]).output().unwrap().stdout;
    let good = String::from_utf8(good).unwrap();
    for (old, new, why) in [
        ("[latency.far]", "[latency.fra]", "fra"),
        ("name = ", "name ", "line 1: "),
        ("value = 20.0", "value = -20.0", "line 12: topology.cores is -20"),
    ] {
        assert!(good.contains(old), "{old}");
        fs::write(&file, good.replacen(old, new, 1)).unwrap();
        refused(&mut sweep(&["--machine", file.to_str().unwrap()]), why);
    }
    // What is allowed may be varied to what is not.
    let jitter = "[latency.jitter]\nvalue = 0.2";
    assert!(good.contains(jitter));
    fs::write(&file, good.replacen(jitter, "[latency.jitter]\nvalue = 0.9", 1)).unwrap();
    let path = file.to_str().unwrap();
    let why = "skylake-2s: latency.jitter is 1.08";
    refused(&mut sweep(&["--machine", path, "--vary", "latency=20"]), why);
    // A report does not replace the machine it is of.
    fs::write(&file, &good).unwrap();
    refused(&mut sweep(&["--machine", path, "--json", path]), "that is the machine file");
    assert_eq!(fs::read_to_string(&file).unwrap(), good);
    assert_eq!(files(folder.path()), ["bad.toml"]);
}

/// A run of minutes ends at once, with a word and the exit code of an interruption.
#[test]
fn an_interrupted_run_ends() {
    let arguments = ["sim", "-q", "-s", "1", "--ms", "100000", "-t", "8", "--policy", "v5.11"];
    let output = interrupted(&arguments, Duration::from_millis(500));
    assert!(output.stdout.is_empty(), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error, "lockwright: interrupted; nothing is shown\n");
}

/// Of ten thousand runs, those that had ended are shown.
#[test]
fn an_interrupt_keeps_what_had_ended() {
    let arguments = ["sim", "-q", "-s", "10000", "--ms", "1", "-t", "8", "--policy", "v5.11"];
    let output = interrupted(&arguments, Duration::from_millis(1_500));
    assert!(stdout(&output).contains("8 threads"), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error, "lockwright: interrupted; what had ended is shown\n");
}

/// A line for each lock and number of threads, as wide as its head.
#[test]
fn results_come_as_csv() {
    let arguments = ["--ms", "1", "--workload", "mutex", "--policy", "peer-*", "--csv", "-"];
    let output = sweep(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let locks: Vec<_> = lines.iter().map(|line| line[1]).collect();
    let (barging, fair) = ("peer-barging", "peer-fair-after-0.5ms");
    assert_eq!(locks, ["lock", barging, fair, barging, fair]);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
}

/// The command that is shown for a published run yields the figure of that run.
#[test]
fn a_published_run_can_be_repeated() {
    let table = ["sim", "published", "rwsem-skylake-fairness", "--quick"];
    let commands = lockwright(&table).arg("--commands").output().unwrap();
    let command = stdout(&commands);
    let words = command.lines().find_map(|line| line.strip_prefix("lockwright ")).unwrap();
    let words: Vec<&str> = words.split(' ').chain(["--seeds", "1"]).collect();
    let json = |command: &mut Command| -> serde_json::Value {
        let output = command.args(["--quiet", "--json", "-"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let again = json(&mut lockwright(&words));
    let published = json(&mut lockwright(&table));
    let cells = published["tables"][0]["cells"].as_array().unwrap();
    let cell = cells.iter().find(|cell| cell["column"] == "reader_mean").unwrap();
    let sample = &again["variants"][0]["results"][0]["samples"][0];
    // Operations of a reader in 5 s.
    let each = sample["readers"]["mean"].as_f64().unwrap() / sample["seconds"].as_f64().unwrap();
    let simulated = cell["simulated"].as_f64().unwrap();
    assert!((5.0 * each / simulated - 1.0).abs() < 1e-6, "{each} a second, {simulated}");
}

/// What was fitted is told by the program that judges.
#[test]
fn the_choices_are_shown() {
    let output = lockwright(&["sim", "published", "--choices"]).output().unwrap();
    assert!(stdout(&output).contains("otherwise"), "{output:?}");
}

/// A report that cannot be written costs its file, not the table.
#[test]
fn a_full_device_does_not_cost_the_table() {
    let output =
        sweep(&["--ms", "1", "--policy", "v5.11", "--json", "/dev/full"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(stdout(&output).contains("20 threads"), "{output:?}");
}

/// Sections that sleep for as long as all others wait are no sign of a lock that is stuck.
#[test]
fn long_sleeps_are_waited_for() {
    let mut command = lockwright(&["sim", "-q", "-s", "1", "--ms", "1", "--threads", "64"]);
    command.args(["--policy", "v5.11", "--readers", "0", "--sleep-us", "1000000"]);
    command.assert().success().stdout(contains("64 threads"));
}

/// What only writes is shown as writes.
#[test]
fn operations_that_only_write_are_writes() {
    for workload in ["create-shared", "forks"] {
        let value = json(&["--workload", workload, "--policy", "v5.11", "--ms", "2"]);
        let sample = &value["variants"][0]["results"][0]["samples"][0];
        assert_eq!(sample["readers"]["threads"], 0, "{workload}");
        assert_eq!(sample["writers"]["threads"], 4, "{workload}");
    }
}

/// More threads than a short run can start: the figures are 0, and it is said why.
#[test]
fn a_run_too_short_for_its_threads_says_so() {
    let mut command = lockwright(&["sim", "--quiet", "--seeds", "1", "--ms", "1", "--threads"]);
    command.args(["600", "--policy", "v5.11", "--machine", "epyc-9754-2s"]);
    command.assert().success().stderr(contains("nothing done in 1 ms; try a longer --ms"));
}

#[test]
fn published_figures_stand_beside_simulated_ones() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("published.json");
    let arguments =
        ["sim", "published", "osq-epyc7551-locktorture", "--quick", "--quiet", "--json"];
    let output = lockwright(&arguments).arg(&json).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    for word in
        ["64 writers", "21047265", "rank correlation", "Not simulated:", "rwsem-boot-events"]
    {
        assert!(text.contains(word), "{word}:\n{text}");
    }
    // The page says the same.
    let conclusion = text.lines().find(|line| line.contains(" claims hold, ")).unwrap();
    let page = lockwright(&["report"]).arg(&json).output().unwrap();
    assert_eq!(page.status.code(), Some(0), "{page:?}");
    let page = stdout(&page);
    assert!(page.contains("<svg") && page.contains(conclusion), "{conclusion}");
}

/// Which verdicts depend on a number of the machines.
#[test]
fn published_tables_can_be_had_from_changed_machines() {
    let arguments = ["sim", "published", "lkp-mutex-vs-rwsem", "--quick", "--quiet", "--json", "-"];
    let run = |more: &[&str]| {
        let output = lockwright(&arguments).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let (plain, varied) = (run(&[]), run(&["--vary", "scheduler.switch=50"]));
    assert_eq!(plain["tables"], varied["tables"]);
    let labels = [0, 1].map(|i| varied["varied"][i]["variant"].as_str().unwrap());
    assert_eq!(labels, ["scheduler.switch -50 %", "scheduler.switch +50 %"]);
    for i in [0, 1] {
        let other = &varied["varied"][i]["tables"];
        assert_ne!(*other, plain["tables"]);
        assert_eq!(other[0]["verdicts"][0]["claim"], plain["tables"][0]["verdicts"][0]["claim"]);
    }
    let mut unknown = lockwright(&arguments);
    refused(unknown.args(["--vary", "nothing=50"]), "unknown number 'nothing'");
}

/// Nobody reads what is said: what is asked for comes nevertheless.
#[test]
fn a_closed_standard_error_costs_nothing_else() {
    let command = |arguments: &[&str]| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(cargo_bin("lockwright"));
        command.args(arguments).stderr(full).output().unwrap()
    };
    let output = command(&["sim", "-s", "1", "--ms", "1", "-t", "2", "--policy", "v5.11"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(stdout(&output).contains("v5.11"), "{output:?}");
    assert_eq!(command(&["sim", "--threads", "0"]).status.code(), Some(2));
}

/// Lock A against lock B on a simulated machine, and the same locks on another, as `compare` has it.
#[test]
fn what_is_simulated_is_a_record_that_compare_and_report_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, policy: &str, more: &[&str]| {
        let path = folder.path().join(name);
        let mut command = lockwright(&["sim", "--seeds", "8", "--threads", "20", "--quiet"]);
        command.args(["--ms", "4", "--policy", policy, "--json"]).arg(&path).args(more);
        command.assert().success();
        path
    };
    let old = write("old.json", "v5.2", &[]);
    let same = write("same.json", "v5.2", &[]);
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&fs::read(&old).unwrap()).unwrap()["samples"],
        serde_json::from_slice::<serde_json::Value>(&fs::read(&same).unwrap()).unwrap()["samples"],
    );
    let slow = write("slow.json", "v5.2", &["--load", "60"]);
    let compare = |other: &std::path::Path| {
        let mut command = lockwright(&["compare"]);
        command.arg(&old).arg(other);
        command.output().unwrap()
    };
    let output = compare(&same);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    assert!(!text.contains("is better") && !text.contains("is worse"), "{text}");
    let output = compare(&slow);
    assert_eq!(output.status.code(), Some(2), "another workload is another setting: {output:?}");
    let other = write("other.json", "v5.2", &["--machine", "skylake-2s"]);
    let output = compare(&other);
    assert!(String::from_utf8_lossy(&output.stderr).contains("different machines"), "{output:?}");
    lockwright(&["report"]).arg(&old).assert().success().stdout(contains("<svg"));
}

/// What was found of the kernel in 2012: a reader-writer semaphore that is strictly first in, first out
/// makes programs that fork sleep, and CPUs idle, where one that lets writers steal it does not.
#[test]
fn first_in_first_out_is_worse_than_stealing_for_programs_that_fork() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forks.json");
    lockwright(&["sim", "--workload", "forks", "--threads", "32", "--policy", "steal,fifo"])
        .args(["--seeds", "8", "--ms", "40", "--quiet", "--json"])
        .arg(&path)
        .assert()
        .success();
    let output = lockwright(&["compare", path.to_str().unwrap(), "--base", "steal"])
        .args(["--fail-on", "5%"])
        .output()
        .unwrap();
    let text = stdout(&output);
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(plain.contains("fifo is worse than steal: kops/s"), "{text}");
    assert!(plain.contains("It goes with: vol/Mop"), "the ratio of the switches:\n{text}");
    assert!(plain.contains("idle CPUs"), "{text}");
    refused(
        &mut lockwright(&["compare", path.to_str().unwrap(), "--base", "nobody"]),
        "has no 'nobody'; it has: steal, fifo",
    );
}
