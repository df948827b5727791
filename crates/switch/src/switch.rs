//! Runs the switches of a plan.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Write;
use std::os::fd::OwnedFd;

use netstudy_fabric::stepped::{Departure, PausePolicy, Sent, Stepped};
use netstudy_fabric::switch::Arrival;
use netstudy_fabric::topology::{Attachment, CableEnd};
use netstudy_fabric::{
    AnyArchitecture, FrameSizes, FromConfig, Link, Schedule, SwitchSetup, ethernet,
};
use netstudy_path::{Passed, Path};
use netstudy_random::Stream;
use netstudy_records::{
    Check, Command, PathStatistics, QueueStatistics, SwitchClock, SwitchPortCounters, SwitchRecord,
    SwitchRecordSchema,
};
use netstudy_snmp::{Direction, PortView, View};
use netstudy_units::{Duration, Time};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl;
use nix::unistd::Pid;

use crate::addresses::{self, Mac};
use crate::clock::{self, Clock, RealtimeOffset};
use crate::control::Control;
use crate::frame::{self, Frame, Traffic};
use crate::lateness::Lateness;
use crate::losses::{self, Losses, Lost};
use crate::outbox::Outbox;
use crate::plan::{Checked, HostEnd};
use crate::pool::Pool;
use crate::receiver::{Received, Receiver};
use crate::sender::{self, Sender, Written};
use crate::series::Series;
use crate::waiting::{Ready, Waiting};
use crate::{Failure, interfaces, port};

/// Maximum memory for the frames that are in the switch.
const POOL_BYTES: usize = 1 << 30;
/// How many system calls may receive frames of one port before other ports are served.
const RECEIVE_ROUNDS: usize = 4;
/// Initial capacity of the list of drops.
const DROPS_READY: usize = 1 << 16;
/// Counting should start at a moment at which no frames arrive. This many attempts are made at
/// most.
const QUIET_ROUNDS: u32 = 1000;
/// How long it may take from when the kernel counts a frame until the frame can be read.
const SETTLING: std::time::Duration = std::time::Duration::from_millis(1);
const SETTLING_ROUNDS: usize = 20;
/// Nanoseconds in a hundredth of a second, the unit of sysUpTime (RFC 3418, 2).
const NS_PER_CS: u64 = 10_000_000;
/// A frame at any port may be late by this time. Hosts cannot tell the difference, because real
/// interfaces delay receive interrupts by a similar time (20 to 100 us by default, depending on the
/// driver).
const INTERRUPT_MODERATION: Duration = Duration::from_us(50);

/// Runs a plan until a command, the end of input, SIGTERM or the time limit ends it.
pub(crate) fn carry_out(
    checked: &Checked,
    control: &mut Control<'_, impl Write>,
) -> Result<(), Failure> {
    let plan = &checked.plan;
    let clock = Clock::start();
    stay_on(plan.cpu)?;
    prctl::set_timerslack(1).map_err(|error| Failure::system("setting the timer slack", error))?;
    Switches::new(checked, clock)?.work(control)
}

/// Pins the process to one CPU.
fn stay_on(cpu: Option<u32>) -> Result<(), Failure> {
    let Some(cpu) = cpu else { return Ok(()) };
    let mut set = CpuSet::new();
    set.set(cpu as usize)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|error| Failure::system(&format!("pinning to CPU {cpu}"), error))
}

/// A frame that is propagating to a switch. The derived order of this type is the order in which
/// frames are passed to the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrived {
    /// When the switch can decide whether to admit the frame.
    at: Time,
    /// Sequence number. If frames arrive at the same time, the one that was read first is passed to
    /// the switch first.
    number: u64,
    /// The link end at which the frame arrives.
    end: CableEnd,
    frame: Frame,
}

/// Counters of frames that arrive at a port.
#[derive(Clone, Copy, Default)]
struct Came {
    frames: u64,
    bytes: u64,
    sizes: FrameSizes,
    broadcast: u64,
    multicast: u64,
    unaddressed: u64,
    /// Frames for the switch itself.
    consumed: u64,
}

