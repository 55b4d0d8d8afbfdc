//! `lockwright top`: the locks of a running program, live.

mod state;
#[cfg(test)]
mod tests;
mod view;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use lockwright_statfile::read::Snapshot;
use ratatui::crossterm::event::{self, Event};

use crate::failure::{Failure, exit};
use crate::output::{Target, target_of};
use crate::session::INTERRUPT;
use crate::stat::model::Report;
use crate::stat::print::{Field, Shown, table};
use crate::stat::{Watched, metrics};
use state::{State, action};

/// The end of the help text.
pub const HELP: &str = "\
Shows what happened in each interval to the locks of a program that
'lockwright run' has started; condition variables are left out. Where standard
output is no terminal, or with --batch, each interval is a table of plain text.
The longest wait (max) is that since the beginning.

Keys:
  left, right, < >   the order: by which column          r  the other way round
  space              pause; what is shown stays          t  since the beginning, or the last interval
  up, down, PgUp, PgDn, Home, End   the lock             Enter  its call paths
  h                  these keys                          q, Esc, Ctrl-C  leave

Exit codes:
  0    done: left, the process ended, or so many intervals were shown
  2    wrong usage
  3    no such process, or it has no statistics for this user

Examples:
  lockwright top 4711
  lockwright top 4711 -k max -d 5           by the longest wait, every 5 seconds
  lockwright top 4711 -b -n 3 > locks.txt   three intervals as plain text
  lockwright top 4711 -b --metrics /var/lib/node_exporter/locks.prom > /dev/null";

/// `lockwright top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// The process, which 'lockwright run' has started
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: u32,

    /// Seconds from one look to the next
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = crate::values::seconds)]
    pub delay: Duration,

    /// Leave after so many intervals
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: Option<u64>,

    /// Plain text, though there is a terminal
    #[arg(short, long)]
    pub batch: bool,

    /// Order of the locks
    #[arg(short = 'k', long, value_name = "FIELD", default_value = "wait")]
    pub key: Field,

    /// Columns of the table
    #[arg(short = 'F', long, value_name = "FIELD,..", value_delimiter = ',')]
    pub fields: Option<Vec<Field>>,

    /// Only locks with this text in their names
    #[arg(short = 'l', long, value_name = "TEXT")]
    pub lock: Option<String>,

    /// Begin with what happened since the program was attached to, not in the last interval
    #[arg(long)]
    pub total: bool,

    /// Condition variables too: waiting for one is no contention
    #[arg(long)]
    pub conds: bool,

    /// Write OpenMetrics after each interval, of all since the program was attached to
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
}

impl TopArgs {
    fn shown(&self) -> Shown {
        Shown {
            fields: self.fields.clone().unwrap_or_else(|| Field::DEFAULT.to_vec()),
            fields_asked: self.fields.is_some(),
            key: self.key,
            top: usize::MAX,
            depth: 8,
            paths: 5,
            by_thread: false,
            min_wait_ns: 0,
            lock: self.lock.clone(),
            width: None,
        }
    }
}

/// What one look at the process found.
struct Look {
    /// Since the look before.
    interval: Report,
    /// Since the process was attached to.
    total: Report,
    /// Seconds of either.
    seconds: (f64, f64),
}

/// A process that is looked at again and again.
struct Looks<'a> {
    watched: &'a Watched,
    args: &'a TopArgs,
    metrics: Option<Target>,
    began: Instant,
    before: Snapshot,
    looked: Instant,
    count: u64,
}

impl<'a> Looks<'a> {
    fn new(watched: &'a Watched, args: &'a TopArgs, metrics: Option<Target>) -> Self {
        let now = Instant::now();
        let before = watched.first.clone();
        Looks { watched, args, metrics, began: now, before, looked: now, count: 0 }
    }

    /// When the next look is due.
    fn next(&self) -> Instant {
        self.looked + self.args.delay
    }

    /// Whether as many were shown as were asked for.
    fn done(&self) -> bool {
        self.args.iterations.is_some_and(|all| self.count >= all)
    }

