"""Settings of TCPs, interfaces, switches and links that studies and profiles may contain.

Each setting is declared once, as a field of a model in `wire.py`. The field's name ends in the
unit; its type, bounds and default are part of the contract; its docstring gives the meaning and the
drawback of larger values. The settings of a study, the figures of a profile, their conversion to
the wire, and the reference all follow from this field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from netstudy.described import descriptions
from netstudy.documents.fields import (
    Choice,
    Flag,
    Number,
    OpenChoice,
    Quantity,
    Ref,
    Scalar,
    Typed,
    Whole,
)
from netstudy.documents.validation import Model
from netstudy.units import (
    BYTE_COST,
    DURATION,
    FINE_PERCENT,
    PACKET_RATE,
    PERCENT,
    RATE,
    SIZE,
    Dimension,
    parse_byte_cost,
    parse_duration,
    parse_packet_rate,
    parse_ppm,
    parse_rate,
    parse_size,
    parse_whole_percent,
)
from netstudy.wire_model import Said

_DIMENSIONS: Mapping[str, tuple[Dimension, Callable[[object], int]]] = {
    "_ps_per_byte": (BYTE_COST, parse_byte_cost),
    "_ns": (DURATION, parse_duration),
    "_bytes": (SIZE, parse_size),
    "_bps": (RATE, parse_rate),
    "_pps": (PACKET_RATE, parse_packet_rate),
    "_pct": (PERCENT, parse_whole_percent),
    "_ppm": (FINE_PERCENT, parse_ppm),
}
"""Suffix of a name on the wire -> the dimension of the values, and their parser. Studies write
these values with a unit."""
_COUNTS = ("_segments", "_frames")
"""Further suffixes of names on the wire; studies write these values without a unit."""


WireModel = type[BaseModel]


@dataclass(frozen=True)
class Knob:
    """One setting."""

    name: str
    """The setting's name in studies and profiles."""
    wired: str
    """The setting's name on the wire, which ends in the unit."""
    scalar: Scalar
    """The type of the value in files, with bounds."""
    type: type
    """Type of the parsed value."""
    default: Any
    """Value if the setting is not given; None: the description says what happens then."""
    model: WireModel
    """The model in `wire.py` that declares it."""

    @property
    def description(self) -> str:
        """The setting's meaning, and the drawback of larger values."""
        return descriptions(self.model).get(self.wired, "")

    def shown(self, value: Any) -> str:
        """A value as a study writes it."""
        return str(value).lower() if isinstance(value, bool) else str(self.scalar.written(value))


@cache
def knobs(model: WireModel) -> Mapping[str, Knob]:
    """The settings in a model of the wire, by their names in studies and profiles."""
    found = [_knob(model, wired, field) for wired, field in model.model_fields.items()]
    return {knob.name: knob for knob in found if knob is not None}


def _knob(model: WireModel, wired: str, field: FieldInfo) -> Knob | None:
    kind = _kind(field.annotation)
    said = next((part for part in field.metadata if isinstance(part, Said)), Said())
    is_choice = bool(said.words) or (get_origin(kind) is Literal and len(get_args(kind)) > 1)
    if not is_choice and kind not in (bool, int, float):
        return None  # an identifier or a nested model, not a setting
    unit = next((end for end in (*_DIMENSIONS, *_COUNTS) if wired.endswith(end)), "")
    name = said.name or wired.removesuffix(unit)
    return Knob(
        name=name,
        wired=wired,
        scalar=_scalar(kind, unit, said.what or f"a {name.replace('_', ' ')}", said, field),
        type=str if get_origin(kind) is Literal else kind,
        default=None if field.is_required() else field.default,
        model=model,
    )


def _kind(annotation: Any) -> Any:
    """The type of a value other than None."""
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return kinds[0] if get_origin(annotation) is UnionType and len(kinds) == 1 else annotation


