//! Growth between two snapshots: wraps, restarts, and objects that came or went.

use std::collections::BTreeMap;

use netstudy_probe::{Growth, GrowthError, Origin, Reading, Snapshot, Source, growth};

/// A snapshot at `at_ns` of these readings: source, kernel's field, part, instance, value.
fn snapshot(at_ns: u64, readings: &[(Source, &str, &str, u64, u64)]) -> Snapshot {
    let reading = |&(source, field, part, instance, value): &(Source, &str, &str, u64, u64)| {
        let counter = source.counters().iter().find(|counter| counter.field == field).unwrap();
        let part = (!part.is_empty()).then(|| part.into());
        Reading { source, counter, part, instance, value, total: value }
    };
    Snapshot { at_ns, readings: readings.iter().map(reading).collect(), ..Snapshot::default() }
}

/// How one counter grew.
fn grown(source: Source, field: &str, before: u64, after: u64) -> Result<u64, GrowthError> {
    let at = |at_ns, value| snapshot(at_ns, &[(source, field, "it", 0, value)]);
    growth(&at(1, before), &at(2, after)).map(|growth| *growth.counters.values().next().unwrap())
}

const MAX_32: u64 = u32::MAX as u64;

#[test]
fn a_counter_that_wraps_has_grown() {
    assert_eq!(grown(Source::Softnet, "dropped", MAX_32 - 4, 5), Ok(10));
    assert_eq!(grown(Source::Softnet, "dropped", MAX_32, 0), Ok(1));
    assert_eq!(grown(Source::Links, "rx_bytes", u64::MAX - 4, 5), Ok(10));
    assert_eq!(grown(Source::Flows, "total_rto", 65_535, 2), Ok(3));
}

#[test]
fn a_counter_may_grow_by_more_than_half_of_its_range_without_a_wrap() {
    assert_eq!(grown(Source::Softnet, "dropped", 1, MAX_32), Ok(MAX_32 - 1));
    assert_eq!(grown(Source::Links, "rx_bytes", 0, u64::MAX), Ok(u64::MAX));
}

#[test]
fn each_cpu_is_busy_in_processes_in_the_kernel_and_in_interrupts() {
    // Ticks of 10 ms; waiting for a disk and stolen time are no work of the machine, and a guest's
    // time is in that of processes.
    let states = [
        ("cpu user", 1),
        ("cpu nice", 2),
        ("cpu system", 4),
        ("cpu idle", 8),
        ("cpu iowait", 16),
        ("cpu irq", 32),
        ("cpu softirq", 64),
        ("cpu steal", 128),
        ("cpu guest", 256),
    ];
    let of = |cpu, factor: u64| {
        states.map(|(field, ticks)| (Source::Cpus, field, cpu, 0, ticks * factor))
    };
    let other = [(Source::Cpus, "ctxt", "", 0, 7), (Source::Softnet, "processed", "cpu0", 0, 9)];
    let taken = snapshot(1, &[&of("cpu0", 1)[..], &of("cpu11", 2), &other].concat());
    let ms = 1_000_000;
    let expected = [("cpu_busy_ns.0", 1_030 * ms), ("cpu_busy_ns.11", 2_060 * ms)];
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(name, busy)| (name.to_owned(), busy)).collect();
    assert_eq!(taken.cpu_busy_ns(), expected);
}

#[test]
fn a_counter_that_was_started_again_is_an_error_and_no_huge_number() {
    for (source, field, before, after) in [
        (Source::Softnet, "dropped", 1000, 3),
        (Source::Softnet, "dropped", MAX_32 / 2 + 1, 0),
        (Source::Links, "rx_bytes", MAX_32 + 1, 7),
        (Source::Snmp, "Tcp RetransSegs", 1, 0),
        (Source::Flows, "total_rto", 300, 0),
    ] {
        let name = source.counters().iter().find(|known| known.field == field).unwrap().name;
        let part = Some("it".to_owned());
        let expected = GrowthError::Restarted { name, part, before, after };

        assert_eq!(grown(source, field, before, after), Err(expected), "{field}");
    }
}

#[test]
fn half_of_the_range_is_the_limit() {
    // RFC 1982: a serial number is greater by at most 2^31 - 1.
    assert_eq!(grown(Source::Softnet, "dropped", 1 << 31, MAX_32 >> 32), {
        let (name, part) = ("softnet_dropped", Some("it".to_owned()));
        Err(GrowthError::Restarted { name, part, before: 1 << 31, after: 0 })
    });
    assert_eq!(grown(Source::Softnet, "dropped", (1 << 31) + 1, 0), Ok((1 << 31) - 1));
}

#[test]
fn a_value_beyond_the_range_that_is_known_has_not_wrapped() {
    assert!(grown(Source::Softnet, "dropped", MAX_32 + 10, 3).is_err());
    assert_eq!(grown(Source::Softnet, "dropped", MAX_32, MAX_32 + 10), Ok(10));
}

