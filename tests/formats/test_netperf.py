"""netperf's outputs: omni as CSV and as keys, and the classic tables."""

from __future__ import annotations

import json

import pytest

from netstudy.formats.measured import FormatError, Measurement
from netstudy.formats.netperf import FORMAT
from tests.formats.samples import broken, held, only, sample

STREAM = (
    "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () port 0 AF_INET"
)
ROUNDS = (
    "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () "
    "port 0 AF_INET : demo, histogram, first burst 0"
)

KEYS = """\
PROTOCOL=TCP
DIRECTION=Send
ELAPSED_TIME=10.00
THROUGHPUT=941.49
THROUGHPUT_UNITS=10^6bits/s
LOCAL_BYTES_SENT=1176862500
LOCAL_BYTES_RECVD=0
LOCAL_CPU_UTIL=12.34
REMOTE_CPU_UTIL=-1.00
LOCAL_TRANSPORT_RETRANS=7
REMOTE_TRANSPORT_RETRANS=0
TRANSACTION_RATE=-1.000
MIN_LATENCY=1
P50_LATENCY=2
P90_LATENCY=6
P99_LATENCY=374
MAX_LATENCY=3500
MEAN_LATENCY=17.40
"""

TABLE_OF_STREAM = """\
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

 87380  16384  16384    10.00     941.49
"""

TABLE_OF_ROUNDS = """\
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  87380  1        1       10.00    12345.67
16384  87380
"""

TABLE_OF_UDP = """\
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992   65507   10.00      182280      0    9552.60
212992           10.00      182100           9543.17
"""


def read(text: str) -> Measurement:
    content = FORMAT.read(text.encode())
    assert isinstance(content, tuple)
    (found,) = content
    return found


def samples() -> list[str]:
    """PerfKitBenchmarker's results, each three lines of netperf's output."""
    found = json.loads(sample("pkb/netperf_results.json").read_text())
    return ["\n".join(each) + "\n" for each in found if isinstance(each, list)]


# --- real files; the expected figures are those of PerfKitBenchmarker's own test ---


def test_each_real_result_is_recognised_and_keeps_all_laws() -> None:
    for text in samples():
        assert FORMAT.recognises(text.encode())
        measured = read(text)
        assert broken(measured) == []
        assert measured.values


@pytest.mark.parametrize(
    ("index", "quantity", "value"),
    [
        (0, "netperf_transactions_per_s", 1405.50),
        (2, "netperf_transactions_per_s", 343.35),
        (4, "netperf_stream_mbps", 1187.94),
        (5, "netperf_stream_mbps", 1973.37),
        (6, "netperf_transactions_per_s", 1359.71),
        (8, "netperf_udp_mbps", 1102.42),
        (0, "netperf_latency_us_p99", 841),
        (0, "retransmissions_per_run", 0),
    ],
)
def test_figures_of_real_results(index: int, quantity: str, value: float) -> None:
    assert read(samples()[index]).values[quantity] == value


def test_a_wrapped_banner_and_header_and_a_histogram_are_read() -> None:
    measured = only(FORMAT, sample("pkb/netperf_results.txt"))
    assert broken(measured) == []
    assert measured.values["netperf_transactions_per_s"] == 2217.06
    (histogram,) = measured.histograms
    # HIST_TOTAL, and the median that netperf found in the same buckets.
    assert histogram.counts.sum() == 133024
    upto = histogram.counts.cumsum() / histogram.counts.sum()
    at = int((upto >= 0.5).argmax())
    assert histogram.lowest[at] <= measured.values["netperf_latency_us_p50"]
    assert measured.values["netperf_latency_us_p50"] <= histogram.highest[at]


# --- keys, tables and units ---


def test_keys_with_values_are_read() -> None:
    measured = read(f"{STREAM}\n{KEYS}")
    assert broken(measured) == []
    assert measured.values == {
        "netperf_stream_mbps": 941.49,
        "netperf_call_us_min": 1,
        "netperf_call_us_p50": 2,
        "netperf_call_us_p90": 6,
        "netperf_call_us_p99": 374,
        "netperf_call_us_max": 3500,
        "netperf_call_us_mean": 17.40,
        "retransmissions_per_run": 7,
        "netperf_local_cpu_pct": 12.34,
    }
    assert measured.settings["target"] == "192.0.2.1"


def test_keys_without_a_banner_are_recognised() -> None:
    assert FORMAT.recognises(KEYS.encode())
    assert read(KEYS).values == read(f"{STREAM}\n{KEYS}").values


def test_a_csv_without_a_banner_is_recognised() -> None:
    text = "Elapsed Time (sec),Throughput,Throughput Units\n10.00,941.49,10^6bits/s\n"
    assert FORMAT.recognises(text.encode())
    assert read(text).values == {"netperf_stream_mbps": 941.49}


@pytest.mark.parametrize(
    ("unit", "mbps"),
    [
        ("10^3bits/s", 941.49e-3),
        ("10^6bits/s", 941.49),
        ("10^9bits/s", 941.49e3),
        ("KBytes/s", 941.49 * 1024 * 8e-6),
        ("MBytes/s", 941.49 * 1024**2 * 8e-6),
        ("GBytes/s", 941.49 * 1024**3 * 8e-6),
    ],
)
def test_the_unit_is_that_of_the_column(unit: str, mbps: float) -> None:
    measured = read(f"THROUGHPUT=941.49\nTHROUGHPUT_UNITS={unit}\n")
    assert measured.values == {"netperf_stream_mbps": pytest.approx(mbps)}


def test_the_classic_table_of_a_stream_is_read() -> None:
    assert read(f"{STREAM}\n{TABLE_OF_STREAM}").values == {"netperf_stream_mbps": 941.49}


