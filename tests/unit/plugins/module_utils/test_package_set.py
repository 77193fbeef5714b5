# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One axis in one transaction, on a node whose apt and dpkg are played: every step from state, every failure clear.

``Node`` is a folder tree seen as a machine's root, with a dpkg status of its own and repositories that can fail.
"""

from __future__ import annotations

import hashlib
import json
import os
import re

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import package_apt, package_set
from ansible_collections.goldennode.gpu.plugins.module_utils.kept_packages import SPARE
from ansible_collections.goldennode.gpu.plugins.module_utils.package_apt import INDEX_RECORD, Apt
from ansible_collections.goldennode.gpu.plugins.module_utils.package_dkms import Dkms
from ansible_collections.goldennode.gpu.plugins.module_utils.package_manager import (
    Order,
    PackageManagerError,
    PackageSetError,
    Request,
)
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import own_holds as own_record
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command
from ansible_collections.goldennode.gpu.plugins.module_utils.system import System
from ansible_collections.goldennode.gpu.tests.unit.rooted import Rooted

A, B = "580.159.03-1", "580.178.04-1"
NAMES = ("libcuda1", "nvidia-kernel-open-dkms", "nvidia-smi")
SET_A, SET_B = dict.fromkeys(NAMES, A), dict.fromkeys(NAMES, B)
KERNEL = "6.12.57+deb13-amd64"
KEPT = "/var/lib/goldennode/packages"
LOCKED = (
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (apt-get)\n"
    "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?\n"
)
UNREACHABLE = (
    "Err:1 http://vendor.testbed/nvidia stable InRelease\n"
    "E: Failed to fetch http://vendor.testbed/nvidia/dists/stable/InRelease  Could not connect to vendor.testbed:80\n"
)
SOURCE = "Types: deb\nURIs: http://vendor.testbed/nvidia\nSuites: stable\nComponents: main\n"


class Node(Rooted):
    def __init__(self, root):
        self.root = str(root)
        self.clock = 1_700_000_000.0
        self.free = 100 << 30
        self.status = {"dpkg": ["1.22.22", "install", "ok", "installed"]}
        self.repository = {name: [B, A] for name in NAMES}
        self.conflicts = {}  # a package: those that it takes the place of
        self.moves = {}  # what a transaction moves beside what it was asked for
        self.broken = {}  # a package whose postinst fails: what it prints
        self.fails = {}  # first words of a command: rc and output, or "hang"
        self.locked = 0  # how many commands still find the lock taken
        self.forgets_holds = False
        self.additional = ""
        self.digests = ("SHA512", "SHA256")  # in the index, the strongest first, as NVIDIA's repositories have them
        self.modules = set()
        self.commands = []
        self.slept = 0.0
        self.put("/etc/apt/sources.list.d/goldennode-nvidia.sources", SOURCE)
        os.makedirs(self.real("/var/lib/dpkg/updates"))
        os.makedirs(self.real("/var/cache/apt/archives"))

    # What a test does to it

    def have(self, packages, held=True, status="installed"):
        for name, version in packages.items():
            self.status[name] = [version, "hold" if held else "install", "ok", status]

    def versions(self):
        return {name: row[0] for name, row in self.status.items() if row[3] == "installed" and name != "dpkg"}

    def held(self):
        return sorted(name for name, row in self.status.items() if row[1] == "hold")

    def put(self, path, text):
        os.makedirs(os.path.dirname(self.real(path)), exist_ok=True)
        with open(self.real(path), "w", encoding="utf-8") as stream:
            stream.write(text)

    def did(self, *words):
        """The commands with these among their words."""
        return [command for command in self.commands if set(words) <= set(command.split())]

    # The machine, below another root

    def remove(self, path):
        super().remove(path if path.startswith(self.root) else self.real(path))

    def take(self, origin, target):
        super().take(self.real(origin), self.real(target))

    def make_directory(self, path):
        super().make_directory(self.real(path))

    def free_bytes(self, folder):
        return self.free

    def now(self):
        return self.clock

    def monotonic(self):
        return self.clock

    def sleep(self, seconds):
        self.slept += seconds
        self.clock += seconds

    def run(self, argv, timeout, **_options):
        assert timeout > 0
        words = [w for w in argv[argv[0] == "env" :] if not re.match(r"[A-Z_]+=|--chdir=", w)]
        words = [word for i, word in enumerate(words) if not (word == "-o" or words[i - 1] == "-o")]
        line = " ".join(words)
        self.commands.append(line)
        for start, answer in self.fails.items():
            if line.startswith(start):
                if answer == "hang":
                    return Command("host", tuple(argv), timed_out=True, pid=9, error="killed")
                return Command("host", tuple(argv), answer[0], answer[1])
        rc, text = self.play(words, argv)
        return Command("host", tuple(argv), rc, text if rc == 0 else "", "" if rc == 0 else text)

    def play(self, words, argv):
        program, verb = words[0], next((word for word in words[1:] if not word.startswith("-")), "")
        if program == "dpkg-query":
            lines = ["\t".join((n, "amd64", *row)) for n, row in sorted(self.status.items())]
            return 0, "".join(line + "\n" for line in lines)
        if program == "apt-cache":
            return 0, self.policy(words[2:])
        if program == "modinfo":
            if words[2] in self.modules:
                return 0, "version:        %s\nlicense:        Dual MIT/GPL\n" % self.built()
            return 1, "modinfo: ERROR: Module nvidia not found.\n"
        if program == "modprobe":
            return 1, "modprobe: FATAL: Module nvidia not found in directory /lib/modules/%s\n" % KERNEL
        if program == "dkms":
            self.modules |= {KERNEL} if os.path.exists(self.real("/lib/modules/%s/build" % KERNEL)) else set()
            return 0, "autoinstall was skipped since the kernel headers for this kernel do not seem to be installed\n"
        if "--simulate" in words:
            return self.simulate(argv)
        if verb == "download":
            return self.download(words, argv)
        if self.locked:
            self.locked -= 1
            return 100, LOCKED
        if program == "dpkg":
            return self.configure()
        if program == "apt-mark":
            return self.mark(verb, words[2:])
        if verb == "update":
            return 0, ""
        return self.install("--download-only" in words, argv)

    def policy(self, names):
        text = ""
        for name in names:
            rows = [
                "     %s 500\n        500 http://vendor.testbed/nvidia stable/main\n" % v for v in self.offered(name)
            ]
            text += "%s:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n%s" % (name, "".join(rows))
            text += " *** 9.9 100\n        100 /var/lib/dpkg/status\n"
        return text

    def offered(self, name):
        return self.repository.get(name, [])

    def order(self, argv):
        words = list(argv)[list(argv).index("install") + 1 :]
        wanted, removed = {}, []
        for word in words:
            if word.startswith("/"):
                name, version = os.path.basename(word).split("_")[:2]
                wanted[name] = version
            elif word.endswith("-"):
                removed.append(word[:-1])
            else:
                name, _equals, version = word.partition("=")
                wanted[name] = version
        for name in [n for n in wanted if n in self.conflicts and self.status.get(n, [""])[0] != wanted[n]]:
            removed += [other for other in self.conflicts[name] if other in self.status and other not in removed]
        return {**wanted, **self.moves}, removed

    def simulate(self, argv):
        wanted, removed = self.order(argv)
        text = "".join("Remv %s [%s]\n" % (name, self.status[name][0]) for name in removed)
        for name, version in wanted.items():
            if self.status.get(name, ["", "", "", ""])[0] != version or self.status[name][3] != "installed":
                text += "Inst %s (%s vendor [amd64])\n" % (name, version)
        return 0, text

    def install(self, only_download, argv):
        wanted, removed = self.order(argv)
        if only_download:
            for name, version in wanted.items():
                if self.status.get(name, [""])[0] != version and version in self.offered(name):
                    self.put("/var/cache/apt/archives/%s_%s_amd64.deb" % (name, version), self.deb(name, version))
            return 0, self.additional
        assert not removed or "--no-remove" not in argv
        for name in removed:
            self.status[name] = [self.status[name][0], "deinstall", "ok", "config-files"]
        failed = ""
        for name, version in wanted.items():
            if self.status.get(name, [])[::3] == [version, "installed"]:
                continue
            if name in self.broken:
                failed = self.broken[name]
                self.status[name] = [version, "install", "ok", "half-configured"]
                continue
            self.status[name] = [version, "install", "ok", "installed"]  # a hold does not survive
            if name == "nvidia-kernel-open-dkms" and os.path.exists(self.real("/lib/modules/%s/build" % KERNEL)):
                self.modules.add(KERNEL)
        return (100, failed) if failed else (0, "")

    def built(self):
        return self.status["nvidia-kernel-open-dkms"][0].partition("-")[0]

    def configure(self):
        for name in os.listdir(self.real("/var/lib/dpkg/updates")):
            os.unlink(self.real("/var/lib/dpkg/updates/" + name))
        failed = ""
        for name, row in self.status.items():
            if row[3] in ("half-configured", "unpacked"):
                if name in self.broken:
                    failed = self.broken[name]
                else:
                    row[3] = "installed"
        return (1, failed) if failed else (0, "")

    def mark(self, verb, names):
        for name in names:
            if verb == "hold" and not self.forgets_holds:
                self.status[name][1] = "hold"
            elif verb == "unhold":
                self.status[name][1] = "install"
        return 0, ""

    def deb(self, name, version):
        return "file of %s %s" % (name, version)

    def download(self, words, argv):
        asked = [word.split("=") for word in argv[list(argv).index("download") + 1 :] if not word.startswith("-")]
        text = ""
        for name, version in asked:
            content = self.deb(name, version)
            file = "%s_%s_amd64.deb" % (name, version)
            forced = [word.partition("=")[2] for word in argv if word.startswith("Acquire::ForceHash=")]
            kind = next((kind for kind in self.digests if kind in (forced or self.digests)), "")
            digest = " %s:%s" % (kind, hashlib.new(kind, content.encode()).hexdigest()) if kind else ""
            text += "'http://vendor.testbed/%s' %s %d%s\n" % (file, file, len(content), digest)
            if "--print-uris" not in words:
                folder = next(word for word in argv if word.startswith("--chdir=")).partition("=")[2]
                self.put("%s/%s" % (folder, file), content)
        return 0, text


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def apply(node, packages, check_mode=False, **options):
    node.commands.clear()
    return package_set.apply(node, Apt(node, lock_timeout=60), Request(packages, **options), 600, check_mode)


def refused(node, packages, **options):
    with pytest.raises((PackageSetError, PackageManagerError)) as caught:
        apply(node, packages, **options)
    return str(caught.value)


CHANGING = ("update", "install", "hold", "unhold", "auto", "--configure", "download")


def changing(node):
    return [
        command for command in node.commands if set(command.split()) & set(CHANGING) and "--simulate" not in command
    ]


# --- up, down, and nothing ----------------------------------------------------------------------------------------


def test_a_bare_node_gets_the_set_held_and_the_second_run_does_nothing(node):
    """Case 045: the hold's second run."""
    outcome = apply(node, SET_A)
    assert node.versions() == SET_A
    assert node.held() == sorted(NAMES)
    assert outcome.changes == tuple("%s: install %s and hold it" % (name, A) for name in NAMES)
    assert outcome.before == ""
    assert outcome.after == "".join("%s: %s, held\n" % (name, A) for name in NAMES)
    again = apply(node, SET_A)
    assert (again.changed, again.before, again.after) == (False, "", "")
    assert changing(node) == []
    assert len(node.commands) == 2  # the state, before and after


