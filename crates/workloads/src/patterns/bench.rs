//! Patterns of one lock behind a vtable: one call for each round.

use std::io;
use std::marker::PhantomData;
use std::time::Duration;

use lockwright_platform::Native;

use super::{
    BenchMonitor, Burst, BurstSpec, Cpus, Guest, GuestSpec, Map, MapSpec, PatternReport, Queue,
    QueueSpec, Sections, SectionsSpec, Turns, TurnsSpec, fault_in, run,
};
use crate::harness::Interrupt;
use crate::rw_bench::BenchRwLock;

/// A pattern of a lock. A mutex is a reader-writer lock whose readers exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPattern {
    /// See [`Guest`].
    Guest(GuestSpec),
    /// See [`Burst`].
    Burst(BurstSpec),
    /// See [`Map`].
    Map(MapSpec),
    /// See [`Sections`].
    Sections(SectionsSpec),
}

/// A pattern of a mutex with condition variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorPattern {
    /// See [`Turns`]; where the two threads run.
    Turns(TurnsSpec, Cpus),
    /// See [`Queue`].
    Queue(QueueSpec),
}

impl LockPattern {
    /// Threads it takes.
    pub fn threads(&self) -> usize {
        match self {
            LockPattern::Guest(spec) => spec.hogs + 1,
            LockPattern::Burst(spec) => spec.threads,
            LockPattern::Map(spec) => spec.threads,
            LockPattern::Sections(spec) => spec.threads,
        }
    }
}

impl MonitorPattern {
    /// Threads it takes.
    pub fn threads(&self) -> usize {
        match self {
            MonitorPattern::Turns(..) => 2,
            MonitorPattern::Queue(spec) => spec.producers + spec.consumers,
        }
    }
}

/// The patterns of one lock, or of one mutex with condition variables.
pub trait PatternBench<P>: Sync {
    /// One round with a new lock.
    ///
    /// # Errors
    ///
    /// A thread could not be started; nothing was measured.
    fn round(&self, pattern: P, time: Duration, interrupt: &Interrupt)
    -> io::Result<PatternReport>;
}

/// [`PatternBench`] of the lock or monitor `L`.
pub struct PatternRunner<L>(PhantomData<fn() -> L>);

impl<L> PatternRunner<L> {
    /// The runner; it holds nothing.
    pub const NEW: Self = PatternRunner(PhantomData);
}

impl<L: BenchRwLock> PatternBench<LockPattern> for PatternRunner<L> {
    fn round(
        &self,
        pattern: LockPattern,
        time: Duration,
        interrupt: &Interrupt,
    ) -> io::Result<PatternReport> {
        match pattern {
            LockPattern::Guest(spec) => run(&Guest::<L>::new(spec), Cpus::Free, time, interrupt),
            LockPattern::Burst(spec) => run(&Burst::<L>::new(spec), Cpus::Free, time, interrupt),
            LockPattern::Map(spec) => {
                run(&Map::<L, Native>::new(spec), Cpus::Free, time, interrupt)
            }
            LockPattern::Sections(spec) => {
                run(&Sections::<L>::new(spec, fault_in), Cpus::Free, time, interrupt)
            }
        }
    }
}

impl<M: BenchMonitor> PatternBench<MonitorPattern> for PatternRunner<M> {
    fn round(
        &self,
        pattern: MonitorPattern,
        time: Duration,
        interrupt: &Interrupt,
    ) -> io::Result<PatternReport> {
        match pattern {
            MonitorPattern::Turns(spec, cpus) => run(&Turns::<M>::new(spec), cpus, time, interrupt),
            MonitorPattern::Queue(spec) => {
                run(&Queue::<M, Native>::new(spec), Cpus::Free, time, interrupt)
            }
        }
    }
}
