//! What figures depend on besides the locks: the machine, its settings, and who else uses it.

pub mod checkup;
pub mod facts;
pub mod interference;
pub mod machine;
pub mod run_queue;
