//! Object identifiers: SNMPv2-MIB (RFC 3418), IF-MIB (RFC 2863), RMON-MIB (RFC 2819).

/// The group `system`. Each object in it has one instance, number 0.
pub(crate) const SYSTEM: [u32; 7] = [1, 3, 6, 1, 2, 1, 1];
pub(crate) const SYS_DESCR: u32 = 1;
pub(crate) const SYS_OBJECT_ID: u32 = 2;
pub(crate) const SYS_UP_TIME: u32 = 3;
pub(crate) const SYS_NAME: u32 = 5;
pub(crate) const SYS_SERVICES: u32 = 7;

/// `interfaces`.
pub(crate) const INTERFACES: [u32; 7] = [1, 3, 6, 1, 2, 1, 2];
pub(crate) const IF_NUMBER: u32 = 1;
/// `ifEntry`: a column, then ifIndex.
pub(crate) const IF_ENTRY: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];
/// `etherStatsEntry`: a column, then etherStatsIndex.
pub(crate) const ETHER_STATS_ENTRY: [u32; 10] = [1, 3, 6, 1, 2, 1, 16, 1, 1, 1];
/// `ifXEntry`: a column, then ifIndex.
pub(crate) const IF_X_ENTRY: [u32; 10] = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];

pub(crate) const IF_INDEX: u32 = 1;
pub(crate) const IF_DESCR: u32 = 2;
pub(crate) const IF_NAME: u32 = 1;
pub(crate) const ETHER_STATS_DATA_SOURCE: u32 = 2;

/// A counter of a port: its name in the MIB, the table entry that it is a column of, and the number
/// of this column.
pub(crate) type Counter = (&'static str, &'static [u32], u32);

/// Counters of a port that a poller reads if the switch has them.
pub(crate) const COUNTERS: [Counter; 29] = [
    ("ifCounterDiscontinuityTime", &IF_X_ENTRY, 19),
    ("ifHCInOctets", &IF_X_ENTRY, 6),
    ("ifHCInUcastPkts", &IF_X_ENTRY, 7),
    ("ifHCInMulticastPkts", &IF_X_ENTRY, 8),
    ("ifHCInBroadcastPkts", &IF_X_ENTRY, 9),
    ("ifHCOutOctets", &IF_X_ENTRY, 10),
    ("ifHCOutUcastPkts", &IF_X_ENTRY, 11),
    ("ifHCOutMulticastPkts", &IF_X_ENTRY, 12),
    ("ifHCOutBroadcastPkts", &IF_X_ENTRY, 13),
    ("ifInOctets", &IF_ENTRY, 10),
    ("ifInUcastPkts", &IF_ENTRY, 11),
    ("ifInMulticastPkts", &IF_X_ENTRY, 2),
    ("ifInBroadcastPkts", &IF_X_ENTRY, 3),
    ("ifInDiscards", &IF_ENTRY, 13),
    ("ifInErrors", &IF_ENTRY, 14),
    ("ifOutOctets", &IF_ENTRY, 16),
    ("ifOutUcastPkts", &IF_ENTRY, 17),
    ("ifOutMulticastPkts", &IF_X_ENTRY, 4),
    ("ifOutBroadcastPkts", &IF_X_ENTRY, 5),
    ("ifOutDiscards", &IF_ENTRY, 19),
    ("ifOutErrors", &IF_ENTRY, 20),
    ("etherStatsDropEvents", &ETHER_STATS_ENTRY, 3),
    ("etherStatsOversizePkts", &ETHER_STATS_ENTRY, 10),
    ("etherStatsPkts64Octets", &ETHER_STATS_ENTRY, 14),
    ("etherStatsPkts65to127Octets", &ETHER_STATS_ENTRY, 15),
    ("etherStatsPkts128to255Octets", &ETHER_STATS_ENTRY, 16),
    ("etherStatsPkts256to511Octets", &ETHER_STATS_ENTRY, 17),
    ("etherStatsPkts512to1023Octets", &ETHER_STATS_ENTRY, 18),
    ("etherStatsPkts1024to1518Octets", &ETHER_STATS_ENTRY, 19),
];

/// Pairs of a 32-bit counter and the 64-bit counter that is read instead, if the switch has it. At
/// 10 Gbit/s, a 32-bit counter of octets wraps every 3.4 s.
pub(crate) const WIDER: [(&str, &str); 8] = [
    ("ifInOctets", "ifHCInOctets"),
    ("ifInUcastPkts", "ifHCInUcastPkts"),
    ("ifInMulticastPkts", "ifHCInMulticastPkts"),
    ("ifInBroadcastPkts", "ifHCInBroadcastPkts"),
    ("ifOutOctets", "ifHCOutOctets"),
    ("ifOutUcastPkts", "ifHCOutUcastPkts"),
    ("ifOutMulticastPkts", "ifHCOutMulticastPkts"),
    ("ifOutBroadcastPkts", "ifHCOutBroadcastPkts"),
];

/// Joins parts of an object identifier.
pub(crate) fn joined(parts: &[&[u32]]) -> Vec<u32> {
    parts.concat()
}
