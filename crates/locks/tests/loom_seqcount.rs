//! Sequence counter, sequence lock and latch under the model checker: a torn value is never
//! returned, a value is never older than one read before, and what a writer published is there.
//!
//! What the checker cannot show: it lets a relaxed load see an old value but no value of the
//! future (no load is delayed behind a later store), and it forgets all but the last seven stores
//! of a word; the models stay below that. It remembers the last access to a word only, so that a
//! writer that loads a word and stores it hides a reader's load that came before: where there is
//! one reader, each side is the spawned thread once.
#![cfg(loom)]

mod support;

use std::sync::atomic::Ordering::Relaxed;

use lockwright_locks::seqcount::{NotNow, SeqCount};
use lockwright_locks::seqlatch::RawSeqLatch;
use lockwright_locks::seqlock::{RawSeqLock, Words};
use lockwright_model::Model;
use lockwright_platform::{Platform, Word};
use loom::sync::Arc;
use loom::thread;
use support::model;

type Words64 = <Model as Platform>::Word<u64>;
type Lock = RawSeqLock<Model, Words<Model, 2>>;
type Latch = RawSeqLatch<Model, Words<Model, 2>>;

/// Two words that belong together.
struct Pair {
    seq: SeqCount<Model>,
    words: [Words64; 2],
}

impl Pair {
    fn new() -> Arc<Self> {
        Arc::new(Pair { seq: SeqCount::new(), words: [Word::new(0), Word::new(0)] })
    }

    fn load(&self) -> (u64, u64) {
        (self.words[0].load(Relaxed), self.words[1].load(Relaxed))
    }

    fn store(&self, value: u64) {
        self.words.iter().for_each(|word| word.store(value, Relaxed));
    }

    /// The value of both words, as a reader may see it.
    fn read(&self) -> u64 {
        let (first, second) = self.seq.read(|| self.load()).expect("nobody unwinds here");
        assert_eq!(first, second, "torn");
        first
    }
}

/// Runs `write` beside readers that run `read` each.
fn beside<S: Send + Sync + 'static>(
    preemptions: Option<usize>,
    readers: usize,
    new: fn() -> Arc<S>,
    write: fn(&S),
    read: fn(&S),
) {
    model(preemptions, move || {
        let shared = new();
        let threads: Vec<_> = (0..readers)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || read(&shared))
            })
            .collect();
        write(&shared);
        threads.into_iter().for_each(|t| t.join().unwrap());
        read(&shared);
    });
    if readers > 1 {
        return;
    }
    model(preemptions, move || {
        let shared = new();
        let writer = shared.clone();
        let writer = thread::spawn(move || write(&writer));
        read(&shared);
        writer.join().unwrap();
        read(&shared);
    });
}

#[test]
fn a_read_is_of_one_section() {
    let write = |pair: &Pair| pair.seq.write(|_| pair.store(1));
    beside(None, 1, Pair::new, write, |pair| {
        pair.read();
    });
}

#[test]
fn reads_of_one_thread_do_not_go_back() {
    let write = |pair: &Pair| (1..=2).for_each(|n| pair.seq.write(|_| pair.store(n)));
    beside(Some(3), 1, Pair::new, write, |pair| {
        let first = pair.read();
        assert!(pair.read() >= first);
    });
}

#[test]
fn two_readers_beside_a_writer() {
    let write = |pair: &Pair| pair.seq.write(|_| pair.store(1));
    beside(Some(2), 2, Pair::new, write, |pair| {
        pair.read();
    });
}

/// An attempt fails only beside an open section or one that began meanwhile.
#[test]
fn an_attempt_is_whole_or_fails() {
    let write = |pair: &Pair| pair.seq.write(|_| pair.store(1));
    beside(None, 1, Pair::new, write, |pair| match pair.seq.try_read(|| pair.load()) {
        Ok((first, second)) => assert_eq!(first, second, "torn"),
        Err(error) => assert_eq!(error, NotNow::Writing),
    });
}

