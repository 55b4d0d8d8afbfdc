//! The one list of locks: each has one name, the same in every command.
//!
//! A name alone is a mutex. Reader-writer locks end in `-rw` (`std-rw`), but for
//! `lockwright-biased` and the stages of the kernel's, `rwsem-*`; a command that takes
//! reader-writer locks takes `std` for `std-rw`. A new lock is one entry here.

use lockwright::stages::{AfterX86, Before, Kernel, RawCountMutex};
pub use lockwright::stages::{rwlock_bias as bias, rwlock_policy as policy};
use lockwright::{
    Latency, Plain, RawBiasedRwLock, RawCondvar, RawCondvarWith, RawMutex, RawMutexWith, RawRwLock,
    RawRwLockWith, SeqLatch, SeqLock, SliceAtomic,
};
use lockwright_contract::reference::Futex;
use lockwright_contract::{AnyRwLock, FairMutex, TimedMutex, WriteSide, broken};
use lockwright_peers as peers;
use lockwright_platform::Native;
use lockwright_workloads::mutex_bench::{BenchMutex, LockApi, MutexBench, NoLock, Runner};
use lockwright_workloads::node_mask::{
    FaultRunner, Faults, FullBarriers, Protection, SeqAlways, SeqOnFailure, Unprotected,
};
use lockwright_workloads::patterns::{
    BenchMonitor, LockApiMonitor, LockPattern, MonitorPattern, PatternBench, PatternRunner,
};
use lockwright_workloads::rw_bench::{
    AsRwLock, BenchRwLock, LockApiRw, NoRwLock, RwBench, RwRunner,
};
use lockwright_workloads::seq_bench::{
    BarrierWords, BenchSeq, PlainWords, SeqBench, SeqCountWords, SeqRunner, Value,
};

use crate::record::{self, Role};
use crate::torture::Oracles;
use crate::torture::oracles::{condvar_counts, unmapped_by_the_next_owner};
use crate::torture::victim::{
    DowngradeGap, Of, OfBenchMutex, OfBenchRwLock, OfMutex, OfPlainMutex, OfRwLock, Outcast,
    Torturable, Victim,
};

/// A lock, and what it can be put through.
#[derive(Clone, Copy)]
pub struct Lock {
    /// The name users select it by.
    pub name: &'static str,
    /// What it is in a comparison.
    pub role: Role,
    /// One line on what it is.
    pub about: &'static str,
    /// As a mutex.
    pub mutex: Option<&'static dyn MutexBench>,
    /// As a reader-writer lock. A mutex is one, too, whose readers exclude each other.
    pub rwlock: Option<&'static dyn RwBench>,
    /// In the patterns of programs.
    pub patterns: Option<&'static dyn PatternBench<LockPattern>>,
    /// In those that take a condition variable.
    pub monitor: Option<&'static dyn PatternBench<MonitorPattern>>,
    /// Under torture.
    pub torture: Option<&'static dyn Victim>,
    /// What it is asked before.
    pub oracles: Oracles,
    /// As a protection of what is read much more often than written.
    pub read_mostly: Option<&'static dyn SeqBench>,
    /// As a protection of a node mask; whether "no node" is never false under it.
    pub node_mask: Option<(&'static dyn Faults, bool)>,
}

impl Lock {
    const fn new(name: &'static str, role: Role, about: &'static str) -> Self {
        Lock {
            name,
            role,
            about,
            mutex: None,
            rwlock: None,
            patterns: None,
            monitor: None,
            torture: None,
            oracles: Oracles::NONE,
            read_mostly: None,
            node_mask: None,
        }
    }

    /// What the record says of it.
    pub fn record(&self) -> record::Arm {
        let (name, about) = (self.name.to_owned(), self.about.to_owned());
        record::Arm { name, role: self.role, about }
    }

    /// Lock events are its own: others' counts would be of whatever else the process does.
    pub fn has_events(&self) -> bool {
        matches!(self.role, Role::Own | Role::StudyObject)
    }

    const fn waits<M: BenchMonitor + 'static>(self) -> Self {
        Lock { monitor: Some(const { &PatternRunner::<M>::NEW }), ..self }
    }

    const fn tortured<T: Torturable>(self, oracles: Oracles) -> Self {
        Lock { torture: Some(const { &Of::<T>::NEW }), oracles, ..self }
    }

