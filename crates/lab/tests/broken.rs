//! A lock that lets everybody in is found out on a simulated machine: by the sections of a mutex that are
//! lost, and by the flag of locktorture's writers.

use std::time::Duration;

use lockwright_lab::sim::job::{self, Job};
use lockwright_lab::sim::workload::Workload;
use lockwright_sim::{Machine, Placement};
use lockwright_workloads::mutex_bench::NoLock;

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
        threads: 4,
        warmup: time,
        time,
        seed: 1,
        stop: || false,
    };
    let complaint = job::mutex::<NoLock, false>(&job).unwrap_err().to_string();
    assert!(complaint.starts_with("the lock let two threads in: "), "{complaint}");
    complaint
}

#[test]
fn sections_of_no_lock_lose_updates() {
    let complaint = complaint_about_no_lock(Workload::Mutex { load: 10, outside: 10 });
    assert!(!complaint.contains(" 0 lost updates"), "{complaint}");
}

#[test]
fn writers_of_locktorture_meet_under_no_lock() {
    let complaint = complaint_about_no_lock(Workload::Torture { long_hold_ms: 0, outside_ns: 100 });
    assert!(!complaint.contains(" 0 sections with company"), "{complaint}");
}
