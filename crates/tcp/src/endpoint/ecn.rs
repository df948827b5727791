//! Explicit congestion notification (RFC 3168), with the accurate echo of RFC 8257 where the congestion
//! control needs it.
//!
//! Linux holds a reduction for marks in a phase of its own and spreads it over a round trip; here the
//! window falls at once, and likewise does not grow until more is acknowledged than was sent then.

use netstudy_units::Time;

use super::Endpoint;
use crate::congestion::Feedback;
use crate::recovery::algorithm::Phase;
use crate::{CongestionControl, Ecn, Flags, Segment, recovery};

/// One end's state of explicit congestion notification.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what was agreed on and what is due")]
pub(crate) struct EcnState {
    /// Both ends agreed on it; before that, this end is willing.
    pub(crate) on: bool,
    /// Each acknowledgment tells whether the acknowledged data was marked.
    pub(super) accurate: bool,
    /// Acknowledgments carry ECE.
    pub(super) echo: bool,
    /// Data below this is acknowledged first, with the opposite of `echo`; 0: none.
    ack_before: u64,
    /// The next new data carries CWR.
    pub(super) cwr_due: bool,
    /// The window was lowered for a mark when all below was sent.
    pub(crate) lowered_at: u64,
}

impl EcnState {
    pub(super) fn new(willing: bool, accurate: bool) -> Self {
        Self { on: willing || accurate, accurate, ..Self::default() }
    }

    /// Never without agreement on it.
    #[inline]
    pub(super) const fn acks_before(&self) -> bool {
        self.ack_before > 0
    }

    /// The control bits of a SYN, or of the answer to one (RFC 3168, 6.1.1).
    pub(super) fn syn_flags(&self, answers: bool) -> Flags {
        match (self.on, answers) {
            (false, _) => Flags::SYN,
            (true, false) => Flags::SYN | Flags::ECE | Flags::CWR,
            (true, true) => Flags::SYN | Flags::ECE,
        }
    }

    /// Takes the peer's SYN, or its answer to one.
    pub(super) const fn take_syn(&mut self, flags: Flags) {
        let willing = if flags.contains(Flags::ACK) {
            flags.contains(Flags::ECE) && !flags.contains(Flags::CWR)
        } else {
            flags.contains(Flags::ECE) && flags.contains(Flags::CWR)
        };
        self.on &= willing;
        self.accurate &= willing;
    }
}

impl Endpoint {
    // ---- receiving data

    /// Takes note of whether data that arrived was marked.
    #[cold]
    pub(super) fn take_mark(&mut self, segment: &Segment) {
        let marked = segment.ecn == Ecn::Ce;
        if self.ecn.accurate {
            self.take_mark_accurately(marked);
            return;
        }
        // RFC 3168 (6.1.3): each acknowledgment says so until the sender has answered.
        self.ecn.echo &= !segment.flags.contains(Flags::CWR);
        self.ecn.echo |= marked;
    }

    /// RFC 8257 (3.2): when marks begin or end, earlier data is acknowledged separately.
    fn take_mark_accurately(&mut self, marked: bool) {
        if marked == self.ecn.echo {
            return;
        }
        if self.ack_at != Time::NEVER {
            self.ecn.ack_before = self.received.next();
        }
        self.ecn.echo = marked;
        self.ack_now = true;
    }

    /// The acknowledgment of data from before marks began or ended.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_ack_before(&mut self, now: Time) -> Segment {
        self.counters.acks_sent += 1;
        let mut segment =
            self.stamp_ack::<false>(now, Segment { seq: self.snd_nxt, ..Segment::default() });
        let missing = segment.ack - core::mem::take(&mut self.ecn.ack_before);
        segment.ack -= missing;
        segment.window = segment.window.saturating_add((missing >> self.rcv_wnd_scale) as u16);
        segment.flags = Flags::ACK;
        if !self.ecn.echo {
            segment.flags = segment.flags | Flags::ECE;
        }
        self.ack_now = true;
        segment
    }

    // ---- sending data

    /// Makes new data ECN-capable (RFC 3168, 6.1.2). Retransmissions are not (6.1.5).
    #[cold]
    pub(super) fn make_capable(&mut self, segment: &mut Segment) {
        segment.ecn = Ecn::Ect0;
        if core::mem::take(&mut self.ecn.cwr_due) {
            segment.flags = segment.flags | Flags::CWR;
        }
    }

    /// Takes the congestion marks of an acknowledgment, before the acknowledgment itself.
    #[cold]
    pub(super) fn take_echo(&mut self, segment: &Segment) {
        if self.snd_una == 0 {
            // The SYN is not subject to marks.
            return;
        }
        let marked = segment.flags.contains(Flags::ECE);
        self.counters.ece_acks_received += u64::from(marked);
        self.congestion.on_feedback(&Feedback {
            acked_bytes: segment.ack - self.snd_una,
            marked,
            snd_una: segment.ack,
            snd_nxt: self.snd_nxt,
        });
        // Once a window of data (RFC 3168, 6.1.2), and not while a loss is answered.
        let answers_loss = matches!(self.phase, Phase::Recovery | Phase::Loss);
        if marked && !answers_loss && segment.ack > self.ecn.lowered_at {
            self.lower_for_mark();
        }
    }

    fn lower_for_mark(&mut self) {
        let flight = recovery::flight_size(self);
        self.window.ssthresh = self.congestion.ssthresh_after_mark(&self.window, flight);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        self.window.credit = 0;
        self.ecn.lowered_at = self.snd_nxt;
        self.ecn.cwr_due = true;
    }

    /// The window was reduced for a mark, and data sent since is not yet acknowledged.
    #[inline]
    pub(crate) const fn is_lowered_for_mark(&self) -> bool {
        self.ecn.on && self.snd_una <= self.ecn.lowered_at
    }

    /// Lowers the threshold because of a loss, unless it was lowered for a mark in the same window of
    /// data (RFC 3168, 6.1.2). To DCTCP a loss says more than a mark (RFC 8257, 3.5).
    pub(crate) fn lower_threshold(&mut self) {
        if !self.is_lowered_for_mark() || self.congestion.needs_ecn() {
            let flight = recovery::flight_size(self);
            self.window.ssthresh = self.congestion.ssthresh_after_loss(&self.window, flight);
        }
        self.ecn.cwr_due = self.ecn.on;
    }
}
