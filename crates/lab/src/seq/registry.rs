//! What can be compared.

use lockwright::{Plain, SeqLatch, SeqLock};
use lockwright_peers as peers;
use lockwright_platform::Native;
use lockwright_workloads::node_mask::{
    FaultRunner, Faults, FullBarriers, Protection, SeqAlways, SeqOnFailure, Unprotected,
};
use lockwright_workloads::seq_bench::{
    BarrierWords, BenchSeq, PlainWords, SeqBench, SeqCountWords, SeqRunner, Value,
};

use crate::registry::Kind;

/// A way to read a value that is seldom written.
pub struct SeqSubject {
    /// The name users select it by.
    pub name: &'static str,
    /// What it is in a comparison.
    pub kind: Kind,
    /// One line on what it is.
    pub about: &'static str,
    /// Its measurement.
    pub bench: &'static dyn SeqBench,
}

/// A protection of the node-mask study.
pub struct FaultSubject {
    /// Its name.
    pub name: &'static str,
    /// Whether "no node" is never false under it, the masks of the run being disjoint.
    pub protects: bool,
    /// Its measurement.
    pub faults: &'static dyn Faults,
}

struct OwnLock(SeqLock<Value>);

impl BenchSeq for OwnLock {
    const COUNTS_RETRIES: bool = true;

    fn new(_readers: usize) -> Self {
        OwnLock(SeqLock::new(Value::default()))
    }

    #[inline]
    fn read(&self, _reader: usize) -> (Value, u64) {
        let (value, failed) = self.0.read_counted();
        (value, failed.into())
    }

    fn write(&self, value: Value) {
        self.0.set(value);
    }
}

struct OwnLatch(SeqLatch<Value>);

impl BenchSeq for OwnLatch {
    fn new(_readers: usize) -> Self {
        OwnLatch(SeqLatch::new(Value::default()))
    }

    #[inline]
    fn read(&self, _reader: usize) -> (Value, u64) {
        (self.0.read(), 0)
    }

    fn write(&self, value: Value) {
        self.0.set(value);
    }
}

const _: () = Value::CHECKED;

const fn subject<S: BenchSeq + 'static>(
    name: &'static str,
    kind: Kind,
    about: &'static str,
) -> SeqSubject {
    SeqSubject { name, kind, about, bench: const { &SeqRunner::<S>::NEW } }
}

static SUBJECTS: &[SeqSubject] = &[
    subject::<PlainWords<Native>>("none", Kind::StudyObject, "no protection: the copy alone"),
    subject::<BarrierWords<Native>>(
        "full-barriers",
        Kind::StudyObject,
        "two full barriers, the writer waits (Linux 2010)",
    ),
    subject::<SeqCountWords<Native>>("seqcount", Kind::Own, "lockwright::SeqCount"),
    subject::<OwnLock>("seqlock", Kind::Own, "lockwright::SeqLock"),
    subject::<OwnLatch>("seqlatch", Kind::Own, "lockwright::SeqLatch"),
    subject::<peers::SeqlockCrate>("seqlock-crate", Kind::Peer, "seqlock 0.2"),
    subject::<peers::StdRwLock>("std-rwlock", Kind::BlockingPeer, "std::sync::RwLock, read"),
    subject::<peers::ParkingLotRwLock>(
        "parking_lot-rwlock",
        Kind::BlockingPeer,
        "parking_lot 0.13 RwLock, read",
    ),
    subject::<peers::ArcSwapped>("arc-swap", Kind::Peer, "arc-swap 1.9, load"),
];

const fn protection<G: Protection>(protects: bool) -> FaultSubject {
    FaultSubject { name: G::NAME, protects, faults: const { &FaultRunner::<G, Native>::NEW } }
}

static PROTECTIONS: &[FaultSubject] = &[
    protection::<Unprotected>(false),
    protection::<FullBarriers>(true),
    protection::<SeqOnFailure>(true),
    protection::<SeqAlways>(true),
];

/// What a user may choose from.
pub fn listed() -> impl Iterator<Item = &'static SeqSubject> + Clone {
    SUBJECTS.iter()
}

/// The protections of the allocator run.
pub fn protections() -> impl Iterator<Item = &'static FaultSubject> + Clone {
    PROTECTIONS.iter()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_one_protection_is_none() {
        let mut seen = HashSet::new();
        assert!(listed().all(|subject| seen.insert(subject.name)));
        seen.clear();
        assert!(protections().all(|protection| seen.insert(protection.name)));
        assert_eq!(protections().filter(|protection| !protection.protects).count(), 1);
    }
}
