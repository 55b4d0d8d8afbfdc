//! A lock that lets everybody in is found out on a simulated machine: by the sections of a mutex that are
//! lost, and by the flag of locktorture's writers.

use std::time::Duration;

use lockwright_lab::sim::job::{Job, simulate};
use lockwright_lab::sim::window::Length;
use lockwright_lab::sim::workload::Workload;
use lockwright_sim::{Machine, Placement};
use lockwright_workloads::mutex_bench::NoLock;
use lockwright_workloads::rw_bench::{AsRwLock, Mix};

fn complaint_about_no_lock(workload: Workload) -> String {
    let machine = Machine::built_in().into_iter().find(|m| m.name == "epyc-7551-2s").unwrap();
    let (placement, time) = (Placement::Numbered, Duration::from_micros(200));
    let job = Job {
        machine,
        placement,
        bound: true,
        home: None,
        workload,
        kernel: true,
        lines: 0,
        threads: 4,
        length: Length::fixed(time, time),
        seed: 1,
        stop: || false,
    };
    let complaint = simulate::<AsRwLock<NoLock>, false>(&job).unwrap_err().to_string();
    assert!(complaint.starts_with("the lock let others in beside a writer: "), "{complaint}");
    complaint
}

#[test]
fn sections_of_no_lock_lose_updates() {
    let mix = Mix::Drawn;
    let workload = Workload::Rw { readers_percent: 0, mix, load: 10, outside: 10, sleep_ns: 0 };
    let complaint = complaint_about_no_lock(workload);
    assert!(!complaint.contains(" 0 lost writes"), "{complaint}");
}

#[test]
fn writers_of_locktorture_meet_under_no_lock() {
    let complaint = complaint_about_no_lock(Workload::Torture { long_hold_ms: 0, outside_ns: 100 });
    assert!(!complaint.contains(" 0 sections with company"), "{complaint}");
}
