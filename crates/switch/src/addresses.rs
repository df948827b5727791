//! Ethernet addresses, and to which host each belongs.

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// Parses six pairs of hexadecimal digits, separated by colons.
pub(crate) fn parse(text: &str) -> Option<Mac> {
    let mut mac = Mac::default();
    let mut parts = text.split(':');
    for byte in &mut mac {
        let part = parts.next()?;
        let is_pair = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = if is_pair { u8::from_str_radix(part, 16).ok()? } else { return None };
    }
    parts.next().is_none().then_some(mac)
}

/// The destination address of a frame; none if the frame has no complete address.
pub(crate) fn destination(frame: &[u8]) -> Option<Mac> {
    frame.first_chunk().copied()
}

/// Maps the addresses in the plan to hosts.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// Pairs of an address and a host, in ascending order.
    hosts: Vec<(Mac, u32)>,
}

impl Addresses {
    /// `hosts` are pairs of an address and the number of the host to which it belongs. A host may
    /// have several addresses.
    pub(crate) fn new(mut hosts: Vec<(Mac, u32)>) -> Self {
        hosts.sort_unstable();
        Self { hosts }
    }

    /// The host with the address `mac`.
    pub(crate) fn host(&self, mac: Mac) -> Option<u32> {
        let place = self.hosts.binary_search_by_key(&mac, |&(mac, _)| mac).ok()?;
        Some(self.hosts[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_six_pairs_of_digits() {
        assert_eq!(parse("02:00:00:00:0a:FF"), Some([2, 0, 0, 0, 10, 255]));
        for wrong in
            ["", "02:00:00:00:0a", "02:00:00:00:0a:ff:00", "02:00:00:00:a:ff", "+2:00:00:00:0a:ff"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_address_is_that_of_one_host_or_of_none() {
        let zone = [2, 0, 0, 1, 0, 1];
        let addresses =
            Addresses::new(vec![([2, 0, 0, 0, 0, 9], 0), (zone, 0), ([2, 0, 0, 0, 0, 1], 1)]);
        assert_eq!(addresses.host([2, 0, 0, 0, 0, 9]), Some(0));
        assert_eq!(addresses.host(zone), Some(0), "a zone is behind its host's link");
        assert_eq!(addresses.host([2, 0, 0, 0, 0, 1]), Some(1));
        assert_eq!(addresses.host([255; 6]), None, "a broadcast is for nobody");
    }
}
