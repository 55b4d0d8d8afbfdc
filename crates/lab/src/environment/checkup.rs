//! What a machine offers to sleeping locks, and what each absence costs.
//!
//! The costs in nanoseconds were measured on two CPUs of a guest (AMD EPYC, Linux 6.18, glibc 2.36), the
//! shortest of 25 runs of 400,000 pairs, with the thing and without.

use serde::Serialize;

use super::machine::Machine;

/// What a finding means for the locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// All that the locks can use is there.
    Ok,
    /// Something is missing or slow, and costs what the finding says.
    Costs,
    /// The system does not say, or it is neither good nor bad.
    Note,
}

impl Grade {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Ok => "ok",
            Grade::Costs => "costs",
            Grade::Note => "note",
        }
    }
}

/// One thing that the locks use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is.
    pub name: &'static str,
    /// What is there.
    pub found: String,
    /// What that means.
    pub grade: Grade,
    /// In a sentence: what it is for, or what its absence costs and what to do.
    pub meaning: String,
}

fn finding(name: &'static str, found: String, grade: Grade, meaning: &str) -> Finding {
    Finding { name, found, grade, meaning: meaning.to_owned() }
}

/// Everything that the locks use of this machine.
pub fn findings(machine: &Machine) -> Vec<Finding> {
    vec![
        cpus(machine),
        membarrier(machine),
        rseq(machine),
        slice_extension(machine),
        c_library(machine),
        futex_hash(machine),
        clock(machine),
        timer_slack(machine),
        preemption(machine),
        topology(machine),
        cache_line(machine),
        governor(machine),
    ]
}

fn cpus(machine: &Machine) -> Finding {
    let allowed = machine.cpus_allowed.or(machine.cpus_online);
    let number = |cpus: Option<usize>| cpus.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let quota = machine.facts.cpu_quota;
    let mut found = format!("{} of {}", number(allowed), number(machine.cpus_online));
    if let Some(quota) = quota {
        found += &format!(", a quota of {quota}");
    }
    let usable = quota.map_or(f64::INFINITY, |quota| quota).min(allowed.map_or(1.0, |n| n as f64));
    if usable < 2.0 {
        let why = "On one CPU nobody spins: a thread that finds a lock held yields and sleeps, and each \
                   change of hands is a context switch. Nothing is lost that one CPU could do.";
        return finding("CPUs", found, Grade::Note, why);
    }
    let why = "As many threads spin at a time as there are usable CPUs less one; the others sleep.";
    if quota.is_some() {
        let why = "The quota bounds the spinners too, but a holder may be stopped for the rest of a \
                   period (100 ms as a rule), and all who wait with it. Give whole CPUs (cpuset) to what must answer fast.";
        return finding("CPUs", found, Grade::Costs, why);
    }
    finding("CPUs", found, Grade::Ok, why)
}

fn membarrier(machine: &Machine) -> Finding {
    let facts = &machine.facts;
    let took = facts
        .heavy_fence_ns
        .map_or(String::new(), |ns| format!(", {:.1} us a call while one thread runs", ns / 1e3));
    match facts.membarrier {
        Some(true) => {
            let why = "Unlocking needs no fence: a waiter that goes to sleep makes one for everybody. \
                       Without it a mutex pair takes 10.8 ns instead of 6.1, a biased read 10.7 instead of 1.4.";
            finding("membarrier", format!("in use{took}"), Grade::Ok, why)
        }
        _ => {
            let why = "Each unlock of a mutex and each biased read has a full fence: a pair takes 10.8 ns \
                       instead of 6.1, a biased read 10.7 instead of 1.4. It needs Linux 4.14, a seccomp filter that lets it pass, and LOCKWRIGHT_MEMBARRIER other than off.";
            finding("membarrier", "not in use".to_owned(), Grade::Costs, why)
        }
    }
}

fn rseq(machine: &Machine) -> Finding {
    let Some(bytes) = machine.facts.rseq_bytes else {
        let why = "A waiter cannot tell that the holder lost its CPU, and spins its full time then (20 us, on many CPUs up to 200). It needs \
                   glibc 2.35 that registers it (GLIBC_TUNABLES without glibc.pthread.rseq=0), and Linux 4.18.";
        return finding("rseq", "not registered".to_owned(), Grade::Costs, why);
    };
    let kernel = machine.facts.rseq_kernel_bytes;
    let kernel = kernel.map_or(String::new(), |bytes| format!(", the kernel would use {bytes}"));
    let why = "A holder's CPU is known for the price of a load: spinners leave when another thread is seen \
               there.";
    finding("rseq", format!("{bytes} bytes registered{kernel}"), Grade::Ok, why)
}

