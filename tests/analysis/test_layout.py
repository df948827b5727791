"""Which factor runs along x, which is compared, which is held: for any names."""

from __future__ import annotations

from netstudy.analysis.layout import Layout, layout
from netstudy.wire import Treatment
from tests.report.synthetic import FakeFolder, incast_plan, plan_of, pooled, run


def laid_out(*treatments: Treatment, compared: str | None = None) -> Layout:
    runs = tuple(run(treatment, switch="x", servers=2) for treatment in treatments)
    plan = plan_of(runs)
    return layout(pooled(FakeFolder(plan, [])), "main", compared)


def test_incast_has_servers_along_x_and_one_panel_a_configuration() -> None:
    found = layout(pooled(FakeFolder(incast_plan(), [])), "main", "switch")
    assert (found.x, found.series) == ("servers", "switch")
    panel = found.panels[0]
    assert panel.fixed == {"configuration": "4 MB"}
    assert panel.x_levels == tuple(range(1, 24))
    assert panel.series_levels == ("arista-7124s", "nexus-5010")
    assert len(found.panels) == 1


def test_the_first_numeric_factor_runs_along_x() -> None:
    found = laid_out(
        {"disk": "ram", "users": 20, "cpus": 1},
        {"disk": "ssd", "users": 40, "cpus": 2},
        compared="disk",
    )
    assert (found.x, found.series) == ("users", "disk")
    assert len(found.panels) == 2


def test_a_named_factor_runs_along_x_where_no_number_does() -> None:
    near, far = {"path": "near", "card": "old"}, {"path": "far", "card": "new"}
    found = laid_out(dict(near), dict(far), compared="card")
    assert (found.x, found.series) == ("path", "card")
    assert not found.panels[0].x_numeric


def test_without_a_comparison_a_named_factor_makes_the_series() -> None:
    found = laid_out({"card": "old", "rate": 1}, {"card": "new", "rate": 2})
    assert (found.x, found.series) == ("rate", "card")


def test_the_compared_factor_alone_has_nothing_along_x() -> None:
    found = laid_out({"card": "old"}, {"card": "new"}, compared="card")
    assert (found.x, found.series) == (None, "card")
    assert found.panels[0].x_levels == (None,)
    assert found.panels[0].cell(None, "new") is not None


def test_a_single_cell_has_one_panel_with_one_cell() -> None:
    found = laid_out({"servers": 4})
    assert (found.x, found.series) == ("servers", None)
    assert len(found.panels[0].cells) == 1


def test_a_plan_without_factors_has_one_cell() -> None:
    found = laid_out({})
    assert (found.x, found.series) == (None, None)
    assert found.panels[0].cell(None, None) is not None


def test_a_hole_in_the_plan_is_a_cell_that_is_not_there() -> None:
    found = laid_out(
        {"card": "old", "rate": 1},
        {"card": "old", "rate": 2},
        {"card": "new", "rate": 1},
        compared="card",
    )
    assert found.panels[0].cell(2, "new") is None
    assert found.panels[0].cell(2, "old") is not None


def test_panels_stand_in_the_order_of_levels_though_a_hole_has_the_first() -> None:
    """No two servers with the small buffer: the first cell has the large one."""
    found = laid_out(
        {"card": "old", "servers": 4, "buffer": "small"},
        {"card": "old", "servers": 2, "buffer": "large"},
        {"card": "new", "servers": 4, "buffer": "large"},
        compared="card",
    )
    assert [panel.fixed for panel in found.panels] == [{"buffer": "small"}, {"buffer": "large"}]


def test_cases_are_laid_out_apart_and_may_share_cells() -> None:
    shared = run({"cpus": 2}, cases=("one", "two"), switch="x", servers=2)
    only = run({"cpus": 4}, cases=("two",), switch="x", servers=2)
    plan = plan_of((shared, only))
    table = pooled(FakeFolder(plan, []))
    assert table.cases == ("one", "two")
    assert layout(table, "one", None).panels[0].x_levels == (2,)
    assert layout(table, "two", None).panels[0].x_levels == (2, 4)
