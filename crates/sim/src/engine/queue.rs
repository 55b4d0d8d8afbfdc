//! The event queue: earliest first, in the order in which they were queued where times are equal.
//!
//! A calendar: what is due today lies in the slot of its hour, of which the first that is not empty holds
//! the next event; what is due on another day of the year, in the slot of that day, until that begins; what
//! is due later still, in a heap. A day is so long that most events are due on the day on which they are
//! queued.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::layout::Ps;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The thread goes on.
    Resume,
    /// A sleeper's or spinner's time may be over. Not void in another epoch: nearly all waits end
    /// before their deadlines, and the queue would be full of those.
    Alarm,
    /// A spinner's slice may be over. Likewise.
    Slice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub at: Ps,
    seq: u64,
    pub thread: u16,
    pub epoch: u32,
    pub what: What,
}

impl Event {
    fn key(&self) -> (Ps, u64) {
        (self.at, self.seq)
    }
}

/// A day is 2^23 ps, 8 us; the year, 9 ms. An hour is 2^11 ps, 2 ns.
const DAY: u32 = 23;
const HOUR: u32 = 11;
const HOURS: usize = 1 << (DAY - HOUR);
const DAYS: usize = 1 << 10;

/// The key of no event.
const NEVER: (Ps, u64) = (Ps::MAX, u64::MAX);

pub(super) struct Queue {
    memory: Memory,
    /// What is due today, by the hour.
    today: Slots<HOURS>,
    /// What is due on the other days of the year from now on.
    later: Slots<DAYS>,
    /// All that is due after that.
    far: BinaryHeap<Reverse<Event>>,
    seq: u64,
    /// When the last event was due that was taken.
    now: Ps,
    /// Keys of the next event of all, and of the next in each of the three.
    next: (Ps, u64),
    next_today: (Ps, u64),
    next_later: (Ps, u64),
    next_far: (Ps, u64),
}

impl Queue {
    pub fn new() -> Self {
        Queue {
            memory: Memory { events: Vec::new(), free: NONE },
            today: Slots::new(),
            later: Slots::new(),
            far: BinaryHeap::new(),
            seq: 0,
            now: 0,
            next: NEVER,
            next_today: NEVER,
            next_far: NEVER,
            next_later: NEVER,
        }
    }

    /// Queues something for `at`; what is due before that which was taken last is taken next.
    pub fn push(&mut self, at: Ps, thread: u16, epoch: u32, what: What) {
        self.seq += 1;
        let event = Event { at, seq: self.seq, thread, epoch, what };
        let when = at.max(self.now);
        match (when >> DAY) - (self.now >> DAY) {
            0 => {
                self.today.add(&mut self.memory, (when >> HOUR) as usize, event);
                self.next_today = self.next_today.min(event.key());
            }
            days if days < DAYS as u64 => {
                self.later.add(&mut self.memory, (when >> DAY) as usize, event);
                self.next_later = self.next_later.min(event.key());
            }
            _ => {
                self.far.push(Reverse(event));
                self.next_far = self.next_far.min(event.key());
            }
        }
        self.next = self.next.min(event.key());
    }

    /// When the next event is due; `Ps::MAX`: there is none.
    pub fn due(&self) -> Ps {
        self.next.0
    }

    /// Takes the next event out.
    pub fn pop(&mut self) -> Option<Event> {
        if self.next == NEVER {
            return None;
        }
        let event = if self.next == self.next_far {
            let Reverse(event) = self.far.pop()?;
            self.next_far = self.far.peek().map_or(NEVER, |Reverse(event)| event.key());
            event
        } else {
            if self.next == self.next_later {
                self.begin_day(self.next.0);
            }
            let (event, left) = self.today.take(&mut self.memory, (self.now >> HOUR) as usize);
            self.next_today = left;
            event
        };
        // If that is of another day, nothing is due today any more.
        self.now = self.now.max(event.at);
        self.next = self.next_today.min(self.next_later).min(self.next_far);
        Some(event)
    }

    /// What is due on the day of `at` is due today.
    fn begin_day(&mut self, at: Ps) {
        self.now = at;
        let day = (at >> DAY) as usize;
        let hour = |event: &Event| (event.at >> HOUR) as usize;
        self.later.empty(&mut self.memory, day, &mut self.today, hour);
        self.next_later = self.later.least(&self.memory, day);
    }
}

/// No event.
const NONE: u32 = u32::MAX;

/// Events, and the memory of such that are over: used again at once, it stays in the host's caches.
struct Memory {
    /// Each with the next of its slot, or of what is free.
    events: Vec<(Event, u32)>,
    free: u32,
}

impl Memory {
    fn take(&mut self, event: Event, next: u32) -> u32 {
        match self.free {
            NONE => {
                self.events.push((event, next));
                self.events.len() as u32 - 1
            }
            place => {
                self.free = self.events[place as usize].1;
                self.events[place as usize] = (event, next);
                place
            }
        }
    }

    fn give_back(&mut self, place: u32) {
        self.events[place as usize].1 = self.free;
        self.free = place;
    }
}

/// Events by when they are due, in a ring of `N` slots.
struct Slots<const N: usize> {
    /// The first event of each, in no order.
    first: Vec<u32>,
    /// Which are not empty.
    full: Vec<u64>,
    count: usize,
}

