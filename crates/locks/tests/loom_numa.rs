//! Queues of spinners parted by domain, under the model checker. Invariant I7 as for the OSQ: one head at a
//! time, nobody is lost; and no entry is left behind.
//!
//! Hazards of the design of 2024, by their numbers in the specification: N1 a start that is lost, N2 an old
//! mode that is acted upon, N3 an entry that has been used for another lock meanwhile, N4 a mode that is told wrongly,
//! N5 waits that cannot be left, N6 a depth that is told wrongly, N9 a lock that goes while its queues are parted.
#![cfg(loom)]

mod support;

use lockwright_locks::events::Event;
use lockwright_locks::mcs::Missed;
use lockwright_locks::osq::Osq;
use lockwright_locks::record::Record;
use lockwright_model::{ALL_ENTRIES, Model, free_entries, set_domains, set_numa};
use lockwright_platform::{Numa, NumaMode, Platform, Until};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use support::{at_night, model, together};

struct Shared {
    osqs: [Osq<Model>; 2],
    /// Only the head of the queue touches it: loom reports a second head as a race.
    sections: [UnsafeCell<u32>; 2],
}

/// Queues are parted as soon as somebody waits.
const ON: Numa = Numa { mode: NumaMode::On, ..Numa::OFF };
/// The same, and joined as soon as a domain has nobody else.
const TO_AND_FRO: Numa =
    Numa { mode: NumaMode::Dynamic, depth: 0, keep: 0, idle_ns: 0, ..Numa::OFF };
/// A domain has one turn at a time.
const ONE_TURN: Numa = Numa { batch: 1, ..ON };
/// A domain's time is over at once.
const NO_TIME: Numa = Numa { batch_ns: 0, ..ON };

type Body = fn(&Shared) -> [u32; 2];

/// Whether the thread had the turn, as a number.
fn visit(s: &Shared, lock: usize, until: Until) -> u32 {
    let me = Model::enter().unwrap();
    let seat = match s.osqs[lock].join(&me, until, u32::MAX, || true) {
        Ok(seat) => seat,
        Err(missed) => {
            let patient = until.deadline.is_none();
            assert!(missed != Missed::Gone || !patient, "a waiter without deadline left");
            return 0;
        }
    };
    s.sections[lock].with_mut(|n| unsafe { *n += 1 });
    if s.osqs[lock].leave(&me, seat) {
        // Nobody gets in while it is closed.
        s.sections[lock].with_mut(|_| ());
        s.osqs[lock].open();
    }
    1
}

fn patient(s: &Shared) -> [u32; 2] {
    [visit(s, 0, Until::CHANGED), 0]
}

fn twice(s: &Shared) -> [u32; 2] {
    [patient(s)[0] + patient(s)[0], 0]
}

fn hasty(s: &Shared) -> [u32; 2] {
    [visit(s, 0, Until::CHANGED.deadline(0)), 0]
}

fn hasty_twice(s: &Shared) -> [u32; 2] {
    [hasty(s)[0] + hasty(s)[0], 0]
}

fn hasty_then_patient(s: &Shared) -> [u32; 2] {
    [hasty(s)[0] + patient(s)[0], 0]
}

fn both_locks(s: &Shared) -> [u32; 2] {
    [visit(s, 0, Until::CHANGED), visit(s, 1, Until::CHANGED)]
}

/// Whether the first lock's queue is parted from the beginning, and has a user that keeps it open.
#[derive(Copy, Clone, PartialEq)]
enum Start {
    Parted,
    Whole,
}
use Start::{Parted, Whole};

