//! Pacing: segments leave at the rate of the congestion control instead of in bursts
//! (`net/ipv4/tcp_output.c` of Linux: `tcp_update_skb_after_send`, `tcp_pacing_check`).
//!
//! The units are packets, that is, bursts of segmentation offload or single segments. A packet may
//! leave when the packets before it have had their time at the rate. After a late packet, up to half
//! of the next packet's time is made up. New data and retransmissions are paced; tail loss probes
//! leave at once.

use alloc::boxed::Box;

use netstudy_units::{Duration, Time};

use super::Endpoint;
use super::rate_sample::RateSampler;
use crate::recovery::algorithm::Phase;
use crate::{Account, Congestion, CongestionControl, DeliveryRate, Model, RateSample, Repair};

/// Data segments are paced from this one on (`tcp_update_skb_after_send`: a literal there, as `sch_fq`
/// did it).
const UNPACED_SEGMENTS: u32 = 10;
/// Picoseconds in a second.
pub(super) const PS_PER_S: u128 = 1_000_000_000_000;

/// The state of an endpoint for a congestion control that sets the window itself.
#[derive(Clone, Debug)]
pub(crate) struct Paced {
    pub(crate) rates: RateSampler,
    pacer: Pacer,
}

/// When packets may leave.
#[derive(Clone, Copy, Debug)]
struct Pacer {
    /// When the next packet may leave (`tcp_wstamp_ns`).
    next: Time,
    /// When the newest packet left.
    packet_at: Time,
    /// When it was due to leave or left, whichever is later: its time at the rate begins then. Only
    /// a packet that is not paced leaves before it is due.
    packet_from: Time,
    /// Bytes of the newest packet so far.
    packet_bytes: u64,
    /// How late the newest packet was.
    late: Duration,
    /// The next segment begins a packet.
    begins: bool,
    /// Data segments sent, up to [`UNPACED_SEGMENTS`].
    segments: u32,
    /// A packet waits.
    holds: bool,
}

impl Pacer {
    const fn new(now: Time) -> Self {
        Self {
            next: now,
            packet_at: now,
            packet_from: now,
            packet_bytes: 0,
            late: Duration::ZERO,
            begins: true,
            segments: 0,
            holds: false,
        }
    }

    /// A segment with `len` bytes of data leaves at `now`, at a rate in bytes per second. One
    /// without data, such as a FIN, takes no time.
    fn charge(&mut self, now: Time, len: u32, bytes_per_s: u64) {
        if len == 0 {
            return;
        }
        if self.begins || now > self.packet_at {
            self.late = now.since(self.next.min(now));
            self.packet_at = now;
            self.packet_from = self.next.max(now);
            self.next = self.packet_from;
            self.packet_bytes = 0;
            self.begins = false;
        }
        self.packet_bytes += u64::from(len);
        self.segments = (self.segments + 1).min(UNPACED_SEGMENTS);
        if self.segments == UNPACED_SEGMENTS && bytes_per_s > 0 {
            let ps = u128::from(self.packet_bytes) * PS_PER_S / u128::from(bytes_per_s);
            let span = Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX >> 8));
            self.next = self.packet_from + (span - self.late.min(span.div(2)));
        }
    }
}

impl Paced {
    /// Creates the state of a connection that opens at `now`. Its next segment has the number
    /// `first`.
    fn new(now: Time, first: u64) -> Self {
        Self { rates: RateSampler::new(now, first), pacer: Pacer::new(now) }
    }

    /// When the packet that pacing holds back may leave; [`Time::NEVER`] if it holds none back.
    pub(super) const fn resumes_at(&self) -> Time {
        if self.pacer.holds { self.pacer.next } else { Time::NEVER }
    }

    /// Stops holding packets back, because it is time to look again.
    pub(super) const fn resume(&mut self) {
        self.pacer.holds = false;
    }
}

impl Endpoint {
    /// Begins to pace and to measure, if the congestion control of the connection, which opens at
    /// `now`, needs it.
    pub(super) fn begin_pacing(&mut self, now: Time) {
        if !self.congestion.owns_window() {
            return;
        }
        debug_assert!(self.sent.is_empty(), "segments without stamps are outstanding");
        let paced = Paced::new(now, self.sent.first);
        let account = self.account(now, &paced.rates);
        self.congestion.on_open(&account, &self.window);
        self.paced = Some(Box::new(paced));
    }

