"""The files of a small study, as a results folder gets them."""

from __future__ import annotations

FILES = {
    "study.yaml": b"""\
# exactly as written   \r
study: small
question: How fast?
topology:
  switch: nexus-5010
  client: {profile: ucs-c200-rhel54}
  server: {profile: ucs-c200-rhel54, count: "${servers}"}
factors: {servers: [1, 2]}
workload:
  incast: {block: 1 MB, iterations: 90}
reference: {file: measured/rates.csv, source: a paper, factors: {servers: servers}, columns: {}}
""",
    "hardware/plain.yaml": b"{}",
    "measured/rates.csv": b"servers\n1\n",
}
