//! The node-mask study under the model checker, with two nodes in two words: without protection
//! the checker finds a false "no node", with each protection it finds none.
#![cfg(loom)]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_model::Model;
use lockwright_workloads::node_mask::{
    FullBarriers, NodeSet, Nodes, Protection, SeqAlways, SeqOnFailure, Task, Unprotected, allocate,
};
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

type Set = NodeSet<2>;

/// Whether some schedule lets a scan fail while the mask goes through `changes`.
///
/// Each side is the spawned thread once: of the accesses to a word the checker remembers the last
/// only, so a writer that loads a word and stores it hides a reader's load that came before.
fn fails<G: Protection>(preemptions: usize, first: &[usize], changes: &[&'static [usize]]) -> bool {
    let failed = std::sync::Arc::new(AtomicBool::new(false));
    for spawn_writer in [false, true] {
        let mut builder = Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.max_branches = 20_000;
        let (first, changes, seen) = (Set::of(first), changes.to_vec(), failed.clone());
        builder.check(move || {
            let task = Arc::new(Task::<Model, 2>::new(first));
            let writer = {
                let (task, changes) = (task.clone(), changes.clone());
                move || changes.iter().for_each(|mask| G::change(&task, Set::of(mask)))
            };
            let seen = seen.clone();
            let reader = move || {
                let nodes = Nodes::<Model>::new(&[0, 64], 1);
                if allocate::<G, _, 2>(&task, &nodes).node.is_none() {
                    seen.store(true, Relaxed);
                }
            };
            if spawn_writer {
                beside(writer, reader);
            } else {
                beside(reader, writer);
            }
        });
    }
    failed.load(Relaxed)
}

fn beside(spawned: impl FnOnce() + 'static, here: impl FnOnce()) {
    let spawned = thread::spawn(spawned);
    here();
    spawned.join().unwrap();
}

#[test]
fn without_protection_a_scan_fails() {
    assert!(fails::<Unprotected>(2, &[64], &[&[0]]));
}

#[test]
fn full_barriers_let_no_scan_fail() {
    assert!(!fails::<FullBarriers>(3, &[64], &[&[0]]));
    assert!(!fails::<FullBarriers>(2, &[64], &[&[0], &[64]]));
}

#[test]
fn the_sequence_lets_no_scan_fail() {
    assert!(!fails::<SeqOnFailure>(3, &[64], &[&[0]]));
    assert!(!fails::<SeqOnFailure>(2, &[64], &[&[0], &[64]]));
    assert!(!fails::<SeqAlways>(2, &[64], &[&[0], &[64]]));
}

/// A node that stays allowed is found, counted or not.
#[test]
fn a_shared_node_lets_no_scan_fail() {
    assert!(!fails::<SeqOnFailure>(3, &[64], &[&[0, 64]]));
    assert!(!fails::<SeqOnFailure>(3, &[0, 64], &[&[0]]));
}

/// The hole in the rule of 2012: neighbours share a node, the first and the last do not.
#[test]
fn the_rule_of_2012_fails_over_two_changes() {
    assert!(fails::<SeqOnFailure>(3, &[64], &[&[0, 64], &[0]]));
    assert!(!fails::<SeqAlways>(2, &[64], &[&[0, 64], &[0]]));
}
