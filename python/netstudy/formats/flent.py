"""The data files of Flent, versions 2 to 4: `.flent`, and `.flent.gz`.

A Flent file has each data set twice: `raw_values` are the values that a tool reported, with their
times; `results` are the same ones, interpolated to a grid of STEP_SIZE. The raw ones are read. A
data set without raw values is either computed from others by Flent (an average or a sum), or the
file is one of a version that kept no raw values; then `results` are read.

Raw values have the unit in which the tool reported them: netperf's request/response test gives
transactions per second, the HTTP getter gives seconds. A data set is in milliseconds in `results`,
so that each transformation is checked by interpolating it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from netstudy.formats import json_text, laws
from netstudy.formats.clock import iso_s
from netstudy.formats.measured import (
    Content,
    Floats,
    FormatError,
    Measurement,
    Quantity,
    Series,
)
from netstudy.formats.plain_text import text_of
from netstudy.wire import Check

Kind = Literal["upload", "download", "icmp", "udp packets", "udp rounds", "http", "cpu"]

_RATES: Final = {"Mbits/s": 1.0, "bits/s": 1e-6, "kbits/s": 1e-3, "Gbits/s": 1e3}
"""Unit of a data set -> its size in Mbit/s."""
_COMPUTED: Final = (" avg", " sum", " totals")
"""Ends of the names of data sets that Flent computes from others."""
_COMPUTING_RUNNERS: Final = frozenset(
    {"AverageRunner", "SmoothAverageRunner", "SumRunner", "DiffMinRunner", "FairnessRunner"}
    | {"ComputingRunner", "NullRunner"}
)
_QUIET_END_S: Final = 10.0
"""netperf's clock runs until the last byte is acknowledged, its intervals end with the last byte
that was handed to the kernel. Old files do not say how long that took; a queue takes no longer than
this to drain."""
_GAP_S: Final = 10.0
"""Flent does not interpolate over a long gap; points in a longer one than this are not compared."""
_ZONE_S: Final = 900
"""Time zones differ by multiples of this."""

_QUANTITIES: Final = (
    Quantity(
        "tcp_upload_mbps",
        "upload rate",
        "Mbit/s",
        "higher",
        2,
        "Payload that netperf's TCP_STREAM sent, over the time until it was acknowledged; the sum "
        "of all streams. It is the sender's figure, goodput_mbps is the receiver's.",
    ),
    Quantity(
        "tcp_download_mbps",
        "download rate",
        "Mbit/s",
        "higher",
        2,
        "Payload that netperf's TCP_MAERTS received; the sum of all streams. In a test with "
        "uploads at the same time it is one direction only.",
    ),
    Quantity(
        "ping_rtt_ms",
        "round-trip time of ICMP echo",
        "ms",
        "lower",
        3,
        "Round-trip times of ping or fping, one sample for each reply; also from the idle "
        "seconds before and after the load, as in Flent's own figures. Lost packets have no "
        "sample.",
    ),
    Quantity(
        "udp_ping_rtt_ms",
        "round-trip time of UDP packets",
        "ms",
        "lower",
        3,
        "Round-trip times of irtt, one sample for each packet that came back.",
    ),
    Quantity(
        "udp_ping_loss_pct",
        "loss of UDP packets",
        "%",
        "lower",
        2,
        "Share of irtt's packets that did not come back.",
    ),
    Quantity(
        "udp_rr_rtt_ms",
        "time of a UDP round trip",
        "ms",
        "lower",
        3,
        "1,000 / transactions per second of netperf's UDP_RR; the mean of all its instances. A "
        "lost packet stops an instance until the end, and this time is in the mean.",
    ),
    Quantity(
        "http_latency_ms",
        "time of an HTTP page",
        "ms",
        "lower",
        3,
        "Time in which Flent's HTTP getter fetched all files of a list, one sample each time.",
    ),
    Quantity(
        "flow_srtt_ms",
        "smoothed round-trip time of a flow",
        "ms",
        "lower",
        3,
        "The sender's kernel's smoothed RTT (ss), sampled; the mean over samples and flows.",
    ),
    Quantity(
        "flow_cwnd_packets",
        "congestion window of a flow",
        "packets",
        "neither",
        1,
        "The sender's congestion window (ss), sampled; the mean over samples and flows.",
    ),
    Quantity(
        "host_cpu_pct",
        "CPU load of the busiest host",
        "%",
        "lower",
        1,
        "Share of the time of all CPUs of a host that was not idle, from /proc/stat; the mean of "
        "the host with the largest one. It is over the whole test, also its idle seconds.",
    ),
)

_SOCKET: Final = {"tcp_rtt": "flow_srtt_ms", "tcp_cwnd": "flow_cwnd_packets"}
"""Key of a raw value of ss -> quantity."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Raw values of a data set in the order of their times."""

    ends_s: Floats
    """Since 1970."""
    lengths_s: Floats | None
    """None: the values are of instants."""
    values: Floats


