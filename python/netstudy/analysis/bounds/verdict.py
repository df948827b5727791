"""The limit of throughput at each level of the load, by the operational laws.

Throughput is at most the least of all bounds; the bound that it reaches is the limit. A full
resource is no limit in three cases: it is used more for a unit of work at a lower load (then the
use does not come from the work, such as busy waiting); work holds it that waits for another full
resource; or each further client brings one more of it. Bounds within the noise of each other limit
throughput together, as raising only one of them gains nothing, unless the account of the time of a
unit of work tells which of them takes its time. Where no bound is reached, the part that takes most
of this time is the limit, or most of the time of senders where there is no account.

Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978; Lazowska and others,
Quantitative System Performance, 1984, chapter 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from netstudy.analysis.bounds.candidates import Candidate, Key, Resource, fullest_first
from netstudy.analysis.bounds.clocks import waiting_group
from netstudy.analysis.bounds.cycle import Cycle
from netstudy.analysis.bounds.parts import Part, wait_of
from netstudy.analysis.bounds.ties import WINDOWS, limits_by_time
from netstudy.analysis.bounds.time_parts import TimeShares
from netstudy.analysis.bounds.windows import can_limit, is_tied, share_of_bound
from netstudy.analysis.cells import CellRow

Cause = Literal["bound", "outstanding", "wait", "served", "open"]
"""`bound`: a resource. `outstanding`: the number of requests under way, or of users. `wait`: a wait
of senders or of a unit of work. `served`: the load, all of which is served. `open`: not decided."""

_TIE: Final = 1.0
"""Bounds that differ by less than this percentage are equal, where the study declares no noise."""
_PROPORTION: Final = 10.0
"""The demand of a resource for a unit of work may differ by this percentage between levels, in
addition to the noise."""
_MOST: Final = 50.0
"""A wait is the limit if it takes at least this percentage of the time."""
_NAMED: Final = 2
"""Where no wait takes most of the time, this number of the largest is named."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The measurements at one level."""

    row: CellRow
    throughput: float
    load: float | None
    """None: the load is no number, or there is none."""
    candidates: tuple[Candidate, ...]
    cycle: Cycle | None
    parts: tuple[Part, ...]
    """Known parts of the cycle of a closed loop, else of the time of units of work or senders; the
    largest first."""
    time: TimeShares | None = None
    """Where the time of units of work went; None: not known."""
    not_modelled: tuple[str, ...] = ()
    """Capacities of this cell's hosts that the simulator does not model: they limit nothing."""
    offered: float | None = None
    """Load that an open loop offers, in the unit of throughput."""

    @property
    def waits(self) -> tuple[Part, ...]:
        """The parts of the time of which one may limit throughput where no bound is reached, the
        largest first."""
        return self.parts if self.time is None else self.time.cause

    @property
    def is_traced(self) -> bool:
        """True if all of the time is known exactly."""
        return self.time is not None and self.time.is_exact

    def share_pct(self, key: Key) -> float:
        """The share of the time that a limit takes, with the waits for it."""
        return sum(part.share_pct for part in self.waits if part.key == key)


@dataclass(frozen=True, eq=False)
class Level:
    """The limit of throughput at one level."""

    seen: Seen
    cause: Cause
    limits: tuple[Candidate, ...]
    """Empty if the limit is a wait or not decided; several limit throughput together."""
    part: Part | None
    """The wait that limits, or the largest part of the cycle where the number of requests does."""
    candidates: tuple[Candidate, ...]
    """All candidates with their final states, those nearest to their bounds first."""

    @property
    def row(self) -> CellRow:
        """The cell."""
        return self.seen.row

    @property
    def largest(self) -> tuple[Part, ...]:
        """The largest parts of the time where it is known and none is the limit."""
        return self.seen.waits[:_NAMED] if self.cause == "open" and self.seen.time else ()

    @property
    def next(self) -> Candidate | None:
        """The next bound: the fullest resource that is not a limit and bounds the total."""
        states = ("not reached", "may be reached", "reached")
        return next(
            (
                one
                for one in self.candidates
                if one.state in states
                and one.share_pct
                and one.bound is not None
                and not one.resource.comes_with_load
                and one.resource.kind not in ("none", "window", "send_buffer")
            ),
            None,
        )


def judge(levels: Sequence[Seen], near_pct: float, noise_pct: float | None) -> tuple[Level, ...]:
    """Judges the levels of a setting, in the order of the load."""
    rule = _Rule(levels, near_pct, noise_pct or 0.0, 1 + (noise_pct or _TIE) / 100)
    return tuple(rule.level(place) for place in range(len(levels)))