/// Counters of frames that leave through a port. A frame is counted when its first bit is on the
/// wire.
#[derive(Clone, Copy, Default)]
struct Left {
    frames: u64,
    bytes: u64,
    /// Frames that the switch itself generated, including those that still wait or were dropped.
    originated: u64,
}

/// Creates the switch with the number `switch` in the plan.
fn fabric(checked: &Checked, switch: usize) -> Stepped<Frame, AnyArchitecture<Frame>> {
    let description = &checked.plan.switches[switch];
    let links: Vec<Link> = checked.links(switch);
    let setup = SwitchSetup {
        links: &links,
        marked_above_bytes: description.ecn_threshold_bytes.unwrap_or(u64::MAX),
        reserved_bytes: &|port| checked.reserved_bytes(switch, port),
    };
    let architecture = AnyArchitecture::from_config(&description.buffer, &setup);
    let mut stepped = Stepped::new(&links, architecture, PausePolicy::default());
    for (port, queue) in checked.queues(switch) {
        stepped.set_queue(port, queue);
    }
    stepped
}

struct Switches<'a> {
    checked: &'a Checked,
    clock: Clock,
    /// For each host: the packet socket of its port.
    sockets: Vec<OwnedFd>,
    receiver: Receiver,
    sender: Sender,
    pool: Pool,
    /// Frames that are propagating to a switch.
    arrived: BinaryHeap<Reverse<Arrived>>,
    /// How many frames have been added to `arrived` so far: the next sequence number.
    numbered: u64,
    /// For each host: when its link will be free, because the last frame that the host sent has
    /// been transmitted.
    ingress_free_at: Vec<Time>,
    fabrics: Vec<Stepped<Frame, AnyArchitecture<Frame>>>,
    /// For each switch: random numbers, by which its buffer architecture chooses egress ports.
    arbitration: Vec<Stream>,
    /// Time of the next step of each switch.
    steps: Schedule,
    /// The current virtual time of the switches.
    now: Time,
    /// For each host: frames that have left the last switch before the host and are propagating to
    /// it.
    outbox: Outbox,
    /// The shortest possible time from the start of a frame's departure until the frame is due at a
    /// host.
    soonest: Duration,
    /// For each host: how late frames to this host may be.
    allowed: Vec<Duration>,
    lateness: Lateness,
    losses: Losses,
    /// For each link end. The fields `left` and `paths` have the same order.
    came: Vec<Came>,
    left: Vec<Left>,
    paths: Vec<Option<Path>>,
    /// For each switch: time and egress port of each dropped frame.
    drops: Vec<Vec<(Time, u32)>>,
    series: Vec<Series>,
}

impl<'a> Switches<'a> {
    fn new(checked: &'a Checked, clock: Clock) -> Result<Self, Failure> {
        let Checked { plan, topology, hosts, .. } = checked;
        let sockets = hosts.iter().map(port::open).collect::<Result<Vec<_>, _>>()?;
        let buffer_bytes = checked.mtu_bytes_max() as usize + frame::HEADER_BYTES;
        let to_host = |host: &HostEnd| topology.link(host.at.far());
        let allowed = |host: &HostEnd| {
            let full_frame = ethernet::frame_bytes(checked.mtu_bytes(host.at));
            to_host(host).serialization(full_frame).max(INTERRUPT_MODERATION)
        };
        let soonest = |host: &HostEnd| {
            let link = to_host(host);
            link.serialization(netstudy_units::headers::ETHERNET_FRAME_BYTES_MIN) + link.delay()
        };
        let arbitration = |switch: &netstudy_records::SwitchElement| {
            Stream::new(&plan.seed, &format!("{}/arbitration", switch.name))
        };
        let mut made = Self {
            checked,
            clock,
            sockets,
            receiver: Receiver::new(buffer_bytes),
            sender: Sender::new(),
            pool: Pool::new((POOL_BYTES / buffer_bytes) as u32, buffer_bytes),
            arrived: BinaryHeap::with_capacity(1024),
            numbered: 0,
            ingress_free_at: vec![Time::ZERO; hosts.len()],
            fabrics: (0..plan.switches.len()).map(|switch| fabric(checked, switch)).collect(),
            arbitration: plan.switches.iter().map(arbitration).collect(),
            steps: Schedule::new(plan.switches.len().max(1)),
            now: Time::ZERO,
            outbox: Outbox::new(hosts.len(), 1024),
            soonest: hosts.iter().map(soonest).min().unwrap_or(Duration::ZERO),
            allowed: hosts.iter().map(allowed).collect(),
            lateness: Lateness::new(),
            losses: Losses::begin(Vec::new()),
            came: vec![Came::default(); 2 * plan.links.len()],
            left: vec![Left::default(); 2 * plan.links.len()],
            paths: checked.paths.clone(),
            drops: vec![Vec::with_capacity(DROPS_READY); plan.switches.len()],
            series: Series::all(checked),
        };
        // This must be the last step, because it discards all frames that arrived before the switch
        // was ready.
        made.losses = Losses::begin(made.begin_counting()?);
        Ok(made)
    }

