"""The expectations of a study as a table and as text: claim, levels and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netstudy.analysis.expectations import CheckedExpectation, Finding
from netstudy.documents.problems import listed
from netstudy.report.numbers import counted, level_text, says_little
from netstudy.report.refs import Name, Number, say
from netstudy.report.requirement_table import at_text, bound_text
from netstudy.report.tables import Group, Table, Value
from netstudy.wire import Level, Treatment

_FINDINGS: tuple[Finding, ...] = ("confirmed", "refuted", "undecided")


def expectations_table(found: Sequence[CheckedExpectation]) -> Table:
    """One row for each expectation, with the number of settings for each finding."""
    groups = (
        Group("Expected"),
        Group("At"),
        Group("Outcome"),
        Group("Settings", columns=_FINDINGS),
    )
    rows = tuple(map(_row, found))
    return Table("expectations", say("Expectations of the study"), groups, rows, stub=2)


def _row(one: CheckedExpectation) -> tuple[Value, ...]:
    counts = [(finding, len(one.found(finding))) for finding in _FINDINGS]
    return (
        Name(claim_text(one)),
        Name(at_text(one.expected.at, one.partly) or "every setting"),
        Name(one.outcome),
        *(Number(n, str(n), f"settings that are {finding}") for finding, n in counts),
    )


def claim_text(one: CheckedExpectation) -> str:
    """The claim, such as "completion time is lower with nexus-5010 than with arista-7124s"."""
    expected = one.expected
    if expected.that:
        return bound_text(expected.that, one.metric)
    label = one.metric.label if one.metric else str(expected.metric)
    a, b = _side(expected.with_), _side(expected.than)
    if expected.same:
        return f"{label} is the same with {a} and {b}"
    return f"{label} is {'lower' if expected.lower else 'higher'} with {a} than with {b}"


def _side(levels: Mapping[str, Level]) -> str:
    """The levels on one side of the claim; a level such as a number or "on" is preceded by its
    factor."""
    return listed(
        [
            f"{name} {level}" if says_little(level) else level
            for name, level in ((name, level_text(level)) for name, level in levels.items())
        ]
    )


def expectation_text(one: CheckedExpectation) -> str:
    """The claim, the levels at which it was expected, and the settings in which it does not
    hold."""
    where = at_text(one.expected.at, one.partly)
    text = f"{claim_text(one)} at {where}" if where else claim_text(one)
    settings = len(one.places)
    missed: tuple[tuple[Finding, str], ...] = (("refuted", "not so"), ("undecided", "open"))
    for finding, words in missed:
        places = one.found(finding)
        if places and (settings > 1 or finding == "refuted"):
            at = _place(places[0].treatment) if len(places) == 1 else ""
            of = f"in {len(places)} of {settings} settings" if settings > 1 else "here"
            text += f"; {words} {of}" + (f" ({at})" if at else "")
    return text


def _place(treatment: Treatment) -> str:
    return ", ".join(counted(name, level_text(level)) for name, level in treatment.items())


def expectations_as_data(found: Sequence[CheckedExpectation]) -> list[dict[str, Any]]:
    """The expectations of a study with the finding at each setting."""
    return [
        {
            "expected": claim_text(one),
            "at": {factor: list(levels) for factor, levels in one.expected.at.items()},
            "outcome": one.outcome,
            **{name: [dict(place.treatment) for place in one.found(name)] for name in _FINDINGS},
        }
        for one in found
    ]
