"""Many users behind a slow link: the mean response time is users ÷ throughput, whoever starves."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.starving import starving
from netstudy.analysis.study_result import analyse
from netstudy.analysis.workloads.transactions import ETR, RESPONSE
from netstudy.cli import invoke
from netstudy.store import Results

STUDY = """\
study: crowd
question: How long do users wait for a page?
factors: {users: [10, 600]}
topology:
  hosts:
    client: {profile: host-1g}
    app: {profile: host-1g, tcp: {limit_output: 0 B}} # drops frames that find its queue full
  links:
    - {between: [client, app], rate: {up: 1 Gbit/s, down: 10 Mbit/s}, delay: 5 ms}
workload:
  transactions:
    application: {start: [server], url: "http://app:8080/"}
    mix: {page: {share: 100 %, get: /}}
    closed: {users: "${users}"}
    model: brokerage
    costs: {app_cpu: 0.1 ms, response: 15 kB, database_calls: 0}
procedure: {warmup: 5 s, measure: 15 s}
replicates: 2
"""


def test_the_mean_response_time_of_many_users_is_users_by_throughput(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    assert invoke(["run", str(study), f"--results={tmp_path}", "--testbed=sim"]) == 0
    latest = tmp_path / "crowd/latest"
    cells = analyse(Results(latest).resolve(str(latest), done=True)).cells
    few, many = cells.rows
    # 11 segments carry the 15 kB: 1448 bytes of payload in 1538 on the wire.
    pages_per_s = 10e6 / 8 / (15_000 * 1538 / 1448)
    for row, users in ((few, 10), (many, 600)):
        assert row.value(ETR) == pytest.approx(pages_per_s, rel=0.05)
        assert row.value(RESPONSE) == pytest.approx(1e3 * users / pages_per_s, rel=0.05)
    (found,) = starving(cells)
    assert found.row is many
    assert found.starved is not None
    assert 0 < found.starved.number < found.starved.of == 1200
    assert found.answered is not None
    assert found.answered < 0.9 * (many.value(RESPONSE) or 0.0)
