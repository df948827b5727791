//! The packet socket of a port.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, bind, setsockopt, socket, sockopt,
};

use crate::Failure;
use crate::plan::HostEnd;

/// Requested size of the kernel's buffer for frames that wait to be read. Without root, the kernel
/// grants at most twice `net.core.rmem_max`.
const RECEIVE_ROOM_BYTES: usize = 64 << 20;
/// Requested size of the kernel's buffer for frames that the switch has written but the host has
/// not received yet.
const SEND_ROOM_BYTES: usize = 16 << 20;

/// Opens a socket that receives the frames of the port's interface and no others, with the time at
/// which the kernel received each.
pub(crate) fn open(port: &HostEnd) -> Result<OwnedFd, Failure> {
    let what = |action: &str| format!("the port {}: {action}", port.name);
    let system = |action: &str, error| Failure::system(&what(action), error);
    let address = link_address(port)?;
    let opened =
        socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll);
    let fd = opened.map_err(|error| system("opening a packet socket", error))?;
    // The address names no protocol, so the socket continues to receive all protocols.
    bind(fd.as_raw_fd(), &address).map_err(|error| system("binding to its interface", error))?;
    setsockopt(&fd, sockopt::ReceiveTimestampns, &true)
        .map_err(|error| system("requesting receive timestamps", error))?;
    if setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_ROOM_BYTES).is_err() {
        setsockopt(&fd, sockopt::RcvBuf, &RECEIVE_ROOM_BYTES)
            .map_err(|error| system("setting the receive buffer", error))?;
    }
    if setsockopt(&fd, sockopt::SndBufForce, &SEND_ROOM_BYTES).is_err() {
        setsockopt(&fd, sockopt::SndBuf, &SEND_ROOM_BYTES)
            .map_err(|error| system("setting the send buffer", error))?;
    }
    Ok(fd)
}

/// The link-layer address of the port's interface.
fn link_address(port: &HostEnd) -> Result<LinkAddr, Failure> {
    let HostEnd { name, interface, .. } = port;
    let mut addresses =
        getifaddrs().map_err(|error| Failure::system("listing network interfaces", error))?;
    let found = addresses.find_map(|entry| {
        let address = entry.address.filter(|_| entry.interface_name == *interface)?;
        address.as_link_addr().copied()
    });
    found.ok_or_else(|| {
        Failure::Testbed(format!(
            "the port {name}: there is no interface {interface:?} in this network namespace"
        ))
    })
}
