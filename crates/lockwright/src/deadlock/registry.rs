//! Which thread holds what and waits for what.
//!
//! Each thread keeps this of itself, under a mutex of the standard library, so that the detector does
//! not wait for what it looks at. A hold is noted after the lock has been taken and struck out before
//! it is given back, a wait is struck out after it has ended: what is noted between two looks at a
//! thread that changed nothing in between was true at one moment for all such threads.

use std::cell::RefCell;
use std::fmt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::thread::ThreadId;
use std::time::Duration;

use backtrace::Backtrace;
use lockwright_platform::{Native, Platform, Slot, set_park_hook};

use super::{DeadlockedThread, graph};
use crate::raw::{Key, Mode, Wait};

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub key: Key,
    pub mode: Mode,
}

/// A lock that a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub key: Key,
    pub mode: Mode,
    /// The thread keeps an upgradable hold meanwhile, for which it does not wait.
    pub upgrades: bool,
    /// The wait ends by itself.
    pub timed: bool,
}

impl Waiting {
    pub(crate) fn to_take(key: Key, mode: Mode, wait: Wait) -> Self {
        Waiting { key, mode, upgrades: false, timed: wait != Wait::Always }
    }

    pub(crate) fn to_upgrade(key: Key, wait: Wait) -> Self {
        Waiting { upgrades: true, ..Waiting::to_take(key, Mode::Write, wait) }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.mode {
            _ if self.upgrades => "to upgrade",
            Mode::Read | Mode::ReadAgain => "to read",
            Mode::Upgradable => "to read upgradably",
            Mode::Write => "for",
        };
        write!(f, "{what} {:#x}", self.key.0)
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.mode {
            Mode::Read | Mode::ReadAgain => " for reading",
            Mode::Upgradable => " for upgradable reading",
            Mode::Write => "",
        };
        write!(f, "{:#x}{how}", self.key.0)
    }
}

/// What a thread notes of itself.
#[derive(Clone, Default)]
pub(super) struct Notes {
    pub holds: Vec<Hold>,
    pub waits: Option<Waiting>,
    /// How often the two above have changed.
    changes: u64,
    /// It has been reported as it is now.
    reported: bool,
    slot: Option<Slot>,
    /// Who wants to know where it waits.
    asks: Option<Sender<Backtrace>>,
}

struct Thread {
    id: ThreadId,
    name: Option<String>,
    notes: Mutex<Notes>,
}

impl Thread {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut Notes)) {
        let mut notes = self.notes();
        change(&mut notes);
        notes.changes += 1;
        notes.reported = false;
    }
}

static THREADS: Mutex<Vec<Weak<Thread>>> = Mutex::new(Vec::new());

thread_local! {
    static ME: RefCell<Option<Arc<Thread>>> = const { RefCell::new(None) };
}

fn threads() -> MutexGuard<'static, Vec<Weak<Thread>>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling thread's notes; `None` while its thread-local values are destroyed: what it does with
/// locks then is not noted.
fn me() -> Option<Arc<Thread>> {
    ME.try_with(|me| {
        let mut me = me.try_borrow_mut().ok()?;
        Some(me.get_or_insert_with(enlist).clone())
    })
    .ok()
    .flatten()
}

#[cold]
fn enlist() -> Arc<Thread> {
    static ANSWERS: Once = Once::new();
    ANSWERS.call_once(|| set_park_hook(answer));
    let current = std::thread::current();
    let name = current.name().map(str::to_owned);
    let thread = Arc::new(Thread { id: current.id(), name, notes: Mutex::default() });
    let mut all = threads();
    all.retain(|thread| thread.strong_count() > 0);
    all.push(Arc::downgrade(&thread));
    thread
}

/// The caller has taken the lock.
pub(super) fn hold(key: Key, mode: Mode) {
    if let Some(me) = me() {
        me.note(|notes| notes.holds.push(Hold { key, mode: plain(mode) }));
    }
}

/// The caller gives the lock back: its own hold of it, or that of the thread that took it.
pub(super) fn release(key: Key, mode: Mode) {
    let Some(me) = me() else { return };
    let hold = Hold { key, mode: plain(mode) };
    if !strike_out(&me, hold) {
        // Unlocked by force.
        let others: Vec<_> = threads().iter().filter_map(Weak::upgrade).collect();
        others.iter().any(|other| strike_out(other, hold));
    }
}

fn strike_out(thread: &Thread, hold: Hold) -> bool {
    let place = thread.notes().holds.iter().rposition(|held| *held == hold);
    let Some(place) = place else { return false };
    thread.note(|notes| _ = notes.holds.swap_remove(place));
    true
}

fn plain(mode: Mode) -> Mode {
    if mode == Mode::ReadAgain { Mode::Read } else { mode }
}

/// The caller waits for a lock until this is dropped.
#[must_use]
pub(super) struct Waits(Option<Arc<Thread>>);

/// The caller begins to wait.
pub(super) fn wait(waiting: Waiting) -> Waits {
    let me = me();
    if let Some(me) = &me {
        // A thread that keeps no slot cannot be woken to answer; it looks by itself from time to time.
        let slot = Native::enter().map(|entered| entered.slot());
        let kept = slot.filter(|_| Native::my_record().is_some());
        me.note(|notes| {
            notes.waits = Some(waiting);
            notes.slot = kept;
        });
    }
    Waits(me)
}

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(me) = &self.0 {
            me.note(|notes| notes.waits = None);
        }
    }
}

/// Runs on a thread that is about to sleep in a lock operation.
fn answer() {
    let Some(me) = me() else { return };
    let asks = me.notes().asks.take();
    if let Some(asks) = asks {
        // Who asked may have given up.
        _ = asks.send(Backtrace::new());
    }
}

/// How often a look at threads that changed meanwhile is repeated.
const LOOKS: u32 = 4;
/// How long a thread may take to tell where it waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// See [`super::check_deadlock`].
pub(super) fn check() -> Vec<Vec<DeadlockedThread>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..LOOKS {
        let threads: Vec<_> = threads().iter().filter_map(Weak::upgrade).collect();
        let seen: Vec<Notes> = threads.iter().map(|thread| thread.notes().clone()).collect();
        let stuck = graph::stuck(&seen);
        let stands = |&i: &usize| threads[i].notes().changes == seen[i].changes;
        if stuck.iter().all(stands) {
            let news = |group: &Vec<usize>| group.iter().any(|&i| !seen[i].reported);
            let groups = graph::cycles(&seen, &stuck).into_iter().filter(news);
            return groups.map(|group| report(group.iter().map(|&i| &*threads[i]))).collect();
        }
    }
    // Threads that move are not stuck; a deadlock beside them stays for the next check.
    Vec::new()
}

fn report<'a>(threads: impl Iterator<Item = &'a Thread>) -> Vec<DeadlockedThread> {
    let asked: Vec<_> = threads
        .map(|thread| {
            let (asks, answer) = channel();
            let mut notes = thread.notes();
            notes.asks = Some(asks);
            notes.reported = true;
            if let Some(slot) = notes.slot {
                Native::unpark(slot);
            }
            (thread, answer)
        })
        .collect();
    asked
        .into_iter()
        .map(|(thread, answer)| {
            let backtrace = answer.recv_timeout(PATIENCE).unwrap_or_else(|_| Vec::new().into());
            let notes = thread.notes();
            DeadlockedThread {
                thread_id: thread.id,
                name: thread.name.clone(),
                waiting: notes.waits,
                holds: notes.holds.clone(),
                backtrace,
            }
        })
        .collect()
}
