"""Text of wrk and wrk2. Files in `data/wrk` were made by Debian's wrk 4.1.0 and nginx over
loopback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from netstudy.formats.measured import FormatError, Measurement
from netstudy.formats.wrk import FORMAT
from tests.formats.samples import DATA, broken, held, only, sample
from tests.skips import in_namespaces, needs_programs

OWN = DATA / "wrk"


def of_text(text: str) -> Measurement:
    (found,) = FORMAT.read(text.encode())
    return found


def wrk2(histogram: HdrHistogram, kind: str = "Recorded Latency") -> str:
    """The part of wrk2's output that prints a histogram, typed after its source (wrk.c,
    hdr_histogram.c)."""
    rows = [f"  Latency Distribution (HdrHistogram - {kind})"]
    for percent in (50, 75, 90, 99, 99.9, 99.99, 99.999, 100):
        value = histogram.get_value_at_percentile(percent) / 1000
        number = f"{value:.2f}ms" if value >= 1 else f"{value * 1000:.2f}us"
        rows.append(f"{percent:7.3f}%  {number:>8}")
    rows += ["", "  Detailed Percentile spectrum:"]
    rows += ["       Value   Percentile   TotalCount 1/(1-Percentile)", ""]
    for item in histogram.get_percentile_iterator(5):
        share = item.percentile_level_iterated_to / 100
        inverse = "inf" if share >= 1 else f"{1 / (1 - share):.2f}"
        value, count = item.value_iterated_to / 1000, item.total_count_to_this_value
        rows.append(f"{value:12.3f} {share:12.6f} {count:12d} {inverse:>12}")
    rows.append("#[Mean    =       58.326, StdDeviation   =       24.976]")
    largest, count = histogram.get_max_value() / 1000, histogram.get_total_count()
    rows.append(f"#[Max     = {largest:12.3f}, Total count    = {count:12d}]")
    rows.append("#[Buckets =           27, SubBuckets     =         2048]")
    rows.append("-" * 58)
    return "\n".join(rows) + "\n"


HEAD = (
    "Running 30s test @ http://192.0.2.1/\n"
    "  1 threads and 10 connections\n"
    "  Thread calibration: mean lat.: 1.464ms, rate sampling interval: 10ms\n"
    "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
    "    Latency     2.00ms    2.00ms  29.00ms   86.00%\n"
    "    Req/Sec   100.00      0.00   101.00     50.00%\n"
)
FOOT = (
    "  3000 requests in 30.00s, 1.00MB read\nRequests/sec:    100.00\nTransfer/sec:     34.13KB\n"
)


def drawn(seed: int = 3) -> HdrHistogram:
    histogram = HdrHistogram(1, 24 * 3600 * 1_000_000, 3)
    for value in np.random.default_rng(seed).exponential(2000, size=3000):
        histogram.record_value(int(value) + 1)
    return histogram


def test_wrk_has_the_figures_of_its_text() -> None:
    found = only(FORMAT, OWN / "wrk-latency.txt")
    assert found.tool == "wrk"
    expected = {
        "requests_per_s": 14311.90,
        "wrk_read_mbps": 3.28 * 2**20 * 8 / 1e6,
        "socket_errors": 0,
        "error_responses": 0,
        "closed_loop_latency_ms_mean": 1.54,
        "closed_loop_latency_ms_max": 18.85,
        "closed_loop_latency_ms_p50": 0.071,
        "closed_loop_latency_ms_p75": 2.32,
        "closed_loop_latency_ms_p90": 5.11,
        "closed_loop_latency_ms_p99": 10.41,
    }
    assert found.values == pytest.approx(expected)
    assert not broken(found)


def test_perfkits_file_of_wrk_has_the_figures_that_its_script_prints() -> None:
    """The script behind the results printed the same figures as CSV, with other digits."""
    path = sample("pkb/wrk_result.txt")
    found = only(FORMAT, path)
    printed = dict(
        line.split(",")[:2] for line in path.read_text().splitlines() if line.count(",") == 2
    )
    assert found.values["requests_per_s"] == float(printed["throughput"])
    assert not broken(found)


def test_responses_with_an_errors_status_are_counted() -> None:
    found = only(FORMAT, OWN / "wrk-404.txt")
    assert found.values["error_responses"] == 15606
    assert found.values["requests_per_s"] == 15366.09


def test_socket_errors_are_added_up() -> None:
    text = (OWN / "wrk.txt").read_text()
    errors = "  Socket errors: connect 7, read 1785, write 0, timeout 3\nRequests/sec"
    assert of_text(text.replace("Requests/sec", errors)).values["socket_errors"] == 1795


def test_a_server_that_cannot_be_reached_is_a_failed_test() -> None:
    found = only(FORMAT, OWN / "wrk-refused.txt")
    assert found.error == "unable to connect to 127.0.0.1:18081 Connection refused"
    assert not found.values


def test_text_that_was_cut_off_is_a_failed_test() -> None:
    text = (OWN / "wrk-latency.txt").read_text()
    found = of_text(text[: text.index("Requests/sec")])
    assert found.error == "the file ends before the test does: its requests a second are missing"


def test_a_test_without_an_answer_has_no_latency() -> None:
    found = of_text(
        "Running 1s test @ http://192.0.2.1/\n"
        "  1 threads and 2 connections\n"
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
        "    Latency     0.00us    0.00us   0.00us    -nan%\n"
        "    Req/Sec     0.00      0.00     0.00      -nan%\n"
        "  0 requests in 1.10s, 0.00B read\n"
        "  Socket errors: connect 0, read 0, write 0, timeout 2\n"
        "Requests/sec:      0.00\n"
        "Transfer/sec:       0.00B\n"
    )
    assert found.values == {
        "requests_per_s": 0,
        "wrk_read_mbps": 0,
        "socket_errors": 2,
        "error_responses": 0,
    }
    assert found.notes == ("The latencies are left out: no request was answered.",)


def test_each_line_has_its_unit() -> None:
    """The file of PerfKit has µs, ms, s and minutes in one column. Its histogram shows that the
    units of some lines were changed by hand, so that it breaks a law."""
    found = only(FORMAT, sample("pkb/wrk2_output.txt"))
    assert found.tool == "wrk2"
    latency = {
        name.removeprefix("corrected_latency_ms_"): value
        for name, value in found.values.items()
        if name.startswith("corrected_latency_ms_")
    }
    assert latency == pytest.approx(
        {
            "mean": 58.33,
            "p50": 0.05331,
            "p75": 56.99,
            "p90": 62.62,
            "p99": 223.23,
            "p999": 244.22,
            "p9999": 244.22,
            "p99999": 36_000,
            "max": 54_000,
        }
    )
    (reason,) = broken(found)
    assert reason.startswith(
        "the percentiles agree with the histogram: p50 is 0.0533 ms, in the histogram 53.311"
    )


def test_the_histogram_of_wrk2_has_the_percentiles_of_the_library() -> None:
    histogram = drawn()
    found = of_text(HEAD + wrk2(histogram) + FOOT)
    for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9)):
        value = found.values[f"corrected_latency_ms_{name}"]
        assert value == pytest.approx(histogram.get_value_at_percentile(percent) / 1000, abs=0.006)
    (read,) = found.histograms
    assert read.quantity == "corrected_latency_ms"
    assert read.counts.sum() == histogram.get_total_count()
    assert read.highest[-1] == pytest.approx(histogram.get_max_value() / 1000, rel=1e-3)
    for percent in (50, 75, 90):
        at = int(np.searchsorted(np.cumsum(read.counts), percent / 100 * read.counts.sum()))
        value = histogram.get_value_at_percentile(percent) / 1000
        assert read.lowest[at] - 0.002 <= value <= read.highest[at] + 0.002
    assert not broken(found)


def test_latencies_from_when_requests_were_sent_have_their_own_name() -> None:
    kind = "Uncorrected Latency (measured without taking delayed starts into account)"
    found = of_text(HEAD + wrk2(drawn()) + "\n" + wrk2(drawn(seed=4), kind) + FOOT)
    assert [each.quantity for each in found.histograms] == [
        "corrected_latency_ms",
        "uncorrected_latency_ms",
    ]
    assert found.values["corrected_latency_ms_p99"] != found.values["uncorrected_latency_ms_p99"]


def test_percentiles_that_are_not_in_order_break_the_law() -> None:
    text = (OWN / "wrk-latency.txt").read_text().replace("5.11ms", "5.11us")
    (reason,) = broken(of_text(text))
    assert reason == "percentiles are in order: p90 is 0.0051, p75 is 2.32"


def test_a_rate_that_is_not_requests_by_time_breaks_the_law() -> None:
    text = (OWN / "wrk.txt").read_text().replace("61458.56", "63000.00")
    (reason,) = broken(of_text(text))
    assert reason.startswith("requests ÷ time = rate: 129,039 requests in 2.1 s")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("1.54ms", "1,54ms", '"1,54" has a decimal comma; make the file with LC_ALL=C'),
        ("1.54ms", "1.54x", '"x" is not a unit that is known here; known are us, ms, s, m, h'),
        ("1.54ms", "ms", '"ms" is not a number with its unit'),
    ],
)
def test_a_number_that_cannot_be_decided_is_refused_with_its_line(
    old: str, new: str, reason: str
) -> None:
    with pytest.raises(FormatError) as error:
        of_text((OWN / "wrk-latency.txt").read_text().replace(old, new))
    assert str(error.value).startswith(f"line 4: {reason}")


def test_several_tests_in_a_file_are_several_measurements() -> None:
    text = (OWN / "wrk.txt").read_text() + (OWN / "wrk-404.txt").read_text()
    found = FORMAT.read(text.encode())
    assert [each.values["requests_per_s"] for each in found] == [61458.56, 15366.09]


def test_damaged_files_give_finite_values_or_are_refused() -> None:
    held(FORMAT, (OWN / "wrk-latency.txt").read_bytes(), seed=11)
    held(FORMAT, (HEAD + wrk2(drawn()) + FOOT).encode(), seed=12)


@in_namespaces
@needs_programs("nginx", "wrk")
def test_todays_wrk_is_read(tmp_path: Path) -> None:
    """wrk asks nginx over loopback of a namespace of its own."""
    (tmp_path / "index.html").write_text("hello\n")
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; error_log {tmp_path}/errors; pid {tmp_path}/pid; events {{}}\n"
        f"http {{ access_log off; server {{ listen 127.0.0.1:18080; root {tmp_path}; }} }}\n"
    )
    script = f"""
    ip link set lo up
    nginx -c {tmp_path}/nginx.conf & server=$!
    sleep 1
    wrk -t1 -c2 -d1s --latency http://127.0.0.1:18080/ > wrk.txt
    kill $server
    """
    subprocess.run(["unshare", "--net", "sh", "-c", script], cwd=tmp_path, check=True, timeout=60)
    found = only(FORMAT, tmp_path / "wrk.txt")
    assert found.values["requests_per_s"] > 1
    assert found.values["closed_loop_latency_ms_p99"] > 0
    assert not broken(found)
