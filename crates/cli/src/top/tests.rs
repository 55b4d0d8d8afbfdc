use lockwright_statfile::Kind;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Modifier;

use super::Look;
use super::state::{Action, State, action};
use super::view::draw;
use crate::stat::model::{Path, Report, Row};
use crate::stat::names::Frame;
use crate::stat::print::{Field, Shown};

fn row(name: &str, wait_ns: u64, contended: u64) -> Row {
    let mut row = Row::new(name.to_owned(), Kind::Mutex);
    row.instances = 1;
    row.sum.acquisitions = 1_000;
    row.sum.contended = contended;
    row.sum.wait_ns = wait_ns;
    row.sum.wait_max_ns = wait_ns;
    let frames = vec![Frame { function: format!("user_of_{name}"), line: None }];
    row.waiters.push(Path { frames, count: contended, ns: wait_ns });
    row
}

fn report(rows: Vec<Row>) -> Report {
    Report { rows, processes: 1, policy: "mutex=default".to_owned(), ..Report::default() }
}

fn look(rows: Vec<Row>) -> Look {
    let total = report(vec![row("of all time", 5_000_000, 9)]);
    Look { interval: report(rows), total, seconds: (1.0, 60.0) }
}

/// The longest wait, the most waits, and neither.
fn three() -> Vec<Row> {
    vec![row("little", 1_000, 3), row("long", 9_000_000, 1), row("many", 50_000, 500)]
}

fn state(rows: Vec<Row>) -> State {
    let shown = Shown {
        fields: vec![Field::Kind, Field::Cont, Field::Wait, Field::Max],
        fields_asked: false,
        key: Field::Wait,
        top: usize::MAX,
        depth: 8,
        paths: 5,
        by_thread: false,
        min_wait_ns: 0,
        lock: None,
        width: None,
    };
    let mut state = State::new("server".to_owned(), 4711, shown, false);
    state.feed(look(rows));
    state
}

fn names(state: &State) -> Vec<String> {
    state.rows().iter().map(|row| row.name.clone()).collect()
}

fn chosen(state: &State) -> String {
    let rows = state.rows();
    rows[state.selected(&rows)].name.clone()
}

fn press(state: &mut State, keys: &[KeyCode]) {
    for &key in keys {
        let action = action(KeyEvent::new(key, KeyModifiers::NONE));
        state.apply(action.unwrap_or_else(|| panic!("{key:?} does nothing")));
    }
}

/// The screen's lines, and those that are chosen.
fn screen(state: &mut State, width: u16, height: u16) -> (Vec<String>, Vec<usize>) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let lines = (0..height).map(|y| line(y).trim_end().to_owned()).collect();
    let chosen = |y: &u16| buffer[(0, *y)].modifier.contains(Modifier::REVERSED);
    (lines, (0..height).filter(chosen).map(usize::from).collect())
}

#[test]
fn the_order_is_by_the_column_that_the_keys_choose() {
    let mut state = state(three());
    assert_eq!(names(&state), ["long", "many", "little"]);
    press(&mut state, &[KeyCode::Left]);
    assert_eq!(
        (state.shown.key, names(&state)),
        (Field::Cont, vec!["many".into(), "little".into(), "long".into()])
    );
    press(&mut state, &[KeyCode::Char('r')]);
    assert_eq!(names(&state), ["long", "little", "many"]);
    // From the last column to the first: the kind is no figure.
    press(&mut state, &[KeyCode::Right, KeyCode::Right]);
    assert_eq!(state.shown.key, Field::Max);
    press(&mut state, &[KeyCode::Char('>')]);
    assert_eq!(state.shown.key, Field::Cont);
}

#[test]
fn the_chosen_lock_stays_chosen_wherever_the_order_takes_it() {
    let mut state = state(three());
    press(&mut state, &[KeyCode::Down]);
    assert_eq!(chosen(&state), "many");
    press(&mut state, &[KeyCode::Left]);
    assert_eq!(chosen(&state), "many");
    let (_, lines) = screen(&mut state, 80, 10);
    assert_eq!(lines, [2]);
    // It was not waited for lately; then it was again.
    state.feed(look(vec![row("long", 1, 1), row("other", 2, 1)]));
    assert_eq!(chosen(&state), "long");
    state.feed(look(three()));
    assert_eq!(chosen(&state), "many");
}

