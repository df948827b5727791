//! Growth of counters between two snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;

use crate::{Counter, Kind, Reading, Snapshot};

/// Growth of counters between two snapshots, in the units that the counters' names give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// By name, summed over CPUs, interfaces, disks and connections.
    pub counters: BTreeMap<String, u64>,
    /// By CPU, interface and disk.
    pub parts: BTreeMap<String, BTreeMap<String, u64>>,
    /// Names of counters that one of the snapshots lacks for some CPU or connection, for example
    /// because a connection was closed or a CPU went offline. The growth of such counters is
    /// unknown, so `counters` and `parts` do not contain them.
    pub unknown: BTreeSet<String>,
    /// Time between the two snapshots.
    pub elapsed_ns: u64,
}

/// Two snapshots between which growth is undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrowthError {
    /// The snapshots come from different machines, boots or namespaces.
    OtherOrigin,
    /// The second snapshot is older than the first.
    Order,
    /// A counter decreased, and a wrap cannot explain it.
    Restarted {
        /// Name of the counter.
        name: &'static str,
        /// The CPU, interface, disk or connection that it belongs to; none: the whole host.
        part: Option<String>,
        /// The earlier value.
        before: u64,
        /// The later value.
        after: u64,
    },
}

impl fmt::Display for GrowthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherOrigin => f.write_str("snapshots of different boots or namespaces"),
            Self::Order => f.write_str("the second snapshot is older than the first"),
            Self::Restarted { name, part, before, after } => {
                let of = part.as_ref().map(|part| format!(" of {part}")).unwrap_or_default();
                write!(f, "{name}{of} went from {before} to {after}: the counter was reset")
            }
        }
    }
}

impl Error for GrowthError {}

/// Identifies a counter: its name, field, part and instance.
type Key<'a> = (&'static str, &'static str, Option<&'a str>, u64);

fn key(reading: &Reading) -> Key<'_> {
    let Counter { name, field, .. } = reading.counter;
    (name, field, reading.part.as_deref(), reading.instance)
}

fn counters(snapshot: &Snapshot) -> BTreeMap<Key<'_>, &Reading> {
    let counters = snapshot.readings.iter().filter(|reading| reading.counter.kind != Kind::Gauge);
    counters.map(|reading| (key(reading), reading)).collect()
}

/// Growth of counters from `before` to `after`. Gauges are left out, because they do not grow.
///
/// # Errors
/// See [`GrowthError`].
pub fn growth(before: &Snapshot, after: &Snapshot) -> Result<Growth, GrowthError> {
    if before.origin != after.origin {
        return Err(GrowthError::OtherOrigin);
    }
    let elapsed_ns = after.at_ns.checked_sub(before.at_ns).ok_or(GrowthError::Order)?;
    let mut growth = Growth { elapsed_ns, ..Growth::default() };
    let (mut old, new) = (counters(before), counters(after));
    let mut told_once = Vec::new();
    for (key, reading) in new {
        match old.remove(&key) {
            Some(before) => growth.add(reading, grown(before, reading)?),
            // The part appeared between the snapshots, so the counter started from 0.
            None if reading.source.comes_and_goes() => growth.add(reading, reading.value),
            None => told_once.push(reading),
        }
    }
    told_once.extend(old.values());
    for reading in told_once {
        growth.forget(reading);
    }
    Ok(growth)
}

impl Growth {
    /// Adds the growth of one counter, in the kernel's unit.
    fn add(&mut self, reading: &Reading, grown: u64) {
        let grown = reading.in_unit(grown);
        let name = reading.counter.name;
        *self.counters.entry(name.to_owned()).or_default() += grown;
        if let Some(part) = reading.part.as_deref().filter(|_| reading.source.has_parts()) {
            let part = self.parts.entry(part.to_owned()).or_default();
            *part.entry(name.to_owned()).or_default() += grown;
        }
    }

    /// Removes a counter that only one of the snapshots has. Called after all others were added.
    fn forget(&mut self, reading: &Reading) {
        let name = reading.counter.name;
        self.counters.remove(name);
        if let Some(part) = reading.part.as_deref().and_then(|part| self.parts.get_mut(part)) {
            part.remove(name);
        }
        self.unknown.insert(name.to_owned());
    }
}

/// Growth of a counter, in the kernel's unit.
pub(crate) fn grown(before: &Reading, after: &Reading) -> Result<u64, GrowthError> {
    let restarted = || GrowthError::Restarted {
        name: after.counter.name,
        part: after.part.as_deref().map(str::to_owned),
        before: before.value,
        after: after.value,
    };
    match after.counter.kind {
        Kind::Counter(bits) => advance(before.value, after.value, bits).ok_or_else(restarted),
        Kind::Corrected | Kind::Gauge => Ok(after.value.saturating_sub(before.value)),
    }
}

/// How far a counter of `bits` bits has advanced. If the value decreased, the counter is assumed to
/// have wrapped, provided that the advance is then less than half of the range (RFC 1982, 3.2).
/// Otherwise it was restarted: returns none.
fn advance(before: u64, after: u64, bits: u32) -> Option<u64> {
    if after >= before {
        return Some(after - before);
    }
    let last = u64::MAX >> (64 - bits);
    // The value is too large for `bits` bits: on this kernel, the field is wider.
    if before > last {
        return None;
    }
    let advance = after.wrapping_sub(before) & last;
    (advance <= last / 2).then_some(advance)
}
