//! Where the time of units of work went.

use serde::{Deserialize, Serialize};

/// A way to divide the time of a unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeView {
    /// A wait in a queue is a part of its own: this shows why a unit is slow.
    Journey,
    /// The work in front stands for a wait in a queue: this shows the limit.
    Cause,
}

/// A group of units of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeGroup {
    /// Every unit of the measuring phase.
    All,
    /// The middle tenth by their times.
    Middle,
    /// The slowest 2 %, at least one.
    Slowest,
    /// The slowest one.
    Worst,
    /// For each iteration, the connection whose response was complete when half of the others were.
    /// Its time is from the start of the iteration to its own last byte.
    MedianMember,
}

/// A kind of unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitKind {
    /// An iteration of an incast.
    Iteration,
    /// A transfer.
    Transfer,
    /// A request.
    Request,
    /// A transaction.
    Transaction,
    /// About 100 ms of an unsized stream, between the sending of two segments.
    Interval,
}

/// Why something had to happen before the last byte of a unit of work could be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The unit's own bytes.
    Own,
    /// The window of the peer had no room.
    PeerWindow,
    /// The send buffer had no room.
    OwnBuffer,
    /// The congestion window had no room.
    CongestionWindow,
    /// The bytes were sent again.
    Recovery,
    /// Earlier bytes of the connection had to leave the host first (small queue).
    OwnInterface,
}

/// Where time passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// In the application, without the use of a resource.
    Application,
    /// At a CPU.
    Cpu,
    /// On the memory bus.
    MemoryBus,
    /// On the I/O bus.
    IoBus,
    /// At a disk.
    Disk,
    /// A request of the database waited for logs and locks.
    DatabaseHold,
    /// In front of a CPU.
    CpuQueue,
    /// In front of the memory bus.
    MemoryBusQueue,
    /// In front of the I/O bus.
    IoBusQueue,
    /// In front of a disk.
    DiskQueue,
    /// In the queue of a port of a switch, or of an interface.
    Queue,
    /// At a port that was paused (IEEE 802.3x).
    Pause,
    /// Until a thread was free.
    Thread,
    /// Until a connection to the database was free.
    Pool,
    /// Until a slot of the database was free.
    DatabaseSlot,
    /// Until the connection of the request was free.
    Connection,
    /// In the network stack of a host.
    HostLatency,
    /// Until an interface raised its interrupt.
    Interrupt,
    /// Because of the packet rate at which an interface sends.
    PacketRateSending,
    /// Because of the packet rate at which an interface receives.
    PacketRateReceiving,
    /// Bits were put on a link.
    Serialization,
    /// In a switch, apart from its queues.
    SwitchLatency,
    /// On the way along a link.
    Propagation,
    /// Until the retransmission timer fired.
    RetransmissionTimer,
    /// Until the timer of a tail loss probe fired.
    ProbeTimer,
    /// Until the timer of a suspected loss fired (RACK).
    ReorderingTimer,
    /// Until the timer fired that probes a shut window.
    WindowProbeTimer,
    /// Until the timer of a delayed acknowledgment fired.
    DelayedAckTimer,
    /// The user thought.
    Think,
    /// The load generator spaced its requests, or was late.
    Generator,
    /// On real testbeds only.
    NotKnown,
}

/// Where the time of a group of units went: the sums of the parts of their times, a part in each row
/// of the columns. The parts of each unit add up to its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeAccount {
    /// How the times are divided.
    pub view: TimeView,
    /// Which units.
    pub group: TimeGroup,
    /// Their kind.
    pub unit: UnitKind,
    /// Their number.
    pub units: u64,
    /// The sum of their times.
    pub whole_ps: u64,
    /// Group `worst`: the number of the unit in the measuring phase, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Group `worst`: the connection whose last byte ended the unit, as a row of
    /// [`crate::ConnectionSamples`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// Reason of each part.
    pub reason: Vec<Reason>,
    /// Place of each part.
    pub place: Vec<Place>,
    /// The host, zone or switch of each place; of a link or port, the sending node. Empty: none.
    pub node: Vec<String>,
    /// Of a link, a port or an interface: the node at the other end. Empty: none.
    pub to: Vec<String>,
    /// Lower bound of each part, summed over the units.
    pub low_ps: Vec<u64>,
    /// Upper bound of each part; none: equal to `low_ps`, the parts are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ps: Option<Vec<u64>>,
}
