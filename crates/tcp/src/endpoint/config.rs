//! Configuration of an endpoint, and its checks.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use netstudy_units::{Duration, headers};

use crate::linux_2_6_18::packets;
use crate::{Congestion, CongestionControl, Recovery, RtoRule, Segment};

/// Longest duration in a configuration. The sum of a few such durations stays far below 213 days,
/// the longest [`Time`](netstudy_units::Time).
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest window that a peer can offer (RFC 7323, 2.3).
const WINDOW_BYTES_MAX: u32 = (u16::MAX as u32) << 14;

/// How an endpoint behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate option of the protocol")]
pub struct Config {
    /// Largest IP packet on the path, 68 to 65535. With a larger MTU there are fewer packets, and
    /// each lost packet loses more bytes.
    pub mtu_bytes: u32,
    /// Congestion control.
    pub congestion: Congestion,
    /// Selective acknowledgments (RFC 2018); without them, NewReno (RFC 6582).
    pub sack: bool,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// Segmentation offload: bursts of up to this many bytes. Larger bursts fill a queue faster and
    /// leave later. Zero: no offload.
    pub offload_bytes: u32,
    /// Decides how large bursts are and how long they are deferred.
    pub offload_rule: OffloadRule,
    /// Bytes of one request to the network adapter, in whole pages. The adapter segments each
    /// request of a packet separately, so a packet can leave as more frames than TCP counts
    /// segments. Zero: one request for the whole packet. Other values than zero need
    /// [`Recovery::Fack`], which counts packets.
    pub offload_request_bytes: u32,
    /// New data that continues a packet of segmentation offload has the flag
    /// [`Flags::CONTINUES`](crate::Flags::CONTINUES). A retransmission is a packet of its own.
    pub marks_packets: bool,
    /// TCP small queues: limit on the memory that packets of this connection take in the sending
    /// host before the next packet is held back. The limit is the data of one millisecond at the
    /// pacing rate, at least two packets, and at most this value (`tcp_limit_output_bytes` of
    /// Linux). A larger value allows a longer queue in the host. Zero: no limit.
    pub limit_output_bytes: u32,
    /// Explicit congestion notification (RFC 3168), if the peer supports it too. A congestion
    /// control that needs ECN requests it even without this option.
    pub ecn: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Initial congestion window in segments, at least 1; none: the initial window of RFC 3390.
    pub initial_window_segments: Option<u32>,
    /// What the minimum timeout applies to.
    pub rto_rule: RtoRule,
    /// Timeout before the first round-trip time is known (RFC 6298, 2.1), not zero.
    pub initial_rto: Duration,
    /// Minimum timeout. A larger value makes each timeout cost more time; a smaller value risks
    /// spurious timeouts.
    pub min_rto: Duration,
    /// Maximum timeout (RFC 6298, 2.5), not zero and not below the minimum.
    pub max_rto: Duration,
    /// Length of a tick of the host's clock: retransmission timeouts fire on ticks, and CUBIC
    /// measures time in ticks. Zero: an exact clock.
    pub clock_tick: Duration,
    /// When the clock ticks for the first time.
    pub clock_phase: Duration,
    /// How long an acknowledgment may wait for a second segment (RFC 1122, 4.2.3.2).
    pub delayed_ack: Duration,
    /// Number of full segments after which an acknowledgment is no longer delayed, at least 1.
    pub ack_every_segments: u32,
    /// Number of segments acknowledged immediately at the start of the connection, after an idle
    /// time longer than the timeout, and after duplicate data (`TCP_MAX_QUICKACKS` of Linux). A
    /// larger number makes small windows grow faster. Zero: no quick acknowledgments.
    pub quick_ack_segments: u32,
    /// The rules of Linux before 4.18: out-of-order data also starts quick acknowledgments, and
    /// only a short segment counts as the end of a write (`tcp_data_queue`, `tcp_measure_rcv_mss`).
    pub quick_ack_disorder: bool,
    /// The last segment of a write carries PSH, and the receiver acknowledges it as soon as the
    /// application has read it, unless the application is interactive (`ICSK_ACK_PUSHED` of Linux).
    pub ack_pushed: bool,
    /// Short segments are sent at once (`TCP_NODELAY`). If false, by Nagle's rule (RFC 896; RFC 9293,
    /// 3.7.4) a short segment waits while an earlier one is not acknowledged: Minshall's variant, as
    /// in Linux (`tcp_nagle_check`).
    pub nodelay: bool,
    /// Shrink the congestion window after an idle time (RFC 2861, like Linux).
    pub restart_after_idle: bool,
    /// Maximum number of bytes sent and not yet acknowledged, at least 1.
    pub send_buffer_bytes: u32,
    /// Bytes of payload that the receive buffer holds, at least 1: the largest window that is
    /// advertised ([`WindowRule::window_bytes`](super::WindowRule::window_bytes)).
    pub receive_buffer_bytes: u32,
}

