# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sources in the way of the bundle's are set aside on a folder that stands for the node, and apt itself reads the rest.

apt is asked where it is installed, in a root of its own; nothing of this machine's is read or changed.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import apt_sources
from ansible_collections.goldennode.gpu.plugins.module_utils.apt_sources import AptSourcesError, set_aside
from ansible_collections.goldennode.gpu.plugins.module_utils.desired import HEADER, deb822, source_path
from ansible_collections.goldennode.gpu.plugins.module_utils.system import SystemFailure
from ansible_collections.goldennode.gpu.tests.unit.bundles import KEY
from ansible_collections.goldennode.gpu.tests.unit.rooted import Rooted

PLATFORM = "debian-12-x86_64"
FOLDER = "/etc/apt/sources.list.d/"
TOOLKIT = {
    "name": "toolkit",
    "uris": ["https://nvidia.github.io/libnvidia-container/stable/deb/amd64"],
    "suites": ["/"],
    "components": [],
    "key": KEY,
}
WANTED = {source_path("toolkit"): HEADER + deb822(TOOLKIT, "amd64")}
#: The two files of case 039, and the list that the vendor's instructions write today.
CASE_039 = {
    "nvidia-docker.list": "deb https://nvidia.github.io/libnvidia-container/stable/ubuntu18.04/$(ARCH) /\n",
    "nvidia-container-toolkit.list": (
        "deb [signed-by=/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg] "
        "https://nvidia.github.io/libnvidia-container/stable/ubuntu18.04/$(ARCH) /\n"
    ),
}
TODAY = "deb [signed-by=/k.gpg] https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /\n"


