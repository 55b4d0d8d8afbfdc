//! The contract suite on the other policies and on the study objects.
#![cfg(not(any(loom, miri)))]

use lockwright::stages::{AfterX86, Before, Kernel, RawCountMutex};
use lockwright::{Latency, RawCondvarWith, RawFairMutex, RawMutexWith, SliceAtomic};
use lockwright_contract::{condvar_contract, mutex_contract};

mutex_contract!(kernel, RawMutexWith<Kernel>, timed, fair);
mutex_contract!(latency, RawMutexWith<Latency>, timed, fair);
mutex_contract!(fair, RawFairMutex, timed, fair, always_fair);
mutex_contract!(study_before, RawCountMutex<Before>);
mutex_contract!(study_after, RawCountMutex<AfterX86>);

condvar_contract!(condvar_kernel, RawCondvarWith<Kernel>, exact);
condvar_contract!(condvar_atomic, RawCondvarWith<SliceAtomic>, exact);
