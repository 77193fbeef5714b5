# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kernel's initramfs is rebuilt when it is stale and only then, read back, and recorded only after success.

``Node`` is a real folder tree seen as the root of a machine, with a builder that copies modprobe.d into its images.
"""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import initramfs
from ansible_collections.goldennode.gpu.plugins.module_utils.probe import initramfs as probe
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure
from ansible_collections.goldennode.gpu.tests.unit.rooted import Rooted

OLD, NEW = "6.12.48+deb13-amd64", "6.12.57+deb13-amd64"
BLACKLIST = ("nouveau", "nova_core")
RECORD = "/var/lib/goldennode/initramfs.json"


class Node(Rooted):
    def __init__(self, root, kernels=(OLD, NEW), tool="initramfs-tools"):
        self.root = str(root)
        self.tool = tool
        self.clock = 1_700_000_000
        self.free = 1 << 30
        self.commands = []
        self.builder = {}  # rc, stderr, idle: what the builder does instead
        self.menu = {"rc": 0}  # how update-grub ends
        self.forced = ""  # a module that the builder always puts in
        self.nvidia = {"lib/modules/x/updates/dkms/nvidia.ko": "580.1"}  # what the builder finds to put in
        self.on_disk = "580.1"
        for kernel in kernels:
            self.put("/boot/vmlinuz-" + kernel, "kernel")
            os.makedirs(self.real("/lib/modules/" + kernel))
            self.put(self.image(kernel), json.dumps({"modules": ["nouveau.ko"], "modprobe": {}, "nvidia": {}}))
        self.blacklist("blacklist nouveau\n")

    def image(self, kernel):
        return ("/boot/initrd.img-%s" if self.tool == "initramfs-tools" else "/boot/initramfs-%s.img") % kernel

    def blacklist(self, text):
        self.put("/etc/modprobe.d/goldennode-blacklist.conf", text)

    def put(self, path, text):
        self.clock += 10
        os.makedirs(os.path.dirname(self.real(path)), exist_ok=True)
        with open(self.real(path), "w", encoding="utf-8") as stream:
            stream.write(text)
        os.utime(self.real(path), (self.clock, self.clock))

    def record(self):
        with open(self.real(RECORD), encoding="utf-8") as stream:
            return json.load(stream)["kernels"]

    # The machine, below another root

    def free_bytes(self, folder):
        assert folder == "/boot"
        return self.free

    def run(self, argv, timeout, **_options):
        words = tuple(argv)
        assert timeout > 0
        if words[0] == "python3":
            with open(self.real(words[-1]), encoding="utf-8") as stream:
                return Command("host", words, 0, stream.read() + "\n")
        self.commands.append(" ".join(words))
        if words[0] == "modinfo":
            answer = "version: %s\nlicense: Dual MIT/GPL\n" % self.on_disk if self.on_disk else ""
            return Command("host", words, 0 if answer else 1, answer, "modinfo: ERROR: Module nvidia not found.\n")
        if words[0] == "dpkg-query":
            if self.tool == "initramfs-tools":
                return Command("host", words, 0, "initramfs-tools: /usr/sbin/update-initramfs\n")
            if self.tool == "ubuntu-dracut":
                return Command("host", words, 0, "dracut: /usr/sbin/update-initramfs\n")
            if self.tool == "diverted":
                answer = "diversion by dracut from: %s\ndiversion by dracut to: %s.real\ninitramfs-tools: %s\n"
                return Command("host", words, 0, answer.replace("%s", "/usr/sbin/update-initramfs"))
            return Command("host", words, missing=True, error="dpkg-query is not installed")
        if words == ("dracut", "--version"):
            return Command("host", words, missing=self.tool == "none", rc=None if self.tool == "none" else 0)
        return self.build(words)

    def build(self, words):
        if self.builder:
            return Command("host", words, self.builder.get("rc", 0), "", self.builder.get("stderr", ""))
        if words[0] == "update-grub":
            return Command("host", words, **self.menu)
        kernel = words[-1]
        modprobe = {}
        folder = self.real("/etc/modprobe.d")
        for name in os.listdir(folder) if self.tool == "initramfs-tools" else ():
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                modprobe["etc/modprobe.d/" + name] = stream.read()
        omitted = words[words.index("--omit-drivers") + 1].split() if "--omit-drivers" in words else []
        modules = [m + ".ko" for m in ("nouveau", "ext4") if m not in omitted]
        modules += [self.forced] if self.forced else []
        self.put(self.image(kernel), json.dumps({"modules": modules, "modprobe": modprobe, "nvidia": self.nvidia}))
        return Command("host", words, 0)

    @property
    def builds(self):
        return [c for c in self.commands if not c.startswith(("dpkg-query", "modinfo")) and c != "dracut --version"]


def rebuild(node, blacklist=BLACKLIST, **options):
    node.commands.clear()
    return initramfs.rebuild(node, blacklist, 600, **options)


def refused(node, **options):
    with pytest.raises((initramfs.InitramfsError, SystemFailure)) as caught:
        rebuild(node, **options)
    return str(caught.value)


def test_every_kernel_is_rebuilt_once(tmp_path):
    node = Node(tmp_path)
    results = rebuild(node)
    assert node.builds == ["update-initramfs -u -k " + OLD, "update-initramfs -u -k " + NEW]
    assert [(r.kernel, r.rebuilt, r.nouveau, r.blacklisted) for r in results] == [
        (OLD, True, True, True),
        (NEW, True, True, True),
    ]
    assert node.record()[NEW]["nvidia_version"] == "580.1"
    again = rebuild(node)
    assert node.builds == []
    assert [(r.rebuilt, r.reason, r.nouveau, r.blacklisted) for r in again] == [(False, "", True, True)] * 2


def test_a_changed_blacklist_makes_all_stale(tmp_path):
    node = Node(tmp_path)
    rebuild(node)
    node.blacklist("blacklist nouveau\noptions nouveau modeset=0\n")
    results = rebuild(node)
    assert {r.reason for r in results} == {"its configuration or modules have changed since its image was built"}
    assert len(node.builds) == 2


def test_the_same_blacklist_written_again_makes_none_stale(tmp_path):
    node = Node(tmp_path)
    rebuild(node)
    node.blacklist("blacklist nouveau\n")
    assert not any(r.rebuilt for r in rebuild(node))


def test_an_image_that_somebody_else_built_is_built_again(tmp_path):
    node = Node(tmp_path)
    rebuild(node)
    node.put(node.image(OLD), '{"modules": ["nouveau.ko"], "modprobe": {}, "nvidia": {}}')
    assert [(r.kernel, r.reason) for r in rebuild(node) if r.rebuilt] == [
        (OLD, "its image was changed by somebody else")
    ]


def test_a_new_kernel_is_built_and_a_removed_one_forgotten(tmp_path):
    node = Node(tmp_path, kernels=(OLD,))
    rebuild(node)
    os.remove(node.real("/boot/vmlinuz-" + OLD))
    os.remove(node.real(node.image(OLD)))
    node.put(node.image(NEW), "{}")
    os.makedirs(node.real("/lib/modules/" + NEW))
    results = rebuild(node)
    assert [(r.kernel, r.rebuilt, r.reason) for r in results] == [(NEW, True, "its image was not built by this module")]
    assert list(node.record()) == [NEW]


# A kernel without an image


def without(node, kernel=NEW):
    os.remove(node.real(node.image(kernel)))
    return node


def seen(node, kernel=NEW):
    """What the look says of that kernel, and what the module does: they must agree."""
    images = {one.kernel: one for one in probe.initramfs(node, True).value}
    built = {result.kernel: result for result in rebuild(node)}
    assert images[kernel].missing is built[kernel].rebuilt
    return built[kernel]


def test_machines_whose_kernels_all_boot_without_an_image_get_none(tmp_path):
    node = without(Node(tmp_path, kernels=(NEW,), tool="none"))
    assert (seen(node).rebuilt, seen(node).nouveau) == (False, None)
    assert node.commands == []


def test_a_kernel_that_lost_its_image_gets_a_new_one(tmp_path):
    """Also where the image was never made, as /boot was full."""
    node = Node(tmp_path)
    rebuild(node)
    result = seen(without(node))
    assert (result.rebuilt, result.reason, result.blacklisted) == (True, "it has no image", True)
    assert node.builds == ["update-initramfs -c -k " + NEW]
    assert not seen(node).rebuilt
    assert node.builds == []


@pytest.mark.parametrize(
    ("tool", "generator", "build"),
    [
        ("initramfs-tools", "/usr/sbin/update-initramfs", "update-initramfs -c -k %s" % NEW),
        (
            "dracut",
            "/usr/bin/dracut",
            "dracut --force --omit-drivers nouveau nova_core /boot/initramfs-%s.img --kver %s" % (NEW, NEW),
        ),
    ],
)
def test_a_single_kernel_without_an_image_gets_one_where_a_tool_is_installed(tmp_path, tool, generator, build):
    node = without(Node(tmp_path, kernels=(NEW,), tool=tool))
    node.put(generator, "")
    if tool == "initramfs-tools":
        os.makedirs(node.real("/var/lib/dpkg"))
    assert seen(node).rebuilt
    assert node.builds == [build]


def test_dracut_names_a_new_image_as_those_of_other_kernels(tmp_path):
    """Debian and Ubuntu keep their names with dracut too."""
    node = without(Node(tmp_path, tool="dracut"))
    os.rename(node.real(node.image(OLD)), node.real("/boot/initrd.img-" + OLD))
    node.image = lambda kernel: "/boot/initrd.img-" + kernel
    assert seen(node).rebuilt
    assert node.builds[-1].endswith("/boot/initrd.img-%s --kver %s" % (NEW, NEW))


@pytest.mark.parametrize("config", ["CONFIG_MODULES=y\n# CONFIG_BLK_DEV_INITRD is not set\n", "CONFIG_MODULES=y\n"])
def test_a_kernel_that_is_built_to_take_no_image_gets_none(tmp_path, config):
    node = without(Node(tmp_path))
    node.put("/boot/config-" + NEW, config)
    assert not seen(node).rebuilt


def test_a_kernel_that_takes_an_image_by_its_configuration_gets_one(tmp_path):
    node = without(Node(tmp_path))
    node.put("/boot/config-" + NEW, "CONFIG_BLK_DEV_INITRD=y\n")
    assert seen(node).rebuilt


def test_a_kernel_that_is_not_in_boot_is_started_from_elsewhere(tmp_path):
    node = without(Node(tmp_path))
    os.makedirs(node.real("/lib/modules/" + NEW), exist_ok=True)
    os.rename(node.real("/boot/vmlinuz-" + NEW), node.real("/lib/modules/%s/vmlinuz" % NEW))
    assert not seen(node).rebuilt


def test_an_image_that_cannot_be_made_is_an_error(tmp_path):
    node = without(Node(tmp_path))
    build = node.build
    node.build = lambda words: build(words) if words[-1] == OLD else Command("host", words, 1, "", "No space left\n")
    assert refused(node) == (
        "the initramfs of kernel %s could not be built: update-initramfs -c -k %s: rc 1: No space left" % (NEW, NEW)
    )


def test_a_builder_that_makes_no_image_is_not_believed(tmp_path):
    node = without(Node(tmp_path, kernels=(OLD, NEW)))
    build = node.build
    node.build = lambda words: build(words) if words[-1] == OLD else Command("host", words, 0)
    assert refused(node) == (
        "update-initramfs ended well, and /boot/initrd.img-%s is not there. Do not reboot into kernel %s. It said: "
        "update-initramfs -c -k %s: rc 0" % (NEW, NEW, NEW)
    )


def test_the_space_for_an_image_is_that_of_another(tmp_path):
    node = Node(tmp_path)
    rebuild(node)
    without(node).put(node.image(OLD), " " * (40 << 20))
    record = node.record()
    record[OLD]["image"] = probe.image_digest(node, node.image(OLD)).value
    node.put(RECORD, json.dumps({"schema": 1, "kernels": record}))
    node.free = 50 << 20
    assert "50 MiB free; to build the initramfs of kernel %s takes about 66 MiB." % NEW in refused(node)


def test_check_mode_says_that_an_image_would_be_made(tmp_path):
    node = Node(tmp_path)
    rebuild(node)
    results = rebuild(without(node), check_mode=True)
    assert [(r.kernel, r.rebuilt, r.reason) for r in results if r.rebuilt] == [(NEW, True, "it has no image")]
    assert node.builds == []


# GRUB's menu

MENU = "menuentry 'x' {\n\tlinux\t/boot/vmlinuz-%s root=/dev/sda1 ro\n}\n" % NEW
WITH_IMAGE = MENU.replace("ro\n", "ro\n\tinitrd\t/boot/initrd.img-%s\n" % NEW)


def with_menu(node, text=MENU):
    node.put("/boot/grub/grub.cfg", text)
    return node


def test_a_menu_that_starts_the_kernel_without_its_image_is_made_anew(tmp_path):
    """It was made while there was none."""
    node = with_menu(without(Node(tmp_path, kernels=(OLD, NEW))))
    rebuild(node)
    assert node.builds[-2:] == ["update-initramfs -c -k " + NEW, "update-grub"]


@pytest.mark.parametrize("text", [WITH_IMAGE, MENU.replace(NEW, NEW + "x"), "insmod blscfg\nblscfg\n"])
def test_a_menu_that_names_the_image_or_not_the_kernel_is_left_alone(tmp_path, text):
    node = with_menu(without(Node(tmp_path)), text)
    rebuild(node)
    assert "update-grub" not in node.builds


def test_killed_before_the_menu_was_made_anew_the_next_run_does_it(tmp_path):
    node = with_menu(without(Node(tmp_path)))
    build = node.build

    def die(words):
        if words[0] == "update-grub":
            raise KeyboardInterrupt
        return build(words)

    node.build = die
    with pytest.raises(KeyboardInterrupt):
        rebuild(node)
    node.build = build
    rebuild(node)
    assert node.builds == ["update-initramfs -u -k " + NEW, "update-grub"]


def test_a_menu_that_cannot_be_made_anew_is_an_error(tmp_path):
    node = with_menu(without(Node(tmp_path)))
    node.menu = {"rc": 1, "stderr": "cannot find a device for /\n"}
    assert refused(node) == (
        "/boot/initrd.img-%s was built, but /boot/grub/grub.cfg starts kernel %s without it, and could not be made "
        "anew: update-grub: rc 1: cannot find a device for /. Do not reboot before update-grub has run" % (NEW, NEW)
    )
    assert NEW not in node.record()


def test_without_update_grub_the_menu_is_somebody_elses(tmp_path):
    node = with_menu(without(Node(tmp_path)))
    node.menu = {"rc": None, "missing": True, "error": "update-grub is not installed"}
    assert [r.kernel for r in rebuild(node) if r.rebuilt] == [OLD, NEW]


def test_killed_after_the_first_kernel_the_next_run_does_the_rest(tmp_path):
    node = Node(tmp_path)
    build = node.build

    def die(words):
        if words[-1] == NEW:
            raise KeyboardInterrupt
        return build(words)

    node.build = die
    with pytest.raises(KeyboardInterrupt):
        rebuild(node)
    assert list(node.record()) == [OLD]
    node.build = build
    rebuild(node)
    assert node.builds == ["update-initramfs -u -k " + NEW]


def test_no_kernel_no_work(tmp_path):
    assert rebuild(Node(tmp_path, kernels=())) == ()


# Tools


def test_dracut_leaves_the_modules_out(tmp_path):
    """An image for any machine has no /etc/modprobe.d in it."""
    node = Node(tmp_path, kernels=(NEW,), tool="dracut")
    results = rebuild(node)
    assert node.builds == [
        "dracut --force --omit-drivers nouveau nova_core /boot/initramfs-%s.img --kver %s" % (NEW, NEW)
    ]
    assert [(r.rebuilt, r.nouveau, r.blacklisted) for r in results] == [(True, False, False)]


def test_an_update_initramfs_that_belongs_to_dracut_is_passed_by(tmp_path):
    node = Node(tmp_path, kernels=(NEW,), tool="ubuntu-dracut")
    rebuild(node)
    assert node.builds[0].startswith("dracut --force ")


def test_an_update_initramfs_that_dracut_has_diverted_is_passed_by(tmp_path):
    node = Node(tmp_path, kernels=(NEW,), tool="diverted")
    rebuild(node)
    assert node.builds[0].startswith("dracut --force ")


def test_with_both_tools_the_one_that_owns_update_initramfs_builds(tmp_path):
    """What the hooks of a kernel's package would call as well."""
    node = Node(tmp_path, kernels=(NEW,))
    rebuild(node)
    assert node.builds == ["update-initramfs -u -k " + NEW]


