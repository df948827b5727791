"""Every switch and every host that can be simulated carries a small incast, and loses no byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.workloads.incast import dropped_in_all
from netstudy.hardware import HardwareLibrary
from netstudy.plan import make_plan
from netstudy.study import load
from netstudy.testbed.sim import Sim
from netstudy.units import format_rate
from netstudy.wire import Record, RunRecord

pytestmark = pytest.mark.engine

LIBRARY = HardwareLibrary.default()
GENERIC_HOSTS = {1: "host-1g", 10: "host-10g", 25: "host-25g", 100: "host-100g"}
"""Gbit/s -> the generic host of that rate."""
SERVERS, BLOCK, ITERATIONS = 4, 400_000, 5

STUDY = """\
study: trial
question: Does it run?
factors: {{servers: [{servers}]}}
topology:
  switch: {switch}
  client: {{profile: {host}}}
  server: {{profile: {host}, count: "${{servers}}"}}
  link: {{rate: {rate}, delay: 1 us, mtu: {mtu}}}
workload:
  incast: {{block: {block} B, iterations: {iterations}, warmup: 1, jitter: {{exponential: 20 us}}}}
"""


def carried(
    folder: Path, switch: str, host: str, rate_bps: int, *, mtu: int = 9000, servers: int = SERVERS
) -> RunRecord:
    """A few iterations of a small incast."""
    (folder / "study.yaml").write_text(
        STUDY.format(
            switch=switch, host=host, rate=format_rate(rate_bps), mtu=mtu,
            servers=servers, block=BLOCK, iterations=ITERATIONS,
        )
    )  # fmt: skip
    records: list[Record] = []
    plan = make_plan(load(folder)).plan
    Sim().run(plan, threads=1, on_record=lambda record, _line: records.append(record))
    (run,) = (record for record in records if isinstance(record, RunRecord))
    return run


def assert_whole(run: RunRecord, rate_bps: int) -> None:
    assert run.status == "ok", run.error
    assert run.bytes_received == SERVERS * BLOCK * ITERATIONS
    assert run.samples.iteration is not None
    seconds = sum(run.samples.iteration.completion_ns) / 1e9
    assert run.bytes_received * 8 / seconds < rate_bps
    assert run.growth(run.ports["switch"]["client"])["frames_forwarded"] > 0


@pytest.mark.parametrize("mtu", [1500, 9000])
@pytest.mark.parametrize("switch", LIBRARY.names("switch"))
def test_every_switch_carries_an_incast_at_its_own_rate(
    switch: str, mtu: int, tmp_path: Path
) -> None:
    rate_bps = LIBRARY.switch(switch).figures.line_rate.value
    host = GENERIC_HOSTS[rate_bps // 10**9]
    assert_whole(carried(tmp_path, switch, host, rate_bps, mtu=mtu), rate_bps)


@pytest.mark.parametrize(("gbps", "host"), GENERIC_HOSTS.items())
@pytest.mark.parametrize("switch", ["generic-shallow", "generic-deep", "generic-voq"])
def test_every_generic_host_carries_an_incast_at_its_own_rate(
    switch: str, gbps: int, host: str, tmp_path: Path
) -> None:
    nic_rate = LIBRARY.host(host).nic.rate
    assert nic_rate is not None
    assert nic_rate.value == gbps * 10**9
    assert_whole(carried(tmp_path, switch, host, gbps * 10**9), gbps * 10**9)


def test_the_hosts_of_the_incast_study_carry_one_too(tmp_path: Path) -> None:
    run = carried(tmp_path, "generic-shared", "ucs-c200-rhel54", 10**10)
    assert_whole(run, 10**10)


def test_a_deep_switch_loses_nothing_where_a_shallow_one_does(tmp_path: Path) -> None:
    """Forty servers' initial windows of ten jumbo segments are 3.6 MB at once."""
    drops = {}
    for switch in ("generic-shallow", "generic-deep", "generic-voq"):
        run = carried(tmp_path, switch, "host-10g", 10**10, servers=40)
        drops[switch] = dropped_in_all(run)
    assert drops["generic-shallow"]
    assert drops["generic-deep"] == drops["generic-voq"] == 0
