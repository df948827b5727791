"""Factors and their levels: lists, ranges, named maps, and levels that grow.

The name of a level is its text, or the `name` of a map. The other keys of such a map are fields,
which `${field}` inserts. The length of a range is checked before it is expanded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from netstudy.documents.compact import DEFINITION
from netstudy.documents.fields import CountValue
from netstudy.documents.shapes import OneOrMore
from netstudy.documents.source import Written
from netstudy.documents.validation import Model, describe, fault, raise_faults
from netstudy.study.vocabulary import Measured, MetricName
from netstudy.wire import Level, Treatment

LEVELS_MAX = 10_000
"""The most levels of a factor: more would fill the memory, and nobody would read their results."""

_AT_MOST = "at most"
"""The key of the last level of an open-ended range."""
_RANGE = re.compile(r"(\d{1,18})\.\.(\d{1,18})?")


@dataclass(frozen=True)
class FactorLevel:
    """One level: the name that tables print, and the fields that `${field}` inserts."""

    name: Level
    fields: dict[str, Level] = field(default_factory=dict)
    description: str | None = None
    bundle: str | None = None
    """Other things that change together with the level: a difference is then not attributed to any
    one of them."""
    item: int | None = None
    """Index of the level in the file's list; None if it comes from a range."""

    @property
    def says_more(self) -> bool:
        """Whether the level has more than a name and a description."""
        return bool(self.fields or self.bundle)

    @property
    def text(self) -> str:
        """The level's description, and what changes together with the level."""
        together = f"changes together with {self.bundle}" if self.bundle else ""
        return "; ".join(part for part in (self.description, together) if part)


@dataclass(frozen=True)
class Growth:
    """How an outer loop grows a factor: level by level, until further levels bring no gain."""

    until: Literal["no gain"]
    confirm: int
    """Number of levels without gain, since the last gain, that end the loop."""
    open_ended: bool
    """Whether the levels were written without an end (`1..`); the last one is then `at_most`."""
    at_most: int | None = None
    """The last level of an open-ended range; None for a list."""
    of: MetricName | None = None
    """The metric that must gain; None: the workload's throughput."""


@dataclass(frozen=True)
class Levels:
    """The levels and the growth that a file gives for one factor."""

    levels: tuple[FactorLevel, ...]
    growth: Growth | None = None


@dataclass(frozen=True)
class _Growing:
    """The levels of an outer loop as they are written: a list, or the start of an open range."""

    listed: tuple[FactorLevel, ...]
    start: int | None
    """First level of a range without an end; None for a list."""
    text: str
    """The list or range as the file writes it."""


