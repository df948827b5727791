"""Reports of transfers and requests: the same pages, their own words, their own curves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from netstudy.analysis.study_result import analyse
from netstudy.analysis.workloads.probe import IDLE_P50, LOADED_P50
from netstudy.data.samples import TABLES, samples_csv
from netstudy.plan import make_plan
from netstudy.report import charts
from netstudy.report.document import Document, document
from netstudy.report.drawings import test_bed as draw_bed
from netstudy.report.drawings import test_bed_alt as bed_in_words
from netstudy.report.export import to_csv
from netstudy.report.pages import render_html, render_markdown
from netstudy.report.refs import Name, say
from netstudy.report.svg import text_width
from netstudy.report.workloads.base import agreeing
from netstudy.report.workloads.incast import INCAST as INCAST_PAGE
from netstudy.store import Folder
from netstudy.study import load
from netstudy.wire import Run, RunRecord
from tests.report import workloads
from tests.report.caveats import caveat_sentences
from tests.report.results import results, study_text
from tests.report.synthetic import run as incast_run

CONFORMANCE = Path(__file__).parents[2] / "studies" / "conformance"


def made(folder: Path, study: str, replicates: int = 2) -> Folder:
    changes = {"replicates": str(replicates)}
    return results(folder, CONFORMANCE / f"{study}.yaml", maker=workloads.record, overrides=changes)


@pytest.fixture(scope="module")
def dumbbell(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return made(tmp_path_factory.mktemp("dumbbell"), "transfer-dumbbell")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return made(tmp_path_factory.mktemp("loaded"), "latency-under-load")


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """One connection of each pair, and two."""
    folder = tmp_path_factory.mktemp("requests")
    text = (CONFORMANCE / "request-star.yaml").read_text()
    clients = "  clients: [1, 4, 8]\n"
    connection = "  connection: [{name: one, many: 1}, {name: two, many: 2}]\n"
    for old, new in (
        (clients, clients + connection),
        ("response: 16 kB}", 'response: 16 kB, connections: "${many}"}'),
    ):
        assert old in text
        text = text.replace(old, new)
    study = folder / "request-star.yaml"
    study.write_text(text)
    return results(folder, study, maker=workloads.record, overrides={"replicates": "2"})


def shown(folder: Folder) -> Document:
    return document(folder, analyse(folder))


def curves(doc: Document) -> dict[str, charts.Lines]:
    return {
        figure.name: figure.source
        for figure in doc.figures()
        if isinstance(figure.source, charts.Lines)
    }


def description(doc: Document) -> str:
    (case,) = doc.cases
    return " ".join(map(str, case.description))


def test_transfers_are_told_from_the_plan(dumbbell: Folder) -> None:
    doc = shown(dumbbell)
    assert "20 transfers after 3 transfers of warm-up: 2 to 4 clients move bytes from" in (
        description(doc)
    )
    assert "iteration" not in render_markdown(doc).partition("### Hardware profiles")[0]


def test_whole_and_divided_blocks_of_one_study_are_told_apart() -> None:
    whole, divided = (incast_run({"servers": 2, "block": block}) for block in ("whole", "divided"))
    work = divided.workload.model_copy(update={"block_bytes": 10_000_000, "striped": True})
    both = [whole, replace(divided, workload=work)]
    (sentence,) = INCAST_PAGE.description(both)
    assert "asks 2 servers at once for 4 MB each or their shares of 10 MB and asks again" in (
        str(sentence)
    )
    drawn = INCAST_PAGE.illustration
    assert drawn is not None
    words = drawn.alt(both)
    assert "block of 4 MB from each server or block of 10 MB divided over the servers" in words
    for line in ("block of 4 MB from each server", "or block of 10 MB divided over the servers"):
        assert line in drawn.svg(both)


def test_a_closed_loop_is_called_one(requests: Folder) -> None:
    text = description(shown(requests))
    assert "(closed loop)" in text
    assert "200 B to 1 server" in text
    assert "over 1 to 2 connections for each pair" in text


def test_a_probe_is_told_idle_and_loaded(loaded: Folder) -> None:
    doc = shown(loaded)
    assert "a small request is due each 10 ms" in description(doc)
    assert "for 2 s before the workload begins, nothing else is sent" in description(doc)
    (panel,) = doc.cases[0].panels
    assert panel.results is not None
    heads = [group.heading for group in panel.results.groups]
    assert heads[-3:] == [
        "Median idle probe latency",
        "Median loaded probe latency",
        "99th percentile of the loaded probe latency",
    ]


def test_a_figure_of_a_probe_under_load_has_the_idle_level(loaded: Folder) -> None:
    (found,) = analyse(loaded).cases[0].panels
    idle = [cell.value(IDLE_P50) for cell in found.panel.cells.values()]
    drawn = charts.metric_chart(found.panel, LOADED_P50, found.workload)
    (rule,) = drawn.rules
    assert min(filter(None, idle)) <= rule["y"] <= max(filter(None, idle))
    assert rule["text"].startswith("while idle 5")
    assert rule["text"].endswith("µs")
    assert "dashed: while idle" in drawn.subtitle
    assert not charts.metric_chart(found.panel, IDLE_P50, found.workload).rules


def test_curves_are_drawn_where_there_are_samples(dumbbell: Folder, loaded: Folder) -> None:
    assert set(curves(shown(dumbbell))) == {"over-time"}
    found = curves(shown(loaded))
    assert set(found) == {"over-time", "latency", "srtt"}
    labels = list(found["latency"].series)
    assert labels == [
        f"{tcp}, probe, {state}"
        for tcp in ("reno", "cubic-hystart")
        for state in ("idle", "loaded")
    ]
    for drawn in found.values():
        for size in (charts.WIDE, charts.NARROW):
            ElementTree.fromstring(charts.svg(drawn, size))


def test_goodput_over_time_is_drawn_once(tmp_path: Path) -> None:
    """The study's own figure of it shows all cells, the usual one those at its end."""
    text = (CONFORMANCE / "transfer-dumbbell.yaml").read_text()
    path = tmp_path / "study.yaml"
    path.write_text(text + "figures: [{kind: time series, y: goodput_mbps}]\n")
    folder = results(tmp_path, path, maker=workloads.record, overrides={"replicates": "2"})
    drawn = [one.source for one in shown(folder).figures()]
    titles = [one.title for one in drawn if isinstance(one, charts.Drawn | charts.Lines)]
    assert sum("over time" in title for title in titles) == 1


