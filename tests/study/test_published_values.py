"""Published loss counts that contradict their own row are found and not used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy.study import Study, load
from netstudy.study.published_values import contradictory_values, published_values
from netstudy.study.vocabulary import MetricName

INCAST = """\
study: s
question: q
factors: {servers: [1, 2, 3, 4, 5]}
topology:
  client: {profile: host-10g}
  server: {profile: host-10g, count: "${servers}"}
  switch: generic-shallow
  link: {rate: 10 Gbit/s}
workload: {incast: {block: 64 kB, iterations: 2}}
"""
COLUMNS = """\
reference:
  file: data.csv
  source: a source
  factors: {servers: servers}
  columns:
    drops: {metric: drops_per_iteration}
    again: {metric: retransmissions_per_iteration}
    ms: {metric: completion_ms_mean}
    mbps: {metric: goodput_mbps}
"""


@pytest.fixture
def published(tmp_path: Path) -> Callable[..., Study]:
    """The study with these published rows."""

    def _published(*rows: str) -> Study:
        (tmp_path / "data.csv").write_text("\n".join(("servers,drops,again,ms,mbps", *rows)))
        (tmp_path / "study.yaml").write_text(INCAST + COLUMNS)
        return load(tmp_path / "study.yaml")

    return _published


def told(study: Study) -> list[tuple[str, bool, MetricName | None]]:
    return [
        (
            f"{one.value.row} {one.value.metric}",
            one.without_drops,
            None if one.repeats is None else one.repeats.metric,
        )
        for one in contradictory_values(study)
    ]


def test_retransmissions_without_a_drop_that_repeat_the_time_are_not_used(
    published: Callable[..., Study],
) -> None:
    study = published("1,0.0,15.9,15.9,5018.5", "2,10.5,10.4,16.5,4845.1", "3,0.0,0.0,3.1,9000.1")
    ((row, without_drops, repeats),) = told(study)
    assert row == "data.csv:2 retransmissions_per_iteration"
    assert without_drops
    assert str(repeats) == "completion_ms_mean"
    used = [(one.place.line, str(one.metric)) for one in published_values(study)]
    assert (2, "retransmissions_per_iteration") not in used
    assert len(used) == 11


def test_retransmissions_without_a_drop_contradict_also_without_a_repetition(
    published: Callable[..., Study],
) -> None:
    study = published("1,0,4.3,15.0,5333.4", "2,0,0,9.5,7000.0")
    assert told(study) == [("data.csv:2 retransmissions_per_iteration", True, None)]


def test_a_source_that_always_resends_without_drops_has_losses_elsewhere(
    published: Callable[..., Study],
) -> None:
    assert told(published("1,0,4.3,15.0,5333.4", "2,0,7,9.5,7000", "3,0,8,9.6,7001")) == []


@pytest.mark.parametrize(
    ("row", "is_found"),
    [
        ("1,162.84,161.20,162.84,900.0", True),  # five digits of drops beside the time's
        ("1,16.3,16.1,16.3,900.0", False),  # three digits repeat by chance
        ("1,0,0,0,900.0", False),  # nothing repeats nothing
        ("1,162.84,162.84,15.0,900.0", False),  # two counts may be equal
    ],
)
def test_long_numbers_of_another_unit_are_no_count(
    published: Callable[..., Study], row: str, is_found: bool
) -> None:
    assert bool(told(published(row, "2,10.5,10.4,16.5,4845.1"))) == is_found
