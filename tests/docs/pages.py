"""The project's pages, read as what they promise: commands, examples, links."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_OURS = {".git", ".venv", ".cache", "target", "results"}

_FENCE = re.compile(r"^(?P<tick>`{3,})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=tick)$", re.M | re.S)


@dataclass(frozen=True)
class Fence:
    """A fenced block: `language` and `options` stand after its opening ticks."""

    page: Path
    line: int
    language: str
    options: tuple[str, ...]
    text: str

    @property
    def where(self) -> str:
        """`page:line`, as a test's message names it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A line after `$ ` and what the page shows below it."""

    where: str
    text: str
    shown: tuple[str, ...]
    exit_code: int

    @property
    def program(self) -> str:
        """The first word."""
        return self.text.split()[0]


def tracked_files() -> list[Path]:
    """Every file of the repository; in an unpacked archive, all that was not made or fetched."""
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "-co", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        found = list(_walk())
    return sorted(path for path in found if path.is_file())


def _walk() -> Iterator[Path]:
    for folder, names, files in os.walk(ROOT):
        names[:] = [name for name in names if name not in NOT_OURS and not name.endswith("_cache")]
        yield from (Path(folder) / name for name in files)


def pages() -> list[Path]:
    """Every Markdown page of the repository, but the kept pages of reports, whose figures are not
    kept."""
    kept = ROOT / "tests/report/golden"
    return [path for path in tracked_files() if path.suffix == ".md" and path.parent != kept]


def fences(page: Path) -> list[Fence]:
    """The fenced blocks of a page, in order."""
    text = page.read_text()
    return [_fence(page, text, match) for match in _FENCE.finditer(text)]


def _fence(page: Path, text: str, match: re.Match[str]) -> Fence:
    language, *options = match["info"].split() or [""]
    line = text.count("\n", 0, match.start()) + 1
    return Fence(page, line, language, tuple(options), match["text"])


def commands(fence: Fence) -> list[Command]:
    """The commands of a console block; `exit=2` among its options is for the last of them."""
    lines = fence.text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    ends = [*starts[1:], len(lines)]
    last = next((int(o.removeprefix("exit=")) for o in fence.options if o.startswith("exit=")), 0)
    return [
        Command(
            where=f"{fence.page.relative_to(ROOT)}:{fence.line + 1 + start}",
            text=lines[start].removeprefix("$ "),
            shown=tuple(lines[start + 1 : end]),
            exit_code=last if start == starts[-1] else 0,
        )
        for start, end in zip(starts, ends, strict=True)
    ]


def prose(page: Path) -> str:
    """The page without its fenced blocks, line numbers kept."""
    return _FENCE.sub(lambda match: "\n" * match[0].count("\n"), page.read_text())
