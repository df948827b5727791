"""What the records say about the testbed: whether it limited the results, and whether its
instruments agree.

A testbed of real machines can run out of CPU, lose frames unnoticed, or send them late; its runs
then measure the testbed. Independent instruments should confirm each other's counts. Whether the
run still counts is given by the status of its record; the report shows the findings run by run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeVar

from netstudy.study.vocabulary import HOSTS, MEASURED, PUBLISHED
from netstudy.units import parse_scale
from netstudy.wire import (
    DISTURBED_ATTEMPTS,
    Reconciliation,
    RunRecord,
    Samples,
    TestbedLimit,
    Treatment,
)

Here = Literal["simulated", "measured here", "measured elsewhere", "published"]
"""Label of a study's own values, to distinguish them from published ones."""
_OR = " or "

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class LimitInRun:
    """A limit as measured in one run."""

    run: str
    treatment: Treatment
    replicate: int
    limit: TestbedLimit
    is_in_numbers: bool = True
    """False for an invalid run: tables and statistics exclude it."""


@dataclass(frozen=True)
class LimitFound:
    """A limit of the testbed, in all runs that checked it."""

    name: str
    in_runs: tuple[LimitInRun, ...]

    @property
    def exceeded(self) -> tuple[LimitInRun, ...]:
        """The runs in which the testbed was the limit."""
        return tuple(one for one in self.in_runs if one.limit.exceeded)

    @property
    def unknown(self) -> tuple[LimitInRun, ...]:
        """The runs in which the limit could not be measured."""
        return tuple(one for one in self.in_runs if one.limit.value is None)

    @property
    def worst(self) -> LimitInRun | None:
        """The run that came closest to the limit or exceeded it most; None if the limit was not
        measured."""
        measured = [one for one in self.exceeded or self.in_runs if one.limit.value is not None]
        return max(measured, key=_taken) if measured else None


@dataclass(frozen=True)
class CheckInRun:
    """Counts of two instruments in one run."""

    run: str
    treatment: Treatment
    replicate: int
    found: Reconciliation


@dataclass(frozen=True)
class CheckFound:
    """A comparison of two instruments, in all runs that have both."""

    check: str
    in_runs: tuple[CheckInRun, ...]

    @property
    def disagreeing(self) -> tuple[CheckInRun, ...]:
        """The runs in which the two instruments disagree."""
        return tuple(one for one in self.in_runs if not one.found.holds)

    @property
    def worst(self) -> CheckInRun:
        """The largest difference, among disagreeing runs if there are any."""
        return max(self.disagreeing or self.in_runs, key=lambda one: abs(one.found.difference))


@dataclass(frozen=True)
class NodesAlike:
    """Nodes of one group that ran in equal environments."""

    environment: str
    """Name under which the environment is stored in the results folder."""
    group: str
    nodes: tuple[str, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True)
class TestbedResult:
    """The testbed of a results folder, according to its records."""

    __test__ = False  # pytest would collect a class of this name as tests

    name: str
    simulated: bool
    """Whether the values come from a model, according to the records of runs."""
    published: bool
    """Whether the values were published by others and the study itself ran nothing."""
    limits: tuple[LimitFound, ...]
    """Exceeded limits first."""
    checks: tuple[CheckFound, ...]
    """Failed checks first."""
    scaled_by: str | None
    """The factor by which all link rates were multiplied."""
    set_aside: int
    """Number of runs that suffered interference and were repeated."""
    environment: dict[str, tuple[str, ...]]
    """Property of the environment of runs -> its values, each once."""
    nodes: tuple[NodesAlike, ...] = ()
    """Environments of nodes, where they were captured."""

    @property
    def measured(self) -> bool:
        """True if the values are from files or tables that the user had already."""
        return self.name == MEASURED

    @property
    def here(self) -> Here:
        """The label for the values of this testbed."""
        if self.published:
            return "published"
        if self.measured:
            return "measured elsewhere"
        return "simulated" if self.simulated else "measured here"

    @property
    def badge(self) -> str:
        """The origin of the values, shown next to the study's name."""
        if self.published or self.simulated or self.measured:
            return self.here
        return "measured in namespaces" if self.name.startswith("netns") else "measured on hosts"

    @property
    def smaller_scale(self) -> str | None:
        """The largest scale 1/n that is at most half the scale of these runs, for example 1/20 if
        they used 1/10; None: the links are real, and have no scale."""
        if self.name == HOSTS:
            return None
        used = min(parse_scale(part) for part in (self.scaled_by or "1").split(_OR))
        return f"1/{ceil(2 / used)}"

    @property
    def exceeded(self) -> tuple[LimitFound, ...]:
        """The limits that some run exceeded."""
        return tuple(one for one in self.limits if one.exceeded)

    @property
    def made_again(self) -> tuple[LimitInRun, ...]:
        """The runs that were repeated because of interference."""
        return tuple(
            one
            for found in self.limits
            if found.name == DISTURBED_ATTEMPTS
            for one in found.in_runs
            if one.limit.value
        )

    @property
    def disagreeing(self) -> tuple[CheckFound, ...]:
        """The checks that do not hold in some run."""
        return tuple(one for one in self.checks if one.disagreeing)


