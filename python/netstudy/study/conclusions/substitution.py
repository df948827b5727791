"""`substitution`: the effect of replacing one part."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.fields import NameValue
from netstudy.documents.problems import Path, Problem
from netstudy.study.conclusions.base import Checks, Conclusion
from netstudy.study.levels import LevelValue


class Substitution(Conclusion):
    """The effect of replacing one part while everything else stays the same."""

    substitution: NameValue
    """The factor whose levels replace each other."""
    base: LevelValue | None = None
    """The level that the others replace; by default, the first."""

    def problems(self, checks: Checks, path: Path) -> Iterator[Problem]:
        """An unknown factor or base."""
        yield from checks.factor((*path, "substitution"), self.substitution)
        yield from checks.level((*path, "base"), self.substitution, self.base)
