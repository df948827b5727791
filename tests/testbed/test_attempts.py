"""A run that the machine disturbs is made again; one that is wrong for another reason is not."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import pytest

from netstudy import wire
from netstudy.testbed.real.captures import keep
from netstudy.testbed.real.place import PlaceGoneError
from netstudy.testbed.real.supervise import ATTEMPTS_MAX, LostRunError, undisturbed

LATE = wire.Check(law="the switch keeps to its times", holds=False, detail="9 of 100 frames late")
VANISHED = wire.Check(
    law="no frame vanishes between two interfaces of the machine", holds=False, detail="3 dropped"
)
WRONG = wire.Check(law="every byte that was asked for arrives once", holds=False, detail="1 B less")


def record(*checks: wire.Check, status: Literal["failed"] | None = None) -> wire.RunRecord:
    held = all(check.holds for check in checks)
    return wire.RunRecord(
        run="r",
        treatment={},
        replicate=1,
        seed="0" * 16,
        status=status or ("ok" if held else "invalid"),
        checks=checks,
    )


def attempts(records: Iterable[wire.RunRecord]) -> Callable[[], wire.RunRecord]:
    return iter(records).__next__


def made(attempt: Callable[[], wire.RunRecord], capture: Path | None) -> wire.RunRecord:
    async def attempted() -> wire.RunRecord:
        try:
            return attempt()
        except StopIteration:  # which a coroutine cannot raise
            raise InterruptedError from None

    return asyncio.run(undisturbed(attempted, capture))


def earlier(found: wire.RunRecord) -> tuple[float | None, str]:
    (limit,) = found.limits
    return limit.value, limit.evidence


def test_a_run_in_time_is_made_once() -> None:
    found = made(attempts([record()]), None)

    assert (found.status, earlier(found)) == ("ok", (0, ""))


def test_a_disturbed_run_is_made_again_and_says_so() -> None:
    found = made(attempts([record(LATE), record(LATE, VANISHED), record()]), None)

    assert found.status == "ok"
    assert earlier(found) == (2, "9 of 100 frames late | 9 of 100 frames late; 3 dropped")


def test_a_run_that_is_always_disturbed_stays_invalid() -> None:
    found = made(attempts(record(LATE) for _ in range(ATTEMPTS_MAX)), None)

    assert found.status == "invalid"
    assert earlier(found)[0] == ATTEMPTS_MAX - 1


@pytest.mark.parametrize("checks", [(WRONG,), (LATE, WRONG)])
def test_a_result_that_is_wrong_is_not_made_again(checks: tuple[wire.Check, ...]) -> None:
    found = made(attempts([record(*checks)]), None)

    assert (found.status, earlier(found)[0]) == ("invalid", 0)


def test_a_failed_run_is_not_made_again() -> None:
    failed = record(status="failed")

    assert made(attempts([failed]), None) == failed


def losing(*attempts: wire.RunRecord | Exception) -> Callable[[], wire.RunRecord]:
    """Attempts of which some raise an error."""
    left = iter(attempts)

    def attempt() -> wire.RunRecord:
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return attempt


LOST = LostRunError(record(status="failed"), "h2: has ended its session")


def test_a_run_that_loses_a_host_is_made_again_when_the_host_is_back() -> None:
    found = made(losing(LOST, record()), None)

    assert (found.status, earlier(found)) == ("ok", (1, "h2: has ended its session"))


def test_a_run_whose_host_does_not_come_back_has_failed() -> None:
    assert made(losing(LOST, PlaceGoneError("h2 is off")), None) == LOST.record


def test_a_run_that_loses_a_host_each_time_has_failed() -> None:
    assert made(losing(*[LOST] * ATTEMPTS_MAX), None) == LOST.record


def test_a_place_that_is_gone_before_the_first_attempt_ends_the_plan() -> None:
    with pytest.raises(PlaceGoneError):
        made(losing(PlaceGoneError("h2 is off")), None)


def captured(
    records: Iterable[wire.RunRecord], capture: Path, said: str
) -> Iterator[wire.RunRecord]:
    """Attempts that leave a capture each, which holds the attempt's number."""
    for number, made in enumerate(records, start=1):
        keep(capture, {"client": [f'"{said} {number}"\n'.encode()]})
        yield made


def kept(folder: Path) -> dict[str, str]:
    """What was captured, by the file's name."""
    return {
        path.name: gzip.decompress(path.read_bytes()).decode().split('"')[-2]
        for path in sorted(folder.iterdir())
    }


def test_every_attempt_keeps_its_own_capture(tmp_path: Path) -> None:
    capture = tmp_path / "r.jsonl.gz"
    made(attempts(captured([record(LATE), record(LATE), record()], capture, "try")), capture)

    assert kept(tmp_path) == {
        "r.disturbed-1.jsonl.gz": "try 1",
        "r.disturbed-2.jsonl.gz": "try 2",
        "r.jsonl.gz": "try 3",
    }


def test_what_was_captured_before_an_interruption_is_not_overwritten(tmp_path: Path) -> None:
    capture = tmp_path / "r.jsonl.gz"
    broken_off = attempts(captured([record(LATE)], capture, "before"))
    with pytest.raises(InterruptedError):
        made(broken_off, capture)
    made(attempts(captured([record(LATE), record()], capture, "after")), capture)

    assert kept(tmp_path) == {
        "r.disturbed-1.jsonl.gz": "before 1",
        "r.disturbed-2.jsonl.gz": "after 1",
        "r.jsonl.gz": "after 2",
    }


def test_a_run_in_time_has_one_capture(tmp_path: Path) -> None:
    capture = tmp_path / "r.jsonl.gz"
    made(attempts(captured([record()], capture, "try")), capture)

    assert kept(tmp_path) == {"r.jsonl.gz": "try 1"}
