"""Small studies with a planted truth, whose pages are kept as Markdown in `golden/`.

    python -m tests.report.golden_studies

writes these pages anew. Each study states its planted truth, against which the numbers of the
answer are tested: a page alone would only show that sentences did not change.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.document import document
from netstudy.report.pages import render_markdown
from netstudy.store import Folder, write_atomic
from netstudy.wire import Run, RunRecord
from tests.report.loaded import FRAME, Load
from tests.report.loaded import STUDY as DOWNLOADS
from tests.report.loaded import record as download
from tests.report.planted import Mean, with_control
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples

PAGES = Path(__file__).parent / "golden"
SCATTER = (0.0, 0.004, -0.004, 0.002, -0.002)
"""Relative deviations of the replicates from the planted mean; they add up to zero."""
NOISY = (0.0, 0.04, -0.04, 0.02, -0.02)


@dataclass(frozen=True)
class Golden:
    """A study with planted values."""

    text: str
    maker: Callable[[Run], RunRecord | None]
    levels: tuple[str, ...] = ()
    """The levels that the first sentence names, in this order."""
    numbers: tuple[float, ...] = ()
    """Numbers that the answer must have, to 3 %."""
    begins: str | None = None
    """The first word of the answer to a question of yes or no."""
    is_forbidden: bool = False
    """Whether a caveat forbids to claim anything."""
    is_open: bool = False
    """Whether another run is needed to decide."""
    reference: str | None = None
    """The rows of `data.csv`."""


def percent(value: float, other: float) -> float:
    """The change from the other value to the value, in percent without its sign."""
    return abs(value / other - 1) * 100


def times(mean: Mean, scatter: Sequence[float] = SCATTER) -> Callable[[Run], RunRecord]:
    """Iterations that take a mean time in ms by the levels."""

    def maker(run: Run) -> RunRecord:
        n = run.count("measure")
        spread = scatter[run.replicate - 1]
        return from_samples(
            run, [mean(**run.treatment) * (1 + spread)] * n, [0] * n, [0] * n, [0] * n
        )

    return maker


SERVERS, SWITCH, BLOCK = ('"${servers}"', '"${switch}"', '"${block}"')


def incast(question: str, rest: str, **fields: str) -> str:
    """An incast study with five replicates and this question; `fields` of it are as in
    `study_text`."""
    text = study_text(f"{rest}replicates: 5\n", **fields).replace("What does it do?", question)
    return with_control(text) if "control:" in rest else text


def downloads(question: str, conclude: str, clients: str, factors: str | None = None) -> str:
    """Downloads of several clients from one server over 1 Gbit/s."""
    text = DOWNLOADS.replace("CLIENTS", clients).replace("What is the limit?", question)
    if factors is None:  # without the factor of the sink
        sink = text[text.index("  sink:") : text.index("  clients:")]
        text = text.replace(sink, "").replace('"${sink.request}"', "64 B")
    return text + f"conclude: {conclude}\n"


def loads(load: Callable[[Run], Load]) -> Callable[[Run], RunRecord]:
    """Downloads that carry these loads."""
    return lambda run: download(run, load(run))


COMPARED = "compare: {factor: control, base: reno, noise: 2 %, on: completion_ms_mean}\n"
CROSSED = {("reno", 2): 20.0, ("reno", 4): 50.0, ("reno", 8): 100.0}
CROSSED |= {("cubic", 2): 25.0, ("cubic", 4): 40.0, ("cubic", 8): 50.0}
THREE = {"reno": 20.0, "cubic": 50.0, "dctcp": 15.0}
OF_FACTORS = {"reno": 30.0, "dctcp": 10.0}
SWITCHED = {("arista-7124s", "1 MB"): 40.0, ("arista-7124s", "2 MB"): 80.0}
SWITCHED |= {("nexus-5010", "1 MB"): 80.0, ("nexus-5010", "2 MB"): 40.0}
VARIANTS = {"A": 100.0, "B": 110.0}
HELD = {2: 20.0, 4: 40.0, 8: 80.0}
PUBLISHED_WINNERS = """\
servers,a,n
2,10.0,30.0
4,30.0,10.0
"""
REFERENCE = """\
reference:
  file: data.csv
  source: planted values
  factors: {servers: servers}
  columns:
    a: {metric: completion_ms_mean, at: {switch: arista-7124s}}
    n: {metric: completion_ms_mean, at: {switch: nexus-5010}}
