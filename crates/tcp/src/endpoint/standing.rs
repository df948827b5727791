//! Why an endpoint sends no more now, and for how long each reason has lasted.
//!
//! The host asks once at the end of each opportunity to send ([`Endpoint::note_standing`]). The
//! reasons are checked in the order of Linux (`tcp_write_xmit`, `tcp_cwnd_validate` in
//! `net/ipv4/tcp_output.c`): the congestion window, the peer's window and the send buffer, deferral
//! for segmentation offload, the small queue. While a burst is deferred, the smaller of the two
//! windows is the reason (`tcp_tso_should_defer`). Pacing counts as the congestion window: both are
//! the decision of the congestion control.
//!
//! That a timer was the reason is known only when it fires: the time since it was armed was booked
//! under other reasons by then, and is moved ([`SenderClock::rebook`]). So a time that was read in
//! between must be read again; for this purpose, the last intervals are kept.

use core::ops::{Index, IndexMut};

use netstudy_units::{Duration, Time};

use super::Endpoint;
use crate::recovery;
use crate::recovery::algorithm::Phase;

/// Why an endpoint sends no more now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// There is nothing to send, and nothing is outstanding.
    #[default]
    Idle,
    /// Everything written is sent, and its acknowledgment is awaited. The same holds for a SYN and
    /// for a FIN, so the opening of a connection counts here.
    Sent,
    /// The peer's window has no room.
    PeerWindow,
    /// The send buffer has no room. Here an application may write more than the buffer holds, and
    /// the rest waits for room.
    OwnBuffer,
    /// The congestion window has no room, and loss recovery did not set it.
    CongestionWindow,
    /// Loss recovery, fast or after a timeout, lets no more segments into the network.
    Recovery,
    /// Too much data waits in the sending host (small queue).
    OwnInterface,
    /// A retransmission timeout or a tail loss probe has ended the wait, which counts from when its
    /// timer was armed.
    Timer,
}

impl Standing {
    /// Number of reasons.
    const COUNT: usize = 8;
}

/// For how long each [`Standing`] has lasted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderTimes([Duration; Standing::COUNT]);

impl SenderTimes {
    /// The sum of all.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, &one| sum + one)
    }
}

impl Index<Standing> for SenderTimes {
    type Output = Duration;

    fn index(&self, standing: Standing) -> &Duration {
        &self.0[standing as usize]
    }
}

impl IndexMut<Standing> for SenderTimes {
    fn index_mut(&mut self, standing: Standing) -> &mut Duration {
        &mut self.0[standing as usize]
    }
}

/// An interval that has ended. It lasted until the next one began.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    from: Time,
    standing: Standing,
}

/// Number of intervals that are kept. It is a power of two. An acknowledgment of new data arms the
/// timer again, so only the few changes since then matter to a timeout.
const KEPT: usize = 32;

/// The times of an endpoint by their reasons.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderClock {
    standing: Standing,
    /// Since when.
    since: Time,
    /// All times before `since`.
    spent: SenderTimes,
    /// The intervals before `since`; `ended` is the number of all so far, modulo 256.
    recent: [Interval; KEPT],
    ended: u8,
    kept: u8,
}

impl SenderClock {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn note(&mut self, now: Time, standing: Standing) {
        if standing != self.standing {
            self.end_interval(now);
            self.standing = standing;
        }
    }

    #[inline(never)]
    fn end_interval(&mut self, now: Time) {
        debug_assert!(now >= self.since, "a host handles its events in the order of time");
        if now > self.since {
            self.spent[self.standing] = self.spent[self.standing] + now.since(self.since);
            self.keep(Interval { from: self.since, standing: self.standing });
            self.since = now;
        }
    }

    fn keep(&mut self, interval: Interval) {
        self.recent[usize::from(self.ended) % KEPT] = interval;
        self.ended = self.ended.wrapping_add(1);
        self.kept = (self.kept + 1).min(KEPT as u8);
    }

    /// A kept interval; 1 is the newest.
    const fn ended_before(&self, back: u8) -> Interval {
        self.recent[self.ended.wrapping_sub(back) as usize % KEPT]
    }

