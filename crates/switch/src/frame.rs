//! The parts of a frame that a switch reads and writes: its size on the wire, the ECN field and the code
//! point of its IP header, and what tells its flow.

use netstudy_fabric::ethernet;
use netstudy_fabric::queue::Queued;
use netstudy_fabric::stepped::Mark;
use netstudy_units::headers;

/// Offset of the IP header in a frame that a packet socket returns. The two constants below are the
/// offsets at which IPv4 and IPv6 headers end.
pub(crate) const HEADER_BYTES: usize = headers::ETHERNET_HEADER_BYTES as usize;
const IPV4_BYTES: usize = HEADER_BYTES + headers::IPV4_HEADER_BYTES as usize;
const IPV6_BYTES: usize = HEADER_BYTES + headers::IPV6_HEADER_BYTES as usize;

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The bits of the ECN field in the second byte of an IPv4 header (RFC 3168, 5).
const IPV4_ECN: u8 = 0b0000_0011;
/// The bits of the ECN field in the second byte of an IPv6 header. They are the low bits of the
/// traffic class.
const IPV6_ECN: u8 = 0b0011_0000;
/// Where the header checksum of IPv4 is, from the start of the frame.
const IPV4_CHECKSUM: usize = HEADER_BYTES + 10;

/// Value of [`Frame::to`] for a frame that is addressed to the switch itself.
pub(crate) const ITSELF: u32 = u32::MAX;

/// A frame in the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame {
    /// Number of the frame's buffer in the pool.
    pub(crate) slot: u32,
    /// Length of the frame in the buffer.
    pub(crate) bytes: u32,
    /// The destination host's number, or [`ITSELF`].
    pub(crate) to: u32,
    /// Whether the frame's sender supports ECN.
    pub(crate) subject_to_marks: bool,
    /// Whether the frame will be marked when it is sent.
    pub(crate) marked: bool,
    /// The flow and the class of the frame, for queue disciplines.
    pub(crate) traffic: Traffic,
}

/// The flow and the class of a frame, by which queue disciplines tell frames apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Traffic {
    /// A hash of addresses, protocol and ports.
    flow: u32,
    /// Differentiated services code point.
    dscp: u8,
}