/// How bursts for segmentation offload are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffloadRule {
    /// Bursts as large as allowed, deferred while no segment appears lost (`tcp_tso_should_defer`
    /// of Linux 2.6.18).
    Deferral,
    /// Bursts of about a millisecond at the pacing rate, larger on a path with a short round-trip
    /// time; deferred only while acknowledgments are due soon (`tcp_tso_autosize`,
    /// `tcp_tso_should_defer` of Linux 6).
    Autosizing,
}

impl Config {
    /// Whether a connection can work with this configuration.
    ///
    /// # Errors
    /// Names the invalid value and a valid one.
    pub fn check(&self) -> Result<(), String> {
        self.check_sizes()?;
        self.check_times()
    }

    fn check_sizes(&self) -> Result<(), String> {
        let (least, most) = (headers::IPV4_PACKET_BYTES_MIN, headers::IPV4_PACKET_BYTES_MAX);
        if !(least..=most).contains(&self.mtu_bytes) {
            let mtu_bytes = self.mtu_bytes;
            return Err(format!(
                "an MTU of {mtu_bytes} B is outside of {least} B to {most} B (IPv4)"
            ));
        }
        let segments = self.initial_window_segments;
        // An initial window above the largest window of TCP could never be sent, and its number of
        // bytes would not fit into 32 bits.
        let mss_bytes = self.mtu_bytes - Segment::BASE_HEADER_BYTES;
        let segments_max = WINDOW_BYTES_MAX / mss_bytes;
        if let Some(segments) = segments.filter(|segments| !(1..=segments_max).contains(segments)) {
            return Err(format!(
                "an initial window of {segments} segments is outside of 1 to {segments_max}: with \
                 {mss_bytes} B each they are the largest window of TCP"
            ));
        }
        for (what, value) in [
            ("segments that an acknowledgment waits for", self.ack_every_segments),
            ("bytes of the send buffer", self.send_buffer_bytes),
            ("bytes of the receive buffer", self.receive_buffer_bytes),
        ] {
            if value == 0 {
                return Err(format!("the {what} are 0: at least 1 is needed"));
            }
        }
        if self.congestion.owns_window() && !matches!(self.recovery, Recovery::Prr { .. }) {
            return Err("BBR needs the loss recovery of Linux 6, PRR: only with it are delivery \
                        rates measured"
                .to_owned());
        }
        packets::check_requests(self)
    }

