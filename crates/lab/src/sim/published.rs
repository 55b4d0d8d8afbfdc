//! Published results beside simulated ones: value, ratio, error, rank, and a verdict per claim.

use serde::Serialize;

use super::batch::{self, Ended, Result, Task};
use super::tables::{LEFT_OUT, Plan, Rows, Sheet, Source, TABLES};

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
    /// Coefficient of variation over the seeds.
    pub cv: f64,
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

/// How many runs the tables of these names take.
pub fn run_count(tables: &[&str], quick: bool, seeds: u64) -> u64 {
    let tasks = chosen(tables).flat_map(|table| (table.plans)(&Rows::read(table.csv), quick).tasks);
    tasks.map(|task| task.runs(seeds)).sum()
}

fn chosen(names: &[&str]) -> impl Iterator<Item = &'static Source> {
    TABLES.iter().filter(move |table| names.contains(&table.name))
}

/// Simulates the tables of these names.
///
/// # Errors
///
/// See [`Ended`].
pub fn simulate(
    names: &[&str],
    quick: bool,
    seeds: u64,
    stop: &(dyn Fn() -> bool + Sync),
    step: &(dyn Fn() + Sync),
) -> std::result::Result<Vec<Table>, Ended> {
    let sheets: Vec<(&Source, Rows, Sheet)> = chosen(names)
        .map(|source| {
            let rows = Rows::read(source.csv);
            let sheet = (source.plans)(&rows, quick);
            (source, rows, sheet)
        })
        .collect();
    let tasks: Vec<Task> =
        sheets.iter().flat_map(|(_, _, sheet)| sheet.tasks.iter().cloned()).collect();
    let results = batch::carry_out(&tasks, seeds, stop, step)?;
    let mut left = results.as_slice();
    let tables = sheets.iter().map(|(source, rows, sheet)| {
        let (own, others) = left.split_at(sheet.tasks.len());
        left = others;
        table(source, rows, &sheet.plans, own)
    });
    Ok(tables.collect())
}

fn table(source: &Source, rows: &Rows, plans: &[Plan], results: &[Result]) -> Table {
    let cells: Vec<Cell> = plans
        .iter()
        .map(|plan| {
            let (result, first) = (&results[plan.task], &results[plan.first]);
            Cell {
                row: plan.row.clone(),
                column: plan.column,
                lock: result.lock,
                published: plan.published,
                simulated: plan.figure.of(result, first),
                cv: result.cv,
            }
        })
        .collect();
    let mut errors: Vec<f64> = cells.iter().map(Cell::error).collect();
    errors.sort_by(f64::total_cmp);
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let median = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
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

/// What the sources claim of their tables.
fn verdicts(name: &str, cells: &[Cell]) -> Vec<Verdict> {
    let get = |row: &str, column: &str| {
        let cell = cells.iter().find(|cell| cell.row == row && cell.column == column);
        cell.map_or(f64::NAN, |cell| cell.simulated)
    };
    let mut all = Vec::new();
    let mut say = |claim, seen: String, holds| all.push(Verdict { claim, seen, holds });
    match name {
        "mutex-aim7-high-systime" => {
            let of = |nodes: u32, threading: &str| {
                get(&format!("{nodes} nodes, hyper-threading {threading}"), "after/before")
            };
            let small = [of(1, "on"), of(1, "off"), of(2, "on"), of(2, "off")];
            let far = small.into_iter().map(|r| r.ln().abs()).fold(0.0, f64::max).exp();
            say(
                "testing before writing changes nothing on 1 and 2 nodes (within 10 %)",
                format!("up to {far:.2} times"),
                far <= 1.1,
            );
            let large = [of(8, "on"), of(8, "off")];
            say(
                "and gains much on 8 (3.4 to 4 times)",
                format!("{:.2} and {:.2} times", large[0], large[1]),
                large.iter().all(|gain| (1.7..=8.0).contains(gain)),
            );
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
            let timed = |threads| get(&row(threads), "time_based_spinning");
            let gain = |threads| timed(threads) / get(&row(threads), "readers_spin_on_writer");
            let low = [2, 4, 8, 16, 32].map(gain).into_iter().fold(f64::INFINITY, f64::min);
            say(
                "time-based spinning gains 4 times and more up to 32 threads",
                format!("at least {low:.1}"),
                low >= 2.0,
            );
            let high: Vec<f64> = [64, 128, 240].map(gain).to_vec();
            say(
                "and 2 to 3.5 times from 64 on",
                format!("{:.1}, {:.1}, {:.1}", high[0], high[1], high[2]),
                high.iter().all(|gain| (1.0..=7.0).contains(gain)),
            );
            let step = timed(32) / timed(64);
            say(
                "with it there is a cliff between 32 and 64 threads (14 times)",
                format!("{step:.1} times"),
                step >= 7.0,
            );
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
            let worst = [32, 64, 96].map(|threads| ratio(1, threads));
            say(
                "without reader spinning a load of 1 loses from 32 threads on (2 to 4 times)",
                format!("{:.2}, {:.2}, {:.2} of vanilla", worst[0], worst[1], worst[2]),
                worst.iter().all(|&ratio| ratio < 0.8),
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
            let loss =
                of("handoff after_4ms", "writer_mean") / of("handoff at_wakeup", "writer_mean");
            say(
                "a hand-off at wake-up destroys throughput, one after 4 ms does not (28 times)",
                format!("writers: {loss:.1} times"),
                loss >= 14.0,
            );
        }
        "lkp-mutex-vs-rwsem" => {
            let switches = get("voluntary_context_switches", "rwsem/mutex");
            say(
                "FIFO hand-over switches 3.2 times as often as stealing and spinning",
                format!("{switches:.1} times"),
                (1.6..=6.4).contains(&switches),
            );
            let busy = get("cpu_percent", "rwsem/mutex");
            say("and leaves CPUs idle (0.62 of the CPU time)", format!("{busy:.2}"), busy < 0.8);
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
            cv: 0.0,
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
            assert!(run_count(&[name], true, 1) > 0, "{name}");
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
                cv: 0.0,
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
            cv: 0.0,
        };
        let verdict = |seen| verdicts("lkp-mutex-vs-rwsem", &[cell("rwsem/mutex", seen)])[0].holds;
        assert!(verdict(3.0) && !verdict(1.0) && !verdict(30.0));
    }
}
