//! What `SeqCount`, `SeqLock` and `SeqLatch` promise, on the native platform. Miri runs this file.
#![cfg(not(loom))]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use lockwright::{Broken, NotNow, Plain, SeqCount, SeqLatch, SeqLock, plain};

/// Writes of a writer beside readers.
const WRITES: u64 = if cfg!(miri) { 40 } else { 50_000 };

/// Three bytes and a number, packed so that every word size has its turn.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Odd {
    bytes: [u8; 5],
    small: [u8; 2],
}
plain!(Odd { bytes: [u8; 5], small: [u8; 2] });

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
struct Aligned {
    words: [u64; 8],
}
plain!(Aligned { words: [u64; 8] });

/// A value goes in and comes out by every way there is.
fn round_trip<T: Plain + PartialEq + std::fmt::Debug>(first: T, second: T) {
    let lock = SeqLock::new(first);
    assert_eq!(lock.read(), first);
    lock.set(second);
    assert_eq!(lock.try_read(), Some(second));
    *lock.write() = first;
    assert_eq!(lock.read_counted(), (first, 0));
    let mut lock = lock;
    *lock.get_mut() = second;
    assert_eq!(lock.into_inner(), second);
    let latch = SeqLatch::new(first);
    assert_eq!(latch.read(), first);
    latch.set(second);
    assert_eq!(latch.try_read(), Some(second));
    latch.update(|value| *value = first);
    assert_eq!(latch.into_inner(), first);
}

#[test]
fn values_of_any_size_and_alignment_go_in_and_come_out() {
    round_trip((), ());
    round_trip(1_u8, 255);
    round_trip(true, false);
    round_trip('a', '\u{10ffff}');
    round_trip(f64::MIN_POSITIVE, -0.5);
    round_trip(i128::MIN, i128::MAX);
    round_trip(std::num::NonZero::<u16>::new(7), None);
    round_trip((1_u64, 2_u32, 3_u32), (u64::MAX, 0, 9));
    round_trip([0_u8; 0], []);
    round_trip([1_u8; 3], [7, 8, 9]);
    round_trip([1_u16; 3], [7, 8, 9]);
    round_trip([1_u32; 3], [7, 8, 9]);
    round_trip([3_u8; 257], [9; 257]);
    let odd = |n| Odd { bytes: [n; 5], small: [n + 1; 2] };
    round_trip(odd(1), odd(100));
    round_trip(Aligned { words: [1; 8] }, Aligned { words: [2; 8] });
}

#[test]
fn sizes_are_the_value_s_and_16_bytes() {
    assert_eq!(size_of::<SeqLock<()>>(), 16);
    assert_eq!(size_of::<SeqLock<[u64; 4]>>(), 48);
    assert_eq!(align_of::<SeqLock<Aligned>>(), 64);
    assert_eq!(size_of::<SeqLatch<u64>>(), 32);
    assert_eq!(size_of::<SeqCount>(), 8);
}

#[test]
fn statics_need_no_initialisation() {
    static LOCK: SeqLock<[u16; 5]> = SeqLock::new([3; 5]);
    static LATCH: SeqLatch<(u32, u32)> = SeqLatch::new((1, 2));
    static COUNT: SeqCount = SeqCount::INIT;
    assert_eq!(LOCK.read(), [3; 5]);
    assert_eq!(LATCH.read(), (1, 2));
    assert_eq!(COUNT.read(|| 5), Ok(5));
    assert_eq!(format!("{LOCK:?}"), "SeqLock { value: [3, 3, 3, 3, 3] }");
    assert_eq!(format!("{LATCH:?}"), "SeqLatch { value: (1, 2) }");
}

/// Runs `write(n)` for n = 1.. beside two readers, each of which demands values that never go back.
fn beside(write: impl Fn(u64) + Sync, read: impl Fn() -> u64 + Sync) {
    let done = AtomicBool::new(false);
    let start = Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                let mut last = 0;
                // Ordering: Relaxed: a hint to stop.
                while !done.load(Relaxed) {
                    let now = read();
                    assert!(now >= last, "{now} after {last}");
                    last = now;
                }
            });
        }
        start.wait();
        (1..=WRITES).for_each(&write);
        done.store(true, Relaxed);
    });
    assert_eq!(read(), WRITES);
}

fn whole(words: [u64; 5]) -> u64 {
    assert!(words.iter().all(|&word| word == words[0]), "torn: {words:?}");
    words[0]
}

#[test]
fn a_locked_value_is_never_torn() {
    let lock = SeqLock::new([0; 5]);
    beside(|n| lock.set([n; 5]), || whole(lock.read()));
}

#[test]
fn a_latched_value_is_never_torn() {
    let latch = SeqLatch::new([0; 5]);
    beside(|n| latch.set([n; 5]), || whole(latch.read()));
}

