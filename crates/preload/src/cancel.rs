//! Cancellation: condition waits are cancellation points.
//!
//! The C library cancels a thread at `pthread_testcancel`, or by a signal in its own sleeping
//! calls, of which ours is none. So `pthread_cancel` is taken over: it asks the C library to cancel
//! the thread, and then ends its wait if it is in one of ours. The thread leaves the queue,
//! acquires its mutex, and only then comes to `pthread_testcancel`: nothing is held or half done
//! when it unwinds. Who was notified first is not stopped any more, so no notification is lost; the
//! thread is cancelled at the next cancellation point. A thread that does not let itself be
//! cancelled returns from its wait without reason, as POSIX allows.
//!
//! ```text
//! Edges
//!  [cancel.stop]  pthread_cancel: fence SeqCst between CANCELS and WAITING <-> waits: fence SeqCst between WAITING and CANCELS  one of the two sees the other's store
//!  [cancel.told]  pthread_cancel: CANCELS fetch_add Release -> is_stopped: CANCELS load Acquire  publishes that the C library has noted the cancellation
//! ```

use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicUsize, fence};

use libc::pthread_t;
use lockwright_locks::condvar::Stop;
use lockwright_platform::threads::CAPACITY;
use lockwright_platform::{Native, Platform, Slot};

use crate::entry::export;
use crate::real;

unsafe extern "C-unwind" {
    pub fn pthread_testcancel();
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

const DISABLE: c_int = 1;

/// Forbids that the thread is cancelled; returns what was said before.
pub fn disable() -> c_int {
    let mut old = 0;
    // SAFETY: `old` is a valid place.
    unsafe { pthread_setcancelstate(DISABLE, &mut old) };
    old
}

/// Allows it again, if it was allowed.
pub fn restore(old: c_int) {
    // SAFETY: the C library knows the state; the old one is not wanted.
    unsafe { pthread_setcancelstate(old, core::ptr::null_mut()) };
}

/// Which thread waits in each slot; 0 for none.
static WAITING: [AtomicUsize; CAPACITY] = [const { AtomicUsize::new(0) }; CAPACITY];

/// How many cancellations there have been, modulo 2^32.
static CANCELS: AtomicU32 = AtomicU32::new(0);

/// A wait that a cancellation stops.
pub struct Watch {
    /// Cancellations before it.
    seen: u32,
    slot: Cell<Option<Slot>>,
}

impl Watch {
    /// Begins before the thread looks whether it was cancelled.
    pub fn new() -> Self {
        // Ordering: Acquire, [cancel.told]: what is counted here already, the C library tells
        Watch { seen: CANCELS.load(Acquire), slot: Cell::new(None) }
    }

    /// Whether a thread was cancelled meanwhile, perhaps this one.
    pub fn is_over(&self) -> bool {
        // Ordering: Acquire, [cancel.told]: pairs with pthread_cancel()
        CANCELS.load(Acquire) != self.seen
    }
}

impl Stop for Watch {
    fn waits(&self, slot: Slot) {
        self.slot.set(Some(slot));
        // SAFETY: pthread_self has no preconditions.
        let me = unsafe { libc::pthread_self() } as usize;
        // Ordering: Relaxed, fenced (by the fence below)
        WAITING[usize::from(slot.get()) % CAPACITY].store(me, Relaxed);
        // Ordering: SeqCst, [cancel.stop]: store-load, WAITING before CANCELS; see pthread_cancel()
        fence(SeqCst);
    }

    fn is_stopped(&self) -> bool {
        self.is_over()
    }
}

impl Watch {
    /// The wait has ended. (Not done by going out of scope: a cancelled thread leaves frames
    /// that have nothing to do for it.)
    pub fn end(&self) {
        if let Some(slot) = self.slot.get() {
            // Ordering: Relaxed, hint (who still sees it wakes the slot's thread without reason)
            WAITING[usize::from(slot.get()) % CAPACITY].store(0, Relaxed);
        }
    }
}

// SAFETY: as POSIX says, the thread has not been joined.
export! {
    "C" fn pthread_cancel(thread: pthread_t) {
        // SAFETY: see above.
        let result = unsafe { real::pthread_cancel(thread) };
        // Ordering: Release, [cancel.told]: pairs with the loads of a wait that it stops
        CANCELS.fetch_add(1, Release);
        // Ordering: SeqCst, [cancel.stop]: store-load, CANCELS before WAITING; see waits()
        fence(SeqCst);
        for slot in Native::slots() {
            // Ordering: Relaxed, fenced (by the fence above)
            if WAITING[usize::from(slot.get()) % CAPACITY].load(Relaxed) == thread as usize {
                Native::unpark(slot);
            }
        }
        result
    }
}
