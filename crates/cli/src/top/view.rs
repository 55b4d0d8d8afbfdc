//! The screen of `lockwright top`.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::state::{Over, State};
use crate::stat::print::{Shown, paths, table};

const KEYS: &str = "\
left, right, < >     order by another column
r                    the other way round
space, p             pause, or go on
t                    since the beginning, or the last interval
up, down, j, k       choose a lock; also PgUp, PgDn, Home, End
Enter                its call paths: who waited, who held it meanwhile
h, ?                 these keys
q, Esc, Ctrl-C       leave";

/// Draws it; the state learns how many locks there is room for.
pub fn draw(frame: &mut Frame, state: &mut State) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(title(state)).style(Modifier::BOLD), head);
    locks(frame, state, body);
    let keys = "q leave  space pause  <> order  r reverse  t total  Enter call paths  h keys";
    frame.render_widget(Paragraph::new(keys).style(Modifier::DIM), foot);
    match state.over {
        Over::Nothing => {}
        Over::Help => over(frame, body, "keys", KEYS.to_owned()),
        Over::Paths => {
            let rows = state.rows();
            if let Some(row) = rows.get(state.selected(&rows)) {
                let mut text = String::new();
                paths(&mut text, row, &state.shown);
                let title = row.name.clone();
                over(frame, body, &title, text.trim_start().to_owned());
            }
        }
    }
}

fn title(state: &State) -> String {
    let mut words = vec![format!("{} [{}]", state.program, state.pid)];
    match state.report() {
        None => words.push("looking".to_owned()),
        Some((report, seconds)) => {
            let of = if state.total { "since the beginning" } else { "interval" };
            words.push(format!("{of}, {seconds:.1} s"));
            words.push(report.policy.clone());
        }
    }
    let order = if state.reversed { ", smallest first" } else { "" };
    words.push(format!("by {}{order}", state.shown.key.head()));
    words.extend(state.paused.then(|| "PAUSED".to_owned()));
    words.extend(state.ended.then(|| "ENDED".to_owned()));
    words.retain(|word| !word.is_empty());
    words.join("  ")
}

/// The table, with the chosen lock in sight.
fn locks(frame: &mut Frame, state: &mut State, area: Rect) {
    let rows = state.rows();
    if rows.is_empty() {
        let none = if state.report().is_some() { "No lock was waited for." } else { "" };
        frame.render_widget(Paragraph::new(none), area);
        return;
    }
    let shown = Shown { width: Some(area.width.into()), ..state.shown.clone() };
    let text = table(&rows, &shown);
    let (selected, count) = (state.selected(&rows), rows.len());
    let page = usize::from(area.height.saturating_sub(1)).max(1);
    let first = state.scroll.min(selected).max((selected + 1).saturating_sub(page));
    let first = first.min(count.saturating_sub(page));
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let mut seen = vec![Line::styled(head.to_owned(), Modifier::UNDERLINED)];
    for (at, line) in lines.enumerate().skip(first).take(page) {
        let style = if at == selected { Style::from(Modifier::REVERSED) } else { Style::new() };
        seen.push(Line::styled(line.to_owned(), style));
    }
    frame.render_widget(Paragraph::new(Text::from(seen)), area);
    (state.scroll, state.page) = (first, page);
}

fn over(frame: &mut Frame, area: Rect, title: &str, text: String) {
    let height = u16::try_from(text.lines().count() + 2).unwrap_or(u16::MAX).min(area.height);
    let area = Rect { y: area.y + (area.height - height), height, ..area };
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(title.to_owned());
    frame.render_widget(Paragraph::new(text).block(block), area);
}