@pytest.mark.parametrize(("old", "new"), [(SET_A, SET_B), (SET_B, SET_A)], ids=["up", "down"])
def test_the_set_moves_as_one_and_is_held_again(node, old, new):
    node.have(old)
    outcome = apply(node, new)
    assert node.versions() == new
    assert node.held() == sorted(NAMES)
    assert outcome.changes[0] == "libcuda1: %s -> %s, and hold it" % (old["libcuda1"], new["libcuda1"])
    assert len(outcome.changes) == 3
    (transaction,) = [c for c in node.did("install") if "--download-only" not in c and "--simulate" not in c]
    assert "--allow-downgrades" in transaction
    assert "--no-remove" in transaction


def test_only_a_hold_is_missing(node):
    node.have(SET_A, held=False)
    outcome = apply(node, SET_A)
    assert outcome.changes == tuple("%s: hold %s" % (name, A) for name in NAMES)
    assert changing(node) == ["apt-mark hold libcuda1 nvidia-kernel-open-dkms nvidia-smi"]


def test_without_hold_nothing_is_held(node):
    apply(node, SET_A, hold=False)
    assert node.held() == []


def test_without_hold_what_is_held_of_the_set_is_released_and_nothing_else(node):
    node.have(dict(SET_A, libnvcuvid1=A, vim="1"))
    told = apply(node, SET_A, hold=False, check_mode=True)
    done = apply(node, SET_A, hold=False)
    assert node.held() == ["vim"]
    assert done.changes == tuple("%s: release its hold" % name for name in sorted([*NAMES, "libnvcuvid1"]))
    assert (told.before, told.after, told.changes) == (done.before, done.after, done.changes)
    assert not apply(node, SET_A, hold=False).changed


