# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The throw-away apt root, with apt played: what it is given, what is made of its answers, and what is left."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import apt_root
from ansible_collections.goldennode.gpu.plugins.module_utils.bundle import Docker, Kernel, Source
from ansible_collections.goldennode.gpu.plugins.module_utils.desired import HEADER
from ansible_collections.goldennode.gpu.plugins.module_utils.model import Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.package_names import TOOLKIT
from ansible_collections.goldennode.gpu.plugins.module_utils.probe.host import Command, Stat
from ansible_collections.goldennode.gpu.tests.unit.bundles import KEY, platform_bundle

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
RELEASE = "6.12.57+deb13-amd64"
AVAILABLE = {
    "linux-image-" + RELEASE: ("6.12.57-1",),
    "linux-headers-" + RELEASE: ("6.12.57-1",),
    "linux-image-amd64": ("6.12.57-1",),
    "linux-headers-amd64": ("6.12.57-1",),
    "nvidia-fabricmanager": ("595.71.05-1", "580.159.03-1"),
    "containerd.io": ("1.7.24-1~debian.13~trixie",),
    **dict.fromkeys(
        (
            "nvidia-kernel-open-dkms",
            "nvidia-driver-cuda",
            "libcuda1",
            "libnvidia-ml1",
            "nvidia-persistenced",
            "nvidia-modprobe",
        ),
        ("595.71.05-1", "580.159.03-1"),
    ),
    **dict.fromkeys(
        (
            "nvidia-container-toolkit",
            "nvidia-container-toolkit-base",
            "libnvidia-container-tools",
            "libnvidia-container1",
        ),
        ("1.20.1-1", "1.20.0-1"),
    ),
    **dict.fromkeys(("docker-ce", "docker-ce-cli"), ("5:26.1.5-1~debian.13~trixie", "5:26.1.4-1~debian.13~trixie")),
}
#: What the set needs beside what is asked for.
NEEDED = {
    "firmware-nvidia-gsp": "580.159.03-1",
    "linux-kbuild-6.12.57+deb13": "6.12.57-1",
    "dkms": "3.2.2-1",
    "libc6": "2.41-12",
    "linux-image-" + RELEASE: "6.12.57-1",
    "linux-headers-" + RELEASE: "6.12.57-1",
}


