"""Finds phrases that readers stumble over: in pages, docstrings, comments, messages and help texts.

usage: python -m tools.words [--count | --at-most N] [PATH]...

Prints each hit below the paths, or in the whole repository; the exit code is 1 if there is a hit
or, with `--at-most N`, if there are more than N. `--count` prints the number of hits of each phrase
instead. A sentence is hard to read if its subject is a clause without a noun ("what stands there"),
or if it describes a common thing by a phrase that only this project uses ("is told of"). The
report's sentences are checked where they are written, in `report`. The pages that hold them are
left out: its templates, and the text between the markers of a study's README.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netstudy.report import readme

ROOT: Final = Path(__file__).parents[1]
_ASKS: Final = (
    "says?|said|saying|tells?|telling|shows?|showing|knows?|known|knowing|asks?|asked|asking|sees?|"
    "seen|decides?|decided|names?|named|explains?|finds?|found|and|or|of|on|about|by|to|from|into"
)
"""Words that begin an indirect question, after which `what` is normal English."""
PHRASES: Final = {
    "headless what": re.compile(r"(?<!\w)(?<!\bso )(?i:what)(?! if\b)(?=\s+\w)(?![^.!?:]*\?)"),
    "those that": re.compile(r"\b[Tt]hose\s+(?:that|of|which|who|in|with)\b"),
    "beside": re.compile(r"\b[Bb]esides?\b"),
    "carry out": re.compile(r"\b[Cc]arr(?:y|ies|ied|ying)\s+(?:\w+\s+){0,3}?out\b"),
    "stands": re.compile(
        r"\b[Ss]t(?:ands?|ood|anding)\s+(?:in|beside|below|above|at|there|alone|on)\b"
    ),
    "told of": re.compile(r"\btold(?:\s+(?:of|by|apart|so|in))\b"),
    "alone": re.compile(r"\balone\b"),
}
_INDIRECT: Final = re.compile(rf"\b(?:{_ASKS})\s+$", re.IGNORECASE)
ALLOWED: Final[dict[str, str]] = {
    "tools/words.py": "the phrases themselves",
    "docs/decisions": "records of their time",
}
"""Files that are not checked, and why."""
_LEFT_OUT: Final = (
    "tests/",
    "results/",
    "schema/",
    "target/",
)
_REFERENCE: Final = "docs/reference/"
"""Generated from docstrings, which are checked themselves."""


@dataclass(frozen=True)
class Hit:
    """A hit: a phrase in a text."""

    path: str
    line: int
    phrase: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.phrase}: {self.text}"


def hits(paths: Sequence[str] = (), root: Path = ROOT) -> Iterator[Hit]:
    """All hits in the files under version control, or only in the given paths."""
    for name in _files(root, paths):
        for line, text in _texts(root / name):
            yield from _hits(name, line, text)


def _files(root: Path, paths: Sequence[str]) -> list[str]:
    command = ["git", "ls-files", "-z", "--", *paths]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    left_out = (*_LEFT_OUT, *ALLOWED, _REFERENCE)
    return [
        name
        for name in listed.stdout.split("\0")
        if name.endswith((".md", ".py", ".rs")) and not name.startswith(left_out)
    ]


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in a file that people read, each with the number of its first line."""
    text = path.read_text()
    match path.suffix:
        case ".md":
            yield from _paragraphs(text)
        case ".rs":
            yield from _rust_comments(text)
        case _:
            yield from _python_texts(text)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    is_code = is_report = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif line.startswith(readme.BEGIN) or line.startswith(readme.END):
            is_report = line.startswith(readme.BEGIN)
        elif not (is_code or is_report):
            yield number, re.sub(r"`[^`]*`", "``", line)


def _rust_comments(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.search(r"//[/!]?(.*)", line):
            yield number, found[1]


def _python_texts(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line


def _hits(name: str, line: int, text: str) -> Iterator[Hit]:
    for phrase, pattern in PHRASES.items():
        for found in pattern.finditer(text):
            is_question = phrase == "headless what" and _INDIRECT.search(text[: found.start()])
            if not is_question:
                yield Hit(name, line, phrase, text.strip())


def main(arguments: list[str]) -> int:
    """Print the hits or their numbers; returns 1 if there are more hits than allowed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--at-most", type=int, default=0, metavar="N")
    parser.add_argument("paths", nargs="*")
    asked = parser.parse_args(arguments)
    found = list(hits(asked.paths))
    is_fault = len(found) > asked.at_most
    if asked.count:
        for phrase, count in Counter(hit.phrase for hit in found).most_common():
            print(f"{count:5} {phrase}")
    elif is_fault:
        print(*found, sep="\n")
    return 1 if is_fault else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
