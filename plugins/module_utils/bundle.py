# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundle: what people write in YAML, checked and typed, and how one platform sees it.

Pure: the caller has read the YAML (and the key files, through ``read_key``). All problems of a bundle are reported at
once, each with the place, the value and the fix, so that nobody has to mend a file one message at a time.
What cannot work *together* is judged in ``compat``; here it is only whether each value can be meant.
"""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import hashlib
import json
import re
import typing as t

from .model import to_plain
from .openpgp import fingerprints, normalise
from .parse.text import without_users
from .problem import MISSING, Problem

#: What others take from here; MISSING and Problem are of every problem, not of bundles alone.
__all__ = ["ARCHITECTURES", "PLATFORMS", "PLATFORM_KEYS", "Bundle", "BundleError", "Docker", "Driver", "FabricManager"]
__all__ += ["Framework", "Image", "Kernel", "Nccl", "PlatformBundle", "Python", "Source", "Toolkit", "digest_of"]
__all__ += ["MISSING", "Problem", "Waiver", "cuda_of", "cuda_of_build", "for_platform", "load"]

#: Platforms that the collection is meant for, without the architecture.
PLATFORMS = (
    "debian-12",
    "debian-13",
    "ubuntu-22.04",
    "ubuntu-24.04",
    "ubuntu-26.04",
    "rhel-9",
    "rhel-10",
    "rocky-9",
    "rocky-10",
    "almalinux-9",
    "almalinux-10",
)
ARCHITECTURES = ("x86_64", "aarch64")
PLATFORM_KEYS = tuple("%s-%s" % (platform, arch) for platform in PLATFORMS for arch in ARCHITECTURES)


class BundleError(ValueError):
    """A bundle that cannot be used, with every problem that was found."""

    def __init__(self, name: str, problems: t.Sequence[Problem]) -> None:
        self.name = name
        self.problems = tuple(problems)
        super().__init__("%s: %s" % (name, " | ".join(str(problem) for problem in problems)))


@dataclasses.dataclass(frozen=True)
class Source:
    """One package repository; a suite that ends in / has no components.

    Exactly one of ``key``, the armoured key itself, and ``keyring``, the path of one that the distribution ships.
    """

    name: str
    uris: t.Tuple[str, ...]
    suites: t.Tuple[str, ...]
    components: t.Tuple[str, ...]
    key: t.Optional[str] = None
    fingerprint: t.Optional[str] = None
    keyring: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Kernel:
    """Exactly one of the two: what ``uname -r`` shall say, or the metapackage whose kernel the lock pins."""

    release: t.Optional[str] = None
    metapackage: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Driver:
    version: str
    flavour: str  # open | proprietary
    build: str = "dkms"  # dkms | precompiled
    source: str = "nvidia"  # nvidia | distro

    @property
    def branch(self) -> int:
        return int(self.version.split(".")[0])


@dataclasses.dataclass(frozen=True)
class FabricManager:
    version: str


@dataclasses.dataclass(frozen=True)
class Waiver:
    """Why a toolkit with known holes may be used all the same, and until which day (as YYYY-MM-DD)."""

    reason: str
    until: str


@dataclasses.dataclass(frozen=True)
class Toolkit:
    version: str
    waiver: t.Optional[Waiver] = None


@dataclasses.dataclass(frozen=True)
class Docker:
    """``containerd`` is locked to the newest that the repository has when the bundle does not name it."""

    version: str
    source: str = "docker-ce"  # docker-ce | distro
    containerd: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Image:
    """``cuda_compat`` says by which of CUDA's compatibility rules an image may be newer than the driver's own CUDA."""

    reference: str
    digest: t.Optional[str] = None
    cuda: t.Optional[str] = None
    cuda_check: str = "required"  # required | optional
    cuda_command: t.Tuple[str, ...] = ()
    cuda_compat: str = "none"  # none | minor | forward


@dataclasses.dataclass(frozen=True)
class Python:
    nvidia_ml_py: str


@dataclasses.dataclass(frozen=True)
class Framework:
    """What the images meant to run have; ``cuda`` is the CUDA that it was built for."""

    name: str  # pytorch | tensorflow | jax
    version: str
    cuda: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Nccl:
    """The NCCL of the images meant to run; ``cuda`` is the CUDA that it was built for."""

    version: str
    cuda: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class PlatformBundle:
    """A bundle as one platform sees it: defaults and the platform's own axes put together."""

    bundle: str
    platform: str
    sources: t.Tuple[Source, ...]
    kernel: Kernel
    driver: Driver
    fabric_manager: t.Optional[FabricManager]
    toolkit: Toolkit
    docker: Docker
    image: Image
    python: Python
    framework: t.Optional[Framework] = None
    nccl: t.Optional[Nccl] = None

    @property
    def digest(self) -> str:
        """Digest of all of it, keys included: a lock made from another bundle is known by this."""
        seen = to_plain(self)
        if self.toolkit.waiver is None:  # locks are older than waivers
            del seen["toolkit"]["waiver"]
        for axis in ("framework", "nccl"):  # and than these
            if seen[axis] is None:
                del seen[axis]
        return digest_of(seen)


