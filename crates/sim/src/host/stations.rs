//! CPUs, buses and the disk of a host. Each is a FIFO queue.
//!
//! The end of a piece of work in a FIFO is known when the work arrives, so its time is reserved at
//! once. Work must therefore be added in the order of time. Each interface sends its interrupts to
//! one fixed CPU. This CPU handles the packets of the interface first, so packets delay an
//! application's call that runs on this CPU. A call goes to the CPU that can begin it first. If a
//! call copies data, the CPU is busy until the memory bus has carried the copy. Data moved by
//! devices (frames, disk blocks) crosses the I/O bus and the memory bus once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_records::{FileSource, Modelled, Service};
use netstudy_units::{Duration, Time};

use crate::account::{CpuWork, Device, Job, MaybeTrace, Moves, Span, Trace};

use super::permits::{PermitKind, PermitTimes, Permits, SharedPermits};

/// The busy times of a CPU, bus or disk, which handles one piece of work at a time.
#[derive(Clone, Debug)]
struct Timeline {
    free_at: Time,
    /// Total reserved time.
    reserved: Duration,
    /// The reserved intervals that had not ended when the last one was added, in the order of time.
    ahead: VecDeque<[Time; 2]>,
}

impl Timeline {
    const NEW: Self =
        Self { free_at: Time::ZERO, reserved: Duration::ZERO, ahead: VecDeque::new() };

    /// Reserves, at `now`, the time from `start` to `end`. `start` must not be before `free_at`.
    fn reserve(&mut self, now: Time, start: Time, end: Time) {
        debug_assert!(start >= self.free_at && end >= start, "it does one thing at a time");
        while self.ahead.front().is_some_and(|span| span[1] <= now) {
            self.ahead.pop_front();
        }
        match self.ahead.back_mut() {
            Some(last) if last[1] == start => last[1] = end,
            _ => self.ahead.push_back([start, end]),
        }
        self.reserved = self.reserved + end.since(start);
        self.free_at = end;
    }

    /// Inserts work that takes the time `took`: the end of the reserved time moves by `took`.
    fn put_off(&mut self, took: Duration) {
        if let Some(last) = self.ahead.back_mut() {
            last[1] += took;
        }
        self.reserved = self.reserved + took;
        self.free_at += took;
    }

    /// Total busy time up to `now`.
    fn busy(&self, now: Time) -> Duration {
        let later = |span: &[Time; 2]| span[1].max(now).since(span[0].max(now));
        let later = self.ahead.iter().map(later).fold(Duration::ZERO, |sum, one| sum + one);
        self.reserved - later
    }
}

/// A bus or a disk, which carries bytes at a rate.
#[derive(Clone, Debug)]
struct Pipe {
    timeline: Timeline,
    rate_bps: u64,
    bytes: u64,
}

impl Pipe {
    const fn new(rate_bps: u64) -> Self {
        Self { timeline: Timeline::NEW, rate_bps, bytes: 0 }
    }

    /// A bus whose rate is the sum of the rates of its channels; none if the plan sets no limit.
    fn of_channels(
        channels: u32,
        channel_bps: Option<u64>,
        what: &str,
    ) -> Result<Option<Self>, String> {
        let Some(channel_bps) = channel_bps else { return Ok(None) };
        let rate_bps = channel_bps.saturating_mul(u64::from(channels));
        if rate_bps == 0 {
            return Err(format!("the {what} bus has a rate of 0"));
        }
        Ok(Some(Self::new(rate_bps)))
    }

    fn time(&self, bytes: u64) -> Duration {
        picoseconds(8_000_000_000_000 * u128::from(bytes) / u128::from(self.rate_bps))
    }

    /// Carries bytes that are available from the time `ready` on. Returns when.
    fn carry(&mut self, now: Time, ready: Time, bytes: u64) -> Span {
        let start = ready.max(self.timeline.free_at);
        let end = start + self.time(bytes);
        self.timeline.reserve(now, start, end);
        self.bytes += bytes;
        [start, end]
    }
}

