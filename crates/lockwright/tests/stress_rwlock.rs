//! The reader-writer lock, everything at once; ThreadSanitizer runs this file. The events must
//! add up in every run: each slow acquisition has exactly one reason.
#![cfg(not(any(loom, miri)))]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lock_api::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use lockwright::RawRwLockWith;
use lockwright::events::{Counts, Event, snapshot};
use lockwright::stages::rwlock_policy::{Fifo, Policy, ReaderSteal, Standard, V5_3, V5_11};

const THREADS: u64 = 8;
const ROUNDS: u64 = if cfg!(debug_assertions) { 30_000 } else { 100_000 };

/// Events are counted per process: one run at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// What a run yielded.
struct Ran {
    counts: Counts,
    /// Timed calls that failed, of readers and of writers.
    failed: [u64; 2],
    /// Upgradable reads, each of which was upgraded.
    upgrades: u64,
}

/// All ways to acquire and release, mixed, or all but upgradable reads; two plain counters must
/// agree at every look.
fn mixed<W: Policy + Sync + Send>(upgrading: bool) -> Ran {
    let lock = RwLock::<RawRwLockWith<W>, (u64, u64)>::new((0, 0));
    let (wrote, failed) = (AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]);
    let upgrades = AtomicU64::new(0);
    let before = snapshot();
    thread::scope(|s| {
        for t in 0..THREADS {
            let (lock, wrote, failed, upgrades) = (&lock, &wrote, &failed, &upgrades);
            s.spawn(move || {
                let step = |pair: &mut (u64, u64), pause: bool| {
                    assert_eq!(pair.0, pair.1, "a writer was not alone");
                    pair.0 += 1;
                    if pause {
                        std::hint::black_box(&mut pair.0);
                        thread::yield_now();
                    }
                    pair.1 += 1;
                    wrote.fetch_add(1, Relaxed);
                };
                let look = |pair: &(u64, u64)| assert_eq!(pair.0, pair.1, "half of a write");
                for i in 0..ROUNDS {
                    let time = Duration::from_micros(20);
                    match (i * 7 + t * 3) % 32 {
                        0..4 => step(&mut lock.write(), i % 64 == 0),
                        4 => match lock.try_write_for(time) {
                            Some(mut pair) => step(&mut pair, false),
                            None => _ = failed[1].fetch_add(1, Relaxed),
                        },
                        5 => {
                            let mut pair = lock.write();
                            step(&mut pair, false);
                            look(&RwLockWriteGuard::downgrade(pair));
                        }
                        6 if upgrading => {
                            let looking = lock.upgradable_read();
                            upgrades.fetch_add(1, Relaxed);
                            look(&looking);
                            step(&mut RwLockUpgradableReadGuard::upgrade(looking), false);
                        }
                        7 => match lock.try_read_for(time) {
                            Some(pair) => look(&pair),
                            None => _ = failed[0].fetch_add(1, Relaxed),
                        },
                        8 => RwLockWriteGuard::unlock_fair(lock.write()),
                        _ => look(&lock.read()),
                    }
                }
            });
        }
    });
    let counts = snapshot().since(&before);
    assert!(!lock.is_locked(), "left locked");
    let total = wrote.into_inner();
    assert_eq!(lock.into_inner(), (total, total));
    Ran { counts, failed: failed.map(AtomicU64::into_inner), upgrades: upgrades.into_inner() }
}

