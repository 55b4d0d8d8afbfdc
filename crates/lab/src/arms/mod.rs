//! What is compared: every lock once, and what makes a [`Run`](crate::experiment::Run) of it.

pub mod choose;
pub mod commands;
pub mod locks;
mod native;
pub mod revisions;

use crate::experiment::Arm;
use locks::Lock;

impl From<Lock> for Arm {
    fn from(lock: Lock) -> Self {
        Arm { record: lock.record(), run: Box::new(lock) }
    }
}
