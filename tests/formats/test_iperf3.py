"""Files of iperf3, read and held against their laws.

Expected values are those of the file's own summary. Files in `data/iperf3` were made by Debian's
iperf3 3.12 over loopback.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netstudy.formats import read_file
from netstudy.formats.iperf3 import FORMAT
from netstudy.formats.measured import FormatError, Measurement
from tests.formats.samples import DATA, broken, held, measurements, only, sample
from tests.skips import in_namespaces, needs_programs

OWN = DATA / "iperf3"


def of_text(text: str) -> tuple[Measurement, ...]:
    return FORMAT.read(text.encode())


def of_json(document: Any) -> Measurement:
    (found,) = of_text(json.dumps(document))
    return found


def loaded(name: str) -> Any:
    return json.loads((OWN / name).read_text())


@pytest.mark.parametrize(
    "name", ["tcp-P2-gso", "tcp-n", "tcp-O2-full", "tcp-R-O1-gso", "tcp-gsotext"]
)
def test_tcp_has_the_figures_of_the_files_own_end(name: str) -> None:
    found, end = only(FORMAT, OWN / f"{name}.json"), loaded(f"{name}.json")["end"]
    assert found.values["goodput_mbps"] == end["sum_received"]["bits_per_second"] / 1e6
    assert found.values["iperf_sent_mbps"] == end["sum_sent"]["bits_per_second"] / 1e6
    assert found.values["retransmissions_per_run"] == end["sum_sent"]["retransmits"]
    assert found.values["iperf_cpu_local_pct"] == end["cpu_utilization_percent"]["host_total"]
    assert found.values["iperf_cpu_remote_pct"] == end["cpu_utilization_percent"]["remote_total"]
    assert not broken(found)


@pytest.mark.parametrize("name", ["udp-R", "udp-lossy", "udp-bidir"])
def test_udp_has_the_receivers_rate_and_loss(name: str) -> None:
    found, end = only(FORMAT, OWN / f"{name}.json"), loaded(f"{name}.json")["end"]
    ways = [key for key in end if key.startswith("sum_received")]
    rates = sum(end[way]["bits_per_second"] for way in ways) / 1e6
    assert found.values["goodput_mbps"] == pytest.approx(rates)
    lost = sum(end[way]["lost_packets"] for way in ways)
    packets = sum(end[way]["packets"] for way in ways)
    assert found.values["udp_loss_pct"] == pytest.approx(100 * lost / packets)
    assert not broken(found)


def test_the_sum_of_udp_is_the_senders_and_not_taken_for_goodput() -> None:
    found, end = only(FORMAT, OWN / "udp-lossy.json"), loaded("udp-lossy.json")["end"]
    assert end["sum"]["bits_per_second"] / 1e6 > 3 * found.values["goodput_mbps"]


def test_both_ways_have_a_goodput_each() -> None:
    found = only(FORMAT, OWN / "tcp-bidir-P2-gso.json")
    end = loaded("tcp-bidir-P2-gso.json")["end"]
    put = end["sum_received"]["bits_per_second"] / 1e6
    get = end["sum_received_bidir_reverse"]["bits_per_second"] / 1e6
    assert found.values["goodput_put_mbps"] == put
    assert found.values["goodput_get_mbps"] == get
    assert found.values["goodput_mbps"] == put + get
    assert found.settings["direction"] == "bidirectional"
    assert {each.part for each in found.series} >= {"put", "get", "put stream 5", "get stream 12"}
    assert not broken(found)


def test_the_flag_sender_of_a_sum_does_not_say_whose_figures_they_are() -> None:
    """`sum_received.sender` is true where the client sends; the figures are the receiver's."""
    document = loaded("tcp-n.json")
    assert document["end"]["sum_received"]["sender"] is True
    received = document["end"]["sum_received"]["bits_per_second"] / 1e6
    assert of_json(document).values["goodput_mbps"] == received


