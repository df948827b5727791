//! TCP sockets with the options of the plan.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use netstudy_records::{AgentPlan, AgentRecord, Endpoint, SocketOptions};
use nix::errno::Errno;
use nix::sys::socket::{
    self, AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, connect, getsockopt,
    setsockopt, sockopt,
};

use crate::failure::Failure;

/// A non-blocking listener that accepts connections at `address` only, at the port of the plan.
pub(crate) fn listen(address: IpAddr, plan: &AgentPlan) -> Result<TcpListener, Failure> {
    match plan.port {
        0 => listen_anywhere(address, plan),
        port => try_to_listen(address, port, &plan.socket)?
            .map_err(Failure::run(format!("listening at {}", SocketAddr::new(address, port)))),
    }
}

/// Like [`listen`], at a free port of the plan's range; without a range, at a port that the kernel
/// chooses.
pub(crate) fn listen_anywhere(address: IpAddr, plan: &AgentPlan) -> Result<TcpListener, Failure> {
    let (first, last) = plan.ports.unwrap_or((0, 0));
    for port in first..=last {
        match try_to_listen(address, port, &plan.socket)? {
            Err(Errno::EADDRINUSE) => {}
            listener => {
                let at = SocketAddr::new(address, port);
                return listener.map_err(Failure::run(format!("listening at {at}")));
            }
        }
    }
    Err(Failure::Run(format!("none of the ports {first} to {last} is free at {address}")))
}

fn try_to_listen(
    address: IpAddr,
    port: u16,
    options: &SocketOptions,
) -> Result<Result<TcpListener, Errno>, Failure> {
    let fd = open(address, options)?;
    // Connections of an earlier run may still be in TIME_WAIT at this port. Two sockets may then be
    // bound to it, but only one of them may listen.
    setsockopt(&fd, sockopt::ReuseAddr, &true).map_err(Failure::run("SO_REUSEADDR"))?;
    let at = SockaddrStorage::from(SocketAddr::new(address, port));
    let listening = bind(fd.as_raw_fd(), &at).and_then(|()| socket::listen(&fd, Backlog::MAXCONN));
    Ok(listening.map(|()| fd.into()))
}

/// Starts to connect from `from` to `to`. When the socket becomes writable, the connection is open or
/// has failed.
pub(crate) fn begin_to_connect(
    from: IpAddr,
    to: SocketAddr,
    options: &SocketOptions,
) -> Result<TcpStream, Failure> {
    try_to_connect(from, to, options)?
        .map_err(|error| Failure::Run(format!("connecting to server {to}: {}", error.desc())))
}

/// Like [`begin_to_connect`], but the run goes on if the connection cannot be opened.
pub(crate) fn try_to_connect(
    from: IpAddr,
    to: SocketAddr,
    options: &SocketOptions,
) -> Result<Result<TcpStream, Errno>, Failure> {
    let fd = open(from, options)?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(from, 0)))
        .map_err(Failure::run(format_args!("using the address {from}").to_string()))?;
    Ok(match connect(fd.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS | Errno::EINTR) => Ok(TcpStream::from(fd)),
        Err(error) => Err(error),
    })
}

/// Opens a socket and sets its options. Options must be set before connecting or listening, because
/// the handshake derives the window scale from the buffer sizes. Accepted connections inherit the
/// listener's options.
fn open(address: IpAddr, options: &SocketOptions) -> Result<OwnedFd, Failure> {
    let family = match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket::socket(family, SockType::Stream, flags, None)
        .map_err(Failure::run("opening a socket"))?;
    if let Some(name) = &options.congestion_control {
        setsockopt(&fd, sockopt::TcpCongestion, &OsString::from(name))
            .map_err(Failure::run(format!("the kernel refuses the congestion control '{name}'")))?;
    }
    if let Some(bytes) = options.send_buffer_bytes {
        set_send_buffer(&fd, bytes)?;
    }
    if let Some(bytes) = options.receive_buffer_bytes {
        set_receive_buffer(&fd, bytes)?;
    }
    setsockopt(&fd, sockopt::TcpNoDelay, &options.no_delay)
        .map_err(Failure::run("the kernel refuses TCP_NODELAY"))?;
    if options.dscp > 0 {
        set_dscp(&fd, address, options.dscp)?;
    }
    Ok(fd)
}

/// Sets the code point of the packets of a socket. The two lower bits of the field are for ECN, and
/// the kernel's own.
fn set_dscp(fd: &OwnedFd, address: IpAddr, dscp: u8) -> Result<(), Failure> {
    let class = i32::from(dscp) << 2;
    match address {
        IpAddr::V4(_) => setsockopt(fd, sockopt::Ipv4Tos, &class),
        IpAddr::V6(_) => setsockopt(fd, sockopt::Ipv6TClass, &class),
    }
    .map_err(Failure::run(format!("the kernel refuses the code point {dscp}")))
}

