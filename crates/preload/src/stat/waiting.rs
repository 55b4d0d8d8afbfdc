//! Who waits for a lock now, in one word: how many, and the sum of the times at which they began to. What they have
//! waited together follows from the two. Read one after another they could be of different moments, and a
//! waiter who is in one alone would count with the whole time since the machine was started.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Times are in 1,024 ticks, of which these bits: together they may have waited for about a day.
const UNIT_SHIFT: u32 = 10;
const TIME_BITS: u32 = 38;
const TIME: u64 = (1 << TIME_BITS) - 1;
/// Above the sum, with room for that of as many as can be counted.
const COUNT_SHIFT: u32 = 52;
/// So many are counted at a time, and as many more as come in the same moment.
const MOST: u64 = 3_000;

fn units(ticks: u64) -> u64 {
    (ticks >> UNIT_SHIFT) & TIME
}

/// A thread waits from now on. How many do with it; `None`: it is one too many.
pub fn begin(word: &AtomicU64, now: u64) -> Option<u32> {
    // Ordering: Relaxed, stat (block)
    if word.load(Relaxed) >> COUNT_SHIFT >= MOST {
        return None;
    }
    let before = word.fetch_add((1 << COUNT_SHIFT) + units(now), Relaxed);
    Some((before >> COUNT_SHIFT) as u32 + 1)
}

/// A thread has waited since then.
pub fn end(word: &AtomicU64, since: u64) {
    // Ordering: Relaxed, stat
    word.fetch_sub((1 << COUNT_SHIFT) + units(since), Relaxed);
}

/// How long those who wait have waited together, in ticks, to 1,024 for each.
pub fn together(word: &AtomicU64, now: u64) -> u64 {
    // Ordering: Relaxed, stat
    let word = word.load(Relaxed);
    let (count, sum) = (word >> COUNT_SHIFT, word & ((1 << COUNT_SHIFT) - 1));
    let waited = units(now).wrapping_mul(count).wrapping_sub(sum) & TIME;
    // One that began on a CPU whose clock is a little ahead.
    if waited > TIME / 2 { 0 } else { waited << UNIT_SHIFT }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 1 << UNIT_SHIFT;

    #[test]
    fn what_waiters_have_waited_adds_up() {
        let word = AtomicU64::new(0);
        assert_eq!(together(&word, 5_000 * UNIT), 0);
        assert_eq!(begin(&word, 1_000 * UNIT), Some(1));
        assert_eq!(begin(&word, 1_500 * UNIT), Some(2));
        assert_eq!(together(&word, 2_000 * UNIT), 1_500 * UNIT);
        end(&word, 1_000 * UNIT);
        assert_eq!(together(&word, 2_000 * UNIT), 500 * UNIT);
        assert_eq!(together(&word, 1_400 * UNIT), 0, "a clock that is behind");
        end(&word, 1_500 * UNIT);
        assert_eq!(word.into_inner(), 0);
    }

    #[test]
    fn the_clock_may_come_round() {
        let word = AtomicU64::new(0);
        let late = (TIME << UNIT_SHIFT) - 2 * UNIT;
        begin(&word, late);
        begin(&word, late + UNIT);
        assert_eq!(together(&word, late + 5 * UNIT), 9 * UNIT);
        end(&word, late);
        end(&word, late + UNIT);
        assert_eq!(word.into_inner(), 0);
    }

    #[test]
    fn more_than_can_be_counted_are_not() {
        let word = AtomicU64::new(0);
        let latest = TIME << UNIT_SHIFT;
        for n in 0..MOST {
            assert_eq!(begin(&word, latest), Some(n as u32 + 1));
        }
        assert_eq!(begin(&word, latest), None);
        assert_eq!(together(&word, latest + UNIT), MOST * UNIT);
    }
}
