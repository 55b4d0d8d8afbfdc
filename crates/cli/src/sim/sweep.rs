//! `lockwright sim`: a workload, some locks and numbers of threads on one machine.

use std::fmt::Write;
use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use lockwright_lab::record::Record;
use lockwright_lab::sim::batch::{self, Done, Task, Yield};
use lockwright_lab::sim::job::Job;
use lockwright_lab::sim::record;
use lockwright_lab::sim::report;
use lockwright_lab::sim::subjects::{Kind as Lock, SUBJECTS, SimSubject};
use lockwright_lab::sim::window::Length;
use lockwright_lab::sim::workload::Workload;
use lockwright_sim::Machine;
use lockwright_workloads::rw_bench::Percent;
use serde_json::json;

use super::args::{Kind, SweepArgs};
use super::machines::{Change, changed, machine};
use super::vary::Vary;
use super::work::{check_options, name_of, workload};
use super::{Form, Report, deliver, ended, targets, watched};
use crate::failure::Failure;
use crate::output::Target;
use crate::session::{catch_signals, header_of, unrenderable};

/// What a sweep runs: on the machine as it is, and on varied ones.
pub(super) struct Plan {
    workload: Workload,
    variants: Vec<(String, Machine)>,
    subjects: Vec<&'static SimSubject>,
    /// Those of each variant in turn.
    pub tasks: Vec<Task>,
}

impl Plan {
    pub(super) fn of(args: &SweepArgs) -> Result<Self, Failure> {
        let changes: Vec<Change> =
            args.set.iter().map(|text| Change::parse(text)).collect::<Result<_, _>>()?;
        let machine = changed(machine(&args.machine)?, &changes)?;
        check_options(args)?;
        args.mix.check(&[Percent::whole(args.work.readers.unwrap_or(50))])?;
        if let Some(&most) = args.threads.iter().find(|&&threads| threads > 20_000) {
            return Err(Failure::Usage(format!("--threads {most}: at most 20000")));
        }
        let nodes = machine.nodes();
        if let Some(home) = args.home.filter(|&home| home >= nodes) {
            let why = format!("--home {home}: {} has {nodes} nodes, counted from 0", args.machine);
            return Err(Failure::Usage(why));
        }
        let workload = workload(args, &machine);
        let subjects = subjects(args, &workload)?;
        let least = workload.least();
        if let Some(few) = args.threads.iter().find(|&&threads| threads < least) {
            let why = format!("--threads {few}: {} takes at least {least}", name_of(args.workload));
            return Err(Failure::Usage(why));
        }
        let variants = variants(args, machine)?;
        let length = length(args)?;
        let mut tasks = Vec::new();
        for (_, machine) in &variants {
            for &threads in &args.threads {
                tasks.extend(subjects.iter().map(|&subject| {
                    let job = Job {
                        machine: machine.clone(),
                        placement: args.placement.into(),
                        bound: args.bound,
                        home: args.home,
                        workload,
                        kernel: args.kernel,
                        lines: args.lines,
                        threads,
                        length,
                        seed: 0,
                        stop: || false,
                    };
                    Task { subject, job }
                }));
            }
        }
        Ok(Plan { workload, variants, subjects, tasks })
    }
}

fn length(args: &SweepArgs) -> Result<Length, Failure> {
    let time = Duration::from_millis(args.ms);
    let warmup = args.warmup.map_or(time / 2, Duration::from_millis);
    let length = match args.batch {
        Some(ms) if ms > args.ms => {
            let why = format!("--batch {ms}: a batch is not longer than --ms, {}", args.ms);
            return Err(Failure::Usage(why));
        }
        Some(ms) => Length::in_batches(warmup, Duration::from_millis(ms), time),
        None => Length::fixed(warmup, time),
    };
    Ok(match args.sure {
        Some(percent) => length.until_sure(f64::from(percent) / 100.0),
        None => length,
    })
}

/// The locks that are asked for, of those that fit the workload.
fn subjects(args: &SweepArgs, workload: &Workload) -> Result<Vec<&'static SimSubject>, Failure> {
    let all_read = matches!(workload, Workload::Rw { readers_percent: 100, sleep_ns: 0, .. });
    let fits = |subject: &&SimSubject| match subject.kind {
        Lock::RwLock => args.workload != Kind::Mutex,
        Lock::Mutex => !workload.reads(),
        Lock::Readers => all_read,
    };
    let fitting = || SUBJECTS.iter().filter(fits);
    let mutexes = !workload.reads()
        && matches!(
            args.workload,
            Kind::Mutex
                | Kind::Torture
                | Kind::Guest
                | Kind::Stall
                | Kind::Burst
                | Kind::EpollControl
                | Kind::EpollWait
        );
    let defaults: &[&str] = match mutexes {
        true => &["mutex", "mutex-kernel", "peer-*"],
        false => &["v5.2", "v5.3", "v5.11", "default"],
    };
    let names: Vec<&str> = match &args.policy {
        Some(names) => names.iter().map(|name| name.trim()).collect(),
        None => defaults.to_vec(),
    };
    let mut chosen = Vec::new();
    for name in names {
        let named = |subject: &&SimSubject| match name.strip_suffix('*') {
            Some(beginning) => subject.name.starts_with(beginning),
            None => subject.name == name,
        };
        let found: Vec<_> = fitting().filter(named).collect();
        if found.is_empty() {
            return Err(Failure::Usage(unknown(name, &mut fitting())));
        }
        chosen.extend(found);
    }
    Ok(chosen)
}

