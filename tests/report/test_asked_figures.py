"""Figures as a study says them: bars, a second axis, panels, fits, ideal growth, the line rate."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from netstudy.analysis.study_result import analyse
from netstudy.report import charts
from netstudy.report.charts import Drawn, Lines
from netstudy.report.document import Document, document
from netstudy.report.figures import Figure
from netstudy.study.undrawn import undrawn
from tests.report import loaded, workloads
from tests.report.planted import records
from tests.report.results import from_text, results, study_text

CONFORMANCE = Path(__file__).parents[2] / "studies" / "conformance"


def drawn(folder: Path, figure: str, factors: str = "") -> Document:
    """A study of servers (and more factors) with one figure; times are 10 ms a server and 5 ms."""
    text = study_text(
        f"factors: {{servers: [1, 2, 4, 8]{factors}}}\nreplicates: 3\nfigures: [{figure}]\n",
        servers='"${servers}"',
        **({"switch": '"${switch}"'} if "switch" in factors else {}),
        **({"block": '"${block}"'} if "block" in factors else {}),
    )
    made = from_text(folder, text, records(lambda servers, **_: 10.0 * servers + 5.0))
    assert undrawn(made.study()) == ()
    return document(made, analyse(made))


def only(doc: Document) -> tuple[Figure, Drawn]:
    (figure,) = [one for one in doc.cases[0].drawn.figures if one.name.startswith("figure-")]
    assert isinstance(figure.source, Drawn)
    for size in (charts.WIDE, charts.NARROW):
        ElementTree.fromstring(charts.svg(figure.source, size))
    return figure, figure.source


BLOCKS = ", block: [1 MB, 4 MB]"
SWITCHES = ", switch: [arista-7124s, nexus-5010]"


def values(rows: Any, key: str) -> set[Any]:
    return {row[key] for row in rows}


def test_bars_stand_beside_each_other_with_their_values(tmp_path: Path) -> None:
    _, found = only(
        drawn(tmp_path, "{kind: bars, x: servers, y: completion_ms_mean, series: switch}", SWITCHES)
    )
    assert found.mark == "bars"
    assert len(found.points) == 8
    assert values(found.points, "series") == {"arista-7124s", "nexus-5010"}
    assert all(row["text"] for row in found.points)


def test_a_second_metric_has_its_axis_on_the_right(tmp_path: Path) -> None:
    _, found = only(drawn(tmp_path, "{x: servers, y: completion_ms_mean, y2: goodput_mbps}"))
    assert found.y2 is not None
    assert found.y2.endswith("Mbit/s")
    assert sum("right" in row for row in found.points) == 4
    assert len(found.series) == 2


def test_levels_and_metrics_are_told_apart_without_colours(tmp_path: Path) -> None:
    figure = "{kind: lines, x: servers, y: [completion_ms_mean, completion_ms_p50], series: switch}"
    _, found = only(drawn(tmp_path, figure, SWITCHES))
    looks = {(style.symbol, style.filled) for style in found.series.values()}
    assert len(looks) == len(found.series) == 4


def test_points_in_a_legend_are_whole_where_their_lines_are_dashed(tmp_path: Path) -> None:
    asked = "{x: servers, y: [completion_ms_mean, completion_ms_p50], series: switch}"
    _, found = only(drawn(tmp_path, asked, SWITCHES))
    # Means and medians are the same here, and lines that coincide have dashes of their own.
    apart = [{**row, "y": row["y"] * (1 + 0.2 * n)} for n, row in enumerate(found.points)]
    drawing = charts.svg(replace(found, points=apart), charts.WIDE)
    assert len(re.findall('stroke-dasharray="6,3"', drawing)) == sum(
        style.dashes == [6, 3] for style in found.series.values()
    )


def test_a_factor_of_panels_makes_panels_on_shared_axes(tmp_path: Path) -> None:
    _, found = only(
        drawn(
            tmp_path, "{x: servers, y: completion_ms_mean, panel: block}", ", block: [1 MB, 4 MB]"
        )
    )
    assert found.facets is not None
    assert found.facets.factors == ("block",)


def test_metrics_of_two_units_are_two_figures(tmp_path: Path) -> None:
    doc = drawn(tmp_path, "{x: servers, y: [completion_ms_mean, goodput_mbps]}")
    names = [figure.name for figure in doc.cases[0].drawn.figures]
    assert names == ["figure-1-1", "figure-1-2"]


def test_laws_are_drawn_with_their_intervals_and_told(tmp_path: Path) -> None:
    figure, found = only(drawn(tmp_path, "{x: servers, y: completion_ms_mean, fit: [linear, usl]}"))
    assert values(found.fits, "law") == {"linear", "USL"}
    assert all(row["low"] <= row["y"] <= row["high"] for row in found.fits)
    assert "linear fit: intercept" in str(figure.caption)
    assert "95 % CI" in str(figure.caption)


def dashes_of_laws(found: Drawn) -> dict[str, Any]:
    (dash,) = (
        layer["encoding"]["strokeDash"]
        for layer in found.spec(charts.WIDE)["layer"]
        if layer["encoding"].get("strokeDash", {}).get("field") == "law"
    )
    return dict(dash)


def test_laws_of_one_line_differ_in_their_dashes_and_are_named(tmp_path: Path) -> None:
    along = "{x: servers, y: completion_ms_mean, fit:"
    _, several = only(drawn(tmp_path, f"{along} [linear, usl, amdahl]}}"))
    dash = dashes_of_laws(several)
    assert dash["scale"]["domain"] == ["linear", "USL", "Amdahl"]
    assert len(set(map(tuple, dash["scale"]["range"]))) == 3
    assert dash["legend"] is not None
    _, alone = only(drawn(tmp_path, f"{along} usl}}"))
    assert dashes_of_laws(alone)["legend"] is None


def test_a_law_that_the_points_do_not_follow_is_told(tmp_path: Path) -> None:
    """Goodput grows with the servers by more than in proportion."""
    text = study_text(
        "factors: {servers: [1, 2, 4, 8, 16]}\nreplicates: 3\n"
        "figures: [{kind: lines, x: servers, y: goodput_mbps, fit: [linear, usl]}]\n",
        servers='"${servers}"',
    )
    made = from_text(tmp_path, text, records(lambda servers: 32.0 / servers**0.3))
    figure, _ = only(document(made, analyse(made)))
    assert "USL fit: rate of one" in str(figure.caption)
    told = "Contention below zero means nothing: the points do not follow this law."
    assert told in str(figure.caption)


def test_a_fit_tells_where_it_misses_most(tmp_path: Path) -> None:
    """Times of 15, 25 and 45 ms are on a line, the last is 15 ms above it: least squares by hand;
    the runs scatter by hundredths."""
    times = {1: 15.0, 2: 25.0, 4: 45.0, 8: 100.0}
    text = study_text(
        "factors: {servers: [1, 2, 4, 8]}\nreplicates: 3\n"
        "figures: [{kind: lines, x: servers, y: completion_ms_mean, fit: linear}]\n",
        servers='"${servers}"',
    )
    made = from_text(tmp_path, text, records(lambda servers: times[servers]))
    figure, _ = only(document(made, analyse(made)))
    slope = sum((x - 3.75) * (y - 46.25) for x, y in times.items()) / 28.75
    error = 100 * ((46.25 + slope * (1 - 3.75)) / 15 - 1)
    told = re.search(r"; largest error −([\d.]+) %, at (\d)\.", str(figure.caption))
    assert told is not None
    assert told[2] == "1"
    assert -float(told[1]) == pytest.approx(error, abs=0.5)


def test_ideal_growth_starts_at_the_first_point(tmp_path: Path) -> None:
    _, found = only(drawn(tmp_path, "{x: servers, y: goodput_mbps, ideal: linear}"))
    first = min(found.points, key=lambda row: row["x"])
    assert [row["y"] / first["y"] for row in found.ideals] == pytest.approx([1, 2, 4, 8])


def test_the_line_rate_is_drawn_where_there_is_one(tmp_path: Path) -> None:
    _, found = only(drawn(tmp_path, "{x: servers, y: goodput_mbps, line rate: true}"))
    assert [row["text"] for row in found.rules] == ["line rate 10 Gbit/s"]
    figure, other = only(drawn(tmp_path, "{x: servers, y: completion_ms_mean, line rate: true}"))
    assert other.rules == []
    assert "line rate is not drawn" in str(figure.caption)


def test_a_line_that_all_clients_share_is_drawn_and_not_those_of_a_few(tmp_path: Path) -> None:
    """Up to three clients their own links are the narrowest, from four on it is the server's."""
    text = loaded.STUDY.replace("CLIENTS", "[1, 2, 4, 5]")
    text = text.replace("server: {profile: host-1g}", "server: {profile: host-10g}")
    text = text.replace("  link: {rate: 1 Gbit/s}\n", LINKS)
    text += "figures: [{x: clients, y: goodput_mbps, panel: sink, line rate: true}]\n"
    made = from_text(tmp_path, text, lambda run: loaded.record(run, loaded.Load(900.0)))
    _, found = only(document(made, analyse(made)))
    assert values(found.rules, "y") == {4000.0}
    assert "dashed: line rate" in found.subtitle


