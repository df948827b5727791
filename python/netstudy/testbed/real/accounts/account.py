"""Accounts of time of groups of units, from the parts of each unit, and their law."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Final, Literal

from netstudy.testbed.real.accounts.bounds import Part, Parts, rest, summed, tightened
from netstudy.wire import Check, TimeAccount, UnitOfWork

Group = Literal["all", "middle", "slowest", "worst", "median-member"]
NOT_KNOWN: Final = Part("own", "not-known")
_LAW: Final = "time bounds hold"


@dataclass(frozen=True)
class Unit:
    """The time of a unit of work, or of several units together, with bounds of its parts."""

    whole_ns: int
    parts: Parts
    connection: int | None = None
    """The connection whose last byte ended the unit; None: it is not known."""
    count: int = 1
    """Number of units."""


def together(kind: UnitOfWork, unit: Unit) -> tuple[TimeAccount, ...]:
    """The account of all units, of which only the sum of the times is known. Empty without
    units."""
    return (_account(kind, "all", [unit]),) if unit.count else ()


def single(kind: UnitOfWork, units: Sequence[Unit]) -> tuple[TimeAccount, ...]:
    """The accounts of units in the order in which they began: of all, of the middle tenth, of the
    slowest 2 %, and of the worst one. Empty: there was no unit."""
    if not units:
        return ()
    by_time = sorted(units, key=lambda unit: unit.whole_ns)
    count, worst = len(units), by_time[-1]
    found = (
        _account(kind, "all", units),
        _account(kind, "middle", by_time[45 * count // 100 : -(-55 * count // 100)]),
        _account(kind, "slowest", by_time[98 * count // 100 :]),
    )
    number = next(number for number, unit in enumerate(units, 1) if unit is worst)
    own = {"number": number, "connection": worst.connection}
    return (*found, _account(kind, "worst", [worst]).model_copy(update=own))


def members(kind: UnitOfWork, units: Sequence[Unit]) -> tuple[TimeAccount, ...]:
    """The account of the median members of units. Empty: there was no unit."""
    return (_account(kind, "median-member", units),) if units else ()


def _account(kind: UnitOfWork, group: Group, units: Sequence[Unit]) -> TimeAccount:
    """The rest of the time above the lower bounds is the part `not-known`: it belongs to the parts
    with higher upper bounds, or to none of them."""
    whole_ns = sum(unit.whole_ns for unit in units)
    parts = summed(tightened(unit.whole_ns, unit.parts) for unit in units)
    parts[NOT_KNOWN] = rest(whole_ns, parts)
    rows = sorted(parts.items(), key=lambda row: (-row[1].low, -row[1].high))
    return TimeAccount(
        view="journey",
        group=group,
        unit=kind,
        units=sum(unit.count for unit in units),
        whole_ps=1_000 * whole_ns,
        reason=tuple(part.reason for part, _ in rows),
        place=tuple(part.place for part, _ in rows),
        node=tuple(part.node for part, _ in rows),
        to=tuple(part.to for part, _ in rows),
        low_ps=tuple(floor(1_000 * bounds.low) for _, bounds in rows),
        high_ps=tuple(ceil(1_000 * bounds.high) for _, bounds in rows),
    )


def time_bounds(accounts: Iterable[TimeAccount]) -> Iterator[Check]:
    """Checks of each account that no part has a lower bound above its upper one, that the lower
    bounds make up no more than the whole, and the upper bounds no less. Empty without accounts."""
    each = list(accounts)
    if each:
        broken = [why for account in each for why in _broken(account)]
        yield Check(law=_LAW, holds=not broken, detail="; ".join(broken) or _known(each))


def _broken(account: TimeAccount) -> Iterator[str]:
    highs = account.high_ps or account.low_ps
    name = f"{account.group} ({account.unit})"
    for place, low, high in zip(account.place, account.low_ps, highs, strict=True):
        if low > high:
            yield f"{name}: {place} is at least {_ms(low)} and at most {_ms(high)}"
    least, most = sum(account.low_ps), sum(highs)
    if least > account.whole_ps:
        yield f"{name}: the parts are at least {_ms(least)} of {_ms(account.whole_ps)}"
    if most < account.whole_ps:
        yield f"{name}: the parts are at most {_ms(most)} of {_ms(account.whole_ps)}"


def _known(accounts: Sequence[TimeAccount]) -> str:
    first = accounts[0]
    highs = first.high_ps or first.low_ps
    rows = zip(first.reason, first.place, highs, strict=True)
    left_ps = sum(high for reason, place, high in rows if Part(reason, place) == NOT_KNOWN)
    share = 100 * left_ps / max(first.whole_ps, 1)
    return f"{len(accounts)} accounts; of {first.group}, {share:.1f} % is not known"


def _ms(time_ps: int) -> str:
    return f"{time_ps / 1e9:.3f} ms"
