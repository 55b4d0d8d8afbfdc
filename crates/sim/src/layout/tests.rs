use super::*;

fn layout(machine: &str) -> Layout {
    Layout::new(&Machine::named(machine).unwrap())
}

/// The cores of a machine whose number is changed.
fn changed(machine: &str, name: &str, value: f64) -> Layout {
    let mut machine = Machine::named(machine).unwrap();
    machine.number_mut(name).unwrap().value = value;
    assert_eq!(machine.verify(), Ok(()));
    Layout::new(&machine)
}

#[test]
fn naples_has_eight_nodes_of_two_clusters_and_twins_across_its_sockets() {
    let l = layout("epyc-7551-2s");
    assert_eq!((l.cpus, l.nodes(), l.clusters()), (128, 8, 16));
    let from_first: Vec<_> =
        [0, 1, 4, 8, 31, 32, 39, 40, 63].map(|core| l.distance(0, core)).into();
    use Distance::*;
    assert_eq!(from_first, [Sibling, Cluster, Node, Socket, Socket, Near, Near, Far, Far]);
    // The hardware threads of a core.
    assert_eq!(l.siblings(5).collect::<Vec<_>>(), [5, 69]);
    assert_eq!((l.core(5), l.core(69), l.cluster(5), l.node(63)), (5, 5, 1, 7));
}

#[test]
fn every_distance_is_mutual() {
    for machine in Machine::built_in() {
        let l = Layout::new(&machine);
        for (a, b) in (0..l.places.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert_eq!(l.distance(a, b), l.distance(b, a), "{}: {a}, {b}", machine.name);
            if l.cluster(a) != l.cluster(b) {
                assert_eq!(l.distance(a, b), l.to_cluster(a, l.cluster(b)));
            }
        }
    }
}

/// The latencies of the file are those of a line whose home is in one of the two nodes; one that is at home
/// elsewhere takes longer.
#[test]
fn a_third_node_as_home_costs_more() {
    for machine in Machine::built_in() {
        let l = Layout::new(&machine);
        let whole = |here, home, there| l.leg(here, home) + l.leg(home, there) + l.leg(there, here);
        for other in 1..l.nodes() {
            let given = l.latency[l.between[other] as usize] as i64;
            for home in [0, other] {
                let off = whole(0, home, other) as i64 - given;
                assert!(off.abs() <= 3, "{}: node {other}: {off} ps", machine.name);
            }
            for third in (1..l.nodes()).filter(|&third| third != other) {
                assert!(whole(0, third, other) as i64 > given, "{}", machine.name);
            }
        }
    }
}

#[test]
fn placements_are_what_they_are_called() {
    let l = layout("epyc-7551-2s");
    assert_eq!(l.order(Placement::Numbered), (0..128).collect::<Vec<_>>());
    assert_eq!(l.order(Placement::Filled), (0..128).collect::<Vec<_>>());
    let spread = l.order(Placement::Spread);
    // Over the sockets, then over their nodes, then over the nodes' clusters, then over cores.
    assert_eq!(spread[..8], [0, 32, 8, 40, 16, 48, 24, 56]);
    assert_eq!(spread[8..17], [4, 36, 12, 44, 20, 52, 28, 60, 1]);
    assert_eq!(spread[64], 64);
    let nodes = l.order(Placement::NodeByNode);
    assert_eq!(nodes[..9], [0, 1, 2, 3, 4, 5, 6, 7, 64]);
    assert_eq!(nodes[16], 8);
    for order in [spread, nodes] {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..128).collect::<Vec<_>>(), "each once");
    }
}

#[test]
fn numbers_may_go_round_the_nodes() {
    let l = changed("skylake-2s", "topology.interleaved", 1.0);
    assert_eq!([0, 1, 2, 3, 40, 41].map(|cpu| l.core(cpu)), [0, 20, 1, 21, 0, 20]);
    assert_eq!(l.siblings(3).collect::<Vec<_>>(), [3, 43]);
    assert_eq!(l.order(Placement::Filled)[..3], [0, 2, 4]);
    assert_eq!(l.order(Placement::Spread)[..3], [0, 1, 2]);
}

#[test]
fn neighbours_are_all_others_nearest_first() {
    let l = layout("epyc-7551-2s");
    let neighbours = l.neighbours(5);
    let mut sorted = neighbours.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..128).filter(|&cpu| cpu != 5).collect::<Vec<_>>());
    // Its cluster from the next number on, its own sibling, the other cluster of the node.
    assert_eq!(neighbours[..8], [6, 7, 68, 70, 71, 4, 69, 64]);
    let ways = neighbours.iter().map(|&cpu| l.distance(5, l.core(usize::from(cpu))));
    let ways: Vec<_> = ways.map(|way| way.max(Distance::Cluster)).collect();
    assert!(ways.is_sorted(), "{ways:?}");
}
