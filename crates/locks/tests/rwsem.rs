//! The reader-writer semaphore, counted and at its bounds: one atomic operation for each step
//! without contention, too many readers refused, policies as the specification's table has them.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use lockwright_locks::rwsem::policy::{
    Fifo, NEVER, PRESETS, Policy, ReaderSteal, Standard, V5_2, V5_3, V5_4, V5_11,
};
use lockwright_locks::rwsem::{RawRwLock, count};
use lockwright_platform::counting::{Counting, CountingWord, Ops, ops_on};
use lockwright_platform::{Native, Platform};

/// What `f` does to the count word, which is the first.
fn on_count<W: Policy>(lock: &RawRwLock<Counting, W>, f: impl FnOnce()) -> Ops {
    let word = std::ptr::from_ref(lock).cast::<CountingWord<u64>>();
    // SAFETY: the lock is repr(C) and begins with the count word.
    ops_on(unsafe { &*word }, f)
}

fn one_atomic_operation_each<W: Policy>() {
    let (lock, one) = (RawRwLock::<Counting, W>::new(), Ops { rmws: 1, ..Ops::default() });
    let looks = u64::from(!W::SWITCHES.user.counts_first);
    // SAFETY: each unlock releases what the line before acquired.
    unsafe {
        assert_eq!(on_count(&lock, || lock.read()), Ops { loads: looks, ..one }, "{}", W::NAME);
        assert_eq!(on_count(&lock, || lock.unlock_read()), one, "{}", W::NAME);
        assert_eq!(on_count(&lock, || lock.write()), one, "{}", W::NAME);
        assert_eq!(on_count(&lock, || lock.downgrade()), one, "{}", W::NAME);
        lock.unlock_read();
        lock.write();
        assert_eq!(on_count(&lock, || lock.unlock_write()), one, "{}", W::NAME);
    }
    assert_eq!(lock.count(), 0);
}

#[test]
fn without_contention_each_step_is_one_atomic_operation() {
    one_atomic_operation_each::<Standard>();
    one_atomic_operation_each::<Fifo>();
    one_atomic_operation_each::<V5_3>();
    one_atomic_operation_each::<V5_11>();
}

/// The hold that becomes a reader's: nobody else first, then readers only; a panic releases either.
#[test]
fn a_section_that_writes_goes_on_as_one_that_reads() {
    fn turns<W: Policy + std::panic::RefUnwindSafe>() {
        let lock = RawRwLock::<Native, W>::new();
        let mut seen = Vec::new();
        let written = std::cell::Cell::new(false);
        let write = || {
            assert!(!lock.try_read() && !lock.try_write(), "{}", W::NAME);
            written.set(true);
        };
        lock.while_writing_then_reading(write, || {
            assert!(written.get() && !lock.try_write(), "{}", W::NAME);
            assert!(lock.try_read(), "{}", W::NAME);
            // SAFETY: acquired by the line above.
            unsafe { lock.unlock_read() };
            seen.push(lock.count());
        });
        assert_eq!((seen, lock.count()), (vec![count::READER], 0), "{}", W::NAME);
        for (write_panics, name) in [(true, "write"), (false, "read")] {
            let panicked = std::panic::catch_unwind(|| {
                lock.while_writing_then_reading(
                    || assert!(!write_panics, "{name}"),
                    || assert!(write_panics, "{name}"),
                );
            });
            assert!(panicked.is_err() && lock.count() == 0, "{}: {name}", W::NAME);
        }
    }
    turns::<Standard>();
    turns::<Fifo>();
    turns::<V5_11>();
}

/// A second read by the same CPU: the kernel's stages write the owner word again, the product does
/// not, and so leaves the line to whoever looks at it.
#[test]
fn only_the_product_leaves_an_owner_word_that_is_right() {
    fn stores<W: Policy>() -> u64 {
        let lock = RawRwLock::<Counting, W>::new();
        let count = std::ptr::from_ref(&lock).cast::<CountingWord<u64>>();
        // SAFETY: the lock is repr(C) and begins with the count word, which the owner word follows;
        // each unlock releases what the line before acquired.
        unsafe {
            lock.read();
            lock.unlock_read();
            let owner = &*count.add(1).cast::<CountingWord<u32>>();
            let ops = ops_on(owner, || lock.read());
            lock.unlock_read();
            ops.stores
        }
    }
    assert_eq!((stores::<V5_3>(), stores::<V5_11>()), (1, 1));
    assert_eq!(stores::<Standard>(), 0);
    assert_eq!(stores::<Fifo>(), 0, "it has no use for the word");
}

