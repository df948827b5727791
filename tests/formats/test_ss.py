"""ss -tin: counters of each connection, and RTT and cwnd over time."""

from __future__ import annotations

import json

import pytest

from netstudy.formats.growth import growths, growths_within
from netstudy.formats.measured import FormatError, HostReadings
from netstudy.formats.ss import FORMAT
from tests.formats.hosts import HOST, counted, in_namespace, of_part, read, series, values
from tests.formats.samples import held, readings, sample
from tests.skips import in_namespaces, needs_programs

TITLE = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
ENDS = "10.0.0.1:5001 > 10.0.0.2:5201"


def socket(
    fields: str, ends: str = "10.0.0.1:5001 10.0.0.2:5201", state: str = "ESTAB", more: str = ""
) -> str:
    """A socket of ss on two lines."""
    return f"{state}  0  0  {ends} {more}\n\t cubic wscale:7,7 rto:204 {fields}\n"


def one(fields: str) -> dict[str, int]:
    """The counters of one socket with these fields."""
    return dict(counted(read(FORMAT, TITLE + socket(fields)), ENDS))


def test_counters_are_bytes_segments_and_milliseconds() -> None:
    found = one(
        "rtt:0.5/0.1 cwnd:10 bytes_sent:1000 bytes_retrans:100 bytes_acked:901 bytes_received:5 "
        "segs_out:7 segs_in:8 data_segs_out:3 data_segs_in:5 send 875.5Kbps lastsnd:508 "
        "pacing_rate 166344733208bps delivery_rate 1.2Gbps delivered:4 app_limited busy:276ms "
        "rwnd_limited:264ms(95.7%) sndbuf_limited:4ms(1.4%) unacked:2 retrans:0/12 minrtt:0.011"
    )
    assert found == {
        "bytes_sent": 1000,
        "bytes_retransmitted": 100,
        "bytes_acked": 901,
        "bytes_received": 5,
        "segments_sent": 7,
        "segments_received": 8,
        "data_segments_sent": 3,
        "data_segments_received": 5,
        "delivered_segments": 4,
        "busy_ms": 276,
        "rwnd_limited_ms": 264,
        "sndbuf_limited_ms": 4,
        "retransmitted_segments": 12,
    }


def test_limits_are_zero_where_a_busy_connection_does_not_print_them() -> None:
    assert one("cwnd:10 busy:276ms") == {
        "busy_ms": 276,
        "rwnd_limited_ms": 0,
        "sndbuf_limited_ms": 0,
        "retransmitted_segments": 0,
    }


def test_a_counter_that_another_reading_prints_was_zero_before() -> None:
    """The first reading of a connection is often before its first data."""
    found = timed(
        ("1795952788", "cwnd:1 segs_in:1"),
        ("1795952789", "cwnd:1 segs_in:9 bytes_sent:5 busy:800ms rwnd_limited:600ms(75%)"),
    )
    (grown,) = growths(found.counters, found.counters)
    assert grown.values == {
        "segments_received": 8,
        "bytes_sent": 5,
        "bytes_retransmitted": 0,
        "retransmitted_segments": 0,
        "busy_ms": 800,
        "rwnd_limited_ms": 600,
        "sndbuf_limited_ms": 0,
    }


def test_limits_are_missing_where_the_kernel_may_not_have_them() -> None:
    """A kernel before 4.10 has neither busy nor the limits; a receiver prints none of them."""
    assert one("cwnd:10 bytes_received:5") == {"bytes_received": 5, "retransmitted_segments": 0}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TITLE + socket("cwnd:10 busy:5ms"), id="-tin"),
        pytest.param(socket("cwnd:10 busy:5ms"), id="-tinH"),
        pytest.param(socket("cwnd:10 busy:5ms").replace("\n\t", " "), id="-tinO"),
        pytest.param(
            TITLE.removeprefix("State ") + socket("cwnd:10 busy:5ms", state=""),
            id="-tin state established",
        ),
        pytest.param(socket("cwnd:10 busy:5ms", state=""), id="-tinH state established"),
        pytest.param(
            TITLE + socket("skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0) cwnd:10 busy:5ms"),
            id="-tinm",
        ),
        pytest.param(
            TITLE + socket("cwnd:10 busy:5ms", more='users:(("busy:7ms",pid=1,fd=3)) ino:5 sk:1'),
            id="-tinpe",
        ),
        pytest.param(
            "Netid " + TITLE + "tcp   " + socket("cwnd:10 busy:5ms") + "udp UNCONN 0 0 *:1 *:*\n",
            id="-in",
        ),
        pytest.param(
            TITLE
            + socket("cwnd:10", ends="0.0.0.0:22 0.0.0.0:*", state="LISTEN")
            # TIME-WAIT has no information.
            + "TIME-WAIT 0 0 10.0.0.1:1 10.0.0.2:2\n"
            + socket("cwnd:10 busy:5ms"),
            id="-tian",
        ),
    ],
)
def test_options_of_ss_change_nothing(text: str) -> None:
    found = read(FORMAT, text)
    assert {each.part for each in found.counters} == {ENDS}
    assert counted(found, ENDS)["busy_ms"] == 5