def test_requests_without_an_answer_are_in_no_percentile_and_that_is_said(tmp_path: Path) -> None:
    """4,000 are answered by each server, and at eight clients 1,000 are not: a fifth."""

    def maker(run: Run) -> RunRecord:
        found = workloads.record(run)
        missing = 1000 if run.treatment["clients"] == 8 else 20
        parts = (
            one.model_copy(update={"unanswered": missing if one.operation == "request" else 0})
            for one in found.samples.request
        )
        samples = found.samples.model_copy(update={"request": tuple(parts)})
        return found.model_copy(update={"samples": samples})

    made = results(tmp_path, CONFORMANCE / "request-star.yaml", maker=maker)
    told = [str(one).replace("\u00a0", " ") for one in caveat_sentences(analyse(made))]
    assert [one for one in told if "no latency" in one] == [
        "Unanswered requests in 1 of 3 cells: 20.00 %. They have no latency, so that percentiles "
        "and means may be too low there."
    ]


def test_a_distribution_falls_from_all_requests_to_the_slowest(requests: Folder) -> None:
    points = curves(shown(requests))["latency"].points
    for label in ("one", "two"):
        line = [(p["x"], p["y"]) for p in points if p["series"] == label]
        assert line == sorted(line, key=lambda point: (point[0], -point[1]))
        assert line[0][1] == 100
        assert 0 < line[-1][1] < 0.1


