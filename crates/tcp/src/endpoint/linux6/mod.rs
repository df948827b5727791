//! Loss recovery of Linux 6: RACK, tail loss probes, proportional rate reduction and F-RTO.
//!
//! The names in brackets are those of the kernel (`net/ipv4/tcp_input.c` where no other file is
//! named): `acknowledged` is its `tcp_ack`, `phases` its state machine. A connection without SACK
//! goes the same way with duplicate acknowledgments in place of SACKs (`newreno`).
//!
//! What is left out: reports of duplicates (RFC 2883), since receivers here do not make them, and all
//! that follows from them; a phase of its own for congestion marks (see `ecn`); a receiver that takes
//! back what it SACKed.

mod acknowledged;
mod newreno;
mod phases;
mod probe;
mod prr;
mod rack;
mod timer;
mod told;
mod undo;
mod window_use;

use netstudy_units::{Duration, Time};

use super::{Config, Endpoint, Phase, Recovery};
use crate::SentSegment;
use probe::Probe;
use prr::Prr;
use rack::Rack;
use timer::Timer;
use undo::Undo;
use window_use::WindowUse;

/// Which parts of loss detection are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repair {
    /// The window follows proportional rate reduction: this recovery is the one in use.
    pub(super) on: bool,
    rack: bool,
    tail_loss_probe: bool,
}

impl Repair {
    const fn new(recovery: Recovery) -> Self {
        match recovery {
            Recovery::Prr { rack, tail_loss_probe } => Self { on: true, rack, tail_loss_probe },
            Recovery::Rfc | Recovery::Fack => {
                Self { on: false, rack: false, tail_loss_probe: false }
            }
        }
    }
}

/// What this recovery knows of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linux6 {
    pub(super) repair: Repair,
    pub(super) probe: Probe,
    /// Until the next acknowledgment, only new data may be sent.
    pub(super) holds_retransmissions: bool,
    timer: Timer,
    window_use: WindowUse,
    rack: Rack,
    prr: Prr,
    undo: Undo,
}

impl Linux6 {
    pub(super) fn new(recovery: Recovery) -> Self {
        Self {
            repair: Repair::new(recovery),
            probe: Probe::default(),
            holds_retransmissions: false,
            timer: Timer::default(),
            window_use: WindowUse::default(),
            rack: Rack::new(),
            prr: Prr::default(),
            undo: Undo::default(),
        }
    }

    /// The least round-trip time, as far as this recovery has looked for it.
    pub(super) const fn min_rtt(&self) -> Option<Duration> {
        self.rack.min_rtt()
    }
}

/// The least timeout is whole ticks (`tcp_rto_min`).
pub(super) fn with_whole_ticks(mut config: Config) -> Config {
    let tick = config.clock_tick;
    if tick > Duration::ZERO && matches!(config.recovery, Recovery::Prr { .. }) {
        config.min_rto = tick * config.min_rto.as_ps().div_ceil(tick.as_ps());
    }
    config
}

impl Endpoint {
    /// There is new data that the peer takes.
    pub(super) fn may_send_more(&self) -> bool {
        self.snd_nxt < self.write_end && self.may_send_data() && self.new_data_len().is_some()
    }

    /// New data, a SYN or a FIN was sent.
    #[inline(never)]
    pub(super) fn fresh_sent(&mut self, now: Time) {
        self.linux6.prr.sent += u32::from(self.phase == Phase::Recovery);
        if self.linux6.probe.new_data_due {
            self.probe_sent_new_data();
        } else if self.snd_nxt > 1 {
            self.schedule_probe_behind(now);
        } else {
            self.restart_retransmission(now);
        }
        self.judge_window_use(now, false);
    }

    /// A segment was sent again (`tcp_retransmit_skb`, and the end of `tcp_xmit_retransmit_queue`).
    pub(super) fn repeat_sent(&mut self, now: Time, again: &SentSegment) {
        self.linux6.prr.sent += u32::from(self.phase == Phase::Recovery);
        self.linux6.undo.first_repeat.get_or_insert(now);
        self.sent.note_copy(again);
        if again.start == self.snd_una && self.linux6.timer != Timer::Reordering {
            self.restart_retransmission(now);
        }
    }
}
