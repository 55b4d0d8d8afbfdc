//! The reader-writer semaphore under the model checker: exclusion (I1), no lost wake-up (I2: loom
//! reports a deadlock), nothing left behind (I3, I4), for the default and the stages 5.3 and 5.11.
#![cfg(loom)]

mod support;

use lockwright_locks::events::Event;
use lockwright_locks::rwsem::RawRwLock;
use lockwright_locks::rwsem::count::READERS;
use lockwright_locks::rwsem::policy::{
    Admission, EarlyTransfer, Fifo, NEVER, Policy, Standard, Switches, UserWaits, V5_3, V5_11,
    Waits,
};
use lockwright_model::Model;
use lockwright_platform::Platform;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use support::{at_night, model, together};

// Time stands still in the model: a waiter with handoff_ns = 0 asks at its first look. No polls
// before the wait that the model sees. `Counted`: readers count themselves in first, as the kernel's; the
// models of three threads would take minutes with the product's readers, which look before. `Guest`: who has not
// used up its share asks at once, a hog never does; `GuestLate`: everybody is late at once.
macro_rules! policies {
    ($($name:ident: $base:ident, $handoff:expr, $doze:expr, $counts_first:expr, $guest:expr;)*) => {$(
        struct $name;
        impl Policy for $name {
            const NAME: &'static str = stringify!($name);
            const STAGE: &'static str = "model";
            const SWITCHES: Switches = Switches {
                admission: Admission { handoff_ns: $handoff, ..$base::SWITCHES.admission },
                user: UserWaits {
                    doze_ns: $doze,
                    handoff_from_readers: $doze != NEVER,
                    eager_polls: 0,
                    yields: 0,
                    guest_ns: $guest,
                    counts_first: $counts_first,
                    ..$base::SWITCHES.user
                },
                ..$base::SWITCHES
            };
        }
    )*};
}

policies! {
    Steal: Standard, NEVER, NEVER, false, NEVER;
    StealCounted: Standard, NEVER, NEVER, true, NEVER;
    HandOff: Standard, 0, NEVER, false, NEVER;
    HandOffCounted: Standard, 0, NEVER, true, NEVER;
    Reader53: V5_3, NEVER, NEVER, true, NEVER;
    HandOff53: V5_3, 0, NEVER, true, NEVER;
    HandOff511: V5_11, 0, NEVER, true, NEVER;
    Transfer: EarlyTransfer, NEVER, NEVER, true, NEVER;
    Doze: Standard, NEVER, 1, false, NEVER;
    DozeCounted: Standard, NEVER, 1, true, NEVER;
    Strict: Fifo, NEVER, NEVER, true, NEVER;
    Guest: Standard, 1_000, NEVER, true, 1_000;
    GuestDoze: Standard, 1_000, 1, true, 1_000;
    GuestLate: Standard, 0, NEVER, true, 1_000;
}

/// Writers that wait awake for readers, and spin in no other way.
struct Quiet;
impl Policy for Quiet {
    const NAME: &'static str = "Quiet";
    const STAGE: &'static str = "model";
    const SWITCHES: Switches = Switches {
        waits: Waits { writers_spin: false, ..Doze::SWITCHES.waits },
        user: UserWaits { first_waiter_spins: 0, ..Doze::SWITCHES.user },
        ..Doze::SWITCHES
    };
}

/// The rule for real-time tasks: no long spin on a held lock without an owner.
struct RealTime;
impl Policy for RealTime {
    const NAME: &'static str = "RealTime";
    const STAGE: &'static str = "model";
    const SWITCHES: Switches = Switches {
        waits: Waits { null_owner_tries: 1, ..HandOff53::SWITCHES.waits },
        ..HandOff53::SWITCHES
    };
}

struct Shared<W: Policy> {
    lock: RawRwLock<Model, W>,
    section: UnsafeCell<u32>,
}

impl<W: Policy> Shared<W> {
    fn look(&self) {
        self.section.with(|n| unsafe { assert!(*n < 100) });
    }

    fn step(&self) {
        self.section.with_mut(|n| unsafe { *n += 1 });
    }
}

/// Each returns how often it wrote.
type Body<W> = fn(&Shared<W>) -> u32;

fn run<W: Policy + Send + Sync>(preemptions: Option<usize>, bodies: &'static [Body<W>]) {
    model(preemptions, move || {
        let shared = Arc::new(Shared::<W> { lock: RawRwLock::new(), section: UnsafeCell::new(0) });
        let writes = together(&shared, bodies).iter().sum::<u32>();
        assert_eq!(shared.lock.count(), 0, "a count or a flag was left behind");
        assert_eq!(shared.lock.control(), 0, "a record was left behind");
        assert_eq!(shared.section.with(|n| unsafe { *n }), writes);
    });
}

