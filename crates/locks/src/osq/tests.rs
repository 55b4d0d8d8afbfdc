//! What the model cannot show of the OSQ: leaving a predecessor that does not run.
extern crate std;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;

use lockwright_platform::{Me, Native, Platform, Until};

use super::Osq;
use crate::mcs::{Missed, script};
use crate::osq::Seat;
use crate::record::Record;

/// The queue of a record that no lock has, nor will have.
fn queue() -> Osq<Native> {
    Record::at(Native::claim_lock_record().unwrap()).osq()
}

fn enter() -> Me<Native> {
    let me = Native::enter().unwrap();
    Native::check_in(&me);
    me
}

/// Joins, though the slot's last thread may have left its node to another test's queue.
fn join_patiently(osq: &Osq<Native>, me: &Me<Native>) -> Seat<Native> {
    loop {
        if let Ok(seat) = osq.join(me, Until::CHANGED, u32::MAX, || true) {
            return seat;
        }
        Native::yield_now();
    }
}

fn leave(osq: &Osq<Native>, me: &Me<Native>, seat: Seat<Native>) {
    if osq.leave(me, seat) {
        osq.open();
    }
}

/// Race 4: a FIFO of spinners stalls behind one that is not running.
#[test]
fn race_04_waiter_leaves_a_predecessor_that_does_not_run() {
    let osq = queue();
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let (osq, done) = (&osq, &done);
        let head = s.spawn(move || {
            let me = enter();
            let seat = join_patiently(osq, &me);
            // Asleep with the queue in its hands: certainly not running.
            while !done.load(Relaxed) {
                Native::park(&me, Some(Native::now() + 1_000_000));
            }
            leave(osq, &me, seat);
        });
        while !osq.has_spinner() {
            Native::yield_now();
        }
        let me = enter();
        let turn = osq.join(&me, Until::CHANGED, u32::MAX, || true).err();
        assert!(matches!(turn, Some(Missed::Gone | Missed::Lent)), "waited for a sleeper");
        done.store(true, Relaxed);
        head.join().unwrap();
    });
    assert!(!osq.has_spinner());
}

/// The section between `join` and `leave` is exclusive on real threads, whoever gives up. Ends when each thread
/// has come so often, and `until` says so.
fn hammer(rounds: u64, until: impl Fn() -> bool + Sync) {
    let osq = queue();
    let inside = AtomicBool::new(false);
    thread::scope(|s| {
        for t in 0..4 {
            let (osq, inside, until) = (&osq, &inside, &until);
            s.spawn(move || {
                let mut i = 0;
                while i < rounds || !until() {
                    i += 1;
                    let me = enter();
                    let patience = Native::ticks_of((i + t) % 3 * 2_000);
                    let limit = Until::CHANGED.deadline(Native::ticks() + patience);
                    if let Ok(seat) = osq.join(&me, limit, u32::MAX, || true) {
                        assert!(!inside.swap(true, Relaxed), "two heads");
                        inside.store(false, Relaxed);
                        leave(osq, &me, seat);
                    }
                }
            });
        }
    });
    assert!(!osq.has_spinner());
}

#[test]
fn heads_exclude_each_other() {
    hammer(5_000, || true);
}

/// Fault B4: the head, which may hold the lock, waited for a newcomer that had lost its CPU between joining
/// and linking.
#[test]
fn b04_a_head_leaves_beside_a_newcomer_that_does_not_run() {
    let osq = queue();
    let (stalled, until_stalled) = mpsc::channel();
    let (go_on, until_told) = mpsc::channel::<()>();
    thread::scope(|s| {
        let me = enter();
        let seat = join_patiently(&osq, &me);
        let osq = &osq;
        let newcomer = s.spawn(move || {
            let me = enter();
            script::at_the_link(move || {
                stalled.send(()).unwrap();
                until_told.recv().unwrap();
            });
            let seat = join_patiently(osq, &me);
            leave(osq, &me, seat);
        });
        until_stalled.recv().unwrap();
        // Returns, although the newcomer stands still; and the node cannot be used meanwhile.
        leave(osq, &me, seat);
        assert_eq!(osq.join(&me, Until::CHANGED, u32::MAX, || true).err(), Some(Missed::Lent));
        assert!(!newcomer.is_finished());
        go_on.send(()).unwrap();
        newcomer.join().unwrap();
        let seat = join_patiently(osq, &me);
        leave(osq, &me, seat);
    });
    assert!(!osq.has_spinner());
}

/// Queues that part; the portable platform has one domain.
#[cfg(not(lockwright_portable))]
mod parted {
    extern crate std;

    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::thread;

    use lockwright_platform::{Native, Numa, NumaMode, Platform, set_numa};

    use super::hammer;
    use crate::events::Event;

    #[test]
    #[ignore = "what the next test starts"]
    fn in_domains_that_are_made_up() {
        if Native::domains() < 2 {
            return std::println!("nothing to part: started with every ignored test");
        }
        let counted = |event: Event| Native::counted(event as usize);
        let (rounds, on) = (3_000, Numa { mode: NumaMode::On, batch: 5, ..Numa::OFF });
        set_numa(on).unwrap();
        hammer(rounds, || counted(Event::NumaRemote) > 0);
        set_numa(Numa { batch_ns: 1, ..on }).unwrap();
        hammer(rounds, || true);
        // Parted by one, joined by the next.
        let over = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                while !over.load(Relaxed) {
                    set_numa(on).unwrap();
                    Native::sleep(20_000);
                    set_numa(Numa::OFF).unwrap();
                    Native::sleep(20_000);
                }
            });
            hammer(rounds, || true);
            over.store(true, Relaxed);
        });
        assert_eq!(
            counted(Event::NumaPart),
            counted(Event::NumaEntryFree),
            "an entry was left behind"
        );
    }

    /// Queues that are parted by domain and joined again, both levels left at any time.
    #[test]
    fn heads_of_parted_queues_exclude_each_other() {
        for domains in [2, 4, 8] {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([
                "osq::tests::parted::in_domains_that_are_made_up",
                "--exact",
                "--ignored",
            ]);
            command.env("LOCKWRIGHT_TOPOLOGY", std::format!("threads:{domains}"));
            let output = command.output().unwrap();
            let ran = std::string::String::from_utf8_lossy(&output.stdout).contains("1 passed");
            assert!(output.status.success() && ran, "{domains} domains: {output:?}");
        }
    }
}
