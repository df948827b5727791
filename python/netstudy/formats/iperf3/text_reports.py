"""Tests in the text that iperf3 prints for people.

Sizes are in units of 1,024 (`MBytes` is 2^20 bytes), bits in units of 1,000 (iperf3's units.c). A
number has three digits unless `-f` asks for another unit, so each has its half of a last digit. A
line may begin with a time (`--timestamps`). Lines that are not part of a table of results are
banners, and ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Literal

from netstudy.formats.clock import mail_s
from netstudy.formats.iperf3.report import (
    WHOLE,
    Report,
    Role,
    Row,
    Way,
    is_end_of_a_server,
    own_end,
)
from netstudy.formats.measured import FormatError
from netstudy.formats.numbers import decimal, half_a_digit, is_finite, whole

_BYTES: Final = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
_BITS: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_MOST_STREAMS: Final = 128
"""The most streams that iperf3 opens (MAX_STREAMS)."""

_ROW: Final = re.compile(
    r"\[ *(?P<stream>[0-9]+|SUM)\](?:\[(?P<role>[TR]X)-(?P<at>[CS])\])? +"
    r"(?P<start>\S+?)- *(?P<end>\S+) +sec +"
    r"(?P<moved>\S+) +(?P<scale>[KMGT]?)Bytes +"
    r"(?P<rate>\S+) +(?P<rate_scale>[KMGT]?)(?P<rate_unit>bits|Bytes)/sec(?P<rest>.*)"
)
_HEADER: Final = re.compile(r"\[ ID\](?P<role>\[Role\])? +Interval +Transfer +B(?:itrate|andwidth)")
_BROKEN_ROW: Final = re.compile(r"\[ *(?:[0-9]+|SUM)\](?:\[[TR]X-[CS]\])? +[0-9.]+- *[0-9.]+ +sec")
_TCP_SENDS: Final = re.compile(r" +(?P<count>[0-9]+)(?: +(?P<cwnd>\S+) +(?P<scale>[KMGT]?)Bytes)?")
_UDP_SENDS: Final = re.compile(r" +(?P<count>[0-9]+)")
_UDP_GETS: Final = re.compile(r" +(?P<jitter>\S+) ms +(?P<lost>-?[0-9]+)/(?P<of>[0-9]+) \(\S+%\)")
_END_OF_ROW: Final = re.compile(r" *(?P<mark>\(omitted\)|sender|receiver|) *")
_OUT_OF_ORDER: Final = re.compile(
    r"\[ *(?P<stream>[0-9]+|SUM)\].* sec +(?P<count>[0-9]+) datagrams received out-of-order"
)
_CONNECTING: Final = re.compile(r"Connecting to host (?P<host>.+), port (?P<port>[0-9]+)$")
_CPU: Final = re.compile(
    r"CPU Utilization: local/\w+ (?P<local>\S+)% .*, remote/\w+ (?P<remote>\S+)% "
)
_STARTING: Final = re.compile(
    r"Starting Test: protocol: (?P<protocol>\w+), (?P<streams>[0-9]+) streams, "
    r"(?P<block>[0-9]+) byte blocks, omitting (?P<omit>[0-9]+) seconds"
)
_ERROR: Final = re.compile(r"iperf3: (?:error - )?(?P<error>.*)")

Mode = Literal["forward", "reverse", "bidirectional"]


def looks_like_text(head: str) -> bool:
    """True if a file begins with lines of iperf3's text."""
    lines = head.splitlines()
    if any(_HEADER.search(line) and _is_of_iperf3(lines, at) for at, line in enumerate(lines)):
        return True
    return any(_ERROR.search(line) for line in lines[:20])


def _is_of_iperf3(lines: list[str], header: int) -> bool:
    """iperf 2 has a similar header, but intervals of one or four decimals and no banner such as
    these."""
    return any(
        _CONNECTING.search(line) or "Accepted connection from" in line
        for line in lines[max(0, header - _MOST_STREAMS - 40) : header]
    )


def text_reports(
    text: str,
    role: Role = "client",
    mode: Mode = "forward",
) -> list[Report]:
    """The tests of a file. `role` and `mode` are for a text without a banner that names them.
    Raises FormatError, with the line."""
    reader = _Reader(role, mode)
    for index, line in enumerate(text.splitlines()):
        reader.take(line, f"line {index + 1}")
    return reader.finished()


