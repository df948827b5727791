"""The bottleneck of every cell, as a document: the limits of throughput, the resources that are
ruled out and why, and the missing measurements of undecided cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from netstudy.analysis.bounds.candidates import Candidate, LimitKind
from netstudy.analysis.bounds.parts import Part
from netstudy.analysis.bounds.verdict import Cause, Level
from netstudy.analysis.cells import CellTable
from netstudy.analysis.conclusions import Concluded
from netstudy.analysis.conclusions.bottleneck import Bottlenecks, Limits
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.intervals import Interval
from netstudy.analysis.metrics import Metric
from netstudy.study.conclusions.bottleneck import Bottleneck
from netstudy.study.levels import level_text
from netstudy.wire import Treatment

if TYPE_CHECKING:
    from netstudy.study import Study

UNSURE: Final = ("may be reached", "limit not known", "not measured")
"""States of candidates that may be the limit where it is not decided."""


@dataclass(frozen=True)
class Evidence:
    """A measured value, and the limit that it is compared with."""

    metric: str
    value: float | None
    limit: float | None
    interval: Interval | None = None
    """The 95 % interval of the value."""

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        interval = None if self.interval is None else [self.interval.low, self.interval.high]
        return {
            "metric": self.metric,
            "value": self.value,
            "limit": self.limit,
            "interval": interval,
        }


@dataclass(frozen=True)
class Next:
    """The bound that throughput meets first if the load grows."""

    kind: LimitKind
    node: str
    name: str
    bound: float
    """In the unit of throughput."""
    load: float | None
    """The level of the load in proportion; None: the load is no number."""

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Entry:
    """A limit, a resource that is ruled out, or one that cannot be told, in one cell."""

    kind: LimitKind
    node: str
    """Empty: it belongs to no node."""
    name: str
    at: Treatment
    evidence: tuple[Evidence, ...] = ()
    cause: Cause | None = None
    """Why it limits throughput; None: it does not."""
    next: Next | None = None
    """Where all of the load is served: the next bound."""
    why: str = ""
    """Why it is ruled out."""
    measure: str = ""
    """The measurement that would decide."""

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        data: dict[str, Any] = {"kind": self.kind, "node": self.node, "name": self.name}
        data |= {"at": self.at}
        data |= {"cause": self.cause} if self.cause else {}
        data |= {"next": self.next.as_data()} if self.next else {}
        data |= {"evidence": [one.as_data() for one in self.evidence]} if self.evidence else {}
        data |= {"why": self.why} if self.why else {}
        return data | ({"what to measure": self.measure} if self.measure else {})


@dataclass(frozen=True, eq=False)
class Setting:
    """The limits at one setting of a test case, by the levels of its load."""

    case: str
    load: str | None
    """The factor that sets the load."""
    limits: Limits


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The bottleneck of a study at every setting."""

    concluded: tuple[Concluded, ...]
    """The conclusion of each test case."""
    settings: tuple[Setting, ...]
    """Empty: no cell has a throughput."""

    @property
    def is_undecided(self) -> bool:
        """True if the limit of some cell is not decided."""
        return any(map(is_undecided, self._levels()))

    def as_data(self) -> dict[str, Any]:
        """The entries for JSON, in the order of the cells. Limits of the same cell are joint."""
        settings = [(one, level) for one in self.settings for level in one.limits.levels]
        bottleneck = [e for one, level in settings for e in named(one.limits, level)]
        ruled_out = [e for one, level in settings for e in ruled_out_at(one.limits, level)]
        cannot_tell = [e for _, level in settings for e in cannot_tell_at(level)]
        return {
            "bottleneck": [one.as_data() for one in bottleneck],
            "ruled_out": [one.as_data() for one in ruled_out],
            "cannot_tell": [one.as_data() for one in cannot_tell],
        }

    def _levels(self) -> Iterator[Level]:
        return (level for one in self.settings for level in one.limits.levels)


