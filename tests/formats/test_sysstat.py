"""sadf -j, sadf -d and sar's text: they agree with each other and with sysstat's own outputs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netstudy.formats import recognise
from netstudy.formats.measured import FormatError, HostReadings
from netstudy.formats.sadf_json import FORMAT as JSON
from netstudy.formats.sadf_table import FORMAT as TABLE
from netstudy.formats.sar_text import FORMAT as TEXT
from netstudy.formats.window import cut_readings
from tests.formats.hosts import HOST, at, read, run, series, values
from tests.formats.samples import held, readings, sample
from tests.skips import needs_programs

START = at("2026-11-29 11:55:43")


def of_own_files() -> list[HostReadings]:
    """The same three seconds of one host, in three formats."""
    return [
        readings(JSON, HOST / "sadf.json"),
        readings(TABLE, HOST / "sadf-d.csv"),
        readings(TEXT, HOST / "sar-iso.txt"),
    ]


@pytest.mark.parametrize("found", of_own_files(), ids=["json", "table", "text"])
def test_rates_are_decimal_and_kb_are_binary(found: HostReadings) -> None:
    """txkB/s of lo in the second of the three seconds is 245010.76: × 1024 × 8 bit."""
    assert values(found, "send_mbps", "lo")[1] == pytest.approx(KB_S[1] * 8192 / 1e6)
    assert values(found, "receive_mbps", "lo") == pytest.approx([x * 8192 / 1e6 for x in KB_S])


def kb_per_s() -> list[float]:
    """txkB/s of lo as the file has it, found without the format."""
    hosts = json.loads((HOST / "sadf.json").read_text())["sysstat"]["hosts"]
    return [
        interface["txkB"]
        for record in hosts[0]["statistics"]
        for interface in record["network"]["net-dev"]
        if interface["iface"] == "lo"
    ]


KB_S = kb_per_s()


def test_three_outputs_of_the_same_data_agree() -> None:
    first, *others = of_own_files()
    for other in others:
        assert other.host == first.host == "vm"
        assert {each.part for each in other.series} == {each.part for each in first.series}
        for each in first.series:
            same = series(other, each.part)
            assert same.starts_s.tolist() == each.starts_s.tolist()
            assert same.ends_s.tolist() == each.ends_s.tolist() == [START + 1, START + 2, START + 3]
            for name, numbers in each.values.items():
                if name in same.values:
                    assert same.values[name] == pytest.approx(numbers, abs=0.006), name
    assert set(series(others[0]).values) == set(series(first).values)


def test_the_busy_share_is_the_sum_of_the_shares_of_work() -> None:
    record = json.loads((HOST / "sadf.json").read_text())["sysstat"]["hosts"][0]["statistics"][0]
    whole = record["cpu-load"][0]
    work = sum(whole[name] for name in ("usr", "nice", "sys", "irq", "soft", "guest", "gnice"))
    found = of_own_files()[0]
    assert values(found, "cpu_pct")[0] == pytest.approx(work, abs=0.05)
    assert values(found, "softirq_pct")[0] == whole["soft"]


def test_the_busiest_cpu_is_found_among_the_single_ones() -> None:
    found = of_own_files()[0]
    single = [values(found, "cpu_pct", f"cpu{number}") for number in (0, 1)]
    assert values(found, "busiest_cpu_pct") == [max(pair) for pair in zip(*single, strict=True)]
    (whole, *_) = cut_readings(found, (START, START + 3))
    means = [sum(each) / 3 for each in single]
    assert whole.values["busiest_cpu_pct"] == pytest.approx(max(means))


SHARES = {"all": "", "cpu0": "cpu0", "cpu7": "cpu7"}
FIELDS: dict[str, Callable[[float], tuple[str, float]]] = {
    "rxkB/s": lambda value: ("receive_mbps", value * 1024 * 8 / 1e6),
    "txkB/s": lambda value: ("send_mbps", value * 1024 * 8 / 1e6),
    "rxpck/s": lambda value: ("receive_packets_per_s", value),
    "txpck/s": lambda value: ("send_packets_per_s", value),
    "rxdrop/s": lambda value: ("rxdrop_per_s", value),
    "txdrop/s": lambda value: ("txdrop_per_s", value),
    "%steal": lambda value: ("steal_pct", value),
    "%iowait": lambda value: ("iowait_pct", value),
    "squeezd/s": lambda value: ("softnet_squeezed_per_s", value),
    "cswch/s": lambda value: ("context_switches_per_s", value),
}


def test_sysstats_own_other_output_of_its_test_data_has_the_same_values() -> None:
    """`sadf -p` of the same data file, one value a line."""
    found = readings(JSON, sample("sysstat/expected.sadf-j"))
    compared = 0
    for line in sample("sysstat/expected.sadf-p").read_text().splitlines():
        words = line.split("\t")
        if len(words) < 6 or words[4] not in FIELDS:
            continue
        name, value = FIELDS[words[4]](float(words[5]))
        part = "" if words[3] in ("all", "-") else words[3]
        ends = series(found, part).ends_s.tolist()
        row = ends.index(at(words[2].removesuffix(" UTC")))
        assert series(found, part).values[name][row] == pytest.approx(value), line
        compared += 1
    assert compared > 350


def test_sysstats_own_text_of_its_test_data_has_the_same_values() -> None:
    in_json = readings(JSON, sample("sysstat/expected.sadf-j"))
    in_text = readings(TEXT, sample("sysstat/expected.sar-ISO"))
    assert values(in_text, "cpu_pct") == pytest.approx(values(in_json, "cpu_pct"), abs=0.011)
    assert series(in_text).ends_s.tolist() == series(in_json).ends_s.tolist()


def test_nothing_is_filled_in_across_a_restart() -> None:
    """The host restarted at 13:37:29 and 13:54:09; records end at 13:20:49 and 13:54:35."""
    found = readings(JSON, sample("sysstat/expected.sadf-j"))
    last = series(found)
    assert last.ends_s[-2] == at("2019-04-18 13:20:49")
    assert last.starts_s[-1] == at("2019-04-18 13:54:09")
    assert any("restarted (2 times)" in note for note in found.notes)
    during = at("2019-04-18 13:40:00")
    assert all(not found.values for found in cut_readings(found, (during, during + 60)))


def test_intervals_that_overlap_by_the_hosts_clock_are_said() -> None:
    """sysstat's test data say 31 s where the clock moved by 10 s."""
    found = readings(JSON, sample("sysstat/expected.sadf-j"))
    assert found.notes[0].startswith("3 intervals are longer than the time since the record before")
    assert all(series(found).starts_s[1:] >= series(found).ends_s[:-1])


