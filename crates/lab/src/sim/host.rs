//! The machine at hand as a simulated one: its topology from sysfs, the rest as far as a ping-pong and a
//! clock can tell.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lockwright_sim::Machine;
use lockwright_workloads::work;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// No cache line takes so long, but a ping-pong between threads that do not run at once.
const BUSY_NS: f64 = 2_000.0;

/// A machine with the CPUs that this process may use. PAUSE and the ways of a line that it has are
/// measured (takes some 20 ms and 10 for each way), the rest is the template's and says so.
///
/// # Errors
///
/// One line on why it cannot be measured: there is but one CPU, threads cannot be placed, or other work
/// runs on them.
pub fn host() -> Result<Machine, String> {
    let allowed = sched_getaffinity(Pid::from_raw(0))
        .map_err(|error| format!("cannot measure this machine: its CPUs are not told: {error}"))?;
    let cpus: Vec<usize> =
        (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false)).collect();
    let places = places(Path::new("/sys/devices/system/cpu"), &cpus);
    let shape = Shape::of(&places).unwrap_or_else(|| Shape::flat(cpus.len()));
    let mut machine = template();
    set(&mut machine, "core.pause", work::pause_ns(), "measured here");
    let poll = machine.core.pause.value + 8.0;
    set(&mut machine, "core.poll", poll, "measured PAUSE and 8 ns of other instructions");
    for (name, value) in shape.numbers() {
        set(&mut machine, name, value as f64, shape.source);
    }
    measure_ways(&mut machine, &places)?;
    machine.about = format!("this machine, {} CPUs", cpus.len());
    machine.verify().map_err(|why| {
        format!("measured of this machine: {why}; if other work runs on it, try again without that")
    })?;
    Ok(machine)
}

/// The built-in machine that gives what cannot be measured here, with that said of each number.
fn template() -> Machine {
    let name = "sapphire-rapids-2s";
    let mut machine = Machine::named(name).expect("a built-in machine");
    for (_, given) in machine.numbers_mut() {
        given.source = format!("{name}: {}", given.source);
    }
    machine.name = "host".to_owned();
    machine
}

fn set(machine: &mut Machine, name: &str, value: f64, source: &str) {
    let given = machine.number_mut(name).expect("a number of every machine");
    given.value = value;
    given.source = source.to_owned();
}

/// Measures each way that the machine has between its first CPU and another.
fn measure_ways(machine: &mut Machine, places: &[Place]) -> Result<(), String> {
    let alone = "cannot measure this machine: it has one CPU, or threads cannot be placed";
    let first = &places[0];
    let mut nearer = None;
    for (name, is_there) in WAYS {
        let other = places[1..].iter().find(|other| is_there(first, other));
        let Some(other) = other else {
            // The machine has none: as the nearer one, so that it contradicts nothing.
            if let Some(trip) = nearer {
                set(machine, name, trip, "not used");
            }
            continue;
        };
        let trip = work::line_transfer_between(first.cpu, other.cpu).ok_or(alone)?;
        if trip > BUSY_NS {
            return Err(format!(
                "a line took {trip:.0} ns between two CPUs: other work runs on them; try again without it"
            ));
        }
        let source = format!(
            "measured here: a ping-pong's one-way trip between CPUs {} and {}",
            first.cpu, other.cpu
        );
        set(machine, name, trip.max(1.0), &source);
        nearer = Some(trip.max(1.0));
    }
    nearer.map(|_| ()).ok_or_else(|| alone.to_owned())
}

/// Where a CPU is, by the names that sysfs has for what it is part of.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    cpu: usize,
    socket: String,
    node: String,
    cluster: String,
    core: String,
}

type Way = fn(&Place, &Place) -> bool;

/// Ways, nearest first, and whether two CPUs are so far apart.
const WAYS: [(&str, Way); 6] = [
    ("latency.sibling", |a, b| a.core == b.core),
    ("latency.cluster", |a, b| a.core != b.core && a.cluster == b.cluster),
    ("latency.node", |a, b| a.cluster != b.cluster && a.node == b.node),
    ("latency.socket", |a, b| a.node != b.node && a.socket == b.socket),
    ("latency.near", |a, b| a.socket != b.socket),
    // Which sockets are two hops apart is not told: they count as near, as far as the first other one.
    ("latency.far", |_, _| false),
];

/// The places of CPUs, from a directory as the kernel's.
fn places(root: &Path, cpus: &[usize]) -> Vec<Place> {
    let read = |path: String| fs::read_to_string(root.join(path)).ok();
    let place = |&cpu: &usize| {
        let node = fs::read_dir(root.join(format!("cpu{cpu}"))).ok().and_then(|entries| {
            let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            names.into_iter().find(|name| {
                name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok())
            })
        });
        let socket = read(format!("cpu{cpu}/topology/physical_package_id")).unwrap_or_default();
        let own = || format!("cpu {cpu}");
        let core = read(format!("cpu{cpu}/topology/thread_siblings_list")).unwrap_or_else(own);
        // Caches are numbered from the nearest to the last.
        let last = (0..8)
            .rev()
            .find_map(|cache| read(format!("cpu{cpu}/cache/index{cache}/shared_cpu_list")));
        let node = node.unwrap_or_else(|| socket.clone());
        // A cache that one core has to itself makes no cluster, nor does one that reaches over nodes.
        let cache = last.filter(|last| *last != core).unwrap_or_default();
        Place { cpu, socket, cluster: format!("{node}/{cache}"), node, core }
    };
    cpus.iter().map(place).collect()
}