impl Traffic {
    /// Of a frame as a packet socket returns it. Frames other than IP belong to flow 0 and class 0.
    pub(crate) fn of(frame: &[u8]) -> Self {
        let (addresses, end, protocol) = match ecn_bits(frame) {
            Some(IPV4_ECN) => {
                let header_bytes = 4 * usize::from(frame[HEADER_BYTES] & 0xf);
                // The lowest 13 bits are the offset of the fragment (RFC 791, 3.1).
                let is_first = u16::from_be_bytes([frame[20], frame[21]]) << 3 == 0;
                let end = if is_first { HEADER_BYTES + header_bytes } else { frame.len() };
                (&frame[HEADER_BYTES + 12..IPV4_BYTES], end, frame[HEADER_BYTES + 9])
            }
            Some(_) => (&frame[HEADER_BYTES + 8..IPV6_BYTES], IPV6_BYTES, frame[HEADER_BYTES + 6]),
            None => return Self::default(),
        };
        // The ports of TCP and UDP. Fragments behind the first one have none.
        let has_ports = matches!(protocol, TCP | UDP);
        let ports = frame.get(end..end + 4).filter(|_| has_ports).unwrap_or_default();
        let fields = addresses.iter().chain(ports).chain([&protocol]);
        // FNV-1a.
        let flow = fields.fold(0x811c_9dc5_u32, |hash, &byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let class = u16::from_be_bytes([frame[HEADER_BYTES], frame[HEADER_BYTES + 1]]);
        let class = if addresses.len() == 8 { class } else { class >> 4 };
        Self { flow, dscp: (class as u8) >> 2 }
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Mark for Frame {
    fn mark(&mut self) -> bool {
        self.marked = self.subject_to_marks;
        self.marked
    }
}

impl Queued for Frame {
    fn flow(&self) -> u32 {
        self.traffic.flow
    }

    fn dscp(&self) -> u8 {
        self.traffic.dscp
    }
}

/// Returns two values: whether the frame is a broadcast, and whether it is a multicast. Both are
/// false for a unicast frame (IEEE 802, 8.2.2).
pub(crate) fn is_to_group(frame: &[u8]) -> (bool, bool) {
    let Some(to) = frame.first_chunk::<6>() else { return (false, false) };
    let for_all = *to == [0xff; 6];
    (for_all, to[0] & 1 == 1 && !for_all)
}

/// The size on the wire, check sequence included, of a frame that has `bytes` bytes at a packet
/// socket.
pub(crate) const fn wire_bytes(bytes: u32) -> u32 {
    ethernet::padded(bytes + headers::ETHERNET_CHECK_BYTES)
}

/// Whether the sender of a frame supports ECN: its ECN field is not 0 (RFC 3168, 5).
pub(crate) fn is_subject_to_marks(frame: &[u8]) -> bool {
    ecn_bits(frame).is_some_and(|bits| frame[HEADER_BYTES + 1] & bits != 0)
}

/// Sets the ECN field of a frame to "congestion experienced".
pub(crate) fn mark(frame: &mut [u8]) {
    let Some(bits) = ecn_bits(frame) else { return };
    let before = frame[HEADER_BYTES + 1];
    let after = before | bits;
    frame[HEADER_BYTES + 1] = after;
    if bits == IPV4_ECN {
        update_checksum(frame, before, after);
    }
}

/// The bits of the ECN field in the second byte of the IP header; none if the header is incomplete.
fn ecn_bits(frame: &[u8]) -> Option<u8> {
    let kind = frame.get(HEADER_BYTES - 2..HEADER_BYTES)?;
    if kind == IPV4 && frame.len() >= IPV4_BYTES {
        Some(IPV4_ECN)
    } else if kind == IPV6 && frame.len() >= IPV6_BYTES {
        Some(IPV6_ECN)
    } else {
        None
    }
}

/// Updates the checksum of an IPv4 header whose second byte has changed, by equation 3 of RFC 1624:
/// `HC' = ~(~HC + ~m + m')`.
fn update_checksum(frame: &mut [u8], before: u8, after: u8) {
    let old = u16::from_be_bytes([frame[IPV4_CHECKSUM], frame[IPV4_CHECKSUM + 1]]);
    let sum = u32::from(!old) + u32::from(!u16::from(before)) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    let new = !(folded as u16);
    frame[IPV4_CHECKSUM..IPV4_CHECKSUM + 2].copy_from_slice(&new.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ones' complement sum of a correct header is all ones (RFC 1071).
    fn is_checksum_right(frame: &[u8]) -> bool {
        let words = frame[HEADER_BYTES..IPV4_BYTES].chunks(2);
        let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }

    /// An IPv4 header with the given second byte and identification, and its checksum.
    fn ipv4(second: u8, identification: u16) -> Vec<u8> {
        let mut frame = vec![0; HEADER_BYTES];
        frame[12..14].copy_from_slice(&IPV4);
        frame.extend([0x45, second, 0, 40]);
        frame.extend(identification.to_be_bytes());
        frame.extend([0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
        let words = frame[HEADER_BYTES..].chunks(2);
        let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
        let checksum = !(((sum & 0xffff) + (sum >> 16)) as u16);
        frame[IPV4_CHECKSUM..IPV4_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        assert!(is_checksum_right(&frame));
        frame
    }

    #[test]
    fn a_mark_sets_both_bits_and_keeps_the_checksum_right() {
        // All identifications together cause every carry of the sum.
        for identification in 0..=u16::MAX {
            for second in [0x01, 0x02, 0xfe] {
                let mut frame = ipv4(second, identification);
                assert!(is_subject_to_marks(&frame));
                mark(&mut frame);
                assert_eq!(frame[HEADER_BYTES + 1], second | 3);
                assert!(is_checksum_right(&frame), "{identification}");
            }
        }
    }

    #[test]
    fn ipv6_has_the_field_between_traffic_class_and_flow_label() {
        let mut frame = vec![0; IPV6_BYTES];
        frame[12..14].copy_from_slice(&IPV6);
        frame[HEADER_BYTES] = 0x60;
        frame[HEADER_BYTES + 1] = 0x0f;
        assert!(!is_subject_to_marks(&frame), "the flow label is none of it");
        frame[HEADER_BYTES + 1] = 0x2f;
        assert!(is_subject_to_marks(&frame));
        let untouched = frame.clone();
        mark(&mut frame);
        assert_eq!(frame[HEADER_BYTES + 1], 0x3f);
        assert_eq!(frame[HEADER_BYTES + 2..], untouched[HEADER_BYTES + 2..]);
    }

    #[test]
    fn what_is_no_ip_packet_or_does_not_understand_marks_is_left_alone() {
        let mut arp = vec![0xff; HEADER_BYTES + 28];
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        let cut_off = ipv4(2, 7)[..HEADER_BYTES + 19].to_vec();
        for frame in [arp, cut_off, Vec::new(), ipv4(0, 7)] {
            assert!(!is_subject_to_marks(&frame));
        }
        let mut frame = Frame::default();
        assert!(!frame.mark() && !frame.marked);
    }

    /// A frame of TCP over IPv4 with this second byte and this source port.
    fn tcp(second: u8, port: u16) -> Vec<u8> {
        let mut frame = ipv4(second, 7);
        frame.extend(port.to_be_bytes());
        frame.extend([0, 80]);
        frame
    }

    #[test]
    fn frames_of_a_flow_have_one_hash_and_those_of_others_have_others() {
        let flow = |frame: &[u8]| Traffic::of(frame).flow;
        assert_eq!(flow(&tcp(0, 5000)), flow(&tcp(0xb9, 5000)), "the class is none of it");
        assert_ne!(flow(&tcp(0, 5000)), flow(&tcp(0, 5001)));
        let mut elsewhere = tcp(0, 5000);
        elsewhere[HEADER_BYTES + 19] += 1;
        assert_ne!(flow(&tcp(0, 5000)), flow(&elsewhere));
        // A fragment behind the first one has data where the ports would be.
        let fragment = |port| {
            let mut frame = tcp(0, port);
            frame[HEADER_BYTES + 7] = 1;
            flow(&frame)
        };
        assert_eq!(fragment(1), fragment(2));
    }

    #[test]
    fn the_code_point_is_the_class_without_the_ecn_field() {
        // Expedited forwarding is 46; with ECT(0) the byte is 46 * 4 + 2.
        assert_eq!(Traffic::of(&tcp(0xba, 1)).dscp, 46);
        let mut ipv6 = vec![0; IPV6_BYTES];
        ipv6[12..14].copy_from_slice(&IPV6);
        ipv6[HEADER_BYTES..HEADER_BYTES + 2].copy_from_slice(&[0x6b, 0xaf]);
        assert_eq!(Traffic::of(&ipv6).dscp, 46);
        assert_eq!(Traffic::of(&[0; 60]), Traffic::default());
    }

    #[test]
    fn a_small_frame_is_padded_on_the_wire() {
        assert_eq!(wire_bytes(54), 64);
        assert_eq!(wire_bytes(1514), 1518);
    }
}
