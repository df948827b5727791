"""The types of single values in YAML files: quantities with units, counts, choices, names.

Each type is an Annotated alias around a `Scalar`, which parses one YAML value, explains why another
value is wrong, and describes itself in the JSON Schema. A study file may write `${factor}` for a
value that varies; the value is then a `Ref` until a treatment gives it a level. The plain aliases
(`Rate`, `Size` …) accept values and references, the `…Value` aliases only values.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from netstudy.documents.compact import DEFINITION
from netstudy.documents.nearest import did_you_mean
from netstudy.documents.other_words import other_word
from netstudy.documents.source import Written
from netstudy.documents.validation import Writes, describe, fault
from netstudy.units import (
    DURATION,
    FINE_PERCENT,
    PERCENT,
    RATE,
    SIZE,
    Dimension,
    UnitError,
    format_in,
    parse_duration,
    parse_percent,
    parse_processor_share,
    parse_rate,
    parse_scale,
    parse_size,
)

_REF = re.compile(r"\$\{\s*([^{}]+?)\s*\}")


class Scalar(ABC):
    """A kind of single value."""

    @abstractmethod
    def parse(self, value: object) -> Any:
        """Turn a YAML value into the typed one. Raises ValueError that says what would be right."""

    @abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the values that a file may write."""

    @property
    def definition(self) -> str | None:
        """The name under which the schema of a file defines this type; None: the schema repeats the
        definition at each key."""
        return None

    def written(self, value: Any) -> Any:
        """A typed value as a file writes it: numbers and words unchanged, everything else as
        text."""
        return value if isinstance(value, str | bool | int | float) else str(value)


@dataclass(frozen=True)
class Ref:
    """`${name}`: the level of a factor, or a field of it, that a treatment supplies."""

    name: str
    scalar: Scalar = field(compare=False, repr=False)
    """The type of the level."""


def reference_name(value: object) -> str | None:
    """The name inside `${name}`, or None when the value is not a reference."""
    match = _REF.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else None


@dataclass(frozen=True)
class Typed(Writes):
    """Makes pydantic read a field through a Scalar."""

    scalar: Scalar
    refs: bool = True

    def read(self, value: object) -> Any:
        """The typed value, or a Ref if the file gives a reference."""
        if self.refs and (name := reference_name(value)):
            return Ref(name, self.scalar)
        if self.refs and isinstance(value, str) and "${" in value:
            raise fault(f'"{value}": a reference must be the whole value, as "${{name}}"')
        try:
            return self.scalar.parse(value)
        except ValueError as error:
            raise fault(str(error)) from None

    def written(self, value: Any) -> Any:
        """See Writes.written."""
        return self.scalar.written(value)

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Pydantic calls `read` and ignores the annotated type."""
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The scalar's own schema, or that of a reference if references are allowed."""
        own, name = self.scalar.json_schema(), self.scalar.definition
        if name is not None:
            own = {DEFINITION: name, **own}
        if not self.refs:
            return own
        level = {DEFINITION: "FactorLevel", "type": "string", "pattern": r"^\$\{[^{}]+\}$"}
        either = {"anyOf": [own, level]}
        return either if name is None else {DEFINITION: f"{name}OrFactorLevel", **either}


@dataclass(frozen=True)
class Quantity(Scalar):
    """A number with a unit."""

    dimension: Dimension
    read: Callable[[object], int | float]
    least: int = 0
    most: int | None = None

    def parse(self, value: object) -> int | float:
        """Read in the base unit of the dimension, within the bounds."""
        number = self.read(value)
        if number < self.least:
            least = format_in(self.dimension, self.least)
            raise ValueError(f"must be at least {least}, not {value}")
        if self.most is not None and number > self.most:
            most = format_in(self.dimension, self.most)
            raise ValueError(f"must be at most {most}, not {value}")
        return number

    def written(self, value: Any) -> str:
        """The value with the unit that makes it shortest."""
        return format_in(self.dimension, value)

    def json_schema(self) -> dict[str, Any]:
        """Text that ends in one of the units."""
        units = "|".join(re.escape(unit) for unit in self.dimension.units)
        return {
            "type": "string",
            "pattern": rf"^\d+(\.\d+)? ?({units})$",
            "examples": [self.dimension.example],
        }

    @property
    def definition(self) -> str:
        """The name of the dimension. Two dimensions are percentages; one of them is called
        "fine"."""
        words = ["fine"] if self.dimension is FINE_PERCENT else []
        return "".join(word.capitalize() for word in (*words, *self.dimension.name.split()))


