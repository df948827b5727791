"""Bad input is one clear message and exit code 2, with nothing left behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import CHECKOUT, INCAST, SMALL_STUDY, Netstudy


def changed(old: str, new: str) -> str:
    assert SMALL_STUDY.count(old) == 1
    return SMALL_STUDY.replace(old, new)


BAD_STUDIES = {
    "an empty file": ("", r"study\.yaml:1:1: "),
    "a YAML error": (changed("factors:", "factors: ["), r"study\.yaml:\d+:\d+: "),
    "an unknown key": (
        changed("delay: 1 us", "delai: 1 us"),
        r'study\.yaml:10:\d+: topology\.link\.delai: .*"delay"',
    ),
    "a unit that does not fit": (
        changed("delay: 1 us", "delay: 1 MB"),
        r"study\.yaml:10:\d+: topology\.link\.delay: .*MB",
    ),
    "a number without its unit": (
        changed("rate: 10 Gbit/s", "rate: 10"),
        r"study\.yaml:10:\d+: topology\.link\.rate: ",
    ),
    "a factor without levels": (
        changed("servers: [1, 3, 6]", "servers: []"),
        r"study\.yaml:5:\d+: factors\.servers: .*at least one level",
    ),
    "a profile that does not exist": (
        changed("[arista-7124s, nexus-5010]", "[arista-7124, nexus-5010]"),
        r'study\.yaml:4:\d+: .*"arista-7124".*"arista-7124s"',
    ),
    "a rate of 0": (
        changed("rate: 10 Gbit/s", "rate: 0 Gbit/s"),
        r"study\.yaml:10:\d+: topology\.link\.rate: ",
    ),
    "10^9 servers": (
        changed("servers: [1, 3, 6]", "servers: 1..1000000000"),
        r"study\.yaml:5:\d+: factors\.servers: .*1,000,000,000 levels",
    ),
    "10^9 servers at once": (
        changed("servers: [1, 3, 6]", "servers: [1, 3, 1000000000]"),
        r"study\.yaml:\d+:\d+: .*1,000,000,0\d\d hosts",
    ),
}


def test_validate_plans_the_variants_too(here: Path, netstudy: Netstudy) -> None:
    Path("study.yaml").write_text("""\
study: watched
question: Does it fill the link?
factors: {rate: [100 Mbit/s, 1 Gbit/s]}
topology:
  hosts:
    client: {profile: host-1g}
    server: {profile: host-1g}
    monitor: {profile: host-1g, unused: true}
  switch: {profile: generic-shallow}
  link: {rate: "${rate}"}
workload: {transfer: {}}
procedure: {measure: 1 s}
replicates: 1
testbeds:
  hosts: {set: {topology.hosts.monitor.unused: false}}
