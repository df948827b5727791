"""Conclusions on an application with tiers, from records with a planted answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netstudy.analysis.bounds.verdict import Level
from netstudy.analysis.caveats import Caveat
from netstudy.analysis.caveats.assumed_costs import AssumedCosts, BuiltInApplication
from netstudy.analysis.conclusions.bottleneck import Bottlenecks
from netstudy.analysis.conclusions.substitution import Replaced, Substituted
from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.plan import make_plan
from netstudy.report.answer import answer
from netstudy.report.conclusions import concluded_points, sentences_of
from netstudy.report.document import document
from netstudy.report.export import to_csv
from netstudy.report.pages import render_markdown
from netstudy.store import Folder
from netstudy.study import load
from netstudy.wire import Run, RunRecord
from tests.execute.test_rounds import grown
from tests.report.caveats import caveat_sentences
from tests.report.results import from_text
from tests.report.tiers import Planted, record

ROOT = Path(__file__).parents[2]
STUDY = """\
study: tiers
question: What limits the application?
TOP
topology:
  hosts:
    load: {profile: host-1g, count: 2}
    app: {profile: host-1g, cpus: 2}
    db: {profile: host-1g, cpus: 4, data: "${medium}"}
  links:
    - {between: [load, app], rate: "${rate}"}
    - {between: [app, db], rate: 1 Gbit/s}
workload:
  transactions: {application: brokerage, LOAD}
procedure: {measure: 10 s}
replicates: 3
noise: 2 %
"""
CLOSED = 'closed: {users: "${users}"}'
OPEN = 'open: {rate: "${offered}"}'
FIXED = {"medium": "disk", "rate": "1 Gbit/s", "users": 20}


def made(folder: Path, rest: str, plant: Callable[[Run], Planted], load: str = CLOSED) -> Folder:
    """Results of a study with these factors and conclusions."""
    text = STUDY.replace("LOAD", load)
    used = {name: level for name, level in FIXED.items() if f"${{{name}}}" in text}
    held = [f"{name}: {level}" for name, level in used.items() if f"{name}:" not in rest]
    text = text.replace("TOP\n", f"fixed: {{{', '.join(held)}}}\n" if held else "")

    def maker(run: Run) -> RunRecord:
        one = plant(run)
        # Runs differ by a thousandth, so that there is noise to compare with.
        return record(run, Planted(**{**vars(one), "home": one.home + 4 * (run.replicate - 2)}))

    return from_text(folder, text + rest, maker)


def told(result: StudyResult) -> list[str]:
    return [
        str(one).replace("\u00a0", " ")
        for point in concluded_points(result)
        for one in point.sentences
    ]


def replaced(result: StudyResult) -> Replaced:
    """The only replacement of the only conclusion."""
    (found,) = result.concluded
    assert isinstance(found.drawn, Substituted)
    (one,) = found.drawn.replaced
    return one


DISK = """\
factors:
  disk: [{name: slow, medium: disk}, {name: fast, medium: ram}]
conclude: [{substitution: disk}]
"""


def test_a_part_whose_replacement_changes_nothing_is_not_the_bottleneck(tmp_path: Path) -> None:
    one = replaced(analyse(made(tmp_path, DISK, lambda _: Planted())))
    assert one.claim is not None
    assert (one.claim.kind, one.limited) == ("equal", ())


def test_a_part_whose_replacement_gains_less_than_half_of_the_time_is_no_limit(
    tmp_path: Path,
) -> None:
    def plant(run: Run) -> Planted:
        return Planted(home=3000 if run.treatment["disk"] == "fast" else 1500)

    one = replaced(analyse(made(tmp_path, DISK, plant)))
    assert one.throughput is not None
    assert one.throughput.change == pytest.approx(1.6, abs=0.005)
    assert one.claim is not None
    assert (one.claim.kind, one.limited) == ("different", ())


LINK = """\
factors:
  link: [{name: 1GbE, rate: 1 Gbit/s}, {name: 10GbE, rate: 10 Gbit/s}]
