//! The next segment to send.

use alloc::vec::Vec;

use netstudy_units::Time;

use super::offload::Gate;
use super::{Endpoint, State};
use crate::recovery::{self, algorithm::Phase};
use crate::{CongestionControl, Flags, Segment, SentSegment};

/// Takes the segments that an endpoint sends.
pub trait Outlet {
    /// Takes a segment that is to be sent now. Returns the time until which the segment waits in
    /// the host, like in [`Endpoint::handed_over`]; none if it does not wait, because it was
    /// dropped or has left already. Implementations should be inlined; otherwise each segment is
    /// copied once more.
    fn send(&mut self, segment: Segment) -> Option<Time>;

    /// True if the interface's queue has room for another segment now. Only connections with a small
    /// queue call this: while there is no room, they hold data back; others lose it.
    fn has_room(&mut self) -> bool {
        true
    }
}

/// Offset of the end of data that an application writes endlessly: farther than any run comes.
pub(super) const ENDLESS: u64 = 1 << 62;

impl Outlet for Vec<Segment> {
    fn send(&mut self, segment: Segment) -> Option<Time> {
        self.push(segment);
        None
    }
}

impl Endpoint {
    /// The application writes `bytes` at `now`.
    pub fn write(&mut self, now: Time, bytes: u64) {
        if self.paced.is_some() {
            self.judge_supply(now);
        }
        if self.write_end == self.snd_nxt {
            self.begin_writing();
        }
        if self.sent.is_empty() && self.write_end == self.snd_nxt {
            self.congestion.on_restart(now, self.last_sent_at);
            if self.config.restart_after_idle && self.paced.is_none() {
                self.shrink_after_idle(now);
            }
        }
        self.write_end += bytes;
        if self.is_open() {
            self.keep_probing(now);
        }
    }

    /// The application writes at `now`, and goes on as fast as the send buffer has room: until
    /// [`Self::finish_stream`].
    pub fn write_endlessly(&mut self, now: Time) {
        self.write(now, ENDLESS - self.write_end);
    }

    /// The application ends its endless writing at `now` by a message of `bytes`, which follows the
    /// data that has been sent. Returns the number of all bytes that it has written.
    pub fn finish_stream(&mut self, now: Time, bytes: u64) -> u64 {
        self.write_end = self.snd_nxt.max(self.begun_packet_end());
        self.write(now, bytes);
        self.bytes_written()
    }

    /// Whether only an acknowledgment can be due, because the peer has acknowledged all written
    /// data. If so, a single [`Self::poll_ack`] replaces the calls of [`Self::poll_transmit`].
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn has_only_acks(&self) -> bool {
        self.snd_una == self.write_end && self.has_data_or_acks()
    }

