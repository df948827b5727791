"""What processes wrote is kept whatever they wrote: it is there to show what went wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from netstudy.testbed.real.captures import keep, set_aside


def test_lines_are_kept_as_they_are_and_what_is_no_record_as_text(tmp_path: Path) -> None:
    ready = b'{"kind":"ready","ratio":1.50}\n'
    path = tmp_path / "captures" / "run.jsonl.gz"
    keep(path, {"client": [ready, b'{"kind":"it'], "switch": [b"\xff\n"]})
    text = gzip.decompress(path.read_bytes()).decode()
    assert ready.decode().strip() in text
    assert [json.loads(line) for line in text.splitlines()] == [
        {"node": "client", "record": {"kind": "ready", "ratio": 1.5}},
        {"node": "client", "record": '{"kind":"it'},
        {"node": "switch", "record": "\\xff"},
    ]


def test_files_of_an_earlier_attempt_are_set_aside_together(tmp_path: Path) -> None:
    for attempt in ("1", "2"):
        for suffix in (".jsonl.gz", ".app.sar", ".db.sar"):
            (tmp_path / f"run{suffix}").write_text(attempt)
        set_aside(tmp_path / "run.jsonl.gz", "disturbed")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        f"run.disturbed-{attempt}{suffix}": attempt
        for attempt in ("1", "2")
        for suffix in (".jsonl.gz", ".app.sar", ".db.sar")
    }
