//! `parking_lot` keeps the contract, which says as much about the contract.
//!
//! It claims nothing about `fork` (its queues are a process-wide table whose buckets another
//! thread may have locked) nor about handlers that lock while their thread waits (one queue
//! node per thread); `reference_lock.rs` has those. Nor may its plain mutex be unmapped by the
//! next owner: since 0.13 unlock releases first and clears its parked bit afterwards. The fair
//! one hands over as its last step.

use lockwright_contract::{
    condvar_contract, mutex_contract, process_life_contract, unmap_contract,
};
use parking_lot::{RawCondvar, RawFairMutex, RawMutex};

mutex_contract!(mutex, RawMutex, timed, fair);
mutex_contract!(fair_mutex, RawFairMutex, timed, fair);
condvar_contract!(condvar, RawCondvar, exact);
unmap_contract!(unmap, RawFairMutex);
process_life_contract!(process_life, RawMutex);
