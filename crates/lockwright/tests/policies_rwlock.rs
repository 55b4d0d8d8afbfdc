//! The reader-writer contract on every preset of the kernel's series.
#![cfg(not(any(loom, miri)))]

use lockwright::stages::rwlock_policy::{self, PRESETS, Policy};
use lockwright::{RawRwLockRecursive, RawRwLockWith};
use lockwright_contract::{WriteSide, mutex_contract, rwlock_contract};

rwlock_contract!(recursive, RawRwLockRecursive, readers_first);
mutex_contract!(recursive_writers, WriteSide<RawRwLockRecursive>, timed, fair);

/// One module of tests for each preset, and a test that none is missing.
macro_rules! presets {
    ($($module:ident: $preset:ident),*) => {
        $(rwlock_contract!($module, RawRwLockWith<rwlock_policy::$preset>);)*

        #[test]
        fn every_preset_is_tested() {
            let tested = [$(<rwlock_policy::$preset as Policy>::NAME),*, "default"];
            assert!(PRESETS.iter().all(|preset| tested.contains(&preset.name)));
            assert_eq!(tested.len(), PRESETS.len());
        }
    };
}

presets! {
    fifo: Fifo, steal: Steal, v5_2: V5_2, handoff: Handoff, wake_all: WakeAll,
    reader_spin: ReaderSpin, timed_spin: TimedSpin, v5_3: V5_3, v5_4: V5_4,
    anti_starvation: AntiStarvation, reader_steals: ReaderSteals, limit_rspin: LimitRspin,
    v5_11: V5_11, early_transfer: EarlyTransfer
}
