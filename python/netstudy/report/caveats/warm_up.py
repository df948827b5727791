"""Sentences on a measuring phase that still has part of the warm-up."""

from __future__ import annotations

from netstudy.analysis.caveats.warm_up import OnlyAtFirst, ShortWarmUp
from netstudy.report.caveats.base import caveat_sentence, named_cells
from netstudy.report.cellrefs import percent
from netstudy.report.refs import Name, Sentence, say


@caveat_sentence.register
def only_at_first(found: OnlyAtFirst) -> Sentence:
    """The cells in which nothing came after the first samples."""
    return say(
        "In {cells} all that was measured lies in the first {samples}; nothing came later.",
        samples=Name(f"{found.noun}s"),
        cells=named_cells(found.cells, found.table),
    )


@caveat_sentence.register
def short_warm_up(found: ShortWarmUp) -> Sentence:
    """The cells whose first samples differ, and by how much that shifts a mean."""
    return say(
        "The first {samples} differ from the later ones in {cells}, so the warm-up may be too "
        "short (MSER); they shift a mean by {effect} at most.",
        samples=Name(f"{found.noun}s"),
        effect=percent(
            found.most_pct,
            f"largest (mean − mean without the first {found.noun}s) ÷ the latter",
        ),
        cells=named_cells(found.cells, found.table),
    )
