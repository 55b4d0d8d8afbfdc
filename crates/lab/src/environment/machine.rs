//! The machine a result was measured on.

use std::fs;

use lockwright_workloads::work;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use procfs::Current;
use serde::{Deserialize, Serialize};

use super::facts::Facts;

/// What of the machine a figure depends on. What the system does not tell is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the first CPU.
    pub cpu_model: Option<String>,
    /// Instruction set, in Rust's words.
    pub arch: String,
    /// CPUs online.
    pub cpus_online: Option<usize>,
    /// CPUs this process may use.
    pub cpus_allowed: Option<usize>,
    /// Kernel name and release.
    pub kernel: Option<String>,
    /// C library and its version.
    pub c_library: Option<String>,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// Length of a PAUSE in nanoseconds, measured.
    pub pause_ns: f64,
    /// Time for a cache line to go from one CPU to another in nanoseconds, measured.
    pub line_transfer_ns: Option<f64>,
    /// What else a sleeping lock's figures depend on.
    #[serde(default)]
    pub facts: Facts,
}

impl Machine {
    /// Describes this machine; takes some 20 ms of measuring.
    pub fn here() -> Self {
        Machine {
            cpu_model: cpu_model(),
            arch: std::env::consts::ARCH.to_owned(),
            cpus_online: nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN)
                .ok()
                .flatten()
                .and_then(|cpus| cpus.try_into().ok()),
            cpus_allowed: cpus_allowed(),
            kernel: kernel(),
            c_library: lockwright_peers::c_library(),
            governor: fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .ok()
                .map(|text| text.trim().to_owned()),
            pause_ns: work::pause_ns(),
            line_transfer_ns: work::line_transfer_ns(),
            facts: Facts::here(),
        }
    }

    /// What makes it another machine if it differs, by name, as text.
    pub fn identity(&self) -> Vec<(&'static str, String)> {
        fn text(value: Option<impl ToString>) -> String {
            value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
        }
        vec![
            ("CPU", text(self.cpu_model.as_ref())),
            ("instruction set", self.arch.clone()),
            ("CPUs", text(self.cpus_allowed)),
            ("kernel", text(self.kernel.as_ref())),
            ("C library", text(self.c_library.as_ref())),
            ("governor", text(self.governor.as_ref())),
            ("preemption", text(self.facts.preemption.as_ref())),
            ("futex hash slots", text(self.facts.futex_hash_slots)),
            ("rseq bytes", text(self.facts.rseq_bytes)),
            ("CPU quota", text(self.facts.cpu_quota)),
        ]
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        let unknown = || "unknown".to_owned();
        let cpus =
            self.cpus_allowed.or(self.cpus_online).map_or(unknown(), |cpus| cpus.to_string());
        let mut line = format!(
            "{cpus} CPUs, {}, {}, {}",
            self.cpu_model.clone().unwrap_or_else(|| self.arch.clone()),
            self.kernel.clone().unwrap_or_else(unknown),
            self.c_library.clone().unwrap_or_else(unknown),
        );
        if let Some(governor) = &self.governor {
            line += &format!(", governor {governor}");
        }
        line
    }
}

fn cpu_model() -> Option<String> {
    procfs::CpuInfo::current().ok()?.model_name(0).map(str::to_owned)
}

fn cpus_allowed() -> Option<usize> {
    Some(allowed_cpus().len()).filter(|&cpus| cpus > 0)
}

/// Numbers of the CPUs that this process may use; none if the system does not say.
pub fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}

fn kernel() -> Option<String> {
    let name = nix::sys::utsname::uname().ok()?;
    Some(format!("{} {}", name.sysname().to_str()?, name.release().to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_what_linux_always_tells() {
        let machine = Machine::here();
        assert!(machine.cpus_online.is_some_and(|cpus| cpus > 0));
        assert!(machine.cpus_allowed.is_some_and(|cpus| cpus > 0));
        assert!(machine.kernel.is_some());
        assert!(machine.pause_ns > 0.0);
        assert!(!machine.summary().contains('\n'));
    }
}