fn set_send_buffer(fd: &OwnedFd, bytes: u32) -> Result<(), Failure> {
    let bytes = bytes as usize;
    setsockopt(fd, sockopt::SndBuf, &bytes).map_err(Failure::run("setting SO_SNDBUF"))?;
    // The kernel silently limits the size to net.core.wmem_max. A process with CAP_NET_ADMIN may
    // exceed this limit.
    if send_buffer(fd)? < bytes {
        let _ = setsockopt(fd, sockopt::SndBufForce, &bytes);
    }
    let is = send_buffer(fd)?;
    if is < bytes { Err(cut("send", "wmem_max", bytes, is)) } else { Ok(()) }
}

fn set_receive_buffer(fd: &OwnedFd, bytes: u32) -> Result<(), Failure> {
    let bytes = bytes as usize;
    setsockopt(fd, sockopt::RcvBuf, &bytes).map_err(Failure::run("setting SO_RCVBUF"))?;
    if receive_buffer(fd)? < bytes {
        let _ = setsockopt(fd, sockopt::RcvBufForce, &bytes);
    }
    let is = receive_buffer(fd)?;
    if is < bytes { Err(cut("receive", "rmem_max", bytes, is)) } else { Ok(()) }
}

fn cut(which: &str, limit: &str, asked: usize, is: usize) -> Failure {
    Failure::Run(format!(
        "the kernel refuses a {which} buffer of {asked} bytes: net.core.{limit} allows {is}"
    ))
}

/// The value to which `SO_SNDBUF` would have to be set for the current buffer size. It is half of
/// the size, because the kernel doubles the value that is set (socket(7)).
fn send_buffer(fd: &impl AsFd) -> Result<usize, Failure> {
    Ok(read(fd, sockopt::SndBuf, "SO_SNDBUF")? / 2)
}

fn receive_buffer(fd: &impl AsFd) -> Result<usize, Failure> {
    Ok(read(fd, sockopt::RcvBuf, "SO_RCVBUF")? / 2)
}

fn read<O: nix::sys::socket::GetSockOpt>(
    fd: &impl AsFd,
    option: O,
    name: &str,
) -> Result<O::Val, Failure> {
    getsockopt(fd, option).map_err(Failure::run(format!("reading {name}")))
}

/// A record of the parameters that the kernel uses for an open connection.
pub(crate) fn describe(connection: u32, stream: &TcpStream) -> Result<AgentRecord, Failure> {
    let local = stream.local_addr().map_err(Failure::run("this end of a connection"))?;
    let peer = stream.peer_addr().map_err(Failure::run("the other end of a connection"))?;
    let congestion_control = read(stream, sockopt::TcpCongestion, "TCP_CONGESTION")?;
    Ok(AgentRecord::Connection {
        connection,
        local: endpoint(local),
        peer: endpoint(peer),
        congestion_control: congestion_control.to_string_lossy().into_owned(),
        send_buffer_bytes: read(stream, sockopt::SndBuf, "SO_SNDBUF")? as u64,
        receive_buffer_bytes: read(stream, sockopt::RcvBuf, "SO_RCVBUF")? as u64,
        no_delay: read(stream, sockopt::TcpNoDelay, "TCP_NODELAY")?,
    })
}

/// `address` in the form of the records.
pub(crate) fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint { address: address.ip(), port: address.port() }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    /// Both ends of a connection over the loopback interface.
    fn connected(address: IpAddr, options: &SocketOptions) -> [TcpStream; 2] {
        let listener = try_to_listen(address, 0, options)
            .expect("options are accepted")
            .expect("a port is free");
        let to = listener.local_addr().expect("it listens");
        let mut client = begin_to_connect(address, to, options).expect("it connects");
        listener.set_nonblocking(false).expect("it can wait");
        let (mut server, _) = listener.accept().expect("a client comes");
        for end in [&client, &server] {
            end.set_nonblocking(false).expect("it can wait");
        }
        client.write_all(b"?").expect("it is open");
        server.read_exact(&mut [0]).expect("a byte comes");
        [client, server]
    }

    #[test]
    fn both_ends_of_a_connection_have_the_code_point_of_their_plan() {
        let options = SocketOptions { dscp: 46, ..SocketOptions::default() };
        // 46 is Expedited Forwarding (RFC 3246): 0xb8 with the two bits of ECN.
        for end in connected(Ipv4Addr::LOCALHOST.into(), &options) {
            assert_eq!(getsockopt(&end, sockopt::Ipv4Tos).expect("it is readable"), 0xb8);
        }
        let options = SocketOptions::default();
        for end in connected(Ipv4Addr::LOCALHOST.into(), &options) {
            assert_eq!(getsockopt(&end, sockopt::Ipv4Tos).expect("it is readable"), 0);
        }
    }

    #[test]
    fn a_connection_over_ipv6_has_its_code_point_in_the_traffic_class() {
        let options = SocketOptions { dscp: 8, ..SocketOptions::default() };
        let listener = try_to_listen(Ipv6Addr::LOCALHOST.into(), 0, &options);
        // Not every machine has IPv6.
        let Ok(Ok(listener)) = listener else { return };
        let class = getsockopt(&listener, sockopt::Ipv6TClass).expect("it is readable");
        assert_eq!(class, 8 << 2);
    }
}