    /// Discards frames that arrived before the switch was ready. Returns the counters of the
    /// interfaces at a moment when no such frames are left.
    fn begin_counting(&mut self) -> Result<Vec<interfaces::InterfaceCounters>, Failure> {
        let mut rounds = 0..QUIET_ROUNDS;
        loop {
            let mut thrown_away = 0;
            for host in 0..self.sockets.len() {
                while self.receive_batch(host)? {
                    thrown_away += 1;
                }
                thrown_away += self.receiver.received().len();
            }
            let text = interfaces::read()?;
            if thrown_away == 0 || rounds.next().is_none() {
                return losses::count(&text, &self.checked.hosts);
            }
        }
    }

    fn work(mut self, control: &mut Control<'_, impl Write>) -> Result<(), Failure> {
        let waited = |error| Failure::system("waiting for frames", error);
        let plan = &self.checked.plan;
        let alone = plan.cpu.is_some();
        let mut waiting = Waiting::new(&self.sockets, control.input(), alone).map_err(waited)?;
        let limit = Time::ZERO + Duration::from_ms(plan.time_limit_ms);
        control.write(&SwitchRecord::Ready {
            schema: SwitchRecordSchema::V2,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run: plan.run.clone(),
            pid: std::process::id(),
        })?;
        loop {
            waiting.wait(self.clock, self.next_due().min(limit)).map_err(waited)?;
            // This time is taken before the sockets are read. Frames that arrive after it are
            // forwarded in a later step.
            let now = self.clock.now();
            for number in 0..waiting.ready() {
                match waiting.get(number) {
                    Some(Ready::Port(host)) => self.receive(host)?,
                    Some(Ready::Input) => control.read()?,
                    Some(Ready::Signal) => return Ok(()),
                    None => {}
                }
            }
            self.forward(now);
            self.send_due()?;
            self.sample(now);
            while let Some(command) = control.command()? {
                match command {
                    Command::Snapshot { name } => control.write(&self.snapshot(name)?)?,
                    Command::Stop => return self.finish(control),
                    Command::Go => {
                        return Err(Failure::Testbed(
                            "a switch does not accept the command \"go\"".to_owned(),
                        ));
                    }
                }
            }
            if control.is_ended() {
                return Ok(());
            }
            if now >= limit {
                let limit_ms = plan.time_limit_ms;
                return Err(Failure::Testbed(format!("the time limit of {limit_ms} ms is over")));
            }
        }
    }

    /// When something must be done next. Arriving frames and departures from switches need not be
    /// processed at once, as long as this is done before a frame could be due at a host.
    fn next_due(&self) -> Time {
        let arrival = self.arrived.peek().map_or(Time::NEVER, |Reverse(arrived)| arrived.at);
        let begins = self.steps.earliest().1.min(arrival);
        let leaves = if begins == Time::NEVER { begins } else { begins + self.soonest };
        let sample = self.series.iter().map(Series::due).min().unwrap_or(Time::NEVER);
        self.outbox.next_due().min(leaves).min(sample)
    }

