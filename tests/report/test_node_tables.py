"""What nodes ran on, in the appendix: those that are alike in one table."""

from __future__ import annotations

from pathlib import Path

from netstudy.analysis.testbed import NodesAlike, gather_testbed
from netstudy.report.node_tables import node_tables
from netstudy.report.tables import Table
from netstudy.store.folder import CAPTURES
from netstudy.store.nodes import Interface, Machine, NodeEnvironment, Tuning, keep_node
from netstudy.wire import RecordNode, RunRecord

MACHINE = Machine(
    cpu="AMD EPYC",
    cpus=2,
    memory_bytes=8_000_000_000,
    kernel="Linux 6.18",
    sysctls={"net.core.netdev_max_backlog": "1000"},
)


def environment(ports: int, rmem: str = "4096") -> NodeEnvironment:
    names = tuple(f"p{number}" for number in range(ports))
    queues = ",".join(f'{{"kind":"noqueue","dev":"{name}"}}' for name in names)
    off = Tuning(command="ethtool -K p0 tso off", before="on", after="off", alike=names[1:])
    kept = Tuning(command="sysctl -w net.ipv4.tcp_sack=1", before="1", after="1")
    return NodeEnvironment(
        machine=MACHINE,
        cpus=0.5,
        interfaces=(
            Interface(
                names=names,
                kind="veth",
                driver="veth 1.0",
                mtu_bytes=1500,
                offloads="highdma: on\nlro: off [fixed]\ntx-lockless: on [fixed]\n",
            ),
        ),
        qdiscs=f"[{queues}]",
        sysctls={"net.ipv4.tcp_rmem": rmem},
        tunings=(off, kept),
    )


def rows(table: Table) -> dict[str, list[str | None]]:
    return {
        str(row[0]): [None if value is None else str(value) for value in row[1:]]
        for row in table.rows
    }


def test_nodes_are_told_by_what_they_ran_on(tmp_path: Path) -> None:
    names = [
        keep_node(tmp_path / CAPTURES, one)
        for one in (environment(2), environment(3), environment(2, rmem="8192"))
    ]
    nodes = [
        NodesAlike(names[0], "switch", ("switch",), ("r1",)),
        NodesAlike(names[1], "switch", ("switch",), ("r2", "r3")),
        NodesAlike(names[2], "client", ("client-1", "client-2"), ("r1",)),
    ]
    (switch, client), missing = node_tables(tmp_path, nodes)

    assert missing == []
    assert str(switch.overview.caption) == "switch: switch, in 3 runs"
    assert str(client.overview.caption) == "client: client-1, client-2, in 1 runs"
    found = rows(switch.overview)
    assert found["CPUs that it may use"] == ["0.5"]
    assert found["interface p0, p1, p2"] == ["veth, driver veth 1.0, MTU 1500 B"]
    assert found["offloads of p0, p1, p2"] == ["highdma, tx-lockless"]
    assert found["queue disciplines"] == ["p0, p1, p2: noqueue"]
    assert found["commands that changed something"] == ["3"]
    tunings = rows(switch.tunings)
    assert tunings["ethtool -K p0 tso off"] == ["p1, p2", "on", "off"]
    assert tunings["sysctl -w net.ipv4.tcp_sack=1"] == [None, "1", "1"]
    details = [[str(one.caption) for one in tables.details] for tables in (switch, client)]
    assert [len(one) for one in details] == [3, 2], "the machine's settings are told once"
    assert rows(client.details[0])["net.ipv4.tcp_rmem"] == ["8192"]


def test_an_environment_that_is_gone_is_named(tmp_path: Path) -> None:
    found, missing = node_tables(tmp_path, [NodesAlike("0" * 16, "client", ("client",), ("r",))])
    assert found == []
    assert "captures/nodes/0000000000000000.json" in missing[0]


def test_records_say_which_nodes_ran_on_what() -> None:
    def record(run: str, **environments: str | None) -> RunRecord:
        nodes = {
            name: RecordNode(kind="host", group="client", clock="machine", environment=named)
            for name, named in environments.items()
        }
        return RunRecord(
            run=run, treatment={}, replicate=1, seed="0" * 16, status="ok", nodes=nodes
        )

    records = [record("r1", one="a", other="a"), record("r2", one="a", other="b", third=None)]
    assert gather_testbed("netns", records, None).nodes == (
        NodesAlike("a", "client", ("one", "other"), ("r1", "r2")),
        NodesAlike("b", "client", ("other",), ("r2",)),
    )
