//! What a stage of the kernel's series does where the next does otherwise, event by event, on a
//! simulated machine, where it can be told who comes when.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use lockwright_locks::events::Event;
use lockwright_locks::rwsem::RawRwLock;
use lockwright_locks::rwsem::policy::{
    Admission, Policy, ReaderSpin, Switches, TimedSpin, Waits, WakeAll,
};
use lockwright_platform::Platform;
use lockwright_sim::{Machine, Outcome, Placement, Setup, Sim, run, without_preemption};

#[repr(align(64))]
struct Alone<W: Policy>(RawRwLock<Sim, W>);

/// A run of these threads, a CPU each.
fn outcome(threads: Vec<Box<dyn FnOnce()>>) -> Outcome {
    let machine = Machine::built_in().into_iter().find(|m| m.name == "skylake-2s").unwrap();
    let setup = Setup {
        placement: Placement::Numbered,
        bound: true,
        limit: Duration::from_secs(1),
        ..Setup::default()
    };
    run(&machine, setup, threads).unwrap()
}

/// How often each event happens in it.
fn counters(threads: Vec<Box<dyn FnOnce()>>) -> impl Fn(Event) -> u64 {
    let counters = outcome(threads).counters;
    move |event| counters[event as usize]
}

/// A thread that works for `begins` ns, then takes the lock for `holds`.
fn one_section<W: Policy>(
    lock: &Rc<Alone<W>>,
    begins: u32,
    holds: u32,
    writes: bool,
) -> Box<dyn FnOnce()> {
    let lock = Rc::clone(lock);
    Box::new(move || {
        Sim::busy_wait_ns(begins);
        if writes {
            lock.0.while_writing(|| Sim::busy_wait_ns(holds));
        } else {
            lock.0.while_reading(|| Sim::busy_wait_ns(holds));
        }
    })
}

/// Two readers come while a writer holds the lock, and hold it for long: how many acquire it
/// spinning, and how many queued.
fn readers_behind_a_writer<W: Policy>() -> [u64; 2] {
    let lock = Rc::new(Alone::<W>(RawRwLock::new()));
    let thread = |begins: u64, writes: bool| -> Box<dyn FnOnce()> {
        let lock = Rc::clone(&lock);
        Box::new(move || {
            Sim::sleep(begins);
            if writes {
                lock.0.while_writing(|| Sim::busy_wait_ns(300_000));
            } else {
                lock.0.while_reading(|| Sim::busy_wait_ns(300_000));
            }
        })
    };
    let count = counters(vec![thread(1, true), thread(50_000, false), thread(100_000, false)]);
    [count(Event::RwsemOptRlock), count(Event::RwsemRlock) + count(Event::RwsemRlockFast)]
}

/// The second finds the lock held by the first: only from `timed-spin` on does a spinner go on
/// then, and a reader join.
#[test]
fn a_spinner_leaves_readers_to_the_queue_before_spinning_on_them_came() {
    assert_eq!(readers_behind_a_writer::<ReaderSpin>(), [1, 1]);
    assert_eq!(readers_behind_a_writer::<TimedSpin>(), [2, 0]);
}

/// A reader holds the lock from 0 to 11.7 us, and a second one from `second` on; a writer comes after
/// 1 us. Whether its time was up.
fn a_writer_gave_up_on_readers(second: Option<u32>) -> bool {
    let lock = Rc::new(Alone::<TimedSpin>(RawRwLock::new()));
    let reader = |from: u32| -> Box<dyn FnOnce()> {
        let lock = Rc::clone(&lock);
        Box::new(move || {
            Sim::busy_wait_ns(from);
            lock.0.while_reading(|| Sim::busy_wait_ns(11_700 - from));
        })
    };
    let writer: Box<dyn FnOnce()> = {
        let lock = Rc::clone(&lock);
        Box::new(move || {
            Sim::busy_wait_ns(1_000);
            lock.0.while_writing(|| {});
        })
    };
    let threads = [Some(0), second].into_iter().flatten().map(reader).chain([writer]).collect();
    counters(threads)(Event::RwsemOptNospin) == 1
}

/// The writer's time is up after 10.5 us, but it looks at the clock every sixteenth turn only: a
/// change of the count shortly before gives it some turns more.
#[test]
fn a_spinner_on_readers_looks_at_the_clock_every_sixteenth_turn() {
    assert!(a_writer_gave_up_on_readers(None));
    assert!(!a_writer_gave_up_on_readers(Some(11_350)));
    assert!(a_writer_gave_up_on_readers(Some(10_900)));
}

/// `timed-spin` with the look of 5.16.
struct LooksInside;

impl Policy for LooksInside {
    const NAME: &'static str = "looks-inside";
    const STAGE: &'static str = "for a test";
    const SWITCHES: Switches = Switches {
        waits: Waits { recheck_before_wait_lock: false, ..TimedSpin::SWITCHES.waits },
        ..TimedSpin::SWITCHES
    };
}

/// A writer's time is up while a reader holds the lock; before it has woken at the reader's end, another
/// writer has stolen the lock. How often the first one slept, and all atomic operations.
fn a_writer_woken_in_vain<W: Policy>() -> [u64; 2] {
    let lock = Rc::new(Alone::<W>(RawRwLock::new()));
    let thread = |begins, holds, writes| one_section(&lock, begins, holds, writes);
    let threads =
        vec![thread(1, 50_000, false), thread(1_000, 0, true), thread(50_500, 60_000, true)];
    let outcome = outcome(threads);
    [outcome.counters[Event::RwsemSleepWriter as usize], outcome.traffic.rmws]
}

