use super::*;

#[test]
fn the_built_in_machines_are_sound_and_their_names_unique() {
    let machines = Machine::built_in();
    assert_eq!(machines.len(), FILES.len());
    for (i, machine) in machines.iter().enumerate() {
        assert!(machines[..i].iter().all(|other| other.name != machine.name));
        assert_eq!(
            Machine::named(&machine.name).map(|again| again.about),
            Some(machine.about.clone())
        );
    }
    let names: Vec<_> = machines.iter().map(|machine| machine.name.clone()).collect();
    assert_eq!(Machine::built_in_names(), names);
    assert!(Machine::named("nobody").is_none());
}

/// The line on which a text stands in a file.
fn line(text: &str, part: &str) -> usize {
    1 + text[..text.find(part).unwrap()].matches('\n').count()
}

/// The first file with one thing changed is refused for this reason.
fn refused(old: &str, new: &str, why: &str) {
    assert!(FILES[0].contains(old), "{old}");
    let error = Machine::parse(&FILES[0].replacen(old, new, 1)).unwrap_err().to_string();
    assert!(error.starts_with(why), "{error}\n{why} expected");
    for word in ["f64", "struct", "unknown field", "expected a", "serde", "string"] {
        let ours = word == "expected a" && error.contains("expected a value and a source");
        assert!(ours || !error.contains(word), "{error}");
    }
}

#[test]
fn bad_files_are_refused_with_line_and_reason() {
    let far = line(FILES[0], "[latency.far]");
    let known = "known are sibling, cluster, node, socket, near, far, invalidate";
    let why = format!("line {far}: latency.farr: no such number; {known}");
    refused("[latency.far]", "[latency.farr]", &why);
    let why = format!("line {far}: latencies: no such section; known are name, about, based_on");
    refused("[latency.far]", "[latencies.far]", &why);
    refused("name =", "name", "line 1: ");
    refused("name = \"westmere-ex-8s\"\n", "", "the file does not say its name");
    refused("name = \"westmere-ex-8s\"", "name = 3", "line 1: name is not a text in quotes");
    refused("value = 8", "value = \"8\"", "line 5: topology.sockets: the value is not a number");
    refused(
        "value = 8",
        "worth = 8",
        "line 5: topology.sockets: a number has a value and a source, no 'worth'",
    );
    refused("value = 8\n", "", "line 4: topology.sockets: expected a value and a source");
    refused("value = 8", "value = 8.5", "line 4: topology.sockets is 8.5, not a whole number");
    refused("value = 8", "value = 800", "line 4: topology.sockets is 800, allowed are 1 to 64");
    refused("value = 8", "value = nan", "line 4: topology.sockets is NaN, allowed are 1 to 64");
    let whole = FILES[0].find("[latency.far]").unwrap();
    let next = whole + FILES[0][whole + 1..].find('[').unwrap() + 1;
    refused(&FILES[0][whole..next], "", "latency.far is not given; a file that is not based_on");
    let bare = FILES[0].find("source = \"").unwrap() + 10;
    let end = bare + FILES[0][bare..].find('"').unwrap();
    let unsourced = format!("{}{}", &FILES[0][..bare], &FILES[0][end..]);
    let error = Machine::parse(&unsourced).unwrap_err().to_string();
    assert!(error.contains("line 4: topology.sockets: say where the number"), "{error}");
}

/// `name` set to `value` in a file based on the first machine is refused for this reason.
fn contradicts(machine: &str, changes: &[(&str, f64)], why: &str) {
    let mut text = format!("name = \"mine\"\nbased_on = \"{machine}\"\n");
    for (name, value) in changes {
        text += &format!("[{name}]\nvalue = {value:?}\nsource = \"a test\"\n");
    }
    let error = Machine::parse(&text).unwrap_err().to_string();
    assert!(error.starts_with(why), "{error}\n{why} expected");
}

#[test]
fn numbers_that_contradict_each_other_are_refused() {
    let epyc = "epyc-7551-2s";
    let why = "line 3: topology.node_clusters: nodes of 3 clusters do not divide the 8 of a socket";
    contradicts(epyc, &[("topology.node_clusters", 3.0)], why);
    let why = "line 3: topology.node_clusters: nodes of 2 clusters do not divide the 7 of a socket";
    contradicts(epyc, &[("topology.clusters", 7.0)], why);
    let why = "line 3: topology.near_sockets: groups of 3 do not divide 8 sockets";
    contradicts("westmere-ex-8s", &[("topology.near_sockets", 3.0)], why);
    let why = "line 3: latency.node is 24, less than latency.cluster, 25.1, which is nearer";
    contradicts(epyc, &[("latency.node", 24.0)], why);
    let why = "line 3: latency.socket is 154.7, less than latency.node, 200, which is nearer";
    contradicts(epyc, &[("latency.node", 200.0)], why);
    let why = "line 3: scheduler.middle_after is 1000, ";
    let polls = "scheduler.polls is 2000, more than scheduler.middle_after, 1000";
    let why = why.split(':').next().unwrap().to_owned() + ": " + polls;
    contradicts(epyc, &[("scheduler.middle_after", 1_000.0)], &why);
    let why = "line 6: scheduler.exit_middle is 9000, more than scheduler.exit_deep, 8000";
    let exits = [("scheduler.exit_deep", 8_000.0), ("scheduler.exit_middle", 9_000.0)];
    contradicts(epyc, &exits, why);
    contradicts(epyc, &[("latency.keep_low", 0.9)], "line 3: latency.keep_low is 0.9, more than");
    contradicts(epyc, &[("topology.sockets", 20.0)], "line 3: topology.sockets: 1280 CPUs in all");
    let many = [("topology.sockets", 16.0), ("topology.clusters", 16.0), ("topology.cores", 1.0)];
    contradicts(epyc, &many, "line 3: topology.sockets: 256 clusters in all, allowed are 128");
}

#[test]
fn a_file_may_change_a_built_in_machine() {
    let text = "name = \"mine\"\nbased_on = \"skylake-2s\"\n[topology.sockets]\nvalue = 4\n\
                source = \"mine has four\"\n";
    let (mine, base) = (Machine::parse(text).unwrap(), Machine::named("skylake-2s").unwrap());
    assert_eq!((mine.name.as_str(), &mine.about), ("mine", &base.about));
    for ((name, mine), (_, base)) in mine.numbers().into_iter().zip(base.numbers()) {
        if name == "topology.sockets" {
            assert_eq!((mine.value, mine.source.as_str()), (4.0, "mine has four"));
        } else {
            assert_eq!(mine, base, "{name}");
        }
    }
    let why = "line 2: based_on: there is no machine 'nobody' built in; known: westmere-ex-8s,";
    contradicts("nobody", &[], why);
}

#[test]
fn a_machine_that_was_changed_is_verified_anew() {
    let mut machine = Machine::parse(FILES[0]).unwrap();
    assert_eq!(machine.verify(), Ok(()));
    machine.latency.jitter.value = 1.08;
    let why = machine.verify().unwrap_err().to_string();
    assert_eq!(why, "latency.jitter is 1.08, allowed are 0 to 0.9");
}
