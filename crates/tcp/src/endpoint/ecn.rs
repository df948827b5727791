//! Explicit congestion notification (RFC 3168), with the accurate echo of RFC 8257 if the
//! congestion control needs it.
//!
//! Linux has a separate phase for a reduction after marks (CWR) and spreads the reduction over a
//! round trip. Here the window falls at once. In Linux and here, the window does not grow until
//! data sent after the reduction is acknowledged.

use netstudy_units::Time;

use super::Endpoint;
use crate::congestion::Feedback;
use crate::recovery::algorithm::Phase;
use crate::{CongestionControl, Ecn, Flags, Segment, recovery};

/// The state that one end keeps for explicit congestion notification.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what was agreed on and what is due")]
pub(crate) struct EcnState {
    /// Both ends agreed on ECN. During the handshake: this end is willing to use it.
    pub(crate) on: bool,
    /// Each acknowledgment tells exactly whether the data that it acknowledges was marked (RFC
    /// 8257).
    pub(super) accurate: bool,
    /// Acknowledgments are sent with ECE.
    pub(super) echo: bool,
    /// Data below this offset must first be acknowledged separately, with the opposite of `echo`;
    /// 0: no such acknowledgment is due.
    ack_before: u64,
    /// The next segment of new data carries CWR.
    pub(super) cwr_due: bool,
    /// `snd_nxt` when the window was last reduced for a mark.
    pub(crate) lowered_at: u64,
}

impl EcnState {
    pub(super) fn new(willing: bool, accurate: bool) -> Self {
        Self { on: willing || accurate, accurate, ..Self::default() }
    }

    /// Whether earlier data must be acknowledged separately. Always false without ECN.
    #[inline]
    pub(super) const fn acks_before(&self) -> bool {
        self.ack_before > 0
    }

    /// The flags of the SYN to send; with `answers`, of the SYN-ACK (RFC 3168, 6.1.1).
    pub(super) fn syn_flags(&self, answers: bool) -> Flags {
        match (self.on, answers) {
            (false, _) => Flags::SYN,
            (true, false) => Flags::SYN | Flags::ECE | Flags::CWR,
            (true, true) => Flags::SYN | Flags::ECE,
        }
    }

    /// Handles the flags of the peer's SYN or SYN-ACK.
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

    /// Records whether the arrived data was marked.
    #[cold]
    pub(super) fn take_mark(&mut self, segment: &Segment) {
        let marked = segment.ecn == Ecn::Ce;
        if self.ecn.accurate {
            self.take_mark_accurately(marked);
            return;
        }
        // RFC 3168 (6.1.3): every acknowledgment carries ECE until the sender has answered with
        // CWR.
        self.ecn.echo &= !segment.flags.contains(Flags::CWR);
        self.ecn.echo |= marked;
    }

    /// RFC 8257 (3.2): when the marks begin or end, data that arrived earlier is acknowledged
    /// separately.
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

    /// Builds the acknowledgment of the data that arrived before the marks began or ended.
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

    /// Handles the ECE flag of an acknowledgment. Must be called before the acknowledgment itself
    /// is handled.
    #[cold]
    pub(super) fn take_echo(&mut self, segment: &Segment) {
        if self.snd_una == 0 {
            // A SYN is never marked.
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
        // The window is reduced at most once per window of data (RFC 3168, 6.1.2), and not during
        // the reaction to a loss.
        let answers_loss = matches!(self.phase, Phase::Recovery | Phase::Loss);
        if marked && !answers_loss && segment.ack > self.ecn.lowered_at {
            self.lower_for_mark();
        }
    }

    fn lower_for_mark(&mut self) {
        let flight = recovery::flight_size(self);
        self.window.ssthresh = self.congestion.ssthresh_after_mark(&self.window, flight);
        if self.paced.is_none() {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
        self.window.credit = 0;
        self.ecn.lowered_at = self.snd_nxt;
        self.ecn.cwr_due = true;
    }

    /// Whether the window was reduced for a mark and no data sent since then is acknowledged yet.
    #[inline]
    pub(crate) const fn is_lowered_for_mark(&self) -> bool {
        self.ecn.on && self.snd_una <= self.ecn.lowered_at
    }

    /// Lowers the threshold because of a loss, unless a mark in the same window of data has already
    /// lowered it (RFC 3168, 6.1.2). DCTCP always reacts to a loss (RFC 8257, 3.5).
    pub(crate) fn lower_threshold(&mut self) {
        if !self.is_lowered_for_mark() || self.congestion.needs_ecn() {
            let flight = recovery::flight_size(self);
            self.window.ssthresh = self.congestion.ssthresh_after_loss(&self.window, flight);
        }
        self.ecn.cwr_due = self.ecn.on;
    }
}
