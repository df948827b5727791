//! Requests and responses over ideal pipes of 1 Gbit/s and a millisecond each way, by themselves and
//! as a probe during transfers.

use netstudy_units::{Duration, Time};
use netstudy_workload::{
    Beside, Direction, Phases, Probe, RequestClient, RequestConfig, RequestServer, RequestShape,
    Sample, Schedule, TransferClient, TransferConfig, TransferServer, TransferShape, TransferSize,
    Until,
};

use crate::pipes::{End, Pipes, Told, at};

const LATENCY: Duration = Duration::from_ms(1);
const PER_BYTE: Duration = Duration::from_ns(8);
const SHAPE: RequestShape = RequestShape { request_bytes: 100, response_bytes: 500 };
/// Of a request and its response in empty pipes: 600 bytes and both ways.
const RESPONSE_TIME: Duration = Duration::from_ns(600 * 8 + 2_000_000);

fn config(schedule: Schedule, measure: Until) -> RequestConfig {
    let phases = Phases { warmup: Until::Count(0), measure, hold: false };
    RequestConfig { shape: SHAPE, connections: 1, schedule, phases }
}

fn closed(outstanding: u32, think: Duration) -> Schedule {
    Schedule::Closed { outstanding, think }
}

fn with_run(config: &RequestConfig, look: impl FnOnce(&Pipes<'_>)) {
    config.check().expect("it can be carried out");
    let mut client = RequestClient::new(config);
    let mut server = RequestServer::new(config.shape);
    let joined: Vec<(End, End)> = (0..config.connections).map(|n| ((0, n), (1, n))).collect();
    let mut pipes = Pipes::new(vec![&mut client, &mut server], &joined, LATENCY, PER_BYTE);
    pipes.run();
    look(&pipes);
}

/// Connection, due time and response time of each request.
fn requests(samples: &[Sample]) -> Vec<(u32, Time, Duration)> {
    let one = |sample: &Sample| match *sample {
        Sample::Request { connection, intended, ended } => {
            Some((connection, intended, ended.since(intended)))
        }
        _ => None,
    };
    samples.iter().filter_map(one).collect()
}

#[test]
fn one_request_at_a_time_follows_the_last_response() {
    with_run(&config(closed(1, Duration::ZERO), Until::Count(3)), |pipes| {
        let due = [0, 1, 2].map(|number| at(2000) + RESPONSE_TIME * number);
        assert_eq!(requests(&pipes.measured(0)), due.map(|due| (0, due, RESPONSE_TIME)));
        assert_eq!(pipes.when(0, Told::End), due[2] + RESPONSE_TIME);
        assert_eq!([pipes.arrived((1, 0)), pipes.arrived((0, 0))], [300, 1500]);
    });
}

#[test]
fn a_client_thinks_before_the_next_request() {
    let think = Duration::from_ms(5);
    with_run(&config(closed(1, think), Until::Count(2)), |pipes| {
        let due = [at(2000), at(2000) + RESPONSE_TIME + think];
        assert_eq!(requests(&pipes.measured(0)), due.map(|due| (0, due, RESPONSE_TIME)));
    });
}

#[test]
fn a_warm_up_lasts_for_its_time_though_nothing_is_left_to_begin() {
    let warmup = Until::Time(Duration::from_ms(1000));
    let schedule = Schedule::Every(Duration::from_ms(400));
    let phases = Phases { warmup, measure: Until::Count(2), hold: false };
    with_run(&RequestConfig { phases, ..config(schedule, Until::Count(2)) }, |pipes| {
        assert_eq!(pipes.when(0, Told::Begin), at(2000) + Duration::from_ms(1000));
    });
}

#[test]
fn several_requests_are_under_way_at_a_time() {
    with_run(&config(closed(4, Duration::ZERO), Until::Count(8)), |pipes| {
        let found = requests(&pipes.measured(0));
        let first = at(2000);
        assert!(found[..4].iter().all(|&(_, due, _)| due == first), "{found:?}");
        // Four requests and their responses come one after the other.
        let fourth = PER_BYTE * (100 + 4 * 500) + LATENCY * 2;
        assert_eq!(found[3].2, fourth);
        assert_eq!(found[4].1, first + RESPONSE_TIME, "each has its own place");
    });
}

#[test]
fn a_count_is_each_connections_and_a_phase_by_time_ends_what_it_has_begun() {
    let counted =
        RequestConfig { connections: 3, ..config(closed(2, Duration::ZERO), Until::Count(5)) };
    with_run(&counted, |pipes| {
        let found = requests(&pipes.measured(0));
        for connection in 0..3 {
            assert_eq!(found.iter().filter(|one| one.0 == connection).count(), 5);
        }
    });
    let timed = config(closed(1, Duration::ZERO), Until::Time(Duration::from_ms(9)));
    with_run(&timed, |pipes| {
        // Due at 0, 2.0048, 4.0096, 6.0144 and 8.0192 ms.
        assert_eq!(requests(&pipes.measured(0)).len(), 5);
    });
}

#[test]
fn an_open_loop_asks_on_time_whether_or_not_it_was_answered() {
    // Ten times as often as responses come: 500 bytes take 4 us.
    let interval = Duration::from_ns(400);
    with_run(&config(Schedule::Every(interval), Until::Count(100)), |pipes| {
        let found = requests(&pipes.measured(0));
        for (number, &(_, due, time)) in found.iter().enumerate() {
            let number = number as u64;
            assert_eq!(due, at(2000) + interval * number);
            // Requests queue at 100 bytes each, responses at 500.
            let answered = PER_BYTE * 100 + LATENCY * 2 + PER_BYTE * 500 * (number + 1);
            assert_eq!(time, (at(2000) + answered).since(due), "request {number}");
        }
    });
}

#[test]
fn connections_of_an_open_loop_take_turns() {
    let interval = Duration::from_ms(10);
    let config = RequestConfig {
        connections: 4,
        ..config(Schedule::Every(interval), Until::Time(Duration::from_ms(20)))
    };
    with_run(&config, |pipes| {
        let due: Vec<_> = requests(&pipes.measured(0)).iter().map(|one| (one.0, one.1)).collect();
        let expected = (0..8).map(|n| (n % 4, at(2000) + Duration::from_us(2500) * u64::from(n)));
        assert_eq!(due, expected.collect::<Vec<_>>());
    });
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_the_reason() {
    let count = Until::Count(1);
    for (bad, why) in [
        (config(closed(0, Duration::ZERO), count), "at least one outstanding request"),
        (config(Schedule::Every(Duration::ZERO), count), "interval above zero"),
        (config(closed(1, Duration::ZERO), Until::Count(0)), "at least one request"),
        (RequestConfig { connections: 0, ..config(closed(1, LATENCY), count) }, "connection"),
    ] {
        let error = bad.check().expect_err("it is refused");
        assert!(error.contains(why), "{error}");
    }
}

const PROBE_SHAPE: RequestShape = RequestShape { request_bytes: 64, response_bytes: 64 };

/// A put with a probe each 10 ms, which runs by itself for `idle` before.
fn probed(idle: Duration, hold: bool) -> (Beside<TransferClient, Probe>, TransferShape) {
    let shape = TransferShape {
        direction: Direction::Put,
        size: TransferSize::Fixed(5_000_000),
        request_bytes: 64,
    };
    let config = TransferConfig {
        shape,
        connections: 2,
        pause: Duration::ZERO,
        phases: Phases { warmup: Until::Count(1), measure: Until::Count(2), hold },
    };
    let probe = Probe::new(PROBE_SHAPE, 1, Duration::from_ms(10));
    (Beside::new(TransferClient::new(&config), 2, probe, idle, hold), shape)
}

/// Client 0 and server 1: connections 0 and 1 are the transfer's, 2 is the probe's.
fn with_probed_run(
    idle: Duration,
    hold: bool,
    work: impl FnOnce(&mut Pipes<'_>),
) -> Beside<TransferClient, Probe> {
    let (mut client, shape) = probed(idle, hold);
    let mut server = Beside::new(
        TransferServer::new(shape),
        2,
        RequestServer::new(PROBE_SHAPE),
        Duration::ZERO,
        hold,
    );
    let joined = [0, 1, 2].map(|number| ((0, number), (1, number)));
    let mut pipes = Pipes::new(vec![&mut client, &mut server], &joined, LATENCY, PER_BYTE);
    work(&mut pipes);
    drop(pipes);
    client
}

/// Due times of the probe's requests, all phases together.
fn probes(pipes: &Pipes<'_>) -> Vec<Time> {
    let due = |&(_, told): &(Time, Told)| match told {
        Told::Sample(Sample::Request { connection: 2, intended, .. }) => Some(intended),
        _ => None,
    };
    pipes.told[0].iter().filter_map(due).collect()
}

#[test]
fn a_probe_runs_alone_and_then_beside_the_workload() {
    let idle = Duration::from_ms(50);
    let mut due = Vec::new();
    let client = with_probed_run(idle, false, |pipes| {
        pipes.run();
        due = probes(pipes);
        let end = pipes.told[0].last().expect("it ends");
        assert_eq!(end.1, Told::End);
        assert_eq!(pipes.measured(0).len(), 4 + requests(&pipes.measured(0)).len());
    });
    let begins = client.workload_begins();
    assert!(begins >= at(2000) + idle && begins < at(60_000), "{begins:?}");
    let idle: Vec<_> = due.iter().copied().filter(|&due| due < begins).collect();
    assert_eq!(idle, [2000, 12_000, 22_000, 32_000, 42_000].map(at));
    // Three transfers of 40 ms each, and as long until the connections are open.
    let loaded = due.len() - idle.len();
    assert!((12..=14).contains(&loaded), "{loaded} beside the workload");
}

#[test]
fn a_probe_rests_while_its_host_waits_for_the_controller() {
    with_probed_run(Duration::from_ms(20), true, |pipes| {
        for wait in 0..2 {
            pipes.run();
            let (held, told) = *pipes.told[0].last().expect("it has told something");
            assert_eq!(told, Told::Hold, "phase {wait}");
            assert!(pipes.now.since(held) <= LATENCY, "nothing but acknowledgments comes then");
            pipes.now += Duration::from_secs(1);
            pipes.go(0);
        }
        pipes.run();
        let told: Vec<_> = pipes.told[0].iter().map(|&(_, told)| told).collect();
        assert_eq!(told.last(), Some(&Told::End));
        assert_eq!(told.iter().filter(|&&told| told == Told::Hold).count(), 2);
        let begin = pipes.when(0, Told::Begin);
        let due = probes(pipes);
        assert!(due.contains(&begin), "it goes on with the workload");
    });
}

#[test]
fn an_answer_behind_the_time_comes_behind_the_word_that_it_is_over() {
    let config = config(closed(1, Duration::ZERO), Until::Time(Duration::from_ms(9)));
    with_run(&config, |pipes| {
        let over = pipes.when(0, Told::Over);
        assert_eq!(over, at(2000) + Duration::from_ms(9));
        let told: Vec<_> = pipes.told[0].iter().map(|&(_, told)| told).collect();
        let place = told.iter().position(|&one| one == Told::Over).expect("it is over");
        let is_sample = |told: &Told| matches!(told, Told::Sample(_));
        assert_eq!(told[..place].iter().filter(|told| is_sample(told)).count(), 4);
        assert_eq!(told[place + 1..].iter().filter(|told| is_sample(told)).count(), 1);
    });
}

#[test]
fn requests_and_a_probe_beside_them_go_on_when_the_measuring_phase_begins() {
    let mut config = config(closed(1, Duration::ZERO), Until::Time(Duration::from_ms(30)));
    config.phases.warmup = Until::Told;
    let probe = Probe::new(SHAPE, 1, Duration::from_ms(10));
    let mut client = Beside::new(RequestClient::new(&config), 1, probe, Duration::ZERO, true);
    let mut server =
        Beside::new(RequestServer::new(SHAPE), 1, RequestServer::new(SHAPE), Duration::ZERO, true);
    let joined: Vec<(End, End)> = [0, 1].map(|n| ((0, n), (1, n))).to_vec();
    let mut pipes = Pipes::new(vec![&mut client, &mut server], &joined, LATENCY, PER_BYTE);
    pipes.run_until(at(3000));
    pipes.go_at(0, at(25_000));
    pipes.run();
    assert_eq!(pipes.when(0, Told::Begin), at(25_000));
    assert_eq!(pipes.when(0, Told::Over), at(55_000));
    let measured = requests(&pipes.measured(0));
    let probes: Vec<_> = measured.iter().filter(|one| one.0 == 1).map(|one| one.1).collect();
    assert_eq!(probes, [32, 42, 52].map(|ms| at(ms * 1000)), "none is left out or begun anew");
    assert!(measured[0].1 < at(25_000), "the first answer is to a request of the warm-up");
}