class Node(Rooted):
    """A folder tree seen as the root of a machine."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root

    def put(self, name, text, folder=FOLDER):
        path = pathlib.Path(self.real(folder + name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return path

    def names(self):
        return sorted(os.listdir(self.real(FOLDER)))

    def text(self, name, folder=FOLDER):
        return pathlib.Path(self.real(folder + name)).read_bytes().decode("utf-8", "surrogateescape")

    def machine(self):
        return "x86_64"

    def rename(self, path, target):
        super().rename(self.real(path), self.real(target))

    def remove(self, path):
        super().remove(self.real(path))


@pytest.fixture
def node(tmp_path):
    machine = Node(tmp_path)
    machine.put(
        "debian.sources", "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n"
    )
    return machine


def changed(node, wanted=None, **more):
    return [(one.path.rpartition("/")[2], one.action) for one in set_aside(node, wanted or WANTED, PLATFORM, **more)]


def test_case_039_old_lists_are_renamed_and_the_second_run_has_nothing_to_do(node):
    for name, text in CASE_039.items():
        node.put(name, text)
    assert changed(node) == [("nvidia-container-toolkit.list", "renamed"), ("nvidia-docker.list", "renamed")]
    assert node.names() == ["debian.sources", "nvidia-container-toolkit.list.disabled", "nvidia-docker.list.disabled"]
    assert node.text("nvidia-docker.list.disabled") == CASE_039["nvidia-docker.list"]
    assert changed(node) == []


def test_check_mode_says_the_same_and_changes_nothing(node):
    for name, text in CASE_039.items():
        node.put(name, text)
    before = {name: node.text(name) for name in node.names()}
    told = set_aside(node, WANTED, PLATFORM, check_mode=True)
    assert {name: node.text(name) for name in node.names()} == before
    assert told == set_aside(node, WANTED, PLATFORM)
    assert [change.target for change in told] == [
        FOLDER + "nvidia-container-toolkit.list.disabled",
        FOLDER + "nvidia-docker.list.disabled",
    ]


def test_in_a_file_with_others_only_the_entry_is_disabled_and_mode_and_bytes_are_kept(node):
    text = "# caf\udce9\ndeb http://mine.example/x stable main\n" + TODAY
    path = node.put("all.list", text)
    path.chmod(0o640)
    assert changed(node) == [("all.list", "edited")]
    assert node.text("all.list") == text.replace(TODAY, "# set aside by goldennode.gpu: " + TODAY)
    assert path.stat().st_mode & 0o7777 == 0o640
    assert changed(node) == []


def test_a_disc_beside_it_is_another_entry(node):
    node.put("t.list", "deb cdrom:[Debian 13 - x]/ trixie main\n" + TODAY)
    assert changed(node) == [("t.list", "edited")]


def test_a_stanza_in_a_file_with_others_is_disabled(node):
    other = "Types: deb\nURIs: http://mine.example/x\nSuites: /\n"
    same = deb822(dict(TOOLKIT, key="-----BEGIN OTHER"), "amd64")
    node.put("all.sources", same + "\n" + other)
    assert changed(node) == [("all.sources", "edited")]
    assert node.text("all.sources") == "# set aside by goldennode.gpu\nEnabled: no\n" + same + "\n" + other
    assert changed(node) == []


def test_the_main_file_is_never_renamed(node):
    node.put("sources.list", TODAY, folder="/etc/apt/")
    assert changed(node) == [("sources.list", "edited")]
    assert node.text("sources.list", "/etc/apt/") == "# set aside by goldennode.gpu: " + TODAY


def test_what_was_set_aside_before_is_kept(node):
    for round_ in ("1", "2", "3"):
        node.put("t.list", TODAY + "# %s\n" % round_)
        assert changed(node) == [("t.list", "renamed")]
    assert node.names() == ["debian.sources", "t.list.2.disabled", "t.list.3.disabled", "t.list.disabled"]
    assert [node.text(name)[-2] for name in node.names()[1:]] == ["2", "3", "1"]


def test_a_link_is_renamed_and_what_it_leads_to_is_left(node, tmp_path):
    elsewhere = tmp_path / "elsewhere.list"
    elsewhere.write_text(TODAY)
    (tmp_path / "etc/apt/sources.list.d/t.list").symlink_to(elsewhere)
    assert changed(node) == [("t.list", "renamed")]
    assert elsewhere.read_text() == TODAY
    assert "t.list.disabled" in node.names()


def test_a_file_of_ours_that_has_left_the_bundle_is_deleted(node):
    gone = HEADER + deb822(dict(TOOLKIT, name="old", uris=["https://old.example"]), "amd64")
    node.put("goldennode-old.sources", gone)
    node.put("goldennode-toolkit.sources", WANTED[source_path("toolkit")])
    assert changed(node) == [("goldennode-old.sources", "deleted")]
    assert node.names() == ["debian.sources", "goldennode-toolkit.sources"]


def test_a_web_page_in_an_old_list_is_set_aside(node):
    node.put("nvidia-docker.list", "<!doctype html>\n<html>\n# not a list\n</html>\n")
    assert changed(node) == [("nvidia-docker.list", "renamed")]


def test_a_conflict_with_the_distributions_own_entry_is_told_and_nothing_is_changed(node):
    keyring = "/usr/share/keyrings/debian-archive-keyring.pgp"
    node.put(
        "debian.sources",
        "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\nSigned-By: %s\n" % keyring,
    )
    node.put("t.list", TODAY)
    bad = dict(TOOLKIT, name="bad", uris=["http://deb.debian.org/debian"], suites=["bookworm"], components=["contrib"])
    with pytest.raises(AptSourcesError, match="give that source keyring: %s, as" % re.escape(keyring)):
        set_aside(node, {**WANTED, source_path("bad"): deb822(bad, "amd64")}, PLATFORM)
    assert node.names() == ["debian.sources", "t.list"]


def test_a_keyring_that_is_not_there_is_told_before_it_is_named_in_a_file(node):
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    wanted = {source_path("x"): deb822(dict(TOOLKIT, key=None, keyring=keyring), "amd64")}
    with pytest.raises(AptSourcesError, match="The keyring %s of the bundle is not on this node" % re.escape(keyring)):
        set_aside(node, wanted, PLATFORM)
    node.put("debian-archive-keyring.gpg", "", folder="/usr/share/keyrings/")
    assert set_aside(node, wanted, PLATFORM) == ()


def test_what_cannot_be_read_is_not_taken_for_absent(node, tmp_path):
    os.mkfifo(tmp_path / "etc/apt/sources.list.d/t.list")
    with pytest.raises(SystemFailure, match=r"t\.list could not be read"):
        set_aside(node, WANTED, PLATFORM)


def test_a_run_that_dies_in_between_is_finished_by_the_next(node, monkeypatch):
    for name, text in CASE_039.items():
        node.put(name, text)
    rename = Node.rename

    def once(machine, path, target):
        rename(machine, path, target)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Node, "rename", once)
    with pytest.raises(OSError, match="No space left"):
        set_aside(node, WANTED, PLATFORM)
    monkeypatch.setattr(Node, "rename", rename)
    assert changed(node) == [("nvidia-docker.list", "renamed")]


# --- apt itself ---------------------------------------------------------------------------------------------------

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="apt is not installed here")


def apt(node, *words):
    """What apt says of the node's sources; no list is fetched for --print-uris."""
    state = node.root / "state" / "lists" / "partial"
    state.mkdir(parents=True, exist_ok=True)
    places = {
        "Dir::Etc": node.real("/etc/apt"),
        "Dir::State": str(node.root / "state"),
        "APT::Architecture": "amd64",
        "Dir::Etc::main": "none",
        "Dir::Etc::parts": "none",
    }
    options = [word for pair in places.items() for word in ("-o", "%s=%s" % pair)]
    done = subprocess.run(
        ["apt-get", *options, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
    )
    return done.returncode, done.stdout + done.stderr


@needs_apt
def test_case_039_apt_refuses_before_and_reads_all_of_it_after(node):
    node.put("nvidia-container-toolkit.list", TODAY)
    node.put("nvidia-docker.list", "<!doctype html>\n")
    mixed = "deb http://mine.example/x stable main\n" + TODAY.replace("https", "http").replace("/k.gpg", "/other.gpg")
    node.put("mixed.list", mixed)
    for path, text in WANTED.items():
        node.put(path.rpartition("/")[2], text)
    code, said = apt(node, "update", "--print-uris")
    assert code != 0, said
    assert "The list of sources could not be read." in said
    assert len(changed(node)) == 3
    code, said = apt(node, "update", "--print-uris")
    assert code == 0, said
    assert "N: Ignoring file" not in said, "apt must ignore silently what was set aside"
    assert "mine.example" in said
    assert said.count("https://nvidia.github.io/libnvidia-container/stable/deb/amd64/") >= 1


@needs_apt
def test_apt_ignores_files_with_our_ending_silently():
    told = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True, timeout=60).stdout
    ignored = re.findall(r'^Dir::Ignore-Files-Silently:: "(.+)";$', told, re.MULTILINE)
    assert any(re.search(pattern, "x.list" + apt_sources._IGNORED) for pattern in ignored)


def test_a_folder_with_the_name_of_a_file_is_ignored_as_apt_does(tmp_path):
    node = Node(tmp_path)
    node.put("nvidia-docker.list", CASE_039["nvidia-docker.list"])
    (tmp_path / FOLDER[1:] / "mounted.list").mkdir()
    assert [change.path for change in set_aside(node, WANTED, PLATFORM)] == [FOLDER + "nvidia-docker.list"]
