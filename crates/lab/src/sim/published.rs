//! Published results beside simulated ones: value, ratio, error, rank, and a verdict per claim.

use lockwright_sim::Machine;
use serde::Serialize;

use super::batch::{self, Ended, Result, Task};
use super::sheet::{Plan, Rows, Sheet};
use super::tables::{LEFT_OUT, Source, TABLES};
use crate::stats;

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The row's label.
    pub row: String,
    /// The column's name in the table.
    pub column: &'static str,
    /// The lock that stands for it.
    pub lock: &'static str,
    /// What was published.
    pub published: f64,
    /// What the simulator says.
    pub simulated: f64,
    /// Coefficient of variation of that over the seeds; none of one seed.
    pub cv: Option<f64>,
}

/// A claim of the source, and whether the simulator agrees.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The claim.
    pub claim: &'static str,
    /// What was seen.
    pub seen: String,
    /// Whether that is what the claim says.
    pub holds: bool,
}

/// A table.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Where it was published.
    pub source: Vec<String>,
    /// How it was simulated.
    pub about: &'static str,
    /// Its figures.
    pub cells: Vec<Cell>,
    /// e to the mean of |ln(simulated / published)|, less 1: the mean error as a share.
    pub mean_error: f64,
    /// The same with the median.
    pub median_error: f64,
    /// Spearman's rank correlation between published and simulated.
    pub rank_correlation: f64,
    /// What is claimed.
    pub verdicts: Vec<Verdict>,
}

/// Names of the tables that can be simulated.
pub fn names() -> Vec<&'static str> {
    TABLES.iter().map(|table| table.name).collect()
}

/// Names of the tables that cannot, and why.
pub fn left_out() -> &'static [(&'static str, &'static str)] {
    LEFT_OUT
}

/// Tables to be simulated.
pub struct Batch {
    sheets: Vec<(&'static Source, Rows, Sheet)>,
}

/// The tables of these names.
pub fn batch(names: &[&str], quick: bool) -> Batch {
    let sheet = |source: &'static Source| {
        let rows = Rows::read(source.csv);
        let sheet = (source.plans)(&rows, quick);
        (source, rows, sheet)
    };
    Batch { sheets: TABLES.iter().filter(|table| names.contains(&table.name)).map(sheet).collect() }
}

impl Batch {
    /// The machines, to change them.
    pub fn machines(&mut self) -> impl Iterator<Item = &mut Machine> {
        let tasks = self.sheets.iter_mut().flat_map(|(_, _, sheet)| &mut sheet.tasks);
        tasks.map(|task| &mut task.job.machine)
    }

    /// How many runs they take.
    pub fn runs(&self, seeds: u64) -> u64 {
        let tasks = self.sheets.iter().flat_map(|(_, _, sheet)| &sheet.tasks);
        tasks.map(|task| task.runs(seeds)).sum()
    }

    /// Simulates them.
    ///
    /// # Errors
    ///
    /// See [`Ended`].
    pub fn simulate(
        &self,
        seeds: u64,
        stop: fn() -> bool,
        step: &(dyn Fn() + Sync),
    ) -> std::result::Result<Vec<Table>, Ended> {
        let tasks: Vec<Task> =
            self.sheets.iter().flat_map(|(_, _, sheet)| sheet.tasks.iter().cloned()).collect();
        let results = batch::carry_out(&tasks, seeds, stop, step)?;
        let mut left = results.as_slice();
        let tables = self.sheets.iter().map(|(source, rows, sheet)| {
            let (own, others) = left.split_at(sheet.tasks.len());
            left = others;
            table(source, rows, &sheet.plans, own)
        });
        Ok(tables.collect())
    }
}

