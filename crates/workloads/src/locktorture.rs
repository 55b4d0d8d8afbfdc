//! The loop of the kernel's locktorture over a mutex: no work inside but a look at who else is there and
//! a rare very long hold, as its module `locktorture` does it since 6.6.
//!
//! Every writer raises the same flag while it is inside, and looks whether it was down: a second
//! line that goes from core to core with the lock.
//!
//! Of N writers' sections one in N x 2,000 for each millisecond of `long_hold` (100 in the kernel)
//! is a hold of five times that, one in N x 20,000 gives up the CPU inside, and one in 2^20 sleeps a
//! jiffy before. A run shorter than minutes sees few of the long holds or none: give it a shorter
//! `long_hold`, which makes them as much more frequent, or count them in by calculation.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use lockwright_platform::{Platform, Word};

use crate::harness::Draw;
use crate::mutex_bench::BenchMutex;

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
    /// Nanoseconds outside, for what the kernel's loop does beside its sections: drawing numbers,
    /// looking whether it is time to pause.
    pub outside_ns: u32,
}

/// What a writer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tortured {
    /// Sections.
    pub writes: u64,
    /// Those that were long.
    pub long: u64,
    /// Those in which somebody else was inside.
    pub failed: u64,
}

impl Torture {
    /// A section is long with a chance of one in so many.
    pub fn long_every(&self) -> u32 {
        let ms = u32::try_from(self.long_hold.as_millis()).unwrap_or(u32::MAX).max(1);
        self.writers.max(1).saturating_mul(2_000).saturating_mul(ms)
    }

    /// One writer's loop. Ends when `over`, told the number of sections after each, says so.
    /// `inside` is 0, and the same for all writers.
    pub fn write<L: BenchMutex, P: Platform>(
        self,
        lock: &L,
        inside: &P::Word<u32>,
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
            all.failed += lock.with(|writes| {
                // Ordering: Relaxed throughout: the lock orders the flag, if it does.
                let failed = u64::from(inside.load(Relaxed) != 0);
                inside.store(1, Relaxed);
                let before = *writes;
                if long {
                    P::busy_wait_ns(
                        u32::try_from(self.long_hold.as_nanos() * 5).unwrap_or(u32::MAX),
                    );
                }
                if gives_up {
                    P::yield_now();
                }
                *writes = before + 1;
                inside.store(0, Relaxed);
                failed
            });
            all.writes += 1;
            all.long += u64::from(long);
            if over(all.writes) {
                return all;
            }
            if self.outside_ns > 0 {
                P::busy_wait_ns(self.outside_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

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
            outside_ns: 0,
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
            outside_ns: 10,
        };
        let lock = On::<RawMutex<Native, Slice>>::new();
        let inside = AtomicU32::new(0);
        let did = std::thread::scope(|scope| {
            let (lock, inside) = (&lock, &inside);
            let run = |seed| {
                scope.spawn(move || {
                    torture.write::<_, Native>(lock, inside, seed, |done| done == 8_000)
                })
            };
            [run(1), run(2)].map(|thread| thread.join().unwrap())
        });
        assert_eq!(did.map(|one| (one.writes, one.failed)), [(8_000, 0); 2]);
        assert_eq!(lock.with(|writes| *writes), 16_000);
        let long = did[0].long + did[1].long;
        assert!((1..=40).contains(&long), "{long}");
    }

    /// A writer that finds the flag raised has failed, once: it takes it down when it leaves.
    #[test]
    fn a_raised_flag_is_a_failure() {
        let torture =
            Torture { writers: 1, long_hold: Duration::ZERO, jiffy: Duration::ZERO, outside_ns: 0 };
        let lock = On::<RawMutex<Native, Slice>>::new();
        let inside = AtomicU32::new(1);
        let did = torture.write::<_, Native>(&lock, &inside, 1, |done| done == 100);
        assert_eq!((did.writes, did.failed), (100, 1));
    }
}
