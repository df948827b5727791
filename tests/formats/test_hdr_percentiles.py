"""HdrHistogram's percentile distribution: tables that the package prints are read again."""

from __future__ import annotations

import io

import pytest
from hdrh.histogram import HdrHistogram

from netstudy.formats.hdr_percentiles import FORMAT
from netstudy.formats.measured import FormatError, Measurement
from tests.formats.samples import broken, held


def recorded() -> HdrHistogram:
    histogram = HdrHistogram(1, 3_600_000_000, 3)
    for index in range(1_000):
        assert histogram.record_value(300 + index * index // 10)
    return histogram


def table(ratio: float = 1_000) -> str:
    out = io.BytesIO()
    recorded().output_percentile_distribution(out, ratio)
    return out.getvalue().decode()


def read(text: str) -> Measurement:
    assert FORMAT.recognises(text.encode())
    content = FORMAT.read(text.encode())
    assert isinstance(content, tuple)
    return content[0]


@pytest.mark.parametrize("ratio", [1, 1_000])
def test_a_table_of_the_package_has_its_percentiles(ratio: float) -> None:
    measured = read(table(ratio))
    (histogram,) = measured.histograms
    assert broken(measured) == []
    assert histogram.counts.sum() == 1_000
    for highest, upto in zip(histogram.highest, histogram.counts.cumsum(), strict=True):
        own = recorded().get_value_at_percentile(upto / 10) / ratio
        assert highest == pytest.approx(own, abs=0.001)


def test_the_unit_is_left_open() -> None:
    measured = read(table())
    assert measured.histograms[0].quantity == "distribution_value"
    assert measured.notes == ("The table does not say the unit of its values.",)


def test_a_changed_total_breaks_a_law() -> None:
    text = table()
    (line,) = [line for line in text.splitlines() if line.startswith("#[Max")]
    laws = broken(read(text.replace(line, line.replace("1000.000", "1001.000"))))
    assert laws[0].startswith("the last row has all values: row: 1,000, foot: 1,001")


def test_a_changed_mean_breaks_a_law() -> None:
    text = table()
    (line,) = [line for line in text.splitlines() if line.startswith("#[Mean")]
    mean = line.split()[2].rstrip(",")
    assert broken(read(text.replace(line, line.replace(mean, "9" + mean))))


def test_a_table_that_was_cut_off_is_refused() -> None:
    with pytest.raises(FormatError, match=r"no foot with #\[Max; the file was cut off"):
        read(table().partition("#[Max")[0])


def test_values_that_fall_are_refused_with_their_line() -> None:
    lines = table().split("\n")
    lines[4], lines[5] = lines[5], lines[4]
    with pytest.raises(FormatError, match="line 6: values and counts of a distribution never fall"):
        read("\n".join(lines))


def test_a_decimal_comma_is_refused_with_its_line() -> None:
    lines = table().split("\n")
    lines[3] = lines[3].replace(".", ",")
    with pytest.raises(FormatError, match=r"line 4: .* has a decimal comma"):
        read("\n".join(lines))


def test_damaged_copies_are_refused_or_have_finite_values() -> None:
    held(FORMAT, table().encode(), seed=17)