def test_connections_of_ipv6_and_of_devices_are_parts() -> None:
    found = read(FORMAT, TITLE + socket("cwnd:1", ends="[fe80::1%eth0]:5001 [::ffff:10.0.0.2]:80"))
    assert counted(found, "[fe80::1%eth0]:5001 > [::ffff:10.0.0.2]:80")


def timed(*pairs: tuple[str, str]) -> HostReadings:
    """Readings at these times."""
    return read(FORMAT, "".join(f"{time}\n{TITLE}{socket(fields)}" for time, fields in pairs))


def test_rtt_and_cwnd_over_time_are_the_states_at_the_end_of_each_interval() -> None:
    found = timed(
        ("1795952788.25", "rtt:0.5/0.1 cwnd:10 minrtt:0.2 bytes_acked:0"),
        ("1795952789.25", "rtt:1.5/0.1 cwnd:20 minrtt:0.2 bytes_acked:1250000"),
        ("1795952791.25", "rtt:2.5/0.1 cwnd:30 minrtt:0.1 bytes_acked:1250000"),
    )
    assert series(found, ENDS).starts_s.tolist() == [1795952788.25, 1795952789.25]
    assert series(found, ENDS).ends_s.tolist() == [1795952789.25, 1795952791.25]
    assert values(found, "srtt_us", ENDS) == [1500, 2500]
    assert values(found, "min_rtt_us", ENDS) == [200, 100]
    assert values(found, "cwnd_segments", ENDS) == [20, 30]
    assert values(found, "acked_mbps", ENDS) == [10, 0]


@pytest.mark.parametrize(
    "time", ["2026-11-29T11:46:28+00:00", "2026-11-29T12:46:28+01:00", "# 1795952788", "1795952788"]
)
def test_times_between_readings_have_several_forms(time: str) -> None:
    assert timed((time, "cwnd:1")).counters[0].at_s == 1795952788


def test_the_times_of_flents_script_come_after_the_readings() -> None:
    """The last reading was cut off before its time."""
    times = ("1795952788.250", "1795952789.250")
    text = "".join(
        f"{TITLE}{socket(f'cwnd:{cwnd}0 rtt:{cwnd}/1')}Time: {time}\n---\n"
        for cwnd, time in enumerate(times, 1)
    )
    found = read(FORMAT, text + TITLE + socket("cwnd:99 rtt:9/9"))
    assert [each.at_s for each in of_part(found, ENDS)] == [1795952788.25, 1795952789.25]
    assert series(found, ENDS).starts_s.tolist() == [1795952788.25]
    assert values(found, "cwnd_segments", ENDS) == [20]
    assert found.notes == ("Left out from line 11 on: the last reading has no time.",)


def test_without_times_rtt_and_cwnd_are_left_out_with_the_reason() -> None:
    found = read(FORMAT, TITLE + socket("rtt:1/1 cwnd:1") + TITLE + socket("rtt:2/1 cwnd:2"))
    assert found.series == ()
    assert "date +%s.%N; ss -tin" in found.notes[0]
    assert [each.at_s for each in of_part(found, ENDS)] == [None, None]


def test_repeated_readings_without_titles_are_found() -> None:
    found = read(FORMAT, socket("cwnd:1 busy:5ms") * 3)
    assert len(of_part(found, ENDS)) == 3


def test_a_reused_pair_of_addresses_has_no_growth() -> None:
    """A new connection from the same port counts from 0 again."""
    found = timed(
        ("1795952788", "cwnd:1 bytes_acked:900"),
        ("1795952789", "cwnd:1 bytes_acked:50"),
        ("1795952790", "cwnd:1 bytes_acked:1000"),
    )
    assert growths(found.counters, found.counters)[0].values == {}
    assert str(values(found, "acked_mbps", ENDS)[0]) == "nan"


