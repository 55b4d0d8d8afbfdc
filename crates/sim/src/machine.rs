//! Machines as data: topology, latencies, costs of the processor and of the scheduler.
//!
//! A machine is a TOML file in which every number stands beside its source. What is given in
//! nanoseconds becomes picoseconds in `layout`. The machines in `machines/` are built in; a user may
//! write others, whole or as changes to a built-in one (`based_on`).

mod check;
mod file;

use std::fmt;

use serde::Serialize;

/// A number and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Given {
    /// The number.
    pub value: f64,
    /// Where it comes from: a citation, or "assumed" and why, or "fitted" and to what.
    pub source: String,
}

impl Given {
    /// A number that nobody has given yet.
    fn missing() -> Self {
        Given { value: f64::NAN, source: String::new() }
    }
}

/// What may be given under one name.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// `section.field`.
    pub name: &'static str,
    /// What it is, as the field's documentation says it.
    pub about: &'static str,
    least: f64,
    most: f64,
}

macro_rules! machine {
    ($($(#[doc = $section_doc:literal])+ $section:ident: $Section:ident { $($(#[doc = $doc:literal])+ $field:ident in $low:literal, $high:literal;)* })*) => {
        $($(#[doc = $section_doc])+
        #[derive(Clone, Debug, Serialize)]
        pub struct $Section {
            $($(#[doc = $doc])+ pub $field: Given,)*
        })*

        /// A machine file.
        #[derive(Clone, Debug, Serialize)]
        pub struct Machine {
            /// The name users select it by.
            pub name: String,
            /// One line on what it is.
            pub about: String,
            $($(#[doc = $section_doc])+ pub $section: $Section,)*
        }

        /// Every number that a machine has.
        pub const NUMBERS: &[Number] = &[$($(Number {
            name: concat!(stringify!($section), ".", stringify!($field)),
            about: concat!($($doc),*),
            least: $low,
            most: $high,
        }),*),*];

        impl Machine {
            /// A machine of which nothing is known.
            fn blank() -> Self {
                Machine {
                    name: String::new(),
                    about: String::new(),
                    $($section: $Section { $($field: Given::missing()),* }),*
                }
            }

            /// Every number with its name, in the order of [`NUMBERS`].
            pub fn numbers(&self) -> Vec<(&'static str, &Given)> {
                vec![$($((concat!(stringify!($section), ".", stringify!($field)), &self.$section.$field)),*),*]
            }

            /// The same, to change them.
            pub fn numbers_mut(&mut self) -> Vec<(&'static str, &mut Given)> {
                vec![$($((concat!(stringify!($section), ".", stringify!($field)), &mut self.$section.$field)),*),*]
            }
        }
    };
}

machine! {
    /// Counts. The siblings of all cores are numbered after all cores.
    topology: Topology {
        /// Sockets.
        sockets in 1.0, 64.0;
        /// Cache clusters (cores that share a last-level cache) in a socket.
        clusters in 1.0, 64.0;
        /// Cores in a cluster.
        cores in 1.0, 256.0;
        /// Hardware threads of a core.
        threads in 1.0, 2.0;
        /// Clusters that make up a NUMA node.
        node_clusters in 1.0, 64.0;
        /// Sockets that are near each other (one hop): neighbours in this many; all others are far.
        near_sockets in 1.0, 64.0;
        /// 1: of two near sockets each node has one near it, that in the same place, and all others are
        /// far (two hops). 0: all are near.
        twin_nodes in 0.0, 1.0;
        /// 1: the numbers of the cores go round the nodes. 0: they go node by node.
        interleaved in 0.0, 1.0;
    }
    /// Nanoseconds until a line arrives that another core has modified.
    latency: Latency {
        /// From the sibling hardware thread.
        sibling in 0.1, 1000.0;
        /// From a core of the same cluster.
        cluster in 0.1, 10000.0;
        /// From another cluster of the same NUMA node.
        node in 0.1, 10000.0;
        /// From another NUMA node of the same socket.
        socket in 0.1, 10000.0;
        /// From a near socket.
        near in 0.1, 10000.0;
        /// From a far socket.
        far in 0.1, 10000.0;
        /// For each cache that has to drop its copy before a write.
        invalidate in 0.0, 1000.0;
        /// Share of its latency for which a read keeps the next one waiting.
        occupancy in 0.0, 1.0;
        /// How long a core keeps a line that it got to write to, after that write, if another waits
        /// for it already: a share of the latency between the two, at least.
        keep_low in 0.0, 1.0;
        /// At most.
        keep_high in 0.0, 1.0;
        /// Random part of each latency, as share in both directions.
        jitter in 0.0, 0.9;
        /// How much nearer to a line's home one core is than another, as share in both directions.
        spread in 0.0, 0.9;
    }
    /// Nanoseconds of what a core does by itself.
    core: Core {
        /// A load that hits its own cache.
        load in 0.01, 1000.0;
        /// A store to a line it owns.
        store in 0.01, 1000.0;
        /// An atomic read-modify-write of a line it owns.
        rmw in 0.01, 1000.0;
        /// A full fence.
        fence in 0.0, 10000.0;
        /// One PAUSE instruction.
        pause in 0.1, 10000.0;
        /// One turn of a polite spin loop: how far the looks of a spinner lie apart.
        poll in 0.1, 10000.0;
        /// The other instructions around one of the above, on average.
        path in 0.0, 1000.0;
        /// A turn of a workload's loop beside the lock and what is done under it, on average.
        turn in 0.0, 10000.0;
        /// What one such turn in 1,024 takes longer.
        hitch in 0.0, 1e6;
        /// Reading the clock.
        clock in 0.0, 1000.0;
        /// Beginning a write anew whose line a reader got hold of just before.
        flush in 0.0, 1000.0;
    }
    /// Nanoseconds of what the scheduler does.
    scheduler: Scheduler {
        /// A context switch.
        switch in 0.0, 1e6;
        /// Time after which a thread gives way to one that waits for its CPU.
        slice in 1000.0, 1e9;
        /// A thread that wakes counts as having had at most so much less than the others on its CPU.
        credit in 0.0, 1e9;
        /// A woken thread that has had so much less than the one on its CPU takes the CPU at once.
        preempt in 0.0, 1e9;
        /// The waker's part of a wake-up, without what follows.
        wake in 0.0, 1e6;
        /// Lines of the woken thread and of its run queue that the waker fetches meanwhile (a count).
        wake_lines in 0.0, 1000.0;
        /// The same if the woken thread's CPU is on another socket and does the rest itself (a count).
        queue_lines in 0.0, 1000.0;
        /// For each CPU looked at in search of an idle one.
        search in 0.0, 1e4;
        /// Interrupt to a CPU that is not polling for work.
        interrupt in 0.0, 1e6;
        /// A CPU idle for less than this still polls.
        polls in 0.0, 1e9;
        /// Leaving a shallow sleep.
        exit_shallow in 0.0, 1e9;
        /// Idle for longer than this, or expected to be, a CPU sleeps less shallowly.
        middle_after in 0.0, 1e9;
        /// Leaving that sleep.
        exit_middle in 0.0, 1e9;
        /// Idle for longer than this, or expected to be, a CPU sleeps deeply.
        deep_after in 0.0, 1e9;
        /// Leaving a deep sleep.
        exit_deep in 0.0, 1e9;
        /// A thread's first run on another CPU: what it has to fetch again.
        migrate in 0.0, 1e6;
        /// A timer interrupt, on average; 0: there is none.
        tick in 0.0, 1e6;
        /// Time between two of them on a CPU; CPUs have them at different times.
        tick_every in 1000.0, 1e9;
        /// A fence that reaches all CPUs that run the program, if that is one more; each further one costs
        /// a line from there. One is carried out at a time.
        heavy_fence in 0.0, 1e6;
        /// What the interrupt of such a fence takes from a CPU.
        heavy_interrupt in 0.0, 1e6;
    }
}

/// Why a machine file was refused; the text says where and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadMachine(String);

impl fmt::Display for BadMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadMachine {}

/// The built-in machine files.
const FILES: &[&str] = &[
    include_str!("../machines/westmere-ex-8s.toml"),
    include_str!("../machines/ivybridge-ex-8s.toml"),
    include_str!("../machines/skylake-2s.toml"),
    include_str!("../machines/cascadelake-2s.toml"),
    include_str!("../machines/epyc-7551-2s.toml"),
    include_str!("../machines/kh40000-2s.toml"),
    include_str!("../machines/kh40000-1s.toml"),
    include_str!("../machines/sapphire-rapids-2s.toml"),
    include_str!("../machines/epyc-9754-2s.toml"),
];

impl Machine {
    /// Reads a machine file.
    ///
    /// # Errors
    ///
    /// The text is no machine file: the line and the reason.
    pub fn parse(text: &str) -> Result<Self, BadMachine> {
        file::read(text).map_err(BadMachine)
    }

    /// Whether a machine that was changed is still one.
    ///
    /// # Errors
    ///
    /// Which number is not allowed, and why.
    pub fn verify(&self) -> Result<(), BadMachine> {
        check::check(self).map_err(|fault| BadMachine(fault.to_string()))
    }

    /// The built-in machines.
    ///
    /// # Panics
    ///
    /// If one of them is wrong, which a test says first.
    pub fn built_in() -> Vec<Machine> {
        FILES
            .iter()
            .map(|text| Machine::parse(text).unwrap_or_else(|e| panic!("built-in machine: {e}")))
            .collect()
    }

    /// Names of the built-in machines.
    pub fn built_in_names() -> Vec<String> {
        FILES.iter().filter_map(|text| file::name_of(text)).collect()
    }

    /// The built-in machine of this name.
    pub fn named(name: &str) -> Option<Machine> {
        let text = FILES.iter().find(|text| file::name_of(text).as_deref() == Some(name))?;
        Machine::parse(text).ok()
    }

    /// The number with this name, to vary it.
    pub fn number_mut(&mut self, name: &str) -> Option<&mut Given> {
        self.numbers_mut().into_iter().find(|(other, _)| *other == name).map(|(_, given)| given)
    }

    /// The same machine with a part of its sockets, or without hyper-threading.
    #[must_use]
    pub fn restricted(mut self, sockets: usize, threads: usize) -> Self {
        let at_most = |given: &mut Given, most: usize| given.value = given.value.min(most as f64);
        at_most(&mut self.topology.sockets, sockets);
        at_most(&mut self.topology.threads, threads);
        self
    }

    /// NUMA nodes of a socket.
    pub fn socket_nodes(&self) -> usize {
        let t = &self.topology;
        (t.clusters.value / t.node_clusters.value) as usize
    }

    /// NUMA nodes.
    pub fn nodes(&self) -> usize {
        self.topology.sockets.value as usize * self.socket_nodes()
    }

    /// Cores.
    pub fn all_cores(&self) -> usize {
        let t = &self.topology;
        (t.sockets.value * t.clusters.value * t.cores.value) as usize
    }

    /// Hardware threads.
    pub fn cpus(&self) -> usize {
        self.all_cores() * self.topology.threads.value as usize
    }
}

/// Most hardware threads of a machine.
pub const MAX_CPUS: usize = 1024;

/// Most cache clusters of a machine.
pub const MAX_CLUSTERS: usize = 128;

#[cfg(test)]
mod tests;
