//! The contract suite on the default mutex, its atomic form, and the condition variable. Miri
//! runs this file too; `policies.rs` holds the rest.
#![cfg(not(loom))]

use lockwright::{RawCondvar, RawMutex, RawMutexWith, SliceAtomic};
use lockwright_contract::{
    condvar_contract, fork_contract, mutex_contract, signal_contract, unmap_contract,
};

mutex_contract!(slice, RawMutex, timed, fair);
mutex_contract!(slice_atomic, RawMutexWith<SliceAtomic>, timed, fair);

condvar_contract!(condvar, RawCondvar, exact);

unmap_contract!(unmap_atomic, RawMutexWith<SliceAtomic>);

fork_contract!(fork, RawMutex);
fork_contract!(fork_atomic, RawMutexWith<SliceAtomic>);

signal_contract!(signal, RawMutex);
signal_contract!(signal_atomic, RawMutexWith<SliceAtomic>);