def test_a_connection_that_the_load_opened_counts_from_zero() -> None:
    before = read(FORMAT, TITLE)
    after = read(FORMAT, TITLE + socket("cwnd:1 busy:4000ms rwnd_limited:3000ms(75%)"))
    (found,) = growths(before.counters, after.counters, new_from_zero=True)
    assert found.values["rwnd_limited_ms"] / found.values["busy_ms"] == 0.75


def test_a_title_without_connections_is_an_empty_reading() -> None:
    found = readings(FORMAT, sample("own/ss-tin.txt"))
    assert found.counters == ()
    assert found.notes == ("There was no connection.",)


def test_a_last_line_that_may_be_cut_off_is_left_out() -> None:
    found = read(
        FORMAT, TITLE + socket("cwnd:1 bytes_acked:1") + socket("bytes_acked:123", "a:1 b:2")[:-2]
    )
    assert {each.part for each in found.counters} == {ENDS}
    assert "line 5 is left out: it does not end" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(TITLE + "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n", "ss -tin", id="without -i"),
        pytest.param(TITLE + socket("cwnd:1 cwnd:2"), "line 2: cwnd is there twice", id="twice"),
        pytest.param(TITLE + socket("cwnd:1 busy:5"), 'line 2, busy: "5" is not', id="no unit"),
        pytest.param(TITLE + socket("bytes_acked:1e9"), "line 2, bytes_acked", id="no count"),
        pytest.param(TITLE + "Permission denied\n", "line 2: a socket or its", id="a message"),
    ],
)
def test_text_that_is_not_of_ss_is_refused_with_the_line(text: str, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        read(FORMAT, text)


def test_a_series_of_a_real_transfer_has_its_rate() -> None:
    """iperf3 sent 2 Gbit/s at most; its connection came after the first of three readings."""
    found = readings(FORMAT, HOST / "ss.txt")
    (sender,) = (
        each.part
        for each in found.series
        if max(each.values.get("acked_mbps", [0.0]), default=0) > 100
    )
    assert sender.endswith("> 127.0.0.1:5999")
    assert values(found, "acked_mbps", sender) == pytest.approx([2000], rel=0.02)
    times = [each.at_s for each in of_part(found, sender) if each.at_s is not None]
    (grown,) = (
        each
        for each in growths_within(found.counters, (times[0], times[-1]))
        if each.part == sender
    )
    assert grown.values["busy_ms"] <= 1000 * (times[-1] - times[0]) + 20


@in_namespaces
@needs_programs("ss", "iperf3")
def test_ss_agrees_with_iperf3_about_one_connection() -> None:
    """Both count the bytes that the peer acknowledged, and the segments that were sent again."""
    output = in_namespace(
        "folder=$(mktemp -d)\n"
        "iperf3 -s -1 -p 5999 >/dev/null &\n"
        "until ss -tln | grep -q :5999; do :; done\n"
        "iperf3 -c 127.0.0.1 -p 5999 -t 1 -b 200M -J >$folder/iperf3.json &\n"
        "client=$!\n"
        "while kill -0 $client 2>/dev/null; do date +%s.%N; ss -tin; sleep 0.05; done\n"
        "echo ----; cat $folder/iperf3.json; rm -r $folder"
    )
    text, report = output.split("----\n")
    end = json.loads(report)["end"]["streams"][0]["sender"]
    found = read(FORMAT, text)
    acked = {
        part: max(each.values.get("bytes_acked", 0) for each in of_part(found, part))
        for part in {each.part for each in found.counters}
        if part.endswith("> 127.0.0.1:5999")
    }
    largest = max(acked.values())
    # ss reads every 50 ms, in which 1.25 MB are sent; 38 bytes are the test's cookie and 1 the SYN.
    assert 0.9 * end["bytes"] <= largest <= end["bytes"] + 38
    assert max(map(len, (of_part(found, part) for part in acked))) >= 5


@pytest.mark.parametrize("seed", range(3))
def test_damaged_copies_give_finite_values_or_are_refused(seed: int) -> None:
    held(FORMAT, (HOST / "ss.txt").read_bytes(), seed, 170)
