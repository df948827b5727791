"""Tables about the testbed itself: its limits, and comparisons of its instruments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netstudy.analysis.testbed import (
    CheckFound,
    CheckInRun,
    LimitFound,
    LimitInRun,
    TestbedResult,
)
from netstudy.report.cellrefs import count, plain, treatment_text
from netstudy.report.refs import Name, Number, Sentence, join, say
from netstudy.report.tables import Group, Table, Value


@dataclass(frozen=True)
class Evidence:
    """The answer to a reader's question, with the tables that support it."""

    sentences: tuple[Sentence, ...]
    tables: tuple[Table, ...]
    """The tables. The first table is shown, and the others can be unfolded."""


def limits_evidence(testbed: TestbedResult) -> Evidence | None:
    """Whether the testbed limited the results, with tables; None if no run checked this, as in the
    simulator."""
    if not testbed.limits:
        return None
    return Evidence(tuple(_limits_text(testbed)), tuple(_limit_tables(testbed)))


def agreement_evidence(testbed: TestbedResult) -> Evidence | None:
    """Whether the instruments agree, with tables; None if there is only one instrument."""
    if not testbed.checks:
        return None
    return Evidence(tuple(_agreement_text(testbed)), tuple(_check_tables(testbed)))


def limit_sentence(found: LimitFound) -> Sentence:
    """A sentence on an exceeded limit: the number of runs that exceed it, and the worst of
    these."""
    worst = found.worst or found.exceeded[0]
    limit = worst.limit
    return say(
        "{name}: more than allowed in {n} of {runs} runs, {value} instead of at most {allowed} in "
        "run {run} ({where}): {evidence}.",
        name=Name(_capital(found.name)),
        n=count(len(found.exceeded), "runs that exceed the limit"),
        runs=count(len(found.in_runs), "runs that were looked at"),
        value=Name("unknown")
        if limit.value is None
        else _amount(limit.value, limit.unit, f"{found.name}, worst run"),
        allowed=_amount(limit.allowed, limit.unit, f"{found.name}, allowed"),
        run=Name(worst.run, code=True),
        where=Name(treatment_text(worst.treatment)),
        evidence=Name(limit.evidence or "no evidence given"),
    )


def check_sentence(found: CheckFound) -> Sentence:
    """A sentence on a check that does not hold: the number of runs, and the worst of these."""
    worst = found.worst.found
    return say(
        "{check}: does not hold in {n} of {runs} runs, {left} against {right} in run {run}.",
        check=Name(_capital(found.check)),
        n=count(len(found.disagreeing), "runs in which it does not hold"),
        runs=count(len(found.in_runs), "runs that have both counts"),
        left=_amount(worst.left, "", f"left count, {found.check}"),
        right=_amount(worst.right, "", f"right count, {found.check}"),
        run=Name(found.worst.run, code=True),
    )


def _limits_text(testbed: TestbedResult) -> list[Sentence]:
    exceeded = testbed.exceeded
    unknown = [Name(one.name) for one in testbed.limits if one.unknown]
    runs = {one.run for found in testbed.limits for one in found.in_runs}
    in_numbers = {one.run: one.is_in_numbers for found in exceeded for one in found.exceeded}
    looked = count(len(runs), "runs whose limits were looked at")
    sentences = [
        say(
            "In {n} of {runs} runs it was: they exceeded a limit of the testbed, beyond which it "
            "changes the result. {left_out}",
            n=count(len(in_numbers), "runs that exceed a limit"),
            runs=looked,
            left_out=_left_out([*in_numbers.values()]),
        )
        if in_numbers
        else say("In none of {runs} runs, as far as was measured.", runs=looked)
    ]
    sentences += [limit_sentence(found) for found in exceeded]
    if unknown:
        sentences.append(say("Not measured in some runs: {names}.", names=join(unknown)))
    return sentences


def _left_out(in_numbers: Sequence[bool]) -> Sentence:
    """A sentence on whether the statistics include the runs that exceed a limit."""
    invalid = in_numbers.count(False)
    if not invalid:
        return say(
            "They are in the numbers, so a difference there may come from the testbed and not from "
            "the factors."
        )
    if invalid == len(in_numbers):
        return say("They are kept out of the numbers.")
    return say(
        "{n} of them {are} kept out of the numbers; a difference in the others may come from the "
        "testbed and not from the factors.",
        n=count(invalid, "runs that a limit makes invalid"),
        are=Name("is" if invalid == 1 else "are"),
    )


