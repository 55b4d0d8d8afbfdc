//! The contract suite on the default mutex, its atomic form, and the condition variable. Miri
//! runs this file too; `policies.rs` holds the rest.
#![cfg(not(loom))]

use lockwright::{RawCondvar, RawMutex, Slice, SliceAtomic};
use lockwright_contract::{
    condvar_contract, fork_contract, mutex_contract, signal_contract, unmap_contract,
};

mutex_contract!(slice, RawMutex<Slice>, timed, fair);
mutex_contract!(slice_atomic, RawMutex<SliceAtomic>, timed, fair);

condvar_contract!(condvar, RawCondvar<Slice>, exact);

unmap_contract!(unmap_atomic, RawMutex<SliceAtomic>);

fork_contract!(fork, RawMutex<Slice>);
fork_contract!(fork_atomic, RawMutex<SliceAtomic>);

signal_contract!(signal, RawMutex<Slice>);
signal_contract!(signal_atomic, RawMutex<SliceAtomic>);
