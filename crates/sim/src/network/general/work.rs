//! Packets at hosts with [`crate::host::stations`]. Between TCP and the interface, each packet
//! needs the CPUs, and the buses between memory and interface.

use std::collections::VecDeque;

use netstudy_tcp::Segment;
use netstudy_units::Time;

use crate::end_index::EndIndex;
use crate::host::stations::{Shared, StationCounters};
use crate::wiring::Wiring;

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From TCP to the interface.
    Out,
    /// From the interface to TCP.
    In,
}

/// A packet at a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) way: Way,
    /// The connection end at this host.
    pub(super) end: EndIndex,
    pub(super) segment: Segment,
}

/// The stage of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// On the buses.
    Buses,
    /// With the CPUs.
    Cpus,
}

/// The packets in progress between an interface and TCP.
#[derive(Debug)]
pub(super) struct InterfaceWork {
    stations: Shared,
    /// The host's node.
    host: usize,
    /// The number of the interface among those of its host. The path inside of the host has the
    /// number after the last interface.
    number: usize,
    on_buses: VecDeque<(Time, Job)>,
    with_cpus: VecDeque<(Time, Job)>,
    /// Number of packets on the way to the interface.
    sending: usize,
}

impl InterfaceWork {
    /// Creates the work of the interface with this number; none if its host has no stations.
    pub(super) fn of_interface(wiring: &Wiring, interface: usize) -> Option<Self> {
        let (host, number) = wiring.place_at_host(wiring.topology.interfaces()[interface].at)?;
        wiring.stations(host).map(|stations| Self::new(stations, host, number))
    }

    /// Creates the work of the path inside of the host `host`; none if the host has no stations.
    pub(super) fn inside(wiring: &Wiring, host: usize) -> Option<Self> {
        let interfaces = wiring.topology.interfaces();
        let number = interfaces.iter().filter(|one| one.host == host).count();
        wiring.stations(host).map(|stations| Self::new(stations, host, number))
    }

    fn new(stations: &Shared, host: usize, number: usize) -> Self {
        let (on_buses, with_cpus) = (VecDeque::new(), VecDeque::new());
        let stations = stations.clone();
        Self { stations, host, number, on_buses, with_cpus, sending: 0 }
    }

    /// The host's node, and the counters of its stations at `now`.
    pub(super) fn counters(&self, now: Time) -> (usize, StationCounters) {
        (self.host, self.stations.borrow().counters(now))
    }

    fn at(&self, stage: Stage) -> &VecDeque<(Time, Job)> {
        match stage {
            Stage::Buses => &self.on_buses,
            Stage::Cpus => &self.with_cpus,
        }
    }

    /// When the first packet at this stage will be done.
    pub(super) fn next(&self, stage: Stage) -> Time {
        self.at(stage).front().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Removes the first packet at this stage.
    pub(super) fn take(&mut self, stage: Stage) -> Option<Job> {
        let jobs = match stage {
            Stage::Buses => &mut self.on_buses,
            Stage::Cpus => &mut self.with_cpus,
        };
        jobs.pop_front().map(|(_, job)| job)
    }

    /// Number of packets on the way to the interface.
    pub(super) const fn sending(&self) -> usize {
        self.sending
    }

    /// The interface gets a packet that has left the stations.
    pub(super) const fn hand_over(&mut self) {
        self.sending -= 1;
    }

    /// Passes a packet to the buses at `now`.
    pub(super) fn move_frame(&mut self, now: Time, frame_bytes: u32, job: Job) {
        let done = self.stations.borrow_mut().move_frame(now, frame_bytes);
        self.on_buses.push_back((done, job));
    }

    /// Passes a packet to the CPUs at `now`. `meter` determines how many bytes of the packet the
    /// application copies.
    pub(super) fn handle(&mut self, now: Time, job: Job, meter: &mut Meter) {
        let mut stations = self.stations.borrow_mut();
        let (bytes, calls) = meter.copied(&job, stations.call_bytes());
        let done = match job.way {
            Way::Out => {
                self.sending += 1;
                stations.send_packet(now, self.number, bytes, calls)
            }
            Way::In => stations.receive_packet(now, self.number, bytes, calls),
        };
        drop(stations);
        self.with_cpus.push_back((done, job));
    }
}

/// Determines, from the packets of one end of a connection, which bytes the application copies to
/// and from its socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    /// Payload of a full segment.
    full_bytes: u32,
    /// The connection carries files. The copying of files is accounted for elsewhere.
    carries_files: bool,
    /// Stream offset up to which the application has copied bytes to the socket.
    sent_to: u64,
}

impl Meter {
    /// The meter of an end of a connection.
    pub(super) fn of(wiring: &Wiring, connection: usize) -> Self {
        let carries_files = connection < wiring.file_connections;
        Self { full_bytes: wiring.full_bytes(connection), carries_files, sent_to: 0 }
    }

    /// Returns how many bytes of a packet the application copies, and how many calls of the
    /// application end within these bytes. Retransmitted bytes are not copied again. A short
    /// segment ends a call.
    fn copied(&mut self, job: &Job, call_bytes: u64) -> (u64, u64) {
        let Segment { seq, len, .. } = job.segment;
        if len == 0 || self.carries_files {
            return (0, 0);
        }
        let end = seq + u64::from(len);
        let mut begin = seq;
        if job.way == Way::Out {
            begin = begin.max(self.sent_to).min(end);
            self.sent_to = self.sent_to.max(end);
        }
        if begin == end {
            return (0, 0);
        }
        let whole = end / call_bytes - begin / call_bytes;
        let ends_early = len < self.full_bytes && !end.is_multiple_of(call_bytes);
        (end - begin, whole + u64::from(ends_early))
    }
}