def diagnose(study: Study, table: CellTable) -> Diagnosis:
    """Judges every cell of every test case, with the candidates that the study names for it."""
    found: list[Concluded] = []
    settings: list[Setting] = []
    for case in table.cases:
        own = (one for one in study.conclude if isinstance(one, Bottleneck))
        asked = next((one for one in own if one.case in (None, case)), Bottlenecks.by_default())
        cells = Cells.of(study, table, case, {})
        drawn = Bottlenecks.draw(asked, cells)
        if drawn is not None:
            found.append(Concluded(asked, case, {}, drawn))
            settings += (Setting(case, cells.load, one) for one in drawn.limits)
    return Diagnosis(tuple(found), tuple(settings))


def is_undecided(level: Level) -> bool:
    """True if no limit of the cell can be named."""
    return level.cause == "open" or (level.cause == "outstanding" and level.part is None)


# ---- the limits


def named(limits: Limits, level: Level) -> Iterator[Entry]:
    """The limits of throughput in a cell; several limit it together."""
    at = level.row.treatment
    if level.cause == "bound":
        for one in level.limits:
            resource = one.resource
            own = (_of_candidate(one),)
            yield Entry(resource.kind, resource.node, one.name, at, own, level.cause)
    elif level.cause == "served":
        evidence = tuple(_of_throughput(limits.metric, level, one) for one in level.limits)
        yield Entry("none", "", "nothing", at, evidence, level.cause, next_bound(level))
    elif level.part is not None:
        part = level.part
        name = part.name.removeprefix("the ")
        yield Entry(part.kind, part.node, name, at, (*_of_part(limits, level),), level.cause)


def next_bound(level: Level) -> Next | None:
    """The next bound of a level whose load is served; None: none is known."""
    one, seen = level.next, level.seen
    if one is None or one.bound is None or seen.throughput <= 0:
        return None
    load = None if seen.load is None else seen.load * one.bound / seen.throughput
    return Next(one.resource.kind, one.resource.node, one.name, one.bound, load)


def _of_candidate(one: Candidate) -> Evidence:
    if one.metric is None:
        return Evidence(f"share of {one.name}, %", one.share_pct, 100.0, one.interval)
    if one.limit is None:
        return Evidence(one.metric.name, one.value, None)
    share, back = one.interval, one.limit / 100
    interval = None if share is None else Interval(share.low * back, share.high * back)
    return Evidence(one.metric.name, one.value, one.limit, interval)


def _of_throughput(metric: Metric, level: Level, bound: Candidate) -> Evidence:
    estimate = level.row.estimate(metric)
    interval = None if estimate is None else estimate.interval
    return Evidence(metric.name, level.seen.throughput, bound.bound, interval)


def _of_part(limits: Limits, level: Level) -> Iterator[Evidence]:
    """The number of requests under way, if it bounds throughput; and the part's share."""
    part, cycle = level.part, level.seen.cycle
    assert part is not None, "a level with a part"
    if level.cause == "outstanding" and cycle is not None:
        yield from (_of_throughput(limits.metric, level, one) for one in level.limits)
        yield Evidence(f"number of {cycle.noun}", float(cycle.users), float(cycle.users))
        yield _of_share(part, "a cycle")
    else:
        yield _of_share(part, "the time")


def _of_share(part: Part, whole: str) -> Evidence:
    name = part.name.removeprefix("the ")
    return Evidence(f"share of {name} in {whole}, %", part.share_pct, 100.0)


# ---- resources that are no limit


def ruled_out_at(limits: Limits, level: Level) -> Iterator[Entry]:
    """The resources that do not limit throughput in a cell, those nearest to their bounds first."""
    parts = level.largest if level.part is None else (level.part,)
    named_here = {(part.kind, part.node) for part in parts}
    for one in level.candidates:
        resource = one.resource
        is_named = (resource.kind, resource.node) in named_here
        if one.state in (*UNSURE, "limit") or resource.kind == "none" or is_named:
            continue
        evidence = (_of_candidate(one),) if one.metric is not None else ()
        why = _why_not(limits, level, one)
        yield Entry(resource.kind, resource.node, one.name, level.row.treatment, evidence, why=why)


