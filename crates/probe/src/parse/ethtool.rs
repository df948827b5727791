//! Link rates and offloads, as reported by the generic netlink family `ethtool` (Linux 5.6 and
//! later, `Documentation/networking/ethtool-netlink.rst`).

use super::ParseError;
use super::netlink::{array_at, attributes, integer, name};

/// Length of `struct genlmsghdr`.
const HEADER: usize = 4;

const CTRL_ATTR_FAMILY_ID: u16 = 1;
/// In every message: the attribute with the interface, and the interface's number in it.
const ETHTOOL_A_HEADER: u16 = 1;
const ETHTOOL_A_HEADER_DEV_INDEX: u16 = 1;
const ETHTOOL_A_LINKMODES_SPEED: u16 = 5;
const ETHTOOL_A_LINKMODES_DUPLEX: u16 = 6;
const ETHTOOL_A_FEATURES_ACTIVE: u16 = 4;
const ETHTOOL_A_BITSET_BITS: u16 = 3;
const ETHTOOL_A_BITSET_BITS_BIT: u16 = 1;
const ETHTOOL_A_BITSET_BIT_NAME: u16 = 2;
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

/// Features of an interface that are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Number of the interface.
    pub index: u32,
    /// The kernel's names, such as `tx-tcp-segmentation`.
    pub active: Vec<String>,
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
    let mut features = Features { index: index(message)?, active: Vec::new() };
    let active = find(message, HEADER, ETHTOOL_A_FEATURES_ACTIVE)?.unwrap_or_default();
    let bits = find(&active, 0, ETHTOOL_A_BITSET_BITS)?.unwrap_or_default();
    for bit in attributes(&bits, 0) {
        let bit = bit?;
        if bit.kind() == ETHTOOL_A_BITSET_BITS_BIT {
            let called = find(bit.value(), 0, ETHTOOL_A_BITSET_BIT_NAME)?;
            features.active.extend(called.map(|value| name(&value)));
        }
    }
    Ok(features)
}

fn index(message: &[u8]) -> Result<u32, ParseError> {
    array_at::<HEADER>(message, 0)?;
    let header = find(message, HEADER, ETHTOOL_A_HEADER)?.unwrap_or_default();
    let index = find(&header, 0, ETHTOOL_A_HEADER_DEV_INDEX)?;
    let index = index.and_then(|value| integer(&value));
    index.map(|index| index as u32).ok_or_else(|| ParseError::new("an interface", "none"))
}

/// The value of the first attribute of a kind; none: there is no such attribute.
fn find(message: &[u8], start: usize, kind: u16) -> Result<Option<Vec<u8>>, ParseError> {
    for attribute in attributes(message, start) {
        let attribute = attribute?;
        if attribute.kind() == kind {
            return Ok(Some(attribute.value().to_vec()));
        }
    }
    Ok(None)
}
