//! Where each CPU is, how far others are, and all costs in picoseconds.
//!
//! Cores are numbered here as they lie: node after node, in each cluster after cluster. What numbers
//! their hardware threads have, which are the CPUs that programs see, is a matter of the machine.

use serde::Serialize;

use crate::machine::{Given, Machine};

/// Picoseconds.
pub type Ps = u64;

/// How far apart two caches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// Hardware threads of one core.
    Sibling,
    /// Cores of one cluster.
    Cluster,
    /// Clusters of one NUMA node.
    Node,
    /// NUMA nodes of one socket.
    Socket,
    /// Nodes of two sockets, one hop apart.
    Near,
    /// Nodes further apart.
    Far,
}

impl Distance {
    /// All, nearest first.
    pub const ALL: [Distance; 6] = [
        Distance::Sibling,
        Distance::Cluster,
        Distance::Node,
        Distance::Socket,
        Distance::Near,
        Distance::Far,
    ];

    /// The name, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Distance::Sibling => "sibling",
            Distance::Cluster => "cluster",
            Distance::Node => "node",
            Distance::Socket => "socket",
            Distance::Near => "near",
            Distance::Far => "far",
        }
    }
}

/// In which order threads get CPUs to begin on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// By the numbers of the CPUs.
    Numbered,
    /// All cores, node after node, then their siblings likewise.
    Filled,
    /// Each next one in another node, and within a node in another cluster; siblings last.
    Spread,
    /// All CPUs of a node, cores before siblings, then those of the next.
    NodeByNode,
}

/// A core's place.
#[derive(Clone, Copy)]
struct Place {
    cluster: u16,
    node: u16,
}

/// A machine's numbers as the engine uses them.
pub(crate) struct Layout {
    pub cpus: usize,
    /// By the number of a CPU.
    core_of: Vec<u16>,
    /// By core.
    places: Vec<Place>,
    /// The node of each cluster.
    node_of_cluster: Vec<u16>,
    nodes: usize,
    /// Nodes of a socket.
    in_socket: usize,
    /// Between two nodes, by their numbers.
    between: Vec<Distance>,
    /// Between clusters of a node, or where a node has but one, between cores of that.
    local: Distance,
    /// By [`Distance`].
    pub latency: [Ps; 6],
    /// What one of a transfer's three legs takes, by the distance it goes.
    legs: [Ps; 6],
    pub invalidate: Ps,
    /// Shares, in 1/1024.
    pub occupancy: u64,
    pub jitter: u64,
    pub spread: u64,
    pub keep: (u64, u64),
    pub load: Ps,
    pub store: Ps,
    pub rmw: Ps,
    pub fence: Ps,
    pub pause: Ps,
    pub poll: Ps,
    pub path: Ps,
    pub turn: Ps,
    pub hitch: Ps,
    pub clock: Ps,
    pub flush: Ps,
    /// A write begun no longer after the line was lost was under way already.
    pub flush_after: Ps,
    pub switch: Ps,
    pub slice: Ps,
    pub credit: Ps,
    pub preempt: Ps,
    pub wake: Ps,
    pub wake_lines: Ps,
    pub queue_lines: Ps,
    pub search: Ps,
    pub interrupt: Ps,
    pub polls: Ps,
    pub exit_shallow: Ps,
    pub middle_after: Ps,
    pub exit_middle: Ps,
    pub deep_after: Ps,
    pub exit_deep: Ps,
    pub migrate: Ps,
    pub tick: Ps,
    pub tick_every: Ps,
    pub heavy_fence: Ps,
    pub heavy_interrupt: Ps,
}

