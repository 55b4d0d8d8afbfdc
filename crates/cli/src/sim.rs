//! `lockwright sim` and `lockwright machines`.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use lockwright_lab::sim::batch::{self, Ended, Task};
use lockwright_lab::sim::forks::Turn;
use lockwright_lab::sim::host::host;
use lockwright_lab::sim::job::Job;
use lockwright_lab::sim::published;
use lockwright_lab::sim::report;
use lockwright_lab::sim::subjects::{SUBJECTS, SimSubject};
use lockwright_lab::sim::workload::{Workload, takes};
use lockwright_sim::Machine;
use lockwright_workloads::directory::Pattern;
use lockwright_workloads::rw_bench::Percent;
use serde_json::json;

use crate::failure::{Failure, exit};
use crate::output::{Target, target_of};
use crate::progress::Progress;
use crate::session::{INTERRUPT, catch_signals};
use crate::sim_args::{Kind, MachinesArgs, OutArgs, PublishedArgs, SimArgs, SimCommand, SweepArgs};
use crate::vary::Vary;

/// Runs `lockwright sim`.
pub fn run(args: &SimArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        Some(SimCommand::Published(args)) => run_published(args),
        None => sweep(&args.sweep),
    }
}

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
    let all = Machine::built_in();
    let names: Vec<_> = all.iter().map(|machine| machine.name.clone()).collect();
    all.into_iter().find(|machine| machine.name == name).ok_or_else(|| {
        Failure::Usage(format!(
            "unknown machine '{name}'; known: host, {}; a file for --machine has a '/' or '.' in its path",
            names.join(", ")
        ))
    })
}

/// More bytes no machine file has.
const LONGEST_FILE: u64 = 1 << 20;

