//! The product mutex under the model checker: exclusion (I1), no lost wake-up (I2: loom reports
//! a deadlock), hand-off and cancellation, for each way of unlocking.
#![cfg(loom)]

mod support;

use lockwright_locks::events::Event;
use lockwright_locks::mutex::{Kernel, NEVER, Policy, RawMutex, Switches};
use lockwright_model::Model;
use lockwright_platform::Platform;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use support::{at_night, model, together};

// Each policy states all that matters to a model: no polls before the wait that the model sees,
// no slow polls (a wait by polls), one re-take is enough.
const QUICK: Switches = Switches { retakes: 1, until_resched: false, ..Kernel::SWITCHES };

macro_rules! policy {
    ($name:ident { $($field:ident: $value:expr),* }) => {
        struct $name;
        impl Policy for $name {
            const NAME: &'static str = stringify!($name);
            const SWITCHES: Switches = Switches { $($field: $value,)* ..QUICK };
        }
    };
}

// Time stands still in the model: a first waiter with handoff_ns = 0 asks at once, and a slice of
// 0 ns is over when it begins.
policy!(Steal { handoff_ns: NEVER });
policy!(HandOff { handoff_ns: 0 });
policy!(Slices {
    slices: true,
    slice_ns: 1_000_000,
    round_ns: 1_000_000,
    guests: 0,
    poll_ns: 0,
    handoff_ns: NEVER
});
policy!(SlicesOver { slices: true, guests: 0, poll_ns: 0, handoff_ns: NEVER });
policy!(Guests {
    slices: true,
    slice_ns: 1_000_000,
    round_ns: 1_000_000,
    share_ns: 1_000_000,
    poll_ns: 0,
    handoff_ns: NEVER
});
policy!(GuestsOver { slices: true, poll_ns: 0, handoff_ns: NEVER });
policy!(GuestsAtomic { atomic_unlock: true, slices: true, poll_ns: 0, handoff_ns: NEVER });
policy!(StealAtomic { atomic_unlock: true, handoff_ns: NEVER });
policy!(HandOffAtomic { atomic_unlock: true, handoff_ns: 0 });

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
        let got = self.mutex.lock_until(1);
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
        let inside = together(&shared, bodies).iter().sum::<u32>();
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
    ($($(#[$mark:meta])? $name:ident: $policy:ident, $spinners:literal, $bound:expr, [$($body:ident),*], reaches $($event:ident)*;)*) => {$(
        #[test]
        $(#[$mark])?
        fn $name() {
            lockwright_model::set_spinner_cap($spinners);
            run::<$policy>($bound, &[$($body),*]);
            // A model that never gets to what it is there for proves nothing.
            $(assert!(Model::counted(Event::$event as usize) > 0, "never reached {:?}", Event::$event);)*
        }
    )*};
}

// Columns: policy, threads that may spin, preemptions, what the threads do, what must happen in
// some execution.
models! {
    race_06_unlock_and_sleep_see_each_other: Steal, 0, Some(4), [twice, lock], reaches MutexSleep MutexWake;
    two_threads_hand_off: HandOff, 0, at_night(3, 2), [twice, lock], reaches MutexHandoff;
    two_threads_steal_atomic: StealAtomic, 0, Some(4), [twice, lock], reaches MutexSleep MutexWake;
    two_threads_hand_off_atomic: HandOffAtomic, 0, at_night(3, 2), [twice, lock], reaches MutexHandoff;
    two_threads_slices: Slices, 1, at_night(2, 1), [twice, lock], reaches MutexOptRetaken MutexDoze;
    two_threads_slices_over: SlicesOver, 1, at_night(2, 1), [twice, lock], reaches MutexOptRetaken MutexHandoff;
    two_threads_slices_over_timed: SlicesOver, 1, at_night(2, 1), [twice, timed], reaches MutexOptRetaken;
    a_guest_is_handed_the_lock: Guests, 1, Some(1), [twice, lock], reaches MutexGuest MutexHandoff;
    a_guest_that_gives_up: Guests, 1, Some(2), [twice, timed], reaches MutexGuest MutexLockFail;
    a_guest_of_an_atomic_unlock: GuestsAtomic, 1, at_night(2, 1), [twice, lock], reaches MutexGuest;
    a_guest_sleeps: GuestsOver, 0, Some(2), [twice, twice], reaches MutexGuest MutexSleep;
    #[ignore = "minutes: the nightly job"]
    a_guest_is_handed_the_lock_in_time: Guests, 1, Some(2), [twice, lock], reaches MutexGuest MutexHandoff;
    #[ignore = "minutes: the nightly job"]
    a_guest_comes_before_a_hog: Guests, 1, Some(1), [twice, lock, lock], reaches MutexGuest;
    #[ignore = "minutes: the nightly job"]
    a_displaced_waiter_is_served: GuestsOver, 1, Some(1), [twice, lock, lock], reaches MutexGuest;
    // The plain form has not been seen to hand off here; it is checked for exclusion and progress.
    two_threads_fair: Steal, 0, Some(3), [fair, fair], reaches;
    two_threads_fair_atomic: StealAtomic, 0, Some(4), [fair, fair], reaches MutexHandoff;
    race_20_last_waiter_clears_all_flags: Steal, 0, Some(4), [twice, timed], reaches MutexLockFail;
    race_18_grant_to_a_waiter_that_is_leaving: HandOff, 0, at_night(3, 2), [twice, timed], reaches MutexHandoff MutexLockFail;
    two_threads_timed_hand_off_atomic: HandOffAtomic, 0, at_night(3, 2), [twice, timed], reaches MutexHandoff MutexLockFail;
    two_threads_try: Steal, 0, Some(4), [twice, tried], reaches;
    two_threads_spin: Steal, 1, Some(2), [lock, lock], reaches MutexOptLock;
    two_threads_spin_in_osq: Steal, 2, Some(2), [lock, lock], reaches OsqHead MutexOptLock;
    race_11_cancelled_first_passes_the_baton: Steal, 0, at_night(3, 2), [lock, timed, lock], reaches MutexLockFail MutexWake;
    race_12_cancelled_request_is_forgotten: HandOff, 0, at_night(3, 1), [lock, timed, lock], reaches MutexLockFail MutexHandoff;
    three_threads_steal: Steal, 0, Some(2), [lock, lock, lock], reaches MutexWake;
    race_19_a_thief_leaves_the_request_standing: HandOff, 0, at_night(3, 1), [lock, lock, lock], reaches MutexHandoff;
    three_threads_hand_off_atomic: HandOffAtomic, 0, at_night(3, 2), [lock, lock, lock], reaches MutexHandoff;
}
