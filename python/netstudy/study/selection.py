"""Selects levels by the text that a user writes: `5`, `1..6`, `!60`, or a list of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from netstudy.documents.nearest import did_you_mean, suggestion
from netstudy.documents.problems import Path, fail
from netstudy.errors import StudyError
from netstudy.study.levels import count_range, level_text
from netstudy.study.model import Factor, Study
from netstudy.wire import Level


def select(factor: Factor, wanted: Iterable[Level]) -> tuple[Level, ...]:
    """The wanted levels, in the study's order. Raises ValueError for an unknown level."""
    chosen = {text for item in wanted for text in _texts(factor, item)}
    return tuple(name for name in factor.names if level_text(name) in chosen)


def one_level(factor: Factor, wanted: Level) -> Level:
    """The level with this name, as text or number. Raises ValueError if no level has this name.
    Ranges are not allowed here."""
    level = factor.level(wanted)
    if level is None:
        raise ValueError(_unknown(factor, level_text(wanted)))
    return level.name


def parse_only(
    options: Sequence[str], study: Study, option_name: str = "--only"
) -> dict[str, list[Level]]:
    """Read `--only factor=level,level` options into levels. Raises StudyError."""
    chosen: dict[str, list[Level]] = {}
    for option in options:
        name, sign, text = option.partition("=")
        where = f"{option_name} {option}"
        if not sign or not text.strip():
            raise StudyError(
                f"write {option_name} factor=level, such as {option_name} servers=1..6", where
            )
        factor = _factor(study, name.strip(), where)
        try:
            levels = select(factor, _items(factor, text.strip()))
        except ValueError as error:
            raise StudyError(str(error), where) from None
        chosen.setdefault(factor.name, []).extend(levels)
    return chosen


def quick_only(study: Study) -> dict[str, list[Level]]:
    """The levels that the short form keeps. Raises StudyError for a level that the study does not
    have."""
    return _kept(study, study.quick.only, ("quick", "only"))


def variant_only(study: Study, testbed: str) -> dict[str, list[Level]]:
    """The levels that a testbed's variant keeps; `study` is that variant. Raises StudyError."""
    return _kept(study, study.testbeds[testbed].only, ("testbeds", testbed, "only"))


def _kept(study: Study, only: Mapping[str, Iterable[Level]], path: Path) -> dict[str, list[Level]]:
    chosen: dict[str, list[Level]] = {}
    for name, wanted in only.items():
        factor = study.factors.get(name)
        if factor is None:
            message = f'no factor "{name}"{did_you_mean(name, study.factors)}'
            fail(study.document.problem((*path, name), message, of_key=True))
        try:
            chosen[name] = list(select(factor, wanted))
        except ValueError as error:
            fail(study.document.problem((*path, name), str(error)))
    return chosen


def _factor(study: Study, name: str, where: str) -> Factor:
    if name not in study.factors:
        hint = did_you_mean(name, study.factors)
        raise StudyError(f'the study has no factor "{name}"{hint}', where)
    return study.factors[name]


def _items(factor: Factor, text: str) -> list[str]:
    """The parts between commas, unless the whole text is the name of a level."""
    return [text] if factor.level(text) else [part.strip() for part in text.split(",")]


def _texts(factor: Factor, item: Level) -> list[str]:
    text = level_text(item)
    if factor.level(text):
        return [text]
    if text.startswith("!"):
        left_out = set(_texts(factor, text[1:].strip()))
        return [level_text(name) for name in factor.names if level_text(name) not in left_out]
    bounds = count_range(text)
    last = bounds[1] if bounds else None
    if bounds and last is not None and (inside := _inside(factor, bounds[0], last)):
        return inside
    raise ValueError(_unknown(factor, text))


def _inside(factor: Factor, first: int, last: int) -> list[str]:
    return [
        level_text(name)
        for name in factor.names
        if isinstance(name, int) and not isinstance(name, bool) and first <= name <= last
    ]


def _unknown(factor: Factor, text: str) -> str:
    names = [level_text(name) for name in factor.names]
    hint = suggestion(text, names) if not text.isdigit() else ""
    return f'factor {factor.name} has no level "{text}"{hint or f"; it has {_summary(factor)}"}'


def _summary(factor: Factor) -> str:
    names = [level_text(name) for name in factor.names]
    return ", ".join(names) if len(names) <= 8 else f"{names[0]} to {names[-1]}"
