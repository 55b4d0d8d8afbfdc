//! The reference lock keeps every claim that a lock without a queue can make.

use lockwright_contract::reference::Futex;
use lockwright_contract::{
    fork_contract, mutex_contract, process_life_contract, signal_contract, unmap_contract,
};

mutex_contract!(mutex, Futex, timed);
unmap_contract!(unmap, Futex);
fork_contract!(fork, Futex);
signal_contract!(signal, Futex);
process_life_contract!(process_life, Futex);
