//! `lockwright stat`: which locks are waited for, from where, who held them.

pub mod folder;
pub mod metrics;
pub mod model;
pub mod names;
pub mod print;
mod trial;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use lockwright_statfile::read::Snapshot;

use crate::failure::{Failure, exit};
use crate::launch::{Ended, Launch, policy};
use crate::output::{Target, target_of};
use crate::session::INTERRUPT;
use model::Report;
use names::Names;
use print::{Field, Shown};

/// The end of the help text.
pub const HELP: &str = "\
Runs a command with lockwright's locks, and shows which of them were waited
for. A lock is named by its variable, by the call that made it, or by the
function that waits for it most; locks of one origin are one row. A wait is
charged twice: to the call that waited, and to the release that ended a hold
meanwhile, there for all who waited together. While a lock is uncontended, no
clock is read for it.

The report goes to standard error, after the command's own output, unless -o
names a file; of a running program (-p), to standard output.

Exit codes:
  that of the command; 128 and the signal's number if one killed it
  0    with -p: done
  2    wrong usage of lockwright; nothing was run
  3    no statistics of the process, or the interposer was not found

Examples:
  lockwright stat -- ./server            the locks most waited for, at the end
  lockwright stat -I 1000 -- ./server    what happened in each second
  lockwright stat -p 4711 -d 10          ten seconds of what 'lockwright run' started
  lockwright stat -r 5 -k max -- ./load  five runs, by the longest wait
  lockwright stat --folded waits.txt -- ./server && flamegraph.pl waits.txt > waits.svg
  lockwright stat --try default,latency,libc -- ./load   which policy would help";

/// `lockwright stat`.
#[derive(Debug, Args)]
pub struct StatArgs {
    /// Attach to this process, which 'lockwright run' has started
    #[arg(short, long, value_name = "PID", conflicts_with_all = ["command", "repeat", "trial", "policy"],
          value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,

    /// How long to watch the process [default: until it ends, or Ctrl-C]
    #[arg(short, long, value_name = "SECONDS", requires = "pid", value_parser = crate::values::seconds)]
    pub duration: Option<Duration>,

    /// Show what happened in each interval of so many milliseconds
    #[arg(short = 'I', long = "interval-print", value_name = "MS",
          value_parser = clap::value_parser!(u64).range(10..))]
    pub interval_ms: Option<u64>,

    /// The same in seconds
    #[arg(short = 'i', long, value_name = "SECONDS", conflicts_with = "interval_ms",
          value_parser = crate::values::seconds)]
    pub interval: Option<Duration>,

    /// Run the command so many times, and show means and their spread
    /// [default: 1; with --try 5]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: Option<u32>,

    /// How locks wait; see 'lockwright run'
    #[arg(long, value_name = "POLICY", value_parser = policy)]
    pub policy: Option<String>,

    /// Run the command under each of these policies in turns, and say what they change
    #[arg(long = "try", value_name = "POLICY,..", value_delimiter = ',', conflicts_with = "policy",
          value_parser = policy)]
    pub trial: Option<Vec<String>>,

    /// Show threads in place of locks
    #[arg(short = 't', long)]
    pub threads: bool,

    /// Show so many locks or threads
    #[arg(
        short = 'n',
        long,
        visible_short_alias = 'E',
        visible_alias = "entries",
        value_name = "N",
        default_value_t = 10
    )]
    pub top: usize,

    /// Show so many functions of a call path
    #[arg(short = 's', long, value_name = "N", default_value_t = 5)]
    pub stack: usize,

    /// Show so many call paths of each lock, 0 for none
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub paths: usize,

    /// Leave out locks with no wait as long as this, in microseconds
    #[arg(short = 'm', long, value_name = "US", default_value_t = 0)]
    pub min_wait: u64,

    /// Only locks with this text in their names
    #[arg(short = 'l', long, value_name = "TEXT")]
    pub lock: Option<String>,

    /// Order of the locks
    #[arg(short = 'k', long, value_name = "FIELD", default_value = "wait")]
    pub key: Field,

    /// Columns of the table
    #[arg(short = 'F', long, value_name = "FIELD,..", value_delimiter = ',')]
    pub fields: Option<Vec<Field>>,

    /// Condition variables too: waiting for one is no contention
    #[arg(long)]
    pub conds: bool,

    /// Time one hold in N [default N: 64]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "64", require_equals = true,
          value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "pid")]
    pub hold: Option<u32>,

    /// The report as JSON
    #[arg(short = 'j', long, conflicts_with = "divider")]
    pub json: bool,

    /// The table with this between its columns
    #[arg(short = 'x', long = "field-separator", value_name = "TEXT")]
    pub divider: Option<String>,

    /// Where the report goes
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write folded stacks of waits for a flame graph
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,

    /// The same of holds that others waited for
    #[arg(long, value_name = "FILE")]
    pub folded_holders: Option<PathBuf>,

    /// Write OpenMetrics
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,

    /// The command and its arguments
    #[arg(
        required_unless_present = "pid",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
}

