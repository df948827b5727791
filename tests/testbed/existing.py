"""A server of PostgreSQL that is there before any run: a cluster in a folder, on a Unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from netstudy import wire
from netstudy.testbed.netns.database import server_programs
from netstudy.testbed.netns.namespaces import program
from netstudy.testbed.netns.users import NOBODY

PORT = 5433
"""Another one than that of a run's own server."""
_OWNER = "owner"


@dataclass(frozen=True)
class Server:
    """The server, with a database `trade` of a role `trade` that has a password."""

    folder: Path
    """Where its socket is."""

    def database(self, password: wire.PasswordSource | None) -> wire.ExistingDatabase:
        """As a plan names it."""
        return wire.ExistingDatabase(
            host=str(self.folder), port=PORT, user="trade", database="trade", password=password
        )

    def psql(self, statement: str, database: str = "trade") -> str:
        """What the server's owner is answered."""
        where = [f"--host={self.folder}", f"--port={PORT}", f"--dbname={database}"]
        return _said("psql", *where, f"--username={_OWNER}", "-qAtXc", statement)


@contextmanager
def server(password: str, parent: str | None = None) -> Iterator[Server]:
    """Start it in a new folder below `parent`; it is removed in the end."""
    folder = Path(tempfile.mkdtemp(prefix="netstudy-test-", dir=parent))
    folder.chmod(0o755)
    if os.geteuid() == 0:
        shutil.chown(folder, NOBODY, NOBODY)
    data = folder / "data"
    try:
        _said("initdb", f"--pgdata={data}", f"--username={_OWNER}", "--auth=trust", "--no-sync")
        admission = (data / "pg_hba.conf").read_text()
        asks = f"local trade trade scram-sha-256\n{admission}"
        (data / "pg_hba.conf").write_text(asks)
        options = f"-k {folder} -p {PORT} -c listen_addresses='' -c fsync=off"
        _said("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
        started = Server(folder)
        started.psql(f"CREATE ROLE trade LOGIN PASSWORD '{password}'", "postgres")
        started.psql("CREATE DATABASE trade OWNER trade", "postgres")
        yield started
    finally:
        if (data / "postmaster.pid").exists():
            _said("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)


def _said(name: str, *arguments: str) -> str:
    """What a program of the server's says; the server refuses to be root's."""
    programs = server_programs()
    assert programs is not None, "tests that need it are skipped without"
    words = [str(programs / name), *arguments]
    if os.geteuid() == 0:
        ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        words = [program("setpriv"), *ids, "--", *words]
    with tempfile.TemporaryFile("w+") as said:  # a pipe would stay open with the server
        done = subprocess.run(words, stdout=said, stderr=subprocess.STDOUT, cwd="/", check=False)
        said.seek(0)
        text = said.read().strip()
    assert done.returncode == 0, text
    return text