def test_no_tool(tmp_path):
    assert refused(Node(tmp_path, tool="none")).startswith("neither initramfs-tools nor dracut is installed")


# What is refused


def test_nouveau_that_stays_inside_without_a_blacklist(tmp_path):
    """Case 015."""
    node = Node(tmp_path, kernels=(NEW,), tool="dracut")
    node.forced = "kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz"
    message = refused(node)
    assert message.startswith(
        "/boot/initramfs-%s.img was just rebuilt, and still holds nouveau without a blacklist" % NEW
    )
    assert not os.path.exists(node.real(RECORD))
    assert refused(node) == message  # no success, no record: the next run tries again


def test_the_file_that_puts_nouveau_in_is_named(tmp_path):
    node = Node(tmp_path, kernels=(NEW,), tool="dracut")
    node.forced = "nouveau.ko"
    node.put("/etc/dracut.conf.d/50-display.conf", 'add_drivers+=" nouveau "\n')
    node.put("/etc/dracut.conf.d/goldennode.conf", 'omit_drivers+=" nouveau "\n')
    assert "take nouveau out of /etc/dracut.conf.d/50-display.conf, and see" in refused(node)


@pytest.mark.parametrize(("on_disk", "said"), [("580.2", "580.2"), ("", "none")])
def test_an_old_nvidia_module_that_stays_inside(tmp_path, on_disk, said):
    """Each boot would load it, and a reboot would never help."""
    node = Node(tmp_path, kernels=(NEW,))
    node.nvidia = {
        "usr/lib/modules/%s/kernel/drivers/video/nvidia.ko" % NEW: "570.9",
        "lib/x/nvidia.ko": on_disk or None,
    }
    node.on_disk = on_disk
    node.put("/etc/initramfs-tools/modules", "# mine\nnvidia\n")
    message = refused(node)
    assert message.startswith(
        "/boot/initrd.img-%s was just rebuilt, and holds the nvidia module 570.9, while the disk has %s for kernel %s, "
        "so each boot would load the old one." % (NEW, said, NEW)
    )
    assert message.endswith("no such file is on the disk: look for nvidia in /etc/initramfs-tools/modules")
    assert not os.path.exists(node.real(RECORD))
    node.put("/lib/modules/%s/kernel/drivers/video/nvidia.ko" % NEW, "of an installer")
    assert "; /lib/modules/%s/kernel/drivers/video/nvidia.ko was put in: remove that file" % NEW in refused(node)


