"""Counters of interfaces, adapters, CPUs and qdiscs: ip, /proc/net/dev, ethtool, softnet, tc."""

from __future__ import annotations

import json

import pytest

from netstudy.formats.ethtool import FORMAT as ETHTOOL
from netstudy.formats.growth import growths
from netstudy.formats.ip_link import FORMAT as LINK
from netstudy.formats.measured import Format, FormatError
from netstudy.formats.proc_net_dev import FORMAT as DEV
from netstudy.formats.softnet_stat import FORMAT as SOFTNET
from netstudy.formats.tc import FORMAT as TC
from tests.formats.hosts import HOST, counted, in_namespace, of_part, read
from tests.formats.samples import held, readings, sample
from tests.skips import in_namespaces, needs_programs

SENT_BYTES = 999_809_596
"""Bytes that iperf3 sent between the readings before and after, by its own report."""

DEV_TITLE = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n"
)


@pytest.mark.parametrize(
    ("form", "ending"),
    [pytest.param(DEV, "dev.txt", id="/proc/net/dev"), pytest.param(LINK, "link.json", id="ip")],
)
def test_interfaces_carried_what_iperf3_sent_and_headers(form: Format, ending: str) -> None:
    before = readings(form, HOST / f"before-{ending}")
    after = readings(form, HOST / f"after-{ending}")
    (found,) = growths(before.counters, after.counters)
    assert found.part == "lo"
    # Headers of at least 52 bytes a segment of at most 64 KiB, and acks.
    assert SENT_BYTES * 1.0008 < found.values["receive_bytes"] < SENT_BYTES * 1.05
    assert found.values["send_bytes"] == found.values["receive_bytes"]
    assert found.values["receive_drops"] == 0


def test_proc_and_ip_have_the_same_counters() -> None:
    dev = counted(readings(DEV, HOST / "after-dev.txt"), "lo")
    link = counted(readings(LINK, HOST / "after-link.json"), "lo")
    assert dev == {**link, "receive_overruns": 0}


def test_a_name_that_touches_its_counters_is_read() -> None:
    text = f"{DEV_TITLE}eth0:{' '.join(map(str, range(1, 17)))}\n"
    assert counted(read(DEV, text), "eth0") == {
        "receive_bytes": 1,
        "receive_packets": 2,
        "receive_errors": 3,
        "receive_drops": 4,
        "receive_overruns": 5,
        "send_bytes": 9,
        "send_packets": 10,
        "send_errors": 11,
        "send_drops": 12,
    }


def test_old_statistics_of_ip_are_read() -> None:
    stats = {"rx": {"bytes": 1, "packets": 2}, "tx": {"bytes": 3, "dropped": 4}}
    found = read(LINK, json.dumps([{"ifindex": 2, "ifname": "eth0", "stats": stats}]))
    assert counted(found, "eth0") == {
        "receive_bytes": 1,
        "receive_packets": 2,
        "send_bytes": 3,
        "send_drops": 4,
    }


def test_interfaces_without_statistics_are_refused_with_the_command() -> None:
    with pytest.raises(FormatError, match="ip -s -j link"):
        read(LINK, '[{"ifindex":1,"ifname":"lo"}]')


ETHTOOL_TEXT = """# ethtool -S eth0
NIC statistics:
     rx_bytes: 100
     tx_bytes: 200
     rx_dropped: 3
     rx_pause: 4
     rx_queue_0_packets: 5
     [0]: rx_packets: 6
     port.rx_dropped: 7
"""


def test_the_usual_names_of_adapters_are_those_of_all_interfaces() -> None:
    assert counted(read(ETHTOOL, ETHTOOL_TEXT), "eth0") == {
        "receive_bytes": 100,
        "send_bytes": 200,
        "receive_drops": 3,
        "receive_pause_frames": 4,
        "ethtool_rx_queue_0_packets": 5,
        "ethtool_0_rx_packets": 6,
        "ethtool_port_rx_dropped": 7,
    }


def test_values_whose_names_become_the_same_are_left_out_by_name() -> None:
    found = readings(ETHTOOL, sample("node_exporter/ethtool-eth0-statistics"))
    assert counted(found, "eth0")["ethtool_port_rx_dropped"] == 12028
    assert found.notes == ("ethtool_duplicate_metric is left out: 2 values have this name.",)


