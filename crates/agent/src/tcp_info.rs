//! The kernel's counters of one connection (`TCP_INFO`). Each kernel reports as many of them as its
//! `struct tcp_info` has; the others are unknown.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd;
use std::sync::OnceLock;

use netstudy_probe::parse::Fields;
use netstudy_probe::parse::tcp_info::TcpInfo;
use nix::errno::Errno;
use nix::getsockopt_impl;
use nix::sys::socket::{GetSockOpt, sockopt};

use crate::failure::Failure;

/// Options that read the beginning of the structure, up to a field of [`NAMES`]. The kernel returns
/// at most as many bytes as are asked for. The lengths are written out because libc's structure for
/// musl lacks the last fields.
macro_rules! beginnings {
    ($($name:ident: $bytes:literal,)*) => {
        $(
            #[derive(Clone, Copy)]
            struct $name;
            getsockopt_impl!(
                $name,
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                [u8; $bytes],
                sockopt::GetStruct<[u8; $bytes]>
            );
        )*

        /// Reads the longest beginning that a structure of `length` bytes has.
        fn read_beginning(connection: &impl AsFd, length: usize) -> Result<TcpInfo, Errno> {
            $(
                if length >= $bytes {
                    return Ok(TcpInfo::new(&$name.get(connection)?));
                }
            )*
            Ok(TcpInfo::default())
        }
    };
}

beginnings! {
    UpToTotalRto: 242, // Linux 6.7
    UpToSndWnd: 232, // Linux 5.4
    UpToBytesSent: 208, // Linux 4.19
    UpToDelivered: 196, // Linux 4.18
}

/// More bytes than any kernel's structure has.
const SPACE: usize = 512;

/// Space for the structure, of which only the length is of interest. nix returns it as a text that
/// ends with the first zero byte, so the bytes are overwritten.
struct Space([u8; SPACE]);

impl AsMut<[u8]> for Space {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.fill(b'x');
        &mut self.0
    }
}

/// A text as long as the kernel's structure.
#[derive(Clone, Copy)]
struct Length;
getsockopt_impl!(Length, libc::IPPROTO_TCP, libc::TCP_INFO, OsString, sockopt::GetOsString<Space>);

/// Why no value is known of a connection that can be read.
pub(crate) const UNREPORTED: &str = "the kernel does not report it";

/// The first kernel whose structure has everything that a run cannot do without.
const KERNEL_MIN: (u32, u32) = (4, 18);

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

/// Fails if the kernel is older than any on which the agent is known to work.
pub(crate) fn check_kernel() -> Result<(), Failure> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_err(Failure::run("the kernel's release"))?;
    if version(&release) >= Some(KERNEL_MIN) {
        return Ok(());
    }
    let (major, minor) = KERNEL_MIN;
    Err(Failure::Run(format!(
        "this is Linux {}; an agent needs Linux {major}.{minor} or later",
        release.trim()
    )))
}

/// The first two numbers of a kernel release such as `6.18.44`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Values in the order of [`NAMES`]; none: the kernel does not report the value.
pub(crate) type Values = [Option<u64>; NAMES.len()];

/// The value with a name of [`NAMES`].
pub(crate) fn value(values: &Values, name: &str) -> Option<u64> {
    let place = NAMES.iter().position(|(known, _)| *known == name);
    values[place.unwrap_or_else(|| unreachable!("{name} is read"))]
}

/// How many bytes sent on `connection` have been acknowledged; none: the kernel does not report
/// that.
pub(crate) fn bytes_acknowledged(connection: &impl AsFd) -> Result<Option<u64>, Errno> {
    Ok(read(connection)?.field("bytes_acked"))
}

/// Values in the order of [`NAMES`].
pub(crate) fn values(connection: &impl AsFd) -> Result<Values, Errno> {
    read(connection).map(|info| values_of(&info))
}

fn values_of(info: &TcpInfo) -> Values {
    NAMES.map(|(_, field)| info.field(field))
}

/// Known values by name.
pub(crate) fn by_name(connection: &impl AsFd) -> Result<BTreeMap<String, u64>, Errno> {
    values(connection).map(|values| named(&values))
}

/// Maps values in the order of [`NAMES`] to their names; without unknown ones.
pub(crate) fn named(values: &Values) -> BTreeMap<String, u64> {
    let all = NAMES.iter().zip(values);
    all.filter_map(|((name, _), value)| Some(((*name).to_owned(), (*value)?))).collect()
}