fn run(
    preemptions: Option<usize>,
    domains: u16,
    numa: Numa,
    start: Start,
    bodies: &'static [Body],
) {
    set_domains(domains);
    set_numa(numa);
    model(preemptions, move || {
        let osq = |_| Record::<Model>::at(Model::claim_lock_record().unwrap()).osq();
        let osqs = std::array::from_fn(osq);
        let shared = Arc::new(Shared { osqs, sections: Default::default() });
        if start == Parted {
            assert!(shared.osqs[0].add_user(|| true));
            shared.osqs[0].part_now();
        }
        let heads = together(&shared, bodies);
        if start == Parted && shared.osqs[0].drop_user_or_close() {
            shared.osqs[0].open();
        }
        for lock in 0..2 {
            let heads = heads.iter().map(|heads| heads[lock]).sum::<u32>();
            assert_eq!(shared.sections[lock].with(|n| unsafe { *n }), heads);
            assert!(!shared.osqs[lock].has_spinner(), "queue left behind");
            // Every node is free again; the last to leave closes the word.
            assert_eq!(visit(&shared, lock, Until::CHANGED), 1, "a node is lent to an empty queue");
        }
        assert_eq!(free_entries(), ALL_ENTRIES, "an entry was left behind");
    });
}

// Columns: domains, settings, how it begins, preemptions, what the threads do, what must happen in some execution.
macro_rules! models {
    ($($(#[$attr:meta])* $name:ident: $domains:literal, $numa:ident, $start:ident, $bound:expr, [$($body:ident),*], reaches $($event:ident)*;)*) => {$(
        $(#[$attr])*
        #[test]
        fn $name() {
            run($bound, $domains, $numa, $start, &[$($body),*]);
            // A model that never gets to what it is there for proves nothing.
            $(assert!(Model::counted(Event::$event as usize) > 0, "never reached {:?}", Event::$event);)*
        }
    )*};
}

models! {
    two_domains: 2, ON, Whole, Some(3), [twice, twice], reaches NumaPart NumaRemote NumaEntryFree;
    two_domains_parted: 2, ON, Parted, Some(3), [twice, twice], reaches NumaRemote NumaEntryFree;
    one_domain_parted: 1, ON, Parted, Some(3), [twice, twice], reaches NumaLocal NumaRemote NumaEntryFree;
    two_domains_one_turn: 2, ONE_TURN, Whole, Some(3), [twice, twice], reaches NumaPart NumaBatchCount;
    one_domain_one_turn: 1, ONE_TURN, Parted, Some(3), [twice, twice], reaches NumaBatchCount;
    one_domain_no_time: 1, NO_TIME, Parted, Some(2), [twice, twice], reaches NumaBatchTime NumaRemote;
    n01_a_start_is_not_lost_with_a_waiter_that_goes: 1, ON, Whole, Some(3), [twice, hasty_twice], reaches NumaPart OsqUnqueue;
    n02_an_old_word_is_still_a_queue: 2, TO_AND_FRO, Whole, Some(3), [twice, twice], reaches NumaPart NumaJoin NumaEntryFree;
    n02_an_old_word_is_still_a_queue_in_one_domain: 1, TO_AND_FRO, Parted, Some(3), [twice, patient], reaches NumaJoin NumaLocal;
    n03_an_entry_that_another_lock_has: 1, ON, Whole, Some(2), [both_locks, both_locks], reaches NumaPart NumaEntryFree;
    n04_modes_go_to_and_fro_beside_waiters: 2, TO_AND_FRO, Whole, Some(2), [patient, twice, patient], reaches NumaPart NumaJoin;
    n05_both_levels_can_be_left: 2, ON, Parted, Some(2), [patient, hasty, hasty_then_patient], reaches NumaLocal OsqUnqueue;
    n06_depth_beside_nodes_not_written_yet: 2, TO_AND_FRO, Whole, Some(2), [patient, patient, patient], reaches NumaPart;
    n09_the_last_leaves_a_parted_queue: 2, ON, Whole, Some(3), [twice, hasty_then_patient], reaches NumaPart NumaEntryFree;
    three_threads_parted: 2, ON, Parted, Some(2), [patient, patient, patient], reaches NumaLocal NumaRemote;
    three_threads_in_one_domain: 1, ON, Parted, Some(2), [patient, patient, hasty], reaches NumaLocal OsqUnqueue;
    three_threads_go_to_and_fro: 2, TO_AND_FRO, Parted, at_night(2, 1), [patient, patient, hasty], reaches NumaJoin NumaEntryFree;
}
