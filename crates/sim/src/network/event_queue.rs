use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::hint;

use netstudy_units::Time;

/// The event queue: the sources that have a pending event, ordered by the time of the event.
///
/// Sources with equal times are ordered at random, anew for each time. A bottleneck determines when
/// the senders of its flows send, so their frames keep arriving at equal times. If the source with
/// the lowest number always came first, its frames would never find the queue full, and only the
/// other sources would have losses (Floyd and Jacobson, "On traffic phase effects in
/// packet-switched gateways", 1992). Real ports have independent clocks, so they have no such fixed
/// order.
///
/// The earliest sources are kept sorted, the others in a heap. Most sources are added at one of the
/// two ends of the sorted part: the next frame of a burst is due soon, and a frame sent upon an
/// acknowledgment is due last. Even if there are many sources, only a few have events soon, and the
/// cost depends only on these few.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    near: Near,
    /// Sources that come after all sources in `near`.
    far: BinaryHeap<Entry>,
}

/// Constants for hashing: the fractional part of the golden ratio (times 2^64), the inverse of this
/// number modulo 2^64, and another odd number with irregular bits.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const GOLDEN_INVERSE: u64 = 0xf1de_83e1_9937_733d;
const ODD: u64 = 0xd6e8_feb8_6659_fd93;

/// A source, and the time of its event. The ordering is reversed, so that the greatest entry of a
/// heap is the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: Time,
    /// The source, hashed with the salt: see [`Entry::new`] and [`Entry::source`].
    ticket: u64,
}

impl Entry {
    const fn new(time: Time, source: usize, salt: u64) -> Self {
        Self { time, ticket: (source as u64 + 1).wrapping_mul(GOLDEN) ^ salt }
    }

    const fn source(self, salt: u64) -> usize {
        ((self.ticket ^ salt).wrapping_mul(GOLDEN_INVERSE) - 1) as usize
    }

    /// Among entries with equal times, the one with the smallest key comes first.
    const fn tie_break_key(self) -> u32 {
        fold(fold(self.time.as_ps() ^ self.ticket, GOLDEN), ODD) as u32
    }