def test_without_hold_what_moves_is_not_said_to_be_held(node):
    node.have(SET_A)
    assert apply(node, SET_B, hold=False).changes[0] == "libcuda1: %s -> %s" % (A, B)
    assert node.held() == []


# --- holds of an earlier lock -------------------------------------------------------------------------------------

OLD_KERNEL = {"linux-image-6.12.48+deb13-amd64": "6.12.48-1", "linux-kbuild-6.12.48+deb13": "6.12.48-1"}
NEW_KERNEL = {"linux-image-%s" % KERNEL: "6.12.57-1", "linux-image-amd64": "6.12.57-1"}


def own_holds(node):
    return own_record.parse(node.read(own_record.PATH).value)


def test_the_kernel_before_stays_and_may_be_cleared_up(node):
    node.repository.update({name: [version] for name, version in {**OLD_KERNEL, **NEW_KERNEL}.items()})
    apply(node, OLD_KERNEL)
    assert own_holds(node) == tuple(OLD_KERNEL)
    told = apply(node, NEW_KERNEL, release=tuple(OLD_KERNEL), check_mode=True)
    done = apply(node, NEW_KERNEL, release=tuple(OLD_KERNEL))
    assert (told.before, told.after, told.changed) == (done.before, done.after, done.changed)
    assert {"%s: release its hold" % name for name in OLD_KERNEL} <= set(done.changes)
    assert node.versions() == {**OLD_KERNEL, **NEW_KERNEL}
    assert node.held() == list(own_holds(node)) == sorted(NEW_KERNEL)
    assert [c for c in changing(node) if "apt-mark" in c] == [
        "apt-mark hold %s" % " ".join(sorted(NEW_KERNEL)),
        "apt-mark auto %s" % " ".join(OLD_KERNEL),
        "apt-mark unhold %s" % " ".join(OLD_KERNEL),
    ]
    assert not apply(node, NEW_KERNEL, release=tuple(OLD_KERNEL)).changed
    assert changing(node) == []


def test_a_kernel_that_is_not_pinned_any_more_is_released(node):
    """The metapackage brings kernels, and stays as asked for as it was."""
    node.have(NEW_KERNEL)
    assert apply(node, {}, release=tuple(NEW_KERNEL)).changes == tuple(
        "%s: release its hold" % name for name in sorted(NEW_KERNEL)
    )
    assert node.held() == []
    assert node.did("auto") == ["apt-mark auto linux-image-%s" % KERNEL]
    assert not apply(node, {}, release=tuple(NEW_KERNEL)).changed


def test_firmware_of_the_driver_before_may_be_cleared_up(node):
    """Ubuntu's has its version in its name, so that an upgrade leaves it behind."""
    firmware = "nvidia-firmware-580-server-%s"
    node.have(dict(SET_B, **{firmware % "580.159.03": "580.159.03-0ubuntu1"}))
    apply(node, SET_B, release=(firmware % "580.159.03",))
    assert node.did("auto") == ["apt-mark auto " + firmware % "580.159.03"]
    assert node.held() == sorted(SET_B)


def test_what_is_wanted_is_not_released_whoever_asks(node):
    node.have(dict(SET_A, libnvcuvid1=A))
    assert not apply(node, SET_A, release=("libcuda1", "libnvcuvid1", "not-there")).changed
    assert "libcuda1" in node.held()


def test_only_what_this_collection_has_held_is_recorded_as_its_own(node):
    node.have({"libcuda1": A})
    node.have({"nvidia-smi": A}, held=False)
    apply(node, SET_A)
    assert own_holds(node) == ("nvidia-kernel-open-dkms", "nvidia-smi")


def test_a_hold_that_died_on_its_way_is_known_as_ours(node):
    node.fails["apt-mark hold"] = "hang"
    refused(node, SET_A)
    assert own_holds(node) == tuple(sorted(NAMES))


def test_a_release_that_fails_says_so_and_the_next_run_goes_on(node):
    node.have(NEW_KERNEL)
    node.fails["apt-mark unhold"] = (1, "E: something\n")
    message = refused(node, {}, release=("linux-image-amd64",))
    assert message.startswith("linux-image-amd64 could not be released: ")
    assert message.endswith("The next run goes on from there.")
    node.fails.clear()
    assert apply(node, {}, release=("linux-image-amd64",)).changed


def test_an_epoch_is_part_of_the_version(node):
    node.repository["docker-ce"] = ["5:26.1.4-1"]
    node.have({"docker-ce": "26.1.4-1"})
    assert apply(node, {"docker-ce": "5:26.1.4-1"}).changes == ("docker-ce: 26.1.4-1 -> 5:26.1.4-1, and hold it",)
    assert node.versions() == {"docker-ce": "5:26.1.4-1"}


def test_a_hold_that_does_not_stay_is_an_error(node):
    node.forgets_holds = True
    assert "is not so now: libcuda1: hold" in refused(node, SET_A)


# --- the index ----------------------------------------------------------------------------------------------------


def test_the_index_is_read_once_for_all_axes_of_a_run(node):
    node.repository["docker-ce"] = ["1"]
    apply(node, SET_A)
    assert len(node.did("update")) == 1
    apply(node, {"docker-ce": "1"})
    assert node.did("update") == []


@pytest.mark.parametrize(
    "harm",
    [
        lambda node: node.put("/etc/apt/sources.list.d/goldennode-docker.sources", SOURCE),
        lambda node: node.sleep(1000),
        lambda node: node.put(INDEX_RECORD, "nonsense"),
        lambda node: node.sleep(-10),
    ],
    ids=["another source", "old", "not understood", "from the future"],
)
def test_an_index_that_may_be_another_is_read_again(node, harm):
    apply(node, SET_A)
    harm(node)
    apply(node, SET_B)
    assert len(node.did("update")) == 1


