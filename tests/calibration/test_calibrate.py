"""`netstudy calibrate` on data that the simulator itself made: it must find the figures again."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.calibration import (
    Fitted,
    Interval,
    Length,
    Options,
    calibrate,
    figure_named,
    written,
)
from netstudy.calibration.targets import published_targets
from netstudy.cli import invoke
from netstudy.errors import StudyError
from netstudy.hardware import HardwareLibrary
from netstudy.plan import make_plan
from netstudy.store import Folder
from netstudy.study import Study, load
from netstudy.testbed.sim import Sim

pytestmark = pytest.mark.engine

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
    fitted: []
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
TRUE = {"app_cpu": 4e6, "database_cpu": 1.5e6}
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


OPTIONS = Options(figures=("app_cpu", "database_cpu"), rounds=3, length=Length(measure_s=30.0))


HOSTS = ("load", "app", "db")
SHORT = {"--profile": "shop", "--fit": "app_cpu", "--rounds": "1", "--measure": "1 s"}


def fitted_shortly(study: Study, *more: str) -> list[str]:
    """The command line of a short fit; what is given stands in place of its usual options."""
    usual = [
        part for option, value in SHORT.items() if option not in more for part in (option, value)
    ]
    return ["calibrate", *usual, *more, str(study.path)]


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
    before = library.file("shop")
    assert before is not None
    (folder / "shop.yaml").write_bytes(written(before, found.fitted("a test")))
    profile = HardwareLibrary((folder,)).application("shop")
    assert profile.figures.app_cpu.source == "fitted"
    assert profile.figures.app_cpu.interval
    assert profile.figures.service.source == "assumed"


def test_values_that_are_kept_for_a_blind_check_are_nothing_to_fit_to(
    shop: Study, tmp_path: Path
) -> None:
    text = STUDY.replace(
        "    source: made for this test\n    factors",
        "    source: made for this test\n    fitted: []\n    factors",
        1,
    )
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    study = load(tmp_path)
    with pytest.raises(StudyError, match='its list "fitted" names no value'):
        published_targets(study, make_plan(study))
    assert {one.predicted for one in published_targets(shop, make_plan(shop))} == {False, True}


def test_a_run_that_breaks_a_law_is_told_with_the_law(
    shop: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["calibrate", str(shop.path), "--profile", "shop", "--fit", "app_cpu"]
    assert invoke([*command, "--measure", "10 ms"]) != 0
    message = capsys.readouterr().err
    assert "the simulated run at users " in message
    assert "is invalid: users = throughput x (response time + think time): " in message


def refused(shop: Study, capsys: pytest.CaptureFixture[str], options: list[str]) -> str:
    """What is said of options that are refused."""
    assert invoke(fitted_shortly(shop, *options)) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [
        ["--tolerance", "etr_per_sec=1"],
        ["--tolerance", "etr_per_sec=1%"],
        ["--without", "etr_per_sec"],
    ],
)
def test_an_option_for_a_metric_that_has_no_value_is_refused(
    shop: Study, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    command = ["calibrate", str(shop.path), "--profile", "shop", "--fit", "app_cpu"]
    assert invoke([*command, *option]) == 2
    assert (
        f'{option[0]}: no target has the metric "etr_per_sec"; did you mean "etr_per_s"?'
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--measure", "foo"], '--measure: "foo" is not a duration; write a number and a unit'),
        (["--warmup", "2"], "--warmup: 2 has no unit; a duration is in ns"),
        (["--measure", "0s"], "--measure: 0s measures nothing; write a time such as 20 s"),
        (["--tolerance", "etr_per_s=nan"], "--tolerance etr_per_s=nan: write METRIC=NUMBER"),
        (["--tolerance", "etr_per_s"], "--tolerance etr_per_s: write METRIC=NUMBER"),
        (["--tolerance", "etr_per_s=0"], "=0: a tolerance is a finite number above 0"),
        (["--tolerance", "etr_per_s=-2%"], "=-2%: a tolerance is a finite number above 0"),
        (["--tolerance", "etr_per_s=inf"], "=inf: a tolerance is a finite number above 0"),
        (
            ["--tolerance", "etr_per_s=1", "--tolerance", "etr_per_s=2"],
            "--tolerance: etr_per_s is given twice; give it once",
        ),
        (
            ["--choose", "database_calls=1,2", "--choose", "database_calls=3,4"],
            "--choose: database_calls is given twice; give it once",
        ),
    ],
)
def test_an_option_with_a_wrong_value_is_refused_by_name(
    shop: Study, capsys: pytest.CaptureFixture[str], option: list[str], message: str
) -> None:
    assert message in refused(shop, capsys, option)


@pytest.mark.parametrize(
    "twice",
    [
        ["--fit", "app_cpu,app_cpu"],
        ["--fit", "app_cpu,shop:app_cpu"],
        ["--choose", "app_cpu=1 ms,2 ms"],
        ["--choose", "shop:app_cpu=1 ms,2 ms"],
    ],
)
def test_a_figure_that_is_named_twice_is_refused(
    shop: Study, capsys: pytest.CaptureFixture[str], twice: list[str]
) -> None:
    message = "the figure app_cpu of shop is named twice; name it once"
    assert message in refused(shop, capsys, twice)


COSTS = "workload.transactions.costs"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--fit", "app_cpu", "--set", f"{COSTS}.app_cpu=250 us"],
            "app_cpu of shop changes none of the fitted runs: the study sets app_cpu itself, at "
            f"{COSTS}.app_cpu; remove that setting",
        ),
        (
            ["--fit", "app_cpu", "--choose", f"{COSTS}.app_cpu=1 ms,2 ms"],
            f"app_cpu of shop changes none of the fitted runs: the study sets app_cpu itself, at "
            f"{COSTS}.app_cpu; remove that setting",
        ),
        (
            ["--choose", "app_cpu=1 ms,2 ms", "--fit", "", "--set", f"{COSTS}.app_cpu=250 us"],
            "app_cpu of shop changes none of the fitted runs: ",
        ),
        (
            ["--fit", "host-1g:nic.send_latency"]
            + [f"--set=topology.hosts.{host}.nic.send_latency=1 us" for host in HOSTS],
            "nic.send_latency of host-1g changes none of the fitted runs: the study sets "
            "send_latency itself, at topology.hosts.load.nic.send_latency and topology.hosts.app.",
        ),
        (
            ["--fit", "hp-n4000:cpu.send_per_packet"],
            "cpu.send_per_packet of hp-n4000 changes none of the fitted runs; fit a figure of a "
            "profile that these runs use",
        ),
    ],
)
def test_a_figure_that_the_study_takes_from_elsewhere_is_refused(
    shop: Study, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert message in refused(shop, capsys, options)


def test_a_figure_that_some_hosts_still_take_from_their_profile_is_fitted(shop: Study) -> None:
    options = ["--fit", "host-1g:nic.send_latency", "--set=topology.hosts.db.nic.send_latency=1 us"]
    assert invoke(fitted_shortly(shop, *options)) == 0


@pytest.mark.parametrize("values", ["2", "2,2"])
def test_a_choice_of_one_value_is_refused(
    shop: Study, capsys: pytest.CaptureFixture[str], values: str
) -> None:
    options = ["--choose", f"database_calls={values}"]
    assert invoke(fitted_shortly(shop, *options)) == 2
    message = "--choose: database_calls: a choice needs at least two different values"
    assert message in capsys.readouterr().err


ONE_CPU = ["--set", "topology.hosts.app.cpus=1"]
"""An application on one CPU: what each further CPU adds to its time changes nothing."""


def test_a_figure_that_the_data_say_nothing_of_is_left_as_it_was(
    shop: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new.yaml"
    options = [*ONE_CPU, "--fit", "app_cpu,app_cpu_growth", "--write", str(new)]
    assert invoke(fitted_shortly(shop, *options)) == 0
    out, err = capsys.readouterr()
    assert "shop app_cpu_growth: 0 % (no interval)\n" in out
    assert "the data do not determine app_cpu_growth: no fitted value changes with it\n" in out
    assert "unchanged in the profile: app_cpu_growth\n" in err
    text = new.read_text()
    assert "source: fitted" in text
    assert "app_cpu_growth:" not in text


@pytest.mark.parametrize("how", [["--fit", "app_cpu_growth"],
                                 ["--fit", "", "--choose", "app_cpu_growth=0 %,1 %"]])  # fmt: skip
def test_where_the_data_say_nothing_no_profile_is_written(
    shop: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: list[str]
) -> None:
    new = tmp_path / "new.yaml"
    assert invoke(fitted_shortly(shop, *ONE_CPU, *how, "--write", str(new))) == 2
    out, err = capsys.readouterr()
    assert "the data do not determine app_cpu_growth" in out
    assert "--write: nothing is written: the data do not determine app_cpu_growth" in err
    assert not new.exists()


@pytest.mark.parametrize(
    ("path", "more", "message"),
    [
        ("none/x.yaml", [], "--write: there is no folder none for x.yaml"),
        ("study.yaml/x.yaml", [], "--write: there is no folder study.yaml for x.yaml"),
        ("taken", [], "--write: taken/shop.yaml cannot be written"),
        (
            "x.yaml",
            ["--fit", "app_cpu,host-1g:nic.send_latency"],
            "--write: x.yaml is not a folder, but shop and host-1g need one file each; name a "
            "folder",
        ),
        (
            "x.yaml",
            ["--fit", ""],
            "no figure of a profile is fitted or chosen, so there is nothing to write",
        ),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_simulated(
    shop: Study,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    more: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(shop.folder)
    monkeypatch.setattr(Sim, "run", lambda *_, **__: pytest.fail("it was simulated"))
    (shop.folder / "taken" / "shop.yaml").mkdir(parents=True)
    assert invoke(fitted_shortly(shop, *more, "--write", path)) == 2
    assert message in capsys.readouterr().err


def test_a_result_that_cannot_be_written_in_the_end_is_printed(
    shop: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("netstudy.store.write_atomic", full)
    new = shop.folder / "new.yaml"
    assert invoke(fitted_shortly(shop, "--write", str(new))) == 2
    out, err = capsys.readouterr()
    assert "shop app_cpu: " in out
    assert f"--write: {new}: No space left on device" in err


def test_figures_that_the_data_do_not_tell_apart_are_named_and_not_written(
    shop: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new.yaml"
    # With that tolerance there is only the rate of one user, who waits for either of them alike.
    options = ["--fit", "delay,database_hold", "--only", "users=1", "--write", str(new)]
    (shop.folder / "known.csv").write_text("users,rate,cpu\n1,100,15\n")
    loosely = ["--tolerance", "app.cpu_pct=1e12", "--rounds", "4"]
    command = fitted_shortly(shop, *options, *loosely)
    assert invoke(command) == 2
    out, err = capsys.readouterr()
    assert "the data cannot distinguish delay and database_hold: fit fewer of them\n" in out
    assert out.count("(no interval)") == 2
    assert "hold only with the values above of delay and database_hold" in err
    assert not new.exists()
    assert invoke([*command, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["undetermined"] == [["delay", "database_hold"]]
    assert found["intervals"] == {}


def test_another_seed_fits_and_judges_with_other_random_numbers(
    shop: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for seed in ("1", "77", "9223372036854775807"):
        assert invoke(fitted_shortly(shop, "--json", "--set", f"seed={seed}")) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert len({one["sum_of_squares"] for one in found}) == 3
    assert len({one["rows"][0]["simulated"] for one in found}) == 3


def test_runs_may_have_no_warmup(shop: Study) -> None:
    assert invoke(fitted_shortly(shop, "--warmup", "0 s")) == 0


def test_the_verb_prints_json_and_refuses_a_figure_that_is_not_there(
    shop: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["calibrate", str(shop.path), "--profile", "shop", "--rounds", "1", "--json"]
    assert invoke([*command, "--measure", "1 s", "--fit", "app_cpu"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in data["rows"]} == {"etr_per_s", "app.cpu_pct"}
    assert [row["treatment"] for row in data["rows"][:2]] == [{"users": 1}, {"users": 1}]
    assert invoke([*command, "--fit", "app_cpus"]) == 2
    assert (
        'the profile shop has no figure "app_cpus"; did you mean "app_cpu"?'
        in capsys.readouterr().err
    )


@pytest.fixture
def measured(shop: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of the shop with the true costs; the profile beside it says others afterwards."""
    profile = tmp_path / "hardware" / "shop.yaml"
    profile.write_text(PROFILE.replace("3 ms", "4 ms").replace("value: 1 ms", "value: 1500 us"))
    monkeypatch.chdir(tmp_path)
    more = ["--set", "replicates=3", "--set", "procedure.measure=20 s"]
    assert invoke(["run", str(shop.path), "--without", "reference", *more]) == 0
    profile.write_text(PROFILE)
    return tmp_path / "results" / "shop" / "latest"


