//! What a reader-writer lock must keep. Its writers' side is held to the mutex's contract as well,
//! through [`WriteSide`](crate::WriteSide).

use super::{body, guarded};
use crate::AnyRwLock;
use crate::oracle::{Pair, step};
use crate::scale::{Dice, rounds};
use crate::scene::{Flag, Tally, linger};
use lock_api::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(2);

/// All readers are inside at once: none leaves before the last has come.
pub fn readers_hold_the_lock_together<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        let (lock, inside, readers) = (RwLock::<R, u32>::new(7), Tally::new(), rounds(8, 3));
        thread::scope(|s| {
            for _ in 0..readers {
                s.spawn(|| {
                    let seen = lock.read();
                    inside.add();
                    inside.wait_for(readers);
                    assert_eq!(*seen, 7);
                });
            }
        });
        assert_free(&lock);
    });
}

/// Writers step a pair of plain counters; no reader and no writer ever sees them differ.
pub fn readers_never_see_half_of_a_write<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        let wrote = mixed::<R>(rounds(6, 3), rounds(20_000, 20), |lock, dice| {
            if dice.below(4) == 0 {
                assert!(!step(&mut lock.write()), "a writer was not alone");
                return 1;
            }
            assert_equal(&lock.read());
            0
        });
        assert!(wrote > 0);
    });
}

/// Every way to acquire and release, mixed.
pub fn all_operations_mixed_keep_exclusion<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        mixed::<R>(rounds(6, 3), rounds(10_000, 24), one_of_all);
    });
}

/// The same with many more threads than CPUs.
pub fn more_threads_than_cpus_keep_exclusion<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        mixed::<R>(rounds(24, 5), rounds(1_500, 6), one_of_all);
    });
}

fn one_of_all<R: AnyRwLock>(lock: &RwLock<R, Pair>, dice: &mut Dice) -> u64 {
    let time = Duration::from_micros(dice.below(100));
    match dice.below(12) {
        0 => lock.try_write().map_or(0, |mut pair| stepped(&mut pair)),
        1 => lock.try_write_for(time).map_or(0, |mut pair| stepped(&mut pair)),
        2 => {
            let mut pair = lock.write();
            let steps = stepped(&mut pair);
            assert_equal(&RwLockWriteGuard::downgrade(pair));
            steps
        }
        3 => {
            let mut pair = lock.write();
            let steps = stepped(&mut pair);
            RwLockWriteGuard::unlock_fair(pair);
            steps
        }
        4 => {
            let looking = lock.upgradable_read();
            let before = looking.0;
            let mut pair = RwLockUpgradableReadGuard::upgrade(looking);
            assert_eq!(pair.0, before, "a writer came between look and upgrade");
            stepped(&mut pair)
        }
        5 => {
            let looking = lock.upgradable_read();
            match RwLockUpgradableReadGuard::try_upgrade_for(looking, time) {
                Ok(mut pair) => stepped(&mut pair),
                Err(looking) => {
                    assert_equal(&looking);
                    0
                }
            }
        }
        6 => {
            let looking = lock.try_upgradable_read_for(time);
            looking.map_or(0, |looking| {
                assert_equal(&RwLockUpgradableReadGuard::downgrade(looking));
                0
            })
        }
        7 => {
            let mut pair = lock.write();
            let steps = stepped(&mut pair);
            assert_equal(&RwLockWriteGuard::downgrade_to_upgradable(pair));
            steps
        }
        8 => {
            if let Some(pair) = lock.try_read_for(time) {
                assert_equal(&pair);
            }
            0
        }
        9 => {
            let pair = lock.read();
            assert_equal(&pair);
            lock_api::RwLockReadGuard::unlock_fair(pair);
            0
        }
        10 => {
            if let Some(pair) = lock.try_read() {
                assert_equal(&pair);
            }
            0
        }
        _ => {
            assert_equal(&lock.read());
            0
        }
    }
}

