//! Starting threads together, and stopping them together.

use std::env;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::interrupt::guard;
use super::{Interrupt, Usage};

/// Stack of a measured thread in bytes, unless `RUST_MIN_STACK` gives another: the loops need
/// little, and there may be thousands.
const STACK_BYTES: usize = 256 * 1024;

/// Where the threads wait until all are there.
///
/// Unlike a barrier it can be called off, for when a thread could not be started.
struct Gate {
    threads: usize,
    state: Mutex<GateState>,
    full: Condvar,
    opened: Condvar,
}

#[derive(Default)]
struct GateState {
    arrived: usize,
    go: Option<bool>,
}

impl Gate {
    fn new(threads: usize) -> Self {
        Gate { threads, state: Mutex::default(), full: Condvar::new(), opened: Condvar::new() }
    }

    /// Blocks until the gate opens; false if the round was called off.
    fn pass(&self) -> bool {
        let mut state = guard(&self.state);
        state.arrived += 1;
        if state.arrived == self.threads {
            self.full.notify_one();
        }
        let state = self
            .opened
            .wait_while(state, |state| state.go.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        state.go == Some(true)
    }

    /// Opens the gate once all have arrived.
    fn open(&self) {
        let state = guard(&self.state);
        let mut state = self
            .full
            .wait_while(state, |state| state.arrived < self.threads)
            .unwrap_or_else(PoisonError::into_inner);
        state.go = Some(true);
        self.opened.notify_all();
    }

    /// Sends everybody home.
    fn call_off(&self) {
        guard(&self.state).go = Some(false);
        self.opened.notify_all();
    }
}

/// What a team brought back.
pub(crate) struct TeamReport<R> {
    /// From the start of the first thread to the stop.
    pub elapsed: Duration,
    /// The interrupt was raised before `time` had passed.
    pub cut_short: bool,
    /// Each thread's result and what its body used, in the order of their numbers.
    pub members: Vec<(R, Usage)>,
}

/// Runs `body`, told its number from 0 on, on `threads` threads from a common start until `time` has passed or the
/// interrupt is raised; then `stop` is set, which the body must look at.
pub(crate) fn run<R: Send>(
    threads: usize,
    time: Duration,
    stop: &AtomicBool,
    interrupt: &Interrupt,
    body: impl Fn(usize) -> R + Sync,
) -> io::Result<TeamReport<R>> {
    let gate = Gate::new(threads);
    let member = |number| {
        gate.pass().then(|| {
            let began = Instant::now();
            let before = Usage::of_this_thread();
            let result = body(number);
            (began, result, Usage::of_this_thread() - before)
        })
    };
    thread::scope(|scope| {
        let mut handles = Vec::with_capacity(threads);
        for number in 0..threads {
            let mut builder = thread::Builder::new();
            if env::var_os("RUST_MIN_STACK").is_none() {
                builder = builder.stack_size(STACK_BYTES);
            }
            let member = &member;
            match builder.spawn_scoped(scope, move || member(number)) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    gate.call_off();
                    return Err(error);
                }
            }
        }
        gate.open();
        let cut_short = interrupt.sleep(time);
        let stopped = Instant::now();
        // Ordering: Relaxed: a hint to stop; results travel through join.
        stop.store(true, Ordering::Relaxed);
        let mut first = stopped;
        let mut members = Vec::with_capacity(threads);
        for handle in handles {
            let done = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if let Some((began, result, usage)) = done {
                first = first.min(began);
                members.push((result, usage));
            }
        }
        Ok(TeamReport { elapsed: stopped - first, cut_short, members })
    })
}
