//! The conservation laws of a network: every run over it is held against them.

use netstudy_fabric::ethernet;
use netstudy_fabric::topology::Route;
use netstudy_records::Check;
use netstudy_tcp::Segment;

use crate::measure::Outcome;
use crate::wiring::Wiring;

/// What was asked for is what was received.
pub(crate) fn all_bytes_arrived(received: u64, expected: u64) -> Check {
    Check {
        law: "every byte that was asked for arrives once".to_owned(),
        holds: received == expected,
        detail: format!("received {received} B of {expected} B"),
    }
}

/// What was begun has ended.
pub(crate) fn nothing_is_owed(outcome: &Outcome) -> Check {
    Check {
        law: "every byte that was asked for arrives once".to_owned(),
        holds: outcome.owed_bytes == 0,
        detail: format!("{} B are missing at the end", outcome.owed_bytes),
    }
}

/// Payload cannot come faster than full frames carry it over the link of each interface. Shown is the
/// one that came nearest.
///
/// Where the phase begins under load, what had left its sender by then may have passed the link before and
/// be handed over in the phase: held back by the interface, or behind a gap. It needs no time on the wire
/// within the phase, nor does the frame that was on it.
pub(crate) fn below_line_rate(wiring: &Wiring, outcome: &Outcome) -> Check {
    let topology = &wiring.topology;
    let mut received = vec![0; topology.interfaces().len()];
    let mut under_way = received.clone();
    let connections = outcome.end().connections.iter().zip(&outcome.base().connections);
    for (route, (end, base)) in wiring.routes.iter().zip(connections) {
        let &Route::Wire { from, to, .. } = route else { continue };
        for (side, interface) in [from, to].into_iter().enumerate() {
            received[interface] += end.ends[side].bytes_received - base.ends[side].bytes_received;
            under_way[interface] += base.under_way_bytes(side);
        }
    }
    let took = outcome.took();
    let least = |interface: usize| {
        let at = topology.interfaces()[interface].at;
        let mtu = topology.cables()[at.cable].mtu_bytes;
        let frame = topology.link(at.far()).serialization(ethernet::frame_bytes(mtu));
        let payload = u64::from(mtu - Segment::BASE_HEADER_BYTES);
        let before = if outcome.begins_loaded { under_way[interface] + payload } else { 0 };
        let bytes: u64 = received[interface];
        u128::from(bytes.saturating_sub(before)) * u128::from(frame.as_ps()) / u128::from(payload)
    };
    let nearest = (0..received.len()).map(|interface| (least(interface), interface)).max();
    let (least_ps, bytes, name) = nearest.map_or((0, 0, ""), |(least_ps, interface)| {
        let host = topology.interfaces()[interface].host;
        (least_ps, received[interface], topology.nodes()[host].name.as_str())
    });
    Check {
        law: "goodput stays below what each host's link can carry".to_owned(),
        holds: u128::from(took.as_ps()) >= least_ps,
        detail: format!("{name}: {bytes} B in {took}, at least {} ns on the wire", least_ps / 1000),
    }
}

/// No frame appears, and none vanishes.
pub(crate) fn frames_conserved(outcome: &Outcome) -> Check {
    let accounted = outcome.frames.ended + outcome.frames.under_way;
    Check {
        law: "frames sent are forwarded, dropped or under way".to_owned(),
        holds: outcome.frames.sent == accounted,
        detail: format!("sent {}, accounted for {accounted}", outcome.frames.sent),
    }
}
