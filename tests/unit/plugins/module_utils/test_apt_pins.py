# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt itself makes of the pin file, on a played repository and package list: nothing of this machine's is used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import typing as t

import pytest

from ansible_collections.goldennode.gpu.tests.unit import healthy

PREFERENCES = "/etc/apt/preferences.d/00goldennode"
KERNEL = healthy.KERNEL
NEWER = "6.12.117+deb13-amd64"

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="apt is not installed here")

#: Name, version, dependency.
REPOSITORY = (
    ("linux-image-" + KERNEL, "6.12.57-1", ""),
    ("linux-image-" + KERNEL, "6.12.57-2", ""),  # the same kernel, built again
    ("linux-image-" + NEWER, "6.12.117-1", ""),
    ("linux-headers-" + NEWER, "6.12.117-1", ""),
    ("linux-image-amd64", "6.12.57-1", "linux-image-%s (= 6.12.57-1)" % KERNEL),
    ("linux-image-amd64", "6.12.117-1", "linux-image-%s (= 6.12.117-1)" % NEWER),
    ("linux-generic", "6.12.57-1", ""),
    ("linux-generic", "6.12.117-1", "linux-image-%s" % NEWER),
    ("linux-headers-amd64", "6.12.57-1", ""),
    ("linux-headers-amd64", "6.12.117-1", "linux-headers-%s" % NEWER),
    ("linux-libc-dev", "6.12.117-1", ""),
    ("libcuda1", "580.159.03-1", ""),
    ("libcuda1", "595.71.05-1", ""),
    ("libcuda1", "580.159.03-1ubuntu1", ""),
    ("nvidia-imex", "580.159.03-1ubuntu1", ""),
    ("nvidia-imex", "595.71.05-1", ""),
    ("nvidia-open", "580.159.03-1", "libcuda1 (>= 580.159.03)"),
    ("nvidia-open", "595.71.05-1", "libcuda1 (>= 595.71.05)"),
)
#: linux-generic and linux-headers-amd64 stand for metapackages that were there before and that no lock names.
INSTALLED = {
    "linux-image-" + KERNEL: "6.12.57-1",
    "linux-image-6.1.0-9-amd64": "6.1.27-1",
    "linux-image-amd64": "6.12.57-1",
    "linux-generic": "6.12.57-1",
    "linux-headers-amd64": "6.12.57-1",
    "linux-libc-dev": "6.12.57-1",
    "libcuda1": "580.159.03-1",
}


def stanza(name: str, version: str, depends: str = "", more: str = "") -> str:
    text = "Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: x\nDescription: x\n" % (name, version)
    return text + ("Depends: %s\n" % depends if depends else "") + more + "\n"


