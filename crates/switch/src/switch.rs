//! The switch at work.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Write;
use std::os::fd::OwnedFd;

use netstudy_fabric::stepped::{Architecture, Departure, PausePolicy, Sent, Stepped};
use netstudy_fabric::switch::Arrival;
use netstudy_fabric::{
    CUT_THROUGH_BYTES, OverSwitch, SwitchBuffer, SwitchSetup, ethernet, over_switch,
};
use netstudy_random::Stream;
use netstudy_records::{
    Command, SwitchClock, SwitchPortCounters, SwitchRecord, SwitchRecordSchema,
};
use netstudy_units::{Duration, Time};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl;
use nix::unistd::Pid;

use crate::addresses::{self, Addresses};
use crate::clock::{self, Clock, RealtimeOffset};
use crate::control::Control;
use crate::frame::{self, Frame};
use crate::lateness::Lateness;
use crate::losses::{self, Losses, Lost};
use crate::outbox::Outbox;
use crate::plan::Checked;
use crate::pool::Pool;
use crate::receiver::{Received, Receiver};
use crate::sender::{self, Sender, Written};
use crate::waiting::{Ready, Waiting};
use crate::{Failure, interfaces, port};

/// Memory that frames in the switch may take.
const POOL_BYTES: usize = 1 << 30;
/// System calls that one port may receive with before the others are looked after.
const RECEIVE_ROUNDS: usize = 4;
/// Drops for which there is room from the start.
const DROPS_READY: usize = 1 << 16;
/// Attempts to begin to count while no frame comes.
const QUIET_ROUNDS: u32 = 1000;
/// How long frames that the kernel has counted may take until they can be read.
const SETTLING: std::time::Duration = std::time::Duration::from_millis(1);
const SETTLING_ROUNDS: usize = 20;
/// A frame may always leave that late. Interfaces hold received frames back as long, to spare their host
/// interrupts (drivers begin with 20 to 100 us), so that hosts cannot tell the difference.
const INTERRUPT_MODERATION: Duration = Duration::from_us(50);

/// Carries out a plan until a command, the end of input, SIGTERM or the time limit ends it.
pub(crate) fn carry_out(
    checked: &Checked,
    control: &mut Control<'_, impl Write>,
) -> Result<(), Failure> {
    let plan = &checked.plan;
    let clock = Clock::start();
    stay_on(plan.cpu)?;
    prctl::set_timerslack(1).map_err(|error| Failure::system("asking for exact timers", error))?;
    let setup = SwitchSetup {
        links: &checked.links,
        marked_above_bytes: plan.ecn_threshold_bytes.unwrap_or(u64::MAX),
        reserved_bytes: &|port| checked.reserved_bytes(port),
    };
    over_switch(&(&plan.buffer).into(), &setup, Work { checked, control, clock })
}

/// Keeps the process on one processor.
fn stay_on(cpu: Option<u32>) -> Result<(), Failure> {
    let Some(cpu) = cpu else { return Ok(()) };
    let mut set = CpuSet::new();
    set.set(cpu as usize)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|error| Failure::system(&format!("staying on processor {cpu}"), error))
}

/// What is done over the architecture of the plan.
struct Work<'a, 'b, W> {
    checked: &'a Checked,
    control: &'a mut Control<'b, W>,
    clock: Clock,
}

impl<W: Write> OverSwitch<Frame> for Work<'_, '_, W> {
    type Output = Result<(), Failure>;

    fn over<B: SwitchBuffer<Frame>, A: Architecture<Frame>>(
        self,
        _closed_form: impl FnOnce() -> B,
        stepped: impl FnOnce() -> A,
    ) -> Self::Output {
        let Self { checked, control, clock } = self;
        Switch::new(checked, stepped(), clock)?.work(control)
    }
}

/// A frame that was received, before it is offered: the order is that of offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrived {
    /// When it is at the switch: the host sent it as long before as the delay of the link says.
    at: Time,
    /// Of frames that arrive at the same time, the one read first comes first.
    number: u64,
    ingress: u32,
    egress: u32,
    frame: Frame,
}

