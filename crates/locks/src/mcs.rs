//! A queue in which each waits on a word of its own, and from which anybody may go at any time.
//!
//! *Algorithm*: the queue lock of Mellor-Crummey and Scott (ACM TOCS 9(1), 1991) with abandoned nodes, as in
//! Scott's non-blocking timeouts (PODC 2002): who has enough marks its node, and whoever passes the turn on
//! skips it. *Differs from both in*: a thread that passes its turn on while its successor is not linked yet
//! does not wait for the link; it leaves a mark, and the successor finds that the turn is its own.
//!
//! *Guarantees*: at most one thread has the turn; order FIFO among those who stay; nobody waits for a thread
//! that does not run, but for the turn: joining, going and passing on take a bounded number of steps, the
//! latter one for each node skipped. *Does not guarantee*: that a thread can queue up: its node may still be
//! lent to the queue that it went from ([`Missed::Lent`]). *Cost*: two words in the thread's record; two
//! exchanges to join and one to pass on, one and one without contention. *Waiting*: spinning on the own node.
//! *Node lifetime*: records are never freed; a node is used again when its state says FREE and its link
//! nothing. *Checked by*: `tests/loom_osq.rs`, `osq/tests.rs`.
//!
//! ```text
//! State of a node   next    slot of the successor, 0 none known | PASSED: the turn is the next one's to link
//!                   state   FREE | WAITING | TURN: it is the head | ABANDONED: it wants the turn no more
//!
//! FREE -> WAITING : join              WAITING -> TURN : pass          WAITING -> ABANDONED : join, having waited
//! next 0 -> slot : join of the next   next 0 -> PASSED -> 0 : pass, join of the next
//! TURN, ABANDONED -> FREE : pass
//! ```
//!
//! ```text
//! Edges
//!  [mcs.tail]  push: word exchange Release -> push: word exchange Acquire  publishes that the node's link is empty
//!  [mcs.empty] pop_last: word exchange Release -> push: word exchange Acquire  publishes the head's section to the next first
//!  [mcs.link]  join: next swap AcqRel -> pass: next load Acquire, next swap AcqRel  publishes the node's state to whoever passes the turn on
//!  [mcs.late]  pass: next swap AcqRel -> join: next swap AcqRel  publishes the head's section to a late successor
//!  [mcs.turn]  pass: state swap Release -> join: spin on state Acquire, state exchange Acquire  publishes the head's section
//!  [mcs.free]  pass: state store Release, join: next store Release -> join: state load Acquire, next load Acquire  publishes that the node is out of the queue
//! ```

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use lockwright_platform::{Me, Platform, Slot, Spin, Until, Word};

use crate::record::node;

/// In `next`: the turn is whose it is to link here.
const PASSED: u32 = 1 << 16;

const FREE: u32 = 0;
const WAITING: u32 = 1;
const TURN: u32 = 2;
const ABANDONED: u32 = 3;

/// The queue takes nobody.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Closed;

/// Why joining a queue did not bring the turn.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Missed {
    /// The caller went again.
    Gone,
    /// The caller's node is lent to the queue that it went from last.
    Lent,
    /// As many as may stand in line.
    Full,
    /// The queue takes nobody.
    Closed,
}

/// The words of one use of a thread's node.
#[derive(Copy, Clone)]
pub struct Node {
    next: usize,
    state: usize,
}

impl Node {
    /// A node in two words of the record.
    pub const fn new(next: usize, state: usize) -> Self {
        Node { next, state }
    }

    fn next<P: Platform>(self, slot: Slot) -> &'static P::Word<u32> {
        node::word::<P>(slot, self.next)
    }

    fn state<P: Platform>(self, slot: Slot) -> &'static P::Word<u32> {
        node::word::<P>(slot, self.state)
    }

    /// Whether the thread may queue up with it.
    pub fn is_free<P: Platform>(self, me: &Me<P>) -> bool {
        // Ordering: Acquire, [mcs.free]: pairs with the stores of whoever passed the turn on, or was
        // late to link (block)
        self.state::<P>(me.slot()).load(Acquire) == FREE
            && self.next::<P>(me.slot()).load(Acquire) == 0
    }
}

