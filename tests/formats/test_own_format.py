"""A format of a user's own: the example of the guide, as an installed package."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy import formats
from netstudy.formats.measured import Format, FormatError, Measurement
from tests.formats.samples import broken, held, measurements, only, sample

EXAMPLE = Path(__file__).parents[2] / "docs/examples/iperf2"

UDP = (
    "20261128082858,192.0.2.1,5001,192.0.2.2,40000,3,0.0-1.0,131670,1053360,0.012,10,100,10.000,0\n"
    "20261128082859,192.0.2.1,5001,192.0.2.2,40000,3,1.0-2.0,131670,1053360,0.012,0,100,0.000,0\n"
    "20261128082859,192.0.2.1,5001,192.0.2.2,40000,3,0.0-2.0,263340,1053360,0.012,10,200,5.000,0\n"
)
"""Typed after the output of a server of iperf 2.1."""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Format]:
    """The example in a folder of packages, with the metadata that an installer makes of its
    pyproject.toml."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    shutil.copy(EXAMPLE / "netstudy_iperf2.py", tmp_path)
    metadata = tmp_path / f"netstudy_iperf2-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["netstudy.formats"]
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (metadata / "entry_points.txt").write_text(f"[netstudy.formats]\n{lines}")
    monkeypatch.syspath_prepend(str(tmp_path))
    formats.formats.cache_clear()
    yield next(each for each in formats.formats() if each.name == "iperf2")
    formats.formats.cache_clear()


def test_an_installed_format_reads_its_files(installed: Format) -> None:
    form, content = formats.read_file(sample("own/iperf2.csv"))
    assert form is installed
    assert isinstance(content, tuple)
    (found,) = content
    # The totals of the two streams, in the file's last lines.
    assert found.values == {"iperf2_mbps": pytest.approx((52_927_578 + 52_923_320) / 1e6)}
    assert found.settings == {"streams": "2", "target": "127.0.0.1:15301"}
    assert [each.part for each in found.series] == ["stream 1", "stream 2"]
    assert list(found.series[0].ends_s) == [1, 2]
    assert found.started_s is None
    assert not broken(found)


def test_it_recognises_no_other_file(installed: Format) -> None:
    for name in ("own/iperf3-tcp.json", "own/iperf2-e.txt", "pkb/cloudharmony_iperf.csv"):
        head = sample(name).read_bytes()[: formats.HEAD_BYTES]
        assert not installed.recognises(head)


def test_rows_of_a_server_have_losses(installed: Format, tmp_path: Path) -> None:
    path = tmp_path / "udp.csv"
    path.write_text(UDP)
    found = only(installed, path)
    assert found.values == {"iperf2_mbps": 1.05336, "iperf2_loss_pct": 5}
    assert not broken(found)


def test_intervals_that_do_not_add_up_break_the_law(installed: Format, tmp_path: Path) -> None:
    path = tmp_path / "udp.csv"
    path.write_text(UDP.replace("263340,1053360", "526680,2106720"))
    (reason,) = broken(only(installed, path))
    assert reason.startswith("the intervals add up to the total")


def test_a_file_without_its_total_is_refused(installed: Format, tmp_path: Path) -> None:
    path = tmp_path / "udp.csv"
    path.write_text("".join(UDP.splitlines(keepends=True)[:2]))
    with pytest.raises(FormatError, match="stream 3: its last row is not its total"):
        measurements(installed, path)


def test_damaged_files_give_finite_values_or_are_refused(installed: Format) -> None:
    held(installed, UDP.encode(), seed=5)


def test_a_format_that_cannot_be_loaded_is_named(installed: Format, tmp_path: Path) -> None:
    (tmp_path / "netstudy_iperf2-1.0.dist-info/entry_points.txt").write_text(
        "[netstudy.formats]\niperf2 = netstudy_iperf2:NOTHING\n"
    )
    formats.formats.cache_clear()
    with pytest.raises(FormatError, match=r"the format iperf2 .* cannot be loaded"):
        formats.formats()


def test_an_object_that_is_no_format_is_named(installed: Format, tmp_path: Path) -> None:
    (tmp_path / "netstudy_iperf2-1.0.dist-info/entry_points.txt").write_text(
        "[netstudy.formats]\niperf2 = netstudy_iperf2:ROW\n"
    )
    formats.formats.cache_clear()
    with pytest.raises(FormatError, match="is not complete: it needs name, title, quantities"):
        formats.formats()


def test_a_file_that_two_formats_recognise_is_refused(installed: Format) -> None:
    class Twin:
        name = "twin"
        title = "the same files"
        quantities = ()
        left_out = ()

        def recognises(self, head: bytes) -> bool:
            return True

        def read(self, data: bytes) -> tuple[Measurement, ...]:
            raise FormatError("never read")

    with pytest.raises(FormatError, match="iperf2 and twin both recognise the file"):
        formats.recognise(UDP.encode(), (installed, Twin()))
