"""The appendix: every setting with its unit, every profile figure with its source."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from netstudy.analysis.workloads.incast import INCAST
from netstudy.report.appendix import Appendix, appendix, fitted_figures, setting_text
from netstudy.report.prose.against_published import fitted_note
from netstudy.report.tables import Table
from netstudy.store import Folder
from tests.report.results import from_text, results, study_text


@pytest.fixture(scope="module")
def added(incast: Folder) -> Appendix:
    return appendix(incast, incast.plan(), incast.plan().runs, {}, INCAST.metrics)


def rows(table: Table) -> dict[str, list[str]]:
    return {
        str(row[0]): ["" if value is None else str(value) for value in row[1:]]
        for row in table.rows
    }


def test_each_switch_has_its_own_column(added: Appendix) -> None:
    switch = added.configuration[0]
    assert [group.heading for group in switch.groups] == ["setting", "arista-7124s", "nexus-5010"]
    found = rows(switch)
    assert found["buffer.kind"] == ["shared-memory", "ingress-queued"]
    assert found["buffer.pool"][0] == "1.24 MB"
    assert found["buffer.pool"][1] == ""


def test_hosts_links_and_workload_are_there(added: Appendix) -> None:
    _, hosts, links, work = map(rows, added.configuration)
    assert hosts["tcp.min_rto"] == ["200 ms", "200 ms"]
    assert hosts["count"][0] == "1"
    assert set(hosts["count"][1].split(" or ")) == {"1", "2", "5", "9"}
    assert links["mtu"] == ["9000 B", "9000 B"]
    assert links["rate"] == ["10 Gbit/s", "10 Gbit/s"]
    assert work["block"] == ["4 MB"]
    assert work["phases.measure.count"] == ["120"]


def test_settings_of_a_tcp_are_those_in_effect(tmp_path: Path) -> None:
    text = study_text("factors: {control: [reno, dctcp]}\nreplicates: 2\n")
    host = "server: {profile: ucs-c200-rhel54, "
    text = text.replace(host, f'{host}tcp: {{congestion_control: "${{control}}"}}, ')
    text = text.replace("client: {profile: ucs-c200-rhel54}", "client: host-10g")
    folder = from_text(tmp_path, text)
    hosts = rows(
        appendix(folder, folder.plan(), folder.plan().runs, {}, INCAST.metrics).configuration[1]
    )
    assert hosts["tcp.recovery"] == ["prr", "fack"]
    assert hosts["tcp.rack"] == hosts["tcp.tail_loss_probe"] == ["yes", "—"]
    assert set(hosts["tcp.ecn"][1].split(" or ")) == {"no", "yes"}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("delay_ns", 1_000, "1 µs"),
        ("rate_bps", 10_000_000_000, "10 Gbit/s"),
        ("mtu_bytes", 9000, "9000 B"),
        ("buffer.pool_bytes", 435_000, "435 kB"),
        ("ingress_guarantee_frames", 1, "1\u00a0frame"),
        ("ack_every_segments", 2, "2\u00a0segments"),
        ("random_arbitration_pct", 75, "75\u00a0%"),
        ("alpha", 8.0, "8"),
        ("sack", True, "yes"),
        ("tcp.initial_window_segments", None, "by the standard’s rule"),
        ("nic.receive_rate_bps", None, "—"),
        ("cpu_quota_pct", None, "—"),
        ("size_bytes", None, "—"),
    ],
)
def test_settings_are_printed_with_their_unit(name: str, value: object, text: str) -> None:
    assert setting_text(name, value) == text


def test_every_profile_figure_has_its_source(added: Appendix) -> None:
    names = {table.id for table in added.profiles}
    used = ("arista-7124s", "nexus-5010", "ucs-c200-rhel54", "linux-2.6.18")
    assert names == {f"profile-{name}" for name in used}
    for table in added.profiles:
        for figure, (_, source, as_good, origin, _) in rows(table).items():
            assert source in ("documented", "fitted", "assumed"), figure
            assert bool(as_good) == (source == "fitted"), figure
            assert origin, figure


WITHOUT_SWITCH = """
study: cards
question: Whose figures are these?
factors:
  card: [osa-express2, mine]
  mtu: [1500, 9000]
