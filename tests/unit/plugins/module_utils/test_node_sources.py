# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in the way of the bundle's sources is found by address and suite; the distribution's own is left alone."""

from __future__ import annotations

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import node_sources
from ansible_collections.goldennode.gpu.plugins.module_utils.desired import HEADER, deb822, source_path
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import apt_sources

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
TOOLKIT = "https://nvidia.github.io/libnvidia-container/stable/deb/amd64"
CUDA = "https://developer.download.nvidia.com/compute/cuda/repos/debian13/x86_64"
DEBIAN = "http://deb.debian.org/debian"
FOLDER = "/etc/apt/sources.list.d/"


def source(name, uri, suites=("/",), components=(), key="KEY", keyring=None):
    plain = {"name": name, "uris": [uri], "suites": list(suites), "components": list(components), "key": key}
    return dict(plain, keyring=keyring)


BUNDLE = (source("nvidia", CUDA), source("toolkit", TOOLKIT))
NON_FREE = source("non-free", DEBIAN, ("trixie",), ("non-free",), keyring=KEYRING)


def misfits(text, name="x.list", bundle=BUNDLE, platform="debian-13-x86_64"):
    path = "/etc/apt/sources.list" if name == "sources.list" else FOLDER + name
    files = {source_path(one["name"]): HEADER + deb822(one, "amd64") for one in bundle}
    ours = [entry for where, said in files.items() for entry in apt_sources.parse(where, said, "amd64")]
    there = (*ours, *apt_sources.parse(path, text, "amd64"))
    return node_sources.misfits(there, ours, files, platform)


def only(*arguments, **more):
    (found,) = misfits(*arguments, **more)
    return found


SIGNED = "deb [signed-by=/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg] "


@pytest.mark.parametrize(
    "line",
    [
        SIGNED + "https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /",
        "deb https://nvidia.github.io/libnvidia-container/stable/deb/amd64/ /",
        "deb http://NVIDIA.github.io/libnvidia-container/stable/deb//amd64 ./",
        "deb-src [signed-by=/x.gpg] https://user:secret@nvidia.github.io/libnvidia-container/stable/deb/amd64 /",
        "deb mirror+https://nvidia.github.io/libnvidia-container/stable/deb/amd64 /",
    ],
)
def test_case_039_the_same_repository_is_found_by_its_address_however_it_is_written(line):
    found = only(line)
    assert found.removable
    assert "names the repository nvidia.github.io/libnvidia-container/stable/deb/amd64 /" in found.cause
    assert "as goldennode-toolkit.sources does, with another key" in found.cause


@pytest.mark.parametrize(
    "line",
    [
        # The two lines of the case, and what their successors wrote.
        "deb https://nvidia.github.io/libnvidia-container/stable/ubuntu18.04/$(ARCH) /",
        SIGNED + "https://nvidia.github.io/libnvidia-container/stable/ubuntu18.04/$(ARCH) /",
        "deb https://nvidia.github.io/nvidia-docker/ubuntu20.04/$(ARCH) /",
        "deb https://nvidia.github.io/nvidia-container-runtime/debian11/amd64 /",
        "deb https://nvidia.github.io/libnvidia-container/experimental/debian10/amd64 /",
    ],
)
def test_case_039_old_lists_of_the_toolkit_are_found_beside_its_repository(line):
    found = only(line)
    assert found.removable
    assert "an old repository of the container toolkit" in found.cause
    assert misfits(line, bundle=(BUNDLE[0],)) == [], "nothing replaces it"


@pytest.mark.parametrize(
    "line",
    [
        "deb https://download.docker.com/linux/debian trixie stable",
        "deb https://nvidia.github.io/libnvidia-container/experimental/deb/amd64 /",
        "deb https://nvidia.github.io/libnvidia-container-tests/x /",
        "# deb https://nvidia.github.io/nvidia-docker/ubuntu20.04/$(ARCH) /",
        "deb https://developer.download.nvidia.com/compute/machine-learning/repos/ubuntu1804/x86_64 /",
    ],
)
def test_other_repositories_are_no_business_of_ours(line):
    assert misfits(line) == []


def test_the_same_repository_with_the_same_key_does_no_harm():
    text = deb822(BUNDLE[1], "amd64")
    assert misfits(text, "mine.sources") == []
    assert misfits(text.replace(" KEY", " OTHER\n -----BEGIN"), "mine.sources") != []


