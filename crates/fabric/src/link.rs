use netstudy_units::{Duration, Rate, Serializer, headers};

/// Sizes of Ethernet frames.
pub mod ethernet {
    use netstudy_units::headers;

    /// Bytes of the frame that carries an IP packet of `ip_bytes`.
    #[must_use]
    #[inline]
    pub const fn frame_bytes(ip_bytes: u32) -> u32 {
        padded(ip_bytes + headers::ETHERNET_HEADER_BYTES + headers::ETHERNET_CHECK_BYTES)
    }

    /// Size of a frame whose header, payload and check sequence take `bytes`, padded to the minimum
    /// frame size.
    #[must_use]
    #[inline]
    pub const fn padded(bytes: u32) -> u32 {
        let least = headers::ETHERNET_FRAME_BYTES_MIN;
        if bytes < least { least } else { bytes }
    }
}

/// Bytes that a cut-through switch needs before it forwards a frame: the first 64 show that it is
/// not a fragment (IEEE 802.3, 4.2.4.2.2).
pub const CUT_THROUGH_BYTES: u32 = 64;

/// One direction of a full-duplex Ethernet link.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    serializer: Serializer,
    delay: Duration,
    mtu_bytes: u32,
}

/// MTU of Ethernet (IEEE 802.3, 3.2.7).
const ETHERNET_MTU_BYTES: u32 = 1500;

impl Link {
    /// A link with this bit rate and this propagation delay, and the MTU of Ethernet, 1500 bytes.
    #[must_use]
    pub const fn new(rate: Rate, delay: Duration) -> Self {
        Self { serializer: Serializer::new(rate), delay, mtu_bytes: ETHERNET_MTU_BYTES }
    }

    /// The link with a different MTU: the size of the largest IP packet.
    #[must_use]
    pub const fn with_mtu(self, mtu_bytes: u32) -> Self {
        Self { mtu_bytes, ..self }
    }

    /// How long a frame of `frame_bytes` occupies the wire, interpacket gap included.
    #[must_use]
    #[inline]
    pub const fn serialization(&self, frame_bytes: u32) -> Duration {
        self.serializer.time(frame_bytes + headers::ETHERNET_GAP_BYTES)
    }

    /// Size of the largest frame: of an IP packet of the size of the MTU.
    #[must_use]
    pub const fn frame_bytes_max(&self) -> u32 {
        ethernet::frame_bytes(self.mtu_bytes)
    }

    /// Propagation delay.
    #[must_use]
    #[inline]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Bit rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.serializer.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_at_ten_gigabit_and_one_microsecond() {
        // MTU 9000 + 18 + 20 = 9038 B at 0.8 ns per byte.
        let link = Link::new(Rate::from_gbps(10), Duration::from_us(1));
        let frame = ethernet::frame_bytes(9000);
        assert_eq!(link.serialization(frame) + link.delay(), Duration::from_ps(8_230_400));
    }

    #[test]
    fn a_small_packet_is_padded_to_the_least_frame() {
        assert_eq!(ethernet::frame_bytes(40), 64);
        assert_eq!(ethernet::frame_bytes(52), 70);
    }
}
