"""What is held fixed says as much as the level of a factor: each check looks at it too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from netstudy.plan import unsupported
from netstudy.study import Study, apply_overrides

Small = Callable[..., Study]
Refusal = Callable[..., list[str]]

LEVELS = "  servers: 1..3\n"
INCAST = 'incast: {block: "${block}", iterations: 10}'


def held(text: str) -> tuple[str, str]:
    """The change that holds something fixed for the whole study."""
    return (LEVELS, f"{LEVELS}fixed: {{{text}}}\n")


@pytest.mark.parametrize(
    ("fixed", "workload", "said"),
    [
        ("p: ftp", 'transfer: {size: 1 MB, protocol: "${p}"}\n  probe: 10 ms',
         "A probe cannot run during FTP transfers; leave out the probe."),
    ],
)  # fmt: skip
def test_a_fixed_value_that_is_not_carried_out_is_named(
    fixed: str, workload: str, said: str, small: Small
) -> None:
    assert unsupported(small(held(fixed), (INCAST, workload)), "sim") == [said]


def test_a_fixed_placement_that_is_not_there_is_refused(refusal: Refusal) -> None:
    said = refusal(
        held("where: nowhere"),
        (INCAST, 'transfer: {size: 1 MB, placement: "${where}"}'),
        ("topology:\n", "topology:\n  placement: {across: {sender: server, receiver: client}}\n"),
    )
    assert said == ['study.yaml:8:16: fixed.where: no placement "nowhere"; known: across']


def test_a_fixed_profile_that_is_not_there_is_refused_with_its_place(refusal: Refusal) -> None:
    (said,) = refusal(
        held("h: host-10x"), ("client: {profile: host-10g}", 'client: {profile: "${h}"}')
    )
    assert said.startswith(
        'study.yaml:8:12: fixed.h: no host profile "host-10x"; did you mean "host-10g"?'
    )


def test_what_varies_is_not_held_as_well(refusal: Refusal) -> None:
    assert refusal(held("servers: 3")) == [
        "study.yaml:8:9: fixed.servers: is also in factors; keep one of the two"
    ]


CASES = """\
study: small
question: What does it do?
cases:
  growing:
    factors:
      store: [{name: memory, place: "null"}, {name: files, place: disk}]
  still:
    factors: {size: [1 MB]}
    fixed: {store: files}
fixed: {size: 2 MB}
topology:
  switch: generic-shallow
  client: {profile: host-10g}
  server: {profile: host-10g}
  link: {rate: 10 Gbit/s}
workload:
  transfer: {size: "${size}", to: "${place}"}
"""


def test_the_fields_of_a_fixed_level_are_those_of_its_factor(small: Small) -> None:
    study = small(text=CASES)
    to = study.workload.spec.to  # type: ignore[attr-defined]
    assert list(study.levels_at(("workload", "transfer", "to"), to)) == [
        (("cases", "growing", "factors", "store", 0, "place"), "null"),
        (("cases", "growing", "factors", "store", 1, "place"), "disk"),
        (("cases", "still", "fixed", "store", "place"), "disk"),
    ]


def test_what_is_held_may_be_varied_from_outside(small: Small) -> None:
    study = small(held("clients: 1"), ("client: {", 'client: {count: "${clients}", '))
    changed = apply_overrides(study, {"factors.clients": "[1, 2]"})
    assert changed.factors["clients"].names == (1, 2)


def test_a_wire_speed_switch_for_a_fixed_number_of_hosts_can_be_watched(small: Small) -> None:
    study = small(
        ("  switch: [generic-shallow, generic-deep]\n", ""),
        (LEVELS, "fixed: {clients: 2}\n"),
        ("  switch: \"${switch}\"\n", ""),
        ("client: {profile: host-10g}", 'client: {profile: host-10g, count: "${clients}"}'),
        (', count: "${servers}"', ""),
        ("  link: {rate: 10 Gbit/s, delay: 1 us, mtu: \"${mtu}\"}",
         "  links:\n    - {between: [client, server], rate: 1 Gbit/s}"),
        (INCAST, "request: {requests: 9}\ninstruments:\n  - {ports: wire-server, every: 10 ms}"),
    )  # fmt: skip
    assert unsupported(study, "sim") == []
