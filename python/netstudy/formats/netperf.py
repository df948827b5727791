"""The output of netperf: omni tests as CSV (`-o`) and as keys with values (`-k`), and the tables of
the classic tests TCP_STREAM, TCP_MAERTS, TCP_RR, TCP_CRR and UDP_RR.

The user chooses the columns of an omni test, so that each is found by its name. The unit of the
throughput is a column of its own; a file without it is refused. netperf prints -1 for a value that
it did not measure.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from netstudy.formats import laws, numbers
from netstudy.formats.measured import Content, FormatError, Histogram, Measurement, Quantity
from netstudy.formats.plain_text import text_of
from netstudy.wire import Check

_BANNER: Final = re.compile(
    r"(?:MIGRATED |OMNI |DLPI |UDP |TCP |SCTP |SOCKET )[^,]*?\bTEST\b.* (?:from|to) .*"
)
_RECOGNISED: Final = re.compile(
    rb"\A\s*(?:(?:MIGRATED |OMNI |UDP |TCP |SCTP )[^\n]*\bTEST\b[^\n]* (?:from|to) "
    rb"|(?:[^\n]*,)?\s*Throughput Units\s*(?:,|\r?\n)"
    rb"|(?:[A-Z][A-Z0-9_]+=[^\n]*\n)*?THROUGHPUT(?:_UNITS)?=)"
)
_KEY: Final = re.compile(r"(?P<key>[A-Z][A-Z0-9_]+)=(?P<value>.*)")
_WARNING: Final = re.compile(r"!+\s*(?P<words>.*?)\s*!*")
_INTERIM: Final = re.compile(r"(?:Interim result:|NETPERF_(?:INTERIM|ENDING|UNITS)).*")
_BUCKETS: Final = re.compile(r"(?P<decade>[A-Z]+_[MU]?SEC)\s*:(?P<counts>(?:\s*\d+\s*:?){10})\s*")
_MOST_LINES_OF_A_HEADER: Final = 40

_COLUMNS: Final = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Protocol": "PROTOCOL",
    "Direction": "DIRECTION",
    "Transaction Rate Tran/s": "TRANSACTION_RATE",
    "Round Trip Latency usec/tran": "RT_LATENCY",
    "Initial Burst Requests": "BURST_SIZE",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
    "Remote Transport Retransmissions": "REMOTE_TRANSPORT_RETRANS",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Local Bytes Sent": "LOCAL_BYTES_SENT",
    "Local Bytes Received": "LOCAL_BYTES_RECVD",
    "Remote Bytes Sent": "REMOTE_BYTES_SENT",
    "Remote Bytes Received": "REMOTE_BYTES_RECVD",
    "Confidence Iterations Run": "CONFIDENCE_ITERATION",
    "Throughput Confidence Width (%)": "THROUGHPUT_CONFID",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Command Line": "COMMAND_LINE",
}
"""Column of CSV -> key of -k."""
_MBPS: Final = {
    "10^3bits/s": 1e-3,
    "10^6bits/s": 1.0,
    "10^9bits/s": 1e3,
    "Bytes/s": 8e-6,
    "KBytes/s": 8e-6 * 2**10,
    "MBytes/s": 8e-6 * 2**20,
    "GBytes/s": 8e-6 * 2**30,
}
"""Unit of the throughput -> its size in Mbit/s (netlib.c: K, M and G before bytes are powers of
two)."""
_TRANSACTIONS: Final = "Trans/s"
_DECADES_US: Final = {
    "UNIT_USEC": 1,
    "TEN_USEC": 10,
    "HUNDRED_USEC": 100,
    "UNIT_MSEC": 1_000,
    "TEN_MSEC": 10_000,
    "HUNDRED_MSEC": 100_000,
    "UNIT_SEC": 1_000_000,
    "TEN_SEC": 10_000_000,
}
_STATISTICS: Final = {
    "MIN_LATENCY": "min",
    "P50_LATENCY": "p50",
    "P90_LATENCY": "p90",
    "P99_LATENCY": "p99",
    "MAX_LATENCY": "max",
    "MEAN_LATENCY": "mean",
}
_ASCENDING: Final = ("MIN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY")


def _latencies(base: str, label: str, meaning: str) -> tuple[Quantity, ...]:
    names = {"mean": "mean of the", "min": "least", "max": "largest"}
    return tuple(
        Quantity(
            f"{base}_{end}", f"{names.get(end, end + ' of the')} {label}", "µs", "lower", 0, meaning
        )
        for end in _STATISTICS.values()
    )


_QUANTITIES: Final = (
    Quantity(
        "netperf_stream_mbps",
        "throughput of netperf's stream",
        "Mbit/s",
        "higher",
        2,
        "Payload of a stream test over its time, as netperf computes it: at the side that runs "
        "netperf, which is the sender with TCP_STREAM and the receiver with TCP_MAERTS.",
    ),
    Quantity(
        "netperf_transactions_per_s",
        "transactions per second",
        "/s",
        "higher",
        2,
        "Round trips of a request/response test, which is a closed loop: a slower answer also "
        "delays the next request. TCP_CRR opens a connection for each.",
    ),
    Quantity(
        "netperf_udp_mbps",
        "throughput of netperf's UDP stream",
        "Mbit/s",
        "higher",
        2,
        "Payload that the side with netperf sent or received over the time of the test. A sender "
        "does not know what was lost.",
    ),
    *_latencies(
        "netperf_latency_us",
        "latency of a transaction",
        "Of a request/response test's round trips. Percentiles come from netperf's histogram.",
    ),
    Quantity(
        "netperf_latency_us",
        "latency of a transaction",
        "µs",
        "lower",
        0,
        "The histogram of a request/response test, with ten buckets for each decade.",
    ),
    *_latencies(
        "netperf_call_us",
        "time of a send or receive call",
        "Of a stream test. netperf calls it latency; it is the time that the call took, not that "
        "of a packet.",
    ),
    Quantity(
        "retransmissions_per_run",
        "segments sent again",
        "segments",
        "lower",
        0,
        "The kernels' counts for the data connection at both hosts, added.",
    ),
    Quantity(
        "netperf_local_cpu_pct",
        "CPU of the host with netperf",
        "%",
        "lower",
        1,
        "netperf's own figure for all CPUs of the host (-c).",
    ),
    Quantity(
        "netperf_remote_cpu_pct",
        "CPU of the host with netserver",
        "%",
        "lower",
        1,
        "netserver's own figure for all CPUs of the host (-C).",
    ),
)


@dataclass
class _Section:
    """The output of one test."""

    first: int
    """Number of its first line."""
    banner: str = ""
    values: dict[str, str] = field(default_factory=dict)
    """Key of -k -> text."""
    histogram: list[tuple[int, int, int]] = field(default_factory=list)
    """Lowest and highest value in µs, and count."""
    histogram_total: int | None = None
    over: int = 0
    """Count above the last bucket."""
    notes: list[str] = field(default_factory=list)

    @property
    def has_transactions(self) -> bool:
        """True if the test is of requests and responses."""
        rate = self.values.get("TRANSACTION_RATE", "-1")
        return (
            re.search(r"REQUEST/RESPONSE|\bC?RR\b", self.banner, re.IGNORECASE) is not None
            or self.values.get("THROUGHPUT_UNITS") == _TRANSACTIONS
            or self.values.get("DIRECTION") == "Send|Recv"
            or not rate.startswith("-")
        )

    @property
    def is_udp(self) -> bool:
        """True if no transport retransmits."""
        return self.values.get("PROTOCOL", "").upper() == "UDP" or " UDP " in f" {self.banner}"


class _Netperf:
    name = "netperf"
    title = "netperf (-o, -k and the classic TCP_STREAM, TCP_MAERTS, TCP_RR, TCP_CRR, UDP_RR)"
    quantities = _QUANTITIES
    left_out = (
        "The classic table of UDP_STREAM is refused, because its two rows are not named; take "
        "-- -k THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL,DIRECTION.",
        "A CSV without Throughput Units is refused, because the unit depends on the option -f.",
        "Interim results (-D) are left out, because they have no time.",
        "Values of -1 are left out, because netperf did not measure them.",
    )

    def recognises(self, head: bytes) -> bool:
        return _RECOGNISED.match(head) is not None

    def read(self, data: bytes) -> Content:
        lines = [line.rstrip() for line in text_of(data).split("\n")]
        starts = [index for index, line in enumerate(lines) if _BANNER.fullmatch(line)] or [0]
        ends = [*starts[1:], len(lines)]
        return tuple(
            _measurement(_section(lines, start, end))
            for start, end in zip(starts, ends, strict=True)
        )


FORMAT: Final = _Netperf()


def _section(lines: Sequence[str], start: int, end: int) -> _Section:
    section = _Section(start + 1)
    left: list[tuple[int, str]] = []
    warnings: list[str] = []
    interim = 0
    for index in range(start, end):
        line = lines[index]
        if not line.strip():
            continue
        if _BANNER.fullmatch(line):
            section.banner = line
        elif match := _WARNING.fullmatch(line):
            warnings.append(match["words"])
        elif _INTERIM.match(line):
            interim += 1
        elif match := _KEY.fullmatch(line):
            _add(section, match["key"], match["value"].strip(), index + 1)
        elif not _is_of_histogram(section, line, index + 1):
            left.append((index + 1, line))
    if said := " ".join(filter(None, warnings)):
        section.notes.append(f"netperf warns: {said[:300]}")
    if interim:
        section.notes.append(f"Interim results are left out: {interim}.")
    if not section.values:
        _read_table(section, left)
    return section


def _add(section: _Section, key: str, value: str, line: int) -> None:
    if section.values.get(key, value) != value:
        raise FormatError(f"line {line}: {key} has a second value; is it another test's?")
    section.values[key] = value


def _is_of_histogram(section: _Section, line: str, number: int) -> bool:
    if match := _BUCKETS.fullmatch(line):
        width = _DECADES_US.get(match["decade"])
        if width is None:
            raise FormatError(f"line {number}: the decade {match['decade']} is not known")
        for digit, count in enumerate(re.findall(r"\d+", match["counts"])):
            if int(count):
                at = numbers.whole(count, f"line {number}")
                section.histogram.append((digit * width, (digit + 1) * width - 1, at))
        return True
    if match := re.fullmatch(r"(HIST_TOTAL|>100_SECS):\s*(\d+)", line.strip()):
        count = numbers.whole(match[2], f"line {number}")
        if match[1] == "HIST_TOTAL":
            section.histogram_total = count
        else:
            section.over = count
        return True
    return line.startswith("Histogram of ")


# --- tables ---


def _read_table(section: _Section, lines: Sequence[tuple[int, str]]) -> None:
    # A banner may be wrapped; its rest has no comma.
    first = next((i for i, (_, line) in enumerate(lines) if "," in line), None)
    if first is not None:
        _read_csv(section, lines[first:])
    else:
        _read_classic(section, lines)


def _read_csv(section: _Section, lines: Sequence[tuple[int, str]]) -> None:
    """Reads the line of names and the line of values; lines of names may be wrapped at spaces."""
    number, header = lines[0]
    for index in range(1, min(len(lines), _MOST_LINES_OF_A_HEADER)):
        at, line = lines[index]
        names, texts = _fields(header, number), _fields(line, at)
        if _match(names, texts):
            break
        header += " " + line
    else:
        raise FormatError(
            f"line {number}: no line with as many values follows, or there is no column Throughput "
            "Units, without which the unit is not known: add THROUGHPUT_UNITS to -o"
        )
    for name, text in zip(names, texts, strict=False):
        _add(section, _COLUMNS.get(name, name), text, at)
    if surplus := len(texts) - len(names):
        section.notes.append(f"Values without a name are left out at the end of a line: {surplus}.")
    if rest := lines[index + 1 :]:
        section.notes.append(f"Lines after the values are left out, from line {rest[0][0]} on.")


def _match(names: Sequence[str], texts: Sequence[str]) -> bool:
    """True if these are the values of these columns. There may be more values at the end if none of
    these was measured, as in the results of some versions with UDP."""
    if "Throughput Units" not in names or len(texts) < len(names):
        return False
    unit = texts[names.index("Throughput Units")]
    known = unit in _MBPS or unit == _TRANSACTIONS
    return known and all(text == "-1" for text in texts[len(names) :])


def _fields(line: str, number: int) -> list[str]:
    try:
        rows = list(csv.reader([line], strict=True))
    except csv.Error as error:
        raise FormatError(f"line {number}: is not a line of CSV: {error}") from None
    return [text.strip() for text in rows[0]] if rows else []


def _read_classic(section: _Section, lines: Sequence[tuple[int, str]]) -> None:
    """Reads the table of a classic test, whose kind its banner says."""
    rows = [(at, line.split()) for at, line in lines if re.fullmatch(r"[\s\d.+-]+", line)]
    if not rows:
        raise FormatError(
            f"line {section.first}: no row of values follows; the file was cut off, or the test "
            "failed"
        )
    at, row = rows[0]
    units = next((line for _, line in lines if re.search(r"\bsecs?\.?\s", line)), "")
    if section.has_transactions and "per sec" in units and len(row) >= 6:
        _add(section, "ELAPSED_TIME", row[4], at)
        _add(section, "THROUGHPUT", row[5], at)
        _add(section, "THROUGHPUT_UNITS", _TRANSACTIONS, at)
        return
    unit = next((word for word in units.split() if word.removesuffix("ec") in _MBPS), None)
    if re.search(r"\bUDP.* STREAM\b", section.banner) or unit is None or len(row) < 5:
        raise FormatError(
            f"line {at}: the table of this test is not decidable; make the file with netperf … -- "
            "-k THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,PROTOCOL,DIRECTION"
        )
    _add(section, "ELAPSED_TIME", row[3], at)
    _add(section, "THROUGHPUT", row[4], at)
    _add(section, "THROUGHPUT_UNITS", unit.removesuffix("ec"), at)


# --- the measurement ---


def _measurement(section: _Section) -> Measurement:
    rate = _figure(section, "THROUGHPUT")
    unit = section.values.get("THROUGHPUT_UNITS")
    if rate is None or unit is None:
        raise FormatError(
            f"line {section.first}: the test has no throughput or no unit of it; add "
            "THROUGHPUT,THROUGHPUT_UNITS to -k or -o"
        )
    values = {**_rates(section, rate, unit), **_latency_values(section), **_others(section)}
    base = "netperf_latency_us" if section.has_transactions else "netperf_call_us"
    return Measurement(
        tool="netperf",
        settings=_settings(section),
        values=values,
        histograms=_histograms(section) if base == "netperf_latency_us" else (),
        checks=tuple(_checks(section, rate, unit)),
        notes=tuple(section.notes),
    )


def _figure(section: _Section, key: str) -> float | None:
    """None if the key is missing or its value was not measured."""
    text = section.values.get(key)
    if text is None or text == "":
        return None
    if not numbers.is_finite(text):
        section.notes.append(f"{key} is left out: its value is {text}, which is not a number.")
        del section.values[key]
        return None
    found = numbers.decimal(text, f"line {section.first} and after: {key}")
    return None if found < 0 else found


def _rates(section: _Section, rate: float, unit: str) -> dict[str, float]:
    if unit == _TRANSACTIONS:
        return {"netperf_transactions_per_s": rate}
    factor = _MBPS.get(unit)
    if factor is None:
        known = ", ".join([*_MBPS, _TRANSACTIONS])
        raise FormatError(
            f'line {section.first} and after: the throughput\'s unit "{unit}" is none of {known}'
        )
    if section.has_transactions:
        transactions = _figure(section, "TRANSACTION_RATE")
        return {} if transactions is None else {"netperf_transactions_per_s": transactions}
    name = "netperf_udp_mbps" if section.is_udp else "netperf_stream_mbps"
    return {name: rate * factor}


def _latency_values(section: _Section) -> dict[str, float]:
    base = "netperf_latency_us" if section.has_transactions else "netperf_call_us"
    found = {f"{base}_{end}": _figure(section, key) for key, end in _STATISTICS.items()}
    return {name: value for name, value in found.items() if value is not None}


def _others(section: _Section) -> dict[str, float]:
    found: dict[str, float] = {}
    again = [_figure(section, f"{side}_TRANSPORT_RETRANS") for side in ("LOCAL", "REMOTE")]
    known = [value for value in again if value is not None]
    if len(known) == len(again) and not section.is_udp:
        found["retransmissions_per_run"] = sum(known)
    for side in ("local", "remote"):
        value = _figure(section, f"{side.upper()}_CPU_UTIL")
        if value is not None:
            found[f"netperf_{side}_cpu_pct"] = value
    return found


def _settings(section: _Section) -> dict[str, str]:
    found: dict[str, str] = {}
    if match := re.match(r"(?:MIGRATED )?(.*?) TEST\b.* to (\S+)", section.banner):
        found |= {"test": match[1], "target": match[2]}
    for setting, key in (
        ("protocol", "PROTOCOL"),
        ("direction", "DIRECTION"),
        ("request_bytes", "REQUEST_SIZE"),
        ("response_bytes", "RESPONSE_SIZE"),
        ("length_s", "ELAPSED_TIME"),
        ("confidence_iterations", "CONFIDENCE_ITERATION"),
    ):
        if (text := section.values.get(key)) and not text.startswith("-"):
            found[setting] = text
    return found


def _histograms(section: _Section) -> tuple[Histogram, ...]:
    if not section.histogram or section.over:
        return ()
    lowest, highest, counts = zip(*sorted(section.histogram), strict=True)
    return (
        Histogram(
            "netperf_latency_us",
            np.array(lowest, float),
            np.array(highest, float),
            np.array(counts, np.int64),
        ),
    )


# --- laws ---


def _checks(section: _Section, rate: float, unit: str) -> Iterator[Check]:
    points = [(key, value) for key in _ASCENDING if (value := _figure(section, key)) is not None]
    if len(points) > 1:
        # Percentiles are read off a histogram, whose buckets are a tenth of a decade wide.
        yield laws.ascending("percentiles are in order", points)
    yield from _check_of_mean(section)
    for side in ("LOCAL", "REMOTE"):
        load = _figure(section, f"{side}_CPU_UTIL")
        if load is not None:
            yield laws.is_a_share(f"{side}_CPU_UTIL", load)
    if not section.has_transactions:
        yield from _check_of_bytes(section, rate, unit)
    else:
        yield from _check_of_round_trips(section)
    if section.histogram and not section.over:
        yield _percentiles_are_in_their_buckets(section)
    if section.histogram_total is not None:
        yield laws.add_up(
            "the buckets add up to the total",
            [float(count) for _, _, count in section.histogram] + [float(section.over)],
            "buckets",
            ("HIST_TOTAL is", section.histogram_total),
            0.0,
        )


def _percentiles_are_in_their_buckets(section: _Section) -> Check:
    """Percentiles are read off the histogram; minimum and maximum are in its outer buckets."""
    wrong = []
    for key, share in (("MIN", 0.0), ("P50", 0.5), ("P90", 0.9), ("P99", 0.99), ("MAX", 1.0)):
        value = _figure(section, f"{key}_LATENCY")
        lowest, highest = _bucket_of(section, share)
        # Interpolation within the bucket may end at the next one's lowest value.
        if value is not None and not lowest <= value <= highest + 1:
            wrong.append(f"{key}_LATENCY is {value:g}, its bucket is {lowest} to {highest}")
    return Check(
        law="percentiles are in their buckets of the histogram",
        holds=not wrong,
        detail="; ".join(wrong) or f"{len(section.histogram)} buckets",
    )


def _bucket_of(section: _Section, share: float) -> tuple[int, int]:
    """Lowest and highest value of the bucket up to which this share of all values is."""
    buckets = sorted(section.histogram)
    upto = np.cumsum([count for _, _, count in buckets])
    at = int(np.searchsorted(upto, max(share * upto[-1], 1)))
    lowest, highest, _ = buckets[min(at, len(buckets) - 1)]
    return lowest, highest


def _check_of_mean(section: _Section) -> Iterator[Check]:
    least, mean, most = (_figure(section, f"{key}_LATENCY") for key in ("MIN", "MEAN", "MAX"))
    if least is not None and mean is not None and most is not None:
        # Minimum and maximum are cut off to whole microseconds.
        points = [("MIN_LATENCY", least), ("MEAN_LATENCY", mean), ("MAX_LATENCY", most)]
        yield laws.ascending("the mean is between minimum and maximum", points, tolerance=1.0)


def _check_of_bytes(section: _Section, rate: float, unit: str) -> Iterator[Check]:
    """Bytes ÷ time = rate, with the bytes of the side that runs netperf."""
    elapsed = _figure(section, "ELAPSED_TIME")
    moved = [_figure(section, f"LOCAL_BYTES_{key}") for key in ("SENT", "RECVD")]
    known = [value for value in moved if value]
    runs = _figure(section, "CONFIDENCE_ITERATION") or 1.0
    # With several iterations, the rate is their mean, and the bytes are the last one's.
    if not elapsed or len(known) != 1 or runs > 1:
        return
    factor = _MBPS[unit] * 1e6
    half = numbers.half_a_digit(section.values["THROUGHPUT"]) * factor
    give = rate * factor * numbers.half_a_digit(section.values["ELAPSED_TIME"]) / elapsed
    yield laws.rate_is_bytes_by_time(
        "the stream", known[0], elapsed, rate * factor, tolerance=half + give
    )


def _check_of_round_trips(section: _Section) -> Iterator[Check]:
    """One transaction at a time: rate x round-trip time = 1."""
    rate, trip = _figure(section, "TRANSACTION_RATE"), _figure(section, "RT_LATENCY")
    burst = section.values.get("BURST_SIZE") or _burst(section.banner)
    if rate is None or trip is None or not rate or burst not in (None, "0", "-1"):
        return
    half = numbers.half_a_digit(section.values["RT_LATENCY"])
    of_rate = numbers.half_a_digit(section.values["TRANSACTION_RATE"]) / rate
    yield laws.agree(
        "transactions per second x round-trip time = 1",
        ("1 / the rate is (µs)", 1e6 / rate),
        ("the file says", trip),
        half + trip * of_rate,
    )


def _burst(banner: str) -> str | None:
    match = re.search(r"first burst (\d+)", banner)
    return match[1] if match else None