def test_a_version_that_a_fresh_index_lacks_is_looked_for_again(node):
    apply(node, SET_A)
    message = refused(node, dict(SET_A, libcuda1="580.200.01-1"))
    assert len(node.did("update")) == 1
    assert "libcuda1=580.200.01-1 cannot be had: no repository of this node has it" in message
    assert "There is 580.178.04-1, 580.159.03-1." in message
    assert node.versions() == SET_A


def test_a_repository_that_is_dead_is_the_reason_where_versions_are_missing(node):
    node.repository.clear()
    node.fails["apt-get update"] = (100, UNREACHABLE)
    message = refused(node, SET_A)
    assert "The index could not be read: the server cannot be reached from this node (apt says" in message
    assert "http://vendor.testbed/nvidia" in message
    assert node.versions() == {}


def test_a_repository_that_answers_slowly_has_a_limit(node):
    node.repository.clear()
    node.fails["apt-get update"] = "hang"
    assert "apt-get update did not end within 180 s and was ended" in refused(node, SET_A)


def test_where_all_can_be_had_without_it_a_dead_repository_is_a_warning(node):
    node.fails["apt-get update"] = (100, UNREACHABLE)
    outcome = apply(node, SET_A)
    assert node.versions() == SET_A
    assert "could not be read" in outcome.warnings[0]


def test_a_refused_key_ends_the_run_though_an_older_index_is_there(node):
    node.fails["apt-get update"] = (
        100,
        "W: OpenPGP signature verification failed: http://vendor.testbed/nvidia stable InRelease: Signing key on "
        "EB693B3035CD5710E231E123A4B469963BF863CC is not bound: SHA1 is not considered secure since 2026-02-01",
    )
    message = refused(node, SET_A)
    assert "key EB693B3035CD5710E231E123A4B469963BF863CC of repository http://vendor.testbed/nvidia" in message
    assert "Nothing was changed" in message
    assert node.versions() == {}
    node.fails["apt-get update"] = (
        100,
        "W: GPG error: http://mine.example stable InRelease: NO_PUBKEY 1234567890ABCDEF",
    )
    assert apply(node, SET_A).warnings  # somebody else's repository


OTHERS_KEY = (
    "W: GPG error: http://mine.example stable InRelease: The following signatures couldn't be verified because the"
    " public key is not available: NO_PUBKEY 1234567890ABCDEF\n"
    "E: The repository 'http://mine.example stable InRelease' is not signed.\n"
)


def test_anothers_bad_key_beside_our_dead_repository_does_not_end_the_run(node):
    node.fails["apt-get update"] = (100, UNREACHABLE + OTHERS_KEY)
    assert apply(node, SET_A).warnings == (
        "Some repository could not be read: the server cannot be reached from this node (apt says: Failed to fetch"
        " http://vendor.testbed/nvidia/dists/stable/InRelease Could not connect to vendor.testbed:80)",
    )


def test_our_bad_key_is_blamed_on_us_whatever_else_fails(node):
    ours = OTHERS_KEY.replace("mine.example", "vendor.testbed/nvidia").replace("1234567890", "FEDCBA9876")
    node.fails["apt-get update"] = (100, OTHERS_KEY + ours)
    assert "key FEDCBA9876ABCDEF of repository http://vendor.testbed/nvidia (apt says" in refused(node, SET_A)


def test_a_repository_with_a_password_is_known_by_the_address_that_apt_prints(node):
    """Seen with apt 3.0.4: user and password are left out of what it says."""
    path = "/etc/apt/sources.list.d/goldennode-nvidia.sources"
    node.put(path, SOURCE.replace("http://vendor", "http://node:secret@vendor"))
    node.fails["apt-get update"] = (
        100,
        "W: GPG error: http://vendor.testbed/nvidia stable InRelease: NO_PUBKEY 12AB34CD",
    )
    assert "A repository of the lock cannot be used" in refused(node, SET_A)


# --- other packages -----------------------------------------------------------------------------------------------


def test_an_older_branch_goes_in_the_same_transaction(node):
    """Case 037: names with the branch in them, which are in each other's way."""
    old = {"nvidia-headless-450-server": "450.119.04-0ubuntu1", "libnvidia-compute-450-server": "450.119.04-0ubuntu1"}
    new = {"nvidia-headless-460-server": "460.73.01-0ubuntu1", "libnvidia-compute-460-server": "460.73.01-0ubuntu1"}
    node.have(old)
    node.repository = {name: [version] for name, version in {**old, **new}.items()}
    outcome = apply(node, new)
    assert node.versions() == new
    assert node.held() == sorted(new)
    (transaction,) = [c for c in node.did("install") if "--download-only" not in c and "--simulate" not in c]
    assert "libnvidia-compute-450-server- nvidia-headless-450-server-" in transaction
    assert "unhold" not in " ".join(node.commands)
    assert "nvidia-headless-450-server: remove 450.119.04-0ubuntu1" in outcome.changes
    assert not apply(node, new).changed


def test_a_part_of_the_driver_beside_the_lock_moves_along(node):
    node.have(dict(SET_A, libnvcuvid1=A))
    node.repository["libnvcuvid1"] = [B, A]
    outcome = apply(node, SET_B)
    assert "libnvcuvid1: %s -> %s, with the wanted driver" % (A, B) in outcome.changes
    assert node.versions() == dict(SET_B, libnvcuvid1=B)
    assert "libnvcuvid1" in node.held()
    assert not apply(node, SET_B).changed


def test_a_part_of_the_driver_beside_the_lock_is_held_too(node):
    """Case 036."""
    node.have(SET_A)
    node.have({"libnvidia-common-580": A, "nvidia-settings": "550.54.14-1"}, held=False)
    assert apply(node, SET_A).changes == ("libnvidia-common-580: hold %s" % A,)
    assert node.held() == sorted([*NAMES, "libnvidia-common-580"])


def test_a_hold_on_what_is_gone_is_released(node):
    node.have(SET_A)
    node.have({"libcudadebugger1": A}, status="config-files")
    node.have({"vim": "1"}, status="config-files")
    assert apply(node, SET_A).changes == ("libcudadebugger1: is not installed; release its hold",)
    assert node.held() == sorted([*NAMES, "vim"])