/// The section before an abandoned one is all that readers ever get, or an error.
#[test]
fn an_abandoned_section_fools_nobody() {
    let write = |pair: &Pair| {
        pair.seq.write(|_| pair.store(1));
        let _abandoned = pair.seq.begin_write();
        pair.words[0].store(2, Relaxed);
    };
    beside(Some(3), 1, Pair::new, write, |pair| {
        if let Ok((first, second)) = pair.seq.read(|| pair.load()) {
            assert!(first == second && first < 2, "{first} {second}");
        }
    });
}

#[test]
fn a_repair_is_published() {
    let write = |pair: &Pair| {
        drop(pair.seq.begin_write());
        pair.seq.write(|section| {
            assert!(section.found_broken());
            pair.store(1);
            section.repaired();
        });
    };
    beside(Some(3), 1, Pair::new, write, |pair| {
        if let Ok((first, second)) = pair.seq.read(|| pair.load()) {
            assert_eq!(first, second, "torn");
        }
    });
}

fn lock() -> Arc<Lock> {
    Arc::new(Lock::with(Words::new([0, 0])))
}

fn whole([first, second]: [u64; 2]) -> u64 {
    assert_eq!(first, second, "torn");
    first
}

/// SAFETY of the stores below: one thread writes.
fn set(lock: &Lock, value: u64) {
    unsafe { lock.store([value; 2]) };
}

#[test]
fn a_value_is_whole() {
    beside(
        None,
        1,
        lock,
        |lock| set(lock, 1),
        |lock| {
            lock.try_read().map(whole);
        },
    );
}

#[test]
fn values_are_whole_and_do_not_go_back() {
    let write = |lock: &Lock| (1..=2).for_each(|n| set(lock, n));
    beside(Some(3), 1, lock, write, |lock| {
        let first = lock.read(2).map_or(0, |(value, _)| whole(value));
        assert!(lock.read(2).is_none_or(|(value, _)| whole(value) >= first));
    });
}

#[test]
fn values_are_whole_for_two_readers() {
    beside(
        Some(2),
        2,
        lock,
        |lock| set(lock, 1),
        |lock| {
            lock.read(2).map(|(value, _)| whole(value));
        },
    );
}

/// Two writers, kept apart by a lock of the checker.
#[test]
fn two_writers_and_a_reader() {
    model(Some(2), || {
        let shared = Arc::new((loom::sync::Mutex::new(()), Lock::with(Words::new([0, 0]))));
        let writers: Vec<_> = (1..=2)
            .map(|n| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let _guard = shared.0.lock().unwrap();
                    set(&shared.1, n);
                })
            })
            .collect();
        shared.1.read(2).map(|(value, _)| whole(value));
        writers.into_iter().for_each(|t| t.join().unwrap());
        assert_ne!(shared.1.try_read().map(whole), Some(0));
    });
}

fn latch() -> Arc<Latch> {
    Arc::new(Latch::with([Words::new([0, 0]), Words::new([0, 0])]))
}

/// SAFETY of the stores below: one thread writes.
fn turn(latch: &Latch, value: u64) {
    unsafe { latch.store([value; 2]) };
}

#[test]
fn a_latched_value_is_whole() {
    beside(
        Some(3),
        1,
        latch,
        |latch| turn(latch, 1),
        |latch| {
            latch.try_read().map(whole);
        },
    );
}

/// Two stores: the second turns readers to the copy that the first wrote last.
#[test]
fn a_latched_value_is_whole_beside_two_stores() {
    let write = |latch: &Latch| (1..=2).for_each(|n| turn(latch, n));
    beside(Some(2), 1, latch, write, |latch| {
        latch.try_read().map(whole);
    });
}

#[test]
fn latched_values_do_not_go_back() {
    beside(
        Some(2),
        1,
        latch,
        |latch| turn(latch, 1),
        |latch| {
            let first = whole(latch.read().0);
            assert!(whole(latch.read().0) >= first);
        },
    );
}

#[test]
fn latched_values_are_whole_for_two_readers() {
    beside(
        Some(2),
        2,
        latch,
        |latch| turn(latch, 1),
        |latch| {
            latch.try_read().map(whole);
        },
    );
}
