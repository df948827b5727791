//! An interface, as reported by `RTM_GETLINK` (rtnetlink(7)).

use serde::Serialize;

use super::netlink::{array_at, attributes, i32_at, integer, name};
use super::{Columns, Fields, ParseError};

/// Length of `struct ifinfomsg`.
const HEADER: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_STATS64: u16 = 23;
const IFLA_CARRIER_CHANGES: u16 = 35;

/// `struct rtnl_link_stats64` (`include/uapi/linux/if_link.h`), which is longer in later kernels.
const STATS64: &[&str] = &[
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_window_errors",
    "rx_compressed",
    "tx_compressed",
    "rx_nohandler",
    "rx_otherhost_dropped",
];

/// An interface of the namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Number of the interface. A namespace never uses a number again.
    pub index: i32,
    /// Name of the interface.
    pub name: String,
    /// How often the carrier came or went; none: before Linux 3.15.
    pub carrier_changes: Option<u64>,
    /// Counters of the interface.
    pub stats: Columns,
}

impl Fields for Link {
    fn field(&self, name: &str) -> Option<u64> {
        if name == "carrier_changes" { self.carrier_changes } else { self.stats.field(name) }
    }
}

/// Parses one message.
///
/// # Errors
/// The message is too short, or an attribute exceeds it.
pub fn parse(message: &[u8]) -> Result<Link, ParseError> {
    array_at::<HEADER>(message, 0)?;
    let mut link = Link {
        index: i32_at(message, 4)?,
        name: String::new(),
        carrier_changes: None,
        stats: Columns::new(STATS64, Vec::new()),
    };
    for attribute in attributes(message, HEADER) {
        let attribute = attribute?;
        match attribute.kind() {
            IFLA_IFNAME => link.name = name(attribute.value()),
            IFLA_CARRIER_CHANGES => link.carrier_changes = integer(attribute.value()),
            IFLA_STATS64 => link.stats = stats(attribute.value()),
            _ => {}
        }
    }
    Ok(link)
}

fn stats(value: &[u8]) -> Columns {
    Columns::new(STATS64, value.chunks_exact(8).map(integer).collect())
}
