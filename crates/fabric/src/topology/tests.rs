use alloc::string::ToString;

use proptest::prelude::*;

use super::*;

/// A graph whose links are named by the nodes at their ends: "client sw1" is a link from a port of
/// `client` to a port of `sw1`. Nodes that begin with "sw" are switches, the others hosts. Ports are
/// named after the number of the link.
fn graph(links: &[&str]) -> Graph {
    let mut graph = Graph::default();
    for (number, link) in links.iter().enumerate() {
        let (one, other) = link.split_once(' ').expect("a link has two ends");
        let ends = [one, other]
            .map(|name| Port { node: node(&mut graph, name), name: alloc::format!("p{number}") });
        graph.connect(cable(ends)).expect("its ports are free");
    }
    graph
}

fn node(graph: &mut Graph, name: &str) -> usize {
    let known = graph.nodes.iter().position(|node| node.name == name);
    known.unwrap_or_else(|| {
        let added =
            if name.starts_with("sw") { graph.add_switch(name) } else { graph.add_host(name) };
        added.expect("the name is new")
    })
}

fn cable(ends: [Port; 2]) -> Cable {
    let rate = Rate::from_gbps(10);
    Cable { ends, rates: [rate, rate], delay: Duration::from_us(1), mtu_bytes: 9000 }
}

fn built(links: &[&str]) -> Topology {
    graph(links).build().expect("it is a network")
}

fn complaint(links: &[&str]) -> String {
    graph(links).build().expect_err("it is no network").to_string()
}

fn number(topology: &Topology, name: &str) -> usize {
    topology.nodes().iter().position(|node| node.name == name).expect("there is such a node")
}

fn side(topology: &Topology, name: &str, port: Option<&str>) -> Side {
    let node = number(topology, name);
    let interface = port.map(|port| topology.interface_named(node, port).expect("it has the port"));
    Side { node, interface, has_own_stack: topology.nodes()[node].name.contains("/own") }
}

/// The nodes on the path from one side to another, both included.
fn way(topology: &Topology, from: (&str, Option<&str>), to: (&str, Option<&str>)) -> Vec<String> {
    let route = topology.route(side(topology, from.0, from.1), side(topology, to.0, to.1));
    let Route::Wire { from, to, .. } = route.expect("there is a route") else {
        return vec!["inside".to_owned()];
    };
    let path = topology.path(from, to).expect("a route has a path");
    let name =
        |at: CableEnd| topology.nodes()[topology.cables()[at.cable].ends[at.end].node].name.clone();
    path.iter().map(|&at| name(at)).chain(path.last().map(|&at| name(at.far()))).collect()
}

#[test]
fn a_chain_of_switches_is_passed_from_end_to_end() {
    let topology = built(&["a sw1", "sw1 sw2", "sw2 sw3", "b sw3", "c sw2"]);
    assert_eq!(way(&topology, ("a", None), ("b", None)), ["a", "sw1", "sw2", "sw3", "b"]);
    assert_eq!(way(&topology, ("b", None), ("c", None)), ["b", "sw3", "sw2", "c"]);
}

#[test]
fn a_direct_link_needs_no_switch() {
    let topology = built(&["a b"]);
    assert_eq!(way(&topology, ("a", None), ("b", None)), ["a", "b"]);
}

#[test]
fn the_mtu_of_a_route_is_the_least_along_it() {
    let mut graph = graph(&["a sw1", "sw1 sw2", "b sw2", "c sw1"]);
    graph.cables[1].mtu_bytes = 1500;
    let topology = graph.build().expect("it is a network");
    let mtu = |to| match topology.route(side(&topology, "a", None), side(&topology, to, None)) {
        Ok(Route::Wire { mtu_bytes, .. }) => mtu_bytes,
        other => panic!("{other:?} is no route over a wire"),
    };
    assert_eq!((mtu("b"), mtu("c")), (1500, 9000));
}

#[test]
fn a_host_with_two_interfaces_closes_no_cycle() {
    // Both on one switch, then on two switches that have a link.
    built(&["a sw1", "a sw1", "b sw1"]);
    let topology = built(&["a sw1", "a sw2", "sw1 sw2", "b sw2"]);
    assert_eq!(way(&topology, ("a", None), ("b", None)), ["a", "sw2", "b"], "the fewest links");
    let bound = way(&topology, ("a", Some("p0")), ("b", None));
    assert_eq!(bound, ["a", "sw1", "sw2", "b"], "a connection leaves by its own address");
}

#[test]
fn a_host_does_not_forward() {
    let topology = built(&["a sw1", "relay sw1", "relay sw2", "b sw2"]);
    let error = topology.route(side(&topology, "a", None), side(&topology, "b", None));
    assert_eq!(error.expect_err("no way").to_string(), "no link leads from \"a\" to \"b\"");
}

#[test]
fn of_equal_ways_the_first_link_is_taken() {
    let topology = built(&["a sw1", "a sw1", "b sw1", "b sw1"]);
    let route = topology.route(side(&topology, "a", None), side(&topology, "b", None));
    assert_eq!(route, Ok(Route::Wire { from: 0, to: 2, mtu_bytes: 9000 }));
}

