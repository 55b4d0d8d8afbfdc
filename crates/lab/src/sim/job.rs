//! One simulated run: a workload on a machine with one lock, one number of threads and one seed.

use std::cell::Cell;
use std::time::Duration;

use lockwright_sim::{Failure, Machine, Placement, Setup, run};
use lockwright_workloads::rw_bench::BenchRwLock;

use super::bodies::{Team, team};
use super::held::prepare;
use super::sample::{SimSample, sample};
use super::window::{Length, close, open};
use super::workload::Workload;

/// One run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where.
    pub machine: Machine,
    /// Where threads begin.
    pub placement: Placement,
    /// They stay there.
    pub bound: bool,
    /// The NUMA node in whose memory everything lies; `None`: where it is touched first.
    pub home: Option<usize>,
    /// What they do.
    pub workload: Workload,
    /// From the attempt to take a lock to its release they are not preempted, as in a kernel.
    pub kernel: bool,
    /// Lines that each lock guards, beside its counter: a writer's section begins by changing them, a reader's by
    /// reading them.
    pub lines: u32,
    /// How many they are.
    pub threads: usize,
    /// For how long.
    pub length: Length,
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// When it says so, the run ends early, as one that is stuck.
    pub stop: fn() -> bool,
}

/// Operations of all threads without the end of a section after which a run stands still: a second or two
/// of the simulator's time. In the worst storm of 2013 a section takes a hundred thousand.
const PATIENCE: u64 = 1 << 25;

/// Runs the lock `L` through a workload; if `ONE_LINE`, as a kernel has it where the job is one in a
/// kernel: all of it is on one line.
///
/// # Errors
///
/// The run did not end or get on, or the lock let somebody in beside a writer: what is known.
pub fn simulate<L: BenchRwLock + 'static, const ONE_LINE: bool>(
    job: &Job,
) -> Result<SimSample, Failure> {
    prepare(job.kernel, job.lines);
    open(job.length);
    let Team { threads, tallies, check, only } = team::<L>(job);
    let setup = Setup {
        placement: job.placement,
        bound: job.bound,
        home: job.home,
        seed: job.seed,
        limit: limit(job),
        one_line: only.filter(|_| ONE_LINE && job.kernel),
        stop: job.stop,
        patience: Some(PATIENCE),
    };
    let outcome = run(&job.machine, setup, threads);
    let counted = close();
    let outcome = outcome?;
    if let Some(complaint) = check.complaint() {
        return Err(Failure::Stuck(complaint));
    }
    let threads: Vec<_> = tallies.iter().map(|(role, tally)| (*role, Cell::get(tally))).collect();
    Ok(sample(job, &counted, &threads, &outcome))
}

/// Simulated time after which a run is stuck.
fn limit(job: &Job) -> Duration {
    // After the time of a run all who wait must get their lock once more; in a storm that lasts.
    let sleeps_ns = match job.workload {
        Workload::Rw { sleep_ns, .. } | Workload::Stall { sleep_ns, .. } => sleep_ns,
        _ => 0,
    };
    let each = sleeps_ns as f64 + job.machine.scheduler.exit_deep.value;
    let turn = Duration::from_millis(50) + Duration::from_nanos(2 * each as u64);
    job.length.longest() * 4 + Duration::from_secs(30) + turn * job.threads as u32
}
