"""Converts workloads from a study to the wire: one file for each kind of workload, and a list of
the kinds."""

from __future__ import annotations

from typing import Any

from netstudy import wire
from netstudy.plan.workloads.base import Context, Counts, Load, Lowering, Planned, Roles
from netstudy.plan.workloads.incast import IncastLowering
from netstudy.plan.workloads.measured import MeasuredPlan, measured_work, values_bytes
from netstudy.plan.workloads.request import RequestLowering
from netstudy.plan.workloads.transactions import TransactionsLowering
from netstudy.plan.workloads.transfer import TransferLowering
from netstudy.study.workloads import Spec

__all__ = [
    "LOWERINGS",
    "Context",
    "Counts",
    "Load",
    "Lowering",
    "Planned",
    "Roles",
    "lowering_of",
    "lowering_of_spec",
    "measured_work",
    "planned_of",
    "values_bytes",
]

LOWERINGS: tuple[Lowering[Any, Any], ...] = (
    IncastLowering(),
    TransferLowering(),
    RequestLowering(),
    TransactionsLowering(),
)
"""The workloads that this version supports."""


def planned_of(work: wire.Workload) -> Planned[Any]:
    """The object that describes a workload on the wire to people."""
    known: tuple[Planned[Any], ...] = (*LOWERINGS, MeasuredPlan())
    return next(one for one in known if isinstance(work, one.wired))


def lowering_of(work: wire.Workload) -> Lowering[Any, Any]:
    """The lowering of a workload on the wire."""
    return next(one for one in LOWERINGS if isinstance(work, one.wired))


def lowering_of_spec(spec: Spec) -> Lowering[Any, Any] | None:
    """The lowering of a study's workload; None: this version does not support it."""
    return next((one for one in LOWERINGS if isinstance(spec, one.spec)), None)
