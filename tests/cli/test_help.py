"""Help is there at once, and shows an example of every verb."""

from __future__ import annotations

import json
import subprocess
import sys

from netstudy.cli import app

VERBS = [str(command.name) for command in app.registered_commands]
HEAVY = {"altair", "jinja2", "numpy", "ruamel", "scipy", "vl_convert"}
"""Packages that take long to load. typer loads pydantic itself; what matters there is that our own
models are not built, and so no module of ours but the command line's may be loaded."""

ASK_ALL = """
import contextlib, io, json, sys
from netstudy.cli import invoke
told = {}
for verb in ["", *sys.argv[1:]]:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = invoke([*verb.split(), "--help"])
    told[verb] = [code, printed.getvalue()]
print(json.dumps([told, sorted(sys.modules)]))
"""


def test_every_help_shows_an_example_and_loads_nothing_heavy() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", ASK_ALL, *VERBS], capture_output=True, text=True, check=True
    )
    told, modules = json.loads(answer.stdout)
    assert {
        verb for verb, (code, text) in told.items() if code or "Example: netstudy" not in text
    } == set()
    assert HEAVY & {name.partition(".")[0] for name in modules} == set()
    ours = {name for name in modules if name.startswith("netstudy.")}
    light = {"netstudy.characters", "netstudy.errors", "netstudy.version"}
    assert {name for name in ours if not name.startswith("netstudy.cli")} == light


def test_the_verbs() -> None:
    first_to_last = (
        "init import validate plan run collect status ls show report compare diagnose calibrate "
    )
    first_to_last += "export profiles doctor clean"
    assert first_to_last.split() == VERBS
