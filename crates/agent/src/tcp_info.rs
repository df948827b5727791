//! The kernel's counters of one connection (`TCP_INFO`).

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;

use netstudy_probe::parse::Fields;
use netstudy_probe::parse::tcp_info::TcpInfo;
use nix::errno::Errno;
use nix::getsockopt_impl;
use nix::sys::socket::{GetSockOpt, sockopt};

use crate::failure::Failure;

/// How many bytes of `struct tcp_info` are read: up to the end of `tcpi_total_rto`. The kernel
/// returns at most this many bytes. The number is written out because libc's structure for musl
/// lacks the last fields.
const BYTES: usize = 242;

#[derive(Clone, Copy)]
struct Head;
type HeadBytes = [u8; BYTES];
getsockopt_impl!(Head, libc::IPPROTO_TCP, libc::TCP_INFO, HeadBytes, sockopt::GetStruct<HeadBytes>);

/// `tcpi_total_rto` exists since Linux 6.7.
const KERNEL_MIN: (u32, u32) = (6, 7);

/// The first `STATES` names in [`NAMES`] are gauges; the others are counters.
pub(crate) const STATES: usize = 9;

/// The last `TIMES` names in [`NAMES`] say how long the connection had something to send, and for
/// how much of that time a buffer limited it. The kernel counts them in jiffies.
pub(crate) const TIMES: usize = 3;

/// Pairs of a name in our records and the kernel's name without the prefix `tcpi_`.
pub(crate) const NAMES: [(&str, &str); 18] = [
    ("srtt_us", "rtt"),
    ("rttvar_us", "rttvar"),
    ("min_rtt_us", "min_rtt"),
    ("rto_us", "rto"),
    ("cwnd_segments", "snd_cwnd"),
    ("ssthresh_segments", "snd_ssthresh"),
    ("delivery_rate_bytes_per_s", "delivery_rate"),
    ("unacked_segments", "unacked"),
    ("peer_window_bytes", "snd_wnd"),
    ("retransmissions", "total_retrans"),
    ("timeouts", "total_rto"),
    ("tcp_bytes_sent", "bytes_sent"),
    ("tcp_bytes_acked", "bytes_acked"),
    ("tcp_bytes_received", "bytes_received"),
    ("delivered_segments", "delivered"),
    ("busy_us", "busy_time"),
    ("peer_window_us", "rwnd_limited"),
    ("own_buffer_us", "sndbuf_limited"),
];

/// Fails if the kernel does not report every `TCP_INFO` field that the agent reads.
pub(crate) fn check_kernel() -> Result<(), Failure> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_err(Failure::run("the kernel's release"))?;
    if version(&release) >= Some(KERNEL_MIN) {
        return Ok(());
    }
    let (major, minor) = KERNEL_MIN;
    Err(Failure::Run(format!(
        "Linux {} does not count the timeouts of a connection; Linux {major}.{minor} or later does",
        release.trim()
    )))
}

/// The first two numbers of a kernel release such as `6.18.44`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Values in the order of [`NAMES`].
pub(crate) type Values = [u64; NAMES.len()];

/// The value with a name of [`NAMES`].
pub(crate) fn value(values: &Values, name: &str) -> u64 {
    let place = NAMES.iter().position(|(known, _)| *known == name);
    values[place.unwrap_or_else(|| unreachable!("{name} is read"))]
}

/// How many bytes sent on `connection` have been acknowledged.
pub(crate) fn bytes_acknowledged(connection: &impl AsFd) -> Result<u64, Errno> {
    Ok(told(&read(connection)?, "bytes_acked"))
}

/// Values in the order of [`NAMES`].
pub(crate) fn values(connection: &impl AsFd) -> Result<Values, Errno> {
    let info = read(connection)?;
    Ok(NAMES.map(|(_, field)| told(&info, field)))
}

/// Values by name.
pub(crate) fn by_name(connection: &impl AsFd) -> Result<BTreeMap<String, u64>, Errno> {
    values(connection).map(named)
}

/// Maps values in the order of [`NAMES`] to their names.
pub(crate) fn named(values: Values) -> BTreeMap<String, u64> {
    NAMES.iter().map(|(name, _)| (*name).to_owned()).zip(values).collect()
}

fn read(connection: &impl AsFd) -> Result<TcpInfo, Errno> {
    Ok(TcpInfo::new(&Head.get(connection)?))
}

/// The value of a field. Every kernel that [`check_kernel`] accepts reports it.
fn told(info: &TcpInfo, field: &str) -> u64 {
    info.field(field).unwrap_or_else(|| unreachable!("TCP_INFO has {field}"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
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
    fn the_structure_is_cut_behind_the_last_field_that_is_read() {
        let has_all = |bytes: &[u8]| {
            let info = TcpInfo::new(bytes);
            NAMES.iter().all(|(_, field)| info.field(field).is_some())
        };
        assert!(has_all(&[0; BYTES]));
        assert!(!has_all(&[0; BYTES - 1]));
    }

    #[test]
    fn a_new_connection_has_repaired_nothing() {
        check_kernel().expect("tests run on a later kernel");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address"));
        let told = by_name(&stream.expect("a connection")).expect("it tells");
        assert_eq!([told["retransmissions"], told["timeouts"]], [0, 0]);
    }

    #[test]
    fn bytes_are_told_by_name_at_both_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).expect("a connection");
        let (mut server, _) = listener.accept().expect("it comes");
        client.write_all(&[0; 5000]).expect("it takes them");
        server.read_exact(&mut [0; 5000]).expect("they come");
        assert_eq!(by_name(&server).expect("it tells")["tcp_bytes_received"], 5000);
        assert_eq!(by_name(&client).expect("it tells")["tcp_bytes_sent"], 5000);
    }
}
