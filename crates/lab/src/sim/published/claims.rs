//! What the sources claim of their tables, and whether the simulator agrees.
//!
//! A claim is of changes, each a ratio of two cells. A change comes out if it goes in the published
//! direction, and by half to twice as much. Published changes of up to 5 % are none: the one source that
//! says how much its runs differ by chance gives that; of those the simulated one must be none either,
//! within 10 %. What lies within the intervals of the simulated means is not sure: then a claim neither
//! holds nor fails.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Cell;
use super::settle::Known;

/// What is to be said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// It holds.
    Holds,
    /// The runs do not tell.
    NotSure,
    /// It does not hold.
    Fails,
}

/// A claim of the source, and whether the simulator agrees.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The claim.
    pub claim: Cow<'static, str>,
    /// What was seen.
    pub seen: String,
    /// Whether that is what the claim says.
    pub ruling: Ruling,
}

/// A figure, or a ratio of two: as published and as simulated.
#[derive(Clone, Copy)]
struct Pair {
    published: f64,
    simulated: Known,
}

/// Published changes up to this many percent are none.
const NOISE_PERCENT: f64 = 5.0;
/// Simulated ones up to this share are none.
const NONE: f64 = 1.1;
/// A change may be so many times as great as published, or as small.
const FACTOR: f64 = 2.0;

impl Pair {
    fn over(self, other: Pair) -> Pair {
        Pair {
            published: self.published / other.published,
            simulated: self.simulated.over(other.simulated),
        }
    }

    /// Whether the change comes out.
    fn change(self) -> Ruling {
        let (wanted, seen) = (self.published.ln(), self.simulated.value.ln());
        if ((self.published - 1.0) * 100.0).abs().round() <= NOISE_PERCENT {
            return self.at_most(seen.abs(), NONE.ln());
        }
        // No change at all goes in no direction.
        let direction = self.at_most(-seen * wanted.signum(), -1e-6);
        direction.max(self.at_most((seen - wanted).abs(), FACTOR.ln()))
    }

    /// Whether a logarithm is at most this, as sure as it is.
    fn at_most(self, seen: f64, most: f64) -> Ruling {
        match self.simulated.half {
            _ if !seen.is_finite() => Ruling::Fails,
            Some(half) if seen + half <= most => Ruling::Holds,
            Some(half) if seen - half > most => Ruling::Fails,
            _ => Ruling::NotSure,
        }
    }

    /// Whether the simulated figure is at most this.
    fn is_at_most(self, most: f64) -> Ruling {
        self.at_most(self.simulated.value.ln(), most.ln())
    }

    fn is_at_least(self, least: f64) -> Ruling {
        self.at_most(-self.simulated.value.ln(), -least.ln())
    }
}

/// The worst of them: what is said of a claim that is of several things.
fn worst(rulings: impl IntoIterator<Item = Ruling>) -> Ruling {
    rulings.into_iter().max().unwrap_or(Ruling::Fails)
}

/// Simulated figures, and the published ones.
fn seen(pairs: &[Pair]) -> String {
    let list = |figure: fn(&Pair) -> f64| -> String {
        let figures: Vec<_> = pairs.iter().map(|pair| format!("{:.2}", figure(pair))).collect();
        figures.join(", ")
    };
    format!("{} (published {})", list(|pair| pair.simulated.value), list(|pair| pair.published))
}

/// The cells of a table, and what has been said of them so far.
struct Judge<'a> {
    cells: &'a [Cell],
    verdicts: Vec<Verdict>,
}

impl Judge<'_> {
    fn cell(&self, row: &str, column: &str) -> Pair {
        let cell = self.cells.iter().find(|cell| cell.row == row && cell.column == column);
        let nothing = Known { value: f64::NAN, half: None };
        cell.map_or(Pair { published: f64::NAN, simulated: nothing }, |cell| Pair {
            published: cell.published,
            simulated: Known { value: cell.simulated, half: cell.half },
        })
    }

    /// The ratio of two columns in each of these rows.
    fn ratios(&self, rows: &[String], column: &str, base: &str) -> Vec<Pair> {
        rows.iter().map(|row| self.cell(row, column).over(self.cell(row, base))).collect()
    }

    /// All these changes come out.
    fn changes(&mut self, claim: &'static str, pairs: &[Pair]) {
        let ruling = worst(pairs.iter().map(|pair| pair.change()));
        self.verdicts.push(Verdict { claim: claim.into(), seen: seen(pairs), ruling });
    }

    /// All these figures are as they are ruled to be.
    fn ruled(&mut self, claim: &'static str, pairs: &[Pair], rule: impl Fn(&Pair) -> Ruling) {
        let ruling = worst(pairs.iter().map(rule));
        self.verdicts.push(Verdict { claim: claim.into(), seen: seen(pairs), ruling });
    }
}

