"""The text and pictures of a workload in the report; each workload has one file here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.documents.problems import listed
from netstudy.report.numbers import duration_text
from netstudy.report.prose.words import number_range, things
from netstudy.report.refs import Name, Number, Sentence, say
from netstudy.wire import Host, PhaseKind, Run, UntilCount, UntilTime, Zone

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellRow
    from netstudy.analysis.study_result import StudyResult
    from netstudy.report.tables import Table


@dataclass(frozen=True)
class Illustration:
    """A drawing of the work that a workload does."""

    svg: Callable[[Sequence[Run]], str]
    alt: Callable[[Sequence[Run]], str]
    """The drawing in words."""
    caption: str
    """The sentence below the drawing."""


_MESSAGES = say("sizes of messages")


@dataclass(frozen=True)
class WorkloadPage:
    """The text and the picture of a workload."""

    description: Callable[[Sequence[Run]], list[Sentence]]
    """Sentences, made from the plan, that describe the work of a run."""
    senders: str
    """A phrase for the hosts whose retransmitted segments are counted."""
    illustration: Illustration | None = None
    """The description as a drawing; None: there is none."""
    sized: Sentence = _MESSAGES
    """Which sizes of the workload are not scaled with link rates."""
    methods: Callable[[StudyResult], list[Sentence] | None] = lambda _: None
    """The sentences on methods, for values that do not come from runs; None: they do."""
    provenance: Callable[[StudyResult], Sentence] | None = None
    """The source of the values, if they do not come from a testbed."""
    single: Callable[[int, int], Sentence] | None = None
    """A sentence on the number of cells with a single value, for values that do not come from
    runs."""
    tables: Callable[[Sequence[CellRow], str], list[Table]] | None = None
    """Further tables on the cells of a test case; the second argument is the beginning of the
    tables' ids."""
    tables_heading: str = ""
    """The heading above these tables."""
    one_observation: Sentence | None = None
    """A sentence that says that two metrics with a constant product are only one observation."""


DRAWN_HOSTS = 4
"""Up to this many hosts of a role are drawn one by one; dots stand for the others."""
BAR_FILLS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def texts(found: Iterable[str]) -> str:
    """The texts as a list, without repetitions: "a, b or c"."""
    return listed(list(dict.fromkeys(found)), last="or")


def span(values: Iterable[int]) -> str:
    """A single number, or the lowest and the highest: "1 to 23"."""
    found = sorted(set(values))
    low, high = f"{found[0]:,}", f"{found[-1]:,}"
    return low if low == high else f"{low} to {high}"


def role_name(run: Run, role: str) -> str:
    """The common name of a role's members: the group of the first member or, if it has none, its
    name."""
    members = getattr(run.workload.roles, role)
    first = members[0].partition("@")[0]
    node = run.network.node(first)
    return node.group if isinstance(node, Host | Zone) else first


def members(runs: Sequence[Run], role: str, noun: str) -> Sentence:
    """The number of members of a role: "1 to 23 servers"."""
    counts = [len(set(getattr(run.workload.roles, role))) for run in runs]
    return things(number_range(counts, f"{role}s of the plan"), noun)


def agreeing(verb: str, subject: Sentence) -> Name:
    """The verb that agrees with a number of members: "1 client sends", "2 clients send"."""
    return Name(f"{verb}s" if str(subject).split()[:-1] == ["1"] else verb)


def lasting(runs: Sequence[Run], kind: PhaseKind, noun: str) -> Sentence | None:
    """The length of a phase: "1,000 iterations" or "60 s"; None if no run has this phase."""
    bounds = [bound for run in runs if (bound := run.until(kind)) is not None]
    counts = [bound.count for bound in bounds if isinstance(bound, UntilCount)]
    times = [bound.ns for bound in bounds if isinstance(bound, UntilTime)]
    if counts:
        return things(number_range(counts, f"{kind} of the plan"), noun)
    if times:
        return say("{time}", time=duration_range(times, f"{kind} of the plan"))
    return None


def duration_range(times_ns: Sequence[int], source: str) -> Number:
    """One duration, or the shortest and the longest."""
    low, high = min(times_ns), max(times_ns)
    text = duration_text(high)
    return Number(high, text if low == high else f"{duration_text(low)} to {text}", source)


def measured(runs: Sequence[Run], noun: str) -> Sentence:
    """The beginning of a sentence: "A run measures 60 s after 5 s of warm-up"."""
    measure = lasting(runs, "measure", noun) or say("one phase")
    warm_up = lasting(runs, "warm-up", noun)
    if warm_up is None:
        return say("A run measures {measure}", measure=measure)
    return say("A run measures {measure} after {warm} of warm-up", measure=measure, warm=warm_up)


def phase_line(runs: Sequence[Run], noun: str) -> str:
    """The content of `measured` as a line of text in a drawing."""
    measure, warm_up = lasting(runs, "measure", noun), lasting(runs, "warm-up", noun)
    after = f", after {warm_up} of warm-up" if warm_up is not None else ""
    return f"{measure} a run{after}; not to scale"


def probing(runs: Sequence[Run]) -> Iterator[Sentence]:
    """A sentence on the probe, if there is one."""
    probes = [run.probe for run in runs if run.probe is not None]
    if not probes:
        return
    idle = lasting(runs, "idle", "request")
    yield say(
        "In addition, a small request is due each {every} between every pair, on a connection of "
        "its own{idle}.",
        every=duration_range([probe.every_ns for probe in probes], "probe of the plan"),
        idle=say("")
        if idle is None
        else say("; for {idle} before the workload begins, nothing else is sent", idle=idle),
    )