class _Reader:
    """Reads lines in their order. `other` is true within the server's output that a client prints
    (--get-server-output)."""

    def __init__(self, role: Role, mode: Mode) -> None:
        self.reports: list[Report] = []
        self.role = role
        self.mode = mode
        self.version: str | None = None
        self.started_s: float | None = None
        self.report: Report | None = None
        self.in_totals = False

    def take(self, line: str, where: str) -> None:
        row = _ROW.search(line)
        if row is not None:
            self._row(row, where)
        elif _HEADER.search(line):
            self._header(line)
        elif _BROKEN_ROW.search(line):
            self._no_row(line, where)
        else:
            self._banner(line.rstrip(), where)

    def finished(self) -> list[Report]:
        for report in self.reports:
            for each in (report, report.other):
                if each is not None and each.error is None and not each.totals:
                    each.error = "the file ends before the test does: its totals are missing"
        return self.reports

    def _new(self, role: Role) -> Report:
        self.report = Report(
            role=role, version=self.version, started_s=self.started_s, mode=self.mode
        )
        self.in_totals = False
        return self.report

    def _current(self) -> Report:
        if self.report is None:
            self.reports.append(self._new(self.role))
        assert self.report is not None, "it was just made"
        return self.report

    def _banner(self, line: str, where: str) -> None:
        report = self.report
        if match := _CONNECTING.search(line):
            self.mode = "forward"
            self.reports.append(self._new("client"))
            self._current().target = f"{match['host']}:{match['port']}"
        elif "Reverse mode, remote host" in line:
            self._current().mode = "reverse"
        elif line.endswith("Server output:") and report is not None and report.role == "client":
            mode = report.mode
            report.other = self._new("server")
            report.other.mode = mode
        elif "Accepted connection from" in line and self._begins_a_log():
            self.mode = "forward"
            self.reports.append(self._new("server"))
        elif match := _ERROR.search(line):
            self._failed(match["error"])
        elif match := re.search(r"(?:^|\s)iperf (3\.\S+)", line):
            self.version = match[1]
        elif match := re.search(r"(?:^|\s)Time: (.+)$", line):
            self.started_s = mail_s(match[1], where)
            if report is not None:
                report.started_s = self.started_s
        else:
            self._details(line, where)

    def _begins_a_log(self) -> bool:
        """False within the server's output that a client prints, whose first test it is."""
        report = self.report
        if report is None:
            return True
        is_part = any(each.other is report for each in self.reports)
        return not is_part and report.role == "server" and bool(report.intervals or report.totals)

    def _failed(self, error: str) -> None:
        if is_end_of_a_server(error) and (self.report is None or self.report.totals):
            return
        if self.report is None or self.report.totals:
            self.reports.append(self._new(self.role))
        self._current().error = error

    def _details(self, line: str, where: str) -> None:
        report = self.report
        if report is None:
            return
        if match := _STARTING.search(line):
            report.protocol = match["protocol"]
            report.block_bytes = float(match["block"])
        elif match := _CPU.search(line):
            report.cpu_local_pct = _finite(match["local"], "the CPU utilization", where, report)
            report.cpu_remote_pct = _finite(match["remote"], "the CPU utilization", where, report)
        elif match := _OUT_OF_ORDER.search(line):
            report.out_of_order = float(match["count"])
        elif match := re.search(r"(?:^|\s)((?:snd|rcv)_tcp_congestion) (\w+)$", line):
            key = {"snd": "sender", "rcv": "receiver"}[match[1][:3]]
            report.settings[f"{key}_tcp_congestion"] = match[2]

    def _header(self, line: str) -> None:
        report = self._current()
        if report.intervals:
            self.in_totals = True
        sends = "Retr" in line or " Total Datagrams" in line
        if "Datagrams" in line:
            report.protocol = "UDP"
        if "[Role]" in line:
            report.mode = "bidirectional"
        elif report.role == "server" and sends and report.mode == "forward":
            report.mode = "reverse"

    def _no_row(self, line: str, where: str) -> None:
        if match := _OUT_OF_ORDER.search(line):
            self._current().out_of_order = float(match["count"])
            return
        raise FormatError(f"{where}: this is not a row of iperf3's results: {line.strip()[:80]}")

    def _row(self, match: re.Match[str], where: str) -> None:
        report = self._current()
        rows = report.totals if self.in_totals else report.intervals
        rows.extend(self._rows(match, where, report))

    def _rows(self, match: re.Match[str], where: str, report: Report) -> Iterator[Row]:
        counts, mark = self._counts(match["rest"], where, report)
        counts["omitted"] = mark == "(omitted)"
        row = _measured(match, where, report, self._way(match, report, where), counts)
        if not self.in_totals:
            if mark in ("sender", "receiver"):
                raise FormatError(f"{where}: a row of totals comes before the totals' header")
            yield row
        elif mark == "sender":
            yield _of_sender(row)
        elif mark == "receiver":
            yield _of_receiver(row)
        elif report.protocol == "UDP" and report.role == "client":
            # Before 3.2 the totals of UDP are the sender's bytes and the receiver's losses.
            yield _of_sender(row)
            yield replace(_of_receiver(row), bytes_moved=None, bits_per_s=None)
        else:
            yield row

    def _way(self, match: re.Match[str], report: Report, where: str) -> Way:
        if match["role"] is not None:
            return "put" if (match["role"] == "TX") == (match["at"] == "C") else "get"
        if report.mode == "bidirectional":
            raise FormatError(f"{where}: a row has no role, the header says that it has one")
        return "get" if report.mode == "reverse" else "put"

    def _counts(self, rest: str, where: str, report: Report) -> tuple[dict[str, Any], str]:
        """The columns after the bit rate, and the mark at the end of the line."""
        found: dict[str, Any] = {}
        at = 0
        if match := _UDP_GETS.match(rest):
            at = match.end()
            found["jitter_ms"] = _finite(match["jitter"], "jitter", where, report)
            found["lost"], found["datagrams"] = float(match["lost"]), float(match["of"])
        elif report.protocol == "UDP" and (match := _UDP_SENDS.match(rest)):
            at = match.end()
            found["datagrams"] = float(whole(match["count"], where))
        elif report.protocol != "UDP" and (match := _TCP_SENDS.match(rest)):
            at = match.end()
            found["retransmissions"] = float(whole(match["count"], where))
            if match["cwnd"] is not None:
                cwnd = _finite(match["cwnd"], "cwnd", where, report)
                found["cwnd_bytes"] = None if cwnd is None else cwnd * _BYTES[match["scale"]]
        ending = _END_OF_ROW.fullmatch(rest, at)
        if ending is None:
            raise FormatError(
                f'{where}: "{rest.strip()[:60]}" after the bit rate is not known here'
            )
        return found, ending["mark"]