fn unknown(name: &str, fitting: &mut dyn Iterator<Item = &'static SimSubject>) -> String {
    if name == "seqcount" {
        return "seqcount has no writers here: it takes a workload of 100 % reads that do not sleep".to_owned();
    }
    let known: Vec<_> = fitting.map(|subject| subject.name).collect();
    format!("unknown lock '{name}' for this workload; known: {}", known.join(", "))
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

/// Runs the sweep.
pub fn sweep(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let plan = Plan::of(args)?;
    let targets = targets(&[(Form::Json, &args.out.json), (Form::Csv, &args.csv)])?;
    for (_, target) in &targets {
        if let Target::File(file) = target
            && fs::canonicalize(&args.machine).is_ok_and(|machine| machine == *file)
        {
            return Err(Failure::Usage(format!("{}: that is the machine file", file.display())));
        }
    }
    catch_signals()?;
    let runs = plan.tasks.len() as u64 * args.seeds;
    let what = format!("{runs} runs on {}", args.machine);
    let yielded = watched(&what, runs, args.out.quiet, |stop, step| {
        batch::carry_out(&plan.tasks, args.seeds, stop, step)
    })?;
    let any = yielded.done.iter().any(Option::is_some);
    let show = || deliver(targets, &shown(args, &plan, &yielded)?);
    ended(yielded.interrupted, &yielded.failed, any.then_some(show))
}

/// What is shown and written of it.
fn shown(args: &SweepArgs, plan: &Plan, yielded: &Yield) -> Result<Report, Failure> {
    for idle in yielded.done.iter().flatten().filter(|done| done.kops == 0.0) {
        let (lock, threads, ms) = (idle.lock, idle.threads, args.ms);
        say!("lockwright: {lock}, {threads} threads: nothing done in {ms} ms; try a longer --ms");
    }
    let roles = plan.workload.roles();
    let placement = name_of(args.placement);
    let bound = if args.bound { ", bound" } else { "" };
    let kernel = if args.kernel { ", as in a kernel" } else { "" };
    let lines = if args.lines > 0 { format!(", {} lines", args.lines) } else { String::new() };
    let mut table = format!(
        "{}, {placement}{bound}{kernel}{lines}, {} ms, {}\n",
        args.machine,
        args.ms,
        what(args)
    );
    let mut blocks: Vec<(String, Vec<Done>)> = Vec::new();
    let each = args.threads.len() * plan.subjects.len();
    for ((label, _), results) in plan.variants.iter().zip(yielded.done.chunks(each)) {
        let results: Vec<Done> = results.iter().flatten().cloned().collect();
        let _ = write!(table, "{}{label}", if label.is_empty() { "" } else { "\n" });
        table += &report::sweep(&results, roles);
        if args.events {
            table += &report::events(&results);
        }
        blocks.push((label.clone(), results));
    }
    let variants: Vec<_> = blocks
        .iter()
        .map(|(label, results)| json!({ "variant": label, "results": results }))
        .collect();
    let length = plan.tasks[0].job.length;
    let details = json!({
        "simulated_machine": plan.variants[0].1, "workload": plan.workload,
        "interrupted": yielded.interrupted, "failed": yielded.failed,
        "settings": {
            "placement": placement, "bound": args.bound, "home": args.home, "kernel": args.kernel,
            "lines": args.lines,
            "ms": args.ms, "warmup_ms": length.warmup.as_secs_f64() * 1e3, "seeds": args.seeds,
            "batch_ms": length.batch.as_secs_f64() * 1e3, "precision": length.precision,
        },
        "variants": variants,
    });
    let mut json = serde_json::to_value(record(args, plan, yielded)).map_err(unrenderable)?;
    if let (Some(all), serde_json::Value::Object(details)) = (json.as_object_mut(), details) {
        all.extend(details);
    }
    let slices: Vec<(String, &[Done])> =
        blocks.iter().map(|(label, results)| (label.clone(), results.as_slice())).collect();
    let csv = report::csv(&slices, roles).map_err(unrenderable)?;
    Ok(Report { table, json, csv, markdown: String::new() })
}

/// The same as the record that `compare` and `report` read. Nothing in it depends on when it was made:
/// files of the same run are the same.
fn record(args: &SweepArgs, plan: &Plan, yielded: &Yield) -> Record {
    let mut header = header_of("sim", record::machine(&plan.variants[0].1), 0);
    header.complete = !yielded.interrupted && yielded.failed.is_empty();
    header.warnings.clone_from(&yielded.failed);
    let each = args.threads.len() * plan.subjects.len();
    let tasks = plan.tasks.chunks(each).zip(yielded.done.chunks(each));
    let ran: Vec<(&str, &Task, Option<&Done>)> = (plan.variants.iter().zip(tasks))
        .flat_map(|((label, _), (tasks, done))| {
            tasks.iter().zip(done).map(|(task, done)| (label.as_str(), task, done.as_ref()))
        })
        .collect();
    record::record(header, args.seeds, &ran)
}

/// The workload in words.
fn what(args: &SweepArgs) -> String {
    format!("workload {}", name_of(args.workload))
}
