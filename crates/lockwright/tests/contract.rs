//! The contract suite on every mutex and on the condition variable.
#![cfg(not(loom))]

use lockwright::study::{AfterX86, Before, RawCountMutex};
use lockwright::{Kernel, Latency, RawCondvar, RawMutex, Slice, SliceAtomic};
use lockwright_torture::{
    condvar_contract, fork_contract, mutex_contract, signal_contract, unmap_contract,
};

mutex_contract!(slice, RawMutex<Slice>, timed, fair);
mutex_contract!(study_before, RawCountMutex<Before>);
mutex_contract!(study_after, RawCountMutex<AfterX86>);
mutex_contract!(kernel, RawMutex<Kernel>, timed, fair);
mutex_contract!(latency, RawMutex<Latency>, timed, fair);
mutex_contract!(slice_atomic, RawMutex<SliceAtomic>, timed, fair);

condvar_contract!(condvar, RawCondvar<Slice>, exact);
condvar_contract!(condvar_kernel, RawCondvar<Kernel>, exact);
condvar_contract!(condvar_atomic, RawCondvar<SliceAtomic>, exact);

unmap_contract!(unmap_atomic, RawMutex<SliceAtomic>);

fork_contract!(fork, RawMutex<Slice>);
fork_contract!(fork_atomic, RawMutex<SliceAtomic>);

signal_contract!(signal, RawMutex<Slice>);
signal_contract!(signal_atomic, RawMutex<SliceAtomic>);
