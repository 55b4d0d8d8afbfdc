//! Each peer excludes: the shims call what they say they call.

use std::time::Duration;

use lockwright_workloads::harness::Interrupt;
use lockwright_workloads::mutex_bench::{BenchMutex, MutexBench, Rhythm, RoundSpec, Runner};
use lockwright_workloads::patterns::{
    BenchMonitor, Cpus, MonitorPattern, PatternBench, PatternRunner, QueueSpec, TurnsSpec,
};
use lockwright_workloads::rw_bench::{BenchRwLock, Mix, Percent, RwBench, RwRunner, RwSpec};
use lockwright_workloads::seq_bench::{BenchSeq, SeqBench, SeqRunner, SeqSpec, WriteEvery};

/// What is read is of one write as a whole.
fn is_whole<S: BenchSeq>() {
    let every = WriteEvery::Time(Duration::ZERO);
    let spec = SeqSpec { readers: 2, write_every: every, time: Duration::from_millis(30) };
    let report = SeqRunner::<S>::NEW.round(&spec, &Interrupt::new()).unwrap();
    assert_eq!(report.torn, 0);
    assert!(report.reads.iter().sum::<u64>() > 0);
}

/// The models run on threads of this machine, too.
#[test]
fn models_exclude() {
    excludes::<crate::model::Barging<lockwright_platform::Native>>();
    excludes::<crate::model::FairAfter<lockwright_platform::Native>>();
}

#[test]
fn read_mostly_peers_return_whole_values() {
    is_whole::<crate::StdRwLock>();
    is_whole::<crate::ParkingLotRwLock>();
    is_whole::<crate::ArcSwapped>();
    is_whole::<crate::SeqlockCrate>();
}

fn excludes<M: BenchMutex>() {
    let spec =
        RoundSpec { threads: 4, rhythm: Rhythm::steady(20, 2), time: Duration::from_millis(30) };
    let report = Runner::<M>::NEW.throughput(&spec, &Interrupt::new()).unwrap();
    assert_eq!(report.lost_updates, 0);
    assert!(report.threads.iter().map(|thread| thread.ops).sum::<u64>() > 0);
}

/// Readers and writers beside each other: no write is lost, and no reader sees one.
fn keeps_writers_apart<L: BenchRwLock>() {
    let spec = RwSpec {
        threads: 4,
        readers: Percent::whole(50),
        mix: Mix::Drawn,
        load: 20,
        outside: 2,
        time: Duration::from_millis(30),
    };
    let report = RwRunner::<L>::NEW.round(&spec, &Interrupt::new()).unwrap();
    assert_eq!(report.intrusions, 0);
    assert!(report.threads.iter().map(|thread| thread.reads).sum::<u64>() > 0);
    assert!(report.threads.iter().map(|thread| thread.writes).sum::<u64>() > 0);
}

#[test]
fn reader_writer_peers_keep_writers_apart() {
    keeps_writers_apart::<crate::StdRw>();
    keeps_writers_apart::<crate::ParkingLotRw>();
    keeps_writers_apart::<crate::UsyncRw>();
    keeps_writers_apart::<crate::PthreadRw>();
    keeps_writers_apart::<crate::Sharded>();
    #[cfg(target_env = "gnu")]
    keeps_writers_apart::<crate::PthreadRwWriters>();
}

#[cfg(feature = "peers-cxx")]
#[test]
fn foreign_reader_writer_peers_keep_writers_apart() {
    keeps_writers_apart::<crate::AbslRw>();
    keeps_writers_apart::<crate::NsyncRw>();
    keeps_writers_apart::<crate::TbbRwMutex>();
}

macro_rules! peers {
    ($($test:ident: $peer:ty,)*) => {
        $(#[test]
        fn $test() {
            excludes::<$peer>();
        })*
    };
}

peers! {
    std_excludes: crate::Std,
    parking_lot_excludes: crate::ParkingLot,
    usync_excludes: crate::Usync,
    pthread_excludes: crate::Pthread,
}

#[cfg(target_env = "gnu")]
peers! {
    pthread_adaptive_excludes: crate::PthreadAdaptive,
}

#[cfg(feature = "peers-cxx")]
peers! {
    absl_excludes: crate::Absl,
    nsync_excludes: crate::Nsync,
    tbb_mutex_excludes: crate::TbbMutex,
}

/// Items come out as they went in and turns are taken in turn, whoever the condition variable is.
#[test]
fn condition_variables_lose_nothing() {
    fn check<M: BenchMonitor>() {
        let (time, interrupt) = (Duration::from_millis(20), Interrupt::new());
        let spec = QueueSpec { producers: 2, consumers: 2, capacity: 4, task: 5 };
        let queue = MonitorPattern::Queue(spec);
        let turns = MonitorPattern::Turns(TurnsSpec { notify_held: true }, Cpus::Free);
        for pattern in [queue, turns] {
            let report = PatternRunner::<M>::NEW.round(pattern, time, &interrupt).unwrap();
            assert_eq!(report.wrong, 0);
            assert!(report.waits.count() > 0);
        }
    }
    check::<crate::StdMonitor>();
    check::<crate::ParkingLotMonitor>();
    check::<crate::UsyncMonitor>();
    check::<crate::PthreadMonitor>();
}
