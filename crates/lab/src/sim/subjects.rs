//! The locks that can be put on a simulated machine: the same source as natively.

use lockwright_locks::count_mutex::{AfterX86, Before, CountMutex};
use lockwright_locks::mutex::{self, RawMutex};
use lockwright_locks::rwsem::{RawRwLock, policy};
use lockwright_sim::{Failure, Sim};
use lockwright_workloads::on::On;

use super::job::{self, Job, SimSample};

/// A lock under one policy.
#[derive(Clone, Copy)]
pub struct SimSubject {
    /// The name users select it by.
    pub name: &'static str,
    /// One line on what it is.
    pub about: &'static str,
    /// A reader-writer lock, not a mutex.
    pub rwlock: bool,
    /// Carries a run out.
    pub run: fn(&Job) -> Result<SimSample, Failure>,
}

const fn rw<W: policy::Policy + Send + Sync, const ONE_LINE: bool>() -> SimSubject {
    SimSubject {
        name: W::NAME,
        about: W::STAGE,
        rwlock: true,
        run: job::rw::<On<RawRwLock<Sim, W>>, ONE_LINE>,
    }
}

/// A stage of the kernel's.
const fn stage<W: policy::Policy + Send + Sync>() -> SimSubject {
    rw::<W, true>()
}

const fn mutex<W: mutex::Policy + Send + Sync, const ONE_LINE: bool>(
    name: &'static str,
    about: &'static str,
) -> SimSubject {
    SimSubject { name, about, rwlock: false, run: job::mutex::<On<RawMutex<Sim, W>>, ONE_LINE> }
}

/// The hand-off stage with the request at the first wake-up: what the series warns of.
struct HandoffAtOnce;

impl policy::Policy for HandoffAtOnce {
    const NAME: &'static str = "handoff-at-once";
    const STAGE: &'static str = "handoff, with the request at the first wake-up";
    const SWITCHES: policy::Switches =
        policy::Switches { handoff_ns: 0, ..<policy::Handoff as policy::Policy>::SWITCHES };
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
        rwlock: true,
        run: job::seqcount,
    },
    mutex::<mutex::Slice, false>("mutex", "the product mutex, default policy"),
    mutex::<mutex::Latency, false>("mutex-latency", "the product mutex, short longest wait"),
    mutex::<mutex::SliceAtomic, false>("mutex-atomic", "the product mutex, atomic unlock"),
    mutex::<mutex::Kernel, true>("mutex-kernel", "the product mutex, the kernel's policy"),
    SimSubject {
        name: "mutex-2013-before",
        about: "the count-word mutex without tests before its exchanges",
        rwlock: false,
        run: job::mutex::<On<CountMutex<Sim, Before>>, false>,
    },
    SimSubject {
        name: "mutex-2013-after",
        about: "the count-word mutex with tests before its exchanges",
        rwlock: false,
        run: job::mutex::<On<CountMutex<Sim, AfterX86>>, false>,
    },
];

/// The lock of this name.
pub fn subject(name: &str) -> Option<&'static SimSubject> {
    SUBJECTS.iter().find(|subject| subject.name == name)
}