    /// Looks now; `None` if the process says nothing that makes sense any more.
    fn look(&mut self) -> Result<Option<Look>, Failure> {
        let Some(now) = self.watched.read() else { return Ok(None) };
        let of = |snapshot| Report::of(&[snapshot], &self.watched.names, self.args.conds);
        let interval = of(now.since(&self.before));
        let total = of(now.since(&self.watched.first));
        if let Some(target) = &self.metrics {
            target.write(metrics::open_metrics(&total).as_bytes())?;
        }
        let seconds = (self.looked.elapsed().as_secs_f64(), self.began.elapsed().as_secs_f64());
        self.looked = Instant::now();
        self.before = now;
        self.count += 1;
        Ok(Some(Look { interval, total, seconds }))
    }
}

/// Shows the locks of a process until somebody leaves, or it ends.
pub fn run(args: &TopArgs) -> Result<ExitCode, Failure> {
    let metrics = args.metrics.as_deref().map(target_of).transpose()?;
    crate::session::catch_signals()?;
    let watched = Watched::attach(args.pid)?;
    let looks = Looks::new(&watched, args, metrics);
    let terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if terminal && !args.batch { live(looks) } else { plain(looks) }
}

/// Tables one after the other.
fn plain(mut looks: Looks) -> Result<ExitCode, Failure> {
    let shown = looks.args.shown();
    while !looks.done() {
        // What came last is shown even if the process has ended since.
        let alive = looks.watched.is_alive();
        if alive && Instant::now() < looks.next() && !INTERRUPT.is_raised() {
            let rest = looks.next().saturating_duration_since(Instant::now());
            std::thread::sleep(rest.min(Duration::from_millis(50)));
            continue;
        }
        let Some(look) = looks.look()? else { break };
        let report = if looks.args.total { &look.total } else { &look.interval };
        let rows = shown.rows(report);
        let lines = if rows.is_empty() {
            "no lock was waited for\n".to_owned()
        } else {
            table(&rows, &shown)
        };
        let text = format!("{:.3} s\n{lines}", look.seconds.1);
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => {}
            // The reader has seen enough, as `head` has.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => break,
            Err(error) => {
                return Err(Failure::Environment(format!("cannot write stdout: {error}")));
            }
        }
        if !alive || INTERRUPT.is_raised() {
            break;
        }
    }
    Ok(ExitCode::from(exit::OK))
}

/// On the terminal.
fn live(mut looks: Looks) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::Environment(format!("cannot use the terminal: {error}"));
    let program = looks.watched.first.program_name();
    let mut state = State::new(program, looks.args.pid, looks.args.shown(), looks.args.total);
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let done = watch(&mut looks, &mut state, &mut terminal);
    ratatui::restore();
    done?.map_err(failed)?;
    Ok(ExitCode::from(exit::OK))
}

/// The loop of keys and looks; the inner error is the terminal's.
fn watch(
    looks: &mut Looks,
    state: &mut State,
    terminal: &mut ratatui::DefaultTerminal,
) -> Result<std::io::Result<()>, Failure> {
    while !state.quit && !INTERRUPT.is_raised() && !looks.done() {
        if !state.ended && Instant::now() >= looks.next() {
            state.ended = !looks.watched.is_alive();
            match looks.look()? {
                Some(look) => state.feed(look),
                None => state.ended = true,
            }
        }
        if let Err(error) = terminal.draw(|frame| view::draw(frame, state)) {
            return Ok(Err(error));
        }
        // A signal is heeded soon; it does not end the wait for a key.
        let rest = looks.next().saturating_duration_since(Instant::now());
        let wait = if state.ended { Duration::MAX } else { rest }.min(Duration::from_millis(200));
        let key =
            event::poll(wait).and_then(|any| if any { event::read().map(Some) } else { Ok(None) });
        match key {
            Ok(Some(Event::Key(key))) => {
                if let Some(action) = action(key) {
                    state.apply(action);
                }
            }
            Ok(_) => {}
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(()))
}
