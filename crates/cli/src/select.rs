//! From the command line to a plan.

use std::time::Duration;

use lockwright_lab::plan::{Cell, Pace, Plan};
use lockwright_lab::registry::{self, Kind, Subject};
use lockwright_lab::rw::registry::RwSubject;
use lockwright_lab::seq::registry::SeqSubject;

use crate::args::MutexArgs;
use crate::failure::Failure;

/// Time the measured rounds of a run take together unless `--secs` says otherwise: with threads
/// to start and the uncontended part, a run then ends within a minute.
const BUDGET: Duration = Duration::from_secs(40);

/// Longest default round: fairness over a longer time is not what programs notice.
const LONGEST_ROUND: Duration = Duration::from_millis(250);

/// Shortest default round: the scheduler's own slices are a few milliseconds.
const SHORTEST_ROUND: Duration = Duration::from_millis(20);

/// The plan that `args` ask for, and the index of the baseline in it.
pub fn plan(args: &MutexArgs) -> Result<(Plan, Option<usize>), Failure> {
    let mut locks = locks(args)?;
    let baseline = match &args.baseline {
        Some(name) => Some(baseline(&known(args), name, &mut locks)?),
        None => None,
    };
    let mut plan = Plan {
        locks,
        cells: cells(args),
        rounds: args.rounds,
        warmup: args.warmup,
        round_time: LONGEST_ROUND,
        seed: args.seed,
        uncontended: !args.no_uncontended,
        latency: args.latency,
    };
    plan.round_time = args.secs.unwrap_or_else(|| default_round(&plan));
    Ok((plan, baseline))
}

/// The locks that may be chosen.
pub fn known(args: &MutexArgs) -> Vec<&'static Subject> {
    let broken = registry::broken().filter(|_| args.include_broken);
    registry::listed().chain(broken).collect()
}

/// What can be chosen, as a table for people.
pub fn listing<S: Named + 'static>(known: impl Iterator<Item = &'static S> + Clone) -> String {
    let width = known.clone().map(|lock| lock.name().len()).max().unwrap_or(0);
    known
        .map(|lock| {
            format!("{:width$}  {:13}  {}\n", lock.name(), lock.kind().name(), lock.about())
        })
        .collect()
}

fn locks(args: &MutexArgs) -> Result<Vec<&'static Subject>, Failure> {
    match &args.locks {
        Some(names) => chosen(&known(args), names),
        None => Ok(registry::listed().collect()),
    }
}

/// What can be chosen by its name.
pub trait Named {
    /// The name.
    fn name(&self) -> &'static str;

    /// What it is in a comparison.
    fn kind(&self) -> Kind;

    /// One line on what it is.
    fn about(&self) -> &'static str;
}

/// The registries' entries have these as fields.
macro_rules! named {
    ($($subject:ty),*) => {$(
        impl Named for $subject {
            fn name(&self) -> &'static str {
                self.name
            }

            fn kind(&self) -> Kind {
                self.kind
            }

            fn about(&self) -> &'static str {
                self.about
            }
        }
    )*};
}

named!(Subject, RwSubject, SeqSubject);

/// Those of `known` that `names` mean, each once, in the order of `names`.
pub fn chosen<S: Named>(
    known: &[&'static S],
    names: &[String],
) -> Result<Vec<&'static S>, Failure> {
    if names.iter().all(|name| name.trim().is_empty()) {
        return Err(Failure::Usage(format!("--locks: the list is empty; {}", known_names(known))));
    }
    let mut chosen: Vec<&'static S> = Vec::new();
    for name in names {
        for lock in find(known, name.trim())? {
            if chosen.iter().all(|have| have.name() != lock.name()) {
                chosen.push(lock);
            }
        }
    }
    Ok(chosen)
}

/// What `name` means: one, or all with a common beginning if it ends in `*`.
fn find<S: Named>(known: &[&'static S], name: &str) -> Result<Vec<&'static S>, Failure> {
    let matches = |lock: &&S| match name.strip_suffix('*') {
        Some(beginning) => lock.name().starts_with(beginning),
        None => lock.name() == name,
    };
    let found: Vec<_> = known.iter().copied().filter(matches).collect();
    if found.is_empty() {
        return Err(Failure::Usage(unknown(known, name)));
    }
    Ok(found)
}

fn unknown<S: Named>(known: &[&'static S], name: &str) -> String {
    let nearest = known
        .iter()
        .map(|lock| (strsim::jaro_winkler(name, lock.name()), lock.name()))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.7);
    let hint = match nearest {
        Some((_, near)) => format!("did you mean '{near}'? "),
        None => String::new(),
    };
    format!("unknown lock '{name}'; {hint}{}", known_names(known))
}

fn known_names<S: Named>(known: &[&'static S]) -> String {
    let names: Vec<_> = known.iter().map(|lock| lock.name()).collect();
    format!("known: {}", names.join(", "))
}

/// Index of the baseline; it is measured too if it was not among the locks.
pub fn baseline<S: Named>(
    known: &[&'static S],
    name: &str,
    locks: &mut Vec<&'static S>,
) -> Result<usize, Failure> {
    let [lock] = find(known, name)?[..] else {
        return Err(Failure::Usage(format!("--baseline takes one lock, '{name}' is several")));
    };
    if let Some(index) = locks.iter().position(|have| have.name() == lock.name()) {
        return Ok(index);
    }
    locks.push(lock);
    Ok(locks.len() - 1)
}

/// All combinations of what was asked for; the default cells if nothing was.
fn cells(args: &MutexArgs) -> Vec<Cell> {
    let asked = args.threads.is_some()
        || args.load.is_some()
        || args.outside.is_some()
        || args.burst.is_some();
    let mut paces: Vec<Pace> = Vec::new();
    let outside = args.outside.clone().unwrap_or_else(|| match args.burst {
        Some(_) => Vec::new(),
        None => vec![0],
    });
    paces.extend(outside.into_iter().map(|outside| Pace::Steady { outside }));
    let bursts = args.burst.iter().flatten();
    paces.extend(bursts.map(|burst| Pace::Burst { ops: burst.ops, gap_ns: burst.gap_ns }));
    let mut cells = Vec::new();
    for &pace in &paces {
        for &threads in args.threads.as_deref().unwrap_or(&[2, 8, 32]) {
            for &load in args.load.as_deref().unwrap_or(&[1, 20, 100]) {
                let cell = Cell { threads, load, pace };
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
    }
    if !asked {
        // One cell where the lock is not saturated: winners of the others often lose here.
        cells.push(Cell { threads: 8, load: 20, pace: Pace::Steady { outside: 20 } });
    }
    cells
}

fn default_round(plan: &Plan) -> Duration {
    let rounds = plan.rounds.saturating_add(plan.warmup);
    let passes = if plan.latency { 2 } else { 1 };
    let steps = plan.locks.len() * plan.cells.len() * passes;
    round_time(steps as u64 * u64::from(rounds))
}

/// Length of a round where so many are to be run.
pub fn round_time(steps: u64) -> Duration {
    let steps = u32::try_from(steps).unwrap_or(u32::MAX).max(1);
    (BUDGET / steps).clamp(SHORTEST_ROUND, LONGEST_ROUND)
}
