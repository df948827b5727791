//! The kernel's own counters of the interfaces behind ports.

use crate::Failure;

/// The kernel's file with the counters of all interfaces in the network namespace of the process
/// that reads it.
pub(crate) const FILE: &str = "/proc/net/dev";

/// Positions of counters in a line of the file (`dev_seq_printf_stats` in Linux).
const RECEIVED_PACKETS: usize = 1;
const SENT_DROPPED: usize = 11;

/// Counters of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InterfaceCounters {
    /// Frames received from the host, even if no socket received them.
    pub(crate) received: u64,
    /// Frames sent to the host but dropped because the host had no room for them.
    pub(crate) sent_dropped: u64,
}

/// The text of the file.
pub(crate) fn read() -> Result<String, Failure> {
    std::fs::read_to_string(FILE)
        .map_err(|error| Failure::Testbed(format!("reading {FILE}: {error}")))
}

/// The counters of `interface` in the text of the file.
pub(crate) fn parse(text: &str, interface: &str) -> Option<InterfaceCounters> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, numbers) = lines.find(|(name, _)| name.trim() == interface)?;
    let number = |place| numbers.split_whitespace().nth(place)?.parse().ok();
    Some(InterfaceCounters {
        received: number(RECEIVED_PACKETS)?,
        sent_dropped: number(SENT_DROPPED)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
   p11:    1210      11    1    2    3     4          5         6     1312      13    7   14    8     9      10         11
    p1:    1210      21    1    2    3     4          5         6     1312      13    7   24    8     9      10         11
";

    #[test]
    fn the_line_of_the_interface_is_read() {
        let counters = InterfaceCounters { received: 21, sent_dropped: 24 };
        assert_eq!(parse(TEXT, "p1"), Some(counters));
        assert_eq!(parse(TEXT, "p2"), None);
    }
}