    const fn reads<S: BenchSeq + 'static>(self) -> Self {
        Lock { read_mostly: Some(const { &SeqRunner::<S>::NEW }), ..self }
    }

    const fn masks<G: Protection>(self, never_false: bool) -> Self {
        let faults: &dyn Faults = const { &FaultRunner::<G, Native>::NEW };
        Lock { node_mask: Some((faults, never_false)), ..self }
    }
}

const fn mutex<M: BenchMutex + 'static>(
    name: &'static str,
    role: Role,
    about: &'static str,
) -> Lock {
    Lock {
        mutex: Some(const { &Runner::<M>::NEW }),
        rwlock: Some(const { &RwRunner::<AsRwLock<M>>::NEW }),
        patterns: Some(const { &PatternRunner::<AsRwLock<M>>::NEW }),
        torture: Some(const { &Of::<OfBenchMutex<M>>::NEW }),
        ..Lock::new(name, role, about)
    }
}

const fn rwlock<L: BenchRwLock + 'static>(
    name: &'static str,
    role: Role,
    about: &'static str,
) -> Lock {
    Lock {
        rwlock: Some(const { &RwRunner::<L>::NEW }),
        patterns: Some(const { &PatternRunner::<L>::NEW }),
        torture: Some(const { &Of::<OfBenchRwLock<L>>::NEW }),
        ..Lock::new(name, role, about)
    }
}

/// A mutex of this project.
const fn own_mutex<R, C>(name: &'static str, about: &'static str) -> Lock
where
    R: TimedMutex + FairMutex,
    C: RawCondvarOf<R>,
{
    mutex::<LockApi<R>>(name, Own, about)
        .waits::<LockApiMonitor<C>>()
        .tortured::<OfMutex<R, true>>(Oracles::all::<R>())
}

/// The condition variable of a mutex.
trait RawCondvarOf<R>: lock_api::RawCondvar<RawMutex = R> + Send + Sync + 'static {}
impl<R, C: lock_api::RawCondvar<RawMutex = R> + Send + Sync + 'static> RawCondvarOf<R> for C {}

/// A reader-writer lock of this project.
const fn own_rwlock<R: AnyRwLock>(name: &'static str, role: Role, about: &'static str) -> Lock {
    let lock = rwlock::<LockApiRw<R>>(name, role, about);
    lock.tortured::<OfRwLock<R, true>>(Oracles::all::<WriteSide<R>>())
}

/// A stage of the kernel's reader-writer semaphore.
const fn stage<W: policy::Policy + Send + Sync>(name: &'static str) -> Lock {
    own_rwlock::<RawRwLockWith<W>>(name, StudyObject, W::STAGE)
}

use Role::{BlockingPeer, Broken, Own, Peer, StudyObject};

static MUTEXES: &[Lock] = &[
    own_mutex::<RawMutex, RawCondvar>("lockwright", "lockwright::Mutex, the default policy"),
    own_mutex::<RawMutexWith<Kernel>, RawCondvarWith<Kernel>>(
        "lockwright-kernel",
        "the kernel's policy",
    ),
    own_mutex::<RawMutexWith<Latency>, RawCondvarWith<Latency>>(
        "lockwright-latency",
        "a short longest wait",
    ),
    own_mutex::<RawMutexWith<SliceAtomic>, RawCondvarWith<SliceAtomic>>(
        "lockwright-atomic",
        "an atomic unlock",
    ),
    mutex::<LockApi<RawCountMutex<Before>>>(
        "mutex-2013-before",
        StudyObject,
        "count-word mutex without tests before its exchanges",
    ),
    mutex::<LockApi<RawCountMutex<AfterX86>>>(
        "mutex-2013-after",
        StudyObject,
        "count-word mutex with tests before its exchanges",
    ),
    mutex::<peers::Std>("std", BlockingPeer, "std::sync::Mutex").waits::<peers::StdMonitor>(),
    mutex::<peers::ParkingLot>("parking_lot", BlockingPeer, "parking_lot::Mutex 0.13")
        .waits::<peers::ParkingLotMonitor>(),
    mutex::<peers::Usync>("usync", BlockingPeer, "usync::Mutex 0.2").waits::<peers::UsyncMonitor>(),
    mutex::<peers::Pthread>("pthread", BlockingPeer, "the C library's default mutex")
        .waits::<peers::PthreadMonitor>(),
    #[cfg(target_env = "gnu")]
    mutex::<peers::PthreadAdaptive>(
        "pthread_adaptive",
        BlockingPeer,
        "glibc's PTHREAD_MUTEX_ADAPTIVE_NP",
    ),
    #[cfg(feature = "peers-cxx")]
    mutex::<peers::Absl>("absl", BlockingPeer, "absl::Mutex"),
    #[cfg(feature = "peers-cxx")]
    mutex::<peers::Nsync>("nsync", BlockingPeer, "nsync_mu"),
    #[cfg(feature = "peers-cxx")]
    mutex::<peers::TbbMutex>("tbb", BlockingPeer, "oneapi::tbb::mutex"),
    mutex::<NoLock>("broken-no-exclusion", Broken, "lets everybody in, to see that it is noticed"),
];

