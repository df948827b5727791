"""`tools/lab`: hosts with sshd on one machine, their faults, and that nothing of them is left."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netstudy.errors import StudyError, TestbedError
from netstudy.testbed.netns.kernel import kernel
from tests.skips import needs_programs
from tests.testbed.conftest import CHECKOUT, User, user_named
from tests.testbed.processes import descendants, namespaces_of
from tests.tools.lab import SSH, Lab, lab_of, result, start
from tools.ssh_lab import __main__ as front
from tools.ssh_lab.asked import ASKED, Asked
from tools.ssh_lab.study_run import Choice, run_with

pytestmark = [
    pytest.mark.engine,
    needs_programs("ssh", "sshd", "nft", "ip"),
    pytest.mark.skipif(
        not Path("/usr/bin/python3").exists(),
        reason="needs a Python of the system; install: apt-get install python3",
    ),
]
_TIME_LIMIT_S = 60
_ROUTES = "ip route show table all"
_HOSTS = ("h1", "h2", "h3")


@pytest.fixture(
    scope="module", params=["root", pytest.param("ordinary user", marks=pytest.mark.slow)]
)
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Three hosts of root, and of an ordinary user."""
    with lab_of(user_named(request.param), "3") as lab:
        lab.serve("h2", "10.98.0.2")
        yield lab


@pytest.fixture(scope="module")
def root() -> User:
    return user_named("root")


class TestHosts:
    def test_a_key_lets_in_the_ordinary_user_and_root(self, lab: Lab) -> None:
        assert [lab.said(host, "hostname; id -un") for host in _HOSTS] == [
            f"{host}\nns" for host in _HOSTS
        ]
        assert lab.said("h3", "id -u") != "0"
        as_root = lab.at("root@h3", "id -u")
        if lab.user.is_root:
            assert (as_root.code, as_root.output) == (0, "0\n")
        else:
            assert as_root.code != 0, "an ordinary user's lab has nobody else"

    def test_monotonic_clocks_are_a_thousand_seconds_apart(self, lab: Lab) -> None:
        clocks = "cut -d' ' -f1 /proc/uptime"
        for number, host in enumerate(_HOSTS, start=1):
            before, there, after = lab.run(
                f'{clocks}; {SSH} {host} "{clocks}"; {clocks}'
            ).output.split()
            assert float(before) <= float(there) - 1000 * number <= float(after)

    def test_every_host_is_a_machine_of_its_own(self, lab: Lab) -> None:
        boots = {lab.said(host, "cat /proc/sys/kernel/random/boot_id") for host in _HOSTS}
        assert len(boots) == 3
        assert lab.said("h1", "cat /proc/1/comm") == "sshd"
        assert lab.said("h1", "ls /sys/class/net").split() == ["ctl0", "eth0", "lo"]
        lab.said("h1", "touch here /tmp/here")
        assert lab.at("h2", "ls here /tmp/here").code != 0

    def test_tcp_between_test_addresses(self, lab: Lab) -> None:
        assert lab.fetch("h1", "10.98.0.2")
        assert lab.fetch("h3", "10.98.0.2")

    def test_nothing_but_sshd_listens_and_not_in_the_test_network(self, lab: Lab) -> None:
        # Of the header and the server of these tests, which is at h2.
        assert len(lab.said("h1", "cat /proc/net/tcp | grep ' 0A '").splitlines()) == 1
        address = lab.said("h1", "grep ' 0A ' /proc/net/tcp").split()[1]
        assert address == "0100630A:0016", "port 22 of 10.99.0.1"

    def test_the_inventory_lists_the_hosts_and_their_roles(self, lab: Lab) -> None:
        assert lab.run("cat $NETSTUDY_LAB/hosts.yaml").output == (
            "hosts:\n"
            "  h1: {ssh: h1, address: 10.98.0.1}\n"
            "  h2: {ssh: h2, address: 10.98.0.2}\n"
            "  h3: {ssh: h3, address: 10.98.0.3}\n"
            "allow: {other_cpu: 100 %}\n"
            "roles: {client: [h1], server: [h2, h3]}\n"
        )

    def test_the_command_runs_as_the_caller_in_a_private_home(self, lab: Lab) -> None:
        uid = os.geteuid() if lab.user.is_root else 65_534
        assert lab.run("id -u; stat -c '%u %a' $HOME/.ssh/id_ed25519").output == (
            f"{uid}\n{uid} 600\n"
        )

    def test_the_command_has_no_rights_over_an_ordinary_users_lab(self, lab: Lab) -> None:
        done = lab.run("ip link set dev c1 down && ip link set dev c1 up")
        assert (done.code == 0) is lab.user.is_root


