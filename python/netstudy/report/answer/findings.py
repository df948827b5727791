"""The findings of a study in the order in which its question asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest

from netstudy.analysis.case_result import CaseResult
from netstudy.analysis.caveats import Caveat, forbidding, in_answer
from netstudy.analysis.claims import Claim, ClaimKind
from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.inseparable import Inseparable
from netstudy.analysis.metrics import Metric
from netstudy.analysis.study_result import StudyResult
from netstudy.analysis.verdict import Outcome, VerdictTable
from netstudy.documents.problems import listed
from netstudy.report.answer import comparison
from netstudy.report.answer.budget import Weighed, led
from netstudy.report.conclusions import page_of_conclusion
from netstudy.report.prose.grow import loop_sentence
from netstudy.report.prose.observe import out_of_order, ranges
from netstudy.report.prose.pairs import inseparable_sentence
from netstudy.report.prose.words import in_words
from netstudy.report.question import Clause, Subject, clauses
from netstudy.report.refs import Name, Sentence, join, say
from netstudy.report.truth import Truth, of_comparisons


@dataclass(frozen=True, eq=False)
class Source:
    """Findings about one thing in one test case."""

    subject: Subject | None
    sentences: tuple[Sentence, ...]
    """The weightiest first."""
    case: CaseResult
    concluded: Concluded | None = None
    compared: tuple[VerdictTable, ...] = ()

    @property
    def no_difference(self) -> Outcome | None:
        """ "same" or "undecided" if every pair of levels is so; None: they are not alike, or
        nothing is compared."""
        drawn = None if self.concluded is None else self.concluded.drawn
        first = () if drawn is None else drawn.compared[:1]
        rows = [row for one in first for pair in one.pairs for row in pair.rows]
        rows += [row for table in self.compared for row in table.rows]
        outcomes = {row.outcome for row in rows} - {"missing"}
        return next(iter(outcomes)) if outcomes in ({"same"}, {"undecided"}) else None

    @property
    def is_open(self) -> bool:
        """Whether the findings decide nothing."""
        drawn = None if self.concluded is None else self.concluded.drawn
        return drawn is not None and drawn.is_open

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the findings."""
        if self.concluded is not None and self.concluded.drawn is not None:
            return self.concluded.drawn.claims()
        return tuple(_claims(self.compared, {"different": "different", "same": "equal"}))

    @property
    def open(self) -> tuple[Claim, ...]:
        """The claims that the findings could make if they decided more: a caveat that forbids such
        a claim explains why it is undecided."""
        either: tuple[ClaimKind, ...] = ("different", "equal")
        return tuple(one for kind in either for one in _claims(self.compared, {"undecided": kind}))

    def truth(self, clause: Clause, result: StudyResult) -> Truth | None:
        """The answer that these findings give to a clause of yes or no; None: they give none."""
        if not clause.is_polar:
            return None
        if self.concluded is not None:
            drawn = self.concluded.drawn
            return page_of_conclusion(self.concluded).truth(drawn, clause)
        base = None if result.comparing is None else result.comparing.base
        return of_comparisons(clause, self.compared, base)


def _claims(tables: Iterable[VerdictTable], kinds: Mapping[Outcome, ClaimKind]) -> Iterator[Claim]:
    """A claim for each outcome that occurs in a table, of the kind that belongs to the outcome."""
    for table in tables:
        for outcome, kind in kinds.items():
            if table.with_outcome(outcome):
                levels = (table.level, table.base)
                worse = table.worse if kind == "different" == outcome else None
                settled = outcome == "same"
                yield Claim(kind, table.factor, levels, table.metric, worse, settled)


@dataclass(frozen=True, eq=False)
class Allowed:
    """The findings that no caveat forbids, and the caveats that forbid others."""

    sources: tuple[Source, ...]
    caveats: tuple[Caveat, ...]