fn picoseconds(ps: u128) -> Duration {
    Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

/// A disk. A request takes time for positioning only if the request before it was for another file.
#[derive(Clone, Debug)]
struct Disk {
    pipe: Pipe,
    access: Duration,
    write_cache_bytes: u64,
    page_cache_bytes: u64,
    /// The file of the last request.
    last: Option<FileId>,
    read_bytes: u64,
    written_bytes: u64,
}

impl Disk {
    fn new(kind: &records::Disk) -> Result<Self, String> {
        if kind.disk_rate_bps == 0 {
            return Err("a disk has a rate of 0".to_owned());
        }
        Ok(Self {
            pipe: Pipe::new(kind.disk_rate_bps),
            access: Duration::from_ns(kind.access_ns),
            write_cache_bytes: kind.write_cache_bytes,
            page_cache_bytes: kind.page_cache_bytes,
            last: None,
            read_bytes: 0,
            written_bytes: 0,
        })
    }

    /// Reads or writes. Returns when.
    fn request(&mut self, now: Time, ready: Time, file: FileId, bytes: u64) -> Span {
        if self.last == Some(file) {
            return self.pipe.carry(now, ready, bytes);
        }
        self.last = Some(file);
        let start = ready.max(self.pipe.timeline.free_at);
        let positioned = start + self.access;
        self.pipe.timeline.reserve(now, start, positioned);
        let [_, end] = self.pipe.carry(now, positioned, bytes);
        [start, end]
    }
}

/// Identifies a file that an application has open, among the open files of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(pub(crate) u32);

/// The path of the bytes that an application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendPath {
    /// Generated in memory and written to the socket.
    Memory,
    /// Read from the page cache and written to the socket.
    Copying,
    /// Sent from the page cache to the interface without a copy (sendfile).
    Sendfile,
}

/// What an application does with the bytes that it reads from its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceivePath {
    Discard,
    /// Written to a file in memory.
    Memory,
    /// Written to a file on the disk.
    Disk,
}

/// The time of the last packet of an interface, and a random factor in millionths. The costs of all
/// packets with this time are multiplied by the factor.
type Drawn = (Time, u64);

/// A CPU.
#[derive(Clone, Debug)]
struct OneCpu {
    timeline: Timeline,
    /// The time at which the CPU has handled all packets that arrived so far.
    packets_until: Time,
    /// Total time by which packets have delayed calls.
    put_off: Duration,
}

impl OneCpu {
    const NEW: Self =
        Self { timeline: Timeline::NEW, packets_until: Time::ZERO, put_off: Duration::ZERO };
}

/// A part of a file that the disk can read ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadAhead {
    pub(crate) file: FileId,
    /// The disk can begin at this time.
    pub(crate) ready: Time,
    /// The job whose last step ends at this time, or includes it.
    pub(crate) before: Job,
}

/// The jobs of a call that moves bytes of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileJobs {
    /// The call itself.
    pub(crate) call: Job,
    /// The part of the call that disk and buses do.
    pub(crate) rest: Job,
}

/// A call of an application. Packets may delay its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    cpu: usize,
    /// When the CPU finishes the call, if no further packets delay it.
    cpu_done: Time,
    put_off: Duration,
    /// When disk and buses have finished their work for the call.
    rest_done: Time,
}

impl Call {
    /// When the call ends, if no further packets delay it.
    pub(crate) fn done(&self) -> Time {
        self.cpu_done.max(self.rest_done)
    }
}

/// Work done by the stations of a host up to some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StationCounters {
    /// Busy time of each CPU; empty if work costs no CPU time.
    pub(crate) cpus: Vec<Duration>,
    pub(crate) memory_bus: Option<PipeCounters>,
    pub(crate) io_bus: Option<PipeCounters>,
    /// Busy time of the disks; none if the host has none.
    pub(crate) disk_busy: Option<Duration>,
    /// Bytes that the disk of files has read and written, including requests already reserved. The
    /// database's disk counts no bytes.
    pub(crate) disk_bytes: Option<[u64; 2]>,
    /// Times of each kind of permit that is limited at the host.
    pub(crate) permits: Vec<(PermitKind, PermitTimes)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PipeCounters {
    pub(crate) busy: Duration,
    /// Bytes carried, including bytes already reserved.
    pub(crate) bytes: u64,
}

/// The stations of a host, shared by its interfaces and its applications.
pub(crate) type Shared = Rc<RefCell<Stations>>;

