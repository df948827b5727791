//! Samples in virtual time, checked against the counters at the edges of phases.

use netstudy_records::{Buffer, Instrument, InstrumentKind, Run, RunRecord, Series};
use netstudy_records::{Phase, PhaseKind, Until};

use crate::lab::{self, DROP_TAIL, GUARANTEED, INGRESS, make, make_ok};

const MS: u64 = 1_000_000;

fn instrument(kind: InstrumentKind, node: &str, every_ns: u64) -> Instrument {
    Instrument {
        kind,
        node: node.to_owned(),
        port: None,
        every_ns,
        from: None,
        access: None,
        sysstat: false,
    }
}

/// An incast that loses frames, with a rest before and after the measuring phase.
fn lossy(buffer: Buffer) -> Run {
    let mut run = lab::run(8, buffer);
    lab::set_iterations(&mut run, 2, 5);
    let rest = |kind| Phase { kind, until: Some(Until::Time { ns: 50 * MS }) };
    run.phases.insert(1, rest(PhaseKind::Stop));
    run.phases.push(rest(PhaseKind::CoolDown));
    run
}

fn with_all(mut run: Run) -> Run {
    run.instruments = vec![
        instrument(InstrumentKind::Ports, "switch", 10 * MS),
        instrument(InstrumentKind::Tcp, "server-1", 7 * MS),
        instrument(InstrumentKind::Host, "client", 10 * MS),
    ];
    run
}

/// The value of the last sample until an edge.
fn at_edge(record: &RunRecord, series: &Series, column: &str, edge: &str) -> u64 {
    let edge = record.edges.iter().find(|one| one.name == edge).expect("it was read");
    let place = series.at_ns.partition_point(|&at| at <= edge.at_ns) - 1;
    series.values[column][place].expect("it was read")
}

#[test]
fn a_sampler_reads_the_counters_of_the_edges() {
    for buffer in [DROP_TAIL, GUARANTEED, INGRESS] {
        let record = make_ok(&with_all(lossy(buffer)));
        let names = ["warm-up-end", "measure-start", "measure-end", "cool-down-end"];
        assert_eq!(record.edges.iter().map(|edge| edge.name.as_str()).collect::<Vec<_>>(), names);
        // Nothing is under way from 10 ms before the end of either rest on.
        for (number, edge) in [(1, "measure-start"), (3, "cool-down-end")] {
            for series in &record.series {
                let readings = match series.instrument {
                    InstrumentKind::Ports => {
                        let port = series.port.as_deref().expect("it is of a port");
                        &record.ports["switch"][port]
                    }
                    InstrumentKind::Host => match series.port.as_deref() {
                        Some(interface) => &record.ports["client"][interface],
                        None => &record.counters["client"],
                    },
                    _ => continue,
                };
                // Times of senders are corrected when a timer fires; samples cannot be.
                let sampled = readings.iter().filter(|(name, _)| !name.starts_with("flow_"));
                for (name, values) in sampled {
                    let sampled = at_edge(&record, series, name, edge);
                    assert_eq!(Some(sampled), values[number], "{name} at {edge}");
                }
            }
        }
    }
}

#[test]
fn the_queue_of_the_moment_fills_and_empties_and_is_never_longer_than_the_longest() {
    for buffer in [DROP_TAIL, GUARANTEED, INGRESS] {
        let mut run = lossy(buffer);
        run.instruments = vec![instrument(InstrumentKind::Ports, "switch", MS / 10)];
        run.instruments[0].port = Some("client".to_owned());
        let record = make_ok(&run);
        let [series] = &record.series[..] else { panic!("one port is read") };
        let column = |name: &str| series.values[name].iter().map(|v| v.expect("it was read"));
        let longest = column("queue_bytes").max().expect("there are samples");
        assert!(longest > 50_000, "{longest} B");
        assert!(column("queue_bytes").zip(column("queue_bytes_max")).all(|(now, max)| now <= max));
        assert_eq!(column("queue_bytes").next_back(), Some(0));
        let steps = series.at_ns.windows(2).all(|pair| pair[1] - pair[0] == MS / 10);
        assert!(series.at_ns[0] == 0 && steps, "from the start on, at the interval");
    }
}

#[test]
fn samplers_of_hosts_change_nothing() {
    for buffer in [DROP_TAIL, GUARANTEED, INGRESS] {
        let mut run = with_all(lossy(buffer));
        run.instruments.retain(|one| one.kind != InstrumentKind::Ports);
        let (mut with, without) = (make_ok(&run), make_ok(&lossy(buffer)));
        assert!(
            lab::known(lab::iterations(&without).retransmissions.as_ref()).iter().sum::<u64>() > 0,
            "it is lossy"
        );
        assert_eq!(with.series.len(), 3, "a connection, a host and its interface");
        with.series.clear();
        assert!(with == without, "the records differ");
    }
}

