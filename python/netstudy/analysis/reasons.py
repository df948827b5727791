"""Why a run has no valid results, according to its record."""

from __future__ import annotations

from collections.abc import Iterator

from netstudy.wire import RunRecord, TestbedLimit


def reasons(record: RunRecord) -> str:
    """The run's error, the laws that it broke, and the testbed's limits that it exceeded."""
    return "; ".join(_reasons(record)) or "no reason given"


def _reasons(record: RunRecord) -> Iterator[str]:
    if record.error:
        yield record.error
    broken = [check for check in record.checks if not check.holds]
    yield from (f"{check.law}: {check.detail}" for check in broken)
    # A limit that makes a run invalid also breaks a law, and the reason is then already given with
    # the law.
    exceeded = [
        _limit(limit)
        for limit in record.limits
        if limit.exceeded and not (broken and limit.invalidates)
    ]
    if exceeded:
        yield f"the testbed was the limit: {', '.join(exceeded)}"


def _limit(limit: TestbedLimit) -> str:
    unit = f" {limit.unit}" if limit.unit else ""
    found = "" if limit.value is None else f" {limit.value:g} of {limit.allowed:g}{unit}"
    evidence = f" ({limit.evidence})" if limit.evidence else ""
    return f"{limit.name}{found}{evidence}"
