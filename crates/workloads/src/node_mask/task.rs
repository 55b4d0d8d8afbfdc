//! The task: its mask, its policy, and what the protections need of it.

use std::sync::atomic::Ordering::Relaxed;

use lockwright_locks::seqcount::SeqCount;
use lockwright_platform::{Platform, Word};

use super::{NodeSet, Nodes};

/// A task: one thread allocates, and one thread at a time changes the mask (in the kernel, the
/// holder of the task's lock).
pub struct Task<P: Platform, const W: usize> {
    /// The nodes that the task may use; several words, so never read as a whole.
    allowed: [P::Word<u64>; W],
    /// The nodes that its policy picks from those: here, the lowest.
    policy: [P::Word<u64>; W],
    has_policy: bool,
    /// For `SeqOnFailure`.
    pub(super) seq: SeqCount<P>,
    /// For `FullBarriers`: 1 while the task allocates. Written by its own thread only.
    pub(super) reading: P::Word<u32>,
}

fn words<P: Platform, const W: usize>(set: NodeSet<W>) -> [P::Word<u64>; W] {
    set.0.map(Word::new)
}

impl<P: Platform, const W: usize> Task<P, W> {
    /// A task that may use the nodes in `allowed`.
    pub fn new(allowed: NodeSet<W>) -> Self {
        Self::with_policy(allowed, false)
    }

    /// The same; with a policy it uses the lowest of its allowed nodes only.
    pub fn with_policy(allowed: NodeSet<W>, has_policy: bool) -> Self {
        Task {
            allowed: words::<P, W>(allowed),
            policy: words::<P, W>(allowed.lowest()),
            has_policy,
            seq: SeqCount::new(),
            reading: Word::new(0),
        }
    }

    /// Whether the task has a policy.
    pub fn has_policy(&self) -> bool {
        self.has_policy
    }

    /// The mask as its writer knows it.
    pub fn mask(&self) -> NodeSet<W> {
        // Ordering: Relaxed, owner-only (the caller writes)
        NodeSet(std::array::from_fn(|i| self.allowed[i].load(Relaxed)))
    }

    /// Whether `node` may be used, by the live mask. Only one word of it is looked at.
    fn may_use(&self, node: usize) -> bool {
        let is_in = |mask: &[P::Word<u64>; W]| {
            // Ordering: Relaxed: what a look at one node at one moment is worth is decided by the
            // protection around the scan.
            mask[node / 64].load(Relaxed) & 1 << (node % 64) != 0
        };
        is_in(&self.allowed) && (!self.has_policy || is_in(&self.policy))
    }

    /// Goes through the nodes once; the first allowed one with a page. `between` is called before
    /// each look, to widen the window in tests.
    #[inline]
    pub fn scan(&self, nodes: &Nodes<P>, mut between: impl FnMut()) -> Option<usize> {
        nodes.numbers().enumerate().find_map(|(index, number)| {
            between();
            (self.may_use(number) && nodes.take(index)).then_some(number)
        })
    }

    /// The first step of a change: what is allowed before or after is allowed now.
    pub(super) fn allow_both(&self, new: NodeSet<W>) {
        for (words, set) in [(&self.allowed, new), (&self.policy, new.lowest())] {
            for (word, bits) in words.iter().zip(set.0) {
                // Ordering: Relaxed, owner-only (a plain OR: one writer)
                let before = word.load(Relaxed);
                // Ordering: Relaxed: ordered for readers by the protection.
                word.store(before | bits, Relaxed);
            }
        }
    }

    /// The second step: only the new nodes.
    pub(super) fn allow_only(&self, new: NodeSet<W>) {
        for (words, set) in [(&self.policy, new.lowest()), (&self.allowed, new)] {
            for (word, bits) in words.iter().zip(set.0) {
                // Ordering: Relaxed: ordered for readers by the protection.
                word.store(bits, Relaxed);
            }
        }
    }
}