@pytest.mark.slow
class TestFaults:
    def test_a_cut_control_link(self, lab: Lab) -> None:
        lab.make("cut", "h1", "control")
        assert lab.at("h1", "true").code == 255
        lab.make("join", "h1", "control")
        assert lab.said("h1", "echo back") == "back"

    def test_a_cut_test_link(self, lab: Lab) -> None:
        lab.make("cut", "h1", "test")
        assert lab.said("h1", "cat /sys/class/net/eth0/carrier") == "0"
        assert not lab.fetch("h1", "10.98.0.2")
        lab.make("join", "h1", "test")
        # A resolution of the neighbour's address that began during the cut ends with an error.
        assert any(lab.fetch("h1", "10.98.0.2") for _ in range(5))

    def test_a_delayed_control_link_where_the_kernel_has_netem(self, lab: Lab) -> None:
        done = lab.fault("delay", "h1", "20")
        if "netem" in kernel().qdiscs:
            assert done.code == 0
            assert "delay 20ms" in lab.run("tc qdisc show dev c1").output
            lab.make("delay", "h1", "0")
        else:
            assert done.code != 0
            assert "sch_netem" in done.output

    def test_an_mtu(self, lab: Lab) -> None:
        lab.make("mtu", "h1", "1400")
        assert lab.said("h1", "cat /sys/class/net/eth0/mtu") == "1400"
        assert lab.fetch("h1", "10.98.0.2")
        lab.make("mtu", "h1", "1500")

    def test_a_hole_of_the_mtu_swallows_full_segments(self, lab: Lab) -> None:
        lab.make("mtu-hole", "h1", "1400")
        assert not lab.fetch("h1", "10.98.0.2")
        lab.make("mtu-hole", "h1", "1500")
        assert lab.fetch("h1", "10.98.0.2")
        lab.make("mtu-hole", "h1", "off")

    def test_a_firewall(self, lab: Lab) -> None:
        lab.make("firewall", "h2", "ssh")
        assert not lab.fetch("h1", "10.98.0.2")
        lab.make("firewall", "h2", "7000-7001")
        assert lab.fetch("h1", "10.98.0.2")
        lab.make("firewall", "h2", "7001-7002")
        assert not lab.fetch("h1", "10.98.0.2")
        lab.make("firewall", "h2", "off")
        assert lab.fetch("h1", "10.98.0.2")

    def test_a_stray_stream(self, lab: Lab) -> None:
        count = "cat /sys/class/net/eth0/statistics/rx_packets"
        lab.make("stray", "h3", "5")
        first = int(lab.said("h3", count))
        while int(lab.said("h3", count)) < first + 100:
            pass
        lab.make("stray", "h3", "off")
        last = lab.said("h3", count)
        assert lab.said("h3", count) == last

    def test_a_full_disk(self, lab: Lab) -> None:
        lab.make("disk", "h1", "full")
        done = lab.at("h1", "head -c 100000 /dev/zero >big")
        assert "No space left on device" in done.output
        lab.make("disk", "h1", "ok")
        lab.said("h1", "head -c 100000 /dev/zero >big")

    def test_a_home_from_which_nothing_is_run(self, lab: Lab) -> None:
        lab.make("home", "h1", "noexec")
        lab.said("h1", "cp /bin/true program")
        assert lab.at("h1", "./program").code == 126
        lab.make("home", "h1", "exec")
        lab.said("h1", "./program")

    def test_a_bashrc_that_prints(self, lab: Lab) -> None:
        lab.make("bashrc", "h1")
        assert lab.said("h1", "echo out") == "Welcome to h1\nout"
        lab.make("bashrc", "h1", "off")
        assert lab.said("h1", "echo out") == "out"

    def test_a_changed_host_key(self, lab: Lab) -> None:
        lab.make("host-key", "h3")
        refused = lab.at("h3", "true")
        assert refused.code == 255
        assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in refused.output
        lab.run(
            "ssh-keygen -R 10.99.0.3; "
            "ssh-keyscan -t ed25519 10.99.0.3 2>/dev/null >>$HOME/.ssh/known_hosts"
        )
        assert lab.said("h3", "echo in") == "in"

    def test_few_sessions(self, lab: Lab) -> None:
        lab.make("max-sessions", "h1", "2")
        script = (
            f"{SSH} -M -N -f -S $HOME/master h1 </dev/null >/dev/null 2>&1\n"
            f"for one in 1 2 3; do\n"
            f"    {SSH} -S $HOME/master -o ProxyCommand=false h1 'echo begun; sleep 5' &\n"
            f"done\n"
            f"wait; ssh -S $HOME/master -O exit h1"
        )
        output = lab.run(script).output
        assert (output.count("begun"), output.count("Session open refused")) == (2, 1)
        lab.make("max-sessions", "h1", "10")

    def test_a_held_lock(self, lab: Lab) -> None:
        there = "grep -c @netstudy-testbed /proc/net/unix"
        lab.make("lock", "h1", "held")
        assert lab.said("h1", there) == "1"
        assert lab.at("h2", there).output.strip() == "0", "a lock is of one host"
        lab.make("lock", "h1", "free")
        assert lab.at("h1", there).output.strip() == "0"

    def test_another_architecture(self, lab: Lab) -> None:
        own = os.uname().machine
        lab.make("arch", "h1", "sparc64")
        assert lab.said("h1", "uname -m") == "sparc64"
        assert own not in lab.said("h1", "uname -a")
        lab.make("arch", "h1", "off")
        assert lab.said("h1", "uname -m") == own

    def test_a_process_that_is_stopped_and_killed(self, lab: Lab) -> None:
        state = "ps -o stat= -C sleep | cut -c1"
        lab.run(f"{SSH} h1 'echo there; exec sleep 1234' >$HOME/asleep &")
        lab.run("until grep -q there $HOME/asleep; do sleep 0.05; done")
        lab.make("signal", "h1", "STOP", "'sleep 1234'")
        assert lab.said("h1", state) == "T"
        lab.make("signal", "h1", "KILL", "'sleep 1234'")
        assert lab.said("h1", state) == ""
        assert "no process of h1 matches" in lab.fault("signal", "h1", "KILL", "1234").output

    def test_a_reboot_changes_boot_id_and_clock_and_keeps_the_disk(self, lab: Lab) -> None:
        asked = "cat /proc/sys/kernel/random/boot_id"
        before = lab.said("h3", f"touch kept; {asked}")
        lab.make("reboot", "h3", "50")
        assert lab.said("h3", asked) != before
        assert lab.said("h3", "ls kept") == "kept"
        clock = "cut -d. -f1 /proc/uptime"
        here, there = (int(one) for one in lab.run(f"{clock}; {SSH} h3 '{clock}'").output.split())
        assert there - here >= 50
        assert there - here < 3000, "host number 3 began with 3000"

    def test_a_power_cut(self, lab: Lab) -> None:
        lab.make("halt", "h3")
        assert "Connection refused" in lab.at("h3", "true").output
        assert "h3 is not running" in lab.fault("signal", "h3", "KILL", "sshd").output
        lab.make("reboot", "h3")
        assert lab.said("h3", "echo back") == "back"

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("explode", "h1"), "there is no fault 'explode'"),
            (("cut", "h9", "test"), "there is no host h9; there are h1, h2, h3"),
            (("cut", "h1"), "write it as: cut HOST control|test"),
            (("cut", "h1", "power"), "the links of a host are control and test"),
            (("disk", "h1", "half"), "half: write one of full, ok"),
            (("mtu", "h1", "big"), "big is not a whole number"),
            (("stray", "h1", "-1"), "-1 is not a number from 0"),
            (("firewall", "h1", "80"), "write a range of ports"),
            (("signal", "h1", "WINK"), "WINK is no signal"),
        ],
    )
    def test_a_fault_that_is_none_is_refused(
        self, lab: Lab, words: tuple[str, ...], said: str
    ) -> None:
        done = lab.fault(*words)
        assert done.code != 0
        assert said in done.output


