//! Sequence counter, lock and latch, counted: what readers and writers do to each shared word.
#![cfg(not(loom))]

use std::cell::RefCell;
use std::rc::Rc;

use lockwright_locks::seqcount::{Broken, NotNow, SeqCount};
use lockwright_locks::seqlatch::RawSeqLatch;
use lockwright_locks::seqlock::{RawSeqLock, Words};
use lockwright_platform::counting::{Counting, CountingWord, Ops, act_as, on_wait, ops_on};

type Lock = RawSeqLock<Counting, Words<Counting, 3>>;
type Latch = RawSeqLatch<Counting, Words<Counting, 2>>;

/// What `f` does to each 64-bit word of `shared`; `f` is run once per word.
fn ops<S>(shared: &S, mut f: impl FnMut()) -> Vec<Ops> {
    let words = size_of::<S>() / 8;
    assert_eq!(size_of::<S>(), words * 8);
    let first = std::ptr::from_ref(shared).cast::<CountingWord<u64>>();
    // SAFETY: the types given consist of 64-bit counting words only (repr C and transparent).
    (0..words).map(|i| ops_on(unsafe { &*first.add(i) }, &mut f)).collect()
}

fn loads(loads: u64) -> Ops {
    Ops { loads, ..Ops::default() }
}

fn stores(stores: u64) -> Ops {
    Ops { stores, ..Ops::default() }
}

#[test]
fn readers_of_a_count_load_twice_and_store_nothing() {
    let count = SeqCount::<Counting>::new();
    let read = || count.read(|| ()).unwrap();
    assert_eq!(ops(&count, read), [loads(2)]);
    assert_eq!(ops(&count, || count.try_read(|| ()).unwrap()), [loads(2)]);
    assert_eq!(ops(&count, || assert!(count.begin().is_ok())), [loads(1)]);
}

#[test]
fn a_section_is_two_stores_and_no_exchange() {
    let count = SeqCount::<Counting>::new();
    let done = ops(&count, || count.write(|_| ()));
    assert_eq!(done, [Ops { loads: 1, stores: 2, rmws: 0 }]);
}

#[test]
fn readers_of_a_lock_store_nothing() {
    let lock = Lock::with(Words::new([7; 3]));
    let read = || assert_eq!(lock.read(4), Some(([7; 3], 0)));
    assert_eq!(ops(&lock, read), [loads(2), loads(1), loads(1), loads(1)]);
    // SAFETY: nobody else writes (1).
    let write = || unsafe { lock.store([8; 3]) };
    let seq = Ops { loads: 1, stores: 2, rmws: 0 };
    assert_eq!(ops(&lock, write), [seq, stores(1), stores(1), stores(1)]);
}

#[test]
fn readers_of_a_latch_store_nothing_and_use_one_copy() {
    let latch = Latch::with([Words::new([7; 2]), Words::new([7; 2])]);
    let read = || assert_eq!(latch.read(), ([7; 2], 0));
    let none = Ops::default();
    assert_eq!(ops(&latch, read), [loads(2), loads(1), loads(1), none, none]);
}

/// A count with a section that another actor has open and ends when the reader waits.
#[test]
fn a_waiting_reader_stores_nothing_either() {
    let count = Rc::new(SeqCount::<Counting>::new());
    let before = count.begin().unwrap();
    std::mem::forget(count.begin_write());
    assert_eq!(count.try_begin(), Err(NotNow::Writing));
    let other = count.clone();
    let end = move || act_as(2, || other.begin_write_again().end());
    let read = || count.read(|| ()).unwrap();
    let first = std::ptr::from_ref(&*count).cast::<CountingWord<u64>>();
    // SAFETY: the counter is transparent over its word.
    let done = on_wait(end, || ops_on(unsafe { &*first }, read));
    assert_eq!((done.stores, done.rmws), (0, 0), "{done:?}");
    assert!(count.retry(before));
}

/// Ends a section that was forgotten, as the writer that has it open would.
trait Again {
    fn begin_write_again(&self) -> lockwright_locks::seqcount::WriteSection<'_, Counting>;
}

impl Again for SeqCount<Counting> {
    fn begin_write_again(&self) -> lockwright_locks::seqcount::WriteSection<'_, Counting> {
        let word = std::ptr::from_ref(self).cast::<CountingWord<u64>>();
        // SAFETY: the counter is transparent over its word. Bit 0 says that a section is open.
        let seq = unsafe { &*word };
        use lockwright_platform::Word;
        use std::sync::atomic::Ordering::Relaxed;
        seq.store(seq.load(Relaxed) & !1, Relaxed);
        self.begin_write()
    }
}

#[test]
fn a_bounded_read_gives_up_beside_a_writer_that_never_rests() {
    let lock = Rc::new(Lock::with(Words::new([0; 3])));
    let seq = lock.seq();
    std::mem::forget(seq.begin_write());
    let looks = Rc::new(RefCell::new(0));
    let counted = looks.clone();
    let read = on_wait(move || *counted.borrow_mut() += 1, || lock.read(5));
    assert_eq!(read, None);
    assert_eq!(*looks.borrow(), 4, "one wait between two of five attempts");
}

#[test]
fn a_section_that_unwinds_leaves_an_error_until_repaired() {
    let count = SeqCount::<Counting>::new();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        count.write(|_| panic!("in the section"));
    }));
    assert!(unwound.is_err());
    assert_eq!(count.begin(), Err(Broken));
    assert_eq!(count.try_read(|| ()), Err(NotNow::Broken));
    count.write(|section| assert!(section.found_broken()));
    assert_eq!(count.begin(), Err(Broken), "not repaired yet");
    count.write(|section| section.repaired());
    assert!(count.begin().is_ok());
    count.write(|section| assert!(!section.found_broken()));
    assert!(format!("{count:?}").contains("broken: false"));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "two write sections at once")]
fn two_sections_at_once_are_a_mistake() {
    let count = SeqCount::<Counting>::new();
    std::mem::forget(count.begin_write());
    let _ = count.begin_write();
}
