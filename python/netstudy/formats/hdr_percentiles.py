"""The percentile distribution that HdrHistogram prints (`.hgrm`).

It is a table of values at percentiles with the number of samples up to each, and a foot with mean,
maximum and total. A row stands for the samples since the row before, so that the table is a
histogram with as many buckets as rows. The program chose the unit, and the table does not say it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from netstudy.formats import laws, numbers
from netstudy.formats.measured import Content, FormatError, Histogram, Measurement, Quantity
from netstudy.formats.plain_text import text_of
from netstudy.wire import Check

_LEGEND: Final = re.compile(r"\s*Value\s+Percentile\s+TotalCount\s+1/\(1-Percentile\)\s*")
_RECOGNISED: Final = re.compile(
    rb"\s*(?:#[^\n]*\n\s*)*Value\s+Percentile\s+TotalCount\s+1/\(1-Percentile\)\s"
)
_ROW: Final = re.compile(
    r"\s*(?P<value>[\d.,]+)\s+(?P<share>[\d.,]+)\s+(?P<count>\d+)(?:\s+(?:[\d.,]+|inf|Infinity))?\s*"
)
_FOOT: Final = re.compile(
    r"#\[(?P<name>Mean|Max)\s*=\s*(?P<value>\S+), "
    r"(?P<other>StdDeviation|Total count|TotalCount)\s*=\s*(?P<other_value>[^\s\]]+)\]\s*"
)

_QUANTITIES: Final = (
    Quantity(
        "distribution_value",
        "value of a percentile distribution",
        "",
        "lower",
        3,
        "The Value column of HdrHistogram's table, which does not say its unit. A row stands for "
        "all samples since the row before.",
    ),
)


@dataclass(frozen=True)
class _Row:
    line: int
    value: str
    share: str
    count: int


class _HdrPercentiles:
    name = "hdr-percentiles"
    title = "HdrHistogram's percentile distribution (.hgrm)"
    quantities = _QUANTITIES
    left_out = (
        "The unit is left open, because the table does not say by which ratio its program divided "
        "the values.",
    )

    def recognises(self, head: bytes) -> bool:
        return _RECOGNISED.match(head) is not None

    def read(self, data: bytes) -> Content:
        rows: list[_Row] = []
        foot: dict[str, str] = {}
        for number, line in enumerate(text_of(data).split("\n"), start=1):
            if match := _FOOT.fullmatch(line):
                foot |= {match["name"]: match["value"], match["other"]: match["other_value"]}
            elif match := _ROW.fullmatch(line):
                rows.append(_row(match, number))
            elif line.strip() and not line.startswith("#") and not _LEGEND.fullmatch(line):
                raise FormatError(f"line {number}: value, percentile and count are expected")
        if not rows or "Max" not in foot:
            raise FormatError("the table has no rows or no foot with #[Max; the file was cut off")
        return (_measurement(rows, foot),)


FORMAT: Final = _HdrPercentiles()


def _row(match: re.Match[str], line: int) -> _Row:
    where = f"line {line}"
    numbers.decimal(match["value"], where)
    numbers.decimal(match["share"], where)
    return _Row(line, match["value"], match["share"], numbers.whole(match["count"], where))


def _measurement(rows: Sequence[_Row], foot: dict[str, str]) -> Measurement:
    counts = np.diff([0, *(row.count for row in rows)])
    values = np.array([float(row.value) for row in rows], float)
    if (counts < 0).any() or (np.diff(values) < 0).any():
        at = next(after.line for before, after in pairwise(rows) if _falls(before, after))
        raise FormatError(f"line {at}: values and counts of a distribution never fall")
    # A bucket begins where the one before it ends.
    lowest = np.concatenate([values[:1], values[:-1]])
    kept = counts > 0
    return Measurement(
        tool="HdrHistogram",
        histograms=(
            Histogram(
                "distribution_value", lowest[kept], values[kept], counts[kept].astype(np.int64)
            ),
        ),
        checks=tuple(_checks(rows, foot, counts.tolist())),
        notes=("The table does not say the unit of its values.",),
    )


def _falls(before: _Row, after: _Row) -> bool:
    return after.count < before.count or float(after.value) < float(before.value)


def _checks(rows: Sequence[_Row], foot: dict[str, str], counts: Sequence[int]) -> Iterator[Check]:
    last = rows[-1]
    digit = 2 * numbers.half_a_digit(last.value)
    most = numbers.decimal(foot["Max"], "Max")
    total = numbers.decimal(foot.get("Total count") or foot.get("TotalCount") or "", "TotalCount")
    yield laws.agree("the last row has all values", ("row:", last.count), ("foot:", total), 0.0)
    # The row has the highest value of the maximum's bucket, the foot may have its lowest one; a
    # histogram with one digit has buckets of a tenth of the value.
    yield laws.agree(
        "the last row has the maximum",
        ("row:", float(last.value)),
        ("foot:", most),
        0.1 * most + digit,
    )
    yield laws.ascending(
        "percentiles are in order", [(row.share, float(row.share)) for row in rows]
    )
    yield from _shares_agree(rows, total)
    if "Mean" in foot:
        yield _mean_is_possible(rows, counts, numbers.decimal(foot["Mean"], "Mean"), digit)


def _shares_agree(rows: Sequence[_Row], total: float) -> Iterator[Check]:
    """A row's count is at least its percentile of all, within the digits of the percentile."""
    wrong = [
        row
        for row in rows
        if row.count + 0.5 + total * 2 * numbers.half_a_digit(row.share) < float(row.share) * total
    ]
    yield Check(
        law="each count reaches its percentile",
        holds=not wrong,
        detail="; ".join(f"line {row.line}: {row.count} at {row.share}" for row in wrong[:3])
        or f"{len(rows)} rows",
    )


def _mean_is_possible(
    rows: Sequence[_Row], counts: Sequence[int], mean: float, digit: float
) -> Check:
    """The mean is between the mean of the lowest and the mean of the highest values of all rows."""
    values = [float(row.value) for row in rows]
    total = max(sum(counts), 1)
    high = math.fsum(v * int(n) for v, n in zip(values, counts, strict=True)) / total
    low = math.fsum(v * int(n) for v, n in zip([0.0, *values], counts, strict=False)) / total
    return Check(
        law="the mean is between the rows' values",
        holds=low - digit <= mean <= high + digit,
        detail=f"{laws.figure(low)} to {laws.figure(high)} are possible, the foot has "
        f"{laws.figure(mean)}",
    )
