"""A dask cluster as somebody else may have it: a scheduler and a worker without netstudy, with TLS.

`dask_cluster.py FOLDER` writes the certificates into the folder and prints the scheduler's address.
WORKER_MACHINE and WORKER_DASK name another machine and version, which the worker says it has.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import distributed
from distributed import versions

sys.modules["netstudy"] = None  # type: ignore[assignment]  # importing it fails


def pretend() -> None:
    """Have this process report another machine or another version of dask."""
    system, packages = versions.get_system_info, versions.get_package_info

    def get_system_info() -> dict[str, Any]:
        machine = os.environ.get("WORKER_MACHINE", platform.machine())
        return {**system(), "machine": machine}

    def get_package_info(names: Any) -> dict[str, Any]:
        found = packages(names)
        return {**found, "dask": os.environ.get("WORKER_DASK", found["dask"])}

    versions.get_system_info, versions.get_package_info = get_system_info, get_package_info


async def serve(folder: Path) -> None:
    """Run the cluster until standard input is closed."""
    security = distributed.Security.temporary()
    (folder / "ca.pem").write_text(security.tls_ca_file)
    (folder / "cert.pem").write_text(security.tls_client_cert)
    (folder / "key.pem").write_text(security.tls_client_key)
    at = {"host": "127.0.0.1", "protocol": "tls", "security": security}
    with tempfile.TemporaryDirectory() as own:
        async with (
            distributed.Scheduler(
                **at, port=0, dashboard=False, dashboard_address=":0"
            ) as scheduler,
            distributed.Worker(scheduler.address, **at, nthreads=1, local_directory=own),
        ):
            print(scheduler.address, flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


pretend()
asyncio.run(serve(Path(sys.argv[1])))
