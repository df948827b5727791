"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netstudy.cli import _completion as completion

RESULTS_VARIABLE = "NETSTUDY_RESULTS"

StudyPath = Annotated[
    Path, typer.Argument(metavar="STUDY", help="A study.yaml, or the folder that holds it.")
]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]",
        help="A results folder, or the name or path of a study for its newest results. [default: "
        "the newest results of all studies]",
        autocompletion=completion.results,
    ),
]
Results = Annotated[
    Path,
    typer.Option("--results", envvar=RESULTS_VARIABLE, help="The folder of the results."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, max=2**63 - 1, help="Root of all random numbers. [default: the study's]"
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="FACTOR=LEVELS",
        help="A subset: servers=1..6, or a,b,c.",
        autocompletion=completion.only,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a value, only for this run."),
]
Replicates = Annotated[
    int | None,
    typer.Option(
        "--replicates",
        min=1,
        metavar="N",
        help="Independent runs of each treatment. [default: the study's]",
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="The study's own short form.")]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="PATH",
        help="Leave a part of the study out, such as conclude.bottleneck or figures[1].",
    ),
]
TestbedName = Annotated[
    str | None,
    typer.Option(
        "--testbed",
        help="Where to run: sim, netns, netns-kernel, or the hosts in a file such as hosts.yaml; "
        "published: take the study's reference data instead of running it. [default: sim]",
        autocompletion=completion.testbeds,
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(
        "--variant",
        "--form",
        metavar="TESTBED",
        help="Run the study's variant for this testbed. [default: the one for --testbed]",
        autocompletion=completion.variants,
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="FRACTION",
        help="Multiply the rates of links and queues, such as by 1/10.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="CPUs to use; results do not depend on it."),
]
SoFar = Annotated[
    bool,
    typer.Option(
        "--so-far",
        help="Read an unfinished run with the results that it has now, also while it goes on or "
        "after it was killed. Nothing is written into its folder.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="CLUSTER",
        help="Simulate on workers of dask: dask:local, dask:local:N, or dask:ADDRESS of a "
        "scheduler, such as dask:tls://10.0.0.5:8786.",
    ),
]
TrustNetwork = Annotated[
    bool,
    typer.Option(
        "--trust-network",
        help="Allow a scheduler without TLS: whoever reaches its port can run programs as you.",
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress; errors and failed runs are still printed."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

RESULTS = Path("results")
"""Default folder of results."""
Static = Annotated[
    bool,
    typer.Option(
        "--static",
        help="Leave the drawing library out of the report: 0.3 MB less, figures without tooltips.",
    ),
]
Png = Annotated[bool, typer.Option("--png", help="Write each figure as PNG next to its SVG.")]


def with_replicates(overrides: list[str] | None, replicates: int | None) -> list[str]:
    """The values of --set, and --replicates as one more of them."""
    return [*(overrides or ()), *([] if replicates is None else [f"replicates={replicates}"])]
