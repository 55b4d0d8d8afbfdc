//! A table of records that never move, and cost what is in use.
//!
//! The first records lie in the program's image; chunks, each as long as all before it, follow when an
//! index in them is claimed for the first time, and stay. So a stale index always names a record. Which
//! records are taken is told by a bit each: claiming takes the lowest that is free, so what was ever in
//! use stays small, and whoever asks for all that are taken looks at bits, not at records. Claiming is
//! lock-free and may happen in a signal handler.
//!
//! *Checked by* the tests below, and by the tests of both platforms that stand on it.
//!
//! ```text
//! Edges
//!  [table.chunk]  reach: chunk exchange Release -> get: chunk load Acquire  publishes the zeroed records
//!  [table.free]   release: bit fetch_and Release -> claim: bit exchange Acquire  publishes the record as it was left
//!  [table.gone]   release: bit fetch_and Release -> taken: bit load Acquire  publishes what its thread did while it had the record, to who passes it over
//! ```

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use crate::Slot;

/// Records in a table, one less being usable (index 0 means none).
pub(crate) const CAPACITY: usize = if cfg!(miri) { 256 } else { 1 << 16 };

/// Records in the program's image.
pub(crate) const FIRST: usize = 32;

const CHUNKS: usize = (CAPACITY / FIRST).ilog2() as usize;
const WORDS: usize = CAPACITY / 64;

/// Memory of so many zeroed `T`s that is never given back, or null.
pub(crate) type Zeroed<T> = fn(usize) -> *mut T;

/// See the [module documentation](self).
pub(crate) struct Table<T: 'static> {
    first: [T; FIRST],
    /// The one at `i` holds the records from `FIRST << i` on, as many.
    chunks: [AtomicPtr<T>; CHUNKS],
    taken: [AtomicU64; WORDS],
    /// Words of `taken` that have ever been other than 0.
    used: AtomicU32,
    zeroed: Zeroed<T>,
}

impl<T: Sync> Table<T> {
    /// A table whose first records are `first`.
    ///
    /// # Safety
    ///
    /// 1. Zero bytes are a `T`.
    /// 2. What `zeroed` returns is null, or aligned for `T` and valid for ever for as many as it was
    ///    asked for.
    pub(crate) const unsafe fn new(first: [T; FIRST], zeroed: Zeroed<T>) -> Self {
        Table {
            first,
            chunks: [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS],
            taken: [const { AtomicU64::new(0) }; WORDS],
            used: AtomicU32::new(0),
            zeroed,
        }
    }

