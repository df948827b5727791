"""`netstudy calibrate` on a real run: the brokerage over SQLite, in namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.calibration import Length, Options, calibrate
from netstudy.cli import invoke
from netstudy.store import Folder
from tests.skips import in_namespaces

STUDY = """\
study: real
question: What does a page of the brokerage cost here?
factors: {users: [1, 2, 4]}
topology:
  hosts:
    load: {profile: host-1g, tcp: linux-6}
    app: {profile: host-1g, tcp: linux-6, cpus: 1}
  links:
    - {between: [load, app], rate: 20 Mbit/s, nic: {buffers: 128}}
workload:
  transactions:
    application: brokerage
    engine: sqlite
    closed: {users: "${users}", think: 20 ms}
    population: {users: 500, quotes: 1000}
procedure: {load: true, warmup: 1 s, measure: 3 s}
replicates: 2
"""


@pytest.mark.slow
@in_namespaces
def test_the_fitted_model_says_what_a_real_run_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    assert invoke(["run", "study.yaml", "--testbed", "netns"]) == 0
    folder = Folder.at(tmp_path / "results/real/latest")
    assert folder is not None
    # CPU time: what it takes depends least on what else the machine does meanwhile.
    options = Options(
        figures=("app_cpu",),
        metrics=("app_cpu_ms_per_transaction",),
        share=0.3,
        length=Length(measure_s=5.0),
    )
    found = calibrate(folder.study(), "brokerage", options, folder)
    low, high = found.intervals["app_cpu"]
    assert 0 < low < found.values["app_cpu"] < high
    assert len(found.judged) == 3
    for one in found.judged:
        assert abs(one.error) <= 3 * one.target.tolerance(0.0, options.share), one
