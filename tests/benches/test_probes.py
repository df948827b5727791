"""`make bench` tells what reading counters costs, from what the benchmark of the probes prints."""

from __future__ import annotations

from tests.benches.test_history import measured
from tools.bench.history import compare
from tools.bench.probes import KEPT, best, medians_us

PRINTED = """\
24 connections, both ends; median and 99th percentile of 500, µs
source                       wall      p99      CPU      p99
netlink:tcp                 912.4   5301.4    897.8   1281.7
/proc/<pid>/stat              6.9      8.6      7.0      8.6
one connection                5.1      8.9      5.2      8.9
namespace                   932.2   5540.8    925.4   1616.2
all                        1242.7   5775.8   1228.3   1674.7
"""


def test_processor_time_is_read_by_source() -> None:
    assert medians_us(PRINTED) == {
        "netlink:tcp": 897.8,
        "/proc/<pid>/stat": 7.0,
        "one connection": 5.2,
        "namespace": 925.4,
        "all": 1228.3,
    }


def test_the_best_round_of_each_counts() -> None:
    first, second = dict.fromkeys(KEPT, 5.0), dict.fromkeys(KEPT, 6.0)

    assert best([first | {"all": 9.0}, second | {"all": 8.0}]) == {
        "all": 8.0,
        "namespace": 5.0,
        "one connection": 5.0,
    }


def test_dearer_counters_are_worse_and_earlier_commits_need_not_have_them() -> None:
    before = measured(1.0)
    then = before.model_copy(update={"snapshot_us": {"all": 100.0}})
    now = before.model_copy(update={"snapshot_us": {"all": 125.0}})
    (row,) = [row for row in compare(now, [before, then]) if row.name == "counters, all"]

    assert (row.last_pct, row.is_slower) == (-25.0, True)
