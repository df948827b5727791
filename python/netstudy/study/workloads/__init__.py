"""The `workload` of a study: the keys and checks of each kind, one file per kind.

Only `Workload` lists the kinds; other modules use the `Spec` of the study's workload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from netstudy.documents.problems import listed
from netstudy.documents.shapes import Short
from netstudy.documents.validation import Model, fault
from netstudy.study.workloads.base import MetricWords, Spec
from netstudy.study.workloads.incast import Incast
from netstudy.study.workloads.probe import PROBE_WORDS, TCP_WORDS, Probe
from netstudy.study.workloads.request import Request
from netstudy.study.workloads.transactions import Transactions
from netstudy.study.workloads.transfer import Transfer

__all__ = ["WORDS", "Probe", "Spec", "Workload"]


class Workload(Model):
    """The workload of the hosts: exactly one kind of workload, and optionally a probe."""

    incast: Incast | None = None
    """Synchronized reads."""
    transfer: Transfer | None = None
    """Bulk transfers."""
    request: Request | None = None
    """Requests and responses."""
    transactions: Transactions | None = None
    """Requests to an application."""
    probe: Annotated[Probe, Short("every", "a time such as 10 ms")] | None = None
    """Measures latency under load, with small requests on a separate connection between each pair
    of hosts of the workload: `probe: 10 ms`. With `procedure.idle`, the idle network is probed
    first."""

    @model_validator(mode="before")
    @classmethod
    def _not_several(cls, value: object) -> object:
        """Refuse a second kind of workload before its keys are checked: the mistake is not a
        missing key."""
        found = [kind for kind in cls.kinds() if kind in value] if isinstance(value, dict) else []
        if len(found) > 1:
            raise cls._needs_one(found)
        return value

    @model_validator(mode="after")
    def _one(self) -> Workload:
        if not self._kinds:
            raise self._needs_one(["none"])
        return self

    @classmethod
    def _needs_one(cls, found: Sequence[str]) -> PydanticCustomError:
        also = "; to measure latency under a load, add a probe to it: probe: 10 ms"
        return fault(
            f"needs exactly one of {listed([*cls.kinds()])}; it has {listed(found)}"
            f"{also if len(found) > 1 else ''}"
        )

    @classmethod
    def kinds(cls) -> dict[str, type[Spec]]:
        """Every kind by its name."""
        return {spec.__name__.lower(): spec for spec in (Incast, Transfer, Request, Transactions)}

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return next(iter(self._kinds))

    @property
    def spec(self) -> Spec:
        """The keys of the workload."""
        return next(iter(self._kinds.values()))

    @property
    def _kinds(self) -> dict[str, Spec]:
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in given.items() if isinstance(value, Spec)}


WORDS: Final[Mapping[str, MetricWords]] = {
    **{kind: spec.words for kind, spec in Workload.kinds().items()},
    "probe": PROBE_WORDS,
    "tcp": TCP_WORDS,
}
"""Source of metrics (kind of workload, probe or TCP sampler) -> the metrics and figures of this
source."""