@dataclasses.dataclass(frozen=True)
class Bundle:
    id: str
    platforms: t.Dict[str, PlatformBundle]


def digest_of(plain: t.Any) -> str:
    """``sha256:`` and the hex digest of the canonical JSON of plain data."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def for_platform(bundle: Bundle, key: str) -> PlatformBundle:
    """The bundle as one platform sees it.

    :raises BundleError: when the bundle does not know the platform
    """
    if key in bundle.platforms:
        return bundle.platforms[key]
    fix = "It knows %s: add the platform to the bundle, or take the host out of the group" % ", ".join(
        sorted(bundle.platforms)
    )
    raise BundleError(bundle.id, [Problem("platforms", key, "is not in the bundle", fix)])


# --- the schema ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Field:
    """What one key of the file may be. A version is text: YAML reads an unquoted 1.20 as the number 1.2."""

    required: bool = True
    pattern: t.Optional[str] = None
    example: str = ""
    choices: t.Tuple[str, ...] = ()
    listed: bool = False


_VERSION_DRIVER = r"\d{3}\.\d+(\.\d+)?"
_VERSION_THREE = r"\d+\.\d+\.\d+([-+~.][0-9A-Za-z.+~-]+)?"
_VERSION_BUILD = r"\d+\.\d+(\.\d+)*([-+~.][0-9A-Za-z.+~-]+)?"
_PACKAGE_NAME = r"[a-z0-9][a-z0-9+.-]+"

_AXES: t.Dict[str, t.Dict[str, _Field]] = {
    "kernel": {
        "release": _Field(False, r"\d+\.\d+\S*", "6.12.57+deb13-amd64"),
        "metapackage": _Field(False, _PACKAGE_NAME, "linux-image-amd64"),
    },
    "driver": {
        "version": _Field(True, _VERSION_DRIVER, "580.159.03"),
        "flavour": _Field(choices=("open", "proprietary")),
        "build": _Field(False, choices=("dkms", "precompiled")),
        "source": _Field(False, choices=("nvidia", "distro")),
    },
    "fabric_manager": {"version": _Field(True, _VERSION_DRIVER, "580.159.03")},
    "toolkit": {
        "version": _Field(True, _VERSION_THREE, "1.20.1"),
        "waiver": _Field(False),
    },  # which has keys of its own
    "docker": {
        "version": _Field(True, _VERSION_THREE, "29.1.3"),
        "source": _Field(False, choices=("docker-ce", "distro")),
        "containerd": _Field(False, _VERSION_THREE, "2.1.5"),
    },
    "image": {
        "reference": _Field(True, r"[^\s@]+:[\w][\w.-]{0,127}", "registry.example/cuda:13.0.1-base"),
        "digest": _Field(False, r"sha256:[0-9a-f]{64}", "sha256: and 64 hex digits"),
        "cuda": _Field(False, r"\d+\.\d+", "13.0"),
        "cuda_check": _Field(False, choices=("required", "optional")),
        "cuda_command": _Field(False, listed=True),
        "cuda_compat": _Field(False, choices=("none", "minor", "forward")),
    },
    "python": {"nvidia_ml_py": _Field(True, r"\d+(\.\d+)+", "13.615.71")},
    "framework": {
        "name": _Field(choices=("pytorch", "tensorflow", "jax")),
        "version": _Field(True, _VERSION_BUILD, "2.9.1+cu130"),
        "cuda": _Field(False, r"\d+\.\d+", "13.0"),
    },
    "nccl": {
        "version": _Field(True, _VERSION_BUILD, "2.27.5"),
        "cuda": _Field(False, r"\d+\.\d+", "13.0"),
    },
}
_OPTIONAL_AXES = ("fabric_manager", "framework", "nccl")
_WAIVER: t.Dict[str, _Field] = {
    "reason": _Field(True, r"(?s).*\S.*", "driver 550 of the pool does not work with a newer one"),
    "until": _Field(True, r"\d{4}-\d{2}-\d{2}", "2027-03-31"),
}
_KINDS: t.Dict[str, t.Type[t.Any]] = {
    "kernel": Kernel,
    "driver": Driver,
    "fabric_manager": FabricManager,
    "toolkit": Toolkit,
    "docker": Docker,
    "image": Image,
    "python": Python,
    "framework": Framework,
    "nccl": Nccl,
}
_SOURCE: t.Dict[str, _Field] = {
    "name": _Field(True, r"[a-z0-9][a-z0-9-]*", "nvidia"),
    "uris": _Field(
        True, r"(https?|file|mirror\+https?)://\S+|file:/\S+", "https://repository.example/debian13", listed=True
    ),
    "suites": _Field(True, r"\S+", "stable", listed=True),
    "components": _Field(False, r"\S+", "main", listed=True),
    "key": _Field(False),
    "key_file": _Field(False, r".*\S", "vendor.asc"),
    "keyring": _Field(
        False, r"/usr/share/keyrings/[\w.+-]+\.(gpg|pgp|asc)", "/usr/share/keyrings/debian-archive-keyring.gpg"
    ),
    "fingerprint": _Field(False, r"[0-9A-Fa-f]{40}", "40 hex digits"),
}


def load(data: t.Any, name: str, read_key: t.Callable[[str], str]) -> Bundle:
    """Check what the YAML said and turn it into a bundle.

    :arg data: plain data, as a YAML loader gives it
    :arg name: what to call the bundle in messages: the file's path
    :arg read_key: gives the text of a ``key_file``; raises OSError or ValueError when it cannot
    :raises BundleError: with every problem
    """
    reader = _Reader(read_key)
    bundle = reader.bundle(data)
    if reader.problems or bundle is None:
        raise BundleError(name, reader.problems)
    return bundle


class _Reader:
    """Walks the data once and collects problems instead of stopping at the first."""

    def __init__(self, read_key: t.Callable[[str], str]) -> None:
        self.problems: t.List[Problem] = []
        self._read_key = read_key

    def problem(self, path: str, value: t.Any, message: str, fix: str) -> None:
        self.problems.append(Problem(path, value, message, fix))

    def bundle(self, data: t.Any) -> t.Optional[Bundle]:
        if not self._is_mapping("the bundle", data):
            return None
        self._unknown_keys("", data, ("bundle", "platforms") + tuple(_AXES))
        identity = self._value("bundle", data.get("bundle", MISSING), _Field(True, r"[\w][\w.+-]*", "pool-2026.11"))
        defaults = {axis: self._axis(axis, axis, data[axis]) for axis in _AXES if axis in data}
        platforms = data.get("platforms", MISSING)
        if platforms is MISSING or platforms == {}:
            fix = "Name the platforms that it is for, for example platforms: {debian-13-x86_64: {sources: []}}"
            self.problem("platforms", MISSING, "is missing: the bundle is for no platform", fix)
            return None
        if not self._is_mapping("platforms", platforms):
            return None
        seen = {str(key): self._platform(str(identity), str(key), own, defaults) for key, own in platforms.items()}
        complete = {key: platform for key, platform in seen.items() if platform is not None}
        return Bundle(id=str(identity), platforms=complete)

    def _platform(
        self, identity: str, key: str, own: t.Any, defaults: t.Mapping[str, t.Any]
    ) -> t.Optional[PlatformBundle]:
        path = "platforms.%s" % key
        if key not in PLATFORM_KEYS:
            fix = _did_you_mean(key, PLATFORM_KEYS) or "Use one of %s, and the architecture (%s)" % (
                ", ".join(PLATFORMS),
                " or ".join("-" + arch for arch in ARCHITECTURES),
            )
            self.problem("platforms", key, "is not a platform that this collection knows", fix)
        own = {} if own is None else own
        if not self._is_mapping(path, own):
            return None
        self._unknown_keys(path, own, ("sources",) + tuple(_AXES))
        before = len(self.problems)
        sources = self._sources(path + ".sources", own.get("sources", []))
        axes = dict(defaults)
        axes.update({axis: self._axis(axis, "%s.%s" % (path, axis), own[axis]) for axis in _AXES if axis in own})
        for axis in _AXES:
            if axis not in axes and axis not in _OPTIONAL_AXES:
                fields = (
                    ", ".join(field for field in _AXES[axis] if _AXES[axis][field].required) or "release or metapackage"
                )
                fix = "Add %s with %s, at the top of the bundle or for this platform" % (axis, fields)
                self.problem(path, MISSING, "has no %s" % axis, fix)
        if len(self.problems) > before or any(axes.get(axis) is None for axis in axes):
            return None
        manager, driver = axes.get("fabric_manager"), axes["driver"]
        if manager is not None and manager.version != driver.version:
            fix = "Make it %r, the driver's version on %s: the fabric manager must equal the driver in every digit" % (
                driver.version,
                key,
            )
            self.problems.append(
                Problem(
                    "fabric_manager.version",
                    manager.version,
                    "is not the driver's version",
                    fix,
                    ({"fabric_manager.version": driver.version},),
                )
            )
        for axis in _OPTIONAL_AXES:
            axes.setdefault(axis, None)
        return PlatformBundle(bundle=identity, platform=key, sources=sources, **axes)

    def _axis(self, axis: str, path: str, data: t.Any) -> t.Any:
        """One axis as its dataclass, or None when something in it is wrong."""
        waiver = None
        before = len(self.problems)
        if axis == "toolkit" and isinstance(data, dict) and data.get("waiver") is not None:
            waiver = self._waiver(path + ".waiver", data["waiver"])
            data = {key: value for key, value in data.items() if key != "waiver"}
        fields = self._fields(path, data, _AXES[axis])
        if fields is None:
            return None
        if waiver is not None:
            fields["waiver"] = waiver
        if axis == "kernel" and len(fields) != 1:
            fix = "Give release (what uname -r shall say) or metapackage, one of the two"
            self.problem(path, data, "does not say which kernel" if not fields else "says it twice", fix)
        if axis == "image":
            fields.setdefault("cuda", cuda_of(fields["reference"]))
        if axis in ("framework", "nccl"):
            fields.setdefault("cuda", cuda_of_build(fields["version"]))
        return _KINDS[axis](**fields) if len(self.problems) == before else None

    def _waiver(self, path: str, data: t.Any) -> t.Optional[Waiver]:
        """Whether its day is past, ``compat`` judges."""
        if isinstance(data, dict) and isinstance(data.get("until"), datetime.date):
            data = dict(data, until=data["until"].isoformat())  # YAML has read an unquoted day as one
        fields = self._fields(path, data, _WAIVER)
        if fields is None:
            return None
        try:
            datetime.date.fromisoformat(fields["until"])
        except ValueError:
            self.problem(
                path + ".until", fields["until"], "is not a day of the calendar", "Write it like this: 2027-03-31"
            )
            return None
        return Waiver(**fields)

    def _sources(self, path: str, data: t.Any) -> t.Tuple[Source, ...]:
        if not isinstance(data, list):
            self.problem(path, data, "is not a list", "Write each repository as an item that begins with - name:")
            return ()
        sources = [self._source("%s[%d]" % (path, index), item) for index, item in enumerate(data)]
        names = [source.name for source in sources if source]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.problem(path, name, "names two repositories", "Give each a name of its own: it becomes a file name")
        return tuple(source for source in sources if source)

    def _source(self, path: str, data: t.Any) -> t.Optional[Source]:
        fields = self._fields(path, data, _SOURCE)
        if fields is None:
            return None
        flat = [suite for suite in fields["suites"] if suite.endswith("/")]
        if flat and fields.get("components"):
            fix = "Leave components out, or take the / away: a suite that ends in / is a flat repository"
            self.problem(
                path + ".components", list(fields["components"]), "cannot stand beside the suite %s" % flat[0], fix
            )
        for index, uri in enumerate(fields["uris"]):
            self._has_no_user("%s.uris[%d]" % (path, index), uri, fields["name"])
        if not flat and not fields.get("components"):
            self.problem(path + ".components", MISSING, "is missing", "Add it, for example components: [main]")
        if not self._says_one_key(path, fields):
            return None
        keyring = fields.get("keyring")
        key = None if keyring else self._key(path, fields)
        if key is None and keyring is None:
            return None
        fingerprint = fields.get("fingerprint")
        return Source(
            name=fields["name"],
            uris=fields["uris"],
            suites=fields["suites"],
            components=fields.get("components", ()),
            key=key,
            fingerprint=fingerprint.upper() if fingerprint else None,
            keyring=keyring,
        )

    def _has_no_user(self, path: str, uri: str, name: str) -> None:
        """It would stand in a file that everybody on the node may read, in the lock and in reports."""
        bare = without_users(uri)
        if bare != uri:
            machine = "/".join(bare.rpartition("+")[2].split("/")[:3])
            fix = (
                "Take user and password out of the address, and write this line on the node into"
                " /etc/apt/auth.conf.d/%s.conf, mode 0600: machine %s login USER password PASSWORD" % (name, machine)
            )
            self.problem(path, bare, "has a user in it, and everybody can read the files that it goes into", fix)

    def _says_one_key(self, path: str, fields: t.Mapping[str, t.Any]) -> bool:
        given = [name for name in ("key", "key_file", "keyring") if name in fields]
        if len(given) != 1:
            fix = (
                "Give the repository's armoured key as key, or its file as key_file, or, for a repository of the "
                "distribution itself, the path of its keyring on the node as keyring, one of the three"
            )
            message = "has both %s" % " and ".join(given) if given else "has no key"
            self.problem(path, MISSING, message, fix)
        elif given == ["keyring"] and fields.get("fingerprint"):
            fix = "Leave fingerprint out: the keyring is the distribution's own, and changes with its updates"
            self.problem(path + ".fingerprint", fields["fingerprint"], "cannot stand beside keyring", fix)
            return False
        return len(given) == 1

    def _key(self, path: str, fields: t.Mapping[str, t.Any]) -> t.Optional[str]:
        """The armoured key, whose fingerprint is the one that the bundle names."""
        where, what = path + (".key" if "key" in fields else ".key_file"), fields.get("key_file", MISSING)
        try:
            text = fields["key"] if "key" in fields else self._read_key(fields["key_file"])
            found = fingerprints(text)
        except (OSError, ValueError) as error:
            fix = "Give an armoured public key (a binary one becomes armoured by: gpg --enarmor, or by export --armor)"
            self.problem(where, what, "cannot be used: %s" % error, fix)
            return None
        wanted = fields.get("fingerprint")
        if wanted and {wanted.upper()} != set(found):
            fix = "Ask the vendor which key is right; never take a new fingerprint over from the file itself"
            self.problem(
                path + ".fingerprint", wanted, "is not the fingerprint of the key, which has %s" % ", ".join(found), fix
            )
            return None
        return normalise(text)

    def _fields(self, path: str, data: t.Any, schema: t.Mapping[str, _Field]) -> t.Optional[t.Dict[str, t.Any]]:
        """The values that are there, lists as tuples; None when anything is wrong."""
        if not self._is_mapping(path, data):
            return None
        before = len(self.problems)
        self._unknown_keys(path, data, tuple(schema))
        values = {}
        for key, field in schema.items():
            value = data.get(key, MISSING)
            if value is None and not field.required:
                value = MISSING
            checked = self._value("%s.%s" % (path, key), value, field)
            if checked is not MISSING:
                values[key] = checked
        return values if len(self.problems) == before else None

    def _value(self, path: str, value: t.Any, field: _Field) -> t.Any:
        if value is MISSING:
            if field.required:
                self.problem(path, MISSING, "is missing", "Add it, %s" % _wanted(field))
            return MISSING
        if not field.listed:
            return self._text(path, value, field)
        if not isinstance(value, list):
            self.problem(path, value, "is not a list", "Write it as a list: [%s]" % _written(value))
            return MISSING
        items = tuple(self._text("%s[%d]" % (path, index), item, field) for index, item in enumerate(value))
        if field.required and not items:
            self.problem(path, value, "is empty", "Add at least one, for example %s" % field.example)
        return items

    def _text(self, path: str, value: t.Any, field: _Field) -> t.Any:
        if not isinstance(value, str):
            if isinstance(value, (dict, list)):
                self.problem(path, value, "is not text", "Write one value, %s" % _wanted(field))
            else:
                key = path.rpartition(".")[2]
                fix = 'Put quotes around it: %s: "%s"' % (key, _written(value))
                self.problem(path, _AsWritten(value), "is read by YAML as %s, not as text" % _kind(value), fix)
            return MISSING
        if field.choices and value not in field.choices:
            fix = _did_you_mean(value, field.choices) or "Use %s" % _wanted(field)
            self.problem(path, value, "is none of %s" % ", ".join(field.choices), fix)
            return MISSING
        if field.pattern and not re.fullmatch(field.pattern, value):
            self.problem(path, value, "does not have the form that is wanted", "Write it like this: %s" % field.example)
            return MISSING
        return value

    def _is_mapping(self, path: str, data: t.Any) -> bool:
        if isinstance(data, dict):
            return True
        message = "is empty" if data is None else "is not a set of keys with values"
        self.problem(path, MISSING if data is None else data, message, "Write it as key: value lines")
        return False

    def _unknown_keys(self, path: str, data: t.Mapping[t.Any, t.Any], known: t.Sequence[str]) -> None:
        for key in data:
            if key not in known:
                where = "%s.%s" % (path, key) if path else str(key)
                fix = _did_you_mean(str(key), known) or "Take it out; known here: %s" % ", ".join(known)
                self.problem(where, MISSING, "is not a key of a bundle", fix)


def cuda_of(reference: str) -> t.Optional[str]:
    """CUDA version that an image's name tells: ``…/cuda:13.0.1-base`` and ``pytorch:2.9-cuda13.0-…`` say 13.0."""
    repository, _colon, tag = reference.rpartition(":")
    named = re.search(r"cuda-?(\d+\.\d+)", tag)
    if not named and repository.rpartition("/")[2] == "cuda":
        named = re.match(r"(\d+\.\d+)(?=[.-]|$)", tag)
    return named.group(1) if named else None


def cuda_of_build(version: str) -> t.Optional[str]:
    """CUDA version that a build's own version tells: ``2.9.1+cu130`` and ``2.27.5-1+cuda13.0`` say 13.0."""
    named = re.search(r"cu(?:da)?(\d{2})\.?(\d)\b", version)
    return "%s.%s" % named.groups() if named else None


class _AsWritten:
    """Shows a value as it stands in the file: YAML has turned 1.20 into 1.2 before anybody could see it."""

    def __init__(self, value: t.Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        return _written(self._value)


def _written(value: t.Any) -> str:
    return str(getattr(value, "as_written", value))


def _kind(value: t.Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes or no"
    return "a number" if isinstance(value, (int, float)) else "a date"


def _wanted(field: _Field) -> str:
    return "one of %s" % ", ".join(field.choices) if field.choices else "for example %s" % (field.example or "text")


def _did_you_mean(word: str, known: t.Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return "Did you mean %s?" % close[0] if close else ""
