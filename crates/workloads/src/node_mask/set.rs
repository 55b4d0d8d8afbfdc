//! Sets of nodes as values.

/// A set of nodes 0..64*W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSet<const W: usize>(pub [u64; W]);

impl<const W: usize> NodeSet<W> {
    /// No node.
    pub const EMPTY: Self = NodeSet([0; W]);

    /// These nodes.
    ///
    /// # Panics
    ///
    /// If a node is 64*W or above.
    pub fn of(nodes: &[usize]) -> Self {
        let mut set = Self::EMPTY;
        for &node in nodes {
            set.0[node / 64] |= 1 << (node % 64);
        }
        set
    }

    /// Whether `node` is in the set.
    pub fn contains(&self, node: usize) -> bool {
        self.0[node / 64] & 1 << (node % 64) != 0
    }

    /// Whether some node is in both.
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    /// The lowest node alone.
    pub fn lowest(&self) -> Self {
        let mut lowest = Self::EMPTY;
        if let Some(word) = self.0.iter().position(|&word| word != 0) {
            lowest.0[word] = 1 << self.0[word].trailing_zeros();
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sets() {
        let (low, high) = (NodeSet::<2>::of(&[3, 63]), NodeSet::<2>::of(&[64, 127]));
        assert!(low.contains(63) && !low.contains(64) && high.contains(127));
        assert!(!low.intersects(&high) && low.intersects(&NodeSet::of(&[3, 127])));
        assert_eq!(high.lowest(), NodeSet::of(&[64]));
        assert_eq!(NodeSet::<2>::EMPTY.lowest(), NodeSet::EMPTY);
    }
}
