//! What waits on which CPU: samples of the states of a program's threads, without root.
//!
//! A sample counts the runnable threads of the program by the CPU that each was last on, running
//! or waiting for it: the run queue as far as it is the program's. Beside it stands how many of
//! these CPUs were idle since the sample before, whoever else there is, as the kernel accounts it.
//! Threads move while a sample is taken, and the sampler itself takes a CPU for it. The sampler takes at most one part in fifty of one CPU, by sampling
//! more seldom if it must, and keeps a bounded number of samples, by dropping every second.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shortest time from sample to sample.
const PERIOD: Duration = Duration::from_millis(5);
/// A sample takes at most one part in so many of the time.
const SHARE: u32 = 50;
/// Numbers that are kept: samples times CPUs.
const NUMBERS: usize = 16_384;

/// Whose threads.
#[derive(Clone, Debug)]
pub enum Program {
    /// The process with this number, and its descendants.
    Tree(u32),
    /// This process, but for the threads with these numbers.
    Own(BTreeSet<u32>),
}

impl Program {
    /// This process's threads that are started from now on.
    pub fn own_from_now_on() -> Self {
        Program::Own(numbers_in("/proc/self/task"))
    }
}

/// Run queues over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunQueues {
    /// When each sample was taken, in seconds from the start.
    pub at_s: Vec<f64>,
    /// CPUs that were idle, on average since the sample before.
    pub idle_cpus: Vec<f64>,
    /// `runnable[c][i]`: runnable threads on the CPU with the number `cpus[c]` in sample `i`.
    pub runnable: Vec<Vec<f64>>,
    /// Numbers of the CPUs that the program may use.
    pub cpus: Vec<usize>,
}

impl RunQueues {
    fn over(cpus: Vec<usize>) -> Self {
        let runnable = vec![Vec::new(); cpus.len()];
        RunQueues { at_s: Vec::new(), idle_cpus: Vec::new(), runnable, cpus }
    }

    fn keep(&mut self, at: Duration, counts: &[u32], idle_cpus: f64) {
        self.at_s.push(at.as_secs_f64());
        self.idle_cpus.push(idle_cpus);
        for (queue, &count) in self.runnable.iter_mut().zip(counts) {
            queue.push(f64::from(count));
        }
    }

    fn most(&self) -> usize {
        (NUMBERS / self.cpus.len().max(1)).clamp(64, 1_024)
    }

    /// Drops every second sample.
    fn thin(&mut self) {
        let thin = |values: &mut Vec<f64>| {
            let mut at = 0;
            values.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        };
        thin(&mut self.at_s);
        thin(&mut self.idle_cpus);
        self.runnable.iter_mut().for_each(thin);
    }
}

/// A sampler at work.
pub struct Sampler {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<RunQueues>,
}

impl Sampler {
    /// Begins to sample on the CPUs with these numbers; `None` if no thread can be had for it.
    pub fn start(program: Program, cpus: Vec<usize>) -> Option<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let told = Arc::clone(&stop);
        let builder = std::thread::Builder::new().name("run-queue sampler".to_owned());
        let thread = builder.spawn(move || sample(program, cpus, &told)).ok()?;
        Some(Sampler { stop, thread })
    }

    /// Ends; what was seen.
    pub fn finish(self) -> RunQueues {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_one();
        self.thread.join().unwrap_or_default()
    }
}

fn sample(mut program: Program, cpus: Vec<usize>, stop: &(Mutex<bool>, Condvar)) -> RunQueues {
    if let Program::Own(others) = &mut program {
        others.extend(own_number());
    }
    let mut queues = RunQueues::over(cpus);
    let began = Instant::now();
    let (mut period, mut before) = (PERIOD, (began, idle_s(&queues.cpus)));
    loop {
        let looked = Instant::now();
        let counts = program.runnable(&queues.cpus);
        let now = (looked, idle_s(&queues.cpus));
        // The first sample has nothing before it, and ends within the first tick of the accounts.
        if looked - before.0 >= PERIOD {
            let idle = (now.1 - before.1) / (now.0 - before.0).as_secs_f64();
            queues.keep(looked - began, &counts, idle.clamp(0.0, queues.cpus.len() as f64));
        }
        before = now;
        if queues.at_s.len() >= queues.most() {
            queues.thin();
            period *= 2;
        }
        let pause = period.max(looked.elapsed() * SHARE);
        let told = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (told, _) = stop
            .1
            .wait_timeout_while(told, pause, |told| !*told)
            .unwrap_or_else(PoisonError::into_inner);
        if *told {
            return queues;
        }
    }
}

/// The kernel's number of the calling thread.
fn own_number() -> Option<u32> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

/// Seconds for which these CPUs have been idle since the system started.
fn idle_s(cpus: &[usize]) -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: u64 = stat.lines().filter_map(|line| idle_ticks(line, cpus)).sum();
    ticks as f64 / procfs::ticks_per_second() as f64
}

/// Of a CPU's line in `/proc/stat`: time idle, waiting for a disk or not.
fn idle_ticks(line: &str, cpus: &[usize]) -> Option<u64> {
    let mut words = line.split_whitespace();
    let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let times: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    cpus.contains(&cpu).then(|| Some(times.get(3)? + times.get(4)?))?
}

