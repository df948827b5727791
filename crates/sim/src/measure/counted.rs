//! Reads the counters of hosts and network at one instant.

use std::collections::BTreeMap;

use netstudy_fabric::queue::ClassStatistics;
use netstudy_tcp::Counters;
use netstudy_units::Time;
use netstudy_workload::Traffic;

use super::Rare;
use super::readings::Reading;
use crate::end_index::EndIndex;
use crate::host::stations::StationCounters;
use crate::host::{Hosts, Network};
use crate::snapshot::{
    Carried, Connection, EndCounters, FlowTimes, Frames, Snapshot, SwitchFrames,
};

/// Counters of a network.
pub(crate) trait Counted<T>: Network<T> {
    /// Counters of all link ends at `now`, which the clock must have reached. The index is
    /// [`netstudy_fabric::topology::CableEnd::number`].
    fn ends(&self, hosts: &Hosts<'_, T, Self::Line>, now: Time) -> Vec<EndCounters>;

    /// Frame counts at the end of a run.
    fn frames(&self, hosts: &Hosts<'_, T, Self::Line>) -> Frames;

    /// For each link end whose port or interface has a queue discipline, by number: the counters of
    /// the discipline by class.
    fn queues(&self) -> BTreeMap<usize, Vec<ClassStatistics>> {
        BTreeMap::new()
    }

    /// For each host, by its node: the frames that its processes have received from each other,
    /// without a link.
    fn inside(&self, _hosts: &Hosts<'_, T, Self::Line>, _now: Time) -> BTreeMap<usize, Carried> {
        BTreeMap::new()
    }

    /// For each host with stations, by its node: the work that they have done by `now`.
    fn stations(&self, _now: Time) -> BTreeMap<usize, StationCounters> {
        BTreeMap::new()
    }

    /// Frame counts of each switch at the end of a run, in the order of the switches. Empty for a
    /// type of network that can have only one switch.
    fn switches(&self, _hosts: &Hosts<'_, T, Self::Line>) -> Vec<SwitchFrames> {
        Vec::new()
    }
}

impl Snapshot {
    /// Counters at `now`, which the clock must have reached. Host counters are exact if
    /// [`Readings`] were planned for `now`. Otherwise they may also include what the host did after
    /// `now`, because hosts run ahead of the clock. Counts of [`Rare`] events are exact in both
    /// cases.
    pub(crate) fn new<T: Traffic, N: Counted<T>>(
        hosts: &mut Hosts<'_, T, N::Line>,
        network: &N,
        now: Time,
    ) -> Self {
        // Removes the events up to `now` from `ahead`, because only later events may be subtracted
        // below.
        hosts.measure().settle(now);
        let (read, is_of_now) = hosts.read_ends(now);
        let mut snapshot = Self {
            tcp: vec![Counters::default(); hosts.len()],
            flows: vec![FlowTimes::default(); hosts.len()],
            ends: network.ends(hosts, now),
            connections: vec![Connection::default(); read.len() / 2],
            inside: network.inside(hosts, now),
            stations: network.stations(now),
            queues: network.queues(),
        };
        for (index, reading) in read.iter().enumerate() {
            let connection = &mut snapshot.connections[index / 2];
            connection.ends[index % 2] = reading.counters;
            connection.times[index % 2] = reading.times;
            connection.sent_bytes[index % 2] = reading.sent_bytes;
            if index % 2 == 0 {
                connection.receiving = reading.receiving;
            }
        }
        for &(_, rare) in &hosts.measure().tally.ahead {
            snapshot.take_back(rare, is_of_now);
        }
        for (index, end) in hosts.ends().enumerate() {
            let counters = &snapshot.connections[index / 2].ends[index % 2];
            snapshot.tcp[end.host as usize].add(counters);
            let times = &snapshot.connections[index / 2].times[index % 2];
            snapshot.flows[end.host as usize].add(&FlowTimes::of(times));
        }
        snapshot
    }

    fn end(&mut self, end: EndIndex) -> &mut Counters {
        &mut self.connections[end.connection()].ends[end.side()]
    }

    /// Subtracts an event that the counters already include but that happens only later. If
    /// `is_of_now`, the host counters do not include such events, so only drops at switches are
    /// subtracted.
    fn take_back(&mut self, rare: Rare, is_of_now: bool) {
        match rare {
            Rare::Retransmissions(..) | Rare::Timeout(_) if is_of_now => {}
            Rare::Retransmissions(end, count) => self.end(end).segments_retransmitted -= count,
            Rare::Timeout(end) => self.end(end).timeouts -= 1,
            Rare::Drop(end, bytes) => {
                let port = &mut self.ends[end].port;
                port.frames_dropped -= 1;
                port.bytes_dropped -= u64::from(bytes);
            }
        }
    }
}

impl<T: Traffic, N> Hosts<'_, T, N> {
    /// Counters of all ends at `now`, which the clock must have reached. The second value is false
    /// if no reading was planned for `now`; the counters of hosts may then be ahead of `now`.
    pub(crate) fn read_ends(&mut self, now: Time) -> (Vec<Reading>, bool) {
        if let Some(read) = self.measure().readings.at(now) {
            return (read.to_vec(), true);
        }
        let read = self.ends().enumerate().map(|(place, end)| self.reading(place, end, now));
        (read.collect(), false)
    }
}