def test_keys_that_stand_twice_are_the_two_ways_of_old_versions() -> None:
    """Before 3.11, --bidir has `sum`, `sum_sent` and `sum_received` twice in an object."""
    text = (OWN / "tcp-bidir-P2-gso.json").read_text()
    old = text.replace("_bidir_reverse", "").replace("iperf 3.12", "iperf 3.9")
    assert len(json.loads(old)["end"]) < len(json.loads(text)["end"]), "a parser drops values"
    (found,) = of_text(old)
    now = only(FORMAT, OWN / "tcp-bidir-P2-gso.json")
    assert found.values == now.values
    assert found.version == "3.9"
    assert not broken(found)


def test_udp_of_both_ways_in_old_versions_has_a_loss_and_no_goodput() -> None:
    document = loaded("udp-bidir.json")
    document["end"] = {
        key: value
        for key, value in document["end"].items()
        if not key.startswith(("sum_sent", "sum_received"))
    }
    (found,) = of_text(json.dumps(document).replace("_bidir_reverse", ""))
    now = only(FORMAT, OWN / "udp-bidir.json")
    assert found.settings["direction"] == "bidirectional"
    assert found.values["udp_loss_pct"] == now.values["udp_loss_pct"]
    assert found.values["iperf_sent_mbps"] == now.values["iperf_sent_mbps"]
    assert "goodput_mbps" not in found.values
    assert "goodput_get_mbps" in found.values, "the client counts these bytes itself"


def test_a_test_that_failed_with_exit_code_0_has_the_tools_words_and_no_values() -> None:
    found = only(FORMAT, sample("own/iperf3-error.json"))
    assert found.error == "unable to connect to server: Connection refused"
    assert not found.values
    assert not found.series
    later = only(FORMAT, sample("own/iperf3.21-error.json"))
    assert later.error is not None
    assert later.error.startswith("unable to connect to server - server may have stopped")
    assert only(FORMAT, OWN / "err.txt").error == found.error


def test_an_interrupted_test_has_no_values_though_its_end_has_zeros() -> None:
    assert loaded("int.json")["end"]["sum_received"]["bits_per_second"] == 0
    found = only(FORMAT, OWN / "int.json")
    assert found.error == "interrupt - the client has terminated"
    assert not found.values


def test_an_empty_end_without_an_error_is_a_failed_test() -> None:
    document = loaded("tcp-n.json") | {"end": {}}
    assert of_json(document).error == "the test has no results: end is empty"


def test_a_loss_of_0_that_the_bytes_contradict_breaks_the_law() -> None:
    """iperf#2055: a client of 3.21 with a server of 3.12 reports no loss; 57 % were lost."""
    found = only(FORMAT, sample("own/iperf3.21-client-3.12-server-udp-loss.json"))
    assert found.values["udp_loss_pct"] == 0
    (reason,) = broken(found)
    assert reason.startswith(
        "sent × (1 − lost) = received: 46,278,000 bytes were sent and 0 % of them were lost, as "
        "the file says, so that 46,278,000 arrive; it says that 19,866,000 were received, which is "
        "a loss of 57.0725 %"
    )


def test_losses_that_count_omitted_seconds_break_the_law() -> None:
    """3.12 with -O takes the losses of the omitted second into the total: 62 % for 43 %."""
    (reason,) = broken(only(FORMAT, OWN / "udp-O1-P2.json"))
    assert "62.3787 % of them were lost" in reason
    assert "which is a loss of 42.5991 %" in reason


def test_the_servers_own_losses_contradict_those_that_the_client_has_of_it() -> None:
    """The same version, with the server's output beside: the client adds its losses of the omitted
    second, and reports more than it sent."""
    found = only(FORMAT, OWN / "udp-O1-gso.json")
    server = loaded("udp-O1-gso.json")["server_output_text"]
    assert " 85172/" in next(line for line in server.splitlines() if "receiver" in line)
    omitted = re.findall(r"ms +([0-9]+)/[0-9]+ .*omitted", server)
    assert sum(map(int, omitted)) == 144_555 - 85_172
    reasons = broken(found)
    assert reasons[0] == "the loss is from 0 to 100 %: 117.2194 %"
    assert reasons[-1] == (
        "both ends report the same losses: lost datagrams that the client reports: 144,555, "
        "the server reports 85,172"
    )


