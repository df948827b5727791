//! Laws of every segment, in every test: checked only from the segments.

use netstudy_tcp::{Endpoint, Flags, Segment, State};

use netstudy_units::Time;

use super::{Pick, Side};

/// Everything that one end must have seen, derived only from the segments.
#[derive(Default)]
struct Witness {
    mtu_bytes: u32,
    /// Which places of the sequence space have arrived here.
    arrived: Vec<bool>,
    /// The first place that has not.
    next: u64,
    /// The place of the peer's FIN.
    fin: Option<u64>,
    /// Right edge of the window that the peer granted.
    granted: u64,
    /// Window scale of this end's SYN.
    scale: u8,
    /// Tail loss probes that this end had sent.
    probes: u64,
}

impl Witness {
    /// Payload bytes that have arrived in order: all but SYN and FIN.
    fn payload(&self) -> u64 {
        let fin = self.fin.is_some_and(|fin| fin < self.next);
        self.next.saturating_sub(1) - u64::from(fin)
    }

    fn take(&mut self, segment: &Segment) {
        let start = segment.seq as usize;
        let end = start + segment.sequence_len() as usize;
        if self.arrived.len() < end {
            self.arrived.resize(end, false);
        }
        self.arrived[start..end].fill(true);
        let ahead = self.arrived[self.next as usize..].iter().take_while(|&&here| here).count();
        self.next += ahead as u64;
        if segment.flags.contains(Flags::FIN) {
            self.fin = Some(segment.seq + u64::from(segment.len));
        }
    }
}

pub(crate) struct Laws {
    witnesses: [Witness; 2],
}

impl Laws {
    pub(crate) fn new(mtu_bytes: [u32; 2]) -> Self {
        let [client, server] = mtu_bytes;
        let witness = || Witness { mtu_bytes: client.min(server), ..Witness::default() };
        Self { witnesses: [witness(), witness()] }
    }

    /// `segment` was sent, and its sender is now as `end`.
    pub(crate) fn sent(&mut self, pick: Pick, segment: &Segment, end: &Endpoint) {
        let side = pick.side;
        let witness = &mut self.witnesses[side as usize];
        let past = segment.seq + u64::from(segment.len);
        assert!(segment.ip_bytes() <= witness.mtu_bytes, "{side:?} exceeds its MTU: {segment:?}");
        assert!(segment.len == 0 || past <= witness.granted, "beyond the window: {segment:?}");
        if segment.flags.contains(Flags::SYN) {
            witness.scale = segment.syn.window_scale.unwrap_or(0);
        }
        if segment.flags.contains(Flags::ACK) {
            assert_eq!(segment.ack, witness.next, "{side:?} acknowledges what is in order");
            check_sack(side, segment, witness);
        }
        if segment.len > 0 && pick.is_first() {
            // RFC 8985 (7.3): a probe may exceed the window.
            let probes = core::mem::replace(&mut witness.probes, end.counters().loss_probes);
            let is_probe = end.counters().loss_probes > probes;
            assert!(
                is_probe || end.in_flight() <= end.window().cwnd,
                "beyond the congestion window"
            );
        }
        if segment.sequence_len() > 0 {
            assert_ne!(end.next_timeout(), Time::NEVER, "no timer for what is on the way");
        }
        // A packet of several segments counts from its first one on.
        let packet = u64::from(end.config().offload_bytes / end.mss_bytes());
        let most = end.counters().segments_sent + packet;
        assert!(u64::from(end.in_flight()) <= most, "pipe underflow");
    }

    /// `segment` arrived on `side`, which is now as `end`.
    pub(crate) fn arrived(&mut self, side: Side, segment: &Segment, end: &Endpoint) {
        if end.state() == State::Closed {
            return;
        }
        let scale = self.witnesses[side.other() as usize].scale;
        let witness = &mut self.witnesses[side as usize];
        witness.take(segment);
        if segment.flags.contains(Flags::ACK) {
            let shift = if segment.flags.contains(Flags::SYN) { 0 } else { scale };
            let edge = segment.ack + (u64::from(segment.window) << shift);
            witness.granted = witness.granted.max(edge);
        }
        assert_eq!(end.bytes_received(), witness.payload(), "{side:?}: in order, once");
    }
}

fn check_sack(side: Side, segment: &Segment, witness: &Witness) {
    for (place, block) in segment.sack.iter(segment.ack).enumerate() {
        // The first one may say what has come twice (RFC 2883).
        let may_lie_below = place == 0 && block.end <= segment.ack;
        assert!(may_lie_below || segment.ack < block.start, "{side:?}: {block:?}");
        assert!(block.start < block.end, "{side:?}: {block:?}");
        let held = &witness.arrived[block.start as usize..block.end as usize];
        assert!(held.iter().all(|&here| here), "{side:?} reports what has not arrived: {block:?}");
    }
}
