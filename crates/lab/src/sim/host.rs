//! The machine at hand as a simulated one: as far as a ping-pong and a clock can tell.

use lockwright_sim::Machine;
use lockwright_workloads::work;

/// No cache line takes so long, but a ping-pong between threads that do not run at once.
const BUSY_NS: f64 = 2_000.0;

/// A machine with the CPUs that this process may use, all in one cluster; PAUSE and line transfers
/// are measured (takes some 20 ms), the rest is the template's and says so.
///
/// # Errors
///
/// One line on why it cannot be measured: there is but one CPU, threads cannot be placed, or other work
/// runs on them.
pub fn host() -> Result<Machine, String> {
    let template = |machine: &Machine| machine.name == "sapphire-rapids-2s";
    let mut machine = Machine::built_in().into_iter().find(template).expect("a built-in machine");
    let alone = "cannot measure this machine: it has one CPU, or threads cannot be placed";
    let (pause, trip) = (work::pause_ns(), work::line_transfer_ns().ok_or(alone)?);
    if trip > BUSY_NS {
        return Err(format!(
            "a line took {trip:.0} ns between two CPUs: other work runs on them; try again without it"
        ));
    }
    let cpus = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let poll = pause + 8.0;
    let measured = [
        ("core.pause", pause, "measured here"),
        ("core.poll", poll, "measured PAUSE and 8 ns of other instructions"),
        ("latency.cluster", trip.max(1.0), "measured here: a ping-pong's one-way trip"),
        ("topology.sockets", 1.0, "all CPUs as one cluster"),
        ("topology.cores", cpus as f64, "CPUs this process may use"),
        ("topology.threads", 1.0, "siblings are not told apart"),
    ];
    for (_, given) in machine.numbers_mut() {
        given.source = format!("sapphire-rapids-2s: {}", given.source);
    }
    for (name, value, source) in measured {
        let given = machine.number_mut(name).expect("a number of every machine");
        given.value = value;
        given.source = source.to_owned();
    }
    machine.name = "host".to_owned();
    machine.about = format!("this machine, {cpus} CPUs");
    machine.verify().map(|()| machine).map_err(|why| format!("measured of this machine: {why}"))
}
