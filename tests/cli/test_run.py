"""`netstudy run`: what it leaves, what it records of how it was asked, what it resumes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from netstudy.plan_lines import read_plan
from netstudy.store import Folder, Results
from tests.cli.conftest import INCAST, SMALL_RUNS, Netstudy, start
from tests.stored import damage

pytestmark = pytest.mark.usefixtures("engine")

LITTLE = ("--quick", "--set", "workload.incast.iterations=2", "--set", "workload.incast.warmup=0")


def newest() -> Folder:
    return Results(Path("results")).folders()[0]


def test_a_run_ends_with_the_table_the_verdict_and_the_path_of_the_report(
    study: Path, netstudy: Netstudy
) -> None:
    outcome = netstudy("run", study)
    folder = newest()
    assert outcome.code == 0
    assert "arista-7124s" in outcome.out
    assert "completion time" in outcome.out.lower()
    assert outcome.out.splitlines()[-1] == f"report: {folder.path}/report.html"
    assert folder.is_done()
    assert len(folder.records()) == SMALL_RUNS
    assert (folder.path / "study.yaml").read_bytes() == study.read_bytes()
    assert (folder.path / "report.md").is_file()
    assert (folder.path.parent / "latest").resolve() == folder.path.resolve()


def test_the_records_are_those_that_the_engine_writes_for_the_stored_plan(
    study: Path, netstudy: Netstudy, engine: Path
) -> None:
    """With any number of threads, and whether they came through the store or not."""
    netstudy("run", study, "--threads", "2")
    folder = newest()
    direct = subprocess.run(
        [engine, "sim", "--threads=1"],
        input=(folder.path / "plan.jsonl").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert b"".join(folder.stream()) == direct.stdout
    assert netstudy("export", "--records").out.encode() == direct.stdout


@pytest.mark.parametrize(
    ("knob", "mode"),
    [
        ("client.nic.receive_ring=512", "closed-form"),
        ("client.nic.receive_merge=64 KiB", "per-hop"),
        ("client.nic.honours_pause=true", "per-hop"),
        ("client.nic.pause_high=400", "per-hop"),
        ('switch={profile: "${switch}", pause_high: 40 kB}', "per-hop"),
    ],
)
def test_the_engine_simulates_as_the_plan_says(
    study: Path, netstudy: Netstudy, knob: str, mode: str
) -> None:
    knobs = ("--set", f"topology.{knob}", "--replicates", "2")
    asked = (study, *LITTLE, "--only", "servers=3", *knobs)
    printed = netstudy("plan", *asked).out
    netstudy("run", *asked)
    runs = newest().plan().runs
    per_hop = sum(run.trace or mode == "per-hop" for run in runs)
    assert re.search(rf"^mode +one event a hop for {per_hop} runs?: slower$", printed, re.M)
    untraced = [run for run in runs if not run.trace]
    assert {record.mode for record in newest().records(untraced)} == {mode}


def test_the_simulator_traces_the_first_replicate_of_each_cell(
    study: Path, netstudy: Netstudy
) -> None:
    def traced(*options: str) -> dict[int, set[bool]]:
        printed = netstudy("plan", study, *LITTLE, "--replicates", "2", *options, "--json").out
        found: dict[int, set[bool]] = {}
        for run in read_plan(printed.encode().splitlines()).runs:
            found.setdefault(run.replicate, set()).add(run.trace)
        return found

    assert traced() == {1: {True}, 2: {False}}
    # The profile of the hosts has BIC, which this kernel need not offer.
    ends = ("topology.client", "topology.server")
    known = [text for end in ends for text in ("--set", f"{end}.tcp.congestion_control=reno")]
    assert traced("--testbed", "netns", *known) == {1: {False}, 2: {False}}


def test_the_plan_that_is_printed_is_the_plan_that_is_run(study: Path, netstudy: Netstudy) -> None:
    options = ("--seed", "9", "--only", "servers=1..3", "--set", "workload.incast.iterations=4")
    printed = netstudy("plan", study, *options, "--json").out
    assert netstudy("run", study, *options, "--dry-run", "--json").out == printed
    assert not Path("results").exists()
    netstudy("run", study, *options)
    assert (newest().path / "plan.jsonl").read_text() == printed


def test_what_was_asked_for_is_recorded_and_the_study_is_kept_as_it_was(
    study: Path, netstudy: Netstudy
) -> None:
    netstudy("run", study, *LITTLE, "--only", "servers=3", "--seed", "9")
    folder = newest()
    assert json.loads((folder.path / "invocation.json").read_text()) == {
        "study": str(study),
        "testbed": "sim",
        "seed": 9,
        "only": {"servers": [3]},
        "overrides": {"workload.incast.iterations": "2", "workload.incast.warmup": "0"},
        "quick": True,
        "without": [],
        "variant": None,
        "scale": None,
        "versions": {"netstudy": "0.1.0"},
    }
    assert (folder.path / "study.yaml").read_bytes() == study.read_bytes()
    assert folder.study().replicates == 1
    runs = folder.plan().runs
    assert {run.treatment["servers"] for run in runs} == {3}
    assert {run.count("measure") for run in runs} == {2}
    assert folder.environment()["engine"] == "0.1.0"


def test_what_a_study_refers_to_is_kept_beside_it(here: Path, netstudy: Netstudy) -> None:
    """Reference data and profiles as they were, those of its variants too: the report can be
    made anew without the study, every variant of which is checked when it is read."""
    outcome = netstudy("run", INCAST, *LITTLE, "--only", "servers=1..2")
    assert outcome.code == 0, outcome.err
    kept = here / "results" / "incast" / "latest"
    for name in ("reference/incast_4mb_mtu9000.csv", "study.yaml"):
        assert (kept / name).read_bytes() == (INCAST / name).read_bytes()
    profiles = {path.stem for path in (kept / "hardware").iterdir()}
    assert profiles == {
        *("arista-7124s", "nexus-5010", "ucs-c200-rhel54", "linux-2.6.18"),
        *("host-10g", "linux-6", "generic-shallow"),
    }


def test_json_names_the_folder_the_report_and_the_findings(study: Path, netstudy: Netstudy) -> None:
    told = json.loads(netstudy("run", study, *LITTLE, "--json").out)
    folder = newest()
    assert told["folder"] == str(folder.path)
    assert told["runs"] == {"ok": 4, "failed": 0, "invalid": 0}
    assert Path(told["report"]["html"]).is_file()
    assert told["answer"]["sentences"]


def test_results_go_where_they_are_told_to(
    study: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    netstudy("run", study, *LITTLE, "--results", "by-option")
    monkeypatch.setenv("NETSTUDY_RESULTS", "by-variable")
    netstudy("run", study, *LITTLE)
    assert len(Results(Path("by-option")).folders("small")) == 1
    assert len(Results(Path("by-variable")).folders("small")) == 1
    assert not Path("results").exists()


def test_two_runs_at_once_do_not_meet(study: Path) -> None:
    both = [start("run", study, *LITTLE, "--json") for _ in range(2)]
    ended = [(*process.communicate(), process.returncode) for process in both]
    assert [code for _, _, code in ended] == [0, 0], ended
    first, second = (Folder(Path(json.loads(out)["folder"])) for out, _, _ in ended)
    assert first != second
    assert [*first.stream()] == [*second.stream()]
    assert first.changed_since_sealed() == second.changed_since_sealed() == []


def test_replicates_are_set_by_their_own_option(study: Path, netstudy: Netstudy) -> None:
    assert (
        "2 cells, 4 replicates of each"
        in netstudy("plan", study, "--only", "servers=1", "--replicates", "4").out
    )
    assert netstudy("run", study, *LITTLE, "--replicates", "3").code == 0
    assert newest().invocation().overrides["replicates"] == "3"  # above those of the short form
    assert {run.replicate for run in newest().plan().runs} == {1, 2, 3}
    twice = netstudy("run", study, "--replicates", "3", "--set", "replicates=5")
    assert twice.code == 2
    assert "replicates is given twice" in twice.err


def test_a_quiet_run_prints_its_folder_alone(study: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("run", study, *LITTLE, "-q")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"{newest().path}\n"
    again = netstudy("report", newest().path, "--quiet")
    assert (again.code, again.err) == (0, "")


def test_a_quiet_run_tells_errors_and_failed_runs_all_the_same(
    study: Path, netstudy: Netstudy, fake_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "failed:1")
    outcome = netstudy("run", study, "--quick", "-q")
    assert outcome.code == 3
    assert "failed: server-3 never answered" in outcome.err
    assert netstudy("run", "nowhere", "-q").err == "netstudy: nowhere: no such file\n"


class TestResume:
    """What is continued, and what is refused so that nobody resumes something else."""

    @pytest.fixture
    def begun(
        self, study: Path, netstudy: Netstudy, fake_engine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Folder:
        """A run of which three of four runs are there: its engine crashed."""
        monkeypatch.setenv("FAKE_ENGINE", "crash:3")
        crashed = netstudy("run", study, "--quick", "--seed", "5")
        assert crashed.code == 3
        monkeypatch.delenv("FAKE_ENGINE")
        folder = newest()
        assert len(folder.records()) == 3
        assert f"3 of 4 runs are kept in {folder.path}" in crashed.err
        assert f"netstudy run {folder.path} --resume" in crashed.err
        return folder

    def test_a_study_means_its_newest_unfinished_folder(
        self, study: Path, begun: Folder, netstudy: Netstudy
    ) -> None:
        newer = netstudy("run", study, "--quick")
        assert newer.code == 0
        assert netstudy("run", study, "--resume").code == 0
        assert begun.is_done()
        assert begun.invocation().seed == 5
        assert len(Results(Path("results")).folders()) == 2

    def test_the_folder_itself_can_be_named_and_needs_no_study(
        self, study: Path, begun: Folder, netstudy: Netstudy
    ) -> None:
        study.unlink()
        outcome = netstudy("run", "results/small/latest", "--resume")
        assert outcome.code == 0
        assert outcome.err.startswith(f"{begun.path}: 1 run to do, 3 are there")
        assert begun.is_done()

    def test_a_dry_run_lists_what_is_left_and_does_nothing(
        self, begun: Folder, netstudy: Netstudy
    ) -> None:
        damage(begun.path / "records/0001.seg", -1)
        (cut,) = Folder(begun.path).damaged_runs()
        missing = begun.missing()[0].id
        outcome = netstudy("run", begun.path, "--resume", "--dry-run")
        first, *runs = outcome.out.splitlines()
        assert outcome.code == 0
        assert first == f"{begun.path}: 2 runs are left to do"
        assert {line.split()[0] for line in runs} == {cut, missing}
        told = netstudy("run", begun.path, "--resume", "--dry-run", "--json").out
        assert {run.id for run in read_plan(told.encode().splitlines()).runs} == {cut, missing}
        assert not begun.is_done()

    def test_a_folder_is_not_run_anew(self, begun: Folder, netstudy: Netstudy) -> None:
        outcome = netstudy("run", begun.path)
        assert outcome.code == 2
        assert "--resume" in outcome.err

    def test_a_changed_study_is_refused_with_the_line(
        self, study: Path, begun: Folder, netstudy: Netstudy
    ) -> None:
        study.write_text(study.read_text().replace("iterations: 20", "iterations: 30"))
        outcome = netstudy("run", study, "--resume")
        assert outcome.code == 2
        assert "line 12 of" in outcome.err
        assert "iterations: 20" in outcome.err
        assert "iterations: 30" in outcome.err
        assert not begun.is_done()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--seed", "6"), "--seed was 5, is 6"),
            (("--only", "servers=1"), "--only was not given, is servers=1"),
            (("--set", "replicates=2"), "--set was not given, is replicates=2"),
        ],
    )
    def test_options_that_differ_are_refused(
        self,
        study: Path,
        begun: Folder,
        netstudy: Netstudy,
        options: tuple[str, ...],
        message: str,
    ) -> None:
        for named in (study, begun.path):
            outcome = netstudy("run", named, "--resume", *options)
            assert outcome.code == 2
            assert message in outcome.err
        assert len(begun.records()) == 3

    def test_options_that_agree_are_accepted(
        self, study: Path, begun: Folder, netstudy: Netstudy
    ) -> None:
        assert netstudy("run", study, "--resume", "--quick", "--seed", "5").code == 0
        assert begun.is_done()

    @pytest.mark.parametrize("kept", ["1", None], ids=["kept", "not kept, as before"])
    def test_a_scale_of_one_agrees_with_itself(
        self, study: Path, netstudy: Netstudy, kept: str | None
    ) -> None:
        assert netstudy("run", study, "--scale", "1", "--only", "servers=1").code == 0
        folder = Results(Path("results")).folders()[0]
        (folder.path / "DONE").unlink()
        path = folder.path / "invocation.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"scale": kept}))
        outcome = netstudy("run", study, "--resume", "--scale", "1", "--only", "servers=1")
        assert outcome.code == 0, outcome.err

    @pytest.mark.parametrize("named", ["small", "mine"])
    def test_a_study_is_named_as_everywhere(
        self, study: Path, netstudy: Netstudy, named: str
    ) -> None:
        """By its own name, or by that of the folder that it was run from."""
        (mine := study.parent / "mine").mkdir()
        study.rename(mine / "study.yaml")
        assert netstudy("run", "mine", *LITTLE).code == 0
        mine.rename(mine.with_name("gone"))
        outcome = netstudy("run", named, "--resume")
        assert outcome.code == 0, outcome.err
        assert "is done: nothing is missing" in outcome.err
        assert netstudy("status", named).code == 0
        assert netstudy("export", named).code == 0

    def test_nothing_to_resume_is_told(self, study: Path, netstudy: Netstudy) -> None:
        outcome = netstudy("run", study, "--resume")
        assert outcome.code == 2
        assert "nothing to resume" in outcome.err
        assert not Path("results").exists()

    def test_a_folder_that_is_done_is_shown_and_left_as_it_is(
        self, study: Path, begun: Folder, netstudy: Netstudy
    ) -> None:
        netstudy("run", study, "--resume")
        done = (begun.path / "DONE").read_bytes()
        outcome = netstudy("run", study, "--resume")
        assert outcome.code == 0
        assert "is done: nothing is missing" in outcome.err
        assert outcome.out.splitlines()[-1] == f"report: {begun.path}/report.html"
        assert (begun.path / "DONE").read_bytes() == done

    def test_a_folder_that_is_being_written_to_is_left_alone(
        self, begun: Folder, netstudy: Netstudy
    ) -> None:
        with begun.writing():
            outcome = netstudy("run", begun.path, "--resume")
        assert outcome.code == 2
        assert "another netstudy" in outcome.err
        assert len(begun.records()) == 3


def test_what_the_report_cannot_carry_out_is_refused_unless_it_is_left_out_by_name(
    study: Path, netstudy: Netstudy
) -> None:
    figure = "{kind: time series, y: completion_ms_mean}"
    study.write_text(f"{study.read_text()}figures: [{figure}]\n")
    part = "figures[0]"
    note = f"The report does not support {part} yet; leave it out with --without {part}."
    for verb in ("validate", "plan"):
        told = netstudy(verb, study)
        assert told.code == 0
        assert note in told.out
    refused = netstudy("run", study)
    assert refused.code == 2
    assert note in refused.err
    assert netstudy("run", study, "--without", part).code == 0
    report = (newest().path / "report.md").read_text()
    assert r"Parts of the study were left out with --without: figures\[0\]." in report
    unknown = netstudy("run", study, "--without", "figure[0]")
    assert unknown.code == 2
    assert 'no such part; did you mean "figures[0]"?' in unknown.err
