//! Work at the stations of hosts: CPUs, buses and disks.
//!
//! The time of a packet at a CPU is known when the packet arrives there. The time of a call of an
//! application is not, because packets may delay the call. So a call has its node when it has ended,
//! in the order of the calls at this CPU.

use std::collections::VecDeque;

use netstudy_records::Place;
use netstudy_tcp::Segment;
use netstudy_units::{Duration, Time};

use super::Trace;
use super::arena::{Node, NodeId, Site, Spot, What};
use super::steps::Job;
use crate::end_index::EndIndex;

/// Start and end of work.
pub(crate) type Span = [Time; 2];

/// A station that handles work in the order of arrival, whose times are known at the arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    MemoryBus,
    IoBus,
    Disk,
}

impl Device {
    const COUNT: usize = 3;

    /// In front of the device, and at it.
    const fn places(self) -> [Place; 2] {
        match self {
            Self::MemoryBus => [Place::MemoryBusQueue, Place::MemoryBus],
            Self::IoBus => [Place::IoBusQueue, Place::IoBus],
            Self::Disk => [Place::DiskQueue, Place::Disk],
        }
    }
}

/// Work of devices that begins at the same time, if it is possible.
pub(crate) type Moves = [Option<(Device, Span)>; 2];

/// Work of a CPU, which ends when the CPU is done and the memory bus has carried the copied bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuWork {
    pub(crate) cpu: usize,
    pub(crate) start: Time,
    /// When the CPU is done, apart from the copies.
    pub(crate) done: Time,
    /// When the memory bus carries the copies.
    pub(crate) copies: Option<Span>,
}

impl CpuWork {
    pub(crate) fn end(&self) -> Time {
        self.copies.map_or(self.done, |[_, copied]| self.done.max(copied))
    }
}

/// A call that has not ended.
#[derive(Clone, Copy, Debug)]
struct PendingCall {
    job: Job,
    /// The node that led to the call.
    arrival: NodeId,
    /// When it ends, as far as it is known.
    done: Time,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    /// The last packet.
    packet: NodeId,
    /// The last call that has ended.
    call: NodeId,
    pending: VecDeque<PendingCall>,
}

/// The stations of a host.
#[derive(Clone, Debug)]
pub(super) struct HostWork {
    node: u32,
    cpus: Vec<Cpu>,
    /// The last work of each [`Device`].
    devices: [NodeId; Device::COUNT],
}

impl HostWork {
    /// All nodes that the stations refer to.
    pub(super) fn nodes(&mut self) -> impl Iterator<Item = &mut NodeId> {
        let of_cpus = self.cpus.iter_mut().flat_map(|cpu| {
            let pending = cpu.pending.iter_mut().map(|call| &mut call.arrival);
            pending.chain([&mut cpu.packet, &mut cpu.call])
        });
        of_cpus.chain(&mut self.devices)
    }
}

/// Number of stages of a packet at a host with stations.
const STAGES: usize = 2;

/// For each stage of an interface: the last nodes of the packets there.
pub(super) type AtStages = [VecDeque<NodeId>; STAGES];

impl Trace {
    /// Adds a host with this number of CPUs. Returns its number among the hosts with stations.
    pub(crate) fn add_host_work(&mut self, node: usize, cpus: usize) -> usize {
        let devices = [NodeId::BEFORE; Device::COUNT];
        let work = HostWork { node: node as u32, cpus: vec![Cpu::default(); cpus], devices };
        self.host_work.push(work);
        self.host_work.len() - 1
    }

    fn at_work(&self, host: usize, place: Place) -> Spot {
        Spot { place, site: Site::Node(self.host_work[host].node) }
    }

    // ---- packets at hosts with stations

    /// The packet that has arrived needs the stations of its host.
    pub(crate) fn handle_arrival(&mut self) {
        self.packet = self.arriving;
    }

    /// A packet that an end sends now needs the stations of its host.
    pub(crate) fn handle_sending(&mut self, from: EndIndex, segment: &Segment) {
        self.packet = self.sends(from, segment);
    }

