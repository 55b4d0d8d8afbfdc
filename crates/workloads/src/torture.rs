//! The loop of the kernel's locktorture over a mutex: no work outside, and none inside but for a
//! rare very long hold, as its module `locktorture` does it since 6.6.
//!
//! Of N writers' sections one in N x 2,000 for each millisecond of `long_hold` (100 in the kernel)
//! is a hold of five times that, one in N x 20,000 gives up the CPU inside, and one in 2^20 sleeps a
//! jiffy before. A run shorter than minutes sees few of the long holds or none: give it a shorter
//! `long_hold`, which makes them as much more frequent, or count them in by calculation.

use std::time::Duration;

use lockwright_platform::Platform;

use crate::mutex_bench::BenchMutex;
use crate::rw_bench::Draw;

/// What each writer does over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torture {
    /// Threads, at least 1.
    pub writers: u32,
    /// The long hold is five times this, at most 800 ms. How rare it is goes by whole milliseconds,
    /// at least one.
    pub long_hold: Duration,
    /// Sleeps that last one of these.
    pub jiffy: Duration,
}

/// What a writer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tortured {
    /// Sections.
    pub writes: u64,
    /// Those that were long.
    pub long: u64,
}

impl Torture {
    /// A section is long with a chance of one in so many.
    pub fn long_every(&self) -> u32 {
        let ms = u32::try_from(self.long_hold.as_millis()).unwrap_or(u32::MAX).max(1);
        self.writers.max(1).saturating_mul(2_000).saturating_mul(ms)
    }

    /// One writer's loop. Ends when `over`, told the number of sections after each, says so.
    pub fn write<L: BenchMutex, P: Platform>(
        self,
        lock: &L,
        seed: u64,
        mut over: impl FnMut(u64) -> bool,
    ) -> Tortured {
        let mut draw = Draw::new(seed);
        let mut all = Tortured::default();
        let long_every = self.long_every();
        let yield_every = self.writers.max(1).saturating_mul(20_000);
        loop {
            if draw.below(1 << 20) == 0 {
                P::sleep(self.jiffy.as_nanos() as u64);
            }
            let long = draw.below(long_every) == 0;
            let gives_up = draw.below(yield_every) == 0;
            lock.with(|writes| {
                let before = *writes;
                if long {
                    P::relax(u32::try_from(self.long_hold.as_nanos() * 5).unwrap_or(u32::MAX));
                }
                if gives_up {
                    P::yield_now();
                }
                *writes = before + 1;
            });
            all.writes += 1;
            all.long += u64::from(long);
            if over(all.writes) {
                return all;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lockwright_locks::mutex::{RawMutex, Slice};
    use lockwright_platform::Native;

    use super::*;
    use crate::on::On;

    #[test]
    fn chances_follow_writers_and_length() {
        let torture = |writers, ms| Torture {
            writers,
            long_hold: Duration::from_millis(ms),
            jiffy: Duration::from_millis(1),
        };
        assert_eq!(torture(1, 100).long_every(), 200_000);
        assert_eq!(torture(64, 100).long_every(), 12_800_000);
        assert_eq!(torture(8, 0).long_every(), 16_000);
        assert_eq!(torture(u32::MAX, 100).long_every(), u32::MAX);
    }

    /// On threads of this machine; some 8 of the 16,000 sections are long.
    #[test]
    fn sections_are_counted_and_some_are_long() {
        let torture = Torture {
            writers: 1,
            long_hold: Duration::from_micros(10),
            jiffy: Duration::from_micros(10),
        };
        let lock = On::<RawMutex<Native, Slice>>::new();
        let did = std::thread::scope(|scope| {
            let lock = &lock;
            let run = |seed| {
                scope.spawn(move || torture.write::<_, Native>(lock, seed, |done| done == 8_000))
            };
            [run(1), run(2)].map(|thread| thread.join().unwrap())
        });
        assert_eq!(did.map(|one| one.writes), [8_000; 2]);
        assert_eq!(lock.with(|writes| *writes), 16_000);
        let long = did[0].long + did[1].long;
        assert!((1..=40).contains(&long), "{long}");
    }
}
