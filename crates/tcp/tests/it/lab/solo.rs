//! One endpoint whose peer is the test, for segments that the other endpoint would never send.

use netstudy_tcp::{Config, Endpoint, Flags, Range, Segment, SynOptions};
use netstudy_units::{Duration, Time};

/// An acknowledgment of all below `ack`, with a window of 65,535 bytes.
pub(crate) fn ack(ack: u64) -> Segment {
    Segment { seq: 1, ack, window: u16::MAX, flags: Flags::ACK, ..Segment::default() }
}

/// A duplicate acknowledgment of all below `ack_at` that reports `blocks`.
pub(crate) fn sack(ack_at: u64, blocks: &[(u64, u64)]) -> Segment {
    let mut segment = ack(ack_at);
    for &(start, end) in blocks {
        segment.sack.push(Range { start, end });
    }
    segment
}

/// `len` bytes from `seq` on, with an acknowledgment of the SYN.
pub(crate) fn data(seq: u64, len: u32) -> Segment {
    Segment { seq, len, ..ack(1) }
}

pub(crate) struct Solo {
    end: Endpoint,
    /// Its segments wait in its host until the test lets them leave.
    host_holds: bool,
}

impl Solo {
    /// It connected at once, to a peer that has every option but window scaling.
    pub(crate) fn open(config: Config) -> Self {
        Self::open_after(Duration::ZERO, config)
    }

    /// It connected to such a peer within `round_trip`.
    pub(crate) fn open_after(round_trip: Duration, config: Config) -> Self {
        let mut solo = Self { end: Endpoint::connect(config), host_holds: false };
        let offers = solo.says(Duration::ZERO);
        let ecn = offers[0].flags.contains(Flags::ECE);
        let syn = SynOptions {
            mss_bytes: u16::MAX,
            window_scale: None,
            sack_permitted: true,
            timestamps: true,
        };
        let flags = Flags::SYN | Flags::ACK;
        let flags = if ecn { flags | Flags::ECE } else { flags };
        let syn_ack = Segment { seq: 0, flags, syn, ..ack(1) };
        solo.hears(round_trip, &syn_ack);
        solo
    }

    pub(crate) const fn end(&self) -> &Endpoint {
        &self.end
    }

    /// From now on segments with data wait in its host until [`Self::leaves`].
    pub(crate) const fn holds(mut self) -> Self {
        self.host_holds = true;
        self
    }

    /// The oldest segment with data in its host leaves. Returns the segments sent then.
    pub(crate) fn leaves(&mut self, at: Duration) -> Vec<Segment> {
        let now = Time::ZERO + at;
        self.end.handle_departure(now);
        if self.end.next_timeout() <= now {
            self.end.handle_timeout(now);
            return self.says(at);
        }
        Vec::new()
    }

    /// Hears `segment` and answers.
    pub(crate) fn hears(&mut self, at: Duration, segment: &Segment) -> Vec<Segment> {
        self.end.handle_segment(Time::ZERO + at, segment);
        self.says(at)
    }

    pub(crate) fn writes(&mut self, at: Duration, bytes: u64) -> Vec<Segment> {
        self.end.write(Time::ZERO + at, bytes);
        self.says(at)
    }

    /// As [`Self::writes`], but hands over all new data in one call.
    pub(crate) fn writes_news(&mut self, at: Duration, bytes: u64) -> Vec<Segment> {
        let now = Time::ZERO + at;
        self.end.write(now, bytes);
        let mut said = Vec::new();
        assert!(self.end.send_news(now, &mut said), "something else is due");
        said
    }

    /// Waits for the next timer. Returns its time and the segments sent then.
    pub(crate) fn waits(&mut self) -> (Duration, Vec<Segment>) {
        let at = self.end.next_timeout();
        assert_ne!(at, Time::NEVER, "no timer runs");
        self.end.handle_timeout(at);
        let at = at.since(Time::ZERO);
        (at, self.says(at))
    }

    fn says(&mut self, at: Duration) -> Vec<Segment> {
        let now = Time::ZERO + at;
        let mut said = Vec::new();
        while let Some(segment) = self.end.poll_transmit(now) {
            if self.host_holds {
                self.end.handed_over(now, segment.len, Time::NEVER);
            }
            said.push(segment);
        }
        said
    }
}
