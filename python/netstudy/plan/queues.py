"""From a queue of a study to a queue discipline on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Final, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from netstudy import queues, wire
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.problems import Path, listed
from netstudy.formats.measured import FormatError
from netstudy.knobs import knobs
from netstudy.plan.mahimahi import rate_steps
from netstudy.plan.network import Refuse
from netstudy.plan.queue_rates import scaled
from netstudy.study.queues import (
    AnyQueue,
    Drr,
    Policer,
    Priority,
    QueueOrName,
    Shaper,
    VaryingRate,
)
from netstudy.study.references import concrete
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES

_MODELS: Final[Mapping[str, Any]] = {
    model.model_fields["kind"].default: model for model in get_args(get_args(queues.Queue)[0])
}
"""Name of a discipline -> its model on the wire."""


@dataclass(frozen=True)
class Queued:
    """A queue discipline, and its place in the study."""

    queue: queues.Queue
    at: Path


class Queues:
    """The queues that the topology of a study names, lowered to the wire."""

    def __init__(
        self,
        named: Mapping[str, QueueOrName],
        folder: FilePath,
        scale: Fraction,
        refuse: Refuse,
    ) -> None:
        """`folder`: the study's. `scale`: a factor for all rates. `refuse` raises StudyError with a
        place."""
        self._named = named
        self._folder = folder
        self._scale = scale
        self._refuse = refuse

    def lowered(self, queue: QueueOrName | None, at: Path) -> Queued | None:
        """The discipline of a queue at this place of the study; None: the study gives none."""
        if queue is None:
            return None
        return Queued(scaled(self._of(queue, at, ()), self._scale, partial(self._refuse, at)), at)

    def _of(self, queue: QueueOrName, at: Path, inside: tuple[str, ...]) -> queues.Queue:
        if isinstance(queue, str):
            return self._of_name(queue, at, inside)
        made: Any = concrete(queue)
        return self._made(made, at, inside)

    def _of_name(self, name: str, at: Path, inside: tuple[str, ...]) -> queues.Queue:
        if name in inside:
            self._refuse(at, f"the queue {name} contains itself")
        if name in self._named:
            return self._of(self._named[name], ("topology", "queues", name), (*inside, name))
        if name not in _MODELS:
            known = [*self._named, *_MODELS]
            hint = did_you_mean(name, known)
            self._refuse(at, f'"{name}" is no queue{hint}')
        if needed := _needed(name):
            self._refuse(
                at, f"{name} needs {listed(needed)}: write a map, {{discipline: {name}, …}}"
            )
        made: queues.Queue = _MODELS[name]()
        return made

    def _made(self, queue: AnyQueue, at: Path, inside: tuple[str, ...]) -> queues.Queue:
        name = queue.discipline
        given = {
            knob.wired: concrete(getattr(queue, key))
            for key, knob in knobs(_MODELS[name]).items()
            if getattr(queue, key, None) is not None
        }
        if missing := [key for key in _needed(name, own=True) if getattr(queue, key, None) is None]:
            self._refuse(at, f"{name} needs {listed(missing)}")
        if isinstance(queue, Priority):
            given["bands"] = [_band(one) for one in queue.bands]
        elif isinstance(queue, Drr):
            classes = queue.classes
            given["classes"] = [{**_band(one), "quantum_bytes": one.quantum} for one in classes]
        elif isinstance(queue, Shaper | Policer | VaryingRate) and queue.over is not None:
            given["over"] = self._of(queue.over, (*at, "over"), inside)
        if isinstance(queue, VaryingRate):
            given |= self._steps(queue, at)
        try:
            made: queues.Queue = _MODELS[name](**given)
        except ValidationError as error:
            self._refuse(at, "; ".join(_said(_MODELS[name], one) for one in error.errors()))
        return made

    def _steps(self, queue: VaryingRate, at: Path) -> dict[str, Any]:
        """The rates of a schedule, or of a trace, whose packets have no Ethernet header."""
        if queue.schedule is not None:
            steps = tuple((one.lasts, one.rate or 0) for one in queue.schedule)
            if not any(rate for _, rate in steps):
                self._refuse((*at, "schedule"), "nothing is ever sent: give a rate")
            return {"steps": steps}
        try:
            steps = rate_steps(self._folder / str(queue.trace))
        except (OSError, FormatError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            self._refuse((*at, "trace"), f"{queue.trace}: {said}")
        return {
            "steps": steps,
            "overhead_bytes": -(ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES),
        }


def check_at_switch(switch: wire.Switch, at: Path, refuse: Refuse) -> None:
    """Refuses the queue at this place of the study if the switch cannot have one."""
    if switch.buffer.kind != "output-queued":
        refuse(
            at,
            f"a port of {switch.name} cannot have a queue discipline, since its buffer is "
            f"{switch.buffer.kind}; choose a profile whose buffer is output-queued",
        )
    if switch.ecn_threshold_bytes is not None:
        refuse(at, f"{switch.name} marks by its ecn_threshold already; keep one of them")
    if switch.honours_pause or switch.pause_high_bytes is not None:
        refuse(at, f"{switch.name} uses PAUSE, so its ports cannot have a queue discipline")


def check_on_wire(switch: str, queued: Queued, refuse: Refuse) -> None:
    """Refuses a queue at a port of a switch if only the interface of a host can have it."""
    if queues.counts_offload_as_one(queued.queue):
        refuse(
            queued.at,
            f"offload_as_one: frames reach {switch} one by one, so it cannot count the frames of "
            "an offloaded packet as one; name the queue at a host",
        )


def _said(model: Any, error: ErrorDetails) -> str:
    """An error of the wire with the parameter's name in a study."""
    wired, *inside = error["loc"]
    name = next((knob.name for knob in knobs(model).values() if knob.wired == wired), wired)
    place = ".".join(map(str, (name, *inside)))
    return f"{place}: {error['msg'].replace('Input should', 'must')}, not {error['input']}"


def _band(band: Any) -> dict[str, Any]:
    return {"dscp": band.dscp, "limit_packets": band.limit}


def _needed(name: str, *, own: bool = False) -> list[str]:
    """The parameters without a default, by their names in a study; `own`: only single values."""
    model = _MODELS[name]
    names = [
        knob.name for knob in knobs(model).values() if model.model_fields[knob.wired].is_required()
    ]
    parts = {
        "priority": ["bands"],
        "drr": ["classes"],
        "varying-rate": ["a schedule or a trace"],
    }.get(name, [])
    return names if own else [*names, *parts]
