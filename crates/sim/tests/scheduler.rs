//! The machine's scheduler: who runs, who is woken, and what that takes.

mod support;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use lockwright_platform::{Platform, Slot, Spin, Until, Wake, Word, Work};
use lockwright_sim::{
    Machine, Placement, Setup, Sim, clock, cpu_time, run, set_slice_extension, without_preemption,
};

use support::{SETUP, line, machine, steady, threads};

/// More threads than CPUs, all runnable: every thread gets its share, and no CPU is idle.
#[test]
fn slices_share_the_cpus() {
    let machine = machine("skylake-2s").restricted(1, 1);
    let ends = Rc::new(Cell::new(0));
    let body = || {
        let ends = Rc::clone(&ends);
        let body = move || {
            for _ in 0..100 {
                Sim::pause(2_000);
            }
            ends.set(ends.get() + 1);
        };
        Box::new(body) as Box<dyn FnOnce()>
    };
    let setup = Setup { placement: Placement::Spread, bound: false, ..SETUP };
    let outcome = run(&machine, setup, (0..60).map(|_| body()).collect()).unwrap();
    assert_eq!(ends.get(), 60);
    assert!(outcome.involuntary_switches > 60, "{outcome:?}");
    assert!(outcome.idle.as_secs_f64() < 0.1 * outcome.cpu_time.as_secs_f64(), "{outcome:?}");
}

/// Of spinners that wait for a thread which shares their CPU, each gives way when its slice ends.
#[test]
fn a_spinner_gives_its_cpu_to_the_one_it_waits_for() {
    let mut machine = machine("skylake-2s").restricted(1, 1);
    machine.number_mut("topology.cores").unwrap().value = 1.0;
    for resched in [false, true] {
        let word = line(0);
        let (spinner, setter) = (Rc::clone(&word), Rc::clone(&word));
        let spin = move || {
            let until = Until { resched, ..Until::CHANGED };
            while spinner.0.load(Acquire) == 0 {
                if let Spin::Resched = Sim::spin_while(&spinner.0, 1, 0, Acquire, until) {
                    Sim::yield_now();
                }
            }
        };
        let set = move || {
            Sim::pause(1_000);
            setter.0.store(1, Release);
        };
        let outcome = run(&machine, SETUP, threads(vec![Box::new(spin), Box::new(set)])).unwrap();
        assert!(outcome.time < Duration::from_millis(10), "{outcome:?}");
    }
}

/// One CPU, two threads, and a third that has slept for longer than they ran: it does not wait for the
/// end of a slice, nor of what the running thread is in the middle of.
#[test]
fn a_thread_that_slept_takes_the_cpu_at_once() {
    let mut machine = machine("skylake-2s").restricted(1, 1);
    machine.number_mut("topology.cores").unwrap().value = 1.0;
    let mut latency = |preempt: f64| {
        machine.number_mut("scheduler.preempt").unwrap().value = preempt;
        let woken = Rc::new(Cell::new(0));
        let hog =
            || Box::new(|| (0..10).for_each(|_| Sim::busy_wait_ns(4_000_000))) as Box<dyn FnOnce()>;
        let sleeper = {
            let woken = Rc::clone(&woken);
            move || {
                let begun = clock();
                Sim::sleep(22_000_000);
                woken.set(clock() - begun - 22_000_000);
            }
        };
        run(&machine, SETUP, threads(vec![hog(), hog(), Box::new(sleeper)])).unwrap();
        woken.get()
    };
    let (at_once, at_the_end) = (latency(4e6), latency(1e9));
    assert!(at_once < 20_000, "{at_once}");
    assert!(at_the_end > 100_000, "{at_the_end}");
}

/// A thread that must not be preempted keeps its CPU while it spins, whoever else wants it.
#[test]
fn a_spinner_without_preemption_keeps_its_cpu() {
    let machine = machine("skylake-2s").restricted(1, 1);
    let word = line(0);
    let kept = Rc::new(Cell::new((0, 0)));
    let mut all: Vec<Box<dyn FnOnce()>> = Vec::new();
    let (spinner, spun) = (Rc::clone(&word), Rc::clone(&kept));
    all.push(Box::new(move || {
        without_preemption(|| {
            let (had, begun) = (cpu_time(), clock());
            Sim::spin_while(&spinner.0, 1, 0, Acquire, Until::CHANGED);
            spun.set((cpu_time() - had, clock() - begun));
        });
    }));
    // Three for each CPU, and one of them sets the word after some slices.
    for id in 0..3 * machine.cpus() {
        let word = Rc::clone(&word);
        all.push(Box::new(move || {
            (0..100).for_each(|_| Sim::busy_wait_ns(100_000));
            if id == 0 {
                word.0.store(1, Release);
            }
        }));
    }
    run(&machine, SETUP, threads(all)).unwrap();
    let (on_cpu, elapsed) = kept.get();
    assert!(elapsed > 10_000_000, "{elapsed}");
    assert!(on_cpu > elapsed * 9 / 10, "{on_cpu} of {elapsed}");
}

