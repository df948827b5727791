"""Claims about growth with a factor."""

from __future__ import annotations

from collections.abc import Iterable

from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.cells import Growth


def claims_of_growth(growths: Iterable[Growth]) -> tuple[Claim, ...]:
    """Where growth ends, or that it goes on; nothing where this is uncertain."""
    return tuple(_claim(one) for one in growths if _is_decided(one))


def _is_decided(one: Growth) -> bool:
    return not one.is_uncertain and (one.has_ended or not one.beyond)


def _claim(one: Growth) -> Claim:
    level = one.last_gain.treatment[one.factor]
    return Claim("growth ends" if one.beyond else "still grows", one.factor, (level,), one.metric)
