//! The reader-biased lock under the model checker: exclusion, no lost wake-up of a revoking writer
//! (loom reports a deadlock), nothing left behind, and that the bias comes back.
#![cfg(loom)]

mod support;

use lockwright_locks::biased::RawBiasedRwLock;
use lockwright_locks::events::Event;
use lockwright_locks::rwsem::policy::{Admission, NEVER, Policy, Standard, Switches, UserWaits};
use lockwright_model::Model;
use lockwright_platform::{CELLS, Platform};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use support::{at_night, model, together};

/// The default without what time decides, which stands still in the model.
struct Plain;

impl Policy for Plain {
    const NAME: &'static str = "plain";
    const STAGE: &'static str = "model";
    const SWITCHES: Switches = Switches {
        admission: Admission { handoff_ns: NEVER, ..Standard::SWITCHES.admission },
        user: UserWaits {
            doze_ns: NEVER,
            handoff_from_readers: false,
            eager_polls: 0,
            yields: 0,
            guest_ns: NEVER,
            ..Standard::SWITCHES.user
        },
        ..Standard::SWITCHES
    };
}

struct Shared {
    lock: RawBiasedRwLock<Model, Plain, 0>,
    section: UnsafeCell<u32>,
    /// Another lock, biased as well, whose readers use the same cells.
    other: RawBiasedRwLock<Model, Plain, 0>,
}

impl Shared {
    fn look(&self) {
        self.section.with(|n| unsafe { assert!(*n < 100) });
    }

    fn step(&self) {
        self.section.with_mut(|n| unsafe { *n += 1 });
    }
}

/// Each returns how often it wrote.
type Body = fn(&Shared) -> u32;

/// `biased`: the bias is on at the start, turned on by the first body's thread.
fn run(preemptions: Option<usize>, biased: bool, bodies: &'static [Body]) {
    model(preemptions, move || {
        let shared = Arc::new(Shared {
            lock: RawBiasedRwLock::new(),
            section: UnsafeCell::new(0),
            other: RawBiasedRwLock::new(),
        });
        if biased {
            read(&shared);
            assert!(shared.lock.is_biased());
            // So that the other lock's period, when it comes, has the same cell.
            while (Model::unique_id() + 1) as usize % CELLS != 1 {}
        }
        let writes = together(&shared, bodies).iter().sum::<u32>();
        assert!(!shared.lock.is_locked(), "a hold was left behind");
        assert_eq!(shared.lock.base().count(), 0, "a count or a flag was left behind");
        assert_eq!(shared.lock.base().control(), 0, "a record was left behind");
        assert_eq!(shared.section.with(|n| unsafe { *n }), writes);
        // Whatever happened, a writer gets in.
        assert!(shared.lock.try_write());
        unsafe { shared.lock.unlock_write() };
    });
}

fn read(s: &Shared) -> u32 {
    let reading = s.lock.read();
    s.look();
    unsafe { s.lock.unlock_read(reading) };
    0
}

fn write(s: &Shared) -> u32 {
    s.lock.write();
    s.step();
    unsafe { s.lock.unlock_write() };
    1
}

fn read_read(s: &Shared) -> u32 {
    read(s) + read(s)
}

fn write_read(s: &Shared) -> u32 {
    write(s) + read(s)
}

fn write_write(s: &Shared) -> u32 {
    write(s) + write(s)
}

fn write_read_read(s: &Shared) -> u32 {
    write(s) + read_read(s)
}

fn tried(s: &Shared) -> u32 {
    if let Some(reading) = s.lock.try_read() {
        s.look();
        unsafe { s.lock.unlock_read(reading) };
    }
    let got = s.lock.try_write();
    if got {
        s.step();
        unsafe { s.lock.unlock_write() };
    }
    got.into()
}

fn timed_write(s: &Shared) -> u32 {
    let got = s.lock.write_until(1);
    if got {
        s.step();
        unsafe { s.lock.unlock_write() };
    }
    got.into()
}

fn timed_write_read_write(s: &Shared) -> u32 {
    timed_write(s) + read(s) + write(s)
}

/// A second read while a writer waits for the first.
fn read_twice_at_once(s: &Shared) -> u32 {
    let first = s.lock.read();
    let second = s.lock.read_recursive();
    s.look();
    unsafe { s.lock.unlock_read(first) };
    s.look();
    unsafe { s.lock.unlock_read(second) };
    0
}