LINKS = """\
  links:
    - {between: [client, switch], rate: 1 Gbit/s}
    - {between: [monitor, switch], rate: 1 Gbit/s}
    - {between: [server, switch], rate: 4 Gbit/s}
"""


def test_a_size_law_stands_on_logarithmic_axes_with_its_levels(tmp_path: Path) -> None:
    text = study_text(
        "factors: {block: [1 MB, 3 MB, 1 GB]}\nreplicates: 3\n"
        "figures: [{kind: size law, x: block, y: completion_ms_mean,"
        " fit: latency + size/bandwidth}]\n",
        block='"${block}"',
    )
    times = {"1 MB": 3.0, "3 MB": 5.0, "1 GB": 1002.0}
    made = from_text(tmp_path, text, records(lambda block: times[block]))
    figure, found = only(document(made, analyse(made)))
    assert found.x_log
    assert found.y_log
    assert [row["level"] for row in found.points] == ["1 MB", "3 MB", "1 GB"]
    assert "1 GB" in charts.svg(found, charts.WIDE).replace("\u00a0", " ")
    # 2 ms and 1 µs a kB: 8 Gbit/s; runs differ by about 1 %
    assert "bandwidth 8" in str(figure.caption) or "bandwidth 7.9" in str(figure.caption)


def test_nothing_stands_on_no_logarithmic_axis(tmp_path: Path) -> None:
    text = study_text(
        "factors: {block: [1 MB, 4 MB], gap: [0 us, 5 us]}\nreplicates: 3\n"
        "figures: [{kind: size law, x: gap, y: drops_per_iteration, series: block}]\n",
        block='"${block}"',
    ).replace("incast: {", 'incast: {spacing: "${gap}", ')
    made = from_text(tmp_path, text, records(lambda **_: 3.0))
    _, found = only(document(made, analyse(made)))
    assert (found.x_log, found.y_log) == (False, False)


