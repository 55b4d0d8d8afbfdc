//! What a thread has used of the machine.

use std::ops::{Add, Sub};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

/// CPU time and context switches, of one thread or summed over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Times the thread gave the CPU up, as a sleeping lock does.
    pub voluntary_switches: u64,
    /// Times the scheduler took the CPU away.
    pub involuntary_switches: u64,
}

impl Usage {
    /// The calling thread's use since it was started.
    ///
    /// All zero if the system does not say.
    pub fn of_this_thread() -> Self {
        Self::of(UsageWho::RUSAGE_THREAD)
    }

    /// This process's use since it was started, all threads.
    pub fn of_this_process() -> Self {
        Self::of(UsageWho::RUSAGE_SELF)
    }

    /// The use of children of this process that have ended and been waited for.
    pub fn of_children() -> Self {
        Self::of(UsageWho::RUSAGE_CHILDREN)
    }

    fn of(who: UsageWho) -> Self {
        let Ok(usage) = getrusage(who) else {
            return Self::default();
        };
        Usage {
            user: duration(usage.user_time()),
            system: duration(usage.system_time()),
            voluntary_switches: count(usage.voluntary_context_switches()),
            involuntary_switches: count(usage.involuntary_context_switches()),
        }
    }

    /// CPU time in either mode.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

fn duration(time: TimeVal) -> Duration {
    Duration::from_micros(time.num_microseconds().try_into().unwrap_or(0))
}

fn count(switches: impl TryInto<u64>) -> u64 {
    switches.try_into().unwrap_or(0)
}

impl Sub for Usage {
    type Output = Usage;

    fn sub(self, before: Usage) -> Usage {
        Usage {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
        }
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            user: self.user + other.user,
            system: self.system + other.system,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn usage_grows_with_work() {
        let before = Usage::of_this_thread();
        let began = Instant::now();
        // The kernel counts CPU time in steps: go on until it has moved.
        while (Usage::of_this_thread() - before).cpu() == Duration::ZERO {
            crate::work::pause(10_000);
            assert!(began.elapsed() < Duration::from_secs(60));
        }
        assert!(Usage::of_this_process().cpu() >= Usage::of_this_thread().cpu());
    }
}
