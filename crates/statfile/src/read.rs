//! Reading a file that anybody may have written: nothing in it is trusted.
//!
//! The bytes are a copy, so that they cannot change, nor the file shrink, under the reader. Indices
//! beyond a table, kinds that do not exist, text with control characters: what makes no sense is
//! left out.

use core::fmt;
use core::mem::{offset_of, size_of};
use std::borrow::ToOwned;
use std::string::String;
use std::vec::Vec;

use crate::layout::{self, BUCKETS, EVENTS, FRAMES, File, Kind, Role};

/// Why bytes are no statistics file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NotAFile {
    /// They do not begin as one does (or it is not finished yet).
    Magic,
    /// Written by another version of lockwright, which has this number.
    Version(u32),
    /// They end before the tables do.
    Short,
}

impl fmt::Display for NotAFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAFile::Magic => out.write_str("not a statistics file"),
            NotAFile::Version(theirs) => write!(
                out,
                "layout {theirs}, but this lockwright reads layout {}: use the one that runs the program",
                layout::VERSION
            ),
            NotAFile::Short => out.write_str("cut short"),
        }
    }
}

/// What a file says.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Of the process.
    pub pid: u32,
    /// The program has ended by itself.
    pub ended: bool,
    /// Nanoseconds of the real-time clock when the file was made.
    pub made_at: u64,
    /// Nanoseconds of the monotonic clock since when locks are counted; 0: never.
    pub collects_since: u64,
    /// Nanoseconds of the monotonic clock when the program ended, or 0.
    pub ended_at: u64,
    /// One in so many acquisitions has its hold timed; 0: none.
    pub hold_every: u32,
    /// Lock events by number.
    pub events: Vec<u64>,
    /// Locks, sites, stacks, threads that had no entry left.
    pub lost: [u64; 4],
    /// The policies of the process.
    pub policy: String,
    /// The executable.
    pub program: String,
    /// All locks that were waited for, by their index in the table.
    pub locks: Vec<Option<Lock>>,
    /// All sites, by their index.
    pub sites: Vec<Option<Site>>,
    /// Their stacks.
    pub stacks: Vec<Stack>,
    /// All threads that waited.
    pub threads: Vec<Thread>,
    /// What was loaded.
    pub modules: Vec<Module>,
}

/// See [`layout::Lock`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the layout")]
pub struct Lock {
    pub address: u64,
    pub kind: Kind,
    pub most_waiters: u32,
    pub destroyed: u32,
    pub made_at: u64,
    pub acquisitions: u64,
    pub owner_changes: u64,
    pub contended: u64,
    pub slept: u64,
    pub failed: u64,
    pub wait_ns: u64,
    pub wait_max_ns: u64,
    pub holds: u64,
    pub hold_ns: u64,
    pub hold_max_ns: u64,
    pub histogram: [u32; BUCKETS],
}

/// See [`layout::Site`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the layout")]
pub struct Site {
    pub lock: usize,
    pub role: Role,
    pub address: u64,
    pub count: u64,
    pub ns: u64,
    pub max_ns: u64,
}

/// See [`layout::Stack`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the layout")]
pub struct Stack {
    pub site: usize,
    pub count: u64,
    pub ns: u64,
    pub frames: Vec<u64>,
}

/// See [`layout::Thread`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the layout")]
pub struct Thread {
    pub tid: u32,
    pub name: String,
    pub waits: u64,
    pub ns: u64,
    pub max_ns: u64,
}

/// See [`layout::Module`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the layout")]
pub struct Module {
    pub base: u64,
    pub start: u64,
    pub end: u64,
    pub path: String,
}

/// The bytes of one entry.
#[derive(Copy, Clone)]
struct Entry<'a>(&'a [u8]);

impl<'a> Entry<'a> {
    /// The word at an offset; 0 beyond the end.
    fn word<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }

    fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.word(at))
    }

    fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.word(at))
    }

    /// Text until the first 0, without control characters, which a terminal would obey.
    fn text(self, at: usize, length: usize) -> String {
        let bytes = self.0.get(at..at + length).unwrap_or_default();
        let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes)
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect()
    }

    /// The entries of a table that begins here.
    fn table(self, at: usize, count: usize, size: usize) -> impl Iterator<Item = Entry<'a>> {
        let bytes = self.0.get(at..at + count * size).unwrap_or_default();
        bytes.chunks_exact(size).map(Entry)
    }
}

macro_rules! at {
    ($type:ident . $field:ident) => {
        offset_of!(layout::$type, $field)
    };
}