struct Switch<'a, A> {
    checked: &'a Checked,
    clock: Clock,
    sockets: Vec<OwnedFd>,
    addresses: Addresses,
    receiver: Receiver,
    sender: Sender,
    pool: Pool,
    /// Frames that were received and are not offered yet.
    arrived: BinaryHeap<Reverse<Arrived>>,
    /// Frames that were received so far.
    numbered: u64,
    /// By port: when all that its host has handed over has come over the wire.
    ingress_free_at: Vec<Time>,
    fabric: Stepped<Frame, A>,
    arbitration: Stream,
    /// The time of the fabric.
    now: Time,
    outbox: Outbox,
    /// No frame that begins to leave is due earlier than that after its beginning.
    soonest: Duration,
    /// By port: how late a frame may leave.
    allowed: Vec<Duration>,
    lateness: Lateness,
    losses: Losses,
    /// By ingress.
    unaddressed: Vec<u64>,
    drops: Vec<(Time, u32)>,
}

impl<'a, A: Architecture<Frame>> Switch<'a, A> {
    fn new(checked: &'a Checked, architecture: A, clock: Clock) -> Result<Self, Failure> {
        let Checked { plan, links, macs, .. } = checked;
        let opened = plan.ports.iter().map(port::open);
        let sockets = opened.collect::<Result<Vec<_>, _>>()?;
        let ports = links.len();
        let buffer_bytes = plan.mtu_bytes as usize + frame::HEADER_BYTES;
        let full_frame = ethernet::frame_bytes(plan.mtu_bytes);
        let soonest = |link: &netstudy_fabric::Link| {
            link.serialization(ethernet::MIN_FRAME_BYTES) + link.delay()
        };
        let mut switch = Self {
            checked,
            clock,
            sockets,
            addresses: Addresses::new(macs),
            receiver: Receiver::new(buffer_bytes),
            sender: Sender::new(),
            pool: Pool::new((POOL_BYTES / buffer_bytes) as u32, buffer_bytes),
            arrived: BinaryHeap::with_capacity(1024),
            numbered: 0,
            ingress_free_at: vec![Time::ZERO; ports],
            fabric: Stepped::new(links, architecture, PausePolicy::default()),
            arbitration: Stream::new(&plan.seed, "switch/arbitration"),
            now: Time::ZERO,
            outbox: Outbox::new(ports, 1024),
            soonest: links.iter().map(soonest).min().unwrap_or(Duration::ZERO),
            allowed: links
                .iter()
                .map(|link| link.serialization(full_frame).max(INTERRUPT_MODERATION))
                .collect(),
            lateness: Lateness::new(),
            losses: Losses::begin(Vec::new()),
            unaddressed: vec![0; ports],
            drops: Vec::with_capacity(DROPS_READY),
        };
        switch.losses = Losses::begin(switch.begin_counting()?);
        Ok(switch)
    }