class Apt:
    """Plays apt. ``answers`` replace what one of its programs says: a Command, or (rc, stdout, stderr), by its name.

    ``node`` is the folder that stands for /etc/apt and /etc/apt/sources.list.d; ``keyrings`` are all that are there.
    """

    node = pathlib.Path()
    keyrings = (KEYRING,)

    def __init__(self, answers=None):
        self.calls = []
        self.root = None
        self.files = {}
        self.answers = answers or {}
        self.needed = dict(NEEDED)

    def machine(self):
        return "x86_64"

    def read(self, path):
        file = self.node / pathlib.Path(path).name
        return Reading(file.read_text() if file.exists() else None)

    def listdir(self, path):
        assert path == "/etc/apt/sources.list.d"
        file_of_root = Stat("file", 0o644, 0, 0, 1, 0)
        return Reading({file.name: file_of_root for file in self.node.iterdir() if file.name != "sources.list"})

    def stat(self, path):
        return Reading(object() if path in self.keyrings else None)

    def run(self, argv, timeout, unprivileged=False, groups=(), where="host"):
        assert argv[0] == "env"
        first = next(at for at, word in enumerate(argv) if word.startswith("apt-"))
        environment, words = dict(word.split("=", 1) for word in argv[1:first]), argv[first:]
        self.calls.append(words)
        assert environment["LC_ALL"] == "C"
        assert timeout > 0
        if words[0] == "apt-config":
            assert "APT_CONFIG" not in environment, "the proxies are the node's own"
        else:
            self._look(pathlib.Path(environment["APT_CONFIG"]))
        name = self._name(words)
        if name in self.answers:
            answer = self.answers[name]
            return answer if isinstance(answer, Command) else Command("host", tuple(argv), *answer)
        return Command("host", tuple(argv), 0, getattr(self, "_" + name.replace(" ", "_").replace("-", "_"))(words), "")

    @staticmethod
    def _name(words):
        if words[:2] == ["apt-get", "--simulate"]:
            return "prove" if any("node-status" in word for word in words) else "close"
        return words[0] + " " + words[1]

    def _look(self, configuration):
        self.root = configuration.parent
        for path in self.root.rglob("*"):
            if path.is_file():
                self.files[str(path.relative_to(self.root))] = path.read_text()

    def _apt_config_dump(self, _words):
        return (
            'APT::Update::Post-Invoke:: "rm -f /var/cache/apt/archives/*.deb";\n'
            'Acquire::http::Proxy "http://proxy.example:3128";\n'
            'Acquire::https::Verify-Peer "true";\n'
            'Acquire::https::mirror.example::CaInfo "/etc/ssl/mirror.pem";\n'
            'Acquire::ForceIPv4 "true";\n'
            'Acquire::http::Timeout "5";\n'
            'Acquire::AllowInsecureRepositories "true";\n'
        )

    def _apt_get_update(self, _words):
        return ""

    def _apt_cache_policy(self, words):
        lines = []
        for name in words[2:]:
            if name in AVAILABLE:
                lines += [
                    "%s:" % name,
                    "  Installed: (none)",
                    "  Candidate: %s" % AVAILABLE[name][0],
                    "  Version table:",
                ]
                lines += [
                    "     %s 500\n        500 http://x stable/main amd64 Packages" % full for full in AVAILABLE[name]
                ]
        return "\n".join(lines)

    def _apt_cache_pkgnames(self, _words):
        return "linux-image-amd64\nlinux-image-6.12.117+deb13-amd64\n"

    def _close(self, words):
        asked = dict(word.split("=", 1) for word in words[words.index("install") + 1 :] if not word.endswith("-"))
        return "".join("Inst %s (%s x:stable [amd64])\n" % pair for pair in {**self.needed, **asked}.items())

    def _prove(self, words):
        return "Remv docker.io [26.1.5]\n" + self._close(words)


def resolve(apt=None, **axes):
    apt = apt or Apt()
    return apt_root.resolve(platform_bundle(**axes), 60, apt)


def refused(apt=None, **axes):
    with pytest.raises(apt_root.ResolveError) as caught:
        resolve(apt, **axes)
    return [str(problem) for problem in caught.value.problems]


@pytest.fixture(autouse=True)
def node(monkeypatch, tmp_path):
    """A node with sources and a dpkg status of its own."""
    (tmp_path / "sources.list").write_text("deb http://deb.debian.org/debian trixie main\n")
    (tmp_path / "docker.sources").write_text(
        "Types: deb\nURIs: https://vendor.example/nvidia/\nSuites: stable\nComponents: main\nSigned-By: /old.gpg\n"
    )
    (tmp_path / "goldennode-nvidia.sources").write_text(
        HEADER + "Types: deb\nURIs: http://of.an.earlier.run\nSuites: /\n"
    )
    (tmp_path / "status").write_text("Package: bash\nStatus: install ok installed\nVersion: 5.2\n")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(Apt, "node", tmp_path)
    monkeypatch.setattr(apt_root, "_DPKG_STATUS", str(tmp_path / "status"))
    monkeypatch.setattr(apt_root, "_codename", lambda: "trixie")
    monkeypatch.setattr(apt_root.tempfile, "tempdir", str(tmp_path / "temporary"))
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_every_axis_gets_its_exact_versions_and_what_it_needs_of_its_vendor():
    found = resolve()
    assert found.packages["driver"]["nvidia-driver-cuda"] == "580.159.03-1"
    assert found.packages["driver"]["firmware-nvidia-gsp"] == "580.159.03-1", "came by dependency"
    assert len(found.packages["driver"]) == 7
    assert set(found.packages["toolkit"].values()) == {"1.20.0-1"}
    assert set(found.packages["toolkit"]) == set(TOOLKIT)
    assert found.packages["docker"]["docker-ce"] == "5:26.1.4-1~debian.13~trixie"
    assert found.packages["docker"]["containerd.io"] == "1.7.24-1~debian.13~trixie"
    assert found.packages["fabric_manager"] == {"nvidia-fabricmanager": "580.159.03-1"}
    assert sorted(found.packages["kernel"]) == [
        "linux-headers-" + RELEASE,
        "linux-image-" + RELEASE,
        "linux-kbuild-6.12.57+deb13",
    ]
    assert found.kernel_release == RELEASE
    assert found.removes == ("docker.io",)