#[test]
fn a_token_wakes_and_is_not_lost() {
    let machine = machine("epyc-7551-2s");
    let sleeper = || {
        for i in 0..10 {
            if i % 2 == 0 {
                // The token comes before the sleep.
                Sim::sleep(320_000);
            }
            let me = Sim::enter().unwrap();
            assert_eq!(Sim::park(&me, None), Wake::Notified);
        }
        let me = Sim::enter().unwrap();
        let before = Sim::now();
        assert_eq!(Sim::park(&me, Some(before + 5_000)), Wake::TimedOut);
        assert!(Sim::now() >= before + 5_000);
    };
    let waker = || {
        for _ in 0..10 {
            Sim::sleep(200_000);
            Sim::unpark(Slot::new(1).unwrap());
        }
    };
    let outcome = run(&machine, SETUP, threads(vec![Box::new(sleeper), Box::new(waker)])).unwrap();
    assert!(outcome.wakes == 5, "{outcome:?}");
    assert!(outcome.idle_contended > Duration::ZERO);
}

/// How often a thread slept that was woken so long after it began to go to sleep.
fn sleeps(machine: &Machine, woken_after: u64) -> u64 {
    let until = |at: u64| Sim::busy_wait_ns((at - clock()) as u32);
    let sleeper = move || {
        until(10_000);
        let me = Sim::enter().unwrap();
        assert_eq!(Sim::park(&me, None), Wake::Notified);
    };
    let waker = move || {
        until(10_000 + woken_after);
        Sim::unpark(Slot::new(1).unwrap());
    };
    run(machine, SETUP, threads(vec![Box::new(sleeper), Box::new(waker)])).unwrap().wakes
}

#[test]
fn a_thread_that_is_woken_on_its_way_to_sleep_stays() {
    let machine = steady("cascadelake-2s");
    let way = machine.scheduler.switch.value as u64 / 2;
    assert_eq!([sleeps(&machine, way / 2), sleeps(&machine, way * 2)], [0, 1]);
}

/// What it costs to wake a thread that sleeps on this CPU.
fn wake_up(machine: &Machine, placement: Placement) -> f64 {
    let took = Rc::new(Cell::new(0));
    let result = Rc::clone(&took);
    let waker = move || {
        Sim::busy_wait_ns(10_000);
        let began = clock();
        Sim::unpark(Slot::new(2).unwrap());
        result.set(clock() - began);
    };
    let sleeper = || {
        let me = Sim::enter().unwrap();
        Sim::park(&me, None);
    };
    let bodies = threads(vec![Box::new(waker), Box::new(sleeper)]);
    run(machine, Setup { placement, ..SETUP }, bodies).unwrap();
    took.get() as f64
}

/// The thread's line is fetched, and more by their number, a quarter more or less: fewer where the other
/// CPU finishes the wake-up itself.
#[test]
fn a_wake_up_across_sockets_is_left_to_the_other_cpu() {
    let machine = steady("cascadelake-2s");
    let (l, s) = (&machine.latency, &machine.scheduler);
    for (placement, way, lines) in [
        (Placement::Numbered, l.cluster.value, s.wake_lines.value),
        (Placement::Spread, l.near.value, s.queue_lines.value),
    ] {
        let wanted = s.wake.value + (lines + 1.0) * way;
        let seen = wake_up(&machine, placement);
        assert!((seen / wanted - 1.0).abs() < 0.25, "{seen} ns, {wanted} expected");
    }
}

