//! CPUs, buses and the disk of a simulated host, and how long work takes on each of them.

use serde::{Deserialize, Serialize};

use crate::spans;

/// Distribution of the time that a piece of work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Each piece of work takes exactly its cost.
    Fixed,
    /// The time is exponentially distributed, and its mean is the cost.
    Exponential,
}

/// CPUs of a host, and the CPU time that each kind of work costs at a speed of 100 %.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Number of CPUs.
    pub cpus: u32,
    /// Speed of the CPUs. At 200 %, work takes half as long.
    pub speed_pct: u32,
    /// Distribution of the time that a piece of work takes.
    pub service: Service,
    /// CPU time per sent packet.
    #[serde(deserialize_with = "spans::ns")]
    pub send_packet_ns: u64,
    /// CPU time per received packet.
    #[serde(deserialize_with = "spans::ns")]
    pub receive_packet_ns: u64,
    /// CPU time per byte copied from the application to its socket.
    pub send_ps_per_byte: u64,
    /// CPU time per byte copied from the socket to its application.
    pub receive_ps_per_byte: u64,
    /// CPU time per byte of a file that is sent without copying it.
    pub sendfile_ps_per_byte: u64,
    /// CPU time per byte copied from the page cache to the application.
    pub file_read_ps_per_byte: u64,
    /// CPU time per byte copied from the application to the page cache.
    pub file_write_ps_per_byte: u64,
    /// CPU time per system call that moves data.
    #[serde(deserialize_with = "spans::ns")]
    pub call_ns: u64,
    /// Maximum bytes per system call.
    pub call_bytes: u64,
}

impl Cpu {
    /// One CPU on which work takes no time.
    pub const FREE: Self = Self {
        cpus: 1,
        speed_pct: 100,
        service: Service::Fixed,
        send_packet_ns: 0,
        receive_packet_ns: 0,
        send_ps_per_byte: 0,
        receive_ps_per_byte: 0,
        sendfile_ps_per_byte: 0,
        file_read_ps_per_byte: 0,
        file_write_ps_per_byte: 0,
        call_ns: 0,
        call_bytes: 65_536,
    };
}

/// Buses of a host. The rate of a bus is the sum of the rates of its channels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Number of memory channels.
    pub memory_channels: u32,
    /// Rate of a memory channel; none: no limit.
    pub memory_channel_bps: Option<u64>,
    /// Number of I/O channels.
    pub io_channels: u32,
    /// Rate of an I/O channel; none: no limit.
    pub io_channel_bps: Option<u64>,
}

/// Disk of a host, and its page cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Rate of sequential reading and writing.
    pub disk_rate_bps: u64,
    /// Time to position the head for a request that does not continue where the previous one ended.
    #[serde(deserialize_with = "spans::ns")]
    pub access_ns: u64,
    /// Number of written bytes that may wait for the disk. If there are more, writers must wait.
    pub write_cache_bytes: u64,
    /// Largest file that stays in the page cache.
    pub page_cache_bytes: u64,
}
