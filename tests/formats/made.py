"""Files of measurements with planted values, made of a real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

REAL = Path(__file__).parent / "data/made/iperf3-tcp.json"
"""One stream of iperf3 3.12 over loopback."""


def iperf3_file(path: Path, mbps: float, started_s: int) -> Path:
    """Write what iperf3 would have written at this goodput, begun at this time."""
    report = json.loads(REAL.read_text())
    factor = mbps * 1e6 / report["end"]["sum_received"]["bits_per_second"]
    report = _scaled(report, factor)
    report["start"]["timestamp"]["timesecs"] = started_s
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report))
    return path


def _scaled(value: Any, factor: float) -> Any:
    """Rates and bytes multiplied alike, so that every law of the file still holds."""
    if isinstance(value, dict):
        return {name: _of(name, one, factor) for name, one in value.items()}
    return [_scaled(one, factor) for one in value] if isinstance(value, list) else value


def _of(name: str, value: Any, factor: float) -> Any:
    if name == "bits_per_second":
        return value * factor
    return round(value * factor) if name == "bytes" else _scaled(value, factor)
