//! What a record comes to, in sentences that a person can quote.
//!
//! For each kind of cell: the geometric mean of an arm's ratios to its reference, with the 95 %
//! bootstrap interval; in how many cells it is ahead, behind or level; and how evenly its threads
//! were served. Cells whose ratio is not known to within [`RESOLUTION`] are counted and left out.

use std::collections::BTreeMap;
use std::time::Duration;

use super::layout::counted;
use super::number::fixed;
use crate::analysis::stats::{geomean_of_ratios_interval, median};
use crate::analysis::summary::{Block, Row, paired};
use crate::analysis::two_samples::geometric_mean;
use crate::loads::{fair_window, long_enough};
use crate::record::metric::{self, Better, Metric};
use crate::record::{Arm, Kind, Param, Record, Role};

/// Half the width of a ratio's interval, as a part of the ratio, above which a cell says nothing.
pub const RESOLUTION: f64 = 0.10;

/// Arms of which sentences are made; more bury what is to be said.
const MOST_ARMS: usize = 3;

/// The sentences, a paragraph each.
pub fn conclusion(record: &Record, blocks: &[Block]) -> Vec<String> {
    let mut kinds: Vec<Kind> = blocks.iter().map(|block| block.cell.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of_kind = |kind: Kind, arm: &Arm| {
        let both = |block: &&Block| block.cell.kind == kind;
        let places: Vec<Place> =
            blocks.iter().filter(both).filter_map(|block| Place::of(block, arm)).collect();
        said(kind, arm, &places, record)
    };
    subjects(record)
        .flat_map(|arm| kinds.iter().filter_map(move |&kind| of_kind(kind, arm)))
        .collect()
}

/// What is spoken of: what is compared with a named baseline, or else the project's own locks.
fn subjects(record: &Record) -> impl Iterator<Item = &Arm> {
    let baseline = record.plan.baseline.as_deref();
    let other = move |arm: &Arm| baseline != Some(arm.name.as_str());
    let own = move |arm: &Arm| arm.role == Role::Own && other(arm);
    let any = record.arms.iter().any(own);
    let subject = move |arm: &&Arm| if any { own(arm) } else { other(arm) };
    record.arms.iter().filter(subject).take(MOST_ARMS)
}

/// An arm and its reference in a cell.
struct Place<'a> {
    block: &'a Block<'a>,
    own: &'a Row<'a>,
    reference: &'a Row<'a>,
    ratio: f64,
}

impl<'a> Place<'a> {
    /// `None` where there is nothing to relate the arm to.
    fn of(block: &'a Block<'a>, arm: &Arm) -> Option<Self> {
        let row = |name: &str| block.rows.iter().find(|row| row.arm.name == name);
        let (own, reference) = (row(&arm.name)?, row(&block.reference?.name)?);
        let ratio = own.ratio.filter(|ratio| *ratio > 0.0 && ratio.is_finite())?;
        (own.arm.name != reference.arm.name).then_some(Place { block, own, reference, ratio })
    }

    /// The ratio is not known well enough to say anything.
    fn noisy(&self) -> bool {
        let known = |[low, high]: [f64; 2]| (high - low) / 2.0 <= RESOLUTION * self.ratio;
        !self.own.ratio_ci95.is_none_or(known)
    }

    /// Whether the arm is ahead; `None`: level, or not known.
    fn ahead(&self) -> Option<bool> {
        let [low, high] = self.own.ratio_ci95?;
        let larger = if low > 1.0 {
            true
        } else if high < 1.0 {
            false
        } else {
            return None;
        };
        Some(larger == (self.block.view.headline.better == Better::Higher))
    }

    fn pairs(&self) -> Vec<(f64, f64)> {
        paired(&self.own.rounds, &self.reference.rounds)
    }

    /// Whether the shares of the threads mean anything in runs of this length.
    fn fair_enough(&self) -> bool {
        self.threads().is_none_or(|threads| long_enough(self.window(), threads))
    }

    fn threads(&self) -> Option<usize> {
        match self.block.cell.params.get("threads") {
            Some(&Param::Whole(threads)) => usize::try_from(threads).ok(),
            _ => None,
        }
    }

    fn window(&self) -> Duration {
        Duration::try_from_secs_f64(self.block.cell.window_s).unwrap_or_default()
    }
}