def test_readings_of_two_adapters_at_two_times_are_in_one_file() -> None:
    def reading(name: str, value: int) -> str:
        return f"# ethtool -S {name}\nNIC statistics:\n     rx_bytes: {value}\n"

    text = (
        f"1795952788\n{reading('eth0', 1)}{reading('eth1', 10)}"
        f"1795952789\n{reading('eth0', 5)}{reading('eth1', 20)}"
    )
    found = growths(*[read(ETHTOOL, text).counters] * 2)
    assert [(each.part, dict(each.values), each.between_s) for each in found] == [
        ("eth0", {"receive_bytes": 4}, (1795952788, 1795952789)),
        ("eth1", {"receive_bytes": 10}, (1795952788, 1795952789)),
    ]


def test_columns_of_softnet_are_hexadecimal_numbers_of_each_cpu() -> None:
    found = readings(SOFTNET, sample("node_exporter/proc-net-softnet_stat"))
    assert counted(found, "cpu1") == {
        "softnet_packets": 0xDFB82,
        "softnet_drops": 41,
        "softnet_squeezes": 10,
        "softnet_rps_interrupts": 0,
        "softnet_flow_limit_drops": 0,
    }


def test_the_number_of_the_cpu_is_read_where_the_kernel_prints_it() -> None:
    """CPU 1 is offline: the second line is of CPU 2."""
    lines = [f"{'00000001 ' * 12}{cpu:08x} 00000000 00000000\n" for cpu in (0, 2)]
    found = read(SOFTNET, "".join(lines) * 2)
    assert [each.part for each in found.counters] == ["cpu0", "cpu2", "cpu0", "cpu2"]


def test_counters_of_softnet_wrap_at_32_bits() -> None:
    rest = " 00000000" * 10
    (found,) = growths(
        read(SOFTNET, f"ffffff00{rest}\n").counters, read(SOFTNET, f"00000100{rest}\n").counters
    )
    assert found.values["softnet_packets"] == 0x200


def test_text_and_json_of_tc_are_the_same() -> None:
    as_json = counted(readings(TC, HOST / "tc.json"), "lo tbf 1:")
    assert as_json == counted(readings(TC, HOST / "tc.txt"), "lo tbf 1:")
    assert as_json["qdisc_drops"] == 97
    assert as_json["qdisc_bytes"] == 230247


def test_a_real_file_of_two_qdiscs_is_the_same_in_text_and_json() -> None:
    files = [readings(TC, sample(f"own/tc-s-{name}")) for name in ("j-qdisc.json", "qdisc.txt")]
    assert files[0].counters[1].part == "eth0 pfifo_fast 0:"
    assert files[0].counters[1].values["qdisc_packets"] == 8231
    assert [dict(each.values) for each in files[0].counters] == [
        dict(each.values) for each in files[1].counters
    ]


FQ_CODEL = """qdisc mq 0: dev eth0 root
 Sent 30 bytes 3 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc fq_codel 0: dev eth0 parent :2 limit 10240p flows 1024 quantum 1514 target 5ms
 Sent 10 bytes 1 pkt (dropped 4, overlimits 0 requeues 0)
 backlog 4542b 3p requeues 0
  maxpacket 1514 drop_overlimit 0 new_flow_count 7 ecn_mark 2
  new_flows_len 0 old_flows_len 0
qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 quantum 1514 target 5ms
 Sent 20 bytes 2 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  maxpacket 0 drop_overlimit 0 new_flow_count 0 ecn_mark 0
"""


def test_qdiscs_of_an_adapters_queues_are_parts_of_their_own() -> None:
    found = read(TC, FQ_CODEL)
    assert [each.part for each in found.counters] == [
        "eth0 mq 0:",
        "eth0 fq_codel 0: parent :2",
        "eth0 fq_codel 0: parent :1",
    ]
    assert counted(found, "eth0 fq_codel 0: parent :2") == {
        "qdisc_bytes": 10,
        "qdisc_packets": 1,
        "qdisc_drops": 4,
        "qdisc_overlimits": 0,
        "qdisc_requeues": 0,
        "qdisc_marks": 2,
    }


def test_a_file_of_one_device_does_not_name_it() -> None:
    """As tc -s qdisc show dev eth0 prints it."""
    text = FQ_CODEL.replace(" dev eth0", "")
    found = read(TC, text)
    assert found.counters[1].part == "fq_codel 0: parent :2"
    assert found.notes[0].startswith("The file does not name the device")
    as_json = read(TC, '[{"kind":"fq","handle":"8001:","root":true,"drops":1}]')
    assert counted(as_json, "fq 8001:") == {"qdisc_drops": 1}
    assert as_json.notes == found.notes