    /// Compares two entries with equal times. The keys of two sources are almost never equal.
    #[cold]
    fn draw(self, other: Self) -> Ordering {
        (other.tie_break_key(), other.ticket).cmp(&(self.tie_break_key(), self.ticket))
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match other.time.cmp(&self.time) {
            Ordering::Equal => self.draw(*other),
            different => different,
        }
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The key by which sources with equal times are ordered: the smallest key comes first.
pub(crate) const fn tie_break_key(time: Time, source: usize, salt: u64) -> (u32, u64) {
    let entry = Entry::new(time, source, salt);
    (entry.tie_break_key(), entry.ticket)
}

/// XOR of the two halves of the product of `word` and `factor`. Each bit of the result depends on
/// all bits of `word`.
const fn fold(word: u64, factor: u64) -> u64 {
    let product = word as u128 * factor as u128;
    (product >> 64) as u64 ^ product as u64
}

/// Maximum number of sources kept sorted. A power of two, so that indexing needs only a mask.
const NEAR: usize = 32;

/// The earliest sources, sorted by time.
#[derive(Clone, Debug)]
struct Near {
    /// [`Time::NEVER`] in unused places.
    times: [Time; NEAR],
    sources: [usize; NEAR],
    len: usize,
    /// Seed of the random order of sources with equal times.
    salt: u64,
}

impl Near {
    const fn new(salt: u64) -> Self {
        Self { times: [Time::NEVER; NEAR], sources: [0; NEAR], len: 0, salt }
    }

    #[inline]
    const fn set(&mut self, place: usize, source: usize, time: Time) {
        self.times[place % NEAR] = time;
        self.sources[place % NEAR] = source;
    }

    #[inline]
    const fn copy(&mut self, from: usize, to: usize) {
        self.set(to, self.sources[from % NEAR], self.times[from % NEAR]);
    }

    const fn entry(&self, place: usize) -> Entry {
        Entry::new(self.times[place], self.sources[place], self.salt)
    }

    /// Whether the source at `place` comes before `source`, if the event of `source` is at `time`.
    /// At equal times the random order decides.
    #[inline]
    fn is_before(&self, place: usize, source: usize, time: Time) -> bool {
        let here = self.times[place % NEAR];
        here < time || (here == time && self.draws_before(place, source))
    }

    /// Like [`Self::is_before`], if both have the same time.
    #[cold]
    fn draws_before(&self, place: usize, source: usize) -> bool {
        self.entry(place) > Entry::new(self.times[place], source, self.salt)
    }

    /// Removes the first source. This moves all others, which is acceptable because sources are
    /// rescheduled far more often than removed.
    #[inline]
    fn drop_first(&mut self) {
        self.times.copy_within(1..self.len, 0);
        self.sources.copy_within(1..self.len, 0);
        self.len -= 1;
        self.times[self.len % NEAR] = Time::NEVER;
    }

    /// Moves the first source to `time`. Usually this source remains the first or becomes the
    /// second. A processor can hardly predict which of the two happens, so this case has no branch.
    #[inline]
    fn put_off_first(&mut self, time: Time) {
        let [_, next, after_next, ..] = self.times;
        if after_next <= time || next == time {
            self.put_off_far(time);
        } else {
            self.put_at_or_behind(0, self.sources[0], time);
        }
    }

    /// Like [`Self::put_off_first`], for all other cases. The new place is searched from the front.
    /// If there are few sources, it is usually the third or fourth.
    #[inline]
    fn put_off_far(&mut self, time: Time) {
        let source = self.sources[0];
        let [_, _, third, fourth, fifth, ..] = self.times;
        if third < time && fourth != time && fifth > time {
            self.copy(1, 0);
            self.copy(2, 1);
            self.put_at_or_behind(2, source, time);
            return;
        }
        let mut place = 0;
        while place + 1 < self.len && self.is_before(place + 1, source, time) {
            self.copy(place + 1, place);
            place += 1;
        }
        self.set(place, source, time);
    }

    /// Puts a source at `place`, unless the source at the next place is earlier: then the two
    /// sources change places. Does this without a branch. The two times must differ.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put_at_or_behind(&mut self, place: usize, source: usize, time: Time) {
        let (next, next_source) = (self.times[place + 1], self.sources[place + 1]);
        let passes = next < time;
        self.times[place] = hint::select_unpredictable(passes, next, time);
        self.sources[place] = hint::select_unpredictable(passes, next_source, source);
        self.times[place + 1] = hint::select_unpredictable(passes, time, next);
        self.sources[place + 1] = hint::select_unpredictable(passes, source, next_source);
    }

    /// Adds a source, for which there must be room. Its place is searched from the back.
    #[inline]
    fn insert(&mut self, source: usize, time: Time) {
        let mut place = self.len;
        while place > 0 && !self.is_before(place - 1, source, time) {
            self.copy(place - 1, place);
            place -= 1;
        }
        self.set(place, source, time);
        self.len += 1;
    }

    /// Removes the last source.
    const fn pop_last(&mut self) -> Entry {
        self.len -= 1;
        let entry = self.entry(self.len);
        self.times[self.len] = Time::NEVER;
        entry
    }
}

impl EventQueue {
    /// An empty queue. `salt` is the seed of the random order of sources with equal times.
    pub(crate) const fn new(salt: u64) -> Self {
        Self { near: Near::new(salt), far: BinaryHeap::new() }
    }

    /// The earliest source and its time; the time is [`Time::NEVER`] if there is no source.
    #[inline]
    pub(crate) const fn earliest(&self) -> (usize, Time) {
        (self.near.sources[0], self.near.times[0])
    }

    /// Adds a source that was not in the queue.
    #[inline]
    pub(crate) fn add(&mut self, source: usize, time: Time) {
        if self.near.len == NEAR || !self.far.is_empty() {
            self.add_to_many(source, time);
        } else {
            self.near.insert(source, time);
        }
    }