""")
    done = netstudy("validate", "study.yaml")
    assert done.code == 2
    assert "topology.hosts.monitor: no traffic uses this host" in done.err
    assert done.err.endswith("(in the variant for hosts)\n")


@pytest.mark.parametrize("verb", ["validate", "plan", "run"])
@pytest.mark.parametrize(("text", "message"), BAD_STUDIES.values(), ids=BAD_STUDIES.keys())
def test_a_study_that_is_wrong_is_refused_with_the_place(
    here: Path, netstudy: Netstudy, verb: str, text: str, message: str
) -> None:
    (here / "study.yaml").write_text(text)
    outcome = netstudy(verb, "study.yaml")
    assert outcome.code == 2
    assert re.search(message, outcome.err), outcome.err
    assert "Traceback" not in outcome.err
    assert [path.name for path in here.iterdir()] == ["study.yaml"]


REFUSED = {
    "a study that is not there": (("nowhere",), r"nowhere: "),
    "a factor that is not there": (("study.yaml", "--only", "server=1"), r'"servers"'),
    "a level that is not there": (("study.yaml", "--only", "servers=2"), r"servers .*2"),
    "a subset without its levels": (("study.yaml", "--only", "servers"), r"--only"),
    "an override of nothing": (
        ("study.yaml", "--set", "workload.incast.iteration=5"),
        r'--set workload\.incast\.iteration=5: .*"iterations"',
    ),
    "an override without a value": (("study.yaml", "--set", "replicates"), r"--set replicates: "),
    "an override given twice": (
        ("study.yaml", "--set", "replicates=1", "--set", "replicates=2"),
        r"given twice",
    ),
    "a second value of an option that takes one": (
        ("study.yaml", "--seed", "1", "--seed=2"),
        r"--seed is given 2 times, and takes one value",
    ),
    "a testbed that is not there": (("study.yaml", "--testbed", "moon"), r"moon.*"),
    "a plan that would take weeks": (
        (
            *("study.yaml", "--set", "workload.incast.iterations=10000000"),
            *("--set", "workload.incast.block=1 GB"),
        ),
        r"would take about [\d,]+ days .*longer than --max-time 24h",
    ),
    "a limit that is no time": (("study.yaml", "--max-time", "24 MB"), r"--max-time: .*24 MB"),
    "a dry run that would take too long": (
        ("study.yaml", "--dry-run", "--max-time", "1 ms"),
        r"would take about .*longer than --max-time 1 ms",
    ),
    "figures of a dry run": (("study.yaml", "--dry-run", "--png"), r"--png: a dry run writes no"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_run_is_refused_and_nothing_is_left(
    study: Path, netstudy: Netstudy, arguments: tuple[str, ...], message: str
) -> None:
    outcome = netstudy("run", *arguments)
    assert outcome.code == 2
    assert re.search(message, outcome.err), outcome.err
    assert [path.name for path in study.parent.iterdir()] == ["study.yaml"]


def test_parts_that_this_version_cannot_carry_out_are_listed(
    here: Path, netstudy: Netstudy
) -> None:
    """`validate` accepts the study with a note, and `run` refuses it with the same words."""
    text = changed(
        "replicates: 2", "figures: [{kind: time series, y: completion_ms_mean}]\nreplicates: 2"
    )
    (here / "study.yaml").write_text(text)
    checked = netstudy("validate", "study.yaml")
    assert checked.code == 0
    notes = re.findall(r"note: (.*)", checked.out)
    assert notes
    refused = netstudy("run", "study.yaml")
    assert refused.code == 2
    assert all(f"  - {note}" in refused.err for note in notes)
    assert [path.name for path in here.iterdir()] == ["study.yaml"]


def test_validate_goes_on_after_a_wrong_study(study: Path, netstudy: Netstudy) -> None:
    wrong = study.with_name("wrong.yaml")
    wrong.write_text("study: [\n")
    outcome = netstudy("validate", wrong, study, INCAST)
    assert outcome.code == 2
    assert "wrong.yaml:" in outcome.err
    assert outcome.out.splitlines() == [f"{study}: ok", f"{INCAST}: ok"]


def test_an_unknown_option_is_bad_input(study: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("run", study, "--fast")
    assert outcome.code == 2
    assert "--fast" in outcome.err


@pytest.mark.parametrize(
    ("variants", "told"),
    [
        ("", "the study has no short form; write one under `quick`"),
        (
            "quick: {set: {replicates: 1}}\ntestbeds: {sim: {set: {replicates: 3}}}\n",
            "no short form in its variant for sim; write one under `testbeds.sim.quick`",
        ),
    ],
)
def test_a_short_form_that_is_not_there_is_not_the_whole_study(
    here: Path, netstudy: Netstudy, variants: str, told: str
) -> None:
    text, _, _ = SMALL_STUDY.partition("quick:")
    (here / "study.yaml").write_text(text + variants)
    for verb in ("plan", "run"):
        refused = netstudy(verb, "study.yaml", "--quick", "--testbed", "sim")
        assert refused.code == 2
        assert told in refused.err
    assert netstudy("plan", "study.yaml", "--testbed", "sim").code == 0


@pytest.mark.parametrize("verb", ["validate", "plan", "run", "report", "export", "status"])
def test_a_name_that_no_file_can_have_is_bad_input(
    here: Path, netstudy: Netstudy, verb: str
) -> None:
    outcome = netstudy(verb, "a" * 300)
    assert outcome.code == 2
    assert re.fullmatch(r"netstudy: File name too long: a{79}…\n", outcome.err)
    assert not list(here.iterdir())


def test_a_mistake_of_our_own_has_the_documented_exit_code(
    study: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_asked: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("netstudy.cli.validate.prepare", broken)
    outcome = netstudy("validate", study)
    assert outcome.code == 70
    assert "ZeroDivisionError" in outcome.err
    codes = (CHECKOUT / "docs" / "reference" / "exit-codes.md").read_text()
    assert "| 70 | a mistake of netstudy's own" in codes
