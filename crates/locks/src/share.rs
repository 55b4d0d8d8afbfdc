//! Who has used up a share of a lock: what a thread remembers of the locks that it used lately.
//!
//! A thread that the lock was taken from is a *hog* of that lock for a while: of a mutex, at the end of a
//! slice, until the others that waited can have used it as long; of a reader-writer lock, where a waiter
//! forbade stealing, for as long as a waiter waits before it does so, if it had used the lock for more than a moment
//! or more than a [part](PART) of the time since it asked. Every other thread is a *guest*: it
//! need not wait for the end of a slice, nor behind hogs. One whose slice a guest interrupts has *lent* the
//! rest. After scheduler-cooperative locks (Patel et al., EuroSys 2020), which ban a thread for as long as
//! the others need; here it only queues.
//!
//! *Approximates*: a thread remembers three locks at most, and how long it waited for the latest only, and takes a
//! lock for another whose address was its; any of it costs a place in the queue, or gives one. *Checked by* the tests below.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_platform::{NOTES, Platform, ThreadRecord, Word};

/// In a note: the thread lent the rest of its slice.
const LENT: u64 = 1;

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

/// Notes of a thread; the last pair is of its latest stay.
const SHARES: usize = NOTES / 2 - 1;

/// Who uses a lock for one part in so many of the time since it asked for it takes nothing from anybody.
const PART: u64 = 8;

/// Bits of a stay that are its beginning; above is how long it was waited for, in units of 2^[`UNIT`] ticks.
const BEGINNING: u32 = 40;
const UNIT: u32 = 8;

/// What the calling thread remembers. Callers pass their own record.
fn notes<P: Platform>(record: &'static ThreadRecord<P>) -> impl Iterator<Item = Note<P>> {
    // SAFETY: callers pass their own record (1).
    let notes = unsafe { record.notes() };
    (0..SHARES).map(move |i| (&notes[2 * i], &notes[2 * i + 1]))
}

/// The calling thread has waited so long for the lock at `address` and has it at `now`.
pub fn begin_stay<P: Platform>(
    record: &'static ThreadRecord<P>,
    address: usize,
    waited: u64,
    now: u64,
) {
    // SAFETY: callers pass their own record (1).
    let notes = unsafe { record.notes() };
    let waited = (waited >> UNIT).min(u64::MAX >> BEGINNING);
    let beginning = now & ((1 << BEGINNING) - 1);
    // Ordering: Relaxed, owner-only (the thread's own words) (block)
    notes[2 * SHARES].store(address as u64, Relaxed);
    notes[2 * SHARES + 1].store(waited << BEGINNING | beginning, Relaxed);
}

/// How long the calling thread has used the lock at `address` by `now`, and how long it had waited for it; `None`
/// if it did not wait, or has waited for another since.
pub fn stay<P: Platform>(
    record: &'static ThreadRecord<P>,
    address: usize,
    now: u64,
) -> Option<(u64, u64)> {
    // SAFETY: callers pass their own record (1).
    let notes = unsafe { record.notes() };
    // Ordering: Relaxed, owner-only (the thread's own words) (block)
    if notes[2 * SHARES].load(Relaxed) != address as u64 {
        return None;
    }
    let stay = notes[2 * SHARES + 1].load(Relaxed);
    let used = now.wrapping_sub(stay) & ((1 << BEGINNING) - 1);
    Some((used, (stay >> BEGINNING) << UNIT))
}

/// For how long a thread is a hog that has used a lock for `used` after it had waited: not at all after no more
/// than its part, and always the longest after more than a moment.
pub fn ban(used: u64, waited: u64, moment: u64, longest: u64) -> u64 {
    if used >= moment {
        return longest;
    }
    (used * (PART - 1)).saturating_sub(waited).min(longest)
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
    let oldest = || notes(record).min_by_key(|(_, until)| until.load(Relaxed));
    let Some((key, until)) = find(record, address).or_else(oldest) else {
        return;
    };
    // Ordering: Relaxed, owner-only (the thread's own words) (block)
    key.store(address as u64 | if lent { LENT } else { 0 }, Relaxed);
    until.store(until_then, Relaxed);
}

/// The calling thread is a hog of the lock at `address` for so much longer than it is one already.
pub fn extend<P: Platform>(
    record: &'static ThreadRecord<P>,
    address: usize,
    now: u64,
    by: u64,
    longest: u64,
) {
    // Ordering: Relaxed, owner-only (the thread's own words)
    let noted = find(record, address).map(|(_, until)| until.load(Relaxed));
    let until = noted.filter(|&until| is_before(now, until, longest)).unwrap_or(now);
    note(record, address, until.saturating_add(by), false);
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
    fn who_waits_long_for_a_moment_is_no_hog() {
        assert_eq!(ban(1, 4_000, 100, 1_000), 0);
        assert_eq!(ban(10, 5, 100, 1_000), 65);
        assert_eq!(ban(99, 0, 100, 500), 500);
        assert_eq!(ban(100, u64::MAX, 100, 1_000), 1_000, "more than a moment");
    }

    #[test]
    fn times_as_a_hog_add_up_until_they_are_over() {
        let me = Native::enter().unwrap();
        let standing = |now| standing::<Native>(me.record(), 0x2000, now, 1_000);
        let extend = |now| extend::<Native>(me.record(), 0x2000, now, 100, 1_000);
        extend(5);
        extend(50);
        assert_eq!([standing(204), standing(205)], [Standing::Hog, Standing::Guest]);
        extend(300);
        assert_eq!([standing(399), standing(400)], [Standing::Hog, Standing::Guest]);
    }

    #[test]
    fn a_thread_remembers_its_latest_stay() {
        let me = Native::enter().unwrap();
        assert_eq!(stay::<Native>(me.record(), 0x1000, 5), None);
        begin_stay::<Native>(me.record(), 0x1000, 512, 1 << 41 | 7);
        assert_eq!(stay::<Native>(me.record(), 0x1000, 1 << 41 | 107), Some((100, 512)));
        assert_eq!(stay::<Native>(me.record(), 0x1008, 1 << 41 | 107), None, "another lock");
        // Times that come round, and waits that are too long for their bits.
        begin_stay::<Native>(me.record(), 0x1000, u64::MAX, u64::MAX - 9);
        let (used, waited) = stay::<Native>(me.record(), 0x1000, 90).unwrap();
        assert_eq!((used, waited), (100, (u64::MAX >> BEGINNING) << UNIT));
    }

    #[test]
    fn a_hog_is_one_until_its_time_is_over() {
        assert!(is_before(10, 11, 100) && !is_before(11, 11, 100) && !is_before(12, 11, 100));
        assert!(!is_before(10, 1_000, 100), "a counter that has gone backwards");
        assert!(is_before(u64::MAX - 1, 5, 100), "a counter that comes round");
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