@dataclass(frozen=True)
class Mtu(Scalar):
    """The largest IP packet in bytes. By convention, it is the only size that may be written
    without a unit."""

    def parse(self, value: object) -> int:
        """Read bytes, within the limits of IPv4 (RFC 791: 576 to 65,535)."""
        is_bare = isinstance(value, int) and not isinstance(value, bool)
        size = int(value) if is_bare else parse_size(value)  # type: ignore[call-overload]
        if not 576 <= size <= 65_535:
            raise UnitError(f"an MTU is between 576 and 65535 bytes, not {size}")
        return int(size)

    def json_schema(self) -> dict[str, Any]:
        """A bare number of bytes, or a size."""
        bare = {"type": "integer", "minimum": 576, "maximum": 65_535}
        size = Quantity(SIZE, parse_size)
        return {"anyOf": [bare, {DEFINITION: size.definition, **size.json_schema()}]}

    @property
    def definition(self) -> str:
        """The name of an MTU."""
        return "Mtu"


@dataclass(frozen=True)
class Whole(Scalar):
    """A whole number without a unit."""

    least: int
    most: int = 1_000_000_000
    """Ample for any count of hosts or iterations; a larger number is a typing mistake."""

    def parse(self, value: object) -> int:
        """Read an integer within the bounds."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"must be a whole number, not {describe(value)}")
        if value < self.least:
            raise ValueError(f"must be at least {self.least}, not {value}")
        if value > self.most:
            raise ValueError(f"must be at most {self.most}, not {value}")
        return int(value)

    def json_schema(self) -> dict[str, Any]:
        """An integer with its bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    @property
    def definition(self) -> str | None:
        """The definition's name; only types with the usual bounds have one."""
        usual = {Whole(0): "Whole", Whole(1): "Count"}
        return usual.get(self)