#[test]
fn timer_interrupts_take_their_time() {
    let mut machine = steady("ivybridge-ex-8s");
    let busy = |machine: &Machine| {
        let body = || (0..1_000).for_each(|_| Sim::busy_wait_ns(100_000));
        run(machine, SETUP, threads(vec![Box::new(body)])).unwrap().time.as_nanos() as f64
    };
    let (with, ticks) = (busy(&machine), 1e8 / machine.scheduler.tick_every.value);
    let tick = std::mem::take(&mut machine.number_mut("scheduler.tick").unwrap().value);
    let (each, without) = ((with - busy(&machine)) / ticks, busy(&machine));
    assert!(without < 1.001e8, "{without}");
    assert!((each / tick - 1.0).abs() < 0.05, "{each} ns, {tick} expected");
}

/// However long an operation is, each interrupt that comes meanwhile takes its time.
#[test]
fn a_long_operation_is_interrupted_as_often_as_short_ones() {
    let machine = steady("ivybridge-ex-8s");
    let busy = |ns: u32| {
        let body = move || (0..100_000_000 / ns).for_each(|_| Sim::busy_wait_ns(ns));
        run(&machine, SETUP, threads(vec![Box::new(body)])).unwrap().time.as_nanos() as f64 - 1e8
    };
    let (short, long) = (busy(100_000), busy(10_000_000));
    assert!((long / short - 1.0).abs() < 0.1, "{long} ns, {short} in short pieces");
}

/// A thread that sleeps for a time does not wait for anybody.
#[test]
fn only_who_waits_to_be_woken_makes_an_idle_cpu_count() {
    let idle = |bodies| run(&steady("skylake-2s"), SETUP, threads(bodies)).unwrap();
    let alone = idle(vec![Box::new(|| Sim::sleep(1_000_000))]);
    assert_eq!(alone.idle_contended, Duration::ZERO);
    let waiter = || {
        let me = Sim::enter().unwrap();
        Sim::park(&me, None);
    };
    let waker = || {
        Sim::sleep(1_000_000);
        Sim::unpark(Slot::new(1).unwrap());
    };
    let both = idle(vec![Box::new(waiter), Box::new(waker)]).idle_contended.as_nanos();
    assert!((950_000..1_100_000).contains(&both), "{both} ns");
}

/// How long after its wake-up a thread runs that is busy and then sleeps, so many ns each and so often.
fn wake_ups(machine: &Machine, busy: u64, asleep: u64, times: u64) -> Vec<u64> {
    wake_ups_beside(machine, busy, asleep, times, Vec::new())
}

/// The same with more threads, on the CPUs after those of the sleeper and its waker.
fn wake_ups_beside(
    machine: &Machine,
    busy: u64,
    asleep: u64,
    times: u64,
    others: Vec<Box<dyn FnOnce()>>,
) -> Vec<u64> {
    let until = |at: u64| Sim::busy_wait_ns(u32::try_from(at - clock()).unwrap());
    let ends = Rc::new(Cell::new(Vec::new()));
    let result = Rc::clone(&ends);
    let sleeper = move || {
        let me = Sim::enter().unwrap();
        let runs = (0..times).map(|i| {
            until(i * (busy + asleep) + busy);
            Sim::park(&me, None);
            clock() - (i + 1) * (busy + asleep)
        });
        result.set(runs.collect());
    };
    let waker = move || {
        for i in 1..=times {
            until(i * (busy + asleep));
            Sim::unpark(Slot::new(1).unwrap());
        }
    };
    let mut bodies: Vec<Box<dyn FnOnce()>> = vec![Box::new(sleeper), Box::new(waker)];
    bodies.extend(others);
    let setup = Setup { placement: Placement::Numbered, ..SETUP };
    run(machine, setup, threads(bodies)).unwrap();
    ends.take()
}

/// A CPU sleeps as deep as it has slept of late; at first, when it has done nothing else, deeply.
#[test]
fn a_cpu_goes_by_how_long_it_was_idle_before() {
    let machine = steady("skylake-2s");
    let s = &machine.scheduler;
    let deep = |took: &u64| *took as f64 > s.exit_deep.value;
    let (short, long) = (s.middle_after.value as u64 * 10, s.deep_after.value as u64 * 11 / 10);

    let took = wake_ups(&machine, 60_000, short, 100);
    assert!(took[..15].iter().all(deep), "{took:?}");
    assert!(!took[60..].iter().any(deep), "{took:?}");
    let took = wake_ups(&machine, 60_000, long, 100);
    assert!(took.iter().all(deep), "{took:?}");
}

