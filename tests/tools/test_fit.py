"""The fit of the incast profiles: what is made small, what fits as well, what is written."""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.analysis.workloads.incast import DROPS, RETRANSMISSIONS
from netstudy.calibration import Figure, Fitted, Interval, Model, Shown, Target, Trial
from netstudy.hardware import HardwareLibrary
from netstudy.wire import Plan
from tools import fit, trial
from tools.fit import LISTS, PACKETS, WORST, error, errors
from tools.trial import ARISTA, JUMBO, NEXUS, STRIPED, Said

pytestmark = [pytest.mark.engine, pytest.mark.slow]

Aims = Sequence[Target]


def figure(name: str) -> Figure:
    return next(one for one in LISTS if one.knob.name == name)


@pytest.fixture(scope="module")
def published() -> Aims:
    """All published values of the figures that are fitted."""
    return trial.targets(trial.model(1, range(1, 24)))


def at(published: Aims, switch: str = NEXUS, servers: int = 23, configuration: str = JUMBO) -> Aims:
    """The published values of a run."""
    run = {"switch": switch, "servers": servers, "configuration": configuration}
    return [one for one in published if run.items() <= one.treatment.items()]


def times(aims: Aims, **factors: float) -> Said:
    """So many times the published values, 1 unless given; of packets with two more."""
    known = {one.name: factors.get(one.figure, 1.0) for one in trial.SHOWN}
    more = {one.name: PACKETS for one in (DROPS, RETRANSMISSIONS)}
    return {
        (one.run, one.metric): known[str(one.metric)] * (one.value + more.get(str(one.metric), 0.0))
        - more.get(str(one.metric), 0.0)
        for one in aims
    }


@pytest.fixture
def hardware(tmp_path: Path) -> Path:
    copy = tmp_path / "hardware"
    shutil.copytree(fit.HARDWARE, copy)
    return copy


def test_an_error_counts_alike_up_and_down_and_never_more_than_the_bound(published: Aims) -> None:
    aims = at(published)
    found = [error(aims, times(aims, completion=factor)) for factor in (1.1, 1 / 1.1, 9.0)]
    assert found == pytest.approx([math.log(1.1) / 2, math.log(1.1) / 2, WORST / 2])


@pytest.mark.parametrize(("other", "between"), [(1.1, 0.0), (1.0, 1.0), (1 / 1.1, 2.0)])
def test_the_ratio_of_the_switches_counts_as_much_as_their_times(
    published: Aims, other: float, between: float
) -> None:
    nexus, arista = at(published), at(published, ARISTA)
    said = {**times(nexus, completion=1.1), **times(arista, completion=other)}
    own = statistics.mean((1.0, abs(math.log(other)) / math.log(1.1)))
    found = error([*nexus, *arista], said)
    assert found == pytest.approx(math.log(1.1) * (own + 0.0 + between) / 3)


@pytest.mark.parametrize(("servers", "series"), [(17, 2), (18, 3)])
def test_the_ratio_of_the_switches_counts_in_the_last_quarter_of_the_range(
    published: Aims, servers: int, series: int
) -> None:
    both = [*at(published, NEXUS, servers), *at(published, ARISTA, servers)]
    found = error(both, times(both, completion=1.1, drops=1.1))
    assert found == pytest.approx(2 * math.log(1.1) / series)


def test_nothing_dropped_is_an_error_like_any_other(published: Aims) -> None:
    aims = at(published)
    none = {one: 0.0 if str(one[1]) == DROPS.name else value for one, value in times(aims).items()}
    assert error(aims, none) == pytest.approx(WORST / 2)


def test_where_the_host_loses_frames_retransmissions_are_a_series_of_their_own(
    published: Aims,
) -> None:
    aims = at(published, servers=8, configuration=STRIPED)
    assert error(aims, times(aims, retransmissions=1.1)) == pytest.approx(math.log(1.1) / 3)


def test_every_configuration_counts_alike_however_many_rows_it_has(published: Aims) -> None:
    striped = at(published, servers=8, configuration=STRIPED)
    jumbo = [*at(published), *at(published, servers=17)]
    said = {**times(striped, retransmissions=1.1), **times(jumbo, completion=1.2)}
    found = error([*striped, *jumbo], said)
    assert found == pytest.approx((math.log(1.1) / 3 + math.log(1.2) / 2) / 2)


def test_pooled_replicates_are_one_run_in_which_opposite_errors_cancel(
    published: Aims, monkeypatch: pytest.MonkeyPatch
) -> None:
    aims = [*at(published), *at(published, ARISTA)]
    model = trial.model(1, (23,), (JUMBO,), replicates=2)
    both = [times(aims, completion=1.2, drops=0.9), times(aims, completion=0.8, drops=1.1)]

    def replicates(
        _self: Model, _plan: Plan, wanted: Sequence[Shown]
    ) -> Mapping[Shown, list[float]]:
        return {one: [said[one] for said in both] for one in wanted}

    monkeypatch.setattr(Model, "replicates", replicates)
    pooled = model.predict(Trial({}), trial.shown(aims), 1)
    assert error(aims, pooled) == pytest.approx(0.0, abs=1e-12)
    apart = [error(aims, said) for said in both]
    assert errors(model, aims, {}, 1) == pytest.approx(apart)
    assert min(apart) > 0.05


