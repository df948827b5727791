use alloc::vec::Vec;

use netstudy_units::Time;

/// A tournament tree that holds the next time of each source and finds the earliest. The number of
/// sources is fixed.
///
/// Among sources with equal times, the lowest tie-break key wins; among equal keys, the lowest
/// source number. An update costs at most one comparison per level of the tree. Which nodes are
/// compared depends only on the source number, so a CPU can load them all at once.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// `nodes[1]` is the earliest entry. The children of node n are the nodes 2n and 2n + 1. The
    /// second half of the nodes holds the entries of the sources.
    nodes: Vec<Entry>,
}

/// A time, its tie-break key and its source, packed from the high bits to the low bits.
type Entry = u128;

const fn entry(time: Time, key: u32, source: usize) -> Entry {
    ((time.as_ps() as Entry) << 64) | ((key as Entry) << 32) | source as Entry
}

const fn time(entry: Entry) -> Time {
    Time::from_ps((entry >> 64) as u64)
}

impl Schedule {
    /// A schedule of `sources` sources, none of which has a time yet.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let mut nodes: Vec<Entry> =
            (0..2 * leaves).map(|node| entry(Time::NEVER, 0, node % leaves)).collect();
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        Self { nodes }
    }

    /// The earliest source and its time; the time is [`Time::NEVER`] if no source has one.
    #[must_use]
    #[inline]
    pub fn earliest(&self) -> (usize, Time) {
        let earliest = self.nodes[1];
        (earliest as u32 as usize, time(earliest))
    }

    /// The time of `source`.
    #[must_use]
    #[inline]
    pub fn time(&self, source: usize) -> Time {
        time(self.nodes[self.nodes.len() / 2 + source])
    }

    /// Sets the next time of `source`, with the tie-break key 0.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        self.set_with_key(source, time, 0);
    }

    /// Sets the next time of `source`. Among sources with the same time, the lowest `key` comes
    /// first.
    #[inline]
    pub fn set_with_key(&mut self, source: usize, time: Time, key: u32) {
        let nodes = self.nodes.as_mut_slice();
        let mut node = nodes.len() / 2 + source;
        let mut winner = entry(time, key, source);
        nodes[node] = winner;
        while node > 1 {
            winner = winner.min(nodes[node ^ 1]);
            node /= 2;
            nodes[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn at_equal_times_the_lower_source_wins() {
        let mut schedule = Schedule::new(5);
        for source in [4, 2, 3] {
            schedule.set(source, Time::from_ps(7));
        }
        assert_eq!(schedule.earliest(), (2, Time::from_ps(7)));
    }

    #[test]
    fn at_equal_times_the_lower_key_wins() {
        let mut schedule = Schedule::new(5);
        schedule.set_with_key(1, Time::from_ps(7), u32::MAX);
        schedule.set_with_key(4, Time::from_ps(7), 3);
        schedule.set_with_key(0, Time::from_ps(8), 0);
        assert_eq!(schedule.earliest(), (4, Time::from_ps(7)));
        schedule.set(4, Time::NEVER);
        assert_eq!(schedule.earliest(), (1, Time::from_ps(7)));
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