@dataclass(frozen=True, eq=False)
class _DataSet:
    name: str
    kind: Kind
    rows: _Rows
    """In the quantity's unit."""
    meta: json_text.Object
    raw: bool
    """False if the file has only the interpolated values."""

    @property
    def path(self) -> str:
        return f'metadata.SERIES_META."{self.name}"'

    def figure(self, key: str) -> float | None:
        """A number of the data set's metadata."""
        return json_text.number(self.meta, key, self.path)


@dataclass
class _File:
    """A file while it is read."""

    metadata: json_text.Object
    raw: json_text.Object
    results: json_text.Object
    steps_s: Floats
    notes: list[str] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def meta(self, name: str) -> json_text.Object:
        of_all = json_text.child(self.metadata, "SERIES_META", "metadata") or {}
        return json_text.child(of_all, name, "metadata.SERIES_META") or {}


class _Flent:
    name = "flent"
    title = "Flent's data files (.flent, .flent.gz), versions 2 to 4"
    quantities = _QUANTITIES
    left_out = (
        "Averages, sums and totals are left out, because Flent computes them from the other data "
        "sets; they only have to agree.",
        "Statistics of queues (qdisc_stats) and of WiFi are left out, because they need the state "
        "before the test; take tc -s -j before and after it.",
        "Interpolated values are left out where the file has raw ones.",
        "One-way delays and their variation (irtt) are left out, because they depend on two "
        "clocks.",
    )

    def recognises(self, head: bytes) -> bool:
        start = head.lstrip()[:40].replace(b" ", b"").replace(b"\n", b"")
        keys = (b"metadata", b"raw_values", b"results", b"version", b"x_values")
        return start.startswith(tuple(b'{"' + key + b'":' for key in keys)) and any(
            key in head for key in (b'"FLENT_VERSION"', b'"BATCH_NAME"', b'"DATA_FILENAME"')
        )

    def read(self, data: bytes) -> Content:
        document = json_text.mapping(json_text.document(text_of(data)), "the document")
        _require_version(document)
        file = _opened(document)
        sets = list(_data_sets(file))
        if not sets:
            raise FormatError("the file has no data set that is read")
        return (_measurement(file, sets),)


FORMAT: Final = _Flent()


def _require_version(document: json_text.Object) -> None:
    version = json_text.whole(document, "version", "")
    if version is None or not 2 <= version <= 4:
        raise FormatError(
            f"version: the file has version {version} of Flent's format, versions 2 to 4 are read; "
            "`flent --gui FILE` of that version can export the data as CSV"
        )


def _opened(document: json_text.Object) -> _File:
    metadata = json_text.child(document, "metadata", "")
    results = json_text.child(document, "results", "")
    if metadata is None or results is None:
        raise FormatError(
            "the file has no metadata or no results; it was cut off or is not Flent's"
        )
    steps = json_text.listing(document.get("x_values", []), "x_values")
    return _File(
        metadata,
        json_text.child(document, "raw_values", "") or {},
        results,
        np.array([_finite(step, f"x_values[{index}]") for index, step in enumerate(steps)], float),
    )


