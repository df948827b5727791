"""Sentences that compete for the words of a box: the weightiest come first, as long as they fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from netstudy.report.refs import Sentence


@dataclass(frozen=True)
class Weighed:
    """A sentence that is added if there is room."""

    sentence: Sentence
    after: Sentence | None = None
    """The sentence that must come before this one, because it names the subject of both; None if
    this one needs no other."""


def alone(sentences: Iterable[Sentence]) -> Iterator[Weighed]:
    """Sentences that can each stand without the others."""
    return map(Weighed, sentences)


def led(sentences: Iterable[Sentence]) -> Iterator[Weighed]:
    """Sentences whose subject is named by the first one, so that none may appear without the
    first."""
    first = None
    for sentence in sentences:
        yield Weighed(sentence, first)
        first = first or sentence


def in_order(sentences: Iterable[Sentence]) -> Iterator[Weighed]:
    """Sentences that may each appear only after the one before."""
    before = None
    for sentence in sentences:
        yield Weighed(sentence, before)
        before = sentence


def within(
    weighed: Iterable[Weighed], words_max: int, *, first_always: bool = True
) -> list[Sentence]:
    """The first sentences that fit into `words_max` words together, without repetitions. With
    `first_always`, the first one is kept even if it is too long."""
    found: dict[str, Sentence] = {}
    said: list[Sentence] = []
    left = words_max
    for one in weighed:
        text, words = str(one.sentence), words_in([one.sentence])
        if one.after is not None and not any(one.after is sentence for sentence in said):
            continue
        if text in found:
            said.append(one.sentence)
        elif words <= left or (first_always and not found):
            said.append(one.sentence)
            found[text] = one.sentence
            left -= words
    return list(found.values())


def words_in(sentences: Iterable[Sentence]) -> int:
    """The number of words of these sentences."""
    return sum(len(str(sentence).split()) for sentence in sentences)