@pytest.mark.parametrize(
    ("platform", "release", "here"),
    [
        ("debian-13-x86_64", "debian12", "debian13"),
        ("debian-13-x86_64", "ubuntu2404", "debian13"),
        ("ubuntu-24.04-x86_64", "ubuntu2204", "ubuntu2404"),
        ("ubuntu-24.04-x86_64", "wsl-ubuntu", "ubuntu2404"),
        ("ubuntu-24.04-aarch64", "ubuntu2204", "ubuntu2404"),
    ],
)
def test_case_040_nvidias_repository_for_another_release_is_found(platform, release, here):
    line = "deb [signed-by=/x.gpg] https://developer.download.nvidia.com/compute/cuda/repos/%s/x86_64/ /" % release
    found = only(line, platform=platform)
    assert found.removable
    assert found.cause.endswith("names NVIDIA's repository for %s, and this node is %s." % (release, here))
    assert misfits(line, bundle=(BUNDLE[1],), platform=platform) == [], "nothing replaces it"


def test_a_repository_that_the_bundle_itself_takes_from_another_release_is_its_own_business():
    other = CUDA.replace("debian13", "ubuntu2404")
    text = deb822(source("nvidia", other), "amd64")
    assert misfits(text, "mine.sources", bundle=(source("nvidia", other),)) == []


def test_what_has_left_the_bundle_is_found_disabled_or_not():
    text = HEADER + deb822(source("gone", "https://gone.example"), "amd64")
    for said in (text, text.replace("Types:", "Enabled: no\nTypes:")):
        found = only(said, "goldennode-gone.sources")
        assert (found.removable, found.ours) == (True, True)
        assert "has left the bundle" in found.cause
    assert misfits(deb822(source("gone", "https://gone.example"), "amd64"), "goldennode-gone.sources") == [], "a user's"


def test_an_entry_that_names_another_repository_too_is_for_a_person_to_split():
    text = "Types: deb\nURIs: %s https://mine.example/x\nSuites: /\n" % TOOLKIT
    found = only(text, "x.sources")
    assert not found.removable
    assert "Split the entry /etc/apt/sources.list.d/x.sources:1: keep mine.example/x / in it" in found.fix


def test_a_web_page_in_an_old_list_is_set_aside_and_any_other_broken_entry_is_told():
    page = only("<!doctype html>", "nvidia-docker.list")
    assert page.removable
    assert "apt refuses to read /etc/apt/sources.list.d/nvidia-docker.list:1, and with it every source" in page.cause
    other = only("deb http://x", "mine.list")
    assert not other.removable
    assert other.fix == "Mend or remove line 1 of /etc/apt/sources.list.d/mine.list."


# --- the distribution's own ---------------------------------------------------------------------------------------

OWN = "Types: deb\nURIs: %s\nSuites: trixie trixie-updates\nComponents: main\n" % DEBIAN


def signed(keyring):
    return OWN + "Signed-By: %s\n" % keyring


def test_more_of_the_distribution_with_its_own_keyring_is_no_conflict():
    assert misfits(signed(KEYRING), "debian.sources", bundle=(NON_FREE,)) == []


@pytest.mark.parametrize("platform", ["debian-12-x86_64", "debian-13-x86_64"])
@pytest.mark.parametrize("name", ["debian.sources", "zz.sources", "a.sources"])
def test_the_distributions_own_entry_is_never_set_aside(platform, name):
    other = KEYRING.replace(".gpg", ".pgp")
    found = only(signed(other), name, bundle=(NON_FREE,), platform=platform)
    assert (found.removable, found.follows) == (False, True)
    assert (
        "goldennode-non-free.sources names the distribution's own repository deb.debian.org/debian trixie"
        in found.cause
    )
    assert found.fix == "In the bundle, give that source keyring: %s, as the node's own entry has it." % other


