"""The hosts of the gigabit study are found again by `netstudy calibrate`, from other values."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from netstudy.calibration import Length, Options, calibrate, figure_named, value_of
from netstudy.calibration.figures import library_with
from netstudy.hardware import HardwareLibrary
from netstudy.study import apply_overrides, load

STUDY = Path(__file__).parents[2] / "studies" / "gigabit"
FIGURES = ("hp-n4000:cpu.send_per_packet", "nt-client-450:cpu.receive_per_byte")
RATE = "switch@server.port_in_mbps_mean"


@pytest.mark.slow
def test_both_costs_are_found_from_a_wrong_start_and_other_rows_are_predicted(
    tmp_path: Path,
) -> None:
    shared = HardwareLibrary.default()
    known = {figure: value_of(shared, figure) for name in FIGURES
             for figure in [figure_named(shared, name)]}  # fmt: skip
    study = shutil.copytree(STUDY, tmp_path / "gigabit")
    (study / "hardware").mkdir()
    library_with(shared, study / "hardware", {one: 0.8 * value for one, value in known.items()})
    options = Options(
        figures=FIGURES,
        left_out=frozenset({"switch@server.port_in_mbps_max"}),
        only={"sink": ["null"]},
        length=Length(measure_s=3.0),
    )
    changed = apply_overrides(load(study), {"workload.transfer.size": "20 MB"})
    found = calibrate(changed, None, options)
    for name, (figure, value) in zip(FIGURES, known.items(), strict=True):
        assert found.figures[name] == figure
        assert found.values[name] == pytest.approx(value, rel=0.05)
    errors = {
        one.target.treatment["clients"]: one.error / one.target.value
        for one in found.judged
        if not one.target.predicted
    }
    assert errors.keys() == {1, 5}
    assert all(abs(error) < 0.02 for error in errors.values())
    predicted = [
        (one.target.treatment["clients"], str(one.target.metric))
        for one in found.judged
        if one.target.predicted
    ]
    frame = "switch@server.port_in_frame_bytes_mean"
    assert sorted(predicted) == [(2, RATE), (4, "server.cpu_pct"), (4, frame), (4, RATE)]