/// A reader bars writers, not readers; a writer bars both; an upgradable reader bars writers and
/// its like.
pub fn try_tells_who_bars_whom<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        let lock = RwLock::<R, u32>::new(0);
        for _ in 0..rounds(50, 3) {
            let reading = lock.read();
            assert!(lock.is_locked() && !lock.is_locked_exclusive());
            assert!(lock.try_write().is_none() && lock.try_read().is_some());
            assert!(lock.try_upgradable_read().is_some());
            drop(reading);

            let writing = lock.write();
            assert!(lock.is_locked_exclusive());
            assert!(lock.try_write().is_none() && lock.try_read().is_none());
            assert!(lock.try_upgradable_read().is_none());
            drop(writing);

            let looking = lock.upgradable_read();
            assert!(lock.try_write().is_none() && lock.try_read().is_some());
            assert!(lock.try_upgradable_read().is_none());
            drop(looking);
            assert_free(&lock);
        }
    });
}

/// A reader that stays makes a timed writer give up, and a timed upgrade, which keeps its hold;
/// readers that came to wait behind them are served.
pub fn who_gives_up_leaves_the_way_free<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        let lock = RwLock::<R, u32>::new(0);
        for _ in 0..rounds(10, 1) {
            let reading = lock.read();
            thread::scope(|s| {
                s.spawn(|| assert!(lock.try_write_for(SHORT).is_none()));
                s.spawn(|| {
                    linger(SHORT / 4);
                    drop(lock.read());
                });
                s.spawn(|| {
                    let looking = lock.upgradable_read();
                    let looking = RwLockUpgradableReadGuard::try_upgrade_for(looking, SHORT)
                        .expect_err("a reader stays");
                    assert!(lock.try_write().is_none(), "the hold was kept");
                    drop(looking);
                });
            });
            drop(reading);
            assert_free(&lock);
            let writing = lock.write();
            thread::scope(|s| {
                s.spawn(|| assert!(lock.try_read_for(SHORT).is_none()));
                s.spawn(|| assert!(lock.try_write_for(SHORT).is_none()));
                s.spawn(|| assert!(lock.try_upgradable_read_for(SHORT).is_none()));
            });
            drop(writing);
            assert_free(&lock);
        }
    });
}

/// Waiters of every kind, queued behind a writer, are all served by its one release.
pub fn all_waiters_are_served_after_one_release<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        for round in 0..rounds(30, 2) {
            let (lock, asking) = (RwLock::<R, u64>::new(0), Tally::new());
            let writing = lock.write();
            thread::scope(|s| {
                for id in 0..rounds(9, 4) {
                    let (lock, asking) = (&lock, &asking);
                    s.spawn(move || {
                        asking.add();
                        match (id + round) % 3 {
                            0 => *lock.write() += 1,
                            1 => drop(lock.read()),
                            _ => *RwLockUpgradableReadGuard::upgrade(lock.upgradable_read()) += 1,
                        }
                    });
                }
                asking.wait_for(rounds(9, 4));
                linger(Duration::from_micros(200 * (round as u64 % 10)));
                drop(writing);
            });
            assert_free(&lock);
        }
    });
}

/// A fair unlock does not let its thread back in before those who waited.
pub fn a_fair_unlock_serves_a_waiting_writer_although_readers_loop<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        let (lock, asking, served) = (RwLock::<R, ()>::new(()), Tally::new(), Flag::new());
        thread::scope(|s| {
            let mut held = lock.read();
            s.spawn(|| {
                asking.add();
                drop(lock.write());
                served.raise();
            });
            asking.wait_for(1);
            linger(Duration::from_millis(1));
            while !served.is_raised() {
                lock_api::RwLockReadGuard::unlock_fair(held);
                held = lock.read();
            }
            drop(held);
        });
        assert_free(&lock);
    });
}