def test_a_dumbbell_is_drawn_with_both_switches_and_the_rate_of_its_trunk(
    dumbbell: Folder,
) -> None:
    runs = dumbbell.plan().runs
    drawing = ElementTree.fromstring(draw_bed(runs))
    texts = [element.text for element in drawing.iter() if element.text]
    assert {"left", "right", "west", "east", "2 to 4 hosts"} <= set(texts)
    assert texts.count("100 Mbit/s") == 1
    assert "west with east at 100 Mbit/s" in bed_in_words(runs)


def test_a_drawing_holds_the_rates_of_all_runs(dumbbell: Folder) -> None:
    first, *others = dumbbell.plan().runs
    trunk = next(one for one in first.network.links if {one.a.node, one.b.node} == {"west", "east"})
    a, b = (port.model_copy(update={"rate_bps": 10**9}) for port in trunk.ports)
    faster = trunk.model_copy(update={"a": a, "b": b})
    links = tuple(faster if one == trunk else one for one in first.network.links)
    network = first.network.model_copy(update={"links": links})
    runs = [replace(first, network=network), *others]
    assert "west with east at 1 Gbit/s or 100 Mbit/s" in bed_in_words(runs)


WIDE = """factors:
  rate: [10 Gbit/s, 100 Mbit/s, 2.5 Gbit/s, 5 Gbit/s]
  mtu: [1500, 4000, 9000]
  delay: [1 us, 20 us, 400 us]
  servers: [1, 2, 4, 8, 12, 16]
"""


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """A star in which everything about the links varies."""
    text = study_text(WIDE, servers='"${servers}"')
    link = "link: {rate: 10 Gbit/s, delay: 1 us, mtu: 9000 B}"
    varied = 'link: {rate: "${rate}", delay: "${delay}", mtu: "${mtu}"}'
    assert link in text
    path = tmp_path_factory.mktemp("wide") / "study.yaml"
    path.write_text(text.replace(link, varied))
    return list(make_plan(load(path), seed=1).plan.runs)


def test_no_text_of_a_drawing_runs_into_a_box(wide: list[Run], dumbbell: Folder) -> None:
    for runs in (wide, dumbbell.plan().runs):
        drawing = ElementTree.fromstring(draw_bed(runs))
        boxes = [_extent(one) for one in drawing.iter(f"{SVG}rect") if one.get("rx")]
        edges = (0.0, 0.0, float(drawing.get("width", "0")), float(drawing.get("height", "0")))
        for text in drawing.iter(f"{SVG}text"):
            extent = _text_extent(text)
            assert _is_inside(extent, edges), text.text
            for box in boxes:
                assert _is_inside(extent, box) or _is_apart(extent, box), text.text


def test_a_drawing_says_what_varies(wide: list[Run]) -> None:
    texts = [element.text for element in ElementTree.fromstring(draw_bed(wide)).iter()]
    assert "varied: mtu (1500, 4000 or 9000)" in texts
    assert "varied: servers (1 to 16)" in texts
    assert "Varied: servers (1 to 16)." in bed_in_words(wide)
    assert "varied" not in draw_bed(wide[:1])


def test_hosts_that_are_left_out_of_a_drawing_are_dots_that_need_no_font(wide: list[Run]) -> None:
    illustration = INCAST_PAGE.illustration
    assert illustration is not None
    for drawing in (draw_bed(wide), illustration.svg(wide)):
        assert drawing.count("<circle") == 3
        assert "⋮" not in drawing


def test_one_server_is_one_host(wide: list[Run]) -> None:
    assert "and 1 to 16 hosts called server" in bed_in_words(wide)
    single = next(one for one in wide if one.treatment["servers"] == 1)
    assert "and 1 host called server" in bed_in_words([single])