    /// Moves the time from `armed_at` to `now` to [`Standing::Timer`]. Intervals that are no longer
    /// kept stay as they are.
    #[cold]
    fn rebook(&mut self, now: Time, armed_at: Time) {
        self.end_interval(now);
        let mut from = now;
        while self.kept > 0 && from > armed_at {
            let newest = self.ended_before(1);
            let part = from.since(newest.from.max(armed_at));
            self.spent[newest.standing] = self.spent[newest.standing] - part;
            self.spent[Standing::Timer] = self.spent[Standing::Timer] + part;
            from = newest.from.max(armed_at);
            if newest.from >= armed_at {
                self.ended = self.ended.wrapping_sub(1);
                self.kept -= 1;
            }
        }
        if from < now {
            self.keep(Interval { from, standing: Standing::Timer });
        }
    }

    /// The times up to `at`, which must be later than the start of the oldest kept interval.
    fn at(&self, at: Time) -> SenderTimes {
        let mut times = self.spent;
        times[self.standing] = times[self.standing] + at.since(self.since);
        let mut until = self.since;
        for interval in (1..=self.kept).map(|back| self.ended_before(back)) {
            if until <= at {
                break;
            }
            let later = until.since(interval.from.max(at));
            times[interval.standing] = times[interval.standing] - later;
            until = interval.from;
        }
        times
    }
}

