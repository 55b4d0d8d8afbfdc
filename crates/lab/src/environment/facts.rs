//! What of the kernel, the C library and the process's limits a sleeping lock's figures depend on.
//!
//! Each fact is `None` where the system does not say.

use std::fs;
use std::io::Read;
use std::time::Instant;

use lockwright_platform::{Native, Platform};
use serde::{Deserialize, Serialize};

use crate::analysis::stats::median;

/// Facts that two machines may differ in although CPU and kernel release are the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// When the kernel preempts: `none`, `voluntary`, `full`, `lazy` or `rt`; `dynamic` if it was
    /// chosen at boot and is not told.
    pub preemption: Option<String>,
    /// Slots of this process's own hash of futexes; 0: the one that all processes share. Absent
    /// before Linux 6.16.
    pub futex_hash_slots: Option<u32>,
    /// Bytes of `struct rseq` that the C library registered for each thread; absent: none.
    pub rseq_bytes: Option<u32>,
    /// Bytes of it that the kernel would use; 20 and less are those of before 6.3.
    pub rseq_kernel_bytes: Option<u64>,
    /// The heavy half of the asymmetric fence, membarrier where the kernel has it, in
    /// nanoseconds; measured.
    pub heavy_fence_ns: Option<f64>,
    /// Whether unlocking leaves its fence to membarrier; absent: the library was built without it.
    pub membarrier: Option<bool>,
    /// How much later than asked the kernel may end a timed sleep of the main thread, in nanoseconds.
    pub timer_slack_ns: Option<u64>,
    /// What the kernel reads the time from.
    pub clock_source: Option<String>,
    /// A look at the monotonic clock, in nanoseconds; measured.
    pub clock_read_ns: Option<f64>,
    /// Groups of CPUs that share their last-level cache, as the locks reckon.
    pub cache_domains: Option<u16>,
    /// CPUs that the control group's quota allows on average; absent: no quota.
    pub cpu_quota: Option<f64>,
    /// Memory nodes that have CPUs.
    pub numa_nodes: Option<usize>,
    /// Whether a core runs more than one thread at a time.
    pub smt: Option<bool>,
}

impl Facts {
    /// Those of this process on this machine; takes less than a millisecond.
    pub fn here() -> Self {
        Facts {
            preemption: preemption(),
            futex_hash_slots: lockwright_peers::futex_hash_slots(),
            rseq_bytes: lockwright_peers::rseq_bytes(),
            rseq_kernel_bytes: auxiliary(AT_RSEQ_FEATURE_SIZE),
            heavy_fence_ns: heavy_fence_ns(),
            membarrier: Some(lockwright_platform::native::barrier_in_use()),
            timer_slack_ns: text("/proc/self/timerslack_ns").and_then(|ns| ns.parse().ok()),
            clock_source: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            clock_read_ns: clock_read_ns(),
            cache_domains: Some(Native::domains()),
            cpu_quota: cpu_quota(),
            numa_nodes: numa_nodes(),
            smt: text("/sys/devices/system/cpu/smt/active").map(|text| text == "1"),
        }
    }
}

/// linux/auxvec.h.
const AT_RSEQ_FEATURE_SIZE: u64 = 27;

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// An entry of the auxiliary vector, which the kernel gives to each program.
fn auxiliary(wanted: u64) -> Option<u64> {
    const WORD: usize = size_of::<usize>();
    let vector = fs::read("/proc/self/auxv").ok()?;
    let word = |bytes: &[u8]| {
        let mut word = [0; WORD];
        word.copy_from_slice(bytes);
        usize::from_ne_bytes(word) as u64
    };
    let mut entries = vector.chunks_exact(2 * WORD);
    entries.find(|entry| word(&entry[..WORD]) == wanted).map(|entry| word(&entry[WORD..]))
}

/// The preemption model, from the most to the least certain source.
fn preemption() -> Option<String> {
    // "none voluntary (full) lazy"; for root only.
    let chosen = text("/sys/kernel/debug/sched/preempt")
        .and_then(|list| Some(list.split_once('(')?.1.split_once(')')?.0.to_owned()));
    let asked = || {
        let line = text("/proc/cmdline")?;
        line.split_whitespace().find_map(|word| word.strip_prefix("preempt=").map(str::to_owned))
    };
    chosen.or_else(asked).or_else(|| preemption_built_in(&kernel_config())).or_else(|| {
        let version = text("/proc/version")?;
        let flags = [("PREEMPT_RT", "rt"), ("PREEMPT_DYNAMIC", "dynamic"), ("PREEMPT", "full")];
        let model = flags.iter().find(|(flag, _)| version.contains(flag));
        Some(model.map_or("none or voluntary", |(_, model)| model).to_owned())
    })
}

