//! Cache lines: who has them, who gets them next, and when.
//!
//! A transfer has three legs: the request goes to the line's home, the home asks whoever has the line,
//! and that sends it. Home is the node whose memory holds the line: that of the core that touched it
//! first, if nothing else was said. A leg takes what its distance says (`Layout::leg`), so a transfer
//! between two nodes takes longer if the line is at home in a third; between cores that share a cache
//! the cache answers, and the home is not asked. Requests are served in the order in which they arrive
//! at the home, by reservation. A line that one core has alone goes to the next as soon as the request
//! finds it; a core that another waits for keeps it for a while, the longer the further away the other
//! is. Copies are dropped by the home, one thing after the other: not before the last copy that is under
//! way has arrived and this is known, which is why a writer among readers waits about twice as long as
//! one among writers. Each core is a little nearer to or further from a line's home than the others.
//!
//! A core that loses its line to a reader between two of its own writes has begun the second already,
//! and has to begin again; by then the reader may have come first. *Checked by* `tests/machine.rs`.
//!
//! Past 500 lines, since a request, its place in line and what it costs are one account.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::layout::{Distance, Layout, Ps};
use crate::machine::MAX_CPUS;

/// A set of cores: a few by number, more as bits.
#[derive(Default)]
struct Cores {
    count: u32,
    few: [u16; FEW],
    many: Option<Box<[u64; MAX_CPUS / 64]>>,
    /// Clusters that have a core in the set.
    clusters: u128,
}

const FEW: usize = 6;

impl Cores {
    fn has(&self, core: usize) -> bool {
        match &self.many {
            Some(bits) if self.count as usize > FEW => bits[core / 64] >> (core % 64) & 1 != 0,
            _ => self.few.iter().take(self.count as usize).any(|&one| usize::from(one) == core),
        }
    }

    fn add(&mut self, core: usize, cluster: usize) {
        if self.has(core) {
            return;
        }
        let count = self.count as usize;
        if count < FEW {
            self.few[count] = core as u16;
        } else {
            let bits = self.many.get_or_insert_default();
            if count == FEW {
                // Their memory may have been used before.
                **bits = [0; MAX_CPUS / 64];
                let few = self.few.into_iter().map(usize::from);
                few.for_each(|core| bits[core / 64] |= 1 << (core % 64));
            }
            bits[core / 64] |= 1 << (core % 64);
        }
        self.count += 1;
        self.clusters |= 1 << cluster;
    }

    fn clear(&mut self) {
        self.count = 0;
        self.clusters = 0;
    }

    fn clusters(&self) -> impl Iterator<Item = usize> {
        let mut left = self.clusters;
        std::iter::from_fn(move || {
            let next = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (next < 128).then_some(next)
        })
    }
}

/// A core's time with a line that it has alone.
#[derive(Clone, Copy)]
struct Tenure {
    core: u16,
    from: Ps,
    until: Ps,
    /// When its last write so far, by whichever of its threads, has ended.
    busy: Ps,
}

impl Tenure {
    /// When an access of the core's can begin that is issued `now`: one write after the other, and all
    /// within the time.
    fn begins(&mut self, access: Access, takes: Ps, now: Ps) -> Option<Ps> {
        let begins = if access == Access::Load { now } else { now.max(self.busy) };
        if now < self.from || begins >= self.until {
            return None;
        }
        if access != Access::Load {
            self.busy = begins + takes;
        }
        Some(begins)
    }
}

/// Owners before the last whose time is not over, or has not begun, in the order of their times.
struct Earlier {
    tenures: VecDeque<Tenure>,
    /// How many there are of the cores that have this number modulo 64, 255 of 255 and more: nearly always
    /// none.
    of: [u8; 64],
}

impl Earlier {
    const NONE: Earlier = Earlier { tenures: VecDeque::new(), of: [0; 64] };

    fn push(&mut self, tenure: Tenure) {
        let of = &mut self.of[usize::from(tenure.core) % 64];
        *of = of.saturating_add(1);
        self.tenures.push_back(tenure);
    }

