//! Statistics of locks, for `lockwright stat` and `top`.
//!
//! Off, they cost nothing. Asked for, an uncontended lock counts its acquisitions in its own
//! object, by its owner while it holds it; no clock is read and no other line written. A contended
//! lock has an entry in the [file](lockwright_statfile): a waiter looks at the counter before and
//! after its wait, and enters the wait after it has released the lock again; whoever releases a
//! lock that others wait for is blamed for what they have waited since the last release, all of
//! them added up. Stacks are taken by threads that are about to sleep anyway, or by few others, and
//! stand for what came since the last one of the same call.
//!
//! | environment | what |
//! |---|---|
//! | `LOCKWRIGHT_STAT_DIR` | where the file is made; without it there are no statistics |
//! | `LOCKWRIGHT_STAT` | `collect`: from the start; else only when a reader asks. `,hold=N`: time one in N holds |

mod file;
mod modules;
mod stack;
mod tables;
mod waiting;
mod words;

use core::sync::atomic::Ordering::Relaxed;

use lockwright_locks::events::Counts;
use lockwright_platform::{Native, Platform};
use lockwright_statfile::{EVENTS, File, Kind, Lock, Role, bucket};

use crate::settings;
use words::{IDLE, WAITED, WAITING, Words, words};

pub use file::{asked, end, fork_in_child, hold_every, start};

/// Least time between two stacks of one thread, but for the first: about a hundredth of it goes
/// into stacks.
const STACK_EVERY_NS: u64 = 200_000;
/// The same for a stack that is taken with the lock held.
const HELD_STACK_EVERY_NS: u64 = 2_000_000;
/// Least time between two releases of one lock that its holder is blamed for: what is waited until then falls to the
/// next. (A slice of a saturated lock lasts a hundred times as long; charged at each release, eight threads that
/// do nothing else took 3.4 s where they take 2.1 so.)
const CHARGE_EVERY_NS: u64 = 5_000;
/// How often lock events are written to the file, by whoever waits then.
const EVENTS_EVERY_NS: u64 = 50_000_000;

/// What of an object statistics have to do with.
pub struct Object {
    /// Its address.
    pub address: usize,
    /// What it is.
    pub kind: Kind,
    /// Where it was made by a call, or 0.
    pub made_at: usize,
}

/// A wait begins, of a caller that the lock was refused to. False: it is not to be counted.
#[cold]
pub fn begin(object: &Object, reads: bool, from: usize) -> bool {
    let Some(file) = file::collecting() else { return false };
    words(|w| {
        if w.busy.get() || w.state.get() == WAITING {
            // In a signal handler.
            return false;
        }
        enter_wait(file, w);
        let Some((index, lock)) = tables::lock(file, object.address, object.kind, object.made_at)
        else {
            return false;
        };
        w.lock.set(lock);
        w.index.set(index);
        w.role.set(tables::role(reads));
        w.from.set(from);
        w.slept.set(false);
        w.depth.set(0);
        let start = Native::ticks();
        let Some(waiters) = waiting::begin(&lock.waiting, start) else {
            return false;
        };
        w.start.set(start);
        w.state.set(WAITING);
        // Ordering: Relaxed, stat (block)
        if lock.most_waiters.load(Relaxed) < waiters {
            lock.most_waiters.fetch_max(waiters, Relaxed);
        }
        true
    })
}

/// The wait has ended; with the lock, if `got`, whose object counts so many acquisitions and
/// changes of owner.
pub fn finish(got: bool, counts: Option<(u32, u32)>) {
    words(|w| {
        w.end.set(Native::ticks());
        w.got.set(got);
        let (acquisitions, changes) = counts.unwrap_or_default();
        w.acquisitions.set(acquisitions);
        w.changes.set(changes);
        w.state.set(WAITED);
        if !got {
            settle();
        } else if w.depth.get() == 0 && w.end.get() >= w.next_wait_stack.get() {
            take_stack(w, HELD_STACK_EVERY_NS);
        }
    });
}

/// Enters a wait that has ended into the tables, if there is one. With no lock held that is
/// contended, if it can be chosen.
pub fn settle() {
    words(|w| {
        if w.state.get() == WAITED
            && !w.busy.get()
            && let Some(file) = file::open()
        {
            enter_wait(file, w);
        }
    });
}