def record(time: str = "13:20:19", **other: Any) -> dict[str, Any]:
    """A record of one second with a busy share of 40 %."""
    stamp = {"date": "2026-11-28", "time": time, "utc": 1, "interval": 1}
    load = {"cpu": "all", "user": 40.0, "nice": 0.0, "system": 0.0, "iowait": 0.0, "steal": 0.0}
    return {"timestamp": stamp, "cpu-load": [{**load, "idle": 60.0}], **other}


def document(*records: dict[str, Any], name: str = "h1", **host: Any) -> dict[str, Any]:
    """A document of one host."""
    return {"sysstat": {"hosts": [{"nodename": name, "statistics": list(records), **host}]}}


def of(*records: dict[str, Any], **host: Any) -> HostReadings:
    """The readings from these records of sadf."""
    return read(JSON, json.dumps(document(*records, **host)))


@pytest.mark.parametrize(
    "zone",
    [
        pytest.param({"utc": 1}, id="before 12.7"),
        pytest.param({"tz": "UTC"}, id="since 12.7"),
    ],
)
def test_times_in_utc_are_read_in_both_spellings(zone: dict[str, Any]) -> None:
    stamp = {"date": "2026-11-28", "time": "13:20:19", "interval": 1, **zone}
    assert series(of(record(timestamp=stamp))).ends_s.tolist() == [at("2026-11-28 13:20:19")]


@pytest.mark.parametrize("zone", [{"utc": 0}, {"tz": "CET"}, {}])
def test_local_times_are_refused_with_the_command_for_others(zone: dict[str, Any]) -> None:
    stamp = {"date": "2026-11-28", "time": "13:20:19", "interval": 1, **zone}
    with pytest.raises(FormatError, match=r"statistics\[0\].timestamp: .* sadf -j FILE, without"):
        of(record(timestamp=stamp))


