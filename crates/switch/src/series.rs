//! Counters of ports, sampled at intervals.

use std::collections::BTreeMap;

use netstudy_fabric::topology::CableEnd;
use netstudy_records::{FRAMES_RECEIVED_BY_SIZE, SwitchPortCounters, SwitchRecord};
use netstudy_units::{Duration, Time};

use crate::plan::Checked;

/// A column of a port's samples.
type Column = (&'static str, fn(&SwitchPortCounters) -> u64);
const COLUMNS: [Column; 16] = [
    ("frames_received", |counted| counted.frames_received),
    ("bytes_received", |counted| counted.bytes_received),
    ("frames_forwarded", |counted| counted.frames_forwarded),
    ("bytes_forwarded", |counted| counted.bytes_forwarded),
    ("frames_dropped", |counted| counted.frames_dropped),
    ("bytes_dropped", |counted| counted.bytes_dropped),
    ("frames_marked", |counted| counted.frames_marked),
    ("queue_bytes", |counted| counted.queue_bytes),
    ("queue_bytes_max", |counted| counted.queue_bytes_max),
    (FRAMES_RECEIVED_BY_SIZE[0], |counted| counted.frames_received_by_size[0]),
    (FRAMES_RECEIVED_BY_SIZE[1], |counted| counted.frames_received_by_size[1]),
    (FRAMES_RECEIVED_BY_SIZE[2], |counted| counted.frames_received_by_size[2]),
    (FRAMES_RECEIVED_BY_SIZE[3], |counted| counted.frames_received_by_size[3]),
    (FRAMES_RECEIVED_BY_SIZE[4], |counted| counted.frames_received_by_size[4]),
    (FRAMES_RECEIVED_BY_SIZE[5], |counted| counted.frames_received_by_size[5]),
    (FRAMES_RECEIVED_BY_SIZE[6], |counted| counted.frames_received_by_size[6]),
];

/// Ports of one switch that are sampled at an interval.
pub(crate) struct Series {
    pub(crate) switch: usize,
    /// Ports by number.
    ports: Vec<u32>,
    every: Duration,
    due: Time,
    at_ns: Vec<u64>,
    /// For each port and each column: the values of all samples.
    values: Vec<[Vec<u64>; COLUMNS.len()]>,
}

impl Series {
    /// All series of the plan. The first sample of each is due at once.
    pub(crate) fn all(checked: &Checked) -> Vec<Self> {
        let one = |sampling: &netstudy_records::SwitchSampling| {
            let mut switches = checked.plan.switches.iter();
            let switch = switches.position(|switch| switch.name == sampling.switch);
            let switch = switch.expect("the plan was checked");
            let is_meant = |&(_, &at): &(u32, &CableEnd)| {
                let name = &checked.described(at).port;
                sampling.port.as_ref().is_none_or(|port| port == name)
            };
            let ends = &checked.topology.switches()[switch].ports;
            let ports: Vec<u32> = (0..).zip(ends).filter(is_meant).map(|(port, _)| port).collect();
            let values = ports.iter().map(|_| Default::default()).collect();
            let every = Duration::from_ns(sampling.every_ns);
            Self { switch, ports, every, due: Time::ZERO, at_ns: Vec::new(), values }
        };
        checked.plan.sampled.iter().map(one).collect()
    }

    /// When the next sample is due.
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Takes a sample at `now`. In `CLOCK_MONOTONIC`, this time is `monotonic_ns`. Samples that
    /// should have been taken earlier are skipped.
    pub(crate) fn take(
        &mut self,
        now: Time,
        monotonic_ns: u64,
        counters: impl Fn(usize, u32) -> SwitchPortCounters,
    ) {
        self.at_ns.push(monotonic_ns);
        for (columns, &port) in self.values.iter_mut().zip(&self.ports) {
            let counted = counters(self.switch, port);
            for (column, (_, of)) in columns.iter_mut().zip(COLUMNS) {
                column.push(of(&counted));
            }
        }
        while self.due <= now {
            self.due += self.every;
        }
    }

    /// One record per port.
    pub(crate) fn records(&self, checked: &Checked) -> Vec<SwitchRecord> {
        let record = |(columns, &port): (&[Vec<u64>; COLUMNS.len()], &u32)| {
            let end = checked.topology.switches()[self.switch].ports[port as usize];
            let named = COLUMNS.iter().zip(columns);
            let values: BTreeMap<_, _> =
                named.map(|((name, _), column)| ((*name).to_owned(), column.clone())).collect();
            SwitchRecord::Samples {
                switch: checked.plan.switches[self.switch].name.clone(),
                port: checked.described(end).port.clone(),
                at_ns: self.at_ns.clone(),
                values,
            }
        };
        self.values.iter().zip(&self.ports).map(record).collect()
    }
}
