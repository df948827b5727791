//! Synchronized reads over ideal pipes of 1 Gbit/s and a millisecond each way.

use netstudy_units::{Duration, Time};
use netstudy_workload::{IncastConfig, IncastHost, Sample};

use crate::pipes::{Pipes, Told, at};

const LATENCY: Duration = Duration::from_ms(1);
const PER_BYTE: Duration = Duration::from_ns(8);

fn config(hold: bool) -> IncastConfig {
    IncastConfig {
        servers: 2,
        block_bytes: 125_000,
        striped: false,
        iterations: 3,
        warmup_iterations: 1,
        hold,
        request_bytes: 64,
        request_spacing: Duration::ZERO,
    }
}

/// Client 0 and servers 1 and 2, of which the second one waits for a millisecond each time.
fn with_pipes(config: &IncastConfig, work: impl FnOnce(&mut Pipes<'_>)) {
    let mut client = IncastHost::client(config);
    let mut prompt = IncastHost::server(config, 0, Box::new(|| Duration::ZERO));
    let mut slow = IncastHost::server(config, 1, Box::new(|| Duration::from_ms(1)));
    let joined = [((0, 0), (1, 0)), ((0, 1), (2, 0))];
    let hosts: Vec<&mut dyn netstudy_workload::Application> =
        vec![&mut client, &mut prompt, &mut slow];
    let mut pipes = Pipes::new(hosts, &joined, LATENCY, PER_BYTE);
    work(&mut pipes);
}

/// Request, delay of the slower server and response.
const ITERATION: Duration = Duration::from_ns(64 * 8 + 125_000 * 8 + 3_000_000);

fn iterations(pipes: &Pipes<'_>) -> Vec<(Time, Duration)> {
    let one = |sample: &Sample| match *sample {
        Sample::Iteration { started, ended } => (started, ended.since(started)),
        other => panic!("{other:?} is no iteration"),
    };
    pipes.measured(0).iter().map(one).collect()
}

#[test]
fn an_iteration_takes_as_long_as_its_slowest_server() {
    with_pipes(&config(false), |pipes| {
        pipes.run();
        let starts = [1, 2].map(|number| at(2000) + ITERATION * number);
        assert_eq!(iterations(pipes), starts.map(|started| (started, ITERATION)));
        assert_eq!(pipes.when(0, Told::End), starts[1] + ITERATION);
        assert_eq!(pipes.arrived((0, 0)), 3 * 125_000);
    });
}

#[test]
fn a_client_that_holds_begins_to_measure_when_the_controller_says_so() {
    with_pipes(&config(true), |pipes| {
        pipes.run();
        assert_eq!(pipes.when(0, Told::Hold), at(2000) + ITERATION);
        assert_eq!(pipes.told[0].last().map(|&(_, told)| told), Some(Told::Hold));
        pipes.now = at(900_000);
        pipes.go(0);
        pipes.run();
        let starts = [0, 1].map(|number| at(900_000) + ITERATION * number);
        assert_eq!(iterations(pipes), starts.map(|started| (started, ITERATION)));
    });
}

#[test]
fn without_a_warmup_it_holds_once_all_connections_are_open() {
    with_pipes(&IncastConfig { warmup_iterations: 0, ..config(true) }, |pipes| {
        pipes.run();
        assert_eq!(pipes.when(0, Told::Hold), at(2000));
        pipes.go(0);
        pipes.run();
        assert_eq!(iterations(pipes).len(), 3);
    });
}
