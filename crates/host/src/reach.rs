//! The asking side of probes between hosts: whether a peer answers, and how large packets may be.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use netstudy_records::HostRecord;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, getsockopt, socket, sockopt,
};
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, ip_mtu, set_ip_mtu_discover};
use std::os::fd::AsFd;

use crate::listen::{ANSWER_BYTES, TAG_BYTES, answer};

/// Bytes of the headers of IPv4 and UDP.
const HEADER_BYTES: usize = 28;
/// How often each size is tried: one packet may be lost.
const ATTEMPTS: u32 = 2;

/// Sends probes to a peer: one TCP connection, and datagrams that no router may fragment.
pub(crate) fn probe(
    n: u64,
    local: Ipv4Addr,
    peer: Ipv4Addr,
    port: u16,
    sizes: &[u16],
    timeout: Duration,
) -> HostRecord {
    let begun = Instant::now();
    let tcp = connect_to(local, peer, port, timeout).err();
    let connect_ns = tcp.is_none().then(|| begun.elapsed().as_nanos() as u64);
    let mut told_mtu_bytes = None;
    let largest = match open(local, peer, port) {
        Ok(socket) => largest(&socket, sizes, timeout, &mut told_mtu_bytes),
        Err(_) => None,
    };
    let tcp = tcp.map(|error| error.to_string());
    HostRecord::Reached { n, tcp, connect_ns, largest_bytes: largest, told_mtu_bytes }
}

/// Opens a TCP connection, and closes it.
fn connect_to(local: Ipv4Addr, peer: Ipv4Addr, port: u16, timeout: Duration) -> Result<(), Errno> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::from((local, 0))))?;
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::from((peer, port)))) {
        Ok(()) => return Ok(()),
        Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
    if poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLOUT)], timeout)? == 0 {
        return Err(Errno::ETIMEDOUT);
    }
    match getsockopt(&fd, sockopt::SocketError)? {
        0 => Ok(()),
        error => Err(Errno::from_raw(error)),
    }
}

/// A UDP socket whose packets have the don't-fragment bit. The kernel sends packets up to the MTU of
/// the interface, whatever it has learned about the path (ip(7)).
fn open(local: Ipv4Addr, peer: Ipv4Addr, port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((local, 0))?;
    set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::PROBE)?;
    socket.connect((peer, port))?;
    Ok(socket)
}

/// The first of the sizes that the peer answers.
fn largest(
    socket: &UdpSocket,
    sizes: &[u16],
    timeout: Duration,
    told_mtu_bytes: &mut Option<u32>,
) -> Option<u16> {
    let attempts = sizes.iter().flat_map(|size| (0..ATTEMPTS).map(move |_| *size));
    for (number, size) in (0_u32..).zip(attempts) {
        let Some(payload) = usize::from(size).checked_sub(HEADER_BYTES) else { continue };
        if payload < TAG_BYTES {
            continue;
        }
        match ask(socket, number, payload, timeout) {
            Ok(true) => return Some(size),
            Err(error) if error.raw_os_error() == Some(Errno::EMSGSIZE as i32) => {
                *told_mtu_bytes = ip_mtu(socket).ok();
            }
            // A port without a listener, or a router without a route: smaller packets may tell more.
            Ok(false) | Err(_) => {}
        }
    }
    None
}

/// Sends a datagram. True if the peer answers it.
fn ask(socket: &UdpSocket, number: u32, payload: usize, timeout: Duration) -> io::Result<bool> {
    let tag = number.to_be_bytes();
    let mut datagram = vec![0; payload];
    datagram[..TAG_BYTES].copy_from_slice(&tag);
    socket.send(&datagram)?;
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        socket.set_read_timeout(Some(left))?;
        let mut heard = [0; ANSWER_BYTES];
        match socket.recv(&mut heard) {
            // Answers to earlier datagrams may come late.
            Ok(_) if heard == answer(payload, tag) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}