/// What a kernel was configured with; empty if it does not say.
fn kernel_config() -> String {
    let mut config = String::new();
    let packed = fs::File::open("/proc/config.gz");
    if packed
        .and_then(|file| flate2::read::GzDecoder::new(file).read_to_string(&mut config))
        .is_ok()
    {
        return config;
    }
    let release = text("/proc/sys/kernel/osrelease").unwrap_or_default();
    text(&format!("/boot/config-{release}")).unwrap_or_default()
}

fn preemption_built_in(config: &str) -> Option<String> {
    let models = [
        ("CONFIG_PREEMPT_RT=y", "rt"),
        ("CONFIG_PREEMPT_LAZY=y", "lazy"),
        ("CONFIG_PREEMPT=y", "full"),
        ("CONFIG_PREEMPT_VOLUNTARY=y", "voluntary"),
        ("CONFIG_PREEMPT_NONE=y", "none"),
    ];
    let has = |line: &str| config.lines().any(|have| have == line);
    models.iter().find(|(line, _)| has(line)).map(|(_, model)| (*model).to_owned())
}

/// The median of a few: an interrupt lengthens one.
fn heavy_fence_ns() -> Option<f64> {
    let once = |_| {
        let began = Instant::now();
        Native::fence_heavy();
        began.elapsed().as_nanos() as f64
    };
    // The first calls register the process and fault pages in.
    median(&(0..40).map(once).skip(8).collect::<Vec<_>>())
}

/// The median of some runs of a hundred.
fn clock_read_ns() -> Option<f64> {
    const LOOKS: u32 = 100;
    let run = |_| {
        let began = Instant::now();
        (0..LOOKS).for_each(|_| _ = std::hint::black_box(Native::now()));
        began.elapsed().as_nanos() as f64 / f64::from(LOOKS)
    };
    median(&(0..9).map(run).collect::<Vec<_>>())
}

/// The least quota of the control groups that this process is in, in CPUs.
fn cpu_quota() -> Option<f64> {
    let own = text("/proc/self/cgroup")?;
    let unified = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut group = unified;
    let mut least: Option<f64> = None;
    loop {
        let quota = text(&format!("/sys/fs/cgroup{group}/cpu.max")).and_then(|max| quota_of(&max));
        least = match (least, quota) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        match group.rsplit_once('/') {
            Some((above, _)) => group = above,
            None => return least,
        }
    }
}

/// CPUs, from `cpu.max`: microseconds of so many microseconds, or `max`.
fn quota_of(max: &str) -> Option<f64> {
    let (quota, period) = max.split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

fn numa_nodes() -> Option<usize> {
    let entries = fs::read_dir("/sys/devices/system/node").ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let nodes = names.filter(|name| {
        name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())
            && text(&format!("/sys/devices/system/node/{name}/cpulist"))
                .is_some_and(|l| !l.is_empty())
    });
    Some(nodes.count()).filter(|&nodes| nodes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_one_model() {
        let model = |config: &str| preemption_built_in(config);
        assert_eq!(
            model("CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y").as_deref(),
            Some("none")
        );
        assert_eq!(
            model("# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_LAZY=y").as_deref(),
            Some("lazy")
        );
        assert_eq!(model("CONFIG_PREEMPT_COUNT=y"), None);
    }

    #[test]
    fn a_quota_is_a_number_of_cpus() {
        assert_eq!(quota_of("150000 100000"), Some(1.5));
        assert_eq!(quota_of("max 100000"), None);
        assert_eq!(quota_of(""), None);
    }

    #[test]
    fn the_kernel_s_vector_has_the_page_size() {
        const AT_PAGESZ: u64 = 6;
        assert!(auxiliary(AT_PAGESZ).is_some_and(|bytes| bytes.is_power_of_two()));
    }

    #[test]
    fn a_fence_takes_time() {
        assert!(Facts::here().heavy_fence_ns.is_some_and(|ns| ns > 0.0));
    }
}