class TestEnd:
    @pytest.mark.parametrize(
        ("name", "script", "code"),
        [("root", "kill -KILL $$", 128 + 9), ("ordinary user", "exit 7", 7)],
    )
    def test_the_exit_code_is_the_commands(self, name: str, script: str, code: int) -> None:
        user = user_named(name)
        before = outside()
        assert result(user, "1", "--", "sh", "-c", script).returncode == code
        assert outside() == before

    @pytest.mark.parametrize("name", ["root", "ordinary user"])
    def test_kill_9_leaves_nothing(self, name: str) -> None:
        user = user_named(name)
        before = outside()
        front = start(user, "2", "--", "sh", "-c", "echo up; exec sleep 1234")
        inside = running(front)
        assert len(namespaces_of(inside) - namespaces_of([os.getpid()])) >= 3
        ends = [os.pidfd_open(pid) for pid in inside]
        front.kill()
        front.communicate()

        assert all(select.select([end], [], [], _TIME_LIMIT_S)[0] for end in ends)
        assert outside() == before

    def test_sigterm_reaches_the_command(self, root: User) -> None:
        script = "trap 'echo mended; exit 3' TERM; echo up; while :; do sleep 0.1; done"
        front = start(root, "1", "--", "sh", "-c", script)
        running(front)
        front.send_signal(signal.SIGTERM)
        output, _ = front.communicate(timeout=_TIME_LIMIT_S)
        assert (front.returncode, output) == (3, "mended\n")


