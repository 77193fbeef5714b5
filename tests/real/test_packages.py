# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real packages on a real node: Debian's NVIDIA driver and kernel, installed, built, held, taken up and down again.

The tests are one story and run in this order. A module is built three times, which is what takes the time.
"""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import pytest
from reallib import ROOT, container, images, mirror
from reallib.host import Host
from reallib.play import DRIVER, PLAYBOOKS, Project, bundle

OLD, NEW = "trixie", "trixie-backports"
INSTALL = PLAYBOOKS / "install.yml"
MODULES = (
    "nvidia-current",
    "nvidia-current-drm",
    "nvidia-current-modeset",
    "nvidia-current-peermem",
    "nvidia-current-uvm",
)
#: A build of the modules on a busy machine.
BUILD_SECONDS = 1700

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def node() -> t.Iterator[Host]:
    with container.node("packages", images.ensure("node")) as host:
        yield host


@pytest.fixture(scope="module")
def project(node: Host, tmp_path_factory: pytest.TempPathFactory) -> Project:
    found = Project(tmp_path_factory.mktemp("packages"), node)
    toolkit_key = node.output("cat /srv/toolkit/key.asc")
    for suite in (OLD, NEW):
        found.write_bundle(bundle(suite, suite, toolkit_key))
    return found


def wanted(project: Project, name: str) -> t.Dict[str, str]:
    lock = project.lock(name)
    return {**lock["kernel"]["packages"], **lock["driver"]["packages"]}


def installed(node: Host) -> t.Dict[str, str]:
    """Version by name of what dpkg says is installed, whole."""
    listed = node.output("dpkg-query --show --showformat '${db:Status-Status} ${Package} ${Version}\\n'")
    rows = [line.split() for line in listed.splitlines()]
    return {name: version for status, name, version in (row for row in rows if len(row) == 3) if status == "installed"}


def release(project: Project) -> str:
    return str(project.lock(OLD)["kernel"]["release"])


def check_node(node: Host, project: Project, name: str) -> None:
    """The node is as the lock says, by dpkg's, DKMS's, modinfo's and initramfs-tools' own words."""
    there, packages, kernel = installed(node), wanted(project, name), release(project)
    assert {package: there.get(package) for package in packages} == packages
    assert set(packages) <= set(node.output("apt-mark showhold").split())
    assert re.search(r"^nvidia-current/%s, %s, x86_64: installed" % (re.escape(DRIVER), re.escape(kernel)),
                     node.output("dkms status"), re.MULTILINE)  # fmt: skip
    for module in MODULES:
        assert node.output("modinfo -k %s -F version %s" % (kernel, module)) == DRIVER
        assert node.output("modinfo -k %s -F vermagic %s" % (kernel, module)).split()[0] == kernel
        assert node.output("modinfo -k %s -F signer %s" % (kernel, module)).startswith("DKMS module signing key")
    inside = node.output("lsinitramfs /boot/initrd.img-%s" % kernel).splitlines()
    assert "etc/modprobe.d/goldennode-blacklist.conf" in inside
    assert not [path for path in inside if re.search(r"/nvidia[^/]*\.ko", path)]


def kept(node: Host) -> t.Dict[str, str]:
    """Version by name of the package files that the node keeps, by their own control files."""
    each = 'for file in /var/lib/goldennode/packages/*.deb; do dpkg-deb --show "$file"; done'
    return dict(line.split("\t") for line in node.output(each).splitlines())


def recorded_image(node: Host, project: Project) -> t.Dict[str, t.Any]:
    record = json.loads(node.output("cat /var/lib/goldennode/initramfs.json"))
    return t.cast("t.Dict[str, t.Any]", record["kernels"][release(project)])


def module_built(node: Host, project: Project) -> str:
    return node.output("stat -c '%%i %%Y %%s' /lib/modules/%s/updates/dkms/nvidia-current.ko*" % release(project))


def assert_nothing_to_do(project: Project, name: str) -> None:
    run = project.run(INSTALL, name)
    assert (run.rc, run.changed) == (0, 0), run.output


def test_locks_of_two_suites_differ_in_the_revision(node: Host, project: Project) -> None:
    for suite in (OLD, NEW):
        assert project.run(ROOT / "playbooks" / "lock.yml", suite).rc == 0
    for suite, mark in ((OLD, r"-\d+(\+deb13u\d+)?"), (NEW, r"-\S+~bpo13\+\d+")):
        for name in ("nvidia-kernel-dkms", "nvidia-smi", "libcuda1", "libnvidia-ml1", "firmware-nvidia-gsp"):
            version = project.lock(suite)["driver"]["packages"][name]
            assert re.fullmatch(re.escape(DRIVER) + mark, version), (suite, name, version)
    old, new = (project.lock(suite)["driver"]["packages"]["nvidia-kernel-dkms"] for suite in (OLD, NEW))
    node.run("dpkg --compare-versions '%s' lt '%s'" % (old, new))
    assert project.lock(OLD)["kernel"] == project.lock(NEW)["kernel"]


def test_driver_and_kernel_are_installed_and_the_modules_are_built(node: Host, project: Project) -> None:
    run = project.run(INSTALL, OLD, timeout=BUILD_SECONDS)
    assert run.rc == 0, run.output
    assert run.changed > 0
    check_node(node, project, OLD)
    assert recorded_image(node, project)["blacklisted"] is True
    assert recorded_image(node, project)["nvidia_version"] is None
    there = kept(node)
    assert {name: there.get(name) for name in wanted(project, OLD)} == wanted(project, OLD)


def test_a_second_run_changes_nothing(node: Host, project: Project) -> None:
    before = module_built(node, project), recorded_image(node, project)
    assert_nothing_to_do(project, OLD)
    assert (module_built(node, project), recorded_image(node, project)) == before


@pytest.fixture
def newer_visible(node: Host) -> t.Iterator[None]:
    """The newer revision of the driver and a newer kernel, as upgrades that apt would make by itself."""
    source = "/etc/apt/sources.list.d/newer.sources"
    text = "Types: deb\nURIs: %s\nSuites: %s\nComponents: main contrib non-free non-free-firmware\nSigned-By: %s\n" % (
        mirror.of_this_machine(), NEW, "/usr/share/keyrings/debian-archive-keyring.gpg",
    )  # fmt: skip
    pin = (
        "Package: linux-* nvidia-* libnvidia-* libcuda1 firmware-nvidia-gsp\nPin: release n=%s\nPin-Priority: 500\n"
        % NEW
    )
    node.run("printf '%s' > %s" % (text, source))
    node.run("printf '%s' > /etc/apt/preferences.d/newer" % pin)
    node.run("apt-get update", timeout=300)
    yield
    node.run("rm %s /etc/apt/preferences.d/newer" % source)
    node.run("apt-get update", timeout=300)


#: Options by which apt does not see the pin of this collection, and the copy of dpkg's state that has no hold.
UNPINNED = "-o Dir::Etc::preferencesparts=/root/unpinned"
UNHELD = "-o Dir::State::status=/root/unheld"


def moved(node: Host, options: str) -> t.Set[str]:
    """Packages that a full upgrade would install in another version, or remove."""
    said = node.output("apt-get --simulate %s full-upgrade" % options, timeout=300)
    return set(re.findall(r"^(?:Inst|Remv) ([^\s:]+)", said, re.MULTILINE))


def test_a_full_upgrade_leaves_driver_and_kernel_alone(node: Host, project: Project, newer_visible: None) -> None:
    node.run("mkdir -p /root/unpinned && cp /etc/apt/preferences.d/newer /root/unpinned/")
    node.run("sed 's/^Status: hold /Status: install /' /var/lib/dpkg/status > /root/unheld")
    ours = set(wanted(project, OLD))
    # Without pin and hold apt would move them, so what follows is proven by something.
    assert {"nvidia-kernel-dkms", "libcuda1", "linux-image-amd64"} <= moved(node, "%s %s" % (UNPINNED, UNHELD)) & ours
    assert moved(node, UNHELD) & ours == set(), "the pin alone must keep them"
    assert moved(node, UNPINNED) & ours == set(), "the hold alone must keep them"
    node.run("DEBIAN_FRONTEND=noninteractive apt-get --yes full-upgrade", timeout=600)
    check_node(node, project, OLD)


def test_check_mode_tells_of_the_upgrade_and_does_not_do_it(node: Host, project: Project) -> None:
    run = project.run(INSTALL, NEW, "--check", "--diff")
    assert run.rc == 0, run.output
    assert run.changed > 0
    assert "+Pin: version %s" % project.lock(NEW)["driver"]["packages"]["nvidia-kernel-dkms"] in run.output
    check_node(node, project, OLD)
    assert_nothing_to_do(project, OLD)


def test_up_to_the_newer_revision(node: Host, project: Project) -> None:
    take_to(node, project, NEW)


def test_down_to_the_older_revision(node: Host, project: Project) -> None:
    take_to(node, project, OLD)


def take_to(node: Host, project: Project, name: str) -> None:
    """The whole set moves, the modules are built anew, and so is the initramfs; then there is nothing left to do."""
    module, image = module_built(node, project), recorded_image(node, project)["image"]
    run = project.run(INSTALL, name, timeout=BUILD_SECONDS)
    assert run.rc == 0, run.output
    assert run.changed > 0
    check_node(node, project, name)
    assert module_built(node, project) != module
    assert recorded_image(node, project)["image"] != image
    assert_nothing_to_do(project, name)


def test_nothing_of_another_version_is_left_behind(node: Host, project: Project) -> None:
    driver = {name: version for name, version in installed(node).items() if re.match(r"(lib)?nvidia-|libcuda1", name)}
    newer = {name: version for name, version in driver.items() if "~bpo13" in version}
    assert newer == {}
    assert pathlib.PurePosixPath(node.output("readlink -f /usr/lib/x86_64-linux-gnu/libcuda.so.1")).name == (
        "libcuda.so.%s" % DRIVER
    )
