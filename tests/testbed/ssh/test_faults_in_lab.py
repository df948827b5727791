"""Faults while a study is under way on hosts: what the user reads, what is left, and when the last
byte is sent."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator

import pytest

from tests.skips import needs_programs
from tests.testbed.conftest import user_named
from tests.testbed.ssh.lab_runs import HOSTS, LEASE_S, LabRuns, study
from tests.tools.lab import lab_of

pytestmark = [pytest.mark.engine, pytest.mark.slow, needs_programs("ssh", "sshd", "nft", "ip")]

STUDIES = {
    "long": study("long", "transfer: {}", "procedure: {warmup: 1 s, measure: 15 s}"),
    "minute": study("minute", "transfer: {}", "procedure: {warmup: 1 s, measure: 60 s}"),
    "two": study("two", "transfer: {}", "procedure: {warmup: 1 s, measure: 3 s}", replicates=2),
    "many": study("many", "incast: {block: 100 kB, iterations: 20}", replicates=60),
    "fast": study("fast", "transfer: {}", "procedure: {measure: 1 s}", rate="1 Gbit/s"),
    "files": study(
        "files", "transfer: {protocol: ftp, size: 20 MB, from: ram, to: ram, repeats: 12}"
    ),
}
FAULT = "$NETSTUDY_LAB/fault"
LAST_BYTE_S = LEASE_S + 1
KILLS = 50


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabRuns]:
    folder = tmp_path_factory.mktemp("studies")
    for name, text in STUDIES.items():
        (folder / f"{name}.yaml").write_text(text)
    with lab_of(user_named("root"), "3", f"--network={folder}/long.yaml") as lab:
        files = 's/: {ssh: [^,]*,/&  files: "~\\/f",/'
        lab.run(f"cp {folder}/*.yaml $HOME; sed -i '{files}' $NETSTUDY_LAB/hosts.yaml")
        for host in HOSTS:
            lab.said(host, "mkdir f")
        found = LabRuns(lab)
        found.prepare()
        yield found


NETSTUDY_KILLED = "has ended its session; netstudy's process there was killed"


@pytest.mark.parametrize(
    ("fault", "undo", "told"),
    [
        ("signal server-1 KILL", None, f"server-1: {NETSTUDY_KILLED}"),
        ("signal server-1 STOP", None, f"server-1: {NETSTUDY_KILLED}"),
        ("signal server-1 STOP .", "signal server-1 CONT .", "server-1: has not been heard of"),
        ("cut server-1 control", "join server-1 control", "server-1: has not been heard of"),
    ],
    ids=["killed", "frozen", "the whole host frozen", "control link cut"],
)
def test_a_host_that_is_lost_ends_its_traffic_and_the_run_is_repeated(
    runs: LabRuns, fault: str, undo: str | None, told: str
) -> None:
    runs.begin("long")
    runs.wait_for("measure")
    made = runs.hit(f"{FAULT} {fault}")
    runs.hit(f"sleep {LAST_BYTE_S + 1}")
    if undo is not None:
        assert runs.last_sent() < made + LAST_BYTE_S
        runs.hit(f"{FAULT} {undo}")
    code, said = runs.end()

    assert code == 0, said
    assert told in runs.causes()
    assert runs.left() == []


@pytest.mark.parametrize(
    ("fault", "undo", "told"),
    [
        ("signal server-1 KILL 'exe agent'", None, "server-1: was killed by signal 9"),
        ("signal server-1 STOP 'exe agent'", None, "server-1 stands still, stopped by SIGSTOP"),
        (
            "cut server-1 test",
            "join server-1 test",
            "client: no data received for 20000 ms: server 10.77.0.2:",
        ),
        (
            "mtu-hole server-1 1400",
            "mtu-hole server-1 off",
            "client: no data received for 20000 ms: server 10.77.0.2:",
        ),
    ],
    ids=["agent killed", "agent frozen", "test link cut", "MTU hole"],
)
def test_a_run_that_fails_says_where_and_can_be_repeated(
    runs: LabRuns, fault: str, undo: str | None, told: str
) -> None:
    runs.begin("long")
    runs.wait_for("measure")
    runs.hit(f"{FAULT} {fault}")
    code, said = runs.end()
    if undo is not None:
        runs.hit(f"{FAULT} {undo}")

    assert code == 3, said
    assert told in runs.causes()
    assert runs.left() == []
    runs.completed()


@pytest.mark.parametrize("moment", ["set-up", "warm-up", "between runs"])
def test_a_host_that_is_lost_in_any_phase_costs_at_most_an_attempt(
    runs: LabRuns, moment: str
) -> None:
    runs.begin("two")
    runs.wait_for(moment)
    runs.hit(f"{FAULT} signal server-2 KILL")
    code, said = runs.end()

    assert code == 0, said
    assert [one["status"] for one in runs.records()] == ["ok", "ok"]
    assert moment == "between runs" or f"server-2: {NETSTUDY_KILLED}" in runs.causes()


@pytest.mark.parametrize("moment", ["log-in", "preflight", "set-up", "measure"])
@pytest.mark.parametrize("client", ["ssh -M", "ssh -T"])
def test_a_killed_ssh_client_is_a_lost_host(runs: LabRuns, client: str, moment: str) -> None:
    runs.begin("two")
    runs.wait_for(moment)
    runs.hit(f"kill -9 $(pgrep -f '^{client}' | head -n 1) || true")
    code, said = runs.end()

    if moment in ("log-in", "preflight"):
        assert code in (0, 3), said  # 0: the client had nothing to do any more
    else:
        assert code == 0, said
        assert ": has ended its session" in runs.causes()
    runs.wait_until_nothing_runs()
    assert runs.left() == []
    runs.completed()


def test_a_full_disk_is_named_and_no_file_is_left(runs: LabRuns) -> None:
    runs.hit(f"{FAULT} disk server-1 full")
    runs.begin("files")
    code, said = runs.end()
    runs.hit(f"{FAULT} disk server-1 ok")

    assert code == 3, said
    assert "server-1: making a file in f: No space left on device" in runs.causes()
    assert runs.left() == []
    runs.completed()


def test_files_of_a_killed_agent_are_gone_with_it(runs: LabRuns) -> None:
    runs.begin("files")
    runs.wait_for("measure")
    runs.hit(f"{FAULT} signal server-1 KILL 'exe agent'")
    code, said = runs.end()

    assert code == 3, said
    assert "server-1: was killed by signal 9" in runs.causes()
    assert runs.left() == []


def test_a_second_controller_is_refused_and_the_first_one_goes_on(runs: LabRuns) -> None:
    runs.begin("minute")
    runs.wait_for("measure")
    second = runs.lab.run(
        f"cd $HOME; {runs.lab.user.python} -m netstudy run minute.yaml "
        "--testbed $NETSTUDY_LAB/hosts.yaml --results $HOME/second"
    )
    code, said = runs.end()

    assert second.code == 3
    for host in HOSTS:
        assert f"{host} is in use by pid " in second.output
    assert "since 20" in second.output
    assert code == 0, said
    (record,) = runs.records()
    assert record["status"] == "ok"


@pytest.mark.parametrize(
    ("fault", "undo", "study", "told"),
    [
        ("firewall server-1 ssh", "firewall server-1 off", "two", "does not answer client"),
        ("arch server-1 riscv64", "arch server-1 off", "two", "there is no engine for riscv64"),
        (
            "mtu-hole server-1 1400",
            "mtu-hole server-1 off",
            "two",
            "1500 bytes do not pass, of 1400",
        ),
        ("max-sessions server-1 0", "max-sessions server-1 10", "two", "raise MaxSessions"),
        ("bashrc server-1 hello", "bashrc server-1 off", "fast", "the study's link has 1 Gbit/s"),
    ],
)
def test_what_a_run_cannot_have_is_refused_before_it_begins(
    runs: LabRuns, fault: str, undo: str, study: str, told: str
) -> None:
    runs.hit(f"{FAULT} {fault}")
    runs.begin(study)
    code, said = runs.end()
    runs.hit(f"{FAULT} {undo}")

    assert code == 3
    assert told in said
    assert "server-1" in said
    assert runs.left() == []


def test_two_sessions_are_enough_for_sshd_and_start_files_may_print(runs: LabRuns) -> None:
    runs.hit(f"{FAULT} max-sessions server-1 2; {FAULT} bashrc server-1 Welcome")
    runs.lab.run("printf 'printf unended' >>/run/hosts/server-1/disk/home/ns/.bashrc")
    runs.begin("two")
    code, said = runs.end()
    runs.hit(f"{FAULT} max-sessions server-1 10; {FAULT} bashrc server-1 off")

    assert code == 0, said


def test_a_controller_that_is_asked_to_end_leaves_no_folder(runs: LabRuns) -> None:
    runs.begin("long")
    runs.wait_for("measure")
    made = runs.hit("kill -TERM $(pgrep -f -- '-m netstudy run' | tail -n 1)")
    code, said = runs.end()
    runs.wait_until_nothing_runs()

    assert code == 143, said
    assert runs.last_sent() < made + LAST_BYTE_S
    assert runs.left() == []
    assert runs.lab.run("ls -A $XDG_RUNTIME_DIR").output == ""


VICTIMS = {
    "front": "pgrep -f -- '-m netstudy run' | tail -n 1",
    "supervisor": "pgrep -f 'python.* -m netstudy.testbed.ssh' | tail -n 1",
    "master": "pgrep -f '^ssh -M' | shuf -n 1",
    "session": "pgrep -f '^ssh -T' | shuf -n 1",
}


def test_a_study_survives_fifty_kills_at_random_instants(runs: LabRuns) -> None:
    seed = int(os.environ.get("NETSTUDY_KILL_SEED", random.SystemRandom().randrange(10**6)))
    print(f"NETSTUDY_KILL_SEED={seed}")
    chance = random.Random(seed)
    runs.begin("many")
    for number in range(KILLS):
        victim = chance.choice(list(VICTIMS))
        delay_s = chance.uniform(0, 12)
        runs.hit(f"sleep {delay_s}; kill -9 $({VICTIMS[victim]}) 2>/dev/null || true")
        if victim in ("master", "session"):  # the study goes on
            runs.hit(f"sleep {chance.uniform(0, 8)}; kill -9 $({VICTIMS['front']}) || true")
        made = time.monotonic()
        runs.wait_until_nothing_runs()
        where = f"kill {number} ({victim} after {delay_s:.1f} s), seed {seed}"
        assert runs.last_sent() < made + LAST_BYTE_S, where
        assert runs.left() == [], where
        runs.resume()
    runs.end()
    runs.completed()
    assert {one["status"] for one in runs.records()} == {"ok"}
