"""Shared parts of the sentences of caveats."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from netstudy.analysis.caveats import Caveat
from netstudy.analysis.cells import CellRow, CellTable
from netstudy.documents.problems import listed
from netstudy.report.cellrefs import treatment_text
from netstudy.report.numbers import duration_text, spans
from netstudy.report.refs import Name, Number, Sentence, join
from netstudy.study.levels import is_numeric
from netstudy.wire import Level, Treatment


@singledispatch
def caveat_sentence(found: Caveat) -> Sentence:
    """A caveat as a sentence: the finding, why it weakens the result, and often a remedy. Each
    kind registers its own."""
    raise TypeError(f"the caveat {type(found).__name__} has registered no sentence")


def duration(duration_ns: int, source: str = "as the study has it") -> Number:
    """A duration in words."""
    return Number(duration_ns, duration_text(duration_ns), source)


def named_cells(cells: Sequence[CellRow], table: CellTable, word: str = "in") -> Sentence:
    """Lists cells by their levels; cells that differ only in the factor along x become one span.
    `word` is the preposition before the list, which is repeated before its last item.

    A factor with the same level in all cells does not distinguish them, and is left out.
    """
    along = next((f for f, levels in table.factors.items() if is_numeric(levels)), None)
    telling = {f for f, levels in table.factors.items() if len(levels) > 1} or set(table.factors)
    groups: dict[str, list[Level]] = {}
    for cell in cells:
        rest = {f: level for f, level in cell.treatment.items() if f in telling and f != along}
        groups.setdefault(treatment_text(rest), []).append(cell.treatment.get(along or "", ""))
    if along is None:
        return join([Name(text) for text in groups], between="; ")
    names = [_span_name(text, along, chosen, table) for text, chosen in groups.items()]
    return join(names, last=f"and {word}", between="; ")


def _span_name(text: str, along: str, chosen: Sequence[Level], table: CellTable) -> Name:
    levels = listed(spans(chosen, table.factors[along]))
    return Name(f"{text}, {along}={levels}" if text else f"{along}={levels}")


def at_setting(treatment: Treatment) -> Name:
    """A setting in brackets, at the end of a phrase."""
    text = treatment_text(treatment)
    return Name(f" (at {text})" if text else "")
