"""What `netstudy doctor` says of the testbed in namespaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.errors import TestbedError
from netstudy.testbed.netns import readiness
from netstudy.testbed.netns.kernel import Kernel
from netstudy.testbed.netns.readiness import (
    USER_NAMESPACE_SWITCHES,
    Aspect,
    aspects,
    kernel_aspects,
    programs_aspect,
    user_namespace_advice,
)
from tests.testbed.conftest import User
from tests.testbed.networks import MODERN

_COMPLETE = replace(
    MODERN,
    sysctls=MODERN.sysctls | {"core/rps_default_mask"},
    congestion_controls=MODERN.congestion_controls | {"dctcp"},
)


def named(found: list[Aspect], name: str) -> Aspect:
    (one,) = [aspect for aspect in found if aspect.name == name]
    return one


def test_a_kernel_that_has_everything_is_well() -> None:
    assert [aspect for aspect in kernel_aspects(_COMPLETE) if not aspect.ok] == []


@pytest.mark.parametrize(
    ("name", "lacking", "advice"),
    [
        ("switch", {"packet_sockets": False}, "modprobe -a af_packet"),
        ("switch", {"links": frozenset({"bridge"})}, "modprobe -a veth"),
        ("kernel path", {"links": frozenset({"veth"})}, "modprobe -a bridge"),
        ("kernel path", {"qdiscs": frozenset({"bfifo", "pfifo"})}, "modprobe -a sch_htb"),
        ("reordering", {"sysctls": frozenset()}, "taskset -c 0"),
        ("congestion", {"congestion_controls": frozenset({"reno", "cubic"})}, "tcp_dctcp"),
    ],
)
def test_what_is_missing_is_said_with_what_enables_it(
    name: str, lacking: dict[str, object], advice: str
) -> None:
    found = named(kernel_aspects(replace(_COMPLETE, **lacking)), name)  # type: ignore[arg-type]

    assert not found.ok
    assert found.advice is not None
    assert advice in found.advice


def test_missing_programs_are_named_with_their_packages() -> None:
    found = programs_aspect(["ip", "tc", "unshare"])

    assert found.found == "no ip, tc, unshare, for --testbed netns"
    assert found.advice == "sudo apt-get install iproute2 util-linux"


@pytest.mark.parametrize("switch", list(USER_NAMESPACE_SWITCHES))
def test_the_sysctl_that_forbids_namespaces_is_named(switch: str) -> None:
    forbids, allows = USER_NAMESPACE_SWITCHES[switch]
    values = {name: allows for name, (_, allows) in USER_NAMESPACE_SWITCHES.items()}

    assert (
        user_namespace_advice({**values, switch: forbids}.get) == f"sudo sysctl {switch}={allows}"
    )
    assert "as root" in user_namespace_advice(values.get)


def test_doctor_says_that_it_works_and_for_whom(user: User) -> None:
    who = "as root" if user.is_root else "as an ordinary user"
    said = user.output("-m", "netstudy", "doctor", "--json")
    found = {finding["name"]: finding for finding in json.loads(said)}

    assert found["netns"]["found"] == f"--testbed netns works here, {who}"
    assert found["kernel path"]["ok"] == (
        {"bfifo", "htb"} <= set(found["queues"]["found"].split(", "))
    )
    assert not any(finding["needed"] for name, finding in found.items() if name == "netns")


def test_doctor_advises_where_programs_are_missing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "netstudy", "doctor", "--json"],
        env={"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    found = {finding["name"]: finding for finding in json.loads(done.stdout)}

    assert not found["programs"]["ok"]
    assert "util-linux" in found["programs"]["advice"]
    for name in ("rootless", "sysstat"):
        assert found[name]["advice"].startswith("sudo apt-get install ")
    assert found["netns"]["found"].startswith("--testbed netns needs ")
    assert "unshare" in found["netns"]["found"]
    for name, purpose in (("switch", "any buffer"), ("kernel path", "--testbed netns-kernel")):
        assert found[name]["found"].startswith(f"not tried, for {purpose}")


def test_doctor_has_every_line_whatever_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optional program that is missing hides nothing, and says what it is for."""
    everything = [one.name for one in aspects()]
    monkeypatch.setattr(readiness, "recorder_program", lambda: None)
    without_sysstat = aspects()
    assert [one.name for one in without_sysstat] == everything
    assert "record" in named(without_sysstat, "sysstat").found
    assert named(without_sysstat, "programs").found == named(aspects(), "programs").found
    assert "sadf" not in named(without_sysstat, "programs").found

    def fails() -> Kernel:
        raise TestbedError("no namespaces can be made here: EPERM")

    monkeypatch.setattr(readiness, "kernel", fails)
    assert [one.name for one in aspects()] == everything
    assert named(aspects(), "netns").found == "no namespaces can be made here: EPERM"
