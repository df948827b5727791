"""The answer says where the published winner is another one than the study's own."""

from __future__ import annotations

from pathlib import Path

from netstudy.analysis.study_result import analyse
from netstudy.report.answer import answer
from netstudy.report.prose.against_published import published_winners
from netstudy.wire import Run, RunRecord
from tests.report.results import from_text, study_text
from tests.report.synthetic import from_samples

OWN_MS = {"arista-7124s": 30.0, "nexus-5010": 10.0}
PUBLISHED = """\
servers,frames,a,n
2,jumbo,10.0,30.0
3,jumbo,10.0,30.0
4,jumbo,30.0,10.0
2,usual,30.0,10.0
3,usual,10.0,10.1
4,usual,10.0,30.0
"""
STUDY = """
factors:
  switch: [arista-7124s, nexus-5010]
  frames: [{name: usual, mtu: 1500}, {name: jumbo, mtu: 9000}]
  servers: [2, 3, 4]
replicates: 3
compare: {factor: switch, base: nexus-5010, noise: 2 %}
reference:
  file: data.csv
  source: a source
  factors: {servers: servers, frames: frames}
  columns:
    a: {metric: completion_ms_mean, at: {switch: arista-7124s}}
    n: {metric: completion_ms_mean, at: {switch: nexus-5010}}
"""


def slower_arista(run: Run) -> RunRecord:
    n = run.count("measure")
    mean = OWN_MS[str(run.treatment["switch"])] + 0.01 * run.replicate
    return from_samples(run, [mean] * n, [0] * n, [0] * n, [0] * n)


def test_every_row_of_every_panel_with_another_winner_is_in_the_answer(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(PUBLISHED)
    text = study_text(STUDY, switch='"${switch}"', servers='"${servers}"').replace(
        "mtu: 9000 B", 'mtu: "${mtu}"'
    )
    result = analyse(from_text(tmp_path, text, slower_arista))
    (told,) = published_winners(result)
    assert "arista-7124s" in str(told)  # ahead in the publication, and never here
    assert "nexus-5010" not in str(told)
    for row in ("4 servers (frames usual)", "2 and 3 servers (frames jumbo)"):
        assert row in str(told).replace("\N{NO-BREAK SPACE}", " ")
    assert str(told) in set(map(str, answer(result).sentences))
