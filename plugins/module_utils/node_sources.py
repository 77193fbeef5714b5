# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's own package sources beside those of the bundle: which are the distribution's, and which are in the way.

Pure. apt compares two entries by address and suite, without the scheme, user and trailing slash, and refuses *every*
source when they differ in Signed-By; apt before 3.0 also when the later one has none (seen with apt 2.6.1 and 3.0.4).
Judged by the checks and the lock, and acted on by ``apt_sources``.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .model import AptSource

FOLDER = "/etc/apt/sources.list.d"
MAIN_FILE = "/etc/apt/sources.list"

DISTRIBUTION_COMPONENTS = frozenset(
    ("main", "contrib", "non-free", "non-free-firmware", "restricted", "universe", "multiverse")
)
#: Codename by platform, without the architecture: the releases whose own sources are known.
CODENAMES = {
    "debian-12": "bookworm",
    "debian-13": "trixie",
    "ubuntu-22.04": "jammy",
    "ubuntu-24.04": "noble",
    "ubuntu-26.04": "resolute",
}
#: Debian's names of what uname -m prints.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
#: Platforms with apt 3, which takes an entry without Signed-By beside one that has it.
_LENIENT = ("debian-13", "ubuntu-26.04")
_DISTRIBUTION_FILES = ("sources.list", "debian.sources", "ubuntu.sources")
_DISTRIBUTION_HOSTS = re.compile(r"([\w.-]+\.)?(debian\.org|ubuntu\.com)(:\d+)?/")
_DISTRIBUTION_KEYRING = re.compile(r"/(debian|ubuntu)-archive-[\w-]*keyring[\w-]*\.")

#: Directories of the container toolkit's repositories for single releases, and of the packages that it has replaced.
_OLD_TOOLKIT = re.compile(
    r"nvidia\.github\.io/(nvidia-docker|nvidia-container-runtime|libnvidia-container/(stable|experimental)/[a-z]+\d)"
)
_TOOLKIT = re.compile(r"/libnvidia-container/")
#: Files that people have made by downloading a list that does not exist for their release: they hold a web page.
_OLD_FILES = ("nvidia-docker.list", "nvidia-container-runtime.list", "libnvidia-container.list")
_CUDA = re.compile(r"/compute/cuda/repos/([\w.-]+)/")
_OWN_FILE = re.compile(r"goldennode-[\w.+-]+\.sources")
_SHIPPED_KEYRING = re.compile(r"/usr/share/keyrings/[\w.+-]+\.(gpg|pgp|asc)")


@dataclasses.dataclass(frozen=True)
class Misfit:
    """An entry that is in the way of the bundle's. ``removable``: it is set aside, or, of our own, deleted.

    What is not removable is somebody's decision: the distribution's own entries are never touched, and where apt would
    refuse one of them the bundle ``follows`` it.
    """

    entry: AptSource
    wanted: str
    cause: str
    fix: str = ""
    removable: bool = True
    follows: bool = False

    @property
    def ours(self) -> bool:
        return self.entry.managed


def architecture(platform: str) -> str:
    """Debian's name of the architecture of ``debian-13-x86_64``."""
    return ARCHITECTURES[platform.rpartition("-")[2]]


def codename(platform: str) -> str:
    return CODENAMES.get(platform.rpartition("-")[0], "")


def misfits(
    entries: t.Iterable[AptSource], wanted: t.Sequence[AptSource], files: t.Collection[str], platform: str
) -> t.List[Misfit]:
    """What is wrong with the node's sources.

    :arg entries: the node's
    :arg wanted: the entries of the bundle's own files
    :arg files: the paths of these files
    """
    judge = _Judge(wanted, platform)
    found = (judge.misfit(entry) for entry in entries if entry.file not in files)
    return [misfit for misfit in found if misfit]