def test_every_list_is_of_a_fitted_figure_and_every_fitted_figure_has_one() -> None:
    chosen = fit.in_profiles(trial.model(1, (2,)))
    library = HardwareLibrary.default(trial.STUDY)
    fitted = {
        (name, row.name): row.value
        for kind, name in (("switch", "arista-7124s"), ("switch", "nexus-5010"),
                           ("host", "ucs-c200-rhel54"))
        for row in library.rows(kind, name)  # type: ignore[arg-type]
        if row.source == "fitted"
    }  # fmt: skip
    known = {(one.profile, one.name): one for one in chosen}
    assert fitted.keys() == known.keys()
    for place, text in fitted.items():
        assert known[place].read(text) == chosen[known[place]]
        assert chosen[known[place]] in LISTS[known[place]]


@pytest.fixture
def truth(monkeypatch: pytest.MonkeyPatch) -> tuple[Model, Aims]:
    """Published values that are what the model gives with a guarantee of one frame."""
    model = trial.model(20, (12, 23), (JUMBO,), 5)
    guarantee = figure("ingress_guarantee")
    aims = trial.targets(model)
    made = model.predict(Trial({guarantee: 1}), trial.shown(aims), 1)
    fitted = (guarantee, figure("receive_ring"))
    monkeypatch.setattr(fit, "LISTS", {one: LISTS[one] for one in fitted})
    return model, [replace(one, value=made[one.run, one.metric]) for one in aims]


def test_a_fit_finds_the_figure_that_a_table_was_made_with(truth: tuple[Model, Aims]) -> None:
    model, aims = truth
    before = fit.in_profiles(model)
    found = fit.fit(model, aims, before, 1)
    assert before[figure("ingress_guarantee")] == 2
    assert found == {**before, figure("ingress_guarantee"): 1}
    assert error(aims, model.predict(Trial(found), trial.shown(aims), 1)) == pytest.approx(0.0)


def test_the_interval_of_a_figure_holds_it_and_not_what_fits_worse(
    truth: tuple[Model, Aims],
) -> None:
    model, aims = truth
    guarantee = figure("ingress_guarantee")
    chosen = {**fit.in_profiles(model), guarantee: 1.0}
    assert fit.interval(guarantee, chosen, model, aims, 1, 20) == Interval(1, 1)


def test_only_the_value_and_the_interval_of_a_profile_are_written(hardware: Path) -> None:
    before = (fit.HARDWARE / "nexus-5010.yaml").read_text()
    fit.write({figure("ingress_buffer"): Fitted(99_500, Interval(90_500, 99_500))}, hardware)
    after = (hardware / "nexus-5010.yaml").read_text()
    changed = set(after.splitlines()) - set(before.splitlines())
    assert changed == {"    value: 99.5 kB", "    interval: [90.5 kB, 99.5 kB]"}
    assert len(after.splitlines()) == len(before.splitlines())


def test_a_value_that_stays_is_left_as_it_was_written(hardware: Path) -> None:
    library = HardwareLibrary((hardware,))
    said = library.switch("nexus-5010").figures.egress_buffer
    assert said is not None
    before = (hardware / "nexus-5010.yaml").read_text()
    fit.write({figure("egress_buffer"): Fitted(said.value, Interval(*said.interval))}, hardware)
    assert (hardware / "nexus-5010.yaml").read_text() == before


def test_what_is_written_can_be_read(hardware: Path) -> None:
    first = {one: Fitted(some[0], Interval(some[0], some[-1])) for one, some in LISTS.items()}
    fit.write(first, hardware)
    library = HardwareLibrary((hardware,))
    switch, host = library.switch("nexus-5010"), library.host("ucs-c200-rhel54")
    assert switch.figures.random_arbitration is not None
    assert switch.figures.random_arbitration.interval == (10.0, 100.0)
    assert host.nic.receive_per_frame is not None
    assert host.nic.receive_per_frame.value == 925


def rings(plan: Plan) -> list[object]:
    found = (run.network.model_dump()["groups"] for run in plan.runs)
    return [group["nic"]["receive_ring_frames"] for groups in found for group in groups]


def test_a_changed_plan_leaves_the_first_as_it_was() -> None:
    base = trial.model(1, (2,), (JUMBO,)).plan_with(Trial({}), 1)
    before = deepcopy(base)
    changes = {"network.groups.nic.receive_ring_frames": 7, "network.x.y": 1}
    other = trial.changed(base, trial.always(changes))
    assert rings(other) == [7] * 4
    assert base == before
    assert 7 not in rings(base)
    assert "x" not in other.runs[0].network.model_dump()
