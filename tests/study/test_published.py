"""Published measurements: which row is of which cell, and what is said of one that is of none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy.study import Study, load
from netstudy.study.published_values import published_values
from netstudy.study.reference_files import PublishedValue, read_published

Refusal = Callable[..., list[str]]
Write = Callable[..., Path]

TRADE = """\
study: trade
question: Which tuning pays?
noise: 2 %
fixed: {buffers: 16}
cases:
  disk:
    factors: {disk: [ram, disk], users: [20, 60]}
    holes: [{disk: disk, users: 20}]
  buffers:
    factors: {buffers: [128, 16]}
    fixed: {disk: disk, users: 60}
  growth:
    factors: {users: {grow: 1.., until: no gain, at most: 64}}
    fixed: {disk: ram}
topology:
  hosts:
    load: {profile: host-10g, count: 2}
    app: {profile: host-10g}
    db: {profile: host-10g, data: "${disk}"}
  links:
    - {between: [load, app], rate: 1 Gbit/s, nic: {buffers: "${buffers}"}}
    - {between: [app, db], rate: 1 Gbit/s}
workload:
  transactions: {application: brokerage, mix: standard, closed: {users: "${users}"}}
"""

SIZES = """\
study: sizes
question: How long does it take?
factors:
  size: [1 MB, 1 GB]
  link: [1 Gbit/s, 10 Gbit/s]
topology:
  switch: generic-deep
  client: {profile: host-10g}
  server: {profile: host-10g}
  link: {rate: "${link}"}
workload:
  transfer: {size: "${size}", repeats: 10}