def test_the_node_is_not_touched_and_nothing_is_left(node):
    before = {path: path.read_text() for path in node.glob("*") if path.is_file()}
    apt = Apt()
    resolve(apt)
    assert not apt.root.exists()
    assert list((node / "temporary").iterdir()) == []
    assert {path: path.read_text() for path in node.glob("*") if path.is_file()} == before


def test_nothing_is_left_after_a_failure_either(node):
    refused(Apt({"apt-get update": (100, "", "E: no")}))
    assert list((node / "temporary").iterdir()) == []


def test_the_roots_configuration_keeps_the_nodes_apart_but_its_network():
    apt = Apt()
    resolve(apt)
    text = apt.files["apt.conf"]
    assert 'Dir::Etc::parts "%s/empty";' % apt.root in text
    assert 'Dir::State "%s/state";' % apt.root in text
    assert 'Acquire::http::Proxy "http://proxy.example:3128";' in text
    assert 'Acquire::https::mirror.example::CaInfo "/etc/ssl/mirror.pem";' in text
    assert 'Acquire::ForceIPv4 "true";' in text
    assert "Post-Invoke" not in text, "a hook of the node would change the node"
    assert "AllowInsecure" not in text
    assert 'Acquire::http::Timeout "5"' not in text
    assert 'APT::Architecture "amd64";' in text
    assert 'APT::Get::Always-Include-Phased-Updates "true";' in text, "a lock is the same on every node"


def test_sources_are_the_distributions_and_the_bundles():
    apt = Apt()
    resolve(apt)
    assert apt.files["sources.list"] == "deb http://deb.debian.org/debian trixie main\n"
    sources = apt.files["sources.d/all.sources"]
    assert sources.count("URIs: ") == 1, "the same repository twice, or one of an earlier run"
    assert "URIs: https://vendor.example/nvidia\n" in sources
    assert "old.gpg" not in sources
    assert KEY.splitlines()[2] in sources


NON_FREE = Source("non-free", ("http://deb.debian.org/debian",), ("trixie",), ("non-free",), keyring=KEYRING)


def with_non_free(apt=None, **fields):
    source = dataclasses.replace(NON_FREE, **fields)
    return resolve(apt, sources=(*platform_bundle().sources, source))


def test_more_of_the_distribution_stands_beside_its_own_entries_with_their_keyring(node):
    own = "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: trixie\nComponents: main\nSigned-By: %s\n" % KEYRING
    (node / "sources.list").unlink()
    (node / "debian.sources").write_text(own)
    apt = Apt()
    with_non_free(apt)
    sources = apt.files["sources.d/all.sources"]
    assert sources.startswith(own), "the distribution's main is gone"
    assert "Components: non-free\nArchitectures: amd64\nSigned-By: %s\n" % KEYRING in sources


def test_an_entry_of_the_distribution_without_a_key_stands_first(node):
    """apt before 3.0 takes it so, and not behind one that has a key."""
    apt = Apt()
    with_non_free(apt)
    assert apt.files["sources.list"] == "deb http://deb.debian.org/debian trixie main\n"
    assert "Signed-By: %s" % KEYRING in apt.files["sources.d/all.sources"]


