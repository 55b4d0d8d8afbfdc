//! The locks that can be measured, in the order in which they are listed.
//!
//! A lock is one line: name, kind, what it is, and its type. A type that speaks `lock_api` 0.5 is
//! wrapped in [`LockApi`]; any other implements
//! [`BenchMutex`].

use lockwright::stages::{AfterX86, Before, Kernel, RawCountMutex};
use lockwright::{Latency, RawMutex, RawMutexWith, SliceAtomic};
use lockwright_peers as peers;
use lockwright_workloads::mutex_bench::{BenchMutex, LockApi, MutexBench, NoLock, Runner};
use serde::{Deserialize, Serialize};

/// What a lock is in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A lock of this project.
    Own,
    /// Somebody else's lock that puts waiters to sleep: what the project's locks must beat.
    BlockingPeer,
    /// Somebody else's lock whose waiters never sleep: shown, but not the measure of a mutex.
    SpinPeer,
    /// Somebody else's protection that is no lock, or not for its readers.
    Peer,
    /// A lock kept to study one of its properties.
    StudyObject,
    /// Broken on purpose, to see that the benchmark notices. Never listed.
    Broken,
}

impl Kind {
    /// The kind as it is written in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Own => "own",
            Kind::BlockingPeer => "blocking-peer",
            Kind::SpinPeer => "spin-peer",
            Kind::Peer => "peer",
            Kind::StudyObject => "study-object",
            Kind::Broken => "broken",
        }
    }
}

/// A lock that can be measured.
pub struct Subject {
    /// The name users select it by.
    pub name: &'static str,
    /// What it is in a comparison.
    pub kind: Kind,
    /// One line on what it is.
    pub about: &'static str,
    /// Its measurements.
    pub bench: &'static dyn MutexBench,
}

const fn subject<M: BenchMutex + 'static>(
    name: &'static str,
    kind: Kind,
    about: &'static str,
) -> Subject {
    Subject { name, kind, about, bench: const { &Runner::<M>::NEW } }
}

/// This project's own locks: `lockwright`, its policies `lockwright-*`, and `study-*`.
///
/// The one place where they are listed; everything else follows from it.
static OWN: &[Subject] = &[
    subject::<LockApi<RawMutex>>("lockwright", Kind::Own, "the default policy"),
    subject::<LockApi<RawMutexWith<Kernel>>>("lockwright-kernel", Kind::Own, "the kernel's policy"),
    subject::<LockApi<RawMutexWith<Latency>>>(
        "lockwright-latency",
        Kind::Own,
        "the policy with a short longest wait",
    ),
    subject::<LockApi<RawMutexWith<SliceAtomic>>>(
        "lockwright-atomic",
        Kind::Own,
        "the default policy with an atomic unlock",
    ),
    subject::<LockApi<RawCountMutex<Before>>>(
        "study-2013-before",
        Kind::StudyObject,
        "count-word mutex without tests before its exchanges",
    ),
    subject::<LockApi<RawCountMutex<AfterX86>>>(
        "study-2013-after",
        Kind::StudyObject,
        "count-word mutex with tests before its exchanges",
    ),
];

static PEERS: &[Subject] = &[
    subject::<peers::Std>("std", Kind::BlockingPeer, "std::sync::Mutex"),
    subject::<peers::ParkingLot>("parking_lot", Kind::BlockingPeer, "parking_lot 0.13"),
    subject::<peers::Usync>("usync", Kind::BlockingPeer, "usync 0.2"),
    subject::<peers::Pthread>("pthread", Kind::BlockingPeer, "the C library's default mutex"),
    #[cfg(target_env = "gnu")]
    subject::<peers::PthreadAdaptive>(
        "pthread_adaptive",
        Kind::BlockingPeer,
        "glibc's PTHREAD_MUTEX_ADAPTIVE_NP",
    ),
];

#[cfg(feature = "peers-cxx")]
static CXX_PEERS: &[Subject] = &[
    subject::<peers::Absl>("absl", Kind::BlockingPeer, "absl::Mutex"),
    subject::<peers::Nsync>("nsync", Kind::BlockingPeer, "nsync_mu"),
    subject::<peers::TbbMutex>("tbb_mutex", Kind::BlockingPeer, "oneapi::tbb::mutex"),
];
#[cfg(not(feature = "peers-cxx"))]
static CXX_PEERS: &[Subject] = &[];

static BROKEN: &[Subject] = &[subject::<NoLock>(
    "broken-no-exclusion",
    Kind::Broken,
    "lets everybody in, to see that it is noticed",
)];

/// The locks a user may choose from.
pub fn listed() -> impl Iterator<Item = &'static Subject> + Clone {
    [OWN, PEERS, CXX_PEERS].into_iter().flatten()
}

/// The locks that are broken on purpose.
pub fn broken() -> impl Iterator<Item = &'static Subject> {
    BROKEN.iter()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        assert!(listed().chain(broken()).all(|subject| seen.insert(subject.name)));
    }

    #[test]
    fn a_broken_lock_is_never_listed() {
        assert!(listed().all(|subject| subject.kind != Kind::Broken));
    }
}