fn threads(counts: &[u32]) -> Vec<String> {
    counts.iter().map(|count| format!("{count} threads")).collect()
}

/// What is claimed of the table with this name.
pub(super) fn verdicts(name: &str, cells: &[Cell]) -> Vec<Verdict> {
    type Claims = fn(&mut Judge);
    let mut judge = Judge { cells, verdicts: Vec::new() };
    let claims: &[(&str, Claims)] = &[
        ("mutex-aim7-high-systime", aim7),
        ("mutex-slowpath-time", slow_path),
        ("rwsem-ivybridge-ex-mixed", ivybridge),
        ("rwsem-cascadelake-cs-load", cascadelake),
        ("rwsem-skylake-adaptive", adaptive),
        ("rwsem-skylake-fairness", fairness),
        ("rwsem-skylake-page-fault1", page_faults),
        ("osq-epyc7551-locktorture", locktorture),
        ("osq-fxmark-64", fxmark),
        ("osq-perf-bench-epoll", epoll),
        ("osq-unixbench", file_copy),
        ("lkp-mutex-vs-rwsem", lkp),
    ];
    if let Some((_, claim)) = claims.iter().find(|(table, _)| *table == name) {
        claim(&mut judge);
    }
    judge.verdicts
}

fn aim7(judge: &mut Judge) {
    let of = |judge: &Judge, nodes: &[u32], threading: &str| -> Vec<Pair> {
        let row = |nodes: &u32| format!("{nodes} nodes, hyper-threading {threading}");
        nodes.iter().map(|nodes| judge.cell(&row(nodes), "after/before")).collect()
    };
    let few = [of(judge, &[1, 2], "on"), of(judge, &[1, 2], "off")].concat();
    judge.changes("testing before writing changes nothing on 1 and 2 nodes", &few);
    let four = [of(judge, &[4], "on"), of(judge, &[4], "off")].concat();
    judge.changes("on 4 nodes it gains with hyper-threading, and nothing without", &four);
    let eight = [of(judge, &[8], "on"), of(judge, &[8], "off")].concat();
    judge.changes("on 8 nodes it gains much", &eight);
}

fn slow_path(judge: &mut Judge) {
    let before = judge.cell("8 nodes", "before_percent");
    judge.ruled(
        "on 8 nodes 10 % and more of the time are in the slow path before",
        &[before],
        |pair| pair.is_at_least(10.0),
    );
    let after = judge.cell("8 nodes", "after_percent");
    judge.ruled("and under 5 % after", &[after], |pair| pair.is_at_most(5.0));
}

fn ivybridge(judge: &mut Judge) {
    let (timed, spin) = ("time_based_spinning", "readers_spin_on_writer");
    let low = judge.ratios(&threads(&[2, 4, 8, 16, 32]), timed, spin);
    judge.changes("time-based spinning gains 4 times and more up to 32 threads", &low);
    let high = judge.ratios(&threads(&[64, 128, 240]), timed, spin);
    judge.changes("and 2.5 to 3.3 times from 64 on", &high);
    let plateau: Vec<Pair> = threads(&[4, 8, 16, 32])
        .iter()
        .map(|row| judge.cell(row, timed).over(judge.cell("2 threads", timed)))
        .collect();
    judge.ruled(
        "with it there is a plateau from 2 to 32 threads (within 1.25 times)",
        &plateau,
        |pair| pair.is_at_most(1.25).max(pair.is_at_least(1.0 / 1.25)),
    );
    let step = judge.cell("32 threads", timed).over(judge.cell("64 threads", timed));
    judge.changes("and a cliff between 32 and 64 threads", &[step]);
    let spinning =
        judge.ratios(&threads(&[4, 8, 16, 32, 64, 128, 240]), spin, "before_readers_spin");
    judge.changes(
        "that readers spin on a writer gains at 32 and 64 threads, and nothing else",
        &spinning,
    );
}