def test_an_image_whose_module_is_not_the_one_on_the_disk_is_rebuilt(tmp_path):
    node = Node(tmp_path, kernels=(NEW,))
    rebuild(node)
    node.on_disk = "580.2"
    node.nvidia = {"lib/modules/x/updates/dkms/nvidia.ko": "580.2"}
    (result,) = rebuild(node)
    assert result.reason == "it holds the nvidia module 580.1, which is not the one on the disk"
    assert not rebuild(node)[0].rebuilt


def test_nouveau_may_stay_where_it_is_not_blacklisted(tmp_path):
    node = Node(tmp_path, kernels=(NEW,))
    node.blacklist("")
    assert rebuild(node, blacklist=())[0].nouveau


def test_a_failed_build_is_told_in_the_tools_words_and_not_recorded(tmp_path):
    node = Node(tmp_path)
    node.builder = {"rc": 1, "stderr": "cpio: write error: No space left on device\n"}
    message = refused(node)
    assert message == (
        "the initramfs of kernel %s could not be rebuilt: update-initramfs -u -k %s: rc 1: "
        "cpio: write error: No space left on device" % (OLD, OLD)
    )
    assert not os.path.exists(node.real(RECORD))


def test_a_builder_that_does_nothing_is_not_believed(tmp_path):
    node = Node(tmp_path)
    node.builder = {"rc": 0, "stderr": "update-initramfs: Not updating initramfs."}
    message = refused(node)
    assert "left /boot/initrd.img-%s as it was; is update_initramfs=no in" % OLD in message


