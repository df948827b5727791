"""Flent's data files: the samples agree with Flent's own means, and each trap has its answer."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from netstudy.formats.flent import FORMAT
from netstudy.formats.measured import FormatError, Measurement
from tests.formats.samples import broken, held, only, sample

ZERO = 1_700_000_000.0
RATES = [9.0, 10.0, 11.0, 10.0, 10.0]
ROUND_TRIPS = [20.1, 20.4, 20.3, 20.2, 20.5]


def document(version: int = 4) -> dict[str, Any]:
    """A small file with an upload, ICMP and UDP pings, and Flent's average of the pings."""
    ends = [0.2, 0.4, 0.6, 0.8, 1.0]
    steps = [0.2, 0.3, 0.5, 0.9, 1.0]
    upload = [
        {"t": ZERO + end, "dur": 0.2, "val": rate} for end, rate in zip(ends, RATES, strict=True)
    ]
    icmp = [
        {"t": ZERO + end, "seq": index, "val": trip}
        for index, (end, trip) in enumerate(zip(ends, ROUND_TRIPS, strict=True))
    ]
    rounds = [{"t": ZERO + end, "dur": 0.2, "val": 50.0} for end in ends]
    zone = "" if version == 2 else "Z"
    return {
        "metadata": {
            "DATA_FILENAME": "tcp_upload-not-the-test.flent.gz",
            "FLENT_VERSION": "2.1.1",
            "NAME": "rrul_be",
            "HOST": "server",
            "LENGTH": 1,
            "TOTAL_LENGTH": 1,
            "STEP_SIZE": 0.2,
            "T0": "2023-11-14T22:13:20.000000" + zone,
            "TIME": "2023-11-14T22:13:15.000000" + zone,
            "SERIES_META": {
                "TCP upload BE": {
                    "BYTES_SENT": 1_250_000,
                    "ELAPSED_TIME": 1.01,
                    "MEAN_VALUE": 9.9,
                    "RUNNER": "NetperfDemoRunner",
                    "UNITS": "Mbits/s",
                },
                "TCP upload sum": {"MEAN_VALUE": 9.9, "RUNNER": "SumRunner", "UNITS": "Mbits/s"},
                "Ping (ms) ICMP": {"MEAN_VALUE": 20.3, "UNITS": "ms", "RUNNER": "PingRunner"},
                "Ping (ms) UDP BE1": {"MEAN_VALUE": 20.0, "UNITS": "ms"},
                "Ping (ms) avg": {"MEAN_VALUE": 20.15, "RUNNER": "AverageRunner", "UNITS": "ms"},
            },
        },
        "raw_values": {
            "TCP upload BE": upload,
            "TCP upload sum": [],
            "Ping (ms) ICMP": icmp,
            "Ping (ms) UDP BE1": rounds,
            "Ping (ms) avg": [],
        },
        "results": {
            "TCP upload BE": np.interp(steps, ends, RATES).tolist(),
            "TCP upload sum": np.interp(steps, ends, RATES).tolist(),
            "Ping (ms) ICMP": np.interp(steps, ends, ROUND_TRIPS).tolist(),
            "Ping (ms) UDP BE1": [20.0] * len(steps),
            "Ping (ms) avg": [20.1] * len(steps),
        },
        "version": version,
        "x_values": steps,
    }


def read(written: dict[str, Any]) -> Measurement:
    content = FORMAT.read(json.dumps(written).encode())
    assert isinstance(content, tuple)
    return content[0]


# --- real files, against Flent's own figures ---


@pytest.mark.parametrize(
    "name",
    ["test-http", "test-rrul", "test-rrul_be-socket_stats", "test-tcp_1up_noping-cpu_stats"],
)
def test_a_real_file_keeps_all_laws(name: str) -> None:
    measured = only(FORMAT, sample(f"flent/{name}.flent.gz"))
    assert broken(measured) == []
    assert len(measured.checks) > 0


@pytest.mark.parametrize(
    ("name", "quantity", "mean"),
    [
        # MEAN_VALUE of "TCP upload sum", "TCP download sum", and of the only upload.
        ("test-rrul", "tcp_upload_mbps", 9.19),
        ("test-rrul", "tcp_download_mbps", 8.78),
        ("test-rrul_be-socket_stats", "tcp_upload_mbps", 0.84),
        ("test-rrul_be-socket_stats", "tcp_download_mbps", 6.70),
        ("test-tcp_1up_noping-cpu_stats", "tcp_upload_mbps", 939.47),
    ],
)
def test_rates_are_flents_own_means(name: str, quantity: str, mean: float) -> None:
    measured = only(FORMAT, sample(f"flent/{name}.flent.gz"))
    # Each of at most four streams is rounded to 0.01.
    assert measured.values[quantity] == pytest.approx(mean, abs=0.02, rel=2e-4)