def columns_of_factors(factors: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names of columns for factors, in a table whose other columns are `taken`: a factor whose name
    is taken gets `<name>_level`."""
    used = set(taken)
    columns = []
    for factor in factors:
        name = factor
        while name in used:
            name += "_level"
        used.add(name)
        columns.append(name)
    return columns


def level_text(level: Level) -> str:
    """A level as tables print it and `--only` selects it."""
    if isinstance(level, bool):
        return "true" if level else "false"
    return str(level)


def has_levels(treatment: Treatment, levels: Mapping[str, Level]) -> bool:
    """Whether a treatment has all these levels; 1 and "1" are the same level."""
    return all(
        factor in treatment and _is_same(treatment[factor], level)
        for factor, level in levels.items()
    )


def _is_same(a: Level, b: Level) -> bool:
    return a == b if type(a) is type(b) else level_text(a) == level_text(b)


def is_numeric(levels: Iterable[Level]) -> bool:
    """Whether all levels are numbers, so that a numeric axis can show them."""
    return all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels)


def read_levels(value: object) -> Levels:
    """Read the levels of one factor. Raises pydantic errors with places inside the value."""
    if isinstance(value, dict):
        return _grown(value)
    return Levels(_named_once(_read_list(value)))


def count_range(text: object) -> tuple[int, int | None] | None:
    """The bounds of `1..23` or of `1..`; None when the text is not a range."""
    match = _RANGE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    return int(match[1]), int(match[2]) if match[2] else None


def range_levels(first: int, last: int) -> range:
    """The levels of `first..last`. A range that is too long is refused before its levels are
    built."""
    if last < first:
        raise fault(f"{first}..{last} runs backwards; did you mean {last}..{first}?")
    if last - first + 1 > LEVELS_MAX:
        raise fault(
            f"{first}..{last} has {last - first + 1:,} levels; a factor may have {LEVELS_MAX:,}"
        )
    return range(first, last + 1)


def _grown(value: dict[str, Any]) -> Levels:
    spec = GrowthSpec.model_validate(value)
    growth = Growth(spec.until, spec.confirm, spec.grow.start is not None, spec.at_most, spec.of)
    if spec.grow.start is None:
        if spec.at_most is not None:
            raise fault(
                "is only for a range without an end; a list ends with its last level", _AT_MOST
            )
        return Levels(spec.grow.listed, growth)
    if spec.at_most is None:
        text = spec.grow.text
        raise fault(
            f"{text} has no end; say the last level, as in {{grow: {text}, {_AT_MOST}: 64}}", "grow"
        )
    if spec.at_most < spec.grow.start:
        raise fault(f"is below the first level of {spec.grow.text}", _AT_MOST)
    levels = range_levels(spec.grow.start, spec.at_most)
    return Levels(tuple(FactorLevel(number) for number in levels), growth)


def _read_growing(value: object) -> _Growing:
    bounds = count_range(value)
    if bounds is not None and bounds[1] is None:
        return _Growing((), bounds[0], str(value))
    return _Growing(_named_once(_read_list(value)), None, str(value))


def _read_list(value: object) -> list[FactorLevel]:
    if isinstance(value, str):
        return [FactorLevel(number) for number in _whole_range(value)]
    if not isinstance(value, list):
        raise fault(f"must be a list of levels or a range such as 1..23, not {describe(value)}")
    if not value:
        raise fault("a factor needs at least one level")
    as_text = any(isinstance(item, Written) and not _is_shortest(item) for item in value)
    faults: list[PydanticCustomError] = []
    levels: list[FactorLevel] = []
    for index, item in enumerate(value):
        try:
            levels.extend(_read_item(item, index, as_text=as_text))
        except PydanticCustomError as error:
            faults.append(_moved(error, index))
    raise_faults(faults, "levels")
    if len(levels) > LEVELS_MAX:
        raise fault(f"{len(levels):,} levels; a factor may have {LEVELS_MAX:,}")
    return levels


def _moved(error: PydanticCustomError, key: str | int) -> PydanticCustomError:
    context = error.context or {}
    return fault(str(context["message"]), key, *context.get("at", ()))


def _whole_range(text: str) -> range:
    bounds = count_range(text)
    if bounds is None:
        raise fault(
            f"{describe(text)} is one level; a factor is a list of levels or a range such as 1..23"
        )
    first, last = bounds
    if last is None:
        raise fault(f"{text} has no end; write 1..23, or {_grow_text(text)}")
    return range_levels(first, last)


def _grow_text(text: object) -> str:
    """How a file must write levels without an end."""
    return f"{{grow: {text}, until: no gain, {_AT_MOST}: 64}}"


def _read_item(item: object, index: int, *, as_text: bool) -> Iterator[FactorLevel]:
    if isinstance(item, dict):
        yield _read_map(item, index)
        return
    bounds = count_range(item)
    if bounds is not None:
        if bounds[1] is None:
            raise fault(f"{item} has no end; write {_grow_text(item)}")
        yield from (FactorLevel(number) for number in range_levels(bounds[0], bounds[1]))
        return
    yield FactorLevel(_plain(item, as_text=as_text), item=index)


def _read_map(item: dict[str, Any], index: int) -> FactorLevel:
    if "name" not in item:
        raise fault("a level that is a map needs a name: {name: …, …}")
    fields: dict[str, Level] = {}
    for key, value in item.items():
        try:
            fields[key] = _plain(value)
        except PydanticCustomError as error:
            raise _moved(error, key) from None
    name = fields.pop("name")
    description, bundle = (
        None if (text := fields.pop(key, None)) is None else level_text(text)
        for key in ("description", "bundle")
    )
    return FactorLevel(name, fields, description, bundle, index)


def _plain(value: object, *, as_text: bool = False) -> Level:
    """A scalar as a plan keeps it: a number that is not written in its shortest form stays text."""
    if isinstance(value, Written):
        keep_text = as_text or not _is_shortest(value)
        number = int(value) if isinstance(value, int) else float(value)  # type: ignore[arg-type]
        return value.text if keep_text else number
    if isinstance(value, str) and not value.strip():
        raise fault("a level must not be empty")
    if isinstance(value, str | int | float | bool):
        return value
    raise fault(f"must be text or a number, not {describe(value)}")


def _is_shortest(value: Written) -> bool:
    number = int(value) if isinstance(value, int) else float(value)  # type: ignore[arg-type]
    return value.text == repr(number)


def _named_once(levels: list[FactorLevel]) -> tuple[FactorLevel, ...]:
    faults, seen = [], set[str]()
    for level in levels:
        text = level_text(level.name)
        if text in seen:
            at = () if level.item is None else (level.item,)
            faults.append(fault(f'the level "{text}" is given twice', *at))
        seen.add(text)
    raise_faults(faults, "levels")
    return tuple(levels)


class _Read:
    """Reads a value through a function, and describes it for editors."""

    def __init__(self, read: Callable[[object], object], schema: dict[str, Any]) -> None:
        self.read = read
        self.schema = schema

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return self.schema


_SCALAR: dict[str, Any] = {DEFINITION: "LevelValue", "type": ["string", "number", "boolean"]}
_NAMED: dict[str, Any] = {
    DEFINITION: "NamedLevel",
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _SCALAR | {"description": "Name that tables print and `--only` selects."},
        "description": {"type": "string", "description": "Description of the level, one sentence."},
        "bundle": {
            "type": "string",
            "description": "Parts that change together with the level, such as `kernel, libraries, "
            "storage server`: a difference is not credited to any one of them.",
        },
    },
    "additionalProperties": _SCALAR,
}
_LIST: dict[str, Any] = {
    DEFINITION: "Levels",
    "type": "array",
    "minItems": 1,
    "items": {"anyOf": [_SCALAR, _NAMED]},
}
_RANGE_TEXT: dict[str, Any] = {"type": "string", "pattern": r"^\d+\.\.\d+$"}
_GROWING_TEXT: dict[str, Any] = {"type": "string", "pattern": r"^\d+\.\.\d*$"}


class GrowthSpec(Model):
    """An outer loop: runs one level after the other, as long as the results gain."""

    grow: Annotated[_Growing, _Read(_read_growing, {"anyOf": [_LIST, _GROWING_TEXT]})]
    """The levels in order: a list, a range `1..8`, or `1..` without an end."""
    until: Literal["no gain"] = "no gain"
    """When to stop: when a level no longer gains. A level gains if its result over all replicates
    is better than at the last level that gained by more than `noise`. Without a declared noise, it
    must be better by more than the difference expected between two series of identical runs (A/A
    noise). A level that is in proportion to the load, or that still rises, is undecided."""
    confirm: CountValue = 1
    """Number of levels without gain that end the loop; a gain restarts the count, an undecided
    level does not count."""
    at_most: CountValue | None = Field(default=None, alias="at most")
    """The last level of a range without an end, which needs it; a list ends with its own last
    level."""
    of: Measured | None = None
    """The metric that must gain; by default, the workload's throughput. If neither direction of a
    metric is better, as for the rate at a port, a larger value is a gain."""


FACTOR_SCHEMA: dict[str, Any] = {
    DEFINITION: "Factor",
    "description": "A list of levels, a range such as 1..23, or an outer loop that grows.",
    "anyOf": [
        _LIST,
        _RANGE_TEXT,
        {DEFINITION: "Growth", **GrowthSpec.model_json_schema(by_alias=True)},
    ],
}

LevelValue = Annotated[Level, _Read(_plain, _SCALAR)]
"""The name of a level, where a study refers to a level."""
LevelChoice = Annotated[tuple[LevelValue, ...], OneOrMore()]
"""One level, a range of levels such as 1..6, or a list of both."""
FactorLevels = Annotated[Levels, _Read(read_levels, FACTOR_SCHEMA)]
