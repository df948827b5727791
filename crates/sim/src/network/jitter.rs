//! What a host takes at random for what it receives, beyond its fixed latency.

use netstudy_random::Stream;
use netstudy_units::{Duration, Time};

use crate::wiring::ReceiveKind;

/// Delays of the exponential distribution that keep the order: what is ready behind another that waits
/// longer waits with it.
///
/// Hosts that take the same time for each segment keep all flows of a bottleneck in step with it, and
/// then their place in the step decides who loses (Floyd and Jacobson, "On traffic phase effects in
/// packet-switched gateways", 1992).
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

    /// When TCP gets what could be with it at `ready`.
    pub(crate) fn put_off(&mut self, ready: Time) -> Time {
        self.last = self.last.max(ready + self.stream.exponential(self.mean));
        self.last
    }
}
