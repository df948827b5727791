"""The sentences of caveats; each kind has the file of its name in `analysis/caveats`, here too."""

from __future__ import annotations

from netstudy.report.caveats import (
    failed_runs,
    few_repetitions,
    few_runs,
    few_samples,
    marking,
    never_filled,
    never_triggered,
    no_queue,
    not_measured,
    not_sampled,
    not_shown,
    pause,
    published_data,
    same_levels,
    service_demand,
    short_phase,
    size_law,
    testbed_limits,
    unanswered,
    unexplained_waits,
    warm_up,
)
from netstudy.report.caveats.base import caveat_sentence

__all__ = [
    "caveat_sentence",
    "failed_runs",
    "few_repetitions",
    "few_runs",
    "few_samples",
    "marking",
    "never_filled",
    "never_triggered",
    "no_queue",
    "not_measured",
    "not_sampled",
    "not_shown",
    "pause",
    "published_data",
    "same_levels",
    "service_demand",
    "short_phase",
    "size_law",
    "testbed_limits",
    "unanswered",
    "unexplained_waits",
    "warm_up",
]