/// The guard bit: no count is lost, nobody gets in, and the lock works again when they have left.
#[test]
fn too_many_readers_are_refused() {
    fn refused<W: Policy>() {
        // SAFETY: this test stands for the readers (1).
        let lock = unsafe { RawRwLock::<Native, W>::with_count(count::READERS) };
        assert!(!lock.try_read() && !lock.try_read_recursive() && !lock.try_write());
        assert!(!lock.read_until(Native::now() + 100_000));
        assert!(!lock.write_until(Native::now() + 100_000));
        assert_eq!(lock.count(), count::READERS, "{}", W::NAME);
        // SAFETY: the lock counts readers, whom this test stands for.
        unsafe { lock.unlock_read() };
        assert!(lock.read_until(Native::now() + 100_000), "room for one");
        assert_eq!(lock.count(), count::READERS, "{}", W::NAME);
    }
    refused::<Standard>();
    refused::<V5_3>();
    refused::<V5_11>();
}

/// While the first waiter forbids stealing nobody gets in who is not queued (I6).
#[test]
fn nobody_tries_past_a_request() {
    fn refused<W: Policy>() {
        let flags = count::WAITERS | count::HANDOFF;
        // SAFETY: nobody holds it (1).
        let lock = unsafe { RawRwLock::<Native, W>::with_count(flags) };
        assert!(!lock.try_read() && !lock.try_write() && !lock.try_read_upgradable());
        assert_eq!(lock.count(), flags, "{}", W::NAME);
    }
    refused::<Standard>();
    refused::<V5_3>();
    refused::<V5_11>();
}

/// Whatever the owner word says, writers exclude everybody and all calls end.
#[test]
fn race_17_the_owner_word_is_only_a_hint() {
    fn survives<W: Policy + Send + Sync>() {
        const EACH: u64 = 20_000;
        let lock = RawRwLock::<Native, W>::new();
        let (before, after, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        // SAFETY: the lock is repr(C): a count of 64 bits, then the owner.
        let owner = unsafe { &*std::ptr::from_ref(&lock).byte_add(8).cast::<AtomicU32>() };
        std::thread::scope(|scope| {
            // Ordering: Relaxed throughout: the lock orders the two numbers, if it does.
            scope.spawn(|| {
                let mut word = 1_u32;
                while !over.load(Relaxed) {
                    word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    owner.store(word, Relaxed);
                    std::thread::yield_now();
                }
            });
            let use_it = |thread: u64| {
                for i in 0..EACH {
                    if (i + thread).is_multiple_of(3) {
                        lock.write();
                        let n = before.fetch_add(1, Relaxed);
                        if i % 64 == 0 {
                            std::thread::yield_now();
                        }
                        assert_eq!(after.fetch_add(1, Relaxed), n, "{}: two writers", W::NAME);
                        // SAFETY: acquired above.
                        unsafe { lock.unlock_write() };
                    } else {
                        lock.read();
                        let n = before.load(Relaxed);
                        assert_eq!(after.load(Relaxed), n, "{}: a reader beside one", W::NAME);
                        // SAFETY: acquired above.
                        unsafe { lock.unlock_read() };
                    }
                }
            };
            let users: Vec<_> = (0..4).map(|i| scope.spawn(move || use_it(i))).collect();
            let ended: Vec<_> = users.into_iter().map(|user| user.join()).collect();
            over.store(true, Relaxed);
            assert!(ended.iter().all(Result::is_ok));
        });
        assert_eq!(lock.count(), 0, "{}", W::NAME);
    }
    survives::<Standard>();
    survives::<V5_2>();
    survives::<V5_3>();
    survives::<V5_11>();
}

/// The rows of the specification's table of stages, switch by switch, where they are whole versions.
#[test]
fn presets_are_the_stages_of_the_series() {
    let old = V5_2::SWITCHES;
    assert!(
        old.admission.writers_steal
            && old.waits.writers_spin
            && old.admission.handoff_ns == NEVER
            && !old.admission.wake_all
    );
    let v5_3 = V5_3::SWITCHES;
    assert!(
        v5_3.admission.handoff_ns == 4_000_000
            && v5_3.admission.wake_all
            && v5_3.admission.wake_cap == 256
    );
    assert!(v5_3.waits.readers_spin && v5_3.waits.reader_owned_spin && v5_3.waits.split_bits);
    assert!(v5_3.waits.sticky_reader_bit && v5_3.waits.phase_retry && !v5_3.waits.handoff_spins);
    assert!(!v5_3.admission.anti_starvation && v5_3.admission.reader_steals == ReaderSteal::Never);
    let v5_4 = V5_4::SWITCHES;
    assert!(v5_4.waits.handoff_spins && v5_4.waits.sticky_reader_bit);
    let v5_11 = V5_11::SWITCHES;
    assert!(
        v5_11.waits.handoff_spins
            && v5_11.admission.anti_starvation
            && v5_11.waits.reader_owned_spin
    );
    assert_eq!(v5_11.admission.reader_steals, ReaderSteal::Always);
    assert!(!v5_11.waits.readers_spin && !v5_11.waits.split_bits && !v5_11.waits.sticky_reader_bit);
    assert!(!v5_11.waits.phase_retry);
    assert_eq!(PRESETS.len(), 15);
}
