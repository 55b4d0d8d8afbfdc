//! The tables as markdown.

use comfy_table::presets::ASCII_MARKDOWN;

use super::layout::Page;
use super::table::grid;

/// The report as markdown; `command_line` is what made it.
pub fn render(page: &Page, command_line: &[String]) -> String {
    let mut text = format!("`{}`\n\n{}\n", command_line.join(" "), page.heading.join("; "));
    for table in &page.tables {
        let grid = grid(&table.head, table.rows.iter(), ASCII_MARKDOWN);
        text += &format!("\n### {}\n\n{grid}\n", table.title.replace('\n', ", "));
        let notes: String = table.notes.iter().map(|line| format!("\n- {line}")).collect();
        if !notes.is_empty() {
            text += &format!("{notes}\n");
        }
    }
    text.push('\n');
    let paragraphs = page.conclusion.iter().chain(&page.legend);
    paragraphs.for_each(|line| text += &format!("- {line}\n"));
    text
}
