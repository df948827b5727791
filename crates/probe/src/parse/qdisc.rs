//! A queueing discipline, as reported by `RTM_GETQDISC` (`include/uapi/linux/gen_stats.h`).

use serde::Serialize;

use super::netlink::{array_at, attributes, i32_at, integer, name, u32_at};
use super::{Fields, ParseError};

/// Length of `struct tcmsg`.
const HEADER: usize = 20;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;

/// A queueing discipline of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Qdisc {
    /// Number of the interface.
    pub interface: i32,
    /// Kind of the queueing discipline: `pfifo_fast`, `tbf`, …
    pub kind: String,
    /// Handle of the queueing discipline.
    pub handle: u32,
    /// Handle of the class that this queueing discipline serves.
    pub parent: u32,
    /// Bytes that it has sent.
    pub bytes: Option<u64>,
    /// Packets that it has sent. An offloaded packet counts as many times as it has segments
    /// (`gso_segs`).
    pub packets: Option<u64>,
    /// Packets that are queued now.
    pub qlen: Option<u64>,
    /// Bytes that are queued now.
    pub backlog: Option<u64>,
    /// Packets that it has dropped.
    pub drops: Option<u64>,
    /// Packets that a busy device returned to the queue.
    pub requeues: Option<u64>,
    /// How often it had to delay packets because of a rate, or was full. What exactly is counted
    /// depends on the kind of queueing discipline.
    pub overlimits: Option<u64>,
}

impl Qdisc {
    /// Whether this is the root queueing discipline of the interface. The root's counters include
    /// those of its children.
    #[must_use]
    pub const fn is_root(&self) -> bool {
        self.parent == TC_H_ROOT
    }

    /// Whether it counts its packets. `noqueue` has no queue and no counts.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.kind != "noqueue"
    }
}

impl Fields for Qdisc {
    fn field(&self, name: &str) -> Option<u64> {
        match name {
            "bytes" => self.bytes,
            "packets" => self.packets,
            "qlen" => self.qlen,
            "backlog" => self.backlog,
            "drops" => self.drops,
            "requeues" => self.requeues,
            "overlimits" => self.overlimits,
            _ => None,
        }
    }
}

/// Parses one message.
///
/// # Errors
/// The message is too short, or an attribute exceeds it.
pub fn parse(message: &[u8]) -> Result<Qdisc, ParseError> {
    array_at::<HEADER>(message, 0)?;
    let mut qdisc = Qdisc {
        interface: i32_at(message, 4)?,
        handle: u32_at(message, 8)?,
        parent: u32_at(message, 12)?,
        ..Qdisc::default()
    };
    for attribute in attributes(message, HEADER) {
        let attribute = attribute?;
        match attribute.kind() {
            TCA_KIND => qdisc.kind = name(attribute.value()),
            TCA_STATS2 => read_stats(&mut qdisc, attribute.value())?,
            _ => {}
        }
    }
    Ok(qdisc)
}

fn read_stats(qdisc: &mut Qdisc, stats: &[u8]) -> Result<(), ParseError> {
    for attribute in attributes(stats, 0) {
        let attribute = attribute?;
        let value = attribute.value();
        let at = |from: usize, to: usize| value.get(from..to).and_then(integer);
        match attribute.kind() {
            // struct gnet_stats_basic
            TCA_STATS_BASIC => (qdisc.bytes, qdisc.packets) = (at(0, 8), at(8, 12)),
            // struct gnet_stats_queue
            TCA_STATS_QUEUE => {
                (qdisc.qlen, qdisc.backlog) = (at(0, 4), at(4, 8));
                (qdisc.drops, qdisc.requeues, qdisc.overlimits) =
                    (at(8, 12), at(12, 16), at(16, 20));
            }
            // The kernel adds this attribute, after TCA_STATS_BASIC, if the packet count needs more
            // than 32 bits.
            TCA_STATS_PKT64 => qdisc.packets = at(0, 8),
            _ => {}
        }
    }
    Ok(())
}
