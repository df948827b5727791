"""`netstudy calibrate` on data that the simulator itself made: it must find the figures again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netstudy.calibration import Options, calibrate, written
from netstudy.calibration.targets import targets_of
from netstudy.cli import invoke
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan import make_plan
from netstudy.study import Study, load

STUDY = """\
study: shop
question: What does an order cost?
factors: {users: [1, 4, 12]}
topology:
  hosts:
    load: {profile: host-1g}
    app: {profile: host-1g, cpus: 2}
    db: {profile: host-1g, cpus: 1}
  links:
    - {between: [load, app], rate: 1 Gbit/s}
    - {between: [app, db], rate: 1 Gbit/s}
workload:
  transactions: {application: brokerage, model: shop, closed: {users: "${users}"}}
procedure: {warmup: 1 s, measure: 5 s}
reference:
  - file: known.csv
    source: made for this test
    factors: {users: users}
    columns: {rate: {metric: etr_per_s}, cpu: {metric: app.cpu_pct}}
  - file: kept.csv
    source: made for this test
    predict: true
    factors: {users: users}
    columns: {rate: {metric: etr_per_s}}
"""
PROFILE = """\
profile: shop
kind: application
title: A shop
figures:
  app_cpu: {value: 3 ms, source: assumed, from: a start}
  database_cpu: {value: 1 ms, source: assumed, from: a start}
  service: {value: exponential, source: assumed, from: usual}
  database_calls: {value: 1, source: assumed, from: usual}
"""
# 4 ms at 2 CPUs and 1.5 ms at 1, by exact mean value analysis: 1 and 4 users; with 12 users kept.
KNOWN = "users,rate,cpu\n1,181.8,36.36\n4,436.2,87.24\n"


@pytest.fixture
def shop(tmp_path: Path) -> Study:
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "shop.yaml").write_text(PROFILE, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "known.csv").write_text(KNOWN, encoding="utf-8")
    (tmp_path / "kept.csv").write_text("users,rate\n12,495.2\n", encoding="utf-8")
    return load(tmp_path)


OPTIONS = Options(
    figures=("app_cpu", "database_cpu"), choices={}, tolerances={}, rounds=3, measure_s=30.0
)


def test_known_figures_are_found_again_and_a_kept_row_is_predicted(shop: Study) -> None:
    found = calibrate(shop, "shop", OPTIONS)
    assert found.values["app_cpu"] == pytest.approx(4e6, rel=0.03)
    assert found.values["database_cpu"] == pytest.approx(1.5e6, rel=0.15)
    low, high = found.intervals["app_cpu"]
    assert low < found.values["app_cpu"] < high
    kept = [one for one in found.judged if one.target.predicted]
    assert [one.target.file for one in kept] == ["kept.csv"]
    assert kept[0].left_out is None
    assert kept[0].simulated == pytest.approx(495.2, rel=0.03)
    assert all(one.left_out is not None for one in found.judged if not one.target.predicted)


def test_the_written_profile_says_where_its_figures_come_from(shop: Study, tmp_path: Path) -> None:
    found = calibrate(shop, "shop", OPTIONS)
    library = HardwareLibrary.default(shop.folder)
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "shop.yaml").write_text(written(library, found, "a test"), encoding="utf-8")
    profile = HardwareLibrary((folder,)).application("shop")
    assert profile.figures.app_cpu.source == "fitted"
    assert profile.figures.app_cpu.interval
    assert profile.figures.service.source == "assumed"


def test_values_that_are_kept_for_a_blind_check_are_nothing_to_fit_to(
    shop: Study, tmp_path: Path
) -> None:
    text = STUDY.replace(
        "    source: made for this test\n    factors",
        "    source: made for this test\n    predict: true\n    factors",
        1,
    )
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    study = load(tmp_path)
    with pytest.raises(StudyError, match="all of it is marked predict: true"):
        targets_of(study, make_plan(study))
    assert {one.predicted for one in targets_of(shop, make_plan(shop))} == {False, True}


def test_the_verb_prints_json_and_refuses_a_figure_that_is_not_there(
    shop: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["calibrate", str(shop.path), "--profile", "shop", "--rounds", "1", "--json"]
    assert invoke([*command, "--measure", "1 s", "--fit", "app_cpu"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in data["rows"]} == {"etr_per_s", "app.cpu_pct"}
    assert invoke([*command, "--fit", "app_cpus"]) == 2
    assert 'an application has no figure "app_cpus"' in capsys.readouterr().err