topology:
  hosts:
    client: {profile: ucs-c200-rhel54}
    server: {profile: ucs-c200-rhel54, count: 2, nic: host-card}
    monitor: {unused: true}
  links:
    - {between: [client, server], rate: 1 Gbit/s, mtu: "${mtu}", nic: "${card}"}
    - {between: [monitor, client], rate: 1 Gbit/s, unused: true}
workload:
  incast: {block: 4 MB, iterations: 90, warmup: 10}
"""
CARD = "profile: {name}\nkind: nic\ntitle: A card of {name}\nfigures: {{}}\n"


def test_profiles_of_interfaces_are_told_and_what_has_no_profile_is_not_missed(
    tmp_path: Path,
) -> None:
    (tmp_path / "hardware").mkdir()
    for name in ("mine", "host-card"):
        (tmp_path / "hardware" / f"{name}.yaml").write_text(CARD.format(name=name))
    folder = from_text(tmp_path, WITHOUT_SWITCH)
    assert {switch.profile for run in folder.plan().runs for switch in run.network.switches} == {
        "wire-speed"
    }
    assert "none" in {group.profile for run in folder.plan().runs for group in run.network.groups}
    for name in ("mine", "host-card"):
        (folder.path / "hardware").mkdir(exist_ok=True)
        (folder.path / "hardware" / f"{name}.yaml").write_text(CARD.format(name=name))
    found = appendix(folder, folder.plan(), folder.plan().runs, {}, INCAST.metrics)
    assert found.missing_profiles == ()
    names = [table.id.removeprefix("profile-") for table in found.profiles]
    assert names == ["ucs-c200-rhel54", "linux-2.6.18", "rfc", "host-card", "osa-express2", "mine"]
    (card,) = (table for table in found.profiles if table.id == "profile-osa-express2")
    assert rows(card)["rate"][:2] == ["10 Gbit/s", "documented"]


def test_fitted_figures_are_named_beside_published_values(added: Appendix) -> None:
    fitted = fitted_figures(added.profiles)
    assert "alpha" in fitted["arista-7124s"]
    assert "ingress_buffer" in fitted["nexus-5010"]
    note = str(fitted_note(fitted))
    assert note.startswith(f"{sum(map(len, fitted.values()))} figures of the hardware profiles")
    assert "no independent evidence" in note
    assert fitted_note({}) is None


def test_the_command_repeats_what_was_asked_for(tmp_path: Path) -> None:
    mine = tmp_path / "my studies" / "mine.yaml"
    mine.parent.mkdir()
    mine.write_text(study_text("factors:\n  servers: [1, 2, 4]\n", servers='"${servers}"'))
    folder = results(tmp_path, mine, only=["servers=1,2"], overrides={"replicates": "2"})
    assert appendix(folder, folder.plan(), folder.plan().runs, {}, INCAST.metrics).commands[0] == (
        f"netstudy run '{mine}' --testbed=sim --seed=1 --only=servers=1,2 --set=replicates=2"
    )


def test_the_command_asks_for_the_short_form_that_was_asked_for(tmp_path: Path) -> None:
    folder = results(tmp_path, quick=True)
    assert appendix(folder, folder.plan(), folder.plan().runs, {}, INCAST.metrics).commands[0] == (
        f"netstudy run {folder.invocation().study} --testbed=sim --seed=1 --quick"
        " '--only=configuration=4 MB'"
    )


def test_hashes_are_of_the_files_as_they_are(incast: Folder, added: Appendix) -> None:
    found = rows(added.hashes)
    for name in ("study.yaml", "plan.jsonl"):
        assert found[name] == [hashlib.sha256((incast.path / name).read_bytes()).hexdigest()]


def test_versions_seed_and_machine_are_told(added: Appendix) -> None:
    found = rows(added.environment)
    assert found["testbed"] == ["sim"]
    assert found["seed"] == ["1"]
    assert found["overrides"] == ["workload.incast.iterations=120; replicates=5"]
    assert found["cores"]
    assert "memory_bytes" not in found


def test_every_metric_has_its_formula(added: Appendix) -> None:
    assert [str(row[0]) for row in added.metrics.rows] == [m.name for m in INCAST.metrics]
