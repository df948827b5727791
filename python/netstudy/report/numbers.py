"""Numbers and names as text: the one place where digits and units are chosen for people.

A measured quantity is written in its most readable unit (46 ms, not 46,000 µs), with as many digits
as its uncertainty allows: the last one is at most one place after the first digit of the margin of
error, and there are never more than five. Counts and published values keep their digits. All
outputs for people use this module. Exports for programs have all digits, in the metric's own unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from netstudy.study import levels
from netstudy.units import format_duration, format_number
from netstudy.wire import Level

NO_BREAK = "\u00a0"
"""The character between a number and its unit, which keeps both on one line."""
MARGIN = " ± "
"""The text between a value and the half width of its interval."""
MISSING = ""
"""The text in a table for a value that was not measured."""


SMALLEST = 4
"""Even small values have at most this number of decimals."""
_ROUNDING = 1e-12
"""Smaller values are floating-point errors and printed as zero."""


def number_text(value: float, decimals: int) -> str:
    """A value with fixed decimals; a small nonzero value never looks like zero. Negative decimals
    round digits before the point: with −1, 5,254 becomes 5,250."""
    text = f"{round(value, decimals):,.0f}" if decimals < 0 else f"{value:,.{decimals}f}"
    if abs(value) < _ROUNDING:
        return "0"
    if float(text.replace(",", "")) == 0:
        is_cut = abs(value) < 10**-SMALLEST
        text = f"{abs(value):.{SMALLEST}f}" if is_cut else significant_text(value, 1)
    return text.replace("-", "−")


SIGNIFICANT = 5
"""A measured quantity has at most this number of significant digits."""


def fitting_decimals(
    value: float, decimals: int, half: float = 0.0, *, refines: bool = False
) -> int:
    """The decimals of a measured value: as many as requested, but no more than its uncertainty
    allows. `half` is the half width of the value's interval, or 0 if it is unknown. The last digit
    is at most one place after the first digit of `half`; with `refines`, it is at least at that
    place. There are at most five significant digits."""
    if half > 0 and math.isfinite(half):
        first = -_exponent(half)
        decimals = min(max(decimals, first) if refines else decimals, first + 1)
    if value and math.isfinite(value):
        decimals = min(decimals, SIGNIFICANT - 1 - _exponent(value))
    return decimals


def _exponent(value: float) -> int:
    """The power of ten of the first digit, after rounding to `SIGNIFICANT` digits."""
    return math.floor(math.log10(abs(float(f"{value:.{SIGNIFICANT - 1}e}"))))


def margin_text(half: float, decimals: int) -> str:
    """The half width of an interval as text: at least one unit of the last digit, so that it never
    looks like zero."""
    return number_text(max(half, 10.0**-decimals), decimals)


@dataclass(frozen=True)
class Quantity:
    """A number for people, before it becomes text, so that its unit can still be changed."""

    values: tuple[float, ...]
    """One value, or both ends of an interval."""
    decimals: int
    half: float = 0.0
    """Half width of the interval, shown as "± half"; 0: not shown."""
    mark: str = ""
    """The mark of a footnote, after the number."""
    is_count: bool = False
    """Whether the value is exact; then trailing zeros after the point are left out."""

    def __str__(self) -> str:
        """The quantity as text: 25.5, 25.5 ± 1.2, or 24.3 to 26.7."""
        text = " to ".join(number_text(value, self.decimals) for value in self.values)
        if self.is_count and "." in text:
            text = text.rstrip("0").rstrip(".")
        margin = f"{MARGIN}{margin_text(self.half, self.decimals)}" if self.half else ""
        return f"{text}{margin}{self.mark}"

    def scaled(self, power: int) -> Quantity:
        """The same quantity in a unit that is larger by this power of ten."""
        if not power:
            return self
        factor = 10.0**-power
        values = tuple(value * factor for value in self.values)
        return replace(self, values=values, half=self.half * factor, decimals=self.decimals + power)

    def in_unit(self, unit: str) -> str:
        """The text of the quantity in its most readable unit, with this unit."""
        scale = scale_of(unit, self.values)
        return with_unit(str(self.scaled(scale.power)), scale.unit)


def measured(value: float, decimals: int, half: float = 0.0, *, refines: bool = False) -> Quantity:
    """A measured value with the digits that its uncertainty allows, without its margin. With
    `refines`, it may have more decimals than requested, so that its margin is not printed as zero.
    A whole number is taken for a count and keeps all digits if no uncertainty is known and no
    decimals are requested."""
    is_count = not decimals and not half and float(value).is_integer()
    fitting = decimals if is_count else fitting_decimals(value, decimals, half, refines=refines)
    return Quantity((value,), fitting, is_count=is_count)


def interval_of(low: float, high: float, decimals: int, mark: str = "") -> Quantity | None:
    """An interval as a quantity; None if it has no width, or if both ends are printed alike."""
    half = (high - low) / 2
    if half <= _ROUNDING * max(abs(low), abs(high)):
        return None
    fitting = fitting_decimals(max(abs(low), abs(high)), decimals, half)
    found = Quantity((low, high), fitting, mark=mark)
    first, last = (number_text(end, fitting) for end in (low, high))
    return None if first == last else found


@dataclass(frozen=True)
class Scale:
    """A unit for people, and the power of ten by which it is larger than the unit of the values."""

    unit: str
    power: int = 0


@dataclass(frozen=True)
class _Units:
    """Units of a quantity; each unit is a thousand times the previous one."""

    names: tuple[str, ...]
    most: float
    """Values from this size on are written in a larger unit."""


_TIMES = _Units(("ns", "µs", "ms", "s"), 1e3)
_KINDS = (
    _TIMES,
    _Units(("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"), 1e4),
    _Units(("B", "kB", "MB", "GB", "TB"), 1e4),  # 1,460 B, not 1.46 kB
)
_LEAST = 0.1
"""Smaller values are written in a smaller unit."""
_LEAST_BESIDE, _MOST_BESIDE = 0.01, 1e5
"""If large and small values share a unit, it is made smaller until the smallest value reaches the
first limit, as long as the largest stays below the second."""


def scale_of(unit: str, values: Iterable[float]) -> Scale:
    """The most readable unit for these values, which are all in `unit`. Only units of times, rates
    and sizes change."""
    kind = next((one for one in _KINDS if unit in one.names), None)
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if kind is None or not sizes:
        return Scale(unit)
    smallest, largest = min(sizes), max(sizes)
    if _LEAST <= largest < kind.most:
        return Scale(unit)
    here = kind.names.index(unit)
    steps = math.floor(_exponent(largest) / 3)
    steps = max(-here, min(steps, len(kind.names) - 1 - here))
    while (
        steps > 0
        and smallest / 1000**steps < _LEAST_BESIDE
        and largest / 1000 ** (steps - 1) < _MOST_BESIDE
    ):
        steps -= 1
    return Scale(kind.names[here + steps], 3 * steps)


def exact_text(value: float, unit: str) -> str:
    """A declared value with all its digits, in its most readable unit."""
    scale = scale_of(unit, [value])
    exact = Decimal(repr(float(value))).scaleb(-scale.power)
    return with_unit(format_number(float(exact), ","), scale.unit)


MOST = 6
"""At most this number of decimals is used to distinguish values."""


def telling_decimals(spans: Sequence[tuple[float, float, float]], least: int) -> int:
    """The decimals for a column: the fewest, from `least` on, with which values with disjoint
    intervals look different. Each span has a value and the two ends of its interval; without
    repetitions, all three are equal."""
    ordered = sorted(spans)
    apart = [
        (one, other)
        for place, (one, _, high) in enumerate(ordered)
        for other, low, _ in ordered[place + 1 : place + 1 + _NEIGHBOURS]
        if high < low
    ]
    return next(
        (
            decimals
            for decimals in range(least, MOST)
            if all(f"{one:.{decimals}f}" != f"{other:.{decimals}f}" for one, other in apart)
        ),
        MOST if apart else least,
    )


_NEIGHBOURS = 3
"""Each value is compared with this number of next larger values, since only close values can look
equal."""


def small_decimals(values: Iterable[float], least: int) -> int:
    """The decimals for a column: `least`, or enough to print the smallest value with two
    significant digits if it is below 1. A column with large values has at most two decimals."""
    sizes = [abs(float(f"{value:.1e}")) for value in values if value]
    if not sizes:
        return least
    wanted = 1 - math.floor(math.log10(min(sizes)))
    return max(least, min(wanted, SMALLEST if max(sizes) < _LARGE else 2)) if wanted > 1 else least


_LARGE = 10.0
"""If a column has values from this size on, `small_decimals` gives at most two decimals."""


def significant(value: float, digits: int) -> Quantity:
    """A value with this many significant digits."""
    first = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}")))) if value else 0
    return Quantity((value,), digits - 1 - first)


def significant_text(value: float, digits: int) -> str:
    """A value with this many significant digits, never in powers of ten."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, digits - 1 - exponent)}f}".replace("-", "−")


