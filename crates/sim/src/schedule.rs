use netstudy_units::Time;

/// The next time of each of a fixed set of sources, and the earliest of all: a tournament tree.
///
/// At equal times the lower source wins. An update costs one comparison a level of the tree.
#[derive(Clone, Debug)]
pub struct Schedule {
    times: Vec<Time>,
    /// `winners[1]` is the earliest source; the children of node n are 2n and 2n + 1, those of the
    /// lowest level being the sources themselves.
    winners: Vec<u32>,
    leaves: usize,
}

impl Schedule {
    /// A schedule of `sources` sources, none of which has a time yet.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let mut schedule =
            Self { times: vec![Time::NEVER; leaves], winners: vec![0; leaves], leaves };
        for source in (0..leaves).step_by(2) {
            schedule.set(source, Time::NEVER);
        }
        schedule
    }

    /// The earliest source and its time; the time is [`Time::NEVER`] if no source has one.
    #[must_use]
    #[inline]
    pub fn earliest(&self) -> (usize, Time) {
        let source = self.winners[1] as usize;
        (source, self.times[source])
    }

    /// The time of `source`.
    #[must_use]
    #[inline]
    pub fn time(&self, source: usize) -> Time {
        self.times[source]
    }

    /// Sets the next time of `source`.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        self.times[source] = time;
        let even = source & !1;
        let mut node = (self.leaves + source) / 2;
        let mut winner = self.earlier(even, even + 1);
        loop {
            self.winners[node] = winner as u32;
            if node == 1 {
                return;
            }
            let sibling = self.winners[node ^ 1] as usize;
            winner = if node & 1 == 0 {
                self.earlier(winner, sibling)
            } else {
                self.earlier(sibling, winner)
            };
            node /= 2;
        }
    }

    #[inline]
    fn earlier(&self, left: usize, right: usize) -> usize {
        if self.times[right] < self.times[left] { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn at_equal_times_the_lower_source_wins() {
        let mut schedule = Schedule::new(5);
        for source in [4, 2, 3] {
            schedule.set(source, Time::from_ps(7));
        }
        assert_eq!(schedule.earliest(), (2, Time::from_ps(7)));
    }

    proptest! {
        #[test]
        fn agrees_with_a_scan_over_all_sources(
            sources in 1usize..40,
            updates in prop::collection::vec((0usize..40, 0u64..50), 1..200),
        ) {
            let mut schedule = Schedule::new(sources);
            let mut twin = vec![Time::NEVER; sources];
            for (source, time) in updates {
                let source = source % sources;
                let time = if time == 0 { Time::NEVER } else { Time::from_ps(time) };
                schedule.set(source, time);
                twin[source] = time;
                let (at, earliest) = schedule.earliest();
                prop_assert_eq!(Some(&earliest), twin.iter().min());
                if earliest < Time::NEVER {
                    prop_assert_eq!(Some(at), twin.iter().position(|&time| time == earliest));
                }
            }
        }
    }
}