def test_quantities_on_a_linear_axis_stand_at_their_places_by_their_names(tmp_path: Path) -> None:
    """1 MB and 2 MB are too near to each other for both labels, and the longest is the last."""
    figure = "{x: block, y: completion_ms_mean}"
    text = study_text(
        f"factors: {{block: [1 MB, 2 MB, 20 MB, 40 MB]}}\nreplicates: 3\nfigures: [{figure}]\n",
        block='"${block}"',
    )
    made = from_text(tmp_path, text, records(lambda block: float(block.split()[0])))
    _, found = only(document(made, analyse(made)))
    assert not found.x_log
    for size in (charts.WIDE, charts.NARROW):
        labels = re.findall(r"<text[^>]*>(\d+.MB|[\d,]*000)</text>", charts.svg(found, size))
        assert [label.replace("\u00a0", " ") for label in labels] == ["2 MB", "20 MB", "40 MB"]


def test_a_course_of_what_no_sampler_reads_is_refused_by_name(tmp_path: Path) -> None:
    text = study_text(
        "factors: {servers: [1, 2]}\nfigures: [{kind: time series, y: completion_ms_mean}]\n",
        servers='"${servers}"',
    )
    made = from_text(tmp_path, text, records(lambda servers: 10.0 * servers))
    assert undrawn(made.study()) == ("figures[0]",)


