"""`netstudy import`: from files that exist already to the verdict, the study and the report."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from scipy import stats

from netstudy.store import Folder
from netstudy.wire import RunRecord
from tests.cli.conftest import CHECKOUT, SMALL_STUDY, Netstudy
from tests.formats.made import iperf3_file

BEGIN_S = 1_795_900_000
EVERY_S = 30
OLD_MBPS, NEW_MBPS = 800.0, 840.0
SEED = 7


def interleaved(folder: Path, runs: int = 5, ratio: float = NEW_MBPS / OLD_MBPS) -> None:
    """Files of two drivers with 1 % of noise, measured alternately."""
    rng = random.Random(SEED)
    for number in range(2 * runs):
        driver = ("old", "new")[number % 2]
        mean = OLD_MBPS * (ratio if driver == "new" else 1)
        path = folder / f"{driver}-{number // 2 + 1}.json"
        iperf3_file(path, rng.gauss(mean, 0.01 * mean), BEGIN_S + EVERY_S * number)


def records(results: Path) -> list[RunRecord]:
    (study,) = [one for one in results.iterdir() if one.is_dir()]
    folder = Folder.at(study / "latest")
    assert folder is not None
    return list(folder.records())


def goodputs(found: list[RunRecord], driver: str) -> list[float]:
    return [
        one.measured.values["goodput_mbps"]
        for one in found
        if one.measured is not None and one.treatment["configuration"] == driver
    ]


@pytest.fixture
def lab(here: Path) -> Path:
    interleaved(here / "lab")
    return here / "lab"


@pytest.mark.usefixtures("lab")
def test_two_levels_of_files_become_the_answer_in_one_command(
    netstudy: Netstudy, here: Path
) -> None:
    outcome = netstudy("import", "old=lab/old-*.json", "new=lab/new-*.json", "--noise", "1 %")
    assert outcome.code == 0, outcome.err
    assert "Goodput is higher with new than with old." in outcome.out
    old, new = (goodputs(records(here / "results"), one) for one in ("old", "new"))
    assert len(old) == len(new) == 5
    assert stats.ttest_ind(new, old, equal_var=False).pvalue < 0.01
    assert f"{np.mean(new):.1f} Mbit/s against {np.mean(old):.1f} Mbit/s" in outcome.out


@pytest.mark.usefixtures("lab")
def test_a_record_names_its_files_and_their_tool(netstudy: Netstudy, here: Path) -> None:
    assert netstudy("import", "old=lab/old-*.json", "new=lab/new-*.json").code == 0
    first = records(here / "results")[0]
    assert first.measured is not None
    (file,) = first.measured.files
    data = (here / file.path).read_bytes()
    assert (file.bytes, file.format) == (len(data), "iperf3")
    assert first.measured.tools == {file.path: "iperf3 3.12"}
    assert first.measured.started_s == json.loads(data)["start"]["timestamp"]["timesecs"]


@pytest.mark.usefixtures("lab")
def test_the_study_that_is_left_reads_the_files_anew(netstudy: Netstudy, here: Path) -> None:
    netstudy("import", "old=lab/old-*.json", "new=lab/new-*.json")
    imported = records(here / "results")
    assert netstudy("validate", ".").code == 0
    assert netstudy("run", ".").code == 0
    assert records(here / "results") == imported


def test_levels_and_repetitions_are_read_from_paths(netstudy: Netstudy, here: Path) -> None:
    for clients in (1, 2, 4):
        for number in (1, 2, 3):
            path = here / "lab" / "new" / f"{clients}c-{number}.json"
            iperf3_file(path, 300 * clients + number, BEGIN_S + 100 * clients + number)
    outcome = netstudy("import", "--pattern", "lab/{driver}/{clients}c-{replicate}.json")
    assert outcome.code == 0, outcome.err
    found = records(here / "results")
    assert {(one.treatment["driver"], one.treatment["clients"]) for one in found} == {
        ("new", 1),
        ("new", 2),
        ("new", 4),
    }
    assert sorted(one.replicate for one in found) == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_files_of_another_folder_are_copied_beside_the_study(
    netstudy: Netstudy, here: Path
) -> None:
    interleaved(here / "lab")
    assert netstudy("import", "old=lab/old-*", "new=lab/new-*", "--into", "mine").code == 0
    copies = sorted(one.name for one in (here / "mine/files").iterdir())
    assert copies == sorted(one.name for one in (here / "lab").iterdir())
    for one in (here / "lab").iterdir():
        one.unlink()
    assert netstudy("run", "mine").code == 0


def test_linked_files_stay_where_they_are(netstudy: Netstudy, here: Path) -> None:
    interleaved(here / "lab")
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*", "--into", "mine", "--link")
    assert outcome.code == 0, outcome.err
    assert not (here / "mine/files").exists()
    assert str(here / "lab") in (here / "mine/study.yaml").read_text()


@pytest.mark.usefixtures("lab")
def test_a_dry_run_lists_what_would_be_read_and_writes_nothing(
    netstudy: Netstudy, here: Path
) -> None:
    (here / "lab/old-notes.txt").write_text("the lab was cold\n")
    before = sorted(here.rglob("*"))
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*", "--dry-run")
    assert outcome.code == 0
    assert "10 runs in 10 files" in outcome.out
    assert "lab/old-notes.txt: no format recognises the file" in outcome.out
    assert sorted(here.rglob("*")) == before


@pytest.mark.usefixtures("lab")
def test_a_file_that_is_left_out_is_no_run(netstudy: Netstudy, here: Path) -> None:
    (here / "lab/old-notes.txt").write_text("the lab was cold\n")
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
    assert outcome.code == 0, outcome.err
    assert "left out           lab/old-notes.txt" in outcome.err
    assert len(records(here / "results")) == 10
    assert "notes" not in (here / "study.yaml").read_text()


@pytest.mark.usefixtures("lab")
def test_a_failed_test_is_a_failed_run_in_the_words_of_its_tool(
    netstudy: Netstudy, here: Path
) -> None:
    error = {"start": {"version": "iperf 3.12"}, "intervals": [], "end": {}}
    error["error"] = "unable to connect to server: Connection refused"
    (here / "lab/new-9.json").write_text(json.dumps(error))
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
    assert "new-9.json: unable to connect to server: Connection refused" in outcome.err
    (failed,) = [one for one in records(here / "results") if one.status == "failed"]
    assert failed.error == "unable to connect to server: Connection refused"


def broken_sum(report: dict[str, Any]) -> None:
    report["end"]["sum_received"]["bits_per_second"] *= 2


@pytest.mark.usefixtures("lab")
def test_a_file_that_contradicts_itself_is_an_invalid_run(netstudy: Netstudy, here: Path) -> None:
    path = here / "lab/new-1.json"
    report = json.loads(path.read_text())
    broken_sum(report)
    path.write_text(json.dumps(report))
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
    assert "invalid            lab/new-1.json: " in outcome.err
    found = records(here / "results")
    (invalid,) = [one for one in found if one.status == "invalid"]
    assert [one.law for one in invalid.checks if not one.holds]


@pytest.mark.usefixtures("lab")
def test_a_file_that_changed_after_the_plan_is_a_failed_run(netstudy: Netstudy, here: Path) -> None:
    netstudy("import", "old=lab/old-*", "new=lab/new-*")
    folder = Folder.at(here / "results" / here.name / "latest") or Folder.at(
        next((here / "results").iterdir()) / "latest"
    )
    assert folder is not None
    from netstudy.testbed import invoked

    iperf3_file(here / "lab/new-1.json", 1.0, BEGIN_S)
    found: list[RunRecord] = []
    plan = folder.plan()
    testbed = invoked(folder.invocation())
    testbed.run(plan, threads=None, on_record=lambda one, _: found.append(one))  # type: ignore[arg-type]
    changed = [one for one in found[1:] if one.status == "failed"]
    assert len(changed) == 1
    assert "new-1.json: has changed since the plan was made" in str(changed[0].error)


def test_levels_in_turn_are_a_caveat_of_the_answer(netstudy: Netstudy, here: Path) -> None:
    for number in range(10):
        driver = ("old", "new")[number // 5]
        iperf3_file(here / f"lab/{driver}-{number}.json", 800 + 30 * (number // 5) + number % 3,
                    BEGIN_S + EVERY_S * number)  # fmt: skip
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
    assert "All runs of a level were measured together" in outcome.out


def test_drift_between_levels_in_turn_forbids_the_claim(netstudy: Netstudy, here: Path) -> None:
    for number in range(20):
        driver = ("old", "new")[number // 10]
        path = here / f"lab/{driver}-{number}.json"
        iperf3_file(path, 800 + 5 * number, BEGIN_S + EVERY_S * number)
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
    assert "time may have made the difference" in outcome.out
    assert "Goodput is higher with new than with old." not in outcome.out


def test_a_long_gap_begins_a_session(netstudy: Netstudy, here: Path) -> None:
    for number in range(10):
        driver = ("old", "new")[number % 2]
        at_s = BEGIN_S + EVERY_S * number + (86_400 if number >= 6 else 0)
        iperf3_file(here / f"lab/{driver}-{number}.json", 800 + number % 3, at_s)
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
    assert outcome.code == 0
    report = next(here.rglob("report.md")).read_text()
    assert "The runs are of 2 sessions, with a gap of up to" in report


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name files, as in old=lab/old-*.json"),
        (("lab/old-1.json",), "write the level before its files"),
        (("old=lab/none-*",), "no file matches lab/none-*"),
        (("--pattern", "lab/old-*.json"), "names no factor"),
        (("a=lab/old-1.json", "--pattern", "lab/{x}.json"), "not by both"),
        (("old=lab/old-*", "--host", "sender"), "write it as NODE=PATTERN"),
        (("old=lab/old-*", "--host", "a=lab/{steam}.sadf"), "there is no {steam}"),
        (("old=lab/old-*", "--host", "a=lab/{stem}.sadf"), "no file lab/{stem}.sadf for the run"),
    ],
)
def test_mistakes_are_named_before_anything_is_written(
    netstudy: Netstudy, here: Path, arguments: tuple[str, ...], said: str
) -> None:
    outcome = netstudy("import", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert not (here / "study.yaml").exists()


@pytest.mark.usefixtures("lab")
def test_a_study_that_is_there_is_not_overwritten(netstudy: Netstudy, here: Path) -> None:
    (here / "study.yaml").write_text(SMALL_STUDY)
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
    assert outcome.code == 2
    assert "there already: study.yaml; nothing was written" in outcome.err
    assert (here / "study.yaml").read_text() == SMALL_STUDY


@pytest.mark.usefixtures("lab")
def test_files_cannot_be_carried_out(netstudy: Netstudy) -> None:
    netstudy("import", "old=lab/old-*", "new=lab/new-*")
    outcome = netstudy("run", ".", "--testbed", "sim")
    assert outcome.code == 2
    assert "the study's runs were measured elsewhere" in outcome.err


def test_a_study_without_files_has_no_files_to_read(netstudy: Netstudy, study: Path) -> None:
    outcome = netstudy("run", study, "--testbed", "measured")
    assert outcome.code == 2
    assert "`netstudy import` makes a study from files" in outcome.err


@pytest.mark.slow
def test_of_forty_imports_of_equal_levels_at_most_five_differ(
    netstudy: Netstudy, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each claim is tested at 5 %: of 40, more than 5 are false with a probability of 1.4 %."""
    false = 0
    for seed in range(40):
        folder = here / str(seed)
        folder.mkdir()
        monkeypatch.chdir(folder)
        rng = random.Random(seed)
        for number in range(10):
            driver = ("old", "new")[number % 2]
            path = folder / f"lab/{driver}-{number}.json"
            iperf3_file(path, rng.gauss(OLD_MBPS, 8), BEGIN_S + EVERY_S * number)
        outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
        assert outcome.code == 0, outcome.err
        false += any(f"Goodput is {one} with" in outcome.out for one in ("higher", "lower"))
    assert false <= 5, f"{false} of 40"


