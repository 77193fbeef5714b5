# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the script inside a fresh container found of the image's own: driver libraries and frameworks."""

from __future__ import annotations

import re
import typing as t

from ..model import DriverFile, Framework, Reading
from .text import last_line

#: A folder of cuda-compat: of the vendor's packages, or of conda's.
COMPAT = re.compile(r"/(?:cuda-)?compat/")

_ASSIGNMENT = re.compile(
    r"""^(__version__|_release_version|_version|cuda)\s*(?::[^=]*)?=\s*(?:u?["']([^"']*)["']|(None))"""
)
_TF_CUDA_BUILD = re.compile(r"""["']is_cuda_build["']\s*[,:]\s*(True|False)\b""")
_TF_CUDA = re.compile(r"""["']cuda_version["']\s*[,:]\s*u?["'](\d+(?:\.\d+)*)""")
_TF_FOLDER = re.compile(r"/tensorflow(?:_cpu)?-([^/]+)\.dist-info$")
_JAX_FOLDER = re.compile(r"/jax_cuda(\d*)_plugin$")

#: The first that is set counts: a release writes its own over what the sources say.
_JAX_VERSIONS = ("_release_version", "__version__", "_version")

_VERSION_FILES = {
    "/torch/version.py": "torch",
    "/tensorflow/python/platform/build_info.py": "tensorflow",
    "/jaxlib/version.py": "jax",
}


def ldconfig(text: str, code: int) -> Reading[str]:
    """The answer of ``command -v ldconfig``, which ends with a code other than 0 where there is none."""
    return Reading(last_line(text) or None if code == 0 else None)


def driver_files(text: str, code: int) -> Reading[t.Tuple[DriverFile, ...]]:
    """Lines of three kinds: ``mount POINT ROOT``, ``file PATH`` and ``target PATH => FILE``.

    ROOT is the file that is mounted, as its own file system names it: cuda-compat is the image's wherever it is seen.

    One file that is found on several ways, as by /lib and /usr/lib, counts on the first of each link's name alone.
    """
    if code != 0:
        return Reading.unknown("the driver's files in the container could not be listed: %s" % last_line(text))
    lines = [line.partition(" ")[::2] for line in text.splitlines()]
    mounts = dict(rest.partition(" ")[::2] for kind, rest in lines if kind == "mount" and rest.startswith("/"))
    targets = dict(rest.split(" => ", 1) for kind, rest in lines if kind == "target" and " => " in rest)
    found: t.Dict[t.Tuple[str, str], DriverFile] = {}
    for kind, path in lines:
        if kind != "file":
            continue
        target = targets.get(path)
        if not target:
            return Reading.unknown("the image has no readlink that could follow %s" % path)
        source = mounts.get(target, "") if COMPAT.search(mounts.get(target, "")) else ""
        given = not source and any(target == point or target.startswith(point + "/") for point in mounts)
        found.setdefault((path.rpartition("/")[2], target), DriverFile(path, target, given, source))
    return Reading(tuple(found.values()))


def frameworks(text: str, code: int) -> Reading[t.Tuple[Framework, ...]]:
    """``package FILE`` with the file's lines, each after "| "; ``folder PATH`` for what tells by being there."""
    if code != 0:
        return Reading.unknown("the frameworks in the image could not be looked for: %s" % last_line(text))
    texts: t.Dict[str, t.List[str]] = {}
    folders: t.List[str] = []
    lines: t.List[str] = []
    for line in text.splitlines():
        kind, _blank, rest = line.partition(" ")
        if kind == "package":
            lines = texts.setdefault(rest, [])
        elif kind == "folder":
            folders.append(rest)
        elif kind == "|":
            lines.append(rest)
    found: t.Dict[str, Framework] = {}
    for path, content in texts.items():
        suffix = next((suffix for suffix in _VERSION_FILES if path.endswith(suffix)), None)
        if suffix is not None:  # Python takes the first of several
            name = _VERSION_FILES[suffix]
            found.setdefault(name, _READERS[name](path[: -len(suffix)], content, folders))
    return Reading(tuple(found.values()))


def _torch(place: str, lines: t.Sequence[str], folders: t.Sequence[str]) -> Framework:
    """``cuda: Optional[str] = '12.4'``; None in a build without CUDA, which is for other cards or for none."""
    words = _assignments(lines)
    cuda = words.get("cuda", "")
    told = None if "cuda" not in words else cuda is not None
    return Framework("torch", place, words.get("__version__") or "", cuda or "", told)


def _tensorflow(place: str, lines: t.Sequence[str], folders: t.Sequence[str]) -> Framework:
    """Its build_info holds a dictionary, written as one or as a list of pairs."""
    text = "\n".join(lines)
    built, cuda = _TF_CUDA_BUILD.search(text), _TF_CUDA.search(text)
    version = next((match.group(1) for match in map(_TF_FOLDER.search, folders) if match), "")
    for_gpus = built.group(1) == "True" if built else None
    return Framework("tensorflow", place, version, cuda.group(1) if cuda and for_gpus else "", for_gpus)


def _jax(place: str, lines: t.Sequence[str], folders: t.Sequence[str]) -> Framework:
    """Its code for GPUs is a package of its own; older ones have it in jaxlib, and say so in the version."""
    words = _assignments(lines)
    version = next((words[name] or "" for name in _JAX_VERSIONS if words.get(name)), "")
    plugins = [match.group(1) for match in map(_JAX_FOLDER.search, folders) if match]
    return Framework("jax", place, version, max(plugins, default=""), bool(plugins) or "+cuda" in version)


def _assignments(lines: t.Iterable[str]) -> t.Dict[str, t.Optional[str]]:
    matches = (_ASSIGNMENT.match(line) for line in lines)
    return {match.group(1): None if match.group(3) else match.group(2) for match in matches if match}


_READERS: t.Dict[str, t.Callable[[str, t.Sequence[str], t.Sequence[str]], Framework]] = {
    "torch": _torch,
    "tensorflow": _tensorflow,
    "jax": _jax,
}