class TestOptions:
    def test_the_launcher_passes_folder_and_environment_on(
        self, root: User, tmp_path: Path
    ) -> None:
        done = subprocess.run(
            [CHECKOUT / "tools/lab", "1", "--", "sh", "-c", "pwd; echo $PYTHONPATH"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": "/mine"},
            capture_output=True,
            text=True,
        )
        assert done.stdout == f"{tmp_path}\n/mine\n", done.stderr

    def test_the_command_as_the_ordinary_user_with_roles_and_a_fault(self, root: User) -> None:
        inventory = "tail -n 1 $NETSTUDY_LAB/hosts.yaml"
        script = f"id -un; {SSH} h2 true; $NETSTUDY_LAB/fault cut h1 test && {inventory}"
        options = ("--as-user", "--roles=client=1,monitor=1", "--fault=bashrc h2 'Good day'")
        done = result(root, "3", *options, "--", "sh", "-c", script)
        assert done.stdout == (
            "ns\nGood day\nroles: {client: [h1], monitor: [h2], server: [h3]}\n"
        ), done.stderr

    def test_twenty_four_hosts(self, root: User) -> None:
        began_s = time.time()
        script = f"date +%s.%N; for n in $(seq 24); do {SSH} h$n hostname; done"
        done = result(root, "24", "--", "sh", "-c", script)
        up_s, *names = done.stdout.split()
        assert names == [f"h{number}" for number in range(1, 25)], done.stderr
        print(f"24 hosts are up in {float(up_s) - began_s:.1f} s")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("49", "--", "true"), "49 hosts: a lab has 1 to 48"),
            (("0", "--", "true"), "0 hosts: a lab has 1 to 48"),
            (("two", "--", "true"), "two is not a whole number"),
            (("2",), "write the command after --"),
            (("2", "--"), "write the command after --"),
            (("2", "--roles=client", "--", "true"), "--roles client: write it as ROLE=NUMBER"),
            (("2", "--roles=client=3", "--", "true"), "names more than the 2 hosts"),
            (("2", "--fault=explode h1", "--", "true"), "there is no fault 'explode'"),
            (("2", "--fault=halt h3", "--", "true"), "there is no host h3"),
            (("1", "--", "no-such-program"), "no-such-program: No such file or directory"),
            (("9", "--network=studies/zones", "--", "true"), "has 9 hosts; there are runs with 2"),
        ],
    )
    def test_what_cannot_be_is_refused(
        self, root: User, arguments: tuple[str, ...], said: str
    ) -> None:
        done = result(root, *arguments)
        assert done.returncode != 0
        assert said in done.stderr

    def test_a_machine_without_sshd_is_told_the_package(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            front, "find_program", lambda name: None if name == "sshd" else f"/bin/{name}"
        )
        with pytest.raises(TestbedError, match="needs sshd: sudo apt-get install openssh-server"):
            front.check_machine(clocks=True)

    def test_who_may_not_make_namespaces_is_told_what_would_allow_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refusal = ["sh", "-c", "echo unshare failed: Operation not permitted >&2; exit 1"]
        monkeypatch.setattr(front, "sandbox_command", lambda _argv: refusal)
        with pytest.raises(TestbedError, match=r"not permitted; run as root, or see netstudy doct"):
            front.check_machine(clocks=True)


