//! A lock as the threads of a simulated run use it: without preemption where the run is one in a kernel,
//! each wait noted; with the lines that it guards.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_utils::CachePadded;
use lockwright_platform::{Platform, Word};
use lockwright_sim::{Sim, clock, without_preemption};
use lockwright_workloads::mutex_bench::BenchMutex;
use lockwright_workloads::rw_bench::BenchRwLock;

use super::window::{Role, waited};

std::thread_local! {
    /// New locks are those of a kernel.
    static KERNEL: Cell<bool> = const { Cell::new(false) };
    /// Lines that a new lock guards, beside its counter.
    static LINES: Cell<u32> = const { Cell::new(0) };
}

/// Locks of the run that follows are those of a kernel, or not, and guard so many lines.
pub(super) fn prepare(kernel: bool, lines: u32) {
    KERNEL.set(kernel);
    LINES.set(lines);
}

/// The lock `L`; see the [module documentation](self).
#[repr(C)]
pub(super) struct Held<L> {
    pub lock: L,
    kernel: bool,
    lines: Box<[CachePadded<<Sim as Platform>::Word<u64>>]>,
}

impl<L> Held<L> {
    // Ordering: Relaxed throughout: the lock orders the lines, if it does.
    fn read_lines(&self) {
        for line in &self.lines {
            line.load(Relaxed);
        }
    }

    fn write_lines(&self) {
        for line in &self.lines {
            line.store(line.load(Relaxed) + 1, Relaxed);
        }
    }

    fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.kernel { without_preemption(f) } else { f() }
    }
}

/// Runs `take`, which calls what it is given when it has the lock.
fn timed<R>(role: Role, take: impl FnOnce(&dyn Fn()) -> R) -> R {
    let asked = clock();
    take(&|| waited(role, clock() - asked))
}

impl<L: BenchRwLock> BenchRwLock for Held<L> {
    fn new() -> Self {
        let line = |_| CachePadded::new(<Sim as Platform>::Word::new(0));
        let lines = (0..LINES.get()).map(line).collect();
        Held { lock: L::new(), kernel: KERNEL.get(), lines }
    }

    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        let take = |got: &dyn Fn()| {
            self.lock.read(|counter| {
                got();
                self.read_lines();
                section(counter)
            })
        };
        self.run(|| timed(Role::First, take))
    }

    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        let take = |got: &dyn Fn()| {
            self.lock.write(|counter| {
                got();
                self.write_lines();
                section(counter)
            })
        };
        self.run(|| timed(Role::Second, take))
    }

    fn write_then_read(&self, write: impl FnOnce(&AtomicU64), read: impl FnOnce(&AtomicU64)) {
        let take = |got: &dyn Fn()| {
            let write = |counter: &AtomicU64| {
                got();
                self.write_lines();
                write(counter);
            };
            self.lock.write_then_read(write, read);
        };
        self.run(|| timed(Role::Second, take));
    }
}

/// Its writers, as a mutex has them.
impl<L: BenchRwLock> BenchMutex for Held<L> {
    fn new() -> Self {
        <Self as BenchRwLock>::new()
    }

    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        self.write(|counter| {
            // Ordering: Relaxed: the lock orders the counter, if it does.
            let mut value = counter.load(Relaxed);
            let result = section(&mut value);
            counter.store(value, Relaxed);
            result
        })
    }
}
