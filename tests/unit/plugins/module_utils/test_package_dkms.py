# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel and driver that move together, and builds of DKMS that fail for another kernel or another module."""

from __future__ import annotations

import os

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import package_dkms
from ansible_collections.goldennode.gpu.plugins.module_utils.package_dkms import Dkms
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_package_set import (
    KERNEL,
    NAMES,
    Node,
    apply,
    refused,
)

OLD, NEW = "550.163.01-1", "580.159.03-1"
HEADERS, IMAGE = "linux-headers-" + KERNEL, "linux-image-" + KERNEL
KERNEL_SET = {IMAGE: "6.12.57-1", HEADERS: "6.12.57-1"}
DRIVER_SET = dict.fromkeys(NAMES, NEW)
WANTED = "580.159.03"
OTHER_KERNEL = "7.3.4+deb13-amd64"

HOOK = """\
Setting up %(package)s (6.12.57-1) ...
/etc/kernel/header_postinst.d/dkms:
dkms: running auto installation service for kernel %(kernel)s.
Error! Bad return status for module build on kernel: %(kernel)s (x86_64)
Consult /var/lib/dkms/%(module)s/build/make.log for more information.
Error! One or more modules failed to install during autoinstall.
Refer to previous errors for more information.
dkms: autoinstall for kernel: %(kernel)s failed!
run-parts: /etc/kernel/header_postinst.d/dkms exited with return code 11
dpkg: error processing package %(package)s (--configure):
 installed %(package)s package post-installation script subprocess returned error exit status 11
"""


def hook(module, package=HEADERS, kernel=KERNEL):
    return HOOK % {"module": module, "package": package, "kernel": kernel}


class Moving(Node):
    """A node whose old driver does not build on the new kernel: scripts of the kernel's packages fail as long as the
    old one's source is there.
    """

    def __init__(self, root):
        super().__init__(root)
        self.have(dict.fromkeys(NAMES, OLD))
        self.repository = {**{name: [NEW, OLD] for name in NAMES}, **{name: ["6.12.57-1"] for name in KERNEL_SET}}
        self.builds = {WANTED}
        self.other = ""  # a package of another kernel's whose script fails for ever
        self.put("/var/lib/dkms/nvidia/550.163.01/build/make.log", "nvidia-drm-fb.c:41: error: too few arguments\n")
        self.mended_by_apt = True

    def play(self, words, argv):
        self.broken = {}
        source = self.built()
        if source not in self.builds:
            self.broken = {name: hook("nvidia/" + source, name) for name in KERNEL_SET}
        if self.other:
            self.broken[self.other] = hook("nvidia/" + WANTED, self.other, OTHER_KERNEL)
        if words[0] == "dkms":
            return (0, "") if source in self.builds else (11, hook("nvidia/" + source))
        return super().play(words, argv)

    def install(self, only_download, argv):
        rc, text = super().install(only_download, argv)
        if only_download:
            return rc, text
        if self.built() in self.builds:
            self.broken = {name: said for name, said in self.broken.items() if name == self.other}
        if IMAGE in self.status:
            self.put("/boot/vmlinuz-" + KERNEL, "")
            os.makedirs(self.real("/lib/modules/%s/build" % KERNEL), exist_ok=True)
            self.modules = {KERNEL} if self.built() in self.builds else set()
        if not self.mended_by_apt:
            return rc, text
        failed = self.configure()  # apt configures what waits, as dpkg does with --pending
        return (100, text + failed[1]) if rc or failed[0] else (0, "")


@pytest.fixture
def node(tmp_path):
    return Moving(tmp_path)


def kernel_axis(node, **options):
    return apply(node, KERNEL_SET, driver=WANTED, **options)


def driver_axis(node, **options):
    return apply(node, DRIVER_SET, dkms=Dkms(KERNEL, WANTED), keep={**KERNEL_SET, **DRIVER_SET}, **options)


