//! `SeqLock` and `SeqLatch`, readers and writers at once; ThreadSanitizer runs this file. The four
//! words of a value belong together in every value that is returned, and no write is lost.
#![cfg(not(any(loom, miri)))]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use lockwright::{SeqLatch, SeqLock};

const READERS: u64 = 3;
const WRITERS: u64 = 2;
const WRITES: u64 = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };

fn value(n: u64) -> [u64; 4] {
    [n, !n, n.rotate_left(17), n.wrapping_mul(3)]
}

/// Looks until the writers are done; values only grow.
fn look(done: &AtomicBool, read: impl Fn(u64) -> Option<[u64; 4]>) {
    let (mut last, mut looks) = (0, 0);
    // Ordering: Relaxed: a hint to stop.
    while !done.load(Relaxed) || looks == 0 {
        looks += 1;
        if let Some(seen) = read(looks) {
            assert_eq!(seen, value(seen[0]), "torn");
            assert!(seen[0] >= last, "an older value after a newer one");
            last = seen[0];
        }
    }
}

/// Runs `write` on so many threads beside the readers.
fn beside<L: Sync>(
    lock: &L,
    writers: u64,
    write: fn(&L, u64),
    read: fn(&L, u64) -> Option<[u64; 4]>,
) {
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let writing: Vec<_> =
            (0..writers).map(|_| s.spawn(|| (0..WRITES).for_each(|i| write(lock, i)))).collect();
        for _ in 0..READERS {
            s.spawn(|| look(&done, |turn| read(lock, turn)));
        }
        let results: Vec<_> = writing.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Relaxed);
        assert!(results.into_iter().all(|result| result.is_ok()));
    });
}

#[test]
fn a_seqlock_under_readers_and_writers() {
    let lock = SeqLock::new(value(0));
    let write = |lock: &SeqLock<[u64; 4]>, turn: u64| match turn % 3 {
        0 => lock.update(|now| *now = value(now[0] + 1)),
        1 => {
            let mut now = lock.write();
            *now = value(now[0] + 1);
        }
        _ => loop {
            if let Some(mut now) = lock.try_write() {
                *now = value(now[0] + 1);
                break;
            }
            thread::yield_now();
        },
    };
    beside(&lock, WRITERS, write, |lock, turn| match turn % 3 {
        0 => Some(lock.read()),
        1 => Some(lock.read_counted().0),
        _ => lock.try_read(),
    });
    assert_eq!(lock.read(), value(WRITERS * WRITES), "a write is lost");
}

#[test]
fn a_latch_under_readers_and_writers() {
    let latch = SeqLatch::new(value(0));
    let write = |latch: &SeqLatch<[u64; 4]>, _| latch.update(|now| *now = value(now[0] + 1));
    beside(&latch, WRITERS, write, |latch, turn| match turn % 2 {
        0 => Some(latch.read()),
        _ => latch.try_read(),
    });
    assert_eq!(latch.read(), value(WRITERS * WRITES), "a write is lost");
}
