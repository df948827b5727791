"""ping's text: files of iputils from namespaces, and the answers to odd lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import jc
import numpy as np
import pytest

from netstudy.formats.measured import FormatError, Measurement
from netstudy.formats.ping import FORMAT
from netstudy.testbed.netns.namespaces import program
from tests.formats.samples import DATA, broken, held, only
from tests.skips import needs_programs

FILES = sorted(DATA.glob("ping-*.txt"))

HEAD = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n"
END = "\n--- 192.0.2.1 ping statistics ---\n"


def read(text: str) -> Measurement:
    content = FORMAT.read(text.encode())
    assert isinstance(content, tuple)
    (found,) = content
    return found


def summary_of(path: Path) -> dict[str, float]:
    """The figures of the file's last two lines, read here by position."""
    *_, counts, times = [line for line in path.read_text().splitlines() if line]
    values = times.split(" = ")[1].split(" ms")[0].split("/")
    words = counts.split()
    figures = dict(zip(("min", "avg", "max", "mdev"), map(float, values), strict=True))
    return {**figures, "transmitted": float(words[0]), "received": float(words[3])}


@pytest.mark.parametrize(
    "name", ["duplicates", "loss-D-O", "n-name", "quiet-v6", "slow", "unreachable"]
)
def test_a_real_file_keeps_all_laws(name: str) -> None:
    assert broken(only(FORMAT, DATA / f"ping-{name}.txt")) == []


@pytest.mark.parametrize("name", ["loss-D-O", "n-name", "slow"])
def test_samples_have_the_summarys_figures(name: str) -> None:
    path = DATA / f"ping-{name}.txt"
    samples, said = only(FORMAT, path).samples["ping_rtt_ms"], summary_of(path)
    assert len(samples) == said["received"]
    # iputils prints three digits of each reply, and cuts the mean off to microseconds.
    assert samples.min() == pytest.approx(said["min"], rel=0.01)
    assert samples.mean() == pytest.approx(said["avg"], rel=0.01, abs=0.001)
    assert samples.max() == pytest.approx(said["max"], rel=0.01)


def test_loss_is_a_share_of_those_transmitted() -> None:
    measured = only(FORMAT, DATA / "ping-loss-D-O.txt")
    assert measured.values == {"ping_loss_pct": pytest.approx(40.0)}
    assert len(measured.samples["ping_rtt_ms"]) == 12


def test_timestamps_give_the_window_and_a_series_over_time() -> None:
    measured = only(FORMAT, DATA / "ping-loss-D-O.txt")
    assert measured.started_s == pytest.approx(1795953031.029279 - 0.0179)
    assert measured.window_s == (measured.started_s, 1795953033.031090)
    (series,) = measured.series
    assert len(series.ends_s) == 12
    assert (np.diff(series.ends_s) > 0).all()
    assert series.values["ping_rtt_ms"].max() == 160


def test_a_duplicate_is_no_sample_but_a_note() -> None:
    measured = only(FORMAT, DATA / "ping-duplicates.txt")
    assert len(measured.samples["ping_rtt_ms"]) == 12
    assert measured.notes == ("Duplicate replies are left out: 3.",)


def test_an_unreachable_target_is_a_loss_of_all_packets() -> None:
    measured = only(FORMAT, DATA / "ping-unreachable.txt")
    assert measured.values == {"ping_loss_pct": 100.0}
    assert measured.samples == {}
    (note,) = measured.notes
    assert note == "Errors were reported for 3 packets: Destination Host Unreachable."


def test_a_quiet_file_has_the_summarys_figures_only() -> None:
    measured = only(FORMAT, DATA / "ping-quiet-v6.txt")
    assert measured.samples == {}
    assert measured.values == {
        "ping_loss_pct": 0.0,
        "ping_rtt_ms_min": 0.030,
        "ping_rtt_ms_mean": 0.045,
        "ping_rtt_ms_max": 0.074,
    }


