//! The harness measured with a lock that works and one that does not.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::*;
use crate::harness::Interrupt;

struct Works(Mutex<u64>);

impl BenchMutex for Works {
    fn new() -> Self {
        Works(Mutex::new(0))
    }

    fn with<T>(&self, section: impl FnOnce(&mut u64) -> T) -> T {
        section(&mut self.0.lock().unwrap())
    }
}

fn spec(threads: usize, rhythm: Rhythm, ms: u64) -> RoundSpec {
    RoundSpec { threads, rhythm, time: Duration::from_millis(ms) }
}

#[test]
fn a_working_lock_loses_nothing() {
    let report = Runner::<Works>::NEW
        .throughput(&spec(4, Rhythm::steady(5, 1), 20), &Interrupt::new())
        .unwrap();
    assert_eq!(report.lost_updates, 0);
    assert_eq!(report.threads.len(), 4);
    assert!(!report.cut_short);
    assert!(report.threads.iter().map(|thread| thread.ops).sum::<u64>() > 0);
}

#[test]
fn a_missing_lock_is_noticed() {
    // Threads of more than one scheduler slice's work: even one CPU interleaves them.
    let broken = Runner::<NoLock>::NEW;
    let lost = |ms| {
        let spec = spec(4, Rhythm::steady(200, 0), ms);
        broken.throughput(&spec, &Interrupt::new()).unwrap().lost_updates
    };
    assert!([50, 200, 1000].into_iter().any(|ms| lost(ms) > 0));
    let spec = spec(4, Rhythm::steady(200, 0), 500);
    assert!(broken.latency(&spec, &Interrupt::new()).unwrap().lost_updates > 0);
}

#[test]
fn bursts_do_the_same_sections() {
    let rhythm = Rhythm { load: 1, burst: 64, outside: 100 };
    let report = Runner::<Works>::NEW.throughput(&spec(2, rhythm, 20), &Interrupt::new()).unwrap();
    assert_eq!(report.lost_updates, 0);
    assert!(report.threads.iter().map(|thread| thread.ops).sum::<u64>() > 0);
}

#[test]
fn one_thread_alone_hardly_waits_and_every_wait_is_recorded() {
    let report = Runner::<Works>::NEW
        .latency(&spec(1, Rhythm::steady(1, 0), 20), &Interrupt::new())
        .unwrap();
    assert_eq!(report.lost_updates, 0);
    assert!(report.waits.count() > 0);
    assert!(report.waits.percentile_ns(50.0) <= report.waits.percentile_ns(99.9));
    assert!(report.waits.percentile_ns(99.9) <= report.waits.longest_ns());
}

#[test]
fn an_interrupt_ends_the_round() {
    let interrupt = Arc::new(Interrupt::new());
    let began = Instant::now();
    let raiser = std::thread::spawn({
        let interrupt = Arc::clone(&interrupt);
        move || {
            std::thread::sleep(Duration::from_millis(20));
            assert!(!interrupt.raise());
            assert!(interrupt.raise());
        }
    });
    let hour = spec(2, Rhythm::steady(1, 0), 3_600_000);
    let report = Runner::<Works>::NEW.throughput(&hour, &interrupt).unwrap();
    raiser.join().unwrap();
    assert!(report.cut_short);
    assert_eq!(report.lost_updates, 0);
    assert!(began.elapsed() < Duration::from_secs(600));
}

#[test]
fn pairs_and_their_loop_take_time() {
    assert!(Runner::<Works>::NEW.uncontended(1_000) > Duration::ZERO);
    assert!(loop_overhead(100_000) > Duration::ZERO);
}
