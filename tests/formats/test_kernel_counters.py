"""nstat, netstat -s and /proc/net: the same counters under the same names."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from netstudy.formats.growth import growths
from netstudy.formats.kernel_counters import QUANTITIES, counter_name
from netstudy.formats.measured import Format, FormatError, HostReadings
from netstudy.formats.netstat_s import FORMAT as NETSTAT
from netstudy.formats.nstat import FORMAT as NSTAT
from netstudy.formats.proc_net import FORMAT as PROC
from tests.formats.hosts import HOST, counted, in_namespace, of_part, read, run
from tests.formats.samples import held, readings, sample
from tests.skips import in_namespaces, needs_programs


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("TcpRetransSegs", "segments_retransmitted"),
        ("TcpExtTCPTimeouts", "timeouts"),
        ("TcpInSegs", "tcp_in_segs"),
        ("TcpExtTCPLossProbes", "tcp_loss_probes"),
        ("TcpExtTcpTimeoutRehash", "tcp_timeout_rehash"),
        ("TcpExtListenDrops", "tcp_ext_listen_drops"),
        ("TcpExtDelayedACKs", "tcp_ext_delayed_acks"),
        ("TcpExtTCPHPHits", "tcp_hp_hits"),
        ("TcpExtTCPRcvQDrop", "tcp_rcv_q_drop"),
        ("TcpExtTCPMD5NotFound", "tcp_md5_not_found"),
        ("IpExtInECT0Pkts", "ip_ext_in_ect0_pkts"),
        ("Ip6InOctets", "ip6_in_octets"),
        ("Icmp6OutMLDv2Reports", "icmp6_out_mldv2_reports"),
        ("IcmpMsgInType3", "icmp_msg_in_type3"),
        ("MPTcpExtMPCapableACKRX", "mptcp_ext_mp_capable_ackrx"),
        ("TcpExtTCPSomethingOfANewerKernel", "tcp_something_of_a_newer_kernel"),
        ("TcpCurrEstab", None),
        ("TcpMaxConn", None),
        ("IpDefaultTTL", None),
    ],
)
def test_names_are_those_of_the_kernel_in_snake_case(word: str, name: str | None) -> None:
    assert counter_name(word) == name


@needs_programs("nstat")
def test_no_two_counters_of_this_kernel_have_the_same_name() -> None:
    words = run("nstat", "-asz").decode().split("\n")[1:-1]
    names = [counter_name(line.split()[0]) for line in words]
    assert len(names) > 300
    assert len(set(names)) == len(names)
    assert {found.name for found in QUANTITIES} <= set(names) - {None}


GROWN = {
    "segments_retransmitted": 22,
    "tcp_active_opens": 3,
}


def from_files(form: Format, kind: str) -> tuple[HostReadings, HostReadings]:
    """The readings before and after."""
    return (
        readings(form, HOST / f"before-{kind}"),
        readings(form, HOST / f"after-{kind}"),
    )


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        pytest.param(PROC, "proc.txt", id="proc"),
        pytest.param(NSTAT, "nstat.txt", id="nstat"),
        pytest.param(NSTAT, "nstat.json", id="nstat -j"),
        pytest.param(NETSTAT, "netstat.txt", id="netstat -s"),
    ],
)
def test_all_tools_find_the_retransmissions_that_iperf3_counted(form: Format, kind: str) -> None:
    """iperf3 reported 22 retransmits on its one connection with data; before was a new namespace,
    in which nstat prints nothing."""
    before, after = from_files(form, kind)
    (found,) = growths(before.counters, after.counters)
    assert found.values["segments_retransmitted"] >= 22
    assert found.values == {**found.values, **grown_in_proc(found.values)}


def grown_in_proc(names: Mapping[str, int]) -> dict[str, int]:
    """The same growth by /proc/net, for counters of TCP, which do not count the tools' own work."""
    before, after = from_files(PROC, "proc.txt")
    (found,) = growths(before.counters, after.counters)
    return {name: value for name, value in found.values.items() if name in names}


def test_the_text_and_the_json_of_nstat_are_the_same() -> None:
    as_text = counted(readings(NSTAT, sample("own/nstat-as.txt")))
    assert as_text == counted(readings(NSTAT, sample("own/nstat-asj.json")))
    assert as_text["timeouts"] == 2
    assert as_text["ip_ext_in_octets"] == 929598308


def test_a_counter_that_nstat_leaves_out_is_zero() -> None:
    (before,) = read(NSTAT, '{"kernel":{"TcpInSegs":10}}').counters
    assert before.zeros_left_out
    after = read(NSTAT, "#kernel\nTcpInSegs  15  0.0\nTcpRetransSegs  3  0.0\n").counters
    (found,) = growths([before], after)
    assert found.values == {"tcp_in_segs": 5, "segments_retransmitted": 3}