fn slice_extension(machine: &Machine) -> Finding {
    /// What `struct rseq` must have for it.
    const BYTES: u64 = 32;
    let facts = &machine.facts;
    if facts.rseq_kernel_bytes.is_none_or(|bytes| bytes < BYTES) || facts.rseq_bytes.is_none() {
        let why = "An owner that loses its CPU keeps all waiting until it gets one again. From Linux 7.0 and glibc \
                   2.41 on, LOCKWRIGHT_SLICE_EXT=auto asks for some microseconds more.";
        return finding("slice ext", "none".to_owned(), Grade::Note, why);
    }
    let why = "LOCKWRIGHT_SLICE_EXT=auto has owners that others wait for ask for some microseconds more; with \
               require, a C library that does not register for it is named.";
    finding("slice ext", "the kernel has it".to_owned(), Grade::Note, why)
}

fn c_library(machine: &Machine) -> Finding {
    let Some(name) = &machine.c_library else {
        let why = "Not glibc: nothing registers rseq (see there). Everything else works.";
        return finding("C library", "unknown".to_owned(), Grade::Note, why);
    };
    let version = name.rsplit(' ').next().and_then(|version| {
        let (major, minor) = version.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.split('.').next()?.parse::<u32>().ok()?))
    });
    match version {
        Some(version) if name.contains("glibc") && version < (2, 35) => {
            let why = "glibc before 2.35 registers no rseq (see there).";
            finding("C library", name.clone(), Grade::Costs, why)
        }
        _ => finding("C library", name.clone(), Grade::Ok, "glibc registers rseq since 2.35."),
    }
}

fn futex_hash(machine: &Machine) -> Finding {
    match machine.facts.futex_hash_slots {
        Some(slots) if slots > 0 => {
            let why =
                "Sleepers of this process do not share the kernel's queues with those of others.";
            finding("futex hash", format!("{slots} slots of its own"), Grade::Ok, why)
        }
        slots => {
            let found = slots.map_or("the machine's", |_| "the machine's, not yet its own");
            let why = "Sleeping and waking may wait for other processes' that hash to the same queue. A \
                       process gets a hash of its own with its first thread, from Linux 6.16 on.";
            finding("futex hash", found.to_owned(), Grade::Note, why)
        }
    }
}

fn clock(machine: &Machine) -> Finding {
    let facts = &machine.facts;
    let source = facts.clock_source.as_deref().unwrap_or("unknown");
    let took = facts.clock_read_ns.map_or(String::new(), |ns| format!(", {ns:.0} ns a look"));
    let found = format!("{source}{took}");
    if facts.clock_read_ns.is_some_and(|ns| ns > 200.0) {
        let why = "A look at the clock is a system call. Timed waits and every sleep of a first waiter have \
                   two; spinning does not look. Another clock source (tsc) costs a tenth.";
        return finding("clock", found, Grade::Costs, why);
    }
    finding(
        "clock",
        found,
        Grade::Ok,
        "Timed waits and the sleeps of first waiters look at it twice.",
    )
}

fn timer_slack(machine: &Machine) -> Finding {
    let Some(ns) = machine.facts.timer_slack_ns else {
        let why = "The system does not say how late it ends timed sleeps; 50 us as a rule.";
        return finding("timer slack", "unknown".to_owned(), Grade::Note, why);
    };
    let found = format!("{:.1} us", ns as f64 / 1e3);
    if ns <= 1_000 {
        let why = "Timed sleeps end when they are asked to.";
        return finding("timer slack", found, Grade::Ok, why);
    }
    let why = "Timed sleeps end so much later: time limits, and the dozes of 50 us of a first waiter while \
               others run in slices. prctl(PR_SET_TIMERSLACK, 1) in a thread makes them exact.";
    finding("timer slack", found, Grade::Costs, why)
}

fn preemption(machine: &Machine) -> Finding {
    let Some(model) = &machine.facts.preemption else {
        let why = "Whether a woken thread runs at once or at the next tick is not told.";
        return finding("preemption", "unknown".to_owned(), Grade::Note, why);
    };
    let why = match model.as_str() {
        "full" | "rt" => "A woken thread may take the CPU at once, from a lock holder too.",
        "lazy" => "A woken thread takes the CPU at the next tick, unless it is real-time.",
        "none" | "voluntary" => {
            "A woken thread takes the CPU when the other enters the kernel, or at a tick."
        }
        _ => "Chosen at boot, and told to root only; full unless said otherwise.",
    };
    finding("preemption", model.clone(), Grade::Note, why)
}

fn topology(machine: &Machine) -> Finding {
    let facts = &machine.facts;
    let some = |count: Option<usize>, what: &str| match count {
        None => format!("unknown {what}s"),
        Some(1) => format!("1 {what}"),
        Some(n) => format!("{n} {what}s"),
    };
    let mut found = some(facts.numa_nodes, "memory node");
    found += &format!(", {}", some(facts.cache_domains.map(usize::from), "last-level cache"));
    found += match facts.smt {
        Some(true) => ", several threads a core",
        Some(false) => ", one thread a core",
        None => "",
    };
    if facts.cache_domains.is_some_and(|domains| domains > 1) || facts.numa_nodes > Some(1) {
        let why = "A lock's line takes several times longer between nodes or caches than within: a contended \
                   lock runs best with its threads on one (taskset, numactl --cpunodebind).";
        return finding("topology", found, Grade::Note, why);
    }
    finding("topology", found, Grade::Ok, "All CPUs are about as far from each other.")
}