def test_a_mirror_of_the_distribution_is_its_own_too():
    bundle = (source("non-free", "http://mirror.corp/debian", ("trixie",), ("non-free",), keyring=KEYRING),)
    line = "deb [signed-by=/etc/apt/keyrings/corp.gpg] http://mirror.corp/debian trixie main"
    found = only(line, "sources.list", bundle=bundle)
    assert found.follows
    assert "Put Signed-By: %s into that entry" % KEYRING in found.fix


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("deb [signed-by=%s] http://mirror.corp/debian trixie main" % KEYRING, True),
        ("deb http://mirror.corp/debian trixie main", False),
        ("deb [signed-by=%s] https://vendor.example stable main" % KEYRING, False),  # a vendor's, with the wrong key
        ("deb [signed-by=%s] %s /" % (KEYRING, TOOLKIT), False),
        ("deb http://ftp.de.debian.org/debian stable main", True),
        ("deb http://azure.archive.ubuntu.com/ubuntu jammy main", True),
        ("deb http://debian.org.example/x stable main", False),
        ("deb http://notdebian.org/x stable main", False),
    ],
)
def test_what_counts_as_the_distributions_own(line, own):
    (entry,) = apt_sources.parse(FOLDER + "x.list", line, "amd64")
    assert node_sources.of_distribution(entry, "trixie") is own


@pytest.mark.parametrize(
    ("name", "platform", "refused"),
    [
        ("sources.list", "debian-12-x86_64", False),  # read before all others
        ("debian.sources", "debian-12-x86_64", False),  # stands before goldennode-…
        ("ubuntu.sources", "ubuntu-24.04-x86_64", True),  # stands behind it
        ("ubuntu.sources", "ubuntu-26.04-x86_64", False),  # apt 3
        ("zz.sources", "debian-13-x86_64", False),  # apt 3
    ],
)
def test_an_entry_without_a_key_is_refused_by_older_apt_alone_and_only_when_it_comes_later(name, platform, refused):
    """As apt 2.6.1 and 3.0.4 were seen to do it."""
    text = "deb %s trixie main" % DEBIAN if name == "sources.list" else OWN
    assert bool(misfits(text, name, bundle=(NON_FREE,), platform=platform)) is refused


def test_an_inline_key_for_the_distributions_own_repository_is_told_with_the_keyring():
    wrong = source("non-free", DEBIAN, ("trixie",), ("non-free",))
    found = only(signed(KEYRING), "debian.sources", bundle=(wrong,))
    assert found.fix == "In the bundle, give that source keyring: %s, as the node's own entry has it." % KEYRING


@pytest.mark.parametrize(
    ("uri", "compared"),
    [
        ("http://Deb.Debian.org/debian/", "deb.debian.org/debian"),
        ("https://user:pass@x.example:8443//a//B/", "x.example:8443/a/B"),
        ("mirror+file:/etc/mirrors.txt", "etc/mirrors.txt"),
        ("file:///srv/repository", "srv/repository"),
    ],
)
def test_addresses_of_one_place_compare_equal(uri, compared):
    assert node_sources.address(uri) == compared


# --- for a lock ---------------------------------------------------------------------------------------------------

LIST = """\
# deb http://old.example/debian trixie main
deb http://deb.debian.org/debian trixie main contrib # mine
deb-src http://deb.debian.org/debian trixie main
deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] https://nvidia.github.io/libnvidia-container/stable/deb/amd64 /
  deb http://security.debian.org/debian-security trixie-security main
deb cdrom:[Debian GNU/Linux 13]/ trixie main

nonsense
deb
"""

STANZAS = """\
# see sources.list(5)
Types: deb deb-src
URIs: http://deb.debian.org/debian
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb-src
URIs: http://deb.debian.org/debian
Suites: trixie
Components: main

Enabled: no
Types: deb
URIs: http://off.example
Suites: trixie
Components: main

types: deb
uris:
 http://vendor.example/nvidia
suites: stable
components: main
"""


def chosen(codename="trixie", others=()):
    found = apt_sources.parse("/x.list", LIST, "amd64") + apt_sources.parse("/x.sources", STANZAS, "amd64")
    wanted = [apt_sources.parse("/o.list", "deb %s /" % other, "amd64")[0] for other in others]
    return [entry.uris[0] for entry in node_sources.for_resolving(found, codename, wanted)]


def test_only_the_distributions_own_repositories_are_taken():
    assert chosen() == [
        "http://deb.debian.org/debian",
        "http://security.debian.org/debian-security",
        "http://deb.debian.org/debian",
    ]


def test_the_distribution_stays_where_the_bundle_adds_more_of_it():
    assert chosen(others=["http://deb.debian.org/debian"]) == chosen()


@pytest.mark.parametrize("codename", ["bookworm", ""])
def test_where_none_is_recognised_all_but_the_bundles_are_taken(codename):
    others = ["https://vendor.example/nvidia/", "http://nvidia.github.io/libnvidia-container/stable/deb/amd64"]
    assert len(chosen(codename)) == 5
    assert chosen(codename, others) == chosen()
