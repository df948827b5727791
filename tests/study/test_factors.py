"""Factors and their levels: lists, ranges, named maps, growth, and what a case makes of them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from netstudy.documents.source import read_text
from netstudy.study import Case, Study, level_text
from netstudy.study.levels import Growth, read_levels
from netstudy.study.treatments import count_treatments, treatments
from netstudy.study.vocabulary import split_metric
from netstudy.wire import Level, Treatment

Small = Callable[..., Study]


def names(text: str) -> tuple[Level, ...]:
    """The names of the levels that a piece of YAML says."""
    levels = read_levels(read_text(f"x: {text}", "test").data["x"])
    return tuple(level.name for level in levels.levels)


def test_a_range_has_both_its_ends() -> None:
    assert names("1..4") == (1, 2, 3, 4)
    assert names("7..7") == (7,)


def test_a_list_may_hold_ranges_and_words() -> None:
    assert names("[1..3, 8, many]") == (1, 2, 3, 8, "many")


def test_quantities_and_words_stay_as_written() -> None:
    assert names("[1 Gbit/s, '31', \"null\", yes]") == ("1 Gbit/s", "31", "null", "yes")


def test_whole_numbers_flags_and_short_decimals_are_typed() -> None:
    assert [(type(name), name) for name in names("[31, true, 0.5]")] == [
        (int, 31),
        (bool, True),
        (float, 0.5),
    ]


def test_a_release_1_10_is_not_1_1() -> None:
    assert names("[1.9, 1.10]") == ("1.9", "1.10")
    assert names("[010, 8]") == ("010", "8")


def test_folded_text_is_one_line_without_marks(small: Small) -> None:
    study = small(("study: small", "study: small\nexpectation: >-\n  one\n  two"))
    assert study.expectation == "one two"


def test_text_takes_a_number_as_it_was_written(small: Small) -> None:
    study = small(("study: small", "study: small\nexpectation: 1.10"))
    assert study.expectation == "1.10"


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_range_counts_as_python_does(first: int, length: int) -> None:
    last = first + length
    assert names(f"{first}..{last}") == tuple(range(first, last + 1))


def test_a_named_level_has_fields_and_a_description() -> None:
    said = "[{name: 4 MB, description: four each, block: 4 MB, striped: false, mtu: 9000}]"
    level = read_levels(read_text(f"x: {said}", "test").data["x"]).levels[0]
    assert level.name == "4 MB"
    assert level.description == "four each"
    assert level.fields == {"block": "4 MB", "striped": False, "mtu": 9000}


def test_an_outer_loop_has_the_levels_of_its_list_or_those_up_to_its_last() -> None:
    listed = read_levels({"grow": [5, 10, 20], "until": "no gain", "confirm": 2})
    assert [level.name for level in listed.levels] == [5, 10, 20]
    assert listed.growth == Growth("no gain", 2, open_ended=False, at_most=None, of=None)
    endless = read_levels({"grow": "2..", "at most": 5, "of": "requests_per_s"})
    assert [level.name for level in endless.levels] == [2, 3, 4, 5]
    assert endless.growth == Growth("no gain", 1, True, 5, split_metric("requests_per_s"))


def rows(study: Study, case: int = 0) -> list[str]:
    """Treatments as short lines."""
    return [
        " ".join(level_text(level) for level in treatment.values())
        for treatment in treatments(study.cases[case])
    ]


GRID = """\
study: grid
question: How do levels combine?
factors:
  a: [{name: x, block: 1 MB}, {name: y, block: 2 MB}]
  b: [1, 2, 3]
topology: {client: {}, server: {count: "${b}"}}
workload: {incast: {block: "${block}", iterations: 1}}
"""


USES_C = ("iterations: 1}", 'iterations: 1, request: "${request}"}')


def test_the_full_product_varies_the_last_factor_fastest(small: Small) -> None:
    assert rows(small(text=GRID)) == ["x 1", "x 2", "x 3", "y 1", "y 2", "y 3"]


def test_a_hole_leaves_out_where_all_its_factors_match(small: Small) -> None:
    holes = "holes: [{a: x, b: 2}, {a: y, b: 1..2}]\ntopology:"
    assert rows(small(("topology:", holes), text=GRID)) == ["x 1", "x 3", "y 3"]


def test_a_hole_with_an_exclamation_mark_means_every_other_level(small: Small) -> None:
    holes = 'holes: [{a: y, b: "!2"}]\ntopology:'
    assert rows(small(("topology:", holes), text=GRID)) == ["x 1", "x 2", "x 3", "y 2"]


def test_a_hole_that_no_treatment_falls_into_is_refused(
    refusal: Callable[..., list[str]],
) -> None:
    zipped = ("b: [1, 2, 3]", "b: [1, 2]\nzip: [[a, b]]\nholes: [{a: x, b: 2}]")
    assert refusal(zipped, text=GRID) == [
        "study.yaml:7:9: holes.0: leaves out nothing: no treatment has all these levels"
    ]


def test_zipped_factors_go_first_with_first(small: Small) -> None:
    zipped = (
        (
            "  b: [1, 2, 3]",
            "  b: [1, 2]\n  c: [{name: p, request: 1 B}, {name: q, request: 2 B}]\nzip: [[a, c]]",
        ),
        USES_C,
    )
    assert rows(small(*zipped, text=GRID)) == ["x 1 p", "x 2 p", "y 1 q", "y 2 q"]


def test_a_level_is_reached_by_its_name_its_field_or_both(small: Small) -> None:
    study = small(('"${mtu}"', '"${configuration.mtu}"'))
    treatment: Treatment = {"switch": "generic-deep", "configuration": "1 MB", "servers": 2}
    levels = study.levels_of(treatment)
    assert levels["configuration"] == "1 MB"
    assert levels["mtu"] == levels["configuration.mtu"] == 9000
    assert levels["block"] == "1 MB"


CASES = """\
study: two
question: What do two cases share?
fixed: {disk: ram}
cases:
  users: {factors: {users: [20, 60]}, fixed: {cpus: 8}}
  disk: {factors: {disk: [ram, disk]}, fixed: {cpus: 8, users: 60}}