def allowed(result: StudyResult) -> Allowed:
    """The findings of all test cases, except findings with a claim that a caveat forbids."""
    every = [one for case in result.cases for one in _sources(result, case)]
    kept = (one for one in every if not forbidding(one.claims, result.caveats))
    claims = [claim for one in every for claim in (*one.claims, *one.open)]
    return Allowed(tuple(kept), in_answer(claims, result.caveats))


def findings_first(result: StudyResult, sources: Sequence[Source]) -> Iterator[Weighed]:
    """The sentences of the answer, the weightiest first: for each clause of the question, the first
    finding about what it asks; then the other findings."""
    asked, alike = clauses(result.question), _alike(sources)
    sources = [one for one in sources if one not in alike]
    used: list[Source] = []
    turns: list[list[Iterator[Weighed]]] = []
    for clause in asked:
        found = [one for one in _about(clause, sources, asked, result) if one not in used]
        used += found
        turns.append([led(_led_by_truth(one, clause, result)) for one in found])
    rest = [led(_in_case(one, result)) for one in sources if one not in used]
    # The first source of each clause, then the second of each: no clause takes all the words.
    firsts = [one for turn in zip_longest(*turns) for one in turn if one is not None]
    if alike:
        firsts.insert(sum(map(bool, turns)), iter([Weighed(_alike_sentence(alike))]))
    yield from _in_turn(firsts, turns_max=_TURNS)
    yield from _in_turn([*firsts, *rest])


_TURNS = 2
"""Number of sentences of each asked finding that precede the other findings."""


def _alike(sources: Sequence[Source]) -> list[Source]:
    """The comparisons that show no difference, if there are several in different test cases: one
    sentence names them all."""
    found = [one for one in sources if one.subject == "comparison" and one.no_difference]
    return found if len({one.case.name for one in found}) > 1 else []


def _alike_sentence(alike: Sequence[Source]) -> Sentence:
    parts = []
    for outcome, word in (("same", "equal"), ("undecided", "too close to call")):
        names = [one.case.name for one in alike if one.no_difference == outcome]
        if names:
            told = Name(listed(list(dict.fromkeys(names))))
            parts.append(say("{names}: {word}", names=told, word=Name(word)))
    return say("{parts}.", parts=join(parts, last="", between="; "))


def _in_turn(each: Sequence[Iterator[Weighed]], turns_max: int | None = None) -> Iterator[Weighed]:
    """The first sentence of each source, then the second of each, and so on; at most `turns_max`
    of each."""
    found = zip_longest(*(islice(one, turns_max) for one in each))
    return (one for turn in found for one in turn if one is not None)


def _about(
    clause: Clause, sources: Sequence[Source], asked: Sequence[Clause], result: StudyResult
) -> list[Source]:
    """The sources about the subject of a clause, and the sources that answer it by yes or no, which
    come first; for the only clause of a question whose subject has no source, or is unknown, all
    sources."""
    truths = {id(one): one.truth(clause, result) for one in sources}
    subject = clause.subject
    found = [one for one in sources if (subject and one.subject == subject) or truths[id(one)]]
    found.sort(key=lambda one: (truths[id(one)] in (None, "Not decided"), one.is_open))
    return found or (list(sources) if len(asked) == 1 else [])


def _led_by_truth(source: Source, clause: Clause, result: StudyResult) -> Iterator[Sentence]:
    """The sentences of a source, the first one after "Yes:" or "No:" if the clause asks so."""
    word = source.truth(clause, result)
    for number, sentence in enumerate(_in_case(source, result)):
        # An undecided finding says so itself.
        if number or word in (None, "Not decided"):
            yield sentence
        else:
            yield say("{word}: {text}", word=Name(str(word)), text=sentence)


def _in_case(source: Source, result: StudyResult) -> Iterator[Sentence]:
    """The sentences of a source, each with its test case if there are several: between them stand
    sentences on other test cases."""
    for sentence in source.sentences:
        if len(result.cases) == 1:
            yield sentence
        else:
            yield say("{case}: {text}", case=Name(source.case.name), text=sentence)


