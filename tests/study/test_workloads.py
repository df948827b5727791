"""Workloads other than incast, procedures and instruments: what a study can say of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netstudy.documents.fields import Ref
from netstudy.errors import StudyError
from netstudy.plan import make_plan, stated
from netstudy.study import Study, load
from netstudy.study.procedure import CounterSnapshot, SarSampler, SnmpPoll
from netstudy.study.workloads.transactions import Mix

ROOT = Path(__file__).parents[2]
Small = Callable[..., Study]
Refusal = Callable[..., list[str]]

TRANSACTIONS = """\
study: load
question: How many users?
factors: {users: [10, 20]}
topology: {hosts: {client: {}, app: {}}}
workload:
  transactions: {application: brokerage, closed: {users: "${users}", think: 1 s}}
procedure: {warmup: 5 min, measure: 7 min}
"""


def test_a_closed_loop_has_users_who_think(small: Small) -> None:
    transactions = small(text=TRANSACTIONS).workload.transactions
    assert transactions is not None
    assert transactions.closed is not None
    assert isinstance(transactions.closed.users, Ref)
    assert transactions.closed.think == 10**9
    assert isinstance(transactions.mix, Mix)
    assert transactions.mix.standard
    assert transactions.population.users == 15_000


def test_a_mix_of_one_s_own_gives_all_the_shares(small: Small) -> None:
    own = "application: brokerage, mix: {home: 20 %, quotes: 79.5 %, register: 0.5 %}"
    transactions = small(("application: brokerage", own), text=TRANSACTIONS).workload.transactions
    assert transactions is not None
    assert isinstance(transactions.mix, Mix)
    assert transactions.mix.shares == {"home": 20.0, "quotes": 79.5, "register": 0.5}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("application: brokrage",
         '6:31: workload.transactions.application: "brokrage" is not known here; write brokerage, '
         "or a program: {start: […], url: URL}"),
        ("application: brokerage, open: {rate: 500}",
         "6:17: workload.transactions: keep only one of: open (a rate), closed (a number of "
         "users)"),
        ("application: brokerage, population: {users: 10}",
         "3:23: factors.users.1: 20 users need at least as many registered users, but "
         "population.users is 10"),
        ("application: brokerage, mix: {home: 20 %, quotes: 70 %}",
         "6:47: workload.transactions.mix: the shares add up to 90 %, not 100 %"),
        ("application: brokerage, dsn: 'postgresql://u:hush@/d?host=/s'",
         "6:47: workload.transactions.dsn: contains a password, which would be copied to the plan "
         "and the records; leave it out and write where it is: password: {env: VARIABLE} or "
         "password: {pgpass: /path}"),
        ("application: brokerage, engine: sqlite, dsn: 'postgresql://u@/d?host=/s'",
         "6:63: workload.transactions.dsn: names a server, but SQLite is a file; keep one of them"),
        ("application: brokerage, password: {env: TRADE}",
         "6:52: workload.transactions.password: is for an existing server; name the server by dsn"),
        ("application: brokerage, mix: {hom: 100 %}",
         '6:48: workload.transactions.mix.hom: unknown key; did you mean "home"?'),
        ("application: brokerage, mix: usual",
         '6:47: workload.transactions.mix: "usual" is not known here; write standard, or shares '
         "such as {home: 20 %, …}"),
    ],
)  # fmt: skip
def test_transactions_that_do_not_hold_together(new: str, said: str, refusal: Refusal) -> None:
    assert refusal(("application: brokerage", new), text=TRANSACTIONS) == [f"study.yaml:{said}"]


def test_transactions_without_a_measuring_phase_are_refused(small: Small) -> None:
    hosts = "{hosts: {client: {}, app: {}}}"
    linked = (
        "{hosts: {client: {profile: host-1g}, app: {profile: host-1g}}, "
        "links: [{between: [client, app]}]}"
    )
    timeless = ("measure: 7 min", "cooldown: 1 s")
    study = small((hosts, linked), timeless, text=TRANSACTIONS)
    with pytest.raises(StudyError) as caught:
        make_plan(study)
    assert str(caught.value).endswith(
        "study.yaml:6:17: workload.transactions: needs procedure.measure: how long it is measured"
    )


def test_phases_are_durations_and_switches(small: Small) -> None:
    procedure = small(("warmup: 5 min", "warmup: 5 min, reset: true"), text=TRANSACTIONS).procedure
    assert (procedure.warmup, procedure.measure) == (300 * 10**9, 420 * 10**9)
    assert (procedure.reset, procedure.stop) == (True, False)


def test_instruments_are_told_apart_by_their_first_word() -> None:
    poll, sampler = load(ROOT / "studies/gigabit").instruments
    assert isinstance(poll, SnmpPoll)
    assert (poll.snmp, poll.port, poll.every, poll.from_) == ("switch", "server", 10**9, "monitor")
    assert isinstance(sampler, SarSampler)
    others = load(ROOT / "studies/ethernet").instruments
    assert any(isinstance(one, CounterSnapshot) for one in others)


def test_the_transfer_study_names_a_place_for_each_path() -> None:
    study = load(ROOT / "studies/zones")
    assert list(study.topology.placement) == list(study.cases[0].factors[0].names)
    receiver = study.topology.placement["server to server"].receiver
    assert str(receiver) == "b.zone1@ce4"


def test_a_path_without_a_place_is_refused(refusal: Refusal) -> None:
    text = (ROOT / "studies/zones/study.yaml").read_text(encoding="utf-8")
    found = refusal(("path: [same interface", "path: [same interfaces"), text=text)
    assert found == [
        'study.yaml:13:10: factors.path.0: no placement "same interfaces"; '
        'did you mean "same interface"?'
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("receiver: a.zone2@ce2", "receiver: a.zone9@ce2",
         'host a has no zone "zone9"; did you mean "zone1"?'),
        ("receiver: a.zone2@ce2", "receiver: a.zone2@ce9",
         'host a has no interface "ce9"; did you mean "ce2"?'),
        ("receiver: a.zone2@ce2", "receiver: c.zone2@ce2", 'no host "c"; known: a, b'),
    ],
)  # fmt: skip
def test_a_place_that_is_not_there(old: str, new: str, said: str, refusal: Refusal) -> None:
    text = (ROOT / "studies/zones/study.yaml").read_text(encoding="utf-8")
    assert [line.split(": ", 2)[2] for line in refusal((old, new), text=text)] == [said]


SERVED = """\
study: served
question: Which database?
factors: {e: [sqlite, postgresql], n: [1]}
topology:
  hosts: {load: {profile: host-1g}, app: {profile: host-1g}, db: {profile: host-1g}}
  switch: generic-shallow
  link: {rate: 1 Gbit/s}
