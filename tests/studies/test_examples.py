"""The example studies, carried out: each ends with an answer to its question."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "studies" / "examples"
NETSTUDY = Path(sys.executable).parent / "netstudy"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("congestion-control", ["dctcp takes ", " less time than cubic", " less time than reno"]),
        ("minimum-rto", ["With buffer 2 MB, min_rto makes no difference."]),
        ("mtu", ["mtu 1500 overtakes mtu 9000 at 12 servers."]),
    ],
)
def test_an_example_answers_its_question(name: str, said: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [NETSTUDY, "run", EXAMPLES / name, "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = " ".join(json.loads(done.stdout)["answer"]).replace("\u00a0", " ")
    assert all(part in answer for part in said), answer