fn cache_line(machine: &Machine) -> Finding {
    let Some(ns) = machine.line_transfer_ns else {
        let why = "With one CPU no line goes from one to another.";
        return finding("cache line", "not measured".to_owned(), Grade::Note, why);
    };
    let found = format!("{ns:.0} ns from one CPU to another, {:.0} ns a PAUSE", machine.pause_ns);
    let why = "What a change of hands between two running threads costs at least; the locks measure it \
               and space their looks by it.";
    finding("cache line", found, Grade::Ok, why)
}

fn governor(machine: &Machine) -> Finding {
    match machine.governor.as_deref() {
        Some("performance") => {
            let why = "CPUs run at their highest frequency.";
            finding("frequency", "performance".to_owned(), Grade::Ok, why)
        }
        Some(other) => {
            let why = "CPUs slow down while they idle: a thread that sleeps for a lock wakes on a slow one, and \
                       measurements vary. For measurements: cpupower frequency-set -g performance.";
            finding("frequency", other.to_owned(), Grade::Costs, why)
        }
        None => {
            let why = "No governor to be seen, as in most guests: the host decides.";
            finding("frequency", "unknown".to_owned(), Grade::Note, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::facts::Facts;

    /// A machine that lacks nothing.
    fn machine() -> Machine {
        Machine {
            cpu_model: Some("a CPU".into()),
            arch: "x86_64".into(),
            cpus_online: Some(8),
            cpus_allowed: Some(8),
            kernel: Some("Linux 6.18".into()),
            c_library: Some("glibc 2.39".into()),
            governor: Some("performance".into()),
            pause_ns: 20.0,
            line_transfer_ns: Some(60.0),
            facts: Facts {
                preemption: Some("full".into()),
                futex_hash_slots: Some(64),
                rseq_bytes: Some(32),
                rseq_kernel_bytes: Some(33),
                heavy_fence_ns: Some(1_500.0),
                membarrier: Some(true),
                timer_slack_ns: Some(1),
                clock_source: Some("tsc".into()),
                clock_read_ns: Some(25.0),
                cache_domains: Some(1),
                cpu_quota: None,
                numa_nodes: Some(1),
                smt: Some(false),
            },
        }
    }

    fn costs(machine: &Machine) -> Vec<&'static str> {
        let all = findings(machine);
        all.iter().filter(|f| f.grade == Grade::Costs).map(|f| f.name).collect()
    }

    #[test]
    fn a_machine_that_lacks_nothing_pays_nothing() {
        assert!(costs(&machine()).is_empty());
        let mut names: Vec<_> = findings(&machine()).iter().map(|finding| finding.name).collect();
        names.dedup();
        assert_eq!(names.len(), findings(&machine()).len());
    }

    #[test]
    fn each_absence_is_one_cost() {
        type Take = fn(&mut Machine);
        let lacks: [(&str, Take); 7] = [
            ("CPUs", |m| m.facts.cpu_quota = Some(2.5)),
            ("membarrier", |m| m.facts.membarrier = Some(false)),
            ("rseq", |m| m.facts.rseq_bytes = None),
            ("C library", |m| m.c_library = Some("glibc 2.31".into())),
            ("clock", |m| m.facts.clock_read_ns = Some(900.0)),
            ("timer slack", |m| m.facts.timer_slack_ns = Some(50_000)),
            ("frequency", |m| m.governor = Some("powersave".into())),
        ];
        for (name, take) in lacks {
            let mut machine = machine();
            take(&mut machine);
            assert_eq!(costs(&machine), [name]);
        }
    }

    #[test]
    fn a_kernel_that_extends_slices_is_told_from_one_that_does_not() {
        let found = |bytes| {
            let mut machine = machine();
            machine.facts.rseq_kernel_bytes = bytes;
            let all = findings(&machine);
            all.into_iter().find(|f| f.name == "slice ext").expect("a finding").found
        };
        assert_eq!([found(None), found(Some(28))], ["none", "none"]);
        assert_eq!(found(Some(32)), "the kernel has it");
    }

    #[test]
    fn what_nobody_tells_is_no_cost() {
        let machine = Machine {
            facts: Facts { membarrier: Some(true), rseq_bytes: Some(32), ..Facts::default() },
            cpus_online: None,
            cpus_allowed: None,
            c_library: None,
            governor: None,
            line_transfer_ns: None,
            ..machine()
        };
        assert!(costs(&machine).is_empty());
        for finding in findings(&machine) {
            assert!(!finding.found.is_empty() && finding.meaning.ends_with('.'), "{finding:?}");
        }
    }
}