    /// Throws away what was received before the switch was ready. What the interfaces have counted when
    /// there is nothing of that left.
    fn begin_counting(&mut self) -> Result<Vec<interfaces::InterfaceCounters>, Failure> {
        let mut rounds = 0..QUIET_ROUNDS;
        loop {
            let mut thrown_away = 0;
            for port in 0..self.sockets.len() {
                while self.receive_batch(port)? {
                    thrown_away += 1;
                }
                thrown_away += self.receiver.received().len();
            }
            let text = interfaces::read()?;
            if thrown_away == 0 || rounds.next().is_none() {
                return losses::count(&text, &self.checked.plan.ports);
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
            schema: SwitchRecordSchema::V1,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run: plan.run.clone(),
            pid: std::process::id(),
        })?;
        loop {
            waiting.wait(self.clock, self.next_due().min(limit)).map_err(waited)?;
            let now = self.clock.now();
            for number in 0..waiting.ready() {
                match waiting.get(number) {
                    Some(Ready::Port(port)) => self.receive(port)?,
                    Some(Ready::Input) => control.read()?,
                    Some(Ready::Signal) => return Ok(()),
                    None => {}
                }
            }
            self.forward(now);
            self.send_due()?;
            while let Some(command) = control.command()? {
                match command {
                    Command::Snapshot { name } => control.write(&self.snapshot(name)?)?,
                    Command::Stop => return self.finish(control),
                    Command::Go => {
                        return Err(Failure::Testbed("a switch knows no \"go\"".to_owned()));
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

    /// When something next has to be done. What arrives or begins to leave can wait until the first
    /// frame could be due that leaves for it.
    fn next_due(&self) -> Time {
        let arrival = self.arrived.peek().map_or(Time::NEVER, |Reverse(arrived)| arrived.at);
        let begins = self.fabric.next_step().min(arrival);
        let leaves = if begins == Time::NEVER { begins } else { begins + self.soonest };
        self.outbox.next_due().min(leaves)
    }

    // ---- in

    /// Receives what waits at a port.
    fn receive(&mut self, port: usize) -> Result<(), Failure> {
        for _ in 0..RECEIVE_ROUNDS {
            let more = self.receive_batch(port)?;
            let offset = RealtimeOffset::now();
            self.losses.received[port] += self.receiver.received().len() as u64;
            for place in 0..self.receiver.received().len() {
                self.take_in(port, self.receiver.received()[place], offset);
            }
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn receive_batch(&mut self, port: usize) -> Result<bool, Failure> {
        self.receiver.receive(&self.sockets[port]).map_err(|error| {
            let node = &self.checked.plan.ports[port].node;
            Failure::system(&format!("the port {node:?}: receiving"), error)
        })
    }

    fn take_in(&mut self, port: usize, received: Received, offset: RealtimeOffset) {
        let Received { place, bytes, stamp, cut_off } = received;
        let buffer = self.receiver.buffer(place);
        let egress = addresses::destination(&buffer[..bytes])
            .and_then(|mac| self.addresses.port(mac))
            .filter(|&egress| egress as usize != port);
        let Some(egress) = egress else {
            self.unaddressed[port] += 1;
            return;
        };
        if cut_off {
            self.losses.too_long += 1;
            return;
        }
        let subject_to_marks = frame::is_subject_to_marks(&buffer[..bytes]);
        let Some(slot) = self.pool.take(buffer) else {
            self.losses.without_buffer += 1;
            return;
        };
        let now = self.clock.now();
        let sent = stamp.map_or(now, |stamp| self.clock.received(stamp, offset).min(now));
        let at = self.comes(port, sent, bytes as u32);
        let frame = Frame { slot, bytes: bytes as u32, subject_to_marks, marked: false };
        let (number, ingress) = (self.numbered, port as u32);
        self.numbered += 1;
        self.arrived.push(Reverse(Arrived { at, number, ingress, egress, frame }));
    }

    /// When a frame is at the switch, to be judged, that a host handed over at `sent`: at once, or when so
    /// much of it has come over the wire, behind those before it, as the switch must have of it; and
    /// the delay of the link later.
    fn comes(&mut self, port: usize, sent: Time, bytes: u32) -> Time {
        let link = &self.checked.links[port];
        if !self.checked.plan.paced_ingress {
            return sent + link.delay();
        }
        let begins = sent.max(self.ingress_free_at[port]);
        let ends = begins + link.serialization(frame::wire_bytes(bytes));
        self.ingress_free_at[port] = ends;
        let cut = begins + link.serialization(CUT_THROUGH_BYTES);
        let judged = if self.checked.cuts_through[port] { cut } else { ends };
        judged + link.delay()
    }

    // ---- through

    /// Offers what has arrived by `until`, and lets leave what is due by then.
    fn forward(&mut self, until: Time) {
        while let Some(Reverse(arrived)) = self.arrived.peek().copied()
            && arrived.at <= until
        {
            self.arrived.pop();
            self.step_to(arrived.at);
            self.offer(&arrived);
        }
        self.step_to(until);
    }

    /// Does what is due by `until`. The time of the fabric is `until` then, or later if it was.
    fn step_to(&mut self, until: Time) {
        while self.fabric.next_step() <= until {
            self.now = self.now.max(self.fabric.next_step());
            let departure = self.fabric.step(self.now, &mut self.arbitration);
            if let Some(Departure { egress, sent: Sent::Frame(frame), departs }) = departure {
                let port = egress as usize;
                self.outbox.put(port, departs + self.checked.links[port].delay(), frame);
            }
        }
        self.now = self.now.max(until);
    }

    fn offer(&mut self, arrived: &Arrived) {
        let Arrived { ingress, egress, frame, .. } = *arrived;
        let arrival = Arrival {
            now: self.now,
            ready: self.now + Duration::from_ns(self.checked.plan.latency_ns),
            ingress,
            egress,
            frame_bytes: frame::wire_bytes(frame.bytes),
        };
        if !self.fabric.offer(&arrival, frame) {
            self.drops.push((self.now, egress));
            self.pool.give_back(frame.slot);
        }
    }

    // ---- out

    /// Writes all frames that are due.
    fn send_due(&mut self) -> Result<(), Failure> {
        let now = self.clock.now();
        while let Some(port) = self.outbox.due_port(now) {
            self.send(port, now)?;
        }
        Ok(())
    }

    /// Writes frames of a port that are due, as many as one system call takes.
    fn send(&mut self, port: usize, now: Time) -> Result<(), Failure> {
        for (_, frame) in self.outbox.due(port, now).take(sender::BATCH) {
            if frame.marked {
                frame::mark(&mut self.pool.get_mut(frame.slot)[..frame.bytes as usize]);
            }
        }
        let due = self.outbox.due(port, now);
        let bytes = due.map(|(_, frame)| &self.pool.get(frame.slot)[..frame.bytes as usize]);
        let written = self.sender.send(&self.sockets[port], bytes).map_err(|error| {
            let node = &self.checked.plan.ports[port].node;
            Failure::system(&format!("the port {node:?}: sending"), error)
        })?;
        let at = self.clock.now();
        match written {
            Written::Sent(frames) => {
                for _ in 0..frames {
                    self.note_sent(port, at);
                }
            }
            Written::Refused => {
                self.losses.refused[port] += 1;
                self.note_sent(port, at);
            }
        }
        Ok(())
    }

    /// The first frame of a port was written.
    fn note_sent(&mut self, port: usize, at: Time) {
        let Some((due, frame)) = self.outbox.take(port) else { return };
        self.lateness.note(due, at, self.allowed[port]);
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
            cost_ns: self.clock.now().since(at).as_ns(),
            raw,
        })
    }

    fn counters(&self) -> BTreeMap<String, SwitchPortCounters> {
        let of_port = |(number, port): (usize, &netstudy_records::SwitchPort)| {
            let counted = self.fabric.counters(number as u32);
            let counters = SwitchPortCounters {
                frames_forwarded: counted.frames_forwarded,
                bytes_forwarded: counted.bytes_forwarded,
                frames_dropped: counted.frames_dropped,
                bytes_dropped: counted.bytes_dropped,
                frames_marked: counted.frames_marked,
                queue_bytes_max: self.fabric.queue_bytes_max(number as u32),
                frames_unaddressed: self.unaddressed[number],
            };
            (port.node.clone(), counters)
        };
        self.checked.plan.ports.iter().enumerate().map(of_port).collect()
    }

    /// The records at the end.
    fn finish(mut self, control: &mut Control<'_, impl Write>) -> Result<(), Failure> {
        let lost = self.settle()?;
        control.write(&SwitchRecord::Drops {
            at_ns: self.drops.iter().map(|&(at, _)| self.clock.monotonic_ns(at)).collect(),
            egress: self.drops.iter().map(|&(_, egress)| egress).collect(),
        })?;
        control.write(&SwitchRecord::Clock(self.clock_record(lost)))?;
        control.write(&SwitchRecord::End {})
    }

    /// What was lost for good: frames that the kernel has counted and that are still on their way are
    /// given some time to be read.
    fn settle(&mut self) -> Result<Lost, Failure> {
        let counted = losses::count(&interfaces::read()?, &self.checked.plan.ports)?;
        for _ in 0..SETTLING_ROUNDS {
            for port in 0..self.sockets.len() {
                self.receive(port)?;
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
        let complaint = lost.complaint(self.checked.plan.mtu_bytes);
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
            cpu_ns: clock::processor_ns(),
        }
    }
}
