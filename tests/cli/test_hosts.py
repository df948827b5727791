"""Inventories of hosts on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netstudy.store import Invocation
from netstudy.store.invocation import InventoryCopy
from tests.cli.conftest import Netstudy

INVENTORY = """\
hosts:
  alpha: {ssh: alpha, address: 192.0.2.1}
  beta: {ssh: beta, address: 192.0.2.2}
  gamma: {ssh: gamma, address: 192.0.2.3}
roles: {client: alpha, server: [beta, gamma]}
"""


@pytest.fixture
def inventory(here: Path) -> Path:
    path = here / "hosts.yaml"
    path.write_text(INVENTORY)
    return path


def test_validate_knows_an_inventory_by_its_content(
    study: Path, inventory: Path, netstudy: Netstudy
) -> None:
    outcome = netstudy("validate", "study.yaml", "hosts.yaml")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == "hosts.yaml: ok"
    inventory.write_text(INVENTORY.replace("192.0.2.2", "192.0.2"))
    outcome = netstudy("validate", "hosts.yaml", "--json")
    assert outcome.code == 2
    (found,) = json.loads(outcome.out)
    assert found["errors"][0].startswith("hosts.yaml:3:30: hosts.beta.address: must be an IPv4")


def test_a_plan_for_hosts_takes_the_variant_for_hosts(here: Path, netstudy: Netstudy) -> None:
    assert netstudy("init", "mine", "--like", "hosts").code == 0
    planned = netstudy("plan", "mine", "--testbed", "mine/hosts.yaml")
    assert planned.code == 0, planned.err
    assert "measure 10 s" in planned.out
    assert "measure 3 s" in netstudy("plan", "mine").out


def test_a_plan_notes_the_hosts_that_are_missing(
    study: Path, inventory: Path, netstudy: Netstudy
) -> None:
    planned = netstudy("plan", "study.yaml", "--testbed", "hosts.yaml")
    assert "Level 6 of `servers` needs 6 hosts of group server; hosts.yaml has 2" in planned.out
    outcome = netstudy("run", "study.yaml", "--testbed", "hosts.yaml")
    assert outcome.code == 2
    assert "needs 6 hosts" in outcome.err
    assert not (study.parent / "results").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("hosts", "name the file that lists your hosts, such as --testbed hosts.yaml"),
        ("absent.yaml", "absent.yaml: no such file"),
        ("study.yaml", "study.yaml:"),
    ],
)
def test_a_testbed_of_hosts_needs_an_inventory(
    study: Path, netstudy: Netstudy, given: str, told: str
) -> None:
    outcome = netstudy("plan", "study.yaml", "--testbed", given)
    assert outcome.code == 2
    assert told in outcome.err


def test_an_invocation_keeps_the_inventory_as_it_was() -> None:
    copy = InventoryCopy(path="hosts.yaml", text=INVENTORY)
    kept = Invocation(study="small", testbed="hosts", seed=7, inventory=copy)
    assert Invocation.model_validate_json(kept.model_dump_json()) == kept
    assert kept.testbed_option == "hosts.yaml"
    assert Invocation(study="small", testbed="sim", seed=7).testbed_option == "sim"


def test_doctor_checks_a_study_only_on_hosts(study: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("doctor", "study.yaml")
    assert outcome.code == 2
    assert "add --testbed hosts.yaml" in outcome.err
    outcome = netstudy("doctor", "--testbed", "netns")
    assert outcome.code == 2
    assert "netns has no hosts; name an inventory such as hosts.yaml" in outcome.err


def test_a_probe_needs_two_hosts(inventory: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("doctor", "--probe")
    assert outcome.code == 2
    assert "trial traffic flows between hosts: add --testbed hosts.yaml" in outcome.err
    inventory.write_text("hosts: {alpha: {ssh: alpha, address: 192.0.2.1}}")
    outcome = netstudy("doctor", "--probe", "--testbed", "hosts.yaml")
    assert outcome.code == 2
    assert "no two hosts of hosts.yaml are joined" in outcome.err


def test_doctor_names_what_the_inventory_lacks_without_logging_in(
    study: Path, inventory: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(study.parent))  # no ssh
    outcome = netstudy("doctor", "study.yaml", "--testbed", "hosts.yaml", "--json")
    assert outcome.code == 2
    (found,) = json.loads(outcome.out)
    assert found["name"] == "study"
    assert "needs 6 hosts of group server; hosts.yaml has 2" in found["found"]


def test_a_dry_run_prints_every_command_by_host(
    study: Path, inventory: Path, netstudy: Netstudy
) -> None:
    options = ("--testbed", "hosts.yaml", "--only", "servers=1")
    outcome = netstudy("run", "study.yaml", *options, "--dry-run")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    at = [lines.index(f"{name}:") for name in ("alpha", "beta")]
    assert "gamma:" not in lines
    commands = lines[at[0] + 1 : at[1]]
    assert [line.split(":")[0].strip() for line in commands] == [
        "log in",
        "look at the host",
        "copy the engine, if it is not there",
        "carry the runs",
    ]
    assert "ssh -M -N -S SOCKETS/alpha -o BatchMode=yes" in commands[0]
    assert "host --nonce NONCE --lease-ms 5000" in commands[3]


class TestClean:
    def test_a_dry_run_prints_the_command_of_each_host(
        self, inventory: Path, netstudy: Netstudy
    ) -> None:
        outcome = netstudy("clean", "--testbed", "hosts.yaml", "--dry-run")
        assert outcome.code == 0
        lines = outcome.out.splitlines()
        assert [line.split(":")[0] for line in lines] == ["alpha", "beta", "gamma"]
        assert "rm -f" in lines[0]

    def test_hosts_and_results_are_not_cleaned_together(
        self, inventory: Path, netstudy: Netstudy
    ) -> None:
        outcome = netstudy("clean", "small", "--testbed", "hosts.yaml")
        assert outcome.code == 2
        assert "give one" in outcome.err

    def test_without_a_terminal_nothing_is_removed(
        self, inventory: Path, netstudy: Netstudy
    ) -> None:
        outcome = netstudy("clean", "--testbed", "hosts.yaml")
        assert outcome.code == 2
        assert "nothing was removed" in outcome.err
