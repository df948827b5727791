//! Random processing time of received segments, in addition to a host's fixed latency.

use netstudy_random::Stream;
use netstudy_units::{Duration, Time};

use crate::wiring::ReceiveKind;

/// Exponentially distributed delays that keep the order: a segment behind a delayed one waits with it.
///
/// With constant processing times all flows of a bottleneck stay in step with it, and a flow's place in
/// the step decides who loses (Floyd and Jacobson, "On traffic phase effects in packet-switched
/// gateways", 1992).
#[derive(Clone, Debug)]
pub(crate) struct ReceiveJitter {
    mean: Duration,
    stream: Stream,
    last: Time,
}

impl ReceiveJitter {
    /// That of the host `host` in the run with the seed `seed`; none if it takes the same time always.
    /// Boxed, since most hosts have none.
    pub(crate) fn new(kind: &ReceiveKind, seed: &str, host: &str) -> Option<Box<Self>> {
        (kind.jitter > Duration::ZERO).then(|| {
            let stream = Stream::new(seed, &format!("{host}/receive"));
            Box::new(Self { mean: kind.jitter, stream, last: Time::ZERO })
        })
    }

    /// Time at which TCP gets a segment that is ready at `ready`.
    pub(crate) fn put_off(&mut self, ready: Time) -> Time {
        self.last = self.last.max(ready + self.stream.exponential(self.mean));
        self.last
    }
}