impl StatArgs {
    fn shown(&self, to_terminal: bool) -> Shown {
        let mut fields = self.fields.clone().unwrap_or_else(|| Field::DEFAULT.to_vec());
        if self.fields.is_none() && self.hold.is_some() {
            fields.extend([Field::Hold, Field::HoldMax]);
        }
        Shown {
            fields,
            fields_asked: self.fields.is_some(),
            key: self.key,
            top: self.top,
            depth: self.stack,
            paths: self.paths,
            by_thread: self.threads,
            min_wait_ns: self.min_wait.saturating_mul(1_000),
            lock: self.lock.clone(),
            width: to_terminal.then(terminal_width).flatten(),
        }
    }

    fn every(&self) -> Option<Duration> {
        self.interval_ms.map(Duration::from_millis).or(self.interval)
    }

    fn launch(&self, folder: &Path, policy: Option<&str>) -> Launch {
        let hold = self.hold.map_or(String::new(), |every| format!(",hold={every}"));
        let mut launch = Launch::default();
        launch.environment.push(("LOCKWRIGHT_STAT_DIR", folder.into()));
        launch.environment.push(("LOCKWRIGHT_STAT", format!("collect{hold}").into()));
        launch.set_policy(policy);
        launch
    }

    fn command_line(&self) -> String {
        let words = self.command.iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }
}

fn terminal_width() -> Option<usize> {
    let (_, columns) = console::Term::stderr().size_checked()?;
    Some(columns.into())
}

/// Where a report goes: standard error after a command, standard output of a process, or a file.
struct Out {
    target: Option<Target>,
    stderr: bool,
}

impl Out {
    fn new(args: &StatArgs) -> Result<Self, Failure> {
        let target = args.output.as_deref().map(target_of).transpose()?;
        Ok(Out { target, stderr: args.pid.is_none() })
    }

    fn is_terminal(&self) -> bool {
        match self.target {
            Some(_) => false,
            None if self.stderr => std::io::stderr().is_terminal(),
            None => std::io::stdout().is_terminal(),
        }
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        match &self.target {
            Some(target) => target.write(text.as_bytes()),
            None if self.stderr => {
                let _ = std::io::stderr().write_all(text.as_bytes());
                Ok(())
            }
            None => Target::Stdout.write(text.as_bytes()),
        }
    }
}

