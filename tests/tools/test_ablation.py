"""Taking mechanisms away: what is changed in a plan, what is joined, how it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netstudy.analysis.workloads.incast import COMPLETION, DROPS
from netstudy.calibration import Model, Shown, Target, Trial, simulated
from netstudy.calibration import model as calibration_model
from netstudy.errors import NetstudyError
from netstudy.plan_lines import RUN, plan_lines, read_plan
from netstudy.wire import Plan, Run, RunRecord
from tools import ablation, trial
from tools.ablation import MECHANISMS, Mechanism, Row, without
from tools.trial import SHOWN, SWITCHES, Accuracy

pytestmark = pytest.mark.engine

ON_DISORDER = "network.groups.tcp.quick_ack_disorder"


@pytest.fixture(scope="module")
def model() -> Model:
    """Both switches with two servers."""
    return trial.model(2, (2,), (trial.JUMBO,))


@pytest.fixture(scope="module")
def base(model: Model) -> Plan:
    return model.plan_with(Trial({}), 1)


def accuracy(completion: float, drops: float = 1.0) -> Accuracy:
    values = {(COMPLETION, s): completion for s in SWITCHES} | {(DROPS, s): drops for s in SWITCHES}
    return Accuracy(dict(values), 2.7)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_without_a_mechanism_a_plan_is_still_a_plan(mechanism: Mechanism, base: Plan) -> None:
    changed = without(mechanism, base)
    assert read_plan(plan_lines(changed)) == changed
    assert [run.id for run in changed.runs] == [run.id for run in base.runs]


def test_a_mechanism_of_one_switch_leaves_the_other_alone(base: Plan) -> None:
    guarantee = next(one for one in MECHANISMS if "guaranteed" in one.name)
    pairs = zip(without(guarantee, base).runs, base.runs, strict=True)
    (run,) = (changed for changed, before in pairs if changed != before)
    assert run.treatment["switch"] == trial.ARISTA
    assert switch_of(run)["buffer"]["ingress_guarantee_frames"] == 0


def test_the_shared_memory_is_cut_into_as_many_parts_as_there_are_ports(base: Plan) -> None:
    switch = switch_of(without(MECHANISMS[0], base).runs[0])
    before = switch_of(base.runs[0])["buffer"]
    each = switch["buffer"]["port_buffer_bytes"] - before["port_reserve_bytes"]
    assert each * switch["ports"] <= before["pool_bytes"] < (each + 1) * switch["ports"]


def switch_of(run: Run) -> dict[str, Any]:
    return ablation.switch_of(RUN.dump_python(run, mode="json"))


def test_what_no_run_has_cannot_be_taken_away(base: Plan) -> None:
    with pytest.raises(ValueError, match="no run has the settings of luck"):
        without(Mechanism("luck", "none", ablation.settings({"tcp": {"luck": 0}})), base)


def test_what_the_profiles_do_not_have_changes_no_run(base: Plan) -> None:
    changed = trial.changed(base, trial.always({ON_DISORDER: False}))
    quick = next(one for one in MECHANISMS if "out of order" in one.name)
    assert changed != base
    assert without(quick, changed) == changed


def test_a_mechanism_counts_by_what_the_errors_grow_by() -> None:
    worse, whole = (Row("", "", {"4 MB": one}) for one in (accuracy(5.0, 2.0), accuracy(3.0, 1.0)))
    assert worse.worse_than(whole) == pytest.approx(2 * 2 + 2 * 1)


def test_only_changed_runs_are_simulated_again(
    model: Model, base: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def counting(plan: Plan, threads: int | None = None) -> dict[str, RunRecord]:
        asked.append(len(plan.runs))
        return simulated(plan, threads)

    monkeypatch.setattr(calibration_model, "simulated", counting)
    aims = trial.targets(model)
    first = model.replicates(base, trial.shown(aims))
    others = model.replicates(without(MECHANISMS[0], base), trial.shown(aims))
    assert model.replicates(base, trial.shown(aims)) == first
    assert asked == [2, 1]
    changed = {one.treatment["switch"] for one in aims if others[shown(one)] != first[shown(one)]}
    assert changed == {trial.ARISTA}


def test_the_accuracy_is_that_of_the_runs(model: Model, base: Plan) -> None:
    aims = trial.targets(model)
    said = {one: value for one, (value,) in model.replicates(base, trial.shown(aims)).items()}
    found = Accuracy.of(aims, said)
    assert set(found.median_abs_pct) == {(m, s) for m in SHOWN for s in SWITCHES}
    times = {one.treatment["switch"]: said[shown(one)] for one in aims if is_time(one)}
    assert found.ratio == pytest.approx(times[trial.ARISTA] / times[trial.NEXUS])
    (published,) = (
        one.value for one in aims if is_time(one) and one.treatment["switch"] == SWITCHES[0]
    )
    error = 100 * abs(times[SWITCHES[0]] / published - 1)
    assert found.median_abs_pct[COMPLETION, SWITCHES[0]] == pytest.approx(error)


def shown(one: Target) -> Shown:
    return one.run, one.metric


def is_time(one: Target) -> bool:
    return str(one.metric) == COMPLETION.name


def test_a_run_that_the_engine_refuses_is_told_in_its_words(base: Plan) -> None:
    many = trial.always({"network.nodes.buffer.ingress_guarantee_frames": 1 << 40})
    with pytest.raises(NetstudyError, match=r"cannot compute with .* expected 0 to 4294967295"):
        simulated(trial.changed(base, many))


def test_rows_begin_with_the_whole_model_and_go_on_with_what_hurts_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("guaranteed frames of each ingress port", "memory in cells")
    chosen = tuple(one for one in MECHANISMS if one.name in names)
    monkeypatch.setattr(ablation, "MECHANISMS", chosen)
    monkeypatch.setattr(ablation, "SERVERS", (2, 8))
    found = ablation.rows(iterations=2, seed=1)
    assert [row.name for row in found[:2]] == ["nothing", "nothing"]
    assert [row.name for row in found[2:]] == [*names]
    assert found[0].found != found[1].found
    nexus = (COMPLETION, "nexus-5010")
    whole, without_it = (found[row].found["8 MB"].median_abs_pct for row in (0, 2))
    assert without_it[nexus] == whole[nexus]


def test_the_table_is_put_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    begin, end = trial.markers("ablation")
    page.write_text(f"# Mine\n{begin}\nold\n{end}\nThe end.\n")
    found = [Row("nothing", "", {"4 MB": accuracy(3.0), "8 MB": accuracy(5.0)})]
    found.append(Row("BIC", "Reno", {"4 MB": accuracy(40.0), "8 MB": accuracy(50.0)}))
    trial.write("ablation", (2, 8), 200, 1, ablation.parts(found), page)
    text = page.read_text()
    assert text.startswith(f"# Mine\n{begin}\n\n200 iterations a cell")
    assert text.endswith(f"{end}\nThe end.\n")
    assert text.count("### Without: ") == 2
    assert "| BIC | Reno | 40.0 | 40.0 | 1.0 | 1.0 |  |  | 2.70 |" in text
    assert "| BIC | Reno | 50.0 | 50.0 | 1.0 | 1.0 |  |  | 2.70 |" in text
    assert "old" not in text
