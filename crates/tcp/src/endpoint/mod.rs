//! One end of a connection.
//!
//! The modules: `connection` opens and closes, `transmit` decides what to send, `acknowledged`
//! handles acknowledgments, `receive` handles data and decides when to acknowledge it, `idle`
//! shrinks an unused window, `nagle` holds short segments back, `small_queue` limits the data queued
//! in the host, `pacing` spreads segments over time and `rate_sample` measures their delivery rate,
//! `standing` keeps why and for how long an endpoint does not send. Connections without special
//! options take the
//! `fast_path`. Loss recovery is in the module `recovery`.

mod acknowledged;
mod config;
mod connection;
mod ecn;
mod fast_path;
mod idle;
mod nagle;
mod offload;
mod pacing;
mod quick_acks;
mod rate_sample;
mod receive;
mod small_queue;
mod standing;
mod transmit;
mod window_rule;

pub use config::{Config, OffloadRule};
pub(crate) use pacing::OfAck;
pub use standing::{SenderTimes, Standing};
pub use transmit::Outlet;
pub use window_rule::WindowRule;

use alloc::boxed::Box;

use ecn::EcnState;
use netstudy_units::{Duration, Time};
use offload::Gate;
use pacing::Paced;
use quick_acks::QuickAcks;
use small_queue::SmallQueue;
use standing::SenderClock;

use crate::linux_2_6_18::packets::Packet;
use crate::linux_2_6_18::receiver;
use crate::recovery::algorithm::Phase;
use crate::recovery::{self, LossRecovery};
use crate::{
    Congestion, CongestionControl, Counters, Jiffies, Reassembly, RttEstimator, SentSegments,
    Window,
};

/// States of a connection (RFC 9293, 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Sent a SYN, waits for the peer's SYN.
    SynSent,
    /// Got a SYN and sent its own, waits for the acknowledgment.
    SynReceived,
    /// Open both ways.
    Established,
    /// Closed here; our FIN is not acknowledged yet.
    FinWait1,
    /// Closed here; waits for the peer's FIN.
    FinWait2,
    /// The peer closed; this side may still send.
    CloseWait,
    /// Both closed at the same time.
    Closing,
    /// The peer closed first; our FIN is not acknowledged yet.
    LastAck,
    /// Waits until no duplicate of a segment can still be in flight.
    TimeWait,
}

/// The timers of an endpoint; [`Time::NEVER`]: the timer is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// The timer of the sender: of a retransmission, or of a probe.
    pub sender: Time,
    /// When it fires: on a tick of the clock.
    pub sender_fires: Time,
    /// The timer of a delayed acknowledgment.
    pub acknowledgment: Time,
    /// When the host may have room for data that the small queue holds back; in TIME-WAIT, when
    /// this state ends. Not known separately from `pace` if both hold data back.
    pub room: Time,
    /// When the pacing rate lets the next packet leave.
    pub pace: Time,
}

/// One end of a connection: see the crate's documentation for the order of calls.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "options and what is due are independent")]
pub struct Endpoint {
    pub(crate) config: Config,
    state: State,
    /// Segments take the fast path (see module `fast_path`).
    fast_path: bool,
    pub(crate) counters: Counters,

    pub(crate) sent: SentSegments,
    pub(crate) snd_una: u64,
    pub(crate) snd_nxt: u64,
    /// The application has written all data below this offset.
    pub(crate) write_end: u64,
    fin_queued: bool,
    /// End of the newest short segment of new data (`snd_sml` of Linux), where Nagle's rule holds.
    short_end: u64,
    /// Only the windows can hold new data back, and no FIN follows the data.
    sends_freely: bool,
    gate: Gate,
    /// The gate last held new data back for a larger burst, not because of the small queue.
    defers: bool,
    /// The peer's window in bytes from `snd_una` on.
    pub(crate) snd_wnd: u64,
    snd_wnd_scale: u8,
    /// Payload bytes of a full segment.
    pub(crate) mss: u32,
    pub(crate) window: Window,
    pub(crate) congestion: Congestion,
    pub(crate) phase: Phase,
    pub(crate) recovery_point: u64,
    /// Duplicate acknowledgments since `snd_una` advanced, on a connection without SACK.
    pub(crate) dup_acks: u32,
    /// Number of segments that the current burst may still send.
    pub(crate) burst_left: u32,
    /// True if the current burst is one packet of several segments whose last one carries PSH.
    pub(crate) burst_pushes: bool,
    /// Where the current burst or packet begins.
    pub(crate) burst_start: u64,
    pub(crate) packet: Packet,
    /// Maximum number of segments in flight since the window was last fully used.
    pub(crate) window_used: u32,
    /// When the window was last fully used, or when an acknowledgment last caused a check of its
    /// use (`snd_cwnd_stamp`).
    pub(crate) window_judged_at: Time,
    pub(crate) rtt: RttEstimator,
    /// This end measures times in ticks of this clock; none: it measures times exactly.
    coarse_clock: Option<Jiffies>,
    pub(crate) rto_at: Time,
    last_sent_at: Time,
    probe_window: bool,