def test_the_classic_table_of_round_trips_is_read() -> None:
    measured = read(f"{ROUNDS}\n{TABLE_OF_ROUNDS}")
    assert measured.values == {"netperf_transactions_per_s": 12345.67}
    assert measured.settings["length_s"] == "10.00"


def test_several_tests_in_a_file_are_several_measurements() -> None:
    content = FORMAT.read(f"{STREAM}\n{TABLE_OF_STREAM}\n{ROUNDS}\n{TABLE_OF_ROUNDS}".encode())
    assert isinstance(content, tuple)
    assert [list(each.values) for each in content] == [
        ["netperf_stream_mbps"],
        ["netperf_transactions_per_s"],
    ]


def test_a_request_and_response_test_in_bits_has_its_transactions() -> None:
    measured = read(
        "DIRECTION=Send|Recv\nTHROUGHPUT=0.20\nTHROUGHPUT_UNITS=10^6bits/s\n"
        "TRANSACTION_RATE=12345.678\nRT_LATENCY=81.000\n"
    )
    assert broken(measured) == []
    assert measured.values == {"netperf_transactions_per_s": 12345.678}


# --- traps ---


def test_values_that_were_not_measured_are_missing() -> None:
    values = read(KEYS.replace("=7\n", "=-1\n")).values
    assert "retransmissions_per_run" not in values
    assert "netperf_remote_cpu_pct" not in values


def test_a_value_that_is_no_number_is_left_out_by_name() -> None:
    measured = read(KEYS.replace("LOCAL_CPU_UTIL=12.34", "LOCAL_CPU_UTIL=-nan"))
    assert "netperf_local_cpu_pct" not in measured.values
    assert measured.notes == (
        "LOCAL_CPU_UTIL is left out: its value is -nan, which is not a number.",
    )


def test_warnings_and_interim_results_are_notes() -> None:
    warning = "!!! WARNING\n!!! Desired confidence was not achieved within the specified number\n"
    interim = "Interim result:  940.12 10^6bits/s over 1.000 seconds ending at 1700000000.000\n"
    measured = read(f"{STREAM}\n{interim}{warning}{KEYS}")
    assert measured.notes == (
        "netperf warns: WARNING Desired confidence was not achieved within the specified number",
        "Interim results are left out: 1.",
    )


@pytest.mark.parametrize(
    ("old", "new", "law"),
    [
        ("941.49", "951.49", "bytes ÷ time = rate"),
        ("1176862500", "1186862500", "bytes ÷ time = rate"),
        ("P90_LATENCY=6", "P90_LATENCY=600", "percentiles are in order"),
        ("MEAN_LATENCY=17.40", "MEAN_LATENCY=4000.00", "the mean is between"),
        ("LOCAL_CPU_UTIL=12.34", "LOCAL_CPU_UTIL=112.34", "LOCAL_CPU_UTIL is from 0 to 100 %"),
    ],
)
def test_a_changed_figure_breaks_a_law(old: str, new: str, law: str) -> None:
    assert KEYS.count(old) == 1
    assert [found for found in broken(read(KEYS.replace(old, new))) if found.startswith(law)]


def test_a_round_trip_that_is_not_the_rates_breaks_a_law() -> None:
    text = f"{ROUNDS}\nTHROUGHPUT=100.00\nTHROUGHPUT_UNITS=Trans/s\n"
    text += "TRANSACTION_RATE=100.000\nRT_LATENCY=9000.000\n"
    (law,) = broken(read(text))
    assert law.startswith("transactions per second x round-trip time = 1")


def test_a_percentile_outside_its_bucket_breaks_a_law() -> None:
    text = sample("pkb/netperf_results.txt").read_text()
    assert text.count(",589,") == 1
    (law,) = broken(read(text.replace(",589,", ",689,")))
    assert law.endswith("P99_LATENCY is 689, its bucket is 500 to 599")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("THROUGHPUT=941.49\n", "no throughput or no unit of it; add"),
        ("THROUGHPUT=941,49\nTHROUGHPUT_UNITS=10^6bits/s\n", "has a decimal comma"),
        ("THROUGHPUT=9\nTHROUGHPUT_UNITS=furlongs/s\n", 'unit "furlongs/s" is none of'),
        ("THROUGHPUT=9\nTHROUGHPUT=8\nTHROUGHPUT_UNITS=Trans/s\n", "line 2: THROUGHPUT has a sec"),
        (f"{STREAM}\n", "line 1: no row of values follows; the file was cut off"),
        (f"{STREAM}\nThroughput,Elapsed Time (sec)\n9,10\n", "line 2: .*add THROUGHPUT_UNITS"),
        (
            f"{STREAM.replace('TCP', 'UDP')}\n{TABLE_OF_UDP}",
            "line 6: the table of this test is not decidable; make the file with netperf",
        ),
    ],
    ids=["no-unit", "comma", "unit", "twice", "cut-off", "no-column", "udp-table"],
)
def test_an_undecidable_file_is_refused(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{STREAM}\n{KEYS}",
        f"{ROUNDS}\n{TABLE_OF_ROUNDS}\n{STREAM}\n{TABLE_OF_STREAM}",
        f"{ROUNDS}\nThroughput,Throughput Units,Minimum Latency Microseconds\n2217.06,Trans/s,361\n"
        "Histogram of request/response times\n"
        "HUNDRED_USEC  :    0:    0:    0: 5771: 118948: 7121:  639:  199:   90:   53\n"
        ">100_SECS: 0\nHIST_TOTAL:      132821\n",
    ],
    ids=["keys", "tables", "csv"],
)
def test_damaged_copies_are_refused_or_have_finite_values(text: str) -> None:
    assert broken(FORMAT.read(text.encode())[0]) == []  # type: ignore[index]
    held(FORMAT, text.encode(), seed=13)
