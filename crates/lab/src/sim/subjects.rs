//! The locks that can be put on a simulated machine: the same source as natively.

use std::sync::atomic::AtomicU64;

use lockwright_locks::count_mutex::{AfterX86, Before, CountMutex};
use lockwright_locks::mutex::{self, RawMutex};
use lockwright_locks::rwsem::{RawRwLock, policy};
use lockwright_locks::seqcount::SeqCount;
use lockwright_peers::model::{Barging, FairAfter};
use lockwright_platform::{Numa, NumaMode};
use lockwright_sim::{Failure, Sim, set_numa, set_slice_extension};
use lockwright_workloads::on::On;
use lockwright_workloads::rw_bench::{AsRwLock, BenchRwLock};

use super::job::{Job, simulate};
use super::sample::SimSample;

/// A lock under one policy.
#[derive(Clone, Copy)]
pub struct SimSubject {
    /// The name users select it by.
    pub name: &'static str,
    /// One line on what it is.
    pub about: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Carries a run out.
    pub run: fn(&Job) -> Result<SimSample, Failure>,
}

/// What a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A reader-writer lock.
    RwLock,
    /// A mutex.
    Mutex,
    /// Readers without a lock, for workloads of reads only.
    Readers,
}

const fn rw<W: policy::Policy + Send + Sync, const ONE_LINE: bool>() -> SimSubject {
    SimSubject {
        name: W::NAME,
        about: W::STAGE,
        kind: Kind::RwLock,
        run: simulate::<On<RawRwLock<Sim, W>>, ONE_LINE>,
    }
}

/// The same lock, the spinners of which queue up by domain: always, or as soon as there is a crowd.
const fn by_domain<L: BenchRwLock + 'static, const ONE_LINE: bool, const ALWAYS: bool>(
    name: &'static str,
    about: &'static str,
    kind: Kind,
) -> SimSubject {
    SimSubject { name, about, kind, run: simulate_by_domain::<L, ONE_LINE, ALWAYS> }
}

fn simulate_by_domain<L: BenchRwLock + 'static, const ONE_LINE: bool, const ALWAYS: bool>(
    job: &Job,
) -> Result<SimSample, Failure> {
    let mode = if ALWAYS { NumaMode::On } else { NumaMode::Dynamic };
    set_numa(Numa { mode, ..Numa::OFF });
    let result = simulate::<L, ONE_LINE>(job);
    set_numa(Numa::OFF);
    result
}

/// The same lock on a kernel that extends slices: see [`set_slice_extension`].
const fn with_extension<L: BenchRwLock + 'static, const ONE_LINE: bool>(
    name: &'static str,
    about: &'static str,
    kind: Kind,
) -> SimSubject {
    SimSubject { name, about, kind, run: simulate_with_extension::<L, ONE_LINE> }
}

/// What Linux 7.0 gives unless the machine is set otherwise.
const EXTENSION_NS: u32 = 5_000;

fn simulate_with_extension<L: BenchRwLock + 'static, const ONE_LINE: bool>(
    job: &Job,
) -> Result<SimSample, Failure> {
    set_slice_extension(EXTENSION_NS);
    let result = simulate::<L, ONE_LINE>(job);
    set_slice_extension(0);
    result
}

type KernelMutex = AsRwLock<On<RawMutex<Sim, mutex::Kernel>>>;
type SliceMutex = AsRwLock<On<RawMutex<Sim, mutex::Slice>>>;
type RwLock<W> = On<RawRwLock<Sim, W>>;

/// A stage of the kernel's.
const fn stage<W: policy::Policy + Send + Sync>() -> SimSubject {
    rw::<W, true>()
}

const fn mutex<W: mutex::Policy + Send + Sync, const ONE_LINE: bool>(
    name: &'static str,
    about: &'static str,
) -> SimSubject {
    let run = simulate::<AsRwLock<On<RawMutex<Sim, W>>>, ONE_LINE>;
    SimSubject { name, about, kind: Kind::Mutex, run }
}

/// The hand-off stage with the request at the first wake-up: what the series warns of.
struct HandoffAtOnce;

impl policy::Policy for HandoffAtOnce {
    const NAME: &'static str = "handoff-at-once";
    const STAGE: &'static str = "handoff, with the request at the first wake-up";
    const SWITCHES: policy::Switches = policy::Switches {
        admission: policy::Admission {
            handoff_ns: 0,
            ..<policy::Handoff as policy::Policy>::SWITCHES.admission
        },
        ..<policy::Handoff as policy::Policy>::SWITCHES
    };
}

/// Reads of a sequence counter. Writers do not exclude each other here: there must be none.
#[repr(align(64))]
struct Sequence {
    count: SeqCount<Sim>,
    counter: AtomicU64,
}