@pytest.mark.parametrize(
    ("name", "quantity", "samples", "mean", "digit"),
    [
        ("test-rrul", "ping_rtt_ms", 682, 55.982, 0.1),
        ("test-rrul_be-socket_stats", "ping_rtt_ms", 1373, 26.6, 0.1),
        # The three UDP pings together; MEAN_VALUE of each, weighted by its packets.
        ("test-rrul_be-socket_stats", "udp_ping_rtt_ms", 4059, 26.762493, 1e-6),
        # Flent gives no mean here; this one is of its results, on the grid.
        ("test-http", "http_latency_ms", 701, 1.0485622, 1e-3),
    ],
)
def test_round_trips_have_flents_own_mean(
    name: str, quantity: str, samples: int, mean: float, digit: float
) -> None:
    found = only(FORMAT, sample(f"flent/{name}.flent.gz")).samples[quantity]
    assert len(found) == samples
    assert found.mean() == pytest.approx(mean, abs=digit)


def test_a_lost_packet_that_stops_netperf_is_in_the_mean_and_in_a_note() -> None:
    measured = only(FORMAT, sample("flent/test-rrul.flent.gz"))
    means = [302.11480362537765, 302.11480362537765, 303.951367781155]
    assert measured.values["udp_rr_rtt_ms"] == pytest.approx(np.mean(means))
    assert [note for note in measured.notes if "intervals cover 8.1 of 150 s" in note]


def test_lost_packets_of_irtt_are_a_share_of_those_sent() -> None:
    measured = only(FORMAT, sample("flent/test-rrul_be-socket_stats.flent.gz"))
    lost = 100 * (1 - (1353 + 1349 + 1357) / (1379 + 1378 + 1384))
    assert measured.values["udp_ping_loss_pct"] == pytest.approx(lost)


def test_streams_sockets_and_hosts_are_series_of_their_own() -> None:
    measured = only(FORMAT, sample("flent/test-rrul_be-socket_stats.flent.gz"))
    parts: dict[str, list[str]] = {}
    for series in measured.series:
        for quantity in series.values:
            parts.setdefault(quantity, []).append(series.part)
    ends = ("BE", "BE2", "BE3", "BE4")
    assert parts["tcp_upload_mbps"] == [f"TCP upload {end}" for end in ends]
    assert parts["tcp_download_mbps"] == [f"TCP download {end}" for end in ends]
    assert parts["flow_srtt_ms"] == parts["flow_cwnd_packets"] == parts["tcp_upload_mbps"]


def test_the_sampled_rtt_of_sockets_is_flents_own_series() -> None:
    path = sample("flent/test-rrul_be-socket_stats.flent.gz")
    results = json.loads(gzip.decompress(path.read_bytes()))["results"]
    own = [values for name, values in results.items() if name.endswith("::tcp_rtt")]
    means = [np.mean([value for value in values if value is not None]) for values in own]
    measured = only(FORMAT, path)
    # The grid has more points than ss gave, so that both means differ by a little.
    assert measured.values["flow_srtt_ms"] == pytest.approx(np.mean(means), rel=0.01)


def test_the_load_of_hosts_is_a_series_each_and_the_busiest_is_the_value() -> None:
    measured = only(FORMAT, sample("flent/test-tcp_1up_noping-cpu_stats.flent.gz"))
    loads = {
        series.part: series.values["host_cpu_pct"].mean()
        for series in measured.series
        if "host_cpu_pct" in series.values
    }
    assert sorted(loads) == ["10.70.2.2", "127.0.0.1"]
    assert measured.values["host_cpu_pct"] == max(loads.values())


def test_a_file_of_version_2_has_its_times_from_the_raw_values() -> None:
    measured = only(FORMAT, sample("flent/test-http.flent.gz"))
    # T0 is 17:08:26.353824 without a zone; the first raw value is two hours earlier, in UTC.
    assert measured.started_s == 1436800106.353824


# --- traps ---


def test_the_small_file_keeps_all_laws_in_all_versions() -> None:
    for version in (2, 3, 4):
        measured = read(document(version))
        assert broken(measured) == []
        assert measured.started_s == ZERO
        assert measured.values == {
            "tcp_upload_mbps": pytest.approx(1_250_000 * 8e-6 / 1.01),
            "udp_rr_rtt_ms": 20.0,
        }
        assert measured.samples["ping_rtt_ms"].tolist() == ROUND_TRIPS


def test_the_test_is_named_by_the_metadata_and_not_by_the_file() -> None:
    assert read(document()).settings["test"] == "rrul_be"


def test_sums_and_averages_are_not_counted_again() -> None:
    written = document()
    written["results"]["TCP upload avg"] = written["results"]["TCP upload sum"]
    written["results"]["TCP upload BE::tcp_cwnd"] = [10.0] * 5
    assert read(written).values["tcp_upload_mbps"] == pytest.approx(1_250_000 * 8e-6 / 1.01)
    assert not [note for note in read(written).notes if "tcp_cwnd" in note]


def test_numbered_streams_are_measured_ones() -> None:
    written = document()
    for part in ("raw_values", "results"):
        written[part]["TCP upload::1"] = written[part].pop("TCP upload BE")
    meta = written["metadata"]["SERIES_META"]
    meta["TCP upload::1"] = meta.pop("TCP upload BE")
    assert read(written).values["tcp_upload_mbps"] == pytest.approx(1_250_000 * 8e-6 / 1.01)


