//! Incoming data, and when to acknowledge it (RFC 1122, 4.2.3.2; RFC 5681, 4.2).

use netstudy_units::Time;

use super::{Endpoint, State};
use crate::linux_2_6_18::receiver;
use crate::{Flags, Range, Segment};

impl Endpoint {
    /// Payload bytes received in order so far. The application is assumed to read these bytes at
    /// once, unless [`Self::leave_unread`] reports unread bytes.
    #[must_use]
    #[inline]
    pub const fn bytes_received(&self) -> u64 {
        self.counters.bytes_received
    }

    /// Header prediction: whether `segment` is the next data in order and acknowledges nothing new
    /// (`tcp_rcv_established` of Linux; Jacobson, "4BSD TCP header prediction", CCR 20(2), 1990).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_next_data<const FAST: bool>(&self, segment: &Segment) -> bool {
        (FAST || self.may_predict())
            && segment.len > 0
            && segment.seq == self.received.next()
            && (segment.flags == Flags::ACK || !FAST && segment.flags == Flags::ACK | Flags::PSH)
            && !self.received.has_islands()
            && segment.ack == self.write_end
            && self.snd_una == self.write_end
            && segment.seq + u64::from(segment.len) <= self.rcv_edge
    }

    /// Whether the connection's state allows header prediction. The fast path skips this check: a
    /// connection on it has no timer running when everything is acknowledged.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn may_predict(&self) -> bool {
        self.state == State::Established
            && self.rto_at == Time::NEVER
            && self.peer_fin_at.is_none()
            && !self.fin_queued
            && !self.ecn.on
            && !self.recovery.probe_due
    }

    /// Handles a segment for which [`Self::is_next_data`] is true.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn handle_next_data<const FAST: bool>(&mut self, now: Time, segment: &Segment) {
        debug_assert!(self.rto_at == Time::NEVER, "a timer runs for nothing");
        self.snd_wnd = u64::from(segment.window) << self.snd_wnd_scale;
        self.counters.segments_received += 1;
        self.take_timestamp(segment);
        if !FAST {
            self.quick_acks.hear(now, self.coarse_clock, || self.rtt.rto());
        }
        self.received.advance(segment.len);
        self.counters.bytes_received += u64::from(segment.len);
        self.delay_ack::<FAST>(now);
        if !FAST && self.config.ack_pushed {
            self.take_push(segment);
        }
    }

    /// RFC 7323 (4.3): stores the timestamp of the segment that the next acknowledgment
    /// acknowledges, to echo it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_timestamp(&mut self, segment: &Segment) {
        let newer = segment.ts_value.wrapping_sub(self.ts_recent).cast_signed() >= 0;
        if newer && segment.seq <= self.last_ack_sent {
            self.ts_recent = segment.ts_value;
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn handle_data<const FAST: bool>(&mut self, now: Time, segment: &Segment) {
        self.counters.segments_received += 1;
        self.take_timestamp(segment);
        let mut range = Range { start: segment.seq, end: segment.seq + u64::from(segment.len) };
        if range.end > self.rcv_edge {
            // Outside of the window (RFC 9293, 3.10.7.4).
            self.ack_now = true;
            return;
        }
        if !FAST && self.ecn.on {
            self.take_mark(segment);
        }
        // A FIN occupies one sequence number. Like in Linux, a FIN is accepted even if the window
        // is full.
        if !FAST {
            range.end += u64::from(segment.flags.contains(Flags::FIN));
            self.quick_acks.hear(now, self.coarse_clock, || self.rtt.rto());
        }
        if !FAST {
            receiver::report_copy(self, range);
        }
        if !FAST && range.start != self.received.next() {
            self.quick_acks.hear_disorder();
        }
        let had_islands = self.received.has_islands();
        let is_copy = range.end <= self.received.next();
        let advanced = self.received.insert(range);
        self.counters.bytes_received += advanced;
        if had_islands || advanced == 0 {
            self.acknowledge_disorder::<FAST>(is_copy);
        } else {
            self.delay_ack::<FAST>(now);
        }
        if !FAST && self.config.ack_pushed && advanced > 0 {
            self.take_push(segment);
        }
        if !FAST && self.peer_fin_at.is_some() {
            self.take_fin(now);
        }
    }

    /// Reports that the application has left `bytes` of the received bytes unread. The window
    /// shrinks by this number. A window update is sent if the window was at most half the buffer
    /// and can now be made at least twice as large (`tcp_cleanup_rbuf` of Linux).
    pub fn leave_unread(&mut self, bytes: u64) {
        let buffer = self.config.receive_buffer_bytes;
        let room = u64::from(buffer).saturating_sub(bytes) as u32;
        if room == self.receive_room_bytes {
            return;
        }
        self.receive_room_bytes = room;
        // The fast path must end, because on it the advertised window changes only when data
        // arrives.
        self.fast_path = false;
        let window = self.rcv_edge - self.received.next();
        let is_wider = u64::from(room) >= (2 * window).max(self.mss.min(buffer).into());
        if self.is_open() && 2 * window <= u64::from(buffer) && is_wider {
            self.ack_now = true;
        }
    }

    /// RFC 5681 (4.2): data out of order, or data that fills a gap, is acknowledged at once.
    #[inline]
    fn acknowledge_disorder<const FAST: bool>(&mut self, is_copy: bool) {
        self.ack_now = true;
        if FAST {
            return;
        }
        if is_copy {
            self.quick_acks.hear_copy();
        } else if !self.received.has_islands() {
            self.quick_acks.gap_filled();
        }
    }

    /// Handles the end of a write: a short segment, or one with PSH. The application is assumed to
    /// read the data at once.
    fn take_push(&mut self, segment: &Segment) {
        let is_short = segment.len > 0 && segment.len < self.mss;
        if is_short || segment.flags.contains(Flags::PSH) {
            self.quick_acks.hear_push(is_short);
        }
        self.ack_now |= self.ack_at != Time::NEVER && self.quick_acks.is_push_due();
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn delay_ack<const FAST: bool>(&mut self, now: Time) {
        let waiting = self.received.next() - self.last_ack_sent;
        let enough = u64::from(self.config.ack_every_segments - 1) * u64::from(self.mss);
        if waiting > enough || (!FAST && self.quick_acks.are_due()) {
            self.ack_now = true;
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + self.config.delayed_ack;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    extern crate std;

    use std::{format, vec};

    use netstudy_units::Duration;
    use proptest::prelude::*;

    use super::*;
    use crate::{Config, Congestion, OffloadRule, Recovery, Reno, RtoRule};

    pub(in super::super) const CONFIG: Config = Config {
        mtu_bytes: 1_052,
        congestion: Congestion::Reno(Reno::new(false)),
        sack: true,
        recovery: Recovery::Rfc,
        offload_bytes: 0,
        offload_rule: OffloadRule::Deferral,
        offload_request_bytes: 0,
        marks_packets: false,
        limit_output_bytes: 0,
        ecn: false,
        timestamps: true,
        initial_window_segments: None,
        rto_rule: RtoRule::Rfc6298,
        initial_rto: Duration::from_secs(1),
        min_rto: Duration::from_ms(200),
        max_rto: Duration::from_secs(60),
        clock_tick: Duration::ZERO,
        clock_phase: Duration::ZERO,
        delayed_ack: Duration::from_ms(40),
        ack_every_segments: 2,
        quick_ack_segments: 3,
        quick_ack_disorder: false,
        ack_pushed: false,
        nodelay: true,
        restart_after_idle: true,
        send_buffer_bytes: 100_000,
        receive_buffer_bytes: 20_000,
    };

    /// An endpoint that has an open connection and has sent no data yet.
    fn receiver() -> Endpoint {
        let (mut client, mut server) = (Endpoint::connect(CONFIG), Endpoint::listen(CONFIG));
        for _ in 0..2 {
            while let Some(segment) = client.poll_transmit(Time::ZERO) {
                server.handle_segment(Time::ZERO, &segment);
            }
            while let Some(segment) = server.poll_transmit(Time::ZERO) {
                client.handle_segment(Time::ZERO, &segment);
            }
        }
        assert_eq!(client.state(), State::Established);
        client
    }

    /// Data for `end`, directly after the data received so far.
    fn data(end: &Endpoint, len: u32) -> Segment {
        let (seq, ack) = (end.received.next(), end.snd_nxt);
        Segment { seq, ack, len, window: 1_000, flags: Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn what_the_application_leaves_shuts_the_window_and_what_it_takes_opens_it() {
        let mut end = receiver();
        let now = Time::ZERO;
        let window = |end: &mut Endpoint| {
            core::iter::from_fn(|| end.poll_transmit(now)).last().map(|segment| segment.window)
        };
        let mut left = 0;
        let mut told = vec![];
        for _ in 0..20 {
            let segment = data(&end, 1_000);
            end.handle_segment(now, &segment);
            left += 1_000;
            end.leave_unread(left);
            told.extend(window(&mut end));
        }
        let acknowledges = end.next_timeout();
        end.handle_timeout(acknowledges);
        told.extend(window(&mut end));
        assert!(told.is_sorted_by(|one, next| one >= next), "{told:?}");
        assert_eq!(told.last(), Some(&0), "20,000 bytes are in the buffer");
        end.leave_unread(19_500);
        assert_eq!(window(&mut end), None, "half a segment is no news");
        end.leave_unread(18_000);
        assert_eq!(window(&mut end), Some(2_000));
        end.leave_unread(17_000);
        assert_eq!(window(&mut end), None, "it is not twice as wide");
        end.leave_unread(16_000);
        assert_eq!(window(&mut end), Some(4_000));
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A data segment that starts `ahead` bytes after the next expected byte.
        Data {
            ahead: u64,
            len: u32,
            window: u16,
        },
        Fin,
        Write(u64),
        /// The next data segment acknowledges everything sent.
        Acknowledge,
        Transmit,
    }

    fn step() -> impl Strategy<Value = Step> {
        let data = |ahead| {
            (ahead, 1u32..2_000, any::<u16>()).prop_map(|(ahead, len, window)| Step::Data {
                ahead,
                len,
                window,
            })
        };
        prop_oneof![
            12 => data(Just(0).boxed()),
            2 => data((0u64..30_000).boxed()),
            1 => Just(Step::Fin),
            1 => (0u64..3_000).prop_map(Step::Write),
            2 => Just(Step::Acknowledge),
            6 => Just(Step::Transmit),
        ]
    }

    proptest! {
        #[test]
        fn prediction_changes_nothing(steps in prop::collection::vec(step(), 1..60)) {
            let mut predicting = receiver();
            let mut plain = predicting.clone();
            let mut ack = predicting.snd_una;
            for (at, step) in steps.into_iter().enumerate() {
                let now = Time::ZERO + Duration::from_us(7 * at as u64);
                let next = predicting.received.next();
                let (ahead, len, window, fin) = match step {
                    Step::Data { ahead, len, window } => (ahead, len, window, false),
                    Step::Fin => (0, 0, 1_000, true),
                    Step::Acknowledge => {
                        ack = predicting.snd_nxt;
                        (0, 100, 1_000, false)
                    }
                    Step::Write(bytes) => {
                        predicting.write(now, bytes);
                        plain.write(now, bytes);
                        continue;
                    }
                    Step::Transmit => {
                        while let Some(segment) = predicting.poll_transmit(now) {
                            prop_assert_eq!(plain.poll_transmit(now), Some(segment));
                        }
                        prop_assert_eq!(plain.poll_transmit(now), None);
                        continue;
                    }
                };
                let flags = if fin { Flags::ACK | Flags::FIN } else { Flags::ACK };
                let ts_value = now.as_us() as u32;
                let seq = next + ahead;
                let segment =
                    Segment { seq, ack, len, window, flags, ts_value, ..Segment::default() };
                predicting.handle_segment(now, &segment);
                plain.handle_any(now, &segment);
                prop_assert_eq!(format!("{predicting:?}"), format!("{plain:?}"));
            }
        }
    }
}
