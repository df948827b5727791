//! Link rates, offloads and PAUSE frames, as reported by the generic netlink family `ethtool` (Linux 5.6 and
//! later, `Documentation/networking/ethtool-netlink.rst`).

use serde::Serialize;

use super::netlink::{array_at, attributes, find, integer, name};
use super::{Fields, ParseError};

/// Length of `struct genlmsghdr`.
const HEADER: usize = 4;

const CTRL_ATTR_FAMILY_ID: u16 = 1;
/// In every message: the attribute with the interface, and the interface's number in it.
const ETHTOOL_A_HEADER: u16 = 1;
const ETHTOOL_A_HEADER_DEV_INDEX: u16 = 1;
const ETHTOOL_A_LINKMODES_SPEED: u16 = 5;
const ETHTOOL_A_LINKMODES_DUPLEX: u16 = 6;
const ETHTOOL_A_FEATURES_HW: u16 = 2;
const ETHTOOL_A_FEATURES_ACTIVE: u16 = 4;
const ETHTOOL_A_FEATURES_NOCHANGE: u16 = 5;
const ETHTOOL_A_BITSET_BITS: u16 = 3;
const ETHTOOL_A_BITSET_BITS_BIT: u16 = 1;
const ETHTOOL_A_BITSET_BIT_NAME: u16 = 2;
const ETHTOOL_A_BITSET_BIT_VALUE: u16 = 3;
const ETHTOOL_A_PAUSE_STATS: u16 = 5;
const ETHTOOL_A_PAUSE_STAT_TX_FRAMES: u16 = 2;
const ETHTOOL_A_PAUSE_STAT_RX_FRAMES: u16 = 3;
const SPEED_UNKNOWN: u64 = u32::MAX as u64;

/// Duplex of a link: full carries both directions at the same time, half only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// One direction at a time.
    Half,
    /// Both directions at the same time.
    Full,
}

/// Rate and duplex mode of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkMode {
    /// Number of the interface.
    pub index: u32,
    /// Rate in Mbit/s; none: unknown.
    pub speed_mbps: Option<u32>,
    /// Duplex mode; none: unknown.
    pub duplex: Option<Duplex>,
}

/// A feature of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The kernel's name, such as `tx-tcp-segmentation`.
    pub name: String,
    /// True if it is on.
    pub is_on: bool,
    /// True if it cannot be changed.
    pub is_fixed: bool,
}

/// All features of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Number of the interface.
    pub index: u32,
    /// The features, in the kernel's order.
    pub all: Vec<Feature>,
}

/// PAUSE frames (IEEE 802.3, annex 31B) that an interface has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Number of the interface.
    pub index: u32,
    /// Frames sent; none: the driver does not count them.
    pub sent: Option<u64>,
    /// Frames received; none: the driver does not count them.
    pub received: Option<u64>,
}

/// The state of an interface's link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ethernet {
    /// Number of the interface.
    pub index: i32,
    /// Name of the interface.
    pub name: String,
    /// Rate in Mbit/s; none: unknown.
    pub speed_mbps: Option<u64>,
    /// PAUSE frames sent; none: not counted.
    pub pause_sent: Option<u64>,
    /// PAUSE frames received; none: not counted.
    pub pause_received: Option<u64>,
}

impl Fields for Ethernet {
    fn field(&self, name: &str) -> Option<u64> {
        match name {
            "speed" => self.speed_mbps,
            "tx_pause_frames" => self.pause_sent,
            "rx_pause_frames" => self.pause_received,
            _ => None,
        }
    }
}

/// Number of the family in an answer to `CTRL_CMD_GETFAMILY`.
///
/// # Errors
/// The message has no such number.
pub fn family(message: &[u8]) -> Result<u16, ParseError> {
    let id = find(message, HEADER, CTRL_ATTR_FAMILY_ID)?;
    let id = id.and_then(|value| integer(&value));
    id.map(|id| id as u16).ok_or_else(|| ParseError::new("the number of a family", "none"))
}

