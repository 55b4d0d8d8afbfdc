//! What the screen of `lockwright top` is about, and what keys do to it.

use clap::ValueEnum;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::Look;
use crate::stat::model::{Report, Row};
use crate::stat::print::{Field, Shown};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Leave what is over the table, or the program.
    Back,
    /// Keep what is shown, or go on.
    Pause,
    /// Order by the next column.
    NextKey,
    /// Order by the column before.
    PreviousKey,
    /// The other way round.
    Reverse,
    /// All since the beginning, or the last interval.
    Total,
    /// So many locks further down, or up.
    Move(isize),
    /// So many screens.
    Page(isize),
    /// To the first lock.
    First,
    /// To the last.
    Last,
    /// The call paths of the lock.
    Paths,
    /// The keys.
    Help,
}

/// What a key means.
pub fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Action::Quit,
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Esc => Action::Back,
        KeyCode::Char(' ' | 'p') => Action::Pause,
        KeyCode::Right | KeyCode::Char('>') => Action::NextKey,
        KeyCode::Left | KeyCode::Char('<') => Action::PreviousKey,
        KeyCode::Char('r') => Action::Reverse,
        KeyCode::Char('t') => Action::Total,
        KeyCode::Down | KeyCode::Char('j') => Action::Move(1),
        KeyCode::Up | KeyCode::Char('k') => Action::Move(-1),
        KeyCode::PageDown => Action::Page(1),
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::Home => Action::First,
        KeyCode::End => Action::Last,
        KeyCode::Enter => Action::Paths,
        KeyCode::Char('h' | '?') => Action::Help,
        _ => return None,
    })
}

/// What stands over the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// Nothing.
    #[default]
    Nothing,
    /// The call paths of the chosen lock.
    Paths,
    /// The keys.
    Help,
}

/// All that the screen depends on.
pub struct State {
    /// The program.
    pub program: String,
    /// Its process.
    pub pid: u32,
    /// Columns, order and filters.
    pub shown: Shown,
    /// The smallest first.
    pub reversed: bool,
    /// Nothing new is shown.
    pub paused: bool,
    /// Since the beginning, not the last interval.
    pub total: bool,
    /// The process is no more.
    pub ended: bool,
    /// The user has had enough.
    pub quit: bool,
    /// What stands over the table.
    pub over: Over,
    /// The name and number among its namesakes of the lock that is chosen: it stays so wherever
    /// the order takes it. The first one, if there is none of the name.
    chosen: Option<(String, usize)>,
    /// The first line of the table that is seen.
    pub scroll: usize,
    /// How many locks the screen has room for; set when it is drawn.
    pub page: usize,
    look: Option<Look>,
}

impl State {
    /// Before the first look.
    pub fn new(program: String, pid: u32, shown: Shown, total: bool) -> Self {
        State {
            program,
            pid,
            shown,
            reversed: false,
            paused: false,
            total,
            ended: false,
            quit: false,
            over: Over::Nothing,
            chosen: None,
            scroll: 0,
            page: 1,
            look: None,
        }
    }

    /// Takes what a look found, unless paused.
    pub fn feed(&mut self, look: Look) {
        if !self.paused {
            self.look = Some(look);
        }
    }

    /// What is shown, and how many seconds it is of.
    pub fn report(&self) -> Option<(&Report, f64)> {
        let look = self.look.as_ref()?;
        let (interval, total) = look.seconds;
        Some(if self.total { (&look.total, total) } else { (&look.interval, interval) })
    }

    /// The locks in order.
    pub fn rows(&self) -> Vec<&Row> {
        let mut rows = self.report().map_or(Vec::new(), |(report, _)| self.shown.rows(report));
        if self.reversed {
            rows.reverse();
        }
        rows
    }

    /// The place of the chosen lock.
    pub fn selected(&self, rows: &[&Row]) -> usize {
        let Some((name, nth)) = &self.chosen else { return 0 };
        let mut named = rows.iter().enumerate().filter(|(_, row)| row.name == *name);
        named.nth(*nth).map_or(0, |(at, _)| at)
    }

    /// Does what a key asks for.
    pub fn apply(&mut self, action: Action) {
        match action {
            Action::Quit => self.quit = true,
            Action::Back if self.over == Over::Nothing => self.quit = true,
            Action::Back => self.over = Over::Nothing,
            Action::Pause => self.paused = !self.paused,
            Action::NextKey => self.turn_key(1),
            Action::PreviousKey => self.turn_key(-1),
            Action::Reverse => self.reversed = !self.reversed,
            Action::Total => self.total = !self.total,
            Action::Move(by) => self.choose(|at| at.saturating_add_signed(by)),
            Action::Page(by) => {
                let by = by.saturating_mul(self.page.max(1).cast_signed());
                self.choose(|at| at.saturating_add_signed(by));
            }
            Action::First => self.choose(|_| 0),
            Action::Last => self.choose(|_| usize::MAX),
            Action::Paths => self.toggle(Over::Paths),
            Action::Help => self.toggle(Over::Help),
        }
    }

    fn toggle(&mut self, over: Over) {
        self.over = if self.over == over { Over::Nothing } else { over };
    }

    fn turn_key(&mut self, by: isize) {
        // `Kind` is no figure to order by.
        let fields: Vec<Field> =
            Field::value_variants().iter().copied().filter(|field| *field != Field::Kind).collect();
        let fields: Vec<Field> =
            fields.into_iter().filter(|field| self.shown.fields.contains(field)).collect();
        if fields.is_empty() {
            return;
        }
        let at = fields.iter().position(|field| *field == self.shown.key).unwrap_or(0);
        let at = (at.cast_signed() + by).rem_euclid(fields.len().cast_signed());
        self.shown.key = fields[at.cast_unsigned()];
    }

    fn choose(&mut self, to: impl Fn(usize) -> usize) {
        let rows = self.rows();
        let at = to(self.selected(&rows)).min(rows.len().saturating_sub(1));
        let chosen = rows.get(at).map(|row| {
            let before = rows[..at].iter().filter(|other| other.name == row.name).count();
            (row.name.clone(), before)
        });
        self.chosen = chosen;
    }
}