def test_a_keyring_unlike_that_of_the_distributions_own_entry_is_told_with_the_right_one(node):
    other = KEYRING.replace(".gpg", ".pgp")
    (node / "debian.sources").write_text(
        "Types: deb\nURIs: https://deb.debian.org/debian/\nSuites: trixie\nComponents: main\nSigned-By: %s\n" % other
    )
    with pytest.raises(apt_root.ResolveError) as caught:
        with_non_free()
    assert (
        "The bundle's goldennode-non-free.sources names the distribution's own repository deb.debian.org/debian trixie"
        in str(caught.value)
    )
    assert "give that source keyring: %s, as the node's own entry has it" % other in str(caught.value)


def test_a_keyring_that_is_not_on_the_node_is_told():
    with pytest.raises(
        apt_root.ResolveError, match=r"non-free.keyring: '/usr/share/keyrings/x.gpg' is not on this node"
    ):
        with_non_free(keyring="/usr/share/keyrings/x.gpg")


def test_sources_that_cannot_be_read_are_told():
    class Unreadable(Apt):
        def read(self, path):
            return Reading.unknown("%s could not be read: Input/output error" % path)

    assert "the node's package sources cannot be read: /etc/apt/sources.list could not" in refused(Unreadable())[0]


def test_the_whole_driver_set_is_pinned_also_where_a_dependency_takes_any_version():
    apt = Apt()
    resolve(apt)
    assert "Package: nvidia-* libnvidia-* libcuda1" in apt.files["preferences"]
    assert "Pin: version 580.159.03-1\nPin-Priority: 1001" in apt.files["preferences"]


def test_the_candidate_is_apts_own_and_not_one_of_our_pins():
    """Backports have the same version in another packaging, which apt takes only when it is told to."""
    seen = []

    class Watched(Apt):
        def _apt_cache_policy(self, words):
            seen.append((self.root / "preferences").read_text())
            return super()._apt_cache_policy(words)

    resolve(Watched())
    assert seen == [""]


def test_the_set_is_found_on_an_empty_system_and_proven_on_the_node():
    apt = Apt()
    resolve(apt)
    close, prove = [words for words in apt.calls if "--simulate" in words]
    assert any(word.endswith("/empty-status") for word in close)
    assert any(word.endswith("/node-status") for word in prove)
    assert apt.files["empty-status"] == ""
    assert "Package: bash" in apt.files["node-status"]
    assert "firmware-nvidia-gsp=580.159.03-1" in prove, "the lock is proven whole, not what was asked for"


def test_proxies_of_the_environment_are_kept(monkeypatch):
    seen = []

    class Watched(Apt):
        def run(self, argv, timeout, **more):
            seen.append("http_proxy=http://p:1" in argv)
            return super().run(argv, timeout, **more)

    monkeypatch.setenv("http_proxy", "http://p:1")
    resolve(Watched())
    assert seen
    assert all(seen)


def test_a_metapackage_leads_to_a_release():
    found = resolve(kernel=Kernel(metapackage="linux-image-amd64"))
    assert found.kernel_release == RELEASE
    assert {"linux-image-amd64", "linux-headers-amd64", "linux-image-" + RELEASE} < set(found.packages["kernel"])


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        ({}, "kernel.metapackage: 'linux-image-amd64' leads to no kernel"),
        ({"linux-image-6.1-a": "1", "linux-image-6.2-a": "1"}, "leads to 6.1-a, 6.2-a"),
        (
            {"linux-image-6.1-a": "1"},
            "leads to kernel 6.1-a without linux-headers-6.1-a, which the driver is built with",
        ),
    ],
)
def test_a_metapackage_that_leads_nowhere_is_told(needed, said):
    apt = Apt()
    apt.needed = needed
    assert said in refused(apt, kernel=Kernel(metapackage="linux-image-amd64"))[0]


