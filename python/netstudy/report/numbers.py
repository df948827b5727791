"""Numbers and names as text: decimals, units, powers of ten, lists of levels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from netstudy.study import levels
from netstudy.units import format_duration
from netstudy.wire import Level

NO_BREAK = "\u00a0"
"""Goes between a number and its unit, to keep both on one line."""
MARGIN = " ± "
"""Goes between a value and the half width of its interval."""
MISSING = ""
"""Shown in a table for a value that was not measured."""


SMALLEST = 4
"""Decimals at which even a small value is cut."""
_ROUNDING = 1e-12
"""Floating-point error: smaller values are zero."""


def number_text(value: float, decimals: int) -> str:
    """A value with fixed decimals; a small value other than zero never looks like zero."""
    text = f"{value:,.{decimals}f}"
    if abs(value) < _ROUNDING:
        return "0"
    if float(text.replace(",", "")) == 0:
        is_cut = abs(value) < 10**-SMALLEST
        text = f"{abs(value):.{SMALLEST}f}" if is_cut else f"{value:.1g}"
    return text.replace("-", "−")


MOST = 6
"""Decimals beyond which values are not told apart."""


def telling_decimals(spans: Sequence[tuple[float, float, float]], least: int) -> int:
    """Decimals of values in one column: `least`, or as many more as it takes that values that
    differ beyond their noise differ in print. Each span is a value with the ends of its interval;
    of one value that was not repeated, both ends are the value."""
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
"""Next larger values that each value is held against: those are the ones that may look equal."""


def small_decimals(values: Iterable[float], least: int) -> int:
    """Decimals of values in one column: `least`, or as many more as give the smallest of them two
    significant digits, where it is below one. Beside large values, two at most."""
    sizes = [abs(float(f"{value:.1e}")) for value in values if value]
    if not sizes:
        return least
    wanted = 1 - math.floor(math.log10(min(sizes)))
    return max(least, min(wanted, SMALLEST if max(sizes) < _LARGE else 2)) if wanted > 1 else least


_LARGE = 10.0
"""A value with which a column needs no more than two decimals."""


def significant_text(value: float, digits: int) -> str:
    """A value with this many significant digits, never in powers of ten."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, digits - 1 - exponent)}f}".replace("-", "−")


def with_unit(text: str, unit: str) -> str:
    """The text with its unit, kept on one line; in a sentence a rate is "382.1 a second"."""
    words = f"a{NO_BREAK}second" if unit == "1/s" else unit
    return f"{text}{NO_BREAK}{words}" if unit else text


def p_text(value: float) -> str:
    """A p value with three decimals; smaller ones as a bound."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def level_text(level: Level | None) -> str:
    """A level as tables print it; empty without a factor."""
    return MISSING if level is None else levels.level_text(level)


def duration_text(duration_ns: int) -> str:
    """A duration in the shortest exact unit, micro with its own sign."""
    return format_duration(duration_ns).replace("us", "µs")


def counted(factor: str, text: str) -> str:
    """Levels of a factor in a sentence: "23 servers", "1 server", "rate 600"."""
    one = _singular(factor)
    if one is None:
        return f"{factor}{NO_BREAK}{text}"
    return f"{text}{NO_BREAK}{one if text == '1' else factor}"


def are_several(factor: str, level: Level | None) -> bool:
    """Whether a level that stands alone is a number of things other than one: "4 servers"."""
    text = level_text(level)
    return says_little(text) and text != "1" and _singular(factor) is not None


_ENDINGS_OF_ONE = ("ss", "us", "is", "bias", "alias", "dns", "tls", "os", "series")
"""Of names of factors that end in s and are no plural: loss, bus, basis, qos."""
_PLURALS = ("cpus", "gpus", "vcpus")
"""Plurals that have such an ending."""


def _singular(factor: str) -> str | None:
    """The name of one of the things that a factor counts; None for a factor that counts none."""
    is_plural = factor.endswith(_PLURALS) or not factor.endswith(_ENDINGS_OF_ONE)
    if not factor.endswith("s") or not is_plural:
        return None
    return factor[:-2] if factor.endswith(("sses", "xes", "tches", "shes")) else factor[:-1]


_SAYS_LITTLE = ("on", "off", "yes", "no", "none", "true", "false")


def full_level(factor: str, level: Level | None) -> str:
    """A level that stands alone: a number, a switch, or a letter says of which factor it is."""
    text = level_text(level)
    return counted(factor, text) if says_little(text) else text


def headed_level(factor: str, level: Level | None) -> str:
    """The same above a column, where factor and level may stand below one another: a number and its
    unit stay together."""
    own = level_text(level).replace(NO_BREAK, " ")
    full = full_level(factor, level).replace(NO_BREAK, " ")
    return full.replace(own, own.replace(" ", NO_BREAK))


def says_little(text: str) -> bool:
    """Whether a level is no name of its own: a number, a switch, or a letter."""
    return text[:1].isdigit() or text in _SAYS_LITTLE or len(text) == 1


def spans(chosen: Sequence[Level | None], of: Sequence[Level | None]) -> list[str]:
    """Levels as the shortest list of spans, "1, 3 to 6", given all levels in order."""
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
    """The ends of a long run as one span; the levels of a short run one by one, so that a list of
    spans contains only one "and"."""
    if len(run) < 3:
        return [level_text(level) for level in run]
    return [f"{level_text(run[0])} to {level_text(run[-1])}"]
