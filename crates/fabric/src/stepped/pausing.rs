use netstudy_units::Time;

use super::{Sent, Start, Wire};
use crate::{PauseCounters, PauseRequests, PauseThresholds};

/// PAUSE behaviour of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PausePolicy {
    /// Whether it pauses when its peer sends a PAUSE frame.
    pub honours: bool,
    /// Buffer levels at which it asks its peer to pause; `None`: never.
    pub thresholds: Option<PauseThresholds>,
}

/// The wire of a port that honours PAUSE frames and sends its own.
///
/// Events of its buffer and its peer go in by `handle_*`; their effects on the wire come out of
/// [`Self::next_start`] and [`Self::start`].
#[derive(Clone, Debug)]
pub struct PausingWire<F> {
    wire: Wire<F>,
    honours: bool,
    requests: Option<PauseRequests>,
    counters: PauseCounters,
}

impl<F> PausingWire<F> {
    /// `wire` with the given PAUSE policy.
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

    /// Handles a PAUSE frame of `quanta` from the peer. Returns whether the port honours it.
    pub fn handle_pause(&mut self, now: Time, quanta: u16) -> bool {
        self.counters.pauses_received += 1;
        if self.honours {
            self.wire.handle_pause(now, quanta);
        }
        self.honours
    }

    /// Handles a new level of the buffer behind the port. Returns whether that queues a PAUSE
    /// frame.
    pub fn handle_level(&mut self, now: Time, level: impl FnOnce() -> u64) -> bool {
        let requests = self.requests.as_mut();
        let quanta = requests.and_then(|requests| requests.handle_level(now, level()));
        self.ask(now, quanta)
    }

    /// Time at which the PAUSE request to the peer is repeated; [`Time::NEVER`] without a pause.
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
