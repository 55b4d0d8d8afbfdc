//! What lock events must add up to, whatever the schedule was.

use lockwright::events::{Counts, Event};

/// The identities that do not hold, in words.
pub fn broken(counts: &Counts) -> Vec<String> {
    let sum = |events: &[Event]| events.iter().map(|&event| counts.get(event)).sum::<u64>();
    // Calls without a queue node (in signal handlers) are of no kind.
    let slack = sum(&[Event::RwsemNoNode]);
    let equal = |left: Event, right: &[Event]| {
        let (calls, kinds) = (counts.get(left), sum(right));
        let names: Vec<_> = right.iter().map(|event| event.name()).collect();
        (calls.abs_diff(kinds) > slack).then(|| {
            format!("events: {} is {calls}, {} come to {kinds}", left.name(), names.join(" + "))
        })
    };
    let at_most = |left: Event, right: &[Event]| {
        let (part, whole) = (counts.get(left), sum(right));
        let names: Vec<_> = right.iter().map(|event| event.name()).collect();
        (part > whole + slack).then(|| {
            format!("events: {} is {part}, above {whole} of {}", left.name(), names.join(" + "))
        })
    };
    let all = [
        equal(
            Event::RwsemReadSlow,
            &[
                Event::RwsemRlock,
                Event::RwsemRlockFast,
                Event::RwsemRlockFail,
                Event::RwsemOptRlock,
                Event::RwsemRlockSteal,
            ],
        ),
        equal(
            Event::RwsemWriteSlow,
            &[Event::RwsemOptLock, Event::RwsemWlock, Event::RwsemWlockFail],
        ),
        at_most(Event::RwsemOptRlock2, &[Event::RwsemOptRlock]),
        at_most(Event::RwsemWakeReader, &[Event::RwsemRlock, Event::RwsemRlockFail]),
        at_most(Event::MutexOptRetaken, &[Event::MutexOptFail]),
        at_most(Event::CondTimeout, &[Event::CondWait]),
        // Nobody uses the locks any more, and whoever used one last has joined its queues.
        equal(Event::NumaPart, &[Event::NumaEntryFree]),
    ];
    all.into_iter().flatten().collect()
}
