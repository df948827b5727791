"""Sentences on phases that are too short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netstudy.analysis.caveats.short_phase import ShortPhase, UnsettledMean
from netstudy.analysis.cells import CellRow
from netstudy.analysis.stationarity import Unsettled
from netstudy.report.caveats.base import at_setting, caveat_sentence, duration, named_cells
from netstudy.report.cellrefs import metric_number, plain
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Number, Sentence, say

_STEP_S = 10
"""Advice on the length of a phase is rounded up to this."""
_PHASES = {"warm-up": "warm-up", "measure": "measuring phase"}


@caveat_sentence.register
def short_phase(found: ShortPhase) -> Sentence:
    """The length of the phase, and that of a round trip."""
    return say(
        "The {phase} lasts {length}, and a round trip takes {trip}{at}: TCP hardly gets "
        "beyond its first windows. Make it longer.",
        phase=Name(_PHASES[found.phase]),
        length=duration(found.length_ns),
        trip=duration(round(found.trip_ns), "without queues"),
        at=at_setting(found.treatment),
    )


@caveat_sentence.register
def unsettled_mean(caveat: UnsettledMean) -> Sentence:
    """How far the metric moves within the phase of its cells, and the length that may be
    enough."""
    metric, cells = caveat.found.metric, caveat.found.cells
    _, widest = max(cells, key=lambda one: (one[1].high - one[1].low) / abs(one[1].high))
    return say(
        "The measuring phase is too short for {metric} in {cells}: means of its quarters go from "
        "{low} to {high}{losses}. Levels that differ by less are undecided there, and more runs "
        "do not help: measure at least {needed}.",
        metric=Name(metric.label),
        cells=named_cells([cell for cell, _ in cells], caveat.table),
        low=metric_number(widest.low, metric, "lowest mean of a quarter of the phase"),
        high=metric_number(widest.high, metric, "highest mean of a quarter of the phase"),
        losses=_losses(cells),
        needed=needed_phase(one for _, one in cells),
    )


def _losses(cells: Sequence[tuple[CellRow, Unsettled]]) -> Sentence:
    fewest = min((one.loss_periods for _, one in cells if one.loss_periods), default=None)
    if fewest is None:
        return NOTHING
    return say(
        ", and it holds {periods} loss periods of a flow",
        periods=plain(fewest, 1, "", "losses of a flow in the phase, in the cell with the fewest"),
    )


def needed_phase(found: Iterable[Unsettled]) -> Number:
    """The length of the phase that is advised."""
    value = max(one.needed_s for one in found)
    rounded = -(-value // _STEP_S) * _STEP_S
    return plain(rounded, 0, "s", "three loss periods, or three phases if the metric has a trend")
