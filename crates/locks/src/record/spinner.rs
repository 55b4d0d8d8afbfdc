//! Spinning beside a record's queue of sleepers. Edges: see the parent module.

use lockwright_platform::{Me, Platform, Until};

use super::{Anchor, Record};
use crate::mcs::Missed;
use crate::osq::Seat;

/// A thread that is the one to spin on a lock. Whatever it does next, it must [leave](Self::leave).
#[must_use]
pub struct Spinner<'m, P: Platform> {
    record: Record<P>,
    me: &'m Me<P>,
    seat: Seat<P>,
}

impl<'m, P: Platform> Spinner<'m, P> {
    /// Waits for the turn to spin on the lock with this anchor, behind fewer than `most` others and until
    /// `until` ends the wait. `None`: it should not spin now.
    pub fn join(anchor: impl Anchor<P>, me: &'m Me<P>, until: Until, most: u32) -> Option<Self> {
        if most == 0 {
            return None;
        }
        loop {
            let Some(id) = anchor.index() else {
                match Self::join_new(&anchor, me)? {
                    Some(spinner) => return Some(spinner),
                    None => continue,
                }
            };
            let record = Record::at(id);
            match record.osq().join(me, until, most, || anchor.index() == Some(id)) {
                Ok(seat) => return Some(Spinner { record, me, seat }),
                Err(Missed::Closed) if anchor.index() != Some(id) => {}
                // If closed: the record is being detached; not worth a wait.
                Err(_) => return None,
            }
        }
    }

    /// With a record of its own: nobody waits for the lock yet. Inner `None`: another thread attached one
    /// first.
    fn join_new(anchor: &impl Anchor<P>, me: &'m Me<P>) -> Option<Option<Self>> {
        let record = Record::<P>::at(P::claim_lock_record()?);
        record.clear();
        let seat = record.osq().join_first(me);
        let joined = seat.is_some();
        if let Some(seat) = seat
            && anchor.attach(record.id)
        {
            return Some(Some(Spinner { record, me, seat }));
        }
        record.osq().clear();
        // SAFETY: claimed above for a lock that did not take it (1).
        unsafe { P::return_lock_record(record.id) };
        joined.then_some(None)
    }

    /// The record, which is the lock's as long as the caller spins.
    pub fn record(&self) -> Record<P> {
        self.record
    }

    /// Lets the next spin. The last to leave the record detaches it from the lock.
    pub fn leave(self, anchor: impl Anchor<P>) {
        if self.record.osq().leave(self.me, self.seat) {
            self.record.detach(anchor).give_back();
        }
    }
}
