"""What is kept of the nodes of a run: no secret, nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.errors import StudyError
from netstudy.store.nodes import Machine, NodeEnvironment, Tuning, keep_node, read_node
from netstudy.testbed.netns import environment
from netstudy.testbed.netns.environment import merged


def an_environment(**changes: object) -> NodeEnvironment:
    machine = Machine(cpu="a", cpus=2, memory_bytes=1, kernel="Linux 6.18", sysctls={})
    found = NodeEnvironment(
        machine=machine, cpus=1, interfaces=(), qdiscs="[]", sysctls={}, tunings=()
    )
    return found.model_copy(update=changes)


def test_keys_of_the_kernel_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "ipv4/tcp_fastopen_key": "1-2-3-4",
        "ipv4/tcp_rmem": "4096\t131072\t6291456\n",
        "ipv4/ip_forward": "0",
        "core/netdev_rss_key": "00:11",
        "core/somaxconn": "4096\n",
    }
    for name, text in settings.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(environment, "_SYSCTLS", tmp_path)
    assert environment.sysctls() == {
        "net.core.somaxconn": "4096",
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
    }


def test_what_is_done_alike_to_several_interfaces_is_told_once() -> None:
    def off(interface: str, before: str = "on") -> Tuning:
        command = f"ethtool -K {interface} tso off"
        return Tuning(command=command, before=before, after="off")

    sysctl = Tuning(command="sysctl -w net.ipv4.tcp_sack=1", before="0", after="1")
    told = merged([sysctl, off("p0"), off("p1", before="off"), off("p2")])
    assert told == [
        sysctl,
        off("p0").model_copy(update={"alike": ("p2",)}),
        off("p1", before="off"),
    ]


def test_nodes_that_are_alike_share_a_file(tmp_path: Path) -> None:
    first, other = an_environment(), an_environment(cpus=0.5)
    names = [keep_node(tmp_path, one) for one in (first, first, other)]
    assert names[0] == names[1] != names[2]
    assert len(list((tmp_path / "nodes").iterdir())) == 2
    assert read_node(tmp_path, names[2]) == other


def test_what_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot read"):
        read_node(tmp_path, "0" * 16)
    name = keep_node(tmp_path, an_environment())
    (tmp_path / "nodes" / f"{name}.json").write_text("{")
    with pytest.raises(StudyError, match="is damaged"):
        read_node(tmp_path, name)