impl Layout {
    pub fn new(machine: &Machine) -> Self {
        let (t, l, c, s) = (&machine.topology, &machine.latency, &machine.core, &machine.scheduler);
        let ps = |given: &Given| (given.value * 1_000.0).round() as Ps;
        let share = |given: &Given| (given.value * 1_024.0).round() as u64;
        let count = |given: &Given| given.value as usize;
        let (cores, in_cluster) = (machine.all_cores(), count(&t.cores));
        let clusters = cores / in_cluster;
        let nodes = clusters / count(&t.node_clusters);
        let node_of_cluster = (0..clusters).map(|cluster| (cluster * nodes / clusters) as u16);
        let node_of_cluster: Vec<u16> = node_of_cluster.collect();
        let place = |core| {
            let cluster = core / in_cluster;
            Place { cluster: cluster as u16, node: node_of_cluster[cluster] }
        };
        let in_node = cores / nodes;
        let core_of = |cpu| {
            let number = cpu % cores;
            match t.interleaved.value {
                1.0 => (number % nodes * in_node + number / nodes) as u16,
                _ => number as u16,
            }
        };
        let local = if t.node_clusters.value > 1.0 { Distance::Node } else { Distance::Cluster };
        let latency = [&l.sibling, &l.cluster, &l.node, &l.socket, &l.near, &l.far].map(ps);
        Layout {
            cpus: machine.cpus(),
            core_of: (0..machine.cpus()).map(core_of).collect(),
            places: (0..cores).map(place).collect(),
            nodes,
            in_socket: machine.socket_nodes(),
            between: between_nodes(machine, nodes),
            node_of_cluster,
            local,
            latency,
            legs: legs(latency, local),
            invalidate: ps(&l.invalidate),
            occupancy: share(&l.occupancy),
            jitter: share(&l.jitter),
            spread: share(&l.spread),
            keep: (share(&l.keep_low), share(&l.keep_high).max(share(&l.keep_low))),
            load: ps(&c.load),
            store: ps(&c.store),
            rmw: ps(&c.rmw),
            fence: ps(&c.fence),
            pause: ps(&c.pause),
            poll: ps(&c.poll),
            path: ps(&c.path),
            turn: ps(&c.turn),
            hitch: ps(&c.hitch),
            clock: ps(&c.clock),
            flush: ps(&c.flush),
            flush_after: ps(&c.flush) / 2,
            switch: ps(&s.switch),
            slice: ps(&s.slice),
            credit: ps(&s.credit),
            preempt: ps(&s.preempt),
            wake: ps(&s.wake),
            wake_lines: s.wake_lines.value.round() as Ps,
            queue_lines: s.queue_lines.value.round() as Ps,
            search: ps(&s.search),
            interrupt: ps(&s.interrupt),
            polls: ps(&s.polls),
            exit_shallow: ps(&s.exit_shallow),
            middle_after: ps(&s.middle_after),
            exit_middle: ps(&s.exit_middle),
            deep_after: ps(&s.deep_after),
            exit_deep: ps(&s.exit_deep),
            migrate: ps(&s.migrate),
            tick: ps(&s.tick),
            tick_every: ps(&s.tick_every),
            heavy_fence: ps(&s.heavy_fence),
            heavy_interrupt: ps(&s.heavy_interrupt),
        }
    }

    /// The core of a CPU: its caches.
    pub fn core(&self, cpu: usize) -> usize {
        usize::from(self.core_of[cpu])
    }

    /// All CPUs of a CPU's core.
    pub fn siblings(&self, cpu: usize) -> impl Iterator<Item = usize> {
        let cores = self.places.len();
        (cpu % cores..self.cpus).step_by(cores)
    }

    /// The cluster of a core: those of its cores share a last-level cache, and a node.
    pub fn cluster(&self, core: usize) -> usize {
        usize::from(self.places[core].cluster)
    }

    pub fn clusters(&self) -> usize {
        self.node_of_cluster.len()
    }

    pub fn node(&self, core: usize) -> usize {
        usize::from(self.places[core].node)
    }

    pub fn nodes(&self) -> usize {
        self.nodes
    }

    pub fn node_of_cluster(&self, cluster: usize) -> usize {
        usize::from(self.node_of_cluster[cluster])
    }