impl BenchRwLock for Sequence {
    fn new() -> Self {
        Sequence { count: SeqCount::new(), counter: AtomicU64::new(0) }
    }

    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        let start = self.count.begin();
        let result = section(&self.counter);
        // Nobody writes: no section is ever broken.
        let _ = start.map(|start| self.count.retry(start));
        result
    }

    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        self.count.write(|_| section(&self.counter))
    }
}

/// All of them.
pub static SUBJECTS: &[SimSubject] = &[
    stage::<policy::Fifo>(),
    stage::<policy::Steal>(),
    stage::<policy::V5_2>(),
    stage::<policy::Handoff>(),
    stage::<HandoffAtOnce>(),
    stage::<policy::WakeAll>(),
    stage::<policy::ReaderSpin>(),
    stage::<policy::TimedSpin>(),
    stage::<policy::V5_3>(),
    stage::<policy::V5_4>(),
    stage::<policy::AntiStarvation>(),
    stage::<policy::ReaderSteals>(),
    stage::<policy::LimitRspin>(),
    stage::<policy::V5_11>(),
    stage::<policy::EarlyTransfer>(),
    rw::<policy::Standard, false>(),
    SimSubject {
        name: "seqcount",
        about: "readers of a sequence counter; 100 % reads only",
        kind: Kind::Readers,
        run: simulate::<Sequence, false>,
    },
    mutex::<mutex::Slice, false>("mutex", "the product mutex, default policy"),
    mutex::<mutex::Latency, false>("mutex-latency", "the product mutex, short longest wait"),
    mutex::<mutex::SliceAtomic, false>("mutex-atomic", "the product mutex, atomic unlock"),
    mutex::<mutex::Kernel, true>("mutex-kernel", "the product mutex, the kernel's policy"),
    by_domain::<KernelMutex, true, true>(
        "mutex-kernel+numa",
        "the kernel's policy, spinners queued up by domain always",
        Kind::Mutex,
    ),
    by_domain::<KernelMutex, true, false>(
        "mutex-kernel+dynamic",
        "the kernel's policy, spinners queued up by domain in a crowd",
        Kind::Mutex,
    ),
    by_domain::<SliceMutex, false, false>(
        "mutex+dynamic",
        "the product mutex, spinners queued up by domain in a crowd",
        Kind::Mutex,
    ),
    with_extension::<KernelMutex, true>(
        "mutex-kernel+slice-ext",
        "the kernel's policy, where slices are extended for owners that are waited for",
        Kind::Mutex,
    ),
    with_extension::<SliceMutex, false>(
        "mutex+slice-ext",
        "the product mutex, where slices are extended for owners that are waited for",
        Kind::Mutex,
    ),
    with_extension::<RwLock<policy::Standard>, false>(
        "default+slice-ext",
        "the product rwlock, where slices are extended for writers that are waited for",
        Kind::RwLock,
    ),
    by_domain::<RwLock<policy::V5_11>, true, true>(
        "v5.11+numa",
        "v5.11, spinners queued up by domain always",
        Kind::RwLock,
    ),
    by_domain::<RwLock<policy::V5_11>, true, false>(
        "v5.11+dynamic",
        "v5.11, spinners queued up by domain in a crowd",
        Kind::RwLock,
    ),
    by_domain::<RwLock<policy::Standard>, false, false>(
        "default+dynamic",
        "the product rwlock, spinners queued up by domain in a crowd",
        Kind::RwLock,
    ),
    SimSubject {
        name: "mutex-2013-before",
        about: "the count-word mutex without tests before its exchanges",
        kind: Kind::Mutex,
        run: simulate::<AsRwLock<On<CountMutex<Sim, Before>>>, false>,
    },
    SimSubject {
        name: "mutex-2013-after",
        about: "the count-word mutex with tests before its exchanges",
        kind: Kind::Mutex,
        run: simulate::<AsRwLock<On<CountMutex<Sim, AfterX86>>>, false>,
    },
    SimSubject {
        name: "peer-barging",
        about: "what std's mutex does: spins a little, sleeps, competes when woken",
        kind: Kind::Mutex,
        run: simulate::<AsRwLock<Barging<Sim>>, false>,
    },
    SimSubject {
        name: "peer-fair-after-0.5ms",
        about: "what parking_lot's mutex does: the same, but hands over after half a millisecond on average",
        kind: Kind::Mutex,
        run: simulate::<AsRwLock<FairAfter<Sim>>, false>,
    },
];

/// The lock of this name.
pub fn subject(name: &str) -> Option<&'static SimSubject> {
    SUBJECTS.iter().find(|subject| subject.name == name)
}
