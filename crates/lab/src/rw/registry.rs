//! The reader-writer locks that can be measured.

pub use lockwright::stages::{rwlock_bias as bias, rwlock_policy as policy};
use lockwright::{RawBiasedRwLock, RawRwLockWith};
use lockwright_peers as peers;
use lockwright_workloads::rw_bench::{BenchRwLock, LockApiRw, NoRwLock, RwBench, RwRunner};

use crate::registry::Kind;

/// A lock that can be measured.
pub struct RwSubject {
    /// The name users select it by.
    pub name: &'static str,
    /// What it is in a comparison.
    pub kind: Kind,
    /// One line on what it is.
    pub about: &'static str,
    /// The policy that `--policy` knows it by, if it is this project's.
    pub policy: Option<&'static str>,
    /// Its measurements.
    pub bench: &'static dyn RwBench,
}

const fn subject<L: BenchRwLock + 'static>(
    name: &'static str,
    kind: Kind,
    about: &'static str,
) -> RwSubject {
    RwSubject { name, kind, about, policy: None, bench: const { &RwRunner::<L>::NEW } }
}

const fn preset<W: policy::Policy + Send + Sync>(name: &'static str, kind: Kind) -> RwSubject {
    RwSubject {
        name,
        kind,
        about: W::STAGE,
        policy: Some(W::NAME),
        bench: const { &RwRunner::<LockApiRw<RawRwLockWith<W>>>::NEW },
    }
}

static OWN: &[RwSubject] = &[
    preset::<policy::Standard>("lockwright", Kind::Own),
    RwSubject {
        name: "lockwright-biased",
        kind: Kind::Own,
        about: bias::STAGE,
        policy: Some(bias::NAME),
        bench: const { &RwRunner::<LockApiRw<RawBiasedRwLock>>::NEW },
    },
    preset::<policy::Fifo>("study-fifo", Kind::StudyObject),
    preset::<policy::Steal>("study-steal", Kind::StudyObject),
    preset::<policy::V5_2>("study-v5.2", Kind::StudyObject),
    preset::<policy::Handoff>("study-handoff", Kind::StudyObject),
    preset::<policy::WakeAll>("study-wake-all", Kind::StudyObject),
    preset::<policy::ReaderSpin>("study-reader-spin", Kind::StudyObject),
    preset::<policy::TimedSpin>("study-timed-spin", Kind::StudyObject),
    preset::<policy::V5_3>("study-v5.3", Kind::StudyObject),
    preset::<policy::V5_4>("study-v5.4", Kind::StudyObject),
    preset::<policy::AntiStarvation>("study-anti-starvation", Kind::StudyObject),
    preset::<policy::ReaderSteals>("study-reader-steal", Kind::StudyObject),
    preset::<policy::LimitRspin>("study-limit-rspin", Kind::StudyObject),
    preset::<policy::V5_11>("study-v5.11", Kind::StudyObject),
    preset::<policy::EarlyTransfer>("study-early-transfer", Kind::StudyObject),
];

static PEERS: &[RwSubject] = &[
    subject::<peers::StdRw>("std", Kind::BlockingPeer, "std::sync::RwLock"),
    subject::<peers::ParkingLotRw>("parking_lot", Kind::BlockingPeer, "parking_lot 0.13"),
    subject::<peers::UsyncRw>("usync", Kind::BlockingPeer, "usync 0.2"),
    subject::<peers::PthreadRw>("pthread", Kind::BlockingPeer, "the C library's, readers first"),
    #[cfg(target_env = "gnu")]
    subject::<peers::PthreadRwWriters>(
        "pthread_writers",
        Kind::BlockingPeer,
        "glibc's, writers first",
    ),
    subject::<peers::Sharded>(
        "crossbeam",
        Kind::BlockingPeer,
        "crossbeam_utils::sync::ShardedLock",
    ),
    #[cfg(feature = "peers-cxx")]
    subject::<peers::AbslRw>("absl", Kind::BlockingPeer, "absl::Mutex"),
    #[cfg(feature = "peers-cxx")]
    subject::<peers::NsyncRw>("nsync", Kind::BlockingPeer, "nsync_mu"),
    #[cfg(feature = "peers-cxx")]
    subject::<peers::TbbRwMutex>("tbb_rw_mutex", Kind::BlockingPeer, "oneapi::tbb::rw_mutex"),
];

static BROKEN: &[RwSubject] =
    &[subject::<NoRwLock>("broken-no-exclusion", Kind::Broken, "lets everybody in")];

/// The locks a user may choose from.
pub fn listed() -> impl Iterator<Item = &'static RwSubject> + Clone {
    [OWN, PEERS].into_iter().flatten()
}

/// The locks that are broken on purpose.
pub fn broken() -> impl Iterator<Item = &'static RwSubject> {
    BROKEN.iter()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_preset_is_there() {
        let mut seen = HashSet::new();
        assert!(listed().chain(broken()).all(|subject| seen.insert(subject.name)));
        for preset in policy::PRESETS {
            assert!(listed().any(|s| s.policy == Some(preset.name)), "{}", preset.name);
        }
    }
}