def _sources(result: StudyResult, case: CaseResult) -> Iterator[Source]:
    """The findings of a test case."""
    tables = deciding_tables(result, case)
    if tables:
        sentences = tuple(_compared(result, case, tables))
        # A difference that belongs to several things is no answer about one of them.
        credited = () if _together(result, case) else tuple(tables)
        yield Source("comparison", sentences, case, compared=credited)
    asked = {clause.subject for clause in clauses(result.question)} - {None}
    default = (one for one in result.by_default if page_of_conclusion(one).subject in asked)
    concluded = (*result.concluded, *default)
    drawn = [one for one in concluded if one.case == case.name and one.drawn is not None]
    for one in drawn:
        page = page_of_conclusion(one)
        yield Source(page.subject, tuple(page.in_answer(one.drawn, one)), case, concluded=one)
    if case.loops:
        yield Source("growth", tuple(map(loop_sentence, case.loops)), case)
    if not tables and not drawn and not case.loops:
        yield Source(None, tuple(_observed(result, case)), case)
    broken = chain.from_iterable(
        (in_words(found.panel, one) for one in out_of_order(found, result)) for found in case.panels
    )
    yield from (Source(None, (one,), case) for one in broken)


def _compared(
    result: StudyResult, case: CaseResult, tables: Sequence[VerdictTable]
) -> Iterator[Sentence]:
    together = _together(result, case)
    if together:
        yield from map(inseparable_sentence, together)
        return
    whole = result.effects_in(case)
    is_polar = any(clause.is_polar for clause in clauses(result.question))
    if len(tables) == 1 or len(case.layout.factors) == 1 or whole is None:
        for table in tables:
            found = next(one for one in case.panels if table in one.verdicts)
            yield from comparison.two_levels(found, table, keeps_order=is_polar)
    elif result.comparing is not None:
        yield from comparison.many_levels(result.comparing.factor, whole)


def _together(result: StudyResult, case: CaseResult) -> list[Inseparable]:
    return [one for one in result.inseparable if one.case == case.name]


def deciding_tables(result: StudyResult, case: CaseResult) -> list[VerdictTable]:
    """The verdicts of a test case on the deciding metric."""
    tables = (table for found in case.panels for table in found.verdicts)
    return [table for table in tables if table.metric == result.deciding]


def _observed(result: StudyResult, case: CaseResult) -> Iterator[Sentence]:
    """For studies that compare and conclude nothing: the factors that matter, else the range of
    each metric."""
    whole = result.effects_in(case)
    if whole is not None and whole.ranked:
        yield from comparison.factors(whole, _load(case))
        return
    each = [[in_words(found.panel, one) for one in ranges(found)] for found in case.panels]
    yield from (one for turn in zip_longest(*each) for one in turn if one is not None)


def _load(case: CaseResult) -> str | None:
    """The factor along x if it is numeric: its effect is expected. None if the levels along x are
    names."""
    return case.layout.x if any(found.panel.x_numeric for found in case.panels) else None


def key_metric(result: StudyResult, cases: Iterable[CaseResult]) -> Metric:
    """The metric that the answer about these test cases is about: that of the first finding."""
    sources = [one for case in cases for one in _sources(result, case)]
    asked = clauses(result.question)
    first = next((one for clause in asked for one in _about(clause, sources, asked, result)), None)
    if first is None or first.concluded is None or first.concluded.drawn is None:
        return result.deciding
    return first.concluded.drawn.about or result.cells.workload.throughput


def worth_a_figure(result: StudyResult) -> list[CaseResult]:
    """The test cases that show a difference; all test cases if none shows one."""
    return [case for case in result.cases if _differs(result, case)] or [*result.cases]


def _differs(result: StudyResult, case: CaseResult) -> bool:
    drawn = (one.drawn for one in result.concluded if one.case == case.name and one.drawn)
    pairs = (pair for one in drawn for levels in one.compared for pair in levels.pairs)
    tables = deciding_tables(result, case)
    rows = [row for one in tables for row in one.rows]
    rows += [row for one in pairs for row in one.rows]
    return not rows or any(row.outcome == "different" for row in rows)
