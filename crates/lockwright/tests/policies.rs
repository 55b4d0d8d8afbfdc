//! The contract suite on the other policies and on the study objects.
#![cfg(not(any(loom, miri)))]

use lockwright::study::{AfterX86, Before, RawCountMutex};
use lockwright::{Kernel, Latency, RawCondvar, RawMutex, SliceAtomic};
use lockwright_contract::{condvar_contract, mutex_contract};

mutex_contract!(kernel, RawMutex<Kernel>, timed, fair);
mutex_contract!(latency, RawMutex<Latency>, timed, fair);
mutex_contract!(study_before, RawCountMutex<Before>);
mutex_contract!(study_after, RawCountMutex<AfterX86>);

condvar_contract!(condvar_kernel, RawCondvar<Kernel>, exact);
condvar_contract!(condvar_atomic, RawCondvar<SliceAtomic>, exact);
