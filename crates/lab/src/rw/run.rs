//! Carrying out a plan.

use lockwright::events::{Counts, snapshot};
use lockwright_workloads::harness::Interrupt;
use lockwright_workloads::mutex_bench::loop_overhead;
use lockwright_workloads::rw_bench::RwReport;

use super::plan::{RwMeasure, RwPlan};
use crate::plan::Step;
use crate::run::{RunError, solo};

/// One round, and the lock events of the process during it.
pub type Round = (u32, RwReport, Counts);

/// All that a run measured.
#[derive(Clone, Debug)]
pub struct RwSamples {
    /// `rounds[c][l]`: cell `c`, lock `l`, as in the plan.
    pub rounds: Vec<Vec<Vec<Round>>>,
    /// `intrusions[c][l]`: in all rounds, those that were thrown away included.
    pub intrusions: Vec<Vec<u64>>,
    /// `read_ns[l]`: ns per read pair of each batch, loop included.
    pub read_ns: Vec<Vec<f64>>,
    /// The same for writes.
    pub write_ns: Vec<Vec<f64>>,
    /// ns per turn of the loop without a lock, of each batch.
    pub loop_ns: Vec<f64>,
    /// Every step was carried out.
    pub complete: bool,
}

impl RwSamples {
    fn new(plan: &RwPlan) -> Self {
        let (cells, locks) = (plan.cells.len(), plan.locks.len());
        RwSamples {
            rounds: vec![vec![Vec::new(); locks]; cells],
            intrusions: vec![vec![0; locks]; cells],
            read_ns: vec![Vec::new(); locks],
            write_ns: vec![Vec::new(); locks],
            loop_ns: Vec::new(),
            complete: false,
        }
    }

    /// Nothing was measured at all.
    pub fn is_empty(&self) -> bool {
        self.loop_ns.is_empty() && self.rounds.iter().flatten().all(Vec::is_empty)
    }
}

/// Carries out `plan` until it is done or `interrupt` is raised; what was measured until then is
/// returned in either case. `watch` is called before each step with the number of steps done.
///
/// # Errors
///
/// [`RunError::Threads`] if a round's threads cannot be started; the samples are lost.
pub fn run(
    plan: &RwPlan,
    interrupt: &Interrupt,
    watch: &mut dyn FnMut(u64, &Step<RwMeasure>),
) -> Result<RwSamples, RunError> {
    let mut samples = RwSamples::new(plan);
    for (done, step) in plan.steps().enumerate() {
        if interrupt.is_raised() {
            return Ok(samples);
        }
        watch(done as u64, &step);
        let (lock, bench) = (step.lock, plan.locks[step.lock].bench);
        match step.measure {
            RwMeasure::Uncontended => {
                if step.round.is_some() {
                    samples.loop_ns.extend(solo(loop_overhead));
                    samples.read_ns[lock].extend(solo(|pairs| bench.solo(pairs, false)));
                    samples.write_ns[lock].extend(solo(|pairs| bench.solo(pairs, true)));
                }
            }
            RwMeasure::Round(cell) => {
                let before = snapshot();
                let spec = plan.spec(cell);
                let report = bench
                    .round(&spec, interrupt)
                    .map_err(|source| RunError::Threads { threads: spec.threads, source })?;
                samples.intrusions[cell][lock] += report.intrusions;
                if let Some(round) = step.round
                    && !report.cut_short
                {
                    let events = snapshot().since(&before);
                    samples.rounds[cell][lock].push((round, report, events));
                }
            }
        }
    }
    samples.complete = !interrupt.is_raised();
    Ok(samples)
}
