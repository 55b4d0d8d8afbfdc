//! The four-byte lock under the model checker.
#![cfg(loom)]

mod support;

use lockwright_locks::spinlock::RawSpinLock;
use lockwright_model::{Model, set_spinner_cap};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use support::{model, together};

#[derive(Default)]
struct Shared {
    lock: RawSpinLock<Model, { 1 << 30 }>,
    section: UnsafeCell<u32>,
}

impl Shared {
    fn section(&self) {
        self.section.with_mut(|n| unsafe { *n += 1 });
        unsafe { self.lock.unlock() };
    }

    fn locked(&self) -> u32 {
        self.lock.lock();
        self.section();
        1
    }

    fn tried(&self) -> u32 {
        let got = self.lock.try_lock();
        if got {
            self.section();
        }
        got.into()
    }
}

fn run(spinners: u32, bodies: &'static [fn(&Shared) -> u32]) {
    set_spinner_cap(spinners);
    model(Some(3), move || {
        let shared = Arc::new(Shared::default());
        let sections: u32 = together(&shared, bodies).into_iter().sum();
        assert!(!shared.lock.is_locked());
        assert_eq!(shared.section.with(|n| unsafe { *n }), sections);
    });
}

#[test]
fn two_threads_exclude_each_other() {
    run(0, &[Shared::locked, Shared::locked]);
}

#[test]
fn two_spinners_exclude_each_other() {
    run(1, &[Shared::locked, Shared::locked]);
}

#[test]
fn who_tries_sees_the_section_before() {
    run(0, &[Shared::locked, Shared::tried]);
}