static RWLOCKS: &[Lock] = &[
    own_rwlock::<RawRwLock>("lockwright-rw", Own, "lockwright::RwLock, the default policy"),
    own_rwlock::<RawBiasedRwLock>("lockwright-biased", Own, bias::STAGE),
    stage::<policy::Fifo>("rwsem-fifo"),
    stage::<policy::Steal>("rwsem-steal"),
    stage::<policy::V5_2>("rwsem-v5.2"),
    stage::<policy::Handoff>("rwsem-handoff"),
    stage::<policy::WakeAll>("rwsem-wake-all"),
    stage::<policy::ReaderSpin>("rwsem-reader-spin"),
    stage::<policy::TimedSpin>("rwsem-timed-spin"),
    stage::<policy::V5_3>("rwsem-v5.3"),
    stage::<policy::V5_4>("rwsem-v5.4"),
    stage::<policy::AntiStarvation>("rwsem-anti-starvation"),
    stage::<policy::ReaderSteals>("rwsem-reader-steal"),
    stage::<policy::LimitRspin>("rwsem-limit-rspin"),
    stage::<policy::V5_11>("rwsem-v5.11"),
    stage::<policy::EarlyTransfer>("rwsem-early-transfer"),
    rwlock::<peers::StdRw>("std-rw", BlockingPeer, "std::sync::RwLock").reads::<peers::StdRwLock>(),
    rwlock::<peers::ParkingLotRw>("parking_lot-rw", BlockingPeer, "parking_lot::RwLock 0.13")
        .reads::<peers::ParkingLotRwLock>(),
    rwlock::<peers::UsyncRw>("usync-rw", BlockingPeer, "usync::RwLock 0.2"),
    rwlock::<peers::PthreadRw>("pthread-rw", BlockingPeer, "the C library's, readers first"),
    #[cfg(target_env = "gnu")]
    rwlock::<peers::PthreadRwWriters>("pthread_writers-rw", BlockingPeer, "glibc's, writers first"),
    rwlock::<peers::Sharded>("crossbeam-rw", BlockingPeer, "crossbeam_utils::sync::ShardedLock"),
    #[cfg(feature = "peers-cxx")]
    rwlock::<peers::AbslRw>("absl-rw", BlockingPeer, "absl::Mutex"),
    #[cfg(feature = "peers-cxx")]
    rwlock::<peers::NsyncRw>("nsync-rw", BlockingPeer, "nsync_mu"),
    #[cfg(feature = "peers-cxx")]
    rwlock::<peers::TbbRwMutex>("tbb-rw", BlockingPeer, "oneapi::tbb::rw_mutex"),
    rwlock::<NoRwLock>("broken-no-exclusion-rw", Broken, "lets everybody in"),
];