tables: [{rows: link, columns: [app@load.txdrop_per_s]}]
conclude: [{substitution: link}]
"""


def faster(rate_bps: str) -> str:
    return LINK.replace("10 Gbit/s", rate_bps)


def test_a_faster_link_removes_the_drops(tmp_path: Path) -> None:
    def plant(run: Run) -> Planted:
        slow = run.treatment["link"] == "1GbE"
        return Planted(home=1500 if slow else 2500, drops=2490 if slow else 0)

    one = replaced(analyse(made(tmp_path, faster("500 Mbit/s"), plant)))
    assert one.throughput is not None
    assert one.throughput.change == pytest.approx(1.4, abs=0.005)
    (drops,) = one.losses
    assert drops.metric.name == "app@load.txdrop_per_s"
    assert one.removes(drops)
    assert [ways for _, ways in one.changes(drops)] == [(249.0, 0.0)]


def test_of_many_settings_the_largest_changes_are_told(tmp_path: Path) -> None:
    """With ten to eighty users nine drops for each at 1 Gbit/s."""

    def plant(run: Run) -> Planted:
        slow = run.treatment["link"] == "1GbE"
        return Planted(home=1500, drops=9 * int(run.treatment["users"]) if slow else 0)

    users = list(range(10, 90, 10))
    many = faster("500 Mbit/s").replace("factors:", f"factors:\n  users: {users}")
    found = [one for one in told(analyse(made(tmp_path, many, plant))) if "removes" in one]
    assert [one.partition(": ")[2] for one in found] == [
        "27.0 a second to 0 a second (users=30), 36.0 a second to 0 a second (users=40), "
        "45.0 a second to 0 a second (users=50), 54.0 a second to 0 a second (users=60), "
        "63.0 a second to 0 a second (users=70) and 72.0 a second to 0 a second (users=80); "
        "these are the largest changes of 8 settings."
    ]


BUNDLE = """\
factors:
  system:
    - {name: old, medium: disk}
    - {name: new, medium: ram, bundle: "kernel, libraries"}
conclude: [{equivalent: etr_per_s}]
"""


@pytest.mark.parametrize(
    ("home", "words"),
    [
        (1500, "so two of their effects may cancel out"),
        (2500, "so a difference cannot be credited to one of them"),
    ],
)
def test_a_bundle_is_credited_to_none_of_its_parts(home: int, words: str, tmp_path: Path) -> None:
    def plant(run: Run) -> Planted:
        return Planted(home=home if run.treatment["system"] == "new" else 1500)

    *_, last = told(analyse(made(tmp_path, BUNDLE, plant)))
    assert last == (
        f"new and old differ in 3 things at once (medium, kernel and libraries), {words}."
    )


KNEE = """\
factors:
  users: [20, 40, 80]
conclude: [{knee: users}]
"""


def test_beyond_the_knee_only_the_response_time_grows(tmp_path: Path) -> None:
    def plant(run: Run) -> Planted:
        users = int(run.treatment["users"])
        return Planted(home=1500 * min(users, 40) // 20, response_ms=0.2 * users)

    growth, overdrive = told(analyse(made(tmp_path, KNEE, plant)))
    assert growth.endswith("80 users gain no more than the noise.")
    assert overdrive == (
        "Overdrive beyond the knee: from 40 users to 80 users response time grows from 8.00 ms to "
        "16.00 ms, by a factor of 2.00."
    )


def at_most(result: StudyResult, **held: str) -> Level:
    """What limits throughput at the highest load of a setting."""
    drawn = next(one.drawn for one in result.concluded if isinstance(one.drawn, Bottlenecks))
    return next(one.levels[-1] for one in drawn.limits if one.held == held)


LIMIT = """\
factors:
  users: [20, 40, 80]
  code: [a, b]
conclude:
  - bottleneck: true
    candidates:
      packets: app@load.packets_per_s < unknown
      CPUs: app.cpu_pct
