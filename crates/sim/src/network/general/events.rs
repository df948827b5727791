use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netstudy_units::Time;

use crate::network::Frame;
use crate::network::agenda::lot;

/// Something that is to happen at a place: at a port of the switch, or at the host behind it.
///
/// Of what happens at the same time, the first kind in this list comes first; of the same kind, the
/// port with the lesser [`lot`]; at the same port, what was put down first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A frame is at the switch, to be judged.
    AtSwitch(Frame),
    /// A PAUSE frame is at the switch.
    PauseAtSwitch(u16),
    /// The host's processor has dealt with a frame.
    Processed,
    /// The host's interface has taken a frame in.
    TakenIn,
    /// A frame is at the host.
    AtHost(Frame),
    /// A PAUSE frame is at the host.
    PauseAtHost(u16),
    /// The host may have to ask again for a pause.
    RepeatPause,
    /// The host's processor begins to poll its interface.
    Poll,
    /// A segment is with the host's TCP.
    Delivered(Frame),
    /// Something may begin to leave the host.
    Start,
}

impl Event {
    const fn rank(&self) -> u8 {
        match self {
            Self::AtSwitch(_) => 0,
            Self::PauseAtSwitch(_) => 1,
            Self::Processed => 2,
            Self::TakenIn => 3,
            Self::AtHost(_) => 4,
            Self::PauseAtHost(_) => 5,
            Self::RepeatPause => 6,
            Self::Poll => 7,
            Self::Delivered(_) => 8,
            Self::Start => 9,
        }
    }
}

/// When an event is due, and what decides among those due at the same time: kind, lot of the place, and
/// when it was put down.
type Key = (Time, u8, (u32, u64), u64);

/// What is to happen, in the order of time.
#[derive(Clone, Debug)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<Entry>>,
    /// What the lots of the ports are drawn with.
    salt: u64,
    put_down: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    place: usize,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl Events {
    /// No events. The order of ports at equal times depends on `salt`.
    pub(super) const fn new(salt: u64) -> Self {
        Self { heap: BinaryHeap::new(), salt, put_down: 0 }
    }

    /// Puts down that `event` happens at `place` at the time `at`; never, if that is [`Time::NEVER`].
    pub(super) fn put(&mut self, at: Time, place: usize, event: Event) {
        if at < Time::NEVER {
            let key = (at, event.rank(), lot(at, place, self.salt), self.put_down);
            self.put_down += 1;
            self.heap.push(Reverse(Entry { key, place, event }));
        }
    }

    /// When the next event is due; [`Time::NEVER`] if there is none.
    pub(super) fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(entry)| entry.key.0)
    }

    /// Takes the next event and its place.
    pub(super) fn take(&mut self) -> Option<(usize, Event)> {
        self.heap.pop().map(|Reverse(entry)| (entry.place, entry.event))
    }

    /// Frames on the way to the switch.
    pub(super) fn frames_to_switch(&self) -> u64 {
        let to_switch = |entry: &&Reverse<Entry>| matches!(entry.0.event, Event::AtSwitch(_));
        self.heap.iter().filter(to_switch).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_at_the_same_time_come_by_kind_then_by_lot_then_as_put_down() {
        let mut events = Events::new(7);
        let at = Time::from_ps(5);
        assert!(lot(at, 1, 7) < lot(at, 2, 7));
        events.put(at, 1, Event::Start);
        events.put(at, 2, Event::PauseAtSwitch(1));
        events.put(at, 2, Event::PauseAtSwitch(2));
        events.put(at, 1, Event::PauseAtSwitch(3));
        events.put(Time::from_ps(4), 9, Event::Poll);
        events.put(Time::NEVER, 0, Event::Start);
        let mut taken = Vec::new();
        while let Some((place, event)) = events.take() {
            let quanta = if let Event::PauseAtSwitch(quanta) = event { quanta } else { 0 };
            taken.push((place, quanta));
        }
        assert_eq!(taken, [(9, 0), (1, 3), (2, 1), (2, 2), (1, 0)]);
        assert_eq!(events.next_time(), Time::NEVER);
    }
}
