"""Readings of a host, cut to the window in which something was measured.

A host's readings come from its own clock, in intervals that do not begin and end with the load. The
mean over a window weighs each interval by the time that it shares with the window; within an
interval the value counts as constant, since the file says no more. Where too little of the window
is covered there is no mean: the load may have been elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from netstudy.formats.measured import Floats, HostReadings, Series

COVERED_MIN: Final = 0.9
"""Share of a window that readings must cover for a mean."""
_BUSY, _BUSIEST = "cpu_pct", "busiest_cpu_pct"
_CPU: Final = re.compile(r"cpu\d+")
_ZONE_S: Final = 1800
"""Time zones differ by whole multiples of a quarter hour, nearly all by half hours."""
_ZONE_SLACK_S: Final = 120
"""How far two clocks that agree but for the time zone may be apart, in the note about it."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The readings of one part of a host within a window."""

    part: str
    values: Mapping[str, float]
    """Quantity -> mean over the covered part of the window, weighted by time. Missing if less than
    `COVERED_MIN` of the window is covered."""
    covered: Mapping[str, float]
    """Quantity -> share of the window for which there is a value, from 0 to 1."""
    series: Series
    """The intervals within the window, the first and the last one shortened to it, in seconds since
    the window's start."""
    notes: tuple[str, ...] = ()
    """The values that are missing and why, each a sentence."""


def cut(series: Series, window_s: tuple[float, float]) -> Cut:
    """Cut a series to a window. Both must be in the same time; the window must have a length."""
    start_s, end_s = window_s
    if not start_s < end_s:
        raise ValueError(f"a window from {start_s} s to {end_s} s has no length")
    starts_s = np.clip(series.starts_s, start_s, end_s)
    ends_s = np.clip(series.ends_s, start_s, end_s)
    within = ends_s > starts_s
    inside = Series(
        series.part,
        starts_s[within] - start_s,
        ends_s[within] - start_s,
        {name: values[within] for name, values in series.values.items()},
    )
    lengths_s = inside.ends_s - inside.starts_s
    covered = {
        name: min(1.0, float(lengths_s[np.isfinite(values)].sum()) / (end_s - start_s))
        for name, values in inside.values.items()
    }
    means = {
        name: _mean(inside.values[name], lengths_s)
        for name, share in covered.items()
        if share >= COVERED_MIN
    }
    return Cut(series.part, means, covered, inside, _notes(series, window_s, covered))


def cut_readings(readings: HostReadings, window_s: tuple[float, float]) -> tuple[Cut, ...]:
    """Cut all series of a host to a window.

    `busiest_cpu_pct` of the host is the busy share of the CPU that was busy for longest in the
    window, if there are series of single CPUs (`cpu0`, `cpu1`, …). The mean of the intervals' own
    busiest CPUs would be larger whenever the work moves between CPUs.
    """
    cuts = [cut(series, window_s) for series in readings.series]
    busiest = [found for found in cuts if _CPU.fullmatch(found.part) and _BUSY in found.covered]
    if not busiest:
        return tuple(cuts)
    known = [found.values[_BUSY] for found in busiest if _BUSY in found.values]
    return tuple(_with_busiest(found, known, len(busiest)) for found in cuts)


def _with_busiest(found: Cut, known: Sequence[float], cpus: int) -> Cut:
    if _BUSIEST not in found.values:
        return found
    values = dict(found.values)
    if len(known) == cpus:
        values[_BUSIEST] = max(known)
        return Cut(found.part, values, found.covered, found.series, found.notes)
    del values[_BUSIEST]
    note = f"{_BUSIEST} is missing: {cpus - len(known)} of {cpus} CPUs have no value in the window."
    return Cut(found.part, values, found.covered, found.series, (*found.notes, note))


def _mean(values: Floats, lengths_s: Floats) -> float:
    known = np.isfinite(values)
    return float(np.average(values[known], weights=lengths_s[known]))


def _notes(
    series: Series, window_s: tuple[float, float], covered: Mapping[str, float]
) -> tuple[str, ...]:
    of = f"{series.part}: " if series.part else ""
    apart = _apart(series, window_s)
    if apart is not None:
        return (f"{of}{apart}",)
    missing: dict[str, list[str]] = {}
    for name, share in covered.items():
        if share < COVERED_MIN:
            missing.setdefault(f"{math.floor(100 * share)} %", []).append(name)
    return tuple(
        f"{of}{', '.join(names)}: the readings cover {share} of the window, less than "
        f"{100 * COVERED_MIN:.0f} %, so that the value is missing."
        for share, names in missing.items()
    )


def _apart(series: Series, window_s: tuple[float, float]) -> str | None:
    """Why a series has nothing in common with the window; None if it has."""
    if not len(series.ends_s):
        return "there are no readings."
    first_s, last_s = float(series.starts_s[0]), float(series.ends_s[-1])
    if last_s > window_s[0] and first_s < window_s[1]:
        return None
    if last_s <= window_s[0]:
        gap = f"end {window_s[0] - last_s:.1f} s before the window begins"
    else:
        gap = f"begin {first_s - window_s[1]:.1f} s after the window ends"
    zone = _zone(first_s, last_s, window_s)
    return f"the readings {gap}: they are of another time, or the clocks disagree{zone}."


def _zone(first_s: float, last_s: float, window_s: tuple[float, float]) -> str:
    """The whole number of half hours by which a shift would put the readings over the window."""
    for shift_s in sorted(range(-14 * 3600, 14 * 3600 + 1, _ZONE_S), key=abs):
        begins, ends = first_s + shift_s, last_s + shift_s
        overlap = begins < window_s[1] and ends > window_s[0]
        if overlap and begins - window_s[0] <= _ZONE_SLACK_S >= window_s[1] - ends:
            return f" (by {shift_s / 3600:+g} h they would match: a time zone?)"
    return ""