def test_replies_that_jc_loses_are_read() -> None:
    path = DATA / "ping-n-name.txt"
    by_jc = jc.parse("ping", path.read_text(), quiet=True)
    assert isinstance(by_jc, dict)
    assert {reply["type"] for reply in by_jc["responses"]} == {"unparsable_line"}
    assert len(only(FORMAT, path).samples["ping_rtt_ms"]) == 10


@pytest.mark.parametrize("name", ["loss-D-O", "slow"])
def test_replies_that_jc_reads_are_the_same(name: str) -> None:
    path = DATA / f"ping-{name}.txt"
    by_jc = jc.parse("ping", path.read_text(), quiet=True)
    assert isinstance(by_jc, dict)
    times = [reply["time_ms"] for reply in by_jc["responses"] if reply["type"] == "reply"]
    assert only(FORMAT, path).samples["ping_rtt_ms"].tolist() == times


# --- other programs, typed after their outputs ---


def test_busybox_is_read() -> None:
    measured = read(
        "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n"
        "64 bytes from 192.0.2.1: seq=0 ttl=64 time=0.104 ms\n"
        "64 bytes from 192.0.2.1: seq=2 ttl=64 time=0.108 ms\n"
        f"{END}"
        "3 packets transmitted, 2 packets received, 33% packet loss\n"
        "round-trip min/avg/max = 0.104/0.106/0.108 ms\n"
    )
    assert broken(measured) == []
    assert measured.samples["ping_rtt_ms"].tolist() == [0.104, 0.108]
    assert measured.values["ping_loss_pct"] == pytest.approx(100 / 3)


def test_macos_is_read() -> None:
    measured = read(
        "PING example.org (192.0.2.1): 56 data bytes\n"
        "64 bytes from 192.0.2.1: icmp_seq=0 ttl=56 time=14.126 ms\n"
        "Request timeout for icmp_seq 1\n"
        "64 bytes from 192.0.2.1: icmp_seq=2 ttl=56 time=16.128 ms\n"
        f"{END}"
        "3 packets transmitted, 2 packets received, 33.3% packet loss\n"
        "round-trip min/avg/max/stddev = 14.126/15.127/16.128/1.001 ms\n"
    )
    assert broken(measured) == []
    assert measured.samples["ping_rtt_ms"].tolist() == [14.126, 16.128]


def test_several_runs_in_a_file_are_several_measurements() -> None:
    one = (DATA / "ping-slow.txt").read_text()
    content = FORMAT.read((one + one).encode())
    assert isinstance(content, tuple)
    assert [len(each.samples["ping_rtt_ms"]) for each in content] == [15, 15]


# --- traps ---


@pytest.mark.parametrize(
    "said",
    [
        "ping: nosuchhost.example: Name or service not known",
        "/usr/bin/ping: connect: Network is unreachable",
        "connect: Network is unreachable",
    ],
)
def test_a_run_that_failed_has_pings_words_and_no_values(said: str) -> None:
    assert FORMAT.recognises(said.encode())
    measured = read(f"{said}\n")
    assert (measured.error, measured.values) == (said, {})


def test_a_file_without_the_summary_is_refused_with_the_signal_that_gives_one() -> None:
    text = (DATA / "ping-slow.txt").read_text().partition("\n---")[0]
    with pytest.raises(FormatError, match=r"line 17: the summary is missing.* -s INT"):
        read(text)


def test_another_language_is_refused_with_the_command_that_makes_a_readable_file() -> None:
    with pytest.raises(FormatError, match="make the file with LC_ALL=C ping"):
        read(
            "PING localhost (127.0.0.1) 56(84) Bytes an Daten.\n"
            "64 Bytes von localhost (127.0.0.1): icmp_seq=1 ttl=64 Zeit=0.026 ms\n"
            "\n--- localhost ping-Statistiken ---\n"
            "1 Pakete übertragen, 1 empfangen, 0% Paketverlust, Zeit 0ms\n"
        )


