//! Random processing time of received segments, in addition to a host's fixed latency.

use netstudy_random::Stream;
use netstudy_units::{Duration, Time};

use crate::wiring::ReceiveKind;

/// Exponentially distributed delays. They keep the order of segments: if a segment is delayed,
/// later segments wait for it.
///
/// With constant processing times, all flows would stay synchronized with their bottleneck, and
/// only the phases of the flows would decide which of them have losses (Floyd and Jacobson, "On
/// traffic phase effects in packet-switched gateways", 1992).
#[derive(Clone, Debug)]
pub(crate) struct ReceiveJitter {
    mean: Duration,
    stream: Stream,
    last: Time,
}

impl ReceiveJitter {
    /// The jitter of the host `host`; none if its processing time is constant. Boxed, because most
    /// hosts have no jitter.
    pub(crate) fn new(kind: &ReceiveKind, seed: &str, host: &str) -> Option<Box<Self>> {
        (kind.jitter > Duration::ZERO).then(|| {
            let stream = Stream::new(seed, &format!("{host}/receive"));
            Box::new(Self { mean: kind.jitter, stream, last: Time::ZERO })
        })
    }

    /// The time at which TCP gets a segment that would be ready at `ready` without jitter.
    pub(crate) fn put_off(&mut self, ready: Time) -> Time {
        self.last = self.last.max(ready + self.stream.exponential(self.mean));
        self.last
    }
}