#[test]
fn namesakes_are_chosen_one_by_one() {
    let mut state = state(vec![row("same", 3, 1), row("same", 2, 1), row("same", 1, 1)]);
    for place in [1, 2, 2] {
        press(&mut state, &[KeyCode::Down]);
        assert_eq!(state.selected(&state.rows()), place);
    }
    press(&mut state, &[KeyCode::Up]);
    assert_eq!(state.selected(&state.rows()), 1);
}

#[test]
fn while_paused_nothing_new_is_shown() {
    let mut state = state(three());
    press(&mut state, &[KeyCode::Char(' ')]);
    state.feed(look(vec![row("new", 1, 1)]));
    assert_eq!(names(&state).len(), 3);
    assert!(screen(&mut state, 80, 10).0[0].contains("PAUSED"));
    // It is ordered and looked through as ever.
    press(&mut state, &[KeyCode::Left, KeyCode::End]);
    assert_eq!(chosen(&state), "long");
    press(&mut state, &[KeyCode::Char(' ')]);
    state.feed(look(vec![row("new", 1, 1)]));
    assert_eq!(names(&state), ["new"]);
}

#[test]
fn a_long_table_is_scrolled_to_the_chosen_lock() {
    let rows = (0..30).map(|i| row(&format!("lock{i:02}"), 1_000 - i, 1)).collect();
    let mut state = state(rows);
    // A line for the title, one for the heads of the columns, one for the keys.
    let seen = |state: &mut State| {
        let (lines, chosen) = screen(state, 80, 8);
        let locks: Vec<String> =
            lines[2..7].iter().map(|line| line.trim()[..6].to_owned()).collect();
        (locks[0].clone(), locks[4].clone(), chosen)
    };
    assert_eq!(seen(&mut state), ("lock00".into(), "lock04".into(), vec![2]));
    press(&mut state, &[KeyCode::PageDown]);
    assert_eq!(seen(&mut state), ("lock01".into(), "lock05".into(), vec![6]));
    press(&mut state, &[KeyCode::Char('k')]);
    assert_eq!(seen(&mut state), ("lock01".into(), "lock05".into(), vec![5]));
    press(&mut state, &[KeyCode::End]);
    assert_eq!(seen(&mut state), ("lock25".into(), "lock29".into(), vec![6]));
    press(&mut state, &[KeyCode::Home]);
    assert_eq!(seen(&mut state), ("lock00".into(), "lock04".into(), vec![2]));
    press(&mut state, &[KeyCode::End]);
    seen(&mut state);
    // Fewer locks than the place that was scrolled to.
    state.feed(look(three()));
    assert_eq!(screen(&mut state, 80, 8).1, [2]);
}

#[test]
fn call_paths_and_keys_stand_over_the_table_until_they_are_left() {
    let mut state = state(three());
    press(&mut state, &[KeyCode::Enter]);
    let text = screen(&mut state, 80, 20).0.join("\n");
    assert!(text.contains("who waited") && text.contains("user_of_long"), "{text}");
    press(&mut state, &[KeyCode::Char('h')]);
    let text = screen(&mut state, 80, 20).0.join("\n");
    assert!(text.contains("PgUp") && !text.contains("user_of_long"), "{text}");
    press(&mut state, &[KeyCode::Esc]);
    assert!(!state.quit && !screen(&mut state, 80, 20).0.join("\n").contains("PgUp"));
    press(&mut state, &[KeyCode::Esc]);
    assert!(state.quit);
}

#[test]
fn all_since_the_beginning_in_place_of_the_interval() {
    let mut state = state(three());
    press(&mut state, &[KeyCode::Char('t')]);
    assert_eq!(names(&state), ["of all time"]);
    assert!(screen(&mut state, 120, 10).0[0].contains("since the beginning, 60.0 s"));
}

#[test]
fn any_size_of_screen_will_do() {
    for (width, height) in [(1, 1), (3, 2), (20, 3), (500, 100)] {
        for rows in [Vec::new(), three()] {
            let mut state = state(rows);
            for key in [KeyCode::Down, KeyCode::Enter, KeyCode::Char('h'), KeyCode::PageDown] {
                press(&mut state, &[key]);
                screen(&mut state, width, height);
            }
        }
    }
}

#[test]
fn keys_that_mean_nothing_do_nothing_and_control_c_leaves() {
    assert_eq!(action(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::NONE)), None);
    assert_eq!(action(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE)), None);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(action(control_c), Some(Action::Quit));
}
