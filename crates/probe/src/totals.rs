use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::growth::{GrowthError, grown};
use crate::{Kind, Reading, Source};

/// Removes wraps and corrections from counters, so that snapshots of one probe can be subtracted
/// from each other.
///
/// Counters of 64 bits do not need this: they do not wrap in the lifetime of a machine.
#[derive(Debug, Default)]
pub(crate) struct Totals(HashMap<Key, Reading>);

/// Source, field, part, instance.
type Key = (Source, &'static str, Option<Arc<str>>, u64);

impl Totals {
    /// Sets the field `total` of each reading. The readings must be newer than those of earlier
    /// calls.
    ///
    /// # Errors
    /// A counter was restarted.
    pub(crate) fn carry_on(&mut self, readings: &mut [Reading]) -> Result<(), GrowthError> {
        readings.iter_mut().filter(|reading| may_go_back(reading)).try_for_each(|r| self.carry(r))
    }

    fn carry(&mut self, reading: &mut Reading) -> Result<(), GrowthError> {
        let part = reading.part.clone();
        match self.0.entry((reading.source, reading.counter.field, part, reading.instance)) {
            Entry::Vacant(place) => drop(place.insert(reading.clone())),
            Entry::Occupied(mut place) => {
                reading.total = place.get().total + grown(place.get(), reading)?;
                place.insert(reading.clone());
            }
        }
        Ok(())
    }
}

fn may_go_back(reading: &Reading) -> bool {
    match reading.counter.kind {
        Kind::Counter(bits) => bits < u64::BITS,
        Kind::Corrected => true,
        Kind::Gauge => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(source: Source, field: &str, part: &str, value: u64) -> Reading {
        let counter = source.counters().iter().find(|known| known.field == field).unwrap();
        Reading { source, counter, part: Some(part.into()), instance: 0, value, total: value }
    }

    /// The totals of a counter that is read with these values, one after the other.
    fn totals(source: Source, field: &str, values: &[u64]) -> Vec<Result<u64, GrowthError>> {
        let mut totals = Totals::default();
        let mut total = |value| {
            let mut readings = [reading(source, field, "it", value)];
            totals.carry_on(&mut readings).map(|()| readings[0].total)
        };
        values.iter().map(|value| total(*value)).collect()
    }

    const MAX: u64 = u32::MAX as u64;

    #[test]
    fn a_narrow_counter_goes_on_behind_its_wraps() {
        assert_eq!(
            totals(Source::Softnet, "processed", &[MAX - 1, 3, MAX, 0]),
            [MAX - 1, MAX + 4, 2 * MAX + 1, 2 * MAX + 2].map(Ok)
        );
    }

    #[test]
    fn a_counter_that_was_started_again_is_an_error() {
        let outcome = totals(Source::Softnet, "processed", &[1000, 10]);

        assert!(matches!(outcome[1], Err(GrowthError::Restarted { before: 1000, after: 10, .. })));
    }

    #[test]
    fn idle_time_stands_still_while_it_is_corrected() {
        let outcome = totals(Source::Cpus, "cpu idle", &[50, 48, 51, 53]);

        assert_eq!(outcome, [Ok(50), Ok(50), Ok(53), Ok(55)]);
    }

    #[test]
    fn each_part_goes_on_for_itself() {
        let mut totals = Totals::default();
        let of = |cpu0, cpu1| {
            [("cpu0", cpu0), ("cpu1", cpu1)]
                .map(|(cpu, value)| reading(Source::Softnet, "processed", cpu, value))
        };
        totals.carry_on(&mut of(MAX, 7)).unwrap();
        let mut now = of(0, 8);
        totals.carry_on(&mut now).unwrap();

        assert_eq!(now.map(|reading| reading.total), [MAX + 1, 8]);
    }
}
