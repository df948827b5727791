use netstudy_units::Time;

use super::{Sent, Start, Wire};
use crate::{PauseCounters, PauseRequests, PauseThresholds};

/// PAUSE behaviour of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PausePolicy {
    /// Whether the port pauses when its peer sends a PAUSE frame.
    pub honours: bool,
    /// Buffer levels at which the port asks its peer to pause and to resume; `None`: it never asks.
    pub thresholds: Option<PauseThresholds>,
}

/// The wire of a port that obeys PAUSE frames and sends PAUSE frames itself.
///
/// The driver reports events of the buffer and of the peer with the `handle_*` functions.
/// [`Self::next_start`] and [`Self::start`] then tell which frame starts to leave, and when.
#[derive(Clone, Debug)]
pub struct PausingWire<F> {
    wire: Wire<F>,
    honours: bool,
    requests: Option<PauseRequests>,
    counters: PauseCounters,
}

impl<F> PausingWire<F> {
    /// Adds the given PAUSE policy to `wire`.
    #[must_use]
    pub fn new(wire: Wire<F>, policy: PausePolicy) -> Self {
        let requests =
            policy.thresholds.map(|thresholds| PauseRequests::new(thresholds, wire.link().rate()));
        Self { wire, honours: policy.honours, requests, counters: PauseCounters::default() }
    }

    /// The wire itself.
    #[must_use]
    pub const fn wire(&self) -> &Wire<F> {
        &self.wire
    }

    /// PAUSE counters of this port.
    #[must_use]
    pub const fn counters(&self) -> &PauseCounters {
        &self.counters
    }

    /// As [`Wire::push`].
    pub fn push(&mut self, ready: Time, frame_bytes: u32, frame: F) {
        self.wire.push(ready, frame_bytes, frame);
    }

    /// Handles a PAUSE frame of `quanta` from the peer. Returns whether the port obeys it.
    pub fn handle_pause(&mut self, now: Time, quanta: u16) -> bool {
        self.counters.pauses_received += 1;
        if self.honours {
            self.wire.handle_pause(now, quanta);
        }
        self.honours
    }

    /// Handles a new fill level of the buffer behind the port. Returns whether a PAUSE frame was
    /// queued.
    pub fn handle_level(&mut self, now: Time, level: impl FnOnce() -> u64) -> bool {
        let requests = self.requests.as_mut();
        let quanta = requests.and_then(|requests| requests.handle_level(now, level()));
        self.ask(now, quanta)
    }

    /// Time at which the PAUSE request to the peer is repeated; [`Time::NEVER`] if there is no
    /// pause.
    #[must_use]
    pub fn next_timeout(&self) -> Time {
        self.requests.as_ref().map_or(Time::NEVER, PauseRequests::next_timeout)
    }

    /// Repeats the PAUSE request if the repetition is due. Returns whether it was.
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        let requests = self.requests.as_mut();
        let quanta = requests.and_then(|requests| requests.handle_timeout(now));
        self.ask(now, quanta)
    }

    fn ask(&mut self, now: Time, quanta: Option<u16>) -> bool {
        if let Some(quanta) = quanta {
            self.wire.push_pause(now, quanta);
        }
        quanta.is_some()
    }

    /// As [`Wire::next_start`].
    #[must_use]
    pub fn next_start(&self) -> Time {
        self.wire.next_start()
    }

    /// As [`Wire::start`].
    pub fn start(&mut self) -> Option<Start<F>> {
        let start = self.wire.start()?;
        if let Sent::Pause(_) = start.sent {
            self.counters.pauses_sent += 1;
        }
        Some(start)
    }
}