def test_a_counter_that_proc_does_not_have_is_missing() -> None:
    before = read(PROC, "Tcp: InSegs\nTcp: 10\n").counters
    after = read(PROC, "Tcp: InSegs RetransSegs\nTcp: 15 3\n").counters
    (found,) = growths(before, after)
    assert found.values == {"tcp_in_segs": 5}
    assert "segments_retransmitted" in found.notes[0]


def test_differences_that_nstat_printed_without_a_give_no_growth_but_a_reason() -> None:
    """The first call prints counters since boot, the second what happened since."""
    since_boot = read(NSTAT, "#kernel\nTcpInSegs 9000 0.0\nTcpOutSegs 10 0.0\n")
    difference = read(NSTAT, "#kernel\nTcpInSegs 500 0.0\nTcpOutSegs 90 0.0\n")
    (found,) = growths(since_boot.counters, difference.counters)
    assert found.values == {}
    assert "nstat without -a" in found.notes[0]
    assert "Without -a" in since_boot.notes[0]


def test_several_readings_with_times_are_in_one_file() -> None:
    text = (
        "1795952788.5\n#kernel\nTcpInSegs 10 0.0\n"
        "2026-11-29T11:46:30+00:00\n#kernel\nTcpInSegs 15 0.0\n"
        "#kernel\nTcpInSegs 16 0.0\n"
    )
    found = of_part(read(NSTAT, text))
    assert [(each.at_s, each.values["tcp_in_segs"]) for each in found] == [
        (1795952788.5, 10),
        (1795952790.0, 15),
        (1795952790.0, 16),
    ]


def test_several_documents_of_nstat_are_in_one_file() -> None:
    text = '1795952788\n{"kernel":{"TcpInSegs":1}}\n{"kernel":{}}\n'
    found = of_part(read(NSTAT, text))
    assert [dict(each.values) for each in found] == [{"tcp_in_segs": 1}, {}]


def test_before_and_after_of_proc_are_in_one_file() -> None:
    both = (HOST / "before-proc.txt").read_text() + (HOST / "after-proc.txt").read_text()
    found = read(PROC, both)
    assert len(found.counters) == 2
    (grown,) = growths(found.counters, found.counters)
    assert grown.values == {**grown.values, **grown_in_proc(grown.values)}
    assert grown.values["segments_retransmitted"] >= 22


def test_proc_files_of_real_hosts_are_read() -> None:
    snmp = counted(readings(PROC, sample("node_exporter/proc-net-snmp")))
    netstat = counted(readings(PROC, sample("node_exporter/proc-net-netstat")))
    assert snmp["segments_retransmitted"] == 227
    assert snmp["udp_no_ports"] == 120
    assert netstat["tcp_ext_delayed_ack_locked"] == 17
    assert netstat["tcp_ext_tw"] == 388812


def test_counters_of_ipv6_are_read() -> None:
    found = counted(read(PROC, "Ip6InReceives                   \t7\nUdp6InErrors\t2\n"))
    assert found == {"ip6_in_receives": 7, "udp6_in_errors": 2}


def test_a_group_with_more_names_than_values_is_left_out_by_name() -> None:
    found = read(PROC, "Udp: InDatagrams NoPorts\nUdp: 1\nTcp: InSegs\nTcp: 3\n")
    assert counted(found) == {"tcp_in_segs": 3}
    assert found.notes == ("line 2: Udp is left out: it has 2 names and 1 values.",)


def test_a_last_value_that_may_be_cut_off_is_left_out() -> None:
    found = read(PROC, "Tcp: InSegs\nTcp: 3\nUdp: InDatagrams\nUdp: 12")
    assert counted(found) == {"tcp_in_segs": 3}
    assert "line 4 is left out: it does not end" in found.notes[0]


