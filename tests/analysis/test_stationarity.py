"""A phase that is too short for a mean decides nothing; a stationary series is left alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from netstudy.analysis.cells import CellRow
from netstudy.analysis.stationarity import unsettled
from netstudy.analysis.verdict import Comparison, Pair, verdict_table
from netstudy.analysis.workloads.transfer import GOODPUT, RETRANSMISSIONS
from netstudy.wire import (
    ConnectionSamples,
    Phase,
    PhaseTimes,
    Roles,
    Run,
    RunRecord,
    Samples,
    SecondSamples,
    Transfer,
    Until,
    UntilCount,
    UntilTime,
)
from tests.report.synthetic import FakeFolder, edges, network, nodes, plan_of, planned, pooled

SECOND = 1_000_000_000
NOISE_PCT = 2.0
Series = NDArray[np.float64]


def flow(replicate: int, seconds: int, until: Until | None = None) -> Run:
    """One flow."""
    roles = Roles(client=("client",), server=("server-1",))
    return planned(
        {},
        replicate,
        network=network("arista-7124s", 1),
        workload=Transfer(roles=roles),
        phases=(Phase(kind="measure", until=until or UntilTime(ns=seconds * SECOND)),),
    )


def outcome(run: Run, mbps: Series, losses: int) -> RunRecord:
    """A run with this goodput in each second."""
    moved, none = tuple(int(one * 125_000) for one in mbps), (0,) * mbps.size
    start, end = SECOND, (1 + mbps.size) * SECOND
    return RunRecord(
        run=run.id,
        treatment=run.treatment,
        replicate=run.replicate,
        seed=run.seed,
        status="ok",
        nodes=nodes(run),
        phases=(PhaseTimes(kind="measure", start_ns=start, end_ns=end),),
        samples=Samples(
            connection=ConnectionSamples(
                client=("client",),
                server=("server-1",),
                bytes_received=(sum(moved),),
                bytes_sent=(0,),
                busy_ns=(end - start,),
                retransmissions=(losses,),
                timeouts=(0,),
            ),
            second=SecondSamples(
                connection=none,
                start_ns=tuple(second * SECOND for second in range(mbps.size)),
                bytes_received=moved,
                bytes_sent=none,
            ),
        ),
        edges=edges(start, end),
        counters={
            name: {"fast_recoveries": (3, 3 + losses * (name != "client")), "timeouts": (0, 0)}
            for name, node in nodes(run).items()
            if node.kind == "host"
        },
        ports={"switch": {"client": {"frames_dropped": (0, losses)}}},
    )


def cell(series: Sequence[Series], losses: int, until: Until | None = None) -> CellRow:
    runs = [flow(n, one.size, until) for n, one in enumerate(series, start=1)]
    records = [outcome(run, one, losses) for run, one in zip(runs, series, strict=True)]
    return pooled(FakeFolder(plan_of(runs), records)).rows[0]


def sawtooth(seconds: int, period: float, low: float, high: float, phase: float = 0.0) -> Series:
    place = (np.arange(seconds) / period + phase) % 1
    return low + (high - low) * place


def alike(series: Series, runs: int = 5) -> list[Series]:
    """Replicates that share the phase of their sawtooth, and differ by 0.1 %."""
    rng = np.random.default_rng(1)
    return [series * (1 + rng.normal(0, 0.001)) for _ in range(runs)]


def compared(a: CellRow, base: CellRow, margin_pct: float = NOISE_PCT) -> Comparison:
    table = verdict_table(
        [Pair(None, a, base)],
        metric=GOODPUT,
        factor="buffer",
        level="small",
        base="large",
        x=None,
        margin_pct=margin_pct,
    )
    return table.rows[0]


def test_two_short_phases_of_equal_sawtooths_decide_nothing() -> None:
    # Both move 750 Mbit/s over a long time; the phase shows the upper part of one, and the lower
    # part of the other.
    small = cell(alike(sawtooth(40, 60, 500, 1000, 0.33)), losses=1)
    large = cell(alike(sawtooth(40, 60, 500, 1000)), losses=1)
    found = compared(small, large)
    assert found.p_different is None
    assert (found.outcome, found.winner, found.more_runs) == ("undecided", None, None)
    assert found.unsettled is not None
    assert found.unsettled.loss_periods == 1
    assert found.unsettled.needed_s == pytest.approx(120)


def test_long_phases_of_the_same_sawtooths_decide() -> None:
    small, large = (cell(alike(sawtooth(600, 60, low, 1000, 0.3)), losses=10) for low in (500, 600))
    found = compared(small, large)
    assert found.unsettled is None
    assert (found.outcome, found.winner) == ("different", "large")


def test_a_difference_beyond_all_that_moves_within_the_phase_stands() -> None:
    found = compared(
        cell(alike(sawtooth(40, 60, 50, 90)), losses=1),
        cell(alike(sawtooth(40, 60, 500, 1000)), losses=1),
    )
    assert found.unsettled is None
    assert (found.outcome, found.winner) == ("different", "large")


def test_losses_that_do_not_move_the_mean_leave_it_settled() -> None:
    # A deep buffer keeps the link full through its losses.
    assert unsettled(cell(alike(np.full(40, 941.0)), losses=1), GOODPUT, NOISE_PCT) is None


def test_a_trend_without_losses_is_not_settled() -> None:
    rng = np.random.default_rng(5)
    rising = [np.linspace(100, 110, 60) + rng.normal(0, 2, 60) for _ in range(3)]
    found = unsettled(cell(rising, losses=0), GOODPUT, NOISE_PCT)
    assert found is not None
    assert found.loss_periods is None
    assert found.needed_s == pytest.approx(180)
    assert found.low < 102 < 108 < found.high


def test_replicates_with_phases_of_their_own_show_their_spread_themselves() -> None:
    spread = [sawtooth(90, 60, 500, 1000, phase) for phase in (0.05, 0.25, 0.45, 0.65, 0.85)]
    found = unsettled(cell(spread, losses=2), GOODPUT, NOISE_PCT)
    together = unsettled(cell(alike(spread[0]), losses=2), GOODPUT, NOISE_PCT)
    assert found is None
    assert together is not None


def test_phases_of_a_count_and_metrics_of_whole_runs_have_no_such_length() -> None:
    series = alike(np.linspace(100, 200, 40))
    assert unsettled(cell(series, 1, UntilCount(count=5)), GOODPUT, NOISE_PCT) is None
    assert unsettled(cell(series, 1), RETRANSMISSIONS, NOISE_PCT) is None


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_stationary_series_seldom_raise_the_alarm(correlation: float) -> None:
    seed, trials = 20_261_128, 200
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)

    def series() -> Series:
        noise = rng.normal(0, 50, 60)
        for second in range(1, noise.size):
            noise[second] += correlation * noise[second - 1]
        return 900 + noise

    alarms = sum(
        unsettled(cell([series() for _ in range(5)], losses=9), GOODPUT, NOISE_PCT) is not None
        for _ in range(trials)
    )
    assert alarms <= 0.05 * trials, f"{alarms} of {trials}"


def test_planted_trends_are_found() -> None:
    seed, trials = 20_261_129, 100
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    drift = np.linspace(-60, 60, 60)
    found = sum(
        unsettled(
            cell([900 + drift + rng.normal(0, 50, 60) for _ in range(5)], losses=9),
            GOODPUT,
            NOISE_PCT,
        )
        is not None
        for _ in range(trials)
    )
    # The halves differ by 6.7 %, with a standard error of 0.64 % over five runs.
    assert found >= 0.95 * trials, f"{found} of {trials}"