fn read<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.read();
    s.look();
    unsafe { s.lock.unlock_read() };
    0
}

fn write<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.write();
    s.step();
    unsafe { s.lock.unlock_write() };
    1
}

fn write_read<W: Policy>(s: &Shared<W>) -> u32 {
    write(s) + read(s)
}

fn write_write<W: Policy>(s: &Shared<W>) -> u32 {
    write(s) + write(s)
}

/// The same of threads that have used up their share.
fn hog_writes<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.use_up();
    write(s)
}

fn hog_reads<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.use_up();
    read(s)
}

fn read_read<W: Policy>(s: &Shared<W>) -> u32 {
    read(s) + read(s)
}

fn timed_read<W: Policy>(s: &Shared<W>) -> u32 {
    if s.lock.read_until(1) {
        s.look();
        unsafe { s.lock.unlock_read() };
    }
    0
}

fn timed_write<W: Policy>(s: &Shared<W>) -> u32 {
    let got = s.lock.write_until(1);
    if got {
        s.step();
        unsafe { s.lock.unlock_write() };
    }
    got.into()
}

fn tried<W: Policy>(s: &Shared<W>) -> u32 {
    if s.lock.try_read() {
        s.look();
        unsafe { s.lock.unlock_read() };
    }
    let got = s.lock.try_write();
    if got {
        s.step();
        unsafe { s.lock.unlock_write() };
    }
    got.into()
}

fn write_fair<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.write();
    s.step();
    unsafe { s.lock.unlock_write_fair() };
    1
}

fn read_fair<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.read();
    s.look();
    unsafe { s.lock.unlock_read_fair() };
    0
}

fn downgrade<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.write();
    s.step();
    unsafe { s.lock.downgrade() };
    s.look();
    unsafe { s.lock.unlock_read() };
    1
}

/// What was seen before the upgrade holds after it.
fn upgrade<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.read_upgradable();
    let before = s.section.with(|n| unsafe { *n });
    unsafe { s.lock.upgrade() };
    assert_eq!(s.section.with(|n| unsafe { *n }), before, "a writer came in between");
    s.step();
    unsafe { s.lock.unlock_write() };
    1
}

fn timed_upgrade<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.read_upgradable();
    s.look();
    if unsafe { s.lock.upgrade_until(1) } {
        s.step();
        unsafe { s.lock.unlock_write() };
        1
    } else {
        s.look();
        unsafe { s.lock.unlock_upgradable() };
        0
    }
}

fn upgradable<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.read_upgradable();
    s.look();
    unsafe { s.lock.unlock_upgradable() };
    0
}

/// From writing to reading by way of upgradable.
fn step_down<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.write();
    s.step();
    unsafe { s.lock.downgrade_to_upgradable() };
    s.look();
    unsafe { s.lock.downgrade_upgradable() };
    s.look();
    unsafe { s.lock.unlock_read() };
    1
}

/// A fork in a writer's section must find no reader in the count that is about to back out.
fn write_alone<W: Policy>(s: &Shared<W>) -> u32 {
    let no_reader = || assert_eq!(s.lock.count() & READERS, 0, "a reader is counted");
    s.lock.write();
    no_reader();
    s.step();
    no_reader();
    unsafe { s.lock.unlock_write() };
    1
}

