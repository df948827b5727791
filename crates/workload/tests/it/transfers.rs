//! Transfers between applications that are joined by ideal pipes: 1 Gbit/s, a millisecond each way.

use netstudy_units::{Duration, Time};
use netstudy_workload::{
    Application, Direction, Owed, Phases, Sample, TransferClient, TransferConfig, TransferServer,
    TransferShape, TransferSize, Until,
};

use crate::pipes::{End, Pipes, Told, at};

const LATENCY: Duration = Duration::from_ms(1);
const PER_BYTE: Duration = Duration::from_ns(8);
const REQUEST: u64 = 64;
const MB: u64 = 1_000_000;

fn shape(direction: Direction, size: TransferSize) -> TransferShape {
    TransferShape { direction, size, request_bytes: REQUEST }
}

fn fixed(direction: Direction, warmup: u64, measure: u64) -> TransferConfig {
    TransferConfig {
        shape: shape(direction, TransferSize::Fixed(MB)),
        connections: 1,
        pause: Duration::ZERO,
        phases: Phases {
            warmup: Until::Count(warmup),
            measure: Until::Count(measure),
            hold: false,
        },
    }
}

fn stream(direction: Direction) -> TransferConfig {
    TransferConfig {
        shape: shape(direction, TransferSize::Stream),
        connections: 1,
        pause: Duration::ZERO,
        phases: Phases {
            warmup: Until::Count(0),
            measure: Until::Time(Duration::from_ms(100)),
            hold: false,
        },
    }
}

/// Client 0 and server 1.
fn pair<'a>(
    config: &TransferConfig,
    client: &'a mut TransferClient,
    server: &'a mut TransferServer,
) -> Pipes<'a> {
    let joined: Vec<(End, End)> = (0..config.connections).map(|n| ((0, n), (1, n))).collect();
    config.check().expect("it can be carried out");
    Pipes::new(vec![client, server], &joined, LATENCY, PER_BYTE)
}