    fn forget_until(&mut self, now: Ps) {
        while let Some(first) = self.tenures.front()
            && first.until <= now
        {
            let of = &mut self.of[usize::from(first.core) % 64];
            *of -= u8::from(*of < u8::MAX);
            self.tenures.pop_front();
        }
    }

    /// As [`Tenure::begins`], if one of them is the core's.
    fn begins(&mut self, core: usize, access: Access, takes: Ps, now: Ps) -> Option<Ps> {
        if self.tenures.is_empty() || self.of[core % 64] == 0 {
            return None;
        }
        let mut own = self.tenures.iter_mut().filter(|tenure| usize::from(tenure.core) == core);
        own.find_map(|tenure| tenure.begins(access, takes, now))
    }
}

/// The home of a line that nobody has touched.
const NOWHERE: u16 = u16::MAX;

struct Line {
    /// Decides who is near to its home.
    number: u64,
    /// The node whose memory holds it.
    home: u16,
    /// The core that has it alone, or had it last.
    owner: Option<Tenure>,
    /// When the owner has done what it wanted it for; for which share, in 1/1024, of the latency to
    /// whoever waits for it the owner keeps it then.
    used: Ps,
    keep: u64,
    /// Who has a copy, the owner included once there is another.
    sharers: Cores,
    /// Who had a copy before the last writer, and until when.
    former: Cores,
    dropped: Ps,
    /// Who lost it to a reader last, and when.
    lost: (u16, Ps),
    /// When the last copy asked for so far has arrived and the home knows; when the next can be sent.
    reads_done: Ps,
    read_free: Ps,
    earlier: Earlier,
    /// Threads that sleep until somebody writes to it.
    watchers: Vec<u16>,
    /// Writes to it that have taken effect.
    writes: u32,
}

/// What is done to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store,
    Rmw,
}

impl Access {
    /// How long it takes a core that has the line.
    fn takes(self, layout: &Layout) -> Ps {
        match self {
            Access::Load => layout.load,
            Access::Store => layout.store,
            Access::Rmw => layout.rmw,
        }
    }
}

/// What becomes of an access that begins.
pub(crate) enum Request {
    /// The core has of the line what the access needs: it ends then.
    Served(Ps),
    /// When the request arrives at the line's home.
    Arrives(Ps),
}

/// How lines travelled.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Lines that came from another cache, by [`Distance`].
    pub transfers: [u64; 6],
    /// Atomic read-modify-writes.
    pub rmws: u64,
    /// All loads, stores and read-modify-writes.
    pub accesses: u64,
}

/// How many addresses are remembered beside their lines.
const RECENT: usize = 1 << 10;

/// All lines that were ever touched.
pub(crate) struct Lines {
    index: FxHashMap<usize, u32>,
    /// Addresses in lines (the last with this number modulo `RECENT`), and the lines' numbers.
    recent: Box<[(usize, u32)]>,
    lines: Vec<Line>,
    /// Home of lines that are first touched from now on; `None`: the node that touches them.
    pub home: Option<usize>,
    pub traffic: Traffic,
}

impl Default for Lines {
    fn default() -> Self {
        Lines {
            index: FxHashMap::default(),
            recent: vec![(usize::MAX, 0); RECENT].into_boxed_slice(),
            lines: Vec::new(),
            home: None,
            traffic: Traffic::default(),
        }
    }
}

impl Lines {
    /// The line of an address.
    pub fn of(&mut self, address: usize) -> u32 {
        let place = address >> 6;
        let recent = &mut self.recent[place % RECENT];
        if recent.0 != place {
            let next = self.lines.len() as u32;
            let index = *self.index.entry(place).or_insert(next);
            if index == next {
                self.lines.push(Line::new(next));
            }
            *recent = (place, index);
        }
        recent.1
    }

    /// A new line that is at home in this node, at an address of which no line is known yet.
    pub fn at_home(&mut self, address: usize, node: usize) -> u32 {
        let line = self.of(address);
        self.lines[line as usize].home = node as u16;
        line
    }

