# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the packages of a lock can be had, with the real apt and signed repositories in folders; and in which words
it is said that they cannot. Nothing of this machine's own apt is asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import apt_root, lock_available, lock_offers
from ansible_collections.goldennode.gpu.plugins.module_utils.lock_offers import Gone, Offer
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse.apt_errors import Trouble
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, LocalHost, Stat
from ansible_collections.goldennode.gpu.tests.unit.plugins.module_utils.test_lock import made
from ansible_collections.goldennode.gpu.tests.unit.rooted import Rooted

needs_apt = pytest.mark.skipif(
    not (shutil.which("apt-get") and shutil.which("gpg")), reason="apt or gpg is not installed here"
)
#: A node on which the first package is there whole, and the second half-way; in the form of parse.dpkg.FORMAT.
PRESENT = (
    "dpkg\tamd64\t1.22\tinstall\tok\tinstalled\n"
    "nvidia-container-toolkit\tamd64\t1.20.0-1\thold\tok\tinstalled\n"
    "docker-ce\tamd64\t5:26.1.4-1\tinstall\tok\thalf-configured\n"
    "docker-ce-cli\tamd64\t5:26.1.4-1\tinstall\tok\thalf-installed\n"
)
THERE = {"nvidia-container-toolkit": "1.20.0-1", "docker-ce": "5:26.1.4-1"}
NOWHERE = "http://127.0.0.1:1/nowhere"


class Node(LocalHost):
    """This machine, with another's files in /etc/apt and another's packages."""

    def __init__(self, others: str = "", present: str = PRESENT, sources: t.Optional[str] = None) -> None:
        self.others, self.present, self.sources = others, present, sources
        self.calls: t.List[t.Sequence[str]] = []

    def read(self, path: str, limit: int = 0) -> Reading[str]:
        return Reading(self.sources if path == "/etc/apt/sources.list" else None)

    def listdir(self, path: str) -> Reading[t.Dict[str, Stat]]:
        return Reading({})

    def run(self, argv: t.Sequence[str], timeout: float, *_arguments: t.Any, **_named: t.Any) -> Command:
        self.calls.append(argv)
        if argv[0] == "dpkg-query":
            return Command("host", tuple(argv), 0, self.present, "")
        if any(word.startswith("APT_CONFIG=") for word in argv):
            return super().run(argv, timeout)
        return Command("host", tuple(argv), 0, self.others if "apt-cache" in argv else "", "")