/// The CPUs, buses and disks of one host, and the permits of the applications there.
#[derive(Clone, Debug)]
pub(crate) struct Stations {
    /// Whether work costs CPU time.
    has_cpus: bool,
    costs: records::Cpu,
    cpus: Box<[OneCpu]>,
    /// For each interface.
    drawn: Box<[Drawn]>,
    memory_bus: Option<Pipe>,
    io_bus: Option<Pipe>,
    disk: Option<Disk>,
    /// A disk that only the database uses, with times instead of rates.
    database_disk: Option<Timeline>,
    permits: Vec<(PermitKind, SharedPermits)>,
    chance: Stream,
    trace: MaybeTrace,
    /// The number of the host in the trace.
    number: usize,
}

const MILLION: u64 = 1_000_000;

impl Stations {
    /// The stations of the host `name`, which has the given number of interfaces. `works`: an
    /// application on the host uses CPU time. None if `works` is false and the host's group has no
    /// costs. An error if the costs are invalid.
    pub(crate) fn new(
        group: &records::Group,
        name: &str,
        seed: &str,
        interfaces: usize,
        works: bool,
    ) -> Result<Option<Self>, String> {
        let records::Group { cpu, bus, disk, .. } = group;
        if !works && cpu.is_none() && bus.is_none() && disk.is_none() {
            return Ok(None);
        }
        let costs = cpu.clone().unwrap_or(records::Cpu::FREE);
        if costs.cpus == 0 || costs.speed_pct == 0 || costs.call_bytes == 0 {
            return Err(format!(
                "{name:?} needs at least one CPU, a CPU speed above 0, and calls of at least 1 byte"
            ));
        }
        let channels = |of: fn(&records::Bus) -> (u32, Option<u64>), what| match bus {
            Some(bus) => Pipe::of_channels(of(bus).0, of(bus).1, what),
            None => Ok(None),
        };
        Ok(Some(Self {
            has_cpus: works || cpu.is_some(),
            cpus: vec![OneCpu::NEW; costs.cpus as usize].into(),
            drawn: vec![(Time::NEVER, MILLION); interfaces].into(),
            memory_bus: channels(|bus| (bus.memory_channels, bus.memory_channel_bps), "memory")?,
            io_bus: channels(|bus| (bus.io_channels, bus.io_channel_bps), "I/O")?,
            disk: disk.as_ref().map(Disk::new).transpose()?,
            database_disk: None,
            permits: Vec::new(),
            chance: Stream::new(seed, &format!("{name}/work")),
            costs,
            trace: MaybeTrace::default(),
            number: 0,
        }))
    }

    /// Lets a trace follow the work, in which the host has this number.
    pub(crate) fn set_trace(&mut self, trace: MaybeTrace, number: usize) {
        (self.trace, self.number) = (trace, number);
    }

    /// Tells the trace, if the run is traced; `note` gets the number of the host.
    fn note(&self, note: impl FnOnce(&mut Trace, usize)) {
        if let Some(mut trace) = self.trace.get() {
            note(&mut trace, self.number);
        }
    }

    /// Number of CPUs.
    pub(crate) fn count(&self) -> usize {
        self.cpus.len()
    }

    /// Number of CPUs; none if work costs no CPU time.
    pub(crate) fn cpus(&self) -> Option<u32> {
        self.has_cpus.then_some(self.costs.cpus)
    }

    /// Whether transfers of a file of this size read it from the disk. If the source is `Disk`,
    /// they always do. If the source is `Cache`, they do only if the file is larger than the page
    /// cache: sequential reading then always evicts (least recently used) the blocks that are
    /// needed next.
    pub(crate) fn reads_from_disk(&self, source: FileSource, file_bytes: u64) -> bool {
        let Some(disk) = &self.disk else { return false };
        match source {
            FileSource::Memory | FileSource::Ram => false,
            FileSource::Cache => file_bytes > disk.page_cache_bytes,
            FileSource::Disk => true,
        }
    }

    /// Whether the host has a disk.
    pub(crate) const fn has_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// Maximum number of bytes that a call moves.
    pub(crate) const fn call_bytes(&self) -> u64 {
        self.costs.call_bytes
    }

