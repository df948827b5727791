"""Values set from outside (`--set`), levels chosen (`--only`), and the study's own short form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from netstudy.errors import StudyError
from netstudy.study import Study, apply_overrides, parse_only, quick_form, quick_only

Small = Callable[..., Study]


def test_a_value_is_set_and_read_as_a_file_would_be(small: Small) -> None:
    study = apply_overrides(
        small(),
        {
            "workload.incast.iterations": "60",
            "topology.link.delay": "5 us",
            "replicates": "2",
            "factors.servers": "[1, 2]",
        },
    )
    assert study.workload.incast is not None
    assert study.workload.incast.iterations == 60
    assert study.topology.link is not None
    assert study.topology.link.delay == 5_000
    assert study.replicates == 2
    assert study.cases[0].factors[2].names == (1, 2)


def test_the_study_itself_stays_as_it_was(small: Small) -> None:
    study = small()
    apply_overrides(study, {"replicates": "7"})
    assert study.replicates == 1
    assert apply_overrides(study, {"replicates": "7"}).source_text == study.source_text


def test_what_is_not_set_keeps_its_written_form(small: Small) -> None:
    study = small(("study: small", "study: small\nexpectation: 1.10"))
    assert apply_overrides(study, {"replicates": "2"}).expectation == "1.10"


def test_a_key_that_the_file_does_not_have_can_be_set(small: Small) -> None:
    study = apply_overrides(small(), {"workload.incast.spacing": "5 us"})
    assert study.workload.incast is not None
    assert study.workload.incast.spacing == 5_000


def test_a_profile_gives_way_to_a_map_with_the_profile_in_it(small: Small) -> None:
    study = apply_overrides(small(), {"topology.switch.latency": "2 us"})
    assert study.topology.switch is not None
    assert study.topology.switch.latency == 2_000
    assert study.topology.switch.profile == small().topology.switch.profile  # type: ignore[union-attr]


def test_a_probe_gives_way_to_a_map_with_its_interval_in_it(small: Small) -> None:
    probed = ("workload:\n", "workload:\n  probe: 10 ms\n")
    study = apply_overrides(small(probed), {"workload.probe.request": "1 kB"})
    assert study.workload.probe is not None
    assert (study.workload.probe.every, study.workload.probe.request) == (10_000_000, 1_000)


def test_items_of_lists_are_counted_from_0(small: Small) -> None:
    study = apply_overrides(small(), {"factors.configuration.0.mtu": "1500"})
    assert study.factors["configuration"].levels[0].fields["mtu"] == 1500


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("workload.incast.iterations", "ten",
         'workload.incast.iterations: must be a whole number, not "ten"'),
        ("workload.incast.iteration", "60",
         'workload.incast.iteration: unknown key; did you mean "iterations"?'),
        ("workload.incst.iterations", "60",
         'workload.incst: unknown key; did you mean "incast"?'),
        ("workload.transfer.size", "1 MB",
         "the study's workload is incast, not transfer; set its values by workload.incast.KEY"),
        ("workload", "{incast: {}, transfer: {}}",
         "workload: needs exactly one of incast, transfer, request and transactions; it has incast "
         "and transfer; to measure latency under a load, add a probe to it: probe: 10 ms"),
        ("topology.link.rate", "10 Gbps",
         'topology.link.rate: "10 Gbps": unknown unit "Gbps"; did you mean "10 Gbit/s"?'),
        ("topology.switch", "generic-dep",
         'topology.switch.profile: no switch profile "generic-dep"; did you mean "generic-deep"? '
         "(switch profiles: arista-7124s, generic-deep, generic-shallow, generic-shared, "
         "generic-voq, nexus-5010, wire-speed-12)"),
        ("factors.servers", "1..1000000000",
         "factors.servers: 1..1000000000 has 1,000,000,000 levels; a factor may have 10,000"),
        ("factors.switch.5", "x",
         "factors.switch: is a list of 2 items, numbered from 0; it has no 5"),
        ("question.again", "x", "question: must be text, not a map"),
        ("workload.incast.iterations.x", "1",
         "workload.incast.iterations: is 10, which has nothing inside to set"),
        ("replicates", "[1",
         "not YAML: while parsing a flow sequence, expected ',' or ']', but got '<stream end>'; "
         "a bracket is not closed"),
        ("replicates", "", "replicates: must be a whole number, not nothing"),
        ("replicates..x", "1", "a path is keys with dots, such as workload.incast.iterations"),
    ],
)  # fmt: skip
def test_a_wrong_override_is_refused_in_the_words_of_the_option(
    path: str, value: str, said: str, small: Small
) -> None:
    with pytest.raises(StudyError) as caught:
        apply_overrides(small(), {path: value})
    assert str(caught.value) == f"--set {path}={value}: {said}"


QUICK = (
    "workload:",
    "quick:\n  only: {servers: [1, 3], switch: generic-deep}\n"
    "  set: {workload.incast.iterations: 5}\nworkload:",
)


def test_the_short_form_sets_values_and_keeps_levels(small: Small) -> None:
    study = quick_form(small(QUICK))
    assert study.workload.incast is not None
    assert study.workload.incast.iterations == 5
    assert quick_only(study) == {"servers": [1, 3], "switch": ["generic-deep"]}


def test_changed_levels_do_not_trip_over_a_short_form_that_is_not_used(small: Small) -> None:
    study = apply_overrides(small(QUICK), {"factors.servers": "1..2"})
    with pytest.raises(StudyError, match=r'quick\.only\.servers: factor servers has no level "3"'):
        quick_only(study)


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        (["servers=1..2"], {"servers": [1, 2]}),
        (["servers=3,1"], {"servers": [1, 3]}),
        (["servers=2..9"], {"servers": [2, 3]}),
        (["servers=!2"], {"servers": [1, 3]}),
        (["configuration=1 MB"], {"configuration": ["1 MB"]}),
        (["switch=generic-deep", "servers=1"], {"switch": ["generic-deep"], "servers": [1]}),
        (["servers=1", "servers=3"], {"servers": [1, 3]}),
        ([], {}),
    ],
)
def test_levels_are_chosen_by_name_range_or_exclusion(
    options: list[str], levels: dict[str, list[object]], small: Small
) -> None:
    assert parse_only(options, small()) == levels


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("servers=9", 'factor servers has no level "9"; it has 1, 2, 3'),
        ("servers=7..9", 'factor servers has no level "7..9"; it has 1, 2, 3'),
        ("servrs=1", 'the study has no factor "servrs"; did you mean "servers"?'),
        (
            "switch=generic-dep",
            'factor switch has no level "generic-dep"; did you mean "generic-deep"?',
        ),
        ("servers", "write --only factor=level, such as --only servers=1..6"),
        ("servers=", "write --only factor=level, such as --only servers=1..6"),
    ],
)
def test_a_wrong_choice_of_levels_is_refused(option: str, said: str, small: Small) -> None:
    with pytest.raises(StudyError) as caught:
        parse_only([option], small())
    assert str(caught.value) == f"--only {option}: {said}"


def test_a_level_whose_name_has_commas_is_still_one(small: Small) -> None:
    study = small(("name: 1 MB", 'name: "1 MB, jumbo"'))
    assert parse_only(["configuration=1 MB, jumbo"], study) == {"configuration": ["1 MB, jumbo"]}
