"""Line rates: of the place where a metric is read in a planned network, or of a link in the
topology of a published study.

Published runs have no network; their links are described only by the study's topology.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netstudy.analysis.cells import CellRow
from netstudy.analysis.ideal import access_links, framing, host_of
from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes.places import places
from netstudy.analysis.workloads.base import WorkloadAnalysis
from netstudy.plan.paths import carries_bps
from netstudy.study.references import concrete, resolve
from netstudy.study.topology import EachWay
from netstudy.study.vocabulary import MetricName, line_direction
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES, FRAMING_BYTES
from netstudy.wire import Role, Run

if TYPE_CHECKING:
    from netstudy.study import Study
    from netstudy.study.topology import Link

Direction = Literal["out", "in"]

STANDARD_MTU: Final = 1500
"""Largest IP packet in bytes, where the study sets no MTU."""


@dataclass(frozen=True)
class Capacity:
    """The capacity of a link for the bytes that a throughput metric counts."""

    line_bps: int
    share: float
    """The share of the line rate that the metric counts."""
    counted: str
    """The counted bytes, in words."""

    @property
    def mbps(self) -> float:
        """Capacity in the metric's unit."""
        return self.line_bps / 1e6 * self.share


def line_bps(study: Study | None, row: CellRow, metric: MetricName) -> int | None:
    """The line rate at the place of a metric, in the direction that it measures; None: not known.
    The rate of a group is the sum over its lines. For published runs the rate is known only if
    `study` is given and has exactly one link at that place."""
    direction = line_direction(metric)
    if direction is None or metric.scope is None:
        return None
    network = row.planned[0].network
    if not network.nodes:
        return None if study is None else _of_topology(study, row, metric, direction)
    lines = [line for place in places(network, metric.scope) for line in place.lines]
    rates = [line.sends_bps if direction == "out" else line.receives_bps for line in lines]
    return sum(rates) if rates else None


def _of_topology(
    study: Study, row: CellRow, metric: MetricName, direction: Direction
) -> int | None:
    """The rate of the only link at the metric's node or, if the metric names a neighbour, of the
    only link to this neighbour; else None."""
    assert metric.scope is not None, "a rate of a line is read at a node"
    here, there = metric.scope.node, metric.scope.towards
    found = [
        link
        for link in links_of(study, row)
        if here in (ends := _ends(link)) and there in (None, *ends)
    ]
    return link_bps(found[0], here, direction) if len(found) == 1 else None


def links_of(study: Study, row: CellRow) -> tuple[Link, ...]:
    """The links of a study at the levels of a cell."""
    return resolve(study.topology, study.levels_of(row.treatment)).all_links


def _ends(link: Link) -> tuple[str, str]:
    a, b = link.between
    return a.group, b.group


def link_bps(link: Link, here: str, direction: Direction) -> int | None:
    """The rate of a link in one direction, seen from one of its ends; None: a profile sets it."""
    rate = concrete(link.rate) if not isinstance(link.rate, EachWay) else link.rate
    if isinstance(rate, EachWay):
        is_up = (here == link.between[0].group) == (direction == "out")
        return concrete(rate.up if is_up else rate.down)
    return rate


def frame_share(mtu_bytes: int) -> float:
    """The share of the line rate that interfaces and switches count if all frames have full size;
    they do not count preamble and gap."""
    counted = mtu_bytes + ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES
    return counted / (mtu_bytes + FRAMING_BYTES)


def capacity(
    study: Study, workload: WorkloadAnalysis, row: CellRow, metric: Metric
) -> Capacity | None:
    """The capacity of the link that limits a throughput metric. For application bytes this is the
    server's link; if data flows both ways, the capacities of both directions are added. None if
    there is no such link."""
    run, network = row.planned[0], row.planned[0].network
    if workload.bounded is not None and metric.name == workload.bounded.name and network.nodes:
        server = run.workload.roles.server[0]
        share = framing(network, (*run.workload.roles.client, server), server).share
        counted = "payload of full frames"
        if len(run.workload.sending) > 1:
            counted += ", both directions"
        return Capacity(_access_bps(run, "server"), share, counted)
    rate = None if metric.named is None else line_bps(study, row, metric.named)
    if rate is None:
        return None
    return Capacity(rate, frame_share(_mtu(study, row)), "full frames without preamble and gap")


def carrying_bps(
    study: Study, workload: WorkloadAnalysis, row: CellRow, metric: Metric
) -> int | None:
    """The rate of the one link that carries all of the throughput in one direction: the link of the
    only server, else of the only client. None if there are several servers and several clients, or
    if throughput adds up both directions: then it may exceed the rate of any link."""
    link, run = capacity(study, workload, row, metric), row.planned[0]
    if link is None or metric.scope is not None:
        return None if link is None else link.line_bps
    if len(run.workload.sending) > 1:
        return None
    return next((_access_bps(run, role) for role in _ROLES if _is_one_host(run, role)), None)


_ROLES: Final[tuple[Role, ...]] = ("server", "client")


def _is_one_host(run: Run, role: Role) -> bool:
    return len({host_of(run.network, one)[0] for one in _endpoints(run, role)}) == 1


def _access_bps(run: Run, role: Role) -> int:
    """The link rate of the first endpoint with a role, in the direction in which data flows; if
    data flows both ways, the sum of both directions."""
    endpoint = _endpoints(run, role)[0]
    host, link = host_of(run.network, endpoint)[0], access_links(run.network, endpoint)[0]
    here, there = (link.a, link.b) if link.a.node == host else (link.b, link.a)
    if len(run.workload.sending) > 1:
        return carries_bps(here, link) + carries_bps(there, link)
    return carries_bps(here if role in run.workload.sending else there, link)


def _endpoints(run: Run, role: Role) -> tuple[str, ...]:
    return run.workload.roles.server if role == "server" else run.workload.roles.client


def _mtu(study: Study, row: CellRow) -> int:
    network = row.planned[0].network
    if network.nodes:
        return min(link.mtu_bytes for link in network.links)
    said = [concrete(link.mtu) for link in links_of(study, row)]
    return min((one for one in said if one is not None), default=STANDARD_MTU)
