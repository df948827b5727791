"""Runs of a study in a lab, started in the background so that a fault can hit them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.tools.lab import Lab

LEASE_S: Final = 5.0
HOSTS: Final = ("client", "server-1", "server-2")
STUDY: Final = """\
study: {name}
question: What do these hosts carry?
factors: {{servers: [2]}}
topology:
  client: {{profile: host-1g, tcp: {{profile: linux-6, congestion_control: reno}}}}
  server:
    profile: host-1g
    count: "${{servers}}"
    tcp: {{profile: linux-6, congestion_control: reno}}
  switch: generic-shallow
  link: {{rate: {rate}, mtu: 1500}}
workload:
  {workload}
{more}
replicates: {replicates}
testbeds: {{hosts: {{}}}}
"""
_SAMPLER = """\
import sys, time
last = 0
while True:
    lines = open("/proc/net/dev").read().splitlines()
    (words,) = (line.split() for line in lines if line.strip().startswith("eth0:"))
    sent = int(words[9])
    if sent - last > 200:  # frames without data are smaller
        print(time.monotonic(), flush=True)
    last = sent
    time.sleep(0.02)
"""
"""Prints the time, by the machine's clock, whenever eth0 has sent data."""
_PROCESSES = (
    r"engine-[0-9a-f]* host|exe agent|exe guard|^ssh -[MT] |netstudy.testbed.ssh|-m netstudy run"
)
_LEFT = f"ps ax -o args | grep -E -- '{_PROCESSES}' | grep -v grep"
STORED: Final = Path(__file__).parents[1] / "stored.py"
"""The program that prints the records of results folders."""
REACHED: Final = {
    "log-in": "pgrep -f '^ssh -M'",
    "preflight": "pgrep -f 'exe guard'",
    "set-up": "pgrep -f 'exe agent'",
    "warm-up": "[ $(sent) -gt 1000000 ]",
    "measure": "[ $(sent) -gt 20000000 ]",
    "between runs": "ls $HOME/results/*/latest/records/*.seg",
}
"""Moment of a study -> a command of the shell that succeeds once it is reached."""
_SENT = (
    "sent() { echo $(( $(nsenter --net=/run/netns/server-1 cat /proc/net/dev | "
    "awk '/eth0:/ {print $10}') - $(cat $HOME/mark) )); }"
)
"""A function of the shell: bytes that the first server has sent since `mark`."""


def study(
    name: str, workload: str, more: str = "", replicates: int = 1, rate: str = "100 Mbit/s"
) -> str:
    """The text of a study with a client and two servers."""
    return STUDY.format(name=name, workload=workload, more=more, replicates=replicates, rate=rate)


def causes(records: Iterable[Mapping[str, Any]]) -> str:
    """Why runs failed or were repeated."""
    found: list[str] = []
    for record in records:
        limits = (one for one in record.get("limits", ()) if "attempts" in one["name"])
        found += [record.get("error") or "", *(one["evidence"] for one in limits)]
    return "\n".join(filter(None, found))


@dataclass(frozen=True)
class LabRuns:
    """A lab, and the study that is under way there."""

    lab: Lab

    def prepare(self) -> None:
        """Start to sample the test interfaces."""
        lab = self.lab
        lab.run(f"cat >$HOME/sampler.py <<'END'\n{_SAMPLER}END")
        for host in HOSTS:
            lab.run(
                f"nsenter --net=/run/netns/{host} {lab.user.python} $HOME/sampler.py "
                f">>$HOME/sent-{host} & :"
            )

    def begin(self, study: str, options: str = "") -> None:
        """Start a study in the background."""
        run = f"-m netstudy run {study}.yaml --testbed $NETSTUDY_LAB/hosts.yaml {options}"
        self.lab.run(f"rm -rf $HOME/results; {_SENT}; echo 0 >$HOME/mark; sent >$HOME/mark.new")
        self.lab.run("mv $HOME/mark.new $HOME/mark")
        self._start(f"{run} --results $HOME/results")

    def resume(self) -> None:
        """Start to complete the study, in the background."""
        self._start("-m netstudy run $HOME/results/*/latest --resume")

    def _start(self, words: str) -> None:
        run = f"cd $HOME; {self.lab.user.python} {words}"
        self.lab.run(f"( {run}; echo code $? ) >$HOME/said 2>&1 & :")

    def wait_for(self, moment: str) -> None:
        """Wait until the study has come to a moment."""
        script = f"{_SENT}; until {REACHED[moment]} >/dev/null 2>&1; do sleep 0.05; done"
        assert self.lab.run(script).code == 0

    def hit(self, script: str) -> float:
        """Do something in the lab. Returns the time by which it was done."""
        done = self.lab.run(script)
        assert done.code == 0, done.output
        return time.monotonic()

    def end(self) -> tuple[int, str]:
        """Wait for the end of the study. Returns the exit code, and what the user reads."""
        self.lab.run("until grep -q '^code [0-9]*$' $HOME/said; do sleep 0.1; done")
        said = self.lab.run("cat $HOME/said").output
        return int(said.split()[-1]), said

    def completed(self) -> str:
        """Complete the study, which must succeed. Returns what the user reads."""
        self.resume()
        code, said = self.end()
        records = self.records()
        assert code == 0, said
        assert all(one["status"] == "ok" for one in records[-1:]), said
        return said

    def records(self) -> list[dict[str, Any]]:
        """The records of the study's runs."""
        text = self.lab.run(f"{self.lab.user.python} {STORED} $HOME/results").output
        lines = text.splitlines()
        return [json.loads(line) for line in lines if line.startswith('{"kind":"run"')]

    def causes(self) -> str:
        """Why runs failed or were repeated, from their records."""
        return causes(self.records())

    def last_sent(self) -> float:
        """When a test interface has sent data for the last time; by the machine's clock."""
        times = self.lab.run(f"tail -qn 1 {' '.join(f'$HOME/sent-{host}' for host in HOSTS)}")
        return max(map(float, times.output.split()))

    def wait_until_nothing_runs(self) -> float:
        """Wait until no process of the study is left, on any host. Returns the time."""
        self.lab.run(f"while {_LEFT}; do sleep 0.05; done")
        return time.monotonic()

    def left(self) -> Sequence[str]:
        """Processes of the study that still run, and its files on hosts other than the engine."""
        folders = " ".join(
            f"/run/hosts/{host}/disk/home/ns/{folder}"
            for host in HOSTS
            for folder in ("f", ".cache/netstudy")
        )
        found = self.lab.run(f"{_LEFT}; ls -A {folders}").output.splitlines()
        ours = re.compile(r"/run/hosts/.*:|engine-[0-9a-f]{64}|")
        return [line for line in found if not ours.fullmatch(line)]