# --- kernel and driver move together ------------------------------------------------------------------------------


def test_an_old_driver_that_does_not_build_on_the_new_kernel_does_not_end_the_kernels_axis(node):
    outcome = kernel_axis(node)
    assert outcome.warnings == (
        "%s, %s is not configured yet: the driver 550.163.01 that is installed does not build on kernel %s. It is"
        " finished when the driver 580.159.03 of the lock is installed" % (HEADERS, IMAGE, KERNEL),
    )
    assert {IMAGE, HEADERS} <= set(node.held())


@pytest.mark.parametrize("mended_by_apt", [True, False])
def test_the_drivers_axis_then_finishes_what_waited_for_it(node, mended_by_apt):
    kernel_axis(node)
    node.mended_by_apt = mended_by_apt
    outcome = driver_axis(node)
    assert node.versions() == {**KERNEL_SET, **DRIVER_SET}
    assert not [warning for warning in outcome.warnings if "configured" in warning]
    assert not kernel_axis(node).changed
    assert not driver_axis(node).changed


def test_the_old_driver_is_not_built_once_more_before_the_new_one_replaces_it(node):
    """A build that fails takes minutes, and what it fails by is what this transaction takes away."""
    kernel_axis(node)
    driver_axis(node)
    assert node.did("dpkg", "--configure") == []


def test_a_run_that_died_between_the_two_is_finished_by_the_next(node):
    kernel_axis(node)
    again = kernel_axis(node)
    assert not again.changed
    assert "is not configured yet" in again.warnings[0]
    assert len(node.did("dpkg", "--configure")) == 1
    assert not node.did("apt-get", "install")
    driver_axis(node)
    assert node.versions() == {**KERNEL_SET, **DRIVER_SET}


def test_also_where_dpkg_was_broken_off(node):
    kernel_axis(node)
    node.put("/var/lib/dpkg/updates/0000", "")
    driver_axis(node)
    assert node.versions() == {**KERNEL_SET, **DRIVER_SET}


def test_a_run_that_died_after_the_drivers_transaction_is_finished_by_the_next_kernels_axis(node):
    kernel_axis(node)
    node.have(DRIVER_SET)
    node.modules.add(KERNEL)
    outcome = kernel_axis(node)
    assert outcome.warnings == ()
    assert node.versions() == {**KERNEL_SET, **DRIVER_SET}


def test_the_wanted_driver_that_does_not_build_on_this_kernel_is_still_an_error_in_the_bundle(node):
    node.builds = set()
    node.put("/var/lib/dkms/nvidia/580.159.03/build/make.log", "nv.c:1: error: too few arguments\n")
    kernel_axis(node)
    message = refused(node, DRIVER_SET, dkms=Dkms(KERNEL, WANTED))
    assert "there is no module nvidia 580.159.03 for kernel %s: DKMS could not build the module" % KERNEL in message
    assert "Use a driver that supports this kernel, or another kernel, in the bundle" in message
    assert "Use a driver that supports this kernel" in refused(node, KERNEL_SET, driver=WANTED)


def test_without_a_driver_to_come_it_is_an_error(node):
    assert "could not be installed: DKMS could not build the module" in refused(node, KERNEL_SET)


def test_a_module_of_somebody_elses_that_fails_too_is_an_error(node):
    """The driver's axis would not mend it."""
    real = Moving.play

    def play(words, argv):
        rc, text = real(node, words, argv)
        return rc, text + (hook("virtualbox/7.0") if rc == 100 else "")

    node.play = play
    message = refused(node, KERNEL_SET, driver=WANTED)
    assert "DKMS could not build the module virtualbox 7.0 for kernel %s" % KERNEL in message
    assert "virtualbox is none of the lock's: remove it, or install one that builds on this kernel" in message


