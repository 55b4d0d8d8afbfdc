//! 70,000 threads over the life of a process: slots are given back.
#![cfg(not(any(loom, miri)))]

use lockwright::RawMutex;
use lockwright_contract::process_life_contract;

process_life_contract!(life, RawMutex);