"""


@pytest.mark.parametrize(
    ("cpu_pct", "elsewhere", "verdict", "packets"),
    [
        (
            99.0,
            1.0,
            "The limit at 40 and 80 users in both settings of code is the CPUs: 99.0 %",
            "Limit not known, and so not ruled out",
        ),
        (
            40.0,
            1.0,
            "The bottleneck is not decided",
            "Limit not known, and so not ruled out: packets",
        ),
        (40.0, 1.5, "The bottleneck is not decided", "not reached: packets"),
    ],
)
def test_a_limit_that_nobody_knows_is_ruled_out_by_more_elsewhere_alone(
    cpu_pct: float, elsewhere: float, verdict: str, packets: str, tmp_path: Path
) -> None:
    def plant(run: Run) -> Planted:
        users = min(int(run.treatment["users"]), 40)
        more = elsewhere if run.treatment["code"] == "b" else 1.0
        return Planted(
            home=75 * users, app_cpu_pct=cpu_pct * users / 40, packets=int(1000 * users * more)
        )

    load_text = f'variant: "${{code}}", {CLOSED}'
    result = analyse(made(tmp_path, LIMIT, plant, load_text))
    every = told(result)
    found = [one for one in every if "(code b)" not in one]
    found += [f"{one.state}: {one.name}" for one in at_most(result, code="a").candidates]
    assert found[0].startswith(verdict)
    assert any(packets in one for one in found)


OFFERED = """\
factors:
  offered: [100, 200, 300]
conclude: [{bottleneck: true, candidates: {CPUs: app.cpu_pct}}]
"""


def test_an_open_loop_that_serves_less_than_is_offered_has_ended_its_growth(
    tmp_path: Path,
) -> None:
    """A rate of 300 gains over 200, and yet a third of it is not served."""

    def plant(run: Run) -> Planted:
        offered = 10 * int(run.treatment["offered"])
        served = min(offered, 2200)
        cpu = 95.0 * served / 2200
        return Planted(
            home=served - 500, app_cpu_pct=cpu, not_met=offered - served - 4 * (run.replicate - 2)
        )

    verdict, served, *_ = told(analyse(made(tmp_path, OFFERED, plant, OPEN)))
    assert verdict.startswith("The limit at offered 300 is the CPUs: 95.0 % in use")
    assert served.startswith("Nothing limits throughput at offered 100 and 200")


SAME = """\
factors:
  release: [first, second]
conclude: [{equivalent: etr_per_s}]
"""


@pytest.mark.parametrize("home", [1500, 2500])
def test_variants_that_are_the_same_program_are_told_of_and_may_not_differ(
    home: int, tmp_path: Path
) -> None:
    def plant(run: Run) -> Planted:
        return Planted(home=home if run.treatment["release"] == "second" else 1500)

    load_text = f'variant: "${{release}}", {CLOSED}'
    said = [str(one) for one in caveat_sentences(analyse(made(tmp_path, SAME, plant, load_text)))]
    assert any("first and second stand for builds that are not at hand" in one for one in said)
    differ = [one for one in said if "the same program with the same settings, and yet" in one]
    assert len(differ) == (home == 2500)


TABLES = """\
cases:
  disks:
    factors: {disk: [{name: slow, medium: disk}, {name: fast, medium: ram}], users: [20, 40]}
  users:
    factors: {users: [20, 40]}
    fixed: {disk: slow}
tables:
  - {case: disks, rows: [disk, users], columns: [etr_pct], normalise: {etr_pct: first row}}
  - case: users
    rows: users
    columns: [etr_pct, itr_pct]
    normalise: {etr_pct: {row: {users: 40}}, itr_pct: {by: etr_pct, row: {users: 40}}}
