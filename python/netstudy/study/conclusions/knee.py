"""`knee`: the level above which a factor brings no further gain."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.documents.fields import NameValue
from netstudy.documents.problems import Path, Problem
from netstudy.study.conclusions.base import Checks, Conclusion


class Knee(Conclusion):
    """The level above which a factor brings no further gain. If the factor is no load, its levels
    are not compared with proportional growth."""

    knee: NameValue
    """The factor that grows."""

    @property
    def title(self) -> str:
        """The key and the factor."""
        return f"{self.key()} {self.knee}"

    def problems(self, checks: Checks, path: Path) -> Iterator[Problem]:
        """An unknown factor."""
        yield from checks.factor((*path, "knee"), self.knee)
