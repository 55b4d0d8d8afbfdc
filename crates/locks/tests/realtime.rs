//! Row B10 of the review: as in the kernel, a real-time thread that waits for a mutex, or to write, asks for the
//! hand-off at once. No time passes on the counting platform, so that whoever asks after a time never does.
#![cfg(not(any(loom, miri)))]

use std::cell::Cell;
use std::rc::Rc;

use lockwright_locks::mutex::{self, Fair, Kernel, Latency, RawMutex, Slice, SliceAtomic};
use lockwright_locks::rwsem::{self, RawRwLock, Standard};
use lockwright_platform::counting::{Counting, act_as, as_realtime, on_wait, with_cpus};

/// A lock's ways.
struct Ways<L> {
    lock: fn(&L),
    try_lock: fn(&L) -> bool,
    unlock: fn(&L),
}

/// Whether a third thread gets the lock at the owner's release, while another sleeps in the queue.
fn is_overtaken<L: 'static>(lock: L, ways: Ways<L>, realtime: bool) -> bool {
    let Ways { lock: take, try_lock, unlock } = ways;
    let lock = Rc::new(lock);
    act_as(2, || take(&lock));
    let (shared, stolen, mut waits) = (Rc::clone(&lock), Rc::new(Cell::new(false)), 0);
    let flag = Rc::clone(&stolen);
    let script = move || {
        waits += 1;
        assert!(waits < 100, "it waits for ever");
        if waits == 10 {
            act_as(2, || unlock(&shared));
            act_as(3, || {
                flag.set(try_lock(&shared));
                if flag.get() {
                    unlock(&shared);
                }
            });
        }
    };
    // One CPU: nobody spins.
    let wait = || with_cpus(1, || on_wait(script, || take(&lock)));
    if realtime {
        as_realtime(wait)
    } else {
        wait()
    }
    unlock(&lock);
    stolen.get()
}

fn mutex<W: mutex::Policy + 'static>(realtime: bool) -> bool {
    let ways = Ways::<RawMutex<Counting, W>> {
        lock: |lock| lock.lock(),
        try_lock: |lock| lock.try_lock(),
        // SAFETY: each unlock here follows a lock, or a try that succeeded.
        unlock: |lock| unsafe { lock.unlock() },
    };
    is_overtaken(RawMutex::new(), ways, realtime)
}

fn writer<W: rwsem::policy::Policy + 'static>(realtime: bool) -> bool {
    let ways = Ways::<RawRwLock<Counting, W>> {
        lock: |lock| lock.write(),
        try_lock: |lock| lock.try_write(),
        // SAFETY: as above.
        unlock: |lock| unsafe { lock.unlock_write() },
    };
    is_overtaken(RawRwLock::new(), ways, realtime)
}

#[test]
fn a_mutex_is_handed_to_a_real_time_waiter() {
    assert!(!mutex::<Kernel>(true));
    assert!(mutex::<Kernel>(false), "the test sees no difference");
    // Where owners take the lock again and again the first waiter is handed it in any case.
    assert!(!mutex::<Slice>(true));
    assert!(!mutex::<SliceAtomic>(true));
    assert!(!mutex::<Latency>(true));
    assert!(!mutex::<Fair>(true));
}

#[test]
fn a_reader_writer_lock_is_handed_to_a_real_time_writer() {
    assert!(!writer::<rwsem::policy::V5_11>(true));
    assert!(writer::<rwsem::policy::V5_11>(false), "the test sees no difference");
    assert!(!writer::<Standard>(true));
}