def _finite(value: Any, path: str) -> float:
    found = json_text.number({"it": value}, "it", path)
    if found is None:
        raise FormatError(f"{path}: a number is missing")
    return found


# --- data sets ---


def _data_sets(file: _File) -> Iterator[_DataSet]:
    unknown = []
    for name in dict.fromkeys([*file.raw, *file.results]):
        meta = file.meta(name)
        if _is_computed(name, meta) or name.startswith("qdisc_stats"):
            continue
        items = json_text.objects(file.raw, name, "raw_values")
        kind = _kind(name, items)
        if kind is None:
            unknown.append(name)
        elif found := _data_set(file, name, kind, meta, items):
            yield found
    if unknown:
        names = ", ".join(f'"{name}"' for name in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        file.notes.append(f"Data sets without a quantity here are left out: {names}{more}.")


def _is_computed(name: str, meta: json_text.Object) -> bool:
    """True if Flent computes the data set from others. `TCP upload::1` is a stream, and
    `TCP upload::1::tcp_cwnd` and `cpu_stats_host::load` are parts of another data set."""
    part = name.rpartition("::")[2]
    return (
        meta.get("RUNNER") in _COMPUTING_RUNNERS
        or name.endswith(_COMPUTED)
        or ("::" in name and not part.isdigit())
    )


def _data_set(
    file: _File,
    name: str,
    kind: Kind,
    meta: json_text.Object,
    items: Sequence[json_text.Object],
) -> _DataSet | None:
    change = _change(name, kind, meta)
    key = "load" if kind == "cpu" else "val"
    rows = _raw_rows(file, name, key, items, change)
    if rows is not None:
        return _DataSet(name, kind, rows, meta, raw=True)
    rows = None if kind == "cpu" else _interpolated_rows(file, name)
    if rows is None:
        file.notes.append(f'"{name}" is left out: it has no values.')
        return None
    file.notes.append(f'"{name}" has no raw values; its interpolated values are read.')
    return _DataSet(name, kind, rows, meta, raw=False)


def _kind(name: str, items: Sequence[json_text.Object]) -> Kind | None:
    if name.startswith("TCP upload"):
        return "upload"
    if name.startswith("TCP download"):
        return "download"
    if name.startswith("HTTP latency"):
        return "http"
    if name.startswith("cpu_stats_"):
        return "cpu"
    if not name.startswith("Ping (ms)"):
        return None
    if "UDP" not in name:
        return "icmp"
    # netperf reports intervals, irtt packets.
    return "udp rounds" if any("dur" in item for item in items) else "udp packets"


def _change(name: str, kind: Kind, meta: json_text.Object) -> Callable[[Floats], Floats]:
    """Changes raw values to the quantity's unit."""
    unit = json_text.string(meta, "UNITS", f'metadata.SERIES_META."{name}"')
    if kind in ("upload", "download"):
        factor = _RATES.get(unit or "Mbits/s")
        if factor is None:
            raise FormatError(
                f'"{name}" is in {unit}, which is no unit of a rate that is known here'
            )
        return lambda values: values * factor
    if kind == "udp rounds":
        return _milliseconds_of_a_round
    if kind == "http":
        return lambda values: values * 1e3
    return (lambda values: values * 1e2) if kind == "cpu" else (lambda values: values)


def _milliseconds_of_a_round(per_s: Floats) -> Floats:
    """NaN where no round ended."""
    found = np.full(len(per_s), math.nan)
    np.divide(1e3, per_s, out=found, where=per_s > 0)
    return found


def _raw_rows(
    file: _File,
    name: str,
    key: str,
    items: Sequence[json_text.Object],
    change: Callable[[Floats], Floats],
) -> _Rows | None:
    """None if no item has a value."""
    found: list[tuple[float, float, float]] = []
    lost = False
    for index, item in enumerate(items):
        path = f'raw_values."{name}"[{index}]'
        value = json_text.number(item, key, path, file.notes)
        if value is None:
            continue
        end = json_text.number(item, "t", path)
        length = json_text.number(item, "dur", path)
        if end is None:
            raise FormatError(f"{path}.t: the time of the value is missing")
        if length is not None and length <= 0:
            raise FormatError(f"{path}.dur: an interval of {length} s")
        lost = lost or length is None
        found.append((end, length or 0.0, value))
    if not found:
        return None
    found.sort(key=lambda row: row[0])
    ends, lengths, values = np.array(found, float).T
    changed = change(values)
    if not np.isfinite(changed[~np.isnan(changed)]).all():
        raise FormatError(f'raw_values."{name}": a value is too large')
    return _Rows(ends, None if lost else lengths, changed)


def _interpolated_rows(file: _File, name: str) -> _Rows | None:
    """The values of the grid, each as an instant; None if all are null."""
    start = _zero_s(file, ())
    steps, values = _grid(file, name)
    there = ~np.isnan(values)
    if not there.any():
        return None
    return _Rows(steps[there] + start, None, values[there])


def _grid(file: _File, name: str) -> tuple[Floats, Floats]:
    """Times of the grid and the data set's values at them; NaN for null."""
    if name not in file.results:
        return np.empty(0), np.empty(0)
    path = f'results."{name}"'
    written = json_text.listing(file.results[name], path)
    if len(written) != len(file.steps_s):
        raise FormatError(f"{path} has {len(written)} values, x_values has {len(file.steps_s)}")
    values = [
        math.nan if value is None else _finite(value, f"{path}[{index}]")
        for index, value in enumerate(written)
    ]
    return file.steps_s, np.array(values, float)


# --- the measurement ---


def _measurement(file: _File, sets: Sequence[_DataSet]) -> Measurement:
    zero = _zero_s(file, sets)
    starts = [
        float((one.rows.ends_s - (0 if one.rows.lengths_s is None else one.rows.lengths_s)).min())
        for one in sets
    ]
    start, end = min(starts), max(float(one.rows.ends_s.max()) for one in sets)
    values = {**_rates(sets), **_round_trips(sets), **_losses(sets), **_cpu(sets)}
    flows, of_flows = _socket_series(file, sets, start, zero)
    values |= of_flows
    for one in sets:
        file.checks += _laws_of(file, one, zero)
    file.checks += _laws_of_computed(file, sets)
    return Measurement(
        tool="flent",
        version=json_text.string(file.metadata, "FLENT_VERSION", "metadata"),
        started_s=start,
        window_s=(start, end),
        settings=_settings(file, sets),
        values=values,
        series=(*(_series(one, start) for one in sets if one.kind in _SERIES), *flows),
        samples=_samples(sets),
        checks=tuple(file.checks),
        notes=tuple(file.notes),
    )


def _zero_s(file: _File, sets: Sequence[_DataSet]) -> float:
    """The instant of the grid's zero, since 1970.

    T0 of version 2 is a local time without a zone. Raw values are in UTC in all versions, so that
    the zone is the multiple of a quarter of an hour that brings T0 to the first of them.
    """
    written = json_text.string(file.metadata, "T0", "metadata")
    if written is None:
        raise FormatError("metadata.T0: the time of the start is missing")
    if written.endswith("Z"):
        return iso_s(written, "metadata.T0")
    first = [float(one.rows.ends_s.min()) for one in sets if one.raw]
    if not first:
        raise FormatError(
            f'metadata.T0: "{written}" is a local time, and no raw value says of which zone'
        )
    local = iso_s(f"{written}Z", "metadata.T0")
    return local + round((min(first) - local) / _ZONE_S) * _ZONE_S


def _settings(file: _File, sets: Sequence[_DataSet]) -> dict[str, str]:
    found = {}
    for setting, key in (("test", "NAME"), ("title", "TITLE"), ("target", "HOST")):
        if written := json_text.string(file.metadata, key, "metadata"):
            found[setting] = written
    for setting, kind in (("uploads", "upload"), ("downloads", "download")):
        if count := sum(one.kind == kind for one in sets):
            found[setting] = str(count)
    if length := json_text.number(file.metadata, "LENGTH", "metadata"):
        found["length_s"] = f"{length:g}"
    controls = {one.meta.get("CONG_CONTROL") for one in sets} - {None}
    if controls:
        found["congestion_control"] = ", ".join(sorted(map(str, controls)))
    return found


_NAMES: Final[Mapping[Kind, str]] = {
    "upload": "tcp_upload_mbps",
    "download": "tcp_download_mbps",
    "icmp": "ping_rtt_ms",
    "udp packets": "udp_ping_rtt_ms",
    "udp rounds": "udp_rr_rtt_ms",
    "http": "http_latency_ms",
    "cpu": "host_cpu_pct",
}
_SERIES: Final[frozenset[Kind]] = frozenset({"upload", "download", "udp rounds", "cpu"})
_SAMPLED: Final[frozenset[Kind]] = frozenset({"icmp", "udp packets", "http"})


def _series(one: _DataSet, start: float) -> Series:
    ends = one.rows.ends_s - start
    if one.rows.lengths_s is None:
        # Each value holds since the one before it.
        starts = np.concatenate([[min(0.0, ends[0])], ends[:-1]])
    else:
        starts = ends - one.rows.lengths_s
    part = one.name.removeprefix("cpu_stats_")
    return Series(part, starts, ends, {_NAMES[one.kind]: one.rows.values})


def _samples(sets: Sequence[_DataSet]) -> dict[str, Floats]:
    found: dict[str, list[Floats]] = {}
    for one in sets:
        if one.kind in _SAMPLED:
            found.setdefault(_NAMES[one.kind], []).append(one.rows.values)
    return {name: np.concatenate(values) for name, values in found.items()}


def _rates(sets: Sequence[_DataSet]) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in ("upload", "download"):
        streams = [one for one in sets if one.kind == kind]
        if streams:
            found[f"tcp_{kind}_mbps"] = math.fsum(_rate(one) for one in streams)
    return found


def _rate(one: _DataSet) -> float:
    """Rate of a stream over the whole test, from the best source that the file has: bytes and time,
    netperf's own figure (two decimals), or the intervals."""
    moved, elapsed = _moved(one), one.figure("ELAPSED_TIME")
    if moved is not None and elapsed:
        return moved * 8e-6 / elapsed
    mean = one.figure("MEAN_VALUE")
    if mean is not None:
        return mean * _factor(one)
    return _mean_of_intervals(one.rows)


def _moved(one: _DataSet) -> float | None:
    """Payload that passed this side: netperf's local host sends an upload and receives a
    download."""
    return one.figure("BYTES_SENT" if one.kind == "upload" else "BYTES_RECVD")


def _factor(one: _DataSet) -> float:
    if one.kind not in ("upload", "download"):
        return 1.0
    return _RATES[json_text.string(one.meta, "UNITS", one.path) or "Mbits/s"]


def _mean_of_intervals(rows: _Rows) -> float:
    return float(np.average(rows.values, weights=rows.lengths_s))


def _round_trips(sets: Sequence[_DataSet]) -> dict[str, float]:
    means = []
    for one in sets:
        if one.kind != "udp rounds":
            continue
        mean = one.figure("MEAN_VALUE")
        if mean is None:
            rounds, covered = _rounds(one.rows)
            if rounds <= 0:
                continue
            mean = 1e3 * covered / rounds
        means.append(mean)
    return {"udp_rr_rtt_ms": math.fsum(means) / len(means)} if means else {}


def _rounds(rows: _Rows) -> tuple[float, float]:
    """Number of round trips, and the seconds that the intervals with a value cover."""
    assert rows.lengths_s is not None, "it is of intervals"
    there = ~np.isnan(rows.values)
    lengths = rows.lengths_s[there]
    return float((lengths * 1e3 / rows.values[there]).sum()), float(lengths.sum())


def _losses(sets: Sequence[_DataSet]) -> dict[str, float]:
    sent = received = 0.0
    for one in sets:
        here, back = one.figure("PACKETS_SENT"), one.figure("PACKETS_RECEIVED")
        if one.kind == "udp packets" and here and back is not None:
            sent += here
            received += back
    return {"udp_ping_loss_pct": 100 * (1 - received / sent)} if sent > 0 else {}


def _cpu(sets: Sequence[_DataSet]) -> dict[str, float]:
    means = [float(one.rows.values.mean()) for one in sets if one.kind == "cpu"]
    return {"host_cpu_pct": max(means)} if means else {}


def _socket_series(
    file: _File, sets: Sequence[_DataSet], start: float, zero: float
) -> tuple[list[Series], dict[str, float]]:
    """Series of what ss said of the uploads' sockets, and the mean over all samples."""
    found: list[Series] = []
    all_values: dict[str, list[Floats]] = {}
    for one in sets:
        if not one.raw or one.kind not in ("upload", "download"):
            continue
        items = json_text.objects(file.raw, one.name, "raw_values")
        for key, quantity in _SOCKET.items():
            rows = _raw_rows(file, one.name, key, items, lambda values: values)
            if rows is None:
                continue
            ends = rows.ends_s - start
            starts = np.concatenate([[min(0.0, ends[0])], ends[:-1]])
            found.append(Series(one.name, starts, ends, {quantity: rows.values}))
            if check := _grid_agrees(file, f"{one.name}::{key}", rows, zero):
                file.checks.append(check)
            all_values.setdefault(quantity, []).append(rows.values)
    return found, {
        quantity: float(np.concatenate(values).mean()) for quantity, values in all_values.items()
    }


# --- laws ---


def _laws_of(file: _File, one: _DataSet, zero: float) -> Iterator[Check]:
    if one.raw:
        name, scale = (f"{one.name}::load", 1e2) if one.kind == "cpu" else (one.name, _factor(one))
        if check := _grid_agrees(file, name, one.rows, zero, scale):
            yield check
    if one.kind in ("upload", "download"):
        yield from _laws_of_stream(one)
    elif one.kind == "udp rounds":
        yield from _laws_of_rounds(file, one)
    elif one.kind == "cpu":
        yield laws.is_a_share(f"the CPU load of {one.name}", float(one.rows.values.max()))
        yield laws.is_a_share(f"the CPU load of {one.name}", float(one.rows.values.min()))
    elif one.raw:
        yield from _laws_of_samples(one)


def _grid_agrees(
    file: _File, name: str, rows: _Rows, zero: float, scale: float = 1.0
) -> Check | None:
    """The raw values, interpolated linearly, are Flent's results; `scale` is the size of the
    results' unit in that of the rows."""
    steps, there = _grid(file, name)
    there = there * scale
    times = rows.ends_s - zero
    known = ~np.isnan(rows.values)
    times, values = times[known], rows.values[known]
    if len(times) < 2 or not len(steps):
        return None
    after = np.clip(np.searchsorted(times, steps), 1, len(times) - 1)
    close = (times[after] - times[after - 1] <= _GAP_S) & (steps >= times[0]) & (steps <= times[-1])
    chosen = close & ~np.isnan(there)
    if not chosen.any():
        return None
    should = np.interp(steps[chosen], times, values)
    # Times have a microsecond: over a short interval a value may change by much in one.
    off = np.abs(should - there[chosen])
    worst = int(np.argmax(off / (1e-6 + np.abs(should))))
    allowed = _slope(times, values, after[chosen]) * 1e-6 + 1e-6 * (1 + np.abs(should))
    return Check(
        law="raw values, interpolated, are the results",
        holds=bool((off <= allowed).all()),
        detail=f'"{name}": {int(chosen.sum())} values compared; at '
        f"{steps[chosen][worst]:g} s the raw values give {laws.figure(float(should[worst]))}, the "
        f"results {laws.figure(float(there[chosen][worst]))}",
    )


def _slope(times: Floats, values: Floats, after: Any) -> Floats:
    """Change per second around each point."""
    width = np.maximum(times[after] - times[after - 1], 1e-6)
    slope: Floats = np.abs(values[after] - values[after - 1]) / width
    return slope


def _laws_of_stream(one: _DataSet) -> Iterator[Check]:
    factor, elapsed, moved = _factor(one), one.figure("ELAPSED_TIME"), _moved(one)
    mean = one.figure("MEAN_VALUE")
    if moved is not None and elapsed and mean is not None:
        # netperf prints the rate and the time with two decimals each.
        rate = mean * factor * 1e6
        tolerance = 0.005 * factor * 1e6 + rate * 0.005 / elapsed
        yield laws.rate_is_bytes_by_time(f'"{one.name}"', moved, elapsed, rate, tolerance=tolerance)
    if not one.raw or one.rows.lengths_s is None:
        return
    mbit = float((one.rows.values * one.rows.lengths_s).sum())
    covered = float(one.rows.lengths_s.sum())
    give = _rounding_of_intervals(one.rows)
    if moved is not None and elapsed:
        yield laws.add_up(
            "intervals add up to the total",
            list(one.rows.values * one.rows.lengths_s),
            f'Mbit of the intervals of "{one.name}"',
            ("the bytes are", moved * 8e-6),
            # The end of the last interval and of the test differ.
            give + _unreported(one.rows),
        )
    elif mean is not None and mean > 0:
        yield _mean_of_test(one, mbit, covered, give)


def _rounding_of_intervals(rows: _Rows) -> float:
    """Mbit that the rounding of lengths (to 1 ms) and rates (to 0.01) may amount to."""
    assert rows.lengths_s is not None, "it is of intervals"
    return float((0.0005 * np.abs(rows.values) + 0.005 * rows.lengths_s).sum())


def _unreported(rows: _Rows) -> float:
    """Mbit that may have moved after the last interval: as much as in the largest one."""
    assert rows.lengths_s is not None, "it is of intervals"
    return float((rows.values * rows.lengths_s).max())


def _mean_of_test(one: _DataSet, mbit: float, covered: float, give: float) -> Check:
    """The rate of the whole test is that of the intervals. The test may end with an interval that
    is not reported; an upload ends when the last byte is acknowledged."""
    mean, half = one.figure("MEAN_VALUE"), 0.005
    assert mean is not None, "the caller looked"
    factor = _factor(one)
    most = (mbit + give + _unreported(one.rows)) / covered
    assert one.rows.lengths_s is not None, "the caller looked"
    quiet = _QUIET_END_S if one.kind == "upload" else float(one.rows.lengths_s.max())
    least = (mbit - give) / (covered + quiet)
    holds = least - half * factor <= mean * factor <= most + half * factor
    return Check(
        law="the mean is that of the intervals",
        holds=holds,
        detail=f'"{one.name}": the file says {laws.figure(mean * factor)} Mbit/s, its intervals '
        f"give {laws.figure(least)} to {laws.figure(most)} Mbit/s",
    )


def _laws_of_rounds(file: _File, one: _DataSet) -> Iterator[Check]:
    mean = one.figure("MEAN_VALUE")
    if not one.raw or one.rows.lengths_s is None or mean is None or mean <= 0:
        return
    rounds, covered = _rounds(one.rows)
    length = json_text.number(file.metadata, "TOTAL_LENGTH", "metadata") or covered
    if covered < 0.9 * length:
        file.notes.append(
            f'"{one.name}": the intervals cover {covered:.1f} of {length:g} s, because netperf '
            "reports none while it waits for a lost packet; the mean is netperf's own."
        )
        return
    if rounds <= 0:
        return
    rates = 1e3 / one.rows.values[~np.isnan(one.rows.values)]
    lengths = one.rows.lengths_s[~np.isnan(one.rows.values)]
    give = float((0.0005 * rates + 0.005 * lengths).sum()) / rounds
    rate = 1e3 / mean
    yield laws.agree(
        "the mean is that of the intervals",
        (f'"{one.name}": the intervals have (ms)', 1e3 * covered / rounds),
        ("the file says", mean),
        # The rate has two decimals, and the end of the test is in no interval.
        mean * (give + 0.005 / rate + max(length - covered, 0.0) / length),
    )


def _laws_of_samples(one: _DataSet) -> Iterator[Check]:
    values = one.rows.values
    unit = _last_digits(values)
    law = "the mean, minimum and maximum agree with the samples"
    for key, found, give in (
        ("MEAN_VALUE", values.mean(), unit.mean()),
        ("MIN_VALUE", values.min(), unit[values.argmin()]),
        ("MAX_VALUE", values.max(), unit[values.argmax()]),
    ):
        said = one.figure(key)
        if said is not None:
            yield laws.agree(
                law,
                (f'"{one.name}": the {key[:-6].lower()} of {len(values)} samples is', float(found)),
                ("the file says", said),
                # The program cuts or rounds each sample, and prints the figure with fewer digits.
                float(give) + _last_digit(said),
            )
    sent, received = one.figure("PACKETS_SENT"), one.figure("PACKETS_RECEIVED")
    lost = one.figure("PACKET_LOSS_RATE")
    if sent is not None and received is not None:
        yield laws.agree(
            "each packet that came back has a sample",
            (f'"{one.name}": samples', float(len(values))),
            ("packets received", received),
            0.0,
        )
        if lost is not None:
            yield laws.received_is_sent_less_lost(
                sent, lost, received, unit="packets", tolerance=1e-6 * max(sent, 1.0)
            )


def _last_digits(values: Floats) -> Floats:
    """One unit of the last printed digit of each sample. ping and fping print three significant
    digits, irtt six decimals."""
    decimals = max(map(_decimals, values[:100].tolist()))
    if decimals > 3:
        return np.full(len(values), 10.0**-decimals)
    magnitude = np.floor(np.log10(np.maximum(np.abs(values), 1e-3)))
    unit: Floats = 10.0 ** np.maximum(magnitude - 2, -3)
    return unit


def _last_digit(value: float) -> float:
    return 10.0 ** -min(_decimals(value), 6)


def _decimals(value: float) -> int:
    return len(repr(value).partition("e")[0].partition(".")[2])


def _laws_of_computed(file: _File, sets: Sequence[_DataSet]) -> Iterator[Check]:
    """Flent's own sums and averages agree with the data sets that are read."""
    for name in file.results:
        stem, _, how = name.rpartition(" ")
        if how not in ("sum", "avg"):
            continue
        said = json_text.number(file.meta(name), "MEAN_VALUE", f'metadata.SERIES_META."{name}"')
        parts = [one.figure("MEAN_VALUE") for one in sets if one.name.startswith(stem)]
        there = [part for part in parts if part is not None]
        if said is None or not there or len(there) < len(parts):
            continue
        total = math.fsum(there) / (1 if how == "sum" else len(there))
        law = "the streams add up to the sum"
        yield laws.agree(
            law if how == "sum" else "the average is that of the data sets",
            (f'{len(there)} data sets "{stem}" give', total),
            (f'"{name}" is', said),
            1e-6 * max(1.0, abs(said)),
        )