@pytest.mark.parametrize(
    ("form", "text", "says"),
    [
        pytest.param(PROC, "Tcp: InSegs\n", "Tcp has no values", id="proc, cut off"),
        pytest.param(PROC, "Tcp: InSegs\nUdp: 3\n", "line 2: the values of Tcp", id="mixed up"),
        pytest.param(PROC, "Tcp: InSegs\nTcp: -3\n", "-3 is not the value", id="negative"),
        pytest.param(
            NSTAT, "#kernel\nTcpInSegs 10 0.0\nTcpOutS", "the file was cut off", id="nstat, cut off"
        ),
        pytest.param(NSTAT, '{"kernel":{"TcpInSegs":10', "cut off", id="nstat -j, cut off"),
        pytest.param(NSTAT, "#kernel\nTcpInSegs 1 0\nTcpInSegs 2 0\n", "twice", id="twice"),
        pytest.param(NSTAT, '{"kernel":{"TcpInSegs":1,"TcpInSegs":2}}', "2 values", id="-j twice"),
        pytest.param(NSTAT, '{"kernel":{"TcpInSegs":-1}}', "kernel.TcpInSegs: -1", id="-j below 0"),
        pytest.param(NSTAT, '{"kernel":{"TcpInSegs":1.5}}', "whole number", id="-j fraction"),
        pytest.param(NETSTAT, "Tcp:\n    12 segments rece", "cut off", id="netstat, cut off"),
    ],
)
def test_damaged_files_are_refused_with_the_place(form: Format, text: str, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        read(form, text)


def test_sentences_of_netstat_are_the_kernels_counters() -> None:
    found = readings(NETSTAT, sample("own/netstat-s.txt"))
    assert found.notes == ()
    values = counted(found)
    assert values["segments_retransmitted"] == 301
    assert values["timeouts"] == 2
    assert values["tcp_sack_reorder"] == 22
    assert values["tcp_ts_reorder"] == 1
    assert values["tcp_ext_delayed_ack_lost"] == 142
    assert values["ip_ext_in_octets"] == 39330649440
    assert values["icmp_in_dest_unreachs"] == 1
    assert values["icmp_msg_in_type3"] == 1
    assert not any("estab" in name and "curr" in name for name in values)


@pytest.mark.parametrize("spelling", ["retransmited", "retransmitted"])
def test_both_spellings_of_retransmitted_are_known(spelling: str) -> None:
    found = read(NETSTAT, f"Tcp:\n    12 segments {spelling}\n    3 bad segments received.\n")
    assert counted(found) == {"segments_retransmitted": 12, "tcp_in_errs": 3}


def test_a_sentence_that_is_not_known_is_left_out_by_name() -> None:
    found = read(NETSTAT, "Tcp:\n    12 segments received\n    7 segments eaten by the dog\n")
    assert counted(found) == {"tcp_in_segs": 12}
    assert found.notes == (
        'Left out, since these lines are not known: "7 segments eaten by the dog".',
    )


def test_the_same_sentence_of_two_groups_is_two_counters() -> None:
    text = "Udp:\n    5 packets received\nUdpLite:\n    6 packets received\n"
    assert counted(read(NETSTAT, text)) == {"udp_in_datagrams": 5, "udp_lite_in_datagrams": 6}


def test_before_and_after_of_netstat_are_in_one_file() -> None:
    text = "Tcp:\n    5 segments received\nTcp:\n    8 segments received\n"
    found = read(NETSTAT, text)
    assert growths(found.counters, found.counters)[0].values == {"tcp_in_segs": 3}


@in_namespaces
@needs_programs("nstat", "netstat")
def test_the_tools_of_this_machine_agree() -> None:
    """In a namespace without traffic, so that nothing moves between the commands."""
    output = in_namespace(
        "bash -c 'for port in 9 9 9; do echo x >/dev/udp/127.0.0.1/$port; done'\n"
        "bash -c 'echo x >/dev/tcp/127.0.0.1/9' 2>/dev/null || true\n"
        "cat /proc/net/snmp /proc/net/netstat; echo ----; nstat -as; echo ----; nstat -asj; "
        "echo; echo ----; nstat -aszj; echo; echo ----; netstat -s"
    )
    proc, text, as_json, with_zeros, sentences = output.split("----\n")
    true = {name: value for name, value in counted(read(PROC, proc)).items() if value}
    assert true["udp_no_ports"] == true["icmp_in_dest_unreachs"] == 3
    assert true["tcp_attempt_fails"] == 1
    for found in (counted(read(NSTAT, text)), counted(read(NSTAT, as_json))):
        assert {name: found[name] for name in true} == true
    assert set(counted(read(NSTAT, with_zeros))) > set(counted(read(PROC, proc)))
    by_netstat = counted(read(NETSTAT, sentences))
    assert by_netstat == {**by_netstat, **{n: v for n, v in true.items() if n in by_netstat}}
    assert {"tcp_attempt_fails", "icmp_out_dest_unreachs", "ip_ext_in_octets"} <= set(by_netstat)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_copies_give_whole_numbers_or_are_refused(seed: int) -> None:
    for form, name in (
        (PROC, "after-proc.txt"),
        (NSTAT, "after-nstat.txt"),
        (NSTAT, "after-nstat.json"),
        (NETSTAT, "after-netstat.txt"),
    ):
        held(form, (HOST / name).read_bytes(), seed, 170)


def test_values_of_json_may_be_of_64_bits() -> None:
    text = json.dumps({"kernel": {"IpExtInOctets": 2**64 - 1}})
    assert counted(read(NSTAT, text)) == {"ip_ext_in_octets": 2**64 - 1}
    with pytest.raises(FormatError, match="is not the value of a counter"):
        read(NSTAT, json.dumps({"kernel": {"IpExtInOctets": 2**64}}))
