"""A plan as lines of JSON: the parts that runs share, once each, and one short line for each run.

Most of a run is its network, and runs differ in little else than replicate and seed: 20,000 runs of
20 cells share 2 networks and 10 workloads. A part stands before the first line that names it, so
that a plan is written and read as a stream. `schema/plan.schema.json` describes a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter

from netstudy.wire import (
    Instrument,
    Network,
    Phase,
    Plan,
    Probe,
    Run,
    Treatment,
    Workload,
    to_json,
)
from netstudy.wire_model import Wire

PLAN_SCHEMA: Final = "netstudy/plan/3"
RUN_LINE_BYTES: Final = 140
"""Size of the line of a run, rounded up."""
_DIGITS: Final = 12
"""Number of digits of the SHA-256 in a part's name."""


class PlanHead(Wire):
    """The first line of a plan."""

    schema_: Literal["netstudy/plan/3"] = Field(default=PLAN_SCHEMA, alias="schema")
    study: str
    seed: int
    runs: int = Field(ge=0)
    """Number of runs, so that a plan that breaks off is noticed."""


class NetworkPart(Wire):
    """A network."""

    kind: Literal["network"] = "network"
    name: str
    """A hash of the network."""
    network: Network


class WorkloadPart(Wire):
    """A workload on a network."""

    kind: Literal["workload"] = "workload"
    name: str
    """A hash of the workload."""
    workload: Workload


class TreatmentPart(Wire):
    """Parts that the runs of a treatment share."""

    kind: Literal["treatment"] = "treatment"
    name: str
    """A hash of the other fields."""
    cases: tuple[str, ...]
    treatment: Treatment
    network: str
    """Name of the network."""
    probe: Probe | None = None
    """Small requests during the workload; None: there are none."""
    phases: tuple[Phase, ...]
    """In order; one of them is the measuring phase. Empty if the phases are not known."""
    instruments: tuple[Instrument, ...] = ()


class RunLine(Wire):
    """One run."""

    kind: Literal["run"] = "run"
    id: str
    """12 hexadecimal digits, a hash of treatment and replicate. --only and --set do not change
    it."""
    of: str
    """Name of the treatment."""
    workload: str
    """Name of the workload."""
    replicate: int = Field(ge=1)
    seed: str
    """16 hexadecimal digits, derived from the plan's seed, the treatment and the replicate."""
    trace: bool = Field(default=False, exclude_if=lambda traced: not traced)
    """The simulator traces where the time of each unit of work goes. Real testbeds ignore it, since
    they always measure the bounds that they can."""


PlanLine = Annotated[
    NetworkPart | WorkloadPart | TreatmentPart | RunLine, Field(discriminator="kind")
]
_LINE: Final[TypeAdapter[PlanLine]] = TypeAdapter(PlanLine)
RUN: Final = TypeAdapter(Run)
"""A run as one JSON object with all of its parts."""


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of the lines of a plan: the head, or any further line."""
    return TypeAdapter(PlanHead | PlanLine).json_schema()


def plan_lines(plan: Plan) -> Iterator[bytes]:
    """The lines of a plan, each with its newline: the head, then the runs, each after the parts
    that it names."""
    return lines_of_runs(plan.study, plan.seed, len(plan.runs), plan.runs)


def lines_of_runs(study: str, seed: int, count: int, runs: Iterable[Run]) -> Iterator[bytes]:
    """The same for a plan whose runs, `count` in number, are made while they are written."""
    yield _line(PlanHead(study=study, seed=seed, runs=count))
    yield from _Writer().lines(runs)


def plan_bytes(plan: Plan) -> bytes:
    """The lines of a plan as one text."""
    return b"".join(plan_lines(plan))


def read_plan(lines: Iterable[bytes]) -> Plan:
    """The plan in these lines; runs share the objects of their parts.

    Raises ValueError, with the number of the line, for anything that is not a plan of this version,
    and for a plan that breaks off.
    """
    numbered = enumerate(lines, start=1)
    head = PlanHead.model_validate_json(next((line for _, line in numbered), b""))
    reader = _Reader()
    for number, line in numbered:
        try:
            reader.take(_LINE.validate_json(line))
        except KeyError as error:
            raise ValueError(f"line {number}: no line before it is {error}") from error
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    if len(reader.runs) != head.runs:
        raise ValueError(f"it ends after {len(reader.runs)} of its {head.runs} runs")
    return Plan(head.study, head.seed, tuple(reader.runs))


def _line(model: Wire) -> bytes:
    return to_json(model).encode() + b"\n"


class _Writer:
    """Names the parts of runs, and writes each part once.

    Parts are recognised by identity, which is cheap; equal parts that are different objects get the
    same name from their content.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[int, ...], tuple[str, tuple[Any, ...]]] = {}
        """The identities of a part's objects -> its name, and the objects, so that no other object
        gets the same identity."""
        self._written: set[str] = set()
        self._parts: list[bytes] = []
        """Lines of new parts, to be written before the run."""

    def lines(self, runs: Iterable[Run]) -> Iterator[bytes]:
        for run in runs:
            line = self._run(run)
            yield from self._parts
            self._parts.clear()
            yield line

    def _run(self, run: Run) -> bytes:
        workload = self._name((run.workload,), lambda: WorkloadPart(name="", workload=run.workload))
        shared = (run.cases, run.treatment, run.network, run.probe, run.phases, run.instruments)
        treatment = self._name(shared, lambda: self._treatment(run))
        line = RunLine(
            id=run.id,
            of=treatment,
            workload=workload,
            replicate=run.replicate,
            seed=run.seed,
            trace=run.trace,
        )
        return _line(line)

    def _treatment(self, run: Run) -> TreatmentPart:
        return TreatmentPart(
            name="",
            cases=run.cases,
            treatment=run.treatment,
            network=self._name((run.network,), lambda: NetworkPart(name="", network=run.network)),
            probe=run.probe,
            phases=run.phases,
            instruments=run.instruments,
        )

    def _name(self, objects: tuple[Any, ...], part: Callable[[], Wire]) -> str:
        """The name of the part that consists of these objects; `part` makes it, with an empty name,
        if it is new."""
        key = tuple(map(id, objects))
        if key not in self._names:
            self._names[key] = self._write(part()), objects
        return self._names[key][0]

    def _write(self, part: Wire) -> str:
        name = sha256(to_json(part).encode()).hexdigest()[:_DIGITS]
        if name not in self._written:
            self._written.add(name)
            self._parts.append(_line(part.model_copy(update={"name": name})))
        return name


class _Reader:
    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._networks: dict[str, Network] = {}
        self._workloads: dict[str, Workload] = {}
        self._treatments: dict[str, TreatmentPart] = {}

    def take(self, line: PlanLine) -> None:
        match line:
            case RunLine():
                self.runs.append(self._run(line))
            case NetworkPart():
                self._networks[line.name] = line.network
            case WorkloadPart():
                self._workloads[line.name] = line.workload
            case TreatmentPart():
                self._treatments[line.name] = line

    def _run(self, line: RunLine) -> Run:
        of = self._treatments[line.of]
        return Run(
            id=line.id,
            cases=of.cases,
            treatment=of.treatment,
            replicate=line.replicate,
            seed=line.seed,
            network=self._networks[of.network],
            workload=self._workloads[line.workload],
            probe=of.probe,
            phases=of.phases,
            instruments=of.instruments,
            trace=line.trace,
        )
