//! One direction of the path between the ends: a rate, a delay, and the fates of segments.

use std::collections::{BTreeMap, VecDeque};

use netstudy_tcp::{Ecn, Segment};
use netstudy_units::{Duration, Rate, Time};

use super::Pick;

/// The fate of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrives,
    Lost,
    /// It arrives, marked if it is subject to marks.
    Marked,
    /// It arrives that much later.
    Late(Duration),
    /// It arrives right behind this many later segments.
    Behind(u32),
    /// It arrives, and a copy that much later.
    Twice(Duration),
}

/// The sender's interface: a FIFO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    rate: Option<Rate>,
    /// The last segment has left by then.
    free_at: Time,
}

impl Interface {
    /// When a segment that is sent at `now` has left.
    pub(crate) fn send(&mut self, now: Time, segment: &Segment) -> Time {
        let took = self.rate.map_or(Duration::ZERO, |rate| rate.serialization(segment.ip_bytes()));
        self.free_at = self.free_at.max(now) + took;
        self.free_at
    }
}

pub(crate) struct Path {
    delay: Duration,
    pub(crate) interface: Interface,
    pub(crate) cut: bool,
    rules: Vec<(Pick, Fate)>,
    fates: VecDeque<Fate>,
    /// Segments on the way, by arrival and then by order of sending.
    flight: BTreeMap<(Time, u64), Segment>,
    held: Vec<(u32, Segment)>,
    carried: u64,
    last_trouble: Time,
}

impl Path {
    pub(crate) fn new(delay: Duration, rate: Option<Rate>) -> Self {
        Self {
            delay,
            interface: Interface { rate, free_at: Time::ZERO },
            cut: false,
            rules: Vec::new(),
            fates: VecDeque::new(),
            flight: BTreeMap::new(),
            held: Vec::new(),
            carried: 0,
            last_trouble: Time::ZERO,
        }
    }

    pub(crate) fn set_fate(&mut self, pick: Pick, fate: Fate) {
        self.rules.push((pick, fate));
    }

    pub(crate) fn set_fates(&mut self, fates: impl IntoIterator<Item = Fate>) {
        self.fates = fates.into_iter().collect();
    }

    /// Fates of segments that were never sent.
    pub(crate) fn unused_rules(&self) -> &[(Pick, Fate)] {
        &self.rules
    }

    pub(crate) const fn last_trouble(&self) -> Time {
        self.last_trouble
    }

    pub(crate) fn next_arrival(&self) -> Time {
        self.flight.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at)
    }

    /// The next segment that has arrived by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Segment> {
        if self.next_arrival() > now {
            return None;
        }
        self.flight.pop_first().map(|(_, segment)| segment)
    }

    /// Takes a segment at `now`; returns its fate, and when it has left the sender.
    pub(crate) fn send(&mut self, now: Time, pick: Pick, segment: &Segment) -> (Fate, Time) {
        let fate = self.fate_of(now, pick);
        let left_at = self.interface.send(now, segment);
        let arrival = left_at + self.delay;
        match fate {
            Fate::Arrives => self.fly(arrival, segment),
            Fate::Lost => {}
            Fate::Marked => {
                let ecn = if segment.ecn == Ecn::Ect0 { Ecn::Ce } else { segment.ecn };
                self.fly(arrival, &Segment { ecn, ..*segment });
            }
            Fate::Late(span) => self.fly(arrival + span, segment),
            Fate::Behind(count) => {
                self.held.push((count + 1, *segment));
            }
            Fate::Twice(span) => {
                self.fly(arrival, segment);
                self.fly(arrival + span, segment);
            }
        }
        self.release_held(arrival);
        (fate, left_at)
    }

    fn fate_of(&mut self, now: Time, pick: Pick) -> Fate {
        if self.cut {
            return Fate::Lost;
        }
        if let Some(rule) = self.rules.iter().position(|(rule, _)| *rule == pick) {
            return self.rules.swap_remove(rule).1;
        }
        let fate = self.fates.pop_front();
        if fate.is_some() {
            self.last_trouble = now;
        }
        fate.unwrap_or(Fate::Arrives)
    }

    fn fly(&mut self, arrival: Time, segment: &Segment) {
        self.carried += 1;
        self.flight.insert((arrival, self.carried), *segment);
    }

    /// One more segment was sent: held segments that waited for it arrive right behind it.
    fn release_held(&mut self, arrival: Time) {
        for (count, _) in &mut self.held {
            *count -= 1;
        }
        for (_, segment) in self.held.extract_if(.., |(count, _)| *count == 0).collect::<Vec<_>>() {
            self.fly(arrival, &segment);
        }
    }
}