class Ubuntu(Apt):
    """Has every package that is asked for; the metapackages lead to one kernel and to modules for ``modules``.

    ``builds``: driver by version of the modules' packages, the newest first.
    """

    def __init__(self, modules, builds=(("6.8.0-79.79", "580.159.03"),)):
        super().__init__()
        self.builds = dict(builds)
        self.needed = {
            "linux-image-6.8.0-79-generic": "6.8.0-79.79",
            "linux-modules-6.8.0-79-generic": "6.8.0-79.79",
            "linux-modules-nvidia-580-server-open-%s-generic" % modules: "6.8.0-79.79",
            "linux-objects-nvidia-580-server-%s-generic" % modules: "6.8.0-79.79",
            "nvidia-firmware-580-server-580.159.03": "580.159.03-0ubuntu0.24.04.1",
        }

    def _apt_cache_policy(self, words):
        text = ""
        for name in words[2:]:
            own = "linux" in name or "modprobe" in name
            full = "6.8.0-79.79" if own else AVAILABLE.get(name, ("580.159.03-0ubuntu0.24.04.1",))[0]
            there = ("1.20.1-1", "1.20.0-1") if "container" in name and "d.io" not in name else (full,)
            there = tuple(self.builds) if "nvidia" in name and "linux" in name else there
            text += "%s:\n  Candidate: %s\n  Version table:\n" % (name, there[0])
            text += "".join("     %s 500\n" % version for version in there)
        return text.replace("26.1.5", "26.1.4")

    def _apt_cache_show(self, words):
        stanza = "Package: %s\nVersion: %s\nDepends: nvidia-kernel-common-580-server (>= %s)\n"
        return "\n".join(stanza % (name, *build) for name in words[2:] for build in self.builds.items())


PRECOMPILED = {"flavour": "open", "build": "precompiled", "source": "distro"}


def on_ubuntu(modules, builds=(("6.8.0-79.79", "580.159.03"),), apt=None):
    return resolve(
        apt or Ubuntu(modules, builds),
        driver=PRECOMPILED,
        kernel=Kernel(metapackage="linux-generic"),
        platform="ubuntu-24.04-x86_64",
    )


def test_precompiled_modules_are_locked_with_their_metapackage():
    found = on_ubuntu("6.8.0-79").packages["driver"]
    assert found["linux-modules-nvidia-580-server-open-generic"] == "6.8.0-79.79"
    assert found["linux-modules-nvidia-580-server-open-6.8.0-79-generic"] == "6.8.0-79.79"
    assert "linux-objects-nvidia-580-server-6.8.0-79-generic" in found
    assert "nvidia-firmware-580-server-580.159.03" in found


def test_metapackages_that_lead_to_different_kernels_are_told():
    """A newer kernel is in the repository before its modules are."""
    with pytest.raises(apt_root.ResolveError) as caught:
        on_ubuntu("6.8.0-78")
    assert "kernel.release: '6.8.0-79-generic' has no precompiled modules of this driver: " in str(caught.value)
    assert "there are some for 6.8.0-78-generic" in str(caught.value)


def test_modules_are_taken_that_were_built_for_the_driver_of_the_bundle():
    """The newest that the archive has for a kernel are of the newest driver, and their version does not say so."""
    builds = (("6.8.0-79.79+1", "580.178.04"), ("6.8.0-79.79", "580.159.03"))
    apt = Ubuntu("6.8.0-79", builds)
    found = on_ubuntu("6.8.0-79", apt=apt).packages["driver"]
    assert found["linux-modules-nvidia-580-server-open-generic"] == "6.8.0-79.79"
    assert "Pin: version 6.8.0-79.79\nPin-Priority: 1001\n" in apt.files["preferences"], "for what they consist of"


def test_modules_of_other_drivers_alone_are_told():
    with pytest.raises(apt_root.ResolveError) as caught:
        on_ubuntu("6.8.0-79", (("6.8.0-79.79+1", "580.178.04"),))
    assert "driver.version: '580.159.03' has no built modules: " in str(caught.value)
    assert "is there for driver 580.178.04. Use 580.178.04" in str(caught.value)