fn enter_wait(file: &File, w: &Words) {
    if w.state.get() != WAITED {
        return;
    }
    w.busy.set(true);
    // SAFETY: set by begin() to an entry of the file, which stays mapped.
    let lock = unsafe { &*w.lock.get() };
    let (start, ticks) = (w.start.get(), w.end.get().saturating_sub(w.start.get()));
    let ns = Native::ns_of(ticks);
    // Ordering: Relaxed, stat (block)
    waiting::end(&lock.waiting, start);
    lock.waited_ticks.fetch_add(ticks, Relaxed);
    lock.wait_ns.fetch_add(ns, Relaxed);
    tables::raise(&lock.wait_max_ns, ns);
    lock.histogram[bucket(ns)].fetch_add(1, Relaxed);
    if w.got.get() {
        lock.contended.fetch_add(1, Relaxed);
        if w.slept.get() {
            lock.slept.fetch_add(1, Relaxed);
        }
        note_counts(lock, w.acquisitions.get(), w.changes.get());
    } else {
        lock.failed.fetch_add(1, Relaxed);
    }

    if let Some((index, thread)) = tables::thread(file, w.thread.get()) {
        w.thread.set(index + 1);
        tables::add_own(&thread.waits, 1);
        tables::add_own(&thread.ns, ns);
        tables::raise(&thread.max_ns, ns);
    }
    count_at_site(file, w, w.index.get(), w.role.get(), w.from.get(), ns);
    w.state.set(IDLE);
    w.busy.set(false);
    write_events(file);
}

fn count_at_site(file: &File, w: &Words, index: u32, role: u32, from: usize, ns: u64) {
    let Some(site) = tables::site(file, index, role, from) else { return };
    let mut frames = [0; lockwright_statfile::FRAMES];
    let depth = (w.depth.get() as usize).min(frames.len());
    for (place, frame) in frames[..depth].iter_mut().zip(&w.frames) {
        *place = frame.get();
    }
    let frames = &frames[..depth];
    tables::count_at(file, site, ns, (depth > 0).then_some(frames));
    modules::cover(file, frames.iter().copied().chain([from]));
    w.depth.set(0);
}

/// Takes what an object counts over into its lock's entry. Not every reading comes in order.
fn note_counts(lock: &Lock, acquisitions: u32, changes: u32) {
    for (seen, total, now) in [
        (&lock.seen_acquisitions, &lock.acquisitions, acquisitions),
        (&lock.seen_changes, &lock.owner_changes, changes),
    ] {
        // Ordering: Relaxed, stat
        let before = seen.load(Relaxed);
        let more = now.wrapping_sub(before);
        if more > u32::MAX / 2 {
            // Older than what was seen: or the object is another one at the same place.
            if now < before / 2 {
                // Ordering: Relaxed, stat (block)
                seen.store(now, Relaxed);
                total.fetch_add(now.into(), Relaxed);
            }
            continue;
        }
        // Ordering: Relaxed, stat (block)
        if seen.compare_exchange(before, now, Relaxed, Relaxed).is_ok() {
            total.fetch_add(more.into(), Relaxed);
        }
    }
}

/// The thread is about to sleep in a lock operation.
fn about_to_sleep() {
    words(|w| {
        if w.state.get() == WAITING && !w.busy.get() {
            w.slept.set(true);
            if w.depth.get() == 0 && Native::ticks() >= w.next_wait_stack.get() {
                take_stack(w, STACK_EVERY_NS);
            }
        }
    });
}

fn take_stack(w: &Words, next_ns: u64) {
    w.busy.set(true);
    w.depth.set(stack::take(&w.frames, w.from.get()));
    w.next_wait_stack.set(Native::ticks() + Native::ticks_of(next_ns));
    w.busy.set(false);
}

/// What others have waited for a hold that ends now.
#[derive(Clone, Copy)]
pub struct Charge {
    lock: u32,
    ns: u64,
    at: u64,
}

