"""A probe beside users in the simulator: what the network adds, without the pages."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from netstudy.cli import invoke

pytestmark = pytest.mark.engine

STUDY = """\
study: shop
question: What do others wait for while users shop?
factors: {link: [100 Mbit/s, 1 Gbit/s]}
topology:
  hosts:
    load: {profile: host-1g}
    app: {profile: host-1g, cpus: 4}
  links:
    - {between: [load, app], rate: "${link}"}
workload:
  transactions:
    application: brokerage
    closed: {users: 20}
    costs: {app_cpu: 1 ms, response: 100 kB, database_calls: 0}
  probe: 10 ms
procedure: {idle: 200 ms, warmup: 200 ms, measure: 2 s}
tables:
  - rows: link
    columns: [response_ms_mean, probe_idle_us_p50, probe_loaded_us_p50, probe_unanswered_pct]
"""


def test_a_probe_waits_idle_for_nothing_and_loaded_for_the_link_that_users_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    assert invoke(["run", "study.yaml", "--testbed", "sim"]) == 0
    capsys.readouterr()
    assert invoke(["export", "shop", "--csv"]) == 0
    lines = csv.DictReader(io.StringIO(capsys.readouterr().out))
    slow, fast = ({name: _number(text) for name, text in line.items()} for line in lines)
    assert slow["probe_idle_us_p50"] == pytest.approx(fast["probe_idle_us_p50"], abs=50)
    assert fast["probe_unanswered_pct"] < 5
    # Responses of 100 kB: 8 ms each at 100 Mbit/s, and most users wait for theirs.
    assert slow["probe_loaded_us_p50"] > 8_000
    assert slow["probe_loaded_us_p50"] < 1_000 * slow["response_ms_mean"]
    assert fast["probe_loaded_us_p50"] < slow["probe_loaded_us_p50"] / 4


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