#[test]
fn samplers_of_ports_change_nothing_that_is_sampled() {
    for buffer in [DROP_TAIL, GUARANTEED, INGRESS] {
        let (with, without) = (make_ok(&with_all(lossy(buffer))), make_ok(&lossy(buffer)));
        assert_eq!(with.samples, without.samples);
        assert_eq!((&with.phases, &with.edges), (&without.phases, &without.edges));
        assert_eq!(with.counters["client"], without.counters["client"]);
        // Without samplers the client's frames may be judged, and counted, as soon as they are sent.
        let of_port = |record: RunRecord| {
            let mut counted = record.ports["switch"]["client"].clone();
            counted
                .retain(|name, _| !name.starts_with("frames_received") && name != "bytes_received");
            counted
        };
        assert_eq!(of_port(with), of_port(without));
    }
}

#[test]
fn a_connection_is_sampled_as_its_sender_sees_it() {
    let mut run = lossy(DROP_TAIL);
    run.instruments = vec![instrument(InstrumentKind::Tcp, "server-1", MS / 10)];
    let record = make_ok(&run);
    let [series] = &record.series[..] else { panic!("server-1 has one connection") };
    assert_eq!((series.connection, series.node.as_str()), (Some(0), "server-1"));
    assert_eq!(series.values["srtt_us"][0], None, "before anything came back");
    let last = |name: &str| *series.values[name].last().expect("there are samples");
    // Twice over a link and back are 4 µs; a full segment is on two wires for 7.2 µs each.
    let shortest = last("min_rtt_us").expect("there was a round trip");
    assert!((4..50).contains(&shortest), "{shortest} µs");
    assert!(last("srtt_us") >= last("min_rtt_us"));
    assert!(last("cwnd_segments") >= Some(1));
    let counted = &record.counters["server-1"];
    assert_eq!(last("retransmissions"), counted["segments_retransmitted"][3]);
    assert_eq!(last("timeouts"), counted["timeouts"][3]);
    assert_eq!(last("tcp_bytes_sent"), counted["bytes_sent"][3]);
    assert_eq!(last("tcp_bytes_acked"), Some(7 * 4_000_000));
    assert_eq!(last("bytes_sent"), Some(7 * 4_000_000));
}

#[test]
fn an_instrument_that_has_nothing_to_read_is_refused_by_name() {
    let refusal = |instrument: Instrument| {
        let mut run = lossy(DROP_TAIL);
        run.instruments = vec![instrument];
        make(&run).error.expect("it is refused")
    };
    assert!(refusal(instrument(InstrumentKind::Snmp, "client", MS)).contains("not a switch"));
    assert!(refusal(instrument(InstrumentKind::Ports, "client", MS)).contains("not a switch"));
    assert!(refusal(instrument(InstrumentKind::Tcp, "switch", MS)).contains("no host or zone"));
    assert!(refusal(instrument(InstrumentKind::Host, "nobody", MS)).contains("no host or zone"));
    assert!(refusal(instrument(InstrumentKind::Host, "client", 0)).contains("0 ns"));
    let mut of_port = instrument(InstrumentKind::Ports, "switch", MS);
    of_port.port = Some("nowhere".to_owned());
    assert!(refusal(of_port).contains("nowhere"));
}

#[test]
fn a_poll_sees_what_the_ports_show_and_a_size_class_for_every_frame() {
    let mut run = lossy(DROP_TAIL);
    let mut poll = instrument(InstrumentKind::Snmp, "switch", MS / 10);
    poll.port = Some("server-1".to_owned());
    poll.from = Some("client".to_owned());
    let ports = Instrument { kind: InstrumentKind::Ports, from: None, ..poll.clone() };
    run.instruments = vec![poll, ports];
    let record = make_ok(&run);
    let [polled, read] = &record.series[..] else { panic!("one port is read in two ways") };
    assert_eq!((polled.instrument, &polled.at_ns), (InstrumentKind::Snmp, &read.at_ns));
    assert_eq!(polled.values, read.values);
    let last = |name: &str| polled.values[name].last().copied().flatten().expect("it was read");
    let sizes: Vec<u64> =
        netstudy_records::FRAMES_RECEIVED_BY_SIZE.iter().map(|name| last(name)).collect();
    assert_eq!(sizes.iter().sum::<u64>(), last("frames_received"));
    // Full segments at an MTU of 9000 bytes. Acknowledgments go the other way.
    assert!(sizes[6] > 1_000 && sizes[..6].iter().sum::<u64>() < 100, "{sizes:?}");
}