/// A built-in machine, or one from a file.
fn machine(name: &str) -> Result<Machine, Failure> {
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

/// Where the JSON goes; the table goes to stdout unless that does.
fn json_target(out: &OutArgs) -> Result<Option<Target>, Failure> {
    out.json.as_deref().map(target_of).transpose()
}

fn deliver(target: Option<Target>, text: &str, value: &serde_json::Value) -> Result<(), Failure> {
    let json = match &target {
        Some(target) => {
            let mut json = serde_json::to_vec_pretty(value).map_err(|error| {
                Failure::Environment(format!("cannot render a report: {error}"))
            })?;
            json.push(b'\n');
            target.write(&json)
        }
        None => Ok(()),
    };
    // A file that could not be written must not cost the table too.
    let table = match target {
        Some(Target::Stdout) => Ok(()),
        _ => Target::Stdout.write(text.as_bytes()),
    };
    json.and(table)
}

fn workload(args: &SweepArgs) -> Workload {
    let directory = |pattern| Workload::Directory { pattern, inside_ns: 2_000, outside_ns: 2_000 };
    let (load, outside) = (args.load.unwrap_or(1), args.outside.unwrap_or(0));
    let locks = args.locks.unwrap_or(1);
    match args.workload {
        Kind::Rwlock => Workload::Rw {
            readers_percent: args.readers.unwrap_or(50),
            mix: args.mix.mix(),
            load,
            outside,
            sleep_ns: u64::from(args.sleep_us.unwrap_or(0)) * 1_000,
        },
        Kind::Mutex => Workload::Mutex { load, outside },
        Kind::PageFault => Workload::PAGE_FAULT1,
        Kind::Forks => Workload::Forks(Turn {
            work_ns: 40_000,
            locks,
            sections: 5,
            inside_ns: 500,
            outside_ns: 0,
        }),
        Kind::CreateShared => directory(Pattern::SharedWrite),
        Kind::CreatePrivate => directory(Pattern::PrivateWrite),
        Kind::ListShared => directory(Pattern::SharedRead),
        Kind::Torture => {
            let long_hold_ms = args.long_hold.unwrap_or(100);
            Workload::Torture { long_hold_ms, outside_ns: 0 }
        }
        Kind::Users => Workload::Forks(Turn {
            work_ns: 0,
            locks,
            sections: 33,
            inside_ns: 250,
            outside_ns: 110_000,
        }),
    }
}

/// A choice as it is typed.
fn name_of(choice: impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.as_ref().map(PossibleValue::get_name).unwrap_or_default().to_owned()
}

/// # Errors
///
/// An option is given that the workload does not use.
fn check_options(args: &SweepArgs) -> Result<(), Failure> {
    let given: [(_, _, &[Kind]); 8] = [
        ("--readers", args.readers.is_some(), &[Kind::Rwlock]),
        ("--dedicated", args.mix.dedicated, &[Kind::Rwlock]),
        ("--blocks", args.mix.blocks.is_some(), &[Kind::Rwlock]),
        ("--sleep-us", args.sleep_us.is_some(), &[Kind::Rwlock]),
        ("--load", args.load.is_some(), &[Kind::Rwlock, Kind::Mutex]),
        ("--outside", args.outside.is_some(), &[Kind::Rwlock, Kind::Mutex]),
        ("--long-hold", args.long_hold.is_some(), &[Kind::Torture]),
        ("--locks", args.locks.is_some(), &[Kind::Users, Kind::Forks]),
    ];
    let unused = given.iter().find(|(_, given, kinds)| *given && !kinds.contains(&args.workload));
    match unused {
        Some((option, _, kinds)) => {
            let kinds: Vec<_> = kinds.iter().map(|kind| name_of(*kind)).collect();
            let (kinds, kind) = (kinds.join(" and "), name_of(args.workload));
            Err(Failure::Usage(format!(
                "{option} is for --workload {kinds}, and has no effect on {kind}"
            )))
        }
        None => Ok(()),
    }
}

fn subjects(args: &SweepArgs, workload: &Workload) -> Result<Vec<&'static SimSubject>, Failure> {
    let rwlock = takes(workload, true);
    let fitting = || SUBJECTS.iter().filter(|subject| takes(workload, subject.rwlock));
    let defaults: &[&str] =
        if rwlock { &["v5.2", "v5.3", "v5.11", "default"] } else { &["mutex", "mutex-kernel"] };
    let names: Vec<&str> = match &args.policy {
        Some(names) => names.iter().map(|name| name.trim()).collect(),
        None => defaults.to_vec(),
    };
    let find = |name: &str| {
        fitting().find(|subject| subject.name == name).ok_or_else(|| {
            let known: Vec<_> = fitting().map(|subject| subject.name).collect();
            let known = known.join(", ");
            Failure::Usage(format!("unknown lock '{name}' for this workload; known: {known}"))
        })
    };
    let chosen: Vec<_> = names.into_iter().map(find).collect::<Result<_, _>>()?;
    let plain = matches!(workload, Workload::Rw { readers_percent: 100, sleep_ns: 0, .. });
    if !plain && chosen.iter().any(|subject| subject.name == "seqcount") {
        let why =
            "seqcount has no writers here: it takes a workload of 100 % reads that do not sleep";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok(chosen)
}

/// The machine as it is, and with some numbers changed down and up.
fn variants(args: &SweepArgs, machine: Machine) -> Result<Vec<(String, Machine)>, Failure> {
    let mut all = vec![(String::new(), machine)];
    if let Some(text) = &args.vary {
        let vary = Vary::parse(text, &all[0].1)?;
        for (label, factor) in vary.variants() {
            let machine = vary.changed(&all[0].1, factor)?;
            all.push((label, machine));
        }
    }
    Ok(all)
}

fn sweep(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let machine = machine(&args.machine)?;
    check_options(args)?;
    args.mix.check(&[Percent::whole(args.readers.unwrap_or(50))])?;
    let workload = workload(args);
    let subjects = subjects(args, &workload)?;
    let variants = variants(args, machine)?;
    let target = json_target(&args.out)?;
    if let Some(Target::File(file)) = &target
        && fs::canonicalize(&args.machine).is_ok_and(|machine| machine == *file)
    {
        let why = format!("--json {}: that is the machine file", file.display());
        return Err(Failure::Usage(why));
    }
    let nodes = variants[0].1.nodes();
    if let Some(home) = args.home.filter(|&home| home >= nodes) {
        let why = format!("--home {home}: {} has {nodes} nodes, counted from 0", args.machine);
        return Err(Failure::Usage(why));
    }
    if let Some(&most) = args.threads.iter().find(|&&threads| threads > 20_000) {
        return Err(Failure::Usage(format!("--threads {most}: at most 20000")));
    }
    catch_signals()?;
    let mut tasks = Vec::new();
    for (_, machine) in &variants {
        for &threads in &args.threads {
            for &subject in &subjects {
                let time = Duration::from_millis(args.ms);
                let job = Job {
                    machine: machine.clone(),
                    placement: args.placement.into(),
                    bound: args.bound,
                    home: args.home,
                    workload,
                    kernel: args.kernel,
                    threads,
                    warmup: time / 2,
                    time,
                    seed: 0,
                    stop: || false,
                };
                tasks.push(Task { subject, job, seeds_times: 1 });
            }
        }
    }
    let runs = tasks.iter().map(|task| task.runs(args.seeds)).sum();
    let what = format!("{runs} runs on {}", args.machine);
    let results = match watched(&what, runs, args.out.quiet, |stop, step| {
        batch::carry_out(&tasks, args.seeds, stop, step)
    })? {
        Ok(results) => results,
        Err(code) => return Ok(code),
    };
    for idle in results.iter().filter(|result| result.kops == 0.0) {
        let (lock, threads, ms) = (idle.lock, idle.threads, args.ms);
        say!("lockwright: {lock}, {threads} threads: nothing done in {ms} ms; try a longer --ms");
    }
    let mut text = String::new();
    let mut blocks = Vec::new();
    for ((label, _), results) in
        variants.iter().zip(results.chunks(args.threads.len() * subjects.len()))
    {
        let _ = write!(text, "{}{label}", if label.is_empty() { "" } else { "\n" });
        text += &report::sweep(results);
        if args.events {
            text += &report::events(results);
        }
        blocks.push(json!({ "variant": label, "results": results }));
    }
    let placement = name_of(args.placement);
    let bound = if args.bound { ", bound" } else { "" };
    let kernel = if args.kernel { ", as in a kernel" } else { "" };
    let heading =
        format!("{}, {placement}{bound}{kernel}, {} ms, {workload:?}\n", args.machine, args.ms);
    let record = json!({
        "schema_version": 1, "record": "sim", "lockwright": env!("CARGO_PKG_VERSION"),
        "machine": variants[0].1, "workload": workload,
        "settings": {
            "placement": placement, "bound": args.bound, "home": args.home, "kernel": args.kernel, "ms": args.ms,
            "warmup_ms": args.ms as f64 / 2.0, "seeds": args.seeds,
        },
        "variants": blocks,
    });
    deliver(target, &(heading + &text), &record)?;
    Ok(ExitCode::SUCCESS)
}

fn run_published(args: &PublishedArgs) -> Result<ExitCode, Failure> {
    let known = published::names();
    for name in &args.tables {
        if let Some((_, why)) = published::left_out().iter().find(|(left, _)| left == name) {
            return Err(Failure::Usage(format!("table '{name}' is not simulated: {why}")));
        }
        if !known.contains(&name.as_str()) {
            let known = known.join(", ");
            return Err(Failure::Usage(format!("unknown table '{name}'; known: {known}")));
        }
    }
    let chosen: Vec<&str> = match args.tables.as_slice() {
        [] => known,
        some => some.iter().map(String::as_str).collect(),
    };
    let seeds = args.seeds.unwrap_or(if args.quick { 1 } else { 2 });
    let mut batches = vec![(String::new(), published::batch(&chosen, args.quick))];
    if let Some(text) = &args.vary {
        let vary = Vary::parse(text, &Machine::built_in()[0])?;
        for (label, factor) in vary.variants() {
            let mut batch = published::batch(&chosen, args.quick);
            for machine in batch.machines() {
                *machine = vary.changed(machine, factor)?;
            }
            batches.push((label, batch));
        }
    }
    let target = json_target(&args.out)?;
    catch_signals()?;
    let runs = batches.iter().map(|(_, batch)| batch.runs(seeds)).sum();
    let what = format!("{} tables, {runs} runs", chosen.len());
    let tables = match watched(&what, runs, args.out.quiet, |stop, step| {
        let all = batches.iter().map(|(_, batch)| batch.simulate(seeds, stop, step));
        all.collect::<Result<Vec<_>, _>>()
    })? {
        Ok(tables) => tables,
        Err(code) => return Ok(code),
    };
    let mut text = report::published(&tables[0]);
    let mut varied = Vec::new();
    for ((label, _), tables) in batches.iter().zip(&tables).skip(1) {
        text += &report::varied(label, tables);
        varied.push(json!({ "variant": label, "tables": tables }));
    }
    let record = json!({
        "schema_version": 1, "record": "sim-published", "lockwright": env!("CARGO_PKG_VERSION"),
        "settings": { "quick": args.quick, "seeds": seeds }, "tables": tables[0], "varied": varied,
    });
    deliver(target, &text, &record)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `work` with progress; `Err` within: the exit code of a run that yielded nothing.
fn watched<R>(
    what: &str,
    runs: u64,
    quiet: bool,
    work: impl FnOnce(fn() -> bool, &(dyn Fn() + Sync)) -> Result<R, Ended>,
) -> Result<Result<R, ExitCode>, Failure> {
    let progress = Progress::begin(what, runs, quiet);
    let done = AtomicU64::new(0);
    let step = || {
        // Ordering: Relaxed: a number to show.
        let done = done.fetch_add(1, Relaxed) + 1;
        progress.step(done, || format!("run {done} of {runs}"));
    };
    let result = work(|| INTERRUPT.is_raised(), &step);
    progress.end();
    Ok(match result {
        Ok(result) => Ok(result),
        Err(Ended::Interrupted) => {
            say!("lockwright: interrupted; nothing is shown");
            Err(ExitCode::from(exit::INTERRUPTED))
        }
        Err(Ended::Failed(why)) => {
            say!("lockwright: check failed: {}", why.replace('\n', "; "));
            Err(ExitCode::from(exit::CHECK_FAILED))
        }
        Err(Ended::Refused(why)) => return Err(Failure::Environment(why)),
    })
}