/// A lock that others wait for is about to be released: what they have waited since the last
/// release. With the lock still held, or a waiter that it goes to could release it first, and would
/// be blamed for what it has waited itself. A thread that releases one lock again and again is charged now and then.
#[cold]
pub fn charge(address: usize) -> Option<Charge> {
    let file = file::collecting()?;
    let at = Native::ticks();
    let just_now = words(|w| {
        let ago = at.wrapping_sub(w.charged_at.get());
        let same = w.charged.get() == address && ago < Native::ticks_of(CHARGE_EVERY_NS);
        if !same {
            w.charged.set(address);
            w.charged_at.set(at);
        }
        same
    });
    if just_now {
        return None;
    }
    let (lock, entry) = tables::known_lock(file, address)?;
    // Read one by one, so a wait that ends just now may be in both; the next release makes up for it.
    let now = waiting::together(&entry.waiting, at);
    // Ordering: Relaxed, stat (block)
    let all = entry.waited_ticks.load(Relaxed).wrapping_add(now);
    let before = entry.blamed_ticks.fetch_max(all, Relaxed);
    Some(Charge { lock, ns: Native::ns_of(all.saturating_sub(before)), at })
}

/// It has been released: whoever did that is blamed. The object may be gone.
#[cold]
pub fn blame(charge: Option<Charge>, from: usize) {
    settle();
    let (Some(charge), Some(file)) = (charge.filter(|charge| charge.ns > 0), file::collecting())
    else {
        return;
    };
    words(|w| {
        if w.busy.get() {
            return;
        }
        w.busy.set(true);
        if charge.at >= w.next_hold_stack.get() {
            w.depth.set(stack::take(&w.frames, from));
            w.next_hold_stack.set(charge.at + Native::ticks_of(STACK_EVERY_NS));
        }
        count_at_site(file, w, charge.lock, Role::MakesWait as u32, from, charge.ns);
        w.busy.set(false);
    });
}

/// An acquisition of a lock that counts so many: perhaps its hold is to be timed.
#[inline]
pub fn hold_begins(address: usize, acquisitions: u32) {
    let every = hold_every();
    if every != 0 && acquisitions.is_multiple_of(every) {
        words(|w| {
            w.held.set(address);
            w.held_since.set(Native::ticks());
        });
    }
}

/// The lock is about to be released.
#[inline]
pub fn hold_ends(address: usize) {
    if hold_every() == 0 {
        return;
    }
    words(|w| {
        if w.held.get() != address {
            return;
        }
        w.held.set(0);
        let ns = Native::ns_of(Native::ticks().saturating_sub(w.held_since.get()));
        if let Some((_, lock)) =
            file::collecting().and_then(|file| tables::known_lock(file, address))
        {
            // Ordering: Relaxed, stat (block)
            lock.holds.fetch_add(1, Relaxed);
            lock.hold_ns.fetch_add(ns, Relaxed);
            tables::raise(&lock.hold_max_ns, ns);
        }
    });
}

/// A lock is destroyed, whose object counts so many acquisitions and changes of owner.
#[cold]
pub fn destroyed(address: usize, counts: Option<(u32, u32)>) {
    let Some((_, lock)) = file::collecting().and_then(|file| tables::known_lock(file, address))
    else {
        return;
    };
    if let Some((acquisitions, changes)) = counts {
        note_counts(lock, acquisitions, changes);
    }
    // The next one there begins anew.
    // Ordering: Relaxed, stat (block)
    lock.seen_acquisitions.store(0, Relaxed);
    lock.seen_changes.store(0, Relaxed);
    lock.destroyed.fetch_add(1, Relaxed);
}

/// Writes the lock events to the file, if they have not been written lately.
fn write_events(file: &File) {
    let now = Native::now();
    // Ordering: Relaxed, hint (the exchange decides who writes) (block)
    let at = file.header.events_at.load(Relaxed);
    if now.saturating_sub(at) < EVENTS_EVERY_NS {
        return;
    }
    if file.header.events_at.compare_exchange(at, now, Relaxed, Relaxed).is_ok() {
        write_events_now(file);
        file::heed_control();
    }
}

fn write_events_now(file: &File) {
    for (place, (_, count)) in file.header.events.iter().zip(Counts::now::<Native>().iter()) {
        // Ordering: Relaxed, stat
        place.store(count, Relaxed);
    }
}

const _: () = assert!(lockwright_locks::events::Event::ALL.len() <= EVENTS);

/// Whether statistics are collected now.
#[inline]
pub fn is_on() -> bool {
    settings::counts()
}