    /// The record with this index; one that nobody claims where no such record has been claimed yet.
    #[inline]
    pub(crate) fn get(&'static self, slot: Slot) -> &'static T {
        let index = usize::from(slot.get());
        if index < FIRST { &self.first[index] } else { self.get_from_chunk(index) }
    }

    fn get_from_chunk(&'static self, index: usize) -> &'static T {
        let chunk = (index / FIRST).ilog2() as usize;
        // Ordering: Acquire, [table.chunk]: pairs with the exchange in reach()
        let records = self.chunks.get(chunk).map_or(core::ptr::null_mut(), |c| c.load(Acquire));
        if records.is_null() {
            return self.spare();
        }
        // SAFETY: the chunk holds `FIRST << chunk` records (2), which zero bytes are (1), and the
        // index lies within by the choice of the chunk.
        unsafe { &*records.add(index - (FIRST << chunk)) }
    }

    /// The record that has no index.
    pub(crate) fn spare(&'static self) -> &'static T {
        &self.first[0]
    }

    /// Takes the record with the lowest index that is free. `None`: none is, or there is no memory.
    pub(crate) fn claim(&'static self) -> Option<Slot> {
        for (at, word) in self.taken.iter().enumerate() {
            let none = u64::from(at == 0);
            // Ordering: Relaxed, hint (re-checked by the exchange)
            let mut now = word.load(Relaxed);
            while now | none != u64::MAX {
                let bit = (now | none).trailing_ones();
                let index = at * 64 + bit as usize;
                if !self.reach(index) {
                    return None;
                }
                // Ordering: Acquire, [table.free]: pairs with the removal in release(); Relaxed, hint
                // (retried)
                match word.compare_exchange(now, now | 1 << bit, Acquire, Relaxed) {
                    Ok(_) => {
                        // Ordering: Relaxed, hint (whoever must see the record has seen what its
                        // owner did after this, see Platform::slots)
                        self.used.fetch_max(at as u32 + 1, Relaxed);
                        return Slot::new(index as u16);
                    }
                    Err(other) => now = other,
                }
            }
        }
        None
    }

    /// Makes sure that there is a record with this index.
    fn reach(&'static self, index: usize) -> bool {
        if index < FIRST {
            return true;
        }
        let chunk = (index / FIRST).ilog2() as usize;
        let place = &self.chunks[chunk];
        // Ordering: Relaxed, hint (re-checked by the exchange)
        if !place.load(Relaxed).is_null() {
            return true;
        }
        let records = (self.zeroed)(FIRST << chunk);
        // Two that come at once: one chunk is lost, which was never touched.
        // Ordering: AcqRel, [table.chunk]: releases the zeroed records; Relaxed, hint (another's serve
        // as well, and get() acquires them)
        let _ = place.compare_exchange(core::ptr::null_mut(), records, AcqRel, Relaxed);
        // Ordering: Relaxed, hint (get() acquires)
        !place.load(Relaxed).is_null()
    }

    /// Gives a record back. The caller has claimed it.
    pub(crate) fn release(&'static self, slot: Slot) {
        let (at, bit) = (usize::from(slot.get()) / 64, slot.get() % 64);
        // Ordering: Release, [table.free], [table.gone]: pairs with the exchange in claim() and the load
        // in taken()
        self.taken[at].fetch_and(!(1 << bit), Release);
    }

    /// All records that are taken now.
    pub(crate) fn taken(&'static self) -> impl Iterator<Item = Slot> {
        // Ordering: Relaxed, hint (ordered by the caller's fence, see Platform::slots)
        let used = self.used.load(Relaxed) as usize;
        self.taken[..used].iter().enumerate().flat_map(|(at, word)| {
            // Ordering: Acquire, [table.gone]: pairs with the removal in release(): who looks for readers
            // does not ask those that have gone
            let mut left = word.load(Acquire);
            core::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then(|| (at * 64) as u16 + bit as u16)
            })
            .filter_map(Slot::new)
        })
    }

    /// All records that were ever taken, some others, and the spare one.
    pub(crate) fn ever_taken(&'static self) -> impl Iterator<Item = &'static T> {
        // Ordering: Relaxed, stat
        let used = self.used.load(Relaxed);
        let indices = (1..used * 64).filter_map(|index| Slot::new(index as u16));
        let records = indices.map(|slot| self.get(slot));
        records.filter(|&record| !core::ptr::eq(record, self.spare())).chain([self.spare()])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;
    use std::vec::Vec;

    use super::*;

    fn zeroed(count: usize) -> *mut AtomicU32 {
        let records: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
        Vec::leak(records).as_mut_ptr()
    }

    /// A table of its own for each test.
    fn table() -> &'static Table<AtomicU32> {
        // SAFETY: zero bytes are a number (1); the vectors are leaked (2).
        let table = unsafe { Table::new([const { AtomicU32::new(0) }; FIRST], zeroed) };
        std::boxed::Box::leak(std::boxed::Box::new(table))
    }

    #[test]
    fn every_record_is_another_and_stays_where_it_is() {
        let table = table();
        let slots: Vec<_> = std::iter::from_fn(|| table.claim()).collect();
        assert_eq!(slots.len(), CAPACITY - 1);
        let places: HashSet<_> = slots.iter().map(|&s| std::ptr::from_ref(table.get(s))).collect();
        assert_eq!(places.len(), slots.len());
        assert!(!places.contains(&std::ptr::from_ref(table.spare())));
        assert_eq!(table.taken().count(), slots.len());
        assert!(table.claim().is_none(), "more records than there are");
    }

    #[test]
    fn the_lowest_free_record_is_taken_first() {
        let table = table();
        let slots: Vec<_> = (0..100).map(|_| table.claim().unwrap()).collect();
        table.release(slots[70]);
        table.release(slots[3]);
        assert_eq!([table.claim(), table.claim()], [Some(slots[3]), Some(slots[70])]);
        assert!(table.taken().eq(slots));
    }

    #[test]
    fn an_index_that_nobody_has_claimed_names_the_spare_record() {
        let table = table();
        let last = Slot::new((CAPACITY - 1) as u16).unwrap();
        assert!(std::ptr::eq(table.get(last), table.spare()));
        assert!(std::ptr::eq(table.get(Slot::new(u16::MAX).unwrap()), table.spare()));
    }

    #[test]
    fn without_memory_there_are_the_first_records() {
        // SAFETY: zero bytes are a number (1); null (2).
        let table =
            unsafe { Table::new([const { AtomicU32::new(0) }; FIRST], |_| core::ptr::null_mut()) };
        let table = std::boxed::Box::leak(std::boxed::Box::new(table));
        assert_eq!(std::iter::from_fn(|| table.claim()).count(), FIRST - 1);
    }

    #[test]
    fn threads_never_share_a_record() {
        let table = table();
        let rounds = if cfg!(miri) { 20 } else { 2_000 };
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..rounds {
                        let mine: Vec<_> = (0..10).map_while(|_| table.claim()).collect();
                        for &slot in &mine {
                            assert_eq!(table.get(slot).fetch_add(1, Relaxed), 0, "shared");
                        }
                        for slot in mine {
                            table.get(slot).fetch_sub(1, Relaxed);
                            table.release(slot);
                        }
                    }
                });
            }
        });
        assert_eq!(table.taken().count(), 0);
    }
}
