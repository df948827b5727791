"""Workloads on real hosts, one file for each kind, and the list of all."""

from __future__ import annotations

from netstudy import wire
from netstudy.testbed.workloads.base import AnyTraffic
from netstudy.testbed.workloads.incast import IncastTraffic
from netstudy.testbed.workloads.published import record_of
from netstudy.testbed.workloads.request import RequestTraffic
from netstudy.testbed.workloads.transactions import TransactionsTraffic
from netstudy.testbed.workloads.transfer import TransferTraffic

__all__ = ["TRAFFIC", "record_of", "traffic_of"]

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