class Repository:
    """A flat repository in a folder, signed with a key of its own."""

    def __init__(self, folder: pathlib.Path, home: pathlib.Path, packages: t.Sequence[t.Tuple[str, str]]) -> None:
        self.folder, self._home = folder, home
        folder.mkdir()
        stanza = "Package: %s\nVersion: %s\nArchitecture: amd64\nFilename: ./%s.deb\nSize: 1\nSHA256: %s\n\n"
        text = "".join(stanza % (name, version, name, "0" * 64) for name, version in packages)
        (folder / "Packages").write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        (folder / "Release").write_text("Origin: x\nSHA256:\n %s %d Packages\n" % (digest, len(text)))
        self._gpg("--clearsign", "--output", str(folder / "InRelease"), str(folder / "Release"))
        self.key = self._gpg("--armor", "--export").stdout

    def _gpg(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = ["gpg", "--batch", "--yes", "--homedir", str(self._home), *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)

    def source(self, name: str = "nvidia", key: str = "") -> t.Dict[str, t.Any]:
        uris = ["file:%s" % self.folder]
        return {"name": name, "uris": uris, "suites": ["./"], "components": [], "key": key or self.key, "keyring": None}


@pytest.fixture(scope="module")
def home() -> t.Iterator[pathlib.Path]:
    """A home of gpg with one key. Its socket must have a short path."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gn-"))
    argv = [
        "gpg",
        "--batch",
        "--homedir",
        str(folder),
        "--passphrase",
        "",
        "--quick-gen-key",
        "t@example.org",
        "ed25519",
    ]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    yield folder
    subprocess.run(["gpgconf", "--homedir", str(folder), "--kill", "all"], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> t.Iterator[pathlib.Path]:
    """A folder that apt's own user can come into, which pytest's are not."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="goldennode-test-"))
    folder.chmod(0o755)
    (folder / "status").write_text("")
    (folder / "temporary").mkdir(mode=0o755)
    monkeypatch.setattr(apt_root, "_DPKG_STATUS", str(folder / "status"))
    monkeypatch.setattr(apt_root, "_codename", lambda: "trixie")
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    monkeypatch.undo()
    shutil.rmtree(folder)


def system(folder: pathlib.Path) -> t.Any:
    class Here(Rooted):
        root = str(folder)

    return Here()


def lock(*sources: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
    return dict(made(), sources=list(sources))


def find(place: pathlib.Path, found: t.Dict[str, t.Any], packages: t.Dict[str, str], node: t.Any = None) -> t.Any:
    return lock_available.find(found, packages, 60, node or Node(), system(place))


# --- with the real apt --------------------------------------------------------------------------------------------


@needs_apt
def test_what_a_repository_has_can_be_had_and_what_it_has_dropped_cannot(place: pathlib.Path, home: t.Any) -> None:
    vendor = Repository(place / "vendor", home, [("libcuda1", "595.71.05-1"), ("libcuda1", "590.48-1"), ("dkms", "3")])
    found = find(place, lock(vendor.source()), {"libcuda1": "580.159.03-1", "dkms": "3", "gone": "1", **THERE})
    assert found.lacking == 3
    assert found.trouble is None
    assert [one.said for one in found.gone] == ["gone=1", "libcuda1=580.159.03-1"]
    assert found.gone[0].offered == ()
    where = "file:%s" % vendor.folder
    assert [offer.version for offer in found.gone[1].offered] == ["595.71.05-1", "590.48-1"]
    assert {offer.uri for offer in found.gone[1].offered} == {where}
    assert list((place / "temporary").iterdir()) == [], "something stays behind"


@needs_apt
def test_a_mirror_that_is_down_is_no_version_that_is_gone(place: pathlib.Path, home: t.Any) -> None:
    vendor = Repository(place / "vendor", home, [("libcuda1", "580.159.03-1")])
    down = dict(vendor.source("docker"), uris=[NOWHERE])
    found = find(place, lock(vendor.source(), down), {"libcuda1": "580.159.03-1", "docker-ce-cli": "5:26.1.4-1"})
    assert [one.said for one in found.gone] == ["docker-ce-cli=5:26.1.4-1"], "what the other one has can be had"
    assert found.unreachable
    assert found.trouble.kind == "network"
    assert NOWHERE in found.trouble.cause


@needs_apt
def test_a_mirror_that_is_down_does_not_matter_where_all_can_be_had(place: pathlib.Path, home: t.Any) -> None:
    vendor = Repository(place / "vendor", home, [("libcuda1", "580.159.03-1")])
    down = dict(vendor.source("docker"), uris=[NOWHERE])
    found = find(place, lock(vendor.source(), down), {"libcuda1": "580.159.03-1"})
    assert (found.gone, found.unreachable, found.lacking) == ((), False, 1)


@needs_apt
def test_a_repository_of_another_key_counts_for_nothing(place: pathlib.Path, home: t.Any) -> None:
    vendor = Repository(place / "vendor", home, [("libcuda1", "580.159.03-1")])
    other = made()["sources"][0]["key"]
    found = find(place, lock(vendor.source(key=other)), {"libcuda1": "580.159.03-1"})
    assert [one.name for one in found.gone] == ["libcuda1"]
    assert found.trouble.kind == "key"


@needs_apt
def test_what_the_node_keeps_can_be_had_while_it_is_whole(place: pathlib.Path, home: t.Any) -> None:
    vendor = Repository(place / "vendor", home, [("libcuda1", "595.71.05-1")])
    folder = place / "var/lib/goldennode/packages"
    folder.mkdir(parents=True)
    (folder / "a.deb").write_bytes(b"deb")
    files = {"libcuda1=580.159.03-1": {"file": "a.deb", "size": 3, "sha256": hashlib.sha256(b"deb").hexdigest()}}
    (folder / "manifest.json").write_text(json.dumps({"schema": 1, "files": files}))
    found = find(place, lock(vendor.source()), {"libcuda1": "580.159.03-1"})
    assert (found.gone, found.kept) == ((), ("libcuda1",))
    (folder / "a.deb").write_bytes(b"dub")
    assert [one.name for one in find(place, lock(vendor.source()), {"libcuda1": "580.159.03-1"}).gone] == ["libcuda1"]


OTHERS = """\
libcuda1:
  Installed: (none)
  Candidate: 595.71.05-1
  Version table:
     595.71.05-1 500
        500 %s stable/main amd64 Packages
     580.159.03-1 500
        500 %s stable/main amd64 Packages
"""


@needs_apt
@pytest.mark.parametrize("own", [True, False])
def test_another_repository_of_the_node_counts_and_what_it_knew_of_the_locks_own_does_not(
    place: pathlib.Path, home: t.Any, own: bool
) -> None:
    vendor = Repository(place / "vendor", home, [("libcuda1", "595.71.05-1")])
    uri = "file:%s" % vendor.folder if own else "http://mirror.example/old"
    found = find(place, lock(vendor.source()), {"libcuda1": "580.159.03-1"}, Node(OTHERS % (uri, uri)))
    assert [one.name for one in found.gone] == (["libcuda1"] if own else [])


@needs_apt
def test_what_the_node_knew_of_its_distribution_does_not_count_either(place: pathlib.Path, home: t.Any) -> None:
    vendor = Repository(place / "vendor", home, [("libcuda1", "595.71.05-1")])
    node = Node(OTHERS % (NOWHERE, NOWHERE), sources="deb %s trixie main\n" % NOWHERE)
    found = find(place, lock(vendor.source()), {"libcuda1": "580.159.03-1"}, node)
    assert [one.name for one in found.gone] == ["libcuda1"]
    assert found.unreachable


# --- with apt played ----------------------------------------------------------------------------------------------


def test_a_node_that_has_all_asks_nobody(place: pathlib.Path) -> None:
    node = Node()
    assert find(place, lock(), dict(THERE), node) == lock_available.Found()
    assert [call[0] for call in node.calls] == ["dpkg-query"]


def test_where_dpkg_does_not_say_what_is_there_all_is_asked_for(place: pathlib.Path) -> None:
    class Played(Node):
        def run(self, argv: t.Sequence[str], timeout: float, *_arguments: t.Any, **_named: t.Any) -> Command:
            return Command("host", tuple(argv), 0, "", "")

    found = find(place, lock(), dict(THERE), Played())
    assert found.lacking == len(found.gone) == 2


def test_an_index_that_takes_too_long_is_unreachable(place: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(lock_available.time, "monotonic", lambda: clock[0])

    class Slow(Node):
        def run(self, argv: t.Sequence[str], timeout: float, *_arguments: t.Any, **_named: t.Any) -> Command:
            if "update" in argv:
                clock[0] += timeout
                return Command("host", tuple(argv), None, "", "", timed_out=True)
            return super().run(argv, timeout) if argv[0] == "dpkg-query" else Command("host", tuple(argv), 0, "", "")

    found = find(place, lock(), {"libcuda1": "1"}, Slow())
    assert found.unreachable
    assert found.trouble.cause == "apt-get update did not end in time"


def test_a_node_without_apt_is_an_error_and_no_answer(place: pathlib.Path) -> None:
    class Without(Node):
        def run(self, argv: t.Sequence[str], timeout: float, *_arguments: t.Any, **_named: t.Any) -> Command:
            if argv[0] == "dpkg-query":
                return super().run(argv, timeout)
            return Command("host", tuple(argv), 127, "", "env: 'apt-config': No such file or directory")

    with pytest.raises(apt_root.ResolveError, match="apt-config cannot be run"):
        find(place, lock(), {"libcuda1": "1"}, Without())


# --- words --------------------------------------------------------------------------------------------------------

#: As apt 2.6.1 prints it on Debian 12, with a package of this node and one that no repository has.
POLICY = """\
bash:
  Installed: 5.2.15-2+b8
  Candidate: 5.2.15-2+b13
  Version table:
     5.2.15-2+b13 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
 *** 5.2.15-2+b8 100
        100 /var/lib/dpkg/status
"""


def test_what_is_only_installed_is_no_offer() -> None:
    assert lock_offers.offers(POLICY) == {
        "bash": [Offer("5.2.15-2+b13", "http://deb.debian.org/debian", "bookworm/main")]
    }


def test_a_password_of_an_address_is_not_shown() -> None:
    text = POLICY.replace("http://deb", "http://me:secret@deb")
    assert "secret" not in str(lock_offers.offers(text))


@pytest.mark.parametrize("text", ["", "\x00", "a:\n", "        500 x y\n", "     1 500\n        500 x\n", "a:\n b:"])
def test_any_text_is_taken(text: str) -> None:
    assert not any(lock_offers.offers(text).values())


def test_one_package_that_is_gone() -> None:
    offered = [Offer("595.71.05-1", "https://v/d", "stable/main"), Offer("590-1", "https://v/d", "stable/main")]
    assert lock_offers.refusal([Gone("libcuda1", "580.159.03-1", offered)], ["https://v/d stable"]) == (
        "The lock's libcuda1=580.159.03-1 cannot be had any more: https://v/d stable/main has 595.71.05-1, 590-1. The"
        " node keeps no file of it. Nothing was changed. Lock again (ansible-playbook goldennode.gpu.lock), look at"
        " what that changes, and commit the file; or, where a mirror still has it, name it in the bundle's sources and"
        " lock again."
    )


def test_many_packages_that_are_gone_are_listed_to_an_end() -> None:
    gone = [Gone("p%d" % number, "1") for number in range(30)]
    lines = lock_offers.refusal(gone, ["https://v/d stable"]).split("\n")
    assert lines[0].startswith(
        "30 packages of the lock cannot be had any more, and the node keeps no files of them. Nothing was changed."
    )
    assert lines[1] == (
        "- p0=1 cannot be had any more: no package of this name is in https://v/d stable, the distribution"
    )
    assert lines[-1] == "- and 10 more"
    assert len(lines) == 22


def test_a_repository_that_cannot_be_reached_has_other_words() -> None:
    gone = [Gone("p%d" % number, "1") for number in range(5)]
    trouble = Trouble("network", "https://v does not answer", "Look at the network")
    assert lock_offers.unreachable(gone, trouble) == (
        "A repository cannot be reached, so it is not known whether the lock's p0=1, p1=1, p2=1 and 2 more can still be"
        " had: https://v does not answer. Nothing was changed. Look at the network, and run again."
    )
    assert lock_offers.unreachable(gone[:1], Trouble("key", "x", "y")).startswith("A repository cannot be read, so")


def test_the_root_is_made_of_the_locks_own_sources() -> None:
    bundle = lock_available.bundle_of(made())
    assert [source.name for source in bundle.sources] == ["nvidia"]
    assert bundle.sources[0].uris == ("https://vendor.example/nvidia",)
    assert bundle.platform == "debian-13-x86_64"
    assert os.sep not in bundle.bundle