    /// From now on the line of `address` is that of `other`.
    pub fn join(&mut self, address: usize, other: usize) {
        let line = self.of(other);
        self.index.insert(address >> 6, line);
        self.recent[(address >> 6) % RECENT] = (address >> 6, line);
    }

    pub fn watch(&mut self, line: u32, thread: u16) {
        self.lines[line as usize].watchers.push(thread);
    }

    pub fn forget(&mut self, line: u32, thread: u16) {
        self.lines[line as usize].watchers.retain(|&other| other != thread);
    }

    pub fn is_watched(&self, line: u32) -> bool {
        !self.lines[line as usize].watchers.is_empty()
    }

    pub fn take_watchers(&mut self, line: u32) -> Vec<u16> {
        std::mem::take(&mut self.lines[line as usize].watchers)
    }

    /// The memory of a list that was taken and is done with.
    pub fn give_back(&mut self, line: u32, mut watchers: Vec<u16>) {
        watchers.clear();
        self.lines[line as usize].watchers = watchers;
    }

    /// A write takes effect; those who sleep on the line must be told.
    pub fn note_write(&mut self, line: u32) {
        let writes = &mut self.lines[line as usize].writes;
        *writes = writes.wrapping_add(1);
    }

    /// For the audit: how many writes have taken effect, modulo 2^32.
    pub fn writes(&self, line: u32) -> u32 {
        self.lines[line as usize].writes
    }

    /// For the audit: whether the thread would hear of a write.
    pub fn hears(&self, line: u32, thread: u16) -> bool {
        self.lines[line as usize].watchers.contains(&thread)
    }

    /// Begins an access at `now`.
    pub fn request(
        &mut self,
        layout: &Layout,
        rng: &mut fastrand::Rng,
        line: u32,
        core: usize,
        access: Access,
        now: Ps,
    ) -> Request {
        let line = &mut self.lines[line as usize];
        if let Some(begins) = line.begins(layout, core, access, now) {
            return Request::Served(self.done(layout, access, begins));
        }
        let Some(owner) = line.owner else {
            if line.home == NOWHERE {
                line.home = self.home.unwrap_or_else(|| layout.node(core)) as u16;
            }
            return Request::Arrives(now);
        };
        let ask = line.ask(layout, usize::from(owner.core), core);
        let ask = line.scaled(layout, rng, core, ask);
        let (loser, when) = line.lost;
        let again = usize::from(loser) == core && (when..when + layout.flush_after).contains(&now);
        Request::Arrives(now + ask + if again { layout.flush } else { 0 })
    }

    /// When an access ends that has at `there` what it needs.
    fn done(&mut self, layout: &Layout, access: Access, there: Ps) -> Ps {
        self.traffic.accesses += 1;
        self.traffic.rmws += u64::from(access == Access::Rmw);
        there + access.takes(layout)
    }

    /// When an access ends whose request has arrived `now`.
    pub fn access(
        &mut self,
        layout: &Layout,
        rng: &mut fastrand::Rng,
        line: u32,
        core: usize,
        access: Access,
        now: Ps,
    ) -> Ps {
        let line = &mut self.lines[line as usize];
        if let Some(begins) = line.begins(layout, core, access, now) {
            return self.done(layout, access, begins);
        }
        let (there, distance) = match access {
            Access::Load => {
                let (there, distance) = line.copy_to(layout, rng, core, now);
                (there, Some(distance))
            }
            Access::Store | Access::Rmw => {
                line.move_to(layout, rng, core, now, access.takes(layout))
            }
        };
        if let Some(distance) = distance {
            self.traffic.transfers[distance as usize] += 1;
        }
        self.done(layout, access, there)
    }
}

/// Where a line comes from, and how far that is.
#[derive(Clone, Copy)]
struct Source {
    node: usize,
    distance: Distance,
}

/// What the legs of a transfer take.
#[derive(Clone, Copy)]
struct Route {
    ask: Ps,
    forward: Ps,
    send: Ps,
}

