# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real apt and dpkg on a simulated node: up, down and back, and all that can come between. Each failure ends clearly,
leaves nothing half pinned, and the next run goes on.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
from poollib import ROOT, Node, Pool

pytestmark = pytest.mark.packages

#: The toolkit is the axis with the smallest packages; what holds for it holds for the others.
OLD, NEW = (
    dict.fromkeys(
        (
            "libnvidia-container-tools",
            "libnvidia-container1",
            "nvidia-container-toolkit",
            "nvidia-container-toolkit-base",
        ),
        version,
    )
    for version in ("1.20.0-1", "1.20.1-1")
)
ARCHIVES = "/var/cache/apt/archives"
KEPT = "/var/lib/goldennode/packages"


def package_set(pool: Pool, packages: t.Dict[str, str], **arguments: t.Any) -> t.Dict[str, t.Any]:
    """The module's result on the pool's one node."""
    ansible = pathlib.Path(sys.executable).with_name("ansible")
    given = {"packages": packages, **arguments}
    done = subprocess.run(
        [str(ansible), "gpu_nodes", "-i", str(pool.inventory), "-m", "goldennode.gpu.package_set", "-a",
         json.dumps(given)],
        cwd=ROOT, env={**pool.environment(), "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"},
        text=True, capture_output=True, timeout=600,
    )  # fmt: skip
    assert " => {" in done.stdout, done.stdout + done.stderr
    answer, _end = json.JSONDecoder().raw_decode(done.stdout, done.stdout.index(" => {") + 4)
    return t.cast("t.Dict[str, t.Any]", answer)


def installed(node: Node, names: t.Iterable[str]) -> t.Dict[str, str]:
    """Version by name of what is installed whole, and held."""
    lines = node.ssh("dpkg-query -W -f '${db:Status-Abbrev}\\t${Package}\\t${Version}\\n'").stdout.splitlines()
    rows = (line.split("\t") for line in lines)
    return {name: version for state, name, version in rows if name in names and state == "hi "}


@contextlib.contextmanager
def until_the_end(node: Node, do: str, undo: str) -> t.Iterator[None]:
    node.ssh(do)
    try:
        yield
    finally:
        node.ssh(undo)


def dead_vendor(node: Node) -> t.ContextManager[None]:
    """The vendor's name leads to this node, where nobody answers. /etc/hosts is the engine's: it cannot be replaced."""
    return until_the_end(
        node,
        "cp /etc/hosts /root/hosts && echo '127.0.0.1 vendor.testbed' > /etc/hosts && cat /root/hosts >> /etc/hosts",
        "cat /root/hosts > /etc/hosts",
    )


def silent_vendor(node: Node) -> t.ContextManager[None]:
    """Somebody takes the connection and says nothing."""
    program = 'import socket,time; s=socket.create_server(("127.0.0.1",80)); time.sleep(3600)'
    stack = contextlib.ExitStack()
    stack.enter_context(
        until_the_end(
            node,
            "systemd-run --quiet --unit silent-vendor python3 -c '%s'" % program,
            "systemctl stop silent-vendor",
        )
    )
    stack.enter_context(dead_vendor(node))
    return stack


# --- up, down, and nothing ----------------------------------------------------------------------------------------