    pub(crate) received: Reassembly,
    rcv_wnd_scale: u8,
    /// Right edge of the advertised window. It never moves left (RFC 9293, 3.8.6).
    rcv_edge: u64,
    /// Bytes of the receive buffer that hold no unread data.
    receive_room_bytes: u32,
    /// The last window field sent.
    rcv_wnd: u16,
    /// The last acknowledgment number sent.
    last_ack_sent: u64,
    peer_fin_at: Option<u64>,
    pub(crate) ack_now: bool,
    ack_at: Time,
    pub(crate) quick_acks: QuickAcks,
    ts_recent: u32,
    /// Duplicate data that the next acknowledgment reports (D-SACK, RFC 2883).
    pub(crate) copied: Option<crate::Range>,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    pub(crate) ecn: EcnState,
    /// In TIME-WAIT: when that state ends. In earlier states: when the host may have room again for
    /// data that the small queue holds back, or the pacing rate lets the next packet leave.
    wake_at: Time,
    small_queue: Option<Box<SmallQueue>>,
    /// Only for a congestion control that sets the window itself.
    pub(crate) paced: Option<Box<Paced>>,
    pub(crate) recovery: LossRecovery,
    clock: SenderClock,
}

impl Endpoint {
    fn new(config: Config, state: State) -> Self {
        debug_assert_eq!(config.check(), Ok(()));
        // Some hosts round the minimum timeout up to whole ticks. This is done once here, so that
        // each timeout needs only a comparison.
        let mut config = Config { min_rto: recovery::min_rto(&config), ..config };
        let granularity = config.clock_tick.max(Duration::from_us(1));
        if config.clock_tick > Duration::ZERO {
            config.congestion.keep_time(Jiffies::new(config.clock_tick, config.clock_phase));
        }
        Self {
            config,
            state,
            fast_path: false,
            counters: Counters::default(),
            sent: SentSegments::default(),
            snd_una: 0,
            snd_nxt: 0,
            write_end: 1,
            fin_queued: false,
            short_end: 0,
            sends_freely: config.limit_output_bytes == 0
                && config.nodelay
                && !config.congestion.owns_window(),
            gate: Gate::new(&config),
            defers: false,
            snd_wnd: 0,
            snd_wnd_scale: 0,
            mss: config.mtu_bytes - crate::Segment::BASE_HEADER_BYTES,
            window: Window::new(1),
            congestion: config.congestion,
            phase: Phase::Open,
            recovery_point: 0,
            dup_acks: 0,
            burst_left: 0,
            burst_pushes: false,
            burst_start: 0,
            packet: Packet::default(),
            window_used: 0,
            window_judged_at: Time::ZERO,
            rtt: RttEstimator::new(
                config.rto_rule,
                config.initial_rto,
                config.min_rto,
                config.max_rto,
                granularity,
            )
            .in_ticks(receiver::coarse_clock(&config)),
            coarse_clock: receiver::coarse_clock(&config),
            rto_at: Time::NEVER,
            last_sent_at: Time::ZERO,
            probe_window: false,
            received: Reassembly::new(0),
            rcv_wnd_scale: 0,
            rcv_edge: 0,
            receive_room_bytes: config.receive_buffer_bytes,
            rcv_wnd: 0,
            last_ack_sent: 0,
            peer_fin_at: None,
            ack_now: false,
            ack_at: Time::NEVER,
            quick_acks: QuickAcks::new(&config),
            ts_recent: 0,
            copied: None,
            sack: config.sack,
            timestamps: config.timestamps,
            ecn: EcnState::new(config.ecn, config.congestion.needs_ecn()),
            wake_at: Time::NEVER,
            small_queue: SmallQueue::new(&config),
            paced: None,
            recovery: LossRecovery::new(config.recovery),
            clock: SenderClock::default(),
        }
    }

