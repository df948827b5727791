//! What the kernel counts for one connection (`TCP_INFO`).

use std::fs;
use std::mem::offset_of;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::getsockopt_impl;
use nix::sys::socket::{GetSockOpt, sockopt};

use crate::failure::Failure;

const TOTAL_RETRANS: usize = offset_of!(libc::tcp_info, tcpi_total_retrans);
const TOTAL_RTO: usize = offset_of!(libc::tcp_info, tcpi_total_rto);
/// As much of the structure as is looked at: the kernel cuts it there.
const BYTES: usize = TOTAL_RTO + 2;

#[derive(Clone, Copy)]
struct Head;
type HeadBytes = [u8; BYTES];
getsockopt_impl!(Head, libc::IPPROTO_TCP, libc::TCP_INFO, HeadBytes, sockopt::GetStruct<HeadBytes>);

/// `tcpi_total_rto` is there since Linux 6.7.
const KERNEL_MIN: (u32, u32) = (6, 7);

/// Whether the kernel tells what is looked at here.
pub(crate) fn check_kernel() -> Result<(), Failure> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_err(Failure::run("the kernel's release"))?;
    if version(&release) >= Some(KERNEL_MIN) {
        return Ok(());
    }
    let (major, minor) = KERNEL_MIN;
    Err(Failure::Run(format!(
        "Linux {} does not count the timeouts of a connection: {major}.{minor} or later does",
        release.trim()
    )))
}

/// The first two numbers of a release such as `6.18.44-fc`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

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

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn releases_are_compared_by_their_first_two_numbers() {
        assert_eq!(version("6.18.44-fc-v595\n"), Some((6, 18)));
        assert_eq!(version("6.7-rc1"), Some((6, 7)));
        assert_eq!(version("5.4.0"), Some((5, 4)));
        assert_eq!(version("unknown"), None);
        assert!(version("6.6.99") < Some(KERNEL_MIN));
    }

    #[test]
    fn a_new_connection_has_repaired_nothing() {
        check_kernel().expect("tests run on a later kernel");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address"));
        assert_eq!(losses(&stream.expect("a connection")), Ok(Losses::default()));
    }
}
