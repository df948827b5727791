//! How an interface is configured, as reported by `RTM_GETLINK` (rtnetlink(7)).

use super::ParseError;
use super::netlink::{array_at, attributes, i32_at, integer, name, u32_at};

/// Length of `struct ifinfomsg`.
const HEADER: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
/// Flags of netdevice(7): `IFF_UP`, switched on, and `IFF_LOWER_UP`, with a carrier.
const UP: u32 = 1 | 1 << 16;

/// An interface of the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Number of the interface.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// True if the interface is switched on and has a carrier.
    pub is_up: bool,
}

/// Parses one message.
///
/// # Errors
/// The message is too short, or an attribute exceeds it.
pub fn parse(message: &[u8]) -> Result<Interface, ParseError> {
    array_at::<HEADER>(message, 0)?;
    let mut interface = Interface {
        index: i32_at(message, 4)?.cast_unsigned(),
        name: String::new(),
        mtu: 0,
        is_up: u32_at(message, 8)? & UP == UP,
    };
    for attribute in attributes(message, HEADER) {
        let attribute = attribute?;
        match attribute.kind() {
            IFLA_IFNAME => interface.name = name(attribute.value()),
            IFLA_MTU => interface.mtu = integer(attribute.value()).unwrap_or_default() as u32,
            _ => {}
        }
    }
    Ok(interface)
}
