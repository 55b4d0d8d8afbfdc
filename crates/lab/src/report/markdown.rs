//! The tables as markdown.

use comfy_table::presets::ASCII_MARKDOWN;

use super::Shown;
use super::columns::{self, cell_title, grid, legend, uncontended_title};
use crate::machine::Machine;
use crate::results::{MutexBenchResult, Timing};

/// The whole result as markdown.
pub fn render(result: &MutexBenchResult, shown: Shown) -> String {
    let mut text =
        heading(&result.command_line, &result.machine, &result.plan.timing(), result.complete);
    let mut push = |title: &str, table: String| {
        text += &format!("\n### {title}\n\n{table}\n");
    };
    if let Some(uncontended) = &result.uncontended {
        let rows = uncontended.rows.iter();
        let table = grid(&columns::uncontended(), rows, ASCII_MARKDOWN);
        push(&uncontended_title(uncontended), table.to_string());
    }
    for cell in result.cells.iter().filter(|cell| !cell.throughput.is_empty()) {
        let rows = cell.throughput.iter();
        let table = grid(&columns::throughput(shown), rows, ASCII_MARKDOWN);
        let events = cell.throughput.iter().map(|row| (&row.lock, &row.events));
        let notes = columns::event_lines(shown, events);
        let notes: String = notes.iter().map(|line| format!("\n- {line}")).collect();
        push(
            &cell_title(cell),
            format!("{table}{}{notes}", if notes.is_empty() { "" } else { "\n" }),
        );
    }
    for cell in result.cells.iter().filter(|cell| !cell.waits.is_empty()) {
        let table = grid(&columns::waits(), cell.waits.iter(), ASCII_MARKDOWN);
        push(&format!("waits: {}", cell_title(cell)), table.to_string());
    }
    text.push('\n');
    for line in legend(result) {
        text += &format!("- {line}\n");
    }
    text
}

/// The command, the machine, and what was run on it.
pub(super) fn heading(
    command_line: &[String],
    machine: &Machine,
    plan: &Timing,
    complete: bool,
) -> String {
    let mut text = format!(
        "`{}`\n\n{}; PAUSE {:.1} ns; {} rounds of {:.0} ms\n",
        command_line.join(" "),
        machine.summary(),
        machine.pause_ns,
        plan.rounds,
        1e3 * plan.round_s,
    );
    if !complete {
        text += "\n**Interrupted: later rounds are missing.**\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn every_table_is_a_markdown_table() {
        let result = example::result();
        let text = render(&result, Shown::default());
        let rules = text.lines().filter(|line| line.starts_with("|--")).count();
        assert_eq!(rules, 1 + 2 * result.cells.len(), "{text}");
        assert!(text.contains("### 2 threads, load 20"));
    }
}
