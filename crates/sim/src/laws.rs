//! Conservation laws, which are checked after every run.

use netstudy_fabric::ethernet;
use netstudy_fabric::topology::Route;
use netstudy_path::Passed;
use netstudy_records as records;
use netstudy_records::Check;
use netstudy_tcp::Segment;

use crate::measure::outcome::Outcome;
use crate::snapshot::SwitchFrames;
use crate::wiring::Wiring;

/// Checks that all requested bytes have arrived.
pub(crate) fn all_bytes_arrived(received: u64, expected: u64) -> Check {
    Check {
        law: "every byte that was asked for arrives once".to_owned(),
        holds: received == expected,
        detail: format!("received {received} B of {expected} B"),
    }
}

/// Checks that all files of the measuring phase are complete, and that their number is as planned.
pub(crate) fn all_files_are_whole(found: usize, planned: usize, bytes: u64, wrong: usize) -> Check {
    Check {
        law: "every transfer is whole".to_owned(),
        holds: found == planned && wrong == 0,
        detail: format!("{found} of {planned} transfers of {bytes} B, {wrong} of another size"),
    }
}

/// Checks that no message was still incomplete at the end of the run.
pub(crate) fn nothing_is_owed(outcome: &Outcome) -> Check {
    Check {
        law: "every byte that was asked for arrives once".to_owned(),
        holds: outcome.owed_bytes == 0,
        detail: format!("{} B are missing at the end", outcome.owed_bytes),
    }
}

/// Checks, for each interface, that payload did not arrive faster than its link can carry it in
/// full-size frames. The `detail` shows the interface that came closest to this limit.
///
/// If the phase begins under load, some data crosses the link before the phase but is counted
/// within the phase, because the interface still held the data or because earlier data was missing.
/// Such data needs no time on the wire within the phase. The same holds for the frame that was on
/// the wire when the phase began. So the check leaves out both.
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
    // Computed per interface, because several connections may share its link.
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

/// Checks that no frame appears or vanishes in the whole network.
pub(crate) fn frames_conserved(outcome: &Outcome) -> Check {
    let accounted = outcome.frames.ended + outcome.frames.under_way;
    Check {
        law: "frames sent are forwarded, dropped or under way".to_owned(),
        holds: outcome.frames.sent == accounted,
        detail: format!("sent {}, accounted for {accounted}", outcome.frames.sent),
    }
}

/// Checks each of several switches, with the links to it: no frame may appear or vanish there. A
/// single switch needs no such check, because [`frames_conserved`] is enough. Frames that still
/// wait at a sender are already counted as sent. Their number is known only for the whole network,
/// so each switch may miss up to this number of frames. It is 0 if the network is at rest.
pub(crate) fn switches_conserve(wiring: &Wiring, outcome: &Outcome) -> Option<Check> {
    let names = wiring.switches.iter().map(|switch| switch.name.as_str());
    let found: Vec<_> = names.zip(&outcome.switches).collect();
    (found.len() > 1).then(|| at_switches(&found))
}

/// Checks the loss, duplicates and delays of links that are not perfect.
pub(crate) fn links_are_as_asked(run: &records::Run, outcome: &Outcome) -> Vec<Check> {
    let ends = run.network.links.iter().flat_map(|link| [&link.a, &link.b]);
    let passed = ends.zip(&outcome.end().ends).filter_map(|(port, end)| {
        let records::Port { node, name, path, .. } = port;
        Some(Passed { node, port: name, asked: path.as_deref()?, counters: end.path? })
    });
    netstudy_path::checks(&passed.collect::<Vec<_>>())
}

fn at_switches(found: &[(&str, &SwitchFrames)]) -> Check {
    let broken = found.iter().filter_map(|&(name, frames)| {
        let &SwitchFrames { came, judged, on_the_way, waiting_max } = frames;
        let accounted = judged + on_the_way;
        let is_whole = accounted <= came && came <= accounted + waiting_max;
        (!is_whole).then(|| {
            format!(
                "{name}: {came} sent to it, {judged} forwarded or dropped, {on_the_way} on its links"
            )
        })
    });
    let broken: Vec<String> = broken.collect();
    let whole = format!("{} switches", found.len());
    Check {
        law: "every frame that is sent to a switch is forwarded, dropped or on its link".to_owned(),
        holds: broken.is_empty(),
        detail: if broken.is_empty() { whole } else { broken.join("; ") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(came: u64, judged: u64, on_the_way: u64, waiting_max: u64) -> SwitchFrames {
        SwitchFrames { came, judged, on_the_way, waiting_max }
    }

    #[test]
    fn the_switch_at_which_a_frame_vanished_is_named() {
        let (left, right) = (frames(10, 9, 1, 0), frames(7, 5, 1, 0));
        let check = at_switches(&[("left", &left), ("right", &right)]);
        assert!(!check.holds);
        assert_eq!(check.detail, "right: 7 sent to it, 5 forwarded or dropped, 1 on its links");
        assert!(at_switches(&[("left", &left)]).holds);
    }

    #[test]
    fn a_frame_may_wait_where_it_was_sent_but_none_may_appear() {
        assert!(at_switches(&[("switch", &frames(7, 5, 1, 1))]).holds);
        assert!(!at_switches(&[("switch", &frames(6, 6, 1, 5))]).holds);
    }
}