    /// The packet at the stations is at this stage of an interface now.
    pub(crate) fn enter_stage(&mut self, interface: usize, stage: usize) {
        if self.at_stages.len() <= interface {
            self.at_stages.resize_with(interface + 1, AtStages::default);
        }
        self.at_stages[interface][stage].push_back(self.packet);
    }

    /// The first packet at a stage of an interface has ended it.
    pub(crate) fn leave_stage(&mut self, interface: usize, stage: usize) {
        self.packet = self.at_stages[interface][stage].pop_front().expect("it was there");
    }

    /// The packet at the stations reaches TCP.
    pub(crate) fn handled_arrival(&mut self) {
        self.arriving = self.packet;
    }

    /// The packet at the stations is sent by the interface next.
    pub(crate) fn handled_sending(&mut self) {
        self.handled = Some(self.packet);
    }

    /// The packet at the stations has left the host at `now`, or the interface has dropped it.
    pub(crate) fn depart_at_once(&mut self, from: EndIndex, segment: &Segment, now: Time) {
        self.handled = None;
        self.depart(from, segment, now, now, self.packet);
    }

    // ---- stations

    /// A device does work, which could have begun at the end of the node `parent`.
    fn serve(&mut self, host: usize, device: Device, parent: NodeId, [start, end]: Span) -> NodeId {
        let [queue, work] = device.places().map(|place| self.at_work(host, place));
        let last = self.host_work[host].devices[device as usize];
        let waited = self.wait(parent, queue, start, last);
        let node = self.spend(waited, work, end);
        self.host_work[host].devices[device as usize] = node;
        node
    }

    /// Devices do work. Returns the node that ends last.
    fn serve_all(&mut self, host: usize, parent: NodeId, moves: &Moves) -> NodeId {
        let mut last = parent;
        for &(device, span) in moves.iter().flatten() {
            let node = self.serve(host, device, parent, span);
            last = self.later(last, node);
        }
        last
    }

    fn later(&self, one: NodeId, other: NodeId) -> NodeId {
        if self.arena.get(other).to > self.arena.get(one).to { other } else { one }
    }

    /// Devices move the packet at the stations.
    pub(crate) fn move_packet(&mut self, host: usize, moves: &Moves) {
        self.packet = self.serve_all(host, self.packet, moves);
    }

    /// A CPU handles the packet at the stations.
    pub(crate) fn handle_packet(&mut self, host: usize, work: &CpuWork) {
        let [queue, at_cpu] = [Place::CpuQueue, Place::Cpu].map(|place| self.at_work(host, place));
        let copied = work.copies.map(|span| self.serve(host, Device::MemoryBus, self.packet, span));
        self.packet = match copied {
            Some(copied) if work.end() > work.done => copied,
            _ => {
                let front = self.host_work[host].cpus[work.cpu].packet;
                let begun = self.wait(self.packet, queue, work.start, front);
                self.spend(begun, at_cpu, work.done)
            }
        };
        self.host_work[host].cpus[work.cpu].packet = self.packet;
    }

    /// A packet that a CPU begins at `start` delays the calls there by `took`.
    pub(crate) fn put_off(&mut self, host: usize, cpu: usize, start: Time, took: Duration) {
        self.end_calls(host, cpu, start);
        for call in &mut self.host_work[host].cpus[cpu].pending {
            call.done += took;
        }
    }

    /// A CPU gets a call of a job at `now`.
    pub(crate) fn begin_call(&mut self, host: usize, job: Job, now: Time, work: &CpuWork) {
        self.end_calls(host, work.cpu, now);
        let came = self.jobs[job.index()];
        let copied = work.copies.map(|span| self.serve(host, Device::MemoryBus, came, span));
        let Cpu { packet, pending, .. } = &self.host_work[host].cpus[work.cpu];
        let (front, is_first) = (*packet, pending.is_empty());
        let arrival = match copied {
            Some(copied) if work.end() > work.done => copied,
            // The CPU handles a packet until the call begins.
            _ if is_first => {
                self.wait(came, self.at_work(host, Place::CpuQueue), work.start, front)
            }
            _ => came,
        };
        let call = PendingCall { job, arrival, done: work.end() };
        self.host_work[host].cpus[work.cpu].pending.push_back(call);
    }

