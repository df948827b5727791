"""Sentences on buffers that never filled."""

from __future__ import annotations

from netstudy.analysis.caveats.never_filled import CannotFill, Depth, NeverFilled
from netstudy.report.caveats.base import caveat_sentence
from netstudy.report.numbers import full_level
from netstudy.report.prose.words import NOTHING
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.units import format_size


@caveat_sentence.register
def cannot_fill(found: CannotFill) -> Sentence:
    """Levels of a buffer that senders cannot fill."""
    return say(
        "The buffer cannot fill at {depths}: all senders together cannot send more than that at "
        "once, so nothing can differ between these levels of {factor}.",
        depths=_depths(found),
        factor=Name(found.factor),
    )


@caveat_sentence.register
def never_filled(found: NeverFilled) -> Sentence:
    """Levels of a buffer that no run filled."""
    return say(
        "The buffer never filled at {depths}, so nothing can differ between these levels "
        "of {factor}.",
        depths=_depths(found),
        factor=Name(found.factor),
    )


def _depths(found: CannotFill | NeverFilled) -> Sentence:
    """The levels, each with the largest fill of its buffer: measured, or possible."""
    return join([_depth(found.factor, one) for one in found.depths])


def _depth(factor: str, one: Depth) -> Sentence:
    most = NOTHING
    if one.most_bytes is not None:
        size, longest = (_size(value) for value in (one.size_bytes, one.most_bytes))
        most = say(" ({longest} of {size} at most)", longest=longest, size=size)
    return say("{level}{most}", level=Name(full_level(factor, one.level)), most=most)


def _size(value: int) -> Number:
    """Rounded to three digits."""
    digits = len(str(value))
    rounded = round(value, 3 - digits) if digits > 3 else value
    return Number(value, format_size(rounded), "bytes of frames")
