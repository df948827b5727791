"""The interface of each kind of conclusion in the report: its sentences and its tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from netstudy.analysis.conclusions.base import Drawn
from netstudy.report.refs import Sentence, say

if TYPE_CHECKING:
    from netstudy.analysis.conclusions import Concluded
    from netstudy.report.tables import Table
    from netstudy.study.conclusions.base import Conclusion

DrawnT = TypeVar("DrawnT", bound=Drawn[Any])


class ConclusionPage(ABC, Generic[DrawnT]):
    """The text and the tables of a kind of conclusion."""

    kind: ClassVar[type[Drawn[Any]]]
    """The findings of this kind."""

    @abstractmethod
    def sentences(self, drawn: DrawnT, found: Concluded) -> Iterator[Sentence]:
        """The findings, the weightiest first."""

    def headline(self, drawn: DrawnT, found: Concluded) -> Sentence:
        """The finding in one sentence."""
        return next(self.sentences(drawn, found))

    def tables(self, drawn: DrawnT, found: Concluded, key: str) -> Iterator[Table]:  # noqa: ARG002
        """The tables that support the findings, whose ids begin with `key`. A conclusion that is
        based on a single number has no table."""
        yield from ()

    def not_drawn(self, asked: Conclusion) -> Sentence:  # noqa: ARG002  # some kinds need it
        """The reason why the conclusion cannot be drawn."""
        return say("Not drawn: these runs do not measure what it needs.")
