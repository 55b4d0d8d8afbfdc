//! When queues of spinners are parted, for the process: what `LOCKWRIGHT_NUMA` says, or the program later.
//!
//! The value is `off`, `on` or `dynamic`, and settings after commas: `dynamic,depth=8,keep=32,batch=256,
//! batch_us=1000,idle_ms=10`. A value that makes no sense costs one line on standard error, and the default is
//! used.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::{environment, topology};
use crate::{Numa, NumaMode};

/// What fits 8 bits.
pub(super) const MOST_ENTRIES: u16 = 255;

/// Unless somebody says otherwise.
const DEFAULT: Numa = Numa::OFF;

static MODE: AtomicU32 = AtomicU32::new(code(DEFAULT.mode));
static DEPTH: AtomicU32 = AtomicU32::new(DEFAULT.depth);
static KEEP: AtomicU32 = AtomicU32::new(DEFAULT.keep);
static BATCH: AtomicU32 = AtomicU32::new(DEFAULT.batch);
static BATCH_NS: AtomicU64 = AtomicU64::new(DEFAULT.batch_ns);
static IDLE_NS: AtomicU64 = AtomicU64::new(DEFAULT.idle_ns);

const fn code(mode: NumaMode) -> u32 {
    match mode {
        NumaMode::Off => 0,
        NumaMode::Dynamic => 1,
        NumaMode::On => 2,
    }
}

/// See [`Platform::numa`](crate::Platform::numa).
pub(super) fn settings() -> Numa {
    // Ordering: Relaxed, hint (a change need not be seen at once, nor whole) (block)
    let mode = match MODE.load(Relaxed) {
        1 => NumaMode::Dynamic,
        2 => NumaMode::On,
        _ => return Numa::OFF,
    };
    if topology::domains() < 2 {
        return Numa::OFF;
    }
    Numa {
        mode,
        depth: DEPTH.load(Relaxed),
        keep: KEEP.load(Relaxed),
        batch: BATCH.load(Relaxed),
        batch_ns: BATCH_NS.load(Relaxed),
        idle_ns: IDLE_NS.load(Relaxed),
    }
}

fn set(numa: &Numa) {
    // Ordering: Relaxed, hint (as above) (block)
    DEPTH.store(numa.depth, Relaxed);
    KEEP.store(numa.keep, Relaxed);
    BATCH.store(numa.batch, Relaxed);
    BATCH_NS.store(numa.batch_ns, Relaxed);
    IDLE_NS.store(numa.idle_ns, Relaxed);
    MODE.store(code(numa.mode), Relaxed);
}

/// Changes the settings of the process. Locks that wait notice by and by.
///
/// # Errors
///
/// In words: a setting is out of its range, or there is one domain only. Nothing changes then.
pub fn set_numa(numa: Numa) -> Result<(), &'static str> {
    if let Some(complaint) = numa.complaint() {
        return Err(complaint);
    }
    if numa.mode != NumaMode::Off && topology::domains() < 2 {
        return Err("the CPUs that the process may use are one domain");
    }
    set(&numa);
    Ok(())
}

/// Called before `main`.
pub(super) fn note_environment() {
    let Some(value) = environment::value(c"LOCKWRIGHT_NUMA") else { return };
    match parse(value.to_bytes()) {
        Ok(numa) => set(&numa),
        Err(why) => environment::complain(
            "LOCKWRIGHT_NUMA",
            value.to_bytes(),
            why,
            "queues of spinners are not parted",
        ),
    }
}

fn parse(value: &[u8]) -> Result<Numa, &'static str> {
    let text = core::str::from_utf8(value).map_err(|_| "expected text")?;
    let mut parts = text.split(',');
    let mode = match parts.next() {
        Some("off" | "") => NumaMode::Off,
        Some("dynamic") => NumaMode::Dynamic,
        Some("on") => NumaMode::On,
        _ => return Err("expected off, on or dynamic, and settings after commas"),
    };
    let mut numa = Numa { mode, ..DEFAULT };
    for part in parts {
        let (name, number) = part.split_once('=').ok_or("expected name=number after a comma")?;
        let number: u32 = number.parse().map_err(|_| "expected a number after =")?;
        match name {
            "depth" => numa.depth = number,
            "keep" => numa.keep = number,
            "batch" => numa.batch = number,
            "batch_us" => numa.batch_ns = u64::from(number) * 1_000,
            "idle_ms" => numa.idle_ns = u64::from(number) * 1_000_000,
            _ => return Err("the settings are depth, keep, batch, batch_us and idle_ms"),
        }
    }
    numa.complaint().map_or(Ok(numa), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_environment() {
        let dynamic = Numa { mode: NumaMode::Dynamic, ..DEFAULT };
        assert_eq!(parse(b"dynamic"), Ok(dynamic));
        assert_eq!(parse(b"off"), Ok(Numa::OFF));
        let all = parse(b"on,depth=5,keep=2048,batch=7,batch_us=20,idle_ms=3");
        let wanted = Numa {
            mode: NumaMode::On,
            depth: 5,
            keep: 2048,
            batch: 7,
            batch_ns: 20_000,
            idle_ns: 3_000_000,
        };
        assert_eq!(all, Ok(wanted));
        for bad in [
            "maybe",
            "on,depth=4",
            "on,keep=15",
            "on,batch=2049",
            "on,batch",
            "on,a=1",
            "on,batch=x",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