    fn account(&self, now: Time, rates: &RateSampler) -> Account {
        Account {
            now,
            delivered: rates.delivered(),
            delivered_at: rates.delivered_at(),
            lost: self.sent.losses(),
            mss_bytes: self.mss,
            srtt: self.rtt.srtt(),
        }
    }

    /// The delivery so far, on a connection that is paced.
    pub(crate) fn delivery_account(&self, now: Time) -> Option<Account> {
        self.paced.as_ref().map(|paced| self.account(now, &paced.rates))
    }

    // ---- sending

    /// Whether the next packet has to wait until the pacing rate lets it leave.
    pub(super) fn is_paced_until_later(&mut self, now: Time) -> bool {
        let Some(paced) = &mut self.paced else { return false };
        let holds = paced.pacer.next > now;
        paced.pacer.holds = holds;
        paced.pacer.begins |= !holds;
        if holds {
            self.plan_wake();
        }
        holds
    }

    /// When the last segment was sent; on a paced connection, when the next packet may leave
    /// (`tcp_wstamp_ns`).
    pub(super) fn last_departure(&self) -> Time {
        self.paced.as_ref().map_or(self.last_sent_at, |paced| paced.pacer.next)
    }

    /// Whether pacing holds a packet back.
    pub(super) fn holds_for_pace(&self) -> bool {
        self.paced.as_ref().is_some_and(|paced| paced.pacer.holds)
    }

    /// The rate at which data is sent, in bytes of payload per second; none without pacing.
    #[must_use]
    pub fn pacing_bytes_per_s(&self) -> Option<u64> {
        self.paced.as_ref().map(|_| self.congestion.pacing_bytes_per_s())
    }

    /// The model of the path, if the congestion control is BBR and the connection has opened.
    #[must_use]
    pub fn model(&self) -> Option<Model> {
        let Congestion::Bbr(bbr) = &self.congestion else { return None };
        self.paced.as_ref().map(|_| bbr.model(self.mss))
    }

    /// The application writes: notes whether it has kept the network waiting
    /// (`tcp_rate_check_app_limited`).
    #[inline(never)]
    pub(super) fn judge_supply(&mut self, now: Time) {
        let is_limited = self.unsent() < u64::from(self.mss)
            && self.bytes_below(now) == 0
            && !self.is_window_full()
            && self.sent.lost() <= self.sent.retransmitted();
        let in_flight = self.in_flight();
        if let Some(paced) = &mut self.paced
            && is_limited
        {
            paced.rates.limit(in_flight);
        }
    }

    /// Stamps the newest segment, which is sent at `now` for the first time.
    #[inline(never)]
    pub(crate) fn stamp_fresh(&mut self, now: Time, len: u32) {
        // The segment is in the queue already.
        let (was_in_flight, is_alone) = (self.in_flight() > 1, self.sent.len() == 1);
        if !was_in_flight {
            self.start_again(now);
        }
        let rate = self.congestion.pacing_bytes_per_s();
        if let Some(paced) = &mut self.paced {
            paced.rates.sent(now, is_alone);
            paced.pacer.charge(now, len, rate);
        }
    }

    fn start_again(&mut self, now: Time) {
        let Some(paced) = &self.paced else { return };
        if paced.rates.is_app_limited() {
            let account = self.account(now, &paced.rates);
            self.congestion.on_start(&account, &mut self.window);
        }
    }

    /// Stamps the segment that starts at `start`, which is sent again at `now`.
    #[inline(never)]
    pub(crate) fn stamp_again(&mut self, now: Time, start: u64, len: u32) {
        let number = self.sent.number_of(start);
        let rate = self.congestion.pacing_bytes_per_s();
        if let Some(paced) = &mut self.paced {
            paced.pacer.begins = true;
            paced.rates.sent_again(number);
            paced.pacer.charge(now, len, rate);
        }
    }

    // ---- acknowledgments

