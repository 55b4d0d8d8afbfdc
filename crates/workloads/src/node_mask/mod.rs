//! The node-mask study: when does an allocator believe that it may use no node at all?
//!
//! A task has a mask of the memory nodes it may use. Its allocator goes through the nodes and
//! looks each of them up in the live mask; somebody else replaces the mask. Replacing is never
//! atomic, since the mask has several words, and going through it is not either: a scan can look
//! for node A while only B is allowed and for B after the change, when only A is. Every node
//! looked forbidden, and the allocator reports "no node" although some node was allowed at every
//! moment. Writing the union of the old and the new mask first narrows the window and does not
//! close it.
//!
//! | protection | reader | writer |
//! |---|---|---|
//! | [`Unprotected`] | nothing | union, then the new mask |
//! | [`FullBarriers`], Linux 2010 | says that it reads, two full barriers | between the two steps it waits until nobody reads |
//! | [`SeqOnFailure`], Linux 2012 (cc9a6c8776) | looks at a sequence counter, again if it failed | counts if the task has a policy or the masks are disjoint |
//! | [`SeqAlways`], Linux 2017 | the same | counts always |
//!
//! A success is accepted whatever the mask did meanwhile; only a failure is worth a second look.
//! That asymmetry is the point of the design of 2012. Its rule when to count has a hole that the
//! study shows (`the_rule_of_2012_has_a_hole` in the tests): of three masks, each may share a
//! node with the next and the first none with the last, and a scan may outlast both changes.
//!
//! *Guarantees* (I8): with `FullBarriers` and `SeqAlways`, and with `SeqOnFailure` as far as its
//! rule holds, an allocator that reports "no node" found every allowed node full.
//! *Checked by*: `tests/node_mask.rs` (interleavings played by a script, and threads),
//! `tests/loom_node_mask.rs`.

mod faults;
mod nodes;
mod protection;
mod set;
mod task;

pub use faults::{FaultReport, FaultRunner, FaultSpec, Faults};
pub use nodes::Nodes;
pub use protection::{
    Allocation, FullBarriers, Protection, SeqAlways, SeqOnFailure, Unprotected, allocate,
};
pub use set::NodeSet;
pub use task::Task;
