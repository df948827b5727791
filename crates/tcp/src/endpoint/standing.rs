//! Why an endpoint sends no more now, and for how long each reason has lasted.
//!
//! The host asks once at the end of each opportunity to send ([`Endpoint::note_standing`]). The
//! reasons are checked in the order of Linux (`tcp_write_xmit`, `tcp_cwnd_validate` in
//! `net/ipv4/tcp_output.c`): the congestion window, the peer's window and the send buffer, deferral
//! for segmentation offload, the small queue. While a burst is deferred, the smaller of the two
//! windows is the reason (`tcp_tso_should_defer`).
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

    /// Moves the time from `armed_at` to `now` to [`Standing::Timer`]; what is older than the kept
    /// intervals stays.
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
        if repeats {
            return Standing::OwnInterface;
        }
        if self.new_data_len().is_none() {
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
