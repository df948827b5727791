//! Why senders wait: each reason is planted in turn. That the times add up to the phase is checked
//! for every run of the lab.

use netstudy_records::{
    Direction, Instrument, InstrumentKind, Phase, PhaseKind, Roles, Run, RunRecord, Transfer,
    Until, Workload,
};

use crate::lab::{self, DEEP, PROFILES, drop_tail, make_ok};

const MS: u64 = 1_000_000;

/// One stream without end from a server to a client, measured for 200 ms after 100 ms.
fn stream(profile: &str) -> Run {
    let mut run = lab::run_with(profile, 2, DEEP);
    let phase = |kind, ms| Phase { kind, until: Some(Until::Time { ns: ms * MS }) };
    run.phases = vec![phase(PhaseKind::WarmUp, 100), phase(PhaseKind::Measure, 200)];
    run.workload = Workload::Transfer(Transfer {
        roles: Roles { client: vec!["server-1".to_owned()], server: vec!["server-2".to_owned()] },
        direction: Direction::Get,
        size_bytes: None,
        flows: 1,
        request_bytes: 64,
        pause_ns: 0,
        starts_ns: Vec::new(),
        ftp: None,
    });
    run
}

/// A round trip of 20 ms over links of 1 Gbit/s.
fn long(mut run: Run) -> Run {
    for link in &mut run.network.links {
        link.delay_ns = 5 * MS;
        lab::set_rate(link, 1_000_000_000);
    }
    run
}

/// The share of all time, in percent, for one reason.
fn share(record: &RunRecord, reason: &str) -> f64 {
    let sum = |column: &[u64]| column.iter().sum::<u64>() as f64;
    let waits = lab::waits(record);
    let whole: f64 = waits.iter().map(|(_, column)| sum(column)).sum();
    let column = waits.iter().find(|(name, _)| *name == reason).expect("a reason");
    100.0 * sum(&column.1) / whole
}

fn grown_us(record: &RunRecord, name: &str) -> u64 {
    lab::counter(record, "server", name)
}

#[test]
fn a_small_window_of_either_end_is_named_under_every_tcp() {
    for profile in PROFILES {
        let mut run = long(stream(profile));
        run.network.groups[1].tcp.receive_buffer_bytes = 65_535;
        let record = make_ok(&run);
        assert!(share(&record, "peer window") > 99.0, "{profile}: {:?}", lab::waits(&record));
        assert!(grown_us(&record, "flow_receiver_limited_us") > 198_000);
        assert_eq!(grown_us(&record, "flow_sender_limited_us"), 0);

        let mut run = long(stream(profile));
        run.network.groups[1].tcp.send_buffer_bytes = 65_535;
        let record = make_ok(&run);
        assert!(share(&record, "own buffer") > 99.0, "{profile}: {:?}", lab::waits(&record));
        assert!(grown_us(&record, "flow_sender_limited_us") > 198_000);
        assert_eq!(grown_us(&record, "flow_receiver_limited_us"), 0);
    }
}

#[test]
fn a_slow_start_over_a_long_path_waits_for_its_congestion_window() {
    for profile in PROFILES {
        let mut run = long(stream(profile));
        run.phases[0].until = Some(Until::Time { ns: MS });
        run.phases[1].until = Some(Until::Time { ns: 60 * MS });
        let record = make_ok(&run);
        assert!(share(&record, "congestion window") > 75.0, "{profile}: {:?}", lab::waits(&record));
    }
}

#[test]
fn a_sender_that_fills_its_own_link_waits_for_its_interface() {
    let record = make_ok(&stream("linux-6"));
    assert!(share(&record, "own interface") > 99.0, "{:?}", lab::waits(&record));
}

#[test]
fn blocks_of_one_segment_leave_acknowledgments_to_wait_for() {
    let mut run = lab::run(1, DEEP);
    lab::set_iterations(&mut run, 1, 5);
    lab::incast(&mut run).block_bytes = 1_000;
    let record = make_ok(&run);
    let shares = share(&record, "sent") + share(&record, "idle");
    assert!(shares > 99.99 && share(&record, "sent") > 1.0, "{:?}", lab::waits(&record));
}

#[test]
fn an_incast_that_overflows_waits_for_timers() {
    for profile in PROFILES {
        let mut run = lab::run_with(profile, 32, drop_tail(64_000));
        lab::incast(&mut run).block_bytes = 64_000;
        lab::set_iterations(&mut run, 2, 10);
        let record = make_ok(&run);
        let timer_ns = lab::waits(&record)[7].1.iter().sum::<u64>();
        let timeouts: u64 = lab::known(lab::connections(&record).timeouts.as_ref()).iter().sum();
        let least_ns = run.network.groups[1].tcp.min_rto_ns;
        assert!(timer_ns > 0, "{profile}: {:?}", lab::waits(&record));
        assert!(timer_ns >= timeouts * least_ns, "{profile}: {timeouts} timeouts, {timer_ns} ns");
    }
}

/// Readings change nothing, whether they are at edges, every second or at intervals; and a timer
/// that fires behind an edge has been waited for before it too.
#[test]
fn readings_change_no_time() {
    let mut run = lab::run(8, drop_tail(64_000));
    lab::set_iterations(&mut run, 2, 5);
    let rest = |kind| Phase { kind, until: Some(Until::Time { ns: 50 * MS }) };
    run.phases.insert(1, rest(PhaseKind::Stop));
    let bare = make_ok(&run);
    run.phases.push(rest(PhaseKind::CoolDown));
    run.instruments = ["server-1", "client"]
        .map(|node| Instrument {
            kind: InstrumentKind::Tcp,
            node: node.to_owned(),
            port: None,
            every_ns: MS,
            from: None,
            access: None,
            sysstat: false,
        })
        .into();
    let read_often = make_ok(&run);
    assert!(read_often.edges.len() > bare.edges.len());
    assert!(share(&bare, "timer") > 1.0, "{:?}", lab::waits(&bare));
    assert_eq!(lab::waits(&bare), lab::waits(&read_often));
}

/// The times of two phases add up to the times of one phase as long as both, although timeouts reach
/// over the edge between them.
#[test]
fn times_of_phases_in_a_row_add_up() {
    let measured = |from_ms, to_ms| {
        let mut run = stream("rfc");
        run.network = lab::run(24, drop_tail(40_000)).network;
        let Workload::Transfer(transfer) = &mut run.workload else { unreachable!("it is one") };
        transfer.roles.client = vec!["client".to_owned()];
        transfer.roles.server = (1..=24).map(|number| format!("server-{number}")).collect();
        let phase = |kind, ms| Phase { kind, until: Some(Until::Time { ns: ms * MS }) };
        run.phases = vec![
            phase(PhaseKind::WarmUp, from_ms),
            phase(PhaseKind::Measure, to_ms - from_ms),
            phase(PhaseKind::CoolDown, 5_000),
        ];
        make_ok(&run)
    };
    let [first, second, both] = [measured(100, 170), measured(170, 400), measured(100, 400)];
    let [first, second, both] = [&first, &second, &both].map(lab::waits);
    assert!(both[7].1.iter().sum::<u64>() > 100 * MS, "{both:?}");
    for (((name, one), (_, other)), (_, both)) in first.iter().zip(&second).zip(&both) {
        for ((one, other), both) in one.iter().zip(other).zip(both) {
            assert!((one + other).abs_diff(*both) <= 1, "{name}: {one} + {other} ns of {both} ns");
        }
    }
}
