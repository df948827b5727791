"""A transfer between two agents under an emulator of system calls, in a sandbox; prints its record.

usage: python -m tests.testbed.emulated_run EMULATOR ENGINE

The switch, which does not belong to hosts, is this machine's own engine.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path

from netstudy import wire
from netstudy.testbed.engine import ENGINE_VARIABLE, find_engine
from netstudy.testbed.netns.sandbox import enter
from netstudy.testbed.real.assemble import run_record
from tests.testbed.carried_out import a_run, roles, times
from tests.testbed.golden_runs import carried_out
from tests.testbed.networks import LINUX_6, star

_WRAPPER = """\
#!/bin/sh
case $1 in
    agent) exec {emulator} {engine} "$@" ;;
    *) exec {own} "$@" ;;
esac
"""


def main() -> None:
    """Carry the transfer out."""
    emulator, engine = map(shlex.quote, sys.argv[1:])
    enter()
    with tempfile.TemporaryDirectory() as folder:
        wrapper = Path(folder, "netstudy-engine")
        own = shlex.quote(str(find_engine()))
        wrapper.write_text(_WRAPPER.format(emulator=emulator, engine=engine, own=own))
        wrapper.chmod(0o755)
        os.environ[ENGINE_VARIABLE] = str(wrapper)
        work = wire.Transfer(roles=roles("client", ("server",)), size_bytes=100_000)
        # QEMU takes every option of TCP for an integer: it passes on four bytes of the name.
        tcp = LINUX_6.model_copy(update={"congestion_control": "reno"})
        run = a_run(star(1, tcp, rate_bps=20_000_000, mtu_bytes=1500), work, times(1.0))
        print(wire.to_json(run_record(carried_out(run, {}), {})))


if __name__ == "__main__":
    main()
