"""`make bench` tells that the engine's profile is of older sources."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools.bench.__main__ import commits_since_profile


def commit(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    for arguments in (["add", "."], ["commit", "-qm", name]):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=root, check=True)


def test_commits_to_the_packet_path_since_the_profile_are_counted(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    commit(tmp_path, "crates/sim/src/lib.rs", "a")
    commit(tmp_path, "crates/engine/profile/engine.profdata", "counts")
    commit(tmp_path, "python/netstudy/wire.py", "b")
    assert commits_since_profile(tmp_path) == 0
    commit(tmp_path, "crates/tcp/src/lib.rs", "c")
    commit(tmp_path, "crates/sim/src/lib.rs", "d")
    assert commits_since_profile(tmp_path) == 2