    pub fn distance(&self, a: usize, b: usize) -> Distance {
        if a == b {
            return Distance::Sibling;
        }
        let (a, b) = (self.places[a], self.places[b]);
        if a.cluster == b.cluster {
            return Distance::Cluster;
        }
        self.between[usize::from(a.node) * self.nodes + usize::from(b.node)]
    }

    /// Between a core and whatever core of another cluster.
    pub fn to_cluster(&self, core: usize, cluster: usize) -> Distance {
        let (node, other) = (self.node(core), self.node_of_cluster(cluster));
        self.between[node * self.nodes + other]
    }

    /// What a message takes from one node to another, or within one.
    pub fn leg(&self, from: usize, to: usize) -> Ps {
        let distance = if from == to { self.local } else { self.between[from * self.nodes + to] };
        self.legs[distance as usize]
    }

    /// CPUs in this order.
    pub fn order(&self, placement: Placement) -> Vec<usize> {
        let mut cpus: Vec<_> = (0..self.cpus).collect();
        let (cores, in_cluster) = (self.places.len(), self.places.len() / self.clusters());
        cpus.sort_by_key(|&cpu| {
            let core = self.core(cpu);
            let (sibling, node, cluster) = (cpu / cores, self.node(core), self.cluster(core));
            match placement {
                Placement::Numbered => [cpu, 0, 0, 0],
                Placement::Filled => [sibling, core, 0, 0],
                Placement::Spread => {
                    // Sockets in turn, too.
                    let turn = node % self.in_socket * self.nodes + node / self.in_socket;
                    [sibling, core % in_cluster, self.turn_of(cluster), turn]
                }
                Placement::NodeByNode => [node, sibling, core, 0],
            }
        });
        cpus
    }

    /// The turn of a cluster among those of its node: the first of each node come before the second.
    fn turn_of(&self, cluster: usize) -> usize {
        cluster % (self.clusters() / self.nodes)
    }

    /// All other CPUs, nearest first: whole cores before a busy one's sibling, then from the next number on.
    pub fn neighbours(&self, cpu: usize) -> Vec<u16> {
        let core = self.core(cpu);
        let mut at = [const { Vec::new() }; Distance::ALL.len() + 1];
        for other in (1..self.cpus).map(|step| (cpu + step) % self.cpus) {
            let group = match self.distance(core, self.core(other)) {
                Distance::Sibling => Distance::Cluster as usize,
                Distance::Cluster => Distance::Sibling as usize,
                far => far as usize,
            };
            at[group].push(other as u16);
        }
        at.concat()
    }
}

/// Between each two nodes.
fn between_nodes(machine: &Machine, nodes: usize) -> Vec<Distance> {
    let t = &machine.topology;
    let (in_socket, near) = (machine.socket_nodes(), t.near_sockets.value as usize);
    let between = |a: usize, b: usize| {
        let (socket, other) = (a / in_socket, b / in_socket);
        let twins = t.twin_nodes.value == 0.0 || a % in_socket == b % in_socket;
        if a == b {
            Distance::Node
        } else if socket == other {
            Distance::Socket
        } else if socket / near == other / near && twins {
            Distance::Near
        } else {
            Distance::Far
        }
    };
    (0..nodes * nodes).map(|pair| between(pair / nodes, pair % nodes)).collect()
}

/// What the three legs of a transfer take: to the line's home, from there to whoever has it, and from that
/// to who asked. Latencies between nodes were measured with the home in one of the two, so that two legs go
/// between them and one does not.
fn legs(latency: [Ps; 6], local: Distance) -> [Ps; 6] {
    let at_home = latency[local as usize] / 3;
    let leg = |distance: Distance| match distance {
        Distance::Sibling | Distance::Cluster | Distance::Node => latency[distance as usize] / 3,
        Distance::Socket | Distance::Near | Distance::Far => {
            latency[distance as usize].saturating_sub(at_home) / 2
        }
    };
    Distance::ALL.map(leg)
}

#[cfg(test)]
mod tests;