impl Snapshot {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// If they are none.
    pub fn read(bytes: &[u8]) -> Result<Self, NotAFile> {
        let all = Entry(bytes);
        if all.u64(at!(Header.magic)) != layout::MAGIC {
            return Err(NotAFile::Magic);
        }
        let version = all.u32(at!(Header.version));
        if version != layout::VERSION {
            return Err(NotAFile::Version(version));
        }
        if bytes.len() < size_of::<File>() {
            return Err(NotAFile::Short);
        }
        let events = (all.u32(at!(Header.event_count)) as usize).min(EVENTS);
        Ok(Snapshot {
            pid: all.u32(at!(Header.pid)),
            ended: all.u32(at!(Header.state)) == layout::ENDED,
            made_at: all.u64(at!(Header.made_at)),
            collects_since: all.u64(at!(Header.collects_since)),
            ended_at: all.u64(at!(Header.ended_at)),
            hold_every: all.u32(at!(Header.hold_every)),
            events: (0..events).map(|i| all.u64(at!(Header.events) + 8 * i)).collect(),
            lost: [
                all.u64(at!(Header.lost_locks)),
                all.u64(at!(Header.lost_sites)),
                all.u64(at!(Header.lost_stacks)),
                all.u64(at!(Header.lost_threads)),
            ],
            policy: all.text(at!(Header.policy), 128),
            program: all.text(at!(Header.program), 512),
            locks: all
                .table(offset_of!(File, locks), layout::LOCKS, size_of::<layout::Lock>())
                .map(lock)
                .collect(),
            sites: all
                .table(offset_of!(File, sites), layout::SITES, size_of::<layout::Site>())
                .map(site)
                .collect(),
            stacks: all
                .table(offset_of!(File, stacks), layout::STACKS, size_of::<layout::Stack>())
                .filter_map(stack)
                .collect(),
            threads: all
                .table(offset_of!(File, threads), layout::THREADS, size_of::<layout::Thread>())
                .filter_map(thread)
                .collect(),
            modules: all
                .table(offset_of!(File, modules), layout::MODULES, size_of::<layout::Module>())
                .filter_map(module)
                .collect(),
        })
    }

    /// The module that an address lies in.
    pub fn module_of(&self, address: u64) -> Option<&Module> {
        self.modules.iter().find(|module| (module.start..module.end).contains(&address))
    }
}

fn lock(entry: Entry<'_>) -> Option<Lock> {
    let address = entry.u64(at!(Lock.address));
    let kind = entry.u32(at!(Lock.kind));
    let kind = Kind::ALL.into_iter().find(|known| *known as u32 == kind)?;
    (address != 0).then(|| Lock {
        address,
        kind,
        most_waiters: entry.u32(at!(Lock.most_waiters)),
        destroyed: entry.u32(at!(Lock.destroyed)),
        made_at: entry.u64(at!(Lock.made_at)),
        acquisitions: entry.u64(at!(Lock.acquisitions)),
        owner_changes: entry.u64(at!(Lock.owner_changes)),
        contended: entry.u64(at!(Lock.contended)),
        slept: entry.u64(at!(Lock.slept)),
        failed: entry.u64(at!(Lock.failed)),
        wait_ns: entry.u64(at!(Lock.wait_ns)),
        wait_max_ns: entry.u64(at!(Lock.wait_max_ns)),
        holds: entry.u64(at!(Lock.holds)),
        hold_ns: entry.u64(at!(Lock.hold_ns)),
        hold_max_ns: entry.u64(at!(Lock.hold_max_ns)),
        histogram: core::array::from_fn(|i| entry.u32(at!(Lock.histogram) + 4 * i)),
    })
}

fn site(entry: Entry<'_>) -> Option<Site> {
    let role = entry.u32(at!(Site.role));
    let role = Role::ALL.into_iter().find(|known| *known as u32 == role)?;
    let lock = entry.u32(at!(Site.lock)) as usize;
    (entry.u64(at!(Site.key)) != 0 && lock < layout::LOCKS).then(|| Site {
        lock,
        role,
        address: entry.u64(at!(Site.address)),
        count: entry.u64(at!(Site.count)),
        ns: entry.u64(at!(Site.ns)),
        max_ns: entry.u64(at!(Site.max_ns)),
    })
}

fn stack(entry: Entry<'_>) -> Option<Stack> {
    let site = entry.u32(at!(Stack.site)) as usize;
    let depth = (entry.u32(at!(Stack.depth)) as usize).min(FRAMES);
    (entry.u64(at!(Stack.key)) != 0 && site < layout::SITES && depth > 0).then(|| Stack {
        site,
        count: entry.u64(at!(Stack.count)),
        ns: entry.u64(at!(Stack.ns)),
        frames: (0..depth).map(|i| entry.u64(at!(Stack.frames) + 8 * i)).collect(),
    })
}

