//! Samples of the delivery rate (`net/ipv4/tcp_rate.c` of Linux; Cheng, Cardwell, Yeganeh, Jacobson:
//! draft-cheng-iccrg-delivery-rate-estimation).
//!
//! Each transmission of a segment is stamped with the delivery before it. When the segment arrives,
//! the segments delivered since then, divided by the time that this took, are a sample. The stamps
//! are in a queue of their own, parallel to the sent segments, which exists only for congestion
//! controls that need samples.

use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};

use crate::recovery::Place;
use crate::{DeliveryRate, SentSegment, SentSegments};

/// The state of the delivery when a segment was last sent (`tx` of `struct tcp_skb_cb`).
#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    is_app_limited: bool,
    /// The arrival of the segment was reported already, by a SACK.
    is_taken: bool,
}

/// The segment sent last of all segments that an acknowledgment reports.
#[derive(Clone, Copy, Debug)]
struct Newest {
    place: Place,
    stamp: Stamp,
}

/// Delivery of a connection's segments, and its samples.
#[derive(Clone, Debug)]
pub(crate) struct RateSampler {
    stamps: Ring<Stamp>,
    /// Number of the segment with the oldest stamp, as in [`SentSegments`].
    first: u64,
    /// Segments that have arrived, the SYN included (`tp->delivered`).
    delivered: u64,
    /// When an acknowledgment last reported an arrival (`tp->delivered_mstamp`).
    delivered_at: Time,
    /// When the segment was sent that began the send phase of the next sample
    /// (`tp->first_tx_mstamp`).
    first_sent_at: Time,
    /// Samples of segments sent until this number of segments has arrived are application-limited;
    /// 0: none are (`tp->app_limited`).
    limited_until: u64,
    newest: Option<Newest>,
}

impl RateSampler {
    /// The sampler of a connection that opens at `now`. The next segment has the number `first`.
    pub(super) fn new(now: Time, first: u64) -> Self {
        Self {
            stamps: Ring::new(),
            first,
            delivered: 1,
            delivered_at: now,
            first_sent_at: now,
            limited_until: 0,
            newest: None,
        }
    }

    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) const fn delivered_at(&self) -> Time {
        self.delivered_at
    }

    pub(super) const fn is_app_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// The application, or the control itself, keeps data back while `in_flight` segments are in
    /// flight.
    pub(super) fn limit(&mut self, in_flight: u32) {
        self.limited_until = self.delivered + u64::from(in_flight);
    }

    /// A segment is sent for the first time; `is_alone`: no other one is outstanding
    /// (`tcp_rate_skb_sent`).
    pub(super) fn sent(&mut self, now: Time, is_alone: bool) {
        if is_alone {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let stamp = self.stamp();
        self.stamps.push_back(stamp);
    }

    /// The segment with this number is sent again.
    pub(super) fn sent_again(&mut self, number: u64) {
        let stamp = self.stamp();
        self.stamps[(number - self.first) as usize] = stamp;
    }

    const fn stamp(&self) -> Stamp {
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.is_app_limited(),
            is_taken: false,
        }
    }

    /// All segments of `sent` below `ack` have arrived. Must be called before they leave the queue.
    pub(crate) fn acknowledged(&mut self, sent: &SentSegments, ack: u64) {
        for segment in sent.iter().take_while(|segment| segment.end() <= ack) {
            if let Some(stamp) = self.stamps.pop_front() {
                self.first += 1;
                self.take(segment, stamp);
            }
        }
    }

    /// A SACK reports that the segment with this number has arrived.
    pub(crate) fn sacked(&mut self, number: u64, segment: &SentSegment) {
        let index = (number - self.first) as usize;
        let stamp = self.stamps[index];
        self.take(segment, stamp);
        self.stamps[index].is_taken = true;
    }

    /// `tcp_rate_skb_delivered`
    fn take(&mut self, segment: &SentSegment, stamp: Stamp) {
        let place = segment.place();
        if !stamp.is_taken && self.newest.is_none_or(|newest| place > newest.place) {
            self.newest = Some(Newest { place, stamp });
        }
    }

    /// Ends the handling of an acknowledgment with which `segments` segments arrived, and returns
    /// its sample (`tcp_rate_gen`). Intervals shorter than `min_rtt` come from acknowledgments that
    /// were held up and are no samples.
    pub(super) fn sample(
        &mut self,
        now: Time,
        segments: u32,
        min_rtt: Option<Duration>,
    ) -> Option<DeliveryRate> {
        self.delivered += u64::from(segments);
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        if segments > 0 {
            self.delivered_at = now;
        }
        let Newest { place: (sent_at, _), stamp } = self.newest.take()?;
        self.first_sent_at = sent_at;
        let send_us = between_us(stamp.first_sent_at, sent_at);
        let interval_us = send_us.max(between_us(stamp.delivered_at, now));
        let min_rtt_us = min_rtt.map_or(u64::MAX, |rtt| rtt.as_ns() / 1000);
        (interval_us >= min_rtt_us.max(1)).then_some(DeliveryRate {
            prior_delivered: stamp.delivered,
            segments: self.delivered - stamp.delivered,
            interval_us,
            is_app_limited: stamp.is_app_limited,
        })
    }
}

