# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot loader's default is set by ids, read back, undone when it does not come out, left alone when it is right.

``Node`` is a real folder tree seen as the root of a machine. Its ``update-grub`` reads the settings as the real one
does, in the order of the names, and fills them into what the real one wrote.
"""

from __future__ import annotations

import os
import re

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import boot_default
from ansible_collections.goldennode.gpu.plugins.module_utils.boot_default import BootError, Result
from ansible_collections.goldennode.gpu.plugins.module_utils.model import BootDefault
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import boot_default as probe
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure
from ansible_collections.goldennode.gpu.tests.unit import fixtures
from ansible_collections.goldennode.gpu.tests.unit.rooted import Rooted

OLD, NEW = "6.12.48+deb13-amd64", "6.12.57+deb13-amd64"
DISK = "6c3b5a1e-2f0d-4b7a-9c55-0d7f3f6b2a11"
FLAT = fixtures.text("grub_mkconfig-2.12-flat-debian13.txt")
WRITTEN = fixtures.text("grub_mkconfig-2.12-debian13.txt")
CONFIG, DROP_IN = "/boot/grub/grub.cfg", "/etc/default/grub.d/zz-goldennode.cfg"
PINNED = boot_default.HEADER + 'GRUB_DEFAULT="gnulinux-advanced-%s>gnulinux-%s-advanced-%s"\n' % (DISK, OLD, DISK)
WITH_WORDS = 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX %s"\n'


class Node(Rooted):
    def __init__(self, root):
        self.root = str(root)
        self.clock = 1_700_000_000
        self.updates = 0
        self.broken = []  # what one update-grub after the other does instead; None: its work
        for kernel in (OLD, NEW):
            self.put("/boot/vmlinuz-" + kernel, "kernel")
        self.put("/etc/default/grub", 'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\n')
        self.put(CONFIG, WRITTEN)

    def put(self, path, text):
        self.clock += 10
        os.makedirs(os.path.dirname(self.real(path)), exist_ok=True)
        with open(self.real(path), "w", encoding="utf-8") as stream:
            stream.write(text)
        os.utime(self.real(path), (self.clock, self.clock))

    def text(self, path):
        return self.read(path).value

    # The machine, below another root

    def write(self, path, content, like=None):
        super().write(path, content, like)
        self.clock += 10
        os.utime(self.real(path), (self.clock, self.clock))

    def remove(self, path):
        super().remove(self.real(path))

    def run(self, argv, timeout, **_options):
        words = tuple(argv)
        assert words == ("update-grub",)
        assert timeout > 0
        self.updates += 1
        wrong = self.broken.pop(0) if self.broken else None
        if wrong is not None:
            return Command("host", words, **wrong)
        self.put(CONFIG, self.generated())
        return Command("host", words, 0)

    def generated(self):
        default, words = "0", ""
        folder = "/etc/default/grub.d"
        names = sorted(self.listdir(folder).value or {})
        for path in ["/etc/default/grub"] + ["%s/%s" % (folder, name) for name in names if name.endswith(".cfg")]:
            for name, value in re.findall(r'^(GRUB_DEFAULT|GRUB_CMDLINE_LINUX)="?([^"\n]*)"?$', self.text(path), re.M):
                if name == "GRUB_DEFAULT":
                    default = value
                else:
                    words = value.replace("$GRUB_CMDLINE_LINUX", words)
        flat = "GRUB_DISABLE_SUBMENU=y" in self.text("/etc/default/grub")
        text = re.sub('set default="[0g][^"]*"', 'set default="%s"' % default, FLAT if flat else WRITTEN)
        return text.replace(" ro  quiet", " ro %s quiet" % words)


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def apply(node, kernel=OLD, arguments=(), **options):
    return boot_default.apply(node, kernel, arguments, 60, **options)


def refused(node, kernel=OLD, arguments=()):
    with pytest.raises((BootError, SystemFailure)) as caught:
        apply(node, kernel, arguments)
    return str(caught.value)


def settled(node, *wanted, **options):
    """A second run with the same wish changes nothing and runs nothing."""
    node.updates = 0
    result = apply(node, *wanted, **options)
    assert (result.changed, node.updates) == (False, 0)
    return result


# What is read


def test_what_is_started_by_default(node):
    assert probe.boot_default(node).value == BootDefault(
        "grub", CONFIG, NEW, "Debian GNU/Linux", ("root=/dev/sda1", "ro", "quiet")
    )


def test_a_choice_for_the_next_boot_is_told_apart(node):
    node.put("/boot/grub/grubenv", "# GRUB Environment Block\nnext_entry=1>2\n")
    found = probe.boot_default(node).value
    assert (found.kernel, found.once) == (NEW, OLD)


def test_no_boot_loader_that_is_known(node):
    node.remove(CONFIG)
    assert probe.boot_default(node).value is None
    assert probe.boot_default(node).known
    assert apply(node) == Result(False)


@pytest.mark.parametrize(("name", "grub"), [("systemd-boot 257.9-1", False), ("GRUB 2.12", True)])
def test_what_the_firmware_says_of_its_boot_loader_counts(node, name, grub):
    os.makedirs(node.real("/sys/firmware/efi/efivars"))
    with open(node.real("/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"), "wb") as stream:
        stream.write(b"\x06\0\0\0" + (name + "\0").encode("utf-16-le"))
    assert (probe.boot_default(node).value is not None) is grub


def test_an_administrators_own_configuration_counts_where_grub_reads_it(node):
    """What 41_custom reads comes last, and so has the last word."""
    node.put("/boot/grub/custom.cfg", 'menuentry "rescue" { linux /rescue/vmlinuz ; }\nset default=rescue\n')
    found = probe.boot_default(node).value
    assert (found.entry, found.kernel) == ("rescue", None)
    assert "has not what it says" in refused(node)
    node.put(CONFIG, WRITTEN.partition("### BEGIN /etc/grub.d/41_custom ###")[0])
    assert probe.boot_default(node).value.kernel == NEW


def test_entries_in_files_of_their_own_are_not_read(node):
    node.put(CONFIG, WRITTEN + "insmod blscfg\nblscfg\n")
    assert probe.boot_default(node).value is None


def test_what_cannot_be_read_is_not_known(node):
    node.put(CONFIG, WRITTEN + "if sleep 1; then\nset default=1\nfi\n")
    assert "condition that is not understood" in refused(node)


# What is set


def test_another_kernel_is_made_the_default_by_ids(node):
    result = apply(node)
    assert (result.changed, result.loader, result.kernel, node.updates) == (True, "grub", OLD, 1)
    assert result.entry.endswith("Debian GNU/Linux, with Linux " + OLD)
    assert node.text(DROP_IN) == result.after == PINNED
    assert settled(node).kernel == OLD


def test_a_default_that_is_right_is_left_alone(node):
    assert settled(node, NEW).kernel == NEW
    assert node.text(DROP_IN) is None


def test_a_newer_kernel_moves_nothing(node):
    apply(node)
    node.put(CONFIG, node.generated().replace(NEW, "6.12.63+deb13-amd64"))
    assert settled(node).kernel == OLD


def test_the_users_own_default_is_neither_followed_nor_edited(node):
    mine = 'GRUB_DEFAULT="1>0"\n'
    node.put("/etc/default/grub", mine)
    node.put("/etc/default/grub.d/50-cloudimg-settings.cfg", "GRUB_DEFAULT=saved\n")
    assert apply(node).kernel == OLD
    assert node.text("/etc/default/grub") == mine


def test_a_setting_of_the_users_that_was_not_in_force_yet(node):
    """Without submenus the entry has another way to it, which is known only after the first update."""
    node.put("/etc/default/grub", "GRUB_DISABLE_SUBMENU=y\n")
    result = apply(node)
    assert (result.kernel, node.updates) == (OLD, 2)
    assert node.text(DROP_IN) == result.after == PINNED.replace("gnulinux-advanced-%s>" % DISK, "")
    settled(node)


def test_another_lock_has_another_kernel(node):
    apply(node)
    assert apply(node, NEW).kernel == NEW
    assert NEW in node.text(DROP_IN)
    settled(node, NEW)


def test_words_for_the_command_line(node):
    result = apply(node, NEW, ["iommu=pt", "rd.driver.blacklist=nouveau"])
    assert result.after == boot_default.HEADER + WITH_WORDS % "iommu=pt rd.driver.blacklist=nouveau"
    found = probe.boot_default(node).value
    assert found.arguments == ("root=/dev/sda1", "ro", "iommu=pt", "rd.driver.blacklist=nouveau", "quiet")
    assert found.added == ("iommu=pt", "rd.driver.blacklist=nouveau")
    assert not found.pinned
    settled(node, NEW, ["iommu=pt", "rd.driver.blacklist=nouveau"])
    assert apply(node, NEW, ["iommu=pt"]).changed
    assert apply(node, NEW).changed
    assert node.text(DROP_IN) is None
    assert probe.boot_default(node).value.arguments == ("root=/dev/sda1", "ro", "quiet")


def test_kernel_and_words_together(node):
    assert apply(node, OLD, ["iommu=pt"]).after == PINNED + WITH_WORDS % "iommu=pt"
    assert probe.boot_default(node).value.pinned
    settled(node, OLD, ["iommu=pt"])


def test_the_words_of_the_user_stay(node):
    node.put("/etc/default/grub", 'GRUB_CMDLINE_LINUX="console=ttyS0"\n')
    apply(node, NEW, ["iommu=pt"])
    assert probe.boot_default(node).value.arguments == ("root=/dev/sda1", "ro", "console=ttyS0", "iommu=pt", "quiet")


def test_what_was_set_is_taken_away(node):
    apply(node)
    result = apply(node, None)
    assert (result.changed, result.before, result.after, result.kernel) == (True, PINNED, "", NEW)
    assert node.text(DROP_IN) is None
    settled(node, None)


# What fails, and what is left of a run that was killed


def test_a_run_that_was_killed_before_the_update_is_finished(node):
    node.put(DROP_IN, PINNED)
    assert apply(node).changed
    assert node.updates == 1
    settled(node)


def test_a_removal_that_was_killed_before_the_update_is_finished(node):
    apply(node)
    node.put(DROP_IN, boot_default.HEADER)
    assert probe.boot_default(node).value.kernel == OLD
    assert apply(node, None).kernel == NEW
    assert node.text(DROP_IN) is None


@pytest.mark.parametrize("before", [None, boot_default.HEADER + WITH_WORDS % "mine=1"])
def test_a_failed_update_is_undone(node, before):
    if before:
        node.put(DROP_IN, before)
        node.put(CONFIG, node.generated())
    node.broken = [{"rc": 1, "stderr": "/usr/sbin/grub-mkconfig: 12: Syntax error: end of file unexpected\n"}]
    message = refused(node)
    assert message.startswith("update-grub failed: update-grub: rc 1: /usr/sbin/grub-mkconfig: 12: Syntax error")
    end = "was put back as it was again, and update-grub run" if before else "was removed again, and update-grub run"
    assert message.endswith(end)
    assert node.text(DROP_IN) == before
    assert (node.updates, probe.boot_default(node).value.kernel) == (2, NEW)


def test_an_update_that_hangs_and_its_undoing_too(node):
    hangs = {"timed_out": True, "error": "update-grub gave no answer within 60 s and was killed (pid 7)"}
    node.broken = [hangs, hangs]
    message = refused(node)
    assert "gave no answer within 60 s" in message
    assert "its undoing could not be taken up" in message
    assert node.text(DROP_IN) is None


def test_a_later_word_that_wins_is_named_and_ours_taken_back(node):
    node.put("/etc/default/grub.d/zzz-xen.cfg", "GRUB_DEFAULT=0\n")
    message = refused(node)
    assert "it starts %s by default (the entry 'Debian GNU/Linux')" % NEW in message
    assert "GRUB_DEFAULT is also set in /etc/default/grub, /etc/default/grub.d/zzz-xen.cfg" in message
    assert node.text(DROP_IN) is None


def test_a_kernel_that_is_not_installed(node):
    assert refused(node, "6.12.99+deb13-amd64") == (
        "kernel 6.12.99+deb13-amd64 cannot be the default of the boot loader: /boot/vmlinuz-6.12.99+deb13-amd64 is not "
        "there. Install its package"
    )
    assert node.updates == 0


def test_a_menu_from_before_the_kernel_was_installed_is_made_anew(node):
    node.put(CONFIG, WRITTEN.replace(OLD, "6.1.0-1-amd64"))
    result = apply(node)
    assert (result.changed, result.kernel, node.updates) == (True, OLD, 2)
    settled(node)


def test_an_installed_kernel_that_gets_no_entry(node):
    node.put("/boot/vmlinuz-6.9", "kernel")
    message = refused(node, "6.9")
    assert "/boot/vmlinuz-6.9 is there, and /boot/grub/grub.cfg has no entry with an id for it" in message


def test_without_update_grub(node):
    node.broken = [{"missing": True, "error": "update-grub is not installed"}] * 2
    assert "update-grub is not installed: install grub2-common" in refused(node)


# Check mode


@pytest.mark.parametrize(("kernel", "changed"), [(OLD, True), (NEW, False), ("6.12.99+deb13-amd64", True)])
def test_check_mode_tells_and_changes_nothing(node, kernel, changed):
    result = apply(node, kernel, check_mode=True)
    assert (result.changed, result.kernel) == (changed, NEW)
    assert (kernel in result.after) is changed
    assert (node.updates, node.text(DROP_IN)) == (0, None)