/// How many there are of what in what.
#[derive(Debug, PartialEq)]
struct Shape {
    sockets: usize,
    clusters: usize,
    cores: usize,
    threads: usize,
    node_clusters: usize,
    source: &'static str,
}

impl Shape {
    /// `None` if not all sockets, nodes, clusters and cores are alike.
    fn of(places: &[Place]) -> Option<Shape> {
        // How many of something each has; `None` if they differ.
        let each = |whole: fn(&Place) -> &str, part: fn(&Place) -> String| {
            let mut parts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for place in places {
                let parts = parts.entry(whole(place)).or_default();
                if !parts.contains(&part(place)) {
                    parts.push(part(place));
                }
            }
            let first = parts.values().next()?.len();
            parts.values().all(|parts| parts.len() == first).then_some(first)
        };
        let (clusters, node_clusters) = (
            each(|p| &p.socket, |p| p.cluster.clone())?,
            each(|p| &p.node, |p| p.cluster.clone())?,
        );
        let shape = Shape {
            sockets: each(|_| "", |p| p.socket.clone())?,
            clusters,
            cores: each(|p| &p.cluster, |p| p.core.clone())?,
            threads: each(|p| &p.core, |p| p.cpu.to_string())?,
            node_clusters,
            source: "of the CPUs that this process may use, from sysfs",
        };
        let cpus = shape.sockets * shape.clusters * shape.cores * shape.threads;
        (cpus == places.len() && clusters % node_clusters == 0 && shape.threads <= 2)
            .then_some(shape)
    }

    fn flat(cpus: usize) -> Shape {
        let source =
            "not all caches have as many CPUs that this process may use: one cluster of all";
        Shape { sockets: 1, clusters: 1, cores: cpus, threads: 1, node_clusters: 1, source }
    }

    fn numbers(&self) -> [(&'static str, usize); 8] {
        [
            ("topology.sockets", self.sockets),
            ("topology.clusters", self.clusters),
            ("topology.cores", self.cores),
            ("topology.threads", self.threads),
            ("topology.node_clusters", self.node_clusters),
            ("topology.near_sockets", self.sockets),
            ("topology.twin_nodes", 0),
            ("topology.interleaved", 0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two nodes of two caches of two cores of two threads, siblings last, by rule.
    fn sixteen_cores(cpu: usize) -> Place {
        let core = cpu % 16;
        Place {
            cpu,
            socket: (core / 8).to_string(),
            node: (core / 4).to_string(),
            cluster: (core / 2).to_string(),
            core: core.to_string(),
        }
    }

    #[test]
    fn a_regular_machine_has_its_shape() {
        let shape = Shape::of(&(0..32).map(sixteen_cores).collect::<Vec<_>>()).unwrap();
        let numbers = shape.numbers().map(|(_, value)| value);
        assert_eq!(numbers, [2, 4, 2, 2, 2, 2, 0, 0]);
        // A process on one cache of it.
        let shape = Shape::of(&[2, 3, 18, 19].map(sixteen_cores)).unwrap();
        assert_eq!(shape.numbers().map(|(_, value)| value), [1, 1, 2, 2, 1, 1, 0, 0]);
    }

    #[test]
    fn an_irregular_one_is_one_cluster() {
        for cpus in [vec![0, 1, 2], vec![0, 1, 16], vec![0, 1, 2, 3, 8, 9]] {
            assert_eq!(Shape::of(&cpus.into_iter().map(sixteen_cores).collect::<Vec<_>>()), None);
        }
        assert_eq!(Shape::flat(6).numbers()[2], ("topology.cores", 6));
    }

    #[test]
    fn places_are_read_as_the_kernel_writes_them() {
        let root = std::env::temp_dir().join(format!("lockwright-host-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for cpu in 0..2 {
            write(&format!("cpu{cpu}/topology/physical_package_id"), "0\n");
            write(&format!("cpu{cpu}/topology/thread_siblings_list"), &format!("{cpu}\n"));
            write(&format!("cpu{cpu}/cache/index3/shared_cpu_list"), "0-1\n");
            fs::create_dir_all(root.join(format!("cpu{cpu}/node{cpu}"))).unwrap();
            fs::create_dir_all(root.join(format!("cpu{cpu}/node_of_something"))).unwrap();
        }
        let read = places(&root, &[0, 1, 2]);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!((read[0].node.as_str(), read[1].node.as_str()), ("node0", "node1"));
        // The cache reaches over both nodes.
        assert!(read[0].socket == read[1].socket && read[0].cluster != read[1].cluster);
        // Nothing is known of the third.
        assert!(read[2].core == "cpu 2" && read[2].cluster == "/");
    }
}