@dataclass(frozen=True, eq=False)
class _Rule:
    levels: Sequence[Seen]
    near_pct: float
    noise_pct: float
    tie: float

    def level(self, place: int) -> Level:
        seen = self.levels[place]
        candidates = [*self._states(place), *self._windows(seen)]
        loads = [*self._loads(place)]
        cause, limits, part = self._limit(place, candidates, loads)
        chosen = {one.resource.key for one in limits}
        waited = set() if part is None else {part.key}
        final = [
            replace(one, state="limit") if one.resource.key in chosen | waited else one
            for one in (*candidates, *loads)
        ]
        final.sort(key=fullest_first)
        kept = tuple(one for one in final if one.resource.key in chosen)
        return Level(seen, cause, kept, part, tuple(final))

    # ---- resources

    def _states(self, place: int) -> list[Candidate]:
        """The resources at a level, with the reasons why a full one is no limit."""
        found = [self._bounded(one, place) for one in self.levels[place].candidates]
        found = [self._proportional(one, place) for one in found]
        full = {one.resource.key for one in found if one.state == "reached"}
        return [
            replace(one, state="full of waits")
            if one.state == "reached" and full & one.resource.waits_for
            else one
            for one in found
        ]

    def _bounded(self, one: Candidate, place: int) -> Candidate:
        if not one.share_pct or self.levels[place].throughput <= 0:
            return one
        bound = self.levels[place].throughput * 100 / one.share_pct
        state = (
            "bounds one client" if one.is_reached and one.resource.comes_with_load else one.state
        )
        return replace(one, bound=bound, state=state)

    def _proportional(self, one: Candidate, place: int) -> Candidate:
        """A full resource whose use does not come from the work is as full at a lower load."""
        if one.state != "reached":
            return one
        for other in range(len(self.levels)):
            first, last = sorted((place, other))
            if other != place and self._is_idle_use(one.resource, first, last):
                return replace(one, state="full, but not in proportion")
        if one.resource.kind == "slots" and self._is_held_longer(one.resource, place):
            return replace(one, state="full of waits")
        return one

    def _is_held_longer(self, resource: Resource, place: int) -> bool:
        """True if a unit of work holds the slot for longer than at the least load. The additional
        time is a wait for another resource."""
        before, now = (self._demand(resource, each) for each in (0, place))
        return before is not None and now is not None and now > before * self._most

    @property
    def _most(self) -> float:
        return 1 + (self.noise_pct + _PROPORTION) / 100

    def _is_idle_use(self, resource: Resource, first: int, last: int) -> bool:
        """True if a unit of work uses much more of the resource at the first of two levels, and the
        first level has less throughput."""
        before, after = (self._demand(resource, place) for place in (first, last))
        less, more = self.levels[first].throughput, self.levels[last].throughput
        if not before or not after:
            return False
        return more > less * self._most and before > after * self._most

    def _demand(self, resource: Resource, place: int) -> float | None:
        """The use for a unit of throughput. Of several CPUs, the mean counts: which of them is the
        busiest depends on the load."""
        seen = self.levels[place]
        one = next((each for each in seen.candidates if each.resource.key == resource.key), None)
        if one is None or one.share_pct is None or seen.throughput <= 0:
            return None
        in_use = one.share_pct if one.mean_pct is None else one.mean_pct
        return in_use / seen.throughput

    # ---- the load

    def _loads(self, place: int) -> list[Candidate]:
        """The bounds that the load itself sets: the number of requests under way, the offered load,
        and proportion to the number of clients."""
        seen, first = self.levels[place], self.levels[0]
        found: list[Candidate] = []
        if seen.cycle is not None and first.cycle is not None:
            # The bound is N / (R + Z), with the response time R of the least load.
            share = first.cycle.length_s / seen.cycle.length_s
            found.append(self._of_load(f"number of {seen.cycle.noun}", share, seen))
        elif seen.offered and seen.throughput > 0:
            found.append(self._of_load("offered load", seen.throughput / seen.offered, seen))
        elif seen.load and (best := self._best_for_load(place)) and seen.throughput > 0:
            found.append(
                self._of_load("proportion to the load", seen.throughput / seen.load / best, seen)
            )
        return found

    def _best_for_load(self, place: int) -> float | None:
        """The highest throughput for a unit of load at the lower levels; None: there is none."""
        lower = [one.throughput / one.load for one in self.levels[: place + 1] if one.load]
        return max(lower, default=None)

    def _of_load(self, name: str, share: float, seen: Seen) -> Candidate:
        return Candidate(
            Resource(kind="none", node="", part=name, name=name),
            state="reached" if 100 * share >= self.near_pct else "not reached",
            share_pct=100 * share,
            bound=seen.throughput / share,
        )

    # ---- the limit

    def _limit(
        self, place: int, candidates: Sequence[Candidate], loads: Sequence[Candidate]
    ) -> tuple[Cause, list[Candidate], Part | None]:
        seen = self.levels[place]
        full = [one for one in candidates if one.state == "reached"]
        load = next((one for one in loads if one.state == "reached"), None)
        # At the least load, a load reaches its bound by definition.
        is_telling = load is not None and (place > 0 or seen.offered is not None)
        top = max((one.share_pct or 0.0 for one in full), default=0.0)
        if full and not (is_telling and load and (load.share_pct or 0.0) > top * self.tie):
            tied = [one for one in full if (one.share_pct or 0.0) * self.tie >= top]
            # Other programs use the machine too: a resource of the study's own explains more.
            own = [one for one in tied if one.resource.kind != "machine"] or tied
            return self._of_tied(seen, [*own, *self._tied_windows(seen, candidates)])
        if load is not None and seen.cycle is not None:
            return "outstanding", [load], self._largest_of_cycle(seen)
        if load is not None and seen.offered is not None:
            return "served", [load], None
        if (part := self._wait(seen, candidates)) is not None:
            equal = self._equal_windows(part, candidates)
            return self._of_tied(seen, equal) if len(equal) > 1 else ("wait", [], part)
        if load is not None and (place > 0 or self._is_proportional_next(place)):
            return "served", [load], None
        return "open", [], None

    @staticmethod
    def _of_tied(seen: Seen, tied: list[Candidate]) -> tuple[Cause, list[Candidate], Part | None]:
        """The limit, of bounds within the noise of each other."""
        limits = limits_by_time(tied, seen.share_pct) if seen.is_traced else tied
        if len(limits) == 1 and limits[0].resource.kind in WINDOWS:
            key = limits[0].resource.key
            return "wait", [], next(part for part in seen.waits if part.key == key)
        return "bound", limits, None

    def _is_proportional_next(self, place: int) -> bool:
        """True if throughput grows in proportion to the load up to the next level."""
        if place + 1 >= len(self.levels):
            return False
        here, there = self.levels[place], self.levels[place + 1]
        if not here.load or not there.load or here.throughput <= 0:
            return False
        share = there.throughput / there.load / (here.throughput / here.load)
        return 100 * share >= self.near_pct

    @classmethod
    def _windows(cls, seen: Seen) -> list[Candidate]:
        """The bounds of the windows, and the share of the time that waits for them."""
        if seen.cycle is not None:
            return []
        return [cls._window(seen, part) for part in _window_parts(seen)]

    @staticmethod
    def _window(seen: Seen, part: Part) -> Candidate:
        # A kernel decides itself how much of a buffer is window.
        is_simulated = seen.row.runs[0].record.mode is not None
        share = share_of_bound(seen.row, part) if is_simulated else None
        whose = "time" if seen.is_traced else "senders' time"
        return Candidate(
            Resource(kind=part.kind, node=part.node, name=part.name.removeprefix("the ")),
            state="not reached",
            share_pct=None if share is None else 100 * share,
            bound=seen.throughput / share if share else None,
            note=f"{part.share_pct:.0f} % of the {whose}",
        )

    def _equal_windows(self, part: Part, found: Sequence[Candidate]) -> list[Candidate]:
        """The windows with the same bound as the one that senders wait for: senders notice only one
        of them, and raising only that one gains nothing."""
        bounds = {
            one.resource.key: one.bound
            for one in found
            if one.resource.kind in WINDOWS and one.bound is not None
        }
        bound = bounds.get(part.key)
        return [
            one
            for one in found
            if bound is not None
            and (other := bounds.get(one.resource.key)) is not None
            and bound / self.tie <= other <= bound * self.tie
        ]

    def _tied_windows(self, seen: Seen, found: Sequence[Candidate]) -> list[Candidate]:
        """The windows that bound throughput as closely as a full resource."""
        if seen.is_traced:
            return [
                one
                for one in found
                if one.resource.kind in WINDOWS and (one.share_pct or 0.0) >= self.near_pct
            ]
        tied = {
            part.key
            for part in seen.parts
            if part.kind in WINDOWS and is_tied(seen.row, part, self.near_pct)
        }
        return [one for one in found if one.resource.key in tied]

    @staticmethod
    def _largest_of_cycle(seen: Seen) -> Part | None:
        """The largest known part of the cycle, unless more is unknown."""
        known = sum(part.share_pct for part in seen.parts)
        first = next(iter(seen.parts), None)
        return first if first is not None and first.share_pct >= 100 - known else None

    @staticmethod
    def _wait(seen: Seen, candidates: Sequence[Candidate]) -> Part | None:
        """The part that takes most of the time; a resource only if it does not come with each
        client, and a window only if it can be the limit."""
        part = next(iter(seen.waits), None)
        of_clients = {one.resource.key for one in candidates if one.resource.comes_with_load}
        if part is None or part.share_pct < _MOST or part.key in of_clients:
            return None
        if seen.is_traced:
            return part
        # By the clocks of senders, who wait for their congestion windows if a link is full: no
        # limit of its own.
        has_full_link = any(one.state == "bounds one client" for one in candidates)
        if has_full_link and part.kind in ("congestion_window", "port"):
            return None
        return part if part.kind not in WINDOWS or can_limit(seen.row, part) else None


def _window_parts(seen: Seen) -> list[Part]:
    """The waits for windows; in a traced cell of both windows, as one may hide the other."""
    found = [part for part in seen.parts if part.kind in WINDOWS]
    if not seen.is_traced or not seen.row.planned[0].network.nodes:
        return found
    kinds = {part.kind for part in found}
    keys: list[Key] = [(kind, waiting_group(seen.row, kind), "") for kind in WINDOWS]
    return found + [wait_of(key, 0.0) for key in keys if key[0] not in kinds]