def test_the_lock_is_proven_without_the_modules_that_ask_for_the_driver_before(tmp_path):
    """apt would not remove them by itself, since they are held."""
    old = (("nvidia-utils-580-server", "580.95.05-1"), ("linux-modules-nvidia-580-server-open-6.8.0-78-generic", "6.8"))
    stanza = "Package: %s\nStatus: hold ok installed\nVersion: %s\n"
    (tmp_path / "status").write_text("\n".join(stanza % package for package in old))
    apt = Ubuntu("6.8.0-79")
    on_ubuntu("6.8.0-79", apt=apt)
    (prove,) = [call for call in apt.calls if any("node-status" in word for word in call)]
    assert "linux-modules-nvidia-580-server-open-6.8.0-78-generic-" in prove
    assert [word for word in prove if word.endswith("-")] == prove[-1:]


def test_versions_that_no_repository_has_are_all_told_at_once():
    said = refused(
        driver={"version": "580.160.01"}, toolkit={"version": "1.21.0"}, kernel=Kernel(release="6.12.1+deb13-amd64")
    )
    assert len(said) == 3
    assert "driver.version: '580.160.01' cannot be had" in "".join(said)
    assert "Use 580.159.03, the nearest" in "".join(said)
    assert "toolkit.version: '1.21.0'" in "".join(said)
    assert "kernel.release: '6.12.1+deb13-amd64' cannot be had: the repositories have 6.12.117+deb13-amd64" in "".join(
        said
    )


def test_a_package_that_may_be_missing_is_left_out():
    class Distribution(Apt):
        def _apt_cache_policy(self, words):
            text = super()._apt_cache_policy(words)
            for name, full in (
                ("docker.io", "20.10.24+dfsg1-1"),
                ("containerd", "1.6.20~ds1-1"),
                ("runc", "1.1.5+ds1-1"),
            ):
                text += "\n%s:\n  Candidate: %s\n  Version table:\n     %s 500" % (name, full, full)
            return text

    found = resolve(Distribution(), docker=Docker("20.10.24", "distro"))
    assert sorted(found.packages["docker"]) == ["containerd", "docker.io", "runc"]


@pytest.mark.parametrize(
    ("program", "where"),
    [
        ("close", "cannot be installed together: x : Depends: y"),
        ("prove", "cannot be installed on this node as it is: x : Depends: y"),
    ],
)
def test_a_set_that_cannot_be_installed_is_told_with_apts_reason(program, where):
    apt = Apt({program: (100, " x : Depends: y (= 1) but 2 is to be installed\nE: broken", "")})
    assert where in refused(apt)[0]


def test_a_failed_update_is_told_with_its_cause():
    apt = Apt({"apt-get update": (100, "", "E: Failed to fetch http://x  Could not resolve 'x'")})
    assert "the package index cannot be read: the name of the server cannot be resolved" in refused(apt)[0]


def test_apt_that_does_not_end_is_told():
    apt = Apt({"apt-get update": Command("host", (), timed_out=True, pid=1, error="killed")})
    assert "apt-get update did not end in time" in refused(apt)[0]


@pytest.mark.parametrize(
    "command",
    [
        Command("host", (), missing=True, error="env is not installed"),
        Command("host", (), 127, "", "env: 'apt-config': No such file or directory"),
    ],
)
def test_a_node_without_apt_is_told(command):
    said = refused(Apt({"apt-config dump": command}))[0]
    assert "apt-config cannot be run: " in said
    assert "a node that has apt" in said


def test_a_platform_without_such_packages_is_told():
    said = refused(driver={"build": "precompiled"})[0]
    assert "has no packages with build: precompiled on debian-13-x86_64" in said


def test_the_codename_is_read_from_os_release(monkeypatch, tmp_path):
    monkeypatch.undo()
    text = pathlib.Path("/etc/os-release").read_text()
    wanted = re.search(r"^VERSION_CODENAME=(\S+)", text, re.MULTILINE)
    assert apt_root._codename() == (wanted.group(1).strip('"') if wanted else "")


def test_others_can_enter_the_root():
    """apt fetches as the user _apt; a root that only we can enter makes it warn and fetch as root."""
    modes = []

    class Watched(Apt):
        def _apt_get_update(self, words):
            modes.append(os.stat(self.root).st_mode & 0o777)
            return ""

    resolve(Watched())
    assert modes == [0o755]