def test_up_and_down_with_changed_exact(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    for before, after in ((OLD, NEW), (NEW, OLD)):
        told = package_set(golden_a10, after)
        assert told["changed"]
        assert told["changes"] == [
            "%s: %s -> %s, and hold it" % (name, before[name], after[name]) for name in sorted(after)
        ]
        assert installed(node, after) == after
        again = package_set(golden_a10, after)
        assert (again["changed"], again["changes"]) == (False, [])
    assert golden_a10.verify().rc == 0


def test_a_whole_lock_up_and_back_each_followed_by_a_run_that_changes_nothing(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    bundle = golden_a10.bundle
    for name in ("sim-b.yml", "sim-a.yml"):
        golden_a10.bundle = bundle.with_name(name)
        golden_a10.write_inventory()
        run = golden_a10.site()
        assert run.rc == 0, run.output
        lock = json.loads(golden_a10.bundle.with_name("%s.debian-13-x86_64.lock.json" % name[:-4]).read_text())
        wanted = {
            package: version
            for axis in ("kernel", "driver", "toolkit", "docker")
            for package, version in lock[axis]["packages"].items()
        }
        assert installed(node, wanted) == wanted
        again = golden_a10.site()
        assert again.rc == 0, again.output
        assert again.recap(node.name)["changed"] == 0


def test_holds_on_the_kernel_are_given_back_when_it_is_not_pinned_any_more(golden_a10: Pool) -> None:
    """The user's own hold stays, and so do those of the other axes."""
    (node,) = golden_a10.nodes
    node.ssh("apt-mark hold bash")
    before = set(node.ssh("apt-mark showhold").stdout.split())
    kernels = {name for name in before if name.startswith("linux-")}
    assert kernels
    golden_a10.write_inventory({"kernel_pin": False})
    run = golden_a10.site()
    assert run.rc == 0, run.output
    assert set(node.ssh("apt-mark showhold").stdout.split()) == before - kernels
    again = golden_a10.site()
    assert (again.rc, again.recap(node.name)["changed"]) == (0, 0), again.output


# --- what stands in the way ---------------------------------------------------------------------------------------


def test_another_apt_is_named_and_waited_for(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    holder = (
        'import fcntl,time; f=open("/var/lib/dpkg/lock-frontend","w"); fcntl.lockf(f,fcntl.LOCK_EX); time.sleep(%d)'
    )
    start = "systemd-run --quiet --unit other-apt%d python3 -c '%s'"
    with until_the_end(node, start % (1, holder % 3600), "systemctl stop other-apt1"):
        told = package_set(golden_a10, NEW, lock_timeout=6)
    assert "another process is using the package manager" in told["msg"]
    assert "pid " in told["msg"]
    assert "Nothing was changed" in told["msg"]
    assert installed(node, OLD) == OLD
    node.ssh(start % (2, holder % 15))
    assert package_set(golden_a10, NEW, lock_timeout=120)["changed"]
    assert installed(node, NEW) == NEW


def test_an_interrupted_dpkg_is_finished_by_the_next_run(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    node.ssh(
        "dpkg --unpack %s/nvidia-container-toolkit-base_1.20.0-1_amd64.deb && touch /var/lib/dpkg/updates/0000" % KEPT
    )
    assert node.ssh("apt-get check", check=False).returncode != 0
    run = golden_a10.site()
    assert run.rc == 0, run.output
    assert installed(node, OLD) == OLD
    assert node.fact()["golden"]
    assert golden_a10.site().recap(node.name)["changed"] == 0


def test_a_dead_repository_ends_clearly(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    with dead_vendor(node):
        told = package_set(golden_a10, NEW, index_valid=0)
    assert "the server cannot be reached from this node" in told["msg"]
    assert "vendor.testbed" in told["msg"]
    assert installed(node, OLD) == OLD
    assert package_set(golden_a10, NEW)["changed"]


def test_a_repository_that_never_answers_ends_in_its_time(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    with silent_vendor(node):
        told = package_set(golden_a10, NEW, index_valid=0, index_timeout=8, timeout=8)
    assert "did not end within 8 s" in told["msg"]
    assert "Nothing was changed" in told["msg"]
    assert installed(node, OLD) == OLD
    assert package_set(golden_a10, NEW)["changed"]


def test_a_postinst_that_fails_is_told_and_the_next_run_goes_on(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    with until_the_end(node, "mount --bind /bin/false /usr/bin/systemctl", "umount /usr/bin/systemctl"):
        told = package_set(golden_a10, NEW)
    assert "the postinst script of nvidia-container-toolkit-base ended with status 1" in told["msg"]
    assert "nvidia-container-toolkit-base is half-configured" in told["msg"]
    done = package_set(golden_a10, NEW)
    assert done["changed"]
    assert installed(node, NEW) == NEW
    assert not package_set(golden_a10, NEW)["changed"]


def test_a_full_disk_is_noticed_before_anything_is_changed(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    small = "mount -t tmpfs -o size=8k none %s && mkdir %s/partial" % (ARCHIVES, ARCHIVES)
    with until_the_end(node, small, "umount %s" % ARCHIVES):
        told = package_set(golden_a10, NEW)
    assert "the disk is full" in told["msg"]
    assert "Nothing was changed" in told["msg"]
    assert installed(node, OLD) == OLD
    assert package_set(golden_a10, NEW)["changed"]


def test_a_disk_that_gets_full_half_way_is_told_and_the_next_run_goes_on(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    folder = "/usr/share/nvidia-container-toolkit"
    with until_the_end(node, "mount -t tmpfs -o size=4k none %s" % folder, "umount %s" % folder):
        told = package_set(golden_a10, NEW)
    assert "the disk is full" in told["msg"]
    assert "The next run goes on from there" in told["msg"]
    assert package_set(golden_a10, NEW)["changed"]
    assert installed(node, NEW) == NEW


def test_a_driver_that_does_not_build_is_told_by_its_log_and_the_old_one_comes_back(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    (lock,) = golden_a10.locks()
    old = json.loads(lock.read_text())["driver"]["packages"]
    told = package_set(golden_a10, {name: version.replace("580.159.03", "595.71.05") for name, version in old.items()})
    assert "DKMS could not build the module for kernel" in told["msg"]
    assert "/var/lib/dkms/nvidia/595.71.05/build/make.log" in told["msg"]
    assert "the driver does not build on this kernel" in told["msg"]
    kernel = node.ssh("cat /proc/sys/kernel/osrelease").stdout.strip()
    back = package_set(golden_a10, old, dkms={"kernel": kernel, "version": "580.159.03"})
    assert back["changed"], back
    assert installed(node, old) == old
    assert node.ssh("modinfo -k %s -F version nvidia" % kernel).stdout.strip() == "580.159.03"


# --- the set ------------------------------------------------------------------------------------------------------


def test_a_part_of_the_driver_that_no_lock_names_does_not_move(golden_a10: Pool) -> None:
    """Case 036: the hold list did not cover the whole set."""
    (node,) = golden_a10.nodes
    (lock,) = golden_a10.locks()
    driver = json.loads(lock.read_text())["driver"]["packages"]
    node.ssh("apt-get install --yes nvidia-open=580.159.03-1", timeout=120)
    looked = golden_a10.verify()
    row = looked.report[node.name]
    assert row["layer"] == "packages"
    assert [f["entity"] for f in row["findings"] if f["id"].startswith("packages.")] == ["nvidia-open"]
    policy = node.ssh("apt-cache policy nvidia-open").stdout
    assert "Candidate: 580.159.03-1" in policy
    assert "595.71.05-1" in policy
    assert package_set(golden_a10, driver)["changes"] == ["nvidia-open: hold 580.159.03-1"]
    assert golden_a10.verify().rc == 0


# --- going back ---------------------------------------------------------------------------------------------------


def test_a_node_goes_back_when_the_repository_has_lost_the_old_version(golden_a10: Pool) -> None:
    (node,) = golden_a10.nodes
    for name, version in OLD.items():
        node.ssh("test -s %s/%s_%s_amd64.deb" % (KEPT, name, version))
    assert package_set(golden_a10, NEW, keep=NEW)["changed"]
    lists = "/var/lib/apt/lists/vendor.testbed_nvidia-container-toolkit_dists_stable_main_binary-amd64_Packages"
    node.ssh(
        "rm -f %s/*.deb && python3 - <<'EOF'\n"
        "p = '%s'\n"
        "kept = [s for s in open(p).read().split('\\n\\n') if 'Version: 1.20.0-1' not in s]\n"
        "open(p, 'w').write('\\n\\n'.join(kept))\n"
        "EOF" % (ARCHIVES, lists)
    )
    with dead_vendor(node):
        told = package_set(golden_a10, OLD, keep=OLD)
    assert told["changed"], told
    assert installed(node, OLD) == OLD
    assert "apt-get" not in told.get("msg", "")
    assert golden_a10.verify().rc == 0


def test_consent_alone_lets_a_package_go(golden_a10: Pool) -> None:
    """A package of the user's that the set cannot stand beside."""
    (node,) = golden_a10.nodes
    control = (
        "Package: mine\\nVersion: 1\\nArchitecture: all\\nMaintainer: me <me@x.invalid>\\n"
        "Depends: nvidia-container-toolkit (= 1.20.0-1)\\nDescription: mine\\n"
    )
    node.ssh("mkdir -p /root/mine/DEBIAN && printf '%s' > /root/mine/DEBIAN/control" % control)
    node.ssh("dpkg-deb --build /root/mine /root/mine.deb && dpkg --install /root/mine.deb")
    told = package_set(golden_a10, NEW)
    assert "would also remove mine 1. Nothing was changed" in told["msg"]
    assert installed(node, OLD) == OLD
    told = package_set(golden_a10, NEW, may_remove=["mine"])
    assert "mine: remove 1" in told["changes"]
    assert installed(node, NEW) == NEW
