"""The one vocabulary of metrics: what a number is called, what it means and which way is better.

Tables, figures, prose, exports and thresholds all read this list; a name ends in its unit and its
statistic. How a metric is computed from the samples of a run stands in `samples`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["lower", "higher", "neutral"]


@dataclass(frozen=True)
class Metric:
    """A named quantity with its unit, its formula and the direction that is better."""

    name: str
    """Column name: quantity, unit and statistic."""
    label: str
    """What a reader calls it, in the middle of a sentence."""
    unit: str
    """Unit of the values; empty for a plain count."""
    formula: str
    """How the value follows from the records, in words and signs."""
    direction: Direction
    instruments: tuple[str, ...]
    """Where the raw counts come from."""
    decimals: int
    """Decimals that tables and prose print."""
    title: str
    """Title of its figure and heading of its column."""
    figure: str
    """Name under which a study asks for its figure."""
    exported: bool = True
    """Whether the CSV export has a column for it."""

    @property
    def better(self) -> str:
        """Which way is better, as figures and tables say it."""
        return {"lower": "lower is better", "higher": "higher is better"}.get(self.direction, "")


CLIENT_CLOCK = "clock of the client"
CLIENT_SOCKETS = "sockets of the client"
SWITCH_PORTS = "drop counters of the switch ports"
SERVER_TCP = "TCP counters of the servers"

METRICS: tuple[Metric, ...] = (
    Metric(
        name="completion_ms_mean",
        label="completion time",
        unit="ms",
        formula="sum of completion times ÷ iterations",
        direction="lower",
        instruments=(CLIENT_CLOCK,),
        decimals=1,
        title="Completion time",
        figure="completion",
    ),
    Metric(
        name="completion_ms_p50",
        label="median completion time",
        unit="ms",
        formula="50th percentile of the completion times of all iterations",
        direction="lower",
        instruments=(CLIENT_CLOCK,),
        decimals=1,
        title="Median completion time",
        figure="completion_p50",
    ),
    Metric(
        name="completion_ms_p99",
        label="99th percentile of the completion time",
        unit="ms",
        formula="99th percentile of the completion times of all iterations",
        direction="lower",
        instruments=(CLIENT_CLOCK,),
        decimals=1,
        title="99th percentile of the completion time",
        figure="completion_p99",
    ),
    Metric(
        name="goodput_mbps",
        label="goodput",
        unit="Mbit/s",
        formula="application bytes received × 8 ÷ sum of completion times (a ratio of sums)",
        direction="higher",
        instruments=(CLIENT_SOCKETS, CLIENT_CLOCK),
        decimals=1,
        title="Goodput",
        figure="goodput",
    ),
    Metric(
        name="drops_per_iteration",
        label="dropped packets an iteration",
        unit="packets",
        formula="packets dropped at the switch ÷ iterations",
        direction="lower",
        instruments=(SWITCH_PORTS,),
        decimals=1,
        title="Dropped packets",
        figure="drops",
    ),
    Metric(
        name="retransmissions_per_iteration",
        label="TCP retransmissions an iteration",
        unit="segments",
        formula="segments that the servers sent again ÷ iterations",
        direction="lower",
        instruments=(SERVER_TCP,),
        decimals=1,
        title="TCP retransmissions",
        figure="retransmissions",
    ),
    Metric(
        name="timeouts_per_iteration",
        label="TCP timeouts an iteration",
        unit="timeouts",
        formula="retransmission timer expiries on the servers ÷ iterations",
        direction="lower",
        instruments=(SERVER_TCP,),
        decimals=2,
        title="TCP timeouts",
        figure="timeouts",
    ),
    Metric(
        name="timeout_iterations_pct",
        label="share of iterations with a timeout",
        unit="%",
        formula="iterations with at least one timeout ÷ iterations × 100",
        direction="lower",
        instruments=(SERVER_TCP,),
        decimals=1,
        title="Iterations with a timeout",
        figure="timeout_iterations",
        exported=False,
    ),
    Metric(
        name="fairness_index",
        label="fairness index",
        unit="",
        formula="(Σ x)² ÷ (n × Σ x²) over the n connections of a run, x being bytes received ÷ "
        "time that the client waited for them (Jain's index); mean over the runs",
        direction="higher",
        instruments=(CLIENT_SOCKETS, CLIENT_CLOCK),
        decimals=3,
        title="Fairness index",
        figure="fairness",
        exported=False,
    ),
)

BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
BY_FIGURE: dict[str, Metric] = {metric.figure: metric for metric in METRICS}

COMPLETION = BY_NAME["completion_ms_mean"]
GOODPUT = BY_NAME["goodput_mbps"]
DROPS = BY_NAME["drops_per_iteration"]
RETRANSMISSIONS = BY_NAME["retransmissions_per_iteration"]
TIMEOUTS = BY_NAME["timeouts_per_iteration"]
TIMEOUT_SHARE = BY_NAME["timeout_iterations_pct"]

HEADLINE = (GOODPUT, DROPS, RETRANSMISSIONS, COMPLETION)
"""The columns of the published table, in its order."""
FIGURES = (COMPLETION, DROPS, RETRANSMISSIONS, GOODPUT)
"""The figures of a study that names none."""
EXPORTED = tuple(metric for metric in METRICS if metric.exported)