class Evidence:
    """Collects the parts of records that `gather_testbed` reads. Records that say nothing else than
    that they were simulated, and their status, are represented by one of them."""

    def __init__(self) -> None:
        """Without records."""
        self._found: list[tuple[int, RunRecord]] = []
        self._seen: set[tuple[bool, str]] = set()

    def add(self, place: int, record: RunRecord) -> None:
        """Adds the record of the run at a place of the plan."""
        kind = record.mode is None, record.status
        if kind in self._seen and not _says_more(record):
            return
        self._seen.add(kind)
        bulk = {"checks": (), "samples": Samples(), "edges": (), "counters": {}, "ports": {}}
        self._found.append((place, record.model_copy(update=bulk)))

    def records(self) -> tuple[RunRecord, ...]:
        """The records in the order of the plan, without their samples and counters."""
        return tuple(record for _, record in sorted(self._found, key=lambda one: one[0]))


def _says_more(record: RunRecord) -> bool:
    """True if a record has limits, reconciliations, an environment or a scale."""
    if record.limits or record.reconciliation or record.environment or record.scaled_by is not None:
        return True
    return any(node.environment is not None for node in record.nodes.values())


def gather_testbed(
    name: str, records: Sequence[RunRecord], scale: str | None, set_aside: int = 0
) -> TestbedResult:
    """Gathers what the records contain about their testbed.

    `scale` is the requested scale of every run; `set_aside` is the number of runs that were
    repeated because of interference.
    """
    limits = [
        LimitFound(limit, tuple(found))
        for limit, found in _by(_limits(records), lambda one: one.limit.name).items()
    ]
    checks = [
        CheckFound(check, tuple(found))
        for check, found in _by(_checks(records), lambda one: one.found.check).items()
    ]
    scales = dict.fromkeys(one.scaled_by for one in records if one.scaled_by is not None)
    return TestbedResult(
        name=name,
        simulated=any(record.mode is not None for record in records) or _all_failed(name, records),
        published=name == PUBLISHED,
        limits=tuple(sorted(limits, key=lambda one: not one.exceeded)),
        checks=tuple(sorted(checks, key=lambda one: not one.disagreeing)),
        scaled_by=_OR.join(scales) or (None if scale == "1" else scale),
        set_aside=set_aside,
        environment=_environment(records),
        nodes=_nodes(records),
    )


def _all_failed(name: str, records: Sequence[RunRecord]) -> bool:
    """Whether these are runs of the simulator that all failed. Their records do not show that they
    were simulated, because a failed run has no simulation mode."""
    return name == "sim" and bool(records) and all(one.status == "failed" for one in records)


def _taken(one: LimitInRun) -> float:
    """The measured value as a share of the allowed value."""
    value, allowed = one.limit.value or 0.0, one.limit.allowed
    if allowed:
        return value / allowed
    return float("inf") if value else 0.0


def _limits(records: Iterable[RunRecord]) -> list[LimitInRun]:
    return [
        LimitInRun(record.run, record.treatment, record.replicate, limit, record.status == "ok")
        for record in records
        for limit in record.limits
    ]


def _checks(records: Iterable[RunRecord]) -> list[CheckInRun]:
    return [
        CheckInRun(record.run, record.treatment, record.replicate, found)
        for record in records
        for found in record.reconciliation
    ]


def _by(items: Iterable[ItemT], key: Callable[[ItemT], str]) -> dict[str, list[ItemT]]:
    found: dict[str, list[ItemT]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def _nodes(records: Iterable[RunRecord]) -> tuple[NodesAlike, ...]:
    """Nodes with equal environments, in the order in which they first appear."""
    found: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for record in records:
        for name, node in record.nodes.items():
            if node.environment is not None:
                nodes, runs = found.setdefault((node.environment, node.group), ({}, {}))
                nodes[name] = runs[record.run] = None
    return tuple(
        NodesAlike(environment, group, tuple(nodes), tuple(runs))
        for (environment, group), (nodes, runs) in found.items()
    )


def _environment(records: Iterable[RunRecord]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for record in records:
        for name, value in record.environment.items():
            found.setdefault(name, {})[value] = None
    return {name: tuple(values) for name, values in found.items()}
