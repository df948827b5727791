"""Every kind of mistake in a study file: its place, and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy.errors import StudyError
from netstudy.plan import make_plan
from netstudy.study import Study, load

Refusal = Callable[..., list[str]]
Write = Callable[..., Path]

SWITCHES = (
    "arista-7124s, generic-deep, generic-shallow, generic-shared, generic-voq, nexus-5010, "
    "wire-speed-12"
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("delay: 1 us", "delai: 1 us",
         '12:27: topology.link.delai: unknown key; did you mean "delay"?'),
        ("incast:", "incst:", '14:3: workload.incst: unknown key; did you mean "incast"?'),
        ("question: ", "frage: x\nquestion: ",
         "2:1: frage: unknown key; known: description, factors, fixed, zip, holes, study, "
         "question, expectation, expect, author, cases, measured …"),
        ("question: ", "noise: 150 %\nquestion: ", "2:8: noise: must be at most 100 %, not 150 %"),
        ("10 Gbit/s", "10 Gbps",
         '12:16: topology.link.rate: "10 Gbps": unknown unit "Gbps"; did you mean "10 Gbit/s"?'),
        ("10 Gbit/s", "0 Gbit/s", '12:16: topology.link.rate: "0 Gbit/s": a rate must be above 0'),
        ("10 Gbit/s", "10",
         "12:16: topology.link.rate: 10 has no unit; a rate is in bit/s, kbit/s, Mbit/s, Gbit/s "
         'or Tbit/s, such as "10 Gbit/s"'),
        ("10 Gbit/s", "[10 Gbit/s]",
         '12:16: topology.link.rate: a rate is a number with a unit, such as "10 Gbit/s"'),
        ("block: 1 MB,", "block: 1 mb,",
         '6:27: factors.configuration.0.block: "1 mb": unknown unit "mb"; did you mean "1 MB"? '
         "(used by workload.incast.block)"),
        ("mtu: 9000}", "mtu: 90000}",
         "6:38: factors.configuration.0.mtu: an MTU is between 576 and 65535 bytes, not 90000 "
         "(used by topology.link.mtu)"),
        ("iterations: 10", "iterations: ten",
         '14:43: workload.incast.iterations: must be a whole number, not "ten"'),
        ("iterations: 10", "iterations: 0",
         "14:43: workload.incast.iterations: must be at least 1, not 0"),
        ("iterations: 10", "iterations: 99999999999999999999",
         "14:43: workload.incast.iterations: must be at most 1000000000, not 99999999999999999999"),
        ("iterations: 10", "iterations: 1e3",
         "14:43: workload.incast.iterations: must be a whole number, not 1e3"),
        ("iterations: 10", "iterations: true",
         "14:43: workload.incast.iterations: must be a whole number, not true"),
        ("client: {", "client: {cpu_quota: 0.5 %, ",
         "10:23: topology.client.cpu_quota: must be at least 1 %, not 0.5 %"),
        ("client: {", "client: {cpu_quota: 12.3456 %, ",
         '10:23: topology.client.cpu_quota: "12.3456 %" is no whole number of thousandths of a '
         "percent"),
        (", iterations: 10", "", "14:3: workload.incast.iterations: the key is missing"),
        ("iterations: 10", "iterations: 10, striped: yes",
         '14:56: workload.incast.striped: must be true or false, not "yes"'),
        ("iterations: 10", "iterations: 10, jitter: 75 us",
         '14:55: workload.incast.jitter: "75 us" is not known here; write none, or '
         "a map such as {exponential: 75 us}"),
        ("iterations: 10", "iterations: 10, jitter: {none: true}",
         "14:62: workload.incast.jitter.none: is written as the word alone, or a map such as "
         "{exponential: 75 us}"),
        ("iterations: 10", "iterations: 10, jitter: {exponential: 1 us, uniform: 1 us}",
         "14:55: workload.incast.jitter: must be {exponential: 75 us}, {uniform: 20 us} or none"),
        ("iterations: 10", "iterations: 10, client: klient",
         '14:55: workload.incast.client: no host "klient"; did you mean "client"?'),
        ("iterations: 10", "iterations: 10, servers: client",
         "14:56: workload.incast.servers: is also the client; the two must be different places"),
        ("question: Which buffer suits synchronized reads?", "question:",
         "2:1: question: must be text, not nothing"),
        ("question: Which buffer suits synchronized reads?", "question: [Which]",
         "2:11: question: must be text, not a list"),
        ("question: Which buffer suits synchronized reads?\n", "",
         "1:1: question: the key is missing"),
        ("study: small", "study: two words",
         '1:8: study: "two words" is not a name; use letters, digits, "_" and "-"'),
        ("question: ", "study: again\nquestion: ",
         "2:1: study: the key is given twice; it is in line 1 too"),
        ("question: ", "noise: 2\nquestion: ",
         '2:8: noise: 2 has no unit; a percentage is in %, such as "2 %"'),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit(old: str, new: str, said: str, refusal: Refusal) -> None:
    assert refusal((old, new)) == [f"study.yaml:{said}"]


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ("", "7:3: factors.servers: must be a list of levels or a range such as 1..23, "
             "not nothing"),
        ("[]", "7:12: factors.servers: a factor needs at least one level"),
        ("5", "7:12: factors.servers: must be a list of levels or a range such as 1..23, not 5"),
        ("few", '7:12: factors.servers: "few" is one level; a factor is a list of levels or a '
                "range such as 1..23"),
        ("1..", "7:12: factors.servers: 1.. has no end; write 1..23, or "
                "{grow: 1.., until: no gain, at most: 64}"),
        ("3..1", "7:12: factors.servers: 3..1 runs backwards; did you mean 1..3?"),
        ("1..1000000000", "7:12: factors.servers: 1..1000000000 has 1,000,000,000 levels; "
                          "a factor may have 10,000"),
        ("[1..9999, 20000..20001]", "7:12: factors.servers: 10,001 levels; a factor may have "
                                    "10,000"),
        ("[1, 2, 1]", '7:19: factors.servers.2: the level "1" is given twice'),
        ("[1..3, 2]", '7:19: factors.servers.1: the level "2" is given twice'),
        ("[1, two]", '7:16: factors.servers.1: must be a whole number, not "two" '
                     "(used by topology.server.count)"),
        ('["", 1]', "7:13: factors.servers.0: a level must not be empty"),
        ("9" * 5000, f'7:12: factors.servers: "{"9" * 60}…" is one level; a factor is a list of '
                     "levels or a range such as 1..23"),
        ("[0]", "7:13: factors.servers.0: must be at least 1, not 0 "
                "(used by topology.server.count)"),
        ("[1, null]", '7:16: factors.servers.1: is null; to give the word, write "null" in quotes'),
        ("[1, [2]]", "7:16: factors.servers.1: must be text or a number, not a list"),
        ("[{count: 1}]", "7:13: factors.servers.0: a level that is a map needs a name: "
                         "{name: …, …}"),
        ("{grow: [1, 1], until: no gain}", '7:23: factors.servers.grow.1: the level "1" is '
                                           "given twice"),
        ("{grow: 1.., until: no gains}", '7:31: factors.servers.until: "no gains" is not known '
                                         'here; did you mean "no gain"?'),
        ("{grow: 1.., confirm: 0}", "7:33: factors.servers.confirm: must be at least 1, not 0"),
        ("{grow: 1..}", "7:19: factors.servers.grow: 1.. has no end; say the last level, as in "
                        "{grow: 1.., at most: 64}"),
        ("{grow: 4.., at most: 3}", "7:33: factors.servers.at most: is below the first level of "
                                    "4.."),
        ("{grow: [1, 2], at most: 2}", "7:36: factors.servers.at most: is only for a range "
                                       "without an end; a list ends with its last level"),
        ("{grow: 1.., at most: 3, of: godput_mbps}",
         '7:40: factors.servers.of: "godput_mbps" is an unknown metric; '
         'did you mean "goodput_mbps"?'),
        ("{grow: 1.., at most: 3, of: nobody.cpu_pct}\nnoise: 1 %",
         '7:40: factors.servers.of: "nobody.cpu_pct": no host "nobody"; '
         'known: client, server, switch'),
        ("{grow: 1.., at most: 3}",
         "7:3: factors.servers: cannot grow: one replicate without noise cannot show whether a "
         "gain is chance; write noise, such as noise: 2 %, or replicates: 3"),
        ("{grow: 1.., at most: 3}\n  more: {grow: [1, 2]}\nnoise: 1 %",
         "8:3: factors.more: grows, and so does servers; only one factor of a case may grow: list "
         "the levels"),
    ],
)  # fmt: skip
def test_levels_that_are_none(levels: str, said: str, refusal: Refusal) -> None:
    assert refusal(("servers: 1..3", f"servers: {levels}")) == [f"study.yaml:{said}"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"${servers}"', '"${sevrers}"',
         '11:38: topology.server.count: unknown reference "${sevrers}"; '
         'did you mean "${servers}"?'),
        ('"${mtu}"', '"${packet}"',
         '12:45: topology.link.mtu: unknown reference "${packet}"; known: switch, configuration, '
         "block, configuration.block, mtu, configuration.mtu, servers"),
        ('"${servers}"', '"${servers} hosts"',
         '11:38: topology.server.count: "${servers} hosts": a reference must be the whole value, '
         'as "${name}"'),
        ("  servers: 1..3", "  servers: [{name: few, block: 1 MB}]",
         '14:19: workload.incast.block: "${block}" is ambiguous; write "${configuration.block}" '
         'or "${servers.block}"'),
        ("mtu: 9000}", "mtu: 9000}\n    - {name: 2 MB, block: 2 MB, mtuu: 1500}",
         '7:7: factors.configuration.1: level "2 MB" has no mtu, which topology.link.mtu uses; '
         'did you mean "mtuu"?'),
    ],
)  # fmt: skip
def test_a_reference_without_a_level(old: str, new: str, said: str, refusal: Refusal) -> None:
    assert f"study.yaml:{said}" in refusal((old, new))


def test_a_profile_that_does_not_exist(refusal: Refusal) -> None:
    assert refusal(("generic-deep", "generic-dep")) == [
        'study.yaml:4:29: factors.switch.1: no switch profile "generic-dep"; '
        f'did you mean "generic-deep"? (switch profiles: {SWITCHES})'
    ]
    assert refusal(("client: {profile: host-10g}", "client: {profile: nexus-5010}"))[0].startswith(
        'study.yaml:10:21: topology.client.profile: "nexus-5010" is a switch, not a host '
        "(host profiles: host-100g, host-10g"
    )


def with_top(line: str) -> tuple[str, str]:
    """The small study with a line put in as its third."""
    return "factors:\n", f"{line}\nfactors:\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("compare: {factor: swich, base: x}",
         ['19: compare.factor: no factor "swich"; did you mean "switch"?']),
        ("compare: {factor: switch, base: generic-dep}",
         ['33: compare.base: factor switch has no level "generic-dep"; '
          'did you mean "generic-deep"?']),
        ("compare: {factor: servers, base: 7}",
         ['34: compare.base: factor servers has no level "7"; it has 1, 2, 3']),
        ("compare: {factor: servers, base: 1..2}",
         ['34: compare.base: factor servers has no level "1..2"; it has 1, 2, 3']),
        ('compare: {factor: servers, base: "!2"}',
         ['34: compare.base: factor servers has no level "!2"; did you mean "2"?']),
        ("conclude: [{compare: servers, base: 1..2}]",
         ['37: conclude.0.base: factor servers has no level "1..2"; it has 1, 2, 3']),
        ("conclude: [{plateau: true, at: {servers: 1..2}}]",
         ['42: conclude.0.at.servers: factor servers has no level "1..2"; it has 1, 2, 3']),
        ("compare: {factor: switch, base: generic-deep, on: goodput}",
         ['51: compare.on: "goodput" is an unknown metric; did you mean "goodput_mbps"?']),
        ("holes: [{serves: 1}, {servers: 9}, {switch: [generic-deep, x]}]",
         ['10: holes.0.serves: no factor "serves"; did you mean "servers"?',
          '32: holes.1.servers: factor servers has no level "9"; it has 1, 2, 3',
          '45: holes.2.switch: factor switch has no level "x"; it has generic-shallow, '
          'generic-deep']),
        ("holes: [{}]", ["9: holes.0: names no factor, so it would leave out everything"]),
        ("holes: [{servers: 1..3}]", ["8: holes: leave nothing to run"]),
        ("holes: [{servers: !3}]",
         ['21: not YAML: while scanning a tag, expected \' \', but found \'}\'; '
          'a value that begins with "!" must be in quotes']),
        ("zip: [[switch, servers]]",
         ["7: zip.0: zipped factors need the same number of levels; switch has 2, servers has 3"]),
        ("zip: [[switch]]", ["7: zip.0: a group of zipped factors needs at least two factors"]),
        ("zip: [[switch, sizes]]",
         ['16: zip.0.1: no factor "sizes"; known: switch, configuration, servers']),
        ("fixed: {serverz: 3}",
         ['9: fixed.serverz: no factor or setting uses this level; did you mean "servers"?']),
        ("figures: [complete]",
         ['11: figures.0: "complete" is not a figure; did you mean "completion"?']),
        ("figures: [{kind: line, x: servers, y: goodput_mbps}]",
         ['18: figures.0.kind: "line" is not known here; did you mean "lines"?']),
        ("figures: [{x: servers, y: [completion_ms_p50, completion_ms_p98]}]",
         ['47: figures.0.y.1: "completion_ms_p98" is an unknown metric; '
          'did you mean "completion_ms"?']),
        ("figures: [completion, goodput, completion]",
         ["32: figures.2: is already drawn; leave out one of the two"]),
        ("figures: [{x: servers, y: goodput_mbps, series: servers}]",
         ["49: figures.0.series: servers is also the x axis; keep one of the two"]),
        ("agreement: {completion: 5 %, latency_us_mean: 10 %}",
         ['47: agreement.latency_us_mean: "latency_us_mean" is not measured by the workload incast '
          "of this study, but by request; this study measures completion_ms, goodput_mbps, "
          "drops_per_iteration, retransmissions_per_iteration, timeouts_per_iteration, "
          "timeout_iterations_pct and fairness_index"]),
        ("agreement: {latency: 5 %}",
         ['22: agreement.latency: "latency" is not a figure of the workload incast; known: '
          "completion, completion_p50, completion_p99, goodput, drops, retransmissions, timeouts, "
          "timeout_iterations, fairness"]),
        ("figures: [{x: servers, y: cpu_pct}]",
         ['27: figures.0.y: "cpu_pct" is measured at a host; name the host, as in server.cpu_pct']),
        ("figures: [{x: servers, y: sever.cpu_pct}]",
         ['27: figures.0.y: "sever.cpu_pct": no host "sever"; did you mean "server"?']),
        ("figures: [{x: server, y: goodput_mbps}]",
         ['15: figures.0.x: no factor "server"; did you mean "servers"?']),
        ("figures: [{y: goodput_mbps}]",
         ["11: figures.0: needs x, the factor along the x axis"]),
        ("figures: [{kind: bars, x: servers, y: goodput_mbps, y2: completion_ms_mean}]",
         ["57: figures.0.y2: bars have only one axis; draw this metric in its own figure, or use "
          "lines"]),
        ("figures: [{name: drops, y: goodput_mbps}]",
         ["11: figures.0: the standard figure drops cannot be changed; leave out y, or write x "
          "and y in place of the name"]),
        ("tables: [{rows: [], columns: goodput_mbps}]",
         ["17: tables.0.rows: needs at least one"]),
        ("figures: [5]", ["11: figures.0: must be a word or a map, not 5"]),
        ("tables: [{rows: servers, columns: switch}]",
         ["10: tables.0: columns are factors; cell must name the metric to show in them"]),
        ("tables: [{rows: servers, columns: goodput}]",
         ['35: tables.0.columns: "goodput" is neither a factor nor a metric; '
          'did you mean "goodput_mbps"?']),
        ("tables: [{case: main2, rows: servers, columns: goodput_mbps}]",
         ['17: tables.0.case: no case "main2"; did you mean "main"?']),
        ("tables: [{rows: servers, columns: goodput_mbps, normalise: {etr_pct: first row}}]",
         ['61: tables.0.normalise.etr_pct: is not a metric of this table; known: goodput_mbps']),
        ("conclude: [botleneck]",
         ['12: conclude.0: "botleneck" is not known here; did you mean "bottleneck"?']),
        ("conclude: [knee]", ["12: conclude.0: needs a value: {knee: …}"]),
        ("conclude: [{limt: goodput_mbps}]",
         ['13: conclude.0.limt: unknown key; did you mean "limit"?']),
        ("conclude: [{case: main}]",
         ["12: conclude.0: needs one of the keys bottleneck, plateau, bypasses the wire, first "
          "repetition, substitution, limit, compare, extrapolate, equivalent, knee, loss against "
          "ideal, where time goes"]),
        ("conclude: [{limit: goodput_mbps, while: fast}]",
         ['41: conclude.0.while: "fast" is not a condition, such as response_ms_mean < 1000']),
        ("conclude: [{knee: server}]",
         ['19: conclude.0.knee: no factor "server"; did you mean "servers"?']),
        ("conclude: [{compare: switch, base: shallow}]",
         ['36: conclude.0.base: factor switch has no level "shallow"; '
          'did you mean "generic-shallow"?']),
        ("reference: {file: no.csv, source: me, factors: {servers: n}, columns: {}}",
         ["19: reference.file: cannot read no.csv"]),
        ("reference: {file: ../x.csv, source: me, factors: {servers: n}, columns: {}}",
         ["19: reference.file: must lie in the study's own folder"]),
        ("quick: {only: {servers: 9}, set: {workload.incast.iteration: 3}}",
         ['25: quick.only.servers: factor servers has no level "9"; it has 1, 2, 3',
          '35: quick.set.workload.incast.iteration: unknown key; did you mean "iterations"?']),
        ("instruments: [{snmp: switch, port: server}]",
         ["22: instruments.0.snmp: the switch cannot be polled; set topology.switch.snmp to true"]),
        ("instruments: [{sar: app}]",
         ['21: instruments.0.sar: no host "app"; known: client, server']),
        ("cases: {a: {factors: {servers: [1]}}}",
         ["8: cases: the study has factors outside of its cases; move them into the cases"]),
    ],
)  # fmt: skip
def test_a_part_that_speaks_of_what_is_not_there(
    line: str, said: list[str], refusal: Refusal
) -> None:
    assert refusal(with_top(line)) == [f"study.yaml:3:{text}" for text in said]


WARMED_UP = (
    'incast: {block: "${block}", iterations: 10}',
    'incast: {block: "${block}", iterations: 10, warmup: 1}\n  probe: 10 ms',
)


@pytest.mark.parametrize(
    ("procedure", "metric", "said"),
    [
        ("{}", "server.send_mbps in cool-down", 'the study has no phase "cool-down"'),
        ("{idle: 1 s}", "server.send_mbps in stop", 'the study has no phase "stop"'),
        ("{}", "server.send_mbps in warm-up",
         "without an idle phase before it, or with a stop after it, counters are not read at both "
         "edges of this phase; ask for a percentile of samples, such as _p50"),
        ("{idle: 1 s, stop: true}", "server.send_mbps in warm-up",
         "without an idle phase before it, or with a stop after it, counters are not read at both "
         "edges of this phase; ask for a percentile of samples, such as _p50"),
        ("{idle: 1 s}", "server.send_mbps in idle",
         "counters are not read at both edges of this phase; ask for a percentile of samples, such "
         "as _p50"),
        ("{}", "switch@client.port_queue_bytes",
         "the mean of a state needs samples, and no instrument takes them; write instruments: "
         "[{ports: switch, every: 1 s}]"),
        ("{idle: 1 s}", "server.goodput_mbps in warm-up",
         "goodput is counted only in the measuring phase"),
    ],
)  # fmt: skip
def test_a_metric_of_a_phase_in_which_nothing_is_read(
    procedure: str, metric: str, said: str, refusal: Refusal
) -> None:
    figure = f"figures: [{{x: servers, y: {metric}}}]"
    told = refusal(with_top(f"procedure: {procedure}\n{figure}"), WARMED_UP)
    assert told == [f'study.yaml:4:27: figures.0.y: "{metric}": {said}']


@pytest.mark.parametrize(
    ("procedure", "metric"),
    [
        ("{idle: 1 s}", "server.send_mbps in warm-up"),
        ("{}", "server.send_mbps_p50 in warm-up"),
        ("{cooldown: 1 s}", "server.send_mbps in cool-down"),
    ],
)
def test_a_metric_of_a_phase_in_which_something_is_read(
    procedure: str, metric: str, small: Callable[..., Study]
) -> None:
    figure = f"figures: [{{x: servers, y: {metric}}}]"
    sampler = "instruments: [{sar: server, every: 100 ms}]"
    assert small(with_top(f"procedure: {procedure}\n{figure}\n{sampler}"), WARMED_UP)


def test_rows_of_a_table_that_no_case_has_together(refusal: Refusal) -> None:
    """Each is a factor of some case, and no cell has levels of both."""
    factors = "factors:\n  switch: [generic-shallow, generic-deep]\n"
    cases = """\
