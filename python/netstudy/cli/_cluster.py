"""Runs that are executed elsewhere: the options `--on` and `--trust-network`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from netstudy.cli._terminal import say
from netstudy.errors import StudyError

if TYPE_CHECKING:
    from netstudy.store import Invocation
    from netstudy.testbed.base import Testbed
    from netstudy.testbed.sweep.address import Where


def cluster_of(on: str | None, threads: int | None, *, trusts_network: bool) -> Where | None:
    """The cluster that `--on` names, if it may be used. Raises StudyError."""
    if on is None:
        if trusts_network:
            raise StudyError("belongs to --on, which is not given", "--trust-network")
        return None
    from netstudy.testbed.sweep.address import parse_on, plain_warning, refuse_plain

    if threads is not None:
        raise StudyError("the workers of --on have their own; use dask:local:N", "--threads")
    where = parse_on(on)
    refuse_plain(where, trusts_network=trusts_network)
    if warning := plain_warning(where):
        say(f"warning: {warning}")
    return where


@contextmanager
def testbed_of(invocation: Invocation, on: Where | None) -> Iterator[Testbed]:
    """The testbed of a run, on the cluster of `--on` if one is given; after the block, that cluster
    is left. Raises StudyError if the testbed on a cluster is not the simulator."""
    from netstudy.testbed import invoked

    if on is None:
        yield invoked(invocation)
        return
    refuse_other_testbeds(invocation, "--on")
    from netstudy.testbed.sweep.testbed import Sweep

    with closing(Sweep(on)) as sweep:
        yield sweep


def refuse_other_testbeds(invocation: Invocation, option: str) -> None:
    """Raises StudyError if the runs cannot be executed by engines elsewhere."""
    from netstudy.study.vocabulary import SIMULATOR

    if invocation.testbed != SIMULATOR:
        raise StudyError(
            f"runs of the testbed {SIMULATOR} only can be executed elsewhere, and these are for "
            f"{invocation.testbed}",
            option,
        )
