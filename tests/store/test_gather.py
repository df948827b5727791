"""What a results folder keeps: enough to read its study anew when nothing else is left of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from netstudy.analysis.study_result import analyse
from netstudy.errors import StudyError
from netstudy.store import Folder
from tests.report.results import results

STUDY = """\
study: small
question: Which buffer suits?
factors:
  switch: [nexus-5010, own-switch]
fixed: {host: own-host}
topology:
  switch: "${switch}"
  client: {profile: "${host}", nic: own-nic}
  server: {profile: ucs-c200-rhel54, count: 2}
  link: {rate: 10 Gbit/s, delay: 1 us, mtu: 9000 B}
workload:
  incast: {block: 1 MB, iterations: 90}
reference: {file: as-written.csv, source: a paper, factors: {switch: switch}, columns: {}}
testbeds:
  netns:
    factors: {tcp: [own-tcp, linux-6]}
    set: {topology.server.tcp: "${tcp}"}
"""
ASSUMED = "source: assumed, from: an example}"
PROFILES = {
    "own-switch": f"""\
kind: switch
architecture: output-queued
figures:
  ports: {{value: 24, {ASSUMED}
  line_rate: {{value: 10 Gbit/s, {ASSUMED}
  port_buffer: {{value: 64 kB, {ASSUMED}
""",
    "own-host": "kind: host\ntcp: {profile: own-default}\n",
    "own-nic": f"kind: nic\nfigures:\n  rate: {{value: 10 Gbit/s, {ASSUMED}\n",
    "own-tcp": f"kind: tcp\nfigures:\n  min_rto: {{value: 5 ms, {ASSUMED}\n",
    "own-default": f"kind: tcp\nfigures:\n  min_rto: {{value: 5 ms, {ASSUMED}\n",
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "studied"
    (folder / "hardware").mkdir(parents=True)
    for name, text in PROFILES.items():
        head = f"profile: {name}\ntitle: My own\n"
        (folder / "hardware" / f"{name}.yaml").write_text(head + text)
    for name in ("as-written", "overridden"):
        (folder / f"{name}.csv").write_text("switch\nnexus-5010\n")
    (folder / "study.yaml").write_text(STUDY)
    return folder


def after_the_study_is_gone(tmp_path: Path, study: Path, **asked: object) -> Folder:
    folder = results(tmp_path, study, **asked)  # type: ignore[arg-type]
    shutil.rmtree(study)
    return folder


def test_profiles_of_levels_that_were_not_run_are_kept(study: Path, tmp_path: Path) -> None:
    """The own switch is at a level that is left out, the own TCP in a form for another testbed."""
    folder = after_the_study_is_gone(tmp_path, study, only=["switch=nexus-5010"])
    kept = {path.stem for path in (folder.path / "hardware").iterdir()}
    assert kept >= PROFILES.keys()
    assert analyse(folder).study == "small"


def test_reference_data_of_the_study_as_written_and_as_run_are_kept(
    study: Path, tmp_path: Path
) -> None:
    overrides = {"reference.file": "overridden.csv"}
    folder = after_the_study_is_gone(tmp_path, study, overrides=overrides)
    assert folder.study().reference[0].file == "overridden.csv"


@pytest.mark.parametrize("name", ["cells.csv", "engine.json", "records/published.csv"])
def test_reference_data_cannot_take_the_place_of_what_the_folder_writes(
    study: Path, tmp_path: Path, name: str
) -> None:
    path = study / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((study / "as-written.csv").read_bytes())
    with pytest.raises(StudyError, match=f"cannot be named {name}"):
        results(tmp_path, study, overrides={"reference.file": name})
