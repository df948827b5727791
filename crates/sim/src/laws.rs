//! The conservation laws of a network: every run over it is held against them.

use netstudy_fabric::ethernet;
use netstudy_records::Check;
use netstudy_tcp::Segment;

use crate::measure::Outcome;
use crate::wiring::{Star, Wiring};

/// What was asked for is what was received.
pub(crate) fn all_bytes_arrived(received: u64, expected: u64) -> Check {
    Check {
        law: "every byte that was asked for arrives once".to_owned(),
        holds: received == expected,
        detail: format!("received {received} B of {expected} B"),
    }
}

/// Payload cannot come faster than full frames carry it over the link of each host. Shown is the host
/// that came nearest.
pub(crate) fn below_line_rate(wiring: &Wiring, star: &Star<'_>, outcome: &Outcome) -> Check {
    let took = outcome.measure_to.since(outcome.measure_from);
    let least = |host: usize| {
        let bytes = outcome.received(host);
        let line = &star.lines[host];
        let mtu = line.mtu_bytes;
        let frame = line.down.serialization(ethernet::frame_bytes(mtu));
        let payload = u128::from(mtu - Segment::BASE_HEADER_BYTES);
        (u128::from(bytes) * u128::from(frame.as_ps()) / payload, bytes)
    };
    let nearest = (0..star.lines.len()).map(|host| (least(host), host)).max();
    let ((least_ps, bytes), host) = nearest.unwrap_or_default();
    let name = wiring.name_of(host);
    Check {
        law: "goodput stays below what each host's link can carry".to_owned(),
        holds: u128::from(took.as_ps()) >= least_ps,
        detail: format!("{name}: {bytes} B in {took}, at least {} ns on the wire", least_ps / 1000),
    }
}

/// No frame appears, and none vanishes.
pub(crate) fn frames_conserved(outcome: &Outcome) -> Check {
    let ports = outcome.end.nodes.iter().map(|node| &node.port);
    let judged: u64 = ports.map(|port| port.frames_forwarded + port.frames_dropped).sum();
    let accounted = judged + outcome.rest.frames_under_way;
    Check {
        law: "frames sent are forwarded, dropped or under way".to_owned(),
        holds: outcome.rest.frames_sent == accounted,
        detail: format!("sent {}, accounted for {accounted}", outcome.rest.frames_sent),
    }
}
