//! Cache lines: who has them, who gets them next, and when.
//!
//! A transfer has three legs of equal length: the request goes to the line's home, the home asks
//! whoever has the line, and that sends it. Requests are served in the order in which they arrive at
//! the home, by reservation. A line that one core has alone goes to the next as soon as the request
//! finds it; a core that another waits for keeps it for a while, the longer the further away the other
//! is. Copies are dropped by the home, one thing after the other: not before the last copy that is under
//! way has arrived and this is known, which is why a writer among readers waits about twice as long as
//! one among writers. Each core is a little nearer to or further from a line's home than the others.
//!
//! A core that loses its line to a reader between two of its own writes has begun the second already,
//! and has to begin again; by then the reader may have come first. *Checked by* `tests/machine.rs`.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::layout::{Distance, Layout, Ps};
use crate::machine::MAX_CPUS;

/// A set of cores.
#[derive(Clone, Default)]
struct Cores {
    bits: [u64; MAX_CPUS / 64],
    count: u32,
    /// Sockets that have a core in the set.
    sockets: u64,
}

impl Cores {
    fn has(&self, core: usize) -> bool {
        self.bits[core / 64] >> (core % 64) & 1 != 0
    }

    fn add(&mut self, core: usize, socket: usize) {
        if !self.has(core) {
            self.bits[core / 64] |= 1 << (core % 64);
            self.count += 1;
            self.sockets |= 1 << socket;
        }
    }

