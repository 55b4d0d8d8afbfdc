//! Machines as sysfs shows them, and what may be asked for instead.

use std::format;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;

/// A directory that is gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lockwright-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// One CPU: which others share its core, and its caches from the first on.
    fn cpu(&self, cpu: usize, siblings: &str, caches: &[&str]) {
        self.write(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), siblings);
        for (index, shared) in caches.iter().enumerate() {
            self.write(&format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"), shared);
        }
    }

    /// The domains of CPUs 0 to `cpus`, and how many there are.
    fn domains(&self, cpus: usize) -> (Vec<u16>, u16) {
        let domains = of_machine(self.0.to_str().unwrap(), &first(cpus));
        (domains.of[..cpus].to_vec(), domains.count)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn first(cpus: usize) -> CpuSet {
    let mut set = CpuSet::EMPTY;
    (0..cpus).for_each(|cpu| set.add(cpu));
    set
}

/// Two nodes of two caches each, siblings numbered after all cores, as an EPYC of the first generation
/// in small.
#[test]
fn each_shared_cache_of_a_node_is_a_domain() {
    let machine = Folder::new("naples");
    machine.write("node/online", "0-1");
    machine.write("node/node0/cpulist", "0-3,8-11");
    machine.write("node/node1/cpulist", "4-7,12-15");
    for cpu in 0..16 {
        let core = cpu % 8;
        let (own, pair) = (format!("{core},{}", core + 8), core / 2 * 2);
        let shared = format!("{pair}-{},{}-{}", pair + 1, pair + 8, pair + 9);
        machine.cpu(cpu, &own, &[&own, &own, &own, &shared]);
    }
    let (of, count) = machine.domains(16);
    assert_eq!(count, 4);
    assert_eq!(of, [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3]);
    // A process on two of the caches has two domains.
    let mut usable = CpuSet::EMPTY;
    [2, 3, 10, 6].into_iter().for_each(|cpu| usable.add(cpu));
    let confined = of_machine(machine.0.to_str().unwrap(), &usable);
    assert_eq!((confined.count, confined.of[2], confined.of[10], confined.of[6]), (2, 0, 0, 1));
}

/// A socket's cache that reaches over its two nodes (sub-NUMA clustering): the node is the domain.
#[test]
fn no_domain_reaches_over_a_node() {
    let machine = Folder::new("clustering");
    machine.write("node/online", "0,1");
    machine.write("node/node0/cpulist", "0,2");
    machine.write("node/node1/cpulist", "1,3");
    (0..4).for_each(|cpu| machine.cpu(cpu, &cpu.to_string(), &[&cpu.to_string(), "0-3"]));
    assert_eq!(machine.domains(4), ([0, 1, 0, 1].to_vec(), 2));
}

/// Where the last cache that is told of is a core's own, the node is the domain; so it is where nothing
/// is told of caches, and where no nodes are told of either all is one domain.
#[test]
fn a_cache_that_one_core_has_makes_no_domain() {
    let machine = Folder::new("private");
    for cpu in 0..4 {
        let pair = format!("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1);
        machine.cpu(cpu, &pair, &[&pair, &pair]);
    }
    assert_eq!(machine.domains(4), ([0; 4].to_vec(), 1));
    machine.write("node/online", "0-1");
    machine.write("node/node0/cpulist", "0-1");
    machine.write("node/node1/cpulist", "2-3");
    assert_eq!(machine.domains(4), ([0, 0, 1, 1].to_vec(), 2));
    assert_eq!(Folder::new("nothing").domains(4), ([0; 4].to_vec(), 1));
}

/// Files that hold something else are as if they were not there.
#[test]
fn nonsense_in_sysfs_is_ignored() {
    for nonsense in ["", "x", "3-1", "1,", "-2", "0-", "1--2", "99999999999999999999999"] {
        let machine = Folder::new("nonsense");
        machine.write("node/online", nonsense);
        machine.write("node/node0/cpulist", nonsense);
        machine.cpu(0, nonsense, &[nonsense]);
        let (of, count) = machine.domains(2);
        assert!(of.iter().all(|&domain| domain < count), "{nonsense:?}: {of:?} of {count}");
    }
}

fn asked(value: &str, cpus: usize) -> Result<(Vec<u16>, u16), &'static str> {
    Domains::parse(value.as_bytes(), &first(cpus)).map(|domains| {
        let of = if domains.by_thread { Vec::new() } else { domains.of[..cpus].to_vec() };
        (of, domains.count)
    })
}

#[test]
fn domains_can_be_asked_for() {
    assert_eq!(asked("0-1/2,3", 4), Ok(([0, 0, 1, 1].to_vec(), 2)));
    assert_eq!(asked("3/0/2/1,900", 4), Ok(([1, 3, 2, 0].to_vec(), 4)));
    assert_eq!(asked("threads:8", 2), Ok((Vec::new(), 8)));
}

#[test]
fn nonsense_is_refused_with_its_reason() {
    for value in ["", "/", "0-1/", "0-1//2-3", "a", "0-3/4-2", "0;1", "0-1024", "0-1/2-3 "] {
        assert!(asked(value, 4).unwrap_err().contains("expected CPU lists"), "{value}");
    }
    for value in ["threads:", "threads:0", "threads:1025", "threads:-1", "threads:2x"] {
        assert!(asked(value, 4).unwrap_err().contains("threads:N with N from 1"), "{value}");
    }
    assert_eq!(asked("0-2/2-3", 4), Err("a CPU is in two domains"));
    assert_eq!(asked("0-1/3", 4), Err("a CPU that this process may use is in no domain"));
}

/// This test's own process again, with the environment changed: what it says of itself.
fn again(value: &str) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = "native::topology::tests::says_what_it_sees";
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    let output = command.env("LOCKWRIGHT_TOPOLOGY", value).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
#[ignore = "what the next test starts"]
fn says_what_it_sees() {
    let of_slot = |slot| domain(super::super::cpu::current(), Slot::new(slot).unwrap());
    let of: Vec<_> = (1..=4).map(of_slot).collect();
    std::println!("domains {} {of:?}", domains());
}

#[test]
fn the_environment_decides_and_nonsense_costs_a_line() {
    let (stdout, stderr) = again("threads:3");
    assert!(stdout.contains("domains 3 [0, 1, 2, 0]"), "{stdout}");
    assert!(!stderr.contains("lockwright"), "{stderr}");
    let (own, _) = again("0-1023");
    assert!(own.contains("domains 1 [0, 0, 0, 0]"), "{own}");
    let (stdout, stderr) = again("0-1/x");
    assert!(stdout.contains("domains "), "{stdout}");
    let why = "LOCKWRIGHT_TOPOLOGY=0-1/x: expected CPU lists below 1024 divided by slashes";
    assert_eq!(stderr.matches(why).count(), 1, "{stderr}");
    assert!(stderr.contains("using the machine's own topology"), "{stderr}");
    // However long it is.
    let (_, stderr) = again(&"9".repeat(5_000));
    assert_eq!(stderr.matches("; using the machine's own topology\n").count(), 1, "{stderr}");
}

#[test]
fn each_domain_of_this_machine_has_a_cpu() {
    let usable = usable();
    let domains = of_machine("/sys/devices/system", &usable);
    let mut seen: Vec<_> = usable.iter().map(|cpu| domains.of[cpu]).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, (0..domains.count).collect::<Vec<_>>());
}
