use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer};
use rustix::net::netlink::{GENERIC, SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send,
    socket_with,
};

use crate::parse::ethtool::{Features, LinkMode, Pause};
use crate::parse::flow::{AF_INET, AF_INET6, Flow, Socket};
use crate::parse::interface::Interface;
use crate::parse::link::Link;
use crate::parse::netlink::{Content, messages};
use crate::parse::qdisc::Qdisc;
use crate::parse::{ParseError, ethtool, flow, interface, link, qdisc};

/// Buffer size, large enough for every datagram that the kernel sends (`netlink_dump` in
/// `net/netlink/af_netlink.c`).
const BUFFER: usize = 64 * 1024;
/// Time limit for an answer of the kernel.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a table is requested at most, if it changes each time while the kernel sends it.
const ATTEMPTS: u32 = 5;
const HEADER: usize = 16;

/// The netlink protocol `NETLINK_ROUTE` has the number 0, which `socket` expresses as no protocol.
const NETLINK_ROUTE: Option<Protocol> = None;
const RTM_GETLINK: u16 = 18;
const RTM_GETQDISC: u16 = 38;
/// A request for all interfaces.
const IFINFOMSG: [u8; 16] = [0; 16];
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// The generic netlink family that knows the numbers of all others (`include/uapi/linux/genetlink.h`).
const GENL_ID_CTRL: u16 = 0x10;

/// A netlink socket to a subsystem of the kernel. It shows the namespace of the thread that opened
/// it.
#[derive(Debug)]
struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; BUFFER] })
    }

    /// Requests a table and parses each entry with `parse`.
    fn dump<T>(
        &mut self,
        kind: u16,
        body: &[u8],
        parse: fn(&[u8]) -> Result<T, ParseError>,
    ) -> io::Result<Vec<T>> {
        for _ in 0..ATTEMPTS {
            self.request(kind, NLM_F_DUMP, body)?;
            if let Some(entries) = self.answer(parse, true)? {
                return Ok(entries);
            }
        }
        Err(io::Error::other(
            "a table of the kernel changed during each of the attempts to read it",
        ))
    }

    fn request(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = vec![0; HEADER + body.len()];
        let mut message = NetlinkBuffer::new(&mut bytes);
        message.set_length((HEADER + body.len()) as u32);
        message.set_message_type(kind);
        message.set_flags(NLM_F_REQUEST | flags);
        message.set_sequence_number(self.sequence);
        message.payload_mut().copy_from_slice(body);
        send(&self.socket, &bytes, SendFlags::empty())?;
        Ok(())
    }

    /// Reads the answer to the last request; none: the table changed meanwhile. If `whole`, the
    /// answer is a table of several messages, the last of which marks the end. Otherwise it is a
    /// single message.
    fn answer<T>(
        &mut self,
        parse: fn(&[u8]) -> Result<T, ParseError>,
        whole: bool,
    ) -> io::Result<Option<Vec<T>>> {
        let mut entries = Vec::new();
        let mut interrupted = false;
        loop {
            let (_, length) = recv(&self.socket, &mut self.buffer[..], RecvFlags::TRUNC)?;
            let datagram =
                self.buffer.get(..length).ok_or_else(|| io::Error::other("a truncated answer"))?;
            for message in messages(datagram).map_err(invalid)? {
                if message.sequence != self.sequence {
                    continue;
                }
                interrupted |= message.interrupted;
                match message.content {
                    Content::Data(data) => entries.push(parse(data).map_err(invalid)?),
                    Content::Done(None) => return Ok((!interrupted).then_some(entries)),
                    Content::Done(Some(code)) | Content::Failed(Some(code)) => {
                        return Err(io::Error::from_raw_os_error(code));
                    }
                    Content::Failed(None) | Content::Nothing => {}
                }
            }
            if !whole && !entries.is_empty() {
                return Ok(Some(entries));
            }
        }
    }
}

fn invalid(error: ParseError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Reads interfaces and their queueing disciplines.
#[derive(Debug)]
pub(super) struct RouteReader(Netlink);

impl RouteReader {
    pub(super) fn open() -> io::Result<Self> {
        Netlink::open(NETLINK_ROUTE).map(Self)
    }

    /// Counters of all interfaces of the namespace.
    pub(super) fn links(&mut self) -> io::Result<Vec<Link>> {
        self.0.dump(RTM_GETLINK, &IFINFOMSG, link::parse)
    }

    /// All interfaces of the namespace.
    pub(super) fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        self.0.dump(RTM_GETLINK, &IFINFOMSG, interface::parse)
    }

    /// All queueing disciplines of the namespace.
    pub(super) fn qdiscs(&mut self) -> io::Result<Vec<Qdisc>> {
        const TCMSG: [u8; 20] = [0; 20];
        self.0.dump(RTM_GETQDISC, &TCMSG, qdisc::parse)
    }
}

/// Reads link rates and features from the generic netlink family `ethtool`.
#[derive(Debug)]
pub(super) struct EthtoolReader {
    netlink: Netlink,
    family: u16,
}