    /// Ends the calls of a CPU that are done by `until`.
    fn end_calls(&mut self, host: usize, cpu: usize, until: Time) {
        while let Some(call) = self.host_work[host].cpus[cpu].pending.front()
            && call.done <= until
        {
            self.end_first_call(host, cpu);
        }
    }

    /// Ends the first call of a CPU. It began when the one before it ended.
    fn end_first_call(&mut self, host: usize, cpu: usize) -> Option<Job> {
        let [queue, at_cpu] = [Place::CpuQueue, Place::Cpu].map(|place| self.at_work(host, place));
        let Cpu { call: front, pending, .. } = &mut self.host_work[host].cpus[cpu];
        let front = *front;
        let PendingCall { job, arrival, done } = pending.pop_front()?;
        let begun = self.wait(arrival, queue, self.arena.get(front).to.min(done), front);
        let node = self.spend(begun, at_cpu, done);
        self.jobs[job.index()] = node;
        self.host_work[host].cpus[cpu].call = node;
        Some(job)
    }

    /// The call of a job has ended, for which the CPU was done at `done`.
    pub(crate) fn end_call(&mut self, host: usize, cpu: usize, job: Job, done: Time) {
        let is_pending = |call: &PendingCall| call.job == job;
        if self.host_work[host].cpus[cpu].pending.iter().any(is_pending) {
            while self.end_first_call(host, cpu) != Some(job) {}
        }
        let at_cpu = self.at_work(host, Place::Cpu);
        self.jobs[job.index()] = self.spend(self.jobs[job.index()], at_cpu, done);
    }

    /// A disk and buses read a part of a file for a call of `job`: `read` is the time of the disk,
    /// which could have begun at `ready`, when the job `before` had its last step. `rest` gets
    /// the end of this work.
    pub(crate) fn read_file(
        &mut self,
        host: usize,
        [before, job, rest]: [Job; 3],
        ready: Time,
        read: Span,
        moves: &Moves,
    ) {
        let ready = self.up_to(self.jobs[before.index()], ready);
        let read = self.serve(host, Device::Disk, ready, read);
        let carried = self.serve_all(host, self.jobs[job.index()], moves);
        self.jobs[rest.index()] = self.later(read, carried);
    }

    /// A disk and buses write a part of a file for a call of `job`. `written` is the time of the
    /// disk, which has room in its cache at `room`. `rest` gets the end of this work.
    pub(crate) fn write_file(
        &mut self,
        host: usize,
        [job, rest]: [Job; 2],
        written: Span,
        room: Time,
        moves: &Moves,
    ) {
        let came = self.jobs[job.index()];
        self.serve(host, Device::Disk, came, written);
        // Until it has room, the disk writes from its cache.
        let [queue, disk] = Device::Disk.places().map(|place| self.at_work(host, place));
        let writing = self.spend(came, disk, room);
        let has_room = self.wait(came, queue, room, writing);
        let carried = self.serve_all(host, came, moves);
        self.jobs[rest.index()] = self.later(has_room, carried);
    }

    /// A job uses a disk for this time.
    pub(crate) fn use_disk(&mut self, host: usize, job: Job, span: Span) {
        self.jobs[job.index()] = self.serve(host, Device::Disk, self.jobs[job.index()], span);
    }

    /// A job waits until `until` for all earlier work of the disk.
    pub(crate) fn wait_for_disk(&mut self, host: usize, job: Job, until: Time) {
        let queue = self.at_work(host, Place::DiskQueue);
        let last = self.host_work[host].devices[Device::Disk as usize];
        self.jobs[job.index()] = self.wait(self.jobs[job.index()], queue, until, last);
    }

    /// A node that ends at `at`, with the same past as `node` up to then.
    fn up_to(&mut self, node: NodeId, at: Time) -> NodeId {
        let mut id = node;
        loop {
            let Node { parent, from, to, what, .. } = *self.arena.get(id);
            if to <= at {
                return id;
            }
            if from >= at {
                id = parent;
                continue;
            }
            debug_assert!(matches!(what, What::Spent(_)), "it takes time");
            let behind = NodeId::BEFORE;
            return self.arena.push(Node { parent, behind, from, to: at, what });
        }
    }
}
