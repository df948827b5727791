"""A size that the law of the other sizes excludes, in published times with a planted law."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from netstudy.analysis.caveats.size_law import OffLaw, off_laws
from netstudy.analysis.related import pool_study
from netstudy.plan.measured.tables import published_plan
from netstudy.study import load
from netstudy.testbed.measured.testbed import PublishedData
from netstudy.wire import Record, RunRecord

SEED = 5
LATENCY_S, SECONDS_A_MB = 0.002, 0.009


def off(folder: Path, times: Mapping[str, float], scatter: float = 0.02) -> tuple[OffLaw, ...]:
    """Sizes off the law among times of two paths, three repetitions each, that scatter a little."""
    numbers = random.Random(SEED)
    rows = [
        f"{size},{path},{n},{seconds * factor * (1 + scatter * numbers.uniform(-1, 1)):.6g}"
        for size, seconds in times.items()
        for path, factor in (("near", 1.0), ("far", 1.4))
        for n in (1, 2, 3)
    ]
    (folder / "times.csv").write_text("\n".join(["size,path,n,seconds", *rows]) + "\n")
    (folder / "study.yaml").write_text(f"""\
study: sizes
question: How long does a file take?
factors:
  path: [near, far]
  size: [{", ".join(times)}]
topology:
  hosts: {{a: {{profile: host-1g}}, b: {{profile: host-1g}}, c: {{profile: host-1g}}}}
  placement: {{near: {{sender: a, receiver: b}}, far: {{sender: a, receiver: c}}}}
  switch: generic-deep
  link: {{rate: 1 Gbit/s}}
workload: {{transfer: {{placement: "${{path}}", direction: put, size: "${{size}}"}}}}
figures: [{{kind: size law, x: size, y: transfer_s, series: path, fit: latency + size/bandwidth}}]
reference:
  file: times.csv
  source: made up
  factors: {{size: size, path: path}}
  repetition: n
  columns: {{seconds: {{metric: transfer_s}}}}
""")
    study = load(folder)
    plan = published_plan(study, seed=1).plan
    records: list[Record] = []
    PublishedData().run(plan, threads=None, on_record=lambda one, _: records.append(one))
    runs = [record for record in records if isinstance(record, RunRecord)]
    return off_laws(study, pool_study(study, plan, runs))


def law(size_mb: float) -> float:
    return LATENCY_S + SECONDS_A_MB * size_mb


def test_a_size_with_the_times_of_another_is_found_with_that_size(tmp_path: Path) -> None:
    times = {"1 MB": law(1), "3 MB": law(30), "1 GB": law(1000)}
    (found,) = off(tmp_path, times)
    assert (found.factor, found.level, found.settings) == ("size", "3 MB", 2)
    low, high = found.implied_bytes
    assert 0.95 * 30e6 < low <= high < 1.05 * 30e6
    assert 0.95 * law(30) / law(3) < found.ratio[0] <= found.ratio[1] < 1.05 * law(30) / law(3)


def test_among_four_sizes_too(tmp_path: Path) -> None:
    times = {"1 MB": law(1), "3 MB": law(30), "100 MB": law(100), "1 GB": law(1000)}
    assert [one.level for one in off(tmp_path, times)] == ["3 MB"]


def test_sizes_that_keep_the_law_are_not_told_of(tmp_path: Path) -> None:
    times = {f"{size} MB": law(size) for size in (1, 3, 30, 1000)}
    assert off(tmp_path, times, scatter=0.2) == ()


def test_two_sizes_break_no_law(tmp_path: Path) -> None:
    assert off(tmp_path, {"1 MB": law(1), "3 MB": law(300)}) == ()