    fn check_times(&self) -> Result<(), String> {
        let Self { initial_rto, min_rto, max_rto, .. } = *self;
        for (name, span) in [("initial", initial_rto), ("maximum", max_rto)] {
            if span == Duration::ZERO {
                return Err(format!(
                    "the {name} retransmission timeout is 0: it must be longer, for example 1 s"
                ));
            }
        }
        // Both limits apply to each timeout: a maximum below the minimum would violate the minimum.
        if max_rto < min_rto {
            return Err(format!(
                "the maximum retransmission timeout, {max_rto}, is shorter than the minimum, {min_rto}: \
                 it must be at least as long"
            ));
        }
        for (what, span) in [
            ("initial retransmission timeout", initial_rto),
            ("maximum retransmission timeout", max_rto),
            ("delay of acknowledgments", self.delayed_ack),
            ("tick of the clock", self.clock_tick),
            ("phase of the clock", self.clock_phase),
        ] {
            if span > LONGEST {
                return Err(format!(
                    "the {what} is {span}: at most {LONGEST} makes sense, which is a day"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use netstudy_units::Time;

    use super::super::receive::tests::CONFIG;
    use super::*;
    use crate::{Bbr, Bic, Cubic, Dctcp, Endpoint, Reno};

    const SECOND: Duration = Duration::from_secs(1);
    /// Longer than any configuration allows.
    const TOO_LONG: Duration = Duration::from_secs(24 * 60 * 60 + 1);

    fn bbr() -> Congestion {
        Congestion::Bbr(Bbr::new(1))
    }

    fn complaint(change: impl FnOnce(&mut Config)) -> String {
        let mut config = CONFIG;
        change(&mut config);
        config.check().expect_err("it makes no sense")
    }

    #[test]
    fn a_maximum_timeout_of_nothing_or_below_the_minimum_is_refused() {
        assert_eq!(
            complaint(|c| c.max_rto = Duration::ZERO),
            "the maximum retransmission timeout is 0: it must be longer, for example 1 s"
        );
        assert_eq!(
            complaint(|c| (c.min_rto, c.max_rto) = (SECOND, Duration::from_ms(999))),
            "the maximum retransmission timeout, 999.000000 ms, is shorter than the minimum, \
             1000.000000 ms: it must be at least as long"
        );
        assert_eq!(Config { min_rto: SECOND, max_rto: SECOND, ..CONFIG }.check(), Ok(()));
    }

    #[test]
    fn bbr_needs_the_recovery_that_measures_delivery_rates() {
        for recovery in [Recovery::Rfc, Recovery::Fack] {
            let told = complaint(|c| (c.congestion, c.recovery) = (bbr(), recovery));
            assert!(told.starts_with("BBR needs the loss recovery of Linux 6, PRR"), "{told}");
        }
    }

    #[test]
    fn each_value_that_makes_no_sense_is_named() {
        let named = |change: fn(&mut Config), name: &str| {
            let complaint = complaint(change);
            assert!(complaint.contains(name), "{complaint}");
        };
        named(|c| c.mtu_bytes = 67, "an MTU of 67 B is outside of 68 B to 65535 B");
        named(|c| c.mtu_bytes = 65_536, "an MTU of 65536 B");
        named(|c| c.initial_window_segments = Some(0), "an initial window of 0 segments");
        named(|c| c.initial_window_segments = Some(u32::MAX), "an initial window of 4294967295");
        named(|c| c.ack_every_segments = 0, "segments that an acknowledgment waits for are 0");
        named(|c| c.send_buffer_bytes = 0, "bytes of the send buffer are 0");
        named(|c| c.receive_buffer_bytes = 0, "bytes of the receive buffer are 0");
        named(|c| c.initial_rto = Duration::ZERO, "initial retransmission timeout is 0");
        named(|c| c.initial_rto = TOO_LONG, "initial retransmission timeout is 86401000");
        named(|c| c.max_rto = TOO_LONG, "maximum retransmission timeout is 86401000");
        named(|c| c.delayed_ack = TOO_LONG, "delay of acknowledgments is 86401000");
        named(|c| c.clock_tick = TOO_LONG, "tick of the clock is 86401000");
        named(|c| c.clock_phase = TOO_LONG, "phase of the clock is 86401000");
    }

    const EDGES: [fn(&mut Config); 9] = [
        |c| c.mtu_bytes = headers::IPV4_PACKET_BYTES_MIN,
        |c| c.mtu_bytes = headers::IPV4_PACKET_BYTES_MAX,
        |c| (c.mtu_bytes, c.initial_window_segments) = (68, Some(WINDOW_BYTES_MAX / 28)),
        |c| (c.send_buffer_bytes, c.receive_buffer_bytes) = (1, 1),
        |c| (c.send_buffer_bytes, c.receive_buffer_bytes) = (u32::MAX, u32::MAX),
        |c| (c.initial_rto, c.min_rto, c.max_rto) = (LONGEST, LONGEST, LONGEST),
        |c| {
            let shortest = Duration::from_ps(1);
            (c.initial_rto, c.min_rto, c.max_rto) = (shortest, Duration::ZERO, shortest);
        },
        |c| (c.clock_tick, c.clock_phase) = (LONGEST, LONGEST),
        |c| (c.clock_tick, c.clock_phase) = (Duration::from_ps(1), LONGEST),
    ];

    const RECOVERIES: [Recovery; 3] =
        [Recovery::Rfc, Recovery::Fack, Recovery::Prr { rack: true, tail_loss_probe: true }];

    /// Configurations with and without bursts, for each loss recovery and each congestion control.
    fn kinds() -> impl Iterator<Item = Config> {
        let congestions = || {
            [
                Congestion::Reno(Reno::new(false)),
                Congestion::Bic(Bic::default()),
                Congestion::Cubic(Cubic::new(true)),
                Congestion::Dctcp(Dctcp::default()),
                bbr(),
            ]
        };
        let bursts = [
            (0, OffloadRule::Deferral),
            (1, OffloadRule::Deferral),
            (65_536, OffloadRule::Deferral),
            (1, OffloadRule::Autosizing),
            (65_536, OffloadRule::Autosizing),
        ];
        let all = RECOVERIES.into_iter().flat_map(move |recovery| {
            congestions().into_iter().flat_map(move |congestion| {
                bursts.map(|(offload_bytes, offload_rule)| Config {
                    congestion,
                    recovery,
                    offload_bytes,
                    offload_rule,
                    ..CONFIG
                })
            })
        });
        all.filter(|kind| kind.congestion != bbr() || matches!(kind.recovery, Recovery::Prr { .. }))
    }

    /// The two endpoints take turns for 200 steps. Every third segment is lost. When no segment is
    /// in flight, the next timeout fires.
    fn converse(config: Config) {
        let mut ends = [Endpoint::connect(config), Endpoint::listen(config)];
        let (mut now, mut sent) = (Time::ZERO, 0);
        for step in 0..200_u64 {
            let side = (step % 2) as usize;
            let mut on_the_way: Vec<Segment> = Vec::new();
            for _ in 0..50 {
                on_the_way.extend(ends[side].poll_transmit(now));
            }
            now += Duration::from_us(50);
            for segment in &on_the_way {
                sent += 1;
                if sent % 3 > 0 {
                    ends[1 - side].handle_segment(now, segment);
                }
            }
            if on_the_way.is_empty() {
                let due = ends[side].next_timeout();
                if due != Time::NEVER {
                    now = now.max(due);
                    ends[side].handle_timeout(now);
                }
            }
            if step % 20 == 10 && ends[side].is_open() {
                ends[side].write(now, 3_000);
            }
        }
    }

    #[test]
    fn whatever_the_check_lets_pass_makes_no_end_panic() {
        for kind in kinds() {
            for edge in EDGES {
                let mut config = kind;
                edge(&mut config);
                assert_eq!(config.check(), Ok(()));
                converse(config);
            }
        }
    }
}
