//! What is measured in which order.

use std::time::Duration;

use lockwright_workloads::mutex_bench::{Rhythm, RoundSpec};

use crate::registry::Subject;
use crate::run::SOLO_TIME;

/// What a thread does between two bursts of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The given number of PAUSE units after each section.
    Steady {
        /// Units outside.
        outside: u32,
    },
    /// Sections back to back, then a gap.
    Burst {
        /// Sections in a burst, at least 1.
        ops: u32,
        /// Length of the gap in nanoseconds, spent busy.
        gap_ns: u64,
    },
}

/// One setting in which locks are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Number of threads, at least 1.
    pub threads: usize,
    /// PAUSE units inside the section.
    pub load: u32,
    /// What happens outside.
    pub pace: Pace,
}

impl Cell {
    /// The round that measures this cell, where a PAUSE unit lasts `pause_ns`.
    pub fn round(&self, time: Duration, pause_ns: f64) -> RoundSpec {
        let rhythm = match self.pace {
            Pace::Steady { outside } => Rhythm::steady(self.load, outside),
            Pace::Burst { ops, gap_ns } => Rhythm {
                load: self.load,
                burst: ops,
                // A float-to-integer cast saturates, which is what a huge gap wants.
                outside: (gap_ns as f64 / pause_ns).round() as u32,
            },
        };
        RoundSpec { threads: self.threads, rhythm, time }
    }
}

/// Everything a run does.
pub struct Plan {
    /// The locks, in the order of the reports.
    pub locks: Vec<&'static Subject>,
    /// The settings, in the order of the reports.
    pub cells: Vec<Cell>,
    /// Measured rounds.
    pub rounds: u32,
    /// Rounds run before and thrown away.
    pub warmup: u32,
    /// Wall time of each lock in each cell in each round.
    pub round_time: Duration,
    /// Seed of the order of the locks.
    pub seed: u64,
    /// Whether lock and unlock pairs of one thread are measured.
    pub uncontended: bool,
    /// Whether waits are measured, in rounds of their own.
    pub latency: bool,
}

/// What one step measures; indices into the plan's `locks` and `cells`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Pairs by one thread.
    Uncontended,
    /// Throughput in a cell.
    Throughput(usize),
    /// Waits in a cell.
    Latency(usize),
}

/// One measurement of one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<M = Measure> {
    /// Number of the round; `None` in a warm-up, whose results are thrown away.
    pub round: Option<u32>,
    /// Index into the plan's locks, or whatever is compared.
    pub lock: usize,
    /// What is measured.
    pub measure: M,
}

/// Every measure with every one of `subjects`, `warmup` and `rounds` times.
///
/// The round is the outermost loop and the subject the innermost: a disturbance of a few seconds
/// hits one round of many measures rather than all rounds of one, and hits all subjects of a
/// measure alike. The subjects of a measure come in a fresh random order each time, so that none
/// always follows the same other.
pub fn interleaved<M: Copy>(
    seed: u64,
    subjects: usize,
    warmup: u32,
    rounds: u32,
    measures: Vec<M>,
) -> impl Iterator<Item = Step<M>> {
    let mut order = fastrand::Rng::with_seed(seed);
    let mut subjects: Vec<usize> = (0..subjects).collect();
    let rounds = (0..warmup).map(|_| None).chain((0..rounds).map(Some));
    rounds
        .flat_map(move |round| measures.clone().into_iter().map(move |measure| (round, measure)))
        .flat_map(move |(round, measure)| {
            order.shuffle(&mut subjects);
            subjects.clone().into_iter().map(move |lock| Step { round, lock, measure })
        })
}

impl Plan {
    /// All steps in order, [interleaved].
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let measures = self.measures().collect();
        interleaved(self.seed, self.locks.len(), self.warmup, self.rounds, measures)
    }

    /// Number of [`Plan::steps`].
    pub fn step_count(&self) -> u64 {
        let rounds = u64::from(self.rounds) + u64::from(self.warmup);
        rounds * self.locks.len() as u64 * self.measures().count() as u64
    }

    fn measures(&self) -> impl Iterator<Item = Measure> {
        let cells = 0..self.cells.len();
        let latency = if self.latency { cells.clone() } else { 0..0 };
        (self.uncontended.then_some(Measure::Uncontended).into_iter())
            .chain(cells.map(Measure::Throughput))
            .chain(latency.map(Measure::Latency))
    }

    /// About how long the whole run takes, in seconds: threads take some time to start as well.
    pub fn expected_s(&self) -> f64 {
        let solo = if self.uncontended { SOLO_TIME.as_secs_f64() } else { 0.0 };
        let passes = if self.latency { 2.0 } else { 1.0 };
        let timed = passes * self.cells.len() as f64 * self.round_time.as_secs_f64();
        let rounds = f64::from(self.rounds) + f64::from(self.warmup);
        rounds * self.locks.len() as f64 * (solo + timed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::registry;

    fn plan(locks: usize, cells: usize, rounds: u32, warmup: u32, latency: bool) -> Plan {
        Plan {
            locks: registry::listed().cycle().take(locks).collect(),
            cells: vec![Cell { threads: 1, load: 1, pace: Pace::Steady { outside: 0 } }; cells],
            rounds,
            warmup,
            round_time: Duration::from_millis(1),
            seed: 7,
            uncontended: true,
            latency,
        }
    }

    proptest! {
        #[test]
        fn every_round_runs_every_lock_of_a_cell_once_and_in_a_row(
            locks in 1_usize..6, cells in 1_usize..5, rounds in 1_u32..5, warmup in 0_u32..3,
            latency in any::<bool>(),
        ) {
            let plan = plan(locks, cells, rounds, warmup, latency);
            let steps: Vec<_> = plan.steps().collect();
            prop_assert_eq!(steps.len() as u64, plan.step_count());
            let measures = 1 + cells * if latency { 2 } else { 1 };
            prop_assert_eq!(steps.len(), locks * measures * (rounds + warmup) as usize);
            for group in steps.chunks(locks) {
                prop_assert!(group.iter().all(|step| step.measure == group[0].measure));
                prop_assert!(group.iter().all(|step| step.round == group[0].round));
                let mut seen: Vec<_> = group.iter().map(|step| step.lock).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..locks).collect::<Vec<_>>());
            }
            let warm = steps.iter().take_while(|step| step.round.is_none()).count();
            prop_assert_eq!(warm, locks * measures * warmup as usize);
        }
    }

    #[test]
    fn the_seed_decides_the_order() {
        let steps = |seed| Plan { seed, ..plan(5, 3, 4, 0, false) }.steps().collect::<Vec<_>>();
        assert_eq!(steps(1), steps(1));
        assert_ne!(steps(1), steps(2));
    }

    #[test]
    fn the_order_of_the_locks_changes_between_rounds() {
        let steps: Vec<_> = plan(5, 1, 8, 0, false).steps().collect();
        let first: Vec<_> = steps[..5].iter().map(|step| step.lock).collect();
        let differs = |group: &[Step]| group.iter().map(|step| step.lock).ne(first.iter().copied());
        assert!(steps.chunks(5).any(differs));
    }

    #[test]
    fn a_gap_is_turned_into_pauses() {
        let cell = Cell { threads: 2, load: 3, pace: Pace::Burst { ops: 64, gap_ns: 10_000 } };
        let rhythm = cell.round(Duration::from_secs(1), 10.0).rhythm;
        assert_eq!(rhythm, Rhythm { load: 3, burst: 64, outside: 1_000 });
    }
}