def test_more_losses_than_datagrams_break_the_law() -> None:
    document = loaded("udp-lossy.json")
    for row in (document["end"]["streams"][0]["udp"], document["end"]["sum_received"]):
        row["lost_packets"], row["packets"] = 148_406, 124_358
    assert any(law.startswith("the loss is from 0 to 100 %: 119.3") for law in _laws(document))


def test_streams_that_do_not_add_up_break_the_law() -> None:
    document = loaded("tcp-P2-gso.json")
    document["end"]["streams"][0]["sender"]["bytes"] -= 1
    assert any(law.startswith("the streams add up to their sum") for law in _laws(document))


def test_a_rate_that_is_not_bytes_by_time_breaks_the_law() -> None:
    document = loaded("tcp-P2-gso.json")
    document["end"]["sum_received"]["bits_per_second"] *= 1.001
    assert any(law.startswith("bytes ÷ time = rate: the receiver") for law in _laws(document))


def test_totals_with_the_omitted_bytes_break_the_law() -> None:
    """Old versions with -O and -R: the bytes of all seconds by the time of those not omitted."""
    document = loaded("tcp-R-O1-gso.json")
    document.pop("server_output_json")
    everything = sum(interval["sum"]["bytes"] for interval in document["intervals"])
    total = document["end"]["sum_received"]
    total["bytes"], total["bits_per_second"] = everything, 8 * everything / total["seconds"]
    document["end"]["streams"][0]["receiver"] |= total
    (reason,) = _laws(document)
    assert reason.startswith("the intervals add up to the total")


def test_ends_that_report_different_bytes_break_the_law() -> None:
    document = loaded("tcp-P2-gso.json")
    server = document["server_output_json"]["end"]
    server["sum_received"]["bytes"] //= 2
    assert any(law.startswith("both ends report the same bytes") for law in _laws(document))


def _laws(document: Any) -> list[str]:
    return broken(of_json(document))


def test_omitted_seconds_are_outside_of_window_and_series() -> None:
    found = only(FORMAT, sample("own/iperf3-tcp-P2-O1.json"))
    assert found.started_s == 1_795_854_260
    assert found.window_s is not None
    assert found.window_s[0] == pytest.approx(1_795_854_261, abs=0.001)
    assert found.window_s[1] == pytest.approx(1_795_854_264, abs=0.001)
    whole = found.series[0]
    assert len(whole.starts_s) == 3
    assert whole.starts_s[0] == pytest.approx(1, abs=0.001)
    # The file's own mean_rtt (114 and 60 µs) has the samples of the omitted second too: 72 and 51.
    assert found.values["srtt_us_mean"] == pytest.approx(
        np.mean([191, 99, 96, 62, 66, 63]), abs=0.01
    )
    assert any("the first 1 s of the test are left out" in note.lower() for note in found.notes)


def test_a_short_last_interval_weighs_less() -> None:
    found, document = only(FORMAT, OWN / "tcp-n.json"), loaded("tcp-n.json")
    rows = [interval["streams"][0] for interval in document["intervals"]]
    assert rows[-1]["seconds"] < 0.6
    expected = np.average([row["rtt"] for row in rows], weights=[row["seconds"] for row in rows])
    assert found.values["srtt_us_mean"] == pytest.approx(expected, rel=1e-4)
    assert found.series[0].ends_s[-1] == pytest.approx(2.507, abs=0.001)


def test_round_trip_times_and_cwnd_are_the_senders() -> None:
    reverse = only(FORMAT, sample("own/iperf3-tcp-R.json"))
    assert "srtt_us_mean" not in reverse.values, "the zeros of the file's end are no samples"
    assert "cwnd_bytes" not in reverse.series[0].values
    with_server = only(FORMAT, OWN / "tcp-R-O1-gso.json")
    rows = [
        row["streams"][0] for row in loaded("tcp-R-O1-gso.json")["server_output_json"]["intervals"]
    ]
    kept = [row for row in rows if not row["omitted"]]
    expected = np.average([row["rtt"] for row in kept], weights=[row["seconds"] for row in kept])
    assert with_server.values["srtt_us_mean"] == pytest.approx(expected, rel=1e-3)