/// A second read beside a writer that waits.
fn read_twice_at_once<W: Policy>(s: &Shared<W>) -> u32 {
    s.lock.read();
    s.lock.read_recursive();
    s.look();
    unsafe {
        s.lock.unlock_read();
        s.lock.unlock_read();
    }
    0
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
    two_writers: Steal, 0, at_night(4, 3), [write_write, write], reaches RwsemSleepWriter RwsemWakeWriter RwsemWlock;
    race_09_a_reader_acquires_at_every_exit: Steal, 0, at_night(4, 3), [write_write, read], reaches RwsemRlock RwsemWakeReader;
    reader_and_writer: Steal, 0, Some(4), [read_read, write], reaches RwsemWlock;
    race_20_the_last_waiter_clears_the_flags_read: Steal, 0, at_night(4, 3), [write_write, timed_read], reaches RwsemRlockFail;
    race_20_the_last_waiter_clears_the_flags_write: HandOff, 0, at_night(4, 3), [write_write, timed_write], reaches RwsemWlockFail RwsemWlockHandoff;
    two_threads_try: Steal, 0, Some(4), [write_read, tried], reaches;
    two_threads_downgrade: Steal, 0, Some(4), [downgrade, write_read], reaches;
    two_threads_step_down: Steal, 0, Some(4), [step_down, write_read], reaches;
    two_threads_fair: Steal, 0, Some(4), [write_fair, write_fair], reaches RwsemWlock;
    the_last_of_two_readers_passes_on: StealCounted, 0, at_night(3, 2), [read, read_fair, write], reaches RwsemWlock;
    a_thief_joins_those_that_a_writer_passes_on_to: HandOff511, 0, Some(2), [write_fair, read, read], reaches RwsemRlock;
    fair_writer_to_reader: Steal, 0, Some(4), [write_fair, read_fair], reaches RwsemRlock;
    two_threads_upgrade: Steal, 0, Some(4), [upgrade, read_read], reaches;
    upgrade_and_write: HandOff, 0, Some(4), [upgrade, write], reaches RwsemWlock;
    two_upgrades: Steal, 0, Some(4), [upgrade, upgrade], reaches RwsemRlock;
    timed_upgrade_leaves_the_hold: Steal, 0, Some(4), [timed_upgrade, read], reaches RwsemWlockFail;
    a_second_read_passes_a_waiting_writer: HandOff, 0, Some(4), [read_twice_at_once, write], reaches RwsemWlock;
    race_10_a_request_is_cleared_once: HandOff, 0, at_night(4, 3), [write_write, write], reaches RwsemWlockHandoff;
    race_16_readers_leave_and_a_writer_asks: HandOff, 0, Some(4), [read_read, write], reaches RwsemWlockHandoff;
    readers_hand_off: HandOffCounted, 0, Some(3), [write, tried, read], reaches RwsemRlockHandoff;
    a_doze_ends_by_its_timer: DozeCounted, 0, at_night(3, 2), [write, tried, write], reaches RwsemSleepWriter RwsemWlock;
    a_doze_takes_nothing_from_the_others: DozeCounted, 0, Some(2), [write, write, read], reaches RwsemSleepWriter;
    a_cancelled_doze_asks_for_the_next: DozeCounted, 0, at_night(3, 2), [write, timed_write, read], reaches RwsemWlockFail;
    a_quiet_writer_asks_before_it_sleeps: Quiet, 1, at_night(3, 2), [write, tried, read], reaches RwsemSleepWriter RwsemWlock;
    b07_a_writer_is_alone_in_the_count: HandOff, 0, Some(4), [write_alone, read_read], reaches RwsemRlock;
    #[ignore = "minutes: the nightly job"]
    b07_a_writer_is_alone_beside_a_reader_that_gives_up: Doze, 0, Some(2), [write_alone, timed_read, read], reaches RwsemRlockFail;
    b07_a_writer_is_alone_beside_a_thief: Steal, 2, Some(2), [write_alone, tried], reaches;
    strict_fifo: Strict, 0, Some(4), [write_write, write], reaches RwsemWlock;
    strict_fifo_readers: Strict, 0, Some(4), [write_read, write_read], reaches RwsemWlock RwsemRlock;
    early_transfer: Transfer, 0, at_night(4, 3), [write_write, write], reaches RwsemWlock;
    early_transfer_after_readers: Transfer, 0, at_night(3, 2), [read, write, read], reaches RwsemWlock;
    writers_spin: Steal, 2, Some(2), [write, write], reaches OsqHead RwsemOptLock;
    readers_spin_53: Reader53, 2, Some(2), [write, read], reaches OsqHead RwsemOptRlock;
    a_downgrade_lets_a_reader_in_whose_spin_failed: Reader53, 2, Some(2), [downgrade, read], reaches RwsemOptRlock2;
    a_reader_backs_out_beside_a_request: HandOff53, 2, Some(2), [read, write, read], reaches RwsemWlockHandoff RwsemOptRlock;
    a_reader_backs_out_beside_an_upgrade: HandOff53, 2, Some(2), [upgrade, read], reaches RwsemOptRlock;
    writers_spin_53: HandOff53, 2, Some(2), [write, write_read], reaches RwsemOptLock;
    race_14_null_owner_tries_end_a_spin: RealTime, 2, Some(2), [write_write, write], reaches RwsemOptLock RwsemOptFail;
    v53_sleeps: HandOff53, 0, Some(4), [write_read, write_read], reaches RwsemRlock RwsemWlock;
    v511_sleeps: HandOff511, 0, Some(4), [write_read, write_read], reaches RwsemRlock RwsemWlock;
    v53_downgrade: HandOff53, 0, Some(3), [downgrade, write_read], reaches RwsemWlock;
    v53_upgrade: HandOff53, 0, Some(3), [upgrade, write], reaches RwsemWlock;
    v53_timed_read: HandOff53, 0, Some(3), [write_write, timed_read], reaches RwsemRlockFail;
    v53_timed_write: HandOff53, 0, Some(3), [write_write, timed_write], reaches RwsemWlockFail RwsemWlockHandoff;
    v53_timed_upgrade: HandOff53, 0, Some(3), [timed_upgrade, read], reaches RwsemWlockFail;
    v511_downgrade: HandOff511, 0, Some(3), [downgrade, write_read], reaches RwsemWlock;
    v511_upgrade: HandOff511, 0, Some(3), [upgrade, write], reaches RwsemWlock;
    v511_timed_read: HandOff511, 0, Some(3), [write_write, timed_read], reaches RwsemRlockFail;
    v511_timed_write: HandOff511, 0, Some(3), [write_write, timed_write], reaches RwsemWlockFail RwsemWlockHandoff;
    v511_timed_upgrade: HandOff511, 0, Some(3), [timed_upgrade, read], reaches RwsemWlockFail;
    race_08_a_grant_counts_all_before_any_runs: StealCounted, 0, at_night(3, 2), [write, read, read], reaches RwsemWakeReader;
    race_11_a_cancelled_first_reader_wakes_the_next: StealCounted, 0, Some(2), [write, timed_read, read], reaches RwsemRlockFail;
    race_11_a_cancelled_first_writer_wakes_the_next: StealCounted, 0, Some(2), [read, timed_write, read], reaches RwsemWlockFail;
    race_12_a_cancelled_request_is_forgotten: HandOff, 0, at_night(2, 1), [write, timed_write, write], reaches RwsemWlockFail RwsemWlockHandoff;
    race_18_a_grant_meets_a_cancellation: Transfer, 0, Some(3), [write_write, timed_write], reaches RwsemWlockFail RwsemWlock;
    race_19_a_thief_leaves_the_request_standing: HandOff, 0, Some(2), [write, write, write], reaches RwsemWlockHandoff;
    three_readers_and_writers: StealCounted, 0, Some(2), [read, write, read], reaches RwsemWlock;
    three_with_upgrade: HandOffCounted, 0, Some(2), [upgrade, read, write], reaches;
    three_with_downgrade: StealCounted, 0, Some(2), [downgrade, read, write], reaches;
    three_upgradables: StealCounted, 0, Some(2), [upgradable, upgradable, read], reaches RwsemRlock;
    three_53: HandOff53, 0, Some(2), [read, write, read], reaches RwsemWlock;
    three_511: HandOff511, 0, Some(2), [read, write, read], reaches RwsemWlock;
    three_53_with_upgrade: HandOff53, 0, Some(2), [upgrade, read, write], reaches;
    three_53_with_downgrade: HandOff53, 0, Some(2), [downgrade, read, write], reaches;
    three_53_with_timeouts: HandOff53, 0, Some(2), [write, timed_write, timed_read], reaches RwsemRlockFail RwsemWlockFail;
    three_511_with_upgrade: HandOff511, 0, at_night(2, 1), [upgrade, read, write], reaches;
    three_511_with_downgrade: HandOff511, 0, Some(2), [downgrade, read, write], reaches;
    three_511_with_timeouts: HandOff511, 0, Some(2), [write, timed_write, timed_read], reaches RwsemRlockFail RwsemWlockFail;
    a_guest_stands_before_a_hog: Guest, 0, Some(2), [write, hog_writes, write], reaches RwsemGuest RwsemWlockHandoff;
    a_guest_reads_before_a_hog: Guest, 0, Some(2), [write, hog_writes, read], reaches RwsemGuest RwsemRlock;
    a_guest_writes_before_a_reader: Guest, 0, Some(2), [write, hog_reads, write], reaches RwsemGuest RwsemRlock;
    a_guest_that_gives_up_leaves_the_first_what_it_had: Guest, 0, Some(2), [write, hog_writes, timed_write], reaches RwsemGuest RwsemWlockFail;
    a_guest_before_a_writer_that_dozes: GuestDoze, 0, Some(2), [write, hog_writes, read], reaches RwsemGuest RwsemSleepWriter;
    a_guest_asks_for_a_first_that_is_late: GuestLate, 0, Some(2), [write, hog_writes, write], reaches RwsemWlockHandoff;
    a_guest_beside_an_upgrade: Guest, 0, at_night(2, 1), [upgrade, hog_writes, write], reaches;
    a_guest_reader_spins: Guest, 2, Some(2), [write_write, read], reaches RwsemRlock;
    #[ignore = "minutes: the nightly job"]
    readers_hand_off_by_exchange: HandOff, 0, Some(3), [write, tried, read], reaches RwsemRlockHandoff;
    #[ignore = "minutes: the nightly job"]
    race_08_a_grant_counts_all_before_any_runs_by_exchange: Steal, 0, Some(3), [write, read, read], reaches RwsemWakeReader;
    #[ignore = "minutes: the nightly job"]
    three_with_downgrade_by_exchange: Steal, 0, Some(2), [downgrade, read, write], reaches;
}
