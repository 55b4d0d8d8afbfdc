//! Carrying out a plan.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use lockwright::events::{Counts, snapshot};
use lockwright_workloads::harness::{Interrupt, Waits};
use lockwright_workloads::mutex_bench::{LatencyReport, RoundReport, RoundSpec, loop_overhead};

use crate::plan::{Measure, Plan, Step};

/// Time one uncontended step aims at, shared by its batches.
pub const SOLO_TIME: Duration = Duration::from_millis(10);

/// Batches in an uncontended step: the median over many short ones ignores interference.
const SOLO_BATCHES: u32 = 10;

/// Why a run ended without its results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system gave no more threads. Retryable with fewer.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// How many the round needed.
        threads: usize,
        /// What the system said.
        source: io::Error,
    },
}

/// Lock events by name, those that are not 0.
pub type Events = BTreeMap<String, u64>;

/// Adds what was counted.
pub(crate) fn add_events(sums: &mut Events, counts: &Counts) {
    for (event, count) in counts.iter().filter(|&(_, count)| count > 0) {
        *sums.entry(event.name().to_owned()).or_default() += count;
    }
}

/// The measurements of one lock in one cell.
#[derive(Clone, Debug, Default)]
pub struct CellSamples {
    /// Round number and what it yielded.
    pub rounds: Vec<(u32, RoundReport)>,
    /// Lock events of the process in the throughput rounds.
    pub events: Events,
    /// All waits of all waiting rounds; `None` if there was none.
    pub waits: Option<Waits>,
    /// Number of waiting rounds.
    pub waiting_rounds: usize,
    /// Updates lost in all rounds, warm-ups and rounds cut short included: a lock that let two
    /// threads in did so whatever the round was for.
    pub lost_updates: u64,
}

/// All that a run measured.
#[derive(Clone, Debug)]
pub struct Samples {
    /// `cells[c][l]`: cell `c`, lock `l`, as in the plan.
    pub cells: Vec<Vec<CellSamples>>,
    /// `solo_ns[l]`: lock `l`, ns per pair of each batch, loop included.
    pub solo_ns: Vec<Vec<f64>>,
    /// ns per turn of the loop without a lock, of each batch.
    pub loop_ns: Vec<f64>,
    /// Every step was carried out.
    pub complete: bool,
}

impl Samples {
    fn new(plan: &Plan) -> Self {
        let locks = plan.locks.len();
        Samples {
            cells: vec![vec![CellSamples::default(); locks]; plan.cells.len()],
            solo_ns: vec![Vec::new(); locks],
            loop_ns: Vec::new(),
            complete: false,
        }
    }

    /// Nothing was measured at all.
    pub fn is_empty(&self) -> bool {
        let no_rounds = |cell: &CellSamples| cell.rounds.is_empty() && cell.waits.is_none();
        self.solo_ns.iter().all(Vec::is_empty) && self.cells.iter().flatten().all(no_rounds)
    }
}

/// Carries out `plan` until it is done or `interrupt` is raised; what was measured until then is
/// returned in either case. `watch` is called before each step with the number of steps done.
///
/// # Errors
///
/// [`RunError::Threads`]: what was measured before is lost, as the plan cannot be fulfilled.
pub fn run(
    plan: &Plan,
    pause_ns: f64,
    interrupt: &Interrupt,
    watch: &mut dyn FnMut(u64, &Step),
) -> Result<Samples, RunError> {
    let mut samples = Samples::new(plan);
    for (done, step) in plan.steps().enumerate() {
        if interrupt.is_raised() {
            return Ok(samples);
        }
        watch(done as u64, &step);
        let bench = plan.locks[step.lock].bench;
        match step.measure {
            Measure::Uncontended => {
                let batches = solo(|pairs| bench.solo(pairs));
                let overhead = solo(loop_overhead);
                if step.round.is_some() {
                    samples.solo_ns[step.lock].extend(batches);
                    samples.loop_ns.extend(overhead);
                }
            }
            Measure::Throughput(cell) => {
                let before = snapshot();
                let report =
                    measured(plan, cell, pause_ns, |spec| bench.throughput(spec, interrupt))?;
                let events = snapshot().since(&before);
                samples.cells[cell][step.lock].keep_round(step.round, report, &events);
            }
            Measure::Latency(cell) => {
                let report = measured(plan, cell, pause_ns, |spec| bench.latency(spec, interrupt))?;
                samples.cells[cell][step.lock].keep_waits(step.round, &report);
            }
        }
    }
    samples.complete = !interrupt.is_raised();
    Ok(samples)
}

fn measured<R>(
    plan: &Plan,
    cell: usize,
    pause_ns: f64,
    round: impl FnOnce(&RoundSpec) -> io::Result<R>,
) -> Result<R, RunError> {
    let spec = plan.cells[cell].round(plan.round_time, pause_ns);
    round(&spec).map_err(|source| RunError::Threads { threads: spec.threads, source })
}

impl CellSamples {
    fn keep_round(&mut self, round: Option<u32>, report: RoundReport, events: &Counts) {
        self.lost_updates += report.lost_updates;
        if let Some(round) = round
            && !report.cut_short
        {
            self.rounds.push((round, report));
            add_events(&mut self.events, events);
        }
    }

    fn keep_waits(&mut self, round: Option<u32>, report: &LatencyReport) {
        self.lost_updates += report.lost_updates;
        if round.is_some() && !report.cut_short {
            self.waits.get_or_insert_default().merge(&report.waits);
            self.waiting_rounds += 1;
        }
    }
}

/// ns per pair of each of [`SOLO_BATCHES`] batches.
pub(crate) fn solo(time: impl Fn(u64) -> Duration) -> Vec<f64> {
    let batch = SOLO_TIME / (2 * SOLO_BATCHES);
    let pairs = pairs_for(batch, &time);
    (0..SOLO_BATCHES).map(|_| time(pairs).as_nanos() as f64 / pairs as f64).collect()
}

/// How many pairs take about `batch`.
fn pairs_for(batch: Duration, time: impl Fn(u64) -> Duration) -> u64 {
    const TRIAL: u64 = 2_000;
    let trial = time(TRIAL).max(Duration::from_nanos(1));
    ((batch.as_secs_f64() / trial.as_secs_f64() * TRIAL as f64) as u64).clamp(1_000, 10_000_000)
}
