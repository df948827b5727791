"""Losses as totals, for workloads that have no iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netstudy.analysis.metrics import SENDER_TCP, SWITCH_PORTS, Metric, RatioOfSums
from netstudy.analysis.samples import RunSample, Terms, dropped_at_ports, one

Counts = Callable[[RunSample], float | None]
"""Reads a count for the measuring phase of a run; None if it was not counted."""


def dropped(run: RunSample) -> float | None:
    """Frames that all ports of all switches dropped."""
    return dropped_at_ports(run.record)


def sent_again(run: RunSample) -> float | None:
    """Retransmitted segments, over all connections."""
    again = run.column("connection", "retransmissions")
    return None if again is None else float(again.sum())


def timed_out(run: RunSample) -> float | None:
    """Expiries of retransmission timers, over all connections."""
    timeouts = run.column("connection", "timeouts")
    return None if timeouts is None else float(timeouts.sum())


@dataclass(frozen=True)
class LossCounts:
    """Where loss counts are read: by default at switch ports and connections."""

    dropped: Counts
    dropped_text: str
    sent_again: Counts
    timed_out: Counts
    instrument: str


_BY_CONNECTION = LossCounts(
    dropped, "packets dropped at all switches", sent_again, timed_out, SENDER_TCP
)


def loss_metrics(
    suffix: str,
    per: str,
    amount: Counts,
    formula: str,
    *,
    figures: bool,
    by: LossCounts = _BY_CONNECTION,
) -> tuple[Metric, Metric, Metric]:
    """Drops, retransmissions and timeouts per amount of work: a ratio of sums over runs.

    `per` is the text after the unit, such as `a GB`; `figures`: whether the names of figures omit
    `suffix`.
    """

    def metric(name: str, counts: Counts, what: str, unit: str, title: str) -> Metric:
        # Inside a sentence, abbreviations such as TCP keep their capitals.
        return Metric(
            name=f"{name}_{suffix}",
            label=f"{title[:1].lower() if title[1:2].islower() else title[:1]}{title[1:]} {per}",
            unit=unit,
            formula=f"{what} {formula}",
            direction="lower",
            instruments=(SWITCH_PORTS,) if counts is by.dropped else (by.instrument,),
            decimals=1,
            title=f"{title} {per}",
            figure=name if figures else f"{name}_{suffix}",
            reading=RatioOfSums(lambda run: _terms(run, counts, amount)),
            per=f" {per}",
        )

    return (
        metric("drops", by.dropped, by.dropped_text, "packets", "Dropped packets"),
        metric(
            "retransmissions",
            by.sent_again,
            "segments that were sent again",
            "segments",
            "TCP retransmissions",
        ),
        metric(
            "timeouts",
            by.timed_out,
            "expiries of retransmission timers",
            "timeouts",
            "TCP timeouts",
        ),
    )


def losses_per_run(
    *, figures: bool, by: LossCounts = _BY_CONNECTION
) -> tuple[Metric, Metric, Metric]:
    """Losses of the whole measuring phase."""
    formula = "in the measuring phase; mean over the runs"
    return loss_metrics("per_run", "a run", lambda _: 1.0, formula, figures=figures, by=by)


def _terms(run: RunSample, counts: Counts, amount: Counts) -> Terms | None:
    value, work = counts(run), amount(run)
    return None if value is None or not work else one(value, work)
