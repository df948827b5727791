//! `struct tcp_info` (tcp(7), `include/uapi/linux/tcp.h`): newer kernels have added fields, so all
//! fields that the kernel provides are read.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Fields;
use super::netlink::integer;

/// For each member: name (without `tcpi_`), offset, and size in bytes. The bit fields at offsets 6
/// and 7 are left out.
const MEMBERS: &[(&str, usize, usize)] = &[
    ("state", 0, 1),
    ("ca_state", 1, 1),
    ("retransmits", 2, 1),
    ("probes", 3, 1),
    ("backoff", 4, 1),
    ("options", 5, 1),
    ("rto", 8, 4),
    ("ato", 12, 4),
    ("snd_mss", 16, 4),
    ("rcv_mss", 20, 4),
    ("unacked", 24, 4),
    ("sacked", 28, 4),
    ("lost", 32, 4),
    ("retrans", 36, 4),
    ("fackets", 40, 4),
    ("last_data_sent", 44, 4),
    ("last_ack_sent", 48, 4),
    ("last_data_recv", 52, 4),
    ("last_ack_recv", 56, 4),
    ("pmtu", 60, 4),
    ("rcv_ssthresh", 64, 4),
    ("rtt", 68, 4),
    ("rttvar", 72, 4),
    ("snd_ssthresh", 76, 4),
    ("snd_cwnd", 80, 4),
    ("advmss", 84, 4),
    ("reordering", 88, 4),
    ("rcv_rtt", 92, 4),
    ("rcv_space", 96, 4),
    ("total_retrans", 100, 4),
    // Linux 3.15
    ("pacing_rate", 104, 8),
    ("max_pacing_rate", 112, 8),
    // Linux 4.1
    ("bytes_acked", 120, 8),
    ("bytes_received", 128, 8),
    // Linux 4.2
    ("segs_out", 136, 4),
    ("segs_in", 140, 4),
    // Linux 4.6
    ("notsent_bytes", 144, 4),
    ("min_rtt", 148, 4),
    ("data_segs_in", 152, 4),
    ("data_segs_out", 156, 4),
    // Linux 4.9
    ("delivery_rate", 160, 8),
    // Linux 4.10
    ("busy_time", 168, 8),
    ("rwnd_limited", 176, 8),
    ("sndbuf_limited", 184, 8),
    // Linux 4.18
    ("delivered", 192, 4),
    ("delivered_ce", 196, 4),
    // Linux 4.19
    ("bytes_sent", 200, 8),
    ("bytes_retrans", 208, 8),
    ("dsack_dups", 216, 4),
    ("reord_seen", 220, 4),
    // Linux 5.4
    ("rcv_ooopack", 224, 4),
    ("snd_wnd", 228, 4),
    // Linux 6.2
    ("rcv_wnd", 232, 4),
    ("rehash", 236, 4),
    // Linux 6.7
    ("total_rto", 240, 2),
    ("total_rto_recoveries", 242, 2),
    ("total_rto_time", 244, 4),
    // Linux 6.18
    ("received_ce", 248, 4),
    ("delivered_e1_bytes", 252, 4),
    ("delivered_e0_bytes", 256, 4),
    ("delivered_ce_bytes", 260, 4),
    ("received_e1_bytes", 264, 4),
    ("received_e0_bytes", 268, 4),
    ("received_ce_bytes", 272, 4),
];

/// The kernel's `struct tcp_info` of a connection, as received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo(Vec<u8>);

impl TcpInfo {
    /// Wraps the bytes of the structure as this machine's kernel has written them.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl TcpInfo {
    /// The integer at an offset; none: the structure ends before it.
    fn at(&self, offset: usize, bytes: usize) -> Option<u64> {
        self.0.get(offset..offset + bytes).and_then(integer)
    }
}

impl Fields for TcpInfo {
    fn field(&self, name: &str) -> Option<u64> {
        let (_, offset, bytes) = MEMBERS.iter().find(|(known, ..)| *known == name)?;
        self.at(*offset, *bytes)
    }
}

impl Serialize for TcpInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, offset, bytes) in MEMBERS {
            if let Some(value) = self.at(*offset, *bytes) {
                map.serialize_entry(name, &value)?;
            }
        }
        map.end()
    }
}