    /// Removes the earliest event. Its source is rescheduled to `next`, which must not be earlier
    /// than this event. If `next` is none, the source leaves the queue.
    #[inline]
    pub(crate) fn advance(&mut self, next: Option<Time>) {
        match next {
            Some(time) if self.far.is_empty() => self.near.put_off_first(time),
            Some(time) => self.put_off_among_many(time),
            None => {
                self.near.drop_first();
                if self.near.len == 0 {
                    self.fill_near();
                }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn put_off_among_many(&mut self, time: Time) {
        let (source, last) = (self.near.sources[0], self.near.len - 1);
        if last > 0 && !self.near.is_before(last, source, time) {
            self.near.put_off_far(time);
            return;
        }
        self.near.drop_first();
        self.add_to_many(source, time);
    }

    /// Adds a source when `near` is full or `far` is not empty.
    #[cold]
    #[inline(never)]
    fn add_to_many(&mut self, source: usize, time: Time) {
        let last = self.near.len.wrapping_sub(1);
        if self.near.len > 0 && !self.near.is_before(last, source, time) {
            if self.near.len == NEAR {
                self.far.push(self.near.pop_last());
            }
            self.near.insert(source, time);
        } else {
            self.far.push(Entry::new(time, source, self.near.salt));
        }
        if self.near.len == 0 {
            self.fill_near();
        }
    }

    /// Moves the earliest sources of `far` to `near` until `near` is half full.
    #[cold]
    fn fill_near(&mut self) {
        while self.near.len < NEAR / 2
            && let Some(entry) = self.far.pop()
        {
            self.near.insert(entry.source(self.near.salt), entry.time);
        }
    }
}

#[cfg(test)]
mod tests {
    use netstudy_units::Duration;
    use proptest::prelude::*;

    use super::*;

    const SLOT_PS: u64 = 1_230_400;

    /// The orders in which `sources` sources with equal times come, for a series of times that are
    /// one frame apart.
    fn orders(sources: usize, salt: u64) -> Vec<Vec<usize>> {
        let at = |slot: u64| Time::from_ps(slot * SLOT_PS);
        let mut queue = EventQueue::new(salt);
        (0..6_000)
            .map(|slot| {
                for source in 0..sources {
                    queue.add(source, at(slot));
                }
                let taken = (0..sources).map(|_| {
                    let (source, time) = queue.earliest();
                    assert_eq!(time, at(slot));
                    queue.advance(None);
                    source
                });
                taken.collect()
            })
            .collect()
    }

    #[test]
    fn a_ticket_yields_its_source() {
        for source in [0, 1, 22, 9_999, u32::MAX as usize] {
            assert_eq!(Entry::new(Time::ZERO, source, 0xfeed).source(0xfeed), source);
        }
    }

    #[test]
    fn earlier_times_come_first_whatever_the_source() {
        let mut queue = EventQueue::new(7);
        for (source, ps) in [(3, 20), (1, 30), (2, 10)] {
            queue.add(source, Time::from_ps(ps));
        }
        assert_eq!(queue.earliest(), (2, Time::from_ps(10)));
        queue.advance(Some(Time::from_ps(25)));
        assert_eq!(queue.earliest(), (3, Time::from_ps(20)));
        queue.advance(None);
        assert_eq!(queue.earliest(), (2, Time::from_ps(25)));
    }

    proptest! {
        #[test]
        fn sources_come_in_the_order_of_time_and_tie_break_key(
            sources in prop_oneof![1usize..8, 1usize..80],
            steps in prop::collection::vec((0usize..80, 0u64..40, any::<bool>()), 1..400),
        ) {
            let mut queue = EventQueue::new(5);
            let mut twin: Vec<Option<Time>> = vec![None; sources];
            let mut now = 0;
            for (source, ahead, takes) in steps {
                let source = source % sources;
                let later = Time::from_ps(now + ahead);
                if takes {
                    let earliest = (0..sources)
                        .filter_map(|source| {
                            let time = twin[source]?;
                            Some((time, tie_break_key(time, source, 5), source))
                        })
                        .min();
                    let Some((time, _, first)) = earliest else { continue };
                    prop_assert_eq!(queue.earliest(), (first, time));
                    now = time.as_ps();
                    let next = (ahead % 3 > 0).then(|| time + Duration::from_ps(ahead));
                    queue.advance(next);
                    twin[first] = next;
                } else if twin[source].is_none() {
                    queue.add(source, later);
                    twin[source] = Some(later);
                }
            }
            let left = twin.iter().flatten().count();
            for _ in 0..left {
                prop_assert!(queue.earliest().1 < Time::NEVER);
                queue.advance(None);
            }
            prop_assert_eq!(queue.earliest().1, Time::NEVER);
        }
    }

    #[test]
    fn at_equal_times_each_order_is_as_likely() {
        for salt in [0, 1, 0x0123_4567_89ab_cdef] {
            let orders = orders(3, salt);
            for wanted in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let count = orders.iter().filter(|&order| order == &wanted).count();
                // 6,000 draws with p = 1/6: 1,000 on average, standard deviation 29.
                assert!((855..=1145).contains(&count), "{wanted:?} {count} times, salt {salt}");
            }
        }
    }

    #[test]
    fn the_order_at_equal_times_says_nothing_of_the_next_time() {
        for salt in [0, 1, 0x0123_4567_89ab_cdef] {
            let orders = orders(2, salt);
            for lag in 1..=16 {
                let pairs = orders.iter().zip(&orders[lag..]);
                let same = pairs.filter(|(one, other)| one == other).count();
                // About 6,000 draws with p = 1/2: 3,000 on average, standard deviation 39.
                assert!((2_800..=3_200).contains(&same), "{same} times, lag {lag}, salt {salt}");
            }
        }
    }
}