def test_what_nobody_consented_to_lose_is_not_removed(node):
    node.have({"cuda-samples": "12.4"}, held=False)
    node.conflicts["libcuda1"] = ["cuda-samples"]
    message = refused(node, SET_A)
    assert "would also remove cuda-samples 12.4. Nothing was changed" in message
    assert "packages_allow_remove: [cuda-samples]" in message
    assert node.versions() == {"cuda-samples": "12.4"}
    outcome = apply(node, SET_A, may_remove=("cuda-samples",))
    assert node.versions() == SET_A
    assert "cuda-samples: remove 12.4" in outcome.changes


def test_the_other_flavour_of_the_same_driver_is_replaced_without_asking(node):
    node.have({"nvidia-kernel-dkms": A})
    node.conflicts["nvidia-kernel-open-dkms"] = ["nvidia-kernel-dkms"]
    assert "nvidia-kernel-dkms: remove %s" % A in apply(node, SET_A).changes
    assert node.versions() == SET_A


UBUNTU = "580.159.03-0ubuntu0.24.04.1"
SHARED = {"libnvidia-compute-580-server": UBUNTU, "nvidia-utils-580-server": UBUNTU}
BY_DKMS = {**SHARED, "nvidia-dkms-580-server": UBUNTU, "nvidia-kernel-source-580-server": UBUNTU}
SIGNED = {
    **SHARED,
    "linux-modules-nvidia-580-server-6.8.0-90-generic": "6.8.0-90.91",
    "linux-signatures-nvidia-6.8.0-90-generic": "6.8.0-90.91",
}
SIGNED_OPEN = {**SHARED, "linux-modules-nvidia-580-server-open-6.8.0-90-generic": "6.8.0-90.91"}


@pytest.mark.parametrize(
    ("old", "new"),
    [(BY_DKMS, SIGNED), (SIGNED, BY_DKMS), (SIGNED_OPEN, SIGNED), (BY_DKMS, SIGNED_OPEN)],
    ids=["dkms to signed", "signed to dkms", "flavour", "flavour and build"],
)
def test_a_kernel_module_of_another_make_goes_at_the_same_driver_version(node, old, new):
    """The way out for Secure Boot. On Ubuntu depmod takes DKMS's module before the signed one."""
    node.have(old)
    node.repository = {name: [version] for name, version in {**old, **new}.items()}
    told = apply(node, new, check_mode=True)
    done = apply(node, new)
    assert node.versions() == new
    assert node.held() == sorted(new)
    assert (told.before, told.after, told.changes) == (done.before, done.after, done.changes)
    assert {"%s: remove %s" % (name, old[name]) for name in {*old} - {*new} - {*SHARED}} <= set(done.changes)
    assert not apply(node, new).changed


def test_modules_of_the_same_make_for_another_kernel_stay_as_a_way_back(node):
    before = {"linux-modules-nvidia-580-server-6.8.0-88-generic": "6.8.0-88.89"}
    node.have({**SHARED, **before})
    node.repository = {name: [version] for name, version in SIGNED.items()}
    apply(node, SIGNED)
    assert node.versions() == {**SIGNED, **before}
    assert not apply(node, SIGNED).changed


def test_a_kernel_or_an_engine_is_never_removed_without_asking(node):
    node.have({"docker.io": "26.1.5+dfsg1-9"}, held=False)
    node.repository["docker-ce"] = ["5:26.1.4-1"]
    node.conflicts["docker-ce"] = ["docker.io"]
    assert "packages_allow_remove: [docker.io]" in refused(node, {"docker-ce": "5:26.1.4-1"})


def test_what_somebody_else_holds_is_not_moved(node):
    node.have({"libfoo": "1"})
    node.moves = {"libfoo": "2"}
    message = refused(node, SET_A)
    assert "would also move libfoo to 2, which somebody holds" in message
    assert node.versions() == {"libfoo": "1"}


# --- half-way states ----------------------------------------------------------------------------------------------


def test_an_interrupted_dpkg_is_finished_first(node):
    node.have(SET_A)
    node.put("/var/lib/dpkg/updates/0000", "")
    assert apply(node, SET_A).changes == ("dpkg: finish what was interrupted",)
    assert len(node.did("--configure")) == 1
    assert not apply(node, SET_A).changed
    assert node.did("--configure") == []


def test_what_is_unpacked_is_finished_first(node):
    node.have(SET_A)
    node.have({"nvidia-smi": A, "vim": "1"}, status="unpacked")
    outcome = apply(node, SET_A)
    assert outcome.changes[:2] == ("nvidia-smi: is unpacked; finish it", "vim: is unpacked; finish it")
    assert node.versions() == dict(SET_A, vim="1")


def test_a_driver_that_does_not_build_gives_way_to_one_that_does(node):
    """Going back from a half-way state: what cannot be finished is what is replaced."""
    node.have(dict(SET_B, libcuda1=B))
    node.have({"nvidia-kernel-open-dkms": B}, status="half-configured")
    apply(node, SET_A)
    assert node.versions() == SET_A
    assert node.held() == sorted(NAMES)
    assert node.did("--configure") == []  # it would fail again, after minutes


def test_also_where_dpkg_must_be_finished_first(node):
    node.have(SET_B)
    node.have({"nvidia-kernel-open-dkms": B}, status="half-configured")
    node.put("/var/lib/dpkg/updates/0000", "")
    node.fails["dpkg --configure"] = (1, DKMS_FAILED)
    real = node.run

    def run(argv, timeout, **options):
        if "--configure" in argv:
            os.unlink(node.real("/var/lib/dpkg/updates/0000"))
        return real(argv, timeout, **options)

    node.run = run
    apply(node, SET_A)
    assert node.versions() == SET_A


def test_a_package_of_nobodys_that_cannot_be_finished_ends_the_run(node):
    node.have({"vim": "1"}, status="half-configured")
    node.broken["vim"] = POSTINST_FAILED % "vim"
    message = refused(node, SET_A)
    assert "An earlier installation cannot be finished (vim is half-configured): the postinst script of vim" in message
    assert "Nothing else was changed." in message
    assert node.versions() == {}


def test_another_apt_is_waited_for(node):
    node.locked = 3
    apply(node, SET_A)
    assert node.slept == 15
    assert node.versions() == SET_A


