"""What `netstudy doctor` says of the testbed in namespaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy.testbed.netns.readiness import (
    USER_NAMESPACE_SWITCHES,
    Aspect,
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

    assert found.found == "no ip, tc, unshare"
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
    assert "netns" not in found
