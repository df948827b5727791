"""Weaknesses of a plan that can be calculated before its runs: percentiles of too few samples,
comparisons of single runs, phases of only a few round trips, switches whose queues stay empty.

After the runs, the records show these weaknesses more exactly: see `untested` and the verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, Protocol, runtime_checkable

from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import figure_named, metric_named
from netstudy.analysis.order_statistics import carries, fewest, fewest_beyond, has_beyond
from netstudy.analysis.workloads import further_of, metrics_of, workload_of
from netstudy.plan.paths import Hop, Routes
from netstudy.study.references import references
from netstudy.wire import Network, Run, Switch, Treatment, UntilTime

if TYPE_CHECKING:
    from netstudy.study import Study
    from netstudy.wire import Plan

TRIPS_MIN: Final = 10
"""Fewest round trips of a phase: a shorter phase shows hardly more than TCP's first windows."""
_MANY: Final = 1e9
"""A number of samples that suffices for any percentile: assumed where the actual number cannot be
known in advance."""


@dataclass(frozen=True)
class FewSamples:
    """A percentile for which a setting, or a single run, has too few samples."""

    metric: Metric
    noun: str
    """The noun for a sample, such as iteration, transfer or request."""
    treatment: Treatment
    """The setting with the fewest samples."""
    expected: int
    """Estimated number of samples if there are no losses."""
    needed: int
    of_one_run: bool
    """Whether single runs have too few samples. This matters because a verdict needs a value of
    each run."""


@dataclass(frozen=True)
class SingleRuns:
    """A comparison of settings with one run each."""


@dataclass(frozen=True)
class ShortPhase:
    """A phase of only a few round trips."""

    phase: Literal["warm-up", "measure"]
    length_ns: int
    trip_ns: float
    treatment: Treatment
    """The setting with the longest round trip."""


@dataclass(frozen=True)
class NoQueue:
    """Switches where no port receives frames faster than it sends them, at any setting."""

    switches: tuple[str, ...]


Foreseen = FewSamples | SingleRuns | ShortPhase | NoQueue


@runtime_checkable
class _Quantile(Protocol):
    """A reading that is a quantile of samples."""

    q: float

    def expected_samples(self, run: Run) -> float: ...
    @property
    def noun(self) -> str: ...


def foreseen(study: Study, plan: Plan) -> tuple[Foreseen, ...]:
    """All weaknesses of a plan; `plan` has one run of each treatment."""
    runs = [run for run in plan.runs if run.network.nodes]
    if not runs:
        return ()  # a published study
    return (
        *_few_samples(study, plan, runs),
        *_single_runs(study),
        *_short_phases(runs),
        *_no_queues(study, runs),
    )


def _few_samples(study: Study, plan: Plan, runs: Iterable[Run]) -> Iterator[FewSamples]:
    compared = _compared(study, plan)
    for metric in dict.fromkeys([*_asked(study, plan), *compared]):
        reading = metric.reading
        if not isinstance(reading, _Quantile):
            continue
        least = min(runs, key=reading.expected_samples)
        each = min(reading.expected_samples(least), _MANY)
        whole = int(each * study.replicates)
        if not carries(reading.q, whole):
            needed, of_one_run, expected = fewest(reading.q), False, whole
        elif metric in compared and study.replicates > 1 and not has_beyond(reading.q, int(each)):
            needed, of_one_run, expected = fewest_beyond(reading.q), True, int(each)
        else:
            continue
        yield FewSamples(metric, reading.noun, least.treatment, expected, needed, of_one_run)


def _asked(study: Study, plan: Plan) -> Iterator[Metric]:
    """The metrics that the study names, including those in its figures."""
    among = (*metrics_of(plan), *further_of(plan))
    named = (metric_named(name, among) for name in study.named_metrics)
    drawn = (figure_named(one.name, among) for _, one in study.figures if one.name is not None)
    yield from (metric for metric in (*named, *drawn) if metric is not None)


def _compared(study: Study, plan: Plan) -> list[Metric]:
    """The metrics that a verdict is about."""
    if study.compare is None:
        return []
    among = (*metrics_of(plan), *further_of(plan))
    named = [metric_named(name, among) for name in study.compare.on]
    return [one for one in named if one is not None] or [*workload_of(plan).compared_on[:1]]