def test_dpkg_ends_with_an_apt_that_is_ended(node):
    """On a terminal of its own it has a session of its own, and would go on: seen with apt 3.0.4."""
    asked = []
    node.run = lambda argv, timeout, **options: asked.append(argv) or System.run(node, ["true"], 5)
    Apt(node).install(Order(SET_A, {}), lambda effect: None)
    assert "Dpkg::Use-Pty=0" in asked[-1]


def meanwhile(node, command, change):
    """Let another process change the node directly after the first ``command`` that finds the lock free."""
    real = node.run

    def run(argv, timeout, **options):
        answer = real(argv, timeout, **options)
        if command in node.commands[-1] and answer.rc == 0:
            node.run = real
            change()
        return answer

    node.run = run


def test_a_hold_that_is_set_while_packages_are_fetched_is_kept(node):
    node.have({"libfoo": "1"}, held=False)
    node.moves = {"libfoo": "2"}
    meanwhile(node, "--download-only", lambda: node.have({"libfoo": "1"}))
    message = refused(node, SET_A)
    assert "would also move libfoo to 2, which somebody holds on this node. Nothing was changed." in message
    assert node.versions() == {"libfoo": "1"}


def test_what_another_apt_installs_while_it_is_waited_for_is_not_removed(node):
    """One removal was foreseen, so apt itself would refuse no other."""
    node.have({"nvidia-kernel-dkms": A})
    node.conflicts["nvidia-kernel-open-dkms"] = ["nvidia-kernel-dkms", "cuda-samples"]
    meanwhile(node, "--download-only", lambda: setattr(node, "locked", 2))
    sleep = node.sleep

    def slept(seconds):
        sleep(seconds)
        node.have({"cuda-samples": "12.4"}, held=False)

    node.sleep = slept
    message = refused(node, SET_A)
    assert "would also remove cuda-samples 12.4. Nothing was changed." in message
    assert node.versions() == {"cuda-samples": "12.4", "nvidia-kernel-dkms": A}


def test_what_was_cleaned_away_since_it_was_fetched_comes_within_the_limits_of_fetching(node):
    asked = []
    real = node.run
    node.run = lambda argv, timeout, **options: asked.append(argv) or real(argv, timeout, **options)
    apply(node, SET_A)
    (transaction,) = [c for c in asked if "install" in c and not {"--download-only", "--simulate"} & set(c)]
    assert {"Acquire::http::Timeout=30", "Acquire::https::Timeout=30", "Acquire::Retries=1"} <= set(transaction)
    assert "--no-download" not in transaction  # it takes no kept file: seen with apt 2.6.1


def test_another_apt_that_does_not_end_is_named(node):
    node.locked = 10**6
    message = refused(node, SET_A)
    assert "another process is using the package manager: apt-get, pid 4711" in message
    assert "Nothing was changed" in message
    assert 55 <= node.slept <= 60


# --- failures -----------------------------------------------------------------------------------------------------

POSTINST_FAILED = (
    "dpkg: error processing package x (--configure):\n"
    " installed %s package post-installation script subprocess returned error exit status 7\n"
)
DKMS_FAILED = (
    "Error! Bad return status for module build on kernel: 6.12.57+deb13-amd64 (x86_64)\n"
    "Consult /var/lib/dkms/nvidia/580.178.04/build/make.log for more information.\n"
    "dpkg: error processing package nvidia-kernel-open-dkms (--configure):\n"
    " installed nvidia-kernel-open-dkms package post-installation script subprocess returned error exit status 10\n"
)


def test_a_failing_postinst_says_what_is_there_and_the_next_run_goes_on(node):
    node.broken["nvidia-smi"] = POSTINST_FAILED % "nvidia-smi"
    message = refused(node, SET_A)
    assert "the postinst script of nvidia-smi ended with status 7" in message
    assert "2 of 3 packages of libcuda1, nvidia-kernel-open-dkms, nvidia-smi at the wanted version" in message
    assert "nvidia-smi is half-configured" in message
    assert node.held() == ["libcuda1", "nvidia-kernel-open-dkms"]  # nobody moves what is right
    node.broken.clear()
    assert apply(node, SET_A).changes == ("nvidia-smi: is half-configured; finish it",)
    assert node.versions() == SET_A
    assert node.held() == sorted(NAMES)


def test_a_module_that_does_not_build_is_told_by_its_log(node):
    """Case 005 b: the compiler that differs is not the reason."""
    node.broken["nvidia-kernel-open-dkms"] = DKMS_FAILED
    node.put(
        "/var/lib/dkms/nvidia/580.178.04/build/make.log",
        "warning: the compiler differs from the one used to build the kernel\n"
        "error: implicit declaration of function 'phys_to_dma'\n",
    )
    message = refused(node, SET_B)
    assert "/var/lib/dkms/nvidia/580.178.04/build/make.log" in message
    assert "does not build on this kernel: error: implicit declaration of function 'phys_to_dma'" in message


def test_what_another_axis_left_broken_does_not_fail_this_one(node):
    node.have({"nvidia-kernel-open-dkms": B}, status="half-configured")
    node.broken["nvidia-kernel-open-dkms"] = DKMS_FAILED
    node.repository["docker-ce"] = ["1"]
    real = node.install

    def install(only_download, argv):
        rc, text = real(only_download, argv)
        return (rc, text) if only_download else (100, DKMS_FAILED)

    node.install = install
    outcome = apply(node, {"docker-ce": "1"})
    assert node.versions() == {"docker-ce": "1"}
    assert "apt ended with an error" in outcome.warnings[0]


def test_a_disk_that_is_too_small_is_noticed_before(node):
    node.additional = "After this operation, 1,306 MB of additional disk space will be used.\n"
    node.free = 10**9
    message = refused(node, SET_A)
    assert "the disk is full: /usr has 1000 MB free, and the packages take 1306 MB" in message
    assert "Nothing was changed" in message
    assert node.versions() == {}


def test_unmet_dependencies_are_told_and_nothing_is_forced(node):
    node.fails["apt-get --simulate"] = (
        100,
        "The following packages have unmet dependencies:\n a : Depends: b (= 1)\n"
        "E: Unable to correct problems, you have held broken packages.\n",
    )
    message = refused(node, SET_A)
    assert "a : Depends: b (= 1)" in message
    assert "Nothing needs to be unheld and nothing forced" in message
    assert node.versions() == {}


