"""The queue disciplines of a study: `queue: fq-codel`, or a map with the parameters of `tc`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from netstudy import queues
from netstudy.documents.fields import (
    CountValue,
    DurationValue,
    RateValue,
    Ref,
    Typed,
    Whole,
    Words,
    WordsValue,
)
from netstudy.documents.validation import Model, fault
from netstudy.knobs import knobs, model_with, settings

CodePoint = Annotated[int | Ref, Typed(Whole(0, 63))]
"""A differentiated services code point (RFC 2474), 0 to 63."""
CodePointValue = Annotated[int, Typed(Whole(0, 63), refs=False)]


class _Band(Model):
    dscp: tuple[CodePointValue, ...] = ()
    """The code points of its frames."""
    limit: CountValue | None = None
    """Most frames that may wait in it; by default, only the buffer limits them."""


class Band(_Band):
    """A band of strict priority. The last one also takes frames of code points that no band
    lists."""


class DrrClass(_Band):
    """A class of deficit round-robin. The last one also takes frames of code points that no class
    lists."""

    quantum: Annotated[int, Typed(knobs(queues.DrrClass)["quantum"].scalar, refs=False)] = 1514
    """Bytes that the class may send in its turn."""


class _Fifo(Model):
    discipline: Literal["fifo"]
    """The name of the discipline."""


class _Red(Model):
    discipline: Literal["red"]
    """The name of the discipline."""


class _CoDel(Model):
    discipline: Literal["codel"]
    """The name of the discipline."""


class _FqCoDel(Model):
    discipline: Literal["fq-codel"]
    """The name of the discipline."""


class _Pie(Model):
    discipline: Literal["pie"]
    """The name of the discipline."""


class Priority(Model):
    """Strict priority: a frame leaves only if no frame waits in the bands before its own."""

    discipline: Literal["priority"]
    """The name of the discipline."""
    bands: tuple[Band, ...] = Field(min_length=1, max_length=16)
    """The first one is served first."""


class Drr(Model):
    """Deficit round-robin: classes send in turn."""

    discipline: Literal["drr"]
    """The name of the discipline."""
    classes: tuple[DrrClass, ...] = Field(min_length=1, max_length=16)
    """The classes in the order of their turns."""


class _Shaper(Model):
    discipline: Literal["shaper"]
    """The name of the discipline."""
    over: QueueOrName | None = None
    """The discipline of the frames that wait; by default a FIFO that only the buffer limits."""


class _Policer(Model):
    discipline: Literal["policer"]
    """The name of the discipline."""
    over: QueueOrName | None = None
    """The discipline of the frames that pass; by default a FIFO that only the buffer limits."""


class Fifo(model_with(_Fifo, settings(queues.Fifo, has_defaults=True))):  # type: ignore[misc]
    """First in, first out."""


class Red(model_with(_Red, settings(queues.Red, has_defaults=True))):  # type: ignore[misc]
    """Random early detection (Floyd and Jacobson 1993)."""


class CoDel(model_with(_CoDel, settings(queues.CoDel, has_defaults=True))):  # type: ignore[misc]
    """Controlled delay (RFC 8289)."""


class FqCoDel(model_with(_FqCoDel, settings(queues.FqCoDel, has_defaults=True))):  # type: ignore[misc]
    """Controlled delay of each flow, and turns between flows (RFC 8290)."""


class Pie(model_with(_Pie, settings(queues.Pie, has_defaults=True))):  # type: ignore[misc]
    """Proportional integral controller enhanced (RFC 8033)."""


class Shaper(model_with(_Shaper, settings(queues.Shaper, has_defaults=True))):  # type: ignore[misc]
    """A token bucket that holds frames back until there are tokens for them."""


class Policer(model_with(_Policer, settings(queues.Policer, has_defaults=True))):  # type: ignore[misc]
    """A token bucket that drops frames for which there are no tokens."""


class RateStep(Model):
    """A rate for some time."""

    lasts: DurationValue
    rate: RateValue | None = None
    """Without it, nothing is sent."""


class VaryingRate(Model):
    """A line whose rate changes with time: by a schedule, or by a trace of Mahimahi."""

    discipline: Literal["varying-rate"]
    """The name of the discipline."""
    schedule: tuple[RateStep, ...] | None = Field(default=None, min_length=1)
    """Rates in turn; after the last one, the first begins again."""
    trace: WordsValue | None = None
    """A file of Mahimahi, relative to the study's folder: on each line a time in ms at which a
    packet of 1500 bytes may leave; the last one is the length of the trace, which then begins
    again."""
    over: QueueOrName | None = None
    """The discipline of the frames that wait; by default a FIFO that only the buffer limits."""

    @model_validator(mode="after")
    def _is_one(self) -> VaryingRate:
        if (self.schedule is None) == (self.trace is None):
            raise fault("varying-rate needs a schedule or a trace", "schedule")
        return self


AnyQueue = Fifo | Red | CoDel | FqCoDel | Pie | Priority | Drr | Shaper | Policer | VaryingRate
DISCIPLINES = (
    "fifo",
    "red",
    "codel",
    "fq-codel",
    "pie",
    "priority",
    "drr",
    "shaper",
    "policer",
    "varying-rate",
)


class _Unknown(Model):
    """A map without a known discipline."""

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, _value: Any) -> Any:
        raise fault(f"must be one of {', '.join(DISCIPLINES)}", "discipline")


def _kind(value: Any) -> str:
    if not isinstance(value, dict | Model):
        return "=name"
    given = value.get("discipline") if isinstance(value, dict) else value.discipline  # type: ignore[attr-defined]
    return f"={given}" if given in DISCIPLINES else "=unknown"


QueueOrName = Annotated[
    Annotated[Words, Tag("=name")]
    | Annotated[Fifo, Tag("=fifo")]
    | Annotated[Red, Tag("=red")]
    | Annotated[CoDel, Tag("=codel")]
    | Annotated[FqCoDel, Tag("=fq-codel")]
    | Annotated[Pie, Tag("=pie")]
    | Annotated[Priority, Tag("=priority")]
    | Annotated[Drr, Tag("=drr")]
    | Annotated[Shaper, Tag("=shaper")]
    | Annotated[Policer, Tag("=policer")]
    | Annotated[VaryingRate, Tag("=varying-rate")]
    | Annotated[_Unknown, Tag("=unknown")],
    Discriminator(_kind),
]
"""A discipline, its name if it needs no parameters, or a name of `topology.queues`."""

for _model in (Shaper, Policer, VaryingRate):
    _model.model_rebuild()
