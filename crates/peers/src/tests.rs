//! Each peer excludes: the shims call what they say they call.

use std::time::Duration;

use lockwright_workloads::mutex_bench::{
    BenchMutex, Interrupt, MutexBench, Rhythm, RoundSpec, Runner,
};

fn excludes<M: BenchMutex>() {
    let spec =
        RoundSpec { threads: 4, rhythm: Rhythm::steady(20, 2), time: Duration::from_millis(30) };
    let report = Runner::<M>::NEW.throughput(&spec, &Interrupt::new()).unwrap();
    assert_eq!(report.lost_updates, 0);
    assert!(report.threads.iter().map(|thread| thread.ops).sum::<u64>() > 0);
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
