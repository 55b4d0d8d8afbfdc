//! A sweep as the record that `compare` and `report` read: locks are arms, a number of threads on a
//! machine is a cell, a seed is a round. Times are simulated.

use serde_json::Value;

use super::batch::{Done, Task};
use super::job::Job;
use super::sample::SimSample;
use crate::environment::machine::Machine;
use crate::record::{
    Arm, Cell, Header, Kind, Param, Params, Plan, Record, Role, Sample, Usage, params,
};
use crate::report::layout::counted;

/// The simulated machine, as the head of a record has it.
pub fn machine(simulated: &lockwright_sim::Machine) -> Machine {
    let built_in = lockwright_sim::Machine::named(&simulated.name);
    let values = |machine: &lockwright_sim::Machine| -> Vec<f64> {
        machine.numbers().into_iter().map(|(_, given)| given.value).collect()
    };
    let changed = built_in.is_none_or(|built_in| values(&built_in) != values(simulated));
    let changed = if changed { ", not as built in" } else { "" };
    Machine {
        cpu_model: Some(format!("simulated {}{changed}", simulated.name)),
        arch: "simulated".to_owned(),
        cpus_online: Some(simulated.cpus()),
        cpus_allowed: Some(simulated.cpus()),
        kernel: None,
        c_library: None,
        governor: None,
        pause_ns: simulated.core.pause.value,
        line_transfer_ns: Some(simulated.latency.near.value),
        facts: Default::default(),
    }
}

/// The record of these tasks, each with the variant of the machine that it ran on, and what became
/// of it.
pub fn record(header: Header, seeds: u64, ran: &[(&str, &Task, Option<&Done>)]) -> Record {
    let (mut arms, mut cells): (Vec<Arm>, Vec<Cell>) = (Vec::new(), Vec::new());
    let mut samples = Vec::new();
    for &(variant, task, done) in ran {
        let own = Cell {
            kind: Kind::Throughput,
            title: title(variant, &task.job),
            params: setting(variant, &task.job),
            window_s: (task.job.length.batch * task.job.length.most as u32).as_secs_f64(),
        };
        let cell = place(&mut cells, own, |a, b| a.params == b.params);
        let name = task.subject.name.to_owned();
        let own = Arm { name, role: role(task.subject.name), about: String::new() };
        let arm = place(&mut arms, own, |a, b| a.name == b.name);
        let all = done.map_or(&[][..], |done| &done.samples);
        samples.extend(all.iter().map(|one| sample(arm, cell, &task.job, one)));
    }
    let rounds = u32::try_from(seeds).unwrap_or(u32::MAX);
    let plan = Plan { rounds, warmup_rounds: 0, seed: 1, baseline: None };
    Record { header, plan, arms, cells, samples }
}

/// Where something is in a list, in which it is put if it is not there.
fn place<T>(all: &mut Vec<T>, own: T, same: impl Fn(&T, &T) -> bool) -> usize {
    all.iter().position(|have| same(have, &own)).unwrap_or_else(|| {
        all.push(own);
        all.len() - 1
    })
}

/// Models of others' algorithms are called so.
fn role(lock: &str) -> Role {
    if lock.starts_with("peer-") { Role::BlockingPeer } else { Role::Own }
}

fn title(variant: &str, job: &Job) -> String {
    let name = &job.machine.name;
    let variant = if variant.is_empty() { String::new() } else { format!(" with {variant}") };
    format!("{} on {name}{variant}, simulated", counted(job.threads, "thread"))
}

/// Everything that was chosen, as numbers and words.
fn setting(variant: &str, job: &Job) -> Params {
    let yes = |flag: bool| if flag { "yes" } else { "no" };
    let mut all = params([
        ("machine", job.machine.name.as_str().into()),
        ("threads", job.threads.into()),
        ("bound", yes(job.bound).into()),
        ("kernel", yes(job.kernel).into()),
        ("placement", format!("{:?}", job.placement).to_lowercase().as_str().into()),
    ]);
    if !variant.is_empty() {
        all.insert("variant".to_owned(), variant.into());
    }
    if let Some(home) = job.home {
        all.insert("home".to_owned(), home.into());
    }
    if job.lines > 0 {
        all.insert("lines".to_owned(), job.lines.into());
    }
    let workload = serde_json::to_value(job.workload).unwrap_or_default();
    for (name, value) in workload.as_object().into_iter().flatten() {
        let param: Param = match value {
            Value::Number(number) => number.as_f64().unwrap_or_default().into(),
            Value::String(word) => word.as_str().into(),
            other => other.to_string().as_str().into(),
        };
        let name = if name == "kind" { "workload" } else { name };
        all.insert(name.to_owned(), param);
    }
    all
}

fn sample(arm: usize, cell: usize, job: &Job, one: &SimSample) -> Sample {
    let whole = |each: f64| (each * one.acquisitions as f64).round() as u64;
    let busy = (1.0 - one.idle) * job.machine.cpus() as f64 * one.seconds;
    let events = one.events.iter().map(|&(name, count)| (name.to_owned(), count));
    Sample {
        arm,
        cell,
        // Seeds are counted from 1, rounds from 0.
        round: u32::try_from(one.seed.saturating_sub(1)).ok(),
        elapsed_s: one.seconds,
        thread_ops: one.thread_ops.clone(),
        usage: Some(Usage {
            user_s: busy,
            system_s: 0.0,
            voluntary_switches: whole(one.switches.0),
            involuntary_switches: whole(one.switches.1),
        }),
        series: [("idle_cpus".to_owned(), vec![one.idle * job.machine.cpus() as f64])].into(),
        events: events.collect(),
        ..Sample::default()
    }
}