def test_an_image_that_cannot_be_read_back_is_not_believed(tmp_path):
    node = Node(tmp_path)
    run = node.run

    def unreadable(argv, timeout, **options):
        if argv[0] == "python3":
            return Command("host", tuple(argv), 1, "", "not an archive")
        return run(argv, timeout, **options)

    node.run = unreadable
    assert "could not be read" in refused(node)
    assert not os.path.exists(node.real(RECORD))


def test_a_full_boot_is_told_before_the_build(tmp_path):
    node = Node(tmp_path)
    node.free = 15 << 20
    assert refused(node) == (
        "/boot has 15 MiB free; to rebuild the initramfs of kernel %s takes about 16 MiB. Remove kernels that are no "
        "longer used (apt-get autoremove --purge, dnf remove --oldinstallonly)" % OLD
    )
    assert node.builds == []


@pytest.mark.parametrize("text", ['{"schema": 99}', "half of a rec", ""])
def test_a_record_that_is_not_understood_is_made_anew(tmp_path, text):
    node = Node(tmp_path)
    node.put(RECORD, text)
    assert all(result.rebuilt for result in rebuild(node))
    assert not any(result.rebuilt for result in rebuild(node))


# Check mode


def test_check_mode_names_the_kernels_and_changes_nothing(tmp_path):
    node = Node(tmp_path)
    rebuild(node)
    node.put(node.image(OLD), "{}")
    results = rebuild(node, check_mode=True)
    assert [(r.kernel, r.rebuilt, r.nouveau) for r in results] == [(OLD, True, None), (NEW, False, True)]
    assert node.builds == []
    assert [r.kernel for r in rebuild(node) if r.rebuilt] == [OLD]
