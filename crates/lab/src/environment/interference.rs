//! Whether others used the CPUs that were being measured.

use std::time::{Duration, Instant};

use lockwright_workloads::harness::{Interrupt, Usage};
use lockwright_workloads::work;
use procfs::CurrentSI;

/// Share of the machine's CPU time above which others are worth a warning.
const WORTH_A_WARNING: f64 = 0.10;

/// The CPU time of the whole machine, and of this process and its commands, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    at: Instant,
    /// All CPUs, in seconds.
    busy_s: f64,
    own_s: f64,
    cpus: usize,
}

impl Mark {
    /// Now; `None` if the system does not say.
    pub fn now() -> Option<Self> {
        let stat = procfs::KernelStats::current().ok()?;
        let total = &stat.total;
        // Guest time is part of user time already; time stolen by the hypervisor is lost to us
        // like time that others use.
        let ticks = total.user
            + total.nice
            + total.system
            + total.irq.unwrap_or(0)
            + total.softirq.unwrap_or(0)
            + total.steal.unwrap_or(0);
        Some(Mark {
            at: Instant::now(),
            busy_s: ticks as f64 / procfs::ticks_per_second() as f64,
            own_s: (Usage::of_this_process() + Usage::of_children()).cpu().as_secs_f64(),
            cpus: stat.cpu_time.len().max(1),
        })
    }

    /// Share of all CPU time since this mark that others used, from 0 to 1.
    pub fn others_since(&self) -> Option<f64> {
        let now = Mark::now()?;
        let wall = (now.at - self.at).as_secs_f64() * self.cpus as f64;
        let others = (now.busy_s - self.busy_s) - (now.own_s - self.own_s);
        (wall > 0.0).then(|| (others / wall).clamp(0.0, 1.0))
    }
}

/// Looks for `time` whether the machine is at rest; if not, a whole sentence about it.
///
/// The load average is not asked: the run before this one raises it for minutes.
pub fn before_run(time: Duration, interrupt: &Interrupt) -> Option<String> {
    let mark = Mark::now()?;
    interrupt.sleep(time);
    let others = mark.others_since()?;
    (others > WORTH_A_WARNING).then(|| {
        format!(
            "other processes use {:.0} % of the CPUs: results vary more and compare less; \
             stop them, or raise --rounds",
            100.0 * others
        )
    })
}

/// Looks back at a run that began at `mark`.
pub fn after_run(mark: Option<Mark>) -> Option<String> {
    let others = mark?.others_since()?;
    (others > WORTH_A_WARNING).then(|| {
        format!(
            "other processes used {:.0} % of the CPUs during the run: differences may be theirs; \
             repeat the run, or raise --rounds",
            100.0 * others
        )
    })
}

/// Looks whether the CPUs are as fast as when a PAUSE took `pause_ns`; clocks follow load and heat.
pub fn speed_changed(pause_ns: f64) -> Option<String> {
    /// Where this much is lost, a few percent between two arms mean nothing.
    const WORTH_A_WARNING: f64 = 0.05;
    let now = work::pause_ns();
    let change = now / pause_ns - 1.0;
    (change.abs() > WORTH_A_WARNING).then(|| {
        format!(
            "a PAUSE took {pause_ns:.1} ns before the run and takes {now:.1} ns after it: the CPUs' \
             speed changed; compare only what ran in turns"
        )
    })
}

/// Whether the CPUs' frequency is left to a governor that changes it.
pub fn governor_varies(governor: Option<&str>) -> Option<String> {
    governor.filter(|&governor| governor != "performance").map(|governor| {
        format!(
            "the frequency governor is '{governor}', which changes the CPUs' speed: results vary \
             more; 'performance' does not"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_governor_that_varies_is_worth_a_warning() {
        assert!(governor_varies(Some("schedutil")).is_some());
        assert!(governor_varies(Some("performance")).is_none());
        assert!(governor_varies(None).is_none());
    }

    #[test]
    fn a_speed_ten_times_as_high_is_noticed() {
        let now = work::pause_ns();
        assert!(speed_changed(10.0 * now).is_some_and(|text| text.contains("speed changed")));
    }

    #[test]
    fn a_share_is_a_share() {
        let mark = Mark::now().expect("/proc/stat is there on Linux");
        std::thread::sleep(Duration::from_millis(30));
        let others = mark.others_since().unwrap();
        assert!((0.0..=1.0).contains(&others), "{others}");
    }
}
