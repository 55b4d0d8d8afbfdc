//! What keeps an allocator from believing that every node is forbidden.
//!
//! Edges
//!  [mask.reader]  FullBarriers: reading, fence, mask <-> change: mask (union), fence, reading  forbids that the scan misses the union and the writer the scan
//!  [mask.left]    FullBarriers: mask, fence, reading 0 -> change: reading, fence, mask (new)  the scan is over before nodes are taken away

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use lockwright_platform::{Platform, Spin, Until, Word};

use super::{NodeSet, Nodes, Task};

/// What an allocation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The node that the page is on; `None`: no allowed node has one.
    pub node: Option<usize>,
    /// Scans, at least one.
    pub scans: u32,
}

/// A way of replacing the mask, and of scanning it meanwhile.
pub trait Protection: Send + Sync + 'static {
    /// The name of the protection.
    const NAME: &'static str;

    /// Scans, once or several times, under the protection.
    fn scan<P: Platform, const W: usize>(
        task: &Task<P, W>,
        scan: impl FnMut() -> Option<usize>,
    ) -> Allocation;

    /// Replaces the mask. One caller at a time.
    fn change<P: Platform, const W: usize>(task: &Task<P, W>, new: NodeSet<W>);
}

/// Allocates a page for `task`.
#[inline]
pub fn allocate<G: Protection, P: Platform, const W: usize>(
    task: &Task<P, W>,
    nodes: &Nodes<P>,
) -> Allocation {
    G::scan(task, || task.scan(nodes, || ()))
}

/// Union, then the new mask, and readers who know nothing of it.
pub struct Unprotected;

impl Protection for Unprotected {
    const NAME: &'static str = "none";

    #[inline]
    fn scan<P: Platform, const W: usize>(
        _task: &Task<P, W>,
        mut scan: impl FnMut() -> Option<usize>,
    ) -> Allocation {
        Allocation { node: scan(), scans: 1 }
    }

    fn change<P: Platform, const W: usize>(task: &Task<P, W>, new: NodeSet<W>) {
        task.allow_both(new);
        task.allow_only(new);
    }
}

/// The protection of 2010: the task says that it reads, and the writer waits.
pub struct FullBarriers;

impl Protection for FullBarriers {
    const NAME: &'static str = "full-barriers";

    #[inline]
    fn scan<P: Platform, const W: usize>(
        task: &Task<P, W>,
        mut scan: impl FnMut() -> Option<usize>,
    ) -> Allocation {
        // Ordering: Relaxed, fenced (by the fence below)
        task.reading.store(1, Relaxed);
        // Ordering: SeqCst, [mask.reader]: store-load, `reading` before the looks at the mask;
        // pairs with the fence after the union in change()
        P::fence(SeqCst);
        let node = scan();
        // Ordering: SeqCst, [mask.left]: the looks at the mask before the store below; a release
        // would do, the barrier is what 2010 had; store-load: none
        P::fence(SeqCst);
        // Ordering: Relaxed, fenced (by the fence above)
        task.reading.store(0, Relaxed);
        Allocation { node, scans: 1 }
    }

    fn change<P: Platform, const W: usize>(task: &Task<P, W>, new: NodeSet<W>) {
        task.allow_both(new);
        // Ordering: SeqCst, [mask.reader]: store-load, the union before the look at `reading`;
        // pairs with the fence before the scan
        P::fence(SeqCst);
        let brief = || Until::CHANGED.deadline(P::ticks().saturating_add(P::ticks_of(1_000)));
        // Ordering: Relaxed, fenced (by the fence below)
        while !matches!(P::spin_while(&task.reading, 1, 1, Relaxed, brief()), Spin::Changed(_)) {
            P::yield_now();
        }
        // Ordering: SeqCst, [mask.left]: the look at `reading` before the stores below; pairs with
        // the fence after the scan; store-load: none
        P::fence(SeqCst);
        task.allow_only(new);
    }
}

/// The protection of 2012: a sequence counter that readers consult only when they have failed.
pub struct SeqOnFailure;

impl Protection for SeqOnFailure {
    const NAME: &'static str = "seqcount-2012";

    #[inline]
    fn scan<P: Platform, const W: usize>(
        task: &Task<P, W>,
        scan: impl FnMut() -> Option<usize>,
    ) -> Allocation {
        consult_on_failure(task, scan)
    }

    fn change<P: Platform, const W: usize>(task: &Task<P, W>, new: NodeSet<W>) {
        // While a node stays allowed a scan of one change finds it; a policy picks others.
        if task.has_policy() || !task.mask().intersects(&new) {
            counted(task, new);
        } else {
            Unprotected::change(task, new);
        }
    }
}

/// The same since 2017: every change counts.
pub struct SeqAlways;

impl Protection for SeqAlways {
    const NAME: &'static str = "seqcount";

    #[inline]
    fn scan<P: Platform, const W: usize>(
        task: &Task<P, W>,
        scan: impl FnMut() -> Option<usize>,
    ) -> Allocation {
        consult_on_failure(task, scan)
    }

    fn change<P: Platform, const W: usize>(task: &Task<P, W>, new: NodeSet<W>) {
        counted(task, new);
    }
}

#[inline]
fn consult_on_failure<P: Platform, const W: usize>(
    task: &Task<P, W>,
    mut scan: impl FnMut() -> Option<usize>,
) -> Allocation {
    let mut scans = 0;
    loop {
        let start = task.seq.begin().expect("no section here unwinds");
        let node = scan();
        scans += 1;
        if node.is_some() || !task.seq.retry(start) {
            return Allocation { node, scans };
        }
    }
}

fn counted<P: Platform, const W: usize>(task: &Task<P, W>, new: NodeSet<W>) {
    task.seq.write(|_| Unprotected::change(task, new));
}