def test_a_stream_of_events_is_the_same_test() -> None:
    path = sample("own/iperf3.21-json-stream.ndjson")
    found = only(FORMAT, path)
    assert found.values["goodput_mbps"] == pytest.approx(100.05991064063859)
    assert found.started_s == 1_795_855_648.408
    assert found.settings["target"] == "127.0.0.1:15401"
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    events = {row["event"]: row["data"] for row in rows}
    intervals = [row["data"] for row in rows if row["event"] == "interval"]
    whole = {"start": events["start"], "intervals": intervals, "end": events["end"]}
    assert of_json(whole).values == found.values
    # --json-stream-full-output: the document of the same test after its events.
    (again,) = of_text(path.read_text() + json.dumps(whole))
    assert again.values == found.values


def test_a_stream_that_was_cut_off_is_a_failed_test() -> None:
    lines = sample("own/iperf3.21-json-stream.ndjson").read_text().splitlines()
    (found,) = of_text("\n".join(lines[:-1]))
    assert found.error == "the file ends before the test does: the event end is missing"
    assert not found.values


def test_an_event_of_an_error_is_a_failed_test() -> None:
    (found,) = of_text('{"event":"error","data":"unable to connect to server"}')
    assert found.error == "unable to connect to server"


def test_warnings_before_a_document_are_notes() -> None:
    """Standard error in the same file."""
    warning = (
        "warning: UDP block size 1460 exceeds TCP MSS 1448, may result in fragmentation / drops"
    )
    text = f"{warning}\n" + (OWN / "udp-R.json").read_text()
    assert FORMAT.recognises(text.encode())
    (found,) = of_text(text)
    assert found.values == only(FORMAT, OWN / "udp-R.json").values
    assert f"iperf3 printed: {warning}" in found.notes
    with pytest.raises(FormatError, match="the document that begins at line 2, column 1"):
        of_text(text[:-20])


def test_several_documents_are_several_tests() -> None:
    text = (OWN / "tcp-n.json").read_text() + (OWN / "udp-R.json").read_text()
    first, second = of_text(text)
    assert (first.settings["protocol"], second.settings["protocol"]) == ("TCP", "UDP")
    assert first.values == only(FORMAT, OWN / "tcp-n.json").values


def test_a_server_reports_its_own_counts_and_no_zeros_for_the_clients() -> None:
    bidir, lossy, tcp = measurements(FORMAT, OWN / "server.json")
    assert bidir.settings["reported_by"] == "server"
    assert lossy.values["goodput_mbps"] == pytest.approx(449.977, abs=0.001)
    assert "iperf_sent_mbps" not in lossy.values
    assert "iperf_cpu_remote_pct" not in lossy.values
    assert tcp.values["goodput_put_mbps"] == pytest.approx(100.636, abs=0.001)
    assert "goodput_mbps" not in tcp.values, "the server does not know what its client received"
    assert not broken(bidir) + broken(lossy) + broken(tcp)


def test_udp_before_3_11_has_no_goodput_where_the_client_sends() -> None:
    document = loaded("udp-lossy.json")
    document.pop("server_output_json")
    for key in ("sum_sent", "sum_received"):
        del document["end"][key]
    found = of_json(document)
    assert "goodput_mbps" not in found.values
    assert found.values["udp_loss_pct"] == pytest.approx(69.0608, abs=1e-4)
    assert any("no count of the bytes that were received" in note for note in found.notes)
    reverse = loaded("udp-R.json")
    received = reverse["end"]["sum_received"]["bits_per_second"] / 1e6
    for key in ("sum_sent", "sum_received"):
        del reverse["end"][key]
    assert of_json(reverse).values["goodput_mbps"] == pytest.approx(received)


