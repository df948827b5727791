"""Workloads on the wire with their phases, probes and samplers; and what does not go together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy import wire
from netstudy.errors import StudyError
from netstudy.plan import make_plan, unsupported
from netstudy.study import Study

Small = Callable[..., Study]
Refusal = Callable[..., list[str]]

TEXT = """\
study: phases
question: When?
factors: {{size: [1 MB]}}
topology:
  switch: generic-shallow
  client: {{profile: host-1g, count: 2}}
  server: {{profile: host-1g}}
  link: {{rate: 1 Gbit/s}}
workload:
{workload}
{rest}
"""


def study_of(workload: str, rest: str = "") -> str:
    indented = "\n".join(f"  {line}" for line in workload.splitlines())
    return TEXT.format(workload=indented, rest=rest)


def run_of(study: Study) -> wire.Run:
    return make_plan(study).plan.runs[0]


def phases_of(run: wire.Run) -> list[str]:
    return [
        f"{phase.kind} {getattr(phase.until, 'count', None) or getattr(phase.until, 'ns', '')}"
        for phase in run.phases
    ]


def test_a_transfer_on_the_wire(small: Small) -> None:
    workload = (
        "transfer: {size: 1 MB, direction: both, flows: 3, repeats: 5, warmup: 2, pause: 1 ms}"
    )
    run = run_of(small(text=study_of(workload)))
    assert run.workload == wire.Transfer(
        roles=wire.Roles(client=("client-1", "client-2"), server=("server",)),
        direction="both",
        size_bytes=1_000_000,
        flows=3,
        pause_ns=1_000_000,
    )
    assert list(run.workload.roles.pairs) == [("client-1", "server"), ("client-2", "server")]
    assert phases_of(run) == ["warm-up 2", "measure 5"]


def test_one_transfer_is_measured_unless_the_study_says_otherwise(small: Small) -> None:
    run = run_of(small(text=study_of('transfer: {size: "${size}"}')))
    assert phases_of(run) == ["measure 1"]


def test_a_transfer_without_a_size_goes_on_for_a_time(small: Small) -> None:
    rest = "procedure: {warmup: 2 s, measure: 10 s, cooldown: 1 s}"
    run = run_of(small(text=study_of("transfer: {direction: put}", rest)))
    assert isinstance(run.workload, wire.Transfer)
    assert run.workload.size_bytes is None
    assert phases_of(run) == ["warm-up 2000000000", "measure 10000000000", "cool-down 1000000000"]


def test_requests_on_the_wire(small: Small) -> None:
    workload = (
        "request: {request: 100 B, response: 16 kB, connections: 2, outstanding: 4, "
        "think: 1 ms, requests: 500, warmup: 50}"
    )
    run = run_of(small(text=study_of(workload)))
    assert run.workload == wire.Request(
        roles=wire.Roles(client=("client-1", "client-2"), server=("server",)),
        request_bytes=100,
        response_bytes=16_000,
        connections=2,
        outstanding=4,
        think_ns=1_000_000,
    )
    assert phases_of(run) == ["warm-up 50", "measure 500"]


def test_an_open_loop_on_the_wire(small: Small) -> None:
    workload = "request: {every: 10 ms}"
    run = run_of(small(text=study_of(workload, "procedure: {measure: 5 s}")))
    assert isinstance(run.workload, wire.Request)
    assert run.workload.every_ns == 10_000_000
    assert phases_of(run) == ["measure 5000000000"]


def test_an_incast_counts_its_iterations(small: Small) -> None:
    run = run_of(small(("iterations: 10", "iterations: 10, warmup: 3")))
    assert phases_of(run) == ["warm-up 3", "measure 10"]


def test_phases_come_in_the_order_of_the_procedure(small: Small) -> None:
    rest = "procedure: {cooldown: 1 s, measure: 4 s, stop: true, warmup: 2 s, idle: 3 s}"
    run = run_of(small(text=study_of("transfer: {}\nprobe: 10 ms", rest)))
    assert [phase.kind for phase in run.phases] == [
        "idle", "warm-up", "stop", "measure", "cool-down",
    ]  # fmt: skip


def test_phases_may_be_factors(small: Small) -> None:
    rest = 'procedure: {measure: "${time}"}'
    text = study_of("transfer: {}", rest).replace("size: [1 MB]", "time: [1 s, 2 s]")
    runs = make_plan(small(text=text)).plan.runs
    assert {run.treatment["time"]: phases_of(run) for run in runs} == {
        "1 s": ["measure 1000000000"],
        "2 s": ["measure 2000000000"],
    }


@pytest.mark.parametrize("text", ["10 ms", "{every: 10 ms}", "{every: 10 ms, request: 64 B}"])
def test_a_probe_stands_beside_any_workload(text: str, small: Small) -> None:
    run = run_of(small(text=study_of(f"transfer: {{size: 1 MB}}\nprobe: {text}")))
    assert run.probe == wire.Probe(every_ns=10_000_000)
    incast = small(("workload:\n", f"workload:\n  probe: {text}\n"))
    assert run_of(incast).probe == wire.Probe(every_ns=10_000_000)


def test_samplers_are_those_of_each_host_and_of_the_ports_they_name(small: Small) -> None:
    rest = (
        "instruments:\n"
        "  - {sar: client, every: 1 s}\n"
        "  - {tcp: server}\n"
        "  - {ports: switch}\n"
        "  - {ports: switch, port: client, every: 10 ms}\n"
        "  - {netstat: client}\n"
    )
    run = run_of(small(text=study_of("transfer: {size: 1 MB}", rest)))
    assert run.instruments == (
        wire.Instrument(kind="host", node="client-1", every_ns=10**9),
        wire.Instrument(kind="host", node="client-2", every_ns=10**9),
        wire.Instrument(kind="tcp", node="server", every_ns=10**8),
        wire.Instrument(kind="ports", node="switch", every_ns=10**9),
        wire.Instrument(kind="ports", node="switch", port="client-1", every_ns=10**7),
        wire.Instrument(kind="ports", node="switch", port="client-2", every_ns=10**7),
    )


def polled(rest: str, hosts: str = "monitor: {profile: host-1g}") -> str:
    """A study whose switch is polled from a host beside client and server."""
    return study_of("transfer: {size: 1 MB}", f"instruments: [{{snmp: switch, {rest}}}]").replace(
        "  switch: generic-shallow",
        f"  hosts: {{{hosts}}}\n  switch: {{profile: generic-shallow, snmp: true}}",
    )


def test_a_switch_is_polled_at_the_ports_towards_a_group(small: Small) -> None:
    text = polled("port: client, every: 500 ms, from: monitor, community: {env: WORD}")
    study = small(text=text)
    assert unsupported(study, "sim") == []
    instruments = run_of(study).instruments
    assert {(one.kind, one.node, one.port, one.from_, one.every_ns) for one in instruments} == {
        ("snmp", "switch", "client-1", "monitor", 500_000_000),
        ("snmp", "switch", "client-2", "monitor", 500_000_000),
    }
    access = instruments[0].access
    assert access is not None
    assert access.community == wire.SecretSource(env="WORD")


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("port: server, from: client", "client is 2 hosts; polls come from a single host"),
        ("port: server, from: server",
         "server has a part in the workload; polls come from an idle host"),
        ("port: server, from: nobody", 'no host "nobody"'),
        ("port: server, from: monitor, community: {}", "needs exactly one place: {env: VARIABLE}"),
        ("port: server, from: monitor, community: {file: here}",
         "must be an absolute path, such as /run/secrets/community"),
        ("port: server, from: monitor, user: reader",
         "needs a password, because only signed messages of SNMPv3 are supported"),
        ("port: server, from: monitor, password: {env: A}", "is a setting of SNMPv3; name its "
                                                            "user"),
        ("port: server, from: monitor, user: reader, password: {env: A}, privacy: AES",
         "privacy and privacy password need each other"),
        ("port: server, from: monitor, user: reader, password: {env: A}, community: {env: B}",
         "keep one of them"),
    ],
)  # fmt: skip
def test_a_poll_that_cannot_be_made_is_refused(small: Small, rest: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        make_plan(small(text=polled(rest)))
    assert said in str(caught.value)


INCAST = "incast: {block: 1 MB, iterations: 10}"


@pytest.mark.parametrize(
    ("workload", "rest", "said"),
    [
        (INCAST, "procedure: {load: true}",
         "11:13: procedure.load: is a phase of an application; the workload incast has none"),
        ("transfer: {size: 1 MB}", "procedure: {gather statistics: true}",
         "11:13: procedure.gather statistics: is a phase of an application; the workload transfer "
         "has none"),
        (INCAST, "procedure: {warmup: 1 s}",
         "11:13: procedure.warmup: the workload incast has no time limit; write "
         "workload.incast.warmup instead"),
        (INCAST, "procedure: {measure: 1 s}",
         "11:13: procedure.measure: the workload incast has no time limit; write "
         "workload.incast.iterations instead"),
        (INCAST, "procedure: {idle: 1 s}",
         "11:13: procedure.idle: only the probe runs in this phase; add workload.probe, such as "
         "probe: 10 ms"),
        (INCAST, "procedure: {stop: true}",
         "11:13: procedure.stop: stops the warm-up, but there is no warm-up"),
        ("transfer: {size: 1 MB, warmup: 2}", "procedure: {warmup: 1 s, measure: 1 s}",
         "11:13: procedure.warmup: is a time, but workload.transfer.warmup is a count; keep one "
         "of the two"),
        ("transfer: {pause: 5 ms}", "procedure: {measure: 1 s}",
         "10:21: workload.transfer.pause: is between two transfers, but a transfer without a size "
         "has no end"),
        ("transfer: {size: 1 MB, repeats: 2}", "procedure: {measure: 1 s}",
         "11:13: procedure.measure: is a time, but workload.transfer.repeats is a count; keep one "
         "of the two"),
        ("transfer: {}", "",
         "10:3: workload.transfer: needs a size, or procedure.measure, which says how long it goes "
         "on"),
        ("transfer: {warmup: 3}", "procedure: {measure: 1 s}",
         "10:22: workload.transfer.warmup: counts transfers, but a transfer without a size has no "
         "end; "
         "write procedure.warmup"),
        ("transfer: {size: 0 B}", "",
         '10:20: workload.transfer.size: must be at least 1 B, not 0 B'),
        ("transfer: {size: 1 MB, direction: up}", "",
         '10:37: workload.transfer.direction: "up" is not a direction; known: get, put, both'),
        ("transfer: {size: 1 MB, clients: 4}", "",
         '10:35: workload.transfer.clients: "4" is not a place; write host, host.zone or '
         "host@interface"),
        ("transfer: {size: 1 MB, clients: klient}", "",
         '10:35: workload.transfer.clients: no host "klient"; did you mean "client"?'),
        ("transfer: {size: 1 MB, clients: server}", "",
         "10:13: workload.transfer.servers: is also the client; the two must be different places"),
        ("request: {}", "",
         "10:3: workload.request: needs requests (their number) or procedure.measure (how long "
         "they are measured)"),
        ("request: {requests: 5, every: 1 ms, think: 1 ms}", "",
         "10:46: workload.request.think: is for a closed loop; with every, requests do not wait "
         "for responses"),
        ("request: {requests: 5, every: 0 ms}", "",
         '10:33: workload.request.every: must be at least 1 ns, not 0 ms'),
        (f"{INCAST}\nprobe: 10", "",
         "11:10: workload.probe: must be a time such as 10 ms or a map, not 10"),
        (f"{INCAST}\nprobe: 10 kB", "",
         '11:10: workload.probe: "10 kB" is a size, not a duration; a duration is in ns, us, '
         "ms, s, min or h"),
        (f"{INCAST}\ntransfer: {{size: 1 MB}}", "",
         "10:3: workload: needs exactly one of incast, transfer, request and transactions; it has "
         "incast and transfer; to measure latency under a load, add a probe to it: probe: 10 ms"),
        ("probe: 10 ms", "",
         "10:3: workload: needs exactly one of incast, transfer, request and transactions; it has "
         "none"),
        (INCAST, "instruments: [{ports: swich}]",
         '11:23: instruments.0.ports: no switch "swich"; did you mean "switch"?'),
        (INCAST, "instruments: [{tcp: servr}]",
         '11:21: instruments.0.tcp: no host "servr"; did you mean "server"?'),
        (INCAST, "instruments: [{tcp: server, every: 0 s}]",
         '11:36: instruments.0.every: must be at least 1 ns, not 0 s'),
        ("transfer: {size: 1 MB}", "procedure: {measure: 25 h}",
         "11:22: procedure.measure: must be at most 24 h, not 25 h"),
        ("transfer: {size: 1 MB, pause: 2 h}", "",
         "10:33: workload.transfer.pause: must be at most 1 h, not 2 h"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_with_its_place(
    workload: str, rest: str, said: str, refusal: Refusal
) -> None:
    assert f"study.yaml:{said}" in refusal(text=study_of(workload, rest))


def sampled(instrument: str, idle: str = "{}") -> str:
    """A study with a sampler, of a star whose server has a link to idle hosts besides."""
    text = study_of("transfer: {size: 1 MB}", f"instruments: [{instrument}]")
    links = (
        "[{between: [client, switch]}, {between: [server, switch]}, "
        "{between: [idle, server], unused: true}]"
    )
    idle = idle.replace("{", "{unused: true, ", 1)
    server = "  server: {profile: host-1g}"
    text = text.replace("  link: {rate: 1 Gbit/s}", f"  links: {links}")
    return text.replace(server, f"{server}\n  hosts: {{idle: {idle}}}")


@pytest.mark.parametrize(
    ("idle", "instrument", "said"),
    [
        ("{}", "{ports: wire-server}",
         '12:23: instruments.0.ports: no switch "wire-server"; known: switch'),
        ("{count: 2}", "{ports: wire-servr}",
         '12:23: instruments.0.ports: no switch "wire-servr"; did you mean "wire-server"?'),
        ("{count: 2}", "{ports: wire-client}",
         '12:23: instruments.0.ports: no switch "wire-client"; known: switch, wire-server'),
        ("{count: 2}", "{ports: zzz}",
         '12:23: instruments.0.ports: no switch "zzz"; known: switch, wire-server'),
        ("{}", "{ports: switch, port: idle}",
         '12:37: instruments.0.port: no host or switch "idle" is linked to switch; known: client, '
         'server'),
        ("{count: 2}", "{ports: wire-server, port: client}",
         '12:42: instruments.0.port: no host or switch "client" is linked to wire-server; known: '
         'idle, '
         "server"),
        ("{}", "{ports: switch, port: clint}",
         '12:37: instruments.0.port: no host or switch "clint" is linked to switch; did you mean '
         '"client"?'),
    ],
)  # fmt: skip
def test_a_sampler_of_what_the_network_has_not_is_refused(
    idle: str, instrument: str, said: str, refusal: Refusal
) -> None:
    assert refusal(text=sampled(instrument, idle)) == [f"study.yaml:{said}"]


def test_a_switch_that_the_plan_puts_in_has_ports_to_sample(small: Small) -> None:
    run = run_of(small(text=sampled("{ports: wire-server, port: idle}", "{count: 2}")))
    ports = [(one.node, one.port) for one in run.instruments]
    assert ports == [("wire-server", "idle-1"), ("wire-server", "idle-2")]


def test_a_switch_that_is_not_in_every_treatment_is_refused_where_it_is_missing(
    small: Small, tmp_path: Path
) -> None:
    text = sampled("{ports: wire-server}", '{count: "${idle}"}')
    text = text.replace("factors: {size: [1 MB]}", "factors: {idle: [2, 1]}")
    with pytest.raises(StudyError) as caught:
        make_plan(small(text=text))
    said = "12:23: instruments.0.ports: no switch wire-server; there is: switch"
    assert str(caught.value) == f"{tmp_path}/study.yaml:{said}"


STREAM = "transfer: {direction: get, flows: 3}"


def starts_of(study: Study, seed: int = 1) -> dict[int, tuple[int, ...]]:
    """Replicate -> the starts of its flows."""
    runs = make_plan(study, seed=seed).plan.runs
    return {run.replicate: _starts(run) for run in runs}


def _starts(run: wire.Run) -> tuple[int, ...]:
    assert isinstance(run.workload, wire.Transfer)
    return run.workload.starts_ns


def test_flows_start_together_unless_the_study_spreads_them(small: Small) -> None:
    rest = "procedure: {warmup: 4 s, measure: 10 s}\nreplicates: 2"
    assert starts_of(small(text=study_of(STREAM, rest))) == {1: (), 2: ()}


def test_spread_starts_lie_in_the_first_half_of_the_warm_up(small: Small) -> None:
    rest = "procedure: {start: spread, warmup: 4 s, measure: 10 s}\nreplicates: 40"
    study = small(text=study_of(STREAM, rest))
    starts = starts_of(study)
    every = sorted(start for own in starts.values() for start in own)
    assert {len(own) for own in starts.values()} == {6}  # two pairs with three flows each
    assert len(set(starts.values())) == 40, "no two replicates start alike"
    assert 0 <= every[0] <= every[-1] < 2_000_000_000
    # Even draws: a quarter of 240 in each quarter of the span, within five standard deviations.
    counts = [sum(one // 500_000_000 == quarter for one in every) for quarter in range(4)]
    assert all(abs(count - 60) < 34 for count in counts), counts
    assert starts_of(study) == starts
    assert starts_of(study, seed=2) != starts


def test_all_treatments_of_a_replicate_start_alike(small: Small) -> None:
    rest = "procedure: {start: spread, warmup: 4 s, measure: 10 s}\nreplicates: 2"
    text = study_of('transfer: {request: "${size}"}', rest).replace("[1 MB]", "[1 kB, 2 kB]")
    runs = make_plan(small(text=text)).plan.runs
    found = {(run.replicate, _starts(run)) for run in runs}
    assert (len(runs), len(found)) == (4, 2)


@pytest.mark.parametrize(
    ("workload", "procedure", "said"),
    [
        (STREAM, "measure: 10 s", "add procedure.warmup"),
        (STREAM, "warmup: 4 s, stop: true, measure: 10 s", "after the stop"),
        ("request: {}", "warmup: 4 s, measure: 10 s", "the workload request sets its own"),
        (
            "transfer: {protocol: ftp, size: 1 MB}",
            "warmup: 4 s, measure: 10 s",
            "all sessions of ftp together",
        ),
    ],
)
def test_starts_that_cannot_be_spread_are_refused_by_name(
    small: Small, workload: str, procedure: str, said: str
) -> None:
    text = study_of(workload, f"procedure: {{start: spread, {procedure}}}")
    with pytest.raises(StudyError, match=said) as caught:
        small(text=text)
    assert "procedure.start" in str(caught.value)
