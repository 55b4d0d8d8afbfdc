//! How much of each test to run: fewer rounds under Miri, which is a thousand times slower.

use std::sync::OnceLock;
use std::time::Duration;

/// `native` rounds, or `miri` rounds under the Miri interpreter.
pub const fn rounds(native: usize, miri: usize) -> usize {
    if cfg!(miri) { miri } else { native }
}

/// Rounds of the unmap contract: `LOCKWRIGHT_ROUNDS`, else 20,000.
pub fn unmap_rounds() -> usize {
    static ROUNDS: OnceLock<usize> = OnceLock::new();
    *ROUNDS.get_or_init(|| from_env("LOCKWRIGHT_ROUNDS").unwrap_or(20_000) as usize)
}

/// The time after which a body counts as hung: `LOCKWRIGHT_WATCHDOG_SECS`, else 60 s.
pub fn liveness() -> Duration {
    Duration::from_secs(from_env("LOCKWRIGHT_WATCHDOG_SECS").unwrap_or(60))
}

/// The same for the unmap contract: 2 ms more per round, since a long run is not a hung one.
pub fn unmap_liveness() -> Duration {
    liveness() + Duration::from_millis(2 * unmap_rounds() as u64)
}

/// Seed of all random pauses: `LOCKWRIGHT_SEED`, else a constant, so that runs repeat.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| from_env("LOCKWRIGHT_SEED").unwrap_or(0x6c6f_636b))
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a whole number")))
}

/// A small generator (xorshift64*), so that the crate needs no other for its pauses.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of one thread of a test: the same seed and `stream` give the same throws.
    pub fn new(stream: usize) -> Self {
        let mixed = seed().wrapping_add(stream as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Dice(mixed | 1)
    }

    /// A number in `0..bound`; `bound` must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_stream_throws_the_same_numbers() {
        let throws = |stream| {
            let mut dice = Dice::new(stream);
            (0..100).map(|_| dice.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(throws(3), throws(3));
        assert_ne!(throws(3), throws(4));
    }

    #[test]
    fn throws_stay_below_the_bound() {
        let mut dice = Dice::new(0);
        assert!((0..1_000).all(|_| dice.below(7) < 7));
    }
}