#[test]
fn a_counted_section_is_never_torn() {
    let count = SeqCount::INIT;
    let words: [AtomicU64; 5] = std::array::from_fn(|_| AtomicU64::new(0));
    // Ordering: Relaxed: the counter orders them.
    let write = |n| count.write(|_| words.iter().for_each(|word| word.store(n, Relaxed)));
    let load = || std::array::from_fn(|i| words[i].load(Relaxed));
    beside(write, || whole(count.read(load).unwrap()));
}

#[test]
fn writers_keep_each_other_out() {
    let lock = SeqLock::new([0_u64; 3]);
    let latch = SeqLatch::new([0_u64; 3]);
    let add = |words: &mut [u64; 3]| words.iter_mut().for_each(|word| *word += 1);
    let each = WRITES / 4;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..each {
                    lock.update(add);
                    latch.update(add);
                    add(&mut lock.write());
                }
            });
        }
    });
    assert_eq!(lock.read(), [8 * each; 3]);
    assert_eq!(latch.read(), [4 * each; 3]);
}

#[test]
fn a_second_writer_is_turned_away() {
    let lock = SeqLock::new(1_u32);
    let guard = lock.write();
    assert!(lock.try_write().is_none());
    assert_eq!(lock.read(), 1, "readers go on while a guard is held");
    drop(guard);
    assert!(lock.try_write().is_some());
}

#[test]
fn a_writer_that_panics_publishes_nothing_and_holds_nothing() {
    let lock = SeqLock::new([1_u64; 3]);
    let latch = SeqLatch::new([1_u64; 3]);
    let panics = |half: &mut [u64; 3]| {
        half[0] = 2;
        panic!("half of an update");
    };
    assert!(catch_unwind(AssertUnwindSafe(|| lock.update(panics))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| panics(&mut lock.write()))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| latch.update(panics))).is_err());
    assert_eq!((lock.read(), latch.read()), ([1; 3], [1; 3]));
    lock.set([5; 3]);
    latch.set([5; 3]);
    assert_eq!((lock.read(), latch.read()), ([5; 3], [5; 3]));
}

/// A guard that is taken and dropped while the thread unwinds anyway is published.
#[test]
fn a_destructor_may_write_while_its_thread_unwinds() {
    struct Writes<'a>(&'a SeqLock<u64>);
    impl Drop for Writes<'_> {
        fn drop(&mut self) {
            *self.0.write() = 2;
        }
    }
    let lock = SeqLock::new(1);
    let unwinds = || {
        let _writes = Writes(&lock);
        panic!("on purpose");
    };
    assert!(catch_unwind(AssertUnwindSafe(unwinds)).is_err());
    assert_eq!(lock.read(), 2);
}

#[test]
fn readers_of_a_count_are_neither_stuck_nor_fooled_by_a_panic() {
    let count = SeqCount::INIT;
    let panics = || count.write(|_| panic!("in the section"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(count.read(|| ()), Err(Broken));
    assert_eq!(count.try_read(|| ()), Err(NotNow::Broken));
    count.write(|section| section.repaired());
    assert_eq!(count.read(|| 1), Ok(1));
}

/// A signal handler that interrupts a store gets a whole value, at the first attempt.
#[test]
#[cfg(not(miri))]
fn a_signal_handler_reads_the_latch_that_its_thread_is_writing() {
    static LATCH: SeqLatch<[u64; 512]> = SeqLatch::new([0; 512]);
    static STORING: AtomicBool = AtomicBool::new(false);
    static HITS: AtomicU64 = AtomicU64::new(0);
    static WRONG: AtomicU64 = AtomicU64::new(0);

    // Ordering: Relaxed throughout: the handler runs on the thread that it interrupted.
    extern "C" fn handler(_: libc::c_int) {
        match LATCH.try_read() {
            Some(value) if value.iter().all(|&word| word == value[0]) => {}
            _ => {
                WRONG.fetch_add(1, Relaxed);
            }
        }
        if STORING.load(Relaxed) {
            HITS.fetch_add(1, Relaxed);
        }
    }

    let handler: extern "C" fn(libc::c_int) = handler;
    // SAFETY: the handler uses atomics and the latch only, which are safe in handlers.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    let writer = lockwright_contract::os::ThreadId::here();
    let enough = || HITS.load(Relaxed) >= 50;
    thread::scope(|scope| {
        scope.spawn(|| {
            while !enough() {
                writer.interrupt();
                thread::sleep(std::time::Duration::from_micros(20));
            }
        });
        let mut n = 0;
        while !enough() {
            n += 1;
            STORING.store(true, Relaxed);
            LATCH.set([n; 512]);
            STORING.store(false, Relaxed);
        }
    });
    assert_eq!(WRONG.load(Relaxed), 0);
}
