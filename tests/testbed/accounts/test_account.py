"""Accounts of time of groups of units, and their law."""

from __future__ import annotations

import pytest

from netstudy.testbed.real.accounts.account import Unit, members, single, time_bounds, together
from netstudy.testbed.real.accounts.bounds import Bounds, Part, at_most, exactly
from netstudy.wire import TimeAccount

QUEUE, CPU = Part("own", "queue", "switch", "client"), Part("own", "cpu", "server")


def unit(whole_ns: int, queue_ns: int, connection: int = 0) -> Unit:
    """A unit that waits in a queue, and is at most a tenth of its time at a CPU."""
    parts = {QUEUE: exactly(queue_ns), CPU: at_most(whole_ns / 10)}
    return Unit(whole_ns, parts, connection=connection)


def rows(account: TimeAccount) -> dict[str, tuple[int, int]]:
    assert account.high_ps is not None
    bounds = zip(account.low_ps, account.high_ps, strict=True)
    return dict(zip(account.place, bounds, strict=True))


def test_parts_of_all_units_add_up_and_the_rest_is_not_known() -> None:
    account = single("transfer", [unit(100, 70), unit(300, 200)])[0]
    assert (account.view, account.group, account.units) == ("journey", "all", 2)
    assert account.whole_ps == 400_000
    assert rows(account) == {
        "queue": (270_000, 270_000),
        "cpu": (0, 40_000),
        "not-known": (90_000, 130_000),
    }


def test_groups_are_chosen_by_the_time_of_units() -> None:
    """Of 100 units of 1 to 100 ns in another order, the middle ten are those of 46 to 55 ns."""
    times = [*range(51, 101), *range(1, 51)]
    found = {one.group: one for one in single("iteration", [unit(ns, 0, ns) for ns in times])}
    assert [one.units for one in found.values()] == [100, 10, 2, 1]
    assert found["middle"].whole_ps == 1_000 * sum(range(46, 56))
    assert found["slowest"].whole_ps == 199_000
    assert (found["worst"].number, found["worst"].connection) == (50, 100)


def test_no_unit_has_no_account() -> None:
    assert (
        single("transfer", [])
        == members("iteration", [])
        == together("request", Unit(0, {}, count=0))
        == ()
    )


def test_units_of_which_only_the_sum_is_known_have_one_account() -> None:
    (account,) = together("request", Unit(1_000, {QUEUE: exactly(600)}, count=7))
    assert (account.group, account.units, account.whole_ps) == ("all", 7, 1_000_000)


def test_the_law_holds_and_tells_what_is_not_known() -> None:
    (check,) = time_bounds(single("transfer", [unit(100, 70)]))
    assert check.law == "time bounds hold"
    assert check.holds
    assert "30.0 % is not known" in check.detail
    assert list(time_bounds(())) == []


@pytest.mark.parametrize(
    "parts",
    [
        {QUEUE: exactly(60), CPU: exactly(50)},  # more than the whole together
        {QUEUE: exactly(130)},  # more than the whole in one part
        {QUEUE: Bounds(50, 40)},  # more than its own upper bound
    ],
)
def test_lower_bounds_that_cannot_be_break_the_law(parts: dict[Part, Bounds]) -> None:
    (check,) = time_bounds(single("transfer", [Unit(100, parts)]))
    assert not check.holds


def test_upper_bounds_below_the_whole_break_the_law() -> None:
    (account,) = together("request", Unit(100, {QUEUE: exactly(60)}, count=1))
    short = account.model_copy(update={"high_ps": (60_000, 30_000)})
    (check,) = time_bounds([short])
    assert not check.holds
    assert "at most" in check.detail
