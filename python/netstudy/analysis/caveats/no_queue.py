"""Switches that can neither queue nor drop, whatever their buffers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from netstudy.analysis.caveats.base import Analysed, Caveat, Planned
from netstudy.plan.paths import Hop, Routes, carries_bps
from netstudy.study.references import references
from netstudy.wire import Network, Run, Switch

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True)
class NoQueue(Caveat):
    """Switches where no port receives frames faster than it sends them, at any setting."""

    switches: tuple[str, ...]

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[NoQueue]:
        """One caveat for all switches, only if the study varies them or asks for their drops;
        before the runs only."""
        runs = planned.design.runs
        if not runs or not (_varies_switches(planned.study) or _asks_for_drops(planned.study)):
            return
        switches: dict[str, None] = {}
        for run in runs:
            if not run.network.switches or _can_queue(run):
                return
            switches |= dict.fromkeys(one.name for one in run.network.switches)
        yield cls(tuple(switches))

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NoQueue]:  # noqa: ARG003  # the base's
        """None: the records have the drops and the longest queues."""
        return iter(())


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
            rates[key] = carries_bps(*after)
            inflow.setdefault(key, {})[_key(before)] = carries_bps(*before)
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
