//! Work of a known length, and how long its unit takes on this machine.
//!
//! The unit is one spin-loop hint, PAUSE on x86-64. It touches no memory, so a section of `n`
//! units has the same length whatever the lock does with the caches; and it is what published
//! lock studies count loads in.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Keeps the CPU busy for `units` spin-loop hints.
#[inline(always)]
pub fn pause(units: u32) {
    for _ in 0..units {
        spin_loop();
    }
}

/// Length of one unit of [`pause`] in nanoseconds.
///
/// The shortest of several series: interference only ever lengthens a series.
pub fn pause_ns() -> f64 {
    const UNITS: u32 = 4_000;
    (0..15)
        .map(|_| {
            let began = Instant::now();
            pause(black_box(UNITS));
            began.elapsed().as_nanos() as f64 / f64::from(UNITS)
        })
        .fold(f64::INFINITY, f64::min)
}

/// Time for one cache line to move from one CPU to another and be seen there, in nanoseconds.
///
/// Half a round trip between the first two CPUs this process may use, the shortest of several
/// series. `None` if there is only one CPU, or the threads cannot be placed.
pub fn line_transfer_ns() -> Option<f64> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let mut cpus = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false));
    line_transfer_between(cpus.next()?, cpus.next()?)
}

/// The same between two CPUs; `None` if threads cannot be placed there.
pub fn line_transfer_between(here: usize, there: usize) -> Option<f64> {
    (0..5).filter_map(|_| ping_pong(here, there, Duration::from_millis(2))).reduce(f64::min)
}

/// One series of round trips on `here` and `there` for at least `time`; ns per one-way trip.
fn ping_pong(here: usize, there: usize, time: Duration) -> Option<f64> {
    const DONE: u64 = u64::MAX;
    let ball = CachePadded::new(AtomicU64::new(0));
    // Ordering: Relaxed throughout: only the one word's own modification order is used.
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            move_to(there).ok()?;
            let began = Instant::now();
            let mut turn = 1;
            while began.elapsed() < time {
                for _ in 0..64 {
                    ball.store(turn, Ordering::Relaxed);
                    wait_while(&ball, turn);
                    turn += 2;
                }
            }
            let elapsed = began.elapsed();
            ball.store(DONE, Ordering::Relaxed);
            Some(elapsed.as_nanos() as f64 / (turn - 1) as f64)
        });
        let client = scope.spawn(|| {
            let placed = move_to(here).is_ok();
            let mut seen = 0;
            loop {
                wait_while(&ball, seen);
                let turn = ball.load(Ordering::Relaxed);
                if turn == DONE {
                    return placed;
                }
                seen = turn + 1;
                ball.store(seen, Ordering::Relaxed);
            }
        });
        // A server that could not be placed must still let the client go.
        let result = server.join().ok().flatten();
        ball.store(DONE, Ordering::Relaxed);
        (client.join().ok()? && result.is_some()).then_some(result).flatten()
    })
}

fn wait_while(word: &AtomicU64, value: u64) {
    while word.load(Ordering::Relaxed) == value {
        spin_loop();
    }
}

fn move_to(cpu: usize) -> nix::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_work_takes_time() {
        let ns = pause_ns();
        assert!(ns.is_finite() && ns > 0.0, "{ns}");
    }

    #[test]
    fn a_line_transfer_takes_time_where_there_are_two_cpus() {
        if let Some(ns) = line_transfer_ns() {
            assert!(ns.is_finite() && ns > 0.0, "{ns}");
        } else {
            println!("one CPU: no line transfer to measure");
        }
    }
}