    /// Work that the stations have done by `now`.
    pub(crate) fn counters(&self, now: Time) -> StationCounters {
        let cpus = self.cpus.iter().filter(|_| self.has_cpus);
        // No workload uses both disks, so their sum is the busy time of the one that is used.
        let of_files = self.disk.iter().map(|disk| &disk.pipe.timeline);
        let disks = of_files.chain(&self.database_disk);
        let bus = |bus: &Pipe| PipeCounters { busy: bus.timeline.busy(now), bytes: bus.bytes };
        StationCounters {
            cpus: cpus.map(|cpu| cpu.timeline.busy(now)).collect(),
            memory_bus: self.memory_bus.as_ref().map(bus),
            io_bus: self.io_bus.as_ref().map(bus),
            disk_busy: disks.map(|disk| disk.busy(now)).reduce(|sum, busy| sum + busy),
            disk_bytes: self.disk.as_ref().map(|disk| [disk.read_bytes, disk.written_bytes]),
            permits: self
                .permits
                .iter()
                .map(|(kind, permits)| (*kind, permits.borrow().times(now)))
                .collect(),
        }
    }

    /// The capacities that the stations and the permits of the host model.
    pub(crate) fn modelled(&self) -> impl Iterator<Item = Modelled> {
        let stations = [
            (self.has_cpus, Modelled::Cpu),
            (self.memory_bus.is_some(), Modelled::MemoryBus),
            (self.io_bus.is_some(), Modelled::IoBus),
            (self.disk.is_some() || self.database_disk.is_some(), Modelled::Disk),
        ];
        let permits = self.permits.iter().map(|(kind, _)| kind.modelled());
        stations.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).chain(permits)
    }

    // ---- additions of applications

    /// Adds permits of this kind, of which the host has this number.
    pub(crate) fn add_permits(&mut self, kind: PermitKind, count: u32) -> SharedPermits {
        let permits = Permits::shared(count);
        self.permits.push((kind, SharedPermits::clone(&permits)));
        permits
    }

    /// Adds a disk that only the database uses.
    pub(crate) fn add_database_disk(&mut self) {
        self.database_disk = Some(Timeline::NEW);
    }

    /// When the database's disk will have finished an access for `job` that reaches it at `now` and
    /// takes the time `took`. Without such a disk: at once.
    pub(crate) fn access_database_disk(&mut self, now: Time, took: Duration, job: Job) -> Time {
        let Some(disk) = &mut self.database_disk else { return now };
        let start = now.max(disk.free_at);
        let end = start + took;
        disk.reserve(now, start, end);
        self.note(|trace, host| trace.use_disk(host, job, [start, end]));
        end
    }

    // ---- packets

    /// Handles an outgoing packet of an interface. `copied_bytes`: payload of this packet that the
    /// application copies; `calls`: number of the application's calls that end within these bytes.
    /// Returns when the CPU has handled the packet.
    pub(crate) fn send_packet(
        &mut self,
        now: Time,
        interface: usize,
        copied_bytes: u64,
        calls: u64,
    ) -> Time {
        let cost = self.packet_cost(
            self.costs.send_packet_ns,
            self.costs.send_ps_per_byte,
            copied_bytes,
            calls,
        );
        self.packet(now, interface, cost, copied_bytes)
    }

    /// Like [`Self::send_packet`], for a received packet.
    pub(crate) fn receive_packet(
        &mut self,
        now: Time,
        interface: usize,
        copied_bytes: u64,
        calls: u64,
    ) -> Time {
        let cost = self.packet_cost(
            self.costs.receive_packet_ns,
            self.costs.receive_ps_per_byte,
            copied_bytes,
            calls,
        );
        self.packet(now, interface, cost, copied_bytes)
    }

    fn packet_cost(&self, packet_ns: u64, ps_per_byte: u64, bytes: u64, calls: u64) -> Duration {
        Duration::from_ns(packet_ns) + work(&self.costs, ps_per_byte, bytes, calls)
    }

    fn packet(&mut self, now: Time, interface: usize, cost: Duration, copied_bytes: u64) -> Time {
        if self.drawn[interface].0 != now {
            self.drawn[interface] = (now, self.draw());
        }
        let cost = self.at_speed(cost, self.drawn[interface].1);
        let number = interface % self.cpus.len();
        let start = now.max(self.cpus[number].packets_until);
        let work = self.copied(now, number, [start, start + cost], copied_bytes);
        let end = work.end();
        let cpu = &mut self.cpus[number];
        cpu.packets_until = end;
        let delays = cpu.timeline.free_at > start;
        if delays {
            cpu.timeline.put_off(end.since(start));
            cpu.put_off = cpu.put_off + end.since(start);
        } else {
            cpu.timeline.reserve(now, start, end);
        }
        self.note(|trace, host| {
            if delays {
                trace.put_off(host, number, start, end.since(start));
            }
            trace.handle_packet(host, &work);
        });
        end
    }

    /// Moves a frame between memory and its interface, in either direction. Returns when it has
    /// crossed the buses.
    pub(crate) fn move_frame(&mut self, now: Time, frame_bytes: u32) -> Time {
        let (end, moves) = self.move_by_device(now, u64::from(frame_bytes));
        self.note(|trace, host| trace.move_packet(host, &moves));
        end
    }

    fn move_by_device(&mut self, now: Time, bytes: u64) -> (Time, Moves) {
        let buses = [(Device::IoBus, &mut self.io_bus), (Device::MemoryBus, &mut self.memory_bus)];
        let moves = buses.map(|(device, bus)| Some((device, bus.as_mut()?.carry(now, now, bytes))));
        let ends = moves.iter().flatten().map(|(_, [_, end])| *end);
        (ends.fold(now, Time::max), moves)
    }

    // ---- calls of applications

    /// A call in which an application sends `bytes` bytes of its file. At the end of the call, TCP
    /// has these bytes. `from_disk`: if the file must be read from the disk.
    pub(crate) fn send_file(
        &mut self,
        now: Time,
        path: SendPath,
        bytes: u64,
        from_disk: Option<ReadAhead>,
        jobs: FileJobs,
    ) -> Call {
        let costs = &self.costs;
        let (ps_per_byte, copies, calls) = match path {
            SendPath::Memory => (costs.send_ps_per_byte, 1, 1),
            SendPath::Copying => (costs.file_read_ps_per_byte + costs.send_ps_per_byte, 2, 2),
            SendPath::Sendfile => (costs.sendfile_ps_per_byte, 0, 1),
        };
        let mut call = self.call(now, ps_per_byte, bytes, [copies, calls], jobs.call);
        let Some(ReadAhead { file, ready, before }) = from_disk else { return call };
        let Some(disk) = &mut self.disk else { return call };
        disk.read_bytes += bytes;
        let read = disk.request(now, ready, file, bytes);
        let (carried, moves) = self.move_by_device(now, bytes);
        self.note(|trace, host| {
            trace.read_file(host, [before, jobs.call, jobs.rest], ready, read, &moves);
        });
        call.rest_done = carried.max(read[1]);
        call
    }

    /// A call in which an application reads `bytes` bytes from its socket and stores them in
    /// `file`, or discards them, as `path` says.
    pub(crate) fn receive_file(
        &mut self,
        now: Time,
        path: ReceivePath,
        bytes: u64,
        file: FileId,
        jobs: FileJobs,
    ) -> Call {
        let costs = &self.costs;
        let stored = costs.receive_ps_per_byte + costs.file_write_ps_per_byte;
        let (ps_per_byte, copies, calls) = match path {
            ReceivePath::Discard => (costs.receive_ps_per_byte, 1, 1),
            ReceivePath::Memory | ReceivePath::Disk => (stored, 2, 2),
        };
        let mut call = self.call(now, ps_per_byte, bytes, [copies, calls], jobs.call);
        if path != ReceivePath::Disk {
            return call;
        }
        let Some(disk) = &mut self.disk else { return call };
        disk.written_bytes += bytes;
        let written = disk.request(now, now, file, bytes);
        let room = written[1].saturating_sub(disk.pipe.time(disk.write_cache_bytes));
        let (carried, moves) = self.move_by_device(now, bytes);
        self.note(|trace, host| {
            trace.write_file(host, [jobs.call, jobs.rest], written, room, &moves);
        });
        call.rest_done = room.max(carried);
        call
    }

    /// A call in which an application uses CPU time for `job` without copying. `cost` is the CPU time
    /// at full speed.
    pub(crate) fn work(&mut self, now: Time, cost: Duration, job: Job) -> Call {
        let cost = self.at_speed(cost, MILLION);
        self.reserve_call(now, cost, 0, job)
    }

    /// Tells the trace that a call has ended. Call this for each call.
    pub(crate) fn end(&self, call: &Call, jobs: FileJobs) {
        self.note(|trace, host| {
            trace.end_call(host, call.cpu, jobs.call, call.cpu_done);
            if call.rest_done > call.cpu_done {
                trace.follow(jobs.call, jobs.rest);
            }
        });
    }

    /// The call, with its end updated by the delay that packets have caused so far.
    pub(crate) fn renewed(&self, call: &Call) -> Call {
        let put_off = self.cpus[call.cpu].put_off;
        Call { cpu_done: call.cpu_done + (put_off - call.put_off), put_off, ..*call }
    }

    /// When everything written so far is on the disk, for which `job` waits.
    pub(crate) fn sync(&self, now: Time, job: Job) -> Time {
        let synced = self.disk.as_ref().map_or(now, |disk| disk.pipe.timeline.free_at.max(now));
        self.note(|trace, host| trace.wait_for_disk(host, job, synced));
        synced
    }

    fn call(
        &mut self,
        now: Time,
        ps_per_byte: u64,
        bytes: u64,
        [copies, calls]: [u64; 2],
        job: Job,
    ) -> Call {
        let calls = calls * bytes.div_ceil(self.costs.call_bytes).max(1);
        let cost = work(&self.costs, ps_per_byte, bytes, calls);
        let drawn = self.draw();
        let cost = self.at_speed(cost, drawn);
        self.reserve_call(now, cost, copies * bytes, job)
    }

    fn reserve_call(&mut self, now: Time, cost: Duration, copied_bytes: u64, job: Job) -> Call {
        // Of CPUs that are free equally early, one that handles no packets is preferred, because
        // packets would delay the call.
        let place = |number: &usize| {
            let cpu = &self.cpus[*number];
            let has_packets = *number < self.drawn.len().saturating_sub(1);
            (cpu.timeline.free_at.max(now), has_packets, *number)
        };
        let cpu = (0..self.cpus.len()).min_by_key(place).expect("it has a CPU");
        let start = now.max(self.cpus[cpu].timeline.free_at);
        let work = self.copied(now, cpu, [start, start + cost], copied_bytes);
        let end = work.end();
        self.cpus[cpu].timeline.reserve(now, start, end);
        self.note(|trace, host| trace.begin_call(host, job, now, &work));
        Call { cpu, cpu_done: end, put_off: self.cpus[cpu].put_off, rest_done: now }
    }

    // ---- the CPUs

    /// Draws a random factor for a cost, in millionths.
    fn draw(&mut self) -> u64 {
        match self.costs.service {
            Service::Fixed => MILLION,
            Service::Exponential => self.chance.exponential(Duration::from_ps(MILLION)).as_ps(),
        }
    }

    fn at_speed(&self, cost: Duration, drawn: u64) -> Duration {
        let speed = u128::from(self.costs.speed_pct) * u128::from(MILLION);
        picoseconds(100 * u128::from(cost.as_ps()) * u128::from(drawn) / speed)
    }

    /// The work of a CPU that copies `bytes` bytes: the memory bus must carry each copied byte twice
    /// (read and write).
    fn copied(&mut self, now: Time, cpu: usize, [start, done]: Span, bytes: u64) -> CpuWork {
        let bus = self.memory_bus.as_mut().filter(|_| bytes > 0);
        let copies = bus.map(|bus| bus.carry(now, now, 2 * bytes));
        CpuWork { cpu, start, done, copies }
    }
}

/// CPU time, at full speed, of this number of calls, including the time for moving the bytes.
fn work(costs: &records::Cpu, ps_per_byte: u64, bytes: u64, calls: u64) -> Duration {
    let moving = picoseconds(u128::from(ps_per_byte) * u128::from(bytes));
    moving + Duration::from_ns(costs.call_ns) * calls
}