def test_without_bytes_the_rate_is_netperfs_own_and_without_that_of_the_intervals() -> None:
    written = document()
    meta = written["metadata"]["SERIES_META"]["TCP upload BE"]
    del meta["BYTES_SENT"]
    assert read(written).values["tcp_upload_mbps"] == 9.9
    del meta["MEAN_VALUE"]
    assert read(written).values["tcp_upload_mbps"] == pytest.approx(np.mean(RATES))


def test_a_file_without_raw_values_has_those_of_the_grid_and_says_so() -> None:
    written = document()
    written["raw_values"] = {}
    written["results"]["Ping (ms) ICMP"][2] = None
    measured = read(written)
    assert len(measured.samples["ping_rtt_ms"]) == 4
    assert '"Ping (ms) ICMP" has no raw values; its interpolated values are read.' in measured.notes


def test_nulls_are_missing_and_not_0() -> None:
    written = document()
    written["raw_values"]["Ping (ms) ICMP"][1]["val"] = None
    written["results"]["Ping (ms) ICMP"] = [None] * 5
    assert read(written).samples["ping_rtt_ms"].tolist() == [20.1, 20.3, 20.2, 20.5]


def test_a_data_set_of_another_kind_is_left_out_by_name() -> None:
    written = document()
    written["results"]["VoIP MOS"] = [4.4] * 5
    notes = read(written).notes
    assert 'Data sets without a quantity here are left out: "VoIP MOS".' in notes


def change_a_rate(written: dict[str, Any]) -> None:
    written["raw_values"]["TCP upload BE"][2]["val"] = 17.0


def change_a_result(written: dict[str, Any]) -> None:
    written["results"]["Ping (ms) ICMP"][1] += 0.3


def change_the_mean(written: dict[str, Any]) -> None:
    written["metadata"]["SERIES_META"]["TCP upload BE"]["MEAN_VALUE"] = 9.8


def change_the_bytes(written: dict[str, Any]) -> None:
    written["metadata"]["SERIES_META"]["TCP upload BE"]["BYTES_SENT"] = 2_250_000


def drop_a_ping(written: dict[str, Any]) -> None:
    del written["raw_values"]["Ping (ms) ICMP"][1]


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (change_a_rate, 'raw values, interpolated, are the results: "TCP upload BE"'),
        (change_a_result, 'raw values, interpolated, are the results: "Ping (ms) ICMP"'),
        (change_the_mean, 'bytes ÷ time = rate: "TCP upload BE"'),
        (change_the_bytes, "intervals add up to the total: "),
        (drop_a_ping, 'raw values, interpolated, are the results: "Ping (ms) ICMP"'),
    ],
)
def test_a_changed_figure_breaks_a_law(change: Callable[[dict[str, Any]], None], law: str) -> None:
    written = document()
    change(written)
    assert [text for text in broken(read(written)) if text.startswith(law)]


def test_a_rate_in_bits_is_held_against_results_in_bits() -> None:
    written = document()
    written["metadata"]["SERIES_META"]["TCP upload BE"] |= {"UNITS": "bits/s", "MEAN_VALUE": 9.9e6}
    written["metadata"]["SERIES_META"]["TCP upload sum"]["MEAN_VALUE"] = 9.9e6
    for item in written["raw_values"]["TCP upload BE"]:
        item["val"] *= 1e6
    results = written["results"]
    results["TCP upload BE"] = [value * 1e6 for value in results["TCP upload BE"]]
    measured = read(written)
    assert measured.series[0].values["tcp_upload_mbps"].tolist() == RATES
    assert broken(measured) == []


@pytest.mark.parametrize(
    ("version", "said"), [(1, "version 1"), (5, "version 5"), (None, "version None")]
)
def test_another_version_is_refused_by_name(version: int | None, said: str) -> None:
    with pytest.raises(FormatError, match=f"{said} of Flent's format, versions 2 to 4 are read"):
        FORMAT.read(json.dumps({**document(), "version": version}).encode())


def test_a_local_start_without_raw_values_is_undecidable() -> None:
    written = document(version=2)
    written["raw_values"] = {}
    with pytest.raises(FormatError, match=r"T0: .* is a local time"):
        read(written)


def test_a_grid_of_another_length_is_refused() -> None:
    written = document()
    written["x_values"].pop()
    with pytest.raises(FormatError, match=r'results\."TCP upload BE" has 5 values, x_values has 4'):
        read(written)


def test_a_file_that_was_cut_off_is_refused_with_its_line() -> None:
    text = json.dumps(document(), indent=1)
    with pytest.raises(FormatError, match=r"line \d+, column \d+: the file was cut off"):
        FORMAT.read(text[: len(text) // 2].encode())


def test_damaged_copies_are_refused_or_have_finite_values() -> None:
    held(FORMAT, json.dumps(document(), indent=1).encode(), seed=3)