/// Parses an answer to `ETHTOOL_MSG_LINKMODES_GET`.
///
/// # Errors
/// The message is too short, or an attribute exceeds it.
pub fn link_mode(message: &[u8]) -> Result<LinkMode, ParseError> {
    let mut mode = LinkMode { index: index(message)?, ..LinkMode::default() };
    let speed = find(message, HEADER, ETHTOOL_A_LINKMODES_SPEED)?;
    let speed = speed.and_then(|value| integer(&value));
    mode.speed_mbps = speed.filter(|mbps| *mbps != SPEED_UNKNOWN).map(|mbps| mbps as u32);
    mode.duplex = match find(message, HEADER, ETHTOOL_A_LINKMODES_DUPLEX)?.as_deref() {
        Some([0]) => Some(Duplex::Half),
        Some([1]) => Some(Duplex::Full),
        _ => None,
    };
    Ok(mode)
}

/// Parses an answer to `ETHTOOL_MSG_FEATURES_GET` with named bits.
///
/// # Errors
/// The message is too short, or an attribute exceeds it.
pub fn features(message: &[u8]) -> Result<Features, ParseError> {
    let named = |kind| bits(&find(message, HEADER, kind)?.unwrap_or_default());
    // The kernel lists all features here, each with a value of 1 if it may be changed.
    let listed = named(ETHTOOL_A_FEATURES_HW)?;
    let [active, never] = [named(ETHTOOL_A_FEATURES_ACTIVE)?, named(ETHTOOL_A_FEATURES_NOCHANGE)?];
    let has = |bits: &[(String, bool)], name: &str| bits.iter().any(|(known, _)| known == name);
    let all = listed.into_iter().map(|(name, may_change)| Feature {
        is_on: has(&active, &name),
        is_fixed: !may_change || has(&never, &name),
        name,
    });
    Ok(Features { index: index(message)?, all: all.collect() })
}

/// Names of the bits in a set, and whether each has a value of 1, as far as the set has values. Bits
/// that have no meaning any more have an empty name.
fn bits(set: &[u8]) -> Result<Vec<(String, bool)>, ParseError> {
    let bits = find(set, 0, ETHTOOL_A_BITSET_BITS)?.unwrap_or_default();
    let mut found = Vec::new();
    for bit in attributes(&bits, 0) {
        let bit = bit?;
        if bit.kind() == ETHTOOL_A_BITSET_BITS_BIT {
            let called = find(bit.value(), 0, ETHTOOL_A_BITSET_BIT_NAME)?;
            let is_set = find(bit.value(), 0, ETHTOOL_A_BITSET_BIT_VALUE)?.is_some();
            let called = called.map(|value| name(&value)).filter(|name| !name.is_empty());
            found.extend(called.map(|name| (name, is_set)));
        }
    }
    Ok(found)
}

/// Parses an answer to `ETHTOOL_MSG_PAUSE_GET` with statistics.
///
/// # Errors
/// The message is too short, or an attribute exceeds it.
pub fn pause(message: &[u8]) -> Result<Pause, ParseError> {
    let stats = find(message, HEADER, ETHTOOL_A_PAUSE_STATS)?.unwrap_or_default();
    let count = |kind| Ok(find(&stats, 0, kind)?.and_then(|value| integer(&value)));
    Ok(Pause {
        index: index(message)?,
        sent: count(ETHTOOL_A_PAUSE_STAT_TX_FRAMES)?,
        received: count(ETHTOOL_A_PAUSE_STAT_RX_FRAMES)?,
    })
}

fn index(message: &[u8]) -> Result<u32, ParseError> {
    array_at::<HEADER>(message, 0)?;
    let header = find(message, HEADER, ETHTOOL_A_HEADER)?.unwrap_or_default();
    let index = find(&header, 0, ETHTOOL_A_HEADER_DEV_INDEX)?;
    let index = index.and_then(|value| integer(&value));
    index.map(|index| index as u32).ok_or_else(|| ParseError::new("an interface", "none"))
}