"""
CAPACITY_MBPS, EACH_MBPS = 600.0, 100.0
PAYLOAD = 1448 / FRAME
"""Share of a frame that goodput counts."""
GAIN = 1.25
"""Of a substitution."""


def _clients(run: Run) -> int:
    return len(run.workload.roles.client)


def _ended(run: Run) -> Load:
    """The server's CPU is full from six clients on."""
    rate = min(EACH_MBPS * _clients(run), CAPACITY_MBPS)
    return Load(rate * (1 + SCATTER[run.replicate - 1]), server_cpu=0.99 * rate / CAPACITY_MBPS)


def _going_on(run: Run) -> Load:
    rate = EACH_MBPS / 4 * _clients(run)
    return Load(rate * (1 + SCATTER[run.replicate - 1]), server_cpu=0.04 * _clients(run))


def _replaced(run: Run) -> Load:
    gain = GAIN if run.treatment["sink"] == "disk" else 1.0
    return Load(200.0 * gain * (1 + SCATTER[run.replicate - 1]))


def _slow_arista(switch: str, servers: int) -> float:
    return 30.0 if switch == "arista-7124s" else 10.0


def _never_filled(run: Run) -> RunRecord:
    """Both buffers hold 120 kB at most."""
    made = times(lambda servers, **_: 10.0 * servers)(run)
    port = {**made.ports["switch"]["client"], "queue_bytes_max": (0, 120_000)}
    return made.model_copy(update={"ports": {"switch": {"client": port}}})


def _polar(control: str, servers: int) -> float:
    return {"reno": 20.0, "cubic": 10.0}[control] * servers


GOLDENS: dict[str, Golden] = {
    "crossover": Golden(
        incast(
            "Which congestion control finishes synchronized reads sooner?",
            f"factors: {{control: [reno, cubic], servers: [2, 4, 8]}}\n{COMPARED}",
            servers=SERVERS,
        ),
        times(lambda control, servers: CROSSED[control, servers]),
        levels=("cubic", "reno", "4 and 8 servers", "2 servers"),
        numbers=(CROSSED["cubic", 8], CROSSED["reno", 8], 100 / 50),
    ),
    "three-levels": Golden(
        incast(
            "Which congestion control finishes synchronized reads soonest?",
            f"factors: {{control: [reno, cubic, dctcp], servers: [8, 16]}}\n{COMPARED}",
            servers=SERVERS,
        ),
        times(lambda control, servers: THREE[control] * servers),
        levels=("dctcp", "cubic", "reno"),
        numbers=(50 / 15, percent(15, 20)),
    ),
    "factors": Golden(
        incast(
            "What changes the completion time?",
            "factors: {control: [reno, dctcp], block: [1 MB, 2 MB], servers: [2, 4]}\nnoise: 2 %\n",
            servers=SERVERS,
            block=BLOCK,
        ),
        times(
            lambda control, block, servers: (
                OF_FACTORS[control] * servers * (1.5 if block == "2 MB" else 1)
            )
        ),
        levels=("dctcp", "reno"),
        numbers=(30 / 10, percent(1.5, 1)),
    ),
    "interaction": Golden(
        incast(
            "What changes the completion time?",
            "factors: {switch: [arista-7124s, nexus-5010], block: [1 MB, 2 MB]}\nnoise: 2 %\n",
            switch=SWITCH,
            block=BLOCK,
        ),
        times(lambda switch, block: SWITCHED[switch, block]),
        levels=("1 MB", "2 MB"),
        numbers=(80 / 40,),
    ),
    "growth-ends": Golden(
        downloads(
            "Where does throughput stop growing, and what is the bottleneck?",
            "[plateau, bottleneck]",
            "[1, 2, 4, 6, 7, 8]",
        ),
        loads(_ended),
        levels=("6 clients", "7 and 8 clients"),
        numbers=(CAPACITY_MBPS * PAYLOAD, 99),
    ),
    "growth-goes-on": Golden(
        downloads("Where does throughput stop growing?", "[plateau]", "[1, 2, 4, 8]"),
        loads(_going_on),
        levels=("8 clients",),
        numbers=(EACH_MBPS / 4 * 8 * PAYLOAD,),
        is_open=True,
    ),
    "substitution": Golden(
        downloads(
            "Does a disk as sink improve throughput?",
            "[{substitution: sink, base: 'null'}]",
            "[1]",
            "sink",
        ),
        loads(_replaced),
        levels=("disk", "null"),
        numbers=(percent(GAIN, 1),),
        begins="Yes",
    ),
    "limit-of-a-factor": Golden(
        incast(
            "How many servers keep the completion time below 50 ms?",
            "factors: {servers: [2, 4, 8]}\n"
            "conclude: [{limit: servers, while: completion_ms_mean < 50}]\n",
            servers=SERVERS,
        ),
        times(lambda servers: HELD[servers]),
        levels=("4 servers", "8 servers"),
        numbers=(HELD[4], HELD[8]),
    ),
    "levels-that-differ-in-two-things": Golden(
        incast(
            "Is switch B slower than switch A?",
            "factors:\n  variant: [{name: A, sw: arista-7124s, mtu: 1500}, "
            "{name: B, sw: nexus-5010, mtu: 9000}]\n  servers: [2, 4]\n"
            "compare: {factor: variant, base: A, noise: 2 %, on: completion_ms_mean}\n",
            servers=SERVERS,
            switch='"${variant.sw}"',
        ).replace("mtu: 9000 B", 'mtu: "${variant.mtu}"'),
        times(lambda variant, servers: VARIANTS[variant] * servers),
        levels=("variant B", "variant A", "sw", "mtu", "variant A", "variant B"),
        numbers=(percent(VARIANTS["A"], VARIANTS["B"]),),
    ),
    "undecided": Golden(
        incast(
            "Which congestion control finishes synchronized reads sooner?",
            f"factors: {{control: [reno, cubic], servers: [4, 8]}}\n{COMPARED}",
            servers=SERVERS,
        ),
        times(lambda control, servers: (10.4 if control == "reno" else 10.0) * servers, NOISY),
        is_open=True,
    ),
    "published-winner-differs": Golden(
        incast(
            "Which switch finishes synchronized reads sooner?",
            "factors: {switch: [arista-7124s, nexus-5010], servers: [2, 4]}\n"
            "compare: {factor: switch, base: nexus-5010, noise: 2 %}\n" + REFERENCE,
            servers=SERVERS,
            switch=SWITCH,
        ),
        times(_slow_arista),
        levels=("nexus-5010", "arista-7124s"),
        numbers=(30, 10, 30 / 10),
        reference=PUBLISHED_WINNERS,
    ),
    "buffer-never-filled": Golden(
        incast(
            "Does a larger buffer help?",
            "factors: {buffer: [256 kB, 1 MB], servers: [2, 4]}\n"
            "compare: {factor: buffer, base: 256 kB, noise: 2 %}\n",
            servers=SERVERS,
            switch='{profile: generic-shallow, port_buffer: "${buffer}"}',
        ),
        _never_filled,
        is_forbidden=True,
    ),
}