tables: [{rows: [switch, servers], columns: goodput_mbps}]
cases:
  one: {factors: {switch: [generic-shallow, generic-deep]}, fixed: {servers: 1, mtu: 1500}}
  two: {factors: {servers: [1, 2], mtu: [1500, 9000]}, fixed: {switch: generic-deep}}
"""
    levels = "  configuration:\n    - {name: 1 MB, block: 1 MB, mtu: 9000}\n  servers: 1..3\n"
    found = refusal((factors + levels, cases), ('"${block}"', "1 MB"))
    assert found == [
        "study.yaml:3:17: tables.0.rows: no case has all of switch and servers; the table would "
        "be empty"
    ]


def test_a_bare_exclamation_mark_is_a_tag_of_yaml(refusal: Refusal) -> None:
    assert refusal(with_top("holes:\n- servers: !3")) == [
        'study.yaml:4:12: holes.0.servers: bare, !3 is a YAML tag; write "!3" in quotes'
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  link: {", "  links: [{between: [client]}]\n  link: {",
         "12:21: topology.links.0.between: must name two ends, such as [client, switch]"),
        ("  link: {", "  links: [{between: [client, serve]}]\n  link: {",
         "13:9: topology.link: is short for the same link to every host; keep either link or "
         "links"),
        ("  link: {rate: 10 Gbit/s, delay: 1 us, mtu: \"${mtu}\"}",
         "  links: [{between: [client, serve]}]",
         '12:30: topology.links.0.between.1: no host "serve"; did you mean "server"?'),
        ("  client: {", "  hosts: {client: host-10g}\n  client: {",
         "11:11: topology.client: is in hosts too; keep one of them"),
        ('  switch: "${switch}"\n', "",
         "11:9: topology.link: joins every host to the switch, but there is no switch"),
        ("  link: {", "  placement: {a: {sender: client.zone1, receiver: serve}}\n  link: {",
         '12:27: topology.placement.a.sender: host client has no zone "zone1"'),
    ],
)  # fmt: skip
def test_a_test_bed_that_does_not_hold_together(
    old: str, new: str, said: str, refusal: Refusal
) -> None:
    assert refusal((old, new))[0] == f"study.yaml:{said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: the file is empty"),
        ("# nothing yet\n", "1:1: the file is empty"),
        ("- a list\n", "1:1: the file must be a map of keys, such as `study: incast`"),
        ("words\n", "1:1: the file must be a map of keys, such as `study: incast`"),
        ("study: [a, b\n", "2:1: not YAML: while parsing a flow sequence, expected ',' or ']', "
                           "but got '<stream end>'; a bracket is not closed"),
        ("study: a: b\n", "1:9: not YAML: mapping values are not allowed here; a value with "
                          '": " in it must be in quotes'),
        ("study: 'a\n", "2:1: not YAML: while scanning a quoted scalar, found unexpected end of "
                        "stream"),
        ("\tstudy: a\n", "1:1: not YAML: while scanning for the next token, found character "
                         "'\\t' that cannot start any token; lines are indented by spaces, not "
                         "by tabs"),
        ("study: a\n---\nstudy: b\n", "2:1: not YAML: expected a single document in the stream, "
                                      "but found another document"),
        ("study: *a\n", "1:8: not YAML: found undefined alias 'a'"),
        ("study: &a [*a]\n", "1:8: study.0: aliases make the file endless"),
        ("study: \"\x07\"\n", "1:9: the character U+0007 is not allowed in YAML"),
        ("study: \"\ufffe\"\n", "1:9: the character U+FFFE is not allowed in YAML"),
        ('study: "a\\x01"\n', "1:8: study: the character U+0001 is not allowed, not even as an "
                              "escape"),
        ('study: "\\e[31m"\n', "1:8: study: the character U+001B is not allowed, not even as an "
                               "escape"),
        ('study: "\\x7F"\n', "1:8: study: the character U+007F is not allowed, not even as an "
                             "escape"),
        ('study: a\nx: ["\\uFFFE"]\n', "2:5: x.0: the character U+FFFE is not allowed, not even "
                                      "as an escape"),
        ('study: "\\ud800"\n', "1:8: study: the character U+D800 is not allowed, not even as an "
                               "escape"),
        ('"a\\0": b\n', "1:1: the character U+0000 is not allowed, not even as an escape"),
        ("? [a]\n: b\n", "1:3: a key must be text"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_yaml(text: str, said: str, refusal: Refusal) -> None:
    assert refusal(text=text) == [f"study.yaml:{said}"]


def test_aliases_of_aliases_do_not_fill_the_memory(refusal: Refusal) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    assert refusal(text=bomb)[0].endswith("aliases make the file endless")


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_bytes(b"study: a\nquestion: caf\xe9\n")
    with pytest.raises(StudyError) as caught:
        load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/study.yaml:2:14: byte 0xE9 is not UTF-8; save the file as UTF-8"
    )


def test_a_byte_order_mark_is_no_mistake(small: Callable[..., Study], tmp_path: Path) -> None:
    small()
    file = tmp_path / "study.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load(tmp_path).study == "small"


def test_a_missing_file_and_a_folder_without_a_study(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=rf"^{tmp_path}/none.yaml: no such file$"):
        load(tmp_path / "none.yaml")
    with pytest.raises(StudyError, match=rf"^{tmp_path}: the folder has no study.yaml$"):
        load(tmp_path)


def test_several_mistakes_are_told_at_once_in_the_order_of_the_file(refusal: Refusal) -> None:
    changes = (("delay: 1 us", "delai: 1 us"), ("10 Gbit/s", "10 Gbps"), ("study: s", "studi: s"))
    assert refusal(*changes) == [
        'study.yaml:1:1: studi: unknown key; did you mean "study"?',
        "study.yaml:1:1: study: the key is missing",
        'study.yaml:12:16: topology.link.rate: "10 Gbps": unknown unit "Gbps"; '
        'did you mean "10 Gbit/s"?',
        'study.yaml:12:25: topology.link.delai: unknown key; did you mean "delay"?',
    ]


def test_after_ten_mistakes_the_others_are_counted(refusal: Refusal) -> None:
    found = refusal(text="".join(f"key{n}: 1\n" for n in range(15)))
    assert len(found) == 11
    assert found[-1] == "and 9 more problems"  # 15 unknown keys and 4 that are missing


@pytest.mark.parametrize(
    "asked",
    [
        "compare: {factor: servers, base: 2, on: [goodput_mbps]}\n",
        "conclude: [{compare: servers, base: 2, on: [goodput_mbps]}]\n",
        "conclude: [{compare: servers, on: [goodput_mbps]}]\n",  # the first level is the base
    ],
)
def test_a_comparison_and_a_table_with_two_bases_of_a_metric_are_refused(
    asked: str, refusal: Refusal
) -> None:
    table = (
        "tables: [{rows: servers, columns: goodput_mbps, "
        "normalise: {goodput_mbps: {row: {servers: 3}}}}]\n"
    )
    (found,) = refusal(("question: ", f"{table}{asked}question: "))
    assert found.endswith(
        "a table takes goodput_mbps at servers 3 as 100 %; one metric has one base: give base: 3"
    )


def test_a_plan_of_more_than_a_million_runs_is_refused(refusal: Refusal) -> None:
    changes = (("servers: 1..3", "servers: 1..10000\n  more: 1..51"),)
    assert refusal(*changes) == [
        "study.yaml:3:1: factors: the plan would have 1,020,000 runs; "
        "netstudy plans 1,000,000 at most"
    ]


@pytest.mark.parametrize(
    ("required", "said"),
    [
        ("completion_ms_mean",
         '2:11: require.0: "completion_ms_mean" is not a condition, such as '
         "response_ms_mean < 1000"),
        ("completoin_ms_mean < 1",
         '2:11: require.0: "completoin_ms_mean" is an unknown metric; '
         'did you mean "completion_ms"?'),
        ("{that: drops_per_iteration < 1, at: {servers: 9}}",
         '2:57: require.0.at.servers: factor servers has no level "9"; it has 1, 2, 3'),
        ("{that: drops_per_iteration < 1, at: {server: 1}}",
         '2:48: require.0.at.server: no factor "server"; did you mean "servers"?'),
        ("p99 < 100 ms",
         '2:11: require.0: "p99" is a statistic; write it at the end of a metric, as in '
         'completion_ms_p99'),
        ("completion_ms_p99 < 5 kB", '2:11: require.0: "5 kB": completion_ms_p99 is in ms'),
        ("completion_ms_p99 < 5 parsecs",
         '2:11: require.0: "5 parsecs": completion_ms_p99 is in ms'),
        ("drops_per_iteration < 1 ms",
         '2:11: require.0: "1 ms": drops_per_iteration has no unit; write only 1'),
        ("servr.cpu_pct < 1",
         '2:11: require.0: "servr.cpu_pct": no host "servr"; did you mean "server"?'),
    ],
)  # fmt: skip
def test_a_requirement_that_cannot_be_held(required: str, said: str, refusal: Refusal) -> None:
    change = ("question: ", f"require: [{required}]\nquestion: ")
    assert refusal(change) == [f"study.yaml:{said}"]


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("completoin_ms_mean < 1",
         '2:9: expect: "completoin_ms_mean" is an unknown metric; did you mean "completion_ms"?'),
        ("{}", "2:9: expect: needs one of: that, lower, higher, same"),
        ("{lower: completion_ms, higher: completion_ms}",
         "2:9: expect: needs one of: that, lower, higher, same"),
        ("{lower: completion_ms, with: {servers: 1}}",
         "2:9: expect: needs than, the levels on the second side"),
        ("{lower: completion_ms, with: {servers: 1}, than: {server: 2}}",
         "2:58: expect.than: must name the same factors as with"),
        ("{same: completion_ms, with: {servers: 1}, than: {servers: 1}}",
         "2:57: expect.than: has the same levels as with; the two sides must differ"),
        ("{lower: completion_ms, with: {servers: 1}, than: {servers: 9}}",
         '2:68: expect.than.servers: factor servers has no level "9"; it has 1, 2, 3'),
        ("{lower: completion_ms, with: {servers: 1}, than: {servers: 2}, at: {servers: 3}}",
         "2:76: expect.at: gives a level of servers, and so do with and than; keep one"),
        ("{that: completion_ms < 1, with: {servers: 1}}",
         "2:41: expect.with: is only for lower, higher and same"),
    ],
)  # fmt: skip
def test_an_expectation_that_cannot_be_held(expected: str, said: str, refusal: Refusal) -> None:
    change = ("question: ", f"expect: {expected}\nquestion: ")
    assert refusal(change) == [f"study.yaml:{said}"]


@pytest.mark.parametrize(
    ("agreed", "said"),
    [
        ("goodput: near", '2:22: agreement.goodput: "near" is not a band; write 10 %, 0.5, or '
         "10 % or 0.5"),
        ("godput: 10 %", '2:13: agreement.godput: "godput" is an unknown metric; '
         'did you mean "goodput_mbps"?'),
    ],
)  # fmt: skip
def test_an_agreement_that_cannot_be_held(agreed: str, said: str, refusal: Refusal) -> None:
    change = ("question: ", f"agreement: {{{agreed}}}\nquestion: ")
    assert refusal(change) == [f"study.yaml:{said}"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("completion_ms_p99 < 100 ms", "completion_ms_p99 < 100"),
        ("completion_ms_p99<0.1 s", "completion_ms_p99 < 100"),
        ("completion_ms_mean >= 50us", "completion_ms_mean >= 0.05"),
        ("goodput_mbps > 9.5 Gbit/s", "goodput_mbps > 9500"),
        ("timeout_iterations_pct < 2.5 %", "timeout_iterations_pct < 2.5"),
        ("completion_ms_p99 < 100", "completion_ms_p99 < 100"),
    ],
)
def test_a_condition_may_have_a_unit(written: str, read: str, write: Write) -> None:
    study = load(write(("question: ", f"require: [{written}]\nquestion: ")))
    found = [f"{one.that.metric} {one.that.sign} {one.that.value:g}" for one in study.require]
    assert found == [read]


def test_the_name_of_a_factor_means_its_level_though_a_field_has_that_name(
    small: Callable[..., Study], refusal: Refusal
) -> None:
    two = (
        "    - {name: 1 MB, block: 1 MB, mtu: 9000}",
        "    - {name: 1 MB, block: 1 MB, mtu: 9000, servers: 8}\n"
        "    - {name: 2 MB, block: 2 MB, mtu: 9000, servers: 9}",
    )
    assert refusal(two) == [
        "study.yaml:6:44: factors.configuration.0.servers: nothing uses this field; write "
        "${configuration.servers} where it belongs, or leave the field out"
    ]
    both = small(two, ("iterations: 10", 'iterations: "${configuration.servers}"'))
    runs = make_plan(both, seed=1).plan.runs
    assert {(len(run.workload.roles.server), run.count("measure")) for run in runs} == {
        (servers, iterations) for servers in (1, 2, 3) for iterations in (8, 9)
    }


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ("{a: ", "}")])
@pytest.mark.parametrize("depth", [60, 500, 20_000])
def test_deep_nesting_is_refused(opened: str, closed: str, depth: int, refusal: Refusal) -> None:
    (said,) = refusal(("1..3", opened * depth + "1" + closed * depth))
    assert "lists and maps are nested more than 50 levels deep" in said


def test_a_name_that_no_folder_can_have_is_refused(refusal: Refusal) -> None:
    assert refusal(("study: small", f"study: {'a' * 300}")) == [
        'study.yaml:1:8: study: "aaaaaaaaaaaaaaaaaaaa…" has 300 characters; a name has 100 at most'
    ]


@pytest.mark.parametrize("endless", ["/dev/zero", "/dev/urandom"])
def test_a_file_without_an_end_is_refused(endless: str) -> None:
    with pytest.raises(StudyError, match=f"{endless}: is larger than 10 MB, so it is not read"):
        load(Path(endless))


@pytest.mark.parametrize("long", ["x" * 100_000, "a b " * 20_000, 'a\\"b ' * 10_000])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("study: small", 'study: "{}"'),
        ("generic-deep", '"{}"'),
        ("10 Gbit/s", '"{}"'),
        ("1..3", '"{}"'),
        ("1..3", '["{}", "{}"]'),
        ("question: ", '"{}": 1\nquestion: '),
        ("question: ", 'compare: {{factor: "{}"}}\nquestion: '),
        ("question: ", 'require: ["{}"]\nquestion: '),
        ("question: ", 'figures: ["{}"]\nquestion: '),
        ("question: ", 'conclude: ["{}"]\nquestion: '),
        ("question: ", 'agreement: {{"{}": 1 %}}\nquestion: '),
    ],
)
def test_a_wrong_value_is_not_repeated_whole(
    long: str, old: str, new: str, refusal: Refusal
) -> None:
    said = refusal((old, new.format(long, long)))
    assert said
    assert max(map(len, said)) < 2_200


def test_a_path_is_repeated_whole() -> None:
    """One that is cut cannot be copied."""
    path = "/home" + "/folder" * 30
    assert str(StudyError(f"{path} is not finished")) == f"{path} is not finished"


def test_a_long_value_shows_how_it_begins() -> None:
    assert str(StudyError(f'must be text, not "{"ab" * 100}"')) == (
        f'must be text, not "{"ab" * 30}…"'
    )
    assert str(StudyError(f"no such key: {'ab' * 100}; known: servers")) == (
        f"no such key: {'ab' * 30}…; known: servers"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('count: "${servers}"', "count: ${servers}",
         'study.yaml:11:38: ${servers} must be in quotes between braces or brackets; write '
         '"${servers}"'),
        ('block: "${block}", iter', "block: ${block}, iter",
         'study.yaml:14:19: ${block} must be in quotes between braces or brackets; write '
         '"${block}"'),
        ("[generic-shallow, generic-deep]", "[generic-shallow, ${x ]",
         'study.yaml:4:29: ${x} must be in quotes between braces or brackets; write "${x}"'),
    ],
)  # fmt: skip
def test_a_reference_without_quotes_is_told_of_the_quotes(
    refusal: Refusal, old: str, new: str, said: str
) -> None:
    assert refusal((old, new)) == [said]


@pytest.mark.parametrize(
    ("old", "key", "told"),
    [
        ("10 Gbit/s", "queue", "port_buffer of the switch"),
        ("10 Gbit/s", "qdisc", "queue: fq-codel"),
        ("10 Gbit/s", "rtt", "twice the sum of delay"),
        ("10 Gbit/s", "bandwidth", "such as 10 Gbit/s"),
        ("iterations: 10", "window", "send_buffer and receive_buffer of tcp"),
        ("iterations: 10", "duration", "procedure.measure"),
        ("iterations: 10", "parallel", "flows of a transfer"),
        ("iterations: 10", "udp", "no UDP in this version"),
    ],
)
def test_words_of_other_tools_name_what_does_it_here(
    refusal: Refusal, old: str, key: str, told: str
) -> None:
    (said,) = refusal((old, f"{old}, {key}: 3"))
    assert f".{key}: unknown key; " in said
    assert told in said
    assert "did you mean" not in said


def test_a_protocol_that_is_not_there_is_told_so(refusal: Refusal) -> None:
    (said,) = refusal(('incast: {block: "${block}", iterations: 10}', "transfer: {protocol: udp}"))
    assert said.endswith(
        '"udp" is not a protocol; known: tcp, ftp; there is no UDP in this version: all traffic is '
        "TCP"
    )


def test_two_workloads_are_told_of_the_probe(refusal: Refusal) -> None:
    (said,) = refusal(("iterations: 10}", "iterations: 10}\n  request: {requests: 5}"))
    assert "it has incast and request; to measure latency under a load, add a probe" in said
    (said,) = refusal(('incast: {block: "${block}", iterations: 10}', "{}"))
    assert said.endswith("it has none")


class TestListsOfWhatIsKnownAreOfThisStudy:
    """A list of every workload's metrics sends its reader to those that the study lacks."""

    TRANSFER = ('incast: {block: "${block}", iterations: 10}', "transfer: {size: 1 MB}")

    @pytest.mark.parametrize(
        "part",
        [
            "require: [foo < 3]",
            "agreement: {foo: 3 %}",
            "compare: {factor: servers, base: 1, on: foo}",
        ],
    )
    def test_metrics(self, refusal: Refusal, part: str) -> None:
        (said,) = refusal(self.TRANSFER, ("question: ", f"{part}\nquestion: "))
        assert "known: goodput_mbps, goodput_get_mbps, goodput_put_mbps, transfer_s, " in said
        assert said.endswith("timeouts_per_run")
        assert "completion_ms" not in said

    def test_metrics_of_what_is_measured_beside_it(self, refusal: Refusal) -> None:
        probed = (self.TRANSFER[0], f"{self.TRANSFER[1]}\n  probe: 10 ms")
        sampled = "instruments: [{tcp: server, every: 100 ms}]"
        (said,) = refusal(probed, ("question: ", f"require: [foo < 3]\n{sampled}\nquestion: "))
        assert "probe_idle_us" in said
        assert said.endswith("srtt_us, min_rtt_us")

    def test_figures(self, refusal: Refusal) -> None:
        (said,) = refusal(self.TRANSFER, ("question: ", "figures: [foo]\nquestion: "))
        assert '"foo" is not a figure; known: goodput, ' in said
        assert "completion" not in said

    def test_samples(self, refusal: Refusal) -> None:
        (said,) = refusal(
            self.TRANSFER, ("question: ", "figures: [{kind: ecdf, y: goodput_mbps}]\nquestion: ")
        )
        assert "shows the samples of transfer_s and first_byte_ms, not goodput_mbps" in said

    def test_without_a_known_workload_all_are_listed(self, refusal: Refusal) -> None:
        said = refusal(("incast:", "incst:"), ("question: ", "require: [foo < 3]\nquestion: "))
        assert any("known: completion_ms" in one for one in said)


def test_a_folder_without_a_study_names_the_studies_below(tmp_path: Path) -> None:
    for name in ("b/deep", "a", "x/y/too-deep"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "study.yaml").touch()
    with pytest.raises(StudyError) as caught:
        load(tmp_path)
    there = f"there are studies in {tmp_path}/a, {tmp_path}/b/deep"
    assert str(caught.value) == f"{tmp_path}: the folder has no study.yaml; {there}"
