//! Threads asleep at a lock, first come, first woken: a bucket of the kernel's futexes, or of an
//! address-keyed table in user space.
//!
//! ```text
//! Edges
//!  [guard]  leave: guard Release -> enter: guard Acquire  publishes the queue
//!  [woken]  wake: woken Release -> sleep: woken Acquire  publishes what the waker says
//! ```

use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, PoisonError};

use lockwright_platform::{Platform, Slot, Spin, Until, Word};

/// Threads asleep, in the order in which they came.
#[repr(align(64))]
pub(super) struct Waiters<P: Platform> {
    /// 1: somebody looks at the queue.
    guard: P::Word<u32>,
    /// Never contended: the guard is held.
    queue: Mutex<Queue<P>>,
}

struct Queue<P: Platform> {
    asleep: VecDeque<(Slot, Arc<Waiter<P>>)>,
    /// By the slots of their threads. They stay as long as the lock: were they on stacks, a simulated run
    /// would depend on which of these lie where others lay before.
    all: Vec<Option<Arc<Waiter<P>>>>,
}

impl<P: Platform> Queue<P> {
    /// The thread of this slot is asleep from now on.
    fn push(&mut self, slot: Slot) -> Arc<Waiter<P>> {
        let at = usize::from(slot.get());
        if self.all.len() <= at {
            self.all.resize(at + 1, None);
        }
        let waiter = self.all[at].get_or_insert_with(|| Arc::new(Waiter { woken: Word::new(0) }));
        let waiter = Arc::clone(waiter);
        // Ordering: Relaxed, owner-only (nobody wakes it before it is in the queue)
        waiter.woken.store(0, Relaxed);
        self.asleep.push_back((slot, Arc::clone(&waiter)));
        waiter
    }
}

/// A waiter.
#[repr(align(64))]
struct Waiter<P: Platform> {
    /// 0: asleep; else what the waker said, and one.
    woken: P::Word<u32>,
}

impl<P: Platform> Waiters<P> {
    pub fn new() -> Self {
        let queue = Mutex::new(Queue { asleep: VecDeque::new(), all: Vec::new() });
        Waiters { guard: Word::new(0), queue }
    }

    /// With the queue to itself.
    fn alone<R>(&self, f: impl FnOnce(&mut Queue<P>) -> R) -> R {
        // Ordering: Acquire, [guard]: pairs with the store below; failure Relaxed, hint (tried again)
        while self.guard.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            // Ordering: Relaxed, hint (tried again above)
            if let Spin::Resched = P::spin_while(&self.guard, 1, 1, Relaxed, Until::CHANGED) {
                P::yield_now();
            }
        }
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let result = f(&mut queue);
        drop(queue);
        // Ordering: Release, [guard]: pairs with the exchange above
        self.guard.store(0, Release);
        result
    }

    /// Sleeps until woken if `stay`, asked with the queue to itself, says so: what the waker says. `None`:
    /// it did not sleep.
    pub fn sleep_if(&self, stay: impl FnOnce() -> bool) -> Option<u32> {
        let me = P::enter()?;
        let waiter = self.alone(|queue| stay().then(|| queue.push(me.slot())))?;
        loop {
            P::park(&me, None);
            // Ordering: Acquire, [woken]: pairs with wake_one()
            let woken = waiter.woken.load(Acquire);
            if woken > 0 {
                return Some(woken - 1);
            }
        }
    }

    /// Wakes who has slept longest. `say`, told with the queue to itself whether there is such a thread and
    /// whether others stay, gives what it is told.
    pub fn wake_one(&self, say: impl FnOnce(bool, bool) -> u32) {
        let slot = self.alone(|queue| {
            let first = queue.asleep.pop_front();
            let said = say(first.is_some(), !queue.asleep.is_empty());
            let (slot, waiter) = first?;
            // Ordering: Release, [woken]: pairs with the load in sleep_if()
            waiter.woken.store(said + 1, Release);
            Some(slot)
        });
        if let Some(slot) = slot {
            P::unpark(slot);
        }
    }
}