impl Route {
    fn whole(self) -> Ps {
        self.ask + self.forward + self.send
    }
}

impl Line {
    fn new(number: u32) -> Self {
        Line {
            number: u64::from(number),
            home: NOWHERE,
            owner: None,
            used: 0,
            keep: 0,
            sharers: Cores::default(),
            former: Cores::default(),
            dropped: 0,
            lost: (0, 0),
            reads_done: 0,
            read_free: 0,
            earlier: Earlier::NONE,
            watchers: Vec::new(),
            writes: 0,
        }
    }

    /// When an access issued `now` begins, if the core has of the line what that needs.
    fn begins(&mut self, layout: &Layout, core: usize, access: Access, now: Ps) -> Option<Ps> {
        let takes = access.takes(layout);
        let copies = self.sharers.count;
        if let Some(owner) = &mut self.owner
            && usize::from(owner.core) == core
            && now >= owner.from
            && (access == Access::Load || copies == 0 || copies == 1 && self.sharers.has(core))
        {
            return owner.begins(access, takes, now);
        }
        if access == Access::Load && copies > 0 && self.sharers.has(core) {
            return Some(now);
        }
        if self.dropped <= now {
            self.former.clear();
        } else if access == Access::Load && self.former.has(core) {
            return Some(now);
        }
        self.earlier.forget_until(now);
        self.earlier.begins(core, access, takes, now)
    }

    /// Until when a request that is `way` from there finds it with the owner. One that waits for
    /// the line is sent after it, and is under way the longer the further apart the two are.
    fn kept(&self, way: Ps) -> Ps {
        self.used + self.keep * way / 1024
    }

    /// The nearest that has the line.
    fn nearest(&self, layout: &Layout, owner: usize, core: usize) -> Source {
        let own = layout.cluster(core);
        let mut source =
            Source { node: layout.node(owner), distance: layout.distance(owner, core) };
        for cluster in self.sharers.clusters() {
            // Another core's copy is as near as the cache that all of a cluster share.
            let distance = match cluster == own {
                true => Distance::Cluster,
                false => layout.to_cluster(core, cluster),
            };
            if distance < source.distance {
                source = Source { node: layout.node_of_cluster(cluster), distance };
            }
        }
        source
    }

    /// What the first leg of a transfer to a core takes: to its cluster's cache, if one of that has the
    /// line, or else to the home.
    fn ask(&self, layout: &Layout, owner: usize, core: usize) -> Ps {
        let own = layout.cluster(core);
        if owner == core {
            layout.latency[Distance::Sibling as usize] / 3
        } else if layout.cluster(owner) == own || self.sharers.clusters >> own & 1 != 0 {
            layout.latency[Distance::Cluster as usize] / 3
        } else {
            layout.leg(layout.node(core), usize::from(self.home))
        }
    }

