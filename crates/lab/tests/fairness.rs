//! How long the reader-writer lock lets one wait among many of the other kind, on a simulated
//! machine, where waits can be told to the nanosecond: within the policy's deadline, one hold and
//! a wake-up if there is a hand-off; as long as the others go on if there is none.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use lockwright_locks::mutex::NEVER;
use lockwright_locks::rwsem::RawRwLock;
use lockwright_locks::rwsem::policy::{
    Admission, Handoff, Policy, Standard, Switches, TimedSpin, V5_2, V5_3, V5_11,
};
use lockwright_platform::{Platform, Work};
use lockwright_sim::{Machine, Setup, Sim, clock, run};

/// Sections of the many, in PAUSEs (some 43 ns each): 43 us, so that with 20 readers some reader
/// holds the lock at every moment.
const HOLD: u32 = 1_000;
const HOLD_NS: u64 = 43_000;
/// How long the many go on.
const TIME_NS: u64 = 60_000_000;
/// From one thread's unlock to the next one's section: the next is woken, on a CPU that has slept
/// deeply (20 us) since it left.
const SWITCH_NS: u64 = 60_000;
/// Waking a thread, the CPU's deep sleep included, and others that run when it could.
const WAKE_UP_NS: u64 = 500_000;

/// The last stage without the hand-off, and without what else helps a writer.
struct NoHandoff;

impl Policy for NoHandoff {
    const NAME: &'static str = "no-handoff";
    const STAGE: &'static str = "readers steal, nobody may forbid it";
    const SWITCHES: Switches = Switches {
        admission: Admission {
            handoff_ns: NEVER,
            anti_starvation: false,
            ..V5_11::SWITCHES.admission
        },
        ..V5_11::SWITCHES
    };
}

#[repr(align(64))]
struct Alone<W: Policy>(RawRwLock<Sim, W>);

/// The longest wait of one writer among 20 readers, or of one reader among 20 writers, in ns.
fn longest_wait<W: Policy>(one_writes: bool, seed: u64) -> u64 {
    let machine = Machine::built_in().into_iter().find(|m| m.name == "skylake-2s").unwrap();
    let lock = Rc::new(Alone::<W>(RawRwLock::new()));
    let longest = Rc::new(Cell::new(0));
    let mut threads: Vec<Box<dyn FnOnce()>> = Vec::new();
    for _ in 0..20 {
        let lock = Rc::clone(&lock);
        threads.push(Box::new(move || {
            while clock() < TIME_NS {
                let section = || Sim::pause(HOLD);
                if one_writes {
                    lock.0.while_reading(section)
                } else {
                    lock.0.while_writing(section)
                }
                Sim::pause(5);
            }
        }));
    }
    let seen = Rc::clone(&longest);
    threads.push(Box::new(move || {
        while clock() < TIME_NS {
            Sim::sleep(300_000);
            let began = clock();
            let served = || seen.set(seen.get().max(clock() - began));
            if one_writes { lock.0.while_writing(served) } else { lock.0.while_reading(served) }
        }
    }));
    let setup = Setup { seed, limit: Duration::from_secs(5), ..Setup::default() };
    run(&machine, setup, threads).unwrap();
    longest.get()
}

fn bounded<W: Policy>(one_writes: bool) {
    // Who forbids stealing waits for those who are in. That is one hold of readers, who are in
    // together; but a reader that came last queues behind twenty writers, whose deadlines end when
    // its own does, and who then go one by one, each woken by the one before.
    let turns = if one_writes { 1 } else { 20 };
    let bound = W::SWITCHES.admission.handoff_ns + turns * (HOLD_NS + SWITCH_NS) + WAKE_UP_NS;
    for seed in 1..=3 {
        let wait = longest_wait::<W>(one_writes, seed);
        assert!(wait <= bound, "{}: {wait} ns, at most {bound} (seed {seed})", W::NAME);
    }
}

#[test]
fn a_writer_among_readers_is_served_within_the_bound() {
    bounded::<Handoff>(true);
    bounded::<V5_3>(true);
    bounded::<V5_11>(true);
    bounded::<Standard>(true);
}

#[test]
fn a_reader_among_writers_is_served_within_the_bound() {
    bounded::<Handoff>(false);
    bounded::<V5_3>(false);
    bounded::<V5_11>(false);
    bounded::<Standard>(false);
}

/// Threads that do a few sections each and end: the last spinner finds the lock free between its
/// look and its attempt sometimes, and then there is nobody left to change it. On this machine a
/// spin lasts until something changes, so that a spinner that waits then waits for ever.
fn ends<W: Policy>() {
    let machine = Machine::built_in().into_iter().find(|m| m.name == "ivybridge-ex-8s").unwrap();
    for seed in 1..=20 {
        let lock = Rc::new(Alone::<W>(RawRwLock::new()));
        let mut threads: Vec<Box<dyn FnOnce()>> = Vec::new();
        for id in 0..8 {
            let lock = Rc::clone(&lock);
            threads.push(Box::new(move || {
                for section in 0..200 {
                    if (section + id) % 2 == 0 {
                        lock.0.while_reading(|| Sim::pause(1))
                    } else {
                        lock.0.while_writing(|| Sim::pause(1))
                    }
                }
            }));
        }
        let setup = Setup { seed, limit: Duration::from_secs(5), ..Setup::default() };
        let outcome = run(&machine, setup, threads);
        assert!(outcome.is_ok(), "{}, seed {seed}: {}", W::NAME, outcome.err().unwrap());
    }
}

#[test]
fn a_spinner_does_not_wait_for_a_free_lock_to_change() {
    ends::<TimedSpin>();
    ends::<V5_2>();
    ends::<V5_11>();
}

/// The test of the test: without hand-off the writer waits for as long as the readers go on.
#[test]
fn without_handoff_a_writer_starves() {
    let wait = longest_wait::<NoHandoff>(true, 1);
    assert!(wait > TIME_NS / 2, "served after {wait} ns");
}
