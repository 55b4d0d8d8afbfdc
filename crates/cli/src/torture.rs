//! `lockwright torture`: locks under everything at once, with locktorture's words and options.
//!
//! Each lock is tortured in a process of its own, so that one that hangs, dies or was told another
//! number of CPUs leaves the next alone.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use lockwright_lab::arms::choose::Family;
use lockwright_lab::arms::locks::Lock;
use lockwright_lab::record::Role;
use lockwright_lab::torture::{Outcome, Plan, Stats, line, torture};

use crate::failure::{Failure, exit};
use crate::output::Target;
use crate::session::{INTERRUPT, catch_signals, machine};
use crate::values::{Numbers, thread_counts};

pub const HELP: &str = "\
Options with a name of the kernel's locktorture mean what they mean there, but that
CPUs are not plugged: threads are crowded on one instead. A lock that is broken on
purpose can be named (broken-*, --list shows them) and must end in FAILURE.

Exit codes:
  0    SUCCESS
  1    FAILURE: some lock did what no lock may do
  2    wrong usage; nothing was done
  3    the system refused something
  130  interrupted

Examples:
  lockwright torture                                ours and the peers, some seconds each
  lockwright torture --locks 'lockwright*' --secs 60 --cpus 1,2,64
  lockwright torture --locks lockwright-rw --nwriters-stress 2 --nreaders-stress 8
  lockwright torture --locks 'broken*' --secs 10    must end in FAILURE
  lockwright torture --locks std --seed 7 --verbose";

/// `lockwright torture`.
#[derive(Debug, Args)]
pub struct TortureArgs {
    /// Locks to torture; NAME* takes all that begin so [default: ours and the peers]
    #[arg(
        short,
        long,
        visible_alias = "torture-type",
        value_name = "LOCK,..",
        value_delimiter = ','
    )]
    pub locks: Option<Vec<String>>,

    /// Seconds for each lock
    #[arg(short, long, visible_alias = "shutdown-secs", value_name = "S", default_value_t = 5,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub secs: u64,

    /// Threads that write [default: twice the CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub nwriters_stress: Option<u64>,

    /// Threads that read, of reader-writer locks [default: as many]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub nreaders_stress: Option<u64>,

    /// Seconds between lines of statistics; 0: none before the end
    #[arg(long, value_name = "S", default_value_t = 60)]
    pub stat_interval: u64,

    /// Seconds that threads run before they all pause; 0: they do not
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub stutter: u64,

    /// Seconds between random bindings of the threads to CPUs; 0: they are free
    #[arg(long, value_name = "S", default_value_t = 3)]
    pub shuffle_interval: u64,

    /// Seconds between crowdings of all threads on one CPU; 0: never
    #[arg(long, value_name = "S", default_value_t = 2)]
    pub onoff_interval: u64,

    /// Milliseconds of which the rare longest hold is five times; 0: no hold is long
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=800))]
    pub long_hold: u64,

    /// Locks that are taken before the one in question, at most
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(0..=8))]
    pub nested_locks: u64,

    /// Numbers of CPUs that the process is made to believe in, one run each; 0: the machine's
    #[arg(long, value_name = "N,..", value_parser = faked_cpus, default_value = "0")]
    pub cpus: Numbers,

    /// No calls that run out of time
    #[arg(long)]
    pub no_timeouts: bool,

    /// No calls that do not wait
    #[arg(long)]
    pub no_trylocks: bool,

    /// No downgrades and upgrades
    #[arg(long)]
    pub no_converts: bool,

    /// No signals whose handlers lock
    #[arg(long)]
    pub no_signals: bool,

    /// No threads that are stopped for a while
    #[arg(long)]
    pub no_stops: bool,

    /// No threads that come and go
    #[arg(long)]
    pub no_births: bool,

    /// No children
    #[arg(long)]
    pub no_forks: bool,

    /// Seconds in which somebody must get on
    #[arg(long, value_name = "S", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub stall_secs: u64,

    /// Seconds that nobody may wait for longer
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub starvation_secs: u64,

    /// Seed of what is left to chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Stay as it is when something is wrong, for a debugger
    #[arg(long)]
    pub stay: bool,

    /// Say what is done
    #[arg(short, long)]
    pub verbose: bool,

    /// List the locks and exit
    #[arg(long)]
    pub list: bool,

    /// The lock that this process is for.
    #[arg(long, hide = true)]
    pub only: Option<String>,
}

