"""The text that ping prints: iputils with and without -D, -O, -n, -q; BusyBox, macOS and BSD.

The heading and the summary are read by jc. The lines of replies are not: jc 1.26.1 takes their
words by position, and so has no time for any reply of `ping -n NAME`. It also takes the summary of
iputils for one of BSD if it has no round-trip times and no empty line follows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from netstudy.formats import laws, numbers
from netstudy.formats.measured import Content, FormatError, Measurement, Quantity, Series
from netstudy.formats.plain_text import text_of
from netstudy.wire import Check

_HEAD: Final = re.compile(r"(?:PING |PING6\()")
_FIRST: Final = re.compile(
    rb"(?:(?:PATTERN: 0x|WARNING: |ping[46]?: |connect: )[^\n]*\n)*"
    rb"(?:PING [^\n]*\d+[^\n]*\n|PING6\()"
    rb"|(?:[^\s:]*/)?(?:ping[46]?|connect): "
)
_REPLY: Final = re.compile(
    r"(?:\[(?P<at>\d{9,11}\.\d{6})\] )?\d+ bytes from (?P<who>.+?)[:,] (?:icmp_)?seq=(?P<seq>\d+)"
    r"(?: (?:ttl|hlim)=\d+)?(?: time=(?P<time>\S+) ms)?(?P<rest>.*)"
)
_REPLY_OF_ANY_LANGUAGE: Final = re.compile(r"(?:\[[\d.,]+\] )?\d+ [^\W\d]+ [^\W\d]+ .*\bicmp_seq\b")
_UNANSWERED: Final = re.compile(
    r"(?:\[[\d.]+\] )?(?:no answer yet for icmp_seq=|Request timeout for icmp_seq )(?P<seq>\d+)"
)
_ERROR: Final = re.compile(r"(?:\[[\d.]+\] )?From .+? icmp_seq=(?P<seq>\d+) (?P<why>.+)")
_STATISTICS: Final = re.compile(r"--- .* ping6? statistics ---")
_COUNTS: Final = re.compile(r"\d+ packets transmitted, .*% packet loss\b")
_TIMES: Final = re.compile(r"(?:rtt|round-trip) min/avg/max\S* = ")
_SEQUENCE_NUMBERS: Final = 65_536
"""After so many packets, numbers start again."""
_FLOOD: Final = re.compile(r"[.E\x08\s]*")

_RTT: Final = "round-trip time of ICMP echo"
_OF_SUMMARY: Final = "As the summary says, in a file without the single replies (-q)."
_QUANTITIES: Final = (
    Quantity(
        "ping_rtt_ms",
        _RTT,
        "ms",
        "lower",
        3,
        "One sample for each reply but duplicates, with the digits that ping prints: three "
        "significant ones with iputils. It is the way there and back, with the time that both "
        "hosts take; lost packets have no sample.",
    ),
    Quantity(
        "ping_rtt_ms_mean",
        f"mean {_RTT}",
        "ms",
        "lower",
        3,
        "From the summary, if that is all (-q).",
    ),
    Quantity(
        "ping_rtt_ms_min",
        f"least {_RTT}",
        "ms",
        "lower",
        3,
        "From the summary, if that is all (-q).",
    ),
    Quantity(
        "ping_rtt_ms_max",
        f"largest {_RTT}",
        "ms",
        "lower",
        3,
        "From the summary, if that is all (-q).",
    ),
    Quantity(
        "ping_loss_pct",
        "loss of ICMP echo",
        "%",
        "lower",
        2,
        "Share of requests without a reply, either way; 1 - received / transmitted of the summary.",
    ),
)


@dataclass(frozen=True)
class _Reply:
    line: int
    at_s: float | None
    """When it came, since 1970 (-D)."""
    time: str | None
    """Round-trip time as printed; None: too small a payload for a time."""
    duplicate: bool


@dataclass(frozen=True)
class _Summary:
    target: str
    payload_bytes: str | None
    transmitted: int
    received: int
    duplicates: int
    loss: str
    """As printed, in per cent."""
    times: tuple[str, ...]
    """Minimum, mean, maximum and, if printed, mean deviation, in ms; empty: none were measured."""


class _Ping:
    name = "ping"
    title = "ping's text (iputils, also -D, -O, -q; BusyBox, macOS, BSD)"
    quantities = _QUANTITIES
    left_out = (
        "Duplicate replies (DUP!) are no samples, because the first reply is the answer; they are "
        "counted in a note.",
        "Errors of routers (Destination Host Unreachable) are named in a note; their packets count "
        "as lost.",
        "A file without the summary is refused, because the number of lost packets is not in it; "
        "end ping by SIGINT, not by SIGKILL.",
    )

    def recognises(self, head: bytes) -> bool:
        return _FIRST.match(head.lstrip()) is not None

    def read(self, data: bytes) -> Content:
        lines = [line.rstrip() for line in text_of(data).split("\n")]
        starts = [index for index, line in enumerate(lines) if _HEAD.match(line)]
        if not starts:
            return (_failed(lines),)
        ends = [*starts[1:], len(lines)]
        return tuple(_run(lines, start, end) for start, end in zip(starts, ends, strict=True))


FORMAT: Final = _Ping()


def _failed(lines: Sequence[str]) -> Measurement:
    said = [line for line in lines if re.match(r"(?:[^\s:]*/)?(?:ping[46]?|connect): ", line)]
    if not said:
        raise FormatError("line 1: there is no line that begins with PING")
    return Measurement(tool="ping", error=said[0])


def _run(lines: Sequence[str], start: int, end: int) -> Measurement:
    """One run of ping, from its heading to the next one."""
    replies: list[_Reply] = []
    others: list[str] = []
    errors: list[str] = []
    highest = 0
    closing = next((i for i in range(start, end) if _STATISTICS.fullmatch(lines[i])), None)
    if closing is None:
        raise FormatError(_no_summary(lines, start, end))
    for index in range(start + 1, closing):
        line = lines[index]
        if match := _REPLY.fullmatch(line) or _ERROR.fullmatch(line) or _UNANSWERED.fullmatch(line):
            highest = max(highest, numbers.whole(match["seq"], f"line {index + 1}"))
        if match := _REPLY.fullmatch(line):
            replies.append(_reply(match, index + 1))
        elif match := _ERROR.fullmatch(line):
            errors.append(match["why"])
        elif _REPLY_OF_ANY_LANGUAGE.match(line):
            raise FormatError(_other_language(index + 1, line))
        elif not _UNANSWERED.fullmatch(line) and not _FLOOD.fullmatch(line):
            others.append(line)
    summary = _summary(lines, start, closing, end)
    notes = _notes(replies, errors, others)
    return _measurement(summary, replies, highest, notes)


def _no_summary(lines: Sequence[str], start: int, end: int) -> str:
    if any(line.startswith("---") for line in lines[start:end]):
        return _other_language(start + 1, lines[start])
    return (
        f"line {end}: the summary is missing, so that the number of lost packets is not known; the "
        "file was cut off, or ping was killed: end it by SIGINT, as timeout -s INT 10 ping … does"
    )


def _other_language(line: int, text: str) -> str:
    return (
        f'line {line}: "{text[:80]}" is not a line that is known here; if it is in another '
        "language, make the file with LC_ALL=C ping …"
    )


def _reply(match: re.Match[str], line: int) -> _Reply:
    at = None if match["at"] is None else float(match["at"])
    if match["time"] is not None:
        numbers.decimal(match["time"], f"line {line}")
    return _Reply(line, at, match["time"], "DUP!" in match["rest"])


def _notes(
    replies: Sequence[_Reply], errors: Sequence[str], others: Sequence[str]
) -> tuple[str, ...]:
    notes = []
    if again := sum(reply.duplicate for reply in replies):
        notes.append(f"Duplicate replies are left out: {again}.")
    if errors:
        kinds = ", ".join(dict.fromkeys(errors))
        notes.append(f"Errors were reported for {len(errors)} packets: {kinds[:200]}.")
    if others:
        notes.append(
            f"Lines that are not known are left out: {len(others)}; the first is "
            f'"{others[0][:80]}".'
        )
    return tuple(notes)


def _summary(lines: Sequence[str], start: int, closing: int, end: int) -> _Summary:
    import jc  # it is slow to import, and most commands read no such file

    rest = range(closing + 1, end)
    counts = next((i for i in rest if _COUNTS.search(lines[i])), None)
    if counts is None:
        raise FormatError(f"line {closing + 1}: no line with the number of packets follows")
    times = next((i for i in rest if _TIMES.match(lines[i])), None)
    text = [lines[start], lines[closing], lines[counts]]
    text += [] if times is None else [lines[times]]
    try:
        found = jc.parse("ping", "\n".join([*text, "", ""]), raw=True, quiet=True)
        assert isinstance(found, dict), "ping's output is one object"
    except Exception as error:  # jc's parsers index lists of words
        raise FormatError(f"line {start + 1}: jc cannot read the heading: {error!r}") from error
    where = f"line {counts + 1}"
    return _Summary(
        target=str(found.get("destination_ip") or ""),
        payload_bytes=_payload(found),
        transmitted=_count(found, "packets_transmitted", where),
        received=_count(found, "packets_received", where),
        duplicates=_count(found, "duplicates", where),
        loss=_checked(str(found.get("packet_loss_percent")), where),
        times=() if times is None else _round_trips(found, f"line {times + 1}"),
    )


def _payload(found: dict[str, object]) -> str | None:
    match = re.match(r"\d+", str(found.get("data_bytes")))
    return match.group() if match else None


def _count(found: dict[str, object], key: str, where: str) -> int:
    return numbers.whole(str(found.get(key, "")), where)


def _checked(text: str, where: str) -> str:
    numbers.decimal(text, where)
    return text


def _round_trips(found: dict[str, object], where: str) -> tuple[str, ...]:
    keys = ("min", "avg", "max", "stddev")
    texts = [found.get(f"round_trip_ms_{key}") for key in keys]
    if texts[0] is None:
        raise FormatError(f"{where}: the times are not known; min/avg/max are expected, in ms")
    # jc leaves the unit at the third one where there is no deviation (BusyBox).
    there = [str(text).removesuffix(" ms") for text in texts if text is not None]
    return tuple(_checked(text, where) for text in there)


def _measurement(
    summary: _Summary, replies: Sequence[_Reply], highest: int, notes: tuple[str, ...]
) -> Measurement:
    first = [reply for reply in replies if not reply.duplicate]
    samples = np.array([float(reply.time) for reply in first if reply.time is not None], float)
    values: dict[str, float] = {}
    if summary.transmitted > 0:
        values["ping_loss_pct"] = 100 * (1 - summary.received / summary.transmitted)
    if not len(samples) and summary.times:
        least, mean, most = map(float, summary.times[:3])
        values |= {"ping_rtt_ms_min": least, "ping_rtt_ms_mean": mean, "ping_rtt_ms_max": most}
    window = _window(replies)
    settings = {"target": summary.target, "protocol": "ICMP"}
    if summary.payload_bytes is not None:
        settings["payload_bytes"] = summary.payload_bytes
    return Measurement(
        tool="ping",
        started_s=None if window is None else window[0],
        window_s=window,
        settings=settings,
        values=values,
        series=() if window is None else _series(first, window[0]),
        samples={"ping_rtt_ms": samples} if len(samples) else {},
        checks=tuple(_checks(summary, replies, highest)),
        notes=notes,
    )


def _window(replies: Sequence[_Reply]) -> tuple[float, float] | None:
    """From the first request that was answered to the last reply; None without -D."""
    times = [
        (reply.at_s, float(reply.time or 0) / 1e3) for reply in replies if reply.at_s is not None
    ]
    if not times or len(times) < len(replies):
        return None
    return min(at - took for at, took in times), max(at for at, _ in times)


def _series(replies: Sequence[_Reply], start: float) -> tuple[Series, ...]:
    """Round-trip times by the time of the reply; each holds since the one before it."""
    rows = sorted(
        (reply.at_s - start, float(reply.time))
        for reply in replies
        if reply.at_s is not None and reply.time is not None
    )
    if not rows:
        return ()
    ends, values = np.array(rows, float).T
    starts = np.concatenate([[0.0], ends[:-1]])
    return (Series("", starts, ends, {"ping_rtt_ms": values}),)


# --- laws ---


def _checks(summary: _Summary, replies: Sequence[_Reply], highest: int) -> Iterator[Check]:
    yield Check(
        law="no more is received than was transmitted",
        holds=summary.received <= summary.transmitted,
        detail=f"{summary.received} received, {summary.transmitted} transmitted",
    )
    if summary.transmitted > 0:
        yield laws.agree(
            "transmitted, received and lost agree",
            ("1 - received / transmitted is", 100 * (1 - summary.received / summary.transmitted)),
            ("the file says (%)", float(summary.loss)),
            # Some programs cut the share off, others round it.
            2 * numbers.half_a_digit(summary.loss),
        )
    if highest and summary.transmitted < _SEQUENCE_NUMBERS:
        yield Check(
            law="no sequence number is above the number of packets",
            holds=highest <= summary.transmitted,
            detail=f"the highest is {highest}, {summary.transmitted} were transmitted",
        )
    if summary.times:
        named = list(zip(("min", "avg", "max"), map(float, summary.times), strict=False))
        yield laws.ascending("min <= avg <= max", named)
        if len(summary.times) > len(named) and summary.received > 0:
            yield _deviation_is_possible(summary)
    if replies:
        yield from _checks_of_replies(summary, replies)


def _deviation_is_possible(summary: _Summary) -> Check:
    """n values between a minimum and a maximum that both occur, with this mean, have a variance of
    at least (max - min)² / 2n (von Szőkefalvi-Nagy, 1918) and at most (max - avg) (avg - min)
    (Bhatia and Davis, 2000)."""
    least, mean, most, deviation = map(float, summary.times)
    count = summary.received + summary.duplicates
    digit = 2 * numbers.half_a_digit(summary.times[0])
    low = max(most - least - digit, 0) / math.sqrt(2 * count)
    high = math.sqrt(max((most - mean + digit) * (mean - least + digit), 0))
    # iputils subtracts the square of a mean that is cut off to microseconds.
    slack = digit + _cut_mean(mean, deviation**2)
    return Check(
        law="the deviation is possible between minimum and maximum",
        holds=low - slack <= deviation <= high + slack,
        detail=f"{count} replies: {laws.figure(low)} to {laws.figure(high)} ms are possible, the "
        f"summary has {laws.figure(deviation)} (give or take {laws.figure(slack)})",
    )


def _checks_of_replies(summary: _Summary, replies: Sequence[_Reply]) -> Iterator[Check]:
    again = sum(reply.duplicate for reply in replies)
    # macOS and BSD do not mark a duplicate's line.
    yield laws.agree(
        "each reply has a line",
        ("lines of replies:", len(replies)),
        ("received, with duplicates:", summary.received + summary.duplicates),
        0.0,
    )
    if again:
        yield laws.agree(
            "duplicates agree", ("lines with DUP!:", again), ("summary:", summary.duplicates), 0.0
        )
    texts = [reply.time for reply in replies if reply.time is not None]
    if texts and summary.times:
        yield from _checks_of_times(summary.times, texts)


def _checks_of_times(said: Sequence[str], texts: Sequence[str]) -> Iterator[Check]:
    """Times of the summary agree with the replies; iputils averages duplicates too.

    iputils keeps microseconds and prints three significant digits of each reply; older versions cut
    them off instead of rounding.
    """
    times = np.array([float(text) for text in texts], float)
    units = np.array([2 * numbers.half_a_digit(text) for text in texts], float)
    figures = (
        ("minimum", times.min(), units[times.argmin()]),
        ("mean", times.mean(), units.mean()),
        ("maximum", times.max(), units[times.argmax()]),
        ("deviation", times.std(), math.sqrt((units**2).mean())),
    )
    for (words, found, give), text in zip(figures, said, strict=False):
        give += 2 * numbers.half_a_digit(text)
        if words == "deviation":
            give += _cut_mean(float(times.mean()), float(times.var()))
        yield laws.agree(
            f"the {words} is that of the replies",
            (f"of {len(times)} replies (ms):", float(found)),
            ("summary:", float(text)),
            float(give),
        )


def _cut_mean(mean: float, variance: float) -> float:
    """Error of the deviation in iputils before 2021: the square of a mean that was cut off to
    microseconds is subtracted from the mean square, so that the variance is off by up to twice the
    mean times a microsecond."""
    return math.sqrt(variance + 2 * mean * 1e-3) - math.sqrt(variance)
