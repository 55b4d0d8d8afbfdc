//! Who has used up a share of a lock: what a thread remembers of the locks that it used lately.
//!
//! A thread that the lock was taken from is a *hog* of that lock for a while: of a mutex, at the end of a
//! slice, until the others that waited can have used it as long; of a reader-writer lock, where a waiter
//! forbade stealing, for as long as a waiter waits before it does so. Of a reader-writer lock each visit that had to
//! wait [adds](extend) to that while, and it does not [run out](postpone) in the queue: so who comes again and again is
//! a hog however long it waits in between. Every other thread is a *guest*: it
//! need not wait for the end of a slice, nor behind hogs. One whose slice a guest interrupts has *lent* the
//! rest. After scheduler-cooperative locks (Patel et al., EuroSys 2020), which ban a thread for as long as
//! the others need; here it only queues.
//!
//! Of a mutex it also remembers when it [got it last](last) where the lock goes round: whether that is right, or slices
//! are, depends on how long a thread is away.
//!
//! *Approximates*: a thread remembers four locks at most (two of those), and takes a lock for another whose address
//! was its; either costs a place in the queue, or gives one. *Checked by* the tests below.

use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_platform::{NOTES, Platform, ThreadRecord, Word};

/// In a note: the thread lent the rest of its slice.
const LENT: u64 = 1;
/// The note is of when the thread got the lock last.
const LAST: u64 = 2;

/// What the calling thread is to a lock.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has not used it much lately.
    Guest,
    /// Its slice runs still; a guest has the lock.
    Lender,
    /// It has used up its share.
    Hog,
}

/// A lock's address, and until when the thread is a hog of it.
type Note<P> = (&'static <P as Platform>::Word<u64>, &'static <P as Platform>::Word<u64>);

/// What the calling thread remembers. Callers pass their own record.
fn notes<P: Platform>(record: &'static ThreadRecord<P>) -> impl Iterator<Item = Note<P>> {
    // SAFETY: callers pass their own record (1).
    let notes = unsafe { record.notes() };
    (0..NOTES / 2).map(move |i| (&notes[2 * i], &notes[2 * i + 1]))
}

/// The pair for the lock at `address`, if the thread remembers it. Where locks lie decides nothing else, so that
/// a simulated run is the same in every process.
fn find<P: Platform>(record: &'static ThreadRecord<P>, address: usize) -> Option<Note<P>> {
    // Ordering: Relaxed, owner-only (the thread's own words)
    notes(record).find(|(key, _)| key.load(Relaxed) & !LENT == address as u64)
}

/// What the calling thread, whose record this is, is to the lock at `address` at `now`. A lender is one once.
pub fn standing<P: Platform>(
    record: &'static ThreadRecord<P>,
    address: usize,
    now: u64,
    longest: u64,
) -> Standing {
    let Some((key, until)) = find(record, address) else {
        return Standing::Guest;
    };
    // Ordering: Relaxed, owner-only (the thread's own words) (block)
    let noted = key.load(Relaxed);
    if noted & LENT != 0 {
        key.store(noted & !LENT, Relaxed);
        return Standing::Lender;
    }
    if is_before(now, until.load(Relaxed), longest) { Standing::Hog } else { Standing::Guest }
}

/// Notes that the calling thread is a hog of the lock at `address` until then.
pub fn note<P: Platform>(
    record: &'static ThreadRecord<P>,
    address: usize,
    until_then: u64,
    lent: bool,
) {
    // Ordering: Relaxed, owner-only (the thread's own words)
    let oldest = || notes(record).min_by_key(|(_, until)| until.load(Relaxed) & TICKS);
    let Some((key, until)) = find(record, address).or_else(oldest) else {
        return;
    };
    // Ordering: Relaxed, owner-only (the thread's own words) (block)
    key.store(address as u64 | if lent { LENT } else { 0 }, Relaxed);
    until.store(until_then, Relaxed);
}

/// The calling thread is a hog of the lock at `address` for `by` longer than it is one at `now`; for how long it was.
pub fn extend<P: Platform>(
    record: &'static ThreadRecord<P>,
    address: usize,
    now: u64,
    by: u64,
    longest: u64,
) -> u64 {
    // Ordering: Relaxed, owner-only (the thread's own words)
    let noted = find(record, address).map_or(now, |(_, until)| until.load(Relaxed));
    let left = noted.wrapping_sub(now);
    let left = if left <= longest { left } else { 0 };
    note(record, address, now.wrapping_add((left + by).min(longest)), false);
    left
}

/// The calling thread, a hog of the lock at `address` when a wait for it began, is one as long after that.
pub fn postpone<P: Platform>(
    record: &'static ThreadRecord<P>,
    address: usize,
    wait: Range<u64>,
    longest: u64,
) {
    if let Some((_, until)) = find(record, address) {
        // Ordering: Relaxed, owner-only (the thread's own words) (block)
        let left = until.load(Relaxed).wrapping_sub(wait.start);
        if left <= longest {
            until.store(wait.end.wrapping_add(left), Relaxed);
        }
    }
}

/// When a thread got a lock last.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// Those of the clock's bits that are [`TICKS`].
    at: u64,
    /// The lock's count of acquisitions then.
    pub count: u8,
    /// How often in a row it had come back sooner than others have their turn, up to [`SURE`].
    pub sooner: u8,
}

/// What is counted no further.
pub const SURE: u8 = 3;

/// What is left of a noted time beside two counts above it.
const TICKS: u64 = u64::MAX >> 10;
const COUNT_SHIFT: u32 = TICKS.count_ones();
const SOONER_SHIFT: u32 = COUNT_SHIFT + u8::BITS;