def test_a_dpkg_that_cannot_be_read_is_no_empty_node(node):
    node.fails["dpkg-query"] = (2, "")
    assert "dpkg-query failed (rc 2): it gave no reason. Run dpkg-query -W on the node" in refused(node, SET_A)
    assert changing(node) == []


def test_a_message_does_not_have_the_proxys_password(node, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret@proxy.example:3128")
    ended = Command("host", ("env", "HTTP_PROXY=http://me:secret@p", "apt-get", "update"), error="killed")
    node.fails["dpkg-query"] = (2, "")
    assert "secret" not in refused(node, SET_A)
    assert package_apt._end(ended, 60) == "apt-get update failed (no exit code): killed"


def test_a_list_of_packages_that_was_cut_off_is_not_taken_for_the_whole(node):
    node.have(SET_A)
    node.fails["dpkg-query"] = (2, "dpkg\tamd64\t1.22.22\tinstall\tok\tinstalled\n")
    assert "dpkg-query -W on the node" in refused(node, SET_A)
    assert changing(node) == []


# --- the module ---------------------------------------------------------------------------------------------------

WITH_MODULE = {"dkms": Dkms(KERNEL, "580.159.03")}


def kernel(node, headers=True):
    node.put("/boot/vmlinuz-" + KERNEL, "")
    os.makedirs(node.real("/lib/modules/%s%s" % (KERNEL, "/build" if headers else "")))


def test_the_module_is_looked_for(node):
    kernel(node)
    outcome = apply(node, SET_A, **WITH_MODULE)
    assert len(outcome.changes) == 3
    assert node.did("dkms") == []


def test_a_module_that_is_missing_is_built(node):
    kernel(node)
    node.have(SET_A)
    told = apply(node, SET_A, check_mode=True, **WITH_MODULE)
    assert node.did("dkms") == []
    outcome = apply(node, SET_A, **WITH_MODULE)
    assert outcome.changes == told.changes == ("module nvidia 580.159.03: build for kernel %s" % KERNEL,)
    assert not apply(node, SET_A, check_mode=True, **WITH_MODULE).changed
    assert not apply(node, SET_A, **WITH_MODULE).changed


def test_a_kernel_without_headers_is_a_failure_although_all_ends_with_0(node):
    """Case 061, the other way round."""
    kernel(node, headers=False)
    message = refused(node, SET_A, **WITH_MODULE)
    assert "there is no module nvidia 580.159.03 for kernel %s: the headers" % KERNEL in message
    assert node.versions() == SET_A
    assert node.held() == sorted(NAMES)


def test_a_kernel_that_is_not_installed_yet_is_left_out(node):
    assert apply(node, SET_A, **WITH_MODULE).changed
    assert node.did("modinfo") == []


# --- check mode ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packages", [SET_A, SET_B])
@pytest.mark.parametrize("status", ["installed", "half-configured"])
@pytest.mark.parametrize("hold", [True, False])
def test_check_mode_says_what_a_run_then_does(node, packages, status, hold):
    node.have(SET_A, held=False)
    node.have({"nvidia-smi": A}, held=False, status=status)
    told = apply(node, packages, check_mode=True, hold=hold)
    assert changing(node) == []
    assert node.status["nvidia-smi"][3] == status
    done = apply(node, packages, hold=hold)
    assert (told.before, told.after, told.changed) == (done.before, done.after, done.changed)
    assert not apply(node, packages, check_mode=True, hold=hold).changed


def test_check_mode_knows_what_moves_along_and_what_goes(node):
    node.have(dict(SET_A, libnvcuvid1=A, libnvoptix1=A))
    node.repository["libnvcuvid1"] = [B, A]
    told = apply(node, SET_B, check_mode=True)
    done = apply(node, SET_B)
    assert (told.before, told.after, told.changes) == (done.before, done.after, done.changes)
    assert told.changes[-2:] == ("libnvcuvid1: %s -> %s, with the wanted driver" % (A, B), "libnvoptix1: remove " + A)
    assert "libnvoptix1" not in told.after


def test_what_the_set_needs_of_others_is_told_in_check_mode_and_after(node):
    node.have({"libc6": "2.41-12"}, held=False)
    node.moves = {"libc6": "2.41-13", "gcc-14": "14.2-19"}
    told = apply(node, SET_A, check_mode=True)
    done = apply(node, SET_A)
    assert (told.before, told.after, told.changes) == (done.before, done.after, done.changes)
    assert told.changes[-2:] == (
        "gcc-14: install 14.2-19, as the set needs it",
        "libc6: 2.41-12 -> 2.41-13, as the set needs it",
    )
    assert told.before == "libc6: 2.41-12\n"
    assert told.after.startswith("gcc-14: 14.2-19\nlibc6: 2.41-13\n")


def test_a_new_part_of_the_driver_that_the_set_needs_is_held_in_check_mode_and_after(node):
    node.moves = {"libnvidia-gpucomp": A}
    told = apply(node, SET_A, check_mode=True)
    done = apply(node, SET_A)
    assert (told.before, told.after, told.changes) == (done.before, done.after, done.changes)
    assert "libnvidia-gpucomp: %s, held\n" % A in told.after


def test_check_mode_before_the_repositories_are_there(node):
    node.repository.clear()
    assert apply(node, SET_A, check_mode=True).changes == tuple("%s: install %s and hold it" % (n, A) for n in NAMES)


def test_check_mode_beside_sources_that_a_run_sets_aside_first(node):
    """apt answers nothing then; a run mends the sources before it asks, and check mode does not."""
    node.have(dict(SET_A, libnvoptix1="570.172.08-1"))
    conflict = "E: Conflicting values set for option Signed-By regarding source http://vendor.testbed/nvidia/ stable"
    node.fails["apt-cache"] = node.fails["apt-get --simulate"] = (100, conflict)
    told = apply(node, SET_A, check_mode=True)
    assert told.changes == ("libnvoptix1: 570.172.08-1 goes, or moves to the wanted driver",)
    assert "stands twice in the sources" in refused(node, SET_A)


@pytest.mark.parametrize("check_mode", [False, True])
def test_an_apt_that_does_not_answer_is_no_lack_of_versions(node, check_mode):
    """Seen with apt 3.0.4: update ends well, and apt-cache fails although it prints every version."""
    node.fails["apt-cache"] = (
        100,
        "E: Invalid record in the preferences file /etc/apt/preferences.d/x, no Package header",
    )
    message = refused(node, SET_A, check_mode=check_mode)
    assert "apt cannot read the pins in /etc/apt/preferences.d/x (apt says: Invalid record" in message
    assert "Nothing was changed." in message


def test_check_mode_fails_where_the_set_cannot_be_installed(node):
    node.fails["apt-get --simulate"] = (100, "E: Unable to correct problems, you have held broken packages.")
    assert "Nothing was changed" in refused(node, SET_A, check_mode=True)


def test_check_mode_tells_what_would_be_removed_and_refused(node):
    node.have({"cuda-samples": "12.4"}, held=False)
    node.conflicts["libcuda1"] = ["cuda-samples"]
    assert "cuda-samples" in refused(node, SET_A, check_mode=True)
    told = apply(node, SET_A, check_mode=True, may_remove=("cuda-samples",))
    assert "cuda-samples: remove 12.4" in told.changes
    assert "cuda-samples: 12.4\n" in told.before


# --- going back ---------------------------------------------------------------------------------------------------


def files(node):
    return sorted(name for name in os.listdir(node.real(KEPT)) if name.endswith(".deb"))


def locks(node, lock, previous=None):
    for name, packages in (("lock", lock), ("previous", previous)):
        node.put("/var/lib/goldennode/%s.json" % name, json.dumps({"driver": {"packages": packages or {}}}))


def test_the_files_of_both_locks_are_kept_and_no_others(node):
    apply(node, SET_A, keep=SET_A)
    of_a, of_b = (["%s_%s_amd64.deb" % (name, version) for name in NAMES] for version in (A, B))
    assert files(node) == of_a
    locks(node, SET_A)
    apply(node, SET_B, keep=SET_B)
    assert files(node) == sorted(of_a + of_b)
    locks(node, SET_B, SET_A)
    node.repository = {name: ["580.200.01-1"] for name in NAMES}
    newer = dict.fromkeys(NAMES, "580.200.01-1")
    apply(node, newer, keep=newer)
    locks(node, newer, SET_B)
    node.have(newer)
    node.have({"nvidia-smi": B})
    apply(node, newer, keep=newer)
    assert files(node) == sorted(of_b + ["%s_580.200.01-1_amd64.deb" % name for name in NAMES])
    assert os.listdir(node.real(KEPT + "/partial")) == []


def test_a_version_that_no_repository_has_any_more_is_installed_from_its_file(node):
    apply(node, SET_A, keep=SET_A)
    locks(node, SET_A)
    apply(node, SET_B, keep=SET_B)
    node.repository = {name: [B] for name in NAMES}
    apply(node, SET_A, keep=SET_A)
    assert node.versions() == SET_A
    assert node.held() == sorted(NAMES)
    (transaction,) = [c for c in node.did("install") if "--download-only" not in c and "--simulate" not in c]
    assert transaction.endswith(" ".join("%s/%s_%s_amd64.deb" % (KEPT, name, A) for name in NAMES))


def test_a_dead_repository_does_not_keep_a_node_from_going_back(node):
    """The index of before still names the version, and its server is gone."""
    apply(node, SET_A, keep=SET_A)
    locks(node, SET_A)
    apply(node, SET_B, keep=SET_B)
    node.sleep(10000)
    node.fails["apt-get update"] = (100, UNREACHABLE)
    outcome = apply(node, SET_A, keep=SET_A)
    assert node.versions() == SET_A
    assert "could not be read" in outcome.warnings[0]
    assert node.did("%s/libcuda1_%s_amd64.deb" % (KEPT, A))


def test_a_kept_file_that_was_changed_is_not_used(node):
    apply(node, SET_A, keep=SET_A)
    locks(node, SET_A)
    apply(node, SET_B, keep=SET_B)
    node.repository = {name: [B] for name in NAMES}
    node.put("%s/libcuda1_%s_amd64.deb" % (KEPT, A), "file of libcuda1 580.159.03-2")
    assert "libcuda1=580.159.03-1 cannot be had" in refused(node, SET_A, keep=SET_A)
    assert node.versions() == SET_B


def test_what_is_not_what_the_index_says_does_not_enter(node):
    real = node.deb
    node.deb = lambda name, version: real(name, version) + ("!" if "--print-uris" in node.commands[-1] else "")
    outcome = apply(node, SET_A, keep=SET_A)
    assert "it was not fetched, or is not what the index says" in outcome.warnings[0]
    assert node.versions() == SET_A


def test_a_file_whose_index_has_no_sha256_is_told_apart_from_one_that_is_gone(node):
    node.digests = ("SHA512",)
    node.repository["libcuda1"] = []
    node.have({"libcuda1": A})
    (warning,) = apply(node, SET_A, keep=SET_A).warnings
    assert warning == (
        "Packages for going back are not kept whole in %s: libcuda1=%s: no repository has it any more;"
        " nvidia-kernel-open-dkms=%s: the index of its repository has no SHA256 of it; nvidia-smi=%s: the index of its"
        " repository has no SHA256 of it" % (KEPT, A, A, A)
    )


def test_a_full_disk_does_not_keep_the_run_from_installing(node):
    node.free = SPARE
    outcome = apply(node, SET_A, keep=SET_A)
    assert node.versions() == SET_A
    assert "Packages for going back are not kept whole in %s" % KEPT in outcome.warnings[0]
    assert "1024 MiB free" in outcome.warnings[0]


def test_what_is_already_installed_is_kept_too_while_it_can_be_had(node):
    node.repository["linux-image-amd64"] = ["6.12.57-1"]
    node.have({"linux-image-amd64": "6.12.57-1"})
    apply(node, SET_A, keep=dict(SET_A, **{"linux-image-amd64": "6.12.57-1", "docker-ce": "1"}))
    assert "linux-image-amd64_6.12.57-1_amd64.deb" in files(node)


def test_nothing_is_fetched_where_nothing_is_due(node):
    node.have(SET_A)
    apply(node, SET_A, keep=SET_A)
    assert changing(node) == []


def test_a_damaged_manifest_is_made_anew(node):
    node.put(KEPT + "/manifest.json", "{")
    apply(node, SET_A, keep=SET_A)
    with open(node.real(KEPT + "/manifest.json"), encoding="utf-8") as stream:
        assert sorted(json.load(stream)["files"]) == sorted("%s=%s" % (name, A) for name in NAMES)
