//! Lock events of this process: what its locks' slow paths did.
//!
//! ```
//! use lockwright::events::{Counts, Event};
//!
//! let before = lockwright::events::snapshot();
//! // ... work ...
//! let counts: Counts = lockwright::events::snapshot().since(&before);
//! println!("{} = {}", Event::MutexSleep.name(), counts.get(Event::MutexSleep));
//! ```

use std::sync::Mutex;

pub use lockwright_locks::events::{Counts, Event};
use lockwright_platform::Native;

static BASELINE: Mutex<Option<Counts>> = Mutex::new(None);

fn baseline() -> std::sync::MutexGuard<'static, Option<Counts>> {
    BASELINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The counts since the process began or the last [`reset`]. All 0 without the feature `events`.
pub fn snapshot() -> Counts {
    let now = Counts::now::<Native>();
    match &*baseline() {
        Some(before) => now.since(before),
        None => now,
    }
}

/// Makes the counts of this moment the zero of later [`snapshot`]s; no count is lost.
pub fn reset() {
    *baseline() = Some(Counts::now::<Native>());
}