def transfers(folder: Path, figure: str) -> Document:
    """Transfers of two loads with one figure; their records hold the bytes of each second."""
    study = CONFORMANCE / "transfer-star.yaml"
    path = folder / "study.yaml"
    path.write_text(f"{study.read_text()}\nfigures: [{figure}]\n")
    made = results(folder, path, maker=workloads.record, overrides={"replicates": "2"})
    assert undrawn(made.study()) == ()
    return document(made, analyse(made))


def test_what_the_records_of_a_workload_hold_by_the_second_has_a_course(tmp_path: Path) -> None:
    doc = transfers(tmp_path, "{kind: time series, y: goodput_mbps, y2: client.goodput_mbps}")
    figure = doc.cases[0].drawn.figures[0]
    found = figure.source
    assert isinstance(found, Lines)
    assert found.x == "s from the start of the measuring phase"
    assert found.y2 == "Goodput of client, Mbit/s"
    for size in (charts.WIDE, charts.NARROW):
        ElementTree.fromstring(charts.svg(found, size))
    sides = {
        name: [bool(r.get("right")) for r in found.points if r["series"] == name]
        for name in found.series
    }
    assert sorted(set(map(tuple, map(set, sides.values())))) == [(False,), (True,)]


def test_a_right_axis_of_nothing_that_was_sampled_is_told(tmp_path: Path) -> None:
    doc = transfers(tmp_path, "{kind: time series, y: goodput_mbps, y2: client.cpu_pct}")
    figure = doc.cases[0].drawn.figures[0]
    assert isinstance(figure.source, Lines)
    assert figure.source.y2 is None
    assert "Not drawn, as nothing was sampled of it: CPU of client." in str(figure.caption)


def test_many_fits_are_a_table_and_log_axes_stay_in_panels(tmp_path: Path) -> None:
    """2 ms and 1 µs a kB; one of the switches takes twice as long a byte."""
    text = study_text(
        "factors: {block: [1 MB, 3 MB, 5 MB], switch: [arista-7124s, nexus-5010],"
        " servers: [2, 4]}\nreplicates: 3\n"
        "figures: [{kind: size law, x: block, y: completion_ms_mean, series: switch,"
        " fit: latency + size/bandwidth}]\n",
        block='"${block}"',
        switch='"${switch}"',
        servers='"${servers}"',
    )

    def law(block: str, switch: str, servers: int) -> float:
        each = 2 if switch == "nexus-5010" else 1
        return (2.0 + int(block[0]) * each) * servers

    made = from_text(tmp_path, text, records(law))
    doc = document(made, analyse(made))
    figure, found = only(doc)
    assert found.facets is not None
    assert found.y_log
    assert "fit" not in str(figure.caption)
    (table,) = doc.cases[0].drawn.tables
    heads = [group.heading for group in table.groups]
    assert heads == ["servers", "line", "latency", "bandwidth", "Error"]
    values = {(str(row[0]), str(row[1])): str(row[4]) for row in table.rows}
    assert len(values) == 4
    mbps = float(values["2", "arista-7124s"].replace(",", ""))
    assert mbps == pytest.approx(4_000, rel=0.1)