"""


def relative(run: Run) -> Planted:
    """ETR 250 a second for each 20 users on the slow disk and 500 on the fast one."""
    users, fast = int(run.treatment["users"]), run.treatment["disk"] == "fast"
    scale = users // 20 * (2 if fast else 1)
    return Planted(home=1500 * scale, buy=500 * scale)


def rows(folder: Folder) -> list[dict[str, Any]]:
    result = analyse(folder)
    return list(csv.DictReader(io.StringIO(to_csv(result.cells))))


def test_percentages_have_the_base_of_their_own_table(tmp_path: Path) -> None:
    """Two cells stand in both tables, whose bases differ: they have a row for each."""
    found = {
        (one["cases"], one["disk"], one["users"]): (one["etr_pct"], one["itr_pct"])
        for one in rows(made(tmp_path, TABLES, relative))
    }
    assert {key: round(float(etr)) for key, (etr, _) in found.items()} == {
        ("disks", "slow", "20"): 100,
        ("disks", "slow", "40"): 200,
        ("disks", "fast", "20"): 200,
        ("disks", "fast", "40"): 400,
        ("users", "slow", "20"): 50,
        ("users", "slow", "40"): 100,
    }
    # ITR, at half of the CPUs, is twice the ETR that is 100 %.
    assert float(found["users", "slow", "40"][1]) == pytest.approx(200, rel=2e-3)


SCALING = """\
factors:
  disk: [{name: slow, medium: disk}, {name: fast, medium: ram}]
  users: [20, 40]
tables: [{rows: users, columns: [etr_per_s, etr_scaling]}]
"""


def test_scaling_factors_have_the_base_of_the_table_that_has_them(tmp_path: Path) -> None:
    """A table for each disk, and so a base for each."""
    found = rows(made(tmp_path, SCALING, relative))
    assert {(one["disk"], one["users"]): round(float(one["etr_scaling"]), 2) for one in found} == {
        ("slow", "20"): 1,
        ("slow", "40"): 2,
        ("fast", "20"): 1,
        ("fast", "40"): 2,
    }


def test_base_rows_of_two_tables_are_not_compared(tmp_path: Path) -> None:
    """Both disks have a factor of 1 with 20 users, although the fast one serves twice as much."""
    asked = (
        "compare: {factor: disk, base: slow, noise: 2 %, on: [etr_scaling]}\n"
        "conclude: [{compare: disk, base: slow, on: [etr_scaling]}]\n"
    )
    result = analyse(made(tmp_path, SCALING + asked, relative))
    tables = [one for case in result.cases for panel in case.panels for one in panel.verdicts]
    assert {row.outcome for table in tables for row in table.rows} == {"missing"}
    assert [one.drawn for one in result.concluded] == [None]


GROWN = """\
factors:
  disk: [{name: slow, medium: disk}, {name: fast, medium: ram}]
  users: {grow: [20, 40], until: no gain, confirm: 1}
tables:
  - rows: disk
    columns: [users, etr_pct, itr_pct]
    normalise: {etr_pct: first row, itr_pct: first row}
"""


def test_the_base_of_percentages_is_where_growth_has_ended_as_in_the_table(tmp_path: Path) -> None:
    """With 40 users ETR is 1 % more; the slow disk's application idles more, so ITR is more."""

    def plant(run: Run) -> Planted:
        more = run.treatment["users"] == 40
        slow = run.treatment["disk"] == "slow"
        return Planted(
            home=(1500 if slow else 4000) + 25 * more, app_cpu_pct=40 if more and slow else 50
        )

    folder = made(tmp_path, GROWN, plant)
    grown(folder, lambda run: record(run, plant(run)))
    (table,) = document(folder, analyse(folder)).cases[0].results
    assert [[str(cell) for cell in row[:4]] for row in table.rows] == [
        ["slow", "20", "100.0", "100.0"], ["fast", "20", "200.0", "200.0"],
    ]  # fmt: skip


def test_generators_print_their_statistics_under_the_names_of_studies(tmp_path: Path) -> None:
    def plant(_: Run) -> Planted:
        return Planted(server_errors=5)

    folder = made(tmp_path, KNEE, plant)
    page = render_markdown(document(folder, analyse(folder))).replace("\u00a0", " ")
    block = page.partition("### Statistics of the generators")[2]
    head = "| users | Run time (s) | Clients | Page elements, number | Page elements, 1/s |"
    assert head in block
    # Three runs of 10 s with 2,500 page elements, 2,000 transactions and 5 errors each.
    assert "| 20 | 30.0 | 20 | 7,500 | 250.0 | 6,000 | 200.0 | 0 | 15 | 67.5 MB | 3 MB |" in block
    assert "| home | 503 | 45 | 9 |" in block
    assert "| buy | 1,500 | 0 | 3,000 | 16.00 |" in block