@dataclass(frozen=True)
class Number(Scalar):
    """A decimal number without a unit, not negative."""

    above: float | None = None
    """Lower bound, which the value must exceed; None: any number from 0 on."""

    def parse(self, value: object) -> float:
        """Read a finite number, also from text."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(f"must be a number, not {describe(value)}")
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            raise ValueError(f"must be a number, not {describe(value)}") from None
        if not number.is_finite() or number < 0:
            raise ValueError(f"must be a number that is not negative, not {describe(value)}")
        if self.above is not None and number <= self.above:
            raise ValueError(f"must be above {self.above:g}, not {describe(value)}")
        return float(number)

    def json_schema(self) -> dict[str, Any]:
        """A number with its bound."""
        if self.above is not None:
            return {"type": "number", "exclusiveMinimum": self.above}
        return {"type": "number", "minimum": 0}


@dataclass(frozen=True)
class Flag(Scalar):
    """true or false."""

    def parse(self, value: object) -> bool:
        """Read a YAML boolean."""
        if not isinstance(value, bool):
            raise ValueError(f"must be true or false, not {describe(value)}")
        return value

    def json_schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}

    @property
    def definition(self) -> str:
        """A boolean."""
        return "Flag"


@dataclass(frozen=True)
class Text(Scalar):
    """Text; a number keeps its written form, so that release 1.10 does not become 1.1."""

    def parse(self, value: object) -> str:
        """Read text that is not empty."""
        text = value.text if isinstance(value, Written) else value
        if isinstance(text, int | float) and not isinstance(text, bool):
            text = str(text)
        if not isinstance(text, str):
            raise ValueError(f"must be text, not {describe(value)}")
        if not text.strip():
            raise ValueError("must not be empty")
        return text.strip()

    def json_schema(self) -> dict[str, Any]:
        """A string, or a number read as its text."""
        return {"type": ["string", "number"]}

    @property
    def definition(self) -> str | None:
        """The definition's name, also for subclasses whose `parse` checks more than a schema
        can."""
        return "Text"


_NAME_MAX = 100
"""Names become parts of folder and file names, which are limited to 255 bytes."""


@dataclass(frozen=True)
class Name(Text):
    """A name that can be part of a path: letters, digits, `_`, `-`, beginning with a letter."""

    def parse(self, value: object) -> str:
        """Read a name."""
        text = super().parse(value)
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text):
            raise ValueError(f'"{text}" is not a name; use letters, digits, "_" and "-"')
        if len(text) > _NAME_MAX:
            raise ValueError(
                f'"{text[:20]}…" has {len(text)} characters; a name has {_NAME_MAX} at most'
            )
        return text

    def json_schema(self) -> dict[str, Any]:
        """A string with the pattern of a name."""
        return {
            "type": "string",
            "pattern": "^[A-Za-z][A-Za-z0-9_-]*$",
            "maxLength": _NAME_MAX,
        }

    @property
    def definition(self) -> str:
        """A name."""
        return "Name"


class ProfileName(Text):
    """The name of a profile and of its file: like a name, but dots are allowed, as in versions."""

    def parse(self, value: object) -> str:
        """Read the name of a profile."""
        text = super().parse(value)
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]*", text):
            raise ValueError(
                f'"{text}" is not a valid profile name; use letters, digits, ".", "_" and "-"'
            )
        return text


@dataclass(frozen=True)
class Choice(Scalar):
    """One of a closed list of words."""

    options: tuple[str, ...]
    what: str
    """Describes the options in a message: "a protocol"."""

    def parse(self, value: object) -> str:
        """Read one of the words."""
        if isinstance(value, str) and value in self.options:
            return value
        wrong = value.text if isinstance(value, Written) else str(value)
        hint = did_you_mean(wrong, self.listed())
        raise ValueError(f"{describe(value)} is not {self.what}{hint}{other_word(wrong)}")

    def listed(self) -> Sequence[str]:
        """The words that a message lists."""
        return self.options

    def json_schema(self) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": list(self.options)}


@dataclass(frozen=True)
class OpenChoice(Choice):
    """One of a list of words, or another word that only some testbeds know."""

    pattern: str
    """Of every word, listed or not."""

    def parse(self, value: object) -> str:
        """Read a word that has the pattern."""
        if isinstance(value, str) and re.fullmatch(self.pattern, value):
            return str(value)
        return super().parse(value)

    def json_schema(self) -> dict[str, Any]:
        """The listed words, which editors offer, or any other word of the pattern."""
        return {"anyOf": [super().json_schema(), {"type": "string", "pattern": self.pattern}]}


@dataclass(frozen=True)
class Scale(Scalar):
    """The factor that rates are multiplied by: a fraction, not above 1."""

    def parse(self, value: object) -> Fraction:
        """Read a fraction, such as 1/10 or 0.1."""
        return parse_scale(value)

    def json_schema(self) -> dict[str, Any]:
        """A number, or a fraction as text."""
        fraction = {"type": "string", "pattern": r"^\d+(\.\d+)?(/\d+)?$", "examples": ["1/10"]}
        return {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, fraction]}


_RATE = Quantity(RATE, parse_rate)
_SIZE = Quantity(SIZE, parse_size)

Rate = Annotated[int | Ref, Typed(_RATE)]
"""bit/s."""
RateValue = Annotated[int, Typed(_RATE, refs=False)]
Size = Annotated[int | Ref, Typed(_SIZE)]
"""bytes."""
SizeValue = Annotated[int, Typed(_SIZE, refs=False)]
Duration = Annotated[int | Ref, Typed(Quantity(DURATION, parse_duration))]
"""nanoseconds."""
PositiveSize = Annotated[int | Ref, Typed(Quantity(SIZE, parse_size, 1))]
"""bytes, at least one."""
_INTERVAL = Quantity(DURATION, parse_duration, 1, 3_600 * 10**9)
Interval = Annotated[int | Ref, Typed(_INTERVAL)]
"""nanoseconds between two events of a kind: at least one, an hour at most."""
IntervalValue = Annotated[int, Typed(_INTERVAL, refs=False)]
Pause = Annotated[int | Ref, Typed(Quantity(DURATION, parse_duration, 0, 3_600 * 10**9))]
"""nanoseconds of pause between two events of a kind: an hour at most."""
_DAY_NS = 86_400 * 10**9
"""A day, the longest phase: a longer duration is a typing mistake, and would overflow the engine's
clock."""
PhaseTime = Annotated[int | Ref, Typed(Quantity(DURATION, parse_duration, 0, _DAY_NS))]
"""nanoseconds, a day at most."""
MeasuringTime = Annotated[int | Ref, Typed(Quantity(DURATION, parse_duration, 1, _DAY_NS))]
"""nanoseconds, at least one and a day at most."""
DurationValue = Annotated[int, Typed(Quantity(DURATION, parse_duration, 1, _DAY_NS), refs=False)]
"""nanoseconds, at least one and a day at most."""
ProcessorShare = Annotated[float | Ref, Typed(Quantity(PERCENT, parse_processor_share, least=1))]
"""percent of one CPU: at least 1, in steps of 0.001, which are the smallest that a kernel can
impose."""
PercentValue = Annotated[float, Typed(Quantity(PERCENT, parse_percent, 0, 100), refs=False)]
ScaleValue = Annotated[Fraction, Typed(Scale(), refs=False)]
MtuSize = Annotated[int | Ref, Typed(Mtu())]
Count = Annotated[int | Ref, Typed(Whole(1))]
"""A whole number from 1."""
CountValue = Annotated[int, Typed(Whole(1), refs=False)]
WholeValue = Annotated[int, Typed(Whole(0), refs=False)]
Count0 = Annotated[int | Ref, Typed(Whole(0))]
"""A whole number from 0."""
SeedValue = Annotated[int, Typed(Whole(0, 2**63 - 1), refs=False)]
"""Any number that fits the engine's integers."""
Decimals = Annotated[float | Ref, Typed(Number())]
Switched = Annotated[bool | Ref, Typed(Flag())]
SwitchedValue = Annotated[bool, Typed(Flag(), refs=False)]
Words = Annotated[str | Ref, Typed(Text())]
WordsValue = Annotated[str, Typed(Text(), refs=False)]
NameValue = Annotated[str, Typed(Name(), refs=False)]
ProfileNameValue = Annotated[str, Typed(ProfileName(), refs=False)]
