"""Parts of the study that the report does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.caveats.base import Analysed, Caveat


@dataclass(frozen=True)
class NotShown(Caveat):
    """A part of the study that this version cannot show in the report."""

    part: str
    """Its path, or the name of a metric."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NotShown]:
        """One caveat for each part."""
        return map(cls, analysed.not_shown)


@dataclass(frozen=True)
class LeftOut(Caveat):
    """Parts of the study that were left out of the run."""

    parts: tuple[str, ...]
    by_variant: bool
    """Whether the variant for the testbed leaves them out; else the user does."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[LeftOut]:
        """One caveat for the user's parts, and one for the variant's."""
        if analysed.left_out:
            yield cls(tuple(analysed.left_out), by_variant=False)
        if analysed.left_out_by_variant:
            yield cls(tuple(analysed.left_out_by_variant), by_variant=True)