/// The paragraph on an arm in cells of one kind.
fn said(kind: Kind, arm: &Arm, places: &[Place], record: &Record) -> Option<String> {
    let first = places.first()?;
    let (noisy, clear): (Vec<&Place>, Vec<&Place>) = places.iter().partition(|one| one.noisy());
    let mut text = format!("{}: ", kind.name());
    if clear.is_empty() {
        text += &format!("{} against {}: too noisy to say", arm.name, who(record, &noisy));
        return Some(text + &format!(" in {}.", counted(noisy.len(), "cell")));
    }
    let ratios: Vec<f64> = clear.iter().map(|one| one.ratio).collect();
    let pairs: Vec<Vec<(f64, f64)>> = clear.iter().map(|one| one.pairs()).collect();
    let interval = geomean_of_ratios_interval(&pairs, record.plan.seed);
    let spread = interval.map_or_else(String::new, |[low, high]| {
        format!(" ± {}", fixed(Some((high - low) / 2.0), 2))
    });
    let times = format!("{}{spread} times", fixed(geometric_mean(&ratios), 2));
    let reference = who(record, &clear);
    text += &match first.block.view.headline.better {
        Better::Lower => format!("{} takes {times} as long as {reference}", arm.name),
        _ => format!("{} is {times} as fast as {reference}", arm.name),
    };
    text += &across(&clear, &noisy, interval.is_some());
    text.push('.');
    text.extend(fairness(places));
    Some(text)
}

/// What the arm is compared with.
fn who(record: &Record, places: &[&Place]) -> String {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for one in places {
        *names.entry(&one.reference.arm.name).or_default() += 1;
    }
    let chosen = record.plan.baseline.is_none()
        && places.iter().all(|one| one.reference.arm.role == Role::BlockingPeer);
    let mut names: Vec<(&str, usize)> = names.into_iter().collect();
    names.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    match names.as_slice() {
        [(name, _)] if chosen => format!("the best blocking peer, {name}"),
        [(name, _)] => (*name).to_owned(),
        names => {
            let each: Vec<_> =
                names.iter().map(|(name, count)| format!("{name} in {count}")).collect();
            format!("the best blocking peer of each cell ({})", each.join(", "))
        }
    }
}

/// How the cells differ.
fn across(clear: &[&Place], noisy: &[&Place], known: bool) -> String {
    let ratios = clear.iter().map(|one| one.ratio);
    let (low, high) = ratios.fold((f64::MAX, 0.0_f64), |(l, h), r| (l.min(r), h.max(r)));
    let mut text = String::new();
    if clear.len() > 1 {
        text += &format!(
            ", over {} ({} to {}",
            counted(clear.len(), "cell"),
            fixed(Some(low), 2),
            fixed(Some(high), 2)
        );
        if known {
            let count = |wanted| clear.iter().filter(|one| one.ahead() == wanted).count();
            let (ahead, behind, level) = (count(Some(true)), count(Some(false)), count(None));
            text += &format!("; ahead in {ahead}, behind in {behind}, level in {level}");
        }
        text.push(')');
    }
    if !known {
        text += ", too few rounds for an interval";
    }
    match noisy {
        [] => {}
        [one] => text += &format!("; one cell is too noisy to say ({})", one.block.cell.title),
        more => text += &format!("; {} cells are too noisy to say", more.len()),
    }
    text
}

/// A figure of an arm or of its reference.
type Figure = fn(&Place, &Metric) -> Option<f64>;