class _Judge:
    """Knows the bundle's repositories, and judges one entry of the node after the other."""

    def __init__(self, wanted: t.Sequence[AptSource], platform: str) -> None:
        self._platform = platform
        self._wanted = {repository: entry for entry in wanted for repository in repositories(entry)}
        addresses = [address(uri) + "/" for entry in wanted for uri in entry.uris]
        self._has_toolkit = any(_TOOLKIT.search(one) for one in addresses)
        self._has_cuda = any(_CUDA.search(one) for one in addresses)

    def misfit(self, entry: AptSource) -> t.Optional[Misfit]:
        if entry.managed and _OWN_FILE.fullmatch(_name(entry.file)):
            return Misfit(entry, "no such file", "%s is of a repository that has left the bundle." % entry.file)
        if entry.broken:
            return self._broken(entry)
        if not entry.enabled:
            return None
        if of_distribution(entry, codename(self._platform)):
            return self._of_distribution(entry)
        reasons = {repository: self._reason(entry, repository) for repository in repositories(entry)}
        told = [reason for reason in reasons.values() if reason]
        if not told:
            return None
        if len(told) < len(reasons):
            good = next(repository for repository, reason in reasons.items() if not reason)
            fix = "Split the entry %s: keep %s %s in it, and take the rest out." % (entry.place, *good)
            return Misfit(entry, "no entry for it", told[0], fix, removable=False)
        return Misfit(entry, "no entry for it", told[0])

    def _broken(self, entry: AptSource) -> Misfit:
        cause = "apt refuses to read %s, and with it every source: %s." % (entry.place, entry.broken)
        if self._has_toolkit and _name(entry.file) in _OLD_FILES:
            return Misfit(entry, "no entry for it", cause)
        fix = "Mend or remove line %d of %s." % (entry.line, entry.file)
        return Misfit(entry, "an entry that apt can read", cause, fix, removable=False)

    def _reason(self, entry: AptSource, repository: t.Tuple[str, str]) -> str:
        """Why an entry of a vendor for this repository is in the way; "" where it is not."""
        place, suite = repository
        ours = self._wanted.get(repository)
        if ours is not None:
            if entry.signed_by == ours.signed_by:
                return ""
            return "%s names the repository %s %s, as %s does, with another key: apt may refuse every source." % (
                entry.place,
                place,
                suite,
                _name(ours.file),
            )
        if self._has_toolkit and _OLD_TOOLKIT.match(place):
            return "%s names %s, an old repository of the container toolkit, beside the bundle's." % (
                entry.place,
                place,
            )
        release, here = cuda_release_of(place), cuda_release(self._platform)
        if self._has_cuda and release not in (None, here):
            return "%s names NVIDIA's repository for %s, and this node is %s." % (entry.place, release, here)
        return ""

    def _of_distribution(self, entry: AptSource) -> t.Optional[Misfit]:
        """The distribution's own entry is never touched: where apt would refuse it, the bundle must follow it."""
        for repository in repositories(entry):
            ours = self._wanted.get(repository)
            if ours is not None and self._refused(entry, ours):
                return _clash(entry, repository, ours)
        return None

    def _refused(self, entry: AptSource, ours: AptSource) -> bool:
        if entry.signed_by == ours.signed_by:
            return False
        if entry.signed_by:
            return True
        later = entry.file != MAIN_FILE and entry.file > ours.file
        return later and not self._platform.startswith(_LENIENT)


def _clash(entry: AptSource, repository: t.Tuple[str, str], ours: AptSource) -> Misfit:
    cause = "The bundle's %s names the distribution's own repository %s %s with another Signed-By than %s." % (
        _name(ours.file),
        *repository,
        entry.place,
    )
    keyring = ours.signed_by if ours.signed_by.startswith("/") else "the distribution's keyring"
    fix = "Put Signed-By: %s into that entry, as newer releases of the distribution have it." % keyring
    if _SHIPPED_KEYRING.fullmatch(entry.signed_by):
        fix = "In the bundle, give that source keyring: %s, as the node's own entry has it." % entry.signed_by
    return Misfit(entry, "Signed-By as the bundle's, %s" % ours.signed_by, cause, fix, False, follows=True)


def repositories(entry: AptSource) -> t.List[t.Tuple[str, str]]:
    """Address and suite of each repository that an entry names, as apt compares them."""
    return [(address(uri), _suite(suite)) for uri in entry.uris for suite in entry.suites]


def address(uri: str) -> str:
    """An address as it compares: no scheme, no user, the host in lower case, no slash at the end."""
    bare = re.sub(r"^[A-Za-z0-9+.-]+:/*", "", uri)
    host, slash, path = bare.partition("/")
    return (host.rpartition("@")[2].lower() + re.sub(r"/+", "/", slash + path)).rstrip("/")


def _suite(suite: str) -> str:
    """``./`` is the flat repository ``/`` by another name."""
    return "/" if suite == "./" else suite


def of_distribution(entry: AptSource, code: str) -> bool:
    """Whether an entry is the distribution's own: on its servers, or this release of it on a mirror, as its key or its
    file says.
    """
    if any(_DISTRIBUTION_HOSTS.match(address(uri) + "/") for uri in entry.uris):
        return True
    named = _DISTRIBUTION_KEYRING.search(entry.signed_by) or _name(entry.file) in _DISTRIBUTION_FILES
    return bool(named) and _is_release(entry, code)


def _is_release(entry: AptSource, code: str) -> bool:
    """Suites and components of this release of the distribution, on whatever mirror."""
    suites = all(suite.rstrip("/") == code or suite.startswith(code + "-") for suite in entry.suites)
    return bool(code and entry.components) and suites and set(entry.components) <= DISTRIBUTION_COMPONENTS


def for_resolving(found: t.Sequence[AptSource], code: str, wanted: t.Iterable[AptSource]) -> t.List[AptSource]:
    """The distribution's entries for packages: its code name as suite, its components, and no repository of the bundle.

    Others' repositories are left out, so that the lock is the same on every node and a broken one does no harm. Where
    nothing is recognised, as with a mirror that names its suites differently, all but the bundle's are taken.
    """
    taken = {address(uri) for entry in wanted for uri in entry.uris}
    usable = [e for e in found if e.enabled and not e.broken and e.suites and "deb" in e.types]
    foreign = [
        entry for entry in usable if of_distribution(entry, code) or not taken & {address(uri) for uri in entry.uris}
    ]
    return [entry for entry in foreign if _is_release(entry, code)] or foreign


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def cuda_release_of(uri: str) -> t.Optional[str]:
    """The release of a distribution for which a repository of NVIDIA's is, as its directory is called."""
    match = _CUDA.search("/%s/" % address(uri))
    return match.group(1) if match else None


def cuda_release(platform: str) -> str:
    """The directory of a platform's release in NVIDIA's repositories: ``debian13``, ``ubuntu2404``."""
    return platform.rpartition("-")[0].replace("-", "").replace(".", "")