    /// How much longer or shorter, in 1/2^20, ways are for a core, by its own distance from the line's home,
    /// and by chance.
    fn share(&self, layout: &Layout, rng: &mut fastrand::Rng, core: usize) -> u64 {
        // Any fixed place between nearest and furthest will do.
        let place = (self.number << 16 | core as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        let share = 1024 - layout.spread + layout.spread * place / 512;
        // One of twice the jitter and one.
        let jitter = ((rng.u64(..) >> 32) * (2 * layout.jitter + 1)) >> 32;
        share * (1024 - layout.jitter + jitter)
    }

    fn scaled(&self, layout: &Layout, rng: &mut fastrand::Rng, core: usize, leg: Ps) -> Ps {
        (leg * self.share(layout, rng, core)) >> 20
    }

    /// The legs of a transfer to a core.
    fn route(
        &self,
        layout: &Layout,
        rng: &mut fastrand::Rng,
        source: Source,
        core: usize,
    ) -> Route {
        let share = self.share(layout, rng, core);
        let scaled = |leg: Ps| (leg * share) >> 20;
        if source.distance <= Distance::Cluster {
            let leg = scaled(layout.latency[source.distance as usize] / 3);
            return Route { ask: leg, forward: leg, send: leg };
        }
        let (here, home) = (layout.node(core), usize::from(self.home));
        Route {
            ask: scaled(layout.leg(here, home)),
            forward: scaled(layout.leg(home, source.node)),
            send: scaled(layout.leg(source.node, here)),
        }
    }

    /// A copy for a reader: when it is there, and where it comes from.
    fn copy_to(
        &mut self,
        layout: &Layout,
        rng: &mut fastrand::Rng,
        core: usize,
        now: Ps,
    ) -> (Ps, Distance) {
        let Some(owner) = self.owner else {
            // First touch: at no cost, and counted as if the neighbour had had it.
            self.owner = Some(Tenure { core: core as u16, from: now, until: Ps::MAX, busy: now });
            return (now, Distance::Cluster);
        };
        let mine = usize::from(owner.core);
        let source = self.nearest(layout, mine, core);
        let route = self.route(layout, rng, source, core);
        let leaves = (now + route.forward).max(self.kept(route.whole())).max(self.read_free);
        self.read_free = leaves + route.whole() * layout.occupancy / 1024;
        let there = leaves + route.send;
        if self.sharers.count == 0 {
            self.earlier.push(Tenure { until: leaves, ..owner });
            self.lost = (owner.core, leaves);
        }
        // The reader tells the home.
        self.reads_done = self.reads_done.max(there + route.ask);
        self.sharers.add(mine, layout.cluster(mine));
        self.sharers.add(core, layout.cluster(core));
        (there, source.distance)
    }

    /// The line for a writer alone: when it is there, and where it comes from (`None`: the writer
    /// had a copy, and the others' were dropped).
    fn move_to(
        &mut self,
        layout: &Layout,
        rng: &mut fastrand::Rng,
        core: usize,
        now: Ps,
        own: Ps,
    ) -> (Ps, Option<Distance>) {
        let mine = |from| Tenure { core: core as u16, from, until: Ps::MAX, busy: from + own };
        let Some(owner) = self.owner else {
            self.owner = Some(mine(now));
            return (now, None);
        };
        let had = self.sharers.has(core);
        let others = u64::from(self.sharers.count) - u64::from(had);
        let source = self.furthest(layout, usize::from(owner.core), core, others > 0);
        let route = self.route(layout, rng, source, core);
        let leaves = if self.sharers.count > 0 {
            std::mem::swap(&mut self.former, &mut self.sharers);
            self.sharers.clear();
            self.dropped = now.max(self.reads_done) + route.forward;
            self.dropped
        } else {
            let leaves = (now + route.forward).max(self.kept(route.whole()));
            self.earlier.push(Tenure { until: leaves, ..owner });
            leaves
        };
        let from = leaves + route.send + others * layout.invalidate;
        self.owner = Some(mine(from));
        self.used = from + own;
        self.keep = rng.u64(layout.keep.0..=layout.keep.1);
        self.reads_done = 0;
        self.read_free = 0;
        (from, (!had).then_some(source.distance))
    }

    /// The furthest from which a writer has to hear: the owner, or whoever has a copy, if `others` do.
    fn furthest(&self, layout: &Layout, owner: usize, core: usize, others: bool) -> Source {
        let own = layout.cluster(core);
        let mut source =
            Source { node: layout.node(owner), distance: layout.distance(owner, core) };
        if others && source.distance < Distance::Cluster {
            source.distance = Distance::Cluster;
        }
        let here = layout.node(core);
        let way = |node| layout.leg(usize::from(self.home), node) + layout.leg(node, here);
        for cluster in self.sharers.clusters().filter(|&cluster| cluster != own) {
            let other = Source {
                node: layout.node_of_cluster(cluster),
                distance: layout.to_cluster(core, cluster),
            };
            let nearer = source.distance <= Distance::Cluster || way(source.node) < way(other.node);
            if nearer {
                source = other;
            }
        }
        source
    }
}