/// Joins the queue and waits for the turn, which the caller must [pass] on, or until `until`, which is told the
/// predecessor, ends the wait. `push` makes the caller the last in the queue's word, and says who was it before.
pub fn join<P: Platform>(
    node: Node,
    me: &Me<P>,
    until: impl FnOnce(Slot) -> Until,
    push: impl FnOnce(Slot) -> Result<Option<Slot>, Closed>,
) -> Result<(), Missed> {
    if !node.is_free(me) {
        return Err(Missed::Lent);
    }
    let slot = me.slot();
    let state = node.state::<P>(slot);
    // Ordering: Relaxed, init (published by [mcs.link])
    state.store(WAITING, Relaxed);
    let pred = match push(slot) {
        Ok(Some(pred)) => pred,
        Ok(None) => return Ok(()),
        Err(Closed) => {
            // Ordering: Release, [mcs.free]: nobody has seen the node
            state.store(FREE, Release);
            return Err(Missed::Closed);
        }
    };
    #[cfg(test)]
    script::pause();
    let link = node.next::<P>(pred);
    // Ordering: AcqRel, [mcs.link], [mcs.late]: publishes the state; acquires the section of a head that
    // has passed the turn on to whoever links
    if link.swap(u32::from(slot.get()), AcqRel) == PASSED {
        // Ordering: Release, [mcs.free]: gives the predecessor its node back
        link.store(0, Release);
        return Ok(());
    }
    // Ordering: Acquire, [mcs.turn]: pairs with the swap in pass()
    if let Spin::Changed(_) = P::spin_while(state, u32::MAX, WAITING, Acquire, until(pred)) {
        return Ok(());
    }
    // Ordering: AcqRel, [mcs.turn]: the node is whoever's who passes the turn on from here; failure
    // Acquire, [mcs.turn]: it was passed to the caller meanwhile
    match state.compare_exchange(WAITING, ABANDONED, AcqRel, Acquire) {
        Ok(_) => Err(Missed::Gone),
        Err(_) => Ok(()),
    }
}

/// Passes on the turn of the node of the thread in `from`, which the caller has, to the next that still wants
/// it. `pop_last` empties the queue's word if it names the slot given.
pub fn pass<P: Platform>(node: Node, mut from: Slot, mut pop_last: impl FnMut(Slot) -> bool) {
    loop {
        let (link, state) = (node.next::<P>(from), node.state::<P>(from));
        // Ordering: Acquire, [mcs.link]: pairs with the swap in join()
        let mut next = link.load(Acquire);
        if next == 0 {
            if pop_last(from) {
                // Ordering: Release, [mcs.free]: pairs with the load in is_free()
                return state.store(FREE, Release);
            }
            // Ordering: AcqRel, [mcs.link], [mcs.late]: the successor's state, or the caller's section
            next = link.swap(PASSED, AcqRel);
            if next == 0 {
                // Ordering: Release, [mcs.free]: pairs with the load in is_free(); the link is the
                // successor's to empty
                return state.store(FREE, Release);
            }
        }
        // Ordering: Release, [mcs.free]: pairs with the loads in is_free() (block)
        link.store(0, Release);
        state.store(FREE, Release);

        let next = Slot::new(next as u16).expect("a queued node has a slot");
        // Ordering: AcqRel, [mcs.turn]: pairs with the spin in join(); acquires what an abandoned node's
        // thread did before it went
        if node.state::<P>(next).swap(TURN, AcqRel) == WAITING {
            return;
        }
        from = next;
    }
}

/// A thread that loses its CPU between joining a queue and linking to its predecessor, for tests.
#[cfg(test)]
pub(crate) mod script {
    extern crate std;

    use std::boxed::Box;
    use std::cell::RefCell;

    type Pause = Box<dyn FnOnce()>;

    std::thread_local! {
        static PAUSE: RefCell<Option<Pause>> = const { RefCell::new(None) };
    }

    /// What the calling thread does when it gets there next.
    pub fn at_the_link(pause: impl FnOnce() + 'static) {
        PAUSE.set(Some(Box::new(pause)));
    }

    pub(super) fn pause() {
        if let Some(pause) = PAUSE.take() {
            pause();
        }
    }
}