def test_a_file_of_3_1_without_flags_is_read() -> None:
    text = re.sub(r',\s*"sender":\s*(true|false)', "", (OWN / "tcp-n.json").read_text())
    (found,) = of_text(text)
    assert found.values == only(FORMAT, OWN / "tcp-n.json").values


def test_a_value_that_is_no_number_is_left_out_by_name() -> None:
    text = (OWN / "udp-R.json").read_text()
    at = text.rindex('"jitter_ms"')
    (found,) = of_text(text[:at] + re.sub(r"[0-9.]+", "-nan", text[at:], count=1))
    assert "udp_jitter_last_ms" not in found.values
    assert found.values["goodput_mbps"] > 0
    assert (
        "document 1.end.sum_received.jitter_ms is left out: its value is -nan, which is not a "
        "finite number." in found.notes
    )


def test_a_file_that_was_cut_off_is_refused() -> None:
    data = (OWN / "tcp-n.json").read_bytes()
    with pytest.raises(FormatError, match="the file was cut off"):
        FORMAT.read(data[: len(data) // 2])


def test_decimal_commas_are_refused_with_the_command_that_avoids_them() -> None:
    with pytest.raises(FormatError, match="decimal comma is not JSON; make the file with LC_ALL=C"):
        of_text((OWN / "tcp-n.json").read_text().replace("1.0001369714736938", "1,0001"))
    with pytest.raises(FormatError, match=r"line 4: .* has a decimal comma"):
        of_text((OWN / "tcp.txt").read_text().replace("23.9 MBytes", "23,9 MBytes", 1))


# The text for people.


@pytest.mark.parametrize(
    "name", ["tcp", "tcp-P2", "tcp-R-O1", "tcp-n", "tcp-V", "tcp-ts", "udp", "udp-P2-R"]
)
def test_text_has_the_figures_of_its_own_summary(name: str) -> None:
    path = OWN / f"{name}.txt"
    summary = path.read_text().split("Server output:")[0].splitlines()
    rows = [line for line in summary if line.rstrip().endswith(("sender", "receiver"))]
    rows = [line for line in rows if "[SUM]" in line] or rows
    rate = {row.split()[-1]: float(row.split(" Mbits/sec")[0].split()[-1]) for row in rows}
    found = only(FORMAT, path)
    assert found.values["goodput_mbps"] == rate["receiver"]
    assert found.values["iperf_sent_mbps"] == rate["sender"]
    assert found.settings["protocol"] == name[:3].upper()
    assert found.settings["direction"] == ("reverse" if "-R" in name else "forward")
    assert not broken(found)


def test_text_of_both_ways_has_a_goodput_each() -> None:
    found = only(FORMAT, OWN / "bidir-P2.txt")
    assert found.values["goodput_put_mbps"] == 200
    assert found.values["goodput_get_mbps"] == 200
    assert found.values["goodput_mbps"] == 400
    assert found.values["retransmissions_per_run"] == 6
    udp = only(FORMAT, OWN / "udp-bidir.txt")
    assert (udp.values["goodput_put_mbps"], udp.values["goodput_get_mbps"]) == (50.1, 50.1)
    assert not broken(found) + broken(udp)


def test_sizes_in_text_are_binary_and_rates_decimal() -> None:
    """A second with 23.9 MBytes has 200 Mbit/s: 23.9 × 2^20 × 8 = 200.5 × 10^6."""
    found = only(FORMAT, OWN / "tcp.txt")
    (law,) = [check for check in found.checks if "the sender:" in check.detail]
    assert law.holds
    assert law.detail.startswith("the sender: 50,121,932.8 bytes in 2 s are 200,487,731.2 bit/s")
    in_bytes = (OWN / "tcp.txt").read_text().replace(" 200 Mbits/sec", "23.8 MBytes/sec")
    (again,) = of_text(in_bytes)
    assert again.values["goodput_mbps"] == pytest.approx(23.8 * 2**20 * 8 / 1e6)
    assert not broken(again)


def test_a_text_with_one_interval_is_read() -> None:
    """-i 0 prints no intervals but one of the whole test."""
    found = only(FORMAT, OWN / "tcp-i0.txt")
    assert found.values["goodput_mbps"] > 0
    assert not broken(found)


def test_rates_in_bytes_are_binary() -> None:
    """-f M: MBytes/sec of 2^20 bytes, which the sizes of the same rows show."""
    found = only(FORMAT, OWN / "tcp-f-M.txt")
    (row,) = re.findall(r"([0-9.]+) MBytes/sec +receiver", (OWN / "tcp-f-M.txt").read_text())
    assert found.values["goodput_mbps"] == pytest.approx(float(row) * 2**20 * 8 / 1e6)
    assert any(check.law == "bytes ÷ time = rate" for check in found.checks)
    assert not broken(found)


def test_losses_in_text_are_the_receivers_counts() -> None:
    found = only(FORMAT, OWN / "udp-P2-R.txt")
    assert found.values["udp_loss_pct"] == pytest.approx(100 * 6 / 764)
    assert found.values["udp_jitter_last_ms"] == 0.011
    whole = found.series[0]
    assert whole.values["udp_loss_pct"] == pytest.approx([100 * 6 / 384, 0])


def test_the_servers_output_is_not_a_second_test() -> None:
    found = only(FORMAT, OWN / "tcp-P2.txt")
    assert found.settings["streams"] == "2"
    assert any(check.law == "both ends report the same bytes" for check in found.checks)


def test_the_log_of_a_server_has_a_test_for_each_client() -> None:
    found = measurements(FORMAT, OWN / "server.txt")
    text = (OWN / "server.txt").read_text()
    assert len(found) == text.count("Accepted connection")
    ways = ["forward", "forward", "reverse", "bidirectional", "forward", "reverse"]
    assert [each.settings["direction"] for each in found][:6] == ways
    assert [each.settings["protocol"] for each in found][4:7] == ["UDP"] * 3
    assert found[0].values == {"goodput_mbps": 200}
    assert not [law for each in found for law in broken(each)]


def test_a_text_with_its_time_has_a_window() -> None:
    found = only(FORMAT, OWN / "tcp-V.txt")
    assert found.version == "3.12"
    assert found.window_s is not None
    assert found.window_s[1] - found.window_s[0] == 2
    assert found.values["iperf_cpu_local_pct"] == 2.5
    assert only(FORMAT, OWN / "tcp-ts.txt").started_s is None, "local times without a zone"


def test_text_that_was_cut_off_is_a_failed_test() -> None:
    text = (OWN / "tcp.txt").read_text()
    (found,) = of_text(text[: text.index("- - -")])
    assert found.error == "the file ends before the test does: its totals are missing"
    assert not found.values


def test_text_before_3_2_is_read() -> None:
    """Typed after the output of 3.1: Bandwidth for Bitrate, one row for both ends of UDP."""
    (found,) = of_text(
        "Connecting to host 192.0.2.1, port 5201\n"
        "[  4] local 192.0.2.2 port 38000 connected to 192.0.2.1 port 5201\n"
        "[ ID] Interval           Transfer     Bandwidth       Total Datagrams\n"
        "[  4]   0.00-1.00   sec   116 KBytes   950 Kbits/sec  82  \n"
        "[  4]   1.00-2.00   sec   128 KBytes  1.05 Mbits/sec  90  \n"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n"
        "[  4]   0.00-2.00   sec   244 KBytes   999 Kbits/sec  0.088 ms  17/172 (9.9%)  \n"
        "[  4] Sent 172 datagrams\n"
        "\n"
        "iperf Done.\n"
    )
    assert found.values["iperf_sent_mbps"] == 0.999
    assert found.values["udp_loss_pct"] == pytest.approx(100 * 17 / 172)
    assert "goodput_mbps" not in found.values
    assert not broken(found)


def test_a_number_that_is_none_in_text_is_left_out_by_name() -> None:
    text = (OWN / "udp.txt").read_text().replace("0.012 ms", "-nan ms")
    (found,) = of_text(text)
    assert "udp_jitter_last_ms" not in found.values
    assert "line 9: jitter is left out: it is -nan, which is not a number." in found.notes


def test_a_loss_that_the_bytes_in_text_contradict_breaks_the_law() -> None:
    text = (OWN / "udp.txt").read_text()
    (found,) = of_text(text.replace("11.9 MBytes  48.3 Mbits", "5.12 MBytes  20.8 Mbits"))
    (reason,) = broken(found)
    assert reason.startswith("sent × (1 − lost) = received")
    assert "which is a loss of 56.9748 %" in reason


@pytest.mark.parametrize("way", ["tcp-bidirectional-client", "tcp-unidirectional-client"])
def test_the_files_of_bench_iperf_have_their_metrics(way: str) -> None:
    path = sample(f"bench-iperf/{way}/iperf-client-result.txt")
    found = only(FORMAT, path)
    expected = json.loads(sample(f"bench-iperf/{way}/expected-metrics.json").read_text())
    assert found.settings["protocol"] == expected["protocol"].upper()
    assert (found.settings["direction"] == "bidirectional") == expected.get("bidir", False)
    # Its intervals, added up as bench-iperf does it: a rate for each way and interval not omitted.
    for part, row in _of_bench_iperf(path).items():
        series = next(each for each in found.series if each.part == part)
        (name,) = [name for name in series.values if name.endswith("_mbps")]
        assert series.values[name] == pytest.approx(row)
    assert not broken(found)


def _of_bench_iperf(path: Path) -> dict[str, list[float]]:
    parts: dict[str, list[float]] = {}
    for line in path.read_text().splitlines():
        if " sec " not in line or line.rstrip().endswith(("(omitted)", "sender", "receiver")):
            continue
        part = "put" if "[TX-C]" in line else "get" if "[RX-C]" in line else ""
        rate = float(line.split(" Kbits/sec")[0].split()[-1]) / 1e3
        parts.setdefault(part, []).append(rate)
    return parts


@pytest.mark.parametrize(
    "name",
    [
        "tcp-bidir-P2-gso.json",
        "udp-R.json",
        "server.json",
        "bidir-P2.txt",
        "udp-P2-R.txt",
        "server.txt",
    ],
)
def test_damaged_files_give_finite_values_or_are_refused(name: str) -> None:
    held(FORMAT, (OWN / name).read_bytes(), seed=7)


@in_namespaces
@needs_programs("iperf3")
def test_todays_iperf3_is_read(tmp_path: Path) -> None:
    """Two streams with an omitted second as JSON, and UDP as text, from the tool itself."""
    script = """
    ip link set lo up
    iperf3 -s > server.txt & server=$!
    sleep 0.5
    iperf3 -c 127.0.0.1 -J -t 2 -O 1 -P 2 -b 50M > tcp.json
    sleep 1
    iperf3 -c 127.0.0.1 -u -t 1 -b 20M -l 1200 > udp.txt
    kill $server
    """
    subprocess.run(["unshare", "--net", "sh", "-c", script], cwd=tmp_path, check=True, timeout=60)
    tcp = only(FORMAT, tmp_path / "tcp.json")
    end = json.loads((tmp_path / "tcp.json").read_text())["end"]
    assert tcp.values["goodput_mbps"] == end["sum_received"]["bits_per_second"] / 1e6
    assert tcp.settings["streams"] == "2"
    assert len(tcp.series[0].starts_s) == 2
    assert not broken(tcp)
    form, content = read_file(tmp_path / "udp.txt")
    assert form.name == "iperf3"
    assert isinstance(content, tuple)
    (udp,) = content
    assert udp.values["iperf_sent_mbps"] == pytest.approx(20, rel=0.05)
    logged = measurements(FORMAT, tmp_path / "server.txt")
    assert [each.settings["protocol"] for each in logged] == ["TCP", "UDP"]