    /// The state of the connection.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The configuration. It can be reused for the endpoint of the next connection.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Counters since the endpoint was created.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The congestion window and its threshold.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.window
    }

    /// The round-trip time estimate and the retransmission timeout computed from it.
    #[must_use]
    pub const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Payload bytes that the application has written so far. An endless writer keeps the send
    /// buffer full.
    #[must_use]
    pub const fn bytes_written(&self) -> u64 {
        let written = if self.write_end == transmit::ENDLESS {
            self.snd_una + self.config.send_buffer_bytes as u64
        } else {
            self.write_end
        };
        // The SYN occupies one offset.
        written - 1
    }

    /// Payload bytes of a full segment.
    #[must_use]
    pub const fn mss_bytes(&self) -> u32 {
        self.mss
    }

    /// Whether all written data is acknowledged.
    #[must_use]
    pub const fn all_acknowledged(&self) -> bool {
        self.snd_una >= self.write_end
    }

    /// Payload bytes sent, without retransmissions.
    #[must_use]
    pub fn bytes_sent_once(&self) -> u64 {
        // The SYN occupies one offset, and so does a FIN after all written data.
        self.snd_nxt.min(self.write_end).saturating_sub(1)
    }

    /// Payload bytes that the peer has acknowledged.
    #[must_use]
    pub fn bytes_acknowledged(&self) -> u64 {
        // The SYN occupies one offset, and so does a FIN after all written data.
        self.snd_una.min(self.write_end).saturating_sub(1)
    }

    /// Number of segments believed to be in the network.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.sent.in_flight().saturating_sub(self.dup_acks)
    }

    /// The earliest time at which [`Self::handle_timeout`] has something to do.
    #[must_use]
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.rto_due().min(self.ack_at).min(self.wake_at)
    }

    /// A lower bound of [`Self::next_timeout`] that is cheap to compute.
    #[must_use]
    #[inline]
    pub fn timeout_bound(&self) -> Time {
        self.rto_at.min(self.ack_at).min(self.wake_at)
    }

    /// The timers that are set.
    #[must_use]
    pub fn timers(&self) -> Timers {
        Timers {
            sender: self.rto_at,
            sender_fires: self.rto_due(),
            acknowledgment: self.ack_at,
            room: self.wake_at,
            pace: self.paced.as_ref().map_or(Time::NEVER, |paced| paced.resumes_at()),
        }
    }

    /// Handles the timers due at `now`; [`Self::poll_transmit`] must follow.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.ack_at <= now {
            self.ack_now = true;
            self.ack_at = Time::NEVER;
            self.quick_acks.waited_in_vain();
        }
        if self.rto_due() <= now {
            recovery::on_timer(self, now);
        }
        if self.wake_at <= now {
            self.wake();
        }
    }

    fn wake(&mut self) {
        self.wake_at = Time::NEVER;
        if self.state == State::TimeWait {
            self.state = State::Closed;
        } else {
            self.resume();
            if let Some(paced) = &mut self.paced {
                paced.resume();
            }
        }
    }

    /// Sets when to look again for data that was held back.
    fn plan_wake(&mut self) {
        let room = self.small_queue.as_ref().map_or(Time::NEVER, |queue| queue.resumes_at());
        let pace = self.paced.as_ref().map_or(Time::NEVER, |paced| paced.resumes_at());
        self.wake_at = room.min(pace);
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

    /// The value of the timestamp clock, in microseconds. RFC 7323 (5.4) demands ticks of 1 ms to 1
    /// s, as a protection against wrapped sequence numbers. 64-bit offsets do not need this
    /// protection.
    pub(crate) const fn timestamp(now: Time) -> u32 {
        now.as_us() as u32
    }
}
