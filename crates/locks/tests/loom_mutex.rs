//! The product mutex under the model checker: exclusion (I1), no lost wake-up (I2: loom reports
//! a deadlock), hand-off and cancellation, for each way of unlocking.
#![cfg(loom)]

mod support;

use lockwright_locks::mutex::{NEVER, Policy, RawMutex};
use lockwright_platform::Model;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use support::model;

macro_rules! policy {
    ($name:ident { $($const:ident: $ty:ty = $value:expr),* }) => {
        struct $name;
        impl Policy for $name {
            const NAME: &'static str = stringify!($name);
            // One failed poll ends a spin in the model; no spins keep the models small.
            $(const $const: $ty = $value;)*
        }
    };
}

// Time stands still in the model: a first waiter with HANDOFF_NS = 0 asks at once.
policy!(Steal { HANDOFF_NS: u64 = NEVER });
policy!(HandOff { HANDOFF_NS: u64 = 0 });
policy!(Slices { SLICES: bool = true, RETAKES: u32 = 1, HANDOFF_NS: u64 = NEVER });
policy!(SlicesOver {
    SLICES: bool = true,
    RETAKES: u32 = 1,
    SLICE_NS: u64 = 0,
    SLICE_MIN_NS: u64 = 0
});
policy!(StealAtomic { ATOMIC_UNLOCK: bool = true, HANDOFF_NS: u64 = NEVER });
policy!(HandOffAtomic { ATOMIC_UNLOCK: bool = true, HANDOFF_NS: u64 = 0 });

struct Shared<W: Policy> {
    mutex: RawMutex<Model, W>,
    section: UnsafeCell<u32>,
}

impl<W: Policy> Shared<W> {
    fn new() -> Arc<Self> {
        Arc::new(Shared { mutex: RawMutex::new(), section: UnsafeCell::new(0) })
    }

    fn section(&self) {
        self.section.with_mut(|n| unsafe { *n += 1 });
    }

    fn locked(&self) {
        self.mutex.lock();
        self.section();
        unsafe { self.mutex.unlock() };
    }

    fn timed(&self) -> bool {
        let got = self.mutex.lock_until(0);
        if got {
            self.section();
            unsafe { self.mutex.unlock() };
        }
        got
    }

    fn fair(&self) {
        self.mutex.lock();
        self.section();
        unsafe { self.mutex.unlock_fair() };
    }

    fn tried(&self) -> bool {
        let got = self.mutex.try_lock();
        if got {
            self.section();
            unsafe { self.mutex.unlock() };
        }
        got
    }
}

type Body<W> = fn(&Shared<W>) -> u32;

/// Runs the bodies in threads of their own; each returns how often it was inside.
fn run<W: Policy + Send + Sync>(preemptions: Option<usize>, bodies: &'static [Body<W>]) {
    model(preemptions, move || {
        let shared = Shared::<W>::new();
        let others: Vec<_> = bodies[1..]
            .iter()
            .map(|body| {
                let shared = shared.clone();
                thread::spawn(move || body(&shared))
            })
            .collect();
        let mut inside = bodies[0](&shared);
        inside += others.into_iter().map(|t| t.join().unwrap()).sum::<u32>();
        // Nobody waits: no record, no request may be left (race 20, invariants I3 and I4).
        assert_eq!(shared.mutex.control(), 0, "something left behind");
        assert!(shared.mutex.try_lock(), "left locked");
        assert_eq!(shared.section.with(|n| unsafe { *n }), inside);
    });
}

fn lock<W: Policy>(s: &Shared<W>) -> u32 {
    s.locked();
    1
}

fn twice<W: Policy>(s: &Shared<W>) -> u32 {
    s.locked();
    s.locked();
    2
}

fn timed<W: Policy>(s: &Shared<W>) -> u32 {
    s.timed().into()
}

fn fair<W: Policy>(s: &Shared<W>) -> u32 {
    s.fair();
    1
}

fn tried<W: Policy>(s: &Shared<W>) -> u32 {
    s.tried().into()
}

macro_rules! models {
    ($($name:ident: $policy:ident, $spinners:literal, $bound:expr, [$($body:ident),*];)*) => {$(
        #[test]
        fn $name() {
            lockwright_platform::model::set_spinner_cap($spinners);
            run::<$policy>($bound, &[$($body),*]);
        }
    )*};
}

models! {
    race_06_unlock_and_sleep_see_each_other: Steal, 0, Some(3), [twice, lock];
    two_threads_hand_off: HandOff, 0, Some(3), [twice, lock];
    two_threads_slices: Slices, 0, Some(3), [twice, lock];
    two_threads_slices_over: SlicesOver, 0, Some(3), [twice, lock];
    two_threads_steal_atomic: StealAtomic, 0, Some(3), [twice, lock];
    two_threads_hand_off_atomic: HandOffAtomic, 0, Some(3), [twice, lock];
    two_threads_fair: Steal, 0, Some(3), [fair, fair];
    two_threads_fair_atomic: StealAtomic, 0, Some(3), [fair, fair];
    race_20_last_waiter_clears_all_flags: Steal, 0, Some(3), [twice, timed];
    race_18_grant_to_a_waiter_that_is_leaving: HandOff, 0, Some(3), [twice, timed];
    two_threads_timed_hand_off_atomic: HandOffAtomic, 0, Some(3), [twice, timed];
    two_threads_try: Steal, 0, Some(3), [twice, tried];
    two_threads_spin: Steal, 1, Some(2), [lock, lock];
    two_threads_spin_in_osq: Steal, 2, Some(2), [lock, lock];
    race_11_cancelled_first_passes_the_baton: Steal, 0, Some(1), [lock, timed, lock];
    race_12_cancelled_request_is_forgotten: HandOff, 0, Some(1), [lock, timed, lock];
    three_threads_steal: Steal, 0, Some(1), [lock, lock, lock];
    race_19_a_thief_leaves_the_request_standing: HandOff, 0, Some(1), [lock, lock, lock];
    three_threads_hand_off_atomic: HandOffAtomic, 0, Some(1), [lock, lock, lock];
    three_threads_slices_over: SlicesOver, 0, Some(1), [lock, lock, lock];
}