def _scalar(kind: Any, unit: str, what: str, said: Said, field: FieldInfo) -> Scalar:
    bounds = field.metadata
    if said.words:
        return OpenChoice(said.words, what, _pattern(field))
    above: Any = next((part.gt for part in bounds if isinstance(part, Gt)), None)
    lowest = 0 if above is None else above + 1
    least: Any = next((part.ge for part in bounds if isinstance(part, Ge)), lowest)
    most: Any = next((part.le for part in bounds if isinstance(part, Le)), None)
    if get_origin(kind) is Literal:
        return Choice(get_args(kind), what)
    if kind is bool:
        return Flag()
    if kind is float:
        return Number(above)
    if unit in _DIMENSIONS:
        return Quantity(*_DIMENSIONS[unit], least, most)
    return Whole(least) if most is None else Whole(least, most)


def _pattern(field: FieldInfo) -> str:
    """The pattern of a field of open words, which must have one."""
    return next(str(part.pattern) for part in field.metadata if hasattr(part, "pattern"))


def settings(model: WireModel, prefix: str = "", *, has_defaults: bool = False) -> dict[str, Any]:
    """The settings as optional fields of a study's model; their descriptions begin with `prefix`.
    `has_defaults`: the reference shows the defaults of the wire, since no profile gives others."""
    return {
        name: (
            Annotated[knob.type | Ref, Typed(knob.scalar)] | None,
            Field(
                default=None,
                json_schema_extra=partial(_describe, knob, prefix, has_default=has_defaults),
            ),
        )
        for name, knob in knobs(model).items()
    }


def figures(model: WireModel, figure: Any) -> dict[str, Any]:
    """The settings as optional fields of a profile's model, each of type `figure`."""
    return {
        name: (
            figure[Annotated[knob.type, Typed(knob.scalar, refs=False)]] | None,
            Field(default=None, json_schema_extra=partial(_describe, knob, "")),
        )
        for name, knob in knobs(model).items()
    }


def _describe(
    knob: Knob, prefix: str, schema: dict[str, Any], *, has_default: bool = False
) -> None:
    schema["description"] = f"{prefix}{knob.description}"
    if has_default and knob.default is not None:
        schema["default"] = knob.scalar.written(knob.default)


def model_with(base: type[Model], *fields: Mapping[str, Any]) -> Any:
    """A subclass of `base` that has these fields, too."""
    made = {name: field for part in fields for name, field in part.items()}
    own = {name: field for name, field in made.items() if name not in base.model_fields}
    return create_model(base.__name__, __base__=base, **own)


@dataclass(frozen=True)
class Disorder:
    """Two settings that contradict each other."""

    upper: str
    """The setting that must not be smaller than `lower`, or whose value requires another value of
    `lower`."""
    lower: str
    message: str


def disorder(model: type[BaseModel], values: Mapping[str, Any]) -> Iterator[Disorder]:
    """Contradictions among the known values (name of a setting -> value)."""
    by_wired = {knob.wired: knob for knob in knobs(model).values()}
    pairs: tuple[tuple[str, str], ...] = getattr(model, "NOT_ABOVE", ())
    for lower, upper in pairs:
        low, high = by_wired[lower], by_wired[upper]
        least, most = values.get(low.name), values.get(high.name)
        if isinstance(least, int) and isinstance(most, int) and least > most:
            said = f"{high.name}, {high.shown(most)}, is below {low.name}, {low.shown(least)}"
            yield Disorder(high.name, low.name, f"{said}; it must be at least that")
    required: tuple[tuple[str, str, str, str], ...] = getattr(model, "REQUIRES", ())
    for wired, value, other, needed in required:
        asking, asked = by_wired[wired].name, by_wired[other].name
        found = values.get(asked)
        if values.get(asking) == value and isinstance(found, str) and found != needed:
            said = f"{asking}: {value} needs {asked}: {needed}, not {found}"
            yield Disorder(asking, asked, said)


def without_effect(model: type[BaseModel], values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Settings that have no effect, each with the other setting that it would need."""
    by_wired = {knob.wired: knob.name for knob in knobs(model).values()}
    pairs: tuple[tuple[str, str], ...] = getattr(model, "NEEDS", ())
    for name, needed in ((by_wired[one], by_wired[other]) for one, other in pairs):
        if values.get(name) and not values.get(needed):
            yield name, needed
    only: tuple[tuple[str, str, str], ...] = getattr(model, "ONLY_WITH", ())
    for wired, other, value in only:
        if values.get(by_wired[wired]) and values.get(by_wired[other]) != value:
            yield by_wired[wired], f"{by_wired[other]}: {value}"