def test_a_cpu_without_any_share_has_no_value() -> None:
    """sysstat prints zeros for a CPU in which no time passed: it was not busy for 100 %."""
    load = {"cpu": "all", "user": 0.0, "nice": 0.0, "system": 0.0, "iowait": 0.0, "steal": 0.0}
    idle_cpu: Any = {"cpu-load": [{**load, "idle": 0.0}]}
    found = of(record(**idle_cpu), record("13:20:20"))
    assert values(found, "cpu_pct") == [40.0]
    assert "CPU shares that do not add up to 100 % (1 times)" in found.notes[0]


def test_a_missing_record_leaves_a_gap() -> None:
    found = of(record("13:20:19"), record("13:20:20"), record("13:20:25"))
    assert (series(found).ends_s - series(found).starts_s).tolist() == [1, 1, 1]
    assert series(found).starts_s[2] - series(found).ends_s[1] == 4


def test_a_whole_second_of_rounding_makes_no_gap() -> None:
    """sadf prints 10 s for an interval of 10.4 s."""
    stamps = [
        {"date": "2026-11-28", "time": time, "utc": 1, "interval": 10}
        for time in ("13:20:10", "13:20:21", "13:20:31")
    ]
    found = series(of(*(record(timestamp=stamp) for stamp in stamps)))
    assert found.starts_s[1:].tolist() == found.ends_s[:-1].tolist()


def test_interfaces_that_come_and_go_have_their_own_intervals() -> None:
    def network(*names: str) -> dict[str, Any]:
        rates = {"rxpck": 1.0, "txpck": 2.0, "rxkB": 125.0, "txkB": 250.0}
        return {"network": {"net-dev": [{"iface": name, **rates} for name in names]}}

    found = of(record("13:20:19", **network("eth0")), record("13:20:20", **network("eth0", "eth1")))
    assert values(found, "receive_mbps", "eth0") == pytest.approx([1.024, 1.024])
    assert series(found, "eth1").starts_s.tolist() == [at("2026-11-28 13:20:19")]


def test_files_of_several_hosts_are_refused_by_name() -> None:
    both = document(record())
    both["sysstat"]["hosts"] += document(record(), name="h2")["sysstat"]["hosts"]
    with pytest.raises(FormatError, match="readings of h1 and of h2"):
        read(JSON, json.dumps(both))


def test_several_documents_of_one_host_are_read_together() -> None:
    texts = [json.dumps(document(record(time))) for time in ("13:20:19", "13:20:20")]
    assert len(series(read(JSON, "\n".join(texts))).ends_s) == 2


def test_a_record_that_comes_twice_counts_once() -> None:
    found = of(record(), record())
    assert values(found, "cpu_pct") == [40.0]
    assert any("a second value of the same interval" in note for note in found.notes)


def test_a_value_that_is_no_number_is_left_out_by_name() -> None:
    swap: Any = {"swap-pages": {"pswpin": 1}}
    text = json.dumps(document(record(**swap)))
    found = read(JSON, text.replace('"pswpin": 1', '"pswpin": -nan, "pswpout": 2'))
    assert "swap_pages_per_s" not in series(found).values
    assert "swap-pages.pswpin is left out: its value is -nan" in found.notes[0]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        pytest.param(lambda text: text[: len(text) // 2], "cut off", id="truncated"),
        pytest.param(lambda text: text.replace("40.0", "40,0"), "decimal comma", id="sysstat#128"),
        pytest.param(lambda text: text.replace('"idle":', '"idle" '), "not JSON", id="sysstat#12"),
    ],
)
def test_json_that_is_none_is_refused_with_the_command(
    damage: Callable[[str], str], says: str
) -> None:
    with pytest.raises(FormatError, match=rf"line \d+, column \d+: .*{says}.* sadf -j FILE"):
        read(JSON, damage(json.dumps(document(record(), record("13:20:20")))))


def test_json_of_mpstat_is_refused_with_the_command() -> None:
    text = sample("pkb/mpstat_output.json").read_bytes()
    with pytest.raises(FormatError, match=r"mpstat -o JSON .* sadf -j FILE"):
        read(JSON, text)


def test_a_file_without_activities_that_are_read_is_empty() -> None:
    found = readings(JSON, sample("sysstat/expected.data-11.6.5-sadf-j"))
    assert found.host == "linux.home"
    assert found.series == ()


HEADER = "# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s;rxkB/s;txkB/s\n"