/// Columns of several readings, by name; without values that are unknown in one of them.
pub(crate) fn columns<'a>(
    readings: &(impl Iterator<Item = &'a Values> + Clone),
) -> BTreeMap<String, Vec<u64>> {
    let column =
        |place: usize| readings.clone().map(|values| values[place]).collect::<Option<Vec<u64>>>();
    let all = NAMES.iter().enumerate();
    all.filter_map(|(place, (name, _))| Some(((*name).to_owned(), column(place)?))).collect()
}

fn read(connection: &impl AsFd) -> Result<TcpInfo, Errno> {
    /// The same for all connections.
    static LENGTH: OnceLock<usize> = OnceLock::new();
    let length = match LENGTH.get() {
        Some(length) => *length,
        None => *LENGTH.get_or_init({
            let length = length(connection)?;
            move || length
        }),
    };
    read_beginning(connection, length)
}

/// Length of the kernel's structure; 0: the system has none, such as an emulator of system calls.
fn length(connection: &impl AsFd) -> Result<usize, Errno> {
    match Length.get(connection) {
        Ok(text) => Ok(text.len()),
        Err(Errno::ENOPROTOOPT | Errno::EOPNOTSUPP | Errno::ENOSYS) => Ok(0),
        Err(error) => Err(error),
    }
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
        assert!(version("4.17.19") < Some(KERNEL_MIN));
        assert!(version("4.18.0-553.el8_10.x86_64") >= Some(KERNEL_MIN));
    }

    /// Names that are unknown in a structure of a length.
    fn unknown(length: usize) -> Vec<&'static str> {
        unknown_in(&TcpInfo::new(&vec![0; length]))
    }

    fn unknown_in(info: &TcpInfo) -> Vec<&'static str> {
        let all = NAMES.iter().zip(values_of(info));
        all.filter(|(_, value)| value.is_none()).map(|((name, _), _)| *name).collect()
    }

    /// Lengths of `struct tcp_info` in `include/uapi/linux/tcp.h` of each release: the field that it
    /// ends with, and the commit that has added this field.
    #[test]
    fn each_kernel_reports_the_fields_that_its_structure_has() {
        let new = ["peer_window_bytes", "timeouts", "tcp_bytes_sent"];
        for (length, missing) in [
            // 4.18: tcpi_delivered_ce, feb5f2ec6464 (4.18).
            (200, &new[..]),
            // 4.19: tcpi_reord_seen, 7ec65372ca53 (4.19).
            (224, &["peer_window_bytes", "timeouts"]),
            // 5.4, 5.15, 6.1, and 4.18 of Red Hat 8: tcpi_snd_wnd, 8f7baad7f035 (5.4).
            (232, &["timeouts"]),
            // 6.2: tcpi_rehash, 71fc704768f6 (6.2).
            (240, &["timeouts"]),
            // 6.7: tcpi_total_rto_time, 3868ab0f1925 (6.7).
            (248, &[]),
            // 6.18: tcpi_accecn_opt_seen, as this option returns it there.
            (280, &[]),
        ] {
            assert_eq!(unknown(length), missing, "{length} bytes");
        }
        // An emulator of system calls that takes the structure for an integer.
        assert_eq!(unknown(4).len(), NAMES.len());
        assert_eq!(unknown(0).len(), NAMES.len());
    }

    #[test]
    fn the_longest_beginning_that_the_kernel_has_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address"));
        let stream = stream.expect("a connection");
        let kernels = length(&stream).expect("it is known");
        assert!((200..SPACE).contains(&kernels) && kernels.is_multiple_of(4), "{kernels} bytes");
        for (length, bytes) in
            [(4, 0), (195, 0), (200, 196), (224, 208), (232, 232), (240, 232), (248, 242)]
        {
            if length <= kernels {
                let read = read_beginning(&stream, length).expect("it is read");
                assert_eq!(unknown(bytes), unknown_in(&read), "{length} bytes");
            }
        }
    }

    #[test]
    fn a_new_connection_has_repaired_nothing() {
        check_kernel().expect("tests run on a later kernel");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address"));
        let told = by_name(&stream.expect("a connection")).expect("it tells");
        assert_eq!(told["retransmissions"], 0);
        assert!(told.get("timeouts").is_none_or(|timeouts| *timeouts == 0));
    }

    #[test]
    fn a_column_without_all_values_is_left_out() {
        let mut values = [Some(1); NAMES.len()];
        let whole = values;
        values[0] = None;
        let columns = columns(&[whole, values].iter());
        assert_eq!(columns.len(), NAMES.len() - 1);
        assert_eq!(columns["timeouts"], [1, 1]);
        assert!(!columns.contains_key("srtt_us"));
        assert!(!named(&values).contains_key("srtt_us"));
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
