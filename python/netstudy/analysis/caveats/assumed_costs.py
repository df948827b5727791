"""Costs in the simulator that nobody measured, and that the study does not give itself.

Comparisons hold as far as the costs are the same on both sides; absolute figures are as good as
the costs. Only figures of time count that the deciding metric depends on: figures of the
application, and figures of hosts whose CPUs are busy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from netstudy.analysis.caveats.base import Analysed, Caveat
from netstudy.analysis.named import metric_named
from netstudy.hardware import HardwareLibrary
from netstudy.hardware import Kind as ProfileKind
from netstudy.study.vocabulary import MetricName, Scope

BUSY_PCT: Final = 50.0
"""Least use of a host's CPUs at which its costs decide."""
_OF_APPLICATION: Final = re.compile(r"app_cpu|delay")
_OF_DATABASE: Final = re.compile(r"database_.*(cpu|hold|disk)")
_OF_HOST: Final = re.compile(r"cpu\..*(per_|pct)|nic\.(receive_per_frame|receive_rate|packet_rate)")


@dataclass(frozen=True)
class BuiltInApplication(Caveat):
    """The costs of an application that the study does not describe at all."""

    is_in_answer: ClassVar[bool] = True
    profile: str
    figures: tuple[str, ...]
    """The assumed ones."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[BuiltInApplication]:
        """One caveat for each application, if the study names no profile for it."""
        if not _is_described(analysed):
            yield from (cls(*one) for one in _of_application(analysed))


@dataclass(frozen=True)
class AssumedCosts(Caveat):
    """Costs of profiles that nobody measured: of busy hosts, and of an application that the study
    names."""

    is_in_answer: ClassVar[bool] = True
    figures: Mapping[str, tuple[str, ...]]
    """Profile -> its assumed figures."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[AssumedCosts]:
        """One caveat for all profiles."""
        found = dict(_of_hosts(analysed))
        if _is_described(analysed):
            found |= dict(_of_application(analysed))
        if found:
            yield cls(found)


def _is_described(analysed: Analysed) -> bool:
    """True if the study describes its application by a profile or by at least one cost."""
    spec = analysed.planned.study.workload.spec
    return any(spec.applications.values()) or bool(spec.own_costs)


def _of_application(analysed: Analysed) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The application's profiles with their assumed figures that decide and that the study does not
    set."""
    application = analysed.cells.workload.application
    if application is None or not _decides(analysed):
        return
    runs = analysed.planned.design.runs
    has_database = any(getattr(run.workload.roles, "database", ()) for run in runs)
    own = analysed.planned.study.workload.spec.own_costs
    for name in dict.fromkeys(application(run) for run in runs):
        found = [] if name is None else _assumed(analysed.hardware, "application", name)
        figures = tuple(
            one
            for one in found
            if one not in own
            and (_OF_APPLICATION.match(one) or (has_database and _OF_DATABASE.match(one)))
        )
        if name is not None and figures:
            yield name, figures


def _of_hosts(analysed: Analysed) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The profiles of busy hosts with their assumed figures of processor time."""
    if not analysed.testbed.simulated:
        return
    groups = _profiles(analysed)
    for name in dict.fromkeys(of for group, of in groups.items() if _is_busy(group, analysed)):
        found = _assumed(analysed.hardware, "host", name)
        figures = tuple(one for one in found if _OF_HOST.match(one))
        if figures:
            yield name, figures


def _decides(analysed: Analysed) -> bool:
    """True if the deciding metric depends on the application's costs: a time always does, a rate
    only if a host's CPUs are busy and the load does not set the rate."""
    if not analysed.testbed.simulated:
        return False
    if analysed.deciding.direction != "higher":
        return True
    met = analysed.cells.workload.met
    is_set = met is not None and all(row.value(met) == 100.0 for row in analysed.rows)
    return not is_set and any(_is_busy(group, analysed) for group in _profiles(analysed))


def _profiles(analysed: Analysed) -> dict[str, str]:
    """Group of hosts -> its profile."""
    runs = analysed.planned.design.runs
    return {group.name: group.profile for run in runs for group in run.network.groups}


def _is_busy(group: str, analysed: Analysed) -> bool:
    metric = metric_named(MetricName(Scope(group), "cpu_pct"), ())
    return metric is not None and any(
        (row.value(metric) or 0.0) >= BUSY_PCT for row in analysed.rows
    )


def _assumed(hardware: HardwareLibrary, kind: ProfileKind, name: str) -> list[str]:
    """The assumed figures of a profile; none if the profile is no longer there."""
    if hardware.missing(kind, name) is not None:
        return []
    return [row.name for row in hardware.rows(kind, name) if row.source == "assumed"]
