"""The example studies, carried out: each ends with an answer to its question."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netstudy.errors import TestbedError
from tests.skips import in_namespaces

EXAMPLES = Path(__file__).parents[2] / "studies" / "examples"
NETSTUDY = Path(sys.executable).parent / "netstudy"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "congestion-control",
            [
                "Against cubic, completion time with dctcp is shorter at 8 to 32 servers",
                "With dctcp, completion time is 4.8 % shorter",
            ],
        ),
        (
            "minimum-rto",
            [
                "With buffer 2 MB, min_rto makes no difference",
                "8 servers",
            ],
        ),
        (
            "mtu",
            ["shorter with mtu 9000 than with mtu 1500 at 1 server, longer at 12 and 16 servers"],
        ),
        (
            "web-application",
            [
                "(link 10 Mbit/s) is the link from app to client",
                "are more with link 100 Mbit/s than with link 10 Mbit/s throughout",
            ],
        ),
    ],
)
def test_an_example_answers_its_question(name: str, said: list[str], tmp_path: Path) -> None:
    answer = call(tmp_path, "run", EXAMPLES / name, "--json")["answer"]
    text = " ".join((*answer["sentences"], *answer["further"])).replace("\u00a0", " ")
    assert all(part in text for part in said), text


@in_namespaces
def test_the_study_to_start_from_with_this_kernel_decides(tmp_path: Path) -> None:
    call(tmp_path, "init", "mine", "--like", "real", "--json")
    told = call(tmp_path, "run", "mine", "--testbed", "netns", "--json", repeats=2)
    (expected,) = told["expectations"]
    assert expected["outcome"] in ("confirmed", "refuted"), told["answer"]


def call(folder: Path, *command: str | Path, repeats: int = 0) -> Any:
    """Calls netstudy and returns the JSON that it prints. If the machine disturbed some runs,
    resumes the command, at most `repeats` times."""
    done = subprocess.run(
        [NETSTUDY, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    if repeats and done.returncode == TestbedError.exit_code and "disturbed" in done.stderr:
        begun = json.loads(done.stdout)["folder"]
        return call(folder, "run", begun, "--resume", "--json", repeats=repeats - 1)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
