# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the script inside a fresh container printed, section by section."""

from __future__ import annotations

import re
import typing as t

from ..model import LIBRARIES, ContainerLook, CudaInit, DeviceNode, GpuTool, Library, Reading
from . import container_image, ldconfig, nvidia_smi
from . import cuda as cuda_answer
from .json_lines import objects
from .text import integer, last_line

#: Begins a line that opens a section ("MARK NAME") or closes one ("MARK rc CODE").
MARK = "@@goldennode"

_SECTION = re.compile(r"^%s (\w+)(?: (-?\d{1,9}))?$" % MARK)
_STAT = re.compile(r"^(/dev/\S+) ([0-9a-f]{1,8}) (\d{1,9}) (\d{1,9}) ([0-9a-f]{1,8}) ([0-9a-f]{1,8})$")
_CHARACTER_DEVICE = 0o020000
_FORMAT = 0o170000

#: What docker's client adds to the engine's words: where its help is, and what its wait for a container that never was
#: came to (Docker 20.10, in its log's two forms).
_CLIENTS_OWN = re.compile(
    r"^(?:See 'docker run --help'\.?|Run 'docker run --help'.*"
    r"|(?:[A-Z]{4}\[\d+\] *|time=\S+ level=\w+ msg=\"?)error waiting for container: .*)$"
)

Section = t.Tuple[str, t.Optional[int]]


def parse(
    stdout: str, stderr: str, rc: t.Optional[int], injection: str, machine: str, stopped: str = ""
) -> Reading[ContainerLook]:
    """:arg stopped: why the container had to be killed, else ""."""
    sections = _sections(stdout)
    if "start" not in sections:
        if stopped:
            return Reading.unknown(stopped)
        said = _engines_words(stderr) or "docker run ended with code %s" % rc
        return Reading(ContainerLook(injection, started=False, error=said))
    why = stopped or "the container ended before it was asked"
    asked_last = not sections.keys().isdisjoint(("cuda", "cuda_command", "no_cuda"))

    def section(name: str, read: t.Callable[[str, int], Reading[t.Any]]) -> Reading[t.Any]:
        text, code = sections.get(name, ("", None))
        if name not in sections and asked_last:
            return Reading.unknown("the script of this look did not ask for it: it is of an older version")
        return Reading.unknown(why) if code is None else read(text, code)

    return Reading(
        ContainerLook(
            injection=injection,
            started=True,
            smi=Reading(None) if "no_smi" in sections else section("smi", _smi),
            mig=Reading(None) if "no_smi" in sections else section("mig", nvidia_smi.mig_devices),
            libraries=section("libraries", lambda text, code: _libraries(text, code, machine)),
            device_nodes=section("nodes", _nodes),
            cuda=_cuda(section, sections),
            confinement=section("confinement", lambda text, code: Reading(_label(text))),
            ldconfig=section("ldconfig", container_image.ldconfig),
            driver_files=section("driver_files", container_image.driver_files),
            frameworks=section("frameworks", container_image.frameworks),
        )
    )


def _engines_words(stderr: str) -> str:
    """All of them, on one line: which of their lines has the reason depends on the program that failed."""
    lines = (" ".join(line.split()) for line in stderr.splitlines())
    return " ".join(line for line in lines if line and not _CLIENTS_OWN.match(line))


def _sections(stdout: str) -> t.Dict[str, Section]:
    """Text and exit code of each section; the code is None for one that was never closed."""
    found: t.Dict[str, Section] = {}
    name = ""
    lines: t.List[str] = []
    for line in stdout.splitlines():
        mark = _SECTION.match(line)
        if mark is None:
            if line.strip():
                lines.append(line)
        elif mark.group(1) == "rc":
            found[name] = ("\n".join(lines), integer(mark.group(2) or ""))
        else:
            name, lines = mark.group(1), []
            found[name] = ("", None)
    return found


