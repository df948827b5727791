//! Overhead of Ethernet, IP and TCP, in bytes.

/// Ethernet header: two addresses and a type (IEEE 802.3, 3.1.1).
pub const ETHERNET_HEADER_BYTES: u32 = 14;
/// Frame check sequence (IEEE 802.3, 3.2.9). Packet sockets do not see it.
pub const ETHERNET_CHECK_BYTES: u32 = 4;
/// Minimum frame size, header and check sequence included (IEEE 802.3, 4.4.2).
pub const ETHERNET_FRAME_BYTES_MIN: u32 = 64;
/// Overhead on the wire outside of a frame: preamble 7, start delimiter 1 (IEEE 802.3, 3.1.1), and
/// interpacket gap 12 (4.4.2).
pub const ETHERNET_GAP_BYTES: u32 = 20;

/// IPv4 header without options (RFC 791, 3.1).
pub const IPV4_HEADER_BYTES: u32 = 20;
/// Minimum MTU of IPv4 (RFC 791, 3.2).
pub const IPV4_PACKET_BYTES_MIN: u32 = 68;
/// Maximum packet size, limited by the length field of the IPv4 header (RFC 791, 3.1).
pub const IPV4_PACKET_BYTES_MAX: u32 = 65_535;
/// IPv6 header without extensions (RFC 8200, 3).
pub const IPV6_HEADER_BYTES: u32 = 40;

/// TCP header without options (RFC 9293, 3.1).
pub const TCP_HEADER_BYTES: u32 = 20;
/// The timestamps option, padded (RFC 7323, appendix A).
pub const TCP_TIMESTAMPS_BYTES: u32 = 12;
/// The SACK option without its blocks, padded (RFC 2018, 3).
pub const TCP_SACK_BYTES: u32 = 4;
/// A block of the SACK option (RFC 2018, 3).
pub const TCP_SACK_BLOCK_BYTES: u32 = 8;
/// Options of a SYN other than timestamps: maximum segment size 4 (RFC 9293, 3.7.1), SACK permitted 2
/// (RFC 2018, 2) and window scale 3 (RFC 7323, 2.2), both padded to 4.
pub const TCP_SYN_OPTIONS_BYTES: u32 = 12;
