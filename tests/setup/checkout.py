"""A copy of what set-up reads, and a machine of stand-in programs that note how they are called.

The copy's Makefile and tools are the real ones. The machine's PATH holds the shell's own tools and
the stand-ins only, so a test takes away what it wants to see missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
READ = (
    "Makefile",
    "Cargo.toml",
    "Cargo.lock",
    "pyproject.toml",
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-portable.lock",
)
SHELL_TOOLS = """
awk cat chmod cp cut dirname expand find flock grep head id ln make mkdir mv nproc pwd rm sed sh
sha256sum sort tail tee touch wc
"""

STAND_INS = {
    "cc": 'echo "/usr/lib/crt1.o"',
    "cargo": """
case $1 in
    --version) echo "cargo 1.99.0" ;;
    build | zigbuild)
        folders=debug
        for word in "$@"; do case $word in *-linux-*) folders="$folders $word/release" ;; esac; done
        for folder in $folders; do
            mkdir -p "target/$folder" && echo engine >"target/$folder/netstudy-engine"
            chmod +x "target/$folder/netstudy-engine"
        done ;;
esac""",
    "python3": """
case "$*" in
    --version) echo "Python 3.13.1" ;;
    *"-m venv"*) mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    *"-m pip"*) [ ! -e broken-network ] || { echo "no route to host"; exit 1; } ;;
esac""",
    "rustc": """
case "$*" in
    -vV) printf 'host: x86_64-unknown-linux-gnu\\nLLVM version: 22.1.2\\n' ;;
    "--print sysroot") echo "$PWD/sysroot" ;;
esac""",
}


@dataclass(frozen=True)
class Machine:
    """A checkout and the programs that its user has."""

    checkout: Path
    programs: Path

    def make(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Call make in the checkout, with this machine's programs and no others."""
        return self.call("make", *arguments, **variables)

    def call(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Call a program or a tool in the checkout, with further variables in its environment."""
        return subprocess.run(
            command,
            cwd=self.checkout,
            env={"PATH": str(self.programs), "HOME": str(self.checkout.parent), **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def install(self, name: str, script: str) -> None:
        """Put a program on the machine; it notes each call in `calls`."""
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self._calls}"\n{script}\n')
        path.chmod(0o755)

    def remove(self, name: str) -> None:
        """Take a program away."""
        (self.programs / name).unlink()

    def calls(self) -> list[str]:
        """The calls of stand-ins since the last time this was asked."""
        lines = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return lines

    def files(self) -> set[str]:
        """Every file and folder of the checkout."""
        return {str(path.relative_to(self.checkout)) for path in self.checkout.rglob("*")}

    @property
    def _calls(self) -> Path:
        return self.programs / "calls"


def machine(folder: Path) -> Machine:
    """A machine that has everything, in an empty folder."""
    checkout, programs = folder / "check out", folder / "bin"
    checkout.mkdir()
    (checkout / "crates").mkdir()
    programs.mkdir()
    for name in READ:
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(
        ROOT / "tools", checkout / "tools", ignore=shutil.ignore_patterns("__pycache__")
    )
    made = Machine(checkout, programs)
    for tool in SHELL_TOOLS.split():
        found = shutil.which(tool)
        assert found is not None, f"{tool} is part of every Debian"
        (programs / tool).symlink_to(os.path.realpath(found))
    for name, script in STAND_INS.items():
        made.install(name, script)
    return made