fn with_run(config: &TransferConfig, look: impl FnOnce(&Pipes<'_>)) {
    let mut client = TransferClient::new(config);
    let mut server = TransferServer::new(config.shape);
    let mut pipes = pair(config, &mut client, &mut server);
    pipes.run();
    look(&pipes);
    let ends = (0..config.connections).map(|connection| (0, connection));
    let arrived: Vec<u64> = ends.map(|end| pipes.arrived(end)).collect();
    for connection in 0..config.connections {
        let owed = Application::owed(&client, connection, arrived[connection as usize]);
        assert_eq!(owed, None, "nothing is left to come");
    }
}

/// Bytes to and fro, and the time, of each sample.
fn transfers(samples: &[Sample]) -> Vec<(u64, u64, Time, Duration)> {
    let one = |sample: &Sample| match *sample {
        Sample::Transfer { bytes_received, bytes_sent, started, ended, .. } => {
            (bytes_received, bytes_sent, started, ended.since(started))
        }
        other => panic!("{other:?} is no transfer"),
    };
    samples.iter().map(one).collect()
}

/// Time of a message of `bytes`, from its first byte to its arrival.
fn takes(bytes: u64) -> Duration {
    PER_BYTE * bytes + LATENCY
}

#[test]
fn a_get_takes_a_request_and_the_payload() {
    with_run(&fixed(Direction::Get, 0, 1), |pipes| {
        let time = takes(REQUEST) + takes(MB);
        assert_eq!(transfers(&pipes.measured(0)), [(MB, 0, at(2000), time)]);
        assert_eq!([pipes.arrived((1, 0)), pipes.arrived((0, 0))], [REQUEST, MB]);
    });
}

#[test]
fn a_put_takes_the_payload_and_the_confirmation_of_the_receiving_application() {
    with_run(&fixed(Direction::Put, 0, 1), |pipes| {
        let time = takes(MB) + takes(REQUEST);
        assert_eq!(transfers(&pipes.measured(0)), [(0, MB, at(2000), time)]);
        assert_eq!([pipes.arrived((1, 0)), pipes.arrived((0, 0))], [MB, REQUEST]);
    });
}

#[test]
fn both_directions_go_at_once() {
    with_run(&fixed(Direction::Both, 0, 1), |pipes| {
        // The server's payload is complete as late as a get's; its pipe is then free for the
        // confirmation, which need not wait: the client's payload came before.
        let [(received, sent, _, time)] = transfers(&pipes.measured(0))[..] else { panic!("one") };
        assert_eq!((received, sent), (MB, MB));
        let least = takes(REQUEST) + takes(MB) + PER_BYTE * REQUEST;
        // The request ends within the first segment.
        let most = least + PER_BYTE * 1_000;
        assert!(least <= time && time <= most, "{time:?} between {least:?} and {most:?}");
        assert_eq!([pipes.arrived((1, 0)), pipes.arrived((0, 0))], [MB + REQUEST, MB + REQUEST]);
    });
}

#[test]
fn repeats_follow_each_other_and_those_of_the_warmup_are_not_measured() {
    with_run(&fixed(Direction::Get, 2, 3), |pipes| {
        let each = takes(REQUEST) + takes(MB);
        let starts = [2, 3, 4].map(|number| at(2000) + each * number);
        let found = transfers(&pipes.measured(0));
        assert_eq!(found, starts.map(|started| (MB, 0, started, each)));
        assert_eq!(pipes.when(0, Told::Begin), starts[0]);
        assert_eq!(pipes.when(0, Told::End), starts[2] + each);
        assert_eq!(pipes.arrived((0, 0)), 5 * MB);
    });
}

#[test]
fn a_pause_lies_between_two_transfers() {
    let pause = Duration::from_ms(7);
    with_run(&TransferConfig { pause, ..fixed(Direction::Get, 0, 2) }, |pipes| {
        let found = transfers(&pipes.measured(0));
        assert_eq!(found[1].2, found[0].2 + found[0].3 + pause);
    });
}

#[test]
fn transfers_repeat_until_the_time_is_over_and_the_last_one_is_ended() {
    let mut config = fixed(Direction::Get, 0, 1);
    config.phases.measure = Until::Time(Duration::from_ms(25));
    with_run(&config, |pipes| {
        // Each takes 10.000512 ms: the third begins at 20.001024 ms.
        let found = transfers(&pipes.measured(0));
        assert_eq!(found.len(), 3);
        assert_eq!(pipes.when(0, Told::End), found[2].2 + found[2].3);
    });
}

#[test]
fn flows_of_a_client_and_clients_of_a_server_go_side_by_side() {
    let config = TransferConfig { connections: 2, ..fixed(Direction::Get, 1, 2) };
    let mut clients = [TransferClient::new(&config), TransferClient::new(&config)];
    let mut server = TransferServer::new(config.shape);
    let [one, other] = &mut clients;
    let joined = [((0, 0), (2, 0)), ((0, 1), (2, 1)), ((1, 0), (2, 2)), ((1, 1), (2, 3))];
    let mut pipes = Pipes::new(vec![one, other, &mut server], &joined, LATENCY, PER_BYTE);
    pipes.run();
    for host in [0, 1] {
        let found = pipes.measured(host);
        assert_eq!(found.len(), 4, "two of each connection");
        let each = takes(REQUEST) + takes(MB);
        assert!(transfers(&found).iter().all(|&(bytes, _, _, time)| (bytes, time) == (MB, each)));
        assert_eq!(pipes.when(host, Told::End), at(2000) + each * 3);
    }
}

#[test]
fn a_client_gets_from_several_servers() {
    let config = TransferConfig { connections: 2, ..fixed(Direction::Both, 0, 1) };
    let mut client = TransferClient::new(&config);
    let mut servers = [(); 2].map(|()| TransferServer::new(config.shape));
    let [one, other] = &mut servers;
    let joined = [((0, 0), (1, 0)), ((0, 1), (2, 0))];
    let mut pipes = Pipes::new(vec![&mut client, one, other], &joined, LATENCY, PER_BYTE);
    pipes.run();
    assert_eq!(transfers(&pipes.measured(0)).len(), 2);
    assert_eq!([pipes.arrived((1, 0)), pipes.arrived((2, 0))], [MB + REQUEST; 2]);
}

#[test]
fn a_client_that_holds_waits_for_the_controller_while_all_is_quiet() {
    let mut config = fixed(Direction::Put, 1, 1);
    config.phases.hold = true;
    let mut client = TransferClient::new(&config);
    let mut server = TransferServer::new(config.shape);
    let mut pipes = pair(&config, &mut client, &mut server);
    pipes.run();
    assert_eq!(pipes.when(0, Told::Hold), at(2000) + takes(MB) + takes(REQUEST));
    pipes.now = at(500_000);
    pipes.go(0);
    pipes.run();
    assert_eq!(pipes.when(0, Told::Begin), at(500_000));
    assert_eq!(transfers(&pipes.measured(0))[0].2, at(500_000));
    assert_eq!(pipes.told[0].last().map(|&(_, told)| told), Some(Told::End));
}

#[test]
fn a_stream_fills_the_pipe_for_its_time_and_counts_what_has_come() {
    with_run(&stream(Direction::Get), |pipes| {
        let [(received, sent, started, time)] = transfers(&pipes.measured(0))[..] else {
            panic!("one sample a connection")
        };
        assert_eq!((sent, started, time), (0, at(2000), Duration::from_ms(100)));
        // From the arrival of the request on, the pipe never runs dry.
        let first = takes(REQUEST) + LATENCY;
        let full = (time.as_ps() - first.as_ps()) / PER_BYTE.as_ps();
        assert!(received.abs_diff(full) <= 2_000, "{received} B, a full pipe carries {full} B");
        // Bytes arrive until the second request has stopped the server. The phase ends with the
        // last message.
        let behind = (takes(REQUEST) + LATENCY).as_ps() / PER_BYTE.as_ps() + REQUEST;
        let late = pipes.arrived((0, 0)) - received;
        assert!(late.abs_diff(behind) <= 2_000, "{late} B after the time, {behind} B expected");
        let end = takes(REQUEST) + takes(REQUEST);
        let ended = pipes.when(0, Told::End).since(at(2000) + time);
        assert!(ended >= end && ended <= end + PER_BYTE * 1_000, "{ended:?}, at least {end:?}");
    });
}

#[test]
fn a_stream_to_a_server_counts_what_is_acknowledged() {
    with_run(&stream(Direction::Put), |pipes| {
        let [(received, sent, _, time)] = transfers(&pipes.measured(0))[..] else { panic!("one") };
        assert_eq!(received, 0);
        let full = (time.as_ps() - 2 * LATENCY.as_ps()) / PER_BYTE.as_ps();
        assert!(sent.abs_diff(full) <= 1_000, "{sent} B, a full pipe carries {full} B");
        let path = 2 * LATENCY.as_ps() / PER_BYTE.as_ps();
        assert!(pipes.under_way_max <= path, "{} B written ahead", pipes.under_way_max);
    });
}

#[test]
fn a_stream_of_both_directions_counts_both() {
    with_run(&stream(Direction::Both), |pipes| {
        let [(received, sent, _, time)] = transfers(&pipes.measured(0))[..] else { panic!("one") };
        let full = (time.as_ps() - 2 * LATENCY.as_ps()) / PER_BYTE.as_ps();
        for bytes in [received, sent] {
            assert!(bytes.abs_diff(full) <= 2_000, "{bytes} B, a full pipe carries {full} B");
        }
    });
}

#[test]
fn a_stream_asks_once_and_is_confirmed_once_however_much_it_carries() {
    // Bytes from the client and from the server that are no payload: a get asks and stops, a put
    // ends and is confirmed; both directions ask and end, and the server ends.
    for (direction, no_payload) in [
        (Direction::Get, [2 * REQUEST, REQUEST]),
        (Direction::Put, [REQUEST, REQUEST]),
        (Direction::Both, [2 * REQUEST, REQUEST]),
    ] {
        let mut config = stream(direction);
        config.phases.warmup = Until::Time(Duration::from_ms(50));
        with_run(&config, |pipes| {
            // Warm-up and measuring phase each have a stream of whole segments.
            let arrived = [pipes.arrived((1, 0)), pipes.arrived((0, 0))];
            for (bytes, most) in arrived.into_iter().zip(no_payload) {
                assert_eq!(bytes % 1_000, 2 * most, "{direction:?}: {bytes} B");
            }
            let sends = [direction != Direction::Get, direction != Direction::Put];
            for (bytes, sends) in arrived.into_iter().zip(sends) {
                assert_eq!(bytes > 1_000_000, sends, "{direction:?}: {bytes} B");
            }
        });
    }
}

#[test]
fn a_stream_after_a_warmup_begins_when_that_has_drained() {
    let mut config = stream(Direction::Get);
    config.phases.warmup = Until::Time(Duration::from_ms(30));
    with_run(&config, |pipes| {
        let begin = pipes.when(0, Told::Begin);
        assert!(begin > at(2000) + Duration::from_ms(30));
        assert_eq!(transfers(&pipes.measured(0))[0].2, begin);
    });
}

#[test]
fn the_time_of_a_phase_is_over_when_it_is_whatever_is_under_way() {
    let streams = [stream(Direction::Get), stream(Direction::Put)];
    let mut timed = fixed(Direction::Get, 0, 1);
    timed.phases.measure = Until::Time(Duration::from_ms(100));
    let mut resting = timed;
    // The tenth transfer ends at 90.04 ms, and the next one would begin behind the time.
    resting.pause = Duration::from_ms(40);
    for config in [streams[0], streams[1], timed, resting] {
        with_run(&config, |pipes| {
            let over = pipes.when(0, Told::Over);
            assert_eq!(over, at(2000) + Duration::from_ms(100));
            assert!(pipes.when(0, Told::End) >= over);
        });
    }
}

#[test]
fn a_warmup_that_is_told_its_end_goes_over_into_the_measuring_phase() {
    let told = |mut config: TransferConfig| {
        config.phases.warmup = Until::Told;
        config.phases.measure = Until::Time(Duration::from_ms(100));
        config
    };
    for config in [told(stream(Direction::Get)), told(fixed(Direction::Get, 0, 1))] {
        let mut client = TransferClient::new(&config);
        let mut server = TransferServer::new(config.shape);
        let mut pipes = pair(&config, &mut client, &mut server);
        pipes.run_until(at(3000));
        assert_eq!(pipes.when(0, Told::Ready), at(2000));
        pipes.go_at(0, at(52_000));
        pipes.run();
        assert_eq!(pipes.when(0, Told::Begin), at(52_000));
        assert_eq!(pipes.when(0, Told::Over), at(152_000));
        let samples = transfers(&pipes.measured(0));
        if config.shape.size == TransferSize::Stream {
            let [(received, _, started, time)] = samples[..] else { panic!("one sample") };
            assert_eq!((started, time), (at(52_000), Duration::from_ms(100)));
            let full = time.as_ps() / PER_BYTE.as_ps();
            assert!(received.abs_diff(full) <= 1_000, "{received} B, a full pipe carries {full} B");
        } else {
            assert!(samples[0].2 < at(52_000), "the first one was begun before: {samples:?}");
        }
    }
}

#[test]
fn flows_that_start_apart_go_on_into_the_measuring_phase() {
    let mut config = stream(Direction::Get);
    (config.connections, config.phases.warmup) = (2, Until::Told);
    let starts = vec![Duration::ZERO, Duration::from_ms(30)];
    let mut client = TransferClient::new(&config).starting_after(starts);
    let mut server = TransferServer::new(config.shape);
    let mut pipes = pair(&config, &mut client, &mut server);
    // Connections are open after 2 ms, and a request takes 1 ms.
    pipes.run_until(at(31_000));
    assert!(pipes.arrived((1, 0)) > 0);
    assert_eq!(pipes.arrived((1, 1)), 0);
    pipes.run_until(at(34_000));
    assert!(pipes.arrived((1, 1)) > 0);
    pipes.go_at(0, at(52_000));
    pipes.run();
    let samples = transfers(&pipes.measured(0));
    assert_eq!(samples.len(), 2);
    let whole = (at(52_000), config_time(&config));
    assert!(
        samples.iter().all(|&(received, _, start, time)| received > 0 && (start, time) == whole)
    );
}

/// Length of the measuring phase.
fn config_time(config: &TransferConfig) -> Duration {
    let Until::Time(time) = config.phases.measure else { panic!("it is a time") };
    time
}

#[test]
fn what_cannot_be_carried_out_is_refused_with_the_reason() {
    let good = fixed(Direction::Get, 0, 1);
    let refused = |config: TransferConfig, why: &str| {
        let error = config.check().expect_err("it is refused");
        assert!(error.contains(why), "{error}");
    };
    assert_eq!(good.check(), Ok(()));
    refused(TransferConfig { connections: 0, ..good }, "at least one connection");
    refused(fixed(Direction::Get, 1, 0), "at least one transfer");
    let mut counted = stream(Direction::Get);
    counted.phases.warmup = Until::Count(1);
    refused(counted, "for a time");
    let mut endless = stream(Direction::Get);
    endless.phases.measure = Until::Told;
    refused(endless, "must have a count or a time");
    let mut told = good;
    told.phases.warmup = Until::Told;
    refused(told, "needs a warm-up with a count or a time");
    let empty = shape(Direction::Put, TransferSize::Fixed(0));
    refused(TransferConfig { shape: empty, ..good }, "at least one byte");
}

#[test]
fn who_is_waited_for_is_known_with_the_message() {
    let config = fixed(Direction::Put, 0, 2);
    let mut client = TransferClient::new(&config);
    let mut server = TransferServer::new(config.shape);
    while client.poll(Time::ZERO).is_some() {}
    Application::opened(&mut client, at(1), 0);
    while client.poll(at(1)).is_some() {}
    let owed = Application::owed(&client, 0, 0).expect("the confirmation");
    assert_eq!(owed, Owed { message: 1, received: 0, bytes: Some(REQUEST) });
    Application::received(&mut server, at(2), 0, 0, 400_000);
    let owed = Application::owed(&server, 0, 400_000).expect("the rest of the payload");
    assert_eq!((owed.message, owed.bytes, owed.missing()), (1, Some(MB), 600_000));
}

#[test]
fn a_stream_is_owed_until_its_sender_has_ended_it() {
    let mut client = TransferClient::new(&stream(Direction::Get));
    while client.poll(Time::ZERO).is_some() {}
    Application::opened(&mut client, at(1), 0);
    while client.poll(at(1)).is_some() {}
    let owed = Application::owed(&client, 0, 5_000).expect("the rest of the stream");
    assert_eq!(owed, Owed { message: 1, received: 5_000, bytes: None });
    let over = at(1) + Duration::from_ms(100);
    while client.poll(over).is_some() {}
    Application::ends_at(&mut client, 0, 6_000);
    assert_eq!(Application::owed(&client, 0, 5_000).map(|owed| owed.missing()), Some(1_000));
    Application::received(&mut client, over, 0, 5_000, 6_000);
    assert_eq!(Application::owed(&client, 0, 6_000), None);
}
