"""A cluster of workers: one of this machine's own, or one that is there already.

A cluster of dask executes whatever its clients send, with the rights of its owner. The own one
therefore listens on the loopback only, and takes no client without its certificate, which is made
for this command and is never written to a file: a port of the loopback is open to all users.
"""

from __future__ import annotations

import hashlib
import logging
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from typing import Any, Final

from netstudy.errors import TestbedError
from netstudy.packages import module, package
from netstudy.testbed.engine import find_engine
from netstudy.testbed.sweep.address import Local, Scheduler, Where
from netstudy.testbed.sweep.folders import own_folder
from netstudy.testbed.sweep.worker import engine_path, write_engine

_DEATHS = 3
"""Workers of an own cluster that may die with a slice before it is suspected."""
_CONNECT_S = 20.0
_FIRST_WORKER_S = 60.0
_COUNT_S = 2.0
"""Interval at which workers are counted."""
_OWN: Final[Mapping[str, Any]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.work-stealing-interval": "1s",
}
"""dask's configuration of an own cluster: no pages, and little that happens at intervals. A worker
that only waits for its engine takes 3 % of a CPU by default."""
_SAME_PACKAGES: Final = ("dask", "distributed")
"""Packages whose version must be the client's: their protocol has no versions."""


@dataclass(frozen=True)
class Engine:
    """The engine, as workers get it."""

    content: bytes = field(repr=False)
    sha256: str
    folder: str | None
    """Where all workers find it; None: each worker keeps its own."""

    @classmethod
    def read(cls, folder: str | None) -> Engine:
        """This machine's engine, copied into `folder` if there is one: it may be built anew while
        it is in use."""
        content = find_engine().read_bytes()
        engine = cls(content, hashlib.sha256(content).hexdigest(), folder)
        if folder is not None:
            write_engine(engine_path(folder, engine.sha256), content, engine.sha256)
        return engine


class Cluster:
    """An open cluster. Close it, or its workers stay."""

    def __init__(self, where: Where, client: Any, engine: Engine, opened: ExitStack) -> None:
        """`opened` holds what `close` has to close."""
        self.where = where
        self.client = client
        self.engine = engine
        self._opened = opened
        self._threads: dict[str, int] = {}
        self._counted_s = -_COUNT_S

    def threads(self) -> Mapping[str, int]:
        """Worker -> the runs that it executes at a time; a few seconds old."""
        now_s = time.monotonic()
        if now_s - self._counted_s >= _COUNT_S and self.is_connected():
            with suppress(OSError):  # the scheduler goes away: the next look shows it
                self._threads = dict(self.client.nthreads())
            self._counted_s = now_s
        return self._threads

    def is_connected(self) -> bool:
        """Whether there is a scheduler."""
        return bool(self.client.status == "running")

    def close(self) -> None:
        """Leave the cluster; an own one ends."""
        self._opened.close()


def opened(where: Where) -> Cluster:
    """Start or reach a cluster whose workers can execute runs. Raises TestbedError, and
    MissingPackageError without dask."""
    package("distributed")
    with ExitStack() as stack:
        stack.enter_context(_broken_pipes_are_errors())
        if isinstance(where, Local):
            client, folder = _own(where, stack)
            return Cluster(where, client, Engine.read(folder), stack.pop_all())
        return Cluster(where, _reached(where, stack), Engine.read(None), stack.pop_all())


@contextmanager
def _without_signals() -> Iterator[None]:
    """Signals that ask to stop wait until the block ends, since a half-made cluster cannot be
    closed. Processes and threads begun in the block take neither SIGINT nor SIGPIPE for good:
    Ctrl-C in a terminal reaches all of them at once, and it is the client that ends the workers;
    a worker that went away is an error that dask handles."""
    resource_tracker.ensure_running()  # its start would unblock SIGINT
    waiting: list[signal.Signals] = []
    asked = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in asked}
    taken = [number for number in asked if before[number] != signal.SIG_IGN]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGPIPE})
    try:
        for number in taken:
            signal.signal(number, lambda number, _: waiting.append(signal.Signals(number)))
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for asked_by in waiting:
            signal.raise_signal(asked_by)


@contextmanager
def _broken_pipes_are_errors() -> Iterator[None]:
    """In this thread, too, a worker that went away is an error. Otherwise SIGPIPE ends netstudy, as
    its command line wants it for `| head`."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


def _own(where: Local, stack: ExitStack) -> tuple[Any, str]:
    """The client of a new cluster, and its folder."""
    distributed, dask = package("distributed"), module("dask")
    folder = own_folder(stack)
    with dask.config.set(_OWN), _without_signals():
        cluster = distributed.LocalCluster(
            n_workers=where.workers,
            threads_per_worker=1,
            host="127.0.0.1",
            protocol="tls",
            security=distributed.Security.temporary(),
            memory_limit=0,  # engines need the memory, and are not the worker's own
            local_directory=folder,
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={
                "allowed_failures": _DEATHS - 1,
                "dashboard": False,
                "dashboard_address": "127.0.0.1:0",
            },
        )
        stack.callback(cluster.close, timeout=_CONNECT_S)
        # Results need not pass through the scheduler.
        client = distributed.Client(cluster, direct_to_workers=True, set_as_default=False)
        stack.callback(client.close)
    return client, folder


def _reached(where: Scheduler, stack: ExitStack) -> Any:
    """The client of a cluster that is there; its workers are fit."""
    stack.enter_context(_silent())
    distributed = package("distributed")
    try:
        with _without_signals():
            client = distributed.Client(where.address, timeout=_CONNECT_S, set_as_default=False)
            stack.callback(client.close)
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        raise TestbedError(f"cannot reach {where}: {error}{_advice(where)}") from error
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER_S)
    except TimeoutError as error:
        raise TestbedError(
            f"{where} has no worker after {_FIRST_WORKER_S:.0f} s; start workers first"
        ) from error
    if unfit := unfit_workers(client.get_versions()):
        listed = "".join(f"\n  - {one}" for one in unfit)
        raise TestbedError(
            f"{where} has workers that cannot execute runs of this machine's engine:{listed}"
        )
    return client


def _advice(where: Scheduler) -> str:
    if not where.is_encrypted:
        return ""
    return (
        ". The certificates come from dask's configuration: distributed.comm.tls.ca-file, "
        "distributed.comm.tls.client.cert and distributed.comm.tls.client.key"
    )


@contextmanager
def _silent() -> Iterator[None]:
    """dask's own messages about lost workers are not printed: ours say what becomes of the runs."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def unfit_workers(versions: Mapping[str, Any]) -> list[str]:
    """The workers that cannot execute runs, each with the reason. `versions` is the answer of
    `Client.get_versions`."""
    here = _kind(versions["client"])
    found = ((address, _kind(of)) for address, of in sorted(versions["workers"].items()))
    return [
        f"{address} has {', '.join(other)}"
        for address, kind in found
        if (other := _different(here, kind))
    ]


def _kind(versions: Mapping[str, Any]) -> dict[str, str]:
    """Properties that workers must share with the client."""
    host, packages = versions["host"], versions["packages"]
    return {
        "machine": f"{host['OS']} {host['machine']}",
        "Python": ".".join(str(host["python"]).split(".")[:2]),
        **{name: str(packages[name]) for name in _SAME_PACKAGES},
    }


def _different(here: Mapping[str, str], there: Mapping[str, str]) -> Iterable[str]:
    return [
        f"{name} {there[name]} instead of {here[name]}"
        for name in here
        if there[name] != here[name]
    ]