topology:
  client: {cpus: "${cpus}", data: "${disk}"}
  server: {count: "${users}"}
workload: {incast: {block: 1 MB, iterations: 1}}
"""


def test_a_field_that_nothing_uses_is_refused(refusal: Callable[..., list[str]]) -> None:
    another = "\n    - {name: 2 MB, block: 2 MB, mtu: 9000, queue: 5}"
    assert refusal(("mtu: 9000}", f"mtu: 9000}}{another}")) == [
        "study.yaml:7:44: factors.configuration.1.queue: nothing uses this field; write "
        "${configuration.queue} where it belongs, or leave the field out"
    ]


def test_what_is_fixed_belongs_to_the_treatment(small: Small) -> None:
    study = small(text=CASES)
    assert list(treatments(study.cases[0])) == [
        {"users": 20, "disk": "ram", "cpus": 8},
        {"users": 60, "disk": "ram", "cpus": 8},
    ]
    assert list(treatments(study.cases[1])) == [
        {"disk": "ram", "cpus": 8, "users": 60},
        {"disk": "disk", "cpus": 8, "users": 60},
    ]


def test_a_case_that_gives_no_level_is_named(refusal: Callable[..., list[str]]) -> None:
    assert refusal(("  users: {factors: {users: [20, 60]}, fixed: {cpus: 8}}",
                    "  users: {factors: {users: [20, 60]}}"), text=CASES) == [
        "study.yaml:5:3: cases.users: gives no level for cpus, which topology.client.cpus uses; "
        "add it to fixed or to factors"
    ]  # fmt: skip


def test_a_factor_is_not_fixed_in_its_own_case(refusal: Callable[..., list[str]]) -> None:
    change = ("fixed: {cpus: 8}}", "fixed: {cpus: 8, users: 20}}")
    assert refusal(change, text=CASES) == [
        "study.yaml:5:63: cases.users.fixed.users: is also in the factors of this case; keep one "
        "of the two"
    ]


def test_a_fixed_level_has_the_fields_of_the_factor_that_it_is_taken_from(small: Small) -> None:
    text = (
        CASES.replace("disk: [ram, disk]", "disk: [{name: fast, at: ram}, {name: slow, at: disk}]")
        .replace("fixed: {disk: ram}", "fixed: {disk: slow}")
        .replace('data: "${disk}"', 'data: "${at}"')
    )
    study = small(text=text)
    first = next(iter(treatments(study.cases[0])))
    assert study.levels_of(first)["at"] == "disk"


def case_sizes(case: Case) -> tuple[int, int]:
    return count_treatments(case), len(list(treatments(case)))


def test_treatments_are_counted_without_expanding_them(small: Small) -> None:
    zipped = (
        (
            "  b: [1, 2, 3]",
            "  b: 1..50\n  c: [{name: p, request: 1 B}, {name: q, request: 2 B}]\nzip: [[a, c]]",
        ),
        USES_C,
    )
    assert case_sizes(small(*zipped, text=GRID).cases[0]) == (100, 100)


BY_FIELDS = """\
study: fields
question: Which MTU?
cases:
  small: {factors: {conf: [{name: x, mtu: 1500}], servers: [2, 3]}}
  jumbo: {factors: {conf: [{name: x, mtu: 9000}], servers: [2, 3]}}
topology:
  switch: generic-shallow
  client: host-10g
  server: {profile: host-10g, count: "${servers}"}
  link: {rate: 10 Gbit/s, mtu: "${mtu}"}
workload: {incast: {block: 1 MB, iterations: 1}}
"""


def test_a_level_means_the_same_in_all_cases(refusal: Callable[..., list[str]]) -> None:
    assert refusal(text=BY_FIELDS) == [
        "study.yaml:5:28: cases.jumbo.factors.conf.0: level x of conf has other fields in case "
        "small; give the two levels different names"
    ]


def test_a_level_has_its_fields_wherever_one_case_says_them(small: Small) -> None:
    same = small(("mtu: 9000", "mtu: 1500"), text=BY_FIELDS)
    first = small(("{name: x, mtu: 9000}", "x"), text=BY_FIELDS)
    last = small(("{name: x, mtu: 1500}", "x"), text=BY_FIELDS)
    assert [study.factors["conf"].levels[0].fields["mtu"] for study in (same, first, last)] == [
        1500,
        1500,
        9000,
    ]
