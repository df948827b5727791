"""`netstudy diagnose`: a link that is the limit, found and confirmed in the simulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netstudy.store import Results
from tests.cli.conftest import SMALL_STUDY, Netstudy

pytestmark = pytest.mark.usefixtures("engine")

LINKED = """\
study: linked
question: What limits the downloads?
factors: {clients: [1, 2]}
topology:
  hosts:
    server: {profile: host-10g}
    client: {profile: host-10g, count: "${clients}"}
  switch: generic-deep
  links:
    - {between: [server, switch], rate: 100 Mbit/s}
    - {between: [client, switch], rate: 1 Gbit/s}
workload: {transfer: {direction: get}}
procedure: {warmup: 300 ms, measure: 500 ms}
replicates: 2
noise: 3 %
"""


@pytest.fixture
def linked(here: Path, netstudy: Netstudy) -> Path:
    """The results of a study whose limit is the server's link."""
    path = here / "study.yaml"
    path.write_text(LINKED)
    assert netstudy("run", path, "-q").code == 0
    return Results(Path("results")).folders()[0].path


def test_the_limit_of_each_cell(linked: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("diagnose", linked, "--json", "--fail-on", "undecided")
    assert outcome.code == 0
    found = json.loads(outcome.out)
    assert list(found)[2:] == ["bottleneck", "ruled_out", "cannot_tell", "confirm_by"]
    limits = [(one["kind"], one["node"], one["at"]) for one in found["bottleneck"]]
    assert limits == [("link", "server", {"clients": number}) for number in (1, 2)]
    assert found["cannot_tell"] == []
    assert found["confirm_by"]["set"] == {"topology.links.0.rate": "200 Mbit/s"}


def test_people_read_the_limit_and_the_run_that_would_confirm_it(
    linked: Path, netstudy: Netstudy
) -> None:
    outcome = netstudy("diagnose", "linked")
    assert outcome.code == 0
    assert "link from server to switch" in outcome.out
    assert "--set 'topology.links.0.rate=200 Mbit/s'" in " ".join(outcome.out.split())


def test_runs_of_their_own_confirm_the_limit(linked: Path, netstudy: Netstudy) -> None:
    outcome = netstudy("diagnose", linked, "--confirm", "--at", "clients=1", "--json", "-q")
    assert outcome.code == 0
    raised, other = json.loads(outcome.out)["confirmed"]
    assert [raised["verdict"], other["verdict"]] == ["confirmed", "confirmed"]
    assert raised["ratio"] == pytest.approx(2, rel=0.03)
    assert other["ratio"] == pytest.approx(1, rel=0.03)
    folders = Results(Path("results")).folders("linked-confirm")
    assert {str(one.path.resolve()) for one in folders} == {raised["folder"], other["folder"]}
    assert all(one.is_done() for one in folders)
    # The study's own results stay its newest ones.
    assert Results(Path("results")).folders("linked")[0].path == linked


def test_a_run_that_refutes_the_limit_ends_with_1(
    linked: Path, netstudy: Netstudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of which a raise is said to give ten times as much."""
    from netstudy.analysis import confirmation
    from netstudy.analysis.predictions import Laws, Prediction
    from netstudy.analysis.raising import Raise

    class Wrong(Laws):
        def of_limit(self, raised: Raise) -> Prediction:
            return Prediction(10 * super().of_limit(raised).at_least, None, self.noise)  # type: ignore[operator]

    monkeypatch.setattr(confirmation, "Laws", Wrong)
    outcome = netstudy("diagnose", linked, "--confirm", "-q")
    assert outcome.code == 1
    assert "Refuted" in outcome.out


def test_an_undecided_limit_ends_with_1_only_if_asked(study: Path, netstudy: Netstudy) -> None:
    """No resource is full, and an iteration divides its time between jitter, round trips and
    links."""
    study.write_text(SMALL_STUDY.replace("block: 100 kB", "block: 50 kB"))
    netstudy("run", study, "--quick", "-q")
    plain = netstudy("diagnose", "small", "--json")
    found = json.loads(plain.out)
    assert plain.code == 0
    assert found["cannot_tell"]
    assert all(one["what to measure"] for one in found["cannot_tell"])
    shares = [one["evidence"][0]["value"] for one in found["cannot_tell"]]
    assert all(20 < share < 50 for share in shares)
    assert netstudy("diagnose", "small", "--fail-on", "undecided").code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at", "clients=7"), "clients"),
        (("--at", "clients=1,2"), "one level"),
        (("--fail-on", "anything"), "undecided"),
        (("--confirm", "--max-time", "1s"), "--max-time"),
    ],
)
def test_bad_input(
    linked: Path, netstudy: Netstudy, options: tuple[str, ...], message: str
) -> None:
    outcome = netstudy("diagnose", linked, *options)
    assert outcome.code == 2
    assert message in outcome.err


def test_a_folder_without_results_is_refused(here: Path, netstudy: Netstudy) -> None:
    assert netstudy("diagnose").code == 2
    assert netstudy("diagnose", here).code == 2