/// A CPU that has hardly been idle of late must be idle for long before it sleeps deeply.
#[test]
fn a_busy_cpu_does_not_sleep_deeply_at_once() {
    let machine = steady("skylake-2s");
    let s = &machine.scheduler;
    let deep = |took: &u64| *took as f64 > s.exit_deep.value;
    let took = wake_ups(&machine, 2_000_000, s.deep_after.value as u64 / 2, 20);
    assert!(!took.iter().any(deep), "{took:?}");
    let took = wake_ups(&machine, 2_000_000, s.deep_after.value as u64 * 2, 20);
    assert!(took.iter().all(deep), "{took:?}");
}

/// A core does not sleep while one of its threads runs, and no deeper than the one that sleeps least.
#[test]
fn a_core_sleeps_as_its_least_sleepy_thread() {
    let mut machine = steady("skylake-2s");
    for (name, value) in [("topology.sockets", 1.0), ("topology.cores", 2.0)] {
        machine.number_mut(name).unwrap().value = value;
    }
    let s = &machine.scheduler;
    let (times, asleep) = (40, s.deep_after.value as u64 * 2);
    let beside = |third: fn(u64)| -> Vec<Box<dyn FnOnce()>> {
        // It is on the sleeper's core.
        vec![Box::new(move || third((times + 1) * (asleep + 60_000)))]
    };
    let took = |third| wake_ups_beside(&machine, 60_000, asleep, times, beside(third));
    let deep = s.exit_deep.value as u64;

    let idle = took(|_| ());
    assert!(idle.iter().all(|&took| took > deep), "{idle:?}");
    let busy = took(|until| (0..until / 100_000).for_each(|_| Sim::busy_wait_ns(100_000)));
    assert!(!busy.iter().any(|&took| took > deep / 2), "{busy:?}");
    let naps = took(|until| {
        while clock() < until {
            Sim::busy_wait_ns(1_000);
            Sim::sleep(100_000);
        }
    });
    assert!(naps[..2].iter().any(|&took| took > deep), "{naps:?}");
    assert!(!naps[30..].iter().any(|&took| took > deep), "{naps:?}");
}

/// A wait ends at its deadline, whether an earlier wait, ended before its own, had that later or sooner.
#[test]
fn deadlines_of_waits_that_ended_do_not_count() {
    let machine = steady("skylake-2s");
    let word = line(0);
    let seen = Rc::clone(&word);
    let waits = move || {
        let me = Sim::enter().unwrap();
        let (wake_up, ns) = (100_000, 1_000);
        for (deadline, woken) in [(400, Some(100)), (500, None), (900, Some(600)), (700, None)] {
            let begun = Sim::now();
            let wake = Sim::park(&me, Some(deadline * ns));
            let ended = clock();
            let (wanted, at) = match woken {
                Some(at) => (Wake::Notified, at * ns),
                None => (Wake::TimedOut, deadline * ns),
            };
            assert_eq!(wake, wanted, "until {deadline} from {begun}");
            assert!((at..at + wake_up).contains(&ended), "until {deadline} from {begun}: {ended}");
        }
        for (deadline, changes) in [(1_600, true), (1_400, false), (1_700, false)] {
            let value = seen.0.load(Acquire);
            let until = Until { deadline: Some(deadline * ns), ..Until::CHANGED };
            let spin = Sim::spin_while(&seen.0, u64::MAX, value, Acquire, until);
            let at = if changes { 1_200 } else { deadline } * ns;
            assert_eq!(matches!(spin, Spin::Changed(_)), changes, "until {deadline}");
            assert_eq!(matches!(spin, Spin::Deadline), !changes, "until {deadline}");
            assert!((at..at + wake_up).contains(&clock()), "until {deadline}: {}", clock());
        }
    };
    let others = move || {
        // Something happens all the time, lest the clock skip what comes too late.
        for step in 1..=36 {
            Sim::busy_wait_ns(u32::try_from(step * 50_000 - clock()).unwrap());
            match step {
                2 | 12 => assert!(Sim::unpark(Slot::new(1).unwrap())),
                24 => word.0.store(1, Release),
                _ => {}
            }
        }
    };
    run(&machine, SETUP, threads(vec![Box::new(waits), Box::new(others)])).unwrap();
}

