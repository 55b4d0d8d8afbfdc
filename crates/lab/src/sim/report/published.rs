//! Published tables beside simulated ones.

use std::fmt::Write;

use super::super::published::claims::Ruling;
use super::super::published::{Table, left_out, median_error};
use super::percent;

/// In words, loud where it does not hold.
pub(crate) fn in_words(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Holds => "holds",
        Ruling::Fails => "DOES NOT HOLD",
        Ruling::NotSure => "not sure",
    }
}

/// How a cell is marked.
fn marks(two_states: bool, aside: Option<&str>) -> String {
    let two = two_states.then_some("two states");
    aside.into_iter().chain(two).collect::<Vec<_>>().join(", ")
}

/// How many claims hold, fail and are neither, and all.
pub(crate) fn count(tables: &[Table]) -> [usize; 4] {
    let rulings = || tables.iter().flat_map(|table| &table.verdicts).map(|verdict| verdict.ruling);
    let of = |ruling| rulings().filter(|other| *other == ruling).count();
    [of(Ruling::Holds), of(Ruling::Fails), of(Ruling::NotSure), rulings().count()]
}

/// One sentence on all of them.
pub(crate) fn conclusion(tables: &[Table]) -> String {
    let [holds, fails, unsure, all] = count(tables);
    let (median, cells) = median_error(tables);
    format!(
        "{holds} of {all} claims hold, {fails} do not, {unsure} are not sure. Median error over {cells} cells \
         (those that something was fitted to left out): {:.0} %.",
        100.0 * median
    )
}

/// Published tables beside simulated ones.
pub fn published(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        let _ = writeln!(text, "{}", table.name);
        for line in &table.source {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "  simulated: {}", table.about);
        let _ = writeln!(
            text,
            "\n  {:<28} {:<24} {:<18} {:>10} {:>10} {:>6} {:>5} {:>6}",
            "row", "column", "lock", "published", "simulated", "ratio", "+-%", "s"
        );
        for cell in &table.cells {
            let digits = if cell.published < 100.0 { 2 } else { 0 };
            let line = format!(
                "  {:<28} {:<24} {:<18} {:>10.digits$} {:>10.digits$} {:>6.2} {:>5} {:>6.2}  {}",
                cell.row,
                cell.column,
                cell.lock,
                cell.published,
                cell.simulated,
                cell.simulated / cell.published,
                percent(cell.half),
                cell.seconds,
                marks(cell.two_states, cell.aside.as_deref()),
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text.push('\n');
        text += &verdicts(table);
        text.push('\n');
    }
    let _ = writeln!(text, "{}", conclusion(tables));
    text.push_str(
        "+-: half of the 95 % interval of the simulated figure, by means over batches. s: simulated \
         seconds, two runs together;\ntwo states: two runs did not come to the same, so two others as long as \
         the published one count.\n\nNot simulated:\n",
    );
    for (name, why) in left_out() {
        let _ = writeln!(text, "  {name}: {why}");
    }
    text
}

/// The same as Markdown, for docs/simulator-validation.md: errors, and a line for each claim.
pub fn published_markdown(tables: &[Table]) -> String {
    let mut text = String::from(
        "| table | cells | mean error | median error | rank correlation |\n|---|---|---|---|---|\n",
    );
    for table in tables {
        let counted = table.cells.iter().filter(|cell| cell.aside.is_none()).count();
        let [mean, median] = [table.mean_error, table.median_error].map(error);
        let _ =
            writeln!(text, "| {} | {counted} | {mean} | {median} | {} |", table.name, rank(table));
    }
    let _ = writeln!(text, "\n{}\n", conclusion(tables));
    text.push_str("| table | claim | | simulated (published) |\n|---|---|---|---|\n");
    for table in tables {
        for verdict in &table.verdicts {
            let (claim, seen) = (&verdict.claim, &verdict.seen);
            let _ = writeln!(
                text,
                "| {} | {claim} | {} | {seen} |",
                table.name,
                in_words(verdict.ruling)
            );
        }
    }
    text
}

/// The same tables from changed machines: errors and verdicts.
pub fn varied(label: &str, tables: &[Table]) -> String {
    let mut text = format!("\nWith {label}:\n");
    for table in tables {
        let _ = writeln!(text, "\n{}", table.name);
        text += &verdicts(table);
    }
    let _ = writeln!(text, "\n{}", conclusion(tables));
    text
}

fn error(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", 100.0 * share))
}

/// One figure, or all the same, have no rank.
fn rank(table: &Table) -> String {
    table.rank_correlation.map_or_else(|| "-".to_owned(), |rank| format!("{rank:.2}"))
}

fn verdicts(table: &Table) -> String {
    let mut text = String::new();
    let [mean, median] = [table.mean_error, table.median_error].map(error);
    let rank = rank(table);
    let _ = writeln!(text, "  error: mean {mean}, median {median}; rank correlation {rank}");
    for verdict in &table.verdicts {
        let (word, claim, seen) = (in_words(verdict.ruling), &verdict.claim, &verdict.seen);
        let _ = writeln!(text, "  {word}: {claim}; seen: {seen}");
    }
    text
}
