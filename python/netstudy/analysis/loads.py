"""The factors of a study that set a load: the growing factor, by declaration; the load of the
workload (users, connections, flows, or the rate of requests); the number of hosts of a group.

Growth is judged along a load only. An MTU or the size of a buffer is none, although its levels are
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netstudy.documents.fields import Ref
from netstudy.study import Study
from netstudy.study.levels import FactorLevel, is_numeric
from netstudy.study.model import Factor
from netstudy.wire import Level


def loads_of(study: Study, case: str) -> dict[str, Mapping[Level, float]]:
    """The factors of a test case that set a load, in the order above, each with the load at its
    levels. Without loads: the levels are not numbers, so that nothing can be proportional to
    them."""
    found: dict[str, Mapping[Level, float]] = {}
    factors = next((one.factors for one in study.cases if one.name == case), ())
    references = list(_references(study))
    for factor in factors:
        if factor.growth is not None:
            field = next((name for name in references if _sets(factor, name)), factor.name)
            found[factor.name] = _loads(factor, field)
    for name in references:
        for factor in factors:
            if _sets(factor, name):
                found.setdefault(factor.name, _loads(factor, name))
    return found


def _references(study: Study) -> Iterator[str]:
    """The references of the load of the workload and of the numbers of hosts."""
    values = (*study.workload.spec.loads, *(one.count for one in study.topology.groups.values()))
    yield from (value.name for value in values if isinstance(value, Ref))


def _sets(factor: Factor, reference: str) -> bool:
    """Whether a factor, or a field of its levels, supplies the value of a reference."""
    return reference == factor.name or any(reference in one.fields for one in factor.levels)


def _loads(factor: Factor, reference: str) -> Mapping[Level, float]:
    def load(level: FactorLevel) -> Level | None:
        return level.name if reference == factor.name else level.fields.get(reference)

    known = {one.name: load(one) for one in factor.levels}
    values = [value for value in known.values() if value is not None]
    if len(values) < len(known) or not is_numeric(values):
        return {}
    return {name: float(value) for name, value in known.items() if value is not None}
