//! When a lock's spinners queue up by domain, and how long the turn stays in one.

use core::ops::RangeInclusive;

/// Whether spinners are parted by domain.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    Off,
    /// While there is a crowd.
    Dynamic,
    /// As soon as somebody waits for the turn to spin.
    On,
}

/// The settings, process-wide. The counts, their ranges and defaults are those of the kernel series of September
/// 2024 that proposed such a queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Numa {
    /// Whether at all.
    pub mode: Mode,
    /// A head of the queue that found more than so many before it when it came is a deep one.
    pub depth: u32,
    /// More deep heads in a row than this part the queue.
    pub keep: u32,
    /// Turns in a row that threads of one domain have at most while others wait.
    pub batch: u32,
    /// How long they have them at most, in nanoseconds; the holder that it ends with finishes its turn.
    pub batch_ns: u64,
    /// Queues of domains in which nobody has found company for so long are one queue again, in nanoseconds.
    pub idle_ns: u64,
}

impl Numa {
    /// One queue always; the rest as by default.
    pub const OFF: Numa = Numa {
        mode: Mode::Off,
        depth: 8,
        keep: 32,
        batch: 256,
        batch_ns: 1_000_000,
        idle_ns: 10_000_000,
    };

    /// Ranges of [`depth`](Self::depth), [`keep`](Self::keep) and [`batch`](Self::batch).
    pub const RANGES: [RangeInclusive<u32>; 3] = [5..=32, 16..=2048, 5..=2048];

    /// What is wrong with the settings, if anything is.
    #[must_use]
    pub fn complaint(&self) -> Option<&'static str> {
        let [depth, keep, batch] = Self::RANGES;
        if !depth.contains(&self.depth) {
            return Some("depth must be from 5 to 32");
        }
        if !keep.contains(&self.keep) {
            return Some("keep must be from 16 to 2048");
        }
        if !batch.contains(&self.batch) {
            return Some("batch must be from 5 to 2048");
        }
        None
    }
}
