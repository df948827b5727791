//! Opening and closing (RFC 9293, 3.5 and 3.6).

use netstudy_units::{Duration, Time};

use super::{Config, Endpoint, State};
use crate::{CongestionControl, Flags, Segment, SentSegments, SynOptions, Window, recovery};

/// Twice the maximum segment lifetime. Linux uses 60 s (`TCP_TIMEWAIT_LEN`).
const TIME_WAIT: Duration = Duration::from_secs(60);

impl Endpoint {
    /// Creates an endpoint that opens the connection: its SYN is ready to be sent.
    /// [`Config::check`] must accept `config`, here and in [`Self::listen`].
    #[must_use]
    pub fn connect(config: Config) -> Self {
        let mut endpoint = Self::new(config, State::SynSent);
        endpoint.rcv_wnd_scale = endpoint.own_window_scale();
        endpoint
    }

    /// Creates an endpoint that waits for a connection.
    #[must_use]
    pub fn listen(config: Config) -> Self {
        Self::new(config, State::Listen)
    }

    /// Whether data can be sent.
    #[must_use]
    #[inline]
    pub const fn is_open(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// Sends a FIN after all written data; no write may follow.
    pub fn close(&mut self) {
        match self.state {
            State::Listen | State::SynSent => self.reset(),
            _ => {
                self.fin_queued = true;
                self.sends_freely = false;
                self.fast_path = false;
            }
        }
    }

    /// Handles a segment that arrived at `now`. [`Self::poll_transmit`] must follow.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        if !self.handle_predicted(now, segment) {
            self.handle_any(now, segment);
        }
    }

    /// Handles `segment` if it is the next data in order, and returns whether it was. If this
    /// returns true, only an acknowledgment can be due afterwards, now or later.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn handle_predicted(&mut self, now: Time, segment: &Segment) -> bool {
        if self.takes_fast_path() {
            self.handle_if_next::<true>(now, segment)
        } else {
            self.handle_if_next::<false>(now, segment)
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_if_next<const FAST: bool>(&mut self, now: Time, segment: &Segment) -> bool {
        let is_next = self.is_next_data::<FAST>(segment);
        if is_next {
            self.handle_next_data::<FAST>(now, segment);
        }
        is_next
    }

    /// Handles a segment without header prediction.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn handle_any(&mut self, now: Time, segment: &Segment) {
        let usual = segment.flags.of_state() == Flags::ACK && segment.ack <= self.snd_nxt;
        // The calls that are not inlined get a copy of the segment, so the segment itself can stay
        // in registers.
        if usual && self.takes_fast_path() {
            self.handle_usual::<true>(now, segment);
        } else if usual && self.state == State::Established {
            self.handle_usual::<false>(now, segment);
        } else {
            self.handle_unusual(now, &{ *segment });
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_usual<const FAST: bool>(&mut self, now: Time, segment: &Segment) {
        self.handle_ack::<FAST>(now, segment);
        self.handle_text::<FAST>(now, segment);
    }

    #[cold]
    fn handle_unusual(&mut self, now: Time, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            self.handle_rst(segment);
            return;
        }
        match self.state {
            State::Closed => {}
            State::Listen => self.accept(segment),
            State::SynSent => self.handle_syn_ack(now, segment),
            _ => self.handle_synchronized(now, segment),
        }
    }

    /// Handles the payload of a segment, and its FIN. An empty segment below the window, such as a
    /// window probe, is answered (RFC 9293, 3.10.7.4).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_text<const FAST: bool>(&mut self, now: Time, segment: &Segment) {
        // There is neither SYN nor FIN on the fast path.
        let len = if FAST { u64::from(segment.len) } else { segment.sequence_len() };
        if len > 0 {
            self.handle_data::<FAST>(now, segment);
        } else if segment.seq < self.received.next() {
            self.ack_now = true;
        }
    }

    /// RFC 9293 (3.10.7): a reset with the expected sequence number (in SYN-SENT: a reset that
    /// acknowledges the SYN) ends the connection; a reset elsewhere in the window is answered with
    /// a challenge ACK.
    fn handle_rst(&mut self, segment: &Segment) {
        let next = self.received.next();
        match self.state {
            State::SynSent if segment.flags.contains(Flags::ACK) && segment.ack == self.snd_nxt => {
                self.reset();
            }
            State::Closed | State::Listen | State::SynSent => {}
            _ if segment.seq == next => self.reset(),
            _ => self.ack_now |= segment.seq > next && segment.seq < self.rcv_edge,
        }
    }

    fn reset(&mut self) {
        self.state = State::Closed;
        self.fast_path = false;
        self.sent = SentSegments::default();
        self.rto_at = Time::NEVER;
        self.ack_at = Time::NEVER;
        self.wake_at = Time::NEVER;
        self.forget_waiting_data();
        self.ack_now = false;
    }

    fn accept(&mut self, segment: &Segment) {
        if segment.flags.of_state() != Flags::SYN {
            return;
        }
        self.take_syn(segment);
        self.state = State::SynReceived;
    }

    fn handle_syn_ack(&mut self, now: Time, segment: &Segment) {
        if !segment.flags.contains(Flags::SYN | Flags::ACK) || segment.ack != 1 {
            return;
        }
        self.take_syn(segment);
        self.ack_now = true;
        self.handle_ack::<false>(now, segment);
        self.established(now);
    }

    fn handle_synchronized(&mut self, now: Time, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) || segment.ack > self.snd_nxt {
            // A copy of the SYN, or an acknowledgment of unsent data (RFC 9293, 3.10.7.4).
            self.counters.segments_received += u64::from(segment.sequence_len() > 0);
            self.ack_now = true;
            return;
        }
        let opens = self.state == State::SynReceived;
        if opens && segment.ack < 1 {
            return;
        }
        self.handle_ack::<false>(now, segment);
        if opens {
            self.established(now);
        }
        self.advance_closing(now);
        if segment.flags.contains(Flags::FIN) {
            self.note_fin(now, segment.seq + u64::from(segment.len));
        }
        self.handle_text::<false>(now, segment);
    }

    /// Records that the peer's FIN is at the stream offset `fin`.
    fn note_fin(&mut self, now: Time, fin: u64) {
        if fin >= self.received.next() {
            self.peer_fin_at = Some(fin);
            self.fast_path = false;
        } else if self.state == State::TimeWait {
            // RFC 9293 (3.10.7.4): another copy of the FIN restarts the waiting time.
            self.enter_time_wait(now);
        }
    }

    fn take_syn(&mut self, segment: &Segment) {
        self.received.insert(crate::Range { start: 0, end: 1 });
        self.counters.segments_received += 1;
        self.sack &= segment.syn.sack_permitted;
        self.timestamps &= segment.syn.timestamps;
        self.ecn.take_syn(segment.flags);
        self.ts_recent = segment.ts_value;
        self.mss = self.mss.min(u32::from(segment.syn.mss_bytes));
        if self.timestamps {
            self.mss -= Segment::TIMESTAMPS_BYTES;
        }
        recovery::on_options(self);
        match segment.syn.window_scale {
            Some(scale) => {
                self.snd_wnd_scale = scale;
                self.rcv_wnd_scale = self.own_window_scale();
            }
            None => self.rcv_wnd_scale = 0,
        }
        // The window of a SYN is never scaled (RFC 7323, 2.2).
        self.snd_wnd = u64::from(segment.window);
    }

    fn established(&mut self, now: Time) {
        self.state = State::Established;
        self.fast_path = self.may_take_fast_path();
        // The window field of the SYN was not scaled, so it must not be reused.
        self.advertise(false);
        self.window = Window::new(self.initial_window());
        // The acknowledgment of the SYN must not count as delivered data, so congestion control
        // starts in its initial state.
        self.congestion = self.config.congestion;
        self.window.ssthresh = self.congestion.initial_ssthresh();
        if self.counters.timeouts > 0 {
            // The SYN was lost: RFC 5681 (3.1), RFC 6298 (5.7).
            self.window = Window::new(1);
            self.rtt.restart_after_lost_syn();
        }
        self.begin_pacing(now);
    }

    /// The initial window in segments (RFC 3390 unless configured).
    pub(super) fn initial_window(&self) -> u32 {
        self.config
            .initial_window_segments
            .unwrap_or_else(|| (4 * self.mss).min((2 * self.mss).max(4380)) / self.mss)
    }

    /// The smallest shift with which the receive buffer fits in 16 bits (RFC 7323, 2.3: at most
    /// 14).
    fn own_window_scale(&self) -> u8 {
        let bits = 32 - self.config.receive_buffer_bytes.leading_zeros();
        bits.saturating_sub(16).min(14) as u8
    }

    pub(super) fn syn_options(&self) -> SynOptions {
        let own_mss = self.config.mtu_bytes - Segment::BASE_HEADER_BYTES;
        SynOptions {
            mss_bytes: own_mss.min(u32::from(u16::MAX)) as u16,
            window_scale: Some(self.own_window_scale()),
            sack_permitted: self.sack,
            timestamps: self.timestamps,
        }
    }

    /// Changes the state after the FIN was sent.
    pub(super) const fn fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    /// Changes the state if our FIN has been acknowledged.
    fn advance_closing(&mut self, now: Time) {
        if !self.fin_queued || self.snd_una <= self.write_end {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.state = State::Closed,
            _ => {}
        }
    }

    /// Handles the peer's FIN once all data before it has arrived.
    #[cold]
    pub(super) fn take_fin(&mut self, now: Time) {
        if self.peer_fin_at.is_none_or(|fin| fin >= self.received.next()) {
            return;
        }
        self.peer_fin_at = None;
        // The FIN's sequence number was counted as a received byte, which is corrected here.
        self.counters.bytes_received -= 1;
        self.ack_now = true;
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.forget_waiting_data();
        self.wake_at = now + TIME_WAIT;
    }
}
