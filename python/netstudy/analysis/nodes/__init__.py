"""Metrics of nodes in a phase: of hosts, interfaces, switch ports, links and the machine.

Counters are read at the start and end of every phase, so that every run has the mean of each rate.
If a transfer was still in flight at the end, counters may have been read clearly after the end. The
mean is then taken over the samples inside the phase, if an instrument took any. If an instrument
sampled the node, there is a rate between every two consecutive samples; percentiles and extremes
are taken over these rates. A quantity that was not counted is missing, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from typing import Final

import numpy as np

from netstudy.analysis.clocks import are_machines
from netstudy.analysis.distribution import raw
from netstudy.analysis.gathering import Block
from netstudy.analysis.intervals import Estimate, Sums
from netstudy.analysis.metrics import SOCKETS, Metric, RatioOfSums, Reading, within_percents
from netstudy.analysis.nodes.formulas import FORMULAS, Formula, Rule
from netstudy.analysis.nodes.goodput import goodput, goodput_by_second, goodput_of_block
from netstudy.analysis.nodes.growth import Fraction, Growth, between_samples, over_phase, overruns
from netstudy.analysis.nodes.places import Kind, Place, neighbours, places
from netstudy.analysis.nodes.readings import PhaseReadings, readings_of_block
from netstudy.analysis.samples import Floats, RunSample, Terms
from netstudy.analysis.statistics import STATISTICS, Statistic, reading_of
from netstudy.study.vocabulary import (
    LINK,
    MACHINE,
    MetricName,
    Scope,
    quantities_of,
)
from netstudy.wire import PhaseKind, Run

__all__ = ["course", "is_sampled", "node_metric", "node_metrics"]

Course = tuple[Floats, Floats]
"""The end of each interval, in s from the start of the phase, and the value in the interval."""

GOODPUT, WATCHED = "goodput_mbps", "port_mbps"


@lru_cache(maxsize=4096)
def node_metric(name: MetricName) -> Metric:
    """The metric of a node with this name; the mean if the name has no statistic."""
    assert name.scope is not None, f"{name} is measured at no node"
    formula = _formula_of(name)
    towards = "" if name.scope.towards is None else f" towards {name.scope.towards}"
    label = f"{formula.label} of {name.scope.node}{towards}"
    statistic = _statistic_of(name)
    kind = "" if statistic is None else f"{statistic.word} "
    phase = "" if name.phase == "measure" else f", {name.phase}"
    return Metric(
        name=str(name),
        label=f"{kind}{label}{phase}",
        unit=formula.unit,
        formula=_text(name, formula),
        direction=formula.direction,
        instruments=(formula.source,),
        decimals=formula.decimals,
        title=_title(f"{kind}{label}{phase}"),
        figure=str(name),
        reading=_reading(name, formula),
        named=name,
    )


def node_metrics(runs: Sequence[Run]) -> tuple[Metric, ...]:
    """All metrics of the groups, switches, links and the machine of these runs, in this order.
    `runs` needs only one run per cell, because all replicates have the same network."""
    return tuple(node_metric(name) for name in dict.fromkeys(_names(runs)))


def course(run: RunSample, name: MetricName) -> Course | None:
    """The values of a node metric over the phase of a run, NaN in gaps; None if no instrument
    sampled it."""
    assert name.scope is not None, f"{name} is measured at no node"
    found = _places(run, name.scope, name.base)
    if name.base == GOODPUT:
        return goodput_by_second(run, found) if found and name.phase == "measure" else None
    formula = _formula_of(name)
    for instrument in formula.sampled_by:
        grown = between_samples(run, found, instrument, name.phase)
        fractions = [formula.of(one) for one in grown]
        value = _together(fractions, formula.rule)
        if value is not None:
            return grown[0].at_s, value[0] / value[1]
    return None


def is_sampled(planned: Run, name: MetricName) -> bool:
    """True if an instrument of a planned run samples this metric of a host or a switch port: only
    then can it be drawn over time."""
    assert name.scope is not None, f"{name} is measured at no node"
    kinds = _formula_of(name).sampled_by
    found = places(planned.network, name.scope)
    wanted = {(place.node, line.port) for place in found for line in place.lines}
    return any(
        one.kind in kinds
        and any(one.node == node and one.port in (None, port) for node, port in wanted)
        for one in planned.instruments
    )


def _places(run: RunSample, scope: Scope, base: str) -> list[Place]:
    """The places of the scope; for the metric `port_mbps` of a switch, only ports that an
    instrument watches. The machines are all hosts if each is one, with a clock of its own."""
    found = places(run.planned.network, scope)
    hosts = run.planned.network.hosts
    if scope.node == MACHINE and are_machines(run.record, hosts):
        return [Place(host.name, (), are_all=True, is_machine=True) for host in hosts]
    if base != WATCHED or scope.towards is not None:
        return found
    watched = {one.port for one in run.planned.instruments if one.node == scope.node}
    return [
        replace(place, lines=tuple(line for line in place.lines if line.port in watched))
        for place in found
    ]


def _title(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _statistic_of(name: MetricName) -> Statistic | None:
    """The statistic in the metric's name, which is taken over samples; None: the mean of the
    phase."""
    return None if name.statistic in (None, "mean") else STATISTICS[name.statistic]


def _text(name: MetricName, formula: Formula) -> str:
    statistic = _statistic_of(name)
    if statistic is None:
        return formula.text
    what = statistic.word.removesuffix(" of the")
    return f"{what} of the values between two samples: {formula.text}"


def _formula_of(name: MetricName) -> Formula:
    assert name.scope is not None, f"{name} is measured at no node"
    if name.base == GOODPUT:
        return _GOODPUT
    kinds: tuple[Kind, ...] = ("host", "switch")
    if name.scope.node in (LINK, MACHINE):
        kinds = ("link",) if name.scope.node == LINK else ("machine",)
    return next(FORMULAS[kind][name.base] for kind in kinds if name.base in FORMULAS[kind])


def _reading(name: MetricName, formula: Formula) -> Reading:
    statistic = _statistic_of(name)
    if statistic is None:
        return _OverPhase(
            partial(_terms, name, formula),
            partial(_sums_of_block, name, formula),
            is_share=formula.unit == "%",
        )

    def values(run: RunSample) -> Floats | None:
        found = course(run, name)
        known = None if found is None else found[1][~np.isnan(found[1])]
        return known if known is not None and known.size else None

    return reading_of(statistic, raw("sample", values))


@dataclass(frozen=True)
class _OverPhase(RatioOfSums):
    """The mean of a phase. The runs of a cell have the same network, so their counters are combined
    in one array operation if all were read at the edges of the phase."""

    of_runs: Callable[[Block], Sums | None]
    is_share: bool
    """True for a share in percent: its interval is cut at 0 and 100."""

    def estimate(self, runs: Sequence[RunSample]) -> Estimate | None:
        """See RatioOfSums.estimate."""
        estimate = super().estimate(runs)
        if estimate is None or not self.is_share or not 0 <= estimate.value <= 100:
            return estimate
        return replace(estimate, bounds=within_percents(estimate.interval))

    def of_block(self, block: Block) -> Sums:
        """See RatioOfSums.of_block."""
        found = self.of_runs(block) if len(block) > 1 else None
        return super().of_block(block) if found is None else found


def _sums_of_block(name: MetricName, formula: Formula, runs: Block) -> Sums | None:
    """The sums of all runs; None if the runs cannot be combined and must be read one by one."""
    if name.is_state or not runs.kept("is a cell", lambda: _are_of_one_cell(runs)):
        return None
    if name.base == GOODPUT:
        assert name.scope is not None, f"{name} is measured at no node"
        found = _places(runs[0], name.scope, name.base)
        return goodput_of_block(runs, found) if found and name.phase == "measure" else None
    if runs.kept((overruns, name.phase), lambda: any(_runs_on(run, name.phase) for run in runs)):
        return None
    assert name.scope is not None, f"{name} is measured at no node"
    grown = _grown(runs, name.scope, name)
    if None in grown:
        return None
    fractions = [formula.of(one) for one in grown if one is not None]
    known = [one for one in fractions if one is not None]
    if not known or len(known) < len(fractions):
        return Sums(np.empty(0), np.empty(0), len(runs), np.empty(0, np.intp))
    return _of_each_run(known, formula.rule, len(runs))


def _are_of_one_cell(runs: Sequence[RunSample]) -> bool:
    first = runs[0].planned.treatment
    return all(run.planned.treatment == first for run in runs)


def _of_each_run(fractions: Sequence[Fraction], rule: Rule, count: int) -> Sums:
    """Like `_together`, but keeps runs apart: each fraction has one entry per run. Runs without a
    value are left out."""
    above, below = (np.stack([one[part] for one in fractions]) for part in (0, 1))
    counted = ~(np.isnan(above) | np.isnan(below)).any(axis=0)
    if rule == "ratio":
        over, under = reduce(np.add, above), reduce(np.add, below)
        has_value = counted & (under != 0)
    else:
        under = below[0]
        has_value = counted & (below != 0).all(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.asarray(_PUT_TOGETHER[rule](above / below) * under)
    above, below = over[has_value], under[has_value]
    places = None if has_value.all() else np.flatnonzero(has_value)
    return Sums(above, below, count, places, (above, below) if above.size == 1 else None)


def _terms(name: MetricName, formula: Formula, run: RunSample) -> Terms | None:
    assert name.scope is not None, f"{name} is measured at no node"
    if name.base == GOODPUT:
        found = _places(run, name.scope, name.base)
        return goodput(run, found) if found and name.phase == "measure" else None
    of_samples = name.is_state or _runs_on(run, name.phase)
    steady = _within(name, formula, run) if of_samples else None
    if steady is not None or name.is_state:
        return steady
    grown = _grown([run], name.scope, name)
    fractions = [None if one is None else formula.of(one) for one in grown]
    return _together(fractions, formula.rule)


def _runs_on(run: RunSample, phase: PhaseKind) -> bool:
    return run.kept((overruns, phase), lambda: overruns(run, phase))


def _within(name: MetricName, formula: Formula, run: RunSample) -> Terms | None:
    """Numerator and denominator, added up over the samples inside the phase; None for counts, and
    without samples."""
    assert name.scope is not None, f"{name} is measured at no node"
    found = _places(run, name.scope, name.base)
    for instrument in formula.sampled_by:
        grown = between_samples(run, found, instrument, name.phase)
        value = _together([formula.of(one) for one in grown], formula.rule)
        if value is not None:
            above, below = value
            known = ~np.isnan(above)
            is_count = bool(np.all(below == 1))
            return None if is_count or not known.any() else _sums(above[known], below[known])
    return None


def _sums(above: Floats, below: Floats) -> Terms:
    return np.array([above.sum()]), np.array([below.sum()])


def _grown(runs: Sequence[RunSample], scope: Scope, name: MetricName) -> list[Growth | None]:
    """The growth of counters over a phase at each place, cached for all metrics of the same
    scope."""
    first = runs[0]
    keeper = runs if isinstance(runs, Block) else first

    def find() -> list[Growth | None]:
        if isinstance(runs, Block):
            read = readings_of_block(runs, name.phase)
        else:
            read = PhaseReadings(runs, name.phase)
        return [over_phase(read, place, name.phase) for place in _places(first, scope, name.base)]

    return keeper.kept((scope, name.phase, name.base == WATCHED), find)


def _together(fractions: Sequence[Fraction | None], rule: Rule) -> Fraction | None:
    """Combines the fractions of several nodes; None if there are no fractions, if one is missing,
    or if a denominator is 0."""
    known = [one for one in fractions if one is not None]
    if not known or len(known) < len(fractions):
        return None
    if rule == "ratio":
        parts = reduce(np.add, (one[0] for one in known)), reduce(np.add, (one[1] for one in known))
        return parts if parts[1].all() else None
    if not all(one[1].all() for one in known):
        return None
    values = [one[0] / one[1] for one in known]
    weight = known[0][1]
    return np.asarray(_PUT_TOGETHER[rule](np.array(values)) * weight), weight


_PUT_TOGETHER: Final[Mapping[Rule, Callable[[Floats], Floats]]] = {
    "sum": lambda values: np.asarray(values.sum(axis=0)),
    "mean": lambda values: np.asarray(values.mean(axis=0)),
    "largest": lambda values: np.asarray(values.max(axis=0)),
}


_GOODPUT = replace(
    FORMULAS["host"]["network_mbps"],
    label="goodput",
    text="application bytes that the host received in the measuring phase × 8 ÷ its length",
    direction="higher",
    source=SOCKETS,
)


def _names(runs: Sequence[Run]) -> Iterator[MetricName]:
    """Names of the quantities of each group, of a group's interfaces by neighbour (if it has
    several neighbours), of switches and their ports by neighbour, of all links, and of the
    machine."""
    networks = [run.network for run in runs]
    sampled = {one.node for run in runs for one in run.instruments if one.kind == "ports"}
    for network in networks:
        for group in dict.fromkeys(host.group for host in network.hosts):
            yield from _of(group, ())
            far = neighbours(network, group)
            yield from _of(group, far if len(far) > 1 else ())
    for network in networks:
        for switch in network.switches:
            far = neighbours(network, switch.name)
            yield from _of(switch.name, far, is_switch=True, states=switch.name in sampled)
    for name in (LINK, MACHINE):
        yield from (MetricName(Scope(name), base) for base in quantities_of(name))


def _of(
    node: str, towards: Sequence[str], *, is_switch: bool = False, states: bool = True
) -> Iterator[MetricName]:
    every = quantities_of(node, is_switch=is_switch)
    known = {base: one for base, one in every.items() if states or not one.is_state}
    if not towards and not is_switch:
        yield from (MetricName(Scope(node), base) for base in known)
    for one in towards:
        for base, quantity in known.items():
            if quantity.at_port and base != WATCHED:  # the same as port_out_mbps
                yield MetricName(Scope(node, one), base)
