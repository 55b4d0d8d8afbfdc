//! Finding and making entries of the tables. No entry is ever given back, so one that was found
//! stays.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_platform::Native;
use lockwright_statfile::key::{self, GOLDEN};
use lockwright_statfile::{FRAMES, File, Kind, Lock, Role, Site, Stack, Thread};

/// How many places are looked at before a table counts as full.
const PROBES: usize = 64;

/// Adds to a counter that many threads add to.
pub fn add(counter: &AtomicU64, n: u64) {
    // Ordering: Relaxed, stat
    counter.fetch_add(n, Relaxed);
}

/// Adds to a counter that the calling thread alone adds to.
pub fn add_own(counter: &AtomicU64, n: u64) {
    // Ordering: Relaxed, stat (block)
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Raises a maximum. Most figures are below it, and write nothing.
pub fn raise(most: &AtomicU64, n: u64) {
    // Ordering: Relaxed, stat (block)
    if most.load(Relaxed) < n {
        most.fetch_max(n, Relaxed);
    }
}

/// The entry with this key in a table, and its index; made if there is none and `make` says what to
/// write into it.
fn find<T>(
    table: &[T],
    key_of: impl Fn(&T) -> &AtomicU64,
    key: u64,
    make: Option<impl FnOnce(&T)>,
) -> Option<(u32, &T)> {
    let start = (key.wrapping_mul(GOLDEN) >> 32) as usize;
    let mut make = make;
    for probe in 0..PROBES.min(table.len()) {
        let index = (start + probe) % table.len();
        let entry = &table[index];
        // Ordering: Relaxed, hint (an entry keeps its key; what else is in it are counters)
        let found = key_of(entry).load(Relaxed);
        if found == key {
            return Some((index as u32, entry));
        }
        if found == 0 {
            let write = make.take()?;
            // Ordering: Relaxed, hint (as above) (block)
            match key_of(entry).compare_exchange(0, key, Relaxed, Relaxed) {
                Ok(_) => {
                    write(entry);
                    return Some((index as u32, entry));
                }
                Err(theirs) if theirs == key => return Some((index as u32, entry)),
                Err(_) => make = Some(write),
            }
        }
    }
    None
}

/// The entry of a lock; made for one that is waited for the first time.
pub fn lock(file: &File, address: usize, kind: Kind, made_at: usize) -> Option<(u32, &Lock)> {
    let found = find(
        &file.locks,
        |lock| &lock.address,
        address as u64,
        Some(|lock: &Lock| {
            // Ordering: Relaxed, stat (block)
            lock.kind.store(kind as u32, Relaxed);
            lock.made_at.store(made_at as u64, Relaxed);
        }),
    );
    if found.is_none() {
        add(&file.header.lost_locks, 1);
    }
    found
}

/// The entry of a lock that somebody has waited for.
pub fn known_lock(file: &File, address: usize) -> Option<(u32, &Lock)> {
    find(&file.locks, |lock| &lock.address, address as u64, None::<fn(&Lock)>)
}

/// The entry of a call.
pub fn site(file: &File, lock: u32, role: u32, from: usize) -> Option<(u32, &Site)> {
    let key = key::of_site(lock, role, from as u64);
    let found = find(
        &file.sites,
        |site| &site.key,
        key,
        Some(|site: &Site| {
            // Ordering: Relaxed, stat (block)
            site.lock.store(lock, Relaxed);
            site.role.store(role, Relaxed);
            site.address.store(from as u64, Relaxed);
        }),
    );
    if found.is_none() {
        add(&file.header.lost_sites, 1);
    }
    found
}

/// Counts a wait or a hold of `ns` at a site; with a stack, that stands for what came since the
/// last one.
pub fn count_at(file: &File, site: (u32, &Site), ns: u64, frames: Option<&[usize]>) {
    let (index, site) = site;
    add(&site.count, 1);
    add(&site.ns, ns);
    raise(&site.max_ns, ns);
    let Some(frames) = frames else {
        add(&site.pending_count, 1);
        add(&site.pending_ns, ns);
        return;
    };
    let key = key::of_stack(index, frames.iter().map(|&frame| frame as u64));
    let found = find(
        &file.stacks,
        |stack| &stack.key,
        key,
        Some(|stack: &Stack| {
            // Ordering: Relaxed, stat (block)
            stack.site.store(index, Relaxed);
            for (place, &frame) in stack.frames.iter().zip(frames) {
                place.store(frame as u64, Relaxed);
            }
            stack.depth.store(frames.len().min(FRAMES) as u32, Relaxed);
        }),
    );
    let Some((_, stack)) = found else {
        add(&file.header.lost_stacks, 1);
        return;
    };
    // Ordering: Relaxed, stat (block)
    add(&stack.count, 1 + site.pending_count.swap(0, Relaxed));
    add(&stack.ns, ns + site.pending_ns.swap(0, Relaxed));
}

/// The entry of the calling thread. `known` is where it was last time, plus 1.
pub fn thread(file: &File, known: u32) -> Option<(u32, &Thread)> {
    let tid = Native::tid();
    // Ordering: Relaxed, hint (an entry keeps its thread)
    if let Some(entry) = file.threads.get((known as usize).wrapping_sub(1))
        && entry.tid.load(Relaxed) == tid
    {
        return Some((known - 1, entry));
    }
    let start = (u64::from(tid).wrapping_mul(GOLDEN) >> 32) as usize;
    for probe in 0..PROBES {
        let index = (start + probe) % file.threads.len();
        let entry = &file.threads[index];
        // Ordering: Relaxed, hint (an entry keeps its thread)
        let found = entry.tid.load(Relaxed);
        // Ordering: Relaxed, hint (as above)
        if found == tid
            || found == 0 && entry.tid.compare_exchange(0, tid, Relaxed, Relaxed).is_ok()
        {
            if found == 0 {
                name(entry);
            }
            return Some((index as u32, entry));
        }
    }
    add(&file.header.lost_threads, 1);
    None
}

fn name(entry: &Thread) {
    let mut name = [0_u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    for (place, byte) in entry.name.iter().zip(name) {
        // Ordering: Relaxed, stat
        place.store(byte, Relaxed);
    }
}

/// As a word of the tables.
pub fn role(reads: bool) -> u32 {
    (if reads { Role::WaitsToRead } else { Role::Waits }) as u32
}
