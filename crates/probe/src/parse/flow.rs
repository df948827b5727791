//! A TCP connection, as reported by `SOCK_DIAG_BY_FAMILY` (`sock_diag(7)`,
//! `include/uapi/linux/inet_diag.h`).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use serde::Serialize;

use super::netlink::{array_at, attributes, name, u32_at};
use super::tcp_info::TcpInfo;
use super::{Fields, ParseError};

/// Length of `struct inet_diag_msg`.
const HEADER: usize = 72;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
/// Address families (`include/linux/socket.h`).
pub(crate) const AF_INET: u8 = 2;
/// Address family of IPv6.
pub(crate) const AF_INET6: u8 = 10;

/// The two ends of a connection. If an IPv6 socket has an IPv4 connection, the addresses here are
/// IPv4 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Socket {
    /// The end on this host.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.local, self.remote)
    }
}

/// A connection of the namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// The two ends of the connection.
    pub socket: Socket,
    /// Unique among all connections of this boot.
    pub cookie: u64,
    /// The connection's congestion control.
    pub congestion_control: Option<String>,
    /// The connection's `TCP_INFO`.
    pub info: TcpInfo,
}

impl Fields for Flow {
    fn field(&self, name: &str) -> Option<u64> {
        match name {
            // Sent segments without payload. On an open connection, all of them are
            // acknowledgments.
            "segs_out - data_segs_out" => {
                let all = self.info.field("segs_out")? as u32;
                Some(u64::from(all.wrapping_sub(self.info.field("data_segs_out")? as u32)))
            }
            _ => self.info.field(name),
        }
    }
}

/// Parses one message.
///
/// # Errors
/// The message is too short, has an unknown address family, or has an attribute that exceeds it.
pub fn parse(message: &[u8]) -> Result<Flow, ParseError> {
    array_at::<HEADER>(message, 0)?;
    let end = |port, address| {
        Ok(SocketAddr::new(ip(message, address)?, u16::from_be_bytes(array_at(message, port)?)))
    };
    let mut flow = Flow {
        socket: Socket { local: end(4, 8)?, remote: end(6, 24)? },
        cookie: u64::from(u32_at(message, 44)?) | u64::from(u32_at(message, 48)?) << 32,
        congestion_control: None,
        info: TcpInfo::default(),
    };
    for attribute in attributes(message, HEADER) {
        let attribute = attribute?;
        match attribute.kind() {
            INET_DIAG_INFO => flow.info = TcpInfo::new(attribute.value()),
            INET_DIAG_CONG => flow.congestion_control = Some(name(attribute.value())),
            _ => {}
        }
    }
    Ok(flow)
}

fn ip(message: &[u8], offset: usize) -> Result<IpAddr, ParseError> {
    match message[0] {
        AF_INET => Ok(IpAddr::from(array_at::<4>(message, offset)?)),
        AF_INET6 => {
            Ok(IpAddr::from(Ipv6Addr::from(array_at::<16>(message, offset)?)).to_canonical())
        }
        family => Err(ParseError::new("IPv4 or IPv6", family)),
    }
}
