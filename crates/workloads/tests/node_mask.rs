//! The proof of the node-mask study: a false "no node" appears without protection, and does not
//! with it; played by a script, and by threads with a widened window.
#![cfg(not(loom))]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use lockwright_platform::counting::{Counting, act_as};
use lockwright_platform::{Native, Platform};
use lockwright_workloads::node_mask::{
    Allocation, FullBarriers, NodeSet, Nodes, Protection, SeqAlways, SeqOnFailure, Task,
    Unprotected, allocate,
};
use lockwright_workloads::work::pause;

type Set = NodeSet<2>;
/// The mask becomes these nodes before the look at the node with this index.
type Change = (usize, &'static [usize]);

/// The nodes of all tests, two in each word.
const NODES: [usize; 4] = [0, 40, 64, 100];

/// A scan during which the mask goes through `changes`. There are plenty of pages and some node
/// is allowed at every moment: `None` is false.
fn scripted<G: Protection>(first: &[usize], policy: bool, changes: &[Change]) -> Allocation {
    let task = Task::<Counting, 2>::with_policy(Set::of(first), policy);
    let nodes = Nodes::<Counting>::new(&NODES, 10);
    let mut changes = changes.iter().peekable();
    G::scan(&task, || {
        let mut look = 0;
        task.scan(&nodes, || {
            while let Some((_, mask)) = changes.next_if(|change| change.0 == look) {
                act_as(2, || G::change(&task, Set::of(mask)));
            }
            look += 1;
        })
    })
}

/// Only a late node is allowed until the scan has looked at the first: then only the first is.
const DISJOINT: &[Change] = &[(1, &[0])];

#[test]
fn a_scan_without_protection_reports_no_node() {
    assert_eq!(scripted::<Unprotected>(&[100], false, DISJOINT).node, None);
    assert_eq!(scripted::<Unprotected>(&[40], false, DISJOINT).node, None, "within a word, too");
}

#[test]
fn a_failed_scan_is_repeated_when_the_sequence_has_moved() {
    let found = Allocation { node: Some(0), scans: 2 };
    assert_eq!(scripted::<SeqOnFailure>(&[100], false, DISJOINT), found);
    assert_eq!(scripted::<SeqAlways>(&[100], false, DISJOINT), found);
}

/// The sequence moves before the scan finds a node: it is not asked for.
#[test]
fn a_success_is_accepted_whatever_the_mask_did() {
    const AWAY: &[Change] = &[(1, &[64])];
    let found = Allocation { node: Some(64), scans: 1 };
    assert_eq!(scripted::<SeqOnFailure>(&[100], false, AWAY), found);
    assert_eq!(scripted::<SeqAlways>(&[100], false, AWAY), found);
}

/// Masks that share a node: no count is needed in 2012, and no second scan.
#[test]
fn a_shared_node_is_found_without_a_count() {
    const SHARED: &[Change] = &[(1, &[0, 100])];
    let found = Allocation { node: Some(100), scans: 1 };
    assert_eq!(scripted::<SeqOnFailure>(&[100], false, SHARED), found);
}

/// The masks share a node, the nodes that the policy picks do not: 100 before, 0 after.
#[test]
fn a_policy_needs_the_count_even_where_masks_share_a_node() {
    const SHARED: &[Change] = &[(1, &[0, 100])];
    assert_eq!(scripted::<Unprotected>(&[100], true, SHARED).node, None);
    let found = Allocation { node: Some(0), scans: 2 };
    assert_eq!(scripted::<SeqOnFailure>(&[100], true, SHARED), found);
}

/// {64, 100}, {40, 64}, {0, 40}: neighbours share a node, so the rule of 2012 counts nothing. The
/// scan looks at 0 and 40 under the first and at 64 and 100 under the last.
#[test]
fn the_rule_of_2012_has_a_hole() {
    const STEPS: &[Change] = &[(2, &[40, 64]), (2, &[0, 40])];
    assert_eq!(scripted::<SeqOnFailure>(&[64, 100], false, STEPS).node, None);
    let found = Allocation { node: Some(0), scans: 2 };
    assert_eq!(scripted::<SeqAlways>(&[64, 100], false, STEPS), found);
}

#[test]
fn a_full_machine_is_reported_after_one_scan() {
    fn full<G: Protection>() {
        let task = Task::<Counting, 2>::new(Set::of(&[0, 64]));
        let nodes = Nodes::<Counting>::new(&NODES, 1);
        let got = [(); 3].map(|()| allocate::<G, _, 2>(&task, &nodes));
        let one = |node| Allocation { node, scans: 1 };
        assert_eq!(got, [one(Some(0)), one(Some(64)), one(None)], "{}", G::NAME);
        nodes.give(64);
        assert_eq!(allocate::<G, _, 2>(&task, &nodes), one(Some(64)));
    }
    full::<Unprotected>();
    full::<FullBarriers>();
    full::<SeqOnFailure>();
    full::<SeqAlways>();
}

/// With full barriers the writer stops after the union until the scan is over.
#[test]
fn the_writer_of_2010_waits_for_the_scan() {
    let task = Task::<Counting, 2>::new(Set::of(&[100]));
    let nodes = Nodes::<Counting>::new(&NODES, 10);
    let change = || act_as(2, || FullBarriers::change(&task, Set::of(&[0])));
    let scan = || {
        // Nobody is there to end the wait, which the platform reports by a panic.
        assert!(catch_unwind(AssertUnwindSafe(change)).is_err(), "the writer did not wait");
        assert_eq!(task.mask(), Set::of(&[0, 100]));
        task.scan(&nodes, || ())
    };
    assert_eq!(FullBarriers::scan(&task, scan).node, Some(0));
    change();
    assert_eq!(task.mask(), Set::of(&[0]));
}

/// What an allocator met beside a writer that keeps replacing the mask by one of the other half.
struct Met {
    /// "No node", though some node was allowed and had pages at every moment.
    false_failures: u64,
    allocations: u64,
    changes: u64,
}

/// Threads; a scan pauses before each look, until the mask has been replaced as often as `steps`
/// says (at most 3 times) or the writer is seen to wait for the scan. Ends after the first false
/// failure, or after so many allocations and changes.
fn threads<G: Protection>(steps: fn(u64) -> u64, enough: u64) -> Met {
    let halves = [Set::of(&[0, 40]), Set::of(&[64, 100])];
    let task = Task::<Native, 2>::new(halves[0]);
    let nodes = Nodes::<Native>::new(&NODES, 1_000);
    let (done, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut met = Met { false_failures: 0, allocations: 0, changes: 0 };
    let looks = Cell::new(0);
    // Ordering: Relaxed throughout: a hint to stop, and a count.
    let before_a_look = || {
        looks.set(looks.get() + 1);
        let target = changes.load(Relaxed) + steps(looks.get());
        for turn in 0..40 {
            if changes.load(Relaxed) >= target {
                return;
            }
            // However few CPUs there are: in the end a sleep gives the writer its turn.
            if turn < 36 { Native::yield_now() } else { Native::sleep(50_000) }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for mask in halves.iter().cycle().skip(1) {
                if done.load(Relaxed) {
                    return;
                }
                G::change(&task, *mask);
                let change = changes.fetch_add(1, Relaxed);
                let step = uneven(change);
                pause(step);
                if step == 0 {
                    Native::yield_now();
                }
            }
        });
        while met.false_failures == 0 && met.allocations.min(changes.load(Relaxed)) < enough {
            match G::scan(&task, || task.scan(&nodes, before_a_look)).node {
                Some(node) => nodes.give(node),
                None => met.false_failures += 1,
            }
            met.allocations += 1;
            // The writer of 2010 must see, now and then, that nobody reads: on one CPU, too.
            let step = uneven(met.allocations);
            if step == 0 { Native::sleep(50_000) } else { pause(step) }
        }
        done.store(true, Relaxed);
    });
    met.changes = changes.load(Relaxed);
    met
}