def _of_sender(row: Row) -> Row:
    """A row of totals with the sender's counts; its line prints a jitter and losses of 0."""
    return replace(row, end="sender", jitter_ms=None, lost=None)


def _of_receiver(row: Row) -> Row:
    return replace(row, end="receiver", retransmissions=None, cwnd_bytes=None)


def _measured(
    match: re.Match[str], where: str, report: Report, way: Way, counts: dict[str, Any]
) -> Row:
    start, end = decimal(match["start"], where), decimal(match["end"], where)
    if end < start:
        raise FormatError(f"{where}: an interval ends before it starts")
    size = _BYTES[match["scale"]]
    in_bits = match["rate_unit"] == "bits"
    rate_size = _BITS[match["rate_scale"]] if in_bits else 8 * _BYTES[match["rate_scale"]]
    moved = _finite(match["moved"], "the transfer", where, report)
    rate = _finite(match["rate"], "the bit rate", where, report)
    return Row(
        way=way,
        end=own_end(report.role, way),
        stream=WHOLE if match["stream"] == "SUM" else f"stream {int(match['stream'])}",
        start_s=start,
        end_s=end,
        bytes_moved=None if moved is None else moved * size,
        bits_per_s=None if rate is None else rate * rate_size,
        bytes_half=0.0 if moved is None else half_a_digit(match["moved"]) * size,
        rate_half=0.0 if rate is None else half_a_digit(match["rate"]) * rate_size,
        time_half=half_a_digit(match["end"]),
        **counts,
    )


def _finite(text: str, what: str, where: str, report: Report) -> float | None:
    if is_finite(text):
        return decimal(text, where)
    report.notes.append(f"{where}: {what} is left out: it is {text}, which is not a number.")
    return None
