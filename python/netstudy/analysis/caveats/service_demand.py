"""Published rows with an outlying service demand: the CPU time of a host per unit served.

    CPU time = CPU % ÷ 100 × CPUs ÷ throughput        (service demand law; Denning and Buzen 1978)

The service demand is about the same in all rows of one application. Each row is compared with the
median of the others. The number of CPUs is taken as the source prints it, even if the study sets
another number. A row is an outlier if its ratio to the median is off by more than a quarter, and
the logarithm of the ratio is larger than 3.5 robust standard deviations of the others (Iglewicz and
Hoaglin 1993).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from netstudy.analysis.caveats.base import Analysed, Caveat
from netstudy.documents.fields import Ref
from netstudy.study.published_values import published_values
from netstudy.study.reference_files import PublishedValue
from netstudy.study.references import concrete, resolve
from netstudy.study.vocabulary import MetricName, Scope
from netstudy.units import quantity
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.analysis.workloads.base import WorkloadAnalysis
    from netstudy.study import Study

ROWS_MIN: Final = 4
CUT_OFF: Final = 3.5
RATIO_MIN: Final = 1.25
_ROBUST: Final = 1.4826
"""Standard deviation of a normal distribution ÷ its median absolute deviation."""
_LEAST_SPREAD: Final = 0.02
"""Smallest spread that is assumed for the logarithms: rounding of printed values alone causes this
much."""


@dataclass(frozen=True)
class Demand:
    """CPU time of a host in one published row."""

    host: str
    row: str
    """File and line."""
    cpus: float
    """CPUs as printed, else as the study sets them."""
    taken_cpus: float
    """CPUs as the study sets them."""
    ms: float
    """CPU time per unit served."""


@dataclass(frozen=True)
class OffDemand(Caveat):
    """A row with an outlying service demand."""

    demand: Demand
    others_ms: float
    """The median of the other rows."""
    rows: int
    """The number of other rows, from which the median is computed."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[OffDemand]:
        """One caveat for each outlying row of a host."""
        yield from off_demands(analysed.planned.study, analysed.cells.workload)

    @property
    def ratio(self) -> float:
        """Service demand of the row ÷ the median of the other rows."""
        return self.demand.ms / self.others_ms

    @property
    def fitting_cpus(self) -> int:
        """The number of CPUs with which the row would agree with the others."""
        return max(1, round(self.demand.cpus / self.ratio))


def off_demands(study: Study, workload: WorkloadAnalysis) -> tuple[OffDemand, ...]:
    """The outlying rows of each host."""
    found = list(_demands(study, workload))
    hosts = dict.fromkeys(one.host for one in found)
    return tuple(
        off for host in hosts for off in _standing_out([one for one in found if one.host == host])
    )


def _standing_out(rows: Sequence[Demand]) -> Iterator[OffDemand]:
    if len(rows) < ROWS_MIN:
        return
    for one in rows:
        others = [math.log(other.ms) for other in rows if other is not one]
        middle = median(others)
        spread = _ROBUST * median(abs(value - middle) for value in others)
        apart = abs(math.log(one.ms) - middle)
        if apart > CUT_OFF * max(spread, _LEAST_SPREAD) and apart > math.log(RATIO_MIN):
            yield OffDemand(one, math.exp(middle), len(others))


def _demands(study: Study, workload: WorkloadAnalysis) -> Iterator[Demand]:
    if workload.published_rate is None:
        return
    rows: dict[str, list[PublishedValue]] = {}
    for value in published_values(study):
        rows.setdefault(value.row, []).append(value)
    for row, values in rows.items():
        given = {one.metric: one.value for one in values}
        spec = resolve(study.workload.spec, _levels(study, values[0]))
        rate = workload.published_rate(given, spec)
        for host in study.topology.groups if rate else ():
            busy_pct, cpus = (
                given.get(MetricName(Scope(host), "cpu_pct")),
                _cpus(study, host, values[0]),
            )
            if busy_pct and cpus and rate:
                printed, taken = cpus
                yield Demand(host, row, printed, taken, 10.0 * busy_pct * printed / rate)


def _levels(study: Study, value: PublishedValue) -> Mapping[str, Level]:
    """The values of the study's references at a published row. Levels are taken from the row
    itself, else from the fixed levels of its test case, else the first level of each factor."""
    case = next((one for one in study.cases if one.name == value.case), study.cases[0])
    first = {name: factor.names[0] for name, factor in study.factors.items()}
    return study.levels_of({**first, **case.fixed, **value.levels})


def _cpus(study: Study, host: str, value: PublishedValue) -> tuple[float, float] | None:
    """The number of CPUs of a host at a row: as printed, and as the study sets it; None: not
    set."""
    written = study.topology.groups[host].cpus
    taken = concrete(resolve(study.topology, _levels(study, value)).groups[host].cpus)
    if taken is None:
        return None
    printed = value.printed.get(written.name) if isinstance(written, Ref) else None
    found = quantity(printed) if printed is not None else None
    return float(taken if found is None else found[1]), float(taken)
