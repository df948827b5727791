"""Compared levels that differ in several things, from records with a planted answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from netstudy.analysis.study_result import StudyResult, analyse
from netstudy.report.answer import answer
from netstudy.wire import Run, RunRecord
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples, server_count

SCATTER = (0.0, 0.001, -0.001, 0.0005, -0.0005)
ZIP = "zip: [[sw, mtu]]\n"
HOLES = "holes: [{sw: arista-7124s, mtu: 9000}, {sw: nexus-5010, mtu: 1500}]\n"
TWO_FACTORS = "sw: [arista-7124s, nexus-5010], mtu: [1500, 9000]"


def comparing(folder: Path, factors: str, rest: str, switch: str, mtu: str) -> StudyResult:
    """The second switch takes a tenth more time."""

    def maker(run: Run) -> RunRecord:
        n, late = (
            run.count("measure"),
            1.1 if "nexus-5010" in map(str, run.treatment.values()) else 1,
        )
        time = 10.0 * server_count(run) * late * (1 + SCATTER[run.replicate - 1])
        return from_samples(run, [time] * n, [0] * n, [0] * n, [0] * n)

    more = f"factors: {{{factors}, servers: [2, 4, 8]}}\nreplicates: 5\nnoise: 2 %\n{rest}"
    text = study_text(more, servers='"${servers}"').replace(
        "switch: nexus-5010", f'switch: {{profile: "${{{switch}}}"}}'
    )
    text = text.replace("mtu: 9000 B", f'mtu: "${{{mtu}}}"')
    return analyse(from_text(folder, text, maker=maker))


@pytest.mark.parametrize("apart", [ZIP, HOLES])
def test_factors_that_always_change_together_share_their_difference(
    apart: str, tmp_path: Path
) -> None:
    asked = f"{apart}compare: {{factor: sw, base: arista-7124s}}\n"
    result = comparing(tmp_path, TWO_FACTORS, asked, "sw", "mtu")
    (one,) = result.inseparable
    assert (one.things, one.are_factors) == (("sw", "mtu"), True)
    assert one.effect.change == pytest.approx(1.1, abs=0.001)
    first, *_ = answer(result)
    assert str(first).startswith("Sw and mtu ")
    assert "9.1" in str(first)


def test_fields_of_a_level_share_the_difference_of_the_levels(tmp_path: Path) -> None:
    factors = (
        "variant: [{name: nexus-5010, sw: nexus-5010, mtu: 9000},"
        " {name: a, sw: arista-7124s, mtu: 1500}]"
    )
    asked = "compare: {factor: variant, base: a}\n"
    result = comparing(tmp_path, factors, asked, "variant.sw", "variant.mtu")
    (one,) = result.inseparable
    assert (one.things, one.are_factors, one.is_equal) == (("sw", "mtu"), False, False)
    first, *_ = answer(result)
    assert "sw and mtu" in str(first)


def test_factors_that_change_alone_are_told_apart(tmp_path: Path) -> None:
    asked = "compare: {factor: sw, base: arista-7124s}\n"
    result = comparing(tmp_path, TWO_FACTORS, asked, "sw", "mtu")
    assert result.inseparable == ()
