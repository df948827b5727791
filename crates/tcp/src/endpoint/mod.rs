//! One end of a connection.
//!
//! The parts: `connection` opens and closes, `transmit` decides what to send, `acknowledged` takes
//! acknowledgments and runs loss recovery, `receive` takes data and decides when to acknowledge it;
//! `fack` and `linux6` are the loss recovery of Linux 2.6.18 and 6. A connection without any options is
//! `plain`.

mod acknowledged;
mod connection;
mod ecn;
mod fack;
mod linux6;
mod offload;
mod plain;
mod quick_acks;
mod receive;
mod transmit;

pub use transmit::Outlet;

use ecn::EcnState;
use linux6::Linux6;
use netstudy_units::{Duration, Time};
use quick_acks::QuickAcks;

use crate::{
    Congestion, CongestionControl, Counters, Jiffies, Reassembly, RtoRule, RttEstimator,
    SentSegments, Window,
};

/// How an endpoint behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate option of the protocol")]
pub struct Config {
    /// Largest IP packet on the path. A larger one means fewer packets, and more bytes lost with each.
    pub mtu_bytes: u32,
    /// Congestion control.
    pub congestion: Congestion,
    /// Selective acknowledgments (RFC 2018); without them, NewReno (RFC 6582).
    pub sack: bool,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// Segmentation offload: bursts of up to this many bytes. Larger ones fill a queue faster and come
    /// later. Zero: none.
    pub offload_bytes: u32,
    /// How large bursts are, and how long they are put off.
    pub offload_rule: OffloadRule,
    /// Explicit congestion notification (RFC 3168), if the peer has it too. A congestion control that
    /// needs it has it in any case.
    pub ecn: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Initial congestion window in segments; none: by RFC 3390.
    pub initial_window_segments: Option<u32>,
    /// What the minimum timeout bounds.
    pub rto_rule: RtoRule,
    /// Timeout before the first round-trip time is known (RFC 6298, 2.1).
    pub initial_rto: Duration,
    /// Least timeout. A larger one makes each timeout dearer; a smaller one risks spurious ones.
    pub min_rto: Duration,
    /// Largest timeout.
    pub max_rto: Duration,
    /// Tick of the host's clock: timeouts fire on ticks, and CUBIC reads its time off them. Zero is
    /// exact.
    pub clock_tick: Duration,
    /// When the clock ticks for the first time.
    pub clock_phase: Duration,
    /// How long an acknowledgment may wait for a second segment (RFC 1122, 4.2.3.2).
    pub delayed_ack: Duration,
    /// Full segments after which an acknowledgment waits no longer.
    pub ack_every_segments: u32,
    /// Segments acknowledged at once from the start of the connection, after a gap longer than the
    /// timeout, and after a copy of what was received (`TCP_MAX_QUICKACKS` of Linux). More means a
    /// faster start of small windows. Zero: none.
    pub quick_ack_segments: u32,
    /// The end of what was written is marked (PSH), and acknowledged as soon as the application has read
    /// it, unless the application answers what it receives (`ICSK_ACK_PUSHED` of Linux 6; with its rules
    /// for who answers).
    pub ack_pushed: bool,
    /// Shrink the window after an idle time (RFC 2861, as Linux does).
    pub restart_after_idle: bool,
    /// Most bytes sent and not yet acknowledged.
    pub send_buffer_bytes: u32,
    /// Most bytes received and not yet in order; the window that is advertised.
    pub receive_buffer_bytes: u32,
}

/// Ways to find and repair losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6675, and RFC 6582 without SACK.
    Rfc,
    /// Forward acknowledgment with rate halving, as in Linux 2.6.18 (Mathis and Mahdavi, SIGCOMM
    /// 1996; the kernel's `net/ipv4/tcp_input.c`). A connection without SACK is as with [`Self::Rfc`].
    Fack,
    /// Proportional rate reduction (RFC 6937) with needless reductions undone, as in Linux 6, with or
    /// without SACK.
    Prr {
        /// Losses are found by time (RFC 8985), else by three SACKed segments above (RFC 6675).
        rack: bool,
        /// The tail of a flight is probed before the timeout (RFC 8985, 7).
        tail_loss_probe: bool,
    },
}

