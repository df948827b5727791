"""Stored output of real runs becomes the record that it became when the run was carried out."""

from __future__ import annotations

import asyncio

import pytest

from netstudy import wire
from netstudy.testbed.real.assemble import run_record
from netstudy.testbed.real.conduct import carry_out
from netstudy.testbed.real.processes import NodeError, Transcript
from netstudy.testbed.real.setting import Setting
from tests.testbed.golden_runs import CASES, Golden
from tests.testbed.replay import Replay


@pytest.mark.parametrize("name", CASES)
def test_the_same_output_becomes_the_same_record_byte_for_byte(name: str) -> None:
    golden, transcript = Golden.stored(name), Transcript()
    evidence = asyncio.run(carry_out(Setting(golden.run, Replay.of(golden)), transcript))

    assert transcript == golden.transcript
    assert wire.to_json(run_record(evidence, {})) == golden.record


def test_a_run_whose_output_ends_too_early_fails() -> None:
    golden = Golden.stored("request")
    golden.transcript["client"][12:] = []

    with pytest.raises(NodeError, match="client: has no more lines"):
        asyncio.run(carry_out(Setting(golden.run, Replay.of(golden)), {}))