/// Locks with one fault each, for torture to find. (`NoRelease` of the contract is not among them: no
/// run on x86-64 shows it, only Miri and loom do.)
static BROKEN: &[Lock] = &[
    Lock::new("broken-two-steps", Broken, "looks whether it is free, then takes it")
        .tortured::<OfPlainMutex<broken::NoExclusion>>(Oracles::NONE),
    Lock::new("broken-lost-wakeup", Broken, "goes to sleep without a second look")
        .tortured::<OfPlainMutex<broken::LostWakeup>>(Oracles::NONE),
    Lock::new("broken-barred-handoff", Broken, "a hand-off bars its beneficiary as well")
        .tortured::<OfPlainMutex<broken::HandoffNobodyMayTake>>(Oracles::NONE),
    Lock::new("broken-fence-unlock", Broken, "the unlocking store passes the look for sleepers")
        .tortured::<OfPlainMutex<broken::MissingHeavyFenceAtUnlock>>(Oracles::progress::<
            broken::MissingHeavyFenceAtUnlock,
        >()),
    Lock::new("broken-fence-wait", Broken, "the sleeper's look passes its store")
        .tortured::<OfPlainMutex<broken::MissingHeavyFenceAtWait>>(Oracles::progress::<
            broken::MissingHeavyFenceAtWait,
        >()),
    Lock::new("broken-baton", Broken, "a waiter that times out keeps the wake-up it got")
        .tortured::<OfPlainMutex<broken::SwallowedBaton>>(Oracles::timed::<broken::SwallowedBaton>()),
    Lock::new("broken-fair-unlock", Broken, "whoever unlocks fairly takes the lock first")
        .tortured::<OfPlainMutex<broken::UnfairHandoff>>(Oracles::fair::<broken::UnfairHandoff>()),
    Lock::new("broken-notification", Broken, "a waiter that times out keeps its notification")
        .tortured::<OfPlainMutex<Futex>>(Oracles::of(&[condvar_counts::<broken::SwallowedNotification>])),
    Lock::new("broken-downgrade-rw", Broken, "a downgrade lets writers in before it reads")
        .tortured::<DowngradeGap>(Oracles::NONE),
    Lock::new("broken-outcast", Broken, "whoever asked first of all stands back for all others")
        .tortured::<Outcast>(Oracles::NONE),
    Lock::new("broken-touch", Broken, "unlock reads its word after the release")
        .tortured::<OfPlainMutex<broken::TouchAfterRelease>>(Oracles::of(&[
            unmapped_by_the_next_owner::<broken::TouchAfterRelease>,
        ])),
];

static SEQUENCES: &[Lock] = &[
    Lock::new("none", StudyObject, "no protection: the copy alone")
        .reads::<PlainWords<Native>>()
        .masks::<Unprotected>(false),
    Lock::new("full-barriers", StudyObject, "two full barriers, the writer waits (Linux 2010)")
        .reads::<BarrierWords<Native>>()
        .masks::<FullBarriers>(true),
    Lock::new("seqcount", Own, "lockwright::SeqCount; each change counts (Linux 2017)")
        .reads::<SeqCountWords<Native>>()
        .masks::<SeqAlways>(true),
    Lock::new("seqcount-2012", StudyObject, "only some changes count (Linux 2012)")
        .masks::<SeqOnFailure>(true),
    Lock::new("seqlock", Own, "lockwright::SeqLock").reads::<OwnLock>(),
    Lock::new("seqlatch", Own, "lockwright::SeqLatch").reads::<OwnLatch>(),
    Lock::new("seqlock-crate", Peer, "seqlock 0.2").reads::<peers::SeqlockCrate>(),
    Lock::new("arc-swap", Peer, "arc-swap 1.9, load").reads::<peers::ArcSwapped>(),
];

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

const _: () = <Value as Plain>::CHECKED;

/// Every lock, the broken ones last.
pub fn all() -> impl Iterator<Item = &'static Lock> + Clone {
    let lists = || [MUTEXES, RWLOCKS, SEQUENCES, BROKEN].into_iter().flatten();
    let broken = |lock: &&Lock| lock.role == Role::Broken;
    lists().filter(move |lock| !broken(lock)).chain(lists().filter(broken))
}

/// The name of the lock with this policy of the reader-writer lock.
pub fn name_of_policy(policy: &str) -> String {
    match policy {
        <policy::Standard as policy::Policy>::NAME => "lockwright-rw".to_owned(),
        bias::NAME => "lockwright-biased".to_owned(),
        stage => format!("rwsem-{stage}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_say_something() {
        let mut seen = HashSet::new();
        assert!(all().all(|lock| seen.insert(lock.name) && !lock.about.is_empty()));
    }

    #[test]
    fn every_policy_is_a_lock() {
        let policies = policy::PRESETS.iter().map(|preset| preset.name).chain([bias::NAME]);
        for name in policies.map(name_of_policy) {
            assert!(all().any(|lock| lock.name == name && lock.rwlock.is_some()), "{name}");
        }
    }

    #[test]
    fn names_fit_their_column() {
        for lock in all() {
            assert!(lock.name.len() <= 22, "{}", lock.name);
        }
    }
}
