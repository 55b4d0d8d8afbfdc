//! A signal handler that locks while its thread waits: the thread's one place in a queue is
//! taken, so the handler's lock call must do without. Never abort, never lose the wait.

use super::{body, guarded};
use crate::AnyMutex;
use crate::os::{ThreadId, with_usr1};
use crate::scale::Dice;
use crate::scene::{Flag, Tally, assert_usable, linger};
use lock_api::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// What the handler and the threads share.
struct Stage<R: AnyMutex> {
    /// The lock that the interrupted thread waits for.
    waited: Mutex<R, u64>,
    /// The lock that the handler takes; others contend for it.
    other: Mutex<R, u64>,
    /// Steps under `other`, counted beside it.
    other_steps: AtomicUsize,
    handled: Tally,
    done: Flag,
}

impl<R: AnyMutex> Stage<R> {
    fn new() -> Arc<Self> {
        Arc::new(Stage {
            waited: Mutex::new(0),
            other: Mutex::new(0),
            other_steps: AtomicUsize::new(0),
            handled: Tally::new(),
            done: Flag::new(),
        })
    }

    /// What the handler does. It must not wait for `waited`, which its own thread may hold.
    fn handle(&self) {
        drop(self.waited.try_lock());
        self.step_other(0);
        self.handled.add();
    }

    fn step_other(&self, linger_us: u64) {
        let mut count = self.other.lock();
        if linger_us > 0 {
            linger(Duration::from_micros(linger_us));
        }
        *count += 1;
        self.other_steps.fetch_add(1, SeqCst);
    }

    /// Keeps `other` contended until the end, with holds long enough to make waiters sleep.
    fn contend_other(&self, stream: usize) {
        let mut dice = Dice::new(stream);
        while !self.done.is_raised() {
            self.step_other(dice.below(60));
            thread::yield_now();
        }
    }

    fn assert_whole(&self) {
        assert_usable(&self.waited);
        assert_usable(&self.other);
        assert_eq!(*self.other.lock() as usize, self.other_steps.load(SeqCst));
    }
}

/// A thread waits in the queue; its handler tries that lock, and takes another that is
/// contended. The wait goes on after it and ends with the lock.
pub fn a_handler_may_lock_while_its_thread_waits<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let stage = Stage::<R>::new();
        let handler = stage.clone();
        with_usr1(
            move || handler.handle(),
            || {
                thread::scope(|s| {
                    for stream in 0..2 {
                        let stage = &stage;
                        s.spawn(move || stage.contend_other(stream));
                    }
                    for _ in 0..20 {
                        interrupt_a_waiter(&stage);
                    }
                    stage.done.raise();
                });
            },
        );
        stage.assert_whole();
        assert_eq!(*stage.waited.lock(), 20, "every interrupted wait ended with the lock");
    });
}

fn interrupt_a_waiter<R: AnyMutex>(stage: &Stage<R>) {
    let waiter = OnceLock::new();
    thread::scope(|s| {
        let held = stage.waited.lock();
        s.spawn(|| {
            waiter.get_or_init(ThreadId::here);
            *stage.waited.lock() += 1;
        });
        for _ in 0..5 {
            let before = stage.handled.get();
            waiter.wait().interrupt();
            stage.handled.wait_for(before + 1);
            linger(Duration::from_micros(200));
        }
        drop(held);
    });
}

/// Three threads lock and unlock as fast as they can while signals fall on them: the handler
/// interrupts the fast path, the slow path and the unlock at any instruction.
pub fn a_handler_may_lock_at_any_instruction_of_a_lock_call<R: AnyMutex>() {
    guarded::<R, _>(body!(), || {
        let stage = Stage::<R>::new();
        let handler = stage.clone();
        let (steps, started) = (AtomicUsize::new(0), Tally::new());
        let ids: [OnceLock<ThreadId>; 3] = Default::default();
        with_usr1(
            move || handler.handle(),
            || {
                thread::scope(|s| {
                    for id in &ids {
                        let (stage, steps, started) = (&stage, &steps, &started);
                        s.spawn(move || {
                            id.get_or_init(ThreadId::here);
                            started.add();
                            while !stage.done.is_raised() {
                                *stage.waited.lock() += 1;
                                steps.fetch_add(1, SeqCst);
                            }
                        });
                    }
                    started.wait_for(ids.len());
                    let mut dice = Dice::new(9);
                    for turn in 0..1_500 {
                        ids[turn % ids.len()].wait().interrupt();
                        linger(Duration::from_micros(dice.below(100)));
                    }
                    stage.done.raise();
                });
            },
        );
        assert!(stage.handled.get() > 0);
        stage.assert_whole();
        assert_eq!(*stage.waited.lock() as usize, steps.into_inner());
    });
}
