"""The changes that the factors of a plan make.

The kind of a factor is determined by the settings that its levels change: only buffers of switches,
only the minimum RTO, only loss recovery, only congestion control, only ECN, or only PAUSE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from netstudy.analysis.settings import settings_of
from netstudy.wire import Group, Level, Network, Plan, Run, Switch

FactorKind = Literal["buffer", "min rto", "recovery", "control", "marking", "pause"]

_KIND_SETTINGS: Final[Mapping[FactorKind, re.Pattern[str]]] = {
    "buffer": re.compile(r"\.buffer\.[a-z_]+$"),
    "min rto": re.compile(r"\.tcp\.min_rto_ns$"),
    "recovery": re.compile(r"\.tcp\.(recovery|rack|tail_loss_probe|sack)$"),
    "control": re.compile(r"\.tcp\.congestion_control$"),
    "marking": re.compile(r"\.(ecn_threshold_bytes|tcp\.ecn)$"),
    "pause": re.compile(r"\.(pause_(high|low)_(bytes|frames)|pause_quanta|honours_pause)$"),
}
"""Kind of a factor -> pattern of settings; a factor is of this kind if its levels change only such
settings."""
_NAMES: Final = re.compile(r"(^|\.)(profile|application\.variant)$")
"""Settings without an effect of their own: the name of a profile, or the name of a build of the
application."""


@dataclass(frozen=True, eq=False)
class Design:
    """The treatments of a plan, and what each factor changes."""

    runs: tuple[Run, ...]
    """One run of each treatment."""
    order: Mapping[str, Sequence[Level]]
    """Factor -> its levels, in the study's order."""

    @classmethod
    def of(cls, plan: Plan, order: Mapping[str, Sequence[Level]]) -> Design:
        """The design of a plan; `order` has the levels of its factors."""
        first: dict[object, Run] = {}
        for run in plan.runs:
            if run.network.nodes:
                first.setdefault(tuple(sorted(run.treatment.items(), key=lambda i: i[0])), run)
        return cls(tuple(first.values()), order)

    @cached_property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Factor -> its levels, for factors with several."""
        found: dict[str, set[Level]] = {}
        for run in self.runs:
            for factor, level in run.treatment.items():
                found.setdefault(factor, set()).add(level)
        return {
            factor: tuple(level for level in levels if level in found.get(factor, ()))
            for factor, levels in self.order.items()
            if len(found.get(factor, ())) > 1
        }

    def groups(self, factor: str) -> Iterator[dict[Level, Run]]:
        """Groups of runs that differ only in this factor; each group maps the levels to their
        runs."""
        found: dict[object, dict[Level, Run]] = {}
        for run in self.runs:
            rest = tuple(
                sorted((i for i in run.treatment.items() if i[0] != factor), key=lambda i: i[0])
            )
            if factor in run.treatment:
                found.setdefault(rest, {})[run.treatment[factor]] = run
        return (group for group in found.values() if len(group) > 1)

    @cached_property
    def kinds(self) -> dict[str, FactorKind | None]:
        """Factor -> its kind; None: its levels change other settings, too."""
        return {factor: self._kind(factor) for factor in self.levels}

    def of_kind(self, kind: FactorKind) -> tuple[str, ...]:
        """The factors of a kind."""
        return tuple(factor for factor, one in self.kinds.items() if one == kind)

    def _kind(self, factor: str) -> FactorKind | None:
        """The kind of a factor, determined by the settings that its levels change in the first of
        its groups."""
        group = next(self.groups(factor), None)
        if group is None:
            return None
        first, *others = group.values()
        base, kinds = effective_settings(first), dict(_KIND_SETTINGS)
        for other in others:
            settings = effective_settings(other)
            changed = [
                key for key in base.keys() | settings.keys() if base.get(key) != settings.get(key)
            ]
            kinds = {
                kind: of for kind, of in kinds.items() if changed and all(map(of.search, changed))
            }
            if not kinds:
                return None
        return next(iter(kinds))

    def equal_levels(self, factor: str) -> Iterator[tuple[Level, ...]]:
        """Sets of levels that have equal settings in every group that contains several of these
        levels."""
        classes: list[set[Level]] = [set(self.levels[factor])]
        groups = list(self.groups(factor))
        for group in groups:
            classes = list(_refined(classes, group))
            if not classes:
                return
        for one in classes:
            together = [met for group in groups if len(met := one & group.keys()) > 1]
            seen = set[Level]().union(*together)
            if seen:
                yield tuple(level for level in self.levels[factor] if level in seen)


def effective_settings(run: Run) -> dict[str, object]:
    """The settings of a run that can change its result."""
    return {key: value for key, value in settings_of(run).items() if not _NAMES.search(key)}


def _refined(classes: Iterable[set[Level]], group: Mapping[Level, Run]) -> Iterator[set[Level]]:
    """Splits each class of levels where settings differ between levels in the group; drops classes
    with a single level."""
    for one in classes:
        parts: dict[object, set[Level]] = {}
        sizes: dict[object, list[Level]] = {}
        for level in one & group.keys():
            run = group[level]
            key = (len(run.network.nodes), len(run.network.links), run.workload.roles)
            sizes.setdefault(repr(key), []).append(level)
        for same in sizes.values():
            for level in same:
                # If no other level has the same network size, the level differs from all others
                # anyway.
                told = (
                    repr(sorted(effective_settings(group[level]).items()))
                    if len(same) > 1
                    else level
                )
                parts.setdefault(told, set()).add(level)
        absent = one - group.keys()
        yield from (part | absent for part in parts.values() if len(part | absent) > 1)


def groups_of_nodes(network: Network) -> dict[str, Group]:
    """Node -> its group, as a mapping for fast look-up."""
    by_name = {group.name: group for group in network.groups}
    return {
        node.name: by_name[node.group] for node in network.nodes if not isinstance(node, Switch)
    }