fn table(source: &Source, rows: &Rows, plans: &[Plan], results: &[Result]) -> Table {
    let cells: Vec<Cell> = plans
        .iter()
        .map(|plan| {
            let (result, first) = (&results[plan.task], &results[plan.first]);
            let each = (0..result.samples.len().min(first.samples.len()))
                .map(|seed| plan.figure.of(&result.only(seed), &first.only(seed)));
            Cell {
                row: plan.row.clone(),
                column: plan.column,
                lock: result.lock,
                published: plan.published,
                simulated: plan.figure.of(result, first),
                cv: stats::cv_percent(&each.collect::<Vec<_>>()).map(|cv| cv / 100.0),
            }
        })
        .collect();
    let errors: Vec<f64> = cells.iter().map(Cell::error).collect();
    let mean = stats::mean(&errors).unwrap_or(0.0);
    let median = stats::median(&errors).unwrap_or(0.0);
    Table {
        name: source.name,
        source: rows.notes.clone(),
        about: source.about,
        mean_error: mean.exp() - 1.0,
        median_error: median.exp() - 1.0,
        rank_correlation: spearman(&cells),
        verdicts: verdicts(source.name, &cells),
        cells,
    }
}

impl Cell {
    /// |ln(simulated / published)|; a figure of 0 is as wrong as can be.
    fn error(&self) -> f64 {
        if self.simulated > 0.0 {
            (self.simulated / self.published).ln().abs()
        } else {
            f64::INFINITY
        }
    }
}

/// Rank correlation; ties share their ranks.
fn spearman(cells: &[Cell]) -> f64 {
    let ranks = |figure: fn(&Cell) -> f64| -> Vec<f64> {
        let rank = |cell: &Cell| {
            let below = cells.iter().filter(|other| figure(other) < figure(cell)).count();
            let equal = cells.iter().filter(|other| figure(other) == figure(cell)).count();
            below as f64 + (equal as f64 - 1.0) / 2.0
        };
        cells.iter().map(rank).collect()
    };
    let (a, b) = (ranks(|cell| cell.published), ranks(|cell| cell.simulated));
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(&b).map(|(&x, &y)| f(x - ma, y - mb)).sum()
    };
    let spread = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    if spread == 0.0 { f64::NAN } else { sum(&|x, y| x * y) / spread }
}

/// A figure, or a ratio of two: as published and as simulated.
#[derive(Clone, Copy)]
struct Pair {
    published: f64,
    simulated: f64,
}

impl Pair {
    fn over(self, other: Pair) -> Pair {
        Pair {
            published: self.published / other.published,
            simulated: self.simulated / other.simulated,
        }
    }

    /// Whether a factor comes out: in its direction, and by half to twice as much.
    fn comes_out(self) -> bool {
        let same_way = (self.published > 1.0) == (self.simulated > 1.0);
        same_way && (0.5..=2.0).contains(&(self.simulated / self.published))
    }
}

/// Simulated figures, and the published ones.
fn seen(pairs: &[Pair]) -> String {
    let (published, simulated): (Vec<_>, Vec<_>) =
        pairs.iter().map(|pair| (pair.published, pair.simulated)).unzip();
    format!("{} (published {})", list(&simulated), list(&published))
}

fn list(figures: &[f64]) -> String {
    figures.iter().map(|figure| format!("{figure:.2}")).collect::<Vec<_>>().join(", ")
}