/// Ways to make bursts for segmentation offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffloadRule {
    /// As large as may be, put off while nothing looks lost (`tcp_tso_should_defer` of Linux 2.6.18).
    Deferral,
    /// About a millisecond at the pacing rate, more on a path shorter than that; put off only while
    /// acknowledgments are due soon (`tcp_tso_autosize`, `tcp_tso_should_defer` of Linux 6).
    Autosizing,
}

/// States of a connection (RFC 9293, 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Sent a SYN, waits for the peer's.
    SynSent,
    /// Got a SYN and sent its own, waits for the acknowledgment.
    SynReceived,
    /// Open both ways.
    Established,
    /// Closed here, the FIN is not acknowledged yet.
    FinWait1,
    /// Closed here, waits for the peer's FIN.
    FinWait2,
    /// The peer closed, this side may still send.
    CloseWait,
    /// Both closed at the same time.
    Closing,
    /// The peer closed first, the FIN from here is not acknowledged yet.
    LastAck,
    /// Waits until no copy of a segment can be on the way.
    TimeWait,
}

/// Where loss recovery stands, with the names of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing looks lost.
    Open,
    /// Something arrived out of order.
    Disorder,
    /// Fast recovery, until `recovery_point` is acknowledged (RFC 6675, 5; RFC 6582, 3.2).
    Recovery,
    /// Slow start after a timeout, until `recovery_point` is acknowledged.
    Loss,
}

/// One end of a connection: see the crate's documentation for the order of calls.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "options and what is due are independent")]
pub struct Endpoint {
    config: Config,
    state: State,
    /// The connection is plain (see the module of that name).
    plain: bool,
    counters: Counters,

    sent: SentSegments,
    snd_una: u64,
    snd_nxt: u64,
    /// Everything below was written by the application.
    write_end: u64,
    fin_queued: bool,
    /// The peer's window in bytes from `snd_una` on.
    snd_wnd: u64,
    snd_wnd_scale: u8,
    /// Payload bytes of a full segment.
    mss: u32,
    window: Window,
    congestion: Congestion,
    phase: Phase,
    recovery_point: u64,
    /// The end of a recovery's first retransmission; behind the rescue retransmission, the recovery
    /// point (`RescueRxt` of RFC 6675, 2). More must be acknowledged for a rescue.
    rescue_after: u64,
    /// Something was acknowledged since the timeout that began the phase Loss (`icsk_retransmits` is
    /// zero); kept with forward acknowledgment only.
    advanced_in_loss: bool,
    /// A reduction that the kernel may still undo (`undo_marker`): nothing is undone here, but the phase
    /// Disorder lasts until more is acknowledged.
    reduced: bool,
    /// Duplicate acknowledgments since `snd_una` advanced, on a connection without SACK.
    dup_acks: u32,
    /// The next retransmission does not wait for room in the window.
    retransmit_at_once: bool,
    /// Segments that the burst under way may still send.
    burst_left: u32,
    /// Most segments in flight since the window was last in full use.
    window_used: u32,
    /// When the window was last in full use, or looked at for an acknowledgment (`snd_cwnd_stamp`).
    window_judged_at: Time,
    rtt: RttEstimator,
    rto_at: Time,
    last_sent_at: Time,
    probe_window: bool,

    received: Reassembly,
    rcv_wnd_scale: u8,
    /// Right edge of the window that was advertised: it never moves left (RFC 9293, 3.8.6).
    rcv_edge: u64,
    /// The window field that was sent last.
    rcv_wnd: u16,
    /// Acknowledged to the peer up to here.
    last_ack_sent: u64,
    peer_fin_at: Option<u64>,
    ack_now: bool,
    ack_at: Time,
    quick_acks: QuickAcks,
    ts_recent: u32,
    sack: bool,
    timestamps: bool,
    ecn: EcnState,
    close_at: Time,
    linux6: Linux6,
}