fn faked_cpus(text: &str) -> Result<Numbers, String> {
    let real = text.split(',').any(|part| part.trim() == "0");
    let others: Vec<&str> = text.split(',').filter(|part| part.trim() != "0").collect();
    let mut all =
        if others.is_empty() { Numbers(Vec::new()) } else { thread_counts(&others.join(","))? };
    if all.0.iter().any(|&cpus| cpus > 4_096) {
        return Err("at most 4096".to_owned());
    }
    if real {
        all.0.insert(0, 0);
    }
    Ok(all)
}

/// Runs the command.
pub fn run(args: &TortureArgs) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.only {
        return one(args, name);
    }
    let known = Family::Victims.locks(true);
    if args.list {
        let line =
            |lock: &&Lock| format!("{:22}  {:13}  {}\n", lock.name, lock.role.name(), lock.about);
        Target::Stdout.write(known.iter().map(line).collect::<String>().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let locks = match &args.locks {
        Some(names) => {
            let wrong = |why| Failure::Usage(format!("--locks: {why}"));
            Family::Victims.choose(names, true).map_err(wrong)?
        }
        None => Family::Victims.locks(false),
    };
    catch_signals()?;
    let mut failed = Vec::new();
    let mut done = 0;
    for lock in &locks {
        for &cpus in &args.cpus.0 {
            if INTERRUPT.is_raised() {
                break;
            }
            if !in_a_process(args, lock, cpus)? {
                let faked = if cpus == 0 { String::new() } else { format!(" ({cpus} CPUs)") };
                failed.push(format!("{}{faked}", lock.name));
            }
            done += 1;
        }
    }
    let end = if failed.is_empty() {
        format!("End of test: SUCCESS: {done} runs of {} locks, seed {}\n", locks.len(), args.seed)
    } else {
        format!("End of test: FAILURE: {}; {done} runs, seed {}\n", failed.join(", "), args.seed)
    };
    Target::Stdout.write(end.as_bytes())?;
    Ok(ExitCode::from(match (INTERRUPT.is_raised(), failed.is_empty()) {
        (_, false) => exit::CHECK_FAILED,
        (true, true) => exit::INTERRUPTED,
        (false, true) => exit::OK,
    }))
}

/// Tortures a lock in a process of its own; whether it passed.
fn in_a_process(args: &TortureArgs, lock: &Lock, cpus: u64) -> Result<bool, Failure> {
    let refused =
        |error: std::io::Error| Failure::Environment(format!("cannot run {}: {error}", lock.name));
    let program = std::env::current_exe().map_err(refused)?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).args(["--only", lock.name]).stdin(Stdio::null());
    if cpus > 0 {
        command.env("LOCKWRIGHT_CPUS", cpus.to_string());
    }
    let mut child = command.spawn().map_err(refused)?;
    // Its own watch ends it long before this, unless the process as a whole is stuck.
    let limit = Duration::from_secs(args.secs + 10 * args.stall_secs + 120);
    let began = Instant::now();
    let status = loop {
        match child.try_wait().map_err(refused)? {
            Some(status) => break status,
            None if began.elapsed() > limit && !args.stay => {
                say!("lockwright: {} has not ended after {limit:?}; it is killed", lock.name);
                child.kill().map_err(refused)?;
                break child.wait().map_err(refused)?;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if let Some(signal) = status.signal() {
        print(&format!(
            "{}-torture:--- End of test: FAILURE: killed by signal {signal}\n",
            lock.name
        ))?;
    }
    match status.code() {
        Some(code) if code == i32::from(exit::USAGE) || code == i32::from(exit::ENVIRONMENT) => {
            Err(Failure::Environment(format!("cannot torture {}", lock.name)))
        }
        code => Ok(code == Some(0) || code == Some(i32::from(exit::INTERRUPTED))),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    Target::Stdout.write(text.as_bytes())
}

/// Tortures one lock in this process.
fn one(args: &TortureArgs, name: &str) -> Result<ExitCode, Failure> {
    let chosen = Family::Victims.choose(&[name.to_owned()], true);
    let lock = *chosen.map_err(|why| Failure::Usage(why.to_string()))?[0];
    let Some(victim) = lock.torture else {
        return Err(Failure::Usage(format!("{name} cannot be tortured")));
    };
    catch_signals()?;
    let plan = plan(args);
    let tag = format!("{name}-torture");
    if args.verbose {
        let readers = if victim.can().reads { plan.readers } else { 0 };
        print(&format!(
            "{tag}: Creating {} writer and {readers} reader threads, seed {}\n",
            plan.writers, plan.seed
        ))?;
    }
    let own = matches!(lock.role, Role::Own | Role::StudyObject);
    let mut say_so_far = |stats: &Stats| {
        // What cannot be printed now cannot be printed at the end either, where it is said.
        let _ = print(&line(&tag, stats));
    };
    let outcome = torture(victim, &lock.oracles, &plan, own, &INTERRUPT, &mut say_so_far);
    if let Some(refused) = outcome.refused {
        return Err(Failure::Environment(refused));
    }
    print(&report(&tag, args, &plan, &outcome))?;
    if args.stay && !outcome.complaints.is_empty() {
        let process = std::process::id();
        say!("lockwright: {name} is broken; process {process} stays until it is interrupted");
        while !INTERRUPT.sleep(Duration::from_secs(3_600)) {}
    }
    // Threads that are stuck must not keep the process.
    let code = match (outcome.complaints.is_empty(), outcome.cut_short) {
        (false, _) => exit::CHECK_FAILED,
        (true, true) => exit::INTERRUPTED,
        (true, false) => exit::OK,
    };
    std::process::exit(code.into());
}

fn plan(args: &TortureArgs) -> Plan {
    let writers = args.nwriters_stress.unwrap_or(2 * machine().cpus_allowed.unwrap_or(2) as u64);
    let secs = Duration::from_secs;
    Plan {
        writers: writers as usize,
        readers: args.nreaders_stress.unwrap_or(writers) as usize,
        time: secs(args.secs),
        stat_interval: secs(args.stat_interval),
        stutter: secs(args.stutter),
        shuffle: secs(args.shuffle_interval),
        onoff: secs(args.onoff_interval),
        long_hold: Duration::from_millis(args.long_hold),
        nested: args.nested_locks as usize,
        timeouts: !args.no_timeouts,
        trylocks: !args.no_trylocks,
        converts: !args.no_converts,
        signals: !args.no_signals,
        stops: !args.no_stops,
        births: !args.no_births,
        forks: !args.no_forks,
        stall: secs(args.stall_secs),
        starvation: secs(args.starvation_secs),
        seed: args.seed,
    }
}

/// The end of a test, as locktorture prints it.
fn report(tag: &str, args: &TortureArgs, plan: &Plan, outcome: &Outcome) -> String {
    let mut text = line(tag, &outcome.stats);
    if args.verbose {
        let made = outcome.troubles.iter().filter(|(_, count)| *count > 0);
        let made: Vec<String> = made.map(|(name, count)| format!("{count} {name}")).collect();
        let longest = outcome.stats.writes.longest_ns.max(outcome.stats.reads.longest_ns) / 1_000;
        text += &format!("{tag}: longest wait {longest} us; {}\n", made.join(", "));
    }
    for complaint in &outcome.complaints {
        text += &format!("{tag}: !!! {complaint}\n");
    }
    let word = if outcome.complaints.is_empty() { "SUCCESS" } else { "FAILURE" };
    text += &format!(
        "{tag}:--- End of test: {word}: nwriters_stress={} nreaders_stress={} nested_locks={} \
         stat_interval={} verbose={} shuffle_interval={} stutter={} shutdown_secs={} \
         onoff_interval={} long_hold={} seed={}\n",
        plan.writers,
        outcome.stats.reads.each.len(),
        plan.nested,
        args.stat_interval,
        u8::from(args.verbose),
        args.shuffle_interval,
        args.stutter,
        args.secs,
        args.onoff_interval,
        args.long_hold,
        plan.seed
    );
    text
}
