//! The tables for a terminal of 80 columns.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table as Grid, TableStyle};

use super::layout::{Page, Table};

/// Columns that lines of prose are broken at.
const WIDTH: usize = 80;

/// The report as plain text: no colours, no control characters, lines end in newlines.
pub fn render(page: &Page) -> String {
    let mut text = String::new();
    page.heading.iter().for_each(|line| push_wrapped(&mut text, line));
    let mut rest = page.tables.as_slice();
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|table| table.head == first.head).count();
        let (group, others) = rest.split_at(alike);
        push_group(&mut text, group);
        rest = others;
    }
    for paragraphs in [&page.conclusion, &page.legend] {
        if !paragraphs.is_empty() {
            text.push('\n');
        }
        paragraphs.iter().for_each(|line| push_wrapped(&mut text, line));
    }
    text
}

/// Tables with the same columns: laid out as one, so that they align.
fn push_group(text: &mut String, tables: &[Table]) {
    let all = tables.iter().flat_map(|table| &table.rows);
    let lines = lines(&grid(&tables[0].head, all, NOTHING));
    let (head, mut body) = (&lines[0], lines[1..].iter());
    for table in tables {
        text.push('\n');
        table.title.lines().for_each(|line| push_wrapped(text, line));
        push_line(text, head);
        body.by_ref().take(table.rows.len()).for_each(|line| push_line(text, line));
        table.notes.iter().for_each(|line| push_wrapped(text, line));
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Adds a paragraph, broken between words; what goes on is indented.
pub(super) fn push_wrapped(text: &mut String, paragraph: &str) {
    let mut width = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            text.push_str("\n  ");
            width = 2;
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += length;
    }
    text.push('\n');
}

/// A table of rows, the first column flush left and the figures flush right.
pub(super) fn grid<'a>(
    head: &[String],
    rows: impl Iterator<Item = &'a Vec<String>>,
    style: TableStyle,
) -> Grid {
    let mut grid = Grid::new();
    grid.load_style(style);
    grid.set_header(head);
    rows.for_each(|row| {
        grid.add_row(row);
    });
    for column in grid.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    grid
}

/// The lines of a table, one blank between columns.
fn lines(grid: &Grid) -> Vec<String> {
    let mut grid = grid.clone();
    for (index, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((u16::from(index > 0), 0));
    }
    grid.lines().map(|line| line.trim_end().to_owned()).collect()
}