/// The entries of a directory that are numbers.
fn numbers_in(path: &str) -> BTreeSet<u32> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

impl Program {
    fn runnable(&self, cpus: &[usize]) -> Vec<u32> {
        let mut counts = vec![0; cpus.len()];
        let mut count = |status: &Status| {
            if let Some(at) = cpus.iter().position(|&cpu| status.runnable && cpu == status.cpu) {
                counts[at] += 1;
            }
        };
        match self {
            Program::Own(others) => {
                for thread in numbers_in("/proc/self/task").difference(others) {
                    let path = format!("/proc/self/task/{thread}/stat");
                    let stat = fs::read_to_string(path).unwrap_or_default();
                    status(&stat).iter().for_each(&mut count);
                }
            }
            Program::Tree(root) => {
                let mut tree = BTreeSet::from([*root]);
                // Descendants were started later, and have higher numbers until those run out.
                for process in numbers_in("/proc").range(*root..) {
                    let stat =
                        fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
                    let Some(status) = status(&stat) else { continue };
                    if !tree.contains(&status.parent) && status.group != *root && process != root {
                        continue;
                    }
                    tree.insert(*process);
                    if status.threads == 1 {
                        count(&status);
                        continue;
                    }
                    for thread in numbers_in(&format!("/proc/{process}/task")) {
                        let path = format!("/proc/{process}/task/{thread}/stat");
                        let stat = fs::read_to_string(path).unwrap_or_default();
                        self::status(&stat).iter().for_each(&mut count);
                    }
                }
            }
        }
        counts
    }
}

/// What a line `stat` of `/proc` says of a thread or process.
#[derive(Debug, PartialEq, Eq)]
struct Status {
    /// It runs, or waits for a CPU.
    runnable: bool,
    parent: u32,
    group: u32,
    threads: u32,
    /// The CPU that it was last on.
    cpu: usize,
}

fn status(stat: &str) -> Option<Status> {
    // The name, in brackets, may hold anything; the state is the third field, after it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3);
    Some(Status {
        runnable: *field(3)? == "R",
        parent: field(4)?.parse().ok()?,
        group: field(5)?.parse().ok()?,
        threads: field(20)?.parse().ok()?,
        cpu: field(39)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;

    const LINE: &str = "7 (a) R (b) R 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 99 1 1 18446744073709551615 1 1 1 1 1 0 0 0 0 0 0 0 17 3 0 0 0 0 0";

    #[test]
    fn a_line_of_proc_is_read_whatever_the_program_is_called() {
        let wanted = Status { runnable: true, parent: 1, group: 7, threads: 1, cpu: 3 };
        assert_eq!(status(LINE), Some(wanted));
        assert!(!status(&LINE.replace(") R 1", ") S 1")).unwrap().runnable);
        assert_eq!(status("7 (x"), None);
    }

    #[test]
    fn a_command_s_descendants_are_seen() {
        use std::os::unix::process::CommandExt;
        let loops = ["-c", "(while :; do :; done) & wait"];
        let mut shell =
            std::process::Command::new("sh").args(loops).process_group(0).spawn().unwrap();
        let sampler = Sampler::start(Program::Tree(shell.id()), (0..1_024).collect()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let queues = sampler.finish();
        let busy: f64 = queues.runnable.iter().flatten().sum();
        let group = nix::unistd::Pid::from_raw(shell.id().try_into().unwrap());
        nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).unwrap();
        shell.wait().unwrap();
        assert!(busy > 0.0, "{} samples", queues.at_s.len());
    }

    #[test]
    fn threads_that_run_are_seen_and_those_that_sleep_are_not() {
        let program = Program::own_from_now_on();
        let cpus: Vec<usize> = (0..1_024).collect();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let sampler = Sampler::start(program, cpus).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            let queues = sampler.finish();
            stop.store(true, Relaxed);
            let samples = queues.at_s.len();
            let busy: f64 = queues.runnable.iter().flatten().sum();
            assert!(samples > 0 && busy >= 0.5 * samples as f64, "{busy} in {samples} samples");
        });
    }

    #[test]
    fn idle_time_is_that_of_the_cpus_asked_for() {
        let line = "cpu3 100 0 50 7000 11 0 2 0 0 0";
        assert_eq!(idle_ticks(line, &[1, 3]), Some(7_011));
        assert_eq!(idle_ticks(line, &[1]), None);
        assert_eq!(idle_ticks("cpu 1 2 3 4 5", &[0]), None, "the line of all together");
        assert_eq!(idle_ticks("intr 1 2", &[0]), None);
    }

    #[test]
    fn samples_stay_bounded() {
        let mut queues = RunQueues::over(vec![0, 1]);
        (0..5).for_each(|at| queues.keep(Duration::from_secs(at), &[at as u32, 0], 1.0));
        queues.thin();
        assert_eq!(queues.at_s, [0.0, 2.0, 4.0]);
        assert_eq!(queues.runnable, [[0.0, 2.0, 4.0], [0.0; 3]]);
        assert_eq!(queues.idle_cpus.len(), 3);
    }
}
