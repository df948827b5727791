//! What the kernel counts for one connection (`TCP_INFO`).

use std::mem::offset_of;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::getsockopt_impl;
use nix::sys::socket::{GetSockOpt, sockopt};

const TOTAL_RETRANS: usize = offset_of!(libc::tcp_info, tcpi_total_retrans);
const TOTAL_RTO: usize = offset_of!(libc::tcp_info, tcpi_total_rto);
/// As much of the structure as is looked at: the kernel cuts it there.
const BYTES: usize = TOTAL_RTO + 2;

#[derive(Clone, Copy)]
struct Head;
type HeadBytes = [u8; BYTES];
getsockopt_impl!(Head, libc::IPPROTO_TCP, libc::TCP_INFO, HeadBytes, sockopt::GetStruct<HeadBytes>);

/// Losses that a connection has repaired since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Segments that were sent again.
    pub(crate) retransmissions: u64,
    /// Expiries of the retransmission timer. The kernel counts to 65,535.
    pub(crate) timeouts: u64,
}

/// What `connection` has repaired so far.
pub(crate) fn losses(connection: &impl AsFd) -> Result<Losses, Errno> {
    let head = Head.get(connection)?;
    let retransmissions: [u8; 4] = head[TOTAL_RETRANS..TOTAL_RETRANS + 4].try_into().expect("4");
    let timeouts: [u8; 2] = head[TOTAL_RTO..TOTAL_RTO + 2].try_into().expect("2");
    Ok(Losses {
        retransmissions: u32::from_ne_bytes(retransmissions).into(),
        timeouts: u16::from_ne_bytes(timeouts).into(),
    })
}
