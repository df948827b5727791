"""Transactions: how long an answer takes, and how much the application serves.

This version carries no transactions out: their values are those that others published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netstudy.analysis.metrics import Direction, Metric
from netstudy.analysis.statistics import STATISTICS
from netstudy.analysis.workloads.published import INSTRUMENT, AsPublished


def _metric(
    name: str, label: str, unit: str, formula: str, figure: str, direction: Direction = "higher"
) -> Metric:
    return Metric(
        name=name,
        label=label,
        unit=unit,
        formula=formula,
        direction=direction,
        instruments=(INSTRUMENT,),
        decimals=2 if unit == "%" else 1,
        title=_title(label),
        figure=figure,
        reading=AsPublished(name),
    )


def _title(label: str) -> str:
    return f"{label[:1].upper()}{label[1:]}"


RESPONSE = _metric(
    "response_ms_mean",
    "response time",
    "ms",
    "sum of the times from each submission to its answer ÷ answered submissions",
    "response",
    "lower",
)
ETR = _metric(
    "etr_per_s",
    "external throughput rate (ETR)",
    "1/s",
    "page elements of the measuring phase ÷ its length",
    "etr",
)
ITR = _metric(
    "itr_per_s",
    "internal throughput rate (ITR)",
    "1/s",
    "ETR ÷ CPU of the application in % × 100: the rate at which its processors would be full",
    "itr",
)
ETR_RELATIVE = _metric(
    "etr_pct", "relative ETR", "%", "ETR ÷ ETR of a base row × 100", "etr_relative"
)
ITR_RELATIVE = _metric(
    "itr_pct",
    "relative ITR",
    "%",
    "ITR ÷ ITR of a base row × 100, or ÷ its ETR where the two are to be compared",
    "itr_relative",
)
ERRORS = replace(
    _metric("errors", "failed requests", "", "requests that failed", "errors", "lower"), decimals=0
)

TRANSACTION_METRICS = (RESPONSE, ETR, ITR, ETR_RELATIVE, ITR_RELATIVE, ERRORS)


def _further() -> Iterator[Metric]:
    for one in STATISTICS.values():
        name, label = f"response_ms_{one.ending}", f"{one.word} response time"
        yield replace(
            RESPONSE,
            name=name,
            label=label,
            formula=f"{one.word.removesuffix(' of the')} of the times of all submissions",
            title=_title(label),
            figure=f"response_{one.ending}",
            reading=AsPublished(name),
        )


RESPONSE_STATISTICS = tuple(_further())
"""Other statistics of the response times, for a study that names them."""