class TestNetworkOfAStudy:
    @pytest.mark.parametrize(
        "name", ["root", pytest.param("ordinary user", marks=pytest.mark.slow)]
    )
    def test_hosts_have_the_names_and_the_switch_of_the_study(self, name: str) -> None:
        with lab_of(user_named(name), "3", "--network=studies/incast") as lab:
            assert lab.run("cat $NETSTUDY_LAB/hosts.yaml").output == (
                "hosts:\n"
                "  client: {ssh: client, address: 10.77.0.1, rate: 1 Gbit/s}\n"
                "  server-1: {ssh: server-1, address: 10.77.0.2, rate: 1 Gbit/s}\n"
                "  server-2: {ssh: server-2, address: 10.77.0.3, rate: 1 Gbit/s}\n"
                "allow: {other_cpu: 100 %}\n"
                "roles: {client: [client], server: [server-1, server-2]}\n"
            )
            assert "netstudy-engine switch" in lab.run("ps -A -o args").output
            assert "rto_min" not in lab.said("client", _ROUTES), "the kernel's TCP as it is"
            lab.serve("server-1", "10.77.0.2")
            assert lab.fetch("client", "10.77.0.2")
            lab.make("cut", "client", "test")
            assert not lab.fetch("client", "10.77.0.2")
            lab.make("join", "client", "test")
            assert lab.fetch("client", "10.77.0.2")

    def test_a_run_with_instruments_reaches_the_first_process_as_it_is(self) -> None:
        run = run_with(Choice(CHECKOUT / "studies/gigabit", variant="netns"), 3).run
        assert run.instruments
        asked = Asked(3, ("true",), "/", (0, 0), False, {}, 1000, 256, (), run, "/tmp")
        assert ASKED.validate_json(ASKED.dump_json(asked, by_alias=True)) == asked

    @pytest.mark.parametrize(("only", "hosts"), [((), 12), (("clients=1..4",), 6)])
    def test_a_factor_grows_up_to_the_hosts_of_the_lab(
        self, only: tuple[str, ...], hosts: int
    ) -> None:
        run = run_with(Choice(CHECKOUT / "studies/gigabit", only), hosts).run
        assert run.treatment["clients"] == hosts - 2  # server and monitor
        too_many = Choice(CHECKOUT / "studies/gigabit", only)
        with pytest.raises(StudyError, match=f"has {hosts + 1} hosts; .* 3, 4, 5, 6"):
            run_with(too_many, hosts + 1)

    def test_hosts_have_folders_on_a_disk_and_on_a_ram_disk(self, root: User) -> None:
        left = set(Path("/var/tmp").glob("netstudy-lab-*"))
        with lab_of(root, "3", "--network=studies/gigabit") as lab:
            found = lab.run("cat $NETSTUDY_LAB/hosts.yaml").output
            assert (
                "client: {ssh: client, address: 10.77.0.2, rate: 50 Mbit/s, files: /var/tmp}"
                in found
            )
            said = lab.said(
                "client", "touch /var/tmp/a /tmp/b; stat -f -c %T /var/tmp /tmp"
            ).split()
            assert said[0] != "tmpfs"
            assert said[1] == "tmpfs"
            assert lab.said("server", "ls /var/tmp /tmp").split() == ["/tmp:", "/var/tmp:"]
        assert set(Path("/var/tmp").glob("netstudy-lab-*")) <= left

    def test_files_on_ram_disks_are_in_a_folder_that_is_one(self) -> None:
        assert run_with(Choice(CHECKOUT / "studies/zones"), 2).files == "/tmp"
        assert run_with(Choice(CHECKOUT / "studies/incast"), 2).files is None

    def test_zones_are_addresses_also_with_a_stack_of_their_own(self, root: User) -> None:
        options = ("--network=studies/zones", "--variant=netns", "--only=stack=own", "--tuned")
        with lab_of(root, "2", *options) as lab:
            assert (
                "  a: {ssh: a, interfaces: {"
                "ce2: {device: eth0, address: 10.77.0.1, rate: 100 Mbit/s}, "
                "zone1: {device: eth0, address: 10.77.0.3, rate: 100 Mbit/s}, "
                "zone2: {device: eth0, address: 10.77.0.4, rate: 100 Mbit/s}, "
                "ce3: {device: eth1, address: 10.77.0.2, rate: 100 Mbit/s}, "
                "zone3: {device: eth1, address: 10.77.0.5, rate: 100 Mbit/s}}, files: /tmp}\n"
            ) in lab.run("cat $NETSTUDY_LAB/hosts.yaml").output
            assert "rto_min lock 200ms" in lab.said("a", _ROUTES), "the study's TCP"
            lab.serve("b", "10.77.0.7")
            assert lab.fetch("a", "10.77.0.7")


def running(front: subprocess.Popen[str]) -> list[int]:
    """The processes of a lab, as soon as its command has written a line."""
    assert front.stdout is not None
    line = front.stdout.readline()
    assert line == "up\n", front.communicate()
    return descendants(front.pid)


def outside() -> dict[str, str]:
    """What a lab might have changed of the machine."""
    interfaces = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
    folders = (Path("/run"), Path("/tmp"), Path("/home"))
    return {
        "interfaces": interfaces.stdout,
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "passwd": Path("/etc/passwd").read_text(),
        "hosts": " ".join(str(path) for path in folders if (path / "hosts").exists()),
        "run": " ".join(sorted(path.name for path in Path("/run").iterdir())),
    }
