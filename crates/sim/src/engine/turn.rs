//! Polling loops made by hand, which would make an event of every turn.

/// What a thread has read since it last paused, if it only read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    read: [(usize, u64); 4],
    count: usize,
    spoiled: bool,
    before: Option<([(usize, u64); 4], usize)>,
}

impl Turn {
    pub fn note(&mut self, address: usize, value: u64) {
        match self.read.get_mut(self.count) {
            Some(next) => *next = (address, value),
            None => self.spoiled = true,
        }
        self.count += 1;
    }

    /// The thread wrote something: this is no polling.
    pub fn spoil(&mut self) {
        self.spoiled = true;
    }

    /// Begins the next turn. `Some`: this one was as the last; up to two lines' addresses.
    pub fn ends(&mut self) -> Option<[Option<usize>; 2]> {
        let this = std::mem::take(self);
        if this.spoiled || this.count == 0 {
            return None;
        }
        self.before = Some((this.read, this.count));
        if this.before != self.before {
            return None;
        }
        let first = this.read[0].0;
        let mut others = this.read[..this.count].iter().map(|read| read.0);
        let second = others.find(|address| address >> 6 != first >> 6);
        let elsewhere = |address: usize| {
            address >> 6 != first >> 6 && second.is_none_or(|second| address >> 6 != second >> 6)
        };
        if this.read[..this.count].iter().any(|read| elsewhere(read.0)) {
            return None;
        }
        Some([Some(first), second])
    }
}