def test_known_figures_are_found_again_from_measured_runs(measured: Path) -> None:
    folder = Folder.at(measured)
    assert folder is not None
    options = replace(OPTIONS, rounds=6, metrics=("etr_per_s", "response_ms_mean", "app.cpu_pct"))
    found = calibrate(folder.study(), "shop", options, folder)
    for name, true in TRUE.items():
        low, high = found.intervals[name]
        assert low < true < high
        assert found.values[name] == pytest.approx(true, rel=0.1)
    assert {one.target.row for one in found.judged} == {f"users {n}" for n in (1, 4, 12)}
    assert all(one.target.spread > 0 for one in found.judged)


def test_the_verb_takes_measured_runs_and_writes_the_profile(
    measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    before = tmp_path / "hardware" / "shop.yaml"
    command = ["calibrate", str(measured), "--profile", "shop", "--fit", "app_cpu"]
    assert invoke([*command, "--on", "etr_per_s", "--measure", "5 s", "--write", str(before)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("shop app_cpu: ")
    assert sum("left out" in line for line in lines) == 3
    figure = HardwareLibrary((tmp_path / "hardware",)).application("shop").figures.app_cpu
    assert figure.source == "fitted"
    assert figure.from_.startswith(f"netstudy calibrate {measured} --profile shop --fit app_cpu ")
    assert "--measure '5 s'" in figure.from_
    assert "--write" not in figure.from_
    assert figure.interval[0] < figure.value < figure.interval[1]
    unlike = set(before.read_text().splitlines()) ^ set(PROFILE.splitlines())
    assert {line.split(":")[0].strip() for line in unlike} <= {
        "app_cpu", "value", "source", "from", "interval",
    }  # fmt: skip


def test_measured_runs_need_metrics_and_published_ones_are_none(
    shop: Study, measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["calibrate", str(measured), "--profile", "shop", "--fit", "app_cpu"]
    assert invoke(command) == 2
    assert "is for measured runs" in capsys.readouterr().err
    assert invoke([*command, "--on", "etr_per_s,errors"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "errors is 0 at users 1, so a share of it is 0" in told
    assert invoke([*command, "--on", "etr_per_m"]) == 2
    assert 'there is no metric "etr_per_m"' in capsys.readouterr().err
    assert invoke(["run", str(shop.path), "--testbed", "published"]) == 0
    command[1] = str(tmp_path / "results" / "shop" / "latest")
    assert invoke([*command, "--on", "etr_per_s"]) == 2
    assert "holds published values, not measured runs" in " ".join(capsys.readouterr().err.split())


def test_rows_that_a_reference_does_not_name_as_fitted_are_predicted(
    shop: Study, tmp_path: Path
) -> None:
    text = STUDY.replace("columns: {rate", "fitted: [{users: 4}]\n    columns: {rate", 1)
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    targets = published_targets(load(tmp_path), make_plan(shop))
    assert {(one.treatment["users"], one.predicted) for one in targets} == {
        (1, True), (4, False), (12, True),
    }  # fmt: skip


def test_what_is_chosen_may_be_a_figure_or_a_key_of_the_study(shop: Study) -> None:
    options = Options(
        figures=(),
        choices={"app_cpu": ("4 ms", "5 ms", "3 ms"), "topology.hosts.db.cpus": ("1", "2")},
        tolerances={"etr_per_s": 5.0},
        left_out=frozenset({"app.cpu_pct"}),
        length=Length(measure_s=30.0),
    )
    shorter = PROFILE.replace("value: 1 ms", "value: 1500 us")
    (shop.folder / "hardware" / "shop.yaml").write_text(shorter)
    found = calibrate(shop, "shop", options)
    loose = calibrate(shop, "shop", replace(options, tolerances={"etr_per_s": 200.0}))
    assert loose.as_good["app_cpu"] == Interval("3 ms", "5 ms")
    assert found.chosen == {"app_cpu": "4 ms", "topology.hosts.db.cpus": "1"}
    assert found.as_good["app_cpu"] == Interval("4 ms", "4 ms")
    assert set(found.fitted("a test")) == {found.figures["app_cpu"]}


def test_a_difference_below_the_error_of_the_model_is_named(shop: Study) -> None:
    (shop.folder / "known.csv").write_text("users,rate,cpu\n1,250,50\n4,255,51\n")
    found = calibrate(shop, "shop", OPTIONS)
    assert any(
        one.startswith("etr_per_s at users 1 and 4 differs by 2.0 %") for one in found.unresolved
    )


RELATIVE = """\
reference:
  - file: known.csv
    source: made for this test
    factors: {users: users}
    columns: {rate: {metric: etr_pct}, cpu: {metric: app.cpu_pct}}
  - file: kept.csv
    source: made for this test
    factors: {users: users}
    columns: {rate: {metric: etr_per_s}}
"""


def test_a_run_of_two_files_is_left_out_of_both_and_a_base_is_found_without_it(
    shop: Study, tmp_path: Path
) -> None:
    text = STUDY.partition("reference:")[0] + RELATIVE
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "known.csv").write_text("users,rate,cpu\n1,100,34.4\n4,250,86.5\n")
    (tmp_path / "kept.csv").write_text("users,rate\n4,430\n12,495\n")
    profile = PROFILE.replace("value: 1 ms", "value: 1500 us")
    (tmp_path / "hardware" / "shop.yaml").write_text(profile)
    options = replace(OPTIONS, figures=("app_cpu",), rounds=6)
    found = calibrate(load(tmp_path), "shop", options)
    rows = {(one.target.row, str(one.target.metric)): one for one in found.judged}
    assert found.values["app_cpu"] == pytest.approx(4e6, rel=0.03)
    # Left out it is in percent of the base's other row, and the rate is that of the other runs.
    (tmp_path / "known.csv").write_text("users,rate,cpu\n1,100,34.4\n4,270,93\n")
    (tmp_path / "kept.csv").write_text("users,rate\n4,470\n12,495\n")
    wrong = calibrate(load(tmp_path), "shop", options)
    for row, metric, value in (("known.csv:3", "etr_pct", 250), ("kept.csv:2", "etr_per_s", 430)):
        for judged in (
            rows,
            {(one.target.row, str(one.target.metric)): one for one in wrong.judged},
        ):
            assert judged[row, metric].left_out == pytest.approx(value, rel=0.03)


def test_a_file_that_is_only_predicted_has_a_base_of_its_own(shop: Study, tmp_path: Path) -> None:
    text = STUDY.replace("rate: {metric: etr_per_s}}", "rate: {metric: etr_pct}}")
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "kept.csv").write_text("users,rate\n1,100\n4,240\n")
    found = calibrate(load(tmp_path), "shop", replace(OPTIONS, rounds=1))
    kept = [one for one in found.judged if one.target.predicted]
    assert [one.target.value for one in kept] == [100, 240]
    assert min(one.error for one in kept) < 0 < max(one.error for one in kept)


def test_a_command_that_found_several_figures_is_written_once(shop: Study, tmp_path: Path) -> None:
    before = tmp_path / "hardware" / "shop.yaml"
    library = HardwareLibrary.default(shop.folder)
    ends = Interval(1e6, 5e6)
    named = {name: figure_named(library, name, "shop") for name in TRUE}
    both = {one: Fitted(2e6, ends, "shop --set 'a: b'") for one in named.values()}
    before.write_bytes(written(before, both))
    text = before.read_text()
    assert text.count("shop --set 'a: b'") == 1
    assert "from: *calibrated" in text
    one = {named["app_cpu"]: Fitted(3e6, ends, "another")}
    before.write_bytes(written(before, one))
    # The next two of another source must not take the name that is still in use.
    calls = figure_named(library, "database_calls", "shop")
    more = {**one, calls: Fitted(1.0, Interval(1.0, 1.0), "another")}
    before.write_bytes(written(before, more))
    figures = HardwareLibrary((before.parent,)).application("shop").figures
    assert figures.app_cpu.from_ == figures.database_calls.from_ == "another"
    assert figures.database_cpu.from_ == "shop --set 'a: b'"
