//! Makes the switch answer like a host: to ARP requests for its own address, and to SNMP requests
//! at UDP port 161. These frames are queued and counted at the ports like all other frames.

use std::net::Ipv4Addr;

use netstudy_snmp::{Agent, View};
use netstudy_units::headers;

use crate::addresses::Mac;
use crate::frame;

const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const BROADCAST: Mac = [0xff; 6];
/// The protocol field of UDP (RFC 768).
const UDP: u8 = 17;
/// The port of SNMP (RFC 3417, 3.1).
const SNMP_PORT: u16 = 161;
const HOPS: u8 = 64;

const TYPE: std::ops::Range<usize> = 12..14;
const IP: usize = frame::HEADER_BYTES;
const IP_BYTES: usize = headers::IPV4_HEADER_BYTES as usize;
const UDP_BYTES: usize = 8;
/// Length of an ARP packet for IPv4 over Ethernet (RFC 826). The constants below are its first
/// bytes.
const ARP_BYTES: usize = 28;
const ARP_IPV4_OVER_ETHERNET: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];
const ARP_REQUEST: [u8; 2] = [0, 1];
const ARP_REPLY: [u8; 2] = [0, 2];

/// The addresses of a switch, and its SNMP agent.
#[derive(Clone, Debug)]
pub(crate) struct Management {
    pub(crate) mac: Mac,
    ip: Ipv4Addr,
    agent: Agent,
}

impl Management {
    pub(crate) const fn new(mac: Mac, ip: Ipv4Addr, agent: Agent) -> Self {
        Self { mac, ip, agent }
    }

    /// Whether a frame is for the switch itself: either sent to the switch's address, or an ARP
    /// request for this address.
    pub(crate) fn is_meant(&self, frame: &[u8]) -> bool {
        let Some(&to) = frame.first_chunk::<6>() else { return false };
        to == self.mac || (to == BROADCAST && self.arp_question(frame).is_some())
    }

    /// The answer to a frame for the switch itself; none: there is no answer. `view` reads the
    /// counters, and is only called if the answer needs them.
    pub(crate) fn answer<'a>(
        &self,
        frame: &[u8],
        mtu_bytes: u32,
        view: impl FnOnce() -> View<'a>,
    ) -> Option<Vec<u8>> {
        if let Some(question) = self.arp_question(frame) {
            return Some(self.arp_reply(question));
        }
        let (ip, udp) = self.datagram(frame)?;
        let room_bytes = (mtu_bytes as usize).checked_sub(IP_BYTES + UDP_BYTES)?;
        let response = self.agent.answer(&udp[UDP_BYTES..], &view(), room_bytes)?;
        let to = frame.get(6..12)?.try_into().ok()?;
        let host = Ipv4Addr::from(<[u8; 4]>::try_from(&ip[12..16]).ok()?);
        Some(self.udp_frame(to, host, u16::from_be_bytes([udp[0], udp[1]]), &response))
    }

    /// The ARP packet of a frame, if it is a request for the switch's address.
    fn arp_question<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        let packet = frame.get(IP..IP + ARP_BYTES).filter(|_| frame[TYPE] == ARP)?;
        let asks = packet[..6] == ARP_IPV4_OVER_ETHERNET && packet[6..8] == ARP_REQUEST;
        (asks && packet[24..28] == self.ip.octets()).then_some(packet)
    }

    fn arp_reply(&self, question: &[u8]) -> Vec<u8> {
        let asker = &question[8..18];
        [
            &asker[..6],
            &self.mac,
            &ARP,
            &ARP_IPV4_OVER_ETHERNET,
            &ARP_REPLY,
            &self.mac,
            &self.ip.octets(),
            asker,
        ]
        .concat()
    }

    /// The IPv4 packet and the UDP datagram in a frame; none: the frame is not for the SNMP agent,
    /// is a fragment, or is not valid.
    fn datagram<'a>(&self, frame: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let packet = frame.get(IP..).filter(|_| frame[TYPE] == IPV4)?;
        let header_bytes = usize::from(packet.first()? & 0x0f) * 4;
        let is_sound = packet[0] >> 4 == 4
            && packet.len() >= header_bytes
            && header_bytes >= IP_BYTES
            && checksum(&[&packet[..header_bytes]]) == 0;
        if !is_sound {
            return None;
        }
        let packet = packet.get(..usize::from(u16::from_be_bytes([packet[2], packet[3]])))?;
        // A packet is not a fragment if it has no offset and no "more fragments" bit (RFC 791,
        // 3.1).
        let is_whole = u16::from_be_bytes([packet[6], packet[7]]) << 2 == 0;
        let to_agent = packet[9] == UDP && packet[16..20] == self.ip.octets();
        let udp = packet.get(header_bytes..).filter(|udp| udp.len() >= UDP_BYTES)?;
        let udp = udp.get(..usize::from(u16::from_be_bytes([udp[4], udp[5]])))?;
        let is_right = udp.len() >= UDP_BYTES && has_right_checksum(packet, udp);
        let to_port = u16::from_be_bytes([udp.get(2).copied()?, udp.get(3).copied()?]);
        (is_whole && to_agent && is_right && to_port == SNMP_PORT).then_some((packet, udp))
    }

    fn udp_frame(&self, to: Mac, host: Ipv4Addr, port: u16, data: &[u8]) -> Vec<u8> {
        let udp_bytes = (UDP_BYTES + data.len()) as u16;
        let ip_bytes = IP_BYTES as u16 + udp_bytes;
        let mut ip = [0; IP_BYTES];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
        ip[6] = 0x40; // don't fragment
        ip[8] = HOPS;
        ip[9] = UDP;
        ip[12..16].copy_from_slice(&self.ip.octets());
        ip[16..20].copy_from_slice(&host.octets());
        let sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut udp = [0; UDP_BYTES];
        udp[..2].copy_from_slice(&SNMP_PORT.to_be_bytes());
        udp[2..4].copy_from_slice(&port.to_be_bytes());
        udp[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
        let sum = match checksum(&[&pseudo_header(&ip, udp_bytes), &udp, data]) {
            0 => 0xffff, // 0 means no checksum (RFC 768)
            sum => sum,
        };
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
        [&to[..], &self.mac, &IPV4, &ip, &udp, data].concat()
    }
}