/// How evenly threads were served, beside the reference, where runs are long enough.
fn fairness(places: &[Place]) -> Option<String> {
    let shared = |one: &&Place| one.block.view.metrics().any(|m| m.key == metric::JAIN.key);
    let places: Vec<&Place> =
        places.iter().filter(shared).filter(|one| one.threads() != Some(1)).collect();
    let (fair, short): (Vec<&Place>, Vec<&Place>) =
        places.into_iter().partition(|one| one.fair_enough());
    let middle = |metric: &Metric, whose: fn(&Place, &Metric) -> Option<f64>| {
        let figures: Vec<f64> = fair.iter().filter_map(|one| whose(one, metric)).collect();
        median(&figures)
    };
    let (owns, others): (Figure, Figure) =
        (|one, metric| one.own.of(metric), |one, metric| one.reference.of(metric));
    let own = middle(&metric::JAIN, owns);
    let mut text = String::new();
    if own.is_some() {
        let reference = middle(&metric::JAIN, others);
        text +=
            &format!(" Fairness: Jain's index {} against {}", fixed(own, 2), fixed(reference, 2));
        if let Some(least) = middle(&metric::LEAST, owns) {
            let reference = fixed(middle(&metric::LEAST, others), 2);
            text += &format!(
                ", the thread served least got {} of the mean against {reference}",
                fixed(Some(least), 2)
            );
        }
        text.push('.');
    }
    let needed = short.iter().filter_map(|one| one.threads()).max().map(fair_window);
    if let Some(needed) = needed {
        text += &format!(
            " Fairness is not said of {}, whose runs are too short for it (--secs {:.2} is enough).",
            counted(short.len(), "cell"),
            needed.as_secs_f64()
        );
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::blocks;
    use crate::experiment::example;

    fn of(record: &Record) -> String {
        conclusion(record, &blocks(record)).join("\n")
    }

    fn scale(record: &mut Record, arm: usize, cell: usize, by: [f64; 3]) {
        for sample in &mut record.samples {
            if (sample.arm, sample.cell) == (arm, cell) {
                sample.elapsed_s /= by[sample.round.unwrap() as usize];
            }
        }
    }

    /// Windows of the example in which 32 threads have had their turns.
    fn long(mut record: Record) -> Record {
        record.cells.iter_mut().for_each(|cell| cell.window_s = 1.0);
        record
    }

    #[test]
    fn a_ratio_can_be_quoted_with_its_peer_and_fairness() {
        let text = of(&long(example::record()));
        assert!(
            text.contains(
                "throughput: lockwright is 1.50 ± 0.00 times as fast as the best blocking peer, \
                 parking_lot, over 2 cells (1.50 to 1.50; ahead in 2, behind in 0, level in 0). \
                 Fairness: Jain's index 0.95 against 0.95"
            ),
            "{text}"
        );
        assert!(
            text.contains("uncontended: lockwright takes 3.00 ± 0.00 times as long as"),
            "{text}"
        );
    }

    #[test]
    fn spread_widens_the_interval_and_noise_is_left_out() {
        let mut record = long(example::record());
        scale(&mut record, 2, 1, [0.95, 1.0, 1.05]);
        let text = of(&record);
        assert!(text.contains("lockwright is 1.50 ± 0.04 times as fast"), "{text}");
        scale(&mut record, 2, 2, [0.5, 1.0, 2.0]);
        let text = of(&record);
        assert!(text.contains("parking_lot; one cell is too noisy to say (32 threads"), "{text}");
        scale(&mut record, 2, 1, [0.5, 1.0, 2.0]);
        let text = of(&record);
        assert!(
            text.contains("lockwright against the best blocking peer, parking_lot: too noisy to say in 2 cells."),
            "{text}"
        );
    }

    #[test]
    fn cells_may_have_references_of_their_own() {
        let mut record = long(example::record());
        scale(&mut record, 0, 2, [4.0; 3]);
        let text = of(&record);
        assert!(
            text.contains("the best blocking peer of each cell (parking_lot in 1, std in 1)"),
            "{text}"
        );
        assert!(text.contains("(0.75 to 1.50; ahead in 1, behind in 1, level in 0)"), "{text}");
    }

    #[test]
    fn short_runs_say_nothing_of_fairness() {
        let text = of(&example::record());
        assert!(text.contains("Fairness is not said of 1 cell"), "{text}");
        assert!(text.contains("(--secs 0.26 is enough)."), "{text}");
    }

    #[test]
    fn too_few_rounds_have_no_interval() {
        let mut record = long(example::record());
        record.samples.retain(|sample| sample.round == Some(0));
        let text = of(&record);
        assert!(text.contains("lockwright is 1.50 times as fast"), "{text}");
        assert!(text.contains("too few rounds for an interval"), "{text}");
    }

    #[test]
    fn a_named_baseline_is_no_subject() {
        let mut record = long(example::record());
        record.plan.baseline = Some("lockwright".to_owned());
        let text = of(&record);
        assert!(
            text.contains("throughput: std is 0.33 ± 0.00 times as fast as lockwright"),
            "{text}"
        );
        assert!(!text.contains("blocking peer"), "{text}");
    }
}