/// Shows the locks of a command or a process.
pub fn run(args: &StatArgs) -> Result<ExitCode, Failure> {
    // Before anything is run, so that no run is lost to a bad path.
    let out = Out::new(args)?;
    for path in [&args.folded, &args.folded_holders, &args.metrics].into_iter().flatten() {
        target_of(path)?;
    }
    if let Some(pid) = args.pid {
        return watch(args, pid, &out);
    }
    if let Some(policies) = &args.trial {
        return trial::run(args, policies, &out);
    }
    let shown = args.shown(out.is_terminal());
    let mut reports = Vec::new();
    let mut code = exit::OK;
    let mut seconds = 0.0;
    for _ in 0..args.repeat.unwrap_or(1) {
        let (ended, report) = one_run(args, args.policy.as_deref(), &out, &shown)?;
        code = ended.code;
        seconds += ended.took.as_secs_f64();
        let Some(report) = report else { break };
        reports.push(report);
        if ended.interrupted {
            break;
        }
    }
    let runs = reports.len();
    if let Some(report) = mean_of(reports) {
        let spread = if runs > 1 { format!(", mean of {runs} runs") } else { String::new() };
        let seconds = seconds / runs as f64;
        let policy = policy_of(&report);
        let title = format!("Locks of {}, {seconds:.2} s{spread}{policy}", args.command_line());
        finish(args, &report, &shown, &out, &title, seconds, &advice(args, &report, seconds))?;
    }
    Ok(ExitCode::from(code))
}

/// The policy as a part of a title; nothing is known of it if there was no contention.
fn policy_of(report: &Report) -> String {
    if report.policy.is_empty() { String::new() } else { format!("; {}", report.policy) }
}

/// How to find out whether another policy helps, if there is anything to help.
fn advice(args: &StatArgs, report: &Report, seconds: f64) -> String {
    if (report.wait_ns() as f64) < 0.01 * seconds * 1e9 {
        return "\nAdvice: less than 1 % of the time was waited for locks: look elsewhere.\n"
            .to_owned();
    }
    let command = args.command_line();
    format!(
        "\nAdvice: to see what other policies change: lockwright stat --try default,latency,libc -- {command}\n"
    )
}

/// Runs the command once. No report: there is no place for statistics, which is said.
fn one_run(
    args: &StatArgs,
    policy: Option<&str>,
    out: &Out,
    shown: &Shown,
) -> Result<(Ended, Option<Report>), Failure> {
    let folder = match folder::for_run() {
        Ok(folder) => folder,
        Err(why) => {
            say!("lockwright: no statistics: {why}");
            let mut launch = Launch::default();
            launch.set_policy(policy);
            return Ok((launch.run(&args.command, None)?, None));
        }
    };
    let launch = args.launch(folder.path(), policy);
    let names = Names::new(None);
    let mut intervals = Intervals { began: Instant::now(), before: Vec::new() };
    let mut show = || intervals.show(folder.path(), &names, args, out, shown);
    let tick = args.every().map(|every| (every, &mut show as &mut dyn FnMut()));
    let ended = launch.run(&args.command, tick)?;
    let snapshots: Vec<Snapshot> =
        folder::read_all(folder.path()).into_iter().map(|(_, snapshot)| snapshot).collect();
    Ok((ended, Some(Report::of(&snapshots, &names, args.conds))))
}

/// What is shown from time to time while the command runs.
struct Intervals {
    began: Instant,
    before: Vec<(PathBuf, Snapshot)>,
}

impl Intervals {
    fn show(&mut self, folder: &Path, names: &Names, args: &StatArgs, out: &Out, shown: &Shown) {
        let now = folder::read_all(folder);
        let since = |(path, snapshot): &(PathBuf, Snapshot)| match self
            .before
            .iter()
            .find(|(before, _)| before == path)
        {
            Some((_, before)) => snapshot.since(before),
            None => snapshot.clone(),
        };
        let differences: Vec<Snapshot> = now.iter().map(since).collect();
        let report = Report::of(&differences, names, args.conds);
        let seconds = self.began.elapsed().as_secs_f64();
        let text = if args.json {
            format!("{}\n", print::json(&report, shown, seconds))
        } else if let Some(divider) = &args.divider {
            let lines = print::csv(&report, shown, divider);
            lines.lines().map(|line| format!("{seconds:.3}{divider}{line}\n")).collect()
        } else {
            let rows = shown.rows(&report);
            let table = if rows.is_empty() { String::new() } else { print::table(&rows, shown) };
            format!("{seconds:.3} s\n{table}")
        };
        // Files are replaced whole; intervals go where they can be watched.
        if out.target.is_none() {
            let _ = out.write(&text);
        }
        self.before = now;
    }
}

