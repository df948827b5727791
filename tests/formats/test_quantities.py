"""Formats agree on the unit and direction of each quantity, and declare all that they measure."""

from __future__ import annotations

from netstudy.formats import FORMATS
from netstudy.formats.measured import HostReadings
from netstudy.formats.of_hosts import OF_HOSTS
from netstudy.formats.plain_text import plain
from netstudy.study.vocabulary import HOST_METRICS, MACHINE_METRICS
from tests.formats.hosts import HOST


def test_a_quantity_of_several_formats_has_one_unit_and_one_direction() -> None:
    kinds: dict[str, set[tuple[str, str]]] = {}
    for form in FORMATS:
        for found in form.quantities:
            kinds.setdefault(found.name, set()).add((found.unit, found.better))
    assert {name: each for name, each in kinds.items() if len(each) > 1} == {}


def test_names_within_a_format_are_unique() -> None:
    for form in FORMATS:
        names = [found.name for found in form.quantities]
        assert len(set(names)) == len(names), form.name


def test_readings_of_hosts_use_the_names_of_the_vocabulary() -> None:
    names = {found.name for form in OF_HOSTS for found in form.quantities}
    assert names & set(HOST_METRICS) == {
        "cpu_pct",
        "busiest_cpu_pct",
        "receive_mbps",
        "send_mbps",
        "receive_packets_per_s",
        "send_packets_per_s",
        "rxdrop_per_s",
        "txdrop_per_s",
        "segments_retransmitted",
        "timeouts",
        "disk_mb_per_s",
        "disk_busy_pct",
        "swap_pages_per_s",
    }
    assert {"softirq_pct", "steal_pct"} <= names & set(MACHINE_METRICS)


def test_every_value_of_the_files_is_a_quantity_of_its_format() -> None:
    """Counters of newer kernels and values of a driver only have names that follow a rule."""
    read = set()
    for path in sorted(HOST.iterdir()):
        data = plain(path.read_bytes())
        (form,) = (each for each in OF_HOSTS if each.recognises(data))
        content = form.read(data)
        assert isinstance(content, HostReadings)
        names = {name for each in content.series for name in each.values}
        if form.name not in ("nstat", "netstat-s", "proc-net", "ethtool"):
            names |= {name for each in content.counters for name in each.values}
        assert names <= {found.name for found in form.quantities}, path.name
        read.add(form.name)
    assert read == {form.name for form in OF_HOSTS} - {"ethtool"}