impl Endpoint {
    /// Books the time since the last call, and notes why nothing more is sent at `now`. Must follow
    /// the last [`Self::poll_transmit`] after an event.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn note_standing(&mut self, now: Time) {
        let standing = self.standing();
        self.clock.note(now, standing);
    }

    /// Why nothing more was sent after the last event.
    #[must_use]
    pub const fn noted_standing(&self) -> Standing {
        self.clock.standing
    }

    /// For how long, from the start of the run to `at`, each reason has kept this endpoint from
    /// sending. `at` may be somewhat earlier than the last event.
    #[must_use]
    pub fn sender_times(&self, at: Time) -> SenderTimes {
        self.clock.at(at)
    }

    /// Lets the times of an earlier connection of the same end go on.
    #[must_use]
    pub fn with_times_of(self, earlier: &Self) -> Self {
        Self { clock: earlier.clock, ..self }
    }

    /// Since when the timer has been running that determines the next timeout. The start of the run
    /// is the earliest, [`Time::NEVER`] or almost so if no timer runs.
    #[must_use]
    pub fn timer_armed_at(&self) -> Time {
        recovery::timer_armed_at(self)
    }

    /// A timer that was armed at `armed_at` makes this endpoint send at `now`.
    pub(crate) fn waited_for_timer(&mut self, now: Time, armed_at: Time) {
        self.clock.rebook(now, armed_at);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn standing(&self) -> Standing {
        let has_news = self.snd_nxt < self.write_end && self.is_open();
        let repeats = self.sent.may_retransmit();
        if !has_news && !repeats {
            return if self.sent.is_empty() { Standing::Idle } else { Standing::Sent };
        }
        if self.is_window_full() || (repeats && self.recovery.holds_retransmissions) {
            return match self.phase {
                Phase::Open | Phase::Disorder => Standing::CongestionWindow,
                Phase::Recovery | Phase::Loss => Standing::Recovery,
            };
        }
        if self.holds_for_pace() {
            return Standing::CongestionWindow;
        }
        if repeats {
            return Standing::OwnInterface;
        }
        if self.new_data_len().is_none() {
            if self.waits_by_nagle() {
                return Standing::Sent;
            }
            let is_buffer = u64::from(self.config.send_buffer_bytes) <= self.snd_wnd;
            return if is_buffer { Standing::OwnBuffer } else { Standing::PeerWindow };
        }
        if !self.defers {
            return Standing::OwnInterface;
        }
        if self.is_congestion_window_smaller() {
            Standing::CongestionWindow
        } else {
            Standing::PeerWindow
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::receive::tests::CONFIG;
    use super::*;
    use crate::{Config, Flags, Recovery, Segment};

    const SERVER: Config = CONFIG;
    const MSS: u64 = 1000;

    const fn at_ms(ms: u64) -> Time {
        Time::from_ps(ms * 1_000_000_000)
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_ms(ms)
    }

    /// Sends everything that is due. All of it stays in the host if that matters to the endpoint.
    fn pump(end: &mut Endpoint, now: Time) {
        while let Some(segment) = end.poll_transmit(now) {
            end.handed_over(now, segment.len, Time::NEVER);
        }
        end.note_standing(now);
    }

    /// The end of an open connection, at the start of the run. Its peer grants 20 segments.
    fn open(config: Config) -> Endpoint {
        let (mut client, mut server) = (Endpoint::connect(config), Endpoint::listen(SERVER));
        let now = Time::ZERO;
        let syn = client.poll_transmit(now).expect("a SYN");
        server.handle_segment(now, &syn);
        let syn_ack = server.poll_transmit(now).expect("a SYN-ACK");
        client.handle_segment(now, &syn_ack);
        pump(&mut client, now);
        client
    }

    fn write(end: &mut Endpoint, now: Time, segments: u64) {
        end.write(now, segments * MSS);
        pump(end, now);
    }

    /// An acknowledgment of the first segments; the peer reads at once.
    fn acknowledge(end: &mut Endpoint, now: Time, segments: u64) {
        let ack = 1 + segments * MSS;
        let window = SERVER.receive_buffer_bytes as u16;
        let flags = Flags::ACK;
        end.handle_segment(now, &Segment { seq: 1, ack, window, flags, ..Segment::default() });
        pump(end, now);
    }

    /// Lets the timer fire that is due first.
    fn wait(end: &mut Endpoint) -> Time {
        let now = end.next_timeout();
        end.handle_timeout(now);
        pump(end, now);
        now
    }

    fn initial_window(segments: u32) -> Config {
        Config { initial_window_segments: Some(segments), sack: false, ..CONFIG }
    }

    fn offload(segments: u32) -> Config {
        Config { offload_bytes: 64_000, ..initial_window(segments) }
    }

    #[test]
    fn an_opening_connection_awaits_an_acknowledgment() {
        let mut end = Endpoint::connect(CONFIG);
        end.write(Time::ZERO, MSS);
        pump(&mut end, Time::ZERO);
        assert_eq!(end.standing(), Standing::Sent);
    }

    #[test]
    fn an_end_that_listens_is_idle() {
        assert_eq!(Endpoint::listen(CONFIG).standing(), Standing::Idle);
    }

    #[test]
    fn a_connection_is_idle_until_data_is_written_and_after_it_is_acknowledged() {
        let mut end = open(CONFIG);
        assert_eq!(end.standing(), Standing::Idle);
        write(&mut end, at_ms(1), 2);
        assert_eq!(end.standing(), Standing::Sent);
        acknowledge(&mut end, at_ms(5), 2);
        assert_eq!(end.standing(), Standing::Idle);
        let times = end.sender_times(at_ms(8));
        assert_eq!([times[Standing::Idle], times[Standing::Sent]], [ms(4), ms(4)]);
    }

    #[test]
    fn a_fin_is_outstanding_like_data() {
        let mut end = open(CONFIG);
        end.close();
        pump(&mut end, at_ms(1));
        assert_eq!(end.standing(), Standing::Sent);
    }

    #[test]
    fn the_smallest_of_three_windows_is_the_reason() {
        let standing_with = |segments, send_buffer_bytes| {
            let mut end = open(Config { send_buffer_bytes, ..initial_window(segments) });
            write(&mut end, at_ms(1), 60);
            end.standing()
        };
        assert_eq!(standing_with(10, 100_000), Standing::CongestionWindow);
        assert_eq!(standing_with(40, 100_000), Standing::PeerWindow);
        assert_eq!(standing_with(40, 10_000), Standing::OwnBuffer);
    }

    #[test]
    fn a_full_congestion_window_comes_before_an_equal_window_of_the_peer() {
        let mut end = open(initial_window(20));
        write(&mut end, at_ms(1), 60);
        assert_eq!(end.standing(), Standing::CongestionWindow);
    }

    #[test]
    fn a_shut_window_of_the_peer_stays_the_reason_while_it_is_probed() {
        let mut end = open(initial_window(40));
        write(&mut end, at_ms(1), 60);
        let shut = Segment { seq: 1, ack: 20_001, flags: Flags::ACK, ..Segment::default() };
        end.handle_segment(at_ms(2), &shut);
        pump(&mut end, at_ms(2));
        let now = wait(&mut end);
        assert_eq!(end.standing(), Standing::PeerWindow);
        assert_eq!(end.sender_times(now)[Standing::Timer], Duration::ZERO);
    }

    #[test]
    fn a_deferred_burst_waits_for_the_smaller_window() {
        for (segments, standing) in [(10, Standing::CongestionWindow), (40, Standing::PeerWindow)] {
            let mut end = open(offload(segments));
            write(&mut end, at_ms(1), 60);
            let before = end.counters().segments_sent;
            acknowledge(&mut end, at_ms(9), 1);
            assert_eq!(end.counters().segments_sent, before, "the burst is deferred");
            assert_eq!(end.standing(), standing);
        }
    }

    #[test]
    fn data_waits_for_the_own_interface() {
        let mut end = open(Config { limit_output_bytes: 6_000, ..initial_window(40) });
        write(&mut end, at_ms(1), 60);
        assert_eq!(end.standing(), Standing::OwnInterface);
    }

    #[test]
    fn loss_recovery_holds_data_back() {
        let mut end = open(initial_window(10));
        write(&mut end, at_ms(1), 60);
        acknowledge(&mut end, at_ms(8), 1);
        for _ in 0..3 {
            acknowledge(&mut end, at_ms(9), 1);
        }
        assert_eq!(end.counters().fast_recoveries, 1);
        assert_eq!(end.standing(), Standing::Recovery);
    }

    #[test]
    fn the_wait_for_a_timeout_counts_from_when_its_timer_was_armed() {
        let mut end = open(initial_window(10));
        write(&mut end, at_ms(10), 60);
        acknowledge(&mut end, at_ms(20), 2);
        let armed_at = end.timer_armed_at();
        assert_eq!(armed_at, at_ms(20));
        acknowledge(&mut end, at_ms(25), 2);
        let first = wait(&mut end);
        let second = wait(&mut end);
        let times = end.sender_times(second);
        assert_eq!(end.counters().timeouts, 2);
        assert_eq!(times[Standing::Timer], second.since(armed_at));
        assert_eq!([times[Standing::Idle], times[Standing::CongestionWindow]], [ms(10), ms(10)]);
        let times = end.sender_times(first);
        assert_eq!(times[Standing::Timer], first.since(armed_at), "read afterwards");
    }

    #[test]
    fn the_wait_for_a_tail_loss_probe_is_one_for_a_timer() {
        let recovery = Recovery::Prr { rack: true, tail_loss_probe: true };
        let mut end = open(Config { recovery, ..CONFIG });
        write(&mut end, at_ms(10), 2);
        acknowledge(&mut end, at_ms(20), 1);
        let now = wait(&mut end);
        assert_eq!((end.counters().loss_probes, end.counters().timeouts), (1, 0));
        assert_eq!(end.sender_times(now)[Standing::Timer], now.since(at_ms(20)));
    }

    #[test]
    fn the_next_connection_of_an_end_goes_on_with_its_times() {
        let mut end = open(CONFIG);
        write(&mut end, at_ms(1), 2);
        let mut next = Endpoint::connect(CONFIG).with_times_of(&end);
        pump(&mut next, at_ms(3));
        let times = next.sender_times(at_ms(7));
        assert_eq!([times[Standing::Idle], times[Standing::Sent]], [ms(1), ms(6)]);
    }

    #[test]
    fn times_are_also_known_before_the_last_events() {
        let mut clock = SenderClock::default();
        for number in 1..100 {
            let standing = if number % 2 == 0 { Standing::Idle } else { Standing::Sent };
            clock.note(at_ms(number), standing);
        }
        for back in 0..KEPT as u64 {
            let at = at_ms(99 - back);
            let times = clock.at(at);
            assert_eq!(times.total(), at.since(Time::ZERO));
            assert_eq!(times[Standing::Sent], ms((99 - back) / 2));
        }
    }

    #[test]
    fn intervals_that_are_no_longer_kept_are_not_moved_to_the_timer() {
        let mut clock = SenderClock::default();
        for number in 1..100 {
            let standing = if number % 2 == 0 { Standing::Idle } else { Standing::Sent };
            clock.note(at_ms(number), standing);
        }
        clock.rebook(at_ms(100), Time::ZERO);
        let times = clock.at(at_ms(100));
        assert_eq!(times[Standing::Timer], ms(KEPT as u64));
        assert_eq!(times.total(), ms(100));
    }
}
