//! The conservation laws that every run is held against.

use netstudy_fabric::ethernet;
use netstudy_records::Check;
use netstudy_tcp::Segment;
use netstudy_units::Duration;

use crate::measure::Outcome;
use crate::wiring::HostKind;

/// What was asked for is what was received.
pub(crate) fn all_bytes_arrived(received: u64, expected: u64) -> Check {
    Check {
        law: "every byte that was asked for arrives once".to_owned(),
        holds: received == expected,
        detail: format!("received {received} B of {expected} B"),
    }
}

/// Payload cannot come faster than full frames carry it.
pub(crate) fn below_line_rate(client: &HostKind, bytes: u64, took: Duration) -> Check {
    let mtu = client.tcp.mtu_bytes;
    let payload = mtu - Segment::BASE_HEADER_BYTES;
    let frame = client.link.serialization(ethernet::frame_bytes(mtu));
    let least = u128::from(bytes) * u128::from(frame.as_ps()) / u128::from(payload);
    Check {
        law: "goodput stays below what the client's link can carry".to_owned(),
        holds: u128::from(took.as_ps()) >= least,
        detail: format!("{bytes} B in {took}, at least {} ns on the wire", least / 1000),
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
