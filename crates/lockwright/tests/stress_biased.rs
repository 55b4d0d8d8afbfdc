//! The reader-biased lock, everything at once; ThreadSanitizer runs this file. The events must add
//! up in every run: a bias that is turned off was turned on before.
#![cfg(not(any(loom, miri)))]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lock_api::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use lockwright::events::{Counts, Event, snapshot};
use lockwright::stages::rwlock_policy::{Fifo, Policy, Standard, V5_3};
use lockwright::{RawBiasedRwLockWith, RecursiveRead};

const THREADS: u64 = 8;
const ROUNDS: u64 = if cfg!(debug_assertions) { 40_000 } else { 200_000 };

/// Events are counted per process: one run at a time.
static ALONE: Mutex<()> = Mutex::new(());

type Lock<W, const FIRST: u32> = RwLock<RawBiasedRwLockWith<W, FIRST>, (u64, u64)>;

fn step(pair: &mut (u64, u64), wrote: &AtomicU64) {
    assert_eq!(pair.0, pair.1, "a writer was not alone");
    pair.0 += 1;
    std::hint::black_box(&mut pair.0);
    pair.1 += 1;
    wrote.fetch_add(1, Relaxed);
}

fn look(pair: &(u64, u64)) {
    assert_eq!(pair.0, pair.1, "half of a write");
}

/// All ways to acquire and release, one write in `every` or so; two plain counters must agree at
/// every look. Returns what was counted, and how many timed writers gave up.
fn mixed<W: Policy + Sync + Send, const FIRST: u32>(every: u64) -> (Counts, u64) {
    let (lock, other) = (Lock::<W, FIRST>::new((0, 0)), Lock::<W, FIRST>::new((0, 0)));
    let (wrote, wrote_other) = (AtomicU64::new(0), AtomicU64::new(0));
    let gave_up = AtomicU64::new(0);
    let before = snapshot();
    thread::scope(|s| {
        for t in 0..THREADS {
            let (lock, other, wrote, gave_up) = (&lock, &other, &wrote, &gave_up);
            let wrote_other = &wrote_other;
            s.spawn(move || {
                let time = Duration::from_micros(20);
                for i in 0..ROUNDS {
                    let turn = i * 7 + t * 3;
                    match turn % every {
                        0 => step(&mut lock.write(), wrote),
                        1 => match lock.try_write_for(time) {
                            Some(mut pair) => step(&mut pair, wrote),
                            None => _ = gave_up.fetch_add(1, Relaxed),
                        },
                        2 => {
                            let mut pair = lock.write();
                            step(&mut pair, wrote);
                            look(&RwLockWriteGuard::downgrade(pair));
                        }
                        3 => {
                            let looking = lock.upgradable_read();
                            look(&looking);
                            step(&mut RwLockUpgradableReadGuard::upgrade(looking), wrote);
                        }
                        4 => RwLockWriteGuard::unlock_fair(lock.write()),
                        5 => step(&mut other.write(), wrote_other),
                        6 => _ = lock.try_read_for(time).map(|pair| look(&pair)),
                        7..12 => {
                            let (first, beside) = (lock.read(), other.read());
                            let second = lock.read_recursive();
                            look(&first);
                            drop(first);
                            if i % 64 == 0 {
                                thread::yield_now();
                            }
                            look(&second);
                            look(&beside);
                        }
                        12..16 => look(&other.read()),
                        _ => look(&lock.read()),
                    }
                }
            });
        }
    });
    let counts = snapshot().since(&before);
    assert!(!lock.is_locked() && !other.is_locked(), "left locked");
    for (lock, wrote) in [(lock, wrote), (other, wrote_other)] {
        let total = wrote.into_inner();
        assert_eq!(lock.into_inner(), (total, total));
    }
    (counts, gave_up.into_inner())
}

fn survives<W: Policy + Sync + Send, const FIRST: u32>(every: u64) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (counts, gave_up) = mixed::<W, FIRST>(every);
    println!("{}: {:?}", W::NAME, counts.iter().filter(|&(_, n)| n > 0).collect::<Vec<_>>());
    let of = |event| counts.get(event);
    let (on, off) = (of(Event::RwsemBiasOn), of(Event::RwsemBiasOff));
    // Two locks, each on at the end or not.
    assert!((off..=off + 2).contains(&on), "{on} times on, {off} times off");
    assert!(off > 0 || FIRST > 0, "the bias was never on");
    assert!(of(Event::RwsemBiasPaid) <= off && off <= of(Event::FenceHeavy));
    // A timed writer gives up in the semaphore or behind biased readers.
    assert_eq!(of(Event::RwsemWlockFail) + of(Event::RwsemBiasFail), gave_up);
}

#[test]
fn an_eager_bias_survives_everything_at_once() {
    survives::<Standard, 0>(32);
    survives::<Standard, 0>(1_000);
}

#[test]
fn an_eager_bias_over_other_policies_survives_everything_at_once() {
    survives::<Fifo, 0>(64);
    survives::<V5_3, 0>(64);
}

#[test]
fn the_default_survives_everything_at_once() {
    survives::<Standard, 10>(100);
    survives::<Standard, 10>(10_000);
}

/// In a child the biased readers of other threads do not exist; the caller's own do.
#[test]
fn a_forked_child_forgets_the_readers_of_others() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (theirs, mine) = (Lock::<Standard, 0>::new((0, 0)), Lock::<Standard, 0>::new((0, 0)));
    for lock in [&theirs, &mine] {
        drop(lock.read());
    }
    let (reading, done) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            let _held = theirs.read();
            reading.store(true, Relaxed);
            while !done.load(Relaxed) {
                thread::yield_now();
            }
        });
        while !reading.load(Relaxed) {
            thread::yield_now();
        }
        let held = mine.read();
        assert!(theirs.try_write().is_none());
        // SAFETY: the child calls lock operations, which allocate nothing, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let right = theirs.try_write().is_some() && mine.try_write().is_none();
            drop(held);
            let right = right && mine.try_write().is_some();
            // SAFETY: ends the child without destructors, which are the parent's to run.
            unsafe { libc::_exit(if right { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: `child` is this process's, and `status` a valid place.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status:x}");
        done.store(true, Relaxed);
    });
}