impl<const N: usize> Slots<N> {
    fn new() -> Self {
        Slots { first: vec![NONE; N], full: vec![0; N / 64], count: 0 }
    }

    fn add(&mut self, memory: &mut Memory, slot: usize, event: Event) {
        let slot = slot % N;
        self.first[slot] = memory.take(event, self.first[slot]);
        self.full[slot / 64] |= 1 << (slot % 64);
        self.count += 1;
    }

    /// The first slot that is not empty, from this one on; some slot is not.
    fn first_full(&self, from: usize) -> usize {
        let (word, bit) = (from % N / 64, from % 64);
        let full = self.full[word] & u64::MAX << bit;
        if full != 0 {
            return word * 64 + full.trailing_zeros() as usize;
        }
        // The other words, and the beginning of the first.
        let mut words = (1..=N / 64).map(|i| (word + i) % (N / 64));
        let word = words.find(|&word| self.full[word] != 0).expect("a slot with events");
        word * 64 + self.full[word].trailing_zeros() as usize
    }

    /// The least key of the first slot that is not empty, from this one on.
    fn least(&self, memory: &Memory, from: usize) -> (Ps, u64) {
        if self.count == 0 {
            return NEVER;
        }
        let mut least = NEVER;
        let mut place = self.first[self.first_full(from)];
        while place != NONE {
            let (event, next) = &memory.events[place as usize];
            least = least.min(event.key());
            place = *next;
        }
        least
    }

    /// Takes the event with the least key out of the first slot that is not empty; the least key that is
    /// left.
    fn take(&mut self, memory: &mut Memory, from: usize) -> (Event, (Ps, u64)) {
        let slot = self.first_full(from);
        let first = self.first[slot];
        let (mut least, mut before, mut rest) = (first, NONE, NEVER);
        let (mut last, mut place) = (first, memory.events[first as usize].1);
        let mut key = memory.events[first as usize].0.key();
        while place != NONE {
            let (event, next) = &memory.events[place as usize];
            if event.key() < key {
                (rest, key) = (key, event.key());
                (least, before) = (place, last);
            } else {
                rest = rest.min(event.key());
            }
            (last, place) = (place, *next);
        }
        let (event, next) = memory.events[least as usize];
        match before {
            NONE => self.first[slot] = next,
            before => memory.events[before as usize].1 = next,
        }
        memory.give_back(least);
        self.taken(slot, 1);
        (event, if rest == NEVER { self.least(memory, slot) } else { rest })
    }

    /// So many events have left a slot.
    fn taken(&mut self, slot: usize, count: usize) {
        if self.first[slot] == NONE {
            self.full[slot / 64] &= !(1 << (slot % 64));
        }
        self.count -= count;
    }

    /// Moves all events of a slot into slots of another ring.
    fn empty<const M: usize>(
        &mut self,
        memory: &mut Memory,
        slot: usize,
        into: &mut Slots<M>,
        slot_of: impl Fn(&Event) -> usize,
    ) {
        let slot = slot % N;
        let mut place = std::mem::replace(&mut self.first[slot], NONE);
        let mut count = 0;
        while place != NONE {
            let (event, next) = memory.events[place as usize];
            memory.give_back(place);
            into.add(memory, slot_of(&event), event);
            count += 1;
            place = next;
        }
        self.taken(slot, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a heap would give them, whatever is queued when.
    #[test]
    fn events_come_in_the_order_of_time_and_of_queueing() {
        let mut rng = fastrand::Rng::with_seed(1);
        for spread in [1, 1 << 12, 1 << 20, 1 << 30] {
            let (mut queue, mut heap) = (Queue::new(), BinaryHeap::new());
            let (mut now, mut seq) = (0, 0);
            for _ in 0..20_000 {
                // More goes in than out at first, then less.
                if rng.u64(..100) < if seq < 4_000 { 60 } else { 40 } {
                    let at = now + rng.u64(..spread) * rng.u64(..3);
                    seq += 1;
                    queue.push(at, seq as u16, 0, What::Resume);
                    heap.push(Reverse((at, seq)));
                } else {
                    let expected = heap.pop().map(|Reverse(key)| key);
                    assert_eq!(queue.due(), expected.map_or(Ps::MAX, |(at, _)| at));
                    let event = queue.pop();
                    assert_eq!(event.map(|event| event.key()), expected);
                    now = event.map_or(now, |event| event.at);
                }
            }
        }
    }

    /// The engine finds out that the clock would go back: the queue does not lose what does that.
    #[test]
    fn what_comes_too_late_is_not_lost() {
        let mut queue = Queue::new();
        queue.push(1 << 40, 1, 0, What::Resume);
        assert_eq!(queue.pop().map(|event| event.thread), Some(1));
        queue.push(5, 2, 0, What::Resume);
        queue.push(1 << 41, 3, 0, What::Resume);
        assert_eq!(queue.due(), 5);
        assert_eq!(queue.pop().map(|event| event.thread), Some(2));
        assert_eq!(queue.pop().map(|event| event.thread), Some(3));
        assert!(queue.pop().is_none());
    }
}
