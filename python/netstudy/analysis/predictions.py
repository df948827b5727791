"""Predictions of throughput by the operational laws, if a bound is raised.

At least: a station that becomes faster shortens each unit of work by the time that it saves, until
the next bound is reached. In a closed loop with N users, throughput is at least N ÷ (the time of
a single user + (N − 1) × the largest demand): every request ahead is waited for at the slowest
station (Zahorjan and others, Balanced Job Bound Analysis of Queueing Networks, 1982).

At most: no bound is exceeded, and a share of time saves no more than itself. A share of time is a
ceiling, never a forecast. An exact account of time has these shares in its view of the cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from netstudy.analysis.bounds.candidates import NO_BOUND
from netstudy.analysis.bounds.cycle import Cycle
from netstudy.analysis.bounds.parts import Part
from netstudy.analysis.bounds.ties import WINDOWS
from netstudy.analysis.bounds.verdict import Level
from netstudy.analysis.bounds.windows import share_of_bound
from netstudy.analysis.ceilings import ceiling
from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.bottleneck import Limits
from netstudy.analysis.intervals import Interval
from netstudy.analysis.raising import Raise
from netstudy.analysis.ratio import fieller

NOISE_PCT: Final = 1.0
"""Differences that do not count, in percent, where the study declares no noise."""
_NO_STATIONS: Final = ("none", *WINDOWS)
"""Candidates without a queue: their share is no utilisation."""
OF_LOSSES: Final = ("timeouts", "port", "congestion_window")
"""Waits after losses. Others take their place: only that throughput gains is predicted."""

Verdict = Literal["confirmed", "undecided", "refuted"]


@dataclass(frozen=True)
class Measured:
    """The ratio of throughput in two cells."""

    ratio: float
    interval: Interval | None
    """Fieller's 95 % interval; None: a cell was not repeated."""


@dataclass(frozen=True)
class Prediction:
    """The ratio of throughput after to before, without the noise."""

    at_least: float | None
    at_most: float | None
    noise: float
    """As a ratio: 0.03 are 3 %."""

    @property
    def low(self) -> float | None:
        """The lowest ratio that agrees."""
        return None if self.at_least is None else self.at_least * (1 - self.noise)

    @property
    def high(self) -> float | None:
        """The highest ratio that agrees."""
        return None if self.at_most is None else self.at_most * (1 + self.noise)

    def verdict(self, found: Measured) -> Verdict:
        """Whether a measured ratio agrees. It is refuted only if the whole interval disagrees."""
        if self._reaches(found.ratio, found.ratio):
            return "confirmed"
        interval = found.interval
        is_open = interval is not None and self._reaches(interval.low, interval.high)
        return "undecided" if is_open else "refuted"

    def _reaches(self, low: float, high: float) -> bool:
        """True if the prediction holds for some ratio between the two."""
        is_below = self.low is not None and high < self.low
        return not is_below and not (self.high is not None and low > self.high)


def measured(limits: Limits, before: CellRow, after: CellRow) -> Measured | None:
    """The ratio of throughput after to before; None: one of them has no value."""
    old, new = before.estimate(limits.metric), after.estimate(limits.metric)
    if old is None or new is None or not old.value:
        return None
    return Measured(new.value / old.value, fieller(new, old))


