//! Shell commands as arms: a run of one is a sample of what the system says that it used.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lockwright_workloads::harness::Interrupt;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::environment::machine::allowed_cpus;
use crate::environment::run_queue::{Program, RunQueues, Sampler};
use crate::experiment::{Arm, Run, RunError, Turn};
use crate::loads::Load;
use crate::record::{self, Role, Sample, Usage};

/// A command, and what is done around each of its runs.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// What the shell is given.
    pub text: String,
    /// Run before each run, and not timed.
    pub prepare: Option<String>,
    /// Run after each run, and not timed.
    pub cleanup: Option<String>,
    /// Exit codes other than 0 are results too.
    pub ignore_failure: bool,
    /// Its output is shown.
    pub show_output: bool,
    /// Where it runs; `None`: where we do.
    pub folder: Option<PathBuf>,
}

impl Command {
    /// The command of this text.
    pub fn new(text: &str) -> Self {
        Command { text: text.to_owned(), ..Command::default() }
    }

    /// The command as an arm of this name.
    pub fn arm(self, name: String) -> Arm {
        let about = self.text.clone();
        Arm { record: record::Arm { name, role: Role::Command, about }, run: Box::new(self) }
    }

    fn spawn(&self) -> io::Result<Child> {
        let output = if self.show_output { Stdio::inherit } else { Stdio::null };
        // A group of its own, so that an interrupt can end all of it.
        let start = |mut process: Process| {
            self.enter(&mut process);
            process.stdin(Stdio::null()).stdout(output()).stderr(output()).process_group(0).spawn()
        };
        if let Some(words) = words(&self.text) {
            // No shell between us and the program: it would be timed, and waited for, as well.
            let mut process = Process::new(&words[0]);
            process.args(&words[1..]);
            match start(process) {
                // It may be the shell's own; else the shell says what is wrong.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                started => return started,
            }
        }
        start(shell(&self.text))
    }

    fn enter(&self, process: &mut Process) {
        if let Some(folder) = &self.folder {
            process.current_dir(folder);
        }
    }

    fn failed(&self, why: String) -> RunError {
        RunError::Command { command: self.text.clone(), why }
    }

    fn around(&self, text: Option<&String>, when: &str) -> Result<(), RunError> {
        let Some(text) = text else { return Ok(()) };
        let failed = |why: String| RunError::Command { command: text.clone(), why };
        let mut process = shell(text);
        self.enter(&mut process);
        let output = if self.show_output { Stdio::inherit } else { Stdio::null };
        process.stdin(Stdio::null()).stdout(output()).stderr(output());
        match process.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(format!("to be run {when}: {}", in_words(status)))),
            Err(error) => Err(failed(format!("to be run {when}: {error}"))),
        }
    }
}

/// The words of a text that asks nothing of a shell; `None` if it needs one.
fn words(text: &str) -> Option<Vec<String>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-./,:+@%=".contains(c);
    let words: Vec<String> =
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let assigns = words.first().is_none_or(|first| first.contains('='));
    (text.chars().all(plain) && !assigns).then_some(words)
}

pub(super) fn shell(text: &str) -> Process {
    let mut process = Process::new("sh");
    process.args(["-c", text]);
    process
}

pub(super) fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(127), _) => "there is no such command (exit code 127)".to_owned(),
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended in some other way".to_owned(),
    }
}

impl Run for Command {
    fn fits(&self, load: &Load) -> bool {
        matches!(load, Load::Command)
    }

    fn run(&self, _load: &Load, _turn: Turn, stop: &Interrupt) -> Result<Sample, RunError> {
        self.around(self.prepare.as_ref(), "before each run")?;
        let sample = self.timed(stop)?;
        self.around(self.cleanup.as_ref(), "after each run")?;
        Ok(sample)
    }
}

impl Command {
    fn timed(&self, stop: &Interrupt) -> Result<Sample, RunError> {
        let began = Instant::now();
        let child = self.spawn().map_err(|error| self.failed(error.to_string()))?;
        let sampler = Sampler::start(Program::Tree(child.id()), allowed_cpus());
        let watch = Watch::over(&child);
        let reaped = thread::scope(|scope| {
            scope.spawn(|| watch.end_if(stop));
            let reaped = lockwright_peers::reap(child.id());
            watch.over_now();
            reaped
        });
        let elapsed_s = began.elapsed().as_secs_f64();
        let queues = sampler.map(Sampler::finish).unwrap_or_default();
        let reaped = reaped.map_err(|error| self.failed(error.to_string()))?;
        let (status, cut_short) = (ExitStatus::from_raw(reaped.status), stop.is_raised());
        if !status.success() && !self.ignore_failure && !cut_short {
            let why =
                format!("{}; --ignore-failure goes on, --show-output shows why", in_words(status));
            return Err(self.failed(why));
        }
        let values = [
            ("minor_faults", reaped.minor_faults as f64),
            ("major_faults", reaped.major_faults as f64),
            ("peak_bytes", reaped.peak_bytes as f64),
            ("exit_code", f64::from(status.code().unwrap_or(-1))),
        ];
        Ok(Sample {
            elapsed_s,
            usage: Some(Usage {
                user_s: reaped.user_s,
                system_s: reaped.system_s,
                voluntary_switches: reaped.voluntary_switches,
                involuntary_switches: reaped.involuntary_switches,
            }),
            values: values.map(|(name, value)| (name.to_owned(), value)).into(),
            series: series(queues),
            cut_short,
            ..Sample::default()
        })
    }
}

