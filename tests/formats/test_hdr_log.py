"""HdrHistogram logs: the histograms are the package's, and the unit is found or left open."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

from netstudy.formats.hdr_log import FORMAT
from netstudy.formats.measured import FormatError, Histogram, Measurement
from tests.formats.samples import broken, held, measurements, only, sample

HEAD = (
    "#[Histogram log format version 1.2]\n"
    "#[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 08:24:39 PDT 2015]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
)
VALUES_NS = (300_000, 410_000, 410_000, 5_200_000, 90_000_000)


def recorded(values: Sequence[int] = VALUES_NS, digits: int = 3) -> HdrHistogram:
    histogram = HdrHistogram(1, 3_600_000_000_000, digits)
    for value in values:
        assert histogram.record_value(value)
    return histogram


def row(histogram: HdrHistogram, ratio: float = 1e6, start: float = 0.0, tag: str = "") -> str:
    code = histogram.encode().decode()
    most = f"{histogram.get_max_value() / ratio:.3f}"
    return f"{tag}{start:.3f},1.000,{most},{code}\n"


def packed(inner: bytes, cookie: int) -> str:
    body = zlib.compress(inner)
    return base64.b64encode(struct.pack(">II", cookie, len(body)) + body).decode()


def read(text: str) -> tuple[Measurement, ...]:
    content = FORMAT.read(text.encode())
    assert isinstance(content, tuple)
    return content


def percentile(histogram: Histogram, share: float) -> float:
    """The highest value of the bucket in which a percentile is, as the library gives it."""
    upto = histogram.counts.cumsum()
    return float(histogram.highest[np.searchsorted(upto, max(int(share * upto[-1] + 0.5), 1))])


# --- real files ---


@pytest.mark.parametrize(
    ("name", "total", "intervals"),
    [("jHiccup-2.0.1.logV0", 61256, 81), ("jHiccup-2.0.7S.logV2", 48761, 62)],
)
def test_a_real_log_keeps_the_law_and_has_all_values(name: str, total: int, intervals: int) -> None:
    measured = only(FORMAT, sample(f"hdr/{name}.hlog"))
    (histogram,), (series,) = measured.histograms, measured.series
    assert broken(measured) == []
    assert histogram.quantity == "recorded_ms"
    assert histogram.counts.sum() == total
    assert len(series.starts_s) == intervals
    assert (np.diff(series.starts_s) > 0).all()


def test_percentiles_of_a_real_log_are_those_of_the_package() -> None:
    path = sample("hdr/jHiccup-2.0.7S.logV2.hlog")
    codes = [line.rpartition(",")[2] for line in path.read_text().splitlines() if "HISTF" in line]
    one = HdrHistogram.decode(codes[0])
    together = HdrHistogram(
        one.lowest_trackable_value, one.highest_trackable_value, one.significant_figures
    )
    for code in codes:
        together.add(HdrHistogram.decode(code))
    (histogram,) = only(FORMAT, path).histograms
    for share in (0.0, 0.5, 0.9, 0.99, 0.999, 1.0):
        own = together.get_value_at_percentile(100 * share) / 1e6
        if share == 0:
            assert histogram.lowest[0] == pytest.approx(own)
        else:
            assert percentile(histogram, share) == pytest.approx(own)


def test_a_real_log_of_version_0_has_its_maxima() -> None:
    """Interval_Max is the check of V0, which the package does not know."""
    path = sample("hdr/jHiccup-2.0.1.logV0.hlog")
    rows = [line.split(",") for line in path.read_text().splitlines() if "HIST" in line]
    most = max(float(fields[2]) for fields in rows if fields[2][0].isdigit())
    (histogram,) = only(FORMAT, path).histograms
    assert histogram.lowest[-1] <= most <= histogram.highest[-1]


def test_tags_are_measurements_of_their_own() -> None:
    plain, tagged = measurements(FORMAT, sample("hdr/tagged-Log.logV2.hlog"))
    assert (plain.settings, tagged.settings) == ({}, {"tag": "A"})
    assert plain.histograms[0].counts.tolist() == tagged.histograms[0].counts.tolist()
    assert plain.window_s == tagged.window_s


def test_a_relative_time_is_counted_from_the_start() -> None:
    measured = only(FORMAT, sample("hdr/jHiccup-2.0.7S.logV2.hlog"))
    assert measured.started_s == pytest.approx(1441812279.474 + 0.127)


# --- logs made here ---


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_buckets_are_those_of_the_package(digits: int) -> None:
    own = recorded(digits=digits)
    (measured,) = read(HEAD + row(own))
    (histogram,) = measured.histograms
    assert histogram.counts.sum() == 5
    for lowest, highest in zip(histogram.lowest * 1e6, histogram.highest * 1e6, strict=True):
        assert own.get_lowest_equivalent_value(round(lowest)) == round(lowest)
        assert own.get_highest_equivalent_value(round(lowest)) == round(highest)
    assert measured.series[0].values["recorded_ms"][0] == pytest.approx(own.get_mean_value() / 1e6)


def test_intervals_add_up() -> None:
    (measured,) = read(HEAD + row(recorded()) + row(recorded(VALUES_NS[:2]), start=1.0))
    assert measured.histograms[0].counts.tolist() == [2, 3, 1, 1]


@pytest.mark.parametrize("ratio", [1_000.0, 1.0])
def test_another_ratio_leaves_the_unit_open(ratio: float) -> None:
    (measured,) = read(HEAD + row(recorded(), ratio))
    assert broken(measured) == []
    assert measured.histograms[0].quantity == "recorded_value"
    assert measured.histograms[0].highest[-1] == recorded().get_max_value()
    assert measured.notes == (
        "The log does not say the unit of its values; they are given as they were recorded.",
    )


def test_the_packages_own_writer_is_read_although_it_cuts_the_maximum_off() -> None:
    out = io.StringIO()
    writer = HistogramLogWriter(out)
    writer.output_comment("[Logged by a test]")
    writer.output_log_format_version()
    writer.output_base_time(1_700_000_000_000)
    writer.output_legend()
    writer.output_interval_histogram(recorded(), 2.0, 3.0)
    (measured,) = read(out.getvalue())
    assert broken(measured) == []
    assert measured.histograms[0].quantity == "recorded_ms"
    assert measured.window_s == (1_700_000_002.0, 1_700_000_003.0)


def test_a_log_without_any_time_has_no_window() -> None:
    (measured,) = read(row(recorded(), start=4.0))
    assert (measured.started_s, measured.window_s) == (None, None)


def test_an_empty_interval_has_no_mean() -> None:
    (measured,) = read(HEAD + row(recorded()) + row(recorded(()), start=1.0))
    assert np.isnan(measured.series[0].values["recorded_ms"][1])
    assert measured.histograms[0].counts.sum() == 5


def test_fixed_counters_of_versions_0_and_1_are_read() -> None:
    own = recorded()
    counts = np.frombuffer(own.counts, np.uint64)
    used = counts[: own.get_counts_array_index(own.get_max_value()) + 1]
    fields = (own.lowest_trackable_value, own.highest_trackable_value)
    body = used.astype(">u4").tobytes()
    zero = struct.pack(">IIQQQ", 0x1C849308 | 0x40, 3, *fields, 5) + body
    one = struct.pack(">IIIIQQd", 0x1C849301 | 0x40, len(body), 0, 3, *fields, 1.0) + body
    (expected,) = read(HEAD + row(own))
    for inner, cookie in ((zero, 0x1C849309 | 0x40), (one, 0x1C849302 | 0x40)):
        (measured,) = read(f"{HEAD}0.000,1.000,90.047,{packed(inner, cookie)}\n")
        assert measured.histograms[0].counts.tolist() == expected.histograms[0].counts.tolist()
        assert measured.histograms[0].lowest.tolist() == expected.histograms[0].lowest.tolist()


# --- traps ---


def test_a_maximum_that_is_not_the_histograms_breaks_the_law_with_its_line() -> None:
    text = HEAD + row(recorded()) + row(recorded(VALUES_NS[:4]), start=1.0)
    assert text.count("5.202") == 1
    (law,) = broken(read(text.replace("5.202", "5.302"))[0])
    assert law.startswith(
        "Interval_Max is the largest value of the histogram: line 5: Interval_Max"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0,000,1,000,90,047,HISTFAAA\n", "line 4: has decimal commas"),
        ("0.000,1.000\n", "line 4: start, length, maximum and a histogram are expected"),
        ("0.000,1.000,90.047,HISTFAAA\n", "line 4: the histogram is damaged"),
        ("0.000,1.000,90.047,HISTFA==\n", "line 4: the histogram is damaged"),
    ],
)
def test_a_damaged_line_is_refused(line: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        read(HEAD + line)


def test_a_log_that_was_cut_off_is_refused() -> None:
    text = HEAD + row(recorded())
    with pytest.raises(FormatError, match="line 4: the histogram is damaged"):
        read(text[:-8])


def test_a_histogram_of_doubles_is_refused_by_name() -> None:
    own = recorded()
    inner = struct.pack(">IIIIQQd", 0x1C849301 | 0x40, 4, 0, 3, 1, 3_600, 0.5) + bytes(4)
    del own
    with pytest.raises(FormatError, match="line 4: it is a histogram of doubles"):
        read(f"{HEAD}0.000,1.000,1.000,{packed(inner, 0x1C849302 | 0x40)}\n")


def test_a_log_without_a_histogram_is_refused() -> None:
    with pytest.raises(FormatError, match="the log has no histogram"):
        read(HEAD)


def test_a_histogram_that_would_fill_the_memory_is_refused() -> None:
    inner = bytes(200_000_000)
    with pytest.raises(FormatError, match="line 4: the histogram was cut off, or is too large"):
        read(f"{HEAD}0.000,1.000,1.000,{packed(inner, 0x1C849304 | 0x10)}\n")


def test_damaged_copies_are_refused_or_have_finite_values() -> None:
    rows = (row(recorded(VALUES_NS[:n]), start=n) for n in range(1, 6))
    held(FORMAT, (HEAD + "".join(rows)).encode(), seed=5)