def _polar_study(question: str) -> str:
    rest = f"factors: {{control: [reno, cubic], servers: [4, 8]}}\n{COMPARED}"
    return incast(question, rest, servers=SERVERS)


GOLDENS |= {
    "yes": Golden(
        _polar_study("Is cubic faster than reno?"),
        times(_polar),
        levels=("cubic", "reno"),
        numbers=(20 / 10,),
        begins="Yes",
    ),
    "no": Golden(
        _polar_study("Is reno faster than cubic?"),
        times(_polar),
        levels=("cubic", "reno"),
        numbers=(20 / 10,),
        begins="No",
    ),
    "partly": Golden(
        _polar_study("Is cubic faster than reno?"),
        times(lambda control, servers: 40.0 if (control, servers) == ("reno", 8) else 20.0),
        levels=("cubic", "reno", "8 servers"),
        numbers=(20, 40),
        begins="Partly",
    ),
}


def studied(golden: Golden, folder: Path) -> tuple[Folder, StudyResult]:
    """The results of a study in a folder."""
    if golden.reference is not None:
        (folder / "data.csv").write_text(golden.reference)
    made = from_text(folder, golden.text, golden.maker)
    return made, analyse(made)


def page_of(made: Folder, result: StudyResult) -> str:
    """The page from its title to the end of the test case: what comes later has versions and hashes
    of files."""
    return "".join(_until_published(render_markdown(document(made, result)).splitlines(True)))


def _until_published(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(("## Published and", "## Caveats", "## Test bed")):
            return
        yield line


def main() -> None:
    """Writes all pages anew."""
    PAGES.mkdir(exist_ok=True)
    for name, golden in GOLDENS.items():
        with tempfile.TemporaryDirectory() as folder:
            page = page_of(*studied(golden, Path(folder)))
        write_atomic(PAGES / f"{name}.md", page.rstrip().encode() + b"\n")


if __name__ == "__main__":
    main()