fn cascadelake(judge: &mut Judge) {
    let rows = |load: u32, counts: &[u32]| -> Vec<String> {
        counts.iter().map(|count| format!("load {load}, {count} threads")).collect()
    };
    let few = judge.ratios(&rows(1, &[2, 4, 8, 16]), "no_rspin", "vanilla");
    judge.changes("without reader spinning a load of 1 loses little up to 16 threads", &few);
    let many = judge.ratios(&rows(1, &[32, 64, 96]), "no_rspin", "vanilla");
    judge.changes("and more than half from 32 on", &many);
    let even = judge.ratios(&rows(20, &[2, 4, 8, 16]), "no_rspin", "vanilla");
    judge.changes("under a load of 20 it loses a fifth up to 16 threads", &even);
    let even = judge.ratios(&rows(20, &[32, 64, 96]), "no_rspin", "vanilla");
    judge.changes("and gains up to a sixth from 32 on", &even);
}

fn adaptive(judge: &mut Judge) {
    let ratios = judge.ratios(&threads(&[2, 4, 8, 16, 32, 64, 80]), "post_patch", "pre_patch");
    judge.changes("adaptive disabling changes next to nothing in mixed runs", &ratios);
}

fn fairness(judge: &mut Judge) {
    let between = |judge: &Judge, rows: [&str; 2], column| {
        judge.cell(rows[1], column).over(judge.cell(rows[0], column))
    };
    let adaptive = ["adaptive before", "adaptive after"];
    let readers = between(judge, adaptive, "reader_mean");
    judge.changes(
        "adaptive disabling takes six sevenths of the turns from dedicated readers",
        &[readers],
    );
    let writers = between(judge, adaptive, "writer_mean");
    judge.changes("and none from writers", &[writers]);
    let handoff = ["handoff after_4ms", "handoff at_wakeup"];
    let both = ["reader_mean", "writer_mean"].map(|column| between(judge, handoff, column));
    judge.changes(
        "a hand-off at the first wake-up destroys throughput, one after 4 ms does not",
        &both,
    );
}

fn page_faults(judge: &mut Judge) {
    let rows = threads(&[20, 40, 60, 80]);
    let column = |judge: &Judge, column| -> Vec<Pair> {
        rows.iter().map(|row| judge.cell(row, column)).collect()
    };
    let before = column(judge, "before_patch");
    judge.changes(
        "readers that spin cost nothing at 20 threads, and a fifth and more from 40 on",
        &before,
    );
    let after = column(judge, "after_patch");
    let back: Vec<Pair> =
        after.iter().zip(&before).map(|(after, before)| after.over(*before)).collect();
    judge.changes("adaptive disabling wins some of that back", &back);
}

fn locktorture(judge: &mut Judge) {
    let to = |judge: &Judge, base: &str, counts: &[u32]| -> Vec<Pair> {
        let base = judge.cell(base, "osq4");
        let row = |count: &u32| judge.cell(&format!("{count} writers"), "osq4").over(base);
        counts.iter().map(row).collect()
    };
    let first = to(judge, "1 writers", &[2, 4]);
    judge.changes("two writers do nearly twice as much as one, four no more than two", &first);
    let flat = to(judge, "4 writers", &[8, 16, 32, 48]);
    judge.changes("the stock queue's rate is flat from 4 to 48 writers", &flat);
    let last = to(judge, "4 writers", &[64]);
    judge.changes("and a third higher with 64", &last);
    let parted = |judge: &Judge, counts: &[u32]| -> Vec<Pair> {
        let cell = |count: &u32, column| judge.cell(&format!("{count} writers"), column);
        counts.iter().map(|count| cell(count, "osq2_on").over(cell(count, "osq4"))).collect()
    };
    let crowd = parted(judge, &[16, 32, 48, 64]);
    judge.changes(
        "with 16 writers and more, switching by domain gives seven tenths and more",
        &crowd,
    );
    let few = parted(judge, &[4]);
    judge.changes("with 4 it costs a tenth", &few);
}