/// What the sources claim of their tables. Where they give a factor it must come out within 2 times, in
/// each cell.
fn verdicts(name: &str, cells: &[Cell]) -> Vec<Verdict> {
    let both = |row: &str, column: &str| {
        let cell = cells.iter().find(|cell| cell.row == row && cell.column == column);
        let nothing = Pair { published: f64::NAN, simulated: f64::NAN };
        cell.map_or(nothing, |cell| Pair { published: cell.published, simulated: cell.simulated })
    };
    let get = |row: &str, column: &str| both(row, column).simulated;
    let mut all = Vec::new();
    let mut say = |claim, seen: String, holds| all.push(Verdict { claim, seen, holds });
    match name {
        "mutex-aim7-high-systime" => {
            let of = |nodes: u32, threading: &str| {
                both(&format!("{nodes} nodes, hyper-threading {threading}"), "after/before")
            };
            let small = [of(1, "on"), of(1, "off"), of(2, "on"), of(2, "off")];
            let far = small.into_iter().map(|r| r.simulated.ln().abs()).fold(0.0, f64::max).exp();
            say(
                "testing before writing changes nothing on 1 and 2 nodes (within 10 %)",
                format!("up to {far:.2} times"),
                far <= 1.1,
            );
            let large = [of(8, "on"), of(8, "off")];
            say("and gains much on 8", seen(&large), large.into_iter().all(Pair::comes_out));
        }
        "mutex-slowpath-time" => {
            let [before, after] =
                ["before_percent", "after_percent"].map(|column| get("8 nodes", column));
            say(
                "on 8 nodes tens of percent of the time are in the slow path before, under 5 after",
                format!("{before:.1} and {after:.1} %"),
                before >= 10.0 && after < 5.0,
            );
        }
        "rwsem-ivybridge-ex-mixed" => {
            let row = |threads: u32| format!("{threads} threads");
            let timed = |threads| both(&row(threads), "time_based_spinning");
            let gain = |threads| timed(threads).over(both(&row(threads), "readers_spin_on_writer"));
            let low = [2, 4, 8, 16, 32].map(gain);
            say(
                "time-based spinning gains 4 times and more up to 32 threads",
                seen(&low),
                low.into_iter().all(Pair::comes_out),
            );
            let high = [64, 128, 240].map(gain);
            say(
                "and 2 to 3.5 times from 64 on",
                seen(&high),
                high.into_iter().all(Pair::comes_out),
            );
            let plateau = [2, 4, 8, 16, 32].map(|threads| timed(threads).simulated);
            let lowest = plateau.into_iter().fold(f64::INFINITY, f64::min);
            let highest = plateau.into_iter().fold(0.0, f64::max);
            say(
                "with it there is a plateau from 2 to 32 threads (within 1.5 times; published 1.1)",
                format!("highest to lowest {:.2}", highest / lowest),
                highest <= 1.5 * lowest,
            );
            let step = timed(32).over(timed(64));
            say("and a cliff between 32 and 64 threads", seen(&[step]), step.comes_out());
            let small = [4, 8, 16, 64, 128, 240].map(|threads| {
                get(&row(threads), "readers_spin_on_writer")
                    / get(&row(threads), "before_readers_spin")
            });
            let far = small.into_iter().map(|r| r.ln().abs()).fold(0.0, f64::max).exp();
            say(
                "that readers spin on a writer changes little but at 32 threads (within 25 %)",
                format!("up to {far:.2} times"),
                far <= 1.25,
            );
        }
        "rwsem-cascadelake-cs-load" => {
            let ratio = |load: u32, threads: u32| {
                let row = format!("load {load}, {threads} threads");
                get(&row, "no_rspin") / get(&row, "vanilla")
            };
            let few = [2, 4, 8, 16].map(|threads| ratio(1, threads));
            let many = [32, 64, 96].map(|threads| ratio(1, threads));
            say(
                "without reader spinning a load of 1 loses more than half from 32 threads on, not before",
                format!("{} of vanilla, then {}", list(&few), list(&many)),
                few.iter().all(|&ratio| ratio > 0.5) && many.iter().all(|&ratio| ratio < 0.5),
            );
            let even = [2, 4, 8, 16, 32, 64, 96].map(|threads| ratio(20, threads));
            let far = even.into_iter().map(|r| r.ln().abs()).fold(0.0, f64::max).exp();
            say(
                "under a load of 20 it is nearly even (within 30 %; published 26)",
                format!("up to {far:.2} times"),
                far <= 1.3,
            );
        }
        "rwsem-skylake-adaptive" => {
            let far = cells.chunks(2).map(|pair| pair[1].simulated / pair[0].simulated);
            let far = far.map(|r: f64| r.ln().abs()).fold(0.0, f64::max).exp();
            say(
                "adaptive disabling changes little in mixed runs (within 25 %)",
                format!("up to {far:.2} times"),
                far <= 1.25,
            );
        }
        "rwsem-skylake-fairness" => {
            let of = |row: &str, column| get(row, column);
            let readers =
                of("adaptive after", "reader_mean") / of("adaptive before", "reader_mean");
            let writers =
                of("adaptive after", "writer_mean") / of("adaptive before", "writer_mean");
            say(
                "adaptive disabling moves turns from dedicated readers to writers",
                format!("readers {readers:.2} times, writers {writers:.2} times"),
                readers < 0.8 && writers >= 1.0,
            );
            let loss = both("handoff after_4ms", "writer_mean")
                .over(both("handoff at_wakeup", "writer_mean"));
            say(
                "a hand-off at wake-up destroys writers' throughput, one after 4 ms does not",
                seen(&[loss]),
                loss.comes_out(),
            );
        }
        "rwsem-skylake-page-fault1" => {
            let of = |patch| [40, 60, 80].map(|n: u32| both(&format!("{n} threads"), patch));
            let (before, after) = (of("before_patch"), of("after_patch"));
            say(
                "readers that spin cost a fifth and more from 40 threads on",
                seen(&before),
                before.iter().all(|cell| cell.simulated <= 0.8),
            );
            let back = [0, 1, 2].map(|i| after[i].over(before[i]));
            say(
                "adaptive disabling wins some of it back",
                seen(&back),
                back.into_iter().all(Pair::comes_out),
            );
        }
        "lkp-mutex-vs-rwsem" => {
            let switches = both("voluntary_context_switches", "rwsem/mutex");
            say(
                "FIFO hand-over switches more often than stealing and spinning",
                seen(&[switches]),
                switches.comes_out(),
            );
            let idle = 1.0 - get("cpu_percent", "rwsem/mutex");
            say(
                "and leaves some half of the CPUs idle that are busy else (0.25 to 1; published 0.38)",
                format!("{idle:.2}"),
                (0.25..=1.0).contains(&idle),
            );
        }
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(figures: &[(f64, f64)]) -> Vec<Cell> {
        let cell = |&(published, simulated): &(f64, f64)| Cell {
            row: String::new(),
            column: "",
            lock: "",
            published,
            simulated,
            cv: None,
        };
        figures.iter().map(cell).collect()
    }

    #[test]
    fn ranks_and_errors() {
        let same = spearman(&cells(&[(1.0, 10.0), (2.0, 20.0), (5.0, 21.0)]));
        assert!((same - 1.0).abs() < 1e-12, "{same}");
        let reversed = spearman(&cells(&[(1.0, 3.0), (2.0, 2.0), (5.0, 1.0)]));
        assert!((reversed + 1.0).abs() < 1e-12, "{reversed}");
        assert!(spearman(&cells(&[(1.0, 3.0), (2.0, 3.0)])).is_nan(), "nothing to rank");
        let errors = cells(&[(2.0, 4.0), (4.0, 2.0), (1.0, 0.0)]);
        assert_eq!(errors[0].error(), errors[1].error());
        assert!(errors[2].error().is_infinite());
    }

    /// Every published table is simulated, or there is a reason why not.
    #[test]
    fn no_table_is_forgotten() {
        let known: Vec<&str> =
            names().into_iter().chain(left_out().iter().map(|(name, _)| *name)).collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/published");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(known.contains(&name), "{name}");
        }
        for name in names() {
            assert!(batch(&[name], true).runs(1) > 0, "{name}");
        }
    }

    /// A claim that the source's own figures do not bear out would be our mistake.
    #[test]
    fn every_claim_holds_for_the_published_figures() {
        for source in TABLES {
            let sheet = (source.plans)(&Rows::read(source.csv), true);
            let cell = |plan: &Plan| Cell {
                row: plan.row.clone(),
                column: plan.column,
                lock: "",
                published: plan.published,
                simulated: plan.published,
                cv: None,
            };
            let cells: Vec<Cell> = sheet.plans.iter().map(cell).collect();
            for verdict in verdicts(source.name, &cells) {
                assert!(verdict.holds, "{}: {}: {}", source.name, verdict.claim, verdict.seen);
            }
        }
    }

    #[test]
    fn claims_are_judged_by_what_is_seen() {
        let cell = |column, simulated| Cell {
            row: "voluntary_context_switches".to_owned(),
            column,
            lock: "",
            published: 3.2,
            simulated,
            cv: None,
        };
        let verdict = |seen| verdicts("lkp-mutex-vs-rwsem", &[cell("rwsem/mutex", seen)])[0].holds;
        assert!(verdict(3.0) && !verdict(1.0) && !verdict(30.0));
    }
}