    fn clear(&mut self) {
        if self.count > 0 {
            *self = Cores::default();
        }
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

#[derive(Default)]
struct Line {
    /// Decides who is near to its home.
    number: u64,
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
    /// Owners before the last whose time is not over, or has not begun.
    earlier: VecDeque<Tenure>,
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

/// All lines that were ever touched.
#[derive(Default)]
pub(crate) struct Lines {
    index: FxHashMap<usize, u32>,
    lines: Vec<Line>,
    pub traffic: Traffic,
}

impl Lines {
    /// The line of an address.
    pub fn of(&mut self, address: usize) -> u32 {
        let next = self.lines.len() as u32;
        let index = *self.index.entry(address >> 6).or_insert(next);
        if index == next {
            self.lines.push(Line { number: u64::from(next), ..Line::default() });
        }
        index
    }

    /// From now on the line of `address` is that of `other`.
    pub fn join(&mut self, address: usize, other: usize) {
        let line = self.of(other);
        self.index.insert(address >> 6, line);
    }

    pub fn watch(&mut self, line: u32, thread: u16) {
        self.lines[line as usize].watchers.push(thread);
    }

    pub fn forget(&mut self, line: u32, thread: u16) {
        self.lines[line as usize].watchers.retain(|&other| other != thread);
    }

    pub fn take_watchers(&mut self, line: u32) -> Vec<u16> {
        std::mem::take(&mut self.lines[line as usize].watchers)
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
        let Some(owner) = line.owner else { return Request::Arrives(now) };
        let distance = line.nearest(layout, usize::from(owner.core), core);
        let leg = line.way(layout, rng, distance, core) / 3;
        let (loser, when) = line.lost;
        let again = usize::from(loser) == core && (when..when + layout.flush_after).contains(&now);
        Request::Arrives(now + leg + if again { layout.flush } else { 0 })
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

impl Line {
    /// When an access issued `now` begins, if the core has of the line what that needs.
    fn begins(&mut self, layout: &Layout, core: usize, access: Access, now: Ps) -> Option<Ps> {
        while self.earlier.front().is_some_and(|tenure| tenure.until <= now) {
            self.earlier.pop_front();
        }
        if self.dropped <= now {
            self.former.clear();
        }
        let takes = access.takes(layout);
        let mut own = self.earlier.iter_mut().filter(|tenure| usize::from(tenure.core) == core);
        let earlier = own.find_map(|tenure| tenure.begins(access, takes, now));
        if earlier.is_some() {
            return earlier;
        }
        let copied = self.sharers.has(core);
        if access == Access::Load && (copied || self.former.has(core)) {
            return Some(now);
        }
        let shared = self.sharers.count > u32::from(copied);
        let owner = self.owner.as_mut().filter(|owner| usize::from(owner.core) == core)?;
        if access != Access::Load && shared { None } else { owner.begins(access, takes, now) }
    }

    /// Until when a request that is `way` from there finds it with the owner. One that waits for
    /// the line is sent after it, and is under way the longer the further apart the two are.
    fn kept(&self, way: Ps) -> Ps {
        self.used + self.keep * way / 1024
    }

    /// Between a core and the nearest that has the line.
    fn nearest(&self, layout: &Layout, owner: usize, core: usize) -> Distance {
        let socket = layout.socket(core);
        let mut distance = layout.distance(owner, core);
        let mut others = self.sharers.sockets;
        while others != 0 {
            let other = others.trailing_zeros() as usize;
            others &= others - 1;
            distance = distance.min(match layout.between_sockets(socket, other) {
                // Another core's copy is as near as the cache that all of them share.
                Distance::Socket => Distance::Cluster,
                far => far,
            });
        }
        distance
    }

    /// Latency of a transfer to a core, by its own distance from the line's home.
    fn way(&self, layout: &Layout, rng: &mut fastrand::Rng, distance: Distance, core: usize) -> Ps {
        // Any fixed place between nearest and furthest will do.
        let place = (self.number << 16 | core as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        let share = 1024 - layout.spread + layout.spread * place / 512;
        jittered(layout, rng, layout.latency[distance as usize] * share / 1024)
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
        let distance = self.nearest(layout, mine, core);
        let way = self.way(layout, rng, distance, core);
        let leaves = (now + way / 3).max(self.kept(way)).max(self.read_free);
        self.read_free = leaves + way * layout.occupancy / 1024;
        let there = leaves + way / 3;
        if self.sharers.count == 0 {
            self.earlier.push_back(Tenure { until: leaves, ..owner });
            self.lost = (owner.core, leaves);
        }
        self.reads_done = self.reads_done.max(there + way / 3);
        self.sharers.add(mine, layout.socket(mine));
        self.sharers.add(core, layout.socket(core));
        (there, distance)
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
        let socket = layout.socket(core);
        let mine = |from| Tenure { core: core as u16, from, until: Ps::MAX, busy: from + own };
        let Some(owner) = self.owner else {
            self.owner = Some(mine(now));
            return (now, None);
        };
        let had = self.sharers.has(core);
        let others = u64::from(self.sharers.count) - u64::from(had);
        let mut distance = layout.distance(usize::from(owner.core), core);
        let mut sockets = self.sharers.sockets;
        while sockets != 0 {
            let other = sockets.trailing_zeros() as usize;
            sockets &= sockets - 1;
            if other != socket {
                distance = distance.max(layout.between_sockets(socket, other));
            }
        }
        if others > 0 {
            distance = distance.max(Distance::Cluster);
        }
        let way = self.way(layout, rng, distance, core);
        let leaves = if self.sharers.count > 0 {
            self.former = std::mem::take(&mut self.sharers);
            self.dropped = now.max(self.reads_done) + way / 3;
            self.dropped
        } else {
            let leaves = (now + way / 3).max(self.kept(way));
            self.earlier.push_back(Tenure { until: leaves, ..owner });
            leaves
        };
        let from = leaves + way / 3 + others * layout.invalidate;
        self.owner = Some(mine(from));
        self.used = from + own;
        self.keep = rng.u64(layout.keep.0..=layout.keep.1);
        self.reads_done = 0;
        self.read_free = 0;
        (from, (!had).then_some(distance))
    }
}

fn jittered(layout: &Layout, rng: &mut fastrand::Rng, way: Ps) -> Ps {
    way * rng.u64(1024 - layout.jitter..=1024 + layout.jitter) / 1024
}