    /// Lets the congestion control set the window and the rate after an acknowledgment
    /// (`tcp_rate_gen`, `tcp_cong_control`). This function completes the sample: it adds the rate
    /// and the state of the connection to the properties of the acknowledgment.
    pub(crate) fn control_by_rate(&mut self, now: Time, of_ack: OfAck) {
        let min_rtt = self.recovery.min_rtt();
        let Some(paced) = &mut self.paced else { return };
        let rate = paced.rates.sample(now, of_ack.acked, min_rtt);
        let (delivered, paced_until) = (paced.rates.delivered(), paced.pacer.next);
        let is_alone = |rate: DeliveryRate| rate.prior_delivered + 1 == delivered;
        let Some(account) = self.delivery_account(now) else { return };
        let in_flight = self.in_flight();
        let sample = RateSample {
            account,
            rate,
            acked: of_ack.acked,
            losses: of_ack.losses,
            prior_in_flight: of_ack.prior_in_flight,
            in_flight,
            rtt: of_ack.rtt,
            is_ack_delayed: of_ack.may_be_delayed && rate.is_some_and(is_alone),
            repair: match self.phase {
                Phase::Open | Phase::Disorder => Repair::None,
                Phase::Recovery => Repair::Recovery,
                Phase::Loss => Repair::Loss,
            },
            paced_until,
        };
        let limits = self.congestion.on_sample(&sample, &mut self.window);
        if let Some(paced) = &mut self.paced
            && limits
        {
            paced.rates.limit(in_flight);
        }
    }
}

/// The properties of an acknowledgment that a sample needs; see [`RateSample`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfAck {
    pub(crate) acked: u32,
    pub(crate) losses: u32,
    pub(crate) prior_in_flight: u32,
    pub(crate) rtt: Option<Duration>,
    /// True if the acknowledgment is for a single short segment in order, so that the receiver may
    /// have delayed it. This is not all of `FLAG_ACK_MAYBE_DELAYED` (`tcp_clean_rtx_queue`), which
    /// also needs that nothing else was delivered since the segment was sent.
    pub(crate) may_be_delayed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at_us(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    /// A pacer that has sent its unpaced segments, so that the next packet may leave at 0.
    fn pacer() -> Pacer {
        Pacer { segments: UNPACED_SEGMENTS, ..Pacer::new(Time::ZERO) }
    }

    #[test]
    fn a_packet_takes_its_time_at_the_rate() {
        let mut pacer = pacer();
        // 1500 B at 1.5 MB/s take a millisecond.
        pacer.charge(Time::ZERO, 1500, 1_500_000);
        assert_eq!(pacer.next, at_us(1000));
        pacer.charge(at_us(1000), 1500, 1_500_000);
        assert_eq!(pacer.next, at_us(2000));
    }

    #[test]
    fn the_segments_of_a_burst_leave_together() {
        let mut pacer = pacer();
        for _ in 0..4 {
            pacer.charge(Time::ZERO, 1500, 1_500_000);
        }
        assert_eq!(pacer.next, at_us(4000));
    }

    #[test]
    fn up_to_half_of_a_packet_is_made_up_for_a_late_one() {
        let mut pacer = pacer();
        pacer.charge(at_us(300), 1500, 1_500_000);
        assert_eq!(pacer.next, at_us(300 + 1000 - 300));
        pacer.begins = true;
        pacer.charge(at_us(9_000), 1500, 1_500_000);
        assert_eq!(pacer.next, at_us(9_000 + 500));
    }

    #[test]
    fn a_packet_that_leaves_early_adds_to_the_wait() {
        let mut pacer = pacer();
        pacer.charge(Time::ZERO, 1500, 1_500_000);
        // A tail loss probe does not wait. `tcp_wstamp_ns` is in the future, and grows by the
        // probe's 1 ms.
        pacer.charge(at_us(200), 1500, 1_500_000);
        assert_eq!(pacer.next, at_us(2000));
        // Its second segment belongs to the same packet: 2 ms after the first packet's 1 ms.
        pacer.charge(at_us(200), 1500, 1_500_000);
        assert_eq!(pacer.next, at_us(3000));
    }

    #[test]
    fn a_segment_without_data_takes_no_time_and_is_not_one_of_the_first() {
        let mut pacer = Pacer::new(Time::ZERO);
        for _ in 0..10 {
            pacer.begins = true;
            pacer.charge(at_us(9), 0, 1_500_000);
        }
        assert_eq!((pacer.next, pacer.segments), (Time::ZERO, 0));
    }

    #[test]
    fn the_first_nine_segments_are_free() {
        let mut pacer = Pacer::new(Time::ZERO);
        for _ in 0..9 {
            pacer.begins = true;
            pacer.charge(Time::ZERO, 1500, 1_500_000);
            assert_eq!(pacer.next, Time::ZERO);
        }
        pacer.begins = true;
        pacer.charge(Time::ZERO, 1500, 1_500_000);
        assert_eq!(pacer.next, at_us(1000));
    }
}