#: What a shell ends with for a program that it finds and that the kernel does not start, and what we call that.
_CODES_NOT_STARTED = (126, 127)
NOT_STARTED = "nvidia-smi is in the container and does not start there"


def _smi(text: str, code: int) -> Reading[GpuTool]:
    if code in _CODES_NOT_STARTED:
        return Reading.unknown("%s, as in an image without glibc: %s" % (NOT_STARTED, last_line(text)))
    return nvidia_smi.query(text, "", code)


def _label(text: str) -> str:
    """A program that nothing confines has ``unconfined`` with AppArmor, and nothing where no such module is in force.

    SELinux ends its label with a zero byte.
    """
    return last_line(text).rstrip("\0")


def _libraries(text: str, code: int, machine: str) -> Reading[t.Dict[str, Library]]:
    """Lines of three kinds: ``preload NAME => PATH`` for what LD_LIBRARY_PATH has, ``cache`` with a line of
    ldconfig -p, ``target PATH => FILE`` with the file behind the links.
    """
    if code != 0:
        return Reading.unknown("the libraries in the container could not be listed: %s" % last_line(text))
    lines = [line.partition(" ")[::2] for line in text.splitlines()]
    targets = dict(rest.split(" => ", 1) for kind, rest in lines if kind == "target" and " => " in rest)
    chosen: t.Dict[str, str] = {}
    for kind, rest in lines:
        if kind == "preload" and " => " in rest:
            name, path = rest.split(" => ", 1)
            chosen.setdefault(name, path)
    cache = "\n".join(rest for kind, rest in lines if kind == "cache")
    cached = ldconfig.parse(cache, machine, LIBRARIES)
    # No line for these libraries in the cache is an answer here: only their lines were asked for.
    for name, path in (cached.value or {}).items():
        chosen.setdefault(name, path)
    unfollowed = [path for path in chosen.values() if not targets.get(path)]
    if unfollowed:
        return Reading.unknown("the image has no readlink that could follow %s" % unfollowed[0])
    return Reading({name: Library(name=name, path=path, target=targets[path]) for name, path in chosen.items()})


def _nodes(text: str, code: int) -> Reading[t.Tuple[DeviceNode, ...]]:
    """Lines of ``stat -c '%n %f %u %g %t %T'``."""
    if code != 0:
        return Reading.unknown("the device nodes in the container could not be listed: %s" % last_line(text))
    found: t.List[DeviceNode] = []
    for line in text.splitlines():
        match = _STAT.match(line.strip())
        if match is None:
            return Reading.unknown("stat printed a line that is not understood: %s" % line.strip()[:200])
        raw = int(match.group(2), 16)
        if raw & _FORMAT == _CHARACTER_DEVICE:
            uid, gid = int(match.group(3)), int(match.group(4))
            major, minor = int(match.group(5), 16), int(match.group(6), 16)
            found.append(DeviceNode(match.group(1), raw & 0o7777, uid, gid, major, minor))
    return Reading(tuple(found))


def _cuda(
    section: t.Callable[[str, t.Callable[[str, int], Reading[t.Any]]], Reading[t.Any]],
    sections: t.Mapping[str, Section],
) -> Reading[CudaInit]:
    if "no_cuda" in sections:
        return Reading.unknown(
            "the image has no python3 that could call CUDA, and the bundle names no image.cuda_command"
        )
    if "cuda_command" in sections:
        return section("cuda_command", _by_command)
    return section("cuda", lambda text, code: cuda_answer.parse(text, "", code))


def _by_command(text: str, code: int) -> Reading[CudaInit]:
    """``image.cuda_command``: its exit code decides, unless it prints the JSON line that our own script prints."""
    if any("code" in line for line in objects(text)):
        return cuda_answer.parse(text, "", code)
    if code == 0:
        return Reading(CudaInit(code=0))
    return Reading(CudaInit(code=code, error="image.cuda_command ended with code %d: %s" % (code, last_line(text))))
