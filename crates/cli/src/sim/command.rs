//! The command line that repeats a run.

use std::time::Duration;

use lockwright_lab::sim::batch::Task;
use lockwright_lab::sim::workload::Workload;
use lockwright_sim::Machine;
use lockwright_workloads::rw_bench::Mix;

use super::args::Place;
use super::work::{name_of, options};

/// The arguments of a run, but for its seed.
pub fn command(task: &Task) -> Vec<String> {
    let job = &task.job;
    let mut words = vec!["sim".to_owned(), "--machine".to_owned(), job.machine.name.clone()];
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    let changes = changes(&job.machine);
    if !changes.is_empty() {
        option("set", changes.join(","));
    }
    let (kind, work) = options(job.workload).expect("published workloads can be asked for");
    option("workload", name_of(kind));
    option("policy", task.subject.name.to_owned());
    option("threads", job.threads.to_string());
    let numbers = [
        ("readers", work.readers),
        ("load", work.load),
        ("outside", work.outside),
        ("outside-ns", work.outside_ns),
        ("inside-ns", work.inside_ns),
        ("sleep-us", work.sleep_us),
        ("long-hold", work.long_hold),
        ("shards", work.shards),
        ("sections", work.sections),
        ("work-ns", work.work_ns),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            option(name, number.to_string());
        }
    }
    if job.lines > 0 {
        option("lines", job.lines.to_string());
    }
    option("placement", name_of(Place::from(job.placement)));
    let ms = |time: Duration| time.as_millis().to_string();
    let length = job.length;
    option("ms", ms(length.batch * length.most as u32));
    option("warmup", ms(length.warmup));
    option("batch", ms(length.batch));
    if let Some(precision) = length.precision {
        option("sure", (precision * 100.0).round().to_string());
    }
    match job.workload {
        Workload::Rw { mix: Mix::Dedicated, .. } => words.push("--dedicated".to_owned()),
        Workload::Rw { mix: Mix::Blocks(sections), .. } => {
            words.push(format!("--blocks={sections}"))
        }
        _ => {}
    }
    let flags = [("--kernel", job.kernel), ("--bound", job.bound)];
    words.extend(flags.into_iter().filter(|flag| flag.1).map(|flag| flag.0.to_owned()));
    words
}

/// What of the machine is not as in the built-in one.
fn changes(machine: &Machine) -> Vec<String> {
    let Some(built_in) = Machine::named(&machine.name) else { return Vec::new() };
    let both = machine.numbers().into_iter().zip(built_in.numbers());
    let other = both.filter(|((_, own), (_, given))| own.value != given.value);
    other.map(|((name, own), _)| format!("{name}={}", own.value)).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lockwright_lab::sim::published::{self, Effort};

    use super::super::sweep::Plan;
    use super::*;
    use crate::args::{Cli, Command};

    /// Every run of every published table is what its command asks for.
    #[test]
    fn a_command_repeats_each_published_run() {
        for (table, task) in published::batch(&published::names(), Effort::Sure).tasks() {
            let words = command(task);
            let line = std::iter::once("lockwright".to_owned()).chain(words);
            let Command::Sim(args) = Cli::try_parse_from(line).unwrap().command else {
                panic!("{table}: no command of sim");
            };
            let plan = Plan::of(&args.sweep).unwrap();
            let [again] = plan.tasks.as_slice() else { panic!("{table}: not one run") };
            let (own, other) = (&task.job, &again.job);
            assert_eq!(task.subject.name, again.subject.name);
            assert_eq!(
                (own.workload, own.placement, own.bound, own.home, own.kernel, own.lines),
                (
                    other.workload,
                    other.placement,
                    other.bound,
                    other.home,
                    other.kernel,
                    other.lines
                ),
                "{table}"
            );
            assert_eq!(own.threads, other.threads, "{table}");
            assert_eq!(own.length, other.length, "{table}");
            let values = |machine: &Machine| -> Vec<f64> {
                machine.numbers().into_iter().map(|(_, given)| given.value).collect()
            };
            assert_eq!(values(&own.machine), values(&other.machine), "{table}");
        }
    }
}