"""


@pytest.fixture
def referring(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study with a `reference` and the file `data.csv` that it names."""

    def _write(text: str, reference: str, *rows: str) -> Path:
        written = f"{text}reference: {{file: data.csv, source: me, {reference}}}\n"
        (tmp_path / "study.yaml").write_text(written, encoding="utf-8")
        (tmp_path / "data.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
        return tmp_path

    return _write


@pytest.fixture
def refused(referring: Callable[..., Path], tmp_path: Path) -> Callable[..., list[str]]:
    """What is wrong with the data, without the folder and, in the study, without the place."""

    def _refused(text: str, reference: str, *rows: str) -> list[str]:
        from netstudy.errors import StudyError

        with pytest.raises(StudyError) as caught:
            load(referring(text, reference, *rows))
        return str(caught.value).replace(f"{tmp_path}/", "").splitlines()

    return _refused


def told(values: tuple[PublishedValue, ...]) -> list[tuple[str, dict[str, object], float]]:
    return [(str(one.metric), dict(one.levels), one.value) for one in values]


def test_a_level_is_told_by_its_name_its_text_or_its_quantity(
    referring: Callable[..., Path],
) -> None:
    study = load(
        referring(
            SIZES,
            "factors: {size: size, link: {column: card, names: {1GbE: 1 Gbit/s, ten: 10Gbit/s}}}, "
            "columns: {seconds: {metric: transfer_s}}",
            "size,card,seconds",
            "1MB,1GbE,0.0070",
            "1000 MB, ten ,11.0",
            "1 GB,1 Gbit/s,12",
        )
    )
    found = read_published(study, 0)
    assert told(found.values) == [
        ("transfer_s", {"size": "1 MB", "link": "1 Gbit/s"}, 0.007),
        ("transfer_s", {"size": "1 GB", "link": "10 Gbit/s"}, 11.0),
        ("transfer_s", {"size": "1 GB", "link": "1 Gbit/s"}, 12.0),
    ]
    assert [one.rounding for one in found.values] == [0.0001, 0.1, 1.0]
    assert found.matched == (
        ("size", "1MB", "1 MB"),
        ("link", "1GbE", "1 Gbit/s"),
        ("size", "1000 MB", "1 GB"),
        ("link", "ten", "10 Gbit/s"),
    )


def test_an_empty_field_or_a_dash_is_no_value(referring: Callable[..., Path]) -> None:
    study = load(
        referring(
            SIZES,
            "at: {link: 1 Gbit/s}, factors: {size: size}, "
            "columns: {a: {metric: transfer_s}, b: {metric: goodput_mbps}}",
            "size,a,b,remark",
            "1 MB,,-,nothing was recorded",
            "",
            "1 GB,–,117.5,",
        )
    )
    (value,) = published_values(study)
    assert (str(value.metric), value.value, value.place.line) == ("goodput_mbps", 117.5, 4)


def test_rows_of_one_cell_are_repetitions_where_a_column_numbers_them(
    referring: Callable[..., Path],
) -> None:
    reference = (
        "at: {link: 1 Gbit/s}, factors: {size: size}, repetition: n, "
        "columns: {s: {metric: transfer_s}}"
    )
    study = load(referring(SIZES, reference, "size,n,s", "1 MB,1,0.3", "1 MB,2,0.2", "1 GB,1,9"))
    assert [(one.repetition, one.value) for one in published_values(study)] == [
        (1, 0.3), (2, 0.2), (1, 9.0),
    ]  # fmt: skip


def test_the_row_says_which_metric_it_holds(referring: Callable[..., Path]) -> None:
    study = load(
        referring(
            SIZES,
            "at: {link: 1 Gbit/s}, factors: {size: size}, columns: {ms: {metric: {by: statistic, "
            "names: {mean: transfer_s_mean, tail: transfer_s_p99}}}}",
            "size,statistic,ms",
            "1 MB,mean,2",
            "1 MB,tail,4",
        )
    )
    assert [(str(one.metric), one.value) for one in published_values(study)] == [
        ("transfer_s_mean", 2.0),
        ("transfer_s_p99", 4.0),
    ]


def test_only_the_rows_that_the_study_takes_are_read(referring: Callable[..., Path]) -> None:
    study = load(
        referring(
            SIZES,
            "at: {link: 1 Gbit/s}, rows: {system: RHEL 4.5}, factors: {size: size}, "
            "columns: {s: {metric: transfer_s}}",
            "system,size,s",
            "RHEL 4.5,1 MB,2",
            "RHEL 5.0,7 MB,nonsense",
        )
    )
    assert [one.value for one in published_values(study)] == [2.0]


def test_a_reference_may_belong_to_a_case(referring: Callable[..., Path]) -> None:
    study = load(
        referring(
            TRADE,
            "case: disk, factors: {disk: {column: disk, names: {RAM: ram, F20: disk}}, "
            "users: users}, columns: {cpu: {metric: app.cpu_pct}}",
            "disk,users,cpu",
            "RAM,20,83.79",
            "F20,20,70",
        )
    )
    assert [(one.case, one.levels["disk"]) for one in published_values(study)] == [
        ("disk", "ram"),
        ("disk", "disk"),  # in a hole of the study: no mistake
    ]


def test_a_factor_that_grows_without_end_has_every_number(referring: Callable[..., Path]) -> None:
    study = load(
        referring(
            TRADE,
            "case: growth, factors: {users: users}, columns: {rate: {metric: etr_per_s}}",
            "users,rate",
            "1,100",
            "17,900",
        )
    )
    assert [one.levels["users"] for one in published_values(study)] == [1, 17]


SIZED = "at: {link: 1 Gbit/s}, factors: {size: size}, columns: {s: {metric: transfer_s}}"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (("1 MB,1", "2 MB,1"),
         'data.csv:3: size "2 MB": factor size has no level "2 MB"; did you mean "1 MB"?'),
        (("1 MB,1", "1 GB,1", "1MB,2"),
         "data.csv:4: gives transfer_s at link 1 Gbit/s, size 1 MB, as line 2 does; if these are "
         "repetitions, name the column with their numbers as repetition"),
        (("1 MB,about 1",),
         'data.csv:2: s "about 1" is not a number; leave missing values empty'),
        (("1 MB,nan",), 'data.csv:2: s "nan" is not a number; leave missing values empty'),
        (("1 MB,1,2",), "data.csv:2: has 3 fields where the first line names 2"),
    ],
)  # fmt: skip
def test_a_row_that_is_of_no_cell_is_told_with_its_line(
    rows: tuple[str, ...], said: str, refused: Callable[..., list[str]]
) -> None:
    assert said in refused(SIZES, SIZED, "size,s", *rows)