/// The mean of the reports of several runs of one command.
fn mean_of(mut reports: Vec<Report>) -> Option<Report> {
    let runs = reports.len();
    if runs > 1 {
        reports.iter_mut().for_each(Report::drop_thread_numbers);
    }
    let mut all = reports.pop()?;
    for report in reports {
        all.add(report);
    }
    all.divide(runs);
    Some(all)
}

fn finish(
    args: &StatArgs,
    report: &Report,
    shown: &Shown,
    out: &Out,
    title: &str,
    seconds: f64,
    tail: &str,
) -> Result<(), Failure> {
    let text = if args.json {
        format!("{:#}\n", print::json(report, shown, seconds))
    } else if let Some(divider) = &args.divider {
        print::csv(report, shown, divider)
    } else {
        print::text(report, shown, title) + tail
    };
    out.write(&text)?;
    let files = [
        (&args.folded, print::folded(report, false)),
        (&args.folded_holders, print::folded(report, true)),
        (&args.metrics, metrics::open_metrics(report)),
    ];
    for (path, text) in files {
        if let Some(path) = path {
            target_of(path)?.write(text.as_bytes())?;
        }
    }
    Ok(())
}

/// Watches a process that runs.
fn watch(args: &StatArgs, pid: u32, out: &Out) -> Result<ExitCode, Failure> {
    crate::session::catch_signals()?;
    let watched = Watched::attach(pid)?;
    let shown = args.shown(out.is_terminal());
    let began = Instant::now();
    let end = args.duration.map(|duration| began + duration);
    let mut shown_at = began;
    let mut before = watched.first.clone();
    while !INTERRUPT.is_raised() && watched.is_alive() {
        let now = Instant::now();
        if end.is_some_and(|end| now >= end) {
            break;
        }
        if let Some(every) = args.every()
            && now >= shown_at + every
        {
            shown_at = now;
            let Some(read) = watched.read() else { break };
            let report = Report::of(&[read.since(&before)], &watched.names, args.conds);
            let rows = shown.rows(&report);
            let table = if rows.is_empty() { String::new() } else { print::table(&rows, &shown) };
            out.write(&format!("{:.3} s\n{table}", began.elapsed().as_secs_f64()))?;
            before = read;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let seconds = began.elapsed().as_secs_f64();
    let last = watched.read().unwrap_or(before).since(&watched.first);
    let report = Report::of(&[last], &watched.names, args.conds);
    let program = watched.first.program_name();
    let title = format!("Locks of {program} [{pid}], {seconds:.2} s{}", policy_of(&report));
    finish(args, &report, &shown, out, &title, seconds, "")?;
    Ok(ExitCode::SUCCESS)
}

/// A process whose statistics have been asked for; when this is dropped, they are not any more.
pub struct Watched {
    file: folder::StatFile,
    /// What it had counted before.
    pub first: Snapshot,
    /// The names of its functions.
    pub names: Names,
    /// Nobody else had asked before.
    asked: bool,
}

impl Watched {
    /// Asks a process for statistics.
    ///
    /// # Errors
    ///
    /// If it has none for this user.
    pub fn attach(pid: u32) -> Result<Self, Failure> {
        let file = folder::of_process(pid)?;
        let failed = |error: std::io::Error| {
            Failure::Environment(format!("statistics of process {pid}: {error}"))
        };
        let asked = !file.asked().map_err(failed)?;
        file.ask(true).map_err(failed)?;
        let first = file.read().map_err(failed)?;
        let first = first.map_err(|why| Failure::Environment(format!("process {pid}: {why}")))?;
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        Ok(Watched { file, first, names: Names::new(Some(root)), asked })
    }

    /// What it says now; `None` if that makes no sense any more.
    pub fn read(&self) -> Option<Snapshot> {
        self.file.read().ok()?.ok()
    }

    /// Whether the process runs.
    pub fn is_alive(&self) -> bool {
        Path::new(&format!("/proc/{}", self.file.pid)).exists()
            && self.read().is_none_or(|read| !read.ended)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.asked {
            let _ = self.file.ask(false);
        }
    }
}