def ping_file(path: Path, mean_ms: float, seed: int, started_s: int) -> None:
    """Write what `ping -D` prints."""
    rng = random.Random(seed)
    times = [round(rng.uniform(0.8, 1.2) * mean_ms, 1) for _ in range(60)]
    lines = ["PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data."]
    for number, time_ms in enumerate(times, 1):
        at_s = f"{started_s + number - 1}.{number:06}"
        lines.append(f"[{at_s}] 64 bytes from 10.0.0.2: icmp_seq={number} ttl=64 time={time_ms} ms")
    mean = sum(times) / len(times)
    deviation = (sum(one**2 for one in times) / len(times) - mean**2) ** 0.5
    lines += [
        "",
        "--- 10.0.0.2 ping statistics ---",
        "60 packets transmitted, 60 received, 0% packet loss, time 59064ms",
        f"rtt min/avg/max/mdev = {min(times):.3f}/{mean:.3f}/{max(times):.3f}/{deviation:.3f} ms",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def test_samples_of_files_are_drawn_and_have_percentiles(netstudy: Netstudy, here: Path) -> None:
    for number in range(6):
        queue = ("fifo", "fq")[number % 2]
        mean_ms = 20.0 if queue == "fifo" else 10.0
        ping_file(here / f"lab/{queue}-{number}.txt", mean_ms, number, BEGIN_S + 100 * number)
    (here / "study.yaml").write_text("""\
study: pings
question: Which queue has the shorter round trips?
factors: {queue: [fifo, fq]}
measured: {files: "lab/{queue}-{replicate}.txt"}
compare: {factor: queue, base: fifo, on: [ping_rtt_ms_p50]}
figures: [{kind: ecdf, y: ping_rtt_ms}]
""")
    outcome = netstudy("run", ".")
    assert outcome.code == 0, outcome.err
    assert "is shorter" in outcome.out or "is lower" in outcome.out
    assert any("ecdf" in one.name for one in here.rglob("figures/*.svg")), [*here.rglob("*.svg")]


def test_intervals_of_files_are_drawn_over_time(netstudy: Netstudy, here: Path, lab: Path) -> None:
    assert lab.is_dir()
    (here / "study.yaml").write_text("""\
study: course
question: How does the rate go on?
factors: {driver: [old, new]}
measured: {files: "lab/{driver}-{replicate}.json"}
figures: [{kind: time series, y: iperf_sent_mbps, series: driver}]
""")
    outcome = netstudy("run", ".")
    assert outcome.code == 0, outcome.err
    report = next(here.rglob("report.md")).read_text()
    assert "over time" in report


@pytest.mark.engine
def test_measured_beside_simulated(netstudy: Netstudy, here: Path) -> None:
    for clients in (1, 2):
        for number in (1, 2, 3):
            path = here / f"lab/{clients}c-{number}.json"
            iperf3_file(path, 90.0 + number, BEGIN_S + 100 * clients + number)
    assert netstudy("import", "--pattern", "lab/{clients}c-{replicate}.json").code == 0
    (here / "model").mkdir()
    (here / "model/study.yaml").write_text("""\
study: model
question: What would the model give?
factors: {clients: [1, 2]}
topology:
  client: {profile: host-1g, tcp: linux-6, count: "${clients}"}
  server: {profile: host-1g, tcp: linux-6}
  switch: generic-shallow
  link: {rate: 100 Mbit/s, mtu: 1500}
workload: {transfer: {direction: get}}
procedure: {warmup: 200 ms, measure: 1 s}
replicates: 2
""")
    assert netstudy("run", "model", "--results", "simulated").code == 0
    measured = next(one for one in (here / "results").iterdir() if one.is_dir())
    outcome = netstudy("compare", measured / "latest", here / "simulated/model/latest")
    assert outcome.code == 0, outcome.err
    assert "2 pairs of cells matched by clients" in outcome.out
    assert "Goodput" in outcome.out


def test_a_cpu_that_other_programs_may_have_filled_is_no_proven_limit(
    netstudy: Netstudy, here: Path
) -> None:
    """The CPUs of the example were full of other work: the link was shaped to 50 Mbit/s."""
    lab = CHECKOUT / "studies/examples/lab"
    outcome = netstudy(
        "import", f"small={lab}/mtu-1500-*.json", f"large={lab}/mtu-9000-*.json",
        "--host", "sender={dir}/sender.json", "--link",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    text = (here / "study.yaml").read_text()
    (here / "study.yaml").write_text(text.replace("# conclude", "conclude"))
    outcome = netstudy("run", ".")
    assert "The limit" not in outcome.out
    assert "CPUs of sender" in outcome.out


def test_a_table_of_ones_own_has_metrics_that_the_study_declares(
    netstudy: Netstudy, here: Path
) -> None:
    rows = ["queue,run,jitter"]
    rows += [f"fifo,{run},{2 + run / 10}" for run in range(1, 6)]
    rows += [f"fq,{run},{1 + run / 10}" for run in range(1, 6)]
    (here / "jitter.csv").write_text("\n".join(rows) + "\n")
    (here / "study.yaml").write_text("""\
study: jitter
question: Does the new queue shorten the jitter?
factors: {queue: [fifo, fq]}
measured:
  tables:
    file: jitter.csv
    factors: {queue: queue}
    repetition: run
    columns: {jitter: {metric: jitter_ms}}
metrics: {jitter_ms: {unit: ms, better: lower, decimals: 2, label: jitter}}
compare: {factor: queue, base: fifo, on: [jitter_ms]}
""")
    outcome = netstudy("run", ".")
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[1] == "Jitter is shorter with fq than with fifo."
    assert "1.3 ms against 2.3 ms" in outcome.out


def test_files_of_several_tools_are_runs_of_one_study(netstudy: Netstudy, here: Path) -> None:
    interleaved(here / "lab")
    for number in range(6):
        driver = ("old", "new")[number % 2]
        ping_file(here / f"lab/{driver}-ping-{number}.txt", 10.0, number, BEGIN_S + 600 + number)
    outcome = netstudy("import", "old=lab/old-*", "new=lab/new-*")
    assert outcome.code == 0, outcome.err
    (header, *rows) = next(here.rglob("cells.csv")).read_text().splitlines()
    assert {"goodput_mbps", "ping_rtt_ms_mean"} <= set(header.split(","))
    assert len(rows) == 2
    assert "" not in rows[0].split(",")[:2]


def nstat_text(values: dict[str, int]) -> str:
    return "#kernel\n" + "".join(f"{name:<32}{value:<16} 0.0\n" for name, value in values.items())


def test_counters_before_and_after_a_run_give_their_growth(netstudy: Netstudy, here: Path) -> None:
    for number in range(1, 4):
        iperf3_file(here / f"lab/old-{number}.json", 800 + number, BEGIN_S + 60 * number)
        for when, again in (("a", 100 * number), ("b", 100 * number + 10 * number)):
            counters = {"TcpOutSegs": 10_000 * number, "TcpRetransSegs": again}
            (here / f"lab/old-{number}.nstat-{when}").write_text(nstat_text(counters))
    outcome = netstudy("import", "old=lab/old-*.json", "--host", "sender={dir}/{stem}.nstat-*")
    assert outcome.code == 0, outcome.err
    found = [
        one.measured.values["sender.segments_retransmitted"]
        for one in records(here / "results")
        if one.measured is not None
    ]
    assert sorted(found) == [10, 20, 30]


def test_a_named_block_is_a_session(netstudy: Netstudy, here: Path) -> None:
    for number in range(12):
        driver, day = ("old", "new")[number % 2], ("mon", "tue")[number // 6]
        iperf3_file(here / f"lab/{day}/{driver}-{number}.json", 800 + number % 3, BEGIN_S + number)
    outcome = netstudy(
        "import", "--pattern", "lab/{day}/{driver}-{replicate}.json", "--block", "day"
    )
    assert outcome.code == 0, outcome.err
    found = records(here / "results")
    assert {one.measured.block for one in found if one.measured is not None} == {"mon", "tue"}
    assert all([*one.treatment] == ["driver"] for one in found)
    assert "The runs are of 2 sessions." in next(here.rglob("report.md")).read_text()


def test_histograms_of_files_have_percentiles_and_no_order(netstudy: Netstudy, here: Path) -> None:
    """Logs of the hdrhistogram package, whose own percentiles are the oracle."""
    recorded = HdrHistogram(1, 3_600_000_000_000, 3)
    rng = random.Random(SEED)
    for _ in range(2_000):
        recorded.record_value(round(rng.uniform(1e6, 9e6)))
    most_ms = recorded.get_max_value() / 1e6
    line = f"0.000,10.000,{most_ms:.3f},{recorded.encode().decode()}"
    head = "#[Histogram log format version 1.3]\n#[StartTime: 1795900000.000 (seconds since epoch)]"
    title = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    for name in ("a-1", "a-2"):
        (here / f"{name}.hlog").write_text(f"{head}\n{title}\n{line}\n")
    (here / "study.yaml").write_text("""\
study: histograms
question: How long does it take?
factors: {level: [a]}
measured: {files: "{level}-{replicate}.hlog"}
tables: [{rows: level, columns: [recorded_ms, recorded_ms_p99]}]
""")
    outcome = netstudy("run", ".")
    assert outcome.code == 0, outcome.err
    p99_ms = recorded.get_value_at_percentile(99) / 1e6
    assert f"{p99_ms:.2f}"[:3] in outcome.out


def test_files_of_failed_tests_alone_are_no_study(netstudy: Netstudy, here: Path) -> None:
    error = '{"start": {"version": "iperf 3.12"}, "intervals": [], "end": {}, "error": "no route"}'
    for name in ("old-1.json", "new-1.json"):
        (here / name).write_text(error)
    outcome = netstudy("import", "old=old-1.json", "new=new-1.json")
    assert outcome.code == 2
    assert "no file has a value: old-1.json: no route" in outcome.err
    assert not (here / "study.yaml").exists()