def test_a_line_is_counted_past_a_field_of_several_lines(
    refused: Callable[..., list[str]],
) -> None:
    rows = ('"1 MB",1,"a remark\nof two lines"', "3 MB,1,")
    assert refused(SIZES, SIZED, "size,s,remark", *rows) == [
        'data.csv:4: size "3 MB": factor size has no level "3 MB"; did you mean "1 MB"?'
    ]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("case: dsk, factors: {}, columns: {cpu: {metric: app.cpu_pct}}",
         'reference.case: no case "dsk"; did you mean "disk"?'),
        ("case: disk, factors: {dick: disk}, columns: {cpu: {metric: app.cpu_pct}}",
         'reference.factors.dick: no factor "dick"; did you mean "disk"?'),
        ("case: disk, at: {disk: tape}, factors: {users: users}, "
         "columns: {cpu: {metric: app.cpu_pct}}",
         'reference.at.disk: factor disk has no level "tape"; known: ram, disk'),
        ("case: disk, factors: {users: users, disk: {column: disk, names: {RAM: rma}}}, "
         "columns: {cpu: {metric: app.cpu_pct}}",
         'reference.factors.disk.names.RAM: factor disk has no level "rma"; did you mean "ram"?'),
        ("case: disk, factors: {users: user}, columns: {cpu: {metric: app.cpu_pct}}",
         'reference.factors.users.column: data.csv has no column "user"; did you mean "users"?'),
        ("case: disk, repetition: again, columns: {cpu: {metric: app.cpu_pct}}",
         'reference.repetition: data.csv has no column "again"; known: disk, users, cpu'),
        ("case: disk, rows: {disk: tape}, columns: {cpu: {metric: app.cpu_pct}}",
         'reference.rows.disk: data.csv has no row with disk "tape"; known: RAM, F20'),
        ("case: disk, columns: {cpu: {metric: apq.cpu_pct}}",
         'reference.columns.cpu.metric: "apq.cpu_pct": no host "apq"; did you mean "app"?'),
        ("case: disk, columns: {cpu: {metric: {by: disk}}}",
         "reference.columns.cpu.metric.by: needs names, which maps its texts to metrics"),
    ],
)  # fmt: skip
def test_what_the_study_says_of_the_data_and_is_not_there(
    reference: str, said: str, refused: Callable[..., list[str]]
) -> None:
    found = refused(TRADE, reference, "disk,users,cpu", "RAM,20,80", "F20,60,90")
    assert said in [line.partition(": ")[2] for line in found]


def test_a_row_that_no_case_has_is_told_with_its_line(refused: Callable[..., list[str]]) -> None:
    """The case `buffers` has 60 users alone."""
    reference = (
        "case: buffers, factors: {buffers: n, users: users}, "
        "columns: {cpu: {metric: app.cpu_pct}, ms: {metric: response_ms_mean}}"
    )
    assert refused(TRADE, reference, "n,users,cpu,ms", "16,60,90,1", "16,20,91,2") == [
        'data.csv:3: users "20": factor users has no level "20"; known: 60'
    ]
    free = reference.replace("case: buffers, ", "").replace("ms: ", "ms: ")
    assert refused(TRADE, free, "n,users,cpu,ms", "16,60,90,1", "128,20,91,2") == [
        "data.csv:3: no case has cells at buffers 128, users 20"
    ]


def test_metrics_by_row_must_all_be_named(refused: Callable[..., list[str]]) -> None:
    reference = (
        "at: {link: 1 Gbit/s}, factors: {size: size}, "
        "columns: {s: {metric: {by: what, names: {mean: transfer_s}}}}"
    )
    assert refused(SIZES, reference, "size,what,s", "1 MB,mean,1", "1 MB,means,2") == [
        'data.csv:3: what "means" has no metric in names; did you mean "mean"?'
    ]


def test_repetitions_are_numbers_and_each_is_there_once(
    refused: Callable[..., list[str]],
) -> None:
    reference = SIZED.replace("columns:", "repetition: n, columns:")
    assert refused(SIZES, reference, "size,n,s", "1 MB,first,1", "1 MB,2,1", "1 MB,2,3") == [
        'data.csv:2: n "first" is not the number of a repetition; numbers begin at 1',
        "data.csv:4: gives transfer_s at link 1 Gbit/s, size 1 MB, as line 3 does; n 2 occurs "
        "twice",
    ]


def test_two_columns_of_one_metric_need_levels_that_tell_them_apart(
    refused: Callable[..., list[str]],
) -> None:
    reference = SIZED.replace("{s:", "{t: {metric: transfer_s}, s:")
    assert refused(SIZES, reference, "size,s,t", "1 MB,1,2") == [
        "data.csv:2: gives transfer_s at link 1 Gbit/s, size 1 MB, as the column t does; "
        "if these are repetitions, name the column with their numbers as repetition"
    ]


def test_a_changed_reference_is_checked_as_well(referring: Callable[..., Path]) -> None:
    from netstudy.errors import StudyError
    from netstudy.study import apply_overrides

    study = load(referring(SIZES, SIZED, "size,s", "1 MB,1"))
    with pytest.raises(StudyError, match="cannot read"):
        apply_overrides(study, {"reference.file": "none.csv"})


def test_a_form_without_the_published_levels_has_no_values(tmp_path: Path) -> None:
    from netstudy.study import in_variant

    (tmp_path / "study.yaml").write_text(
        SIZES
        + "testbeds: {netns: {factors: {size: [1 MB, 10 MB]}}}\n"
        + f"reference: {{file: data.csv, source: me, {SIZED}}}\n"
    )
    (tmp_path / "data.csv").write_text("size,s\n1 MB,1\n1 GB,9\n")
    formed: Study = in_variant(load(tmp_path), "netns")
    assert [one.levels["size"] for one in published_values(formed)] == ["1 MB"]
