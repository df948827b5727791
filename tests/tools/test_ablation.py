"""Taking mechanisms away: what is changed in a plan, what is joined, how it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.workloads.incast import COMPLETION, DROPS
from netstudy.wire import Plan, RunRecord
from tools import ablation, trial
from tools.ablation import MECHANISMS, SHOWN, SWITCHES, Accuracy, Mechanism, Row, without

pytestmark = pytest.mark.engine

ON_DISORDER = "network.groups.tcp.quick_ack_disorder"


@pytest.fixture(scope="module")
def base() -> trial.Plan:
    """Both switches with two servers."""
    return trial.plan(iterations=2, seed=1, servers=(2,), configurations=("4 MB",))


def accuracy(completion: float, drops: float = 1.0) -> Accuracy:
    values = {(COMPLETION, s): completion for s in SWITCHES} | {(DROPS, s): drops for s in SWITCHES}
    return Accuracy(dict(values), 2.7)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_without_a_mechanism_a_plan_is_still_a_plan(mechanism: Mechanism, base: trial.Plan) -> None:
    changed = without(mechanism, base)
    assert Plan.model_validate(changed)
    before = {run["id"]: run for run in base["runs"]}
    assert all(run != before[run["id"]] for run in changed["runs"])


def test_a_mechanism_of_one_switch_leaves_the_other_alone(base: trial.Plan) -> None:
    guarantee = next(one for one in MECHANISMS if "guaranteed" in one.name)
    (run,) = without(guarantee, base)["runs"]
    assert run["treatment"]["switch"] == "arista-7124s"
    assert trial.switch(run)["buffer"]["ingress_guarantee_frames"] == 0


def test_the_shared_memory_is_cut_into_as_many_parts_as_there_are_ports(base: trial.Plan) -> None:
    (run,) = without(MECHANISMS[0], base)["runs"]
    switch, before = trial.switch(run), trial.switch(base["runs"][0])["buffer"]
    each = switch["buffer"]["port_buffer_bytes"] - before["port_reserve_bytes"]
    assert each * switch["ports"] <= before["pool_bytes"] < (each + 1) * switch["ports"]


def test_what_no_run_has_cannot_be_taken_away(base: trial.Plan) -> None:
    with pytest.raises(ValueError, match="no run has what luck is made of"):
        without(Mechanism("luck", "none", ablation.host(luck=0)), base)


def test_what_the_profiles_do_not_have_leaves_no_run_to_simulate(base: trial.Plan) -> None:
    changed = trial.changed(base, {ON_DISORDER: False})
    quick = next(one for one in MECHANISMS if "out of order" in one.name)
    assert without(quick, changed)["runs"] == []


def test_records_of_changed_runs_take_the_place_of_their_own() -> None:
    def record(run: str, seed: str) -> RunRecord:
        return RunRecord(run=run, treatment={}, replicate=1, seed=seed, status="ok")

    joined = ablation.replaced([record("a", "1"), record("b", "1")], [record("b", "2")])
    assert [(one.run, one.seed) for one in joined] == [("a", "1"), ("b", "2")]


def test_a_mechanism_counts_by_what_the_errors_grow_by() -> None:
    assert accuracy(5.0, 2.0).worse_than(accuracy(3.0, 1.0)) == pytest.approx(2 * 2 + 2 * 1)


def test_the_engine_is_asked_once_as_it_is_and_once_without(base: trial.Plan) -> None:
    records = trial.simulate(base)
    assert trial.simulate(base) == records
    burst = next(one for one in MECHANISMS if "bursts" in one.name)
    others = trial.simulate(without(burst, base))
    assert [one.run for one in others] == [one.run for one in records]
    assert others != records
    (found,) = ablation.accuracies(base, records).values()
    assert set(found.median_abs_pct) == {(m, s) for m in SHOWN for s in SWITCHES}
    assert found.ratio == pytest.approx(completion_ns(records[0]) / completion_ns(records[1]))


def completion_ns(record: RunRecord) -> int:
    assert record.samples.iteration is not None
    return sum(record.samples.iteration.completion_ns)


def test_a_run_that_the_engine_refuses_is_told_in_its_words(base: trial.Plan) -> None:
    with pytest.raises(RuntimeError, match=r"cannot compute with .* expected 0 to 4294967295"):
        trial.simulate(trial.changed(base, {"network.nodes.buffer.ingress_guarantee_frames": -1}))


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
    page.write_text(f"# Mine\n{ablation.BEGIN}\nold\n{ablation.END}\nThe end.\n")
    found = [Row(*of, {"4 MB": accuracy(3.0), "8 MB": accuracy(5.0)}) for of in (("nothing", ""),)]
    found.append(Row("BIC", "Reno", {"4 MB": accuracy(40.0), "8 MB": accuracy(50.0)}))
    ablation.write(found, 200, 1, page)
    text = page.read_text()
    assert text.startswith(f"# Mine\n{ablation.BEGIN}\n\n200 iterations a cell")
    assert text.endswith(f"{ablation.END}\nThe end.\n")
    assert text.count("### Without: ") == 2
    assert "| BIC | Reno | 40.0 | 40.0 | 1.0 | 1.0 |  |  | 2.70 |" in text
    assert "| BIC | Reno | 50.0 | 50.0 | 1.0 | 1.0 |  |  | 2.70 |" in text
    assert "old" not in text