@pytest.mark.parametrize(
    ("subject", "said"), [("1 client", "sends"), ("2 clients", "send"), ("1 to 4 clients", "send")]
)
def test_one_client_sends_and_several_send(subject: str, said: str) -> None:
    assert str(agreeing("send", say("{n}", n=Name(subject)))) == said


SVG = "{http://www.w3.org/2000/svg}"
Extent = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _extent(rect: ElementTree.Element) -> Extent:
    x, y, width, height = (float(rect.get(one, "0")) for one in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def _text_extent(text: ElementTree.Element) -> Extent:
    x, y, size = (float(text.get(one, "0")) for one in ("x", "y", "font-size"))
    width = text_width(text.text or "", size, bold=text.get("font-weight") == "bold")
    left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "start")]
    return left, y - size, left + width, y


def _is_inside(inner: Extent, outer: Extent) -> bool:
    tolerance = 0.01
    return (
        inner[0] >= outer[0] - tolerance
        and inner[1] >= outer[1] - tolerance
        and inner[2] <= outer[2] + tolerance
        and inner[3] <= outer[3] + tolerance
    )


def _is_apart(a: Extent, b: Extent) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_no_box_of_a_drawing_covers_another(dumbbell: Folder) -> None:
    drawing = ElementTree.fromstring(draw_bed(dumbbell.plan().runs))
    boxes = [
        tuple(float(box.get(side, "0")) for side in ("x", "y", "width", "height"))
        for box in drawing.iter("{http://www.w3.org/2000/svg}rect")
        if box.get("rx")
    ]
    for index, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, _, _ in boxes[index + 1 :]:
            assert abs(x - other_x) >= width or abs(y - other_y) >= height


def test_one_row_a_cell_with_the_metrics_of_the_workload(loaded: Folder) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(analyse(loaded).cells))))
    assert len(rows) == 4
    assert {"goodput_mbps", "probe_loaded_us_p99", "srtt_us_mean"} <= set(rows[0])
    assert all(float(row["probe_increase_us_p50"]) > 0 for row in rows)
    assert [row["transfer_s_mean"] for row in rows] == [""] * 4  # transfers without an end


def read(lines: Iterator[str]) -> list[dict[str, str]]:
    return list(csv.DictReader(lines))


@pytest.mark.parametrize("table", TABLES)
def test_samples_can_be_exported(loaded: Folder, table: str) -> None:
    rows = read(samples_csv(loaded, table))
    of_others = ("iteration", "transfer", "transaction", "error", "statistics", "time")
    assert bool(rows) == (table not in of_others)
    assert all(row["tcp"] in ("reno", "cubic-hystart") and row["run"] for row in rows)


def test_exported_seconds_add_up_to_what_connections_received(loaded: Folder) -> None:
    seconds, connections = (read(samples_csv(loaded, t)) for t in ("second", "connection"))
    run = connections[0]["run"]
    of_run = [row for row in seconds if row["run"] == run and row["connection"] == "0"]
    assert sum(int(row["bytes_received"]) for row in of_run) == int(
        connections[0]["bytes_received"]
    )


def test_exported_series_have_their_place_in_the_measuring_phase(loaded: Folder) -> None:
    rows = read(samples_csv(loaded, "series"))
    assert {row["counter"] for row in rows} == {"srtt_us", "min_rtt_us"}
    assert float(rows[0]["measure_s"]) == -0.1  # a sample before the phase is there as well


def test_a_page_of_every_kind_is_rendered(
    dumbbell: Folder, loaded: Folder, requests: Folder
) -> None:
    for folder in (dumbbell, loaded, requests):
        page = render_html(shown(folder))
        panels = [panel for case in shown(folder).cases for panel in case.panels]
        has_links = any(panel.causes is not None for panel in panels)
        assert ("Links of the causal chain" in page) == has_links
        assert not any(
            all(str(row[-1]) == "not testable" for row in panel.causes.rows)
            for panel in panels
            if panel.causes is not None
        )
