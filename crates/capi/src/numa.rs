//! `lw_numa*`.

use core::ffi::c_int;

use libc::{EINVAL, ENOTSUP};
use lockwright_platform::{Native, Numa, NumaMode, Platform, set_numa};

/// Queues of spinners never part.
pub const LW_NUMA_OFF: u32 = 0;
/// They are parted as soon as somebody waits for the turn to spin.
pub const LW_NUMA_ON: u32 = 1;
/// They part in a crowd, and join when idle.
pub const LW_NUMA_DYNAMIC: u32 = 2;

/// How queues of spinners part by domain (a NUMA node, or a last-level cache where a node has
/// several); LW_NUMA_INIT has the defaults.
#[repr(C)]
pub struct lw_numa_t {
    /// LW_NUMA_OFF, LW_NUMA_ON or LW_NUMA_DYNAMIC.
    pub mode: u32,
    /// A head that found more than so many before it when it came is a deep one: 5 to 32.
    pub depth: u32,
    /// More deep heads in a row than this part the queue: 16 to 2048.
    pub keep: u32,
    /// Turns in a row that a domain has at most while others wait: 5 to 2048.
    pub batch: u32,
    /// How long it has them at most, in microseconds.
    pub batch_us: u32,
    /// Parted queues in which no batch had two turns for so many milliseconds are joined again.
    pub idle_ms: u32,
}

const _: () = assert!(size_of::<lw_numa_t>() == 24);

/// Changes the settings of all locks of the process, at any time. EINVAL: a setting is out of its
/// range. ENOTSUP: the CPUs that the process may use are one domain, or nobody knows their domains.
/// Nothing changes then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_numa_set(settings: *const lw_numa_t) -> c_int {
    // SAFETY: C programs pass a pointer to initialised settings.
    let wanted = unsafe { &*settings };
    let mode = match wanted.mode {
        LW_NUMA_OFF => NumaMode::Off,
        LW_NUMA_ON => NumaMode::On,
        LW_NUMA_DYNAMIC => NumaMode::Dynamic,
        _ => return EINVAL,
    };
    let numa = Numa {
        mode,
        depth: wanted.depth,
        keep: wanted.keep,
        batch: wanted.batch,
        batch_ns: u64::from(wanted.batch_us) * 1_000,
        idle_ns: u64::from(wanted.idle_ms) * 1_000_000,
    };
    if numa.complaint().is_some() {
        return EINVAL;
    }
    set_numa(numa).map_or(ENOTSUP, |()| 0)
}

/// Writes the settings in force: LW_NUMA_OFF too where there is one domain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_numa_get(settings: *mut lw_numa_t) {
    let numa = Native::numa();
    let mode = match numa.mode {
        NumaMode::Off => LW_NUMA_OFF,
        NumaMode::On => LW_NUMA_ON,
        NumaMode::Dynamic => LW_NUMA_DYNAMIC,
    };
    let rounded = |ns: u64, unit: u64| u32::try_from(ns / unit).unwrap_or(u32::MAX);
    let (batch_us, idle_ms) = (rounded(numa.batch_ns, 1_000), rounded(numa.idle_ns, 1_000_000));
    let Numa { depth, keep, batch, .. } = numa;
    // SAFETY: C programs pass a pointer to room for settings.
    unsafe { settings.write(lw_numa_t { mode, depth, keep, batch, batch_us, idle_ms }) };
}

/// How many domains the CPUs that the process may use make up.
#[unsafe(no_mangle)]
pub extern "C" fn lw_numa_domains() -> u32 {
    Native::domains().into()
}
