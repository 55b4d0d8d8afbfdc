//! The finding of 2012, from outside: programs that fork, on a machine of 32 CPUs, and a reader-writer
//! semaphore that is strictly first in, first out. Simulated, so that the same runs are judged each time.

use std::cell::Cell;
use std::convert::Infallible;
use std::time::Duration;

use lockwright_lab::analysis::bisect::{Answer, Stop, Wanted, search};
use lockwright_lab::sim::forks::Turn;
use lockwright_lab::sim::job::Job;
use lockwright_lab::sim::subjects::SUBJECTS;
use lockwright_lab::sim::window::Length;
use lockwright_lab::sim::workload::Workload;
use lockwright_sim::{Machine, Placement};

/// The stages of the lock, the newest first: the series that gets worse twice.
const SERIES: [&str; 5] = ["default", "v5.11", "v5.2", "steal", "fifo"];

/// Operations a second of a lock under programs that fork.
fn rate(lock: &str, seed: u64) -> f64 {
    let subject = SUBJECTS.iter().find(|subject| subject.name == lock).expect("a known lock");
    let turn = Turn { work_ns: 40_000, locks: 1, sections: 5, inside_ns: 500, outside_ns: 0 };
    let job = Job {
        machine: Machine::named("skylake-2s").expect("a built-in machine"),
        placement: Placement::Spread,
        bound: false,
        home: None,
        workload: Workload::Forks(turn),
        kernel: false,
        lines: 0,
        threads: 32,
        length: Length::fixed(Duration::from_millis(5), Duration::from_millis(20)),
        seed,
        stop: || false,
    };
    (subject.run)(&job).expect("the run ends").kops
}

#[test]
fn bisection_names_the_steps_and_first_in_first_out_is_the_worst() {
    let seed = Cell::new(0);
    let mut measure = |steps: &[usize]| -> Result<Vec<f64>, Stop<Infallible>> {
        seed.set(seed.get() + 1);
        Ok(steps.iter().map(|&step| rate(SERIES[step], seed.get())).collect())
    };
    let wanted = Wanted { min_effect: 0.1, ..Wanted::default() };
    let Ok(answer) = search(SERIES.len(), false, wanted, &mut measure);
    let Answer::Steps(found) = answer else { panic!("{answer:?}") };
    let steps: Vec<_> = found.iter().map(|one| (SERIES[one.before], SERIES[one.step])).collect();
    // Spinning on the owner is lost at the first, stealing at the second.
    assert_eq!(steps, [("v5.2", "steal"), ("steal", "fifo")], "{found:?}");
    assert!(found.iter().all(|one| one.confirmed && one.change < -0.1), "{found:?}");
    assert!(found[1].change < -0.5, "the larger of the two: {found:?}");
}
