//! What runs in which order.

use super::Experiment;

/// In which order the arms of a cell take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A fresh random order in each round, so that none always follows the same other.
    Shuffled,
    /// In order, then in reverse, in turn: what drifts in time hits all alike.
    Abba,
}

/// One run of one arm; indices into the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the round; `None` in a warm-up.
    pub round: Option<u32>,
    /// The arm.
    pub arm: usize,
    /// The cell.
    pub cell: usize,
}

impl Experiment {
    /// Every run, in order.
    ///
    /// The round is the outermost loop and the arm the innermost: a disturbance of a few seconds
    /// hits one round of many cells rather than all rounds of one, and hits all arms of a cell
    /// alike.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let rounds = (0..self.warmup).map(|_| None).chain((0..self.rounds).map(Some));
        let cells = rounds
            .enumerate()
            .flat_map(|(turn, round)| (0..self.cells.len()).map(move |cell| (turn, round, cell)));
        cells.flat_map(move |(turn, round, cell)| {
            let mut arms = self.arms_in(cell);
            match self.order {
                Order::Shuffled => rng.shuffle(&mut arms),
                Order::Abba if turn % 2 == 1 => arms.reverse(),
                Order::Abba => {}
            }
            arms.into_iter().map(move |arm| Step { round, arm, cell })
        })
    }

    /// The arms that can be run in a cell.
    pub fn arms_in(&self, cell: usize) -> Vec<usize> {
        let fits = |&arm: &usize| self.arms[arm].run.fits(&self.cells[cell].load);
        (0..self.arms.len()).filter(fits).collect()
    }

    /// Number of [`Experiment::steps`].
    pub fn step_count(&self) -> u64 {
        let once: usize = (0..self.cells.len()).map(|cell| self.arms_in(cell).len()).sum();
        (u64::from(self.rounds) + u64::from(self.warmup)) * once as u64
    }

    /// About how long all takes, in seconds: threads take some time to start as well.
    pub fn expected_s(&self) -> f64 {
        let cells = self.cells.iter().enumerate();
        let once: f64 =
            cells.map(|(at, cell)| cell.record.window_s * self.arms_in(at).len() as f64).sum();
        (f64::from(self.rounds) + f64::from(self.warmup)) * once
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::experiment::example::experiment;

    proptest! {
        #[test]
        fn every_round_runs_every_arm_of_a_cell_once_and_in_a_row(
            arms in 1_usize..6, cells in 1_usize..5, rounds in 1_u32..5, warmup in 0_u32..3,
            abba in any::<bool>(),
        ) {
            let order = if abba { Order::Abba } else { Order::Shuffled };
            let all = Experiment { rounds, warmup, order, ..experiment(arms, cells) };
            let steps: Vec<_> = all.steps().collect();
            prop_assert_eq!(steps.len() as u64, all.step_count());
            prop_assert_eq!(steps.len(), arms * cells * (rounds + warmup) as usize);
            for group in steps.chunks(arms) {
                prop_assert!(group.iter().all(|step| step.cell == group[0].cell));
                prop_assert!(group.iter().all(|step| step.round == group[0].round));
                let mut seen: Vec<_> = group.iter().map(|step| step.arm).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..arms).collect::<Vec<_>>());
            }
            let warm = steps.iter().take_while(|step| step.round.is_none()).count();
            prop_assert_eq!(warm, arms * cells * warmup as usize);
        }
    }

    fn arms(experiment: &Experiment) -> Vec<usize> {
        experiment.steps().map(|step| step.arm).collect()
    }

    #[test]
    fn the_seed_decides_the_order() {
        let seeded = |seed| arms(&Experiment { seed, rounds: 4, ..experiment(5, 3) });
        assert_eq!(seeded(1), seeded(1));
        assert_ne!(seeded(1), seeded(2));
    }

    #[test]
    fn abba_goes_there_and_back() {
        let turns = Experiment { order: Order::Abba, rounds: 4, ..experiment(2, 1) };
        assert_eq!(arms(&turns), [0, 1, 1, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn an_arm_runs_only_where_it_fits() {
        let mut all = experiment(2, 2);
        all.arms[1].run = Box::new(crate::experiment::example::Nowhere);
        assert_eq!(arms(&all), [0; 2]);
    }
}
