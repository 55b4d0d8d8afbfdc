//! The loop that most machines' latencies were taken from, on those machines.

mod support;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use lockwright_platform::Word;
use lockwright_sim::{Machine, Placement, Setup, clock, run};

use support::{SETUP, line, threads};

/// Two cores that compare and swap a word in turn, without a pause: nanoseconds from one success to the
/// next, over eight lines, for pairs of cores are nearer to one than to another.
fn trip(machine: &Machine, placement: Placement) -> f64 {
    const TRIPS: u64 = 1_000;
    const LINES: usize = 8;
    let balls: Rc<Vec<_>> = Rc::new((0..LINES).map(|_| line(0)).collect());
    let took = Rc::new(Cell::new(0));
    let player = |side: u64| -> Box<dyn FnOnce()> {
        let (balls, took) = (Rc::clone(&balls), Rc::clone(&took));
        Box::new(move || {
            for ball in balls.iter() {
                let mut began = clock();
                for turn in (side..TRIPS).step_by(2) {
                    while ball.0.compare_exchange(turn, turn + 1, AcqRel, Relaxed).is_err() {}
                    if turn == side {
                        // Both are there by the second turn.
                        began = clock();
                    }
                }
                took.set(took.get() + clock() - began);
            }
        })
    };
    let bodies = threads(vec![player(0), player(1)]);
    run(machine, Setup { placement, ..SETUP }, bodies).unwrap();
    took.get() as f64 / (2 * LINES as u64 * TRIPS) as f64
}

/// The simulated loop takes less than the latency that was taken from it, for each core's request is at
/// the line's home by the time that the other has the line; not by half, and never more. See "A ping-pong
/// on a machine" in docs/simulator.md, which has these figures.
#[test]
fn a_compare_and_swap_ping_pong_takes_most_of_the_latency() {
    let mut table = String::new();
    for machine in Machine::built_in() {
        let apart = (machine.topology.sockets.value > 1.0).then_some(Placement::Spread);
        let ways =
            [(Some(Placement::Numbered), &machine.latency.cluster), (apart, &machine.latency.near)];
        for (placement, way) in ways {
            let Some(placement) = placement else { continue };
            let (seen, name) = (trip(&machine, placement), &machine.name);
            table += &format!("{name} {placement:?} {} ns, loop {seen:.0} ns\n", way.value);
            assert!((0.6..1.0).contains(&(seen / way.value)), "{table}");
        }
    }
    println!("{table}");
}