class Apt:
    """apt in a folder, with the pin file of a wanted state."""

    def __init__(self, folder, preferences: str, others: t.Optional[t.Mapping[str, str]] = None) -> None:
        for name in ("state/lists/partial", "cache/archives/partial", "repository", "preferences.d", "none"):
            (folder / name).mkdir(parents=True)
        more = "Filename: ./%s.deb\nSize: 1\nSHA256: %s\n"
        packages = [stanza(*one, more % (one[0], "0" * 64)) for one in REPOSITORY]
        (folder / "repository/Packages").write_text("".join(packages))
        state = "Status: install ok installed\n"
        needs = {(name, version): depends for name, version, depends in REPOSITORY}
        there = (stanza(*one, needs.get(one, ""), state) for one in INSTALLED.items())
        (folder / "status").write_text("".join(there))
        (folder / "sources.list").write_text("deb file:%s/repository ./\n" % folder)
        for name, text in {os.path.basename(PREFERENCES): preferences, **(others or {})}.items():
            (folder / "preferences.d" / name).write_text(text)
        places = {
            "Dir::State": "state",
            "Dir::State::status": "status",
            "Dir::Cache": "cache",
            "Dir::Etc::sourcelist": "sources.list",
            "Dir::Etc::sourceparts": "none",
            "Dir::Etc::preferences": "none/none",
            "Dir::Etc::preferencesparts": "preferences.d",
            "Dir::Etc::main": "none/none",
            "Dir::Etc::parts": "none",
        }
        lines = ['%s "%s/%s";' % (key, folder, place) for key, place in places.items()]
        lines += ['APT::Architecture "amd64";', 'APT::Sandbox::User "root";']
        lines += ['Acquire::AllowInsecureRepositories "true";']  # nothing is installed from it
        (folder / "apt.conf").write_text("\n".join(lines))
        self._environment = {"APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C", "PATH": os.environ["PATH"]}
        self.run("update", "-qq")

    def run(self, *words: str) -> str:
        done = subprocess.run(
            ["apt-get", *words], env=self._environment, capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout + done.stderr

    def moves(self, *words: str) -> t.Dict[str, str]:
        """What a simulated command would install, and what it would remove, as version "gone"."""
        text = self.run("--simulate", *words)
        assert "E: " not in text, text
        found = dict(re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+)", text, re.MULTILINE))
        return {**found, **dict.fromkeys(re.findall(r"^Remv (\S+)", text, re.MULTILINE), "gone")}


@pytest.fixture
def apt(tmp_path):
    return Apt(tmp_path, healthy.desired().files[PREFERENCES].content or "")


def test_without_the_pins_an_upgrade_brings_another_kernel_and_driver(tmp_path):
    moved = Apt(tmp_path, "").moves("dist-upgrade")
    assert moved["linux-image-" + NEWER] == "6.12.117-1"
    assert moved["libcuda1"] == "595.71.05-1"
    assert moved["linux-image-" + KERNEL] == "6.12.57-2"


@pytest.mark.parametrize("words", [("dist-upgrade",), ("upgrade", "--with-new-pkgs"), ("upgrade",)])
def test_an_upgrade_moves_neither_kernel_nor_driver_and_takes_nothing_away(apt, words):
    assert apt.moves(*words) == {"linux-libc-dev": "6.12.117-1"}


def test_a_pin_of_somebody_elses_does_not_come_first(tmp_path):
    """The first pin of a version counts, in the order of the files' names."""
    other = "Package: linux-* libcuda1\nPin: release *\nPin-Priority: 990\n"
    node = Apt(tmp_path, healthy.desired().files[PREFERENCES].content or "", {"backports": other})
    assert node.moves("dist-upgrade") == {"linux-libc-dev": "6.12.117-1"}


def test_a_metapackage_that_no_lock_names_brings_no_kernel_when_asked_for_either(apt):
    assert apt.moves("install", "linux-generic", "linux-headers-amd64") == {}
    assert "has no installation candidate" in apt.run("--simulate", "install", "linux-image-" + NEWER)


def test_case_061_headers_do_not_move_ahead_of_the_kernel(apt):
    """They stand in the repositories for a kernel that the node does not have."""
    assert "linux-headers-amd64" not in apt.moves("dist-upgrade")
    assert "has no installation candidate" in apt.run("--simulate", "install", "linux-headers-" + NEWER)


def test_the_locks_own_versions_can_be_installed(apt):
    assert apt.moves("install", "--reinstall", "linux-image-%s=6.12.57-1" % KERNEL) == {
        "linux-image-" + KERNEL: "6.12.57-1"
    }


def test_a_part_of_the_driver_that_comes_later_is_of_the_locks_version(apt):
    """The metapackage asks for the version or any newer, and NVLink's parts are packaged in revisions of their own."""
    assert apt.moves("install", "nvidia-open", "nvidia-imex") == {
        "nvidia-open": "580.159.03-1",
        "nvidia-imex": "580.159.03-1ubuntu1",
    }


def test_a_kernel_that_is_not_held_is_moved_as_before(tmp_path):
    free = healthy.desired(kernel_pin=False).files[PREFERENCES].content or ""
    moved = Apt(tmp_path, free).moves("dist-upgrade")
    assert moved["linux-image-" + NEWER] == "6.12.117-1"
    assert "libcuda1" not in moved
