//! `lockwright sim published`: published tables beside simulated ones.

use std::process::ExitCode;

use lockwright_lab::sim::published::{self, Batch, Effort, Yield, choices};
use lockwright_lab::sim::report;
use lockwright_lab::sim::workload::Workload;
use lockwright_sim::Machine;
use lockwright_workloads::rw_bench::Mix;
use serde_json::json;

use super::args::PublishedArgs;
use super::command::command;
use super::machines::{Change, changed};
use super::vary::Vary;
use super::work::name_of;
use super::{Form, Report, deliver, ended, targets, watched};
use crate::failure::Failure;
use crate::output::Target;
use crate::session::catch_signals;

/// Runs `lockwright sim published`.
pub fn run(args: &PublishedArgs) -> Result<ExitCode, Failure> {
    if args.choices {
        Target::Stdout.write(choices::markdown().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let batches = batches(args)?;
    if args.commands {
        Target::Stdout.write(commands(&batches[0].1).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let targets = targets(&[(Form::Json, &args.out.json), (Form::Markdown, &args.markdown)])?;
    catch_signals()?;
    let runs = batches.iter().map(|(_, batch)| batch.runs()).sum();
    let what = format!("{runs} runs of published tables, and more where they are not sure");
    let yielded = watched(&what, runs, args.out.quiet, |stop, step| {
        let all = batches.iter().map(|(_, batch)| batch.simulate(stop, step));
        all.collect::<Result<Vec<_>, _>>()
    })?;
    let any = yielded.iter().any(|one| !one.tables.is_empty());
    let show = || deliver(targets, &shown(args, &batches, &yielded));
    let interrupted = yielded.iter().any(|one| one.interrupted);
    let failed: Vec<String> = yielded.iter().flat_map(|one| one.failed.clone()).collect();
    ended(interrupted, &failed, any.then_some(show))
}

/// What is shown and written of it.
fn shown(args: &PublishedArgs, batches: &[(String, Batch)], yielded: &[Yield]) -> Report {
    let mut table = report::published(&yielded[0].tables);
    let mut varied = Vec::new();
    for ((label, _), yielded) in batches.iter().zip(yielded).skip(1) {
        table += &report::varied(label, &yielded.tables);
        varied.push(json!({ "variant": label, "tables": yielded.tables }));
    }
    let json = json!({
        "schema_version": 2, "record": "sim-published", "lockwright": env!("CARGO_PKG_VERSION"),
        "settings": {
            "quick": args.quick, "long": args.long, "set": args.set, "mix": args.mix, "outside": args.outside,
            "placement": args.placement.map(name_of),
        },
        "tables": yielded[0].tables, "varied": varied,
    });
    let markdown = report::published_markdown(&yielded[0].tables);
    Report { table, json, csv: Vec::new(), markdown }
}

/// The tables that are asked for, and again from changed machines.
fn batches(args: &PublishedArgs) -> Result<Vec<(String, Batch)>, Failure> {
    let chosen = chosen(args)?;
    let effort = match args {
        PublishedArgs { quick: true, .. } => Effort::Quick,
        PublishedArgs { long: true, .. } => Effort::Long,
        _ => Effort::Sure,
    };
    let batch = || {
        let mut batch = published::batch(&chosen, effort);
        otherwise(args, &mut batch).map(|()| batch)
    };
    let mut batches = vec![(String::new(), batch()?)];
    if let Some(text) = &args.vary {
        let vary = Vary::parse(text, &Machine::built_in()[0])?;
        for (label, factor) in vary.variants() {
            let mut batch = batch()?;
            for machine in batch.machines() {
                *machine = vary.changed(machine, factor)?;
            }
            batches.push((label, batch));
        }
    }
    Ok(batches)
}

fn chosen(args: &PublishedArgs) -> Result<Vec<&str>, Failure> {
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
    Ok(match args.tables.as_slice() {
        [] => known,
        some => some.iter().map(String::as_str).collect(),
    })
}

/// Changes what is run in the ways that were asked for.
fn otherwise(args: &PublishedArgs, batch: &mut Batch) -> Result<(), Failure> {
    let changes: Vec<Change> =
        args.set.iter().map(|text| Change::parse(text)).collect::<Result<_, _>>()?;
    let names: Vec<String> = batch.machines().map(|machine| machine.name.clone()).collect();
    let of_none = |change: &&Change| !names.iter().any(|name| change.is_for(name));
    if let Some(change) = changes.iter().find(of_none) {
        return Err(Failure::Usage(format!(
            "--set {change}: none of these tables is of that machine"
        )));
    }
    for machine in batch.machines() {
        *machine = changed(machine.clone(), &changes)?;
    }
    let mix = args.mix.as_deref().map(mix).transpose()?;
    for task in batch.tasks_mut() {
        if let Some(place) = args.placement.filter(|_| task.job.bound) {
            task.job.placement = place.into();
        }
        if let Workload::Rw { mix: own, outside, .. } = &mut task.job.workload {
            if let Some(mix) = mix.filter(|_| *own != Mix::Dedicated) {
                *own = mix;
            }
            *outside = args.outside.unwrap_or(*outside);
        }
    }
    Ok(())
}

fn mix(text: &str) -> Result<Mix, Failure> {
    match text {
        "drawn" => Ok(Mix::Drawn),
        "dedicated" => Ok(Mix::Dedicated),
        number => match number.parse() {
            Ok(sections) if sections > 0 && sections % 2 == 0 => Ok(Mix::Blocks(sections)),
            _ => Err(Failure::Usage(format!(
                "--mix {text}: expected drawn, dedicated, or an even number of sections"
            ))),
        },
    }
}

/// The commands that repeat the runs.
fn commands(batch: &Batch) -> String {
    let mut text = String::from(
        "# The first two runs of each cell; where they differ, two longer ones count: seeds 3 and 4 without --sure.\n",
    );
    let mut table = "";
    for (name, task) in batch.tasks() {
        if table != name {
            table = name;
            text += &format!("\n# {name}\n");
        }
        text += &format!("lockwright {}\n", command(task).join(" "));
    }
    text
}
