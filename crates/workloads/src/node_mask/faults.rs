//! The allocator run: page faults per second beside a writer that keeps replacing the masks.

use std::hint::black_box;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use lockwright_platform::Platform;

use super::{NodeSet, Nodes, Protection, Task, allocate};
use crate::harness::{Interrupt, team};
use crate::seq_bench::{Paced, WriteEvery};

/// Bytes that a fault clears.
const PAGE: usize = 4096;

/// Numbers of the nodes: eight, four in each word of the masks.
const NODES: [usize; 8] = [0, 16, 32, 48, 64, 80, 96, 112];

/// One allocator round.
#[derive(Clone, Copy, Debug)]
pub struct FaultSpec {
    /// Threads that allocate, a task each; at least 1.
    pub clients: usize,
    /// How often the writer replaces the mask of every task.
    pub write_every: WriteEvery,
    /// Wall time.
    pub time: Duration,
}

/// What one round yielded.
#[derive(Clone, Debug)]
pub struct FaultReport {
    /// From the start of the first thread to the stop.
    pub elapsed: Duration,
    /// CPU time of the clients.
    pub client_cpu: Duration,
    /// Faults of each client.
    pub faults: Vec<u64>,
    /// Scans beyond the first of a fault.
    pub rescans: u64,
    /// Faults that were told "no node", though some node was allowed and had pages at every moment.
    pub false_failures: u64,
    /// Masks replaced.
    pub changes: u64,
    /// The round was interrupted.
    pub cut_short: bool,
}

/// The allocator run under one protection, behind a vtable.
pub trait Faults: Sync {
    /// One round.
    ///
    /// # Errors
    ///
    /// A thread could not be started; nothing was measured.
    fn faults(&self, spec: &FaultSpec, interrupt: &Interrupt) -> io::Result<FaultReport>;

    /// Time of `sections` protections around a scan that finds its node at once, loop included.
    fn sections(&self, sections: u64) -> Duration;
}

/// [`Faults`] under the protection `G`.
pub struct FaultRunner<G, P>(PhantomData<fn() -> (G, P)>);

impl<G, P> FaultRunner<G, P> {
    /// The runner; it holds nothing.
    pub const NEW: Self = FaultRunner(PhantomData);
}

type TaskOf<P> = CachePadded<Task<P, 2>>;

fn halves() -> [NodeSet<2>; 2] {
    [NodeSet::of(&NODES[..4]), NodeSet::of(&NODES[4..])]
}

impl<G: Protection, P: Platform> Faults for FaultRunner<G, P> {
    fn faults(&self, spec: &FaultSpec, interrupt: &Interrupt) -> io::Result<FaultReport> {
        let tasks: Vec<TaskOf<P>> =
            (0..spec.clients).map(|_| CachePadded::new(Task::new(halves()[0]))).collect();
        // More pages than there are clients: no allowed node is ever full.
        let pages = u32::try_from(spec.clients).unwrap_or(u32::MAX).saturating_add(1);
        let nodes = Nodes::<P>::new(&NODES, pages);
        let stop = CachePadded::new(AtomicBool::new(false));
        let writers = usize::from(spec.write_every != WriteEvery::Never);
        let team = team::run(spec.clients + writers, spec.time, &stop, interrupt, |number| {
            match tasks.get(number) {
                Some(task) => client::<G, P>(task, &nodes, &stop),
                None => writer::<G, P>(&tasks, spec.write_every, &stop),
            }
        })?;
        let members = || team.members.iter().map(|(member, _)| member);
        Ok(FaultReport {
            elapsed: team.elapsed,
            client_cpu: team.members.iter().filter(|m| m.0.client).map(|m| m.1.cpu()).sum(),
            faults: members().filter(|m| m.client).map(|m| m.faults).collect(),
            rescans: members().map(|m| m.rescans).sum(),
            false_failures: members().map(|m| m.false_failures).sum(),
            changes: members().map(|m| m.changes).sum(),
            cut_short: team.cut_short,
        })
    }

    fn sections(&self, sections: u64) -> Duration {
        let task = CachePadded::new(Task::<P, 2>::new(halves()[0]));
        let task = black_box(&*task);
        let node = black_box(0);
        let began = Instant::now();
        for _ in 0..sections {
            // No more than one word is hidden from the compiler: a whole result would go through
            // memory, which costs more than a section.
            black_box(G::scan(task, || Some(node)).scans);
        }
        began.elapsed()
    }
}

#[derive(Clone, Copy, Default)]
struct Member {
    client: bool,
    faults: u64,
    rescans: u64,
    false_failures: u64,
    changes: u64,
}

#[inline(never)]
fn client<G: Protection, P: Platform>(
    task: &Task<P, 2>,
    nodes: &Nodes<P>,
    stop: &AtomicBool,
) -> Member {
    let mut member = Member { client: true, ..Member::default() };
    let mut page = [0_u8; PAGE];
    // Ordering: Relaxed: a hint to stop.
    while !stop.load(Relaxed) {
        let allocation = allocate::<G, P, 2>(task, nodes);
        member.rescans += u64::from(allocation.scans) - 1;
        match allocation.node {
            Some(node) => {
                black_box(&mut page).fill(0);
                nodes.give(node);
                member.faults += 1;
            }
            None => member.false_failures += 1,
        }
    }
    member
}

fn writer<G: Protection, P: Platform>(
    tasks: &[TaskOf<P>],
    every: WriteEvery,
    stop: &AtomicBool,
) -> Member {
    let mut member = Member::default();
    let mut paced = Paced::new(every);
    let mut masks = halves().into_iter().cycle().skip(1);
    while paced.wait(stop) {
        let mask = masks.next().unwrap_or(NodeSet::EMPTY);
        for task in tasks {
            G::change(task, mask);
            member.changes += 1;
        }
    }
    member
}
