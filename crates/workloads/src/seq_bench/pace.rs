//! How often the writer writes.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The writer's rhythm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteEvery {
    /// There is no writer.
    Never,
    /// From one write to the next; 0 is back to back.
    Time(Duration),
}

/// Below this the writer waits busily: a sleep is not that exact.
const BUSY: Duration = Duration::from_micros(300);

/// Longest sleep between two looks whether the round is over.
const NAP: Duration = Duration::from_millis(5);

/// Waits from write to write.
pub struct Paced {
    every: Option<Duration>,
    due: Instant,
}

impl Paced {
    /// The first write is due one interval from now.
    pub fn new(every: WriteEvery) -> Self {
        let every = match every {
            WriteEvery::Never => None,
            WriteEvery::Time(time) => Some(time),
        };
        Paced { every, due: Instant::now() + every.unwrap_or_default() }
    }

    /// Waits until the next write is due; false if the round is over.
    pub fn wait(&mut self, stop: &AtomicBool) -> bool {
        loop {
            // Ordering: Relaxed: a hint to stop.
            if stop.load(Relaxed) {
                return false;
            }
            let left = self.due.saturating_duration_since(Instant::now());
            match self.every {
                None => thread::sleep(NAP),
                Some(every) if left.is_zero() => {
                    // Writes that are late are not made up for.
                    self.due = (self.due + every).max(Instant::now());
                    return true;
                }
                Some(_) if left > BUSY => thread::sleep((left - BUSY).min(NAP)),
                Some(_) => std::hint::spin_loop(),
            }
        }
    }
}