def test_the_tiers_are_told_of_and_drawn(tmp_path: Path) -> None:
    folder = made(tmp_path, KNEE, lambda _: Planted())
    doc = document(folder, analyse(folder))
    (case,) = doc.cases
    words = " ".join(map(str, case.description)).replace("\u00a0", " ")
    assert "20 to 80 users submit operations of the brokerage by HTTP" in words
    assert "each waits for its answer and submits again at once (closed loop)" in words
    assert "ETR × response time is the number of users in every row" in words
    assert doc.workload is not None
    assert "load (20 to 80 users), app (the brokerage), db (PostgreSQL)" in doc.workload.alt


def test_a_published_row_that_prints_half_of_its_cpus_is_found() -> None:
    """Of table 6, whose text has 8 CPUs of the database where the table prints 4."""
    from netstudy.analysis.caveats.service_demand import off_demands
    from netstudy.analysis.workloads.transactions import TRANSACTIONS

    (found,) = off_demands(load(ROOT / "studies/trade"), TRANSACTIONS)
    assert found.demand.row == "reference/trade_distro.csv:2"
    assert (found.demand.host, found.demand.cpus, found.demand.taken_cpus) == ("db", 4, 8)
    # 40.57 % of 4 CPUs, at 60 users in 18 ms.
    assert found.demand.ms == pytest.approx(0.4057 * 4 * 18 / 60)
    assert found.ratio == pytest.approx(0.5, abs=0.05)
    assert found.fitting_cpus == 8


def test_rows_that_are_one_run_are_run_once() -> None:
    """The physical disk at 60 users is the row of 16 buffers too."""
    planned = make_plan(load(ROOT / "studies/trade"))
    shared = [run for run in planned.plan.runs if len(run.cases) > 1]
    assert {run.cases for run in shared} >= {("disk", "buffers")}


BOTH = """\
factors:
  link: [{name: slow, rate: 100 Mbit/s}, {name: fast, rate: 1 Gbit/s}]
compare: {factor: link, base: slow, on: [app@load.network_mbps]}
conclude: [{bottleneck: true, candidates: {CPUs: app.cpu_pct}}, {substitution: link}]
"""


def test_the_answer_to_a_comparison_tells_what_a_replacement_shows_of_the_limit(
    tmp_path: Path,
) -> None:
    def plant(run: Run) -> Planted:
        return Planted(home=3000 if run.treatment["link"] == "fast" else 1500)

    result = analyse(made(tmp_path, BOTH, plant))
    (found,) = (one for one in result.concluded if isinstance(one.drawn, Substituted))
    box = " ".join(map(str, answer(result).sentences)).lower()
    assert str(sentences_of(found)[0]).lower() in box


@pytest.mark.parametrize(
    ("load", "app_cpu_pct", "expected"),
    [
        (
            CLOSED,
            90.0,
            [BuiltInApplication("brokerage", ("app_cpu", "database_cpu", "database_disk"))],
        ),
        (
            f"{CLOSED}, costs: {{app_cpu: 3 ms, database_cpu: 1 ms}}",
            90.0,
            [AssumedCosts({"brokerage": ("database_disk",)})],
        ),
        (CLOSED, 20.0, []),
    ],
    ids=["nothing said", "costs of the study", "no CPU is busy"],
)
def test_built_in_costs_behind_a_throughput_stand_beside_the_answer(
    load: str, app_cpu_pct: float, expected: list[Caveat], tmp_path: Path
) -> None:
    folder = made(tmp_path, DISK, lambda _: Planted(app_cpu_pct=app_cpu_pct), load)
    assert [one for one in analyse(folder).caveats if one.is_in_answer] == expected