impl Last {
    pub fn new(now: u64, count: u8, sooner: u8) -> Self {
        Last { at: now & TICKS, count, sooner: sooner.min(SURE) }
    }

    /// How long ago that was, in ticks. The counter comes round after months.
    pub fn ago(self, now: u64) -> u64 {
        now.wrapping_sub(self.at) & TICKS
    }
}

/// When the calling thread got the lock at `address` last, if it [noted](note_last) that.
pub fn last<P: Platform>(record: &'static ThreadRecord<P>, address: usize) -> Option<Last> {
    let (_, noted) = find(record, address | LAST as usize)?;
    // Ordering: Relaxed, owner-only (the thread's own words)
    let noted = noted.load(Relaxed);
    (noted != 0).then_some(Last {
        at: noted & TICKS,
        count: (noted >> COUNT_SHIFT) as u8,
        sooner: (noted >> SOONER_SHIFT) as u8,
    })
}

/// Notes when the calling thread got the lock at `address`.
pub fn note_last<P: Platform>(record: &'static ThreadRecord<P>, address: usize, last: Last) {
    let counts = u64::from(last.sooner) << SOONER_SHIFT | u64::from(last.count) << COUNT_SHIFT;
    note(record, address | LAST as usize, last.at | counts, false);
}

/// Strikes that out.
pub fn forget_last<P: Platform>(record: &'static ThreadRecord<P>, address: usize) {
    if let Some((_, noted)) = find(record, address | LAST as usize) {
        // Ordering: Relaxed, owner-only (the thread's own words)
        noted.store(0, Relaxed);
    }
}

/// For how long a thread is a hog that has used the lock for `used` while so many waited: until they can
/// have used it as long, within limits.
pub fn share(used: u64, waiters: u32, least: u64, most: u64) -> u64 {
    used.saturating_mul(waiters.max(1).into()).clamp(least, most)
}

/// Whether `now` is before `until`, which is at most `longest` away: a time that is farther is of a counter
/// that has gone backwards since (another machine, a long sleep).
fn is_before(now: u64, until: u64, longest: u64) -> bool {
    let left = until.wrapping_sub(now);
    left != 0 && left <= longest
}

#[cfg(all(test, not(loom)))]
mod tests {
    use lockwright_platform::Native;

    use super::*;

    #[test]
    fn a_share_is_what_the_others_need_within_limits() {
        assert_eq!(share(100, 3, 20, 5_000), 300);
        assert_eq!(share(100, 0, 20, 5_000), 100);
        assert_eq!(share(1, 1, 20, 5_000), 20);
        assert_eq!(share(u64::MAX, 9, 20, 5_000), 5_000);
    }

    #[test]
    fn a_hog_is_one_until_its_time_is_over() {
        assert!(is_before(10, 11, 100) && !is_before(11, 11, 100) && !is_before(12, 11, 100));
        assert!(!is_before(10, 1_000, 100), "a counter that has gone backwards");
        assert!(is_before(u64::MAX - 1, 5, 100), "a counter that comes round");
    }

    #[test]
    fn a_thread_remembers_when_it_got_a_lock_last() {
        let me = Native::enter().unwrap();
        let last = || last::<Native>(me.record(), 0x3000);
        assert_eq!(last(), None);
        let noted = Last::new(101, 7, 2);
        note_last::<Native>(me.record(), 0x3000, noted);
        note::<Native>(me.record(), 0x3000, 700, false);
        assert_eq!(last(), Some(noted));
        assert_eq!(noted.ago(131), 30);
        assert_eq!(Last::new(u64::MAX - 1, 0, 0).ago(3), 5, "a counter that comes round");
        note_last::<Native>(me.record(), 0x3000, Last::new(200, 255, SURE));
        assert_eq!(last(), Some(Last::new(200, 255, SURE)));
        forget_last::<Native>(me.record(), 0x3000);
        assert_eq!(last(), None);
        assert_eq!(standing::<Native>(me.record(), 0x3000, 650, 1_000), Standing::Hog);
    }

    #[test]
    fn times_as_a_hog_add_up_until_they_are_over() {
        let me = Native::enter().unwrap();
        let standing = |now| standing::<Native>(me.record(), 0x2000, now, 1_000);
        let extend = |now| extend::<Native>(me.record(), 0x2000, now, 100, 350);
        assert_eq!(extend(5), 0);
        assert_eq!(extend(50), 55);
        assert_eq!([standing(204), standing(205)], [Standing::Hog, Standing::Guest]);
        postpone::<Native>(me.record(), 0x2000, 105..305, 350);
        assert_eq!([standing(404), standing(405)], [Standing::Hog, Standing::Guest]);
        assert_eq!(extend(500), 0);
        (0..9).for_each(|_| assert!(extend(500) <= 350));
        assert_eq!([standing(849), standing(850)], [Standing::Hog, Standing::Guest]);
    }

    #[test]
    fn a_thread_remembers_a_lock_and_lends_once() {
        let me = Native::enter().unwrap();
        let standing = |address, now| standing::<Native>(me.record(), address, now, 1_000);
        assert_eq!(standing(0x1000, 5), Standing::Guest);
        note::<Native>(me.record(), 0x1000, 100, false);
        assert_eq!(standing(0x1000, 5), Standing::Hog);
        assert_eq!(standing(0x1000, 100), Standing::Guest);
        assert_eq!(standing(0x1008, 5), Standing::Guest, "another lock");
        note::<Native>(me.record(), 0x1000, 100, true);
        assert_eq!([standing(0x1000, 5), standing(0x1000, 5)], [Standing::Lender, Standing::Hog]);
    }
}