def test_another_kernel_that_stays_unfinished_is_a_warning(node):
    node.other = "linux-headers-" + OTHER_KERNEL
    node.have({node.other: "7.3.4-1"}, status="half-configured")
    outcome = driver_axis(node)
    assert "%s cannot be configured: DKMS could not build" % node.other in outcome.warnings[-1]
    assert (
        "Kernel %s is not the one that the lock's driver is wanted for (%s)" % (OTHER_KERNEL, KERNEL)
        in (outcome.warnings[-1])
    )


# --- whose fault a build is ---------------------------------------------------------------------------------------


def test_a_kernel_that_is_not_the_locks_is_named_with_the_way_to_be_rid_of_it(node):
    text = (
        "Setting up nvidia-kernel-open-dkms (580.159.03-1) ...\n"
        "Building initial module for 6.12.57+deb13-amd64\nDone.\n"
        "Building initial module for 7.3.4+deb13-amd64\n"
        "Error! Bad return status for module build on kernel: 7.3.4+deb13-amd64 (x86_64)\n"
        "Consult /var/lib/dkms/nvidia/580.159.03/build/make.log for more information.\n"
    )
    node.put("/var/lib/dkms/nvidia/580.159.03/build/make.log", "nv.c:1: error: too few arguments\n")
    assert package_dkms.why(node, text, KERNEL, WANTED) == (
        "DKMS could not build the module for kernel 7.3.4+deb13-amd64 (its log: /var/lib/dkms/nvidia/580.159.03/build/"
        "make.log): the driver does not build on this kernel: nv.c:1: error: too few arguments",
        "Kernel 7.3.4+deb13-amd64 is not the one that the lock's driver is wanted for (6.12.57+deb13-amd64): remove its"
        " image and headers from the node (apt-get remove linux-image-7.3.4+deb13-amd64"
        " linux-headers-7.3.4+deb13-amd64), after a reboot where it is the one that runs",
    )


def test_a_full_disk_is_no_reason_to_remove_a_kernel(node):
    node.put("/var/lib/dkms/nvidia/580.159.03/build/make.log", "cc1: fatal error: write: No space left on device\n")
    found = package_dkms.why(node, hook("nvidia/580.159.03", kernel=OTHER_KERNEL), KERNEL, WANTED)
    assert found[1] == "Make room below /var/lib/dkms and /tmp"


def test_what_keeps_the_wanted_driver_from_the_wanted_kernel_is_told_before_all_else(node):
    text = "".join(
        hook(module, kernel=kernel)
        for module, kernel in (
            ("nvidia/550.163.01", KERNEL),
            ("virtualbox/7.0", KERNEL),
            ("nvidia/580.159.03", OTHER_KERNEL),
            ("nvidia/580.159.03", KERNEL),
        )
    )
    found = package_dkms.why(node, text, KERNEL, WANTED)
    assert "for kernel %s (its log: /var/lib/dkms/nvidia/580.159.03/" % KERNEL in found[0]


def test_the_compiler_of_the_kernel_that_runs_is_known(node):
    node.put("/proc/version", "Linux version %s (x@y) (x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0)\n" % KERNEL)
    log = "cc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'\n"
    node.put("/var/lib/dkms/nvidia/580.159.03/build/make.log", log)
    found = package_dkms.why(node, hook("nvidia/580.159.03"), KERNEL, WANTED)
    assert found[1] == "Install the compiler that built that kernel (gcc-14)"


# --- case 061, forward --------------------------------------------------------------------------------------------


def test_headers_that_no_repository_has_any_more_are_named_with_the_way_out(node):
    node.repository[HEADERS] = ["6.12.63-1"]
    message = refused(node, KERNEL_SET, driver=WANTED)
    assert "%s=6.12.57-1 cannot be had: no repository of this node has it" % HEADERS in message
    assert "There is 6.12.63-1." in message
    assert "Add the repository that has it to the bundle's sources, or resolve a new lock" in message
    assert "Nothing was changed." in message
