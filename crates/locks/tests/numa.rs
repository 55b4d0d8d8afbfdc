//! Queues of spinners that are parted by domain and joined again, on real threads in domains that the
//! environment makes up: exclusion holds, nobody is lost, every entry comes back.
//!
//! `LOCKWRIGHT_ROUNDS` says how often a thread locks (default 2,000).
#![cfg(not(any(loom, miri, lockwright_portable)))]

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright_locks::events::Event;
use lockwright_locks::mutex::{Kernel, Policy, RawMutex, Slice};
use lockwright_platform::{Native, Numa, NumaMode, Platform, Work, set_numa};

const THREADS: u64 = 12;

fn rounds() -> u64 {
    std::env::var("LOCKWRIGHT_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000)
}

/// A counter that threads in turn add to, on two locks, some of which give up now and then; `until` says
/// when a thread may end, beyond its rounds.
fn hammer<W: Policy + Send + Sync>(until: impl Fn() -> bool + Sync) {
    static WRONG: AtomicU64 = AtomicU64::new(0);
    let locks: [RawMutex<Native, W>; 2] = [RawMutex::new(), RawMutex::new()];
    let counters = [AtomicU64::new(0), AtomicU64::new(0)];
    let done = AtomicU64::new(0);
    thread::scope(|s| {
        for t in 0..THREADS {
            let (locks, counters, done, until) = (&locks, &counters, &done, &until);
            s.spawn(move || {
                let mut i = 0;
                while i < rounds() || !until() {
                    i += 1;
                    let at = usize::from(i % 16 == 0);
                    let got = if (i + t) % 5 == 0 {
                        locks[at].lock_until(Native::now() + i % 7 * 3_000)
                    } else {
                        locks[at].lock();
                        true
                    };
                    if !got {
                        continue;
                    }
                    let before = counters[at].load(Relaxed);
                    if i % 4 == 0 {
                        Native::pause(20);
                    }
                    counters[at].store(before + 1, Relaxed);
                    done.fetch_add(1, Relaxed);
                    // SAFETY: locked above.
                    unsafe { locks[at].unlock() };
                }
            });
        }
    });
    let counted = counters.iter().map(|c| c.load(Relaxed)).sum::<u64>();
    WRONG.fetch_add(counted.abs_diff(done.load(Relaxed)), Relaxed);
    assert_eq!(WRONG.load(Relaxed), 0, "the lock let two in");
    assert!(locks.iter().all(|lock| lock.control() == 0), "a record was left behind");
}

fn counted(event: Event) -> u64 {
    Native::counted(event as usize)
}

#[test]
#[ignore = "what the next test starts"]
fn in_domains_that_are_made_up() {
    if Native::domains() < 2 {
        return println!("nothing to part: started with every ignored test, not by the next one");
    }
    let numa = Numa { mode: NumaMode::On, batch: 5, ..Numa::OFF };
    // Until queues have been parted and joined often enough, however few CPUs there are.
    let enough = (rounds() / 50).min(500);
    let over = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            for mode in [NumaMode::On, NumaMode::Off, NumaMode::Dynamic].into_iter().cycle() {
                set_numa(Numa { mode, idle_ns: 0, ..numa }).unwrap();
                thread::sleep(Duration::from_micros(200));
                if over.load(Relaxed) {
                    break;
                }
            }
        });
        hammer::<Kernel>(|| counted(Event::NumaPart) >= enough);
        hammer::<Slice>(|| true);
        over.store(true, Relaxed);
    });
    let (part, freed) = (counted(Event::NumaPart), counted(Event::NumaEntryFree));
    assert_eq!(part, freed, "an entry was left behind");
    println!(
        "parted {part} joined {} local {} remote {} by_count {}",
        counted(Event::NumaJoin),
        counted(Event::NumaLocal),
        counted(Event::NumaRemote),
        counted(Event::NumaBatchCount),
    );
    set_numa(Numa::OFF).unwrap();
    assert_eq!(Native::numa(), Numa::OFF);
}

#[test]
fn exclusion_holds_and_entries_come_back() {
    for domains in [2, 4, 8] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["in_domains_that_are_made_up", "--exact", "--ignored", "--nocapture"]);
        command.env("LOCKWRIGHT_TOPOLOGY", format!("threads:{domains}"));
        command.env("LOCKWRIGHT_CPUS", "16");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{domains} domains: {text} {output:?}");
        let said = text.lines().find(|line| line.contains("parted ")).expect("what it counted");
        let number = |word: &str| -> u64 {
            let mut words = said.split_whitespace().skip_while(|found| *found != word);
            words.nth(1).expect("a number").parse().unwrap()
        };
        for word in ["parted", "joined", "remote"] {
            assert!(number(word) > 0, "{domains} domains, {word}: {said}");
        }
        println!("{domains} domains: {said}");
    }
}

#[test]
fn one_domain_is_refused_and_so_is_nonsense() {
    let on = Numa { mode: NumaMode::On, ..Numa::OFF };
    if Native::domains() == 1 {
        assert!(set_numa(on).unwrap_err().contains("one domain"));
    }
    assert!(set_numa(Numa { depth: 4, ..on }).unwrap_err().contains("from 5 to 32"));
    assert_eq!(Native::numa().mode, NumaMode::Off);
}
