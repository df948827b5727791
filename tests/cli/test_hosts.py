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
