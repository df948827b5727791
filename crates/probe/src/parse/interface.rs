//! How an interface is configured, as reported by `RTM_GETLINK` (rtnetlink(7)).

use super::ParseError;
use super::netlink::{array_at, attributes, find, i32_at, integer, name, u32_at};

/// Length of `struct ifinfomsg`.
const HEADER: usize = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
/// Types of hardware (`include/uapi/linux/if_arp.h`).
const ARPHRD_ETHER: u64 = 1;
const ARPHRD_LOOPBACK: u64 = 772;
/// Flags of netdevice(7): `IFF_UP`, switched on, and `IFF_LOWER_UP`, with a carrier.
const UP: u32 = 1 | 1 << 16;

/// An interface of the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Number of the interface.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// The kernel's name of the kind of a virtual interface, such as `veth`. For hardware: `ether`,
    /// or the number of its type.
    pub kind: String,
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
        kind: hardware(message)?,
        mtu: 0,
        is_up: u32_at(message, 8)? & UP == UP,
    };
    for attribute in attributes(message, HEADER) {
        let attribute = attribute?;
        match attribute.kind() {
            IFLA_IFNAME => interface.name = name(attribute.value()),
            IFLA_MTU => interface.mtu = integer(attribute.value()).unwrap_or_default() as u32,
            IFLA_LINKINFO => {
                if let Some(kind) = find(attribute.value(), 0, IFLA_INFO_KIND)? {
                    interface.kind = name(&kind);
                }
            }
            _ => {}
        }
    }
    Ok(interface)
}

/// The kind of an interface that is not virtual, as `ip link` names it.
fn hardware(message: &[u8]) -> Result<String, ParseError> {
    Ok(match integer(&array_at::<2>(message, 2)?) {
        Some(ARPHRD_ETHER) => "ether".to_owned(),
        Some(ARPHRD_LOOPBACK) => "loopback".to_owned(),
        other => format!("type {}", other.unwrap_or_default()),
    })
}