@dataclass(frozen=True, eq=False)
class Laws:
    """Predicts for one cell."""

    limits: Limits
    level: Level
    noise_pct: float | None

    @property
    def noise(self) -> float:
        """Differences up to this ratio do not count."""
        return (NOISE_PCT if self.noise_pct is None else self.noise_pct) / 100

    def of_limit(self, raised: Raise) -> Prediction:
        """If the limit is raised."""
        if self.level.cause == "served":
            return Prediction(min([raised.factor, *self._others(raised)]), None, self.noise)
        if any(bound.kind in OF_LOSSES for bound in raised.bounds):
            return Prediction(self._more_than_noise, self._of_timers(raised), self.noise)
        most = [*self._others(raised), *self._of_lone_user(raised)]
        if self.level.cause == "bound":
            most.append(raised.factor * 100 / self._top)
        by_time = self._ceiling(raised)
        if by_time is not None:
            most.append(by_time)
        elif self.level.cause != "bound" and self._cycle is not None:
            unknown = min(1.0, self._share(raised) + self.unknown)
            most.append(1 / (1 - unknown * (1 - raised.left)))
        most += (raised.factor / own for own in self._windows(raised, raised=True))
        least = self._in_closed_loop(raised)
        if least is None:
            least = min([self._least(raised), *self._others(raised)])
        at_most = min(most, default=raised.factor)
        # A limit that is raised gains more than the noise, unless the next bound is as near.
        least = max(least, self._more_than_noise)
        return Prediction(min(least, at_most), at_most, self.noise)

    def of_joint(self) -> Prediction:
        """If only one of several bounds that limit throughput together is raised."""
        return Prediction(None, 100 / self._top, self.noise)

    def of_ruled_out(self, raised: Raise) -> Prediction:
        """If a resource that does not limit throughput is raised."""
        by_time = self._ceiling(raised)
        at_most = self._by_use(raised) if by_time is None else by_time
        if self.level.cause == "bound":
            at_most = min(at_most, max(1.0, 100 / self._top))
        return Prediction(None, at_most, self.noise)

    def _by_use(self, raised: Raise) -> float:
        """The most that throughput gains, by the share of the time in which a resource is in
        use."""
        moved = [each for each in self.level.candidates if each.resource.key in raised.moved]
        share = min(1.0, sum(each.share_pct or 0.0 for each in moved) / 100)
        return 1 / (1 - share * (1 - raised.left))

    def _of_timers(self, raised: Raise) -> float | None:
        """The most that shorter timers gain. Of a buffer none is known: without drops, senders wait
        for less than now."""
        is_known = all(bound.kind == "timeouts" for bound in raised.bounds)
        return self._ceiling(raised) if is_known else None

    def _ceiling(self, raised: Raise) -> float | None:
        """The most that throughput gains by the shares of the time; None: they are not known."""
        time = self.level.seen.time
        if time is None or not time.is_exact:
            return None
        return ceiling(time.pieces, lambda key: raised.factor if key in raised.moved else 1.0)

    @property
    def _more_than_noise(self) -> float:
        """A ratio that is above 1 by the noise, when the noise has been taken off."""
        return (1 + self.noise) / (1 - self.noise)

    # ---- bounds

    @property
    def _cycle(self) -> Cycle | None:
        return self.level.seen.cycle

    @property
    def _top(self) -> float:
        """The share of its bound that throughput reaches, in percent."""
        return min(100.0, max(one.share_pct or 0.0 for one in self.level.limits))

    def _others(self, raised: Raise) -> Iterator[float]:
        """The bounds that are not raised, as ratios to throughput."""
        is_first = self.level is self.limits.levels[0]
        for one in self.level.candidates:
            is_load = one.resource.kind == "none"
            # At the least level, the load reaches its bound by definition; in a closed loop, its
            # bound moves with the time of one user.
            is_raised = any(bound.kind == "none" for bound in raised.bounds)
            is_moved = is_load and (is_first or is_raised or self._cycle is not None)
            if one.resource.key in raised.moved or is_moved or one.state in NO_BOUND:
                continue
            if one.bound is not None and not one.resource.comes_with_load:
                yield one.bound / self.level.seen.throughput
        yield from (1 / share for share in self._windows(raised))

    def _windows(self, by: Raise, *, raised: bool = False) -> Iterator[float]:
        """The shares that throughput reaches of the bounds that windows set for streams: of those
        windows that are raised, or of the others."""
        seen = self.level.seen
        if self._cycle is not None or not seen.row.planned[0].network.nodes or not seen.row.runs:
            return
        for kind in WINDOWS:
            share = share_of_bound(seen.row, Part(kind, "", "", 0.0))
            if share and (kind in {one.kind for one in by.bounds}) == raised:
                yield share

    # ---- time

    def _share(self, raised: Raise) -> float:
        """The share of the time of a unit of work that the raised bounds take."""
        own = {(one.kind, one.node) for one in raised.bounds}
        parts = self.level.seen.parts
        shares = (part.share_pct for part in parts if (part.kind, part.node) in own)
        return min(1.0, max(shares, default=0.0) / 100)

    def _least(self, raised: Raise) -> float:
        """The least gain of streams and iterations: a resource or window that is full carries more
        up to the next bound; other waits may take the place of the one that becomes shorter."""
        if self.level.cause == "bound":
            return 1 / (1 - self._top / 100 * (1 - raised.left))
        if all(bound.kind in WINDOWS for bound in raised.bounds):
            return 1 / (1 - self._share(raised) * (1 - raised.left))
        return self._more_than_noise

    @property
    def unknown(self) -> float:
        """The share of a cycle that no known part takes."""
        known = sum(part.share_pct for part in self.level.seen.parts)
        return max(0.0, 1 - known / 100)

    def _lone_s(self, raised: Raise, *, unknown: bool) -> float | None:
        """The cycle of a user at the least load, after the raise. `unknown`: as if all unknown time
        were part of the raised one."""
        first = self.limits.levels[0]
        if first.seen.cycle is None:
            return None
        whole = first.seen.cycle.length_s
        if not raised.speeds_up:
            return whole
        laws = Laws(self.limits, first, self.noise_pct)
        own = {(one.kind, one.node) for one in raised.bounds}
        parts = first.seen.parts
        share = sum(part.share_pct for part in parts if (part.kind, part.node) in own) / 100
        share += laws.unknown if unknown else 0.0
        return whole * (1 - min(1.0, share) * (1 - raised.left))

    def _of_lone_user(self, raised: Raise) -> Iterator[float]:
        """The bound of a closed loop whose users do not wait for each other."""
        first, cycle = self.limits.levels[0].seen.cycle, self._cycle
        lone_s = self._lone_s(raised, unknown=True)
        if first is not None and cycle is not None and lone_s and first.users == 1:
            yield cycle.users / lone_s / cycle.per_s

    def _in_closed_loop(self, raised: Raise) -> float | None:
        """The least throughput of a closed loop after the raise, as a ratio."""
        cycle, lone_s = self._cycle, self._lone_s(raised, unknown=False)
        if cycle is None or lone_s is None:
            return None
        shares = [
            (one.share_pct or 0.0)
            / 100
            * (raised.left if one.resource.key in raised.moved else 1.0)
            for one in self.level.candidates
            if one.resource.kind not in _NO_STATIONS and one.state not in NO_BOUND
        ]
        slowest_s = max(shares, default=0.0) / cycle.per_s
        return cycle.users / (lone_s + (cycle.users - 1) * slowest_s) / cycle.per_s
