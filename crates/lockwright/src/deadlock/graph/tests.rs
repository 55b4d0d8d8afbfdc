use super::super::registry::Hold;
use super::*;
use crate::raw::Mode::{Read, ReadAgain, Upgradable, Write};
use crate::raw::{Key, Wait};

/// A thread that holds these and waits for that.
fn thread(holds: &[(usize, Mode)], waits: Option<(usize, Mode)>) -> Notes {
    let mut notes = Notes::default();
    notes.holds = holds.iter().map(|&(key, mode)| Hold { key: Key(key), mode }).collect();
    notes.waits = waits.map(|(key, mode)| Waiting::to_take(Key(key), mode, Wait::Always));
    notes
}

fn found(threads: &[Notes]) -> Vec<Vec<usize>> {
    cycles(threads, &stuck(threads))
}

#[test]
fn a_ring_of_mutexes_is_one_deadlock() {
    let ring = |n: usize| -> Vec<Notes> {
        (0..n).map(|i| thread(&[(i, Write)], Some(((i + 1) % n, Write)))).collect()
    };
    for n in 1..6 {
        assert_eq!(found(&ring(n)), [(0..n).collect::<Vec<_>>()]);
        // Without one of the waits everybody can go on in turn.
        let mut open = ring(n);
        open[0].waits = None;
        assert!(stuck(&open).is_empty());
    }
}

#[test]
fn a_wait_with_a_deadline_is_no_part_of_a_deadlock() {
    let mut threads =
        [thread(&[(1, Write)], Some((2, Write))), thread(&[(2, Write)], Some((1, Write)))];
    threads[1].waits.as_mut().unwrap().timed = true;
    assert!(stuck(&threads).is_empty());
}

#[test]
fn who_waits_for_a_deadlock_is_stuck_but_not_part_of_it() {
    let threads = [
        thread(&[(1, Write)], Some((2, Write))),
        thread(&[(2, Write)], Some((1, Write))),
        thread(&[], Some((1, Write))),
    ];
    assert_eq!(stuck(&threads), [0, 1, 2]);
    assert_eq!(found(&threads), [[0, 1]]);
}

#[test]
fn two_deadlocks_are_two() {
    let pair =
        |a, b| [thread(&[(a, Write)], Some((b, Write))), thread(&[(b, Write)], Some((a, Write)))];
    let threads: Vec<_> = pair(1, 2).into_iter().chain(pair(3, 4)).collect();
    assert_eq!(found(&threads), [[0, 1], [2, 3]]);
}

/// A writer waits for each reader: one that can go on does not let it go on.
#[test]
fn a_writer_waits_for_all_readers() {
    let threads = [
        thread(&[(1, Read), (2, Write)], Some((3, Write))),
        thread(&[(1, Read)], None),
        thread(&[(3, Write)], Some((1, Write))),
    ];
    assert_eq!(found(&threads), [[0, 2]]);
}

#[test]
fn a_reader_does_not_wait_for_readers() {
    let threads = [thread(&[(1, Read)], Some((2, Write))), thread(&[(2, Write)], Some((1, Read)))];
    assert!(stuck(&threads).is_empty());
}

/// The reader would be let in but for the writer before it, which waits for the first reader.
#[test]
fn a_reader_waits_for_a_writer_in_the_queue() {
    let mut threads = vec![
        thread(&[(1, Read)], Some((2, Write))),
        thread(&[], Some((1, Write))),
        thread(&[(2, Write)], Some((1, Read))),
    ];
    assert_eq!(found(&threads), [[0, 1, 2]]);
    // A second writer that gives up some time may be the one before it.
    threads.push(thread(&[], Some((1, Write))));
    threads[3].waits.as_mut().unwrap().timed = true;
    assert!(stuck(&threads).is_empty());
    // Not a reader that may be inside already: it passes the queue.
    threads.pop();
    threads[2].waits.as_mut().unwrap().mode = ReadAgain;
    assert!(stuck(&threads).is_empty());
}

#[test]
fn an_upgrade_waits_for_other_readers_not_for_itself() {
    let mut upgrades = thread(&[(1, Upgradable)], None);
    upgrades.waits = Some(Waiting::to_upgrade(Key(1), Wait::Always));
    assert!(stuck(std::slice::from_ref(&upgrades)).is_empty());
    let mut reads_too = upgrades.clone();
    reads_too.holds.push(Hold { key: Key(1), mode: Read });
    assert_eq!(found(&[reads_too]), [[0]]);
    let threads = [upgrades, thread(&[(1, Read)], Some((1, Upgradable)))];
    assert_eq!(found(&threads), [[0, 1]]);
}
