//! Units of work and the parts of their times, in groups.

use std::collections::BTreeMap;

use netstudy_records::{TimeGroup, TimeView, UnitKind};

use super::walk::{PartNumber, Parts};

/// Both ways to divide a time.
pub(crate) const VIEWS: [TimeView; 2] = [TimeView::Journey, TimeView::Cause];

/// Most units whose parts are kept. With more, every second of them is forgotten, and from then on
/// every second one is kept, and so on.
const KEPT_MAX: usize = 1 << 16;

/// A unit of work that has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    pub(crate) whole_ps: u64,
    /// The connection whose last byte ended the unit.
    pub(crate) connection: u32,
    /// The parts by view, in the order of [`VIEWS`].
    pub(crate) parts: [Parts; 2],
}

/// The sums over a group of units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) units: u64,
    pub(crate) whole_ps: u64,
    pub(crate) parts: [BTreeMap<PartNumber, u64>; 2],
}

impl Sums {
    fn add(&mut self, unit: &Unit) {
        self.units += 1;
        self.whole_ps += unit.whole_ps;
        for (sums, parts) in self.parts.iter_mut().zip(&unit.parts) {
            for (part, ps) in parts {
                *sums.entry(*part).or_default() += ps;
            }
        }
    }
}

/// A unit whose parts are kept: where they are in [`Kept::parts`], by view.
#[derive(Clone, Copy, Debug)]
struct Place {
    whole_ps: u64,
    from: usize,
    ends: [usize; 2],
}

/// The units whose parts are kept, in little memory.
#[derive(Debug)]
struct Kept {
    units: Vec<Place>,
    parts: Parts,
    /// Of this number of units, one is kept.
    stride: u64,
}

impl Kept {
    const fn new() -> Self {
        Self { units: Vec::new(), parts: Vec::new(), stride: 1 }
    }

    fn add(&mut self, number: u64, unit: &Unit) {
        if !(number - 1).is_multiple_of(self.stride) {
            return;
        }
        if self.units.len() == KEPT_MAX {
            self.thin_out();
            if !(number - 1).is_multiple_of(self.stride) {
                return;
            }
        }
        let from = self.parts.len();
        let ends = [0, 1].map(|view| {
            self.parts.extend_from_slice(&unit.parts[view]);
            self.parts.len()
        });
        self.units.push(Place { whole_ps: unit.whole_ps, from, ends });
    }

    /// Forgets every second unit.
    fn thin_out(&mut self) {
        self.stride *= 2;
        let all = std::mem::take(&mut self.units);
        let parts = std::mem::take(&mut self.parts);
        for place in all.into_iter().step_by(2) {
            let from = self.parts.len();
            self.parts.extend_from_slice(&parts[place.from..place.ends[1]]);
            let ends = place.ends.map(|end| end - place.from + from);
            self.units.push(Place { from, ends, ..place });
        }
    }

    fn unit(&self, place: &Place) -> Unit {
        let [first, last] = place.ends;
        let parts = [place.from..first, first..last].map(|range| self.parts[range].to_vec());
        Unit { whole_ps: place.whole_ps, connection: 0, parts }
    }

    /// The sums over the units between these percentages of all, by their times; at least one.
    fn between(&self, sorted: &[Place], from_pct: usize, to_pct: usize) -> Sums {
        let last = (sorted.len() * to_pct).div_ceil(100);
        let first = (sorted.len() * from_pct / 100).min(last.saturating_sub(1));
        let mut sums = Sums::default();
        for place in &sorted[first..last] {
            sums.add(&self.unit(place));
        }
        sums
    }
}

/// The units of a run.
#[derive(Debug)]
pub(crate) struct Units {
    pub(crate) kind: UnitKind,
    all: Sums,
    kept: Kept,
    worst: Option<(u64, Unit)>,
    median_members: Sums,
    /// For each connection: the number of iterations that ended with its last byte.
    last: BTreeMap<u32, u64>,
}

/// The sums over a group, and its worst unit: number and connection.
pub(crate) type Grouped = (TimeGroup, Sums, Option<(u64, u32)>);

impl Units {
    pub(crate) fn new(kind: UnitKind) -> Self {
        Self {
            kind,
            all: Sums::default(),
            kept: Kept::new(),
            worst: None,
            median_members: Sums::default(),
            last: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, unit: Unit) {
        self.all.add(&unit);
        let number = self.all.units;
        self.kept.add(number, &unit);
        if self.kind == UnitKind::Iteration {
            *self.last.entry(unit.connection).or_default() += 1;
        }
        if self.worst.as_ref().is_none_or(|(_, worst)| unit.whole_ps > worst.whole_ps) {
            self.worst = Some((number, unit));
        }
    }

    /// Adds the median connection of an iteration.
    pub(crate) fn add_median_member(&mut self, unit: &Unit) {
        self.median_members.add(unit);
    }

    /// The number of units, and the sum of their times.
    pub(crate) const fn total(&self) -> (u64, u64) {
        (self.all.units, self.all.whole_ps)
    }

    /// For each of the first connections, the number of iterations that ended with its last byte;
    /// none if the units are no iterations.
    pub(crate) fn last(&self, connections: usize) -> Option<Vec<u64>> {
        let count = |connection| self.last.get(&connection).copied().unwrap_or(0);
        (self.kind == UnitKind::Iteration).then(|| (0..connections as u32).map(count).collect())
    }

    /// All groups that have units.
    pub(crate) fn groups(self) -> Vec<Grouped> {
        let mut sorted = self.kept.units.clone();
        sorted.sort_by_key(|place| place.whole_ps);
        let mut found = vec![
            (TimeGroup::Middle, self.kept.between(&sorted, 45, 55), None),
            (TimeGroup::Slowest, self.kept.between(&sorted, 98, 100), None),
            (TimeGroup::MedianMember, self.median_members, None),
        ];
        if let Some((number, unit)) = self.worst {
            let mut sums = Sums::default();
            sums.add(&unit);
            found.push((TimeGroup::Worst, sums, Some((number, unit.connection))));
        }
        found.insert(0, (TimeGroup::All, self.all, None));
        found.retain(|(_, sums, _)| sums.units > 0);
        found
    }
}
