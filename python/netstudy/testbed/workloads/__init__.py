"""Workloads on real hosts, one file for each kind, and the list of all."""

from __future__ import annotations

from netstudy import wire
from netstudy.testbed.real.application import Served
from netstudy.testbed.workloads.base import AnyTraffic, ApplicationTraffic
from netstudy.testbed.workloads.incast import IncastTraffic
from netstudy.testbed.workloads.request import RequestTraffic
from netstudy.testbed.workloads.transactions import TransactionsTraffic
from netstudy.testbed.workloads.transfer import TransferTraffic

__all__ = ["TRAFFIC", "served_by", "traffic_of"]

TRAFFIC: tuple[AnyTraffic, ...] = (
    IncastTraffic(),
    TransferTraffic(),
    RequestTraffic(),
    TransactionsTraffic(),
)
"""The workloads that agents run."""


def traffic_of(work: wire.Workload) -> AnyTraffic:
    """The implementation for a workload of a plan."""
    return next(one for one in TRAFFIC if isinstance(work, one.wired))


def served_by(run: wire.Run) -> Served | None:
    """The application of a run; None: the servers are agents."""
    traffic = traffic_of(run.workload)
    return traffic.served(run) if isinstance(traffic, ApplicationTraffic) else None