/// The time between two moments by a clock of microseconds (`tcp_stamp_us_delta`).
const fn between_us(earlier: Time, later: Time) -> u64 {
    later.as_us().saturating_sub(earlier.as_us())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    const fn at_ms(ms: u64) -> Time {
        Time::from_ps(ms * 1_000_000_000)
    }

    /// A sampler with its queue of sent segments.
    struct Sender {
        sampler: RateSampler,
        sent: SentSegments,
        next: u64,
    }

    impl Sender {
        fn new() -> Self {
            let sampler = RateSampler::new(Time::ZERO, 0);
            Self { sampler, sent: SentSegments::default(), next: 1 }
        }

        fn send(&mut self, ms: u64) {
            self.sampler.sent(at_ms(ms), self.sent.is_empty());
            self.sent.push(SentSegment::fresh(self.next, MSS, at_ms(ms)));
            self.next += u64::from(MSS);
        }

        /// Acknowledges `segments` segments in order.
        fn acknowledge(&mut self, ms: u64, segments: u32) -> Option<DeliveryRate> {
            let una = self.sent.iter().next().expect("something is outstanding").start;
            let ack = una + u64::from(segments * MSS);
            self.sampler.acknowledged(&self.sent, ack);
            self.sent.acknowledge(ack);
            self.sampler.sample(at_ms(ms), segments, Some(Duration::from_ms(10)))
        }
    }

    /// (segments, interval in ms, application-limited)
    fn found(rate: Option<DeliveryRate>) -> Option<(u64, u64, bool)> {
        rate.map(|rate| (rate.segments, rate.interval_us / 1000, rate.is_app_limited))
    }

    #[test]
    fn a_sample_counts_from_the_last_delivery_before_the_segment() {
        let mut sender = Sender::new();
        for ms in 0..5 {
            sender.send(ms);
        }
        assert_eq!(found(sender.acknowledge(10, 1)), Some((1, 10, false)));
        sender.send(10);
        // Segments 2 to 5, sent before anything had arrived.
        assert_eq!(found(sender.acknowledge(15, 4)), Some((5, 15, false)));
        // Segment 6 was sent at 10 ms, when one had arrived: 5 since then, in 20 - 10 ms.
        assert_eq!(found(sender.acknowledge(20, 1)), Some((5, 10, false)));
    }

    #[test]
    fn the_longer_of_both_phases_counts() {
        let mut sender = Sender::new();
        for ms in [0, 0, 10, 30] {
            sender.send(ms);
        }
        // Nothing had arrived before: both phases begin at 0 ms. They last until the transmission at
        // 30 ms and until 40 ms.
        assert_eq!(found(sender.acknowledge(40, 3)), Some((3, 40, false)));
        sender.send(41);
        assert_eq!(found(sender.acknowledge(43, 1)), Some((4, 43, false)));
        // Sent at 41 ms after the third segment of 10 ms: 31 ms. Since the delivery at 40 ms, only 12
        // ms have passed.
        assert_eq!(found(sender.acknowledge(52, 1)), Some((2, 31, false)));
    }

    #[test]
    fn an_interval_below_the_minimum_round_trip_time_is_no_sample() {
        let mut sender = Sender::new();
        sender.send(0);
        assert_eq!(found(sender.acknowledge(9, 1)), None);
        sender.send(20);
        assert_eq!(found(sender.acknowledge(30, 1)), Some((1, 10, false)));
    }

    #[test]
    fn a_retransmission_is_stamped_anew() {
        let mut sender = Sender::new();
        for _ in 0..3 {
            sender.send(0);
        }
        assert_eq!(found(sender.acknowledge(10, 1)), Some((1, 10, false)));
        sender.sent.lose_oldest();
        sender.sent.retransmit_next(at_ms(30)).expect("it is lost");
        sender.sampler.sent_again(1);
        // Sent again after the delivery at 10 ms, so only the two count, in 42 - 10 ms.
        assert_eq!(found(sender.acknowledge(42, 2)), Some((2, 32, false)));
    }

    #[test]
    fn a_sacked_segment_counts_once() {
        let mut sender = Sender::new();
        for _ in 0..2 {
            sender.send(0);
        }
        let second = *sender.sent.iter().nth(1).expect("two were sent");
        sender.sampler.sacked(1, &second);
        let sample = sender.sampler.sample(at_ms(10), 1, Some(Duration::from_ms(10)));
        assert_eq!(found(sample), Some((1, 10, false)));
        // Its own acknowledgment is no second arrival: the first segment is the newest one.
        let sample = sender.acknowledge(20, 2);
        assert_eq!(sample.map(|rate| rate.prior_delivered), Some(1));
    }

    #[test]
    fn segments_sent_until_the_bubble_has_passed_are_application_limited() {
        let mut sender = Sender::new();
        sender.send(0);
        sender.send(0);
        // Two are in flight and nothing more is there to send.
        sender.sampler.limit(2);
        sender.send(5);
        assert_eq!(found(sender.acknowledge(10, 2)), Some((2, 10, false)), "sent before");
        assert!(sender.sampler.is_app_limited(), "the third one is still on the way");
        assert_eq!(found(sender.acknowledge(15, 1)), Some((3, 15, true)));
        assert!(!sender.sampler.is_app_limited(), "three are more than the two");
        sender.send(20);
        assert_eq!(found(sender.acknowledge(30, 1)), Some((1, 10, false)));
    }
}