    /// Whether only data and then acknowledgments can be due.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_data_or_acks(&self) -> bool {
        self.takes_fast_path()
            || (self.state == State::Established
                && !self.fin_queued
                && !self.ecn.acks_before()
                && !self.recovery.probe_due)
    }

    /// Hands the new data that may be sent at `now` to `outlet`, if nothing else is due before it.
    /// Returns true if nothing more is due afterwards; if false, the caller must go on with
    /// [`Self::poll_transmit`]. Connections with a small queue use [`Self::send_held_news`]
    /// instead.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn send_news(&mut self, now: Time, outlet: &mut impl Outlet) -> bool {
        if self.sent.may_retransmit() || !self.has_free_data_or_acks() {
            return false;
        }
        if self.takes_fast_path() && self.fill_window(now, outlet) {
            return !self.ack_now;
        }
        if self.packet.is_in_use {
            self.send_packets(now, outlet);
        } else {
            while let Some(segment) = self.poll_new_data(now) {
                outlet.send(segment);
            }
        }
        self.is_news_all()
    }

    /// Sets PSH on the segment that ends the written data.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn mark_push(&self, segment: &mut Segment) {
        if self.config.ack_pushed && segment.seq + u64::from(segment.len) == self.write_end {
            segment.flags = segment.flags | Flags::PSH;
        }
    }

    /// Like [`Self::send_news`], for a connection with a small queue: it stops where the host's own
    /// queue is full. It is not inlined into the common path, because that would slow down other
    /// connections.
    pub fn send_held_news(&mut self, now: Time, outlet: &mut impl Outlet) -> bool {
        if self.sent.may_retransmit() || !self.has_data_or_acks() {
            return false;
        }
        loop {
            if !outlet.has_room() {
                return false;
            }
            let Some(segment) = self.poll_new_data(now) else { break };
            let len = segment.len;
            if let Some(left_at) = outlet.send(segment) {
                self.handed_over(now, len, left_at);
            }
        }
        self.is_news_all()
    }

    /// Whether nothing is due after new data.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_news_all(&self) -> bool {
        !self.ack_now && (self.phase != Phase::Recovery || self.is_window_full())
    }

    /// Like [`Self::has_data_or_acks`], but also requires that only the windows can hold data back.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_free_data_or_acks(&self) -> bool {
        self.takes_fast_path()
            || (self.state == State::Established
                && self.sends_freely
                && !self.ecn.acks_before()
                && !self.recovery.probe_due)
    }

    /// Transmission on the fast path: sends as many full segments as fit into the windows; they
    /// differ only in their sequence numbers. Returns whether the congestion window is full
    /// afterwards.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fill_window(&mut self, now: Time, outlet: &mut impl Outlet) -> bool {
        // The room is the window minus the segments in flight. Each duplicate acknowledgment shows
        // that one more segment has left the network.
        let mut room = (self.window.cwnd + self.dup_acks).saturating_sub(self.sent.in_flight());
        let mss = u64::from(self.mss);
        let end = self.write_end.min(self.send_edge());
        if room == 0 || self.snd_nxt + mss > end {
            return room == 0;
        }
        self.start_retransmission(now);
        let mut segment = self.stamp_data::<true>(now, self.snd_nxt, self.mss);
        loop {
            self.sent.push(SentSegment::fresh(segment.seq, segment.len, now));
            self.counters.count_sent(segment.len);
            outlet.send(segment);
            segment.seq += mss;
            room -= 1;
            if room == 0 || segment.seq + mss > end {
                self.snd_nxt = segment.seq;
                return room == 0;
            }
        }
    }

    /// The next segment to send at `now`, if any.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if self.ecn.on && self.ecn.acks_before() {
            return Some(self.poll_ack_before(now));
        }
        // Lost segments before new data (`NextSeg` (1) and (2) of RFC 6675); segments that are only
        // possibly lost come last.
        if self.sent.may_retransmit()
            && let Some(segment) = self.poll_retransmission(now)
        {
            return Some(segment);
        }
        if self.may_send_data()
            && let Some(segment) = self.poll_new_data(now)
        {
            return Some(segment);
        }
        if self.phase == Phase::Recovery
            && let Some(segment) = self.poll_in_case(now)
        {
            return Some(segment);
        }
        if self.recovery.probe_due
            && let Some(segment) = self.poll_probe(now)
        {
            return Some(segment);
        }
        if self.state != State::Established
            && let Some(segment) = self.poll_control(now)
        {
            return Some(segment);
        }
        if self.fin_queued
            && let Some(segment) = self.poll_fin(now)
        {
            return Some(segment);
        }
        self.poll_ack(now)
    }

    #[cold]
    #[inline(never)]
    fn poll_retransmission(&mut self, now: Time) -> Option<Segment> {
        let waits = self.is_window_full() && !self.recovery.retransmits_at_once;
        if waits || self.recovery.holds_retransmissions || self.holds_back_again(now) {
            return None;
        }
        let again = recovery::next_lost(self, now)?;
        self.recovery.retransmits_at_once = false;
        Some(self.send_again(now, &again))
    }

    /// In fast recovery, when no lost segment is left to retransmit and no new data can be sent:
    /// retransmits a segment that is possibly lost.
    #[cold]
    #[inline(never)]
    fn poll_in_case(&mut self, now: Time) -> Option<Segment> {
        if !self.sack || self.is_window_full() || self.holds_back_again(now) {
            return None;
        }
        let again = recovery::next_in_case(self, now)?;
        Some(self.send_again(now, &again))
    }

    /// Whether pacing or the small queue hold a retransmission back.
    fn holds_back_again(&mut self, now: Time) -> bool {
        self.is_paced_until_later(now) || self.holds_again(now)
    }

    fn send_again(&mut self, now: Time, again: &SentSegment) -> Segment {
        self.counters.segments_retransmitted += 1;
        recovery::on_retransmitted(self, now, again);
        self.build(now, again)
    }

    /// Retransmits the newest segment as a probe.
    #[cold]
    fn poll_probe(&mut self, now: Time) -> Option<Segment> {
        self.recovery.probe_due = false;
        let again = self.sent.repeat_newest(now)?;
        self.counters.segments_retransmitted += 1;
        if self.paced.is_some() {
            self.stamp_again(now, again.start, again.len);
        }
        Some(self.build(now, &again))
    }

    /// The next segment of new data, if one may be sent at `now`. Must be called only when nothing
    /// else is due before this segment.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn poll_new_data(&mut self, now: Time) -> Option<Segment> {
        if self.snd_nxt >= self.write_end {
            return None;
        }
        let fresh = if self.packet.is_in_use {
            self.next_in_packets(now)?
        } else {
            if self.is_window_full() && !self.recovery.new_data_at_once {
                return None;
            }
            let len = self.new_data_len()?;
            if self.gate != Gate::Open && !self.may_pass_gate(now, len) {
                return None;
            }
            let fresh = SentSegment::fresh(self.snd_nxt, len, now);
            self.send_fresh(&fresh);
            fresh
        };
        let mut segment = self.build_new_data(now, &fresh);
        if self.ends_pushed_burst() {
            segment.flags = segment.flags | Flags::PSH;
        }
        Some(segment)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn build_new_data(&mut self, now: Time, fresh: &SentSegment) -> Segment {
        let continues = self.config.marks_packets && self.continues_packet(now, fresh.start);
        let mut segment = self.build_data(now, fresh);
        if self.ecn.on {
            self.make_capable(&mut segment);
        }
        if continues {
            segment.flags = segment.flags | Flags::CONTINUES;
        }
        segment
    }

    /// Whether the segments in flight fill the congestion window.
    #[inline]
    pub(crate) fn is_window_full(&self) -> bool {
        self.in_flight() >= self.window.cwnd
    }

    /// Whether there is new data that fits into the peer's window.
    pub(crate) fn has_more_to_send(&self) -> bool {
        self.snd_nxt < self.write_end && self.may_send_data() && self.new_data_len().is_some()
    }

    /// Whether [`Self::poll_transmit`] may have a segment now. Pacing and the small queue are not
    /// asked, so it may have none.
    #[must_use]
    pub fn may_have_due(&self) -> bool {
        self.ack_now
            || self.recovery.probe_due
            || self.fin_queued
            || !matches!(self.state, State::Established | State::Closed | State::Listen)
            || self.sent.may_retransmit()
            || (!self.is_window_full() && self.has_more_to_send())
    }

    /// Takes back an acknowledgment that the host's own full queue did not take: it is due again.
    pub const fn take_back_ack(&mut self) {
        self.ack_now = true;
    }

    /// Notes that the host's own full queue holds data back, not the wait for a larger burst.
    pub const fn held_by_host(&mut self) {
        self.defers = false;
    }

    const fn may_send_data(&self) -> bool {
        // If a FIN is queued, the data written before it is still sent.
        self.snd_nxt > 0 && matches!(self.state, State::Established | State::CloseWait)
    }

    /// Payload bytes of the next new segment: a full segment, or all data that is left. While data
    /// is outstanding, a rest of the window that is too small for this length is not filled with a
    /// shorter segment (silly window avoidance of the sender, RFC 9293, 3.8.6.2.1).
    #[inline]
    pub(crate) fn new_data_len(&self) -> Option<u32> {
        let wanted = (self.write_end - self.snd_nxt).min(u64::from(self.mss));
        let room = self.send_edge().saturating_sub(self.snd_nxt);
        if room >= wanted {
            return (!self.is_too_short(wanted)).then_some(wanted as u32);
        }
        (self.sent.is_empty() && room > 0).then_some(room as u32)
    }

    /// Offset up to which data may be sent: the lower of the limits set by the peer's window and by
    /// the send buffer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn send_edge(&self) -> u64 {
        self.snd_una + self.snd_wnd.min(u64::from(self.config.send_buffer_bytes))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send_fresh(&mut self, fresh: &SentSegment) {
        self.note_short(fresh);
        self.sent.push(*fresh);
        self.snd_nxt = fresh.end();
        recovery::on_sent(self, fresh.sent_at);
    }

    /// RFC 6298 (5.1): starts the timer at `now` unless it is running.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn start_retransmission(&mut self, now: Time) {
        if self.rto_at == Time::NEVER {
            self.rto_at = now + self.rtt.rto();
        }
    }

    /// The SYN or the SYN-ACK, if it must be sent for the first time.
    #[cold]
    #[inline(never)]
    fn poll_control(&mut self, now: Time) -> Option<Segment> {
        if self.snd_nxt > 0 || !matches!(self.state, State::SynSent | State::SynReceived) {
            return None;
        }
        let syn = SentSegment::fresh(0, 1, now);
        self.send_fresh(&syn);
        Some(self.build(now, &syn))
    }

    #[cold]
    #[inline(never)]
    fn poll_fin(&mut self, now: Time) -> Option<Segment> {
        if self.snd_nxt != self.write_end || !self.is_open() {
            return None;
        }
        let fin = SentSegment::fresh(self.write_end, 1, now);
        self.send_fresh(&fin);
        self.fin_sent();
        Some(self.build(now, &fin))
    }

    /// The acknowledgment that is due, if any.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn poll_ack(&mut self, now: Time) -> Option<Segment> {
        if self.takes_fast_path() {
            return self.ack_now.then(|| self.build_ack::<true>(now));
        }
        let may_ack = !matches!(self.state, State::Closed | State::Listen | State::SynSent);
        (self.ack_now && may_ack).then(|| self.build_ack::<false>(now))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn build_ack<const FAST: bool>(&mut self, now: Time) -> Segment {
        self.counters.acks_sent += 1;
        let probes = !FAST && core::mem::take(&mut self.probe_window);
        let seq = self.snd_nxt - u64::from(probes);
        self.stamp_ack::<FAST>(now, Segment { seq, ..Segment::default() })
    }

    /// Builds the segment that `sent` describes.
    fn build(&mut self, now: Time, sent: &SentSegment) -> Segment {
        if sent.start > 0 && sent.start < self.write_end {
            return self.build_data(now, sent);
        }
        self.last_sent_at = now;
        self.counters.count_sent(0);
        let mut segment = Segment { seq: sent.start, flags: Flags::FIN, ..Segment::default() };
        if sent.start == 0 {
            segment.flags = self.ecn.syn_flags(self.state == State::SynReceived);
            segment.syn = self.syn_options();
        }
        self.stamp_ack::<false>(now, segment)
    }

    /// Builds the data segment that `sent` describes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn build_data(&mut self, now: Time, sent: &SentSegment) -> Segment {
        self.counters.count_sent(sent.len);
        self.stamp_data::<false>(now, sent.start, sent.len)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stamp_data<const FAST: bool>(&mut self, now: Time, seq: u64, len: u32) -> Segment {
        self.last_sent_at = now;
        if !FAST {
            self.quick_acks.send_data(now, self.config.delayed_ack);
        }
        // In a full segment the SACK option would exceed the MTU, so it goes into a separate
        // acknowledgment.
        if self.ack_now {
            self.ack_now = self.sack && self.received.has_islands();
        }
        let mut segment = self.stamp::<FAST>(now, Segment { seq, len, ..Segment::default() });
        if !FAST {
            self.mark_push(&mut segment);
        }
        segment
    }

    /// Adds the fields of a segment without payload: those that every segment has, and SACK.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn stamp_ack<const FAST: bool>(
        &mut self,
        now: Time,
        mut segment: Segment,
    ) -> Segment {
        if self.sack {
            segment.sack = self.received.sack_blocks();
            if !FAST {
                segment.sack = segment.sack.behind(self.copied.take());
            }
        }
        self.ack_now = false;
        self.stamp::<FAST>(now, segment)
    }

    /// Adds the fields that every segment has: acknowledgment, window, timestamps.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stamp<const FAST: bool>(&mut self, now: Time, mut segment: Segment) -> Segment {
        segment.timestamps = self.timestamps;
        segment.ts_value = Self::timestamp(now);
        segment.window = if FAST {
            self.advertise_again()
        } else {
            self.advertise(segment.flags.contains(Flags::SYN))
        };
        if FAST || self.state != State::SynSent {
            segment.flags = segment.flags | Flags::ACK;
            segment.ack = self.received.next();
            segment.ts_echo = self.ts_recent;
            if !FAST && self.ecn.on && self.ecn.echo {
                segment.flags = segment.flags | Flags::ECE;
            }
            self.last_ack_sent = segment.ack;
            if !FAST {
                self.quick_acks.send_ack();
            }
            self.ack_at = Time::NEVER;
        }
        segment
    }

    /// The window field; its right edge never moves left (RFC 9293, 3.8.6).
    #[inline]
    pub(super) fn advertise(&mut self, is_syn: bool) -> u16 {
        let next = self.received.next();
        let buffer = u64::from(self.receive_room_bytes);
        let room = buffer.saturating_sub(self.received.island_bytes());
        self.rcv_edge = self.rcv_edge.max(next + room);
        let scale = if is_syn { 0 } else { self.rcv_wnd_scale };
        self.rcv_wnd = ((self.rcv_edge - next) >> scale).min(u64::from(u16::MAX)) as u16;
        self.rcv_wnd
    }

    /// Like [`Self::advertise`] for the fast path: the field is computed anew only when the
    /// acknowledgment number has advanced, because out-of-order data does not move the right edge.
    #[inline]
    fn advertise_again(&mut self) -> u16 {
        if self.received.next() == self.last_ack_sent {
            return self.rcv_wnd;
        }
        self.advertise(false)
    }

    /// The retransmission timer expired (RFC 6298, 5.4 to 5.7), or the peer's window is still zero.
    /// In the second case a segment below the window, which the peer must answer, probes the
    /// window. The probe carries no new octet, like in Linux and unlike in RFC 9293 (3.8.6.1), so
    /// nothing has to be retransmitted when the window opens.
    #[cold]
    pub(crate) fn retransmission_timeout(&mut self, now: Time) {
        let armed_at = self.timer_armed_at();
        self.rtt.back_off();
        self.rto_at = now + self.rtt.rto();
        if self.sent.is_empty() {
            self.probe_window = true;
            self.fast_path = false;
            self.ack_now = true;
            return;
        }
        self.counters.timeouts += 1;
        self.waited_for_timer(now, armed_at);
        recovery::enter_loss(self, now);
    }
}