def with_unit(text: str, unit: str) -> str:
    """A number with its unit, kept on one line; the unit 1/s is written as "382.1 a second"."""
    words = f"a{NO_BREAK}second" if unit == "1/s" else unit
    return f"{text}{NO_BREAK}{words}" if unit else text


def p_text(value: float) -> str:
    """A p value with three decimals; "<0.001" if it is smaller."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def level_text(level: Level | None) -> str:
    """A level as tables print it; empty for None."""
    return MISSING if level is None else levels.level_text(level)


def duration_text(duration_ns: int) -> str:
    """A duration in the unit with the shortest exact text, with "µs" instead of "us"."""
    return format_duration(duration_ns).replace("us", "µs")


def counted(factor: str, text: str) -> str:
    """A level together with its factor, for a sentence: "23 servers", "1 server", "rate 600"."""
    one = _singular(factor)
    if one is None:
        return f"{factor}{NO_BREAK}{text}"
    return f"{text}{NO_BREAK}{one if text == '1' else factor}"


def are_several(factor: str, level: Level | None) -> bool:
    """Whether the phrase for a level is a plural, such as "4 servers"."""
    text = level_text(level)
    return says_little(text) and text != "1" and _singular(factor) is not None


_ENDINGS_OF_ONE = ("ss", "us", "is", "bias", "alias", "dns", "tls", "os", "series")
"""Endings of factor names in s that are not plurals: loss, bus, basis, qos."""
_PLURALS = ("cpus", "gpus", "vcpus")
"""Words that are plurals although they have one of these endings."""


def _singular(factor: str) -> str | None:
    """The singular of a factor's name if it is a plural, such as "server" for "servers"; else
    None."""
    is_plural = factor.endswith(_PLURALS) or not factor.endswith(_ENDINGS_OF_ONE)
    if not factor.endswith("s") or not is_plural:
        return None
    return factor[:-2] if factor.endswith(("sses", "xes", "tches", "shes")) else factor[:-1]


_SAYS_LITTLE = ("on", "off", "yes", "no", "none", "true", "false")


def full_level(factor: str, level: Level | None) -> str:
    """A level for texts that do not mention its factor: numbers, on/off levels and single letters
    get the factor's name."""
    text = level_text(level)
    return counted(factor, text) if says_little(text) else text


def headed_level(factor: str, level: Level | None) -> str:
    """A level as the heading of a column. The line may break between factor and level, but not
    between a number and its unit."""
    own = level_text(level).replace(NO_BREAK, " ")
    full = full_level(factor, level).replace(NO_BREAK, " ")
    return full.replace(own, own.replace(" ", NO_BREAK))


def says_little(text: str) -> bool:
    """Whether a level needs its factor to be understood: a number, an on/off level, or a letter."""
    return text[:1].isdigit() or text in _SAYS_LITTLE or len(text) == 1


def spans(chosen: Sequence[Level | None], of: Sequence[Level | None]) -> list[str]:
    """The chosen levels as spans, "1, 3 to 6"; `of` has all levels in order."""
    found: list[str] = []
    run: list[Level | None] = []
    for level in of:
        if level in chosen:
            run.append(level)
        else:
            found += _span(run)
            run = []
    return [*found, *_span(run)]


def _span(run: Sequence[Level | None]) -> list[str]:
    """A run of levels: as "first to last", or one by one if there are fewer than three."""
    if len(run) < 3:
        return [level_text(level) for level in run]
    return [f"{level_text(run[0])} to {level_text(run[-1])}"]
