"""Causes at work in the simulator, and what `validate` warns of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.prose.explain import chain
from netstudy.store import Results
from tests.cli.conftest import Netstudy
from tests.report.caveats import caveat_sentences

pytestmark = pytest.mark.usefixtures("here", "engine")

STUDY = """\
study: small
question: What is the cause?
factors:
  {factor}
topology:
  switch: {{profile: generic-shallow, {switch}}}
  client: {{profile: host-10g{client}}}
  server: {{profile: host-10g, count: {servers}{server}}}
  link: {{rate: 10 Gbit/s, delay: 5 us, mtu: 1500}}
workload:
  incast: {{block: {block}, iterations: {iterations}, warmup: 2, jitter: {{exponential: 50 us}}}}
replicates: 5
"""


def carried_out(netstudy: Netstudy, text: str) -> StudyResult:
    Path("study.yaml").write_text(text)
    outcome = netstudy("run", "study.yaml")
    assert outcome.code == 0, outcome.err
    return analyse(Results(Path("results")).folders()[0])


def why(result: StudyResult) -> str:
    (case,) = result.cases
    (panel,) = case.panels
    return " ".join(map(str, chain(panel))).replace("\u00a0", " ")


def caveats(result: StudyResult) -> str:
    return " ".join(map(str, caveat_sentences(result))).replace("\u00a0", " ")


def test_dctcp_loses_less_by_marks_over_a_shallow_buffer(netstudy: Netstudy) -> None:
    control = ', tcp: {congestion_control: "${control}"}'
    text = STUDY.format(
        factor="control: [reno, dctcp]",
        switch="port_buffer: 128 kB, ecn_threshold: 60 kB",
        client=control,
        server=control,
        servers=8,
        block="256 kB",
        iterations=30,
    )
    result = carried_out(netstudy, text + "compare: {factor: control, base: reno}\n")
    reno, dctcp = result.cases[0].panels[0].causes.signals
    assert reno.marks == 0
    assert dctcp.marks
    assert (dctcp.switch_drops or 0) < (reno.switch_drops or 0)
    assert "Of all frames, switches marked 0 % and dropped" in why(result)


def test_pause_leaves_fewer_drops(netstudy: Netstudy) -> None:
    text = STUDY.format(
        factor='pause: [{name: "off", high: 100 MB}, {name: "on", high: 20 kB}]',
        switch='port_buffer: 512 kB, pause_high: "${pause.high}", honours_pause: true',
        client="",
        server=", nic: {honours_pause: true}",
        servers=16,
        block="64 kB",
        iterations=20,
    )
    result = carried_out(netstudy, text + 'compare: {factor: pause, base: "off"}\n')
    off, on = result.cases[0].panels[0].causes.signals
    assert (off.pauses, bool(on.pauses)) == (0, True)
    assert (on.switch_drops or 0) < (off.switch_drops or 0)
    assert "PAUSE frames and dropped packets a run: 0 and" in why(result)


def test_a_small_ring_and_not_the_switch_drops_the_packets(netstudy: Netstudy) -> None:
    text = STUDY.format(
        factor="ring: [64, 4096]",
        switch="port_buffer: 2 MB",
        client=', nic: {receive_ring: "${ring}", receive_per_frame: 1500 ns}',
        server="",
        servers=8,
        block="64 kB",
        iterations=30,
    )
    result = carried_out(netstudy, text + "compare: {factor: ring, base: 4096}\n")
    small, large = result.cases[0].panels[0].causes.signals
    assert (small.ring_share_pct, large.ring_drops) == (100, 0)
    assert "with ring 64 (100.0 % of all lost packets)" in why(result)


def test_a_tail_loss_probe_explains_a_wait_of_one_minimum_rto(netstudy: Netstudy) -> None:
    text = STUDY.format(
        factor="servers: [2]",
        switch="port_buffer: 512 kB",
        client="",
        server="",
        servers='"${servers}"',
        block="1 MB",
        iterations=100,
    )
    result = carried_out(netstudy, text)
    (found,) = result.cases[0].panels[0].causes.long_waits
    assert found.p99_ms == pytest.approx(found.min_rto_ms, rel=0.1)
    assert found.waiting == found.retransmitting
    assert "a tail loss probe waits that long when one segment is outstanding" in why(result)
    assert "minimum RTO" not in caveats(result)


@pytest.fixture
def untestable(here: Path) -> Path:
    """DCTCP and no switch that marks."""
    dctcp = ", tcp: {congestion_control: dctcp}"
    path = here / "study.yaml"
    path.write_text(
        STUDY.format(
            factor="servers: [2, 4]",
            switch="port_buffer: 512 kB",
            client=dctcp,
            server=dctcp,
            servers='"${servers}"',
            block="20 kB",
            iterations=5,
        )
    )
    return path


def test_validate_warns_of_what_a_study_cannot_test_and_finds_it_correct(
    untestable: Path, netstudy: Netstudy
) -> None:
    outcome = netstudy("validate", untestable)
    assert outcome.code == 0
    assert (
        "  warning: DCTCP on server cannot be tested: no switch on the path marks." in outcome.out
    )
    (found,) = json.loads(netstudy("validate", untestable, "--json").out)
    assert found["ok"]
    assert len(found["warnings"]) == 1


def test_the_report_of_such_a_study_says_so_too(untestable: Path, netstudy: Netstudy) -> None:
    result = carried_out(netstudy, untestable.read_text())
    assert "DCTCP on server cannot be tested" in caveats(result)