/// Run queues as a sample keeps them: see [`RUNNABLE`](crate::record::metric::RUNNABLE).
fn series(queues: RunQueues) -> BTreeMap<String, Vec<f64>> {
    if queues.at_s.is_empty() {
        return BTreeMap::new();
    }
    let more = [("run_queue_at_s", queues.at_s), ("idle_cpus", queues.idle_cpus)];
    let runnable = queues.cpus.iter().zip(queues.runnable);
    let runnable = runnable.map(|(cpu, counts)| (format!("{}{cpu}", record::RUNNABLE_CPU), counts));
    runnable.chain(more.map(|(name, values)| (name.to_owned(), values))).collect()
}

/// Ends a command when it is no longer wanted.
struct Watch {
    group: Pid,
    over: Mutex<bool>,
    changed: Condvar,
}

impl Watch {
    /// How often to look whether to end it, and how long it has to end by itself.
    const LOOK: Duration = Duration::from_millis(20);
    const GRACE: Duration = Duration::from_secs(2);

    fn over(child: &Child) -> Arc<Self> {
        let group = Pid::from_raw(child.id().try_into().unwrap_or(i32::MAX));
        Arc::new(Watch { group, over: Mutex::new(false), changed: Condvar::new() })
    }

    fn over_now(&self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Whether the command ends within `time`.
    fn ends_within(&self, time: Duration) -> bool {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let (over, _) = (self.changed)
            .wait_timeout_while(over, time, |over| !*over)
            .unwrap_or_else(PoisonError::into_inner);
        *over
    }

    fn end_if(&self, stop: &Interrupt) {
        while !self.ends_within(Self::LOOK) {
            if stop.is_raised() {
                // The group may be gone between the look and the signal; then there is nothing to end.
                let _ = killpg(self.group, Signal::SIGTERM);
                if !self.ends_within(Self::GRACE) {
                    let _ = killpg(self.group, Signal::SIGKILL);
                }
                return;
            }
        }
    }
}

/// An arm that runs in this process, with its run queues sampled as a command's are.
pub struct Sampled(pub Box<dyn Run>);

impl Run for Sampled {
    fn fits(&self, load: &Load) -> bool {
        self.0.fits(load)
    }

    fn run(&self, load: &Load, turn: Turn, stop: &Interrupt) -> Result<Sample, RunError> {
        let sampler = Sampler::start(Program::own_from_now_on(), allowed_cpus());
        let sample = self.0.run(load, turn, stop);
        let queues = sampler.map(Sampler::finish).unwrap_or_default();
        let mut sample = sample?;
        sample.series.extend(series(queues));
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::metric;

    fn run(command: Command, stop: &Interrupt) -> Result<Sample, RunError> {
        command.run(&Load::Command, Turn { window: Duration::ZERO, seed: 0 }, stop)
    }

    #[test]
    fn a_command_is_measured_with_its_descendants() {
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let sample =
            run(Command::new(&format!("sh -c '{busy}'; true")), &Interrupt::new()).unwrap();
        assert!(sample.elapsed_s > 0.0);
        assert!(sample.usage.unwrap().cpu_s() > 0.0, "the loop is a grandchild's");
        assert!(metric::PEAK.of(&sample).unwrap() > 0.0);
        assert_eq!(sample.value("exit_code"), Some(0.0));
        let sample = run(Command::new("sleep 1"), &Interrupt::new()).unwrap();
        assert!(metric::RUNNABLE.of(&sample).is_some() && metric::IDLE_CPUS.of(&sample).is_some());
    }

    #[test]
    fn what_needs_no_shell_gets_none() {
        assert_eq!(words("sleep 0.1"), Some(vec!["sleep".to_owned(), "0.1".to_owned()]));
        for text in ["a | b", "X=1 a", "a 'b c'", "a *", "a; b", "a $b", "", " "] {
            assert_eq!(words(text), None, "{text:?}");
        }
    }

    #[test]
    fn failures_are_said_in_words() {
        let complaint = |command: Command| run(command, &Interrupt::new()).unwrap_err().to_string();
        assert!(complaint(Command::new("exit 3")).contains("'exit 3': it ended with exit code 3"));
        assert!(
            complaint(Command::new("/no/such/program"))
                .contains("'/no/such/program': there is no such command")
        );
        let prepared = Command { prepare: Some("exit 4".to_owned()), ..Command::new("true") };
        assert!(complaint(prepared).contains("before each run: it ended with exit code 4"));
        let ignored = Command { ignore_failure: true, ..Command::new("exit 3") };
        assert_eq!(run(ignored, &Interrupt::new()).unwrap().value("exit_code"), Some(3.0));
    }

    #[test]
    fn an_interrupt_ends_the_command_and_what_it_started() {
        let stop = Arc::new(Interrupt::new());
        let raiser = thread::spawn({
            let stop = Arc::clone(&stop);
            move || {
                thread::sleep(Duration::from_millis(100));
                stop.raise();
            }
        });
        let sample = run(Command::new("sleep 3600 & wait"), &stop).unwrap();
        raiser.join().unwrap();
        assert!(sample.cut_short && sample.elapsed_s < 3_000.0);
    }
}