/// What was seen before the upgrade holds after it.
fn upgrade(s: &Shared) -> u32 {
    s.lock.read_upgradable();
    let before = s.section.with(|n| unsafe { *n });
    unsafe { s.lock.upgrade() };
    assert_eq!(s.section.with(|n| unsafe { *n }), before, "a writer came in between");
    s.step();
    unsafe { s.lock.unlock_write() };
    1
}

fn try_upgrade(s: &Shared) -> u32 {
    s.lock.read_upgradable();
    s.look();
    let got = unsafe { s.lock.try_upgrade() };
    if got {
        s.step();
        unsafe { s.lock.unlock_write() };
    } else {
        s.look();
        unsafe { s.lock.unlock_upgradable() };
    }
    got.into()
}

fn downgrade(s: &Shared) -> u32 {
    s.lock.write();
    s.step();
    let reading = unsafe { s.lock.downgrade() };
    s.look();
    unsafe { s.lock.unlock_read(reading) };
    1
}

/// The cell that named this lock names another when the writer looks.
fn read_then_the_other(s: &Shared) -> u32 {
    read(s);
    for _ in 0..2 {
        let reading = s.other.read();
        unsafe { s.other.unlock_read(reading) };
    }
    0
}

macro_rules! models {
    ($($(#[$attr:meta])* $name:ident: $biased:literal, $bound:expr, [$($body:ident),*], reaches $($event:ident)*;)*) => {$(
        $(#[$attr])*
        #[test]
        fn $name() {
            run($bound, $biased, &[$($body),*]);
            // A model that never gets to what it is there for proves nothing.
            $(assert!(Model::counted(Event::$event as usize) > 0, "never reached {:?}", Event::$event);)*
        }
    )*};
}

// Columns: the bias is on at the start, preemptions, what the threads do, what must happen in some
// execution.
models! {
    a_publication_meets_a_revocation: true, Some(4), [read, write], reaches RwsemBiasOff RwsemBiasSleep;
    a_leaving_reader_wakes_the_writer: true, Some(4), [write, read_read], reaches RwsemBiasSleep;
    the_bias_comes_back: true, at_night(3, 2), [write_read_read, read_read], reaches RwsemBiasOn RwsemBiasOff;
    the_bias_comes_first: false, at_night(4, 3), [read_read, write_read], reaches RwsemBiasOn;
    two_writers_and_the_bias: true, Some(3), [write_write, write_read], reaches RwsemBiasOff;
    tries: true, Some(4), [tried, read_read], reaches RwsemBiasFail;
    tries_on_both_sides: true, Some(3), [tried, tried], reaches RwsemBiasOff;
    #[ignore = "minutes: the nightly job"]
    a_writer_that_gave_up_leaves_the_readers_known: true, Some(2), [timed_write_read_write, read_read], reaches RwsemBiasFail RwsemBiasSleep;
    a_second_read_passes_a_writer_that_waits: true, Some(4), [read_twice_at_once, write], reaches RwsemBiasSleep;
    an_upgrade_expels: true, Some(3), [upgrade, read_read], reaches RwsemBiasOff RwsemBiasSleep;
    an_upgrade_that_fails_leaves_the_hold: true, Some(4), [try_upgrade, read], reaches RwsemBiasFail;
    a_downgrade_beside_readers: true, Some(3), [downgrade, read_read], reaches RwsemBiasOff;
    a_cell_that_names_another_lock: true, Some(3), [write, read_then_the_other], reaches RwsemBiasOff;
    a_writer_that_waits_ends_the_bias: false, Some(2), [read_read, write], reaches RwsemBiasOn RwsemBiasOff;
    a_try_beside_a_writer_that_has_ended_the_bias: false, at_night(2, 1), [read_read, write, tried], reaches RwsemBiasOn RwsemBiasFail;
    two_readers_and_a_writer: true, at_night(2, 1), [read, write, read], reaches RwsemBiasOff RwsemBiasSleep;
    #[ignore = "minutes: the nightly job"]
    two_writers_and_a_reader: true, Some(2), [write, read, write], reaches RwsemBiasOff RwsemBiasSleep;
    #[ignore = "minutes: the nightly job"]
    two_writers_one_gives_up: true, Some(2), [timed_write, read, write], reaches RwsemBiasFail;
    #[ignore = "minutes: the nightly job"]
    a_repeated_read_and_two_writers: true, Some(2), [write, read_twice_at_once, tried], reaches RwsemBiasSleep;
}