#[test]
fn idle_time_that_the_kernel_corrects_has_not_grown() {
    assert_eq!(grown(Source::Cpus, "cpu idle", 700, 699), Ok(0));
    assert!(grown(Source::Cpus, "cpu user", 700, 699).is_err());
}

#[test]
fn growth_is_in_the_unit_of_the_name() {
    assert_eq!(grown(Source::Disks, "sectors read", 10, 12), Ok(1024));
    assert_eq!(grown(Source::Paging, "pgpgin", 10, 12), Ok(2048));
    // USER_HZ of Linux is 100 on all machines that this runs on.
    assert_eq!(grown(Source::Cpus, "cpu user", 10, 12), Ok(20));
}

#[test]
fn each_cpu_wraps_for_itself() {
    let of = |at_ns, cpu0, cpu1| {
        let source = Source::Softnet;
        snapshot(
            at_ns,
            &[(source, "processed", "cpu0", 0, cpu0), (source, "processed", "cpu1", 0, cpu1)],
        )
    };
    let growth = growth(&of(1, MAX_32 - 9, 100), &of(5, 10, 101)).unwrap();

    assert_eq!(growth.counters["softnet_processed"], 21);
    assert_eq!(growth.parts["cpu0"]["softnet_processed"], 20);
    assert_eq!(growth.parts["cpu1"]["softnet_processed"], 1);
    assert_eq!(growth.elapsed_ns, 4);
}

#[test]
fn fields_of_one_name_are_added_up() {
    let of = |at_ns, sack, reno| {
        let source = Source::Netstat;
        snapshot(
            at_ns,
            &[
                (source, "TcpExt TCPSackRecovery", "", 0, sack),
                (source, "TcpExt TCPRenoRecovery", "", 0, reno),
            ],
        )
    };
    let growth = growth(&of(1, 10, 20), &of(2, 13, 24)).unwrap();

    assert_eq!(growth.counters["fast_recoveries"], 7);
    assert_eq!(growth.parts, BTreeMap::new());
}

#[test]
fn states_do_not_grow() {
    let of = |at_ns, value| snapshot(at_ns, &[(Source::Memory, "MemFree", "", 0, value)]);

    assert_eq!(growth(&of(1, 9), &of(2, 4)), Ok(Growth { elapsed_ns: 1, ..Growth::default() }));
}

#[test]
fn a_connection_that_was_opened_in_between_counts_from_zero() {
    let old = (Source::Flows, "bytes_sent", "a-b", 1, 1000);
    let new = (Source::Flows, "bytes_sent", "a-c", 2, 50);
    let growth = growth(&snapshot(1, &[old]), &snapshot(2, &[old, new])).unwrap();

    assert_eq!(growth.counters["bytes_sent"], 50);
    assert!(growth.unknown.is_empty());
}

#[test]
fn what_a_closed_connection_sent_is_unknown_not_zero() {
    let closed = (Source::Flows, "bytes_sent", "a-b", 1, 1000);
    let open = (Source::Flows, "bytes_sent", "a-c", 2, 50);
    let growth = growth(&snapshot(1, &[closed, open]), &snapshot(2, &[open])).unwrap();

    assert!(!growth.counters.contains_key("bytes_sent"));
    assert!(growth.unknown.contains("bytes_sent"));
}

#[test]
fn an_interface_that_was_made_anew_under_its_name_is_another_one() {
    let of =
        |at_ns, index, value| snapshot(at_ns, &[(Source::Links, "rx_bytes", "eth0", index, value)]);
    let growth = growth(&of(1, 4, 1000), &of(2, 5, 2000)).unwrap();

    assert!(growth.unknown.contains("interface_bytes_received"));
    assert!(!growth.counters.contains_key("interface_bytes_received"));
    assert!(growth.parts["eth0"].is_empty(), "nor is it known of the name");
}

#[test]
fn a_cpu_that_was_switched_on_in_between_is_unknown() {
    let of = |cpu| (Source::Cpus, "cpu user", cpu, 0, 100);
    let growth =
        growth(&snapshot(1, &[of("cpu0")]), &snapshot(2, &[of("cpu0"), of("cpu1")])).unwrap();

    assert!(growth.unknown.contains("cpu_user_ms"));
    assert!(!growth.counters.contains_key("cpu_user_ms"));
}

#[test]
fn snapshots_of_two_boots_or_namespaces_have_nothing_to_do_with_each_other() {
    let of = |boot: &str, namespace| Snapshot {
        origin: Origin { boot: Some(boot.to_owned()), namespace: Some(namespace) },
        ..Snapshot::default()
    };

    assert_eq!(growth(&of("a", 1), &of("b", 1)), Err(GrowthError::OtherOrigin));
    assert_eq!(growth(&of("a", 1), &of("a", 2)), Err(GrowthError::OtherOrigin));
    assert!(growth(&of("a", 1), &of("a", 1)).is_ok());
}

#[test]
fn time_does_not_go_back() {
    assert_eq!(growth(&snapshot(2, &[]), &snapshot(1, &[])), Err(GrowthError::Order));
}
