//! Carrying out a plan.

use lockwright_workloads::harness::Interrupt;
use lockwright_workloads::node_mask::FaultReport;
use lockwright_workloads::seq_bench::{SeqReport, WriteEvery};

use super::plan::{SeqMeasure, SeqPlan};
use crate::plan::Step;
use crate::run::{RunError, solo};

/// All that a run measured. Rounds come with their number.
#[derive(Clone, Debug)]
pub struct SeqSamples {
    /// `reads[c][s]`: cell `c`, subject `s`, as in the plan.
    pub reads: Vec<Vec<Vec<(u32, SeqReport)>>>,
    /// `faults[c][p]`: cell `c`, protection `p`.
    pub faults: Vec<Vec<Vec<(u32, FaultReport)>>>,
    /// `section_ns[p]`: ns of a protection around a scan that ends at once, of each batch.
    pub section_ns: Vec<Vec<f64>>,
    /// `torn[c][s]`: values that were not of one write and should have been, in all rounds.
    pub torn: Vec<Vec<u64>>,
    /// `false_failures[c][p]`: in all rounds.
    pub false_failures: Vec<Vec<u64>>,
    /// Every step was carried out.
    pub complete: bool,
}

impl SeqSamples {
    fn new(plan: &SeqPlan) -> Self {
        let (cells, subjects) = (plan.cells.len(), plan.subjects.len());
        let protections = plan.protections.len();
        SeqSamples {
            reads: vec![vec![Vec::new(); subjects]; cells],
            faults: vec![vec![Vec::new(); protections]; cells],
            section_ns: vec![Vec::new(); protections],
            torn: vec![vec![0; subjects]; cells],
            false_failures: vec![vec![0; protections]; cells],
            complete: false,
        }
    }

    /// Nothing was measured at all.
    pub fn is_empty(&self) -> bool {
        self.reads.iter().flatten().all(Vec::is_empty)
            && self.faults.iter().flatten().all(Vec::is_empty)
    }
}

/// As [`crate::run::run`].
///
/// # Errors
///
/// [`RunError::Threads`]: what was measured before is lost, as the plan cannot be fulfilled.
pub fn run(
    plan: &SeqPlan,
    interrupt: &Interrupt,
    watch: &mut dyn FnMut(u64, &Step<SeqMeasure>),
) -> Result<SeqSamples, RunError> {
    let mut samples = SeqSamples::new(plan);
    for (done, step) in plan.steps().enumerate() {
        if interrupt.is_raised() {
            return Ok(samples);
        }
        watch(done as u64, &step);
        let index = step.lock;
        match step.measure {
            SeqMeasure::Read(cell) => {
                let bench = plan.subjects[index].bench;
                let report =
                    bench.round(&plan.read(cell), interrupt).map_err(|e| refused(plan, cell, e))?;
                samples.torn[cell][index] += if report.whole { report.torn } else { 0 };
                keep(&mut samples.reads[cell][index], step.round, report.cut_short, report);
            }
            SeqMeasure::Faults(cell) => {
                let faults = plan.protections[index].faults;
                let report = faults
                    .faults(&plan.fault(cell), interrupt)
                    .map_err(|e| refused(plan, cell, e))?;
                samples.false_failures[cell][index] += report.false_failures;
                keep(&mut samples.faults[cell][index], step.round, report.cut_short, report);
                if step.round.is_some() {
                    samples.section_ns[index].extend(solo(|n| faults.sections(n)));
                }
            }
        }
    }
    samples.complete = !interrupt.is_raised();
    Ok(samples)
}

fn refused(plan: &SeqPlan, cell: usize, source: std::io::Error) -> RunError {
    let cell = plan.cells[cell];
    let writers = usize::from(cell.write_every != WriteEvery::Never);
    RunError::Threads { threads: cell.readers + writers, source }
}

fn keep<R>(rounds: &mut Vec<(u32, R)>, round: Option<u32>, cut_short: bool, report: R) {
    if let Some(round) = round
        && !cut_short
    {
        rounds.push((round, report));
    }
}