fn thread(entry: Entry<'_>) -> Option<Thread> {
    let tid = entry.u32(at!(Thread.tid));
    (tid != 0).then(|| Thread {
        tid,
        name: entry.text(at!(Thread.name), 16),
        waits: entry.u64(at!(Thread.waits)),
        ns: entry.u64(at!(Thread.ns)),
        max_ns: entry.u64(at!(Thread.max_ns)),
    })
}

fn module(entry: Entry<'_>) -> Option<Module> {
    let (start, end) = (entry.u64(at!(Module.start)), entry.u64(at!(Module.end)));
    (start != 0 && start < end).then(|| Module {
        base: entry.u64(at!(Module.base)),
        start,
        end,
        path: entry.text(at!(Module.path), 232),
    })
}

impl Snapshot {
    /// What was counted since an earlier reading of the same file. What is longest or most stays
    /// that of all time.
    #[must_use]
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        let mut since = self.clone();
        for (now, before) in since.events.iter_mut().zip(&earlier.events) {
            *now = now.saturating_sub(*before);
        }
        for (now, before) in since.lost.iter_mut().zip(earlier.lost) {
            *now = now.saturating_sub(before);
        }
        for (now, before) in since.locks.iter_mut().zip(&earlier.locks) {
            if let (Some(now), Some(before)) = (now, before) {
                now.subtract(before);
            }
        }
        for (now, before) in since.sites.iter_mut().zip(&earlier.sites) {
            if let (Some(now), Some(before)) = (now, before) {
                now.count = now.count.saturating_sub(before.count);
                now.ns = now.ns.saturating_sub(before.ns);
            }
        }
        for now in &mut since.stacks {
            let same = |s: &&Stack| s.site == now.site && s.frames == now.frames;
            if let Some(before) = earlier.stacks.iter().find(same) {
                now.count = now.count.saturating_sub(before.count);
                now.ns = now.ns.saturating_sub(before.ns);
            }
        }
        for now in &mut since.threads {
            if let Some(before) = earlier.threads.iter().find(|thread| thread.tid == now.tid) {
                now.waits = now.waits.saturating_sub(before.waits);
                now.ns = now.ns.saturating_sub(before.ns);
            }
        }
        since
    }
}

impl Lock {
    fn subtract(&mut self, before: &Lock) {
        for (now, before) in [
            (&mut self.acquisitions, before.acquisitions),
            (&mut self.owner_changes, before.owner_changes),
            (&mut self.contended, before.contended),
            (&mut self.slept, before.slept),
            (&mut self.failed, before.failed),
            (&mut self.wait_ns, before.wait_ns),
            (&mut self.holds, before.holds),
            (&mut self.hold_ns, before.hold_ns),
        ] {
            *now = now.saturating_sub(before);
        }
        for (now, before) in self.histogram.iter_mut().zip(before.histogram) {
            *now = now.saturating_sub(before);
        }
    }

    /// The wait that so much of all waits (0 to 1) is not longer than, from the histogram: within
    /// an eighth, and never above the longest.
    pub fn quantile_ns(&self, part: f64) -> u64 {
        quantile_ns(&self.histogram, self.wait_max_ns, part)
    }
}

/// See [`Lock::quantile_ns`], of histograms that were added up.
pub fn quantile_ns(histogram: &[impl Into<u64> + Copy], max_ns: u64, part: f64) -> u64 {
    let total: u64 = histogram.iter().fold(0, |sum, &n| sum.saturating_add(n.into()));
    let wanted = (total as f64 * part).ceil() as u64;
    let mut seen = 0_u64;
    for (bucket, &count) in histogram.iter().enumerate() {
        seen = seen.saturating_add(count.into());
        if seen >= wanted && seen > 0 {
            let start = layout::bucket_start_ns(bucket);
            let end = layout::bucket_start_ns(bucket + 1);
            return (start.midpoint(end)).min(max_ns);
        }
    }
    max_ns
}

/// The file's name for a process: others of the same process have another `number`.
pub fn file_name(pid: u32, number: u64) -> String {
    std::format!("{pid}-{number:016x}")
}

/// The process that a file of this name is of.
pub fn pid_of(name: &str) -> Option<u32> {
    let (pid, number) = name.split_once('-')?;
    let hex = number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pid: u32 = pid.parse().ok()?;
    (hex && pid != 0 && file_name(pid, u64::from_str_radix(number, 16).ok()?) == name)
        .then_some(pid)
}

impl Snapshot {
    /// The executable's name without its folders.
    pub fn program_name(&self) -> String {
        self.program.rsplit('/').next().unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests;
