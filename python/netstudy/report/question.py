"""The kind of a study's question, read from its words: whether it is a question of yes or no, and
whether it is about a comparison, about growth, about a limit or about causes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Subject = Literal["limit", "growth", "comparison", "cause"]
Way = Literal["better", "worse", "larger", "smaller", "same"]

_AUXILIARY: Final = (
    "is|are|was|were|do|does|did|can|could|will|would|has|have|should|may|might|must"
)
_POLAR: Final = re.compile(rf"({_AUXILIARY})\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    rf",\s*(?:and|or|but)?\s*(?=(?:{_AUXILIARY}|which|what|where|why|how|when)\b)", re.IGNORECASE
)
_WAYS: Final[dict[Way, str]] = {
    "same": "same|alike|equal|equally|no difference|as much",
    "better": "faster|sooner|soonest|quicker|better|best|doubles?",
    "worse": "slower|later|worse|worst",
    "larger": "more|higher|larger|greater|longer|raises?|increases?",
    "smaller": "less|fewer|lower|smaller|shorter|reduces?|lowers?|decreases?",
}
_OUTCOMES: Final[dict[Way, str]] = {
    "better": "helps?|pays?|improves?|gains?|cures?|saves?",
    "worse": "harms?|hurts?|costs?",
}
"""Verbs for the outcome of a change. They decide before `_WAYS`, whose words may only name the
change: "does a lower minimum RTO help"."""
_SUBJECTS: Final[dict[Subject, str]] = {
    "growth": (
        "how many|how much more|stops? growing|scales?|grow|knee|plateau|hold|carry|sustain"
    ),
    "limit": "bottleneck|limits?|limited|caps?|fill|full|saturates?|sustained use",
    "cause": "why|because|cause",
    "comparison": "|".join(
        ("which", "differs?", "difference", "than", "or", *_WAYS.values(), *_OUTCOMES.values())
    ),
}
"""The words for each subject of a clause; the first subject with a word in the clause counts."""


@dataclass(frozen=True)
class Clause:
    """A part of the question that asks one thing."""

    text: str
    is_polar: bool
    """Whether its answer is yes or no."""
    subject: Subject | None
    """None: its words do not say."""

    @property
    def way(self) -> Way | None:
        """How the first of two things is asked to compare with the other."""
        return _first(_OUTCOMES, self.text) or _first(_WAYS, self.text)

    def has(self, words: str) -> bool:
        """Whether the clause has one of the words, which are separated by "|"."""
        return _place(words, self.text) is not None

    @property
    def asks_double(self) -> bool:
        """Whether it asks for twice as much."""
        return self.has("doubles?|twice")


def clauses(question: str) -> tuple[Clause, ...]:
    """The parts of a question, such as "Is the link full" and "would a faster one help"."""
    return tuple(_clause(part) for part in _CLAUSE.split(question.strip().rstrip("?")) if part)


def _clause(text: str) -> Clause:
    is_polar = _POLAR.match(text) is not None
    subjects = (kind for kind, words in _SUBJECTS.items() if _place(words, text) is not None)
    return Clause(text, is_polar, next(subjects, None))


def _first(ways: Mapping[Way, str], text: str) -> Way | None:
    """The way whose words come first in a text."""
    found = ((_place(words, text), way) for way, words in ways.items())
    placed = [(place, way) for place, way in found if place is not None]
    return min(placed)[1] if placed else None


def _place(words: str, text: str) -> int | None:
    found = re.search(rf"\b(?:{words})\b", text, re.IGNORECASE)
    return None if found is None else found.start()


def mentioned(levels: Iterable[str], text: str) -> Iterator[str]:
    """The levels that a text mentions, in its order."""
    lower = text.lower()
    found = {
        level: re.search(rf"(?<!\w){re.escape(level.lower())}(?!\w)", lower) for level in levels
    }
    placed = [(match.start(), level) for level, match in found.items() if match is not None]
    return (level for _, level in sorted(placed))