def test_several_readings_of_tc_are_in_one_file() -> None:
    assert len(of_part(read(TC, FQ_CODEL * 2), "eth0 mq 0:")) == 2
    text = f"1795952788.5\n{FQ_CODEL}1795952789.5\n{FQ_CODEL}"
    assert [each.at_s for each in of_part(read(TC, text), "eth0 mq 0:")] == [
        1795952788.5,
        1795952789.5,
    ]
    qdisc = {"kind": "fq", "handle": "8001:", "dev": "eth0", "root": True, "drops": 1}
    text = f"1795952788.5\n{json.dumps([qdisc])}\n1795952789.5\n{json.dumps([qdisc])}\n"
    assert len(of_part(read(TC, text), "eth0 fq 8001:")) == 2


@pytest.mark.parametrize(
    ("form", "text", "says"),
    [
        pytest.param(DEV, f"{DEV_TITLE}eth0: 1 2 3\n", "line 3: .* 16 counters", id="dev, cut off"),
        pytest.param(DEV, DEV_TITLE.replace("errs", "oops"), "line 2: Linux since 2.2", id="dev"),
        pytest.param(LINK, '[{"ifindex":1,"ifname":"l', "cut off", id="ip, cut off"),
        pytest.param(
            LINK,
            '[{"ifindex":1,"ifname":"lo","stats64":{"rx":{"bytes":-1}}}]',
            r"\[0\].stats64.rx.bytes: -1 is not",
            id="ip, negative",
        ),
        pytest.param(ETHTOOL, "NIC statistics:\n     rx_bytes: many\n", "line 2", id="ethtool"),
        pytest.param(ETHTOOL, "NIC statistics:\n", "no counters", id="ethtool, empty"),
        pytest.param(
            SOFTNET, "00000001 " * 12 + "\n0000\n", "line 2: .* hexadecimal", id="softnet"
        ),
        pytest.param(TC, "qdisc fq 8001: dev eth0 root\n", "tc -s -j qdisc", id="tc without -s"),
        pytest.param(TC, '[{"kind":"fq","handle":null}]', r"\[0\]: kind and handle", id="tc -j"),
        pytest.param(
            TC,
            "qdisc fq 1: dev eth0 root\nclass htb 1:10 root\n",
            "line 2: a qdisc is expected",
            id="tc class",
        ),
    ],
)
def test_damaged_files_are_refused_with_the_place(form: Format, text: str, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        read(form, text)


def test_last_values_that_may_be_cut_off_are_left_out() -> None:
    found = read(ETHTOOL, ETHTOOL_TEXT + "     tx_dropped: 12")
    assert "send_drops" not in counted(found, "eth0")
    assert "line 10 is left out" in found.notes[0]
    cut = FQ_CODEL[: FQ_CODEL.rindex(" pkt (dropped 0")]
    found = read(TC, cut)
    assert len(found.counters) == 2
    assert "line 10 is left out" in found.notes[0]


@in_namespaces
@needs_programs("tc")
def test_the_tools_of_this_machine_are_read() -> None:
    """A qdisc that drops nothing sends what the interface sends."""
    output = in_namespace(
        "tc qdisc add dev lo root handle 7: pfifo limit 1000\n"
        "bash -c 'for each in 1 2 3 4 5; do echo hello >/dev/udp/127.0.0.1/9; done'\n"
        "tc -s qdisc; echo ----; tc -s -j qdisc; echo; echo ----; ip -s -j link; echo ----; "
        "cat /proc/net/dev; echo ----; cat /proc/net/softnet_stat"
    )
    text, as_json, link, dev, softnet = output.split("----\n")
    sent = counted(read(TC, text), "lo pfifo 7:")
    assert sent == counted(read(TC, as_json), "lo pfifo 7:")
    interface = counted(read(LINK, link), "lo")
    assert counted(read(DEV, dev), "lo") == {**interface, "receive_overruns": 0}
    assert sent["qdisc_packets"] == interface["send_packets"] == 10  # and 5 ICMP errors
    # The loopback interface counts packets without the Ethernet header, the qdisc with it.
    assert sent["qdisc_bytes"] == interface["send_bytes"] + 14 * 10
    assert all(each.part.startswith("cpu") for each in read(SOFTNET, softnet).counters)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_copies_give_whole_numbers_or_are_refused(seed: int) -> None:
    for form, data in (
        (DEV, (HOST / "after-dev.txt").read_bytes()),
        (LINK, (HOST / "after-link.json").read_bytes()),
        (ETHTOOL, ETHTOOL_TEXT.encode()),
        (SOFTNET, (HOST / "after-softnet.txt").read_bytes()),
        (TC, (HOST / "tc.json").read_bytes()),
        (TC, FQ_CODEL.encode()),
    ):
        held(form, data, seed, 170)