def _limit_tables(testbed: TestbedResult) -> list[Table]:
    groups = (
        Group("limit"),
        Group("unit"),
        Group("allowed"),
        Group("worst run", columns=("value", "run")),
        Group("runs", columns=("looked at", "exceeded", "not measured")),
    )
    rows = tuple(map(_limit_row, testbed.limits))
    tables = [Table("testbed-limits", say("Limits of the testbed"), groups, rows)]
    bad = [one for found in testbed.exceeded for one in found.exceeded]
    if bad:
        tables.append(_exceeded_table(bad))
    return tables


def _limit_row(found: LimitFound) -> tuple[Value, ...]:
    worst, name = found.worst, found.name
    limit = (worst or found.in_runs[0]).limit
    value = None if worst is None else worst.limit.value
    return (
        Name(name),
        Name(limit.unit),
        _bare(limit.allowed, f"allowed, {name}"),
        None if value is None else _bare(value, f"worst run, {name}"),
        None if worst is None else Name(worst.run, code=True),
        count(len(found.in_runs), f"runs that looked at it, {name}"),
        count(len(found.exceeded), f"runs that exceeded it, {name}"),
        count(len(found.unknown), f"runs that could not measure it, {name}"),
    )


def _exceeded_table(bad: Sequence[LimitInRun]) -> Table:
    heads = ("run", "treatment", "replicate", "limit", "value", "allowed", "unit", "evidence")
    rows = tuple(
        (
            Name(one.run, code=True),
            Name(treatment_text(one.treatment)),
            Name(str(one.replicate)),
            Name(one.limit.name),
            None if one.limit.value is None else _bare(one.limit.value, one.limit.name),
            _bare(one.limit.allowed, f"allowed, {one.limit.name}"),
            Name(one.limit.unit),
            Name(one.limit.evidence),
        )
        for one in bad
    )
    caption = say("Runs that the testbed limited")
    return Table("testbed-exceeded", caption, tuple(map(Group, heads)), rows)


def _agreement_text(testbed: TestbedResult) -> list[Sentence]:
    total = count(len(testbed.checks), "checks of one instrument against another")
    if not testbed.disagreeing:
        return [say("All of {n} checks hold in every run.", n=total)]
    return [
        say(
            "{n} of {total} checks do not hold in every run.",
            n=count(len(testbed.disagreeing), "checks that some run does not keep"),
            total=total,
        ),
        *(check_sentence(found) for found in testbed.disagreeing),
    ]


def _check_tables(testbed: TestbedResult) -> list[Table]:
    groups = (
        Group("check"),
        Group("runs", columns=("looked at", "disagree")),
        Group("largest difference", columns=("left", "right", "difference", "tolerance")),
        Group("explained by"),
    )
    rows = tuple(map(_check_row, testbed.checks))
    tables = [Table("testbed-checks", say("Instruments compared with each other"), groups, rows)]
    bad = [one for found in testbed.disagreeing for one in found.disagreeing]
    if bad:
        tables.append(_disagreeing_table(bad))
    return tables


def _check_row(found: CheckFound) -> tuple[Value, ...]:
    worst, check = found.worst.found, found.check
    return (
        Name(check),
        count(len(found.in_runs), f"runs that have both, {check}"),
        count(len(found.disagreeing), f"runs in which it does not hold, {check}"),
        *_counts(found.worst),
        Name(worst.explained) if worst.explained else None,
    )


def _counts(one: CheckInRun) -> tuple[Number, ...]:
    found = one.found
    return (
        _bare(found.left, f"left, {found.check}"),
        _bare(found.right, f"right, {found.check}"),
        _bare(found.difference, f"left − right, {found.check}"),
        _bare(found.tolerance, f"tolerance, {found.check}"),
    )


def _disagreeing_table(bad: Sequence[CheckInRun]) -> Table:
    heads = ("run", "treatment", "replicate", "check", "left", "right", "difference", "tolerance")
    rows = tuple(
        (
            Name(one.run, code=True),
            Name(treatment_text(one.treatment)),
            Name(str(one.replicate)),
            Name(one.found.check),
            *_counts(one),
            Name(one.found.explained) if one.found.explained else None,
        )
        for one in bad
    )
    groups = tuple(map(Group, (*heads, "explained by")))
    return Table("testbed-disagreeing", say("Runs whose instruments disagree"), groups, rows)


def _amount(value: float, unit: str, source: str) -> Number:
    return plain(value, _decimals(value), unit, source)


def _bare(value: float, source: str) -> Number:
    return plain(value, _decimals(value), "", source)


def _decimals(value: float) -> int:
    """Decimals of a value: 0 for a whole number, 1 from 10 on, else 2."""
    if value == int(value):
        return 0
    return 1 if abs(value) >= 10 else 2


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
