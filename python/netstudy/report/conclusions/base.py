"""The interface of each kind of conclusion in the report: its sentences and its tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from netstudy.analysis.conclusions.base import Drawn
from netstudy.report.question import Clause, Subject
from netstudy.report.refs import Sentence, say
from netstudy.report.truth import Truth, of_comparisons

if TYPE_CHECKING:
    from netstudy.analysis.conclusions import Concluded
    from netstudy.report.figures import Figure
    from netstudy.report.tables import Table
    from netstudy.study.conclusions.base import Conclusion

DrawnT = TypeVar("DrawnT", bound=Drawn[Any])


class ConclusionPage(ABC, Generic[DrawnT]):
    """The text and the tables of a kind of conclusion."""

    kind: ClassVar[type[Drawn[Any]]]
    """The findings of this kind."""
    subject: ClassVar[Subject | None] = None
    """The subject of the questions that this kind answers; None: it only adds to an answer."""

    @abstractmethod
    def sentences(self, drawn: DrawnT, found: Concluded) -> Iterator[Sentence]:
        """The findings, the weightiest first."""

    def in_answer(self, drawn: DrawnT, found: Concluded) -> Iterator[Sentence]:
        """The findings that the answer to the study's question may quote; all by default."""
        return self.sentences(drawn, found)

    def in_brief(self, drawn: DrawnT, found: Concluded) -> Iterator[Sentence]:  # noqa: ARG002
        """The findings that every answer may quote, whatever the question is; none by default."""
        yield from ()

    def truth(self, drawn: DrawnT, clause: Clause) -> Truth | None:
        """The answer to a question of yes or no; None if this kind gives none."""
        first = drawn.compared[:1]
        return of_comparisons(clause, [pair for one in first for pair in one.pairs])

    def next_run(self, drawn: DrawnT) -> Sentence | None:  # noqa: ARG002  # some kinds need it
        """The next run, which would decide the open points; None: no such run is known."""
        return None

    def tables(self, drawn: DrawnT, found: Concluded, key: str) -> Iterator[Table]:  # noqa: ARG002
        """The tables that support the findings, whose ids begin with `key`. A conclusion that is
        based on a single number has no table."""
        yield from ()

    def figures(
        self,
        drawn: DrawnT,  # noqa: ARG002  # some kinds need them
        found: Concluded,  # noqa: ARG002
        key: str,  # noqa: ARG002
    ) -> Iterator[Figure]:
        """The figures of the findings, whose names begin with `key`; none by default."""
        yield from ()

    def not_drawn(self, asked: Conclusion) -> Sentence:  # noqa: ARG002  # some kinds need it
        """The reason why the conclusion cannot be drawn."""
        return say("Not drawn: these runs lack measurements that it needs.")