/// 0 to 31, without a pattern (the output step of splitmix64): threads of even steps can fall into
/// one another's.
fn uneven(turn: u64) -> u32 {
    let mut z = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 59) as u32
}

/// 0 to 3 changes before a look.
fn wide(look: u64) -> u64 {
    u64::from(uneven(look) % 4)
}

/// None is waited for.
fn narrow(_look: u64) -> u64 {
    0
}

#[test]
fn threads_without_protection_meet_a_false_failure() {
    let met = threads::<Unprotected>(wide, u64::MAX);
    assert!(met.false_failures > 0, "none in {} allocations", met.allocations);
    println!("false failure after {} allocations, {} changes", met.allocations, met.changes);
}

#[test]
fn threads_with_protection_meet_none() {
    for met in [
        threads::<FullBarriers>(wide, 300),
        threads::<SeqOnFailure>(wide, 3_000),
        threads::<SeqAlways>(wide, 3_000),
        threads::<FullBarriers>(narrow, 20_000),
        threads::<SeqOnFailure>(narrow, 20_000),
        threads::<SeqAlways>(narrow, 20_000),
    ] {
        assert_eq!(met.false_failures, 0, "in {} allocations", met.allocations);
        assert!(met.allocations > 0 && met.changes > 0);
        println!("none in {} allocations, {} changes", met.allocations, met.changes);
    }
}
