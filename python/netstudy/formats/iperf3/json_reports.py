"""Tests in the JSON of iperf3: `-J`, one document a test, and `--json-stream`, one event a line.

Shapes differ by version: `sum_bidir_reverse` since 3.11, before it (3.7 to 3.10.1) an object has
the key `sum` twice, first for the way to the server; `sum_sent` and `sum_received` of UDP since
3.11, before it only `sum` with the bytes of the sender and the losses of the receiver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from netstudy.formats.iperf3.report import (
    DEFAULT_BUFFER_BYTES,
    WHOLE,
    End,
    Report,
    Role,
    Row,
    Way,
    is_end_of_a_server,
    own_end,
)
from netstudy.formats.iperf3.text_reports import text_reports
from netstudy.formats.json_text import (
    Object,
    Repeated,
    child,
    documents,
    flag,
    joined,
    mapping,
    number,
    objects,
    string,
)
from netstudy.formats.measured import FormatError

_REVERSE: Final = "_bidir_reverse"
_EVENTS: Final = ("start", "end", "error", "server_output_json", "server_output_text")


def json_reports(text: str) -> list[Report]:
    """The tests of a file. Raises FormatError."""
    tests: list[dict[str, Any]] = []
    for index, value in enumerate(documents(text)):
        path = f"document {index + 1}"
        document = mapping(value, path)
        if "event" in document:
            _take_event(tests, document, path)
        elif not (tests and _is_the_same(tests[-1], document)):
            tests.append({**document, "path": path})
    return [_report(test, test["path"]) for test in tests if not _ends_a_server(test)]


def _ends_a_server(test: Object) -> bool:
    """True of the document of a server that was stopped while it waited for a test."""
    error, start = test.get("error"), test.get("start")
    waits = isinstance(start, dict) and "accepted_connection" not in start
    return isinstance(error, str) and is_end_of_a_server(error) and waits


def _take_event(tests: list[dict[str, Any]], document: Object, path: str) -> None:
    """Put an event into its test: the last one, or a new one that it starts."""
    event = string(document, "event", path)
    if event == "start" or not tests or not tests[-1].get("streamed"):
        tests.append({"path": path, "streamed": True, "intervals": []})
    test = tests[-1]
    if event == "interval":
        test["intervals"].append(document.get("data"))
    elif event in test:
        raise FormatError(f"{path}: the event {event} comes twice in a test")
    elif event in _EVENTS:
        test[event] = document.get("data")
    else:
        raise FormatError(f'{path}: the event "{event}" is not known')


def _is_the_same(stream: Object, document: Object) -> bool:
    """True if a whole document follows the events of the same test (--json-stream-full-output)."""
    starts = [each.get("start") for each in (stream, document)]
    cookies = [start.get("cookie") for start in starts if isinstance(start, dict)]
    return bool(stream.get("streamed")) and len(cookies) == 2 and cookies[0] == cookies[1]


def _report(document: Object, path: str) -> Report:
    start = child(document, "start", path)
    error = document.get("error")
    if start is None:
        if isinstance(error, str):
            return Report(role="client", error=error)
        raise FormatError(f"{path}: there is no start of a test in it")
    report = _started(start, joined(path, "start"))
    if isinstance(error, str):
        report.error = error
        return report
    end = child(document, "end", path)
    if end is None and document.get("streamed"):
        report.error = "the file ends before the test does: the event end is missing"
        return report
    if not end:
        report.error = "the test has no results: end is empty"
        return report
    for index, interval in enumerate(objects(document, "intervals", path)):
        report.intervals += _interval(report, interval, f"{joined(path, 'intervals')}[{index}]")
    report.totals += _totals(report, end, joined(path, "end"))
    _add_cpu(report, end, joined(path, "end"))
    _add_congestion(report, end)
    report.other = _other_end(document, path, report)
    return report


def _started(start: Object, path: str) -> Report:
    test = child(start, "test_start", path) or {}
    inner = joined(path, "test_start")
    version = string(start, "version", path)
    report = Report(
        role="server" if start.get("accepted_connection") is not None else "client",
        version=version.removeprefix("iperf ") if version else None,
        started_s=_start_time(start, path),
        protocol=string(test, "protocol", inner) or "TCP",
        target=_target(start, path),
        omit_s=number(test, "omit", inner) or 0.0,
        block_bytes=number(test, "blksize", inner),
        buffers_bytes=_buffers(start),
    )
    # Before 3.17 the JSON does not name the mode --bidir; two ways in the results show it.
    if flag(test, "bidir", inner):
        report.mode = "bidirectional"
    elif flag(test, "reverse", inner):
        report.mode = "reverse"
    streams = number(test, "num_streams", inner)
    if streams is not None:
        report.settings["streams"] = f"{streams:g}"
    rate = number(test, "target_bitrate", inner)
    if rate:
        report.settings["target_bitrate_mbps"] = f"{rate / 1e6:g}"
    return report


def _start_time(start: Object, path: str) -> float | None:
    stamp = child(start, "timestamp", path)
    if stamp is None:
        return None
    # Since 3.17 in milliseconds too; before it the time is that of the second's beginning.
    millis = number(stamp, "timemillisecs", joined(path, "timestamp"))
    if millis is not None:
        return millis / 1e3
    return number(stamp, "timesecs", joined(path, "timestamp"))


def _target(start: Object, path: str) -> str | None:
    to = child(start, "connecting_to", path)
    if to is None:
        return None
    host, port = string(to, "host", path), number(to, "port", path)
    return host if host is None or port is None else f"{host}:{port:.0f}"


def _buffers(start: Object) -> float:
    sizes = []
    for key in ("sndbuf_actual", "rcvbuf_actual"):
        value = start.get(key)  # repeated for each stream of TCP
        value = value[0] if isinstance(value, Repeated) else value
        # The file has the buffers of one end; the other end is taken to have the default at least.
        sizes.append(max(value if isinstance(value, int) else 0, DEFAULT_BUFFER_BYTES))
    return float(sum(sizes))


def _interval(report: Report, interval: Object, path: str) -> Iterator[Row]:
    for row in objects(interval, "streams", path):
        inner = joined(path, "streams")
        way = _way(report, flag(row, "sender", inner))
        yield _row(report, row, inner, way, own_end(report.role, way), _stream(row, inner))
    for way, row, inner in _sums(report, interval, "sum", path):
        yield _row(report, row, inner, way, own_end(report.role, way), WHOLE)


def _totals(report: Report, end: Object, path: str) -> Iterator[Row]:
    for stream in objects(end, "streams", path):
        yield from _total_of_stream(report, stream, joined(path, "streams"))
    ends: tuple[tuple[str, End], ...] = (("sum_sent", "sender"), ("sum_received", "receiver"))
    for key, which in ends:
        for way, row, inner in _sums(report, end, key, path):
            if _is_known(report, way, which):
                yield _row(report, row, inner, way, which, WHOLE)
    if "sum_sent" not in end and "sum_received" not in end:
        for way, row, inner in _sums(report, end, "sum", path):
            yield from _both_ends(report, row, inner, way, WHOLE)


def _total_of_stream(report: Report, stream: Object, path: str) -> Iterator[Row]:
    ends: tuple[End, ...] = ("sender", "receiver")
    for which in ends:
        row = child(stream, which, path)
        if row is None:
            continue
        way = _way(report, flag(row, "sender", path))
        if _is_known(report, way, which):
            yield _row(report, row, joined(path, which), way, which, _stream(row, path))
    row = child(stream, "udp", path)
    if row is not None:
        way = _way(report, flag(row, "sender", path))
        yield from _both_ends(report, row, joined(path, "udp"), way, _stream(row, path))


def _is_known(report: Report, way: Way, end: End) -> bool:
    """True if the reporting end knows the counts of this one. A server does not get its client's
    counts, and writes zeros for them."""
    return report.role == "client" or end == own_end("server", way)


def _both_ends(report: Report, row: Object, path: str, way: Way, stream: str) -> Iterator[Row]:
    """A row with the bytes of the sender and the losses of the receiver."""
    found = _row(report, row, path, way, "receiver", stream)
    if _is_known(report, way, "sender"):
        yield replace(found, end="sender", jitter_ms=None, lost=None, out_of_order=None)
    if _is_known(report, way, "receiver"):
        yield replace(found, bytes_moved=None, bits_per_s=None)


def _sums(report: Report, of: Object, key: str, path: str) -> Iterator[tuple[Way, Object, str]]:
    value = of.get(key)
    inner = joined(path, key)
    if isinstance(value, Repeated):
        if len(value) != 2:
            raise FormatError(f"{inner}: the key stands {len(value)} times, at most 2 are expected")
        report.mode = "bidirectional"
        ways: tuple[Way, Way] = ("put", "get")
        for way, each in zip(ways, value, strict=True):
            yield way, mapping(each, inner), inner
        return
    reverse = child(of, key + _REVERSE, path)
    if reverse is not None:
        report.mode = "bidirectional"
    if value is not None:
        yield ("get" if report.mode == "reverse" else "put"), mapping(value, inner), inner
    if reverse is not None:
        yield "get", reverse, inner + _REVERSE


def _way(report: Report, sends: bool | None) -> Way:
    """The way of a stream: by its flag, which says whether the reporting end sends."""
    if sends is None:  # before 3.7, which has no --bidir
        return "get" if report.mode == "reverse" else "put"
    return "put" if sends == (report.role == "client") else "get"


def _stream(row: Object, path: str) -> str:
    socket = number(row, "socket", path)
    if socket is None:
        raise FormatError(f"{path}: a stream has no socket")
    return f"stream {socket:.0f}"


def _row(report: Report, row: Object, path: str, way: Way, end: End, stream: str) -> Row:
    notes = report.notes
    start, stop = number(row, "start", path, notes), number(row, "end", path, notes)
    if start is None or stop is None or stop < start:
        raise FormatError(f"{path}: an interval needs its start and end, in this order")
    sends = end == "sender"
    return Row(
        way=way,
        end=end,
        stream=stream,
        start_s=start,
        end_s=stop,
        bytes_moved=number(row, "bytes", path, notes),
        bits_per_s=number(row, "bits_per_second", path, notes),
        retransmissions=number(row, "retransmits", path, notes) if sends else None,
        cwnd_bytes=_above_zero(number(row, "snd_cwnd", path, notes)) if sends else None,
        srtt_us=_above_zero(number(row, "rtt", path, notes)) if sends else None,
        jitter_ms=None if sends else number(row, "jitter_ms", path, notes),
        datagrams=number(row, "packets", path, notes),
        lost=None if sends else number(row, "lost_packets", path, notes),
        out_of_order=None if sends else number(row, "out_of_order", path, notes),
        omitted=bool(flag(row, "omitted", path)),
    )


def _above_zero(value: float | None) -> float | None:
    """Of readings of TCP that a system without TCP_INFO reports as 0 or -1."""
    return value if value is not None and value > 0 else None


def _add_cpu(report: Report, end: Object, path: str) -> None:
    cpu = child(end, "cpu_utilization_percent", path)
    if cpu is None:
        return
    inner = joined(path, "cpu_utilization_percent")
    report.cpu_local_pct = number(cpu, "host_total", inner, report.notes)
    if report.role == "client":
        report.cpu_remote_pct = number(cpu, "remote_total", inner, report.notes)


def _add_congestion(report: Report, end: Object) -> None:
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        value = end.get(key)
        if isinstance(value, str):
            report.settings[key] = value


def _other_end(document: Object, path: str, report: Report) -> Report | None:
    server = child(document, "server_output_json", path)
    if server is not None:
        return _report(server, joined(path, "server_output_json"))
    text = document.get("server_output_text")
    if not isinstance(text, str) or not text.strip():
        return None
    role: Role = "server"
    found = text_reports(text, role=role, mode=report.mode)
    return found[-1] if found else None
