//! From options to a workload, and back.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use lockwright_lab::sim::forks::Turn;
use lockwright_lab::sim::workload::Workload;
use lockwright_sim::Machine;
use lockwright_workloads::directory::Pattern;
use lockwright_workloads::rw_bench::Mix;

use super::args::{GuestIs, Kind, SweepArgs, WorkArgs};
use crate::failure::Failure;

/// Nanoseconds outside of each section, unless others are given: so that the lock is not a hog's who never
/// leaves it.
const OUTSIDE_NS: u32 = 1_000;

/// A choice as it is typed.
pub fn name_of(choice: impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.as_ref().map(PossibleValue::get_name).unwrap_or_default().to_owned()
}

/// The workload that the options ask for on this machine.
pub fn workload(args: &SweepArgs, machine: &Machine) -> Workload {
    let work = &args.work;
    let load = work.load.unwrap_or(1);
    let pauses = |ns: u32| (f64::from(ns) / machine.core.pause.value).round() as u32;
    let outside = || work.outside.unwrap_or_else(|| pauses(work.outside_ns.unwrap_or(OUTSIDE_NS)));
    let readers_percent = work.readers.unwrap_or(50);
    let outside_ns = |default| work.outside_ns.unwrap_or(default);
    let inside_ns = |default| work.inside_ns.unwrap_or(default);
    let directory = |pattern| Workload::Directory {
        pattern,
        inside_ns: inside_ns(2_000),
        outside_ns: outside_ns(2_000),
    };
    let turn = |work_ns, sections, inside, outside| {
        Workload::Forks(Turn {
            work_ns: work.work_ns.unwrap_or(work_ns),
            locks: work.shards.unwrap_or(1),
            sections: work.sections.unwrap_or(sections),
            inside_ns: inside_ns(inside),
            outside_ns: outside_ns(outside),
        })
    };
    match args.workload {
        Kind::Rwlock => Workload::Rw {
            readers_percent,
            mix: args.mix.mix(),
            load,
            outside: outside(),
            sleep_ns: u64::from(work.sleep_us.unwrap_or(0)) * 1_000,
        },
        Kind::Mutex => Workload::Rw {
            readers_percent: 0,
            mix: Mix::Drawn,
            load,
            outside: outside(),
            sleep_ns: u64::from(work.sleep_us.unwrap_or(0)) * 1_000,
        },
        Kind::PageFault => Workload::PAGE_FAULT1,
        Kind::Forks => turn(40_000, 5, 500, 0),
        Kind::Users => turn(0, 33, 250, 110_000),
        Kind::CreateShared => directory(Pattern::SharedWrite),
        Kind::CreatePrivate => directory(Pattern::PrivateWrite),
        Kind::ListShared => directory(Pattern::SharedRead),
        Kind::EpollControl | Kind::EpollWait => Workload::Epoll {
            waits: args.workload == Kind::EpollWait,
            inside_ns: inside_ns(100),
            outside_ns: outside_ns(300),
        },
        Kind::Torture => Workload::Torture {
            long_hold_ms: work.long_hold.unwrap_or(100),
            outside_ns: outside_ns(0),
        },
        Kind::Guest => Workload::Guest {
            every_ns: u64::from(work.every.unwrap_or(2_000)) * 1_000,
            load,
            hogs_write: work.guest != Some(GuestIs::WriterAmongReaders),
            guest_writes: work.guest != Some(GuestIs::ReaderAmongWriters),
        },
        Kind::Stall => Workload::Stall {
            load,
            outside: outside(),
            every: work.every.unwrap_or(1_000),
            sleep_ns: u64::from(work.sleep_us.unwrap_or(1_000)) * 1_000,
        },
        Kind::Map => Workload::Map {
            shards: work.shards.unwrap_or(8) as usize,
            readers_percent: work.readers.unwrap_or(90),
            outside: outside(),
        },
        Kind::Burst => {
            Workload::Burst { load, quiet_ns: u64::from(work.every.unwrap_or(1_000)) * 1_000 }
        }
    }
}

