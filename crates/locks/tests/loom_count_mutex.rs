//! The count mutex under the model checker, before and after the commit it studies.
#![cfg(loom)]

mod support;

use lockwright_locks::count_mutex::{AfterDefault, AfterX86, Before, CountMutex, Tests};
use lockwright_model::Model;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::model;

struct Shared<T: Tests> {
    mutex: CountMutex<Model, T>,
    section: UnsafeCell<u32>,
}

impl<T: Tests> Shared<T> {
    fn locked(&self) {
        self.mutex.lock();
        self.section.with_mut(|n| unsafe { *n += 1 });
        unsafe { self.mutex.unlock() };
    }
}

fn run<T: Tests + Send + Sync>(preemptions: usize, threads: u32, spinners: u32) {
    lockwright_model::set_spinner_cap(spinners);
    model(Some(preemptions), move || {
        let shared =
            Arc::new(Shared::<T> { mutex: CountMutex::new(), section: UnsafeCell::new(0) });
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || shared.locked())
            })
            .collect();
        shared.locked();
        others.into_iter().for_each(|t| t.join().unwrap());
        assert!(shared.mutex.try_lock(), "left locked");
        assert_eq!(shared.section.with(|n| unsafe { *n }), threads);
    });
}

/// What the one that tries sees when it gets in.
#[test]
fn try_lock_enters_after_an_unlock() {
    lockwright_model::set_spinner_cap(0);
    model(Some(3), || {
        let shared =
            Arc::new(Shared::<AfterX86> { mutex: CountMutex::new(), section: UnsafeCell::new(0) });
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.locked())
        };
        if shared.mutex.try_lock() {
            shared.section.with_mut(|n| unsafe { *n += 1 });
            unsafe { shared.mutex.unlock() };
        }
        other.join().unwrap();
        assert!(shared.mutex.try_lock(), "left locked");
    });
}

macro_rules! models {
    ($($name:ident: $tests:ty, $preemptions:literal, $threads:literal, $spinners:literal;)*) => {$(
        #[test]
        fn $name() {
            run::<$tests>($preemptions, $threads, $spinners);
        }
    )*};
}

// Race 24 takes one preemption: a locker between its decrement and the wait lock.
models! {
    two_threads_before: Before, 3, 2, 0;
    two_threads_after_default: AfterDefault, 3, 2, 0;
    two_threads_after_x86: AfterX86, 3, 2, 0;
    two_threads_spinning_after_x86: AfterX86, 2, 2, 1;
    race_24_emptied_list_erases_a_decrement: AfterX86, 3, 3, 0;
    race_24_before: Before, 3, 3, 0;
}
