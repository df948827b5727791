"""The fit of the gigabit study's hosts: which rows it simulates, what it makes of their rates."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tools.fit_gigabit import (
    CLIENT,
    COSTS,
    FRAME_BITS,
    SERVER,
    Chosen,
    Cost,
    interval,
    plan,
    published,
    solve,
    target,
    with_chosen,
)


def test_every_published_row_is_simulated_however_the_clients_grow() -> None:
    asked = plan(published(), seconds=1, replicates=2, seed=1)
    found = [(one["treatment"]["clients"], one["treatment"]["sink"]) for one in asked["runs"]]
    assert len(found) == 2 * len(published())
    assert set(found) == {(row.clients, row.sink) for row in published()}


def test_the_rows_that_decide_are_one_client_and_the_plateau() -> None:
    assert {cost: target(cost) for cost in COSTS} == {CLIENT: 292.0, SERVER: 762.0}


def test_costs_are_changed_where_they_belong() -> None:
    asked = with_chosen(plan(published()[:1], 1, 1, 1), {CLIENT: 7, SERVER: 9})
    groups = {group["name"]: group for group in asked["runs"][0]["network"]["groups"]}
    assert groups["client"]["cpu"]["receive_ps_per_byte"] == 7
    assert groups["server"]["cpu"]["send_packet_ns"] == 9


def test_the_solution_gives_both_rates() -> None:
    """Hosts whose frame takes a fixed time and what the figure costs: 20 us and 5 us."""
    fixed_ns = {CLIENT: 20_000.0, SERVER: 5_000.0}

    def rates(chosen: Chosen) -> Mapping[Cost, float]:
        times = {cost: fixed_ns[cost] + value * cost.frame_ns for cost, value in chosen.items()}
        return {cost: FRAME_BITS * 1e3 / time for cost, time in times.items()}

    found = rates(solve({CLIENT: 1, SERVER: 1}, rates))
    assert found[CLIENT] == pytest.approx(292, rel=0.005)
    assert found[SERVER] == pytest.approx(762, rel=0.005)


def test_values_within_the_noise_fit_as_well() -> None:
    """2 % of the 15.94 us that a frame takes at 762 Mbit/s are 319 ns."""
    found = interval(SERVER, 14_000)
    assert (found.low, found.high) == (14_000 - 319, 14_000 + 319)
