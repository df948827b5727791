"""The published values of a study that can be used: all values of its reference files, except loss
counts that contradict the other values of their cell.

Two checks find such counts. Retransmissions need a loss, so retransmissions where the same source
counted no drop are contradictory; a source with retransmissions in most of its cells without drops
has losses at places where drops were not counted, and is kept. A loss count has another unit
than a time or a rate, so one that repeats such a value of its row digit for digit was copied from
the wrong column. Short numbers repeat by chance: three digits count only together with the first
check, more digits also without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from netstudy.study.levels import level_text
from netstudy.study.model import Study
from netstudy.study.reference_files import PublishedValue, read_published
from netstudy.study.vocabulary import MetricName

_DIGITS_WITH_DROPS: Final = 4
"""Digits from which a repetition is no coincidence."""
_DIGITS_WITHOUT_DROPS: Final = 3
"""Digits from which a repetition is worth reporting for a count that is contradictory anyway."""
_CELLS_ELSEWHERE: Final = 3
"""Number of cells with retransmissions and no drop from which losses at uncounted places are
assumed, if they are also the most cells without drops."""

_DROPS, _RETRANSMISSIONS, _TIMEOUTS = "drop", "retransm", "timeouts"
"""Parts of the names of all metrics that count losses."""

_Cell = tuple[object, ...]


@dataclass(frozen=True)
class Contradictory:
    """A published count that contradicts other values of its row; it is not used."""

    value: PublishedValue
    without_drops: bool
    """Whether these are retransmissions where the source counted no drop."""
    repeats: PublishedValue | None
    """The value of the same row, in another unit, that the count repeats digit for digit."""


def published_values(study: Study) -> tuple[PublishedValue, ...]:
    """All values of all reference files that are at levels of the study, without the contradictory
    ones.

    Problems of the files themselves were reported when the study was loaded.
    """
    values = _values(study)
    unusable = [one.value for one in _contradictory(values)]
    return tuple(value for value in values if value not in unusable)


def contradictory_values(study: Study) -> tuple[Contradictory, ...]:
    """The values that `published_values` leaves out, with the reasons."""
    return tuple(_contradictory(_values(study)))


def _values(study: Study) -> tuple[PublishedValue, ...]:
    files = (read_published(study, index) for index in range(len(study.reference)))
    return tuple(value for file in files for value in file.values)


def _contradictory(values: Sequence[PublishedValue]) -> Iterator[Contradictory]:
    rows: dict[str, list[PublishedValue]] = {}
    for value in values:
        rows.setdefault(value.row, []).append(value)
    lossless = _retransmitted_without_drops(values)
    for value in values:
        if not _counts_losses(value.metric):
            continue
        without_drops = value in lossless
        digits = _DIGITS_WITHOUT_DROPS if without_drops else _DIGITS_WITH_DROPS
        repeats = _repeated(value, rows[value.row], digits)
        if without_drops or repeats is not None:
            yield Contradictory(value, without_drops, repeats)


def _retransmitted_without_drops(values: Sequence[PublishedValue]) -> list[PublishedValue]:
    """Retransmissions at cells where all drop counts are 0."""
    drops: dict[_Cell, bool] = {}
    for value in values:
        if _DROPS in value.metric.base:
            drops[_cell(value)] = drops.get(_cell(value), False) or value.value != 0
    at_no_drop = [
        value
        for value in values
        if _RETRANSMISSIONS in value.metric.base and drops.get(_cell(value)) is False
    ]
    found = [value for value in at_no_drop if value.value > 0]
    is_usual = len(found) >= _CELLS_ELSEWHERE and 2 * len(found) > len(at_no_drop)
    return [] if is_usual else found


def _cell(value: PublishedValue) -> _Cell:
    levels = frozenset((name, level_text(level)) for name, level in value.levels.items())
    return value.case, levels, value.repetition


def _counts_losses(metric: MetricName) -> bool:
    return any(part in metric.base for part in (_DROPS, _RETRANSMISSIONS, _TIMEOUTS))


def _repeated(
    value: PublishedValue, row: Sequence[PublishedValue], digits: int
) -> PublishedValue | None:
    """A value of the row that counts no losses and has the same digits; of several, the one at the
    count's own levels."""
    if len(str(abs(round(value.value / value.rounding)))) < digits or not value.value:
        return None
    same = [
        one for one in row if not _counts_losses(one.metric) and _printed(one) == _printed(value)
    ]
    return min(same, key=lambda one: dict(one.levels) != dict(value.levels), default=None)


def _printed(value: PublishedValue) -> tuple[float, float]:
    return value.value, value.rounding