def _single_runs(study: Study) -> Iterator[SingleRuns]:
    is_comparing = study.compare is not None or any(one.compares for one in study.conclude)
    if is_comparing and study.replicates < 2:
        yield SingleRuns()


def _short_phases(runs: Iterable[Run]) -> Iterator[ShortPhase]:
    worst: dict[str, ShortPhase] = {}
    for run in runs:
        trip_ns = _trip_ns(run)
        for phase in run.phases:
            kind, until = phase.kind, phase.until
            if kind not in ("warm-up", "measure") or not isinstance(until, UntilTime):
                continue
            if until.ns < TRIPS_MIN * trip_ns:
                found = ShortPhase(kind, until.ns, trip_ns, run.treatment)
                worst[kind] = max(found, worst.get(kind, found), key=lambda one: one.trip_ns)
    yield from worst.values()


def _trip_ns(run: Run) -> float:
    """The longest time between two endpoints for an empty message and its answer, without
    queues."""
    routes = Routes(run.network)
    return max(
        routes.time_ns(client, server, 0) + routes.time_ns(server, client, 0)
        for client, server in set(run.workload.roles.pairs)
    )


def _no_queues(study: Study, runs: Iterable[Run]) -> Iterator[NoQueue]:
    """Switches without a queue have no drops, and their settings have no effect. This is reported
    only if the study varies its switches or asks for their drops."""
    if not (_varies_switches(study) or _asks_for_drops(study)):
        return
    switches: dict[str, None] = {}
    for run in runs:
        if not run.network.switches or _can_queue(run):
            return
        switches |= dict.fromkeys(one.name for one in run.network.switches)
    yield NoQueue(tuple(switches))


def _varies_switches(study: Study) -> bool:
    varied = {factor.name for factor in study.factors.values() if len(factor.levels) > 1}
    fields = {
        key
        for factor in study.factors.values()
        if factor.name in varied
        for level in factor.levels
        for key in level.fields
    }
    switches = study.topology.all_switches.values()
    named = {ref.name.partition(".")[0] for one in switches for _, ref in references(one)}
    return bool(named & (varied | fields))


def _asks_for_drops(study: Study) -> bool:
    figures = (one.name for _, one in study.figures if one.name is not None)
    metrics = (one.base for one in study.named_metrics if one.scope is None)
    return any(name.startswith("drops") for name in (*metrics, *figures))


def _can_queue(run: Run) -> bool:
    """Whether some switch port can receive frames faster than it sends them, or may be paused."""
    network = run.network
    if _is_paused(network):
        return True
    routes, inflow = Routes(network), dict[tuple[str, str], dict[tuple[str, str], int]]()
    rates: dict[tuple[str, str], int] = {}
    for source, target in _ways(run):
        hops = routes.route(source, target).hops
        for before, after in pairwise(hops):
            key = _key(after)
            rates[key] = after[0].rate_bps
            inflow.setdefault(key, {})[_key(before)] = before[0].rate_bps
    return any(sum(ways.values()) > rates[key] for key, ways in inflow.items())


def _key(hop: Hop) -> tuple[str, str]:
    return hop[0].node, hop[0].name


def _ways(run: Run) -> Iterator[tuple[str, str]]:
    """Each pair of endpoints in both directions, because acknowledgments flow back."""
    roles = run.workload.roles
    pairs = set(roles.pairs)
    for database in getattr(roles, "database", ()):
        pairs |= {(server.partition("@")[0], database) for server in roles.server}
    for one, other in pairs:
        yield one, other
        yield other, one


def _is_paused(network: Network) -> bool:
    ends = [group.nic for group in network.groups]
    ends += [port.nic for link in network.links for port in link.ports if port.nic]
    asks = any(nic.pause_high_frames is not None for nic in ends)
    return any(_may_pause(switch, asks=asks) for switch in network.switches)


def _may_pause(switch: Switch, *, asks: bool) -> bool:
    return switch.pause_high_bytes is not None or (asks and switch.honours_pause)