/// Readers hold the lock, one after the other without a gap, until the writer has it. A lock that
/// never refuses them starves the writer, and the watchdog ends the test.
fn read_without_a_gap<R: AnyRwLock>(lock: &RwLock<R, ()>, served: &Flag) {
    let mut held = lock.read();
    while !served.is_raised() {
        match lock.try_read_for(SHORT) {
            Some(next) => held = next,
            None => break,
        }
    }
    drop(held);
    served.wait();
}

/// A writer that became first in the queue in its sleep, behind a reader that got the lock.
pub fn a_writer_behind_a_reader_is_served_among_readers<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        let (lock, asking, served) = (RwLock::<R, ()>::new(()), Tally::new(), Flag::new());
        let (inside, leave) = (Flag::new(), Flag::new());
        let writing = lock.write();
        thread::scope(|s| {
            s.spawn(|| {
                asking.add();
                let held = lock.read();
                inside.raise();
                leave.wait();
                drop(held);
            });
            asking.wait_for(1);
            linger(SHORT);
            s.spawn(|| {
                asking.add();
                drop(lock.write());
                served.raise();
            });
            asking.wait_for(2);
            linger(SHORT);
            drop(writing);
            inside.wait();
            leave.raise();
            read_without_a_gap(&lock, &served);
        });
        assert_free(&lock);
    });
}

/// The same behind a writer that gave up, and behind one that went on as a reader.
pub fn a_writer_behind_a_writer_is_served_among_readers<R: AnyRwLock>() {
    guarded::<R, _>(body!(), || {
        for gives_up in [true, false] {
            let (lock, asking, served) = (RwLock::<R, ()>::new(()), Tally::new(), Flag::new());
            let gone = Flag::new();
            let held = lock.read();
            thread::scope(|s| {
                s.spawn(|| {
                    asking.add();
                    if gives_up {
                        assert!(lock.try_write_for(4 * SHORT).is_none(), "a reader stays");
                        gone.raise();
                        return;
                    }
                    let reading = RwLockWriteGuard::downgrade(lock.write());
                    gone.raise();
                    drop(reading);
                });
                asking.wait_for(1);
                linger(SHORT / 2);
                s.spawn(|| {
                    asking.add();
                    drop(lock.write());
                    served.raise();
                });
                asking.wait_for(2);
                linger(SHORT / 2);
                if gives_up {
                    gone.wait();
                    s.spawn(|| read_without_a_gap(&lock, &served));
                    linger(SHORT);
                    drop(held);
                } else {
                    drop(held);
                    gone.wait();
                    read_without_a_gap(&lock, &served);
                }
            });
            assert_free(&lock);
        }
    });
}

fn stepped(pair: &mut Pair) -> u64 {
    assert!(!step(pair), "a writer was not alone");
    1
}

fn assert_equal(pair: &Pair) {
    assert_eq!(pair.0, pair.1, "a reader saw half of a write");
}

fn assert_free<R: AnyRwLock, T>(lock: &RwLock<R, T>) {
    assert!(!lock.is_locked(), "free when everybody has gone");
    drop(lock.try_write().expect("a free lock can be written"));
}

/// Threads that each do `turn` so often; returns the steps they say they made, which must be what
/// the counters say.
fn mixed<R: AnyRwLock>(
    threads: usize,
    turns: usize,
    turn: impl Fn(&RwLock<R, Pair>, &mut Dice) -> u64 + Sync,
) -> u64 {
    let lock = RwLock::<R, Pair>::new((0, 0));
    let steps = thread::scope(|s| {
        let worker = |id| {
            let (lock, turn) = (&lock, &turn);
            move || {
                let mut dice = Dice::new(id);
                (0..turns).map(|_| turn(lock, &mut dice)).sum::<u64>()
            }
        };
        let workers: Vec<_> = (0..threads).map(|id| s.spawn(worker(id))).collect();
        workers.into_iter().map(|w| w.join().expect("a thread panicked")).sum()
    });
    assert_free(&lock);
    assert_eq!(lock.into_inner(), (steps, steps));
    steps
}