def row(
    stamp: str = "2026-11-28 08:24:53 UTC", host: str = "h1", rates: str = "1;2;125;250"
) -> str:
    return f"{host};1;{stamp};eth0;{rates}\n"


@pytest.mark.parametrize("stamp", ["2026-11-28 08:24:53 UTC", "1795854293"])
def test_tables_have_times_in_utc_or_seconds_since_1970(stamp: str) -> None:
    found = read(TABLE, HEADER + row(stamp))
    assert series(found, "eth0").ends_s.tolist() == [at("2026-11-28 08:24:53")]
    assert values(found, "send_mbps", "eth0") == [2.048]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            HEADER + row("2026-11-28 08:24:53"), "line 2: .*local time.*sadf -d FILE", id="-t"
        ),
        pytest.param(row(), "line 1: the header .* is missing", id="without a header"),
        pytest.param(HEADER + row() + "h1;1;2026-11\n", "line 3: the row is cut off", id="short"),
        pytest.param(
            HEADER + row(rates="1;2;125"), "line 2: .* 4 values for 5 columns", id="a value less"
        ),
        pytest.param(HEADER + row() + row(host="h2"), "line 3: .* h1 and of h2", id="two hosts"),
        pytest.param(
            HEADER + row(rates="1,0;2,0;125,0;250,0"), "decimal comma.*LC_ALL=C", id="commas"
        ),
    ],
)
def test_tables_that_are_not_decidable_are_refused(text: str, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        read(TABLE, text)


def test_a_table_with_all_activities_in_a_row_is_refused_with_the_command() -> None:
    with pytest.raises(FormatError, match=r"sadf -dh .* sadf -d FILE or sadf -j FILE"):
        readings(TABLE, sample("sysstat/expected.sadf-dh"))


def test_a_restart_in_a_table_splits_it() -> None:
    restart = "h1;-1;2026-11-28 09:00:00 UTC;LINUX-RESTART\t(2 CPU)\n"
    later = row("2026-11-28 09:00:05 UTC")
    found = read(TABLE, HEADER + row() + HEADER + restart + later)
    assert series(found, "eth0").starts_s[1] == at("2026-11-28 09:00:04")
    assert any("restarted (1 times)" in note for note in found.notes)


def test_a_value_of_a_table_that_is_no_number_is_left_out_by_name() -> None:
    found = read(TABLE, HEADER + row(rates="1;2;-nan;250"))
    assert set(series(found, "eth0").values) == {
        "send_mbps",
        "send_packets_per_s",
        "receive_packets_per_s",
    }
    assert found.notes == ("line 2: rxkb is left out, its value is -nan.",)


def sar(*rows: str, date: str = "2026-11-28", first: str = "08:24:52") -> str:
    """sar -u with these rows, each a time and a busy share."""
    lines = [f"Linux 6.1.0 (h1) \t{date} \t_x86_64_\t(2 CPU)", ""]
    lines.append(f"{first}        CPU     %user     %nice   %system   %iowait    %steal     %idle")
    for each in rows:
        time, busy = each.rsplit(" ", 1)
        lines.append(f"{time}  all {busy} 0.00 0.00 0.00 0.00 {100 - float(busy):.2f}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "date", ["2026-11-28", "11/28/26", "28/11/26", "11/28/2026", "28.11.2026", "28.11.26"]
)
def test_a_date_that_can_be_read_in_one_way_is_read(date: str) -> None:
    found = read(TEXT, sar("08:24:53 10.00", "08:24:54 20.00", date=date))
    assert series(found).starts_s.tolist() == [at("2026-11-28 08:24:52"), at("2026-11-28 08:24:53")]
    assert values(found, "cpu_pct") == pytest.approx([10, 20])


@pytest.mark.parametrize("date", ["05/01/19", "05/01/2019"])
def test_a_date_that_can_be_read_in_two_ways_is_refused_with_the_command(date: str) -> None:
    with pytest.raises(FormatError, match=r"S_TIME_FORMAT=ISO .* sadf -j FILE"):
        read(TEXT, sar("08:24:53 10.00", date=date))


def test_a_date_whose_day_is_its_month_is_decidable() -> None:
    assert series(read(TEXT, sar("08:24:53 1.00", date="05/05/26"))).ends_s.tolist() == [
        at("2026-05-05 08:24:53")
    ]


def test_a_clock_of_12_hours_with_am_and_pm_is_read() -> None:
    found = read(
        TEXT, sar("12:00:01 AM 10.00", "12:00:02 PM 20.00", first="11:59:59 PM", date="2026-11-27")
    )
    assert series(found).ends_s.tolist() == [at("2026-11-28 00:00:01"), at("2026-11-28 12:00:02")]


@pytest.mark.parametrize("half", ["AM", "am", "a.m."])
def test_am_and_pm_have_several_spellings(half: str) -> None:
    text = sar("12:00:01 AM 10.00", first="11:59:59 PM", date="2026-11-27")
    text = text.replace("AM", half).replace("PM", half.replace("a", "p").replace("A", "P"))
    assert series(read(TEXT, text)).ends_s.tolist() == [at("2026-11-28 00:00:01")]


@pytest.mark.parametrize("half", ["μμ", "م", "a. m."])
def test_a_half_of_the_day_in_another_language_is_refused_with_the_command(half: str) -> None:
    with pytest.raises(FormatError, match=r"line 3: .* part of the clock.*S_TIME_FORMAT=ISO"):
        read(TEXT, sar(f"01:00:01 {half} 10.00", first=f"12:59:59 {half}"))


def test_a_date_in_words_is_refused_with_the_command() -> None:
    with pytest.raises(FormatError, match=r"line 1: .*S_TIME_FORMAT=ISO"):
        read(TEXT, sar("08:24:53 10.00", date="2026년 11월 28일"))


def test_a_real_file_with_am_and_pm_is_read() -> None:
    """The last of its ten rows, and its average of a longer time is left out."""
    found = readings(TEXT, sample("pkb/sar_output.txt"))
    assert series(found).ends_s[-1] == at("2019-05-21 18:47:09")
    assert values(found, "steal_pct")[-1] == 0.17
    assert len(values(found, "cpu_pct")) == 10


def test_a_clock_of_12_hours_without_am_and_pm_is_refused_with_the_command() -> None:
    with pytest.raises(FormatError, match=r"12 hours without AM and PM.*S_TIME_FORMAT=ISO"):
        read(TEXT, sar("12:59:00 10.00", "01:00:00 20.00", first="12:58:00"))


@pytest.mark.parametrize("time", ["午前08時24分53秒", "8:24", "25:00:00", "13:00:00 PM"])
def test_a_clock_that_is_not_known_is_refused(time: str) -> None:
    with pytest.raises(FormatError, match="line 4"):
        read(TEXT, sar(f"{time} 10.00"))


def test_midnight_begins_the_next_day() -> None:
    found = read(TEXT, sar("23:59:59 10.00", "00:00:00 20.00", first="23:59:58"))
    assert series(found).ends_s.tolist() == [at("2026-11-28 23:59:59"), at("2026-11-29 00:00:00")]


@pytest.mark.parametrize("word", ["Average:", "Moyenne :", "Durchschn.:", "Média:", "平均时间:"])
def test_averages_are_left_out_in_every_language(word: str) -> None:
    text = sar("08:24:53 10.00") + f"{word}  all 99.00 0.00 0.00 0.00 0.00 1.00\n"
    assert values(read(TEXT, text), "cpu_pct") == pytest.approx([10])


def test_each_table_of_a_text_has_its_own_clock() -> None:
    """Tables of a data file come one after the other; a restart comes with its own time."""
    text = sar("08:24:53 10.00", "08:24:54 20.00") + (
        "\n08:24:52    IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s\n"
        "08:24:53     eth0      1.00      2.00    125.00    250.00\n"
        "08:24:53     eth1      1.00      2.00    125.00    250.00\n"
        "08:24:54     eth0      1.00      2.00    125.00    250.00\n"
        "\n09:00:00     LINUX RESTART\t(2 CPU)\n"
        "\n09:00:05    IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s\n"
        "09:00:06     eth0      1.00      2.00    125.00    250.00\n"
    )
    found = read(TEXT, text)
    assert series(found).ends_s.tolist() == [at("2026-11-28 08:24:53"), at("2026-11-28 08:24:54")]
    assert series(found, "eth0").ends_s.tolist()[-1] == at("2026-11-28 09:00:06")
    assert series(found, "eth0").starts_s.tolist()[-1] == at("2026-11-28 09:00:05")
    assert series(found, "eth1").starts_s.tolist() == [at("2026-11-28 08:24:52")]


def test_a_text_says_that_its_time_zone_is_not_known() -> None:
    assert "times are read as UTC" in read(TEXT, sar("08:24:53 10.00")).notes[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            sar("08:24:53 10.00")[:-14] + "\n", "line 4: .* values for 7 columns", id="too short"
        ),
        pytest.param(
            sar("08:24:53 10.00").replace("10.00", "10,00"), "decimal comma.*LC_ALL=C", id="commas"
        ),
    ],
)
def test_rows_that_are_damaged_are_refused(text: str, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        read(TEXT, text)


def test_texts_of_iostat_and_pidstat_are_not_of_sar() -> None:
    title = b"Linux 6.1.0 (h1) \t2026-11-28 \t_x86_64_\t(2 CPU)\n\n"
    assert recognise(title + b"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n") is None
    assert recognise(title + b"08:24:53      UID       PID    %usr %system  Command\n") is None


@needs_programs("sadf")
def test_real_output_of_the_installed_sysstat_agrees(tmp_path: Path) -> None:
    """sar records for two seconds; its three outputs of the data file are the same."""
    data = tmp_path / "data"
    run("sar", "-o", data, "-A", "1", "2")
    in_json = read(JSON, run("sadf", "-j", data, "--", "-A"))
    in_table = read(TABLE, run("sadf", "-dU", data, "--", "-A"))
    in_text = read(TEXT, run("sar", "-f", data, "-A", S_TIME_FORMAT="ISO", TZ="UTC"))
    for each in in_json.series:
        assert 1 <= len(each.starts_s) <= 2
        for other in (in_table, in_text):
            same = series(other, each.part)
            assert same.ends_s.tolist() == each.ends_s.tolist()
            for name, numbers in each.values.items():
                assert same.values[name] == pytest.approx(numbers, abs=0.006, nan_ok=True), name
    assert all(0 <= value <= 100 for value in values(in_json, "cpu_pct"))


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_give_finite_values_or_are_refused(seed: int) -> None:
    held(JSON, (HOST / "sadf.json").read_bytes(), seed, 170)
    held(TABLE, (HOST / "sadf-d.csv").read_bytes(), seed, 170)
    held(TEXT, (HOST / "sar-iso.txt").read_bytes(), seed, 170)


@pytest.mark.parametrize(
    ("read_text", "part", "last"),
    [
        pytest.param(lambda end: read(TABLE, HEADER + row() + row()[:end]), "eth0", 1, id="table"),
        pytest.param(
            lambda end: read(TEXT, sar("08:24:53 10.00", "08:24:54 20.00")[:end]), "", 1, id="text"
        ),
    ],
)
def test_a_last_row_that_may_be_cut_off_is_left_out(
    read_text: Callable[[int], HostReadings], part: str, last: int
) -> None:
    """Its last number may have lost digits."""
    found = read_text(-2)
    assert len(series(found, part).ends_s) == last
    assert any("is left out: it does not end" in note for note in found.notes)


def test_the_rate_of_a_counter_that_went_back_is_left_out() -> None:
    """As in sysstat#259: 2^64 requests and 2^32 sectors in 5 s."""
    text = (
        "Linux 4.4.0 (h1) \t2020-05-18 \t_x86_64_\t(2 CPU)\n\n"
        "02:22:31          DEV       tps  rd_sec/s  wr_sec/s     %util\n"
        "02:22:36       dev8-0     24.80     57.60    254.40      0.16\n"
        "02:22:36      dev8-32 3689348814741910528.00 858993457.60      0.00  85899345.76\n"
    )
    found = read(TEXT, text)
    assert [each.part for each in found.series] == ["dev8-0"]
    assert any("disk_mb_per_s outside of its range (1 times)" in note for note in found.notes)


def test_no_value_is_beyond_its_range() -> None:
    """A rate below 0, and a share far above 100 %."""
    busy: Any = {"disk": [{"disk-device": "sda", "rkB": 1.0, "wkB": -5.0, "util-percent": 1e6}]}
    found = of(record(**busy))
    assert [each.part for each in found.series] == [""]
    assert any("disk_busy_pct outside of its range" in note for note in found.notes)
    assert all(math.isfinite(value) for value in values(found, "cpu_pct"))