    /// Takes the samples that are due.
    fn sample(&mut self, now: Time) {
        let mut series = std::mem::take(&mut self.series);
        for one in series.iter_mut().filter(|one| one.due() <= now) {
            let at_ns = self.clock.monotonic_ns(self.clock.now());
            one.take(now, at_ns, |switch, port| self.port_counters(switch, port));
        }
        self.series = series;
    }

    // ---- in

    /// Reads the frames sent by a host.
    fn receive(&mut self, host: usize) -> Result<(), Failure> {
        for _ in 0..RECEIVE_ROUNDS {
            let more = self.receive_batch(host)?;
            let offset = RealtimeOffset::now();
            self.losses.received[host] += self.receiver.received().len() as u64;
            for place in 0..self.receiver.received().len() {
                self.take_in(host, self.receiver.received()[place], offset);
            }
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn receive_batch(&mut self, host: usize) -> Result<bool, Failure> {
        self.receiver.receive(&self.sockets[host]).map_err(|error| {
            let name = &self.checked.hosts[host].name;
            Failure::system(&format!("the port {name}: receiving"), error)
        })
    }

    fn take_in(&mut self, host: usize, received: Received, offset: RealtimeOffset) {
        let Received { place, bytes, stamp, cut_off } = received;
        let HostEnd { at: from, socket_bytes_max, .. } = self.checked.hosts[host];
        let buffer = self.receiver.buffer(place);
        let to = addresses::destination(&buffer[..bytes])
            .and_then(|mac| self.checked.addresses.host(mac))
            .filter(|&to| self.checked.leads(from, to as usize))
            .or_else(|| {
                self.checked.is_for_switch(from.far(), &buffer[..bytes]).then_some(frame::ITSELF)
            });
        let Some(to) = to else {
            // This does not count as a loss, because kernels also send multicasts, broadcasts and
            // frames to unknown addresses of their own accord.
            let (broadcast, multicast) = frame::is_to_group(&buffer[..bytes]);
            self.note_came(from.far(), bytes as u32);
            let came = &mut self.came[from.far().number()];
            came.unaddressed += 1;
            came.broadcast += u64::from(broadcast);
            came.multicast += u64::from(multicast);
            return;
        };
        if cut_off || bytes > socket_bytes_max {
            self.note_came(from.far(), bytes as u32);
            self.losses.too_long += 1;
            return;
        }
        let subject_to_marks = frame::is_subject_to_marks(&buffer[..bytes]);
        let Some(slot) = self.pool.take(buffer) else {
            self.note_came(from.far(), bytes as u32);
            self.losses.without_buffer += 1;
            return;
        };
        let now = self.clock.now();
        let sent = stamp.map_or(now, |stamp| self.clock.received(stamp, offset).min(now));
        let traffic = if self.checked.has_queues() {
            Traffic::of(&self.pool.get(slot)[..bytes])
        } else {
            Traffic::default()
        };
        let bytes = bytes as u32;
        let frame = Frame { slot, bytes, to, subject_to_marks, marked: false, traffic };
        let (begins, ends) = self.crosses(host, sent, frame.bytes);
        self.send_over(from, begins, ends, frame);
    }

    /// Counts a frame that arrived at the link end `end`.
    fn note_came(&mut self, end: CableEnd, bytes: u32) {
        let came = &mut self.came[end.number()];
        came.frames += 1;
        came.bytes += u64::from(frame::wire_bytes(bytes));
        came.sizes.count(frame::wire_bytes(bytes));
    }

    /// A host sent a frame at `sent`: returns when the first and the last bit of the frame leave
    /// the host. Without paced ingress, both leave at once. Otherwise the frame leaves after
    /// earlier frames, at the rate of the link.
    fn crosses(&mut self, host: usize, sent: Time, bytes: u32) -> (Time, Time) {
        if !self.checked.plan.paced_ingress {
            return (sent, sent);
        }
        let link = self.checked.topology.link(self.checked.hosts[host].at);
        let begins = sent.max(self.ingress_free_at[host]);
        let ends = begins + link.serialization(frame::wire_bytes(bytes));
        self.ingress_free_at[host] = ends;
        (begins, ends)
    }

    /// Sends a frame from the link end `from` over this link, which may lose it or make a second one
    /// of it. The first bit leaves at `begins`, the last bit at `ends`.
    fn send_over(&mut self, from: CableEnd, begins: Time, ends: Time, frame: Frame) {
        let Some(path) = &mut self.paths[from.number()] else {
            return self.arrive_over(from, begins, ends, frame);
        };
        let passage = path.pass(ends);
        // The duplicate is made first, because a frame that goes on may give its buffer back.
        let twin = passage.second.and_then(|at| Some((at, self.duplicate(frame)?)));
        match passage.first {
            None => self.pool.give_back(frame.slot),
            Some(at) => {
                let late = at.since(ends);
                self.arrive_over(from, begins + late, at, frame);
            }
        }
        if let Some((at, twin)) = twin {
            self.arrive_over(from, begins + at.since(ends), at, twin);
        }
    }

    /// A frame with the same content; none if all buffers are in use, which counts as a loss of the
    /// switch.
    fn duplicate(&mut self, frame: Frame) -> Option<Frame> {
        let content = self.pool.get(frame.slot)[..frame.bytes as usize].to_vec();
        let slot = self.pool.put(&content);
        if slot.is_none() {
            self.losses.without_buffer += 1;
        }
        Some(Frame { slot: slot?, ..frame })
    }

    /// Passes a frame from the link end `from` to the other end of this link. The first bit leaves
    /// at `begins`, the last bit at `ends`.
    fn arrive_over(&mut self, from: CableEnd, begins: Time, ends: Time, frame: Frame) {
        let (to, delay) = (from.far(), self.checked.topology.link(from).delay());
        match self.checked.topology.attachment(to) {
            Attachment::Interface(host) => {
                self.note_came(to, frame.bytes);
                self.outbox.put(host, ends + delay, frame);
            }
            Attachment::SwitchPort { .. } => {
                let header = self.checked.judges_after(to).map_or(ends, |after| begins + after);
                let at = header.min(ends) + delay;
                let number = self.numbered;
                self.numbered += 1;
                self.arrived.push(Reverse(Arrived { at, number, end: to, frame }));
            }
        }
    }

    // ---- through

    /// Performs all steps of all switches that are due until `until`, in the order of time. At
    /// equal times, departures come before arrivals.
    fn forward(&mut self, until: Time) {
        loop {
            let arrival = self.arrived.peek().map_or(Time::NEVER, |Reverse(arrived)| arrived.at);
            let (switch, step) = self.steps.earliest();
            if step <= until && step <= arrival {
                self.now = self.now.max(step);
                self.step(switch);
            } else if arrival <= until
                && let Some(Reverse(arrived)) = self.arrived.pop()
            {
                self.now = self.now.max(arrival);
                self.offer(&arrived);
            } else {
                break;
            }
        }
        self.now = self.now.max(until);
    }

    fn step(&mut self, switch: usize) {
        let departure = self.fabrics[switch].step(self.now, &mut self.arbitration[switch]);
        if let Some(Departure { egress, sent: Sent::Frame(frame), departs }) = departure {
            let from = self.checked.topology.switches()[switch].ports[egress as usize];
            let link = self.checked.topology.link(from);
            let takes = link.serialization(frame::wire_bytes(frame.bytes));
            let left = &mut self.left[from.number()];
            left.frames += 1;
            left.bytes += u64::from(frame::wire_bytes(frame.bytes));
            self.send_over(from, departs.saturating_sub(takes), departs, frame);
        }
        self.forget_dropped(switch);
        self.steps.set(switch, self.fabrics[switch].next_step());
    }

    fn offer(&mut self, arrived: &Arrived) {
        let Arrived { end, frame, .. } = *arrived;
        let topology = &self.checked.topology;
        let Attachment::SwitchPort { switch, port: ingress } = topology.attachment(end) else {
            return;
        };
        // A host hands over a frame earlier than the frame would arrive over a real link, so the
        // frame is counted here, at its arrival time.
        self.note_came(end, frame.bytes);
        if frame.to == frame::ITSELF {
            self.answer(switch, end, frame);
            return;
        }
        let egress = topology.switches()[switch].egress(frame.to as usize);
        let egress = egress.expect("only frames with a path to their host are accepted");
        self.admit(switch, ingress, egress, frame);
    }

    /// Passes a frame to the switch, which admits it to its buffer or drops it.
    fn admit(&mut self, switch: usize, ingress: u32, egress: u32, frame: Frame) {
        let frame_bytes = frame::wire_bytes(frame.bytes);
        let latency = Duration::from_ns(self.checked.plan.switches[switch].latency_ns);
        let arrival =
            Arrival { now: self.now, ready: self.now + latency, ingress, egress, frame_bytes };
        if !self.fabrics[switch].offer(&arrival, frame, &mut self.arbitration[switch]) {
            self.drops[switch].push((self.now, egress));
            self.pool.give_back(frame.slot);
        }
        self.forget_dropped(switch);
        self.steps.set(switch, self.fabrics[switch].next_step());
    }

    /// Gives back the buffers of the frames that queue disciplines have dropped.
    fn forget_dropped(&mut self, switch: usize) {
        while let Some((egress, frame)) = self.fabrics[switch].pop_dropped() {
            self.drops[switch].push((self.now, egress));
            self.pool.give_back(frame.slot);
        }
    }

    /// Handles a frame for the switch itself that arrived at `end`. The answer is queued for the
    /// port to the host that asked, as if the answer had arrived on that port.
    fn answer(&mut self, switch: usize, end: CableEnd, frame: Frame) {
        let checked = self.checked;
        let asked = &self.pool.get(frame.slot)[..frame.bytes as usize];
        let (broadcast, _) = frame::is_to_group(asked);
        let answer = checked.management[switch].as_ref().and_then(|own| {
            own.answer(asked, checked.mtu_bytes(end), || self.view(switch, own.mac))
        });
        self.pool.give_back(frame.slot);
        let came = &mut self.came[end.number()];
        came.consumed += 1;
        came.broadcast += u64::from(broadcast);
        let Some(answer) = answer else { return };
        let to = addresses::destination(&answer).and_then(|mac| checked.addresses.host(mac));
        let egress = to.and_then(|to| checked.topology.switches()[switch].egress(to as usize));
        let (Some(to), Some(egress)) = (to, egress) else { return };
        let Some(slot) = self.pool.put(&answer) else { return };
        let bytes = answer.len() as u32;
        let traffic = Traffic::of(&answer);
        let frame = Frame { slot, bytes, to, subject_to_marks: false, marked: false, traffic };
        let by = checked.topology.switches()[switch].ports[egress as usize];
        self.left[by.number()].originated += 1;
        self.admit(switch, egress, egress, frame);
    }

    /// The current counters and properties of a switch, for its SNMP agent.
    fn view(&self, switch: usize, mac: Mac) -> View<'a> {
        let checked = self.checked;
        let port = |(port, &at): (u32, &CableEnd)| {
            let (came, left) = (&self.came[at.number()], &self.left[at.number()]);
            let dropped = self.fabrics[switch].counters(port).frames_dropped;
            PortView {
                name: &checked.described(at).port,
                alias: &checked.described(at.far()).node,
                mtu_bytes: checked.mtu_bytes(at),
                rate_bps: checked.described(at).rate_bps,
                mac,
                received: Direction {
                    octets: came.bytes,
                    unicast: came.frames - came.broadcast - came.multicast,
                    multicast: came.multicast,
                    broadcast: came.broadcast,
                    discards: came.unaddressed,
                },
                sent: Direction {
                    octets: left.bytes,
                    // All frames that the switch sends are unicast, because it forwards and answers
                    // only to addresses of single hosts.
                    unicast: left.frames,
                    discards: dropped,
                    ..Direction::default()
                },
                received_by_size: came.sizes.frames(),
            }
        };
        let ports = &checked.topology.switches()[switch].ports;
        View {
            uptime_cs: (self.clock.now().as_ns() / NS_PER_CS) as u32,
            ports: (0..).zip(ports).map(port).collect(),
        }
    }

    // ---- out

    /// Writes all frames that are due.
    fn send_due(&mut self) -> Result<(), Failure> {
        let now = self.clock.now();
        while let Some(host) = self.outbox.due_port(now) {
            self.send(host, now)?;
        }
        Ok(())
    }

    /// Writes frames that are due at a host, at most as many as one system call can take.
    fn send(&mut self, host: usize, now: Time) -> Result<(), Failure> {
        for (_, frame) in self.outbox.due(host, now).take(sender::BATCH) {
            if frame.marked {
                frame::mark(&mut self.pool.get_mut(frame.slot)[..frame.bytes as usize]);
            }
        }
        let due = self.outbox.due(host, now);
        let bytes = due.map(|(_, frame)| &self.pool.get(frame.slot)[..frame.bytes as usize]);
        let written = self.sender.send(&self.sockets[host], bytes).map_err(|error| {
            let name = &self.checked.hosts[host].name;
            Failure::system(&format!("the port {name}: sending"), error)
        })?;
        let at = self.clock.now();
        match written {
            Written::Sent(frames) => {
                for _ in 0..frames {
                    self.note_sent(host, at);
                }
            }
            Written::Refused => {
                self.losses.refused[host] += 1;
                self.note_sent(host, at);
            }
        }
        Ok(())
    }

    /// Records that the first of the frames for a host was written.
    fn note_sent(&mut self, host: usize, at: Time) {
        let Some((due, frame)) = self.outbox.take(host) else { return };
        self.lateness.note(due, at, self.allowed[host]);
        self.pool.give_back(frame.slot);
    }

    // ---- records

    fn snapshot(&self, name: String) -> Result<SwitchRecord, Failure> {
        let at = self.clock.now();
        let counters = self.counters();
        let raw = BTreeMap::from([(interfaces::FILE.to_owned(), interfaces::read()?)]);
        Ok(SwitchRecord::Snapshot {
            name,
            at_ns: self.clock.monotonic_ns(at),
            counters,
            queues: self.queues(),
            paths: self.path_statistics(),
            cost_ns: self.clock.now().since(at).as_ns(),
            raw,
        })
    }

    /// The counters by switch and port.
    fn counters(&self) -> BTreeMap<String, BTreeMap<String, SwitchPortCounters>> {
        let of_switch = |(switch, description): (usize, &netstudy_records::SwitchElement)| {
            let ports = &self.checked.topology.switches()[switch].ports;
            let of_port = |(port, &at): (u32, &CableEnd)| {
                (self.checked.described(at).port.clone(), self.port_counters(switch, port))
            };
            (description.name.clone(), (0..).zip(ports).map(of_port).collect())
        };
        self.checked.plan.switches.iter().enumerate().map(of_switch).collect()
    }

    /// Each path, with the end that sends over it.
    fn described_paths(&self) -> impl Iterator<Item = (&netstudy_records::SwitchLinkEnd, &Path)> {
        let ends = self.checked.plan.links.iter().flat_map(|link| [&link.a, &link.b]);
        ends.zip(&self.paths).filter_map(|(end, path)| Some((end, path.as_ref()?)))
    }

    /// Counters of links that are not perfect.
    fn path_statistics(&self) -> Vec<PathStatistics> {
        let counted = |(end, path): (&netstudy_records::SwitchLinkEnd, &Path)| {
            let counters = path.counters();
            PathStatistics {
                node: end.node.clone(),
                port: end.port.clone(),
                frames_lost: counters.frames_lost,
                frames_duplicated: counters.frames_duplicated,
                frames_reordered: counters.frames_reordered,
            }
        };
        self.described_paths().map(counted).collect()
    }

    /// Whether links lost, duplicated and delayed frames as asked.
    fn checks_of_links(&self) -> Vec<Check> {
        let passed = self.described_paths().map(|(end, path)| Passed {
            node: &end.node,
            port: &end.port,
            asked: path.asked(),
            counters: path.counters(),
        });
        netstudy_path::checks(&passed.collect::<Vec<_>>())
    }

    /// Counters of the queue disciplines.
    fn queues(&self) -> Vec<QueueStatistics> {
        let mut found = Vec::new();
        for (switch, description) in self.checked.plan.switches.iter().enumerate() {
            let ports = &self.checked.topology.switches()[switch].ports;
            for (port, &at) in (0..).zip(ports) {
                let (node, name) = (&description.name, &self.checked.described(at).port);
                let classes = self.fabrics[switch].classes(port).iter();
                found.extend(classes.map(|class| QueueStatistics::new(node, name, class)));
            }
        }
        found
    }

    fn port_counters(&self, switch: usize, port: u32) -> SwitchPortCounters {
        let counted = self.fabrics[switch].counters(port);
        let at = self.checked.topology.switches()[switch].ports[port as usize];
        let came = self.came[at.number()];
        SwitchPortCounters {
            frames_received: came.frames,
            bytes_received: came.bytes,
            frames_forwarded: counted.frames_forwarded,
            bytes_forwarded: counted.bytes_forwarded,
            frames_dropped: counted.frames_dropped,
            bytes_dropped: counted.bytes_dropped,
            frames_marked: counted.frames_marked,
            queue_bytes: self.fabrics[switch].queue_bytes(port),
            queue_bytes_max: self.fabrics[switch].queue_bytes_max(port),
            frames_unaddressed: came.unaddressed,
            frames_consumed: came.consumed,
            frames_originated: self.left[at.number()].originated,
            frames_received_by_size: came.sizes.frames(),
        }
    }

    /// Writes the final records.
    fn finish(mut self, control: &mut Control<'_, impl Write>) -> Result<(), Failure> {
        let lost = self.settle()?;
        for (switch, drops) in self.checked.plan.switches.iter().zip(&self.drops) {
            control.write(&SwitchRecord::Drops {
                switch: switch.name.clone(),
                at_ns: drops.iter().map(|&(at, _)| self.clock.monotonic_ns(at)).collect(),
                egress: drops.iter().map(|&(_, egress)| egress).collect(),
            })?;
        }
        for record in self.series.iter().flat_map(|one| one.records(self.checked)) {
            control.write(&record)?;
        }
        let checks = self.checks_of_links();
        if !checks.is_empty() {
            control.write(&SwitchRecord::Links { checks })?;
        }
        control.write(&SwitchRecord::Clock(self.clock_record(lost)))?;
        control.write(&SwitchRecord::End {})
    }

    /// Counts the lost frames. If the kernel has counted frames but not yet delivered them, first
    /// waits some time to read them.
    fn settle(&mut self) -> Result<Lost, Failure> {
        let counted = losses::count(&interfaces::read()?, &self.checked.hosts)?;
        for _ in 0..SETTLING_ROUNDS {
            for host in 0..self.sockets.len() {
                self.receive(host)?;
            }
            if self.losses.lost(&counted).unread() == 0 {
                break;
            }
            std::thread::sleep(SETTLING);
        }
        Ok(self.losses.lost(&counted))
    }

    fn clock_record(&self, lost: Lost) -> SwitchClock {
        let lateness = &self.lateness;
        let complaint = lost.complaint(self.checked.mtu_bytes_max());
        let why = complaint.or_else(|| lateness.complaint());
        SwitchClock {
            departures: lateness.departures(),
            departures_late: lateness.too_late(),
            late_ns_p50: lateness.percentile_ns(50.0),
            late_ns_p99: lateness.percentile_ns(99.0),
            late_ns_max: lateness.max_ns(),
            frames_lost: lost.frames(),
            kept_up: why.is_none(),
            why,
            cpu_ns: clock::cpu_ns(),
        }
    }
}
