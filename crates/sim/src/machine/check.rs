//! What no machine is like: numbers out of their bounds, and numbers that contradict each other.

use std::fmt;

use super::{MAX_CLUSTERS, MAX_CPUS, Machine, NUMBERS};

/// What is wrong with a machine: of which numbers, the one to blame first, and why.
pub(super) struct Fault {
    pub names: Vec<&'static str>,
    why: String,
}

impl Fault {
    fn new(names: &[&'static str], why: impl Into<String>) -> Self {
        Fault { names: names.to_vec(), why: why.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.names[0], self.why)
    }
}

/// The first thing that is wrong.
pub(super) fn check(machine: &Machine) -> Result<(), Fault> {
    for ((name, given), number) in machine.numbers().into_iter().zip(NUMBERS) {
        let (least, most, value) = (number.least, number.most, given.value);
        if given.source.trim().is_empty() {
            return Err(Fault::new(&[name], ": say where the number comes from"));
        }
        if !(least..=most).contains(&value) {
            let why = format!(" is {value}, allowed are {least} to {most}");
            return Err(Fault::new(&[name], why));
        }
        if name.starts_with("topology.") && value.fract() != 0.0 {
            return Err(Fault::new(&[name], format!(" is {value}, not a whole number")));
        }
    }
    topology(machine)?;
    latencies(machine)?;
    orders(machine)
}

fn topology(machine: &Machine) -> Result<(), Fault> {
    let t = &machine.topology;
    let (cpus, clusters) = (machine.cpus(), t.sockets.value * t.clusters.value);
    if cpus > MAX_CPUS {
        let why = format!(": {cpus} CPUs in all, allowed are {MAX_CPUS}");
        let names = ["topology.sockets", "topology.clusters", "topology.cores", "topology.threads"];
        return Err(Fault::new(&names, why));
    }
    if clusters > MAX_CLUSTERS as f64 {
        let why = format!(": {clusters} clusters in all, allowed are {MAX_CLUSTERS}");
        return Err(Fault::new(&["topology.sockets", "topology.clusters"], why));
    }
    if t.clusters.value % t.node_clusters.value != 0.0 {
        let (each, all) = (t.node_clusters.value, t.clusters.value);
        let why = format!(": nodes of {each} clusters do not divide the {all} of a socket");
        return Err(Fault::new(&["topology.node_clusters", "topology.clusters"], why));
    }
    let (near, sockets) = (t.near_sockets.value, t.sockets.value);
    if near < sockets && sockets % near != 0.0 {
        let why = format!(": groups of {near} do not divide {sockets} sockets");
        return Err(Fault::new(&["topology.near_sockets", "topology.sockets"], why));
    }
    Ok(())
}

/// A farther cache is no faster than a nearer one; levels that the machine does not have do not count.
fn latencies(machine: &Machine) -> Result<(), Fault> {
    let (t, l) = (&machine.topology, &machine.latency);
    let sockets = t.sockets.value > 1.0;
    let twins = t.twin_nodes.value == 1.0 && machine.socket_nodes() > 1;
    let levels = [
        ("latency.sibling", &l.sibling, t.threads.value > 1.0),
        ("latency.cluster", &l.cluster, true),
        ("latency.node", &l.node, t.node_clusters.value > 1.0),
        ("latency.socket", &l.socket, machine.socket_nodes() > 1),
        ("latency.near", &l.near, sockets),
        ("latency.far", &l.far, sockets && (twins || t.near_sockets.value < t.sockets.value)),
    ];
    let used: Vec<_> = levels.into_iter().filter(|level| level.2).collect();
    for pair in used.windows(2) {
        let [(near, nearer, _), (far, farther, _)] = pair else { continue };
        if farther.value < nearer.value {
            let why = format!(
                " is {}, less than {near}, {}, which is nearer",
                farther.value, nearer.value
            );
            return Err(Fault::new(&[far, near], why));
        }
    }
    Ok(())
}

/// What must not be more than what.
fn orders(machine: &Machine) -> Result<(), Fault> {
    let (l, s) = (&machine.latency, &machine.scheduler);
    let orders = [
        (("latency.keep_low", &l.keep_low), ("latency.keep_high", &l.keep_high)),
        (("scheduler.polls", &s.polls), ("scheduler.middle_after", &s.middle_after)),
        (("scheduler.middle_after", &s.middle_after), ("scheduler.deep_after", &s.deep_after)),
        (("scheduler.exit_shallow", &s.exit_shallow), ("scheduler.exit_middle", &s.exit_middle)),
        (("scheduler.exit_middle", &s.exit_middle), ("scheduler.exit_deep", &s.exit_deep)),
    ];
    for ((low, less), (high, more)) in orders {
        if less.value > more.value {
            let why = format!(" is {}, more than {high}, {}", less.value, more.value);
            return Err(Fault::new(&[low, high], why));
        }
    }
    Ok(())
}