fn fxmark(judge: &mut Judge) {
    let shared = judge.cell("DWOM", "to one core's");
    judge.changes(
        "64 cores that overwrite one file do a third of what one does on its own file",
        &[shared],
    );
    let gain = |judge: &Judge, item: &str| judge.cell(item, "after/before");
    let overwrite = [gain(judge, "DWOM")];
    judge.changes("switching by domain triples it", &overwrite);
    let directory = ["MWCM", "MWUM", "MWRM"].map(|item| gain(judge, item));
    judge.changes(
        "making, removing and moving entries of one directory gain a half and more",
        &directory,
    );
    let private = [gain(judge, "DWOL")];
    judge.changes("overwriting private files gains nothing", &private);
}

fn epoll(judge: &mut Judge) {
    let of = |judge: &Judge, item: &str| -> Vec<Pair> {
        let machines = ["KH40000-32", "EPYC7551-64"];
        machines.iter().map(|name| judge.cell(&format!("{name}, {item}"), "after/before")).collect()
    };
    let add = of(judge, "ADD");
    judge.changes("adding event counters to one set gains 2.5 to 4 times", &add);
    let wait = of(judge, "WAIT");
    judge.changes("and waiting for events of one set a half and more", &wait);
}

fn file_copy(judge: &mut Judge) {
    for (machine, claim) in [
        ("KH40000", "64 file copies gain 1.8 to 2.6 times on KH-40000"),
        ("EPYC", "and on EPYC 7551"),
    ] {
        let row = |size| format!("File Copy {size}, {machine}");
        let gains = [256, 1024, 4096].map(|size| judge.cell(&row(size), "after/before"));
        judge.changes(claim, &gains);
    }
}

fn lkp(judge: &mut Judge) {
    let of = |judge: &Judge, row| judge.cell(row, "rwsem/mutex");
    let switches = of(judge, "voluntary_context_switches");
    judge.changes("FIFO hand-over switches more often than stealing and spinning", &[switches]);
    let busy = of(judge, "cpu_percent");
    judge.changes("and leaves a third and more of the busy CPUs idle", &[busy]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(published: f64, simulated: f64, half: Option<f64>) -> Pair {
        Pair { published, simulated: Known { value: simulated, half } }
    }

    #[test]
    fn a_change_goes_by_its_direction_and_its_size() {
        let change = |published, simulated| pair(published, simulated, Some(0.01)).change();
        assert_eq!(change(1.3, 1.2), Ruling::Holds);
        assert_eq!(change(1.3, 0.9), Ruling::Fails, "the other way");
        assert_eq!(change(0.8, 1.05), Ruling::Fails, "the other way, if nearly even");
        assert_eq!(change(4.0, 1.5), Ruling::Fails, "less than half of it");
        assert_eq!(change(1.3, 3.0), Ruling::Fails, "more than twice");
        assert_eq!(change(1.05, 0.95), Ruling::Holds, "no change");
        assert_eq!(change(0.95, 1.2), Ruling::Fails, "a change where there is none");
        assert_eq!(change(1.06, 0.95), Ruling::Fails, "6 % are a change");
        assert_eq!(change(1.3, f64::NAN), Ruling::Fails);
        assert_eq!(change(1.3, 0.0), Ruling::Fails);
    }

    #[test]
    fn what_the_intervals_do_not_tell_is_not_sure() {
        assert_eq!(pair(1.3, 1.05, Some(0.1)).change(), Ruling::NotSure);
        assert_eq!(pair(1.3, 1.3, None).change(), Ruling::NotSure);
        assert_eq!(pair(1.02, 1.08, Some(0.05)).change(), Ruling::NotSure);
        assert_eq!(pair(9.0, 9.0, Some(0.1)).is_at_least(8.0), Ruling::Holds);
        assert_eq!(pair(9.0, 9.0, Some(0.1)).is_at_most(9.5), Ruling::NotSure);
    }

    #[test]
    fn a_claim_is_as_good_as_its_worst_part() {
        use Ruling::*;
        assert_eq!(worst([Holds, NotSure, Holds]), NotSure);
        assert_eq!(worst([NotSure, Fails]), Fails);
        assert_eq!(worst([]), Fails, "nothing was looked at");
    }
}