def test_a_decimal_comma_is_refused_with_its_line() -> None:
    with pytest.raises(FormatError, match=r'line 2: "0,026" has a decimal comma'):
        read(f"{HEAD}64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0,026 ms\n{END}")


def test_replies_without_a_time_count_as_received() -> None:
    measured = read(
        f"{HEAD}12 bytes from 192.0.2.1: icmp_seq=1 ttl=64\n{END}"
        "1 packets transmitted, 1 received, 0% packet loss, time 0ms\n"
    )
    assert broken(measured) == []
    assert measured.values == {"ping_loss_pct": 0.0}
    assert measured.samples == {}


def test_lines_that_are_not_known_are_left_out_with_their_number() -> None:
    text = (DATA / "ping-slow.txt").read_text()
    text = text.replace("\n64 bytes", "\nsome other program's line\n64 bytes", 1)
    (note,) = read(text).notes
    assert note == (
        'Lines that are not known are left out: 1; the first is "some other program\'s line".'
    )


@pytest.mark.parametrize(
    ("old", "new", "law"),
    [
        ("12 received", "13 received", "transmitted, received and lost agree"),
        ("40% packet", "45% packet", "transmitted, received and lost agree"),
        ("20 packets", "30 packets", "transmitted, received and lost agree"),
        ("time=17.9", "time=77.9", "the mean is that of the replies"),
        ("time=3.21", "time=1.21", "the minimum is that of the replies"),
        ("/32.864/", "/33.864/", "the mean is that of the replies"),
        ("/160.007/", "/260.007/", "the maximum is that of the replies"),
        ("64 bytes from 10.9.0.2: icmp_seq=5", "junk", "each reply has a line"),
    ],
)
def test_a_changed_figure_breaks_a_law(old: str, new: str, law: str) -> None:
    text = (DATA / "ping-loss-D-O.txt").read_text()
    assert text.count(old) == 1
    assert [found for found in broken(read(text.replace(old, new))) if found.startswith(law)]


@pytest.mark.parametrize(
    ("old", "new", "law"),
    [
        ("/0.074/", "/9.074/", "the deviation is possible"),
        ("/0.008 ms", "/0.908 ms", "the deviation is possible"),
        ("= 0.030/", "= 0.090/", "min <= avg <= max"),
    ],
)
def test_a_changed_figure_of_a_summary_alone_breaks_a_law(old: str, new: str, law: str) -> None:
    text = (DATA / "ping-quiet-v6.txt").read_text()
    assert text.count(old) == 1
    assert [found for found in broken(read(text.replace(old, new))) if found.startswith(law)]


def test_a_sequence_number_above_the_number_of_packets_breaks_a_law() -> None:
    text = (DATA / "ping-unreachable.txt").read_text().replace("3 packets", "2 packets")
    (law,) = broken(read(text))
    assert law == (
        "no sequence number is above the number of packets: the highest is 3, 2 were transmitted"
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_damaged_copies_are_refused_or_have_finite_values(path: Path) -> None:
    held(FORMAT, path.read_bytes(), seed=11)


# --- the real program ---


@needs_programs("ping")
@pytest.mark.parametrize("options", [[], ["-D"], ["-q"], ["-n"], ["-s", "8"]], ids=" ".join)
def test_the_installed_ping_is_read(options: list[str]) -> None:
    command = [program("ping"), *options, "-c", "5", "-i", "0.2", "127.0.0.1"]
    done = subprocess.run(command, capture_output=True, check=False, env={"LC_ALL": "C"})
    if b"not permitted" in done.stderr:
        pytest.skip(f"ping may not send: {done.stderr.decode().strip()}")
    assert done.returncode == 0, done.stderr
    measured = read(done.stdout.decode())
    assert broken(measured) == []
    assert measured.values["ping_loss_pct"] == 0
    if options == ["-D"]:
        assert measured.window_s is not None