impl Endpoint {
    fn new(config: Config, state: State) -> Self {
        let mut config = linux6::with_whole_ticks(config);
        let granularity = config.clock_tick.max(Duration::from_us(1));
        if config.clock_tick > Duration::ZERO {
            config.congestion.keep_time(Jiffies::new(config.clock_tick, config.clock_phase));
        }
        Self {
            config,
            state,
            plain: false,
            counters: Counters::default(),
            sent: SentSegments::default(),
            snd_una: 0,
            snd_nxt: 0,
            write_end: 1,
            fin_queued: false,
            snd_wnd: 0,
            snd_wnd_scale: 0,
            mss: config.mtu_bytes - crate::Segment::BASE_HEADER_BYTES,
            window: Window::new(1),
            congestion: config.congestion,
            phase: Phase::Open,
            recovery_point: 0,
            rescue_after: 0,
            advanced_in_loss: false,
            reduced: false,
            dup_acks: 0,
            retransmit_at_once: false,
            burst_left: 0,
            window_used: 0,
            window_judged_at: Time::ZERO,
            rtt: RttEstimator::new(
                config.rto_rule,
                config.initial_rto,
                config.min_rto,
                config.max_rto,
                granularity,
            ),
            rto_at: Time::NEVER,
            last_sent_at: Time::ZERO,
            probe_window: false,
            received: Reassembly::new(0),
            rcv_wnd_scale: 0,
            rcv_edge: 0,
            rcv_wnd: 0,
            last_ack_sent: 0,
            peer_fin_at: None,
            ack_now: false,
            ack_at: Time::NEVER,
            quick_acks: QuickAcks::new(config.quick_ack_segments, config.ack_pushed),
            ts_recent: 0,
            sack: config.sack,
            timestamps: config.timestamps,
            ecn: EcnState::new(config.ecn, config.congestion.needs_ecn()),
            close_at: Time::NEVER,
            linux6: Linux6::new(config.recovery),
        }
    }

    /// The state of the connection.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// What was counted since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The congestion window and its threshold.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.window
    }

    /// Payload bytes of a full segment.
    #[must_use]
    pub const fn mss_bytes(&self) -> u32 {
        self.mss
    }

    /// Whether all that was written is acknowledged.
    #[must_use]
    pub const fn all_acknowledged(&self) -> bool {
        self.snd_una >= self.write_end
    }

    /// Payload bytes that the peer has acknowledged.
    #[must_use]
    pub fn bytes_acknowledged(&self) -> u64 {
        // The SYN takes the place of a byte, and so does a FIN behind all that was written.
        self.snd_una.min(self.write_end).saturating_sub(1)
    }

    /// Segments believed to be in the network.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.sent.in_flight().saturating_sub(self.dup_acks)
    }

    /// The earliest time at which [`Self::handle_timeout`] has something to do.
    #[must_use]
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.rto_due().min(self.ack_at).min(self.close_at)
    }

    /// A time not later than [`Self::next_timeout`], at no cost.
    #[must_use]
    #[inline]
    pub fn timeout_bound(&self) -> Time {
        self.rto_at.min(self.ack_at).min(self.close_at)
    }

    /// Does what is due at `now`; to be followed by [`Self::poll_transmit`].
    pub fn handle_timeout(&mut self, now: Time) {
        if self.ack_at <= now {
            self.ack_now = true;
            self.ack_at = Time::NEVER;
            self.quick_acks.waited_in_vain();
        }
        if self.rto_due() <= now {
            if self.linux6.repair.on {
                self.timer_expired(now);
            } else {
                self.retransmission_timeout(now);
            }
        }
        if self.close_at <= now {
            self.state = State::Closed;
            self.close_at = Time::NEVER;
        }
    }

    /// When the retransmission timer fires: on the next tick of the clock.
    fn rto_due(&self) -> Time {
        let tick = self.config.clock_tick;
        if self.rto_at == Time::NEVER || tick == Duration::ZERO {
            return self.rto_at;
        }
        let after_phase = self.rto_at.since(Time::ZERO + self.config.clock_phase);
        let ticks = after_phase.as_ps().div_ceil(tick.as_ps());
        Time::ZERO + self.config.clock_phase + tick * ticks
    }

    /// The value of the timestamp clock: microseconds (RFC 7323, 5.4 allows 1 µs to 1 s with 64-bit
    /// offsets, which need no protection against wrapped sequence numbers).
    const fn timestamp(now: Time) -> u32 {
        now.as_us() as u32
    }
}