#[test]
fn zones_of_one_host_talk_inside_unless_they_have_own_stacks_at_two_interfaces() {
    let mut graph = graph(&["a sw1", "a sw1", "b sw1"]);
    let host = node(&mut graph, "a");
    for zone in ["a/web", "a/db", "a/own1", "a/own2"] {
        graph.add_zone(zone, host).expect("it is on a host");
    }
    let topology = graph.build().expect("it is a network");
    assert_eq!(way(&topology, ("a/web", None), ("a/db", None)), ["inside"]);
    assert_eq!(way(&topology, ("a/web", None), ("a", None)), ["inside"]);
    assert_eq!(way(&topology, ("a/web", Some("p0")), ("a/db", Some("p0"))), ["inside"]);
    let between = |one, other| way(&topology, (one, Some("p0")), (other, Some("p1")));
    assert_eq!(between("a/web", "a/db"), ["inside"]);
    assert_eq!(between("a/own1", "a/db"), ["inside"]);
    assert_eq!(between("a/own1", "a/own2"), ["a", "sw1", "a"]);
    assert_eq!(way(&topology, ("a/own1", Some("p1")), ("a/own2", Some("p1"))), ["inside"]);
    assert_eq!(way(&topology, ("a/web", None), ("b", None)), ["a", "sw1", "b"]);
}

#[test]
fn a_host_of_zones_needs_no_link() {
    let mut graph = Graph::default();
    let host = graph.add_host("box").expect("it is the first");
    graph.add_zone("box/1", host).expect("it is on a host");
    let topology = graph.build().expect("it is a network");
    assert_eq!(way(&topology, ("box/1", None), ("box", None)), ["inside"]);
}

#[test]
fn a_cycle_of_switches_is_refused_by_name() {
    let links = ["a sw1", "sw1 sw2", "sw2 sw3", "sw3 sw4", "sw4 sw2", "b sw4"];
    let expected =
        r#"switches form a cycle: "sw3" - "sw2" - "sw4" - "sw3"; remove one of their links"#;
    assert_eq!(complaint(&links), expected);
}

#[test]
fn parallel_links_of_switches_are_a_cycle() {
    let expected = r#"the switches "sw1" and "sw2" have two links, which is a cycle: remove one"#;
    assert_eq!(complaint(&["a sw1", "sw1 sw2", "sw2 sw1", "b sw2"]), expected);
}

#[test]
fn what_has_no_link_is_refused_by_name() {
    let mut graph = graph(&["a sw1", "b sw1"]);
    graph.add_host("lonely").expect("the name is new");
    assert_eq!(graph.build().expect_err("refused").to_string(), r#""lonely" has no link"#);
}

#[test]
fn what_cannot_be_connected_is_refused_by_name() {
    let mut graph = graph(&["a sw1", "b sw1"]);
    let port = |node: usize, name: &str| Port { node, name: name.to_owned() };
    let (a, switch, b) = (0, 1, 2);
    let zone = graph.add_zone("a/1", a).expect("it is on a host");
    let refused = |ends: [Port; 2]| {
        graph.clone().connect(cable(ends)).expect_err("it cannot be connected").to_string()
    };
    let taken = refused([port(switch, "p9"), port(a, "p0")]);
    assert_eq!(taken, r#"the port "p0" of "a" has two links"#);
    assert_eq!(refused([port(a, "p8"), port(a, "p9")]), r#"a link leads from "a" back to it"#);
    let at_zone = refused([port(zone, "p9"), port(b, "p9")]);
    assert!(at_zone.starts_with(r#"a link ends at the zone "a/1""#), "{at_zone}");
    let error = graph.add_zone("a/1/1", zone).expect_err("a zone has no zones").to_string();
    assert_eq!(error, r#"the zone "a/1/1" must be on a host, and "a/1" is none"#);
    assert_eq!(graph.add_host("a").expect_err("taken").to_string(), r#"two nodes are named "a""#);
}

#[test]
fn a_switch_has_no_traffic_and_a_host_no_port_that_is_not_connected() {
    let topology = built(&["a sw1", "b sw1"]);
    let error = topology.route(side(&topology, "a", None), side(&topology, "sw1", None));
    let expected = r#""sw1" is a switch, which has no traffic of its own"#;
    assert_eq!(error.expect_err("refused").to_string(), expected);
    let error = topology.interface_named(0, "eth7").expect_err("there is none");
    assert_eq!(error.to_string(), r#""a" has no port "eth7""#);
}

proptest! {
    /// Compares with Floyd-Warshall over all nodes, where hosts do not forward.
    #[test]
    fn random_trees_of_switches_have_shortest_paths(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        hosts in prop::collection::vec(any::<prop::sample::Index>(), 2..8),
    ) {
        let switches = parents.len() + 1;
        let up = (1..).zip(&parents).map(|(child, at)| (alloc::format!("sw{child}"), at.index(child)));
        let down = (0..).zip(&hosts).map(|(host, at)| (alloc::format!("h{host}"), at.index(switches)));
        let links: Vec<_> = up.chain(down).map(|(one, at)| alloc::format!("{one} sw{at}")).collect();
        let links: Vec<_> = links.iter().map(String::as_str).collect();
        let mut graph = graph(&links);
        // A single switch without hosts would have no link.
        if switches == 1 { node(&mut graph, "sw0"); }
        let topology = graph.build().expect("a tree is a network");
        let nodes = topology.nodes().len();
        let mut distance = vec![vec![usize::MAX / 4; nodes]; nodes];
        for cable in topology.cables() {
            let [one, other] = [cable.ends[0].node, cable.ends[1].node];
            distance[one][other] = 1;
            distance[other][one] = 1;
        }
        for over in (0..nodes).filter(|&node| topology.nodes()[node].kind == NodeKind::Switch) {
            for from in 0..nodes {
                for to in 0..nodes {
                    let way = distance[from][over] + distance[over][to];
                    distance[from][to] = distance[from][to].min(way);
                }
            }
        }
        for from in 0..topology.interfaces().len() {
            for to in (0..topology.interfaces().len()).filter(|&to| to != from) {
                let [own, peer] = [from, to].map(|interface| topology.interfaces()[interface].host);
                let path = topology.path(from, to).expect("a tree is connected");
                prop_assert_eq!(path.len(), distance[own][peer]);
            }
        }
    }
}
