//! Who waits for whom, and who can never go on.
//!
//! A thread that waits for a lock waits for *all* that hold it against the thread; or, if they would
//! let it in and only the queue before it does not, for *one* of the writers in the queue, it is not
//! known which. Threads that cannot go on are found from above: all that wait without a deadline are suspected, and one for which nobody
//! suspected stands in the way is cleared, until nothing changes.

use super::registry::{Notes, Waiting};
use crate::raw::Mode;

/// Whom a thread waits for.
enum Blockers {
    /// For each of them.
    All(Vec<usize>),
    /// For one of them.
    One(Vec<usize>),
}

/// The threads that can never go on, by their places in `threads`.
pub(super) fn stuck(threads: &[Notes]) -> Vec<usize> {
    let mut suspected: Vec<bool> =
        threads.iter().map(|thread| thread.waits.is_some_and(|wait| !wait.timed)).collect();
    loop {
        let cleared =
            (0..threads.len()).filter(|&i| suspected[i]).find(|&i| match blockers(threads, i) {
                Blockers::All(all) => !all.iter().any(|&j| suspected[j]),
                Blockers::One(some) => some.is_empty() || !some.iter().all(|&j| suspected[j]),
            });
        match cleared {
            Some(i) => suspected[i] = false,
            None => return (0..threads.len()).filter(|&i| suspected[i]).collect(),
        }
    }
}

/// The groups among the stuck in which everybody waits for everybody, directly or not.
pub(super) fn cycles(threads: &[Notes], stuck: &[usize]) -> Vec<Vec<usize>> {
    let reached: Vec<Vec<usize>> = stuck.iter().map(|&i| reached_from(threads, stuck, i)).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, &i) in stuck.iter().enumerate() {
        if !reached[place].contains(&i) || groups.iter().any(|group| group.contains(&i)) {
            continue;
        }
        let both = stuck.iter().zip(&reached);
        let group = both.filter(|(j, from)| reached[place].contains(j) && from.contains(&i));
        groups.push(group.map(|(&j, _)| j).collect());
    }
    groups
}

/// Whom `from` waits for, directly or not, among the stuck.
fn reached_from(threads: &[Notes], stuck: &[usize], from: usize) -> Vec<usize> {
    let (mut reached, mut todo) = (Vec::new(), vec![from]);
    while let Some(i) = todo.pop() {
        let (Blockers::All(next) | Blockers::One(next)) = blockers(threads, i);
        for j in next {
            if stuck.contains(&j) && !reached.contains(&j) {
                reached.push(j);
                todo.push(j);
            }
        }
    }
    reached
}

fn blockers(threads: &[Notes], i: usize) -> Blockers {
    let Some(wait) = threads[i].waits else { return Blockers::All(Vec::new()) };
    let holders: Vec<usize> =
        (0..threads.len()).filter(|&j| bars(&threads[j], j == i, wait)).collect();
    let queues = matches!(wait.mode, Mode::Read | Mode::Upgradable);
    if !holders.is_empty() || !queues {
        return Blockers::All(holders);
    }
    let writes = |other: &Waiting| other.key == wait.key && other.mode == Mode::Write;
    let in_queue = |&j: &usize| j != i && threads[j].waits.as_ref().is_some_and(writes);
    Blockers::One((0..threads.len()).filter(in_queue).collect())
}

/// Whether a thread's holds keep the waiting one out. `own`: it is the same thread.
fn bars(thread: &Notes, own: bool, wait: Waiting) -> bool {
    let mut spared = own && wait.upgrades;
    thread.holds.iter().filter(|hold| hold.key == wait.key).any(|hold| match wait.mode {
        // The hold that is to be upgraded.
        Mode::Write if spared && hold.mode == Mode::Upgradable => {
            spared = false;
            false
        }
        Mode::Write => true,
        Mode::Upgradable => hold.mode != Mode::Read,
        Mode::Read | Mode::ReadAgain => hold.mode == Mode::Write,
    })
}

#[cfg(test)]
mod tests;