def _why_not(limits: Limits, level: Level, one: Candidate) -> str:
    share = f"{one.share_pct:.1f} %" if one.share_pct is not None else ""
    if one.state == "full, but not in proportion":
        return f"busy {share} here, {_elsewhere(limits, level, one)}: its use is not work"
    if one.state == "full of waits":
        waited = [
            other.name
            for other in level.candidates
            if other.resource.key in one.resource.waits_for and other.is_reached
        ]
        return (
            f"in use {share} of the time, but its holders wait for the {' and the '.join(waited)}"
        )
    if one.state == "bounds one client":
        return f"{share} of its limit, but each further client brings one more of it"
    if one.state == "reached":
        return f"{share} of its limit, but {_instead(level, one)}"
    if not share:
        return one.note
    return f"{share} of its limit; a limit counts as reached from {limits.near_pct:g} %"


def _instead(level: Level, one: Candidate) -> str:
    """Why a resource that is full is not the limit: another bound is lower, or takes the time."""
    if level.part is not None:
        names = level.part.name.removeprefix("the ")
    else:
        names = " and the ".join(limit.name for limit in level.limits)
    if not level.seen.is_traced:
        return f"the bound of the {names} is lower"
    own = level.seen.share_pct(one.resource.key)
    return f"it takes {own:.1f} % of the time, and the {names} more"


def _elsewhere(limits: Limits, level: Level, one: Candidate) -> str:
    """The cell of the setting with the most use for each unit of work."""
    throughput = level.seen.throughput
    others = [
        (other, found.share_pct / other.seen.throughput, found.share_pct)
        for other in limits.levels
        for found in other.candidates
        if other is not level and found.resource.key == one.resource.key and found.share_pct
    ]
    here = (one.share_pct or 0.0) / throughput
    other, _, share = max(others, key=lambda each: abs(each[1] - here))
    factor = limits.factor
    where = (
        "another level" if factor is None else f"{factor} {level_text(other.row.treatment[factor])}"
    )
    both = f"{throughput:.4g} and {other.seen.throughput:.4g} {limits.metric.unit}".rstrip()
    return f"{share:.1f} % at {where}, while {limits.metric.label} is {both}"


# ---- undecided cells


def cannot_tell_at(level: Level) -> Iterator[Entry]:
    """The missing measurements of a cell whose limit is not decided."""
    if not is_undecided(level):
        return
    at = level.row.treatment
    for part in level.largest:
        name = part.name.removeprefix("the ")
        share = _of_share(part, "the time")
        yield Entry(part.kind, part.node, name, at, (share,), measure=_SHORTER)
    unsure = [one for one in level.candidates if one.state in UNSURE]
    for one in unsure:
        resource = one.resource
        evidence = (_of_candidate(one),) if one.value is not None else ()
        yield Entry(
            resource.kind, resource.node, one.name, at, evidence, measure=_would_decide(one)
        )
    if not (unsure or level.largest) or level.cause == "outstanding":
        yield Entry("wait", "", "waits", at, measure=_of_waits(level))


_SHORTER: Final = "a run in which it takes less, since no part takes most of the time"


def _would_decide(one: Candidate) -> str:
    metrics = [str(metric) for _, each in one.resource.reads for metric in each[:1]]
    read = metrics[0] if metrics else one.name
    if one.resource.kind == "port":
        return (
            f"the time that senders wait for the congestion window: the {one.name} dropped frames"
        )
    if one.state == "limit not known":
        return f"the limit of {read}"
    if one.others_pct is not None:
        return f"{read} while the host has no other work: {one.note}"
    if one.state == "may be reached" and one.at_most_pct is None and one.interval is not None:
        return f"{read} with more replicates: its interval reaches {one.interval.high:.1f} %"
    return f"{read}: {one.note}" if one.note else read


def _of_waits(level: Level) -> str:
    parts = level.seen.waits
    what = "the waits of each unit of work, since no resource is full"
    if not parts:
        return what
    largest = max(parts, key=lambda part: part.share_pct)
    known = min(sum(part.share_pct for part in parts), 100.0)
    return (
        f"{what}: the known parts of its time are {known:.1f} %, the largest {largest.name} "
        f"({largest.share_pct:.1f} %)"
    )
