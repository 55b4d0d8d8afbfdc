//! Memory nodes that hold a number of pages each.

use std::sync::atomic::Ordering::Relaxed;

use crossbeam_utils::CachePadded;
use lockwright_platform::{Platform, Word};

/// Nodes and how many pages are free on each.
pub struct Nodes<P: Platform> {
    /// Number of the node, and its free pages.
    free: Vec<(usize, CachePadded<P::Word<u32>>)>,
}

impl<P: Platform> Nodes<P> {
    /// Nodes with these numbers, `pages` pages each. A scan goes through them in this order.
    pub fn new(numbers: &[usize], pages: u32) -> Self {
        let node = |&number| (number, CachePadded::new(Word::new(pages)));
        Nodes { free: numbers.iter().map(node).collect() }
    }

    /// The numbers of the nodes, in the order of a scan.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.free.iter().map(|&(number, _)| number)
    }

    /// Takes a page of the `index`th node; false if it has none.
    pub(super) fn take(&self, index: usize) -> bool {
        let free = &self.free[index].1;
        // Ordering: Relaxed, hint (re-checked by the exchange)
        let mut now = free.load(Relaxed);
        while now > 0 {
            // Ordering: Relaxed: the number of pages is all that is exchanged; failure Relaxed, the
            // same.
            match free.compare_exchange(now, now - 1, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(seen) => now = seen,
            }
        }
        false
    }

    /// Gives a page of the node with this number back.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    pub fn give(&self, number: usize) {
        let node = self.free.iter().find(|node| node.0 == number).expect("a node of these");
        // Ordering: Relaxed: as in take().
        node.1.fetch_add(1, Relaxed);
    }
}
