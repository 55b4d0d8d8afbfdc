//! Where each CPU is, how far others are, and all costs in picoseconds.

use crate::machine::Machine;

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
    /// Sockets one hop apart.
    Near,
    /// Sockets further apart.
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

/// A machine's numbers as the engine uses them.
pub(crate) struct Layout {
    pub cpus: usize,
    cores: usize,
    cores_per_socket: usize,
    cores_per_cluster: usize,
    cores_per_node: usize,
    near_sockets: usize,
    /// By [`Distance`].
    pub latency: [Ps; 6],
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
}

impl Layout {
    pub fn new(machine: &Machine) -> Self {
        let (t, l, c, s) = (&machine.topology, &machine.latency, &machine.core, &machine.scheduler);
        let ps = |given: &crate::machine::Given| (given.value * 1_000.0).round() as Ps;
        let share = |given: &crate::machine::Given| (given.value * 1_024.0).round() as u64;
        let cores_per_cluster = t.cores.value as usize;
        let cores_per_socket = t.clusters.value as usize * cores_per_cluster;
        Layout {
            cpus: machine.cpus(),
            cores: machine.all_cores(),
            cores_per_socket,
            cores_per_cluster,
            cores_per_node: (t.node_clusters.value as usize * cores_per_cluster)
                .min(cores_per_socket),
            near_sockets: t.near_sockets.value as usize,
            latency: [&l.sibling, &l.cluster, &l.node, &l.socket, &l.near, &l.far].map(ps),
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
        }
    }

    /// The core of a CPU: its caches.
    pub fn core(&self, cpu: usize) -> usize {
        cpu % self.cores
    }

    /// All CPUs of a CPU's core.
    pub fn siblings(&self, cpu: usize) -> impl Iterator<Item = usize> {
        (self.core(cpu)..self.cpus).step_by(self.cores)
    }

    pub fn socket(&self, core: usize) -> usize {
        core / self.cores_per_socket
    }

    /// Cores that share a last-level cache and belong to one node.
    pub fn domain(&self, cpu: usize) -> usize {
        self.core(cpu) / self.cores_per_cluster
    }

    pub fn domains(&self) -> usize {
        self.cores / self.cores_per_cluster
    }

    pub fn distance(&self, a: usize, b: usize) -> Distance {
        if a == b {
            return Distance::Sibling;
        }
        if a / self.cores_per_cluster == b / self.cores_per_cluster {
            return Distance::Cluster;
        }
        if a / self.cores_per_node == b / self.cores_per_node {
            return Distance::Node;
        }
        self.between_sockets(self.socket(a), self.socket(b))
    }

    /// Between caches of two sockets that are not in the same node.
    pub fn between_sockets(&self, a: usize, b: usize) -> Distance {
        if a == b {
            Distance::Socket
        } else if a / self.near_sockets == b / self.near_sockets {
            Distance::Near
        } else {
            Distance::Far
        }
    }

    /// CPUs from 0 to the last so that threads spread over sockets, then cores, then siblings.
    pub fn spread(&self) -> Vec<usize> {
        let mut cpus: Vec<_> = (0..self.cpus).collect();
        cpus.sort_by_key(|&cpu| {
            let core = self.core(cpu);
            (cpu / self.cores, core % self.cores_per_socket, self.socket(core))
        });
        cpus
    }

    /// CPUs so that threads fill a socket's cores, then their siblings, then the next socket.
    pub fn filled(&self) -> Vec<usize> {
        let mut cpus: Vec<_> = (0..self.cpus).collect();
        cpus.sort_by_key(|&cpu| (self.socket(self.core(cpu)), cpu));
        cpus
    }

    /// All other CPUs, nearest first.
    pub fn neighbours(&self, cpu: usize) -> Vec<u16> {
        let mut others: Vec<_> = (0..self.cpus).filter(|&other| other != cpu).collect();
        // A whole core is better than a busy one's sibling, then the nearest.
        others.sort_by_key(|&other| {
            let (a, b) = (self.core(cpu), self.core(other));
            (
                self.distance(a, b).max(Distance::Cluster),
                a == b,
                (other + self.cpus - cpu) % self.cpus,
            )
        });
        others.into_iter().map(|cpu| cpu as u16).collect()
    }
}