#[test]
fn a_writer_woken_in_vain_takes_the_guard_only_from_5_16_on() {
    let [sleeps, rmws] = a_writer_woken_in_vain::<TimedSpin>();
    let [sleeps_inside, rmws_inside] = a_writer_woken_in_vain::<LooksInside>();
    assert_eq!([sleeps, sleeps_inside], [2, 2]);
    assert_eq!(rmws + 1, rmws_inside, "the exchange that takes the guard");
}

/// A kernel does not count its spinners: with a writer on each CPU none goes to sleep.
#[test]
fn in_a_kernel_a_thread_on_each_cpu_may_spin() {
    let lock = Rc::new(Alone::<TimedSpin>(RawRwLock::new()));
    let writer = |_| -> Box<dyn FnOnce()> {
        let lock = Rc::clone(&lock);
        let turn = move || {
            without_preemption(|| lock.0.while_writing(|| Sim::busy_wait_ns(100)));
            Sim::busy_wait_ns(200);
        };
        Box::new(move || (0..50).for_each(|_| turn()))
    };
    let count = counters((0..80).map(writer).collect());
    let (spun, failed) = (count(Event::RwsemOptLock), count(Event::RwsemOptFail));
    assert!(spun > 1_000, "{spun}");
    assert_eq!(failed, 0);
}

/// `wake-all`, one at a time: so readers queue while readers hold the lock.
struct OneAtATime;

impl Policy for OneAtATime {
    const NAME: &'static str = "one-at-a-time";
    const STAGE: &'static str = "for a test";
    const SWITCHES: Switches = Switches {
        admission: Admission { wake_cap: 1, ..WakeAll::SWITCHES.admission },
        ..WakeAll::SWITCHES
    };
}

/// The same with the rule of 6.1.
struct NewcomersWake;

impl Policy for NewcomersWake {
    const NAME: &'static str = "newcomers-wake";
    const STAGE: &'static str = "for a test";
    const SWITCHES: Switches = Switches {
        admission: Admission { enqueue_wakes: true, ..OneAtATime::SWITCHES.admission },
        ..OneAtATime::SWITCHES
    };
}

/// Two readers queue behind a writer, whose unlock lets in the first; a third comes while that one
/// reads. How many read at once.
fn readers_at_once<W: Policy>() -> u32 {
    let lock = Rc::new(Alone::<W>(RawRwLock::new()));
    let (inside, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let reader = |begins: u64| -> Box<dyn FnOnce()> {
        let (lock, inside, most) = (Rc::clone(&lock), Rc::clone(&inside), Rc::clone(&most));
        Box::new(move || {
            Sim::sleep(begins);
            lock.0.while_reading(|| {
                inside.set(inside.get() + 1);
                most.set(most.get().max(inside.get()));
                Sim::busy_wait_ns(300_000);
                inside.set(inside.get() - 1);
            });
        })
    };
    let writer = one_section(&lock, 0, 100_000, true);
    outcome(vec![writer, reader(10_000), reader(20_000), reader(200_000)]);
    most.get()
}

/// Before 6.1 a reader that queues lets nobody in, but itself if it is first, or if the lock is free.
#[test]
fn who_queues_behind_others_wakes_those_in_front_from_6_1_on() {
    assert_eq!(readers_at_once::<OneAtATime>(), 1);
    assert_eq!(readers_at_once::<NewcomersWake>(), 2);
}

/// `timed-spin`, in which writers queue at once, and the first forbids stealing.
struct AsksAtOnce;

impl Policy for AsksAtOnce {
    const NAME: &'static str = "asks-at-once";
    const STAGE: &'static str = "for a test";
    const SWITCHES: Switches = Switches {
        waits: Waits { writers_spin: false, ..TimedSpin::SWITCHES.waits },
        admission: Admission { handoff_ns: 0, ..TimedSpin::SWITCHES.admission },
        ..TimedSpin::SWITCHES
    };
}

/// A reader that comes when another one leaves looks like a holder, and the wake-up is left to it:
/// it must not go and spin on that, for a lock that is the sleeping writer's and that nobody else will
/// have before. All moments, 5 ns apart, at which the other one may leave.
#[test]
fn a_reader_that_backs_out_wakes_the_writer_that_forbade_stealing() {
    let asked: u64 = (0..200).map(|moment| left_to_a_reader_that_spins(moment * 5)).sum();
    assert_eq!(asked, 200, "each writer asks");
}

/// How often a writer asked; the reader comes after 100 us, the other one leaves so many ns after
/// 99.5 us.
fn left_to_a_reader_that_spins(moment: u32) -> u64 {
    let lock = Rc::new(Alone::<AsksAtOnce>(RawRwLock::new()));
    let thread = |begins, holds, writes| one_section(&lock, begins, holds, writes);
    let first = thread(0, 99_500 + moment, false);
    let count = counters(vec![first, thread(40_000, 100, true), thread(100_000, 100, false)]);
    count(Event::RwsemWlockHandoff)
}
