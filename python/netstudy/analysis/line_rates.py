"""Line rates: of a place in a planned network, or of a link in a study whose runs have none.

Published runs have no network: what is known of their links is what the study says of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from netstudy.analysis.cells import CellRow
from netstudy.analysis.ideal import access_links, framing, host_of
from netstudy.analysis.metrics import Metric
from netstudy.analysis.nodes.places import places
from netstudy.analysis.workloads.base import WorkloadAnalysis
from netstudy.study.references import concrete, resolve
from netstudy.study.topology import EachWay
from netstudy.study.vocabulary import MetricName, is_line_rate, line_direction, split_metric
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES, FRAMING_BYTES
from netstudy.wire import Role, Run

if TYPE_CHECKING:
    from netstudy.study import Study
    from netstudy.study.topology import Link

Direction = Literal["out", "in"]

STANDARD_MTU: Final = 1500
"""Bytes of an IP packet, where nothing else is said."""


@dataclass(frozen=True)
class Capacity:
    """What a link carries, in the metric of throughput."""

    line_bps: int
    share: float
    """What of it the metric counts."""
    counted: str
    """What that is, in words."""

    @property
    def mbps(self) -> float:
        """As the metric counts it."""
        return self.line_bps / 1e6 * self.share


def line_bps(study: Study | None, row: CellRow, metric: MetricName) -> int | None:
    """The most that a rate in one direction of a line can be; None where the line is not known, or
    where there are several of different rates. A group's rate is that of all its lines together.
    Without a study, published runs have no lines."""
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
    """The rate of the one link at a node, towards what it leads to."""
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
    """The rate of a link in one direction, seen from one of its ends; None: the study leaves it to
    the profiles."""
    rate = concrete(link.rate) if not isinstance(link.rate, EachWay) else link.rate
    if isinstance(rate, EachWay):
        is_up = (here == link.between[0].group) == (direction == "out")
        return concrete(rate.up if is_up else rate.down)
    return rate


def frame_share(mtu_bytes: int) -> float:
    """The share of a line that frames of full size take as interfaces and switches count them:
    without preamble and gap."""
    counted = mtu_bytes + ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES
    return counted / (mtu_bytes + FRAMING_BYTES)


def capacity(
    study: Study, workload: WorkloadAnalysis, row: CellRow, metric: Metric
) -> Capacity | None:
    """What the link that a metric of throughput is held against carries: of application bytes, that
    of the host which listens, in both directions where bytes go both ways. None where there is no
    such link."""
    run, network = row.planned[0], row.planned[0].network
    if workload.bounded is not None and metric.name == workload.bounded.name and network.nodes:
        server = run.workload.roles.server[0]
        share = framing(network, (*run.workload.roles.client, server), server).share
        counted = "payload of full frames"
        if len(run.workload.sending) > 1:
            counted += ", both directions"
        return Capacity(_access_bps(run, "server"), share, counted)
    if "." not in metric.name or not is_line_rate(name := split_metric(metric.name)):
        return None
    rate = line_bps(study, row, name)
    if rate is None:
        return None
    return Capacity(rate, frame_share(_mtu(study, row)), "full frames without preamble and gap")


def carrying_bps(
    study: Study, workload: WorkloadAnalysis, row: CellRow, metric: Metric
) -> int | None:
    """The rate of the one link that all of a metric of throughput goes over, one way: of the only
    server, else of the only client. None where there are several of both, or where both directions
    add to it: it may be more than any link carries."""
    link, run = capacity(study, workload, row, metric), row.planned[0]
    if link is None or "." in metric.name:
        return None if link is None else link.line_bps
    if len(run.workload.sending) > 1:
        return None
    return next((_access_bps(run, role) for role in _ROLES if _is_one_host(run, role)), None)


_ROLES: Final[tuple[Role, ...]] = ("server", "client")


def _is_one_host(run: Run, role: Role) -> bool:
    return len({host_of(run.network, one)[0] for one in _endpoints(run, role)}) == 1


def _access_bps(run: Run, role: Role) -> int:
    """The rate of the link of the first endpoint with a role, in the direction of its data; of both
    directions together where bytes go both ways."""
    endpoint = _endpoints(run, role)[0]
    host, link = host_of(run.network, endpoint)[0], access_links(run.network, endpoint)[0]
    here, there = (link.a, link.b) if link.a.node == host else (link.b, link.a)
    if len(run.workload.sending) > 1:
        return here.rate_bps + there.rate_bps
    return (here if role in run.workload.sending else there).rate_bps


def _endpoints(run: Run, role: Role) -> tuple[str, ...]:
    return run.workload.roles.server if role == "server" else run.workload.roles.client


def _mtu(study: Study, row: CellRow) -> int:
    network = row.planned[0].network
    if network.nodes:
        return min(link.mtu_bytes for link in network.links)
    said = [concrete(link.mtu) for link in links_of(study, row)]
    return min((one for one in said if one is not None), default=STANDARD_MTU)
