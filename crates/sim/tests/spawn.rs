//! New threads: where they begin, and that nothing is left of those whose numbers they have.

mod support;

use std::cell::Cell;
use std::rc::Rc;

use lockwright_platform::{Platform, Slot, Wake};
use lockwright_sim::{Machine, Outcome, Setup, Sim, clock, cpu_time, run, spawn};

use support::{SETUP, machine, steady, threads};

/// One socket with so many cores and no siblings.
fn cores(mut machine: Machine, cores: f64) -> Machine {
    machine = machine.restricted(1, 1);
    machine.number_mut("topology.cores").unwrap().value = cores;
    machine
}

/// Starts a thread that runs `body`, and sleeps until it has ended.
fn child(body: impl FnOnce() + 'static) {
    let me = Sim::enter().unwrap();
    let (ended, slot) = (Rc::new(Cell::new(false)), me.slot());
    let end = Rc::clone(&ended);
    spawn(Box::new(move || {
        body();
        end.set(true);
        Sim::unpark(slot);
    }));
    while !ended.get() {
        Sim::park(&me, None);
    }
}

fn one(machine: &Machine, body: impl FnOnce() + 'static) -> Outcome {
    run(machine, SETUP, threads(vec![Box::new(body)])).unwrap()
}

#[test]
fn a_new_thread_begins_on_the_cpu_that_has_the_fewest() {
    let machine = cores(machine("skylake-2s"), 4.0);
    let seen = Rc::new(Cell::new(None));
    let result = Rc::clone(&seen);
    // Two on CPU 0 with the parent, one on CPUs 1 and 3, none on CPU 2.
    let busy =
        || Box::new(|| (0..100).for_each(|_| Sim::busy_wait_ns(100_000))) as Box<dyn FnOnce()>;
    let sleepy = || Box::new(|| Sim::sleep(10_000_000)) as Box<dyn FnOnce()>;
    let parent = move || {
        Sim::busy_wait_ns(1_000_000);
        child(move || result.set(Some(Sim::cpu())));
    };
    let all = vec![Box::new(parent) as Box<dyn FnOnce()>, busy(), sleepy(), busy(), busy()];
    run(&machine, SETUP, all).unwrap();
    assert_eq!(seen.get(), Some(2));
}

/// On the only CPU: the parent has its slice first, and one that wakes goes before both.
#[test]
fn a_new_thread_waits_behind_the_others() {
    let machine = cores(steady("skylake-2s"), 1.0);
    let begun = Rc::new(Cell::new(0));
    let result = Rc::clone(&begun);
    let spawned = Rc::new(Cell::new(0));
    let at = Rc::clone(&spawned);
    one(&machine, move || {
        spawn(Box::new(move || result.set(clock())));
        at.set(clock());
        (0..100).for_each(|_| Sim::busy_wait_ns(100_000));
    });
    let (slice, waited) = (machine.scheduler.slice.value as u64, begun.get() - spawned.get());
    assert!((slice - 200_000..=slice + 200_000).contains(&waited), "{waited} ns of {slice}");
}

/// What forking costs the parent: a look at each CPU, and the lines of the other's queue.
#[test]
fn a_fork_costs_a_look_at_each_cpu_and_the_lines_of_one() {
    let machine = cores(steady("cascadelake-2s"), 8.0);
    let took = Rc::new(Cell::new(0));
    let result = Rc::clone(&took);
    one(&machine, move || {
        let begun = clock();
        spawn(Box::new(|| ()));
        result.set(clock() - begun);
    });
    let (s, seen) = (&machine.scheduler, took.get() as f64);
    let wanted = 8.0 * s.search.value
        + s.wake.value
        + (s.wake_lines.value + 1.0) * machine.latency.cluster.value;
    assert!((seen / wanted - 1.0).abs() < 0.25, "{seen} ns, {wanted} expected");
}

/// What threads that have ended did is in the outcome, and they need no numbers any more.
#[test]
fn numbers_are_given_again_and_nothing_is_lost() {
    const CHILDREN: u64 = 2_000;
    let run = |seed| {
        let most = Rc::new(Cell::new(0));
        let result = Rc::clone(&most);
        let parent = move || {
            for _ in 0..CHILDREN {
                child(|| {
                    // No more than the switch to it, and the way out of the CPU's sleep.
                    assert!(cpu_time() < 100_000, "{} ns", cpu_time());
                    Sim::busy_wait_ns(10_000);
                });
            }
            result.set(Sim::slots().count() as u16);
        };
        let machine = cores(machine("skylake-2s"), 2.0);
        let setup = Setup { seed, ..SETUP };
        (run(&machine, setup, threads(vec![Box::new(parent)])).unwrap(), most.get())
    };
    let (outcome, most) = run(1);
    // A child that has woken its parent may not be at its end yet when the next begins.
    assert!((2..=3).contains(&most), "{most}");
    assert!(outcome.cpu_time.as_nanos() as u64 >= CHILDREN * 10_000, "{outcome:?}");
    assert_eq!(outcome.voluntary_switches, CHILDREN, "{outcome:?}");
    assert_eq!(outcome.trace, run(1).0.trace);
    assert_ne!(outcome.trace, run(2).0.trace);
}

/// The first thread of a number leaves an alarm and a token; the next must not be woken by them.
#[test]
fn nothing_is_left_of_the_thread_that_had_the_number() {
    one(&cores(steady("skylake-2s"), 2.0), || {
        let second = Slot::new(2).unwrap();
        child(|| {
            let me = Sim::enter().unwrap();
            assert_eq!(me.slot(), Slot::new(2).unwrap());
            Sim::unpark(me.slot());
            assert_eq!(Sim::park(&me, Some(5_000_000)), Wake::Notified);
            Sim::unpark(me.slot());
        });
        assert!(clock() < 4_000_000);
        assert!(!Sim::unpark(second), "nobody sleeps there");
        child(|| {
            let me = Sim::enter().unwrap();
            assert_eq!(me.slot(), Slot::new(2).unwrap());
            assert_eq!(Sim::park(&me, Some(8_000_000)), Wake::TimedOut);
            assert!((8_000_000..8_300_000).contains(&clock()), "{}", clock());
        });
    });
}
