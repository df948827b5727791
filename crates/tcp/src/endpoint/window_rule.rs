//! How much of a receive buffer a host offers as window.

/// How much of a receive buffer a host offers as window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// The whole buffer (RFC 9293, 3.8.6).
    Buffer,
    /// As much payload as fits, if each full segment takes the memory of its packet
    /// (`tcp_win_from_space`, `scaling_ratio` of Linux since 6.6).
    ScalingRatio,
}

/// Unit of `scaling_ratio` (`TCP_RMEM_TO_WIN_SCALE`: 8 bits).
const SCALE_BITS: u32 = 8;
/// `struct sk_buff` in a slab cache.
const SK_BUFF_BYTES: u64 = 256;
/// `struct skb_shared_info`, behind the data.
const SHARED_INFO_BYTES: u64 = 320;
/// The kernel reserves these bytes before the frame's data (`NET_SKB_PAD`).
const HEADROOM_BYTES: u64 = 64;
/// The part for headers of a packet whose data is in pages (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_HEAD_BYTES: u64 = 576;
const PAGE_BYTES: u64 = 4_096;
const ETHERNET_HEADER_BYTES: u64 = 14;

impl WindowRule {
    /// The window in bytes that a host offers with a buffer of `buffer_bytes` bytes, when the
    /// application reads at once: over a path with packets of up to `mtu_bytes`, of which a full
    /// one has `payload_bytes` bytes of data. `analysis/receive_window.py` has the same formula.
    #[must_use]
    pub fn window_bytes(self, buffer_bytes: u32, mtu_bytes: u32, payload_bytes: u32) -> u32 {
        match self {
            Self::Buffer => buffer_bytes,
            Self::ScalingRatio => {
                let buffer = u64::from(buffer_bytes);
                let packet = packet_memory_bytes(mtu_bytes);
                // `tcp_measure_rcv_mss`: the ratio of a full segment to the memory of its packet.
                let ratio = (u64::from(payload_bytes) << SCALE_BITS) / packet;
                // `tcp_space`: the packet that is acknowledged is still in the buffer. A buffer
                // that is too small for two packets lets one in nevertheless.
                let space = buffer.saturating_sub(packet).max(buffer.min(packet));
                ((space * ratio) >> SCALE_BITS).max(1) as u32
            }
        }
    }
}

/// Memory of a received packet (`truesize`), as packet sockets and drivers without reuse of pages
/// allocate it: up to a page in one piece of a power of two, else in pages behind a small head.
fn packet_memory_bytes(mtu_bytes: u32) -> u64 {
    let frame = u64::from(mtu_bytes) + ETHERNET_HEADER_BYTES;
    let data = if frame < PAGE_BYTES {
        (HEADROOM_BYTES + frame + SHARED_INFO_BYTES).next_power_of_two()
    } else {
        frame.next_multiple_of(PAGE_BYTES) + SMALL_HEAD_BYTES
    };
    data + SK_BUFF_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_the_memory_that_the_kernel_gives_it() {
        // 64 + 1514 + 320 bytes are in 2048, and 9014 bytes in three pages.
        assert_eq!(packet_memory_bytes(1_500), 2_048 + 256);
        assert_eq!(packet_memory_bytes(9_000), 3 * 4_096 + 576 + 256);
    }

    #[test]
    fn the_window_is_that_of_linux_6_18_within_5_percent() {
        // Size of the buffer, and the window (`tcpi_rcv_wnd`) in the steady state of a transfer over
        // packet sockets, without offloads: docs/decisions/0070-receive-windows.md.
        for (mtu, payload, measured) in
            [(1_500, 1_448, [39_552, 162_432, 653_952]), (9_000, 8_948, [35_712, 169_344, 706_688])]
        {
            for (buffer, measured) in [65_536, 262_144, 1_048_576].into_iter().zip(measured) {
                let window = WindowRule::ScalingRatio.window_bytes(buffer, mtu, payload);
                let off = f64::from(window) / f64::from(measured) - 1.0;
                assert!(off.abs() < 0.05, "{window} of {measured} bytes, MTU {mtu}");
            }
        }
        // 160 / 256 of what one packet of 2304 bytes leaves of 64 KiB.
        let window = |rule: WindowRule| rule.window_bytes(65_536, 1_500, 1_448);
        assert_eq!(window(WindowRule::ScalingRatio), 39_520);
        assert_eq!(window(WindowRule::Buffer), 65_536);
    }

    #[test]
    fn a_buffer_for_less_than_two_packets_offers_a_window() {
        let window = |buffer| WindowRule::ScalingRatio.window_bytes(buffer, 1_500, 1_448);
        assert_eq!([window(576), window(2_304), window(4_000)], [360, 1_440, 1_440]);
        assert_eq!(window(1), 1);
    }
}
