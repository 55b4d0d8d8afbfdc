//! The table for a terminal.

use comfy_table::Table;
use comfy_table::presets::NOTHING;

use super::Shown;
use super::columns::{self, Column, cell_title, grid, legend, uncontended_title};
use crate::machine::Machine;
use crate::results::{CellResult, MutexBenchResult, Timing};

/// The whole result as plain text: no colours, no control characters, lines end in newlines.
pub fn render(result: &MutexBenchResult, shown: Shown) -> String {
    let mut text = heading(&result.machine, &result.plan.timing(), result.complete);
    if let Some(uncontended) = &result.uncontended {
        let table = grid(&columns::uncontended(), uncontended.rows.iter(), NOTHING);
        push_group(&mut text, &uncontended_title(uncontended), lines(&table).into_iter());
    }
    let throughput = columns::throughput(shown);
    let events = |cell: &CellResult| {
        columns::event_lines(shown, cell.throughput.iter().map(|row| (&row.lock, &row.events)))
    };
    push_groups(&mut text, result, &throughput, "", |cell| &cell.throughput, events);
    push_groups(
        &mut text,
        result,
        &columns::waits(),
        "waits: ",
        |cell| &cell.waits,
        |_| Vec::new(),
    );
    text.push('\n');
    for line in legend(result) {
        text += &line;
        text.push('\n');
    }
    text
}

/// The machine, and what was run on it.
pub(super) fn heading(machine: &Machine, plan: &Timing, complete: bool) -> String {
    let mut text = format!("{}\n", machine.summary());
    text += &format!("PAUSE {:.1} ns", machine.pause_ns);
    if let Some(ns) = machine.line_transfer_ns {
        text += &format!(", cache line transfer {ns:.0} ns");
    }
    text +=
        &format!("; {} rounds of {:.0} ms, seed {}", plan.rounds, 1e3 * plan.round_s, plan.seed);
    if !complete {
        text += "; INTERRUPTED, later rounds are missing";
    }
    text.push('\n');
    text
}

/// One group per cell. All rows are laid out as one table, so that the groups align.
fn push_groups<R>(
    text: &mut String,
    result: &MutexBenchResult,
    columns: &[Column<R>],
    prefix: &str,
    rows: fn(&CellResult) -> &Vec<R>,
    notes: impl Fn(&CellResult) -> Vec<String>,
) {
    let all = result.cells.iter().flat_map(rows);
    let lines = lines(&grid(columns, all, NOTHING));
    let (header, mut body) = (lines[0].clone(), lines[1..].iter());
    for cell in result.cells.iter().filter(|cell| !rows(cell).is_empty()) {
        let group = body.by_ref().take(rows(cell).len()).cloned();
        let title = format!("{prefix}{}", cell_title(cell));
        push_group(text, &title, std::iter::once(header.clone()).chain(group).chain(notes(cell)));
    }
}

pub(super) fn push_group(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    text.push('\n');
    text.push_str(title);
    text.push('\n');
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
}

/// The lines of a table, one blank between columns.
pub(super) fn lines(table: &Table) -> Vec<String> {
    let mut table = table.clone();
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(index > 0), 0));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn all_figures_are_there_and_the_lines_are_narrow() {
        let text = render(&example::result(), Shown::default());
        for word in [
            "ns/pair",
            "kops/s",
            "CV%",
            "ratio",
            "min/thr",
            "mean/thr",
            "max/thr",
            "Jain",
            "CPU-s/Mop",
            "vol/Mop",
            "inv/Mop",
            "p50",
            "p99",
            "p99.9",
            "max",
            "std",
            "parking_lot",
        ] {
            assert!(text.contains(word), "{word} is missing:\n{text}");
        }
        for line in text.lines().skip(1) {
            assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
        }
    }

    #[test]
    fn groups_align() {
        let text = render(&example::result(), Shown::default());
        let mut headers =
            text.lines().filter(|line| line.contains("kops/s ") && line.contains("lock"));
        let first = headers.next().unwrap();
        assert!(headers.next().is_some_and(|next| next == first));
    }

    #[test]
    fn the_interval_is_shown_where_asked() {
        let text = render(&example::result(), Shown { interval: true, events: false });
        assert!(text.contains("95%-interval"));
        assert!(!text.contains("mutex_sleep"));
    }

    #[test]
    fn events_are_shown_where_asked() {
        let text = render(&example::result(), Shown { interval: false, events: true });
        assert!(text.contains("parking_lot: mutex_sleep 17\n"), "{text}");
    }

    #[test]
    fn an_interrupted_run_says_so() {
        let mut result = example::result();
        result.complete = false;
        assert!(render(&result, Shown::default()).contains("INTERRUPTED"));
    }
}