impl EthtoolReader {
    /// # Errors
    /// The kernel does not have this family (before Linux 5.6).
    pub(super) fn open() -> io::Result<Self> {
        // CTRL_CMD_GETFAMILY with one attribute, CTRL_ATTR_FAMILY_NAME: its length, its kind, the name.
        const REQUEST: &[u8] = b"\x03\x01\0\0";
        const NAME: &[u8; 8] = b"ethtool\0";
        let mut netlink = Netlink::open(Some(GENERIC))?;
        let attribute = [4 + NAME.len() as u16, 2].map(u16::to_ne_bytes).concat();
        netlink.request(GENL_ID_CTRL, 0, &[REQUEST, &attribute, NAME].concat())?;
        let found = netlink.answer(ethtool::family, false)?;
        let family = found.into_iter().flatten().next().ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { netlink, family })
    }

    /// Rates and duplex modes of all interfaces that have one.
    pub(super) fn link_modes(&mut self) -> io::Result<Vec<LinkMode>> {
        const ETHTOOL_MSG_LINKMODES_GET: u8 = 4;
        self.netlink.dump(self.family, &[ETHTOOL_MSG_LINKMODES_GET, 1, 0, 0], ethtool::link_mode)
    }

    /// Features of all interfaces.
    pub(super) fn features(&mut self) -> io::Result<Vec<Features>> {
        const ETHTOOL_MSG_FEATURES_GET: u8 = 11;
        self.netlink.dump(self.family, &[ETHTOOL_MSG_FEATURES_GET, 1, 0, 0], ethtool::features)
    }

    /// PAUSE frames of all interfaces whose driver knows PAUSE. Before Linux 5.10 the kernel has no
    /// counts, and before 5.7 no answer.
    pub(super) fn pauses(&mut self) -> io::Result<Vec<Pause>> {
        const ETHTOOL_MSG_PAUSE_GET: u8 = 21;
        const ETHTOOL_A_PAUSE_HEADER: u16 = 1;
        const ETHTOOL_A_HEADER_FLAGS: u16 = 3;
        const ETHTOOL_FLAG_STATS: u32 = 1 << 2;
        const NESTED: u16 = 1 << 15;
        // The header with one attribute: each begins with its length and its kind.
        let header = [12, ETHTOOL_A_PAUSE_HEADER | NESTED, 8, ETHTOOL_A_HEADER_FLAGS];
        let header = header.map(u16::to_ne_bytes).concat();
        let request =
            [&[ETHTOOL_MSG_PAUSE_GET, 1, 0, 0], &header[..], &ETHTOOL_FLAG_STATS.to_ne_bytes()];
        let request = request.concat();
        self.netlink.dump(self.family, &request, ethtool::pause)
    }
}

/// Reads the TCP connections of a namespace: that of the thread that opened the reader.
#[derive(Debug)]
pub struct FlowReader(Netlink);

impl FlowReader {
    /// Opens a netlink socket to `sock_diag`.
    ///
    /// # Errors
    /// The kernel has no `sock_diag`.
    pub fn open() -> io::Result<Self> {
        Netlink::open(Some(SOCK_DIAG)).map(Self)
    }

    /// All open connections, without listening and closing sockets.
    ///
    /// # Errors
    /// The kernel rejects the request, or its answer cannot be parsed.
    pub fn flows(&mut self) -> io::Result<Vec<Flow>> {
        let mut flows = Vec::new();
        for family in [AF_INET, AF_INET6] {
            let request = request_of_family(family);
            flows.extend(self.0.dump(SOCK_DIAG_BY_FAMILY, &request, flow::parse)?);
        }
        Ok(flows)
    }

    /// Reads one connection, which is faster than reading all of them.
    ///
    /// # Errors
    /// The connection does not exist (`NotFound`), the kernel rejects the request, or its answer
    /// cannot be parsed.
    pub fn flow(&mut self, socket: Socket) -> io::Result<Flow> {
        self.0.request(SOCK_DIAG_BY_FAMILY, 0, &request_of_socket(socket))?;
        let flows = self.0.answer(flow::parse, false)?;
        flows.into_iter().flatten().next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Length of `struct inet_diag_req_v2` (`include/uapi/linux/inet_diag.h`).
const DIAG_REQUEST: usize = 56;

/// A request for all connections except half-open and closed ones. It is an `inet_diag_req_v2` in
/// which no socket is given.
fn request_of_family(family: u8) -> [u8; DIAG_REQUEST] {
    const IPPROTO_TCP: u8 = 6;
    // 1 << (INET_DIAG_INFO - 1) and 1 << (INET_DIAG_CONG - 1)
    const EXTENSIONS: u8 = 1 << 1 | 1 << 3;
    // All states but SYN_RECV, TIME_WAIT, LISTEN, NEW_SYN_RECV and later ones
    // (include/net/tcp_states.h).
    const STATES: u32 = 0b1111_1111_1110 & !(1 << 3 | 1 << 6 | 1 << 10);
    let mut request = [0; DIAG_REQUEST];
    request[0..3].copy_from_slice(&[family, IPPROTO_TCP, EXTENSIONS]);
    request[4..8].copy_from_slice(&STATES.to_ne_bytes());
    request
}

/// A request for the connection between two ends.
fn request_of_socket(socket: Socket) -> [u8; DIAG_REQUEST] {
    let family = if socket.local.is_ipv4() { AF_INET } else { AF_INET6 };
    let mut request = request_of_family(family);
    request[8..10].copy_from_slice(&socket.local.port().to_be_bytes());
    request[10..12].copy_from_slice(&socket.remote.port().to_be_bytes());
    put_address(&mut request[12..28], socket.local);
    put_address(&mut request[28..44], socket.remote);
    // INET_DIAG_NOCOOKIE: match by addresses and ports only
    request[48..56].fill(0xff);
    request
}

fn put_address(place: &mut [u8], address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => place[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => place.copy_from_slice(&ip.octets()),
    }
}
