//! The crowd word of a record: its users and spinners. Edges: see the parent module.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_platform::{Platform, Word};

use super::{READER_SPINS, Record, attach, ctl};

/// A user: the record stays attached while there is one.
pub(super) const USER: u64 = 1;
pub(super) const USERS: u64 = (1 << 20) - 1;
/// A user that is admitted to the OSQ.
pub(super) const SPINNER: u64 = 1 << 20;
pub(super) const SPINNERS: u64 = 0xfff << 20;
/// Counts attachments; comes round after 2^32 of them.
pub(super) const ATTACHED: u64 = 1 << 32;

/// More CPUs than this do not make more spinners.
const MOST_SPINNERS: u32 = 4_000;

impl<P: Platform> Record<P> {
    /// Admits a spinning reader, if none is there. The caller is a user.
    pub fn admit_reader(&self) -> bool {
        // Ordering: Relaxed, hint (policy only)
        self.words.words[READER_SPINS].swap(1, Relaxed) == 0
    }

    /// The spinning reader has gone.
    pub fn dismiss_reader(&self) {
        // Ordering: Relaxed, hint (policy only)
        self.words.words[READER_SPINS].store(0, Relaxed);
    }

    /// The caller, a spinner, is a mere user from now on.
    pub fn stop_spinning(&self) {
        // Ordering: Relaxed, hint (a number for the next spinner's admission)
        self.crowd().fetch_sub(SPINNER, Relaxed);
    }

    /// The caller, a spinner, has gone; the last user detaches the record from the lock.
    pub fn leave_spinning(self, control: &P::Word<u32>) {
        // Ordering: Release, [record.left]: pairs with the load in settle()
        let before = self.crowd().fetch_sub(USER + SPINNER, Release);
        if before & USERS != USER {
            return;
        }
        let guarded = self.acquire(None);
        // Ordering: Relaxed, sequence (inside the guard, [record.guard])
        if ctl::record(control.load(Relaxed)) == Some(self.id) {
            guarded.settle(control);
        }
    }
}

/// As [`attach`], as a spinner, if fewer than `most` are there, and without the guard. The caller
/// is a user until [`Record::leave_spinning`], or goes on as one after [`Record::stop_spinning`].
pub fn join_spinners<P: Platform>(control: &P::Word<u32>, most: u32) -> Option<Record<P>> {
    let most = u64::from(most.min(MOST_SPINNERS)) * SPINNER;
    if most == 0 {
        return None;
    }
    if let Some(joined) = join(control, most) {
        return joined.ok();
    }
    let guarded = attach::<P>(control, None)?;
    let record = guarded.record();
    // Ordering: Relaxed, hint (policy only; the caller is a user already)
    if record.crowd().fetch_add(SPINNER, Relaxed) & SPINNERS >= most {
        record.stop_spinning();
        guarded.leave(control);
        return None;
    }
    Some(record)
}

/// `None`: no record is attached, or nobody uses it any more. `Err`: enough spinners are there.
fn join<P: Platform>(control: &P::Word<u32>, most: u64) -> Option<Result<Record<P>, ()>> {
    // Ordering: Acquire, [record.attach]: pairs with the exchange in attach_new()
    let id = ctl::record(control.load(Acquire))?;
    let record = Record::<P>::at(id);
    // Ordering: Acquire, [record.crowd]: pairs with the store in attach_new(): if this is the
    // crowd of another lock, ours is seen below to have let go of the record
    let mut seen = record.crowd().load(Acquire);
    loop {
        // Ordering: Acquire, [record.attach]: as above. The record was this lock's at one moment
        // after `seen` was read; if the crowd is still the same it is so now
        if seen & USERS == 0 || ctl::record(control.load(Acquire)) != Some(id) {
            return None;
        }
        if seen & SPINNERS >= most {
            return Some(Err(()));
        }
        let more = seen + USER + SPINNER;
        // Ordering: Relaxed, sequence (atomic: no detaching, which leaves no users, and so no other
        // [record.crowd] is missed); Acquire, [record.crowd]: as above
        match record.crowd().compare_exchange(seen, more, Relaxed, Acquire) {
            Ok(_) => return Some(Ok(record)),
            Err(now) => seen = now,
        }
    }
}