/// # Errors
///
/// An option is given that the workload does not use.
pub fn check_options(args: &SweepArgs) -> Result<(), Failure> {
    use Kind::{
        Burst, CreatePrivate, CreateShared, EpollControl, EpollWait, Forks, Guest, ListShared, Map,
        Mutex, Rwlock, Stall, Torture, Users,
    };
    let work = &args.work;
    let given: [(_, bool, &[Kind]); 14] = [
        ("--readers", work.readers.is_some(), &[Rwlock, Map]),
        ("--dedicated", args.mix.dedicated, &[Rwlock]),
        ("--blocks", args.mix.blocks.is_some(), &[Rwlock]),
        ("--sleep-us", work.sleep_us.is_some(), &[Rwlock, Mutex, Stall]),
        ("--load", work.load.is_some(), &[Rwlock, Mutex, Guest, Stall, Burst]),
        ("--outside", work.outside.is_some(), &[Rwlock, Mutex, Stall, Map]),
        (
            "--outside-ns",
            work.outside_ns.is_some(),
            &[
                Rwlock,
                Mutex,
                Torture,
                Stall,
                Map,
                Users,
                Forks,
                CreateShared,
                CreatePrivate,
                ListShared,
                EpollControl,
                EpollWait,
            ],
        ),
        (
            "--inside-ns",
            work.inside_ns.is_some(),
            &[Users, Forks, CreateShared, CreatePrivate, ListShared, EpollControl, EpollWait],
        ),
        ("--every", work.every.is_some(), &[Guest, Stall, Burst]),
        ("--guest", work.guest.is_some(), &[Guest]),
        ("--long-hold", work.long_hold.is_some(), &[Torture]),
        ("--shards", work.shards.is_some(), &[Users, Forks, Map]),
        ("--sections", work.sections.is_some(), &[Users, Forks]),
        ("--work-ns", work.work_ns.is_some(), &[Users, Forks]),
    ];
    let unused = given.iter().find(|(_, given, kinds)| *given && !kinds.contains(&args.workload));
    match unused {
        Some((option, _, kinds)) => {
            let mut kinds: Vec<_> = kinds.iter().map(|kind| name_of(*kind)).collect();
            let last = kinds.split_off(kinds.len().saturating_sub(2)).join(" and ");
            kinds.push(last);
            let (kinds, kind) = (kinds.join(", "), name_of(args.workload));
            Err(Failure::Usage(format!(
                "{option} is for --workload {kinds}, and has no effect on {kind}"
            )))
        }
        None => Ok(()),
    }
}

/// The kind and the options that ask for this workload; `None` if no options do.
pub fn options(workload: Workload) -> Option<(Kind, WorkArgs)> {
    let none = WorkArgs::default();
    Some(match workload {
        Workload::Rw { readers_percent, load, outside, sleep_ns, .. } => {
            let sleep_us = (sleep_ns > 0).then_some((sleep_ns / 1_000) as u32);
            let (readers, load) = (Some(readers_percent), Some(load));
            let work = WorkArgs { readers, load, outside: Some(outside), sleep_us, ..none };
            (Kind::Rwlock, work)
        }
        Workload::PAGE_FAULT1 => (Kind::PageFault, none),
        Workload::Torture { long_hold_ms, outside_ns } => {
            let work =
                WorkArgs { long_hold: Some(long_hold_ms), outside_ns: Some(outside_ns), ..none };
            (Kind::Torture, work)
        }
        Workload::Directory { pattern, inside_ns, outside_ns } => {
            let kind = match pattern {
                Pattern::SharedWrite => Kind::CreateShared,
                Pattern::PrivateWrite => Kind::CreatePrivate,
                Pattern::SharedRead => Kind::ListShared,
            };
            (kind, WorkArgs { inside_ns: Some(inside_ns), outside_ns: Some(outside_ns), ..none })
        }
        Workload::Epoll { waits, inside_ns, outside_ns } => {
            let kind = if waits { Kind::EpollWait } else { Kind::EpollControl };
            (kind, WorkArgs { inside_ns: Some(inside_ns), outside_ns: Some(outside_ns), ..none })
        }
        Workload::Forks(turn) => {
            let work = WorkArgs {
                work_ns: Some(turn.work_ns),
                shards: Some(turn.locks),
                sections: Some(turn.sections),
                inside_ns: Some(turn.inside_ns),
                outside_ns: Some(turn.outside_ns),
                ..none
            };
            (Kind::Forks, work)
        }
        _ => return None,
    })
}
