"""sysstat's own recorder beside the probes: its file, what it shows, and whether both agree."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.plan import support
from netstudy.study import load
from netstudy.testbed.netns import sysstat
from netstudy.testbed.netns.unsupported import unsupported
from netstudy.testbed.real.captures import keep_recordings
from netstudy.testbed.real.reconcile import reconciliation
from netstudy.testbed.real.sysstat import recording
from netstudy.wire import Reconciliation
from tests.testbed.carried_out import a_run, carry_out, record_of, roles, times
from tests.testbed.conftest import User
from tests.testbed.front import study_text
from tests.testbed.networks import MODERN, direct
from tests.testbed.told import evidence

pytestmark = pytest.mark.quiet

with_sysstat = pytest.mark.skipif(
    sysstat.recorder_program() is None,
    reason="needs sysstat; install: apt-get install sysstat",
)
"""A test that starts sysstat's recorder, which stands outside PATH."""
SHOWN = """\
10:00:01 UTC; CPU; -1; %user; 100; 150; %nice; 0; 0; %system; 40; 60; %iowait; 0; 0; %steal; 0; 0; %idle; 100; 230;
10:00:02 UTC; CPU; -1; %user; 150; 170; %nice; 0; 1; %system; 60; 70; %iowait; 0; 0; %steal; 0; 0; %idle; 230; 399;
10:00:01 UTC; IFACE; eth0; rxpck/s; 5; 15; txpck/s; 5; 10; rxkB/s; 500; 9500; txkB/s; 400; 700; speed; 0; duplex; 0;
10:00:02 UTC; IFACE; eth0; rxpck/s; 15; 20; txpck/s; 10; 12; rxkB/s; 9500; 12500; txkB/s; 700; 900; speed; 0; duplex; 0;
10:00:02 UTC; IFACE; eth0; rxerr/s; 0; 0; txdrop/s; 7; 9; txcarr/s; 0; 0;
10:00:02 UTC; atmptf/s; 0; 0; retrans/s; 3; 7; isegerr/s; 0; 0;
"""  # noqa: E501 (as sadf writes it)
SECOND_NS = 1_000_000_000


def run_with(every_ns: int = SECOND_NS, hosts: tuple[str, ...] = ("client", "server")) -> wire.Run:
    """A transfer of a second between two hosts, at both of which sysstat records."""
    work = wire.Transfer(roles=roles("client", "server"), size_bytes=100_000)
    watched = tuple(
        wire.Instrument(kind="host", node=host, every_ns=every_ns, sysstat=True) for host in hosts
    )
    return a_run(direct(), work, times(1.0), instruments=watched)


def of_sar(record: wire.RunRecord) -> dict[str, Reconciliation]:
    return {one.check: one for one in record.reconciliation if "by sar" in one.check}


@with_sysstat
def test_sar_and_the_probes_agree_on_a_run(user: User) -> None:
    record = record_of(user, run_with())

    checks = of_sar(record)
    assert [one for one in checks.values() if not one.holds] == []
    received = checks["bytes that client eth0 received, by sar (rxkB/s) = by the probes"]
    assert received.left > 1_000_000
    for host in ("client", "server"):
        assert f"packets that {host} eth0 sent, by sar (txpck/s) = by the probes" in checks
        assert f"segments that {host} retransmitted, by sar = by the probes" in checks
    busy = checks["CPU time of the machine in ms, by sar at client = by the probes"]
    assert busy.left > 0


@with_sysstat
@pytest.mark.one_user
def test_the_file_is_kept_and_sadf_reads_it(user: User, tmp_path: Path) -> None:
    captures = tmp_path / "captures"
    captures.mkdir(mode=0o777)
    for folder in (captures, *captures.parents[:4]):
        folder.chmod(0o777)
    run = run_with(hosts=("server",))
    carry_out(user, run, f"--captures={captures}")
    shown = subprocess.run(
        ["sadf", "-j", str(captures / f"{run.id}.server.sar"), "--", "-n", "DEV"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"iface": "eth0"' in shown.stdout


def told(shown: str, received: int, busy_ms: int) -> dict[str, Reconciliation]:
    """The checks where the probes of the client counted these."""
    grown = {
        "interface_bytes_received": received,
        "interface_packets_received": 15,
        "interface_send_drops": 2,
        "segments_retransmitted": 4,
        "cpu_user_ms": busy_ms,
        "cpu_system_ms": 0,
    }
    found = evidence(run_with(), {}, {"client": grown})
    recorded = recording("client", b"", shown, 0, 2 * SECOND_NS)
    checks = reconciliation(replace(found, recordings=(recorded,)))
    return {one.check: one for one in checks if "by sar" in one.check}


BYTES = "bytes that client eth0 received, by sar (rxkB/s) = by the probes"
CPU = "CPU time of the machine in ms, by sar at client = by the probes"


def test_the_growth_between_first_and_last_record_is_held_against_the_probes() -> None:
    checks = told(SHOWN, received=12_000, busy_ms=1_010)

    assert (checks[BYTES].left, checks[BYTES].difference) == (12_000, 0)
    assert checks["packets that client eth0 dropped when sending, by sar (txdrop/s) = by the "
                  "probes"].left == 2  # fmt: skip
    assert checks["segments that client retransmitted, by sar = by the probes"].left == 4
    # 20 + 50 ticks of processes, 1 of low priority, 20 + 10 of the kernel, of 10 ms each.
    assert checks[CPU].left == 1_010
    assert all(one.holds for one in checks.values())


def test_instruments_that_differ_are_told() -> None:
    checks = told(SHOWN, received=12_000 + 4 * 64 + 1, busy_ms=100_000)

    assert not checks[BYTES].holds
    assert not checks[CPU].holds
    assert checks[BYTES].explained is not None


def test_a_file_without_two_records_is_an_error() -> None:
    with pytest.raises(LookupError, match="has no two records"):
        recording("client", b"", "", 0, 1)


def test_files_are_kept_by_run_and_host(tmp_path: Path) -> None:
    keep_recordings(tmp_path / "new", "abc", [recording("client", b"sar", SHOWN, 0, 1)])
    assert (tmp_path / "new/abc.client.sar").read_bytes() == b"sar"


def refused(run: wire.Run) -> list[str]:
    return unsupported(wire.Plan(study="by hand", seed=1, runs=(run,)), "user-space", MODERN)


def test_without_sysstat_it_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysstat, "_PLACES", ())
    assert refused(run_with()) == [
        "There is no sysstat here to record at client, server: sudo apt-get install sysstat, or "
        "leave sysstat out."
    ]


@with_sysstat
def test_a_part_of_a_second_is_no_interval_of_sysstat() -> None:
    assert refused(run_with(every_ns=1_500_000_000, hosts=("client",))) == [
        "sysstat records every so many seconds, not every 1.5 s at client."
    ]


def test_the_simulator_refuses_it_by_name(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(f"{study_text()}instruments: [{{sar: server, sysstat: true}}]\n")
    (said,) = [one for one in support.unsupported(load(path), "sim") if "sysstat" in one]
    assert said.startswith("sysstat's sar at server records a real kernel's counters")
    assert not [one for one in support.unsupported(load(path), "netns") if "sysstat" in one]