/// The kernel's identities: calls of the slow paths are acquisitions of one kind each, or failures;
/// attempts without queueing are those of its roles that spin.
fn adds_up<W: Policy>(counts: &Counts, upgrades: u64) {
    let sum = |events: &[Event]| events.iter().map(|&event| counts.get(event)).sum::<u64>();
    assert_eq!(sum(&[Event::RwsemNoNode]), 0, "a call that does without the queue has no kind");
    let (reads, writes) = (sum(&[Event::RwsemReadSlow]), sum(&[Event::RwsemWriteSlow]));
    let queued = [Event::RwsemRlock, Event::RwsemRlockFast, Event::RwsemRlockFail];
    assert_eq!(reads, sum(&queued) + sum(&[Event::RwsemOptRlock, Event::RwsemRlockSteal]));
    assert_eq!(writes, sum(&[Event::RwsemOptLock, Event::RwsemWlock, Event::RwsemWlockFail]));
    let on = W::SWITCHES;
    if on.waits.readers_spin
        && (on.admission.anti_starvation || on.admission.reader_steals != ReaderSteal::Never)
    {
        return; // Some readers spin, some do not.
    }
    let spinning = |spins: bool, calls: u64| if spins { calls } else { 0 };
    let expected = spinning(on.waits.writers_spin, writes) + spinning(on.waits.readers_spin, reads);
    let attempts = sum(&[Event::RwsemOptLock, Event::RwsemOptFail])
        + spinning(on.waits.readers_spin, sum(&[Event::RwsemOptRlock]));
    // Upgradable readers do not spin, neither to begin nor to upgrade.
    let without = expected.checked_sub(attempts);
    assert!(without.is_some_and(|n| n <= 2 * upgrades), "{expected} calls, {attempts} attempts");
}

fn survives<W: Policy + Sync + Send>() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let without = mixed::<W>(false);
    assert_eq!(without.upgrades, 0);
    adds_up::<W>(&without.counts, 0);
    let Ran { counts, failed, upgrades } = mixed::<W>(true);
    adds_up::<W>(&counts, upgrades);
    let of = |event| counts.get(event);
    // A call that fails in its slow path counts once, and in no other way.
    assert_eq!([of(Event::RwsemRlockFail), of(Event::RwsemWlockFail)], failed);
    // Who was woken had slept, or was about to; a grant wakes at most the readers it counts.
    assert!(of(Event::RwsemWakeReader) <= of(Event::RwsemRlock) + of(Event::RwsemRlockFail));
    // The second try of a phase is one of the acquisitions without queueing.
    assert!(of(Event::RwsemOptRlock2) <= of(Event::RwsemOptRlock));
    let on = W::SWITCHES;
    if !on.waits.readers_spin && on.user.eager_polls == 0 && on.user.yields == 0 {
        assert_eq!(of(Event::RwsemOptRlock), 0, "readers do not spin");
    }
    if !on.waits.writers_spin && on.user.eager_polls == 0 && on.user.yields == 0 {
        assert_eq!(of(Event::RwsemOptLock), 0, "writers do not spin");
    }
    println!("{}: {:?}", W::NAME, counts.iter().filter(|&(_, n)| n > 0).collect::<Vec<_>>());
}

#[test]
fn the_default_survives_everything_at_once() {
    survives::<Standard>();
}

#[test]
fn v5_3_survives_everything_at_once() {
    survives::<V5_3>();
}

#[test]
fn v5_11_survives_everything_at_once() {
    survives::<V5_11>();
}

#[test]
fn fifo_survives_everything_at_once() {
    survives::<Fifo>();
}

/// Eight calls at a time that find the lock held by the main thread: no more acquisitions than calls.
#[test]
fn every_slow_acquisition_is_counted_once() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let lock = RwLock::<RawRwLockWith<Standard>, ()>::new(());
    let before = snapshot();
    const EACH: u64 = 4;
    for _ in 0..50 {
        let asking = AtomicU64::new(0);
        let held = lock.write();
        thread::scope(|s| {
            for i in 0..2 * EACH {
                let (lock, asking) = (&lock, &asking);
                s.spawn(move || {
                    asking.fetch_add(1, Relaxed);
                    if i % 2 == 0 { drop(lock.read()) } else { drop(lock.write()) }
                });
            }
            while asking.load(Relaxed) < 2 * EACH {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(2));
            drop(held);
        });
    }
    let counts = snapshot().since(&before);
    adds_up::<Standard>(&counts, 0);
    let sum = |events: &[Event]| events.iter().map(|&event| counts.get(event)).sum::<u64>();
    let reads =
        [Event::RwsemOptRlock, Event::RwsemRlock, Event::RwsemRlockFast, Event::RwsemRlockSteal];
    // A thread that was late may have found the lock free: then it took the fast path.
    let (reads, writes) = (sum(&reads), sum(&[Event::RwsemOptLock, Event::RwsemWlock]));
    assert!(reads > 0 && reads <= 50 * EACH, "{reads}");
    assert!(writes > 0 && writes <= 50 * EACH, "{writes}");
    assert_eq!(counts.get(Event::RwsemNoNode), 0);
}