/// Whether the checksum is right or absent: 0 means no checksum (RFC 768).
fn has_right_checksum(packet: &[u8], udp: &[u8]) -> bool {
    udp[6..8] == [0, 0] || checksum(&[&pseudo_header(packet, udp.len() as u16), udp]) == 0
}

/// The pseudo header that the UDP checksum covers: addresses, protocol and length (RFC 768).
fn pseudo_header(packet: &[u8], udp_bytes: u16) -> [u8; 12] {
    let mut header = [0; 12];
    header[..8].copy_from_slice(&packet[12..20]);
    header[9] = UDP;
    header[10..].copy_from_slice(&udp_bytes.to_be_bytes());
    header
}

/// The ones' complement of the ones' complement sum of `parts` (RFC 1071). All parts but the last
/// must have an even number of bytes. The result is 0 if the parts include a correct checksum of
/// themselves.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 1, 0, 1];
    const HOST: Mac = [2, 0, 0, 0, 0, 7];
    const HOST_IP: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 7);
    const IP_OF_SWITCH: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 254);
    /// `snmpget -v2c -c hush … sysUpTime.0` as net-snmp writes it.
    const GET: &[u8] =
        b"\x30\x27\x02\x01\x01\x04\x04hush\xa0\x1c\x02\x04\x12\x34\x56\x78\x02\x01\x00\
        \x02\x01\x00\x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x05\x00";

    fn management() -> Management {
        Management::new(MAC, IP_OF_SWITCH, Agent::new("hush", "switch", "a switch"))
    }

    /// The host's frame to the agent, made by a switch with the host's addresses, to port 161.
    fn request(data: &[u8]) -> Vec<u8> {
        let host = Management::new(HOST, HOST_IP, Agent::new("", "", ""));
        let mut frame = host.udp_frame(MAC, IP_OF_SWITCH, SNMP_PORT, data);
        // From the host's own port 40000, with a new checksum.
        frame[IP + IP_BYTES..][..2].copy_from_slice(&40_000_u16.to_be_bytes());
        frame[IP + IP_BYTES + 6..][..2].copy_from_slice(&[0, 0]);
        let packet = &frame[IP..];
        let sum = checksum(&[
            &pseudo_header(packet, (packet.len() - IP_BYTES) as u16),
            &packet[IP_BYTES..],
        ]);
        frame[IP + IP_BYTES + 6..][..2].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn answer(frame: &[u8]) -> Option<Vec<u8>> {
        management().answer(frame, 1500, || View { uptime_cs: 42, ports: Vec::new() })
    }

    #[test]
    fn who_asks_for_the_address_by_arp_is_told() {
        let packet = [
            &ARP_IPV4_OVER_ETHERNET[..],
            &ARP_REQUEST,
            &HOST,
            &HOST_IP.octets(),
            &[0; 6],
            &IP_OF_SWITCH.octets(),
        ]
        .concat();
        let question = [&BROADCAST[..], &HOST, &ARP, &packet].concat();
        assert!(management().is_meant(&question));
        let reply = answer(&question).expect("it is answered");
        assert_eq!((&reply[..6], &reply[6..12], &reply[12..14]), (&HOST[..], &MAC[..], &ARP[..]));
        assert_eq!(reply[IP + 6..IP + 8], ARP_REPLY);
        assert_eq!(reply[IP + 8..IP + 18], [&MAC[..], &IP_OF_SWITCH.octets()].concat());
        assert_eq!(reply[IP + 18..], [&HOST[..], &HOST_IP.octets()].concat());
        let mut of_another = question;
        of_another[IP + 27] -= 1;
        assert!(!management().is_meant(&of_another), "another address is another's affair");
    }

    #[test]
    fn a_request_is_answered_to_the_port_it_came_from() {
        let request = request(GET);
        assert!(management().is_meant(&request));
        let frame = answer(&request).expect("it is answered");
        assert_eq!((&frame[..6], &frame[6..12]), (&HOST[..], &MAC[..]));
        let packet = &frame[IP..];
        assert_eq!(checksum(&[&packet[..IP_BYTES]]), 0, "the header's checksum is right");
        assert!(has_right_checksum(packet, &packet[IP_BYTES..]));
        assert_eq!(packet[12..20], [IP_OF_SWITCH.octets(), HOST_IP.octets()].concat());
        assert_eq!(packet[IP_BYTES..][..4], [0, 161, 0x9c, 0x40]);
        assert_eq!(frame.last(), Some(&42), "the last value is the time that it is up");
    }

    #[test]
    fn what_is_damaged_or_for_another_port_or_address_is_not_answered() {
        let sound = request(GET);
        assert!(answer(&sound).is_some());
        for place in 12..sound.len() {
            // The checksum also detects a damaged UDP port of the host.
            let mut damaged = sound.clone();
            damaged[place] ^= 0x10;
            assert_eq!(answer(&damaged), None, "byte {place}");
        }
        for end in 0..sound.len() {
            assert_eq!(answer(&sound[..end]), None, "{end} bytes");
        }
    }
}
