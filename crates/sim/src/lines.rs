//! Cache lines: who has them, who gets them next, and when.
//!
//! Requests for a line are served in the order in which they come, by reservation: a request's
//! time of arrival is known when it is made, and it moves the times of those that come later. Half
//! of a transfer's latency is the request's way: until it arrives the owner goes on with the line as
//! if nobody wanted it. A request that waits for the line is sent after it to whoever gets it, so
//! that this core, too, has it for a while, the longer the further away the next one is.

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

#[derive(Default)]
struct Line {
    /// The core that has it alone, or had it last; from then on.
    owner: Option<u16>,
    from: Ps,
    /// When the owner has done what it wanted it for; for which share, in 1/1024, of the latency to
    /// whoever waits for it the owner keeps it then.
    used: Ps,
    keep: u64,
    /// Who has a copy, the owner included once there is another.
    sharers: Cores,
    /// When the last copy asked for so far arrives; when the next can be sent.
    reads_done: Ps,
    read_free: Ps,
    /// Owners before the last whose time is not over: core, until.
    earlier: VecDeque<(u16, Ps)>,
    /// Threads that sleep until somebody writes to it.
    watchers: Vec<u16>,
}

/// What is done to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    /// A spinner's load. Its copy was dropped before the write that it looks for took effect, and
    /// so it has asked for the line already.
    Look,
    Store,
    Rmw,
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
            self.lines.push(Line::default());
        }
        index
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

    /// For the audit: whether the thread would hear of a write.
    pub fn hears(&self, line: u32, thread: u16) -> bool {
        self.lines[line as usize].watchers.contains(&thread)
    }

    /// When an access that is begun `now` ends.
    pub fn access(
        &mut self,
        layout: &Layout,
        rng: &mut fastrand::Rng,
        line: u32,
        core: usize,
        access: Access,
        now: Ps,
    ) -> Ps {
        self.traffic.accesses += 1;
        let own = match access {
            Access::Load | Access::Look => layout.load,
            Access::Store => layout.store,
            Access::Rmw => {
                self.traffic.rmws += 1;
                layout.rmw
            }
        };
        let line = &mut self.lines[line as usize];
        while line.earlier.front().is_some_and(|&(_, until)| until <= now) {
            line.earlier.pop_front();
        }
        let mine = line.owner == Some(core as u16) && line.from <= now;
        if line.earlier.iter().any(|&(other, _)| usize::from(other) == core) {
            return now + own;
        }
        if matches!(access, Access::Load | Access::Look) {
            if mine || line.sharers.has(core) {
                return now + own;
            }
            let came = line.copy_to(layout, rng, core, now, access == Access::Look);
            self.traffic.transfers[came.1 as usize] += 1;
            return came.0 + own;
        }
        if mine && line.sharers.count <= u32::from(line.sharers.has(core)) {
            return now + own;
        }
        let came = line.move_to(layout, rng, core, now, own);
        if let Some(distance) = came.1 {
            self.traffic.transfers[distance as usize] += 1;
        }
        came.0 + own
    }
}

impl Line {
    /// Until when a request that is `way` from there finds it with the owner. One that waits for
    /// the line is sent after it, and is under way the longer the further apart the two are.
    fn kept(&self, way: Ps) -> Ps {
        self.used + self.keep * way / 1024
    }

    /// A copy for a reader: when it is there, and where it comes from.
    fn copy_to(
        &mut self,
        layout: &Layout,
        rng: &mut fastrand::Rng,
        core: usize,
        now: Ps,
        asked: bool,
    ) -> (Ps, Distance) {
        let Some(owner) = self.owner else {
            // First touch: as if the neighbour had it.
            self.owner = Some(core as u16);
            self.from = now;
            return (now, Distance::Cluster);
        };
        let socket = layout.socket(core);
        let mut distance = layout.distance(usize::from(owner), core);
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
        let way = jittered(layout, rng, layout.latency[distance as usize]);
        let arrives = if asked { now } else { now + way / 2 };
        let leaves = arrives.max(self.kept(way)).max(self.read_free);
        self.read_free = leaves + way * layout.occupancy / 1024;
        let there = leaves + way / 2;
        if self.sharers.count == 0 {
            self.earlier.push_back((owner, leaves));
        }
        self.reads_done = self.reads_done.max(there);
        self.sharers.add(usize::from(owner), layout.socket(usize::from(owner)));
        self.sharers.add(core, socket);
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
        let Some(owner) = self.owner.replace(core as u16).map(usize::from) else {
            self.from = now;
            return (now, None);
        };
        let others = u64::from(self.sharers.count) - u64::from(self.sharers.has(core));
        let mut distance = layout.distance(owner, core);
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
        let had = self.sharers.has(core);
        let way = jittered(layout, rng, layout.latency[distance as usize]);
        let leaves = (now + way / 2).max(self.kept(way)).max(self.reads_done);
        if self.sharers.count == 0 {
            self.earlier.push_back((owner as u16, leaves));
        }
        self.from = leaves + way / 2 + others * layout.invalidate;
        self.used = self.from + own;
        self.keep = rng.u64(layout.keep.0..=layout.keep.1);
        self.sharers.clear();
        self.reads_done = 0;
        self.read_free = 0;
        (self.from, (!had).then_some(distance))
    }
}

fn jittered(layout: &Layout, rng: &mut fastrand::Rng, way: Ps) -> Ps {
    way * rng.u64(1024 - layout.jitter..=1024 + layout.jitter) / 1024
}