workload:
  transactions: {application: brokerage, clients: load, closed: {users: 3}, engine: "${e}"}
procedure: {measure: 1 s}
"""
FILE = (('engine: "${e}"', "engine: sqlite"), ("e: [sqlite, postgresql], ", ""))
DSN = (", db: {profile: host-1g}}", "}")


def test_the_host_of_a_database_is_that_of_a_server(refusal: Refusal, small: Small) -> None:
    named = ("clients: load", "clients: load, database: db")
    assert refusal(named, *FILE, text=SERVED) == [
        "study.yaml:9:67: workload.transactions.database: is the host of a database server, but "
        "SQLite is a file of the application; leave database out"
    ]
    assert small(named, text=SERVED), "one of the levels has it there"


def test_a_level_that_is_a_file_does_not_go_with_a_server(refusal: Refusal) -> None:
    there = ("clients: load", "clients: load, dsn: 'postgresql://u@/d?host=/s'")
    assert refusal(there, DSN, text=SERVED) == [
        "study.yaml:3:15: factors.e.0: is a file, but dsn names a server; keep one of them"
    ]


@pytest.mark.parametrize(
    ("host", "engine", "on"),
    [("load", (), "app or db"), ("load", FILE, "app"), ("db", FILE, "app")],
)
def test_data_lie_on_the_host_of_the_database(
    host: str, engine: tuple[tuple[str, str], ...], on: str, refusal: Refusal
) -> None:
    (said,) = refusal((f"{host}: {{", f"{host}: {{data: ram, "), *engine, text=SERVED)
    assert said.endswith(
        f"topology.hosts.{host}.data: is only for the host with the database's tables, {on}"
    )


def test_data_lie_at_the_application_or_at_the_server_by_the_engine(small: Small) -> None:
    for host in ("app", "db"):
        assert small((f"{host}: {{", f"{host}: {{data: ram, "), text=SERVED)


def test_one_host_may_be_said_by_a_level(small: Small, refusal: Refusal) -> None:
    counted = ("app: {", 'app: {count: "${n}", ')
    assert small(counted, text=SERVED)
    assert refusal(counted, ("n: [1]", "n: [1, 2]"), text=SERVED) == [
        "study.yaml:3:43: factors.n.1: must be 1: this host is the server of the transactions"
    ]


def stated_of(study: Study) -> list[str]:
    """The parts that the simulator does not model."""
    end = " is not modelled by the simulator and changes no result there."
    return [one.removeprefix("The ").removesuffix(end) for one in stated(study)]


def test_what_the_simulator_does_not_model_of_transactions_is_said(small: Small) -> None:
    said = "population: {users: 70}, variants: {quick: {threads: 9}}, variant: quik"
    study = small(
        ("clients: load", f"clients: load, {said}"),
        ("db: {", "db: {disk: {rate: 1 Mbit/s}, "),
        text=SERVED,
    )
    assert stated_of(study) == [
        "disk of host db",
        "users of the population",
        "variant quik, which is not one of quick,",
    ]
    there = ("clients: load", "clients: load, dsn: 'postgresql://u@/d?host=/s'")
    study = small(there, DSN, ("sqlite, ", ""), text=SERVED)
    assert stated_of(study) == ["dsn of transactions"]


def test_what_the_simulator_does_not_model_of_a_program_is_said(small: Small) -> None:
    program = "application: {start: [server], url: http://app:8080/a}, model: brokerage"
    mix = "mix: {read: {share: 40 %, get: /b}, send: {share: 60 %, post: /c, body: a=1}}"
    study = small(
        ("application: brokerage", f"{program}, {mix}"), *FILE, (", engine: sqlite", ""),
        text=SERVED,
    )  # fmt: skip
    assert stated_of(study) == [
        "start of the application",
        "url of the application",
        "get of the operation read",
        "body of the operation send",
        "post of the operation send",
    ]


def test_a_rate_that_no_run_lives_to_see_is_refused(small: Small) -> None:
    study = small(("closed: {users: 3}", "open: {rate: 0.000000001}"), text=SERVED)
    with pytest.raises(StudyError) as caught:
        make_plan(study)
    assert str(caught.value).endswith(
        "transactions.open.rate: is a number of submissions a second, at least 0.000001"
    )


def test_a_warm_up_of_no_time_is_none_to_stop(refusal: Refusal) -> None:
    changes = ("warmup: 5 min,", "warmup: 0 s, stop: true,")
    assert refusal(changes, text=TRANSACTIONS) == [
        "study.yaml:7:26: procedure.stop: stops the warm-up, but there is no warm-up"
    ]


POLLED = SERVED.replace(
    "switch: generic-shallow", 'switch: {profile: generic-shallow, snmp: "${s}"}'
)
POLL = "instruments: [{snmp: switch, port: app}]\n"


def test_a_switch_that_is_polled_can_be_at_each_level(refusal: Refusal) -> None:
    text = POLLED.replace("n: [1]", "s: [true, false]") + POLL
    assert refusal(text=text) == [
        "study.yaml:3:46: factors.s.1: instruments.0 polls this switch, so its snmp must be true"
    ]


def test_a_signature_without_a_user_is_refused(refusal: Refusal) -> None:
    signed = POLL.replace("port: app", "port: app, authentication: SHA-256")
    assert refusal(text=POLLED.replace('"${s}"', "true") + signed) == [
        "study.yaml:11:57: instruments.0.authentication: is a setting of SNMPv3; name its user"
    ]


def test_what_an_instrument_reads_no_other_reads(refusal: Refusal) -> None:
    first = "{ports: switch}, {ports: switch, port: app, every: 10 ms}, {sar: app}, {sar: load}"
    text = SERVED + f"instruments: [{first}, {{sar: app, every: 1 s}}, {{tcp: app}}]\n"
    assert refusal(text=text) == [
        "study.yaml:11:105: instruments.4.sar: instruments.2 reads it already; keep one of them"
    ]