/// A heavy fence on CPU 0 beside so many threads that do nothing else (`also`: but such fences): how long
/// 20 take on average, and what each costs a thread beside it, in nanoseconds.
fn heavy_fence(machine: &Machine, beside: usize, also: bool) -> (f64, f64) {
    const FENCES: u64 = 20;
    const BEGIN: u64 = 2_000_000;
    let took = Rc::new(Cell::new(0));
    let fencing = |took: Rc<Cell<u64>>| {
        move || {
            Sim::sleep(BEGIN - clock());
            let began = clock();
            (0..FENCES).for_each(|_| _ = Sim::fence_heavy());
            took.set(clock() - began);
        }
    };
    let longest = Rc::new(Cell::new(0));
    let bystander = |_| -> Box<dyn FnOnce()> {
        if also {
            return Box::new(fencing(Rc::default()));
        }
        let longest = Rc::clone(&longest);
        Box::new(move || {
            Sim::sleep(BEGIN - clock());
            let began = clock();
            (0..100_000).for_each(|_| Sim::busy_wait_ns(20));
            longest.set(longest.get().max(clock() - began));
        })
    };
    let mut bodies = threads(vec![Box::new(fencing(Rc::clone(&took)))]);
    bodies.extend((0..beside).map(bystander));
    run(machine, SETUP, bodies).unwrap();
    let without = 100_000.0 * machine.core.pause.value.max(20.0);
    (took.get() as f64 / FENCES as f64, (longest.get() as f64 - without) / FENCES as f64)
}

/// One machine-wide mutex, an interrupt on each CPU that runs the program, and the answers of all of them.
#[test]
fn a_heavy_fence_costs_more_the_more_cpus_it_reaches() {
    let mut machine = steady("ivybridge-ex-8s");
    machine.number_mut("scheduler.tick").unwrap().value = 0.0;
    let s = &machine.scheduler;
    let (call, interrupt) = (s.heavy_fence.value, s.heavy_interrupt.value);
    let looks = s.search.value * machine.cpus() as f64;
    let near = |seen: f64, wanted: f64| (seen / wanted - 1.0_f64).abs() < 0.15;
    let (alone, _) = heavy_fence(&machine, 0, false);
    assert!(near(alone, machine.core.fence.value + looks), "alone {alone} ns");
    let (one, lost) = heavy_fence(&machine, 1, false);
    assert!(near(one, call + looks) && near(lost, interrupt), "{one} ns, costs {lost}");
    let (ten, lost) = heavy_fence(&machine, 10, false);
    let answers = 9.0 * machine.latency.cluster.value;
    assert!(near(ten, call + looks + answers) && near(lost, interrupt), "{ten} ns, costs {lost}");
    // Of three that do it each waits for the others' calls, and is interrupted by them.
    let (three, _) = heavy_fence(&machine, 2, true);
    assert!(three > 2.5 * one, "{three} ns, {one} where one does it");
}

/// A thread whose slice ends while it has what others wait for keeps its CPU for the extension, once for each
/// request, and gives it up when it says that it is done.
#[test]
fn a_slice_is_extended_for_who_asks() {
    let mut machine = machine("skylake-2s").restricted(1, 1);
    (machine.topology.cores.value, machine.topology.clusters.value) = (1.0, 1.0);
    let slice = machine.scheduler.slice.value as u64;
    let extensions = |ns: u32, asks: bool| {
        set_slice_extension(ns);
        let granted = Rc::new(Cell::new(0));
        let body = {
            let granted = Rc::clone(&granted);
            move || {
                // Sections of 2 us for ten slices, each of which asks.
                let end = Sim::now() + 10 * slice;
                while Sim::now() < end {
                    if asks {
                        Sim::ask_for_time();
                    }
                    Sim::pause(40);
                    let given = Sim::give_time_back();
                    granted.set(granted.get() + u32::from(given));
                }
            }
        };
        let setup = Setup { placement: Placement::Spread, bound: true, ..SETUP };
        let two: Vec<Box<dyn FnOnce()>> = vec![Box::new(body.clone()), Box::new(body)];
        let outcome = run(&machine, setup, two).unwrap();
        set_slice_extension(0);
        (granted.get(), outcome.involuntary_switches, outcome.voluntary_switches)
    };
    let (granted, taken, given_up) = extensions(5_000, true);
    assert!(granted >= 8 && u64::from(granted) == given_up, "{granted} grants, {given_up} yields");
    assert!(taken <= 2, "{taken} times the CPU was taken from who was to have it");
    let (granted, taken, _) = extensions(0, true);
    assert!(granted == 0 && taken >= 8, "{granted} grants where there are none");
    let (granted, taken, _) = extensions(5_000, false);
    assert!(granted == 0 && taken >= 8, "{granted} grants that nobody has asked for");
}
